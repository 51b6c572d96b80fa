"""The transactions that were sent: their list, and the table for accountants."""

import csv
import io
import json
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.registry import Registry
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.model.jobs import SentState, SentTransaction
from scenarioctl.operations.sent_states import costs_of, moved_by, sum_by_asset
from scenarioctl.operations.transaction_history import ListTransactions, list_transactions
from scenarioctl.runtime.scale import encode_compact
from scenarioctl.runtime.table import load_bundled
from tests.check_rules import CAROL_KEY, pay
from tests.messages import raises, says
from tests.runner import finish
from tests.signing import dev_key
from tests.test_broadcast import ALICE, GOOD, HASH, NUMBER, PAID, SUCCESS, events, signed
from tests.test_check import BOB_KEY
from tests.test_outcomes import (
    DONE,
    FAILED,
    LAYER,
    SOME,
    approving,
    event,
    force,
    of_multisig,
    written,
)
from tests.test_sent import SENT
from tests.test_transaction_status import World

DOT = Registry().find("polkadot")
TIME = 1_763_667_000_000


def dot(value: int) -> dict[str, Any]:
    return {"value": str(value), "asset": "DOT", "human": f"{value / 10**10:g} DOT"}


def held(account: str, value: int, chain: str = "assetHub", **more: Any) -> dict[str, Any]:
    return {"chain": chain, "account": account, **dot(value), "role": None, "system": False, **more}


def arrived(*received: Any, state: str = "arrived") -> dict[str, Any]:
    return {"chain": "assetHub", "state": state, "block_number": 7, "settled": True, "reason": "",
        "received": list(received)}  # fmt: skip


#: 1 DOT is sent to Bob on Asset Hub, of which 0.98 arrive.
TRANSFER: dict[str, Any] = {
    "success": True,
    "time": TIME,
    "fee": "160000000",
    "fee_paid_in": None,
    "left": [dot(10_460_000_000)],
    "received": [],
    "delivery": [dot(300_000_000)],
    "arrivals": [arrived(held("bob", 9_800_000_000))],
}
SWAP: dict[str, Any] = {
    **TRANSFER,
    "left": [dot(10_160_000_000)],
    "received": [
        {**held(ALICE, 1, "polkadot"), "value": "6120000", "asset": "USDT", "human": "6.12 USDT"}
    ],
    "delivery": [],
    "arrivals": [],
}


@pytest.fixture
def world(tmp_path: Path) -> Any:
    with ExitStack() as stack:
        yield World(tmp_path, stack)


def listed(world: World, **fields: Any) -> Any:
    return finish(list_transactions(world.app, ListTransactions(**fields))).answer


def store(world: World, **fields: Any) -> SentTransaction:
    effects = fields.pop("effects", {})
    known = replace(
        SENT, signer=f"0x{dev_key().public_key.hex()}", state=SentState.FINALIZED, block="0xbb"
    )
    transaction = replace(known, block_number=1002, effects=json.dumps(effects), **fields)
    finish(world.app.store.sent().add(transaction))
    return transaction


# The list


def test_what_was_sent_is_listed_with_what_became_of_it(world: World) -> None:
    table = load_bundled("polkadot")
    assert table is not None
    call = b"\x04" + table.encode_call(Call(pallet="Timestamp", method="set", args={"now": TIME}))
    world.broadcast()
    (before,) = listed(world)["transactions"]
    world.chain.bodies[NUMBER + 1] = [GOOD, "0x" + (encode_compact(len(call)) + call).hex()]
    world.chain.best = NUMBER + 1
    world.status()
    (after,) = listed(world)["transactions"]

    assert (before["state"], before["outcome"]) == ("sent", says("in no block"))
    assert before["left"] is None
    assert before["says"] == after["says"] == world.status()["says"] != ""
    assert (before["account"], before["hash"], before["explorer"]) == (ALICE, HASH, None)
    assert (after["state"], after["block_number"]) == ("in-block", NUMBER + 1)
    assert after["block_time"] == world.status()["block_time"] == "2025-11-20T19:30:00.000000000Z"
    assert after["left"] == []
    assert after["explorer"] == f"https://polkadot.subscan.io/extrinsic/{HASH}"


def test_what_the_signer_and_a_named_account_get_is_told(world: World) -> None:
    bob = bytes(range(32))
    world.chain.events = events(
        (1, {"Balances": {"Deposit": {"who": dev_key().public_key, "amount": 30}}}),
        (1, {"Balances": {"Deposit": {"who": bob, "amount": 20}}}),
        (1, PAID),
        (1, SUCCESS),
    )
    world.broadcast()
    world.chain.include(NUMBER + 1)

    status = world.status()

    # The remark names nobody.
    assert status["received"] == [{"chain": "polkadot", "account": ALICE, "value": "30",
        "asset": "DOT", "human": "0.000000003 DOT", "role": None, "system": False}]  # fmt: skip
    assert [each["what"] for each in status["costs"]] == ["transaction fee"]
    shown = " ".join(world.show("tx", "status", "polkadot", HASH).split())
    assert f"0.000000003 DOT polkadot {ALICE}" in shown


def test_they_come_in_pages(world: World) -> None:
    hashes = [f"0x{n:064x}" for n in range(3)]
    for place, hash in enumerate(hashes):
        store(world, hash=hash, sent=SENT.sent + place)

    first = listed(world, limit=2)
    second = listed(world, limit=2, after=first["next"])

    assert [row["hash"] for row in first["transactions"]] == [hashes[2], hashes[1]]
    assert [row["hash"] for row in second["transactions"]] == [hashes[0]]
    assert (first["total"], second["next"]) == (3, None)


@pytest.mark.parametrize(
    ("fields", "count"),
    [
        ({"account": ALICE}, 1),
        ({"account": f"0x{dev_key().public_key.hex()}"}, 1),
        ({"account": "0x" + "ab" * 32}, 0),
        ({"chain": "Polkadot"}, 1),
        ({"chain": "kusama"}, 0),
        ({"state": "finalized"}, 1),
        ({"state": "sent"}, 0),
        ({"until": "2020-01-01"}, 0),
        ({"since": "2020-01-01"}, 1),
    ],
)
def test_only_those_that_are_asked_for_are_listed(
    world: World, fields: dict[str, str], count: int
) -> None:
    store(world)

    assert listed(world, **fields)["total"] == count


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"account": "nobody"}, ("account", "nobody")),
        ({"state": "lost"}, ("state", "lost")),
        ({"until": "soon"}, ("until", "soon")),
        ({"limit": 0}, ("limit", "0")),
        ({"after": "x"}, ("after", "x")),
    ],
)
def test_a_filter_that_cannot_be_is_refused(
    world: World, fields: dict[str, Any], words: Any
) -> None:
    store(world)

    with raises(InvalidRequest, says(*words)):
        listed(world, **fields)


def test_a_row_of_an_older_version_says_what_is_known(world: World) -> None:
    store(
        world, says="", name="", effects={"success": True, "fee": "160000000", "fee_paid_in": None}
    )

    (row,) = listed(world)["transactions"]

    assert (row["says"], row["name"], row["left"], row["received"], row["block_time"]) == ("", "",
        None, [], None)  # fmt: skip


# The costs


def test_what_the_way_kept_is_a_cost_once_all_arrived() -> None:
    waiting = {**TRANSFER, "arrivals": [arrived(state="waiting")]}

    costs = costs_of(TRANSFER, DOT)

    assert [(each["what"], each["human"]) for each in costs] == [
        ("transaction fee", "0.016 DOT"),
        ("delivery", "0.03 DOT"),
        ("execution", "0.02 DOT"),
    ]
    assert costs[2]["value"] == "200000000"
    assert moved_by(TRANSFER, DOT) == [dot(10_000_000_000)]
    assert moved_by({"left": [dot(5)]}, DOT) == []
    assert [each["human"] for each in sum_by_asset(costs)] == ["0.066 DOT"]
    assert [each["what"] for each in costs_of(waiting, DOT)] == ["transaction fee", "delivery"]


def test_what_the_way_kept_is_a_whole_number_whatever_the_decimals_there() -> None:
    got = {**held("bob", 0), "value": "9800000000000000001", "human": "0.9800000000000000001 DOT"}

    costs = costs_of({**TRANSFER, "arrivals": [arrived(got)]}, DOT)

    assert (costs[2]["value"], costs[2]["human"]) == ("199999999", "0.0199999999999999999 DOT")
    assert [each["value"] for each in sum_by_asset(costs)] == ["659999999"]


def test_costs_of_one_kind_in_several_assets_are_all_told(world: World) -> None:
    usdt = {"value": "12", "asset": "USDT", "human": "0.000012 USDT"}
    store(
        world,
        effects={**TRANSFER, "events": [], "arrivals": [], "delivery": [dot(300_000_000), usdt]},
    )

    shown = " ".join(world.show("tx", "status", "polkadot", SENT.hash).split())
    assert "0.03 DOT delivery 0.000012 USDT delivery" in shown


def test_what_was_sold_beside_a_transfer_is_no_cost_of_its_way() -> None:
    both = {**TRANSFER, "left": [dot(60_460_000_000)], "received": SWAP["received"]}

    assert [each["what"] for each in costs_of(both, DOT)] == ["transaction fee", "delivery"]


def test_what_a_swap_sold_is_no_cost() -> None:
    assert [(each["what"], each["human"]) for each in costs_of(SWAP, DOT)] == [("transaction fee",
        "0.016 DOT")]  # fmt: skip


def test_a_fee_in_another_asset_is_told_in_it() -> None:
    paid = {"value": "12", "asset": "USDT", "human": "0.000012 USDT"}

    assert costs_of({**SWAP, "fee_paid_in": paid}, DOT) == [{**paid, "what": "transaction fee"}]
    assert costs_of({}, DOT) == []


# The table


def table(world: World, **fields: Any) -> list[dict[str, str]]:
    text = listed(world, csv=True, **fields)["csv"]
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_a_transfer_is_a_line_with_its_fee(world: World) -> None:
    transaction = store(world, effects=TRANSFER)

    assert listed(world, csv=True)["csv"] == (
        "time,account,asset,amount,fee,fee asset,counterparty,block,hash,memo,state,chain,sent\r\n"
        f"2025-11-20 19:30:00,{ALICE},DOT,-1.03,0.016,DOT,bob,1002,{transaction.hash},Rent,"
        "arrived,polkadot,2025-11-20 19:29:18\r\n"
    )


def test_what_arrives_on_another_chain_for_its_sender_is_a_line(world: World) -> None:
    # Kusama writes the account otherwise.
    mine = format_account(dev_key().public_key, 2)
    arrival = {
        **arrived(held(mine, 9_800_000_000, "kusama"), held("bob", 5, "kusama")),
        "chain": "kusama",
    }
    store(world, effects={**TRANSFER, "arrivals": [arrival]})

    rows = table(world)

    assert [
        (each["amount"], each["fee"], each["counterparty"], each["block"], each["chain"])
        for each in rows
    ] == [
        ("-1.03", "0.016", "bob", "1002", "polkadot"),
        ("0.98", "", "", "", "kusama"),
    ]


def test_a_swap_is_two_lines_and_its_fee_counts_once(world: World) -> None:
    store(world, effects=SWAP)

    rows = table(world)

    assert [(row["asset"], row["amount"], row["fee"], row["fee asset"]) for row in rows] == [
        ("DOT", "-1", "0.016", "DOT"),
        ("USDT", "6.12", "", ""),
    ]


@pytest.mark.parametrize(
    ("left", "received", "amount"),
    [([], 6_000_000_000, "0.616"), ([dot(60_000_000)], 0, "0.01"), ([dot(160_000_000)], 0, "")],
    ids=["more than the fee", "less", "nothing"],
)
def test_what_was_bought_of_the_fees_asset_is_without_the_fee(
    world: World, left: Any, received: int, amount: str
) -> None:
    sold = {"value": "9000000", "asset": "USDT", "human": "9 USDT"}
    got = [held(ALICE, received, "polkadot")] if received else []
    store(world, effects={**SWAP, "left": [sold, *left], "received": got})

    rows = [(row["asset"], row["amount"], row["fee"]) for row in table(world)]

    assert rows == [("USDT", "-9", "0.016"), *([("DOT", amount, "")] if amount else [])]


def test_a_row_is_a_payment_of_the_account_that_paid(world: World) -> None:
    bob, carol = (format_account(each, 0) for each in (BOB_KEY, CAROL_KEY))
    payer, call = format_account(LAYER.account, 0), force(pay(), pay(), pay(CAROL_KEY))
    moved = [
        event("Balances.Transfer", **{"from": LAYER.account, "to": to, "amount": 10**10})
        for to in (BOB_KEY, CAROL_KEY)
    ]
    ran = of_multisig("MultisigExecuted", call, result={"Ok": None})
    found = [moved[0], DONE, FAILED, moved[1], DONE, SOME, ran]
    world.chain.events = written(*found, PAID)
    tx = signed(approving(call))
    hash = world.broadcast(tx).answer["hash"]
    world.chain.include(NUMBER + 1, tx)
    world.status(hash)

    (row,) = listed(world)["transactions"]
    rows = [tuple(each[name] for name in COLUMNS) for each in table(world)]

    assert (row["became"], row["spent"]) == (
        "partly-failed",
        [{**held(payer, 2 * 10**10, "polkadot")}],
    )
    assert rows == [
        (ALICE, "", "", "0.0161154943", "", "in-block"),
        (payer, "DOT", "-1", "", bob, "in-block"),
        (payer, "DOT", "-1", "", carol, "in-block"),
    ]


COLUMNS = ("account", "asset", "amount", "fee", "counterparty", "state")


def test_what_moved_nothing_or_is_not_known_is_a_line_without_an_amount(world: World) -> None:
    store(
        world,
        hash="0x01",
        effects={"success": False, "fee": "160000000", "left": [dot(160_000_000)]},
    )
    store(world, hash="0x02", sent=SENT.sent + 1, says="", name="")

    rows = table(world)

    assert [
        (row["asset"], row["amount"], row["fee"], row["state"], row["time"]) for row in rows
    ] == [
        ("", "", "", "finalized", ""),
        ("", "", "0.016", "failed", ""),
    ]


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1+1", "@SUM(A1)", "\t=1", 'a "b", c', "–5"])
def test_no_name_becomes_a_formula(world: World, name: str) -> None:
    store(world, name=name)

    (row,) = table(world)

    assert row["memo"] == (f"'{name.strip()}" if name.strip()[0] in "=+-@" else name)


def test_only_the_first_page_names_the_columns(world: World) -> None:
    store(world, hash="0x01")
    store(world, hash="0x02", sent=SENT.sent + 1)

    first = listed(world, csv=True, limit=1)
    second = listed(world, csv=True, limit=1, after=first["next"])

    lines = list(csv.reader(io.StringIO(first["csv"] + second["csv"], newline="")))
    assert [line[8] for line in lines] == ["hash", "0x02", "0x01"]


def test_an_amount_of_unknown_decimals_is_as_the_chain_counts_it(world: World) -> None:
    left = [{"value": "77", "asset": "asset 5", "human": None}]
    store(world, effects={"success": True, "fee": "1", "left": left})

    assert [(row["asset"], row["amount"]) for row in table(world)] == [
        ("asset 5 (smallest unit)", "-77")
    ]


# The command
