"""A payout pays no line twice: what was sent is not drafted or edited again."""

import csv
import io
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.chains.addresses import format_account
from scenarioctl.errors import Conflict, InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.model.diagram import ACTING
from scenarioctl.model.jobs import SentFor, SentState
from scenarioctl.operations import broadcasts
from scenarioctl.operations.creation import CreateFlow, CreateRemark, create_flow, create_remark
from scenarioctl.operations.jobs import RunJob, StartJob, run_job, start_job
from scenarioctl.operations.payload import TransactionPayload, transaction_payload
from scenarioctl.operations.payout_records import read_sent_payouts
from scenarioctl.operations.payouts import (
    CreatePayout,
    ListPayments,
    create_payout,
    list_payments,
)
from scenarioctl.operations.scenario_changes import (
    ReplaceScenario,
    replace_scenario,
)
from scenarioctl.operations.scenarios import FullScenarioInfo, full_scenario_info
from scenarioctl.operations.stored_diagrams import open_scenario, store_new
from scenarioctl.operations.views import read_unsigned
from scenarioctl.transactions.extrinsic import extrinsic_hash
from tests.conftest import BOB
from tests.messages import raises, says
from tests.runner import finish
from tests.runtimes import unhex
from tests.signing import dev_key
from tests.test_broadcast import CHAIN, NUMBER, PAID, SUCCESS, TABLE, events, options, signed
from tests.test_check import ALICE, BOB_KEY, DOT
from tests.test_payouts import table
from tests.test_scenario_batches import transfer
from tests.test_sent import SENT
from tests.test_transaction_status import World

CAROL_KEY, DAVE_KEY = sha256(b"carol").digest(), sha256(b"dave").digest()
CAROL = format_account(CAROL_KEY, 0)
DAVE = format_account(DAVE_KEY, 0)


@pytest.fixture
def world(tmp_path: Path) -> Any:
    with ExitStack() as stack:
        yield World(tmp_path, stack)


def create(world: World, *lines: Sequence[object], **more: Any) -> Any:
    """Return the answer for a payout of DOT, with one line in a transaction."""
    request = CreatePayout(
        lines=table(*lines), chain="polkadot", asset="DOT", **({"portion": 1, "yes": True} | more)
    )
    return finish(create_payout(world.app, request)).answer


#: Hash -> what was sent.
SIGNED: dict[str, str] = {}


def calls(world: World, scenario: str) -> list[Call]:
    """Return what its transactions pay that can be drafted now, the sent ones left out."""
    result = finish(full_scenario_info(world.app, FullScenarioInfo(id=scenario))).answer["result"]
    drafted = [each for each in result.get("transactions", [result]) if "tx" in each]
    return [read_unsigned(TABLE, CHAIN, unhex(each["tx"]))[0] for each in drafted]


def paid(call: Call) -> tuple[str, str]:
    return format_account(call.args["dest"]["Id"], 0), f"{call.args['value'] / DOT:g}"


def send(world: World, scenario: str, call: Call, *, nonce: int = 5, **more: Any) -> str:
    """Send *call*, signed, as a transaction of *scenario*; return its hash."""
    tx = signed(call, options(nonce=nonce))
    hash = str(extrinsic_hash(unhex(tx)))
    # Each signature is another one.
    SIGNED[hash] = tx
    world.broadcast(tx, scenario=scenario, **more)
    return hash


def include(world: World, call: Call, hash: str, *, gets: int = 0, ends: Any = SUCCESS) -> None:
    """Let a final block have it, in which its receiver gets so much."""
    moved = {
        "Balances": {
            "Transfer": {
                "from": dev_key().public_key,
                "to": call.args["dest"]["Id"],
                "amount": gets,
            }
        }
    }
    world.chain.events = events((0, SUCCESS), *([(1, moved)] if gets else []), (1, PAID), (1, ends))
    world.chain.include(NUMBER + 1, SIGNED[hash], finalized=True)
    world.status(hash)


def rows(world: World, scenario: str) -> list[tuple[Any, ...]]:
    answer = finish(list_payments(world.app, ListPayments(id=scenario))).answer
    return [
        (each["line"], each["account"], each["amount"]["human"], each["status"], each["hash"])
        for each in answer["payments"]
    ]


def test_what_was_sent_is_not_drafted_again(world: World) -> None:
    created = create(world, [BOB, "1"], [CAROL, "2"])
    scenario, node = created["result"], created["transactions"][0]["node"]
    first, second = calls(world, scenario)
    hash = send(world, scenario, first)

    (left,) = calls(world, scenario)
    with raises(Conflict, says("were sent", hash=hash, node=node)):
        finish(full_scenario_info(world.app, FullScenarioInfo(id=scenario, step=1)))
    run = finish(run_job(world.app, RunJob(id=copy_of(world, scenario)))).answer

    assert left == second
    assert len(run["mempool"]) == 2


def copy_of(world: World, scenario: str) -> str:
    stored = finish(world.app.store.get_scenario(scenario))
    return str(finish(store_new(world.app, stored))[0])


def test_a_run_by_hand_drafts_only_what_was_not_sent(world: World) -> None:
    scenario = create(world, [BOB, "1"], [CAROL, "2"])["result"]
    hash = send(world, scenario, calls(world, scenario)[0])

    with pytest.raises(Conflict) as stopped:
        finish(run_job(world.app, RunJob(id=scenario)))

    assert hash in str(stopped.value)
    mempool: Any = stopped.value.details["mempool"]
    drafted = [each for each in mempool if each["tx"].startswith("0x")]
    assert [paid(read_unsigned(TABLE, CHAIN, unhex(each["tx"]))[0]) for each in drafted] == [
        (CAROL, "2")
    ]


def test_payloads_of_a_portion_have_the_same_nonce_until_one_is_in_a_block(world: World) -> None:
    scenario = create(world, [BOB, "1"])["result"]

    def nonce() -> Any:
        request = TransactionPayload(scenario=scenario, sender=ALICE)
        return finish(transaction_payload(world.app, request)).answer["signer_payload"]["nonce"]

    assert nonce() == nonce()


def test_a_second_transaction_for_the_same_payments_is_not_sent(world: World) -> None:
    scenario = create(world, [BOB, "1"])["result"]
    (call,) = calls(world, scenario)
    hash = send(world, scenario, call)
    world.chain.nonce = 6

    with raises(Conflict, says("nothing was sent", hash=hash)):
        send(world, scenario, call, nonce=6)

    assert world.stored(hash) is not None
    assert [each[4] for each in rows(world, scenario)] == [hash]


def test_the_step_of_a_payout_is_found_by_what_was_signed(world: World) -> None:
    scenario = create(world, [BOB, "1"], [CAROL, "2"])["result"]
    _, second = calls(world, scenario)

    hash = send(world, scenario, second)

    assert rows(world, scenario) == [
        (2, BOB, "1 DOT", "not known to be sent", None),
        (3, CAROL, "2 DOT", "sent", hash),
    ]


def test_a_payment_inside_another_call_counts(world: World) -> None:
    scenario = create(world, [BOB, "1"])["result"]
    (call,) = calls(world, scenario)
    inner = {call.pallet: {call.method: call.args}}
    proxied = Call(
        pallet="Proxy",
        method="proxy",
        args={"real": {"Id": BOB_KEY}, "force_proxy_type": None, "call": inner},
    )

    hash = send(world, scenario, proxied)

    assert rows(world, scenario) == [(2, BOB, "1 DOT", "sent", hash)]


def test_another_transaction_is_not_taken_for_a_payout(world: World) -> None:
    created = create(world, [BOB, "1"], [CAROL, "2"])
    scenario, node = created["result"], created["transactions"][1]["node"]
    first, _ = calls(world, scenario)

    with raises(InvalidRequest, says("any step", scenario=scenario)):
        send(world, scenario, Call(pallet="System", method="remark", args={"remark": b"x"}))
    with raises(InvalidRequest, says("step", scenario=scenario, node=node)):
        send(world, scenario, first, step=2)

    assert {status for _, _, _, status, _ in rows(world, scenario)} == {"not known to be sent"}


def test_what_failed_is_drafted_again(world: World) -> None:
    scenario = create(world, [BOB, "1"])["result"]
    (call,) = calls(world, scenario)
    hash = send(world, scenario, call)
    error = {"dispatch_error": "BadOrigin", "dispatch_info": {"weight": {"ref_time": 1,
        "proof_size": 1}, "class": "Normal", "pays_fee": "Yes"}}  # fmt: skip
    include(world, call, hash, ends={"System": {"ExtrinsicFailed": error}})

    assert [each[3] for each in rows(world, scenario)] == ["failed"]
    assert calls(world, scenario) == [call]


@pytest.mark.parametrize(
    ("state", "is_drafted"),
    [(SentState.UNCERTAIN, False), (SentState.SENT, False), (SentState.EXPIRED, True)],
)
def test_only_what_expired_without_a_block_is_drafted_again(
    world: World, state: SentState, is_drafted: bool
) -> None:
    created = create(world, [BOB, "1"])
    scenario, node = created["result"], created["transactions"][0]["node"]
    before = calls(world, scenario)
    # Of one that is uncertain, the process was killed after it wrote that down.
    made_of = (SentFor(scenario=scenario, node=node),)
    finish(world.app.store.sent().add(replace(SENT, made_of=made_of, state=state)))

    if is_drafted:
        assert calls(world, scenario) == before
    else:
        with pytest.raises(Conflict):
            calls(world, scenario)
    assert [each[3] for each in rows(world, scenario)] == [str(state)]


def test_the_transaction_of_one_signatory_is_not_said_to_have_paid(world: World) -> None:
    created = create(world, [BOB, "1"])
    scenario = created["result"]
    key = dev_key().public_key
    people = [f"0x{each.hex()}" for each in sorted((key, BOB_KEY, CAROL_KEY))]
    acting = {
        "name": "council",
        "signer": f"0x{key.hex()}",
        "layers": [{"threshold": 2, "signatories": people}],
    }
    document = finish(open_scenario(world.app, scenario)).document
    content = {**document, ACTING: acting}
    finish(replace_scenario(world.app, ReplaceScenario(id=scenario, content=content)))
    node = created["transactions"][0]["node"]
    finish(
        world.app.store.sent().add(
            replace(
                SENT,
                made_of=(SentFor(scenario=scenario, node=node),),
                state=SentState.SENT,
            )
        )
    )

    with raises(Conflict, says("signatory", "multisig approve", hash=SENT.hash)):
        calls(world, scenario)


def test_a_step_beside_a_payout_is_sent_as_any_other(world: World) -> None:
    payout = {
        "type": "payout",
        "chain": "polkadot",
        "lines": f"account,amount,asset\n{CAROL},3,DOT",
    }
    request = CreateFlow(flow={"steps": [transfer("2"), payout]}, syntax="json")
    scenario = finish(create_flow(world.app, request)).answer["result"]
    first, second = calls(world, scenario)

    hashes = [
        send(world, scenario, first, step=1),
        send(world, scenario, first, nonce=6),
        send(world, scenario, second, nonce=7),
    ]
    with raises(InvalidRequest, says("any step", scenario=scenario)):
        send(world, scenario, replace(second, args={**second.args, "value": 7}), nonce=8)

    sent = {each.hash: made.node for made, each in finish(read_sent_payouts(world.app, scenario))}
    nodes = [sent[hash] for hash in hashes]
    assert nodes[0] == nodes[1] != nodes[2]
    assert [row[3:] for row in rows(world, scenario)] == [("sent", hashes[2])]


def test_a_payout_that_was_sent_is_not_edited(world: World) -> None:
    scenario = create(world, [BOB, "1"], [CAROL, "50"], portion=2)["result"]

    def edit(*lines: Sequence[object]) -> Any:
        lines = tuple([*line, "DOT"] for line in lines)
        step = {
            "type": "payout",
            "chain": "polkadot",
            "lines": table(*lines, header="account,amount,asset"),
        }
        request = ReplaceScenario(id=scenario, content={"steps": [step]})
        return finish(replace_scenario(world.app, request)).answer["changed"]

    assert edit([BOB, "1"], [CAROL, "5"])
    (call,) = calls(world, scenario)
    hash = send(world, scenario, call)

    assert not edit([BOB, "1"], [CAROL, "5"])
    with raises(Conflict, says("were sent", hash=hash, id=scenario)):
        edit([BOB, "1"])
    # A run of a job pays all lines, whatever was sent before.
    finish(start_job(world.app, StartJob(id=scenario)))
    assert edit([BOB, "1"])


def test_a_transaction_of_a_step_that_is_gone_meanwhile_is_not_sent(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = create(world, [BOB, "1"])["result"]
    (call,) = calls(world, scenario)

    async def found_before(*given: Any) -> tuple[SentFor, ...]:
        return (SentFor(scenario=scenario, node="payout_that_is_gone"),)

    monkeypatch.setattr(broadcasts, "find_made", found_before)
    with raises(Conflict, says("changed", id=scenario)):
        send(world, scenario, call)

    assert [each[3] for each in rows(world, scenario)] == ["not known to be sent"]


# The report


def test_a_report_says_of_each_line_what_its_block_shows(world: World) -> None:
    scenario = create(world, [BOB, "1"], [CAROL, "2"], [DAVE, "3"])["result"]
    first, second, _ = calls(world, scenario)
    paid_to_bob = send(world, scenario, first)
    include(world, first, paid_to_bob, gets=DOT)
    world.chain.nonce = 6
    paid_to_carol = send(world, scenario, second, nonce=6)
    # Another transaction of that block paid her less.
    moved = {
        "Balances": {"Transfer": {"from": dev_key().public_key, "to": CAROL_KEY, "amount": DOT}}
    }
    world.chain.events = events((0, SUCCESS), (1, moved), (1, PAID), (1, SUCCESS))
    world.chain.include(NUMBER + 2, SIGNED[paid_to_carol], finalized=True)
    world.status(paid_to_carol)

    answer = finish(list_payments(world.app, ListPayments(id=scenario))).answer
    text = finish(list_payments(world.app, ListPayments(id=scenario, csv=True))).answer["csv"]

    assert [(each["status"], each["asked"]) for each in answer["payments"]] == [
        ("finalized", 1),
        ("unknown", 1),
        ("not known to be sent", None),
    ]
    assert next(csv.DictReader(io.StringIO(text))) == {
        "line": "2",
        "account": BOB,
        "amount": "1",
        "asset": "DOT",
        "memo": "",
        "chain": "polkadot",
        "hash": paid_to_bob,
        "block": str(NUMBER + 1),
        "status": "finalized",
    }


def test_what_is_no_payout_has_no_payments(world: World) -> None:
    remark = finish(create_remark(world.app, CreateRemark(chain="polkadot", text="x"))).answer[
        "result"
    ]

    result = finish(list_payments(world.app, ListPayments(id=remark)))

    assert (result.answer["payments"], result.notes) == ([], (says("not a payout"),))
