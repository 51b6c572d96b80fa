"""What became of each call inside a transaction: the innermost result, as the events tell."""

import json
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import pytest

from scenarioctl.chains.addresses import parse_any_account
from scenarioctl.model.acting import derivative_account, multisig
from scenarioctl.model.calls import Call
from scenarioctl.model.jobs import SentFor, SentState
from scenarioctl.operations.sent_states import settle
from scenarioctl.transactions.blocks import Event
from scenarioctl.transactions.submission.outcomes import Outcome, read_outcomes, walk_hashes
from tests.blocks import block_of
from tests.canned import ALICE_KEY
from tests.check_rules import CAROL_KEY, batch, inner, pay
from tests.messages import says
from tests.node import Feed, Node
from tests.test_broadcast import NUMBER, TABLE, Send, answers, events, options, send, signed
from tests.test_broadcast import SUCCESS as ENDED
from tests.test_check import BOB_KEY
from tests.test_sent import SENT
from tests.test_transaction_status import World, world

__all__ = ["send", "world"]

ERROR = {"Token": "FundsUnavailable"}
OK: dict[str, Any] = {"Ok": None}
LAYER = multisig([ALICE_KEY, BOB_KEY, CAROL_KEY], 2)
REMARK = Call(pallet="System", method="remark", args={"remark": b"hi"})


def hash_of(call: Call) -> bytes:
    return blake2b(TABLE.encode_call(call), digest_size=32).digest()


def event(name: str, **fields: Any) -> Event:
    pallet, _, name = name.partition(".")
    return Event(pallet=pallet, name=name, fields=fields)


DONE, FAILED = event("Utility.ItemCompleted"), event("Utility.ItemFailed", error=ERROR)
ALL, SOME = event("Utility.BatchCompleted"), event("Utility.BatchCompletedWithErrors")
STOPPED = event("Utility.BatchInterrupted", index=1, error=ERROR)
SUCCESS = event("System.ExtrinsicSuccess")
PAID = event("Balances.Transfer", **{"from": ALICE_KEY, "to": BOB_KEY, "amount": 1})


def proxied(result: Any) -> Event:
    return event("Proxy.ProxyExecuted", result=result)


def proxy(call: Call, real: bytes = CAROL_KEY) -> Call:
    args = {"real": {"Id": real}, "force_proxy_type": None, "call": inner(call)}
    return Call(pallet="Proxy", method="proxy", args=args)


def approving(call: Call | None, method: str = "as_multi", of: Call | None = None) -> Call:
    others = [each for each in LAYER.signatories if each != ALICE_KEY]
    args: dict[str, Any] = {"threshold": 2, "other_signatories": others}
    when = {"height": 1, "index": 1}
    if method == "cancel_as_multi":
        args["timepoint"] = when
    elif method != "as_multi_threshold_1":
        weight = {"ref_time": 0, "proof_size": 0}
        args |= {"maybe_timepoint": when, "max_weight": weight}
    args |= {"call_hash": hash_of(of)} if call is None and of else {"call": inner(call or REMARK)}
    if method == "as_multi_threshold_1":
        del args["threshold"]
    return Call(pallet="Multisig", method=method, args=args)


def of_multisig(name: str, call: Call, **fields: Any) -> Event:
    known: dict[str, Any] = {
        "multisig": LAYER.account,
        "call_hash": hash_of(call),
        "approving": ALICE_KEY,
    }
    known |= {} if name == "NewMultisig" else {"timepoint": {"height": 1, "index": 1}}
    return event(f"Multisig.{name}", **known, **fields)


def dispatch_as(call: Call, method: str = "dispatch_as") -> Call:
    args = {"as_origin": {"system": {"Signed": BOB_KEY}}, "call": inner(call)}
    return Call(pallet="Utility", method=method, args=args)


def derived(call: Call) -> Call:
    args = {"index": 7, "call": inner(call)}
    return Call(pallet="Utility", method="as_derivative", args=args)


def if_else(main: Call, fallback: Call) -> Call:
    args = {"main": inner(main), "fallback": inner(fallback)}
    return Call(pallet="Utility", method="if_else", args=args)


def force(*calls: Call) -> Call:
    return batch(*calls, method="force_batch")


TWO, SAME = (pay(amount=1), pay(amount=2)), force(pay(), pay())
EXECUTED = "MultisigExecuted"

CASES = {
    "plain": (pay(), [PAID], "done"),
    "batch": (batch(*TWO), [PAID, DONE, PAID, DONE, ALL], "done done done"),
    "interrupted": (
        batch(pay(), pay(), pay(), method="batch"),
        [PAID, DONE, STOPPED],
        "done done failed skipped",
    ),
    "forced": (
        force(pay(), pay(), pay()),
        [FAILED, PAID, DONE, FAILED, SOME],
        "done failed done failed",
    ),
    "equal nested batches": (
        force(SAME, SAME),
        [FAILED, PAID, DONE, SOME, DONE, PAID, DONE, FAILED, SOME, DONE, ALL],
        "done done failed done done done failed",
    ),
    "a nested batch that failed": (
        force(SAME, SAME),
        [FAILED, PAID, DONE, FAILED, SOME, DONE, SOME],
        "done failed failed failed done done failed",
    ),
    "proxy": (proxy(pay()), [PAID, proxied(OK)], "done done"),
    "proxy that failed": (
        proxy(batch(*TWO)),
        [proxied({"Err": ERROR})],
        "done failed failed failed",
    ),
    "opened": (
        approving(batch(*TWO)),
        [of_multisig("NewMultisig", batch(*TWO))],
        "done pending pending pending",
    ),
    "approved": (
        approving(pay()),
        [of_multisig("MultisigApproval", pay())],
        "done pending",
    ),
    "executed": (
        approving(force(*TWO)),
        [FAILED, PAID, DONE, SOME, of_multisig(EXECUTED, force(*TWO), result=OK)],
        "done done failed done",
    ),
    "last approval whose call failed": (
        approving(pay()),
        [of_multisig(EXECUTED, pay(), result={"Err": ERROR})],
        "done failed",
    ),
    "of another multisig": (
        approving(pay()),
        [event("Multisig.NewMultisig", multisig=BOB_KEY, call_hash=hash_of(pay()))],
        "done unknown",
    ),
    "approved by hash": (
        approving(None, "approve_as_multi", of=pay()),
        [of_multisig("MultisigApproval", pay())],
        "done pending",
    ),
    "canceled": (
        approving(None, "cancel_as_multi", of=pay()),
        [of_multisig("MultisigCancelled", pay())],
        "done canceled",
    ),
    "threshold 1": (approving(pay(), "as_multi_threshold_1"), [PAID], "done done"),
    "dispatched": (
        dispatch_as(pay()),
        [event("Utility.DispatchedAs", result={"Err": ERROR})],
        "done failed",
    ),
    "dispatched or failed": (
        dispatch_as(pay(), "dispatch_as_fallible"),
        [PAID, event("Utility.DispatchedAs", result=OK)],
        "done done",
    ),
    "derived": (derived(force(*TWO)), [FAILED, PAID, DONE, SOME], "done done failed done"),
    "main": (if_else(*TWO), [PAID, event("Utility.IfElseMainSuccess")], "done done skipped"),
    "fallback": (
        if_else(*TWO),
        [PAID, event("Utility.IfElseFallbackCalled", main_error=ERROR)],
        "done skipped done",
    ),
    "deep": (
        force(proxy(approving(if_else(*TWO))), pay()),
        [
            PAID,
            event("Utility.IfElseFallbackCalled", main_error=ERROR),
            proxied(OK),
            DONE,
            PAID,
            DONE,
            ALL,
        ],
        "done done done unknown unknown unknown done",
    ),
    "events are missing": (force(*TWO), [PAID, DONE, SOME], "done unknown done"),
    "events of others": (batch(pay()), [DONE, ALL, DONE, ALL], "done unknown"),
}


@pytest.mark.parametrize(("call", "events", "states"), CASES.values(), ids=CASES)
def test_each_call_has_its_own_outcome(call: Call, events: list[Event], states: str) -> None:
    found = read_outcomes(TABLE, call, ALICE_KEY, [*events, SUCCESS])

    assert " ".join(each.state for each in found) == states
    assert all("FundsUnavailable" in each.why for each in found if each.state == "failed")
    assert [Outcome.read(each.write()) for each in found] == found


def test_a_transaction_that_failed_did_nothing() -> None:
    failed = event("System.ExtrinsicFailed", dispatch_error=ERROR)

    for told, states in (([failed], {"failed"}), ([], {"unknown"})):
        found = read_outcomes(TABLE, batch(*TWO), ALICE_KEY, told)

        assert {each.state for each in found} == states


def test_approvals_are_counted() -> None:
    events = [of_multisig("NewMultisig", pay()), SUCCESS]

    (_, waiting) = read_outcomes(TABLE, approving(pay()), ALICE_KEY, events)

    assert waiting.why == "1 of 2 approved"


def test_each_call_is_known_by_its_hash_and_by_who_makes_it() -> None:
    call = batch(
        proxy(derived(pay())),
        approving(dispatch_as(pay())),
        approving(None, "approve_as_multi", of=REMARK),
    )

    found = [
        (each.place, each.hash, each.account) for each, _ in walk_hashes(TABLE, call, ALICE_KEY)
    ]

    def row(place: tuple[int, ...], call: Call, account: bytes) -> Any:
        return place, f"0x{hash_of(call).hex()}", account

    assert found == [
        row((), call, ALICE_KEY),
        row((0,), proxy(derived(pay())), ALICE_KEY),
        row((0, 0), derived(pay()), CAROL_KEY),
        row((0, 0, 0), pay(), derivative_account(CAROL_KEY, 7)),
        row((1,), approving(dispatch_as(pay())), ALICE_KEY),
        row((1, 0), dispatch_as(pay()), LAYER.account),
        row((1, 0, 0), pay(), BOB_KEY),
        row((2,), approving(None, "approve_as_multi", of=REMARK), ALICE_KEY),
        row((2, 0), REMARK, LAYER.account),
    ]


def test_the_account_that_is_derived_is_the_chains() -> None:
    account, derived = (
        parse_any_account(each, field="account")[0]
        for each in (
            "5GvUh7fGKsdBEh5XpypkfkGuf7j3vXLxH9BdxjxnJNVXRYi1",
            "5E5XxqPxm7QbEs6twYfp3tyjXidn4kqRrNPH4o6JK9JSLUeD",
        )
    )

    assert derivative_account(account, 0) == derived


def written(*found: Any) -> str:
    """Return the events of a block, as its state has them."""
    values = [
        {each.pallet: {each.name: each.fields} if each.fields else each.name}
        if isinstance(each, Event)
        else each
        for each in found
    ]
    return events(*((1, value) for value in [*values, ENDED]))


#: A call, its events, what became of it, its exit code, and what is said.
STANDINGS = {
    "done": (batch(*TWO), [DONE, DONE, ALL], "in-block", True, 0, ""),
    "a proxy's call failed": (
        *(proxy(pay()), [proxied({"Err": ERROR})], "failed", False, 6),
        "a call inside it failed: Token.FundsUnavailable",
    ),
    "a part failed": (
        *(force(pay(), pay(), pay()), [FAILED, DONE, FAILED, SOME], "partly-failed", None, 6),
        "2 of 3 calls inside it were not done: Token.FundsUnavailable",
    ),
    "the last approval": (
        *(approving(pay()), [of_multisig(EXECUTED, pay(), result={"Err": ERROR})], "failed"),
        *(False, 6, "a call inside it failed"),
    ),
    "a first approval": (
        *(approving(pay()), [of_multisig("NewMultisig", pay())], "pending", True, 0),
        "1 of 2 approved",
    ),
    "untold": (force(*TWO), [DONE, SOME], "unknown", None, 0, "isn't known"),
}


@pytest.mark.parametrize(
    ("call", "found", "became", "success", "code", "words"), STANDINGS.values(), ids=STANDINGS
)
def test_one_state_is_told_everywhere(
    world: World,
    send: Send,
    call: Call,
    found: list[Event],
    became: str,
    success: bool | None,
    code: int,
    words: str,
) -> None:
    tx = signed(call)
    world.chain.events = written(*found)
    hash = world.broadcast(tx).answer["hash"]
    world.chain.include(NUMBER + 1, tx)
    status = world.status(hash)
    block = world.chain.hash(NUMBER + 1)
    node_answers = answers(
        found=world.chain.events,
        chain_getBlock=block_of(block, world.chain.body(NUMBER + 1)),
        author_submitAndWatchExtrinsic=Feed(["ready", {"inBlock": block}]),
    )
    with Node(node_answers) as node:
        ended = send(node, tx, "--wait", "in-block")

    assert (status["became"], status["success"]) == (became, success)
    assert became == "in-block" or status["summary"] == says(words)
    assert bool(status["error"]) is ("failed" in became)
    assert (ended.code, words in ended.out + ended.err) == (code, True)
    assert world.show("tx", "list") == says(became)


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("proxy", "done"),
        ("proxy that failed", "failed"),
        ("executed", "done"),
        ("last approval whose call failed", "failed"),
        ("approved", "pending"),
        ("events are missing", "unknown"),
    ],
)
def test_a_step_has_the_outcome_of_its_innermost_calls(name: str, outcome: str) -> None:
    call, found, _ = CASES[name]
    rows = [each.write() for each in read_outcomes(TABLE, call, ALICE_KEY, [*found, SUCCESS])]
    made = SentFor(scenario="abc", call=f"0x{hash_of(call).hex()}")
    effects = json.dumps({"success": True, "outcomes": rows})

    settled = settle(replace(SENT, state=SentState.FINALIZED, effects=effects, made_of=(made,)))

    assert settled.made_of == (replace(made, outcome=outcome),)


def test_what_a_multisig_waits_for_ends_with_the_last_approval(world: World) -> None:
    call = approving(force(*TWO))
    ran = of_multisig(EXECUTED, force(*TWO), result=OK)
    ends = {
        0: [of_multisig("NewMultisig", force(*TWO))],
        1: [FAILED, DONE, SOME, ran],
    }
    transactions = [signed(call, options(nonce=5 + each)) for each in ends]
    hashes = [world.broadcast(each).answer["hash"] for each in transactions]

    def status(place: int, *, final: bool = True) -> Any:
        world.chain.events = written(*ends[place])
        world.chain.include(NUMBER + 1 + place, transactions[place], finalized=final)
        return world.status(hashes[place])

    opened = status(0)
    status(1, final=False)
    still = world.status(hashes[0])
    executed, later = status(1), world.status(hashes[0])

    assert (opened["became"], opened["settled"]) == ("pending", False)
    assert still["became"] == "pending"
    assert executed["became"] == later["became"] == "partly-failed"
    assert later["settled"]
    assert later["summary"] == says("1 of 2", "FundsUnavailable")


def test_one_whose_nonce_another_one_has_is_replaced(world: World) -> None:
    hash = world.broadcast().answer["hash"]
    world.chain.finalized = world.chain.best
    before = world.status(hash)
    world.chain.nonce = 6
    after = world.status(hash)

    assert (before["became"], before["settled"]) == ("sent", False)
    assert (after["became"], after["settled"]) == ("replaced", True)
    assert after["summary"] == says("nonce", "Polkadot")
