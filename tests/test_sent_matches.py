"""What was sent is known by its call, however it is sent."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.errors import Conflict, InvalidRequest
from scenarioctl.model.acting import multisig
from scenarioctl.model.calls import Call
from scenarioctl.model.jobs import SentState
from scenarioctl.operations.builds import BatchScenario, batch_scenario
from scenarioctl.operations.creation import CreateRemark, create_remark
from scenarioctl.operations.jobs import (
    JobMempool,
    RunJob,
    StartJob,
    job_mempool,
    run_job,
    start_job,
)
from scenarioctl.operations.payload import TransactionPayload, transaction_payload
from scenarioctl.operations.payouts import ListPayments, list_payments
from scenarioctl.operations.views import read_unsigned
from scenarioctl.transactions.extrinsic import extrinsic_hash
from scenarioctl.transactions.submission import tracking
from tests.conftest import BOB
from tests.messages import raises, says
from tests.runner import finish
from tests.runtimes import unhex
from tests.signing import dev_key
from tests.test_broadcast import (
    ALICE,
    CHAIN,
    NUMBER,
    PAID,
    SUCCESS,
    TABLE,
    events,
    options,
    sent,
    signed,
)
from tests.test_check import BOB_KEY, DOT
from tests.test_payout_records import CAROL, CAROL_KEY, SIGNED, calls, copy_of, create, rows
from tests.test_transaction_status import World

KEY = dev_key().public_key


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(tmp_path, stack)


def send(world: World, call: Call, *, nonce: int = 5, **more: Any) -> str:
    """Send *call*, signed; return its hash."""
    tx = signed(call, options(nonce=nonce))
    hash = str(extrinsic_hash(unhex(tx)))
    # Each signature is another one.
    SIGNED[hash] = tx
    world.chain.nonce = nonce
    world.broadcast(tx, **more)
    return hash


def inner(call: Call) -> dict[str, Any]:
    return {call.pallet: {call.method: call.args}}


def states(world: World, scenario: str) -> list[str]:
    return [row[3] for row in rows(world, scenario)]


def payload(world: World, scenario: str, **more: Any) -> Any:
    request = TransactionPayload(scenario=scenario, sender=ALICE, **more)
    return finish(transaction_payload(world.app, request))


def test_a_payout_that_is_sent_as_it_is_drafted_is_paid_once(world: World) -> None:
    scenario = create(world, [BOB, "1"], [CAROL, "2"], [BOB, "3"], portion=9)["result"]
    assert states(world, scenario) == ["not sent"] * 3
    made = payload(world, scenario).answer["signer_payload"]["method"]
    call = TABLE.decode_call(unhex(made))

    hash = send(world, call)

    assert states(world, scenario) == ["sent"] * 3
    with raises(Conflict, says("were sent", hash=hash)):
        payload(world, scenario)
    with raises(Conflict, says("nothing was sent", hash=hash)):
        send(world, call, nonce=6)
    # Somebody who means it copies the scenario: the same bytes are the copy's.
    copy = copy_of(world, scenario)
    payload(world, copy)
    second = send(world, call, nonce=6)
    assert {row[4] for row in rows(world, copy)} == {second}
    assert {row[4] for row in rows(world, scenario)} == {hash}


@pytest.mark.parametrize("how", ["proxy", "multisig", "batch", "hash"])
def test_a_call_inside_another_one_is_found(world: World, how: str) -> None:
    scenario = create(world, [BOB, "1"])["result"]
    (call,) = calls(world, scenario)
    others = sorted((BOB_KEY, CAROL_KEY))
    approval: dict[str, Any] = {
        "threshold": 2,
        "other_signatories": others,
        "maybe_timepoint": None,
        "max_weight": {"ref_time": 1, "proof_size": 1},
    }
    around: dict[str, tuple[str, str, dict[str, Any]]] = {
        "proxy": ("Proxy", "proxy", {"real": {"Id": BOB_KEY}, "force_proxy_type": None}),
        "multisig": ("Multisig", "as_multi", approval),
        "batch": ("Utility", "force_batch", {}),
        "hash": ("Multisig", "approve_as_multi", approval),
    }
    pallet, method, args = around[how]
    within: dict[str, Any] = {
        "batch": {"calls": [inner(call)]},
        "hash": {"call_hash": unhex(_hash_of(call))},
        "proxy": {"call": inner(call)},
        "multisig": {"call": inner(call)},
    }

    hash = send(world, Call(pallet=pallet, method=method, args={**args, **within[how]}))

    assert rows(world, scenario) == [(2, BOB, "1 DOT", "sent", hash)]


def _hash_of(call: Call) -> str:
    from scenarioctl.model.calls import call_key

    return call_key(TABLE.encode_call(call))


def test_another_signatory_approves_what_was_begun(world: World) -> None:
    scenario = create(world, [BOB, "1"])["result"]
    (call,) = calls(world, scenario)
    others = sorted((BOB_KEY, CAROL_KEY))

    def approve(timepoint: Any) -> Call:
        args = {"threshold": 2, "other_signatories": others, "maybe_timepoint": timepoint,
            "call": inner(call), "max_weight": {"ref_time": 1, "proof_size": 1}}  # fmt: skip
        return Call(pallet="Multisig", method="as_multi", args=args)

    send(world, approve(None))

    # It opens the same once more, or approves what is open.
    with raises(Conflict, says("were sent")):
        send(world, approve(None), nonce=6)
    send(world, approve({"height": 9, "index": 1}), nonce=6)
    assert multisig([KEY, *others], 2).account


def test_all_steps_in_one_are_all_sent(world: World) -> None:
    scenario = create(world, [BOB, "1"], [CAROL, "2"], [BOB, "3"])["result"]
    built = finish(batch_scenario(world.app, BatchScenario(id=scenario))).answer["tx"]
    call, _ = read_unsigned(TABLE, CHAIN, unhex(built))

    hash = send(world, call)

    assert {row[3:] for row in rows(world, scenario)} == {("sent", hash)}
    with pytest.raises(Conflict):
        calls(world, scenario)


def test_a_draft_is_sent_without_being_named(world: World) -> None:
    scenario = create(world, [BOB, "1"])["result"]
    finish(start_job(world.app, StartJob(id=scenario)))
    for _ in range(2):
        finish(run_job(world.app, RunJob(id=scenario)))
    first, second = finish(job_mempool(world.app, JobMempool(id=scenario))).answer["mempool"]
    call, _ = read_unsigned(TABLE, CHAIN, unhex(first["tx"]))

    hash = send(world, call)

    drafts = finish(job_mempool(world.app, JobMempool(id=scenario))).answer["mempool"]
    # Both are the same: the newest is meant.
    assert [each.get("sent", {}).get("hash") for each in drafts] == [None, hash]
    assert second["tx"] == first["tx"]


def test_two_scenarios_with_the_same_call_are_told_apart_by_whom_they_are_for(
    world: World,
) -> None:
    first = create(world, [BOB, "1"])["result"]
    second = copy_of(world, first)
    (call,) = calls(world, first)
    calls(world, second)

    hash = send(world, call)

    # It may be made of either.
    assert [states(world, each) for each in (first, second)] == [["uncertain"], ["uncertain"]]
    for each in (first, second):
        with raises(Conflict, says("may also be made of another", "`scenario`", hash=hash)):
            payload(world, each)
    told = world.broadcast(SIGNED[hash], scenario=second)
    assert told.notes == (says("sent already", "nothing was sent now"),)
    assert sent(world.node) == 1
    assert [states(world, each) for each in (first, second)] == [["not known to be sent"], ["sent"]]
    # What is made for one signer is theirs.
    payload(world, first)
    send(world, call, nonce=6)
    assert states(world, first) == ["sent"]


def test_what_is_something_else_is_not_told_as_sent(world: World) -> None:
    scenario, other = (create(world, [BOB, amount])["result"] for amount in ("1", "2"))
    (call,) = calls(world, scenario)
    hash = send(world, call)

    with raises(InvalidRequest, says("any step", scenario=other)):
        world.broadcast(SIGNED[hash], scenario=other)

    assert rows(world, scenario)[0][3:] == ("sent", hash)


def test_only_the_lines_that_failed_are_drafted_again(world: World) -> None:
    lines = ([BOB, "1"], [CAROL, "2"], [BOB, "1"])
    scenario = create(world, *lines, portion=9, force_batch=True)["result"]
    (call,) = calls(world, scenario)
    hash = send(world, call)
    done, moved = {"Utility": "ItemCompleted"}, {"from": KEY, "to": BOB_KEY, "amount": DOT}
    paid = [{"Balances": {"Transfer": moved}}, done]
    failed = {"Utility": {"ItemFailed": {"error": "BadOrigin"}}}
    end = [{"Utility": "BatchCompletedWithErrors"}, PAID, SUCCESS]
    ends = [*paid, failed, *paid, *end]
    world.chain.events = events((0, SUCCESS), *((1, each) for each in ends))
    world.chain.include(NUMBER + 1, SIGNED[hash], finalized=True)
    world.status(hash)

    assert states(world, scenario) == ["finalized", "finalized", "failed"]
    (again,) = calls(world, scenario)
    assert again.args["value"] == 2 * DOT
    world.now += 1
    second = send(world, again, nonce=6)
    assert [(row[0], *row[3:]) for row in rows(world, scenario)] == [
        (2, "finalized", hash),
        (4, "finalized", hash),
        (3, "sent", second),
    ]
    with raises(Conflict, says("were sent", hash=second)):
        payload(world, scenario)


def test_what_another_wallet_sent_is_found_once_the_nonce_says_so(world: World) -> None:
    scenario = create(world, [BOB, "1"])["result"]
    made = payload(world, scenario).answer["signer_payload"]
    assert states(world, scenario) == ["not sent"]
    tx = signed(TABLE.decode_call(unhex(made["method"])), options(nonce=5))
    world.chain.include(NUMBER + 1, tx, finalized=True)
    world.chain.nonce = 6

    with raises(Conflict, says("were sent", hash=str(extrinsic_hash(unhex(tx))))):
        payload(world, scenario)

    assert [row[4] for row in rows(world, scenario)] == [str(extrinsic_hash(unhex(tx)))]


def test_what_another_wallet_didn_t_send_is_known_once_all_blocks_are_searched(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = create(world, [BOB, "1"])["result"]
    payload(world, scenario)
    remark = Call(pallet="System", method="remark", args={"remark": b"x"})
    world.chain.include(NUMBER + 3, signed(remark, options(nonce=5)), finalized=True)
    world.chain.nonce = 6
    monkeypatch.setattr(tracking, "AT_ONCE", 2)

    found = finish(list_payments(world.app, ListPayments(id=scenario)))

    assert found.answer["payments"][0]["status"] == "not known to be sent"
    assert found.warnings == (says("not all blocks", "tx send of the same bytes", ALICE),)
    for _ in range(9):
        found = finish(list_payments(world.app, ListPayments(id=scenario)))
    assert (found.answer["payments"][0]["status"], found.warnings) == ("not sent", ())


def test_the_bytes_that_another_wallet_sent_tell_it(world: World) -> None:
    scenario = create(world, [BOB, "1"])["result"]
    (call,) = calls(world, scenario)
    tx = signed(call, options(nonce=5))
    world.chain.include(NUMBER + 1, tx, finalized=True)
    world.chain.nonce = 6
    assert states(world, scenario) == ["not known to be sent"]

    told = world.broadcast(tx, scenario=scenario)

    assert (told.notes, sent(world.node)) == ((says("nothing was sent now"),), 0)
    assert rows(world, scenario)[0][4] == told.answer["hash"]


def test_what_a_multisig_cancels_may_be_drafted_again(world: World) -> None:
    scenario = create(world, [BOB, "1"])["result"]
    (call,) = calls(world, scenario)
    others, hash = sorted((BOB_KEY, CAROL_KEY)), unhex(_hash_of(call))
    who = {"multisig": multisig([KEY, *others], 2).account, "call_hash": hash}

    def say(method: str, **more: Any) -> Call:
        args = {"threshold": 2, "other_signatories": others, **more}
        return Call(pallet="Multisig", method=method, args=args)

    def happens(number: int, hash: str, event: str, **fields: Any) -> None:
        told = {"Multisig": {event: {**fields, **who}}}
        world.chain.events = events((0, SUCCESS), (1, told), (1, PAID), (1, SUCCESS))
        world.chain.include(NUMBER + number, SIGNED[hash], finalized=True)
        world.status(hash)

    weight = {"ref_time": 1, "proof_size": 1}
    opened = send(world, say("as_multi", maybe_timepoint=None, call=inner(call), max_weight=weight))
    happens(1, opened, "NewMultisig", approving=KEY)
    assert states(world, scenario) == ["pending"]
    with raises(Conflict, says("were sent", hash=opened)):
        payload(world, scenario)

    point = {"height": NUMBER + 1, "index": 1}
    ended = send(world, say("cancel_as_multi", timepoint=point, call_hash=hash), nonce=6)
    happens(2, ended, "MultisigCancelled", cancelling=KEY, timepoint=point)

    assert states(world, scenario) == ["canceled"]
    payload(world, scenario)
    assert states(world, scenario) == ["canceled"]


def test_drafts_of_a_job_say_what_was_sent_beside_them(world: World) -> None:
    line = CreateRemark(chain="polkadot", text="paid")
    scenario = finish(create_remark(world.app, line)).answer["result"]
    finish(run_job(world.app, RunJob(id=scenario)))
    made = payload(world, scenario).answer["signer_payload"]["method"]
    call = TABLE.decode_call(unhex(made))

    # It was made for this signer by hand, and the draft for nobody.
    hash = send(world, call)

    found = finish(job_mempool(world.app, JobMempool(id=scenario)))
    assert "sent" not in found.answer["mempool"][0]
    assert found.warnings == (says("you pay again", hash=hash),)
    draft = finish(transaction_payload(world.app, TransactionPayload(job=scenario, sender=ALICE)))
    assert says("you pay again", hash=hash) in draft.warnings


def test_what_may_not_have_been_sent_is_not_told_as_sent(world: World) -> None:
    scenario = create(world, [BOB, "1"])["result"]
    (call,) = calls(world, scenario)
    hash = send(world, call)
    stored = finish(world.app.store.sent().get("polkadot", hash))
    assert stored is not None
    finish(world.app.store.sent().change(replace(stored, state=SentState.UNCERTAIN, made_of=())))

    with raises(Conflict, says("may already have been sent", hash=hash)):
        world.broadcast(SIGNED[hash], scenario=scenario)
