"""The check accounts for every unit: what leaves is what somebody gets, what goes on, what is
taken, and what is destroyed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.model.calls import Call
from tests.check_rules import (
    ALL,
    CAROL_KEY,
    HERE,
    balances,
    batch,
    burn_asset,
    burned,
    checker,
    deposit,
    execute,
    judge,
    minted,
    pay,
    steps,
    transferred,
    withdraw,
)
from tests.conftest import Run
from tests.messages import says
from tests.network import FOREIGN_ASSET, FakeNetwork
from tests.test_check import (
    ALICE,
    ALICE_KEY,
    AMOUNT,
    ARRIVING,
    BOB_KEY,
    DELIVERY,
    DOT,
    EXECUTION,
    FEE,
    NATIVE_UP,
    RELAY_TO_HUB,
    USDT_ON_HUB,
    Check,
    asset,
    call_effects,
    fill,
    info,
    message,
    message_effects,
)
from tests.test_check import account as held

POT = b"modlPotStake".ljust(32, b"\0")


@pytest.fixture
def network(tmp_path: Path) -> Iterator[FakeNetwork]:
    with FakeNetwork(tmp_path) as network:
        fill(network)
        yield network


@pytest.fixture
def check(network: FakeNetwork, scenarioctl: Run) -> Check:
    return checker(network, scenarioctl)


def burn(amount: int) -> Call:
    return Call(pallet="Balances", method="burn", args={"value": amount, "keep_alive": True})


@pytest.mark.parametrize(
    ("call", "events"),
    [
        pytest.param(
            execute(withdraw(100 * DOT), burn_asset(DOT // 2), deposit(BOB_KEY)),
            (burned(100 * DOT), minted(100 * DOT - DOT // 2)),
            id="a program",
        ),
        pytest.param(
            execute(withdraw(100 * DOT), {"SetAppendix": [burn_asset(DOT // 2)]}, deposit(BOB_KEY)),
            (burned(100 * DOT), minted(100 * DOT - DOT // 2)),
            id="an appendix",
        ),
        pytest.param(
            batch(pay(BOB_KEY, 100 * DOT), burn(DOT // 2)),
            (transferred(BOB_KEY, 100 * DOT), burned(DOT // 2)),
            id="a batch",
        ),
    ],
)
def test_what_is_destroyed_is_told(
    network: FakeNetwork,
    check: Check,
    call: Call,
    events: tuple[Any, ...],
) -> None:
    answer = judge(network, check, call, *events)

    assert answer["warnings"][0] == "destroys 0.5 DOT on Polkadot"
    assert ("polkadot", "destroyed", "0.5 DOT") in steps(answer)
    assert answer["verdict"] == "ok"


@pytest.mark.parametrize("missing", [1, 10**6, DOT])
def test_a_single_unit_that_nobody_gets_is_not_ok(
    network: FakeNetwork,
    check: Check,
    missing: int,
) -> None:
    call = execute(withdraw(100 * DOT), deposit(BOB_KEY))

    answer = judge(network, check, call, burned(100 * DOT), minted(100 * DOT - missing))
    whole = judge(network, check, call, burned(100 * DOT), minted(100 * DOT))

    assert (answer["verdict"], whole["verdict"]) == ("unknown", "ok")
    assert [reason.split(" that leaves")[1] for reason in answer["reasons"]] == [
        " accounts on Polkadot is credited to nobody: it may be lost"
    ]


def test_more_than_is_said_to_be_destroyed_is_not_ok(network: FakeNetwork, check: Check) -> None:
    call = execute(withdraw(100 * DOT), burn_asset(DOT), deposit(BOB_KEY))

    answer = judge(network, check, call, burned(100 * DOT), minted(98 * DOT))

    assert answer["verdict"] == "unknown"
    assert answer["reasons"] == [says("1", "DOT", "Polkadot")]
    assert answer["warnings"][0] == "destroys 1 DOT on Polkadot"


@pytest.mark.parametrize(
    ("events", "verdict"),
    [
        pytest.param((minted(ARRIVING),), "ok", id="destroyed"),
        pytest.param(
            (minted(ARRIVING), balances("Deposit", who=POT, amount=EXECUTION)),
            "ok",
            id="credited to a pot",
        ),
        pytest.param(
            (minted(ARRIVING), balances("Deposit", who=CAROL_KEY, amount=EXECUTION)),
            "ok",
            id="credited to whoever made the block",
        ),
        pytest.param((minted(ARRIVING - 2),), "unknown", id="two units more than the fee"),
        pytest.param(
            (minted(ARRIVING - EXECUTION // 2), balances("Deposit", who=POT, amount=EXECUTION)),
            "unknown",
            id="half of the fee once more",
        ),
    ],
)
def test_a_fee_may_be_missing_whole_and_once(
    network: FakeNetwork,
    check: Check,
    events: tuple[Any, ...],
    verdict: str,
) -> None:
    network.chains["assetHub"].api["DryRunApi_dry_run_xcm"] = message_effects(*events)

    answer = judge(network, check, pay(), burned(AMOUNT), forwarded=((RELAY_TO_HUB, message()),))

    assert answer["verdict"] == verdict, answer["reasons"]


def test_what_a_program_pays_for_its_execution_is_told(network: FakeNetwork, check: Check) -> None:
    """It buys as much weight as it likes, and the rest of what it withdraws is all that arrives."""
    limit = {"Limited": {"ref_time": 10**12, "proof_size": 10**6}}
    buys = {"BuyExecution": {"fees": asset(HERE, 99 * DOT), "weight_limit": limit}}
    network.chains["polkadot"].api["XcmPaymentApi_query_weight_to_asset_fee"] = {"Ok": 99 * DOT}
    call = execute(withdraw(100 * DOT), buys, deposit(BOB_KEY))

    answer = judge(network, check, call, burned(100 * DOT), minted(DOT))

    assert answer["verdict"] == "ok"
    assert ("polkadot", "execution", "99 DOT") in steps(answer)


def test_what_a_message_destroys_is_told_whole_though_its_fee_may_be_missing(
    network: FakeNetwork, check: Check
) -> None:
    *first, last, topic = message()["V5"]
    burning = {"V5": [*first, {"BurnAsset": [asset(NATIVE_UP, DOT // 2)]}, last, topic]}
    network.chains["assetHub"].api["DryRunApi_dry_run_xcm"] = message_effects(
        minted(AMOUNT - DOT // 2)
    )

    answer = judge(network, check, pay(), burned(AMOUNT), forwarded=((RELAY_TO_HUB, burning),))

    assert ("assetHub", "destroyed", "0.5 DOT") in steps(answer)


def test_what_a_program_destroys_on_another_chain_is_told_whole(
    network: FakeNetwork, check: Check
) -> None:
    _, clear, buy, last, topic = message()["V5"]
    rest = [buy, {"BurnAsset": [asset(NATIVE_UP, DOT // 2)]}, last]
    call = execute(
        withdraw(AMOUNT), {"InitiateTeleport": {"assets": ALL, "dest": RELAY_TO_HUB, "xcm": rest}}
    )
    sent = {"V5": [{"ReceiveTeleportedAsset": [asset(NATIVE_UP, AMOUNT)]}, clear, *rest, topic]}
    network.chains["assetHub"].api["DryRunApi_dry_run_xcm"] = message_effects(
        minted(AMOUNT - DOT // 2 - EXECUTION), balances("Deposit", who=POT, amount=EXECUTION)
    )

    answer = judge(network, check, call, burned(AMOUNT), forwarded=((RELAY_TO_HUB, sent),))

    assert ("assetHub", "destroyed", "0.5 DOT") in steps(answer)


@pytest.mark.parametrize(("got", "verdict"), [(1000, "ok"), (999, "unknown")])
def test_a_fee_of_another_asset_explains_nothing(
    network: FakeNetwork, check: Check, got: int, verdict: str
) -> None:
    descend = {"DescendOrigin": {"X1": [{"AccountId32": {"network": None, "id": ALICE_KEY}}]}}
    _, clear, *rest = message()["V5"]
    brought = {"WithdrawAsset": [asset(USDT_ON_HUB, 1000), asset(NATIVE_UP, AMOUNT)]}
    credited = {"Assets": {"Deposited": {"asset_id": 1984, "who": BOB_KEY, "amount": got}}}
    network.chains["assetHub"].api["DryRunApi_dry_run_xcm"] = message_effects(
        minted(ARRIVING), credited
    )
    both = {"V5": [descend, brought, clear, *rest]}

    answer = judge(network, check, pay(), burned(AMOUNT), forwarded=((RELAY_TO_HUB, both),))

    assert answer["verdict"] == verdict, answer["reasons"]


def test_a_program_that_refunds_may_pay_less_than_the_fee(
    network: FakeNetwork, check: Check
) -> None:
    program = message()["V5"]
    refunding = {"V5": [*program[:-2], "RefundSurplus", *program[-2:]]}
    network.chains["assetHub"].api["DryRunApi_dry_run_xcm"] = message_effects(minted(ARRIVING + 7))

    answer = judge(network, check, pay(), burned(AMOUNT), forwarded=((RELAY_TO_HUB, refunding),))

    assert not any("credited to nobody" in reason for reason in answer["reasons"])


def test_the_backing_of_what_goes_on_counts_once(network: FakeNetwork, check: Check) -> None:
    checking = b"modlpy/xcmch".ljust(32, b"\0")
    events = (burned(AMOUNT), minted(AMOUNT, checking))

    answer = judge(network, check, pay(), *events, forwarded=((RELAY_TO_HUB, message()),))
    half = judge(
        network,
        check,
        pay(),
        *(burned(2 * AMOUNT), minted(AMOUNT, checking)),
        forwarded=((RELAY_TO_HUB, message()),),
    )

    assert (answer["verdict"], half["verdict"]) == ("ok", "unknown")


def test_the_backing_of_what_goes_on_counts_once_also_if_its_account_is_named(
    network: FakeNetwork, check: Check
) -> None:
    sovereign = b"para" + (1000).to_bytes(4, "little") + bytes(24)
    events = (burned(2 * AMOUNT), minted(AMOUNT, sovereign))

    answer = judge(
        network,
        check,
        pay(sovereign),
        *events,
        forwarded=((RELAY_TO_HUB, message()),),
        words=("--yes",),
    )

    assert [reason for reason in answer["reasons"] if "nobody" in reason] == [
        says("1.47 DOT that leaves accounts on Polkadot", "nobody")
    ]


def test_a_delivery_fee_that_is_burned_is_accounted_for(network: FakeNetwork, check: Check) -> None:
    events = (burned(AMOUNT), burned(DELIVERY))

    answer = judge(network, check, pay(), *events, forwarded=((RELAY_TO_HUB, message()),))

    assert answer["verdict"] == "ok"


def test_an_event_that_moves_something_unknown_is_not_ok(
    network: FakeNetwork, check: Check
) -> None:
    answer = judge(network, check, pay(), balances("BalanceSet", who=ALICE_KEY, free=0))

    assert answer["verdict"] == "unknown"
    assert answer["reasons"] == [says("Polkadot", "Balances.BalanceSet")]


def test_an_item_that_is_not_fungible_is_not_followed(network: FakeNetwork, check: Check) -> None:
    item = {"WithdrawAsset": [{"id": HERE, "fun": {"NonFungible": {"Index": 7}}}]}

    answer = judge(network, check, execute(item, deposit(BOB_KEY)))

    assert answer["verdict"] == "unknown"
    assert says("not fungible", "Polkadot") in answer["reasons"]


def test_dust_of_an_asset_hub_is_read_from_its_state(
    network: FakeNetwork, scenarioctl: Run
) -> None:
    """Its events tell only of what was sent: what is left below the existential deposit goes
    too."""
    hub = network.chains["assetHub"]
    account = {"balance": 10**9, "status": "Liquid", "reason": "Sufficient", "extra": None}
    hub.store("Assets", "Account", 1984, ALICE_KEY, value=account)
    hub.store("Assets", "Asset", 1984, value={**FOREIGN_ASSET, "min_balance": 70_000})
    hub.store("System", "Account", ALICE_KEY, value=held(5 * DOT))
    hub.api["TransactionPaymentApi_query_info"] = info(FEE)
    sent = 999_950_000
    moved = {
        "Assets": {
            "Transferred": {"asset_id": 1984, "from": ALICE_KEY, "to": BOB_KEY, "amount": sent}
        }
    }
    hub.api["DryRunApi_dry_run_call"] = call_effects(events=(moved,))
    arguments = {"id": 1984, "target": {"Id": BOB_KEY}, "amount": sent}
    data = hub.table.encode_call(Call(pallet="Assets", method="transfer", args=arguments))

    ended = scenarioctl(
        *("--json", "--config", str(network.config), "tx", "check", "0x" + data.hex()),
        *("--chain", "assetHub", "--sender", ALICE),
    )

    answer = json.loads(ended.out)
    assert ("assetHub", "dust", "0.05 USDt") in steps(answer)
    assert answer["warnings"] == [says("0.05 USDt", "Polkadot Asset Hub", "0.07 USDt")]
