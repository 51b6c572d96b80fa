"""What a call holds, locks or sets free of those who make it is told with its amount, although no
event tells it."""

from typing import Any

import pytest

from scenarioctl.model.acting import derivative_account, multisig
from scenarioctl.model.calls import Call
from tests.check_rules import CAROL_KEY, Judge, balances, batch, check, inner, judge, network, pay
from tests.check_rules import steps as steps_of
from tests.conftest import BOB
from tests.messages import says
from tests.network import FakeNetwork
from tests.test_check import ALICE_KEY, BOB_KEY, DOT, account

__all__ = ["check", "judge", "network"]
NOTED = Call(pallet="Preimage", method="note_preimage", args={"bytes": b"hi"})
DERIVED = derivative_account(ALICE_KEY, 7)
MEMBERS = multisig((ALICE_KEY, CAROL_KEY), 1).account


def proxied(call: Call) -> Call:
    args = {"real": {"Id": BOB_KEY}, "force_proxy_type": None, "call": inner(call)}
    return Call(pallet="Proxy", method="proxy", args=args)


def derived(call: Call) -> Call:
    args = {"index": 7, "call": inner(call)}
    return Call(pallet="Utility", method="as_derivative", args=args)


def of_members(call: Call) -> Call:
    args = {"other_signatories": [CAROL_KEY], "call": inner(call)}
    return Call(pallet="Multisig", method="as_multi_threshold_1", args=args)


@pytest.mark.parametrize(
    ("held", "locked", "events", "expected"),
    [
        (2 * DOT, 0, (), [("polkadot", "deposit", "2 DOT")]),
        (-2 * DOT, 0, (), [("polkadot", "released", "2 DOT")]),
        (0, 3 * DOT, (), [("polkadot", "locked", "3 DOT")]),
        # What was locked can be held beside.
        (DOT, 2 * DOT, (), [("polkadot", "deposit", "1 DOT"), ("polkadot", "locked", "2 DOT")]),
        # An event tells of a part, or of all.
        (0, 0, (balances("Reserved", who=ALICE_KEY, amount=DOT),),
         [("polkadot", "deposit", "1 DOT")]),
        (DOT, 0, (balances("Reserved", who=ALICE_KEY, amount=DOT),),
         [("polkadot", "deposit", "2 DOT")]),
        # The existential deposit may be what can't be spent any more.
        (0, DOT, (), []),
        (0, 0, (), []),
    ],
)  # fmt: skip
def test_what_is_set_aside_of_the_sender_is_a_step(
    network: FakeNetwork, judge: Judge, held: int, locked: int, events: Any, expected: Any
) -> None:
    relay = network.chains["polkadot"]
    relay.store("System", "Account", ALICE_KEY, value=account(50 * DOT, reserved=5 * DOT))
    relay.silent[ALICE_KEY] = (held, locked)

    answer = judge(NOTED, *events)

    assert answer["verdict"] == "ok"
    assert [step for step in steps_of(answer) if step[1] != "transaction fee"] == expected


@pytest.mark.parametrize(
    ("around", "who"), [(proxied, BOB_KEY), (derived, DERIVED), (of_members, MEMBERS)]
)
@pytest.mark.parametrize(
    ("held", "locked", "said"),
    [
        (2 * DOT, 0, ["is held"]),
        (0, 2 * DOT, ["is locked"]),
        (-2 * DOT, 0, ["comes free"]),
        (0, 0, []),
    ],
)
def test_what_is_set_aside_of_another_account_is_said(
    network: FakeNetwork, judge: Judge, around: Any, who: bytes, held: int, locked: int, said: Any
) -> None:
    relay = network.chains["polkadot"]
    relay.store("System", "Account", who, value=account(50 * DOT, reserved=5 * DOT))
    relay.silent[who] = (held, locked)

    answer = judge(batch(pay(), around(NOTED)), *paid())

    assert answer["verdict"] == "ok"
    assert answer["warnings"] == [says("2 DOT", each, "Polkadot") for each in said]
    if who == BOB_KEY:
        assert all(BOB in each for each in answer["warnings"])


def paid() -> tuple[Any, ...]:
    return (balances("Transfer", **{"from": ALICE_KEY, "to": BOB_KEY, "amount": DOT}),)


@pytest.mark.parametrize("call", [NOTED, proxied(NOTED)])
def test_what_no_chain_tells_is_unknown(network: FakeNetwork, judge: Judge, call: Call) -> None:
    network.chains["polkadot"].mute = True

    answer = judge(call)

    assert (answer["verdict"], answer["reasons"]) == (
        "unknown",
        [says("Preimage.note_preimage", "Polkadot", "isn't told")],
    )


def test_a_transfer_asks_for_nothing_more(network: FakeNetwork, judge: Judge) -> None:
    answer = judge(batch(pay(), pay()), *paid(), *paid())

    tried = [data for name, data in network.chains["polkadot"].asked if "dry_run_call" in name]
    assert answer["verdict"] == "ok"
    assert not any(b"fee of a dry run" in data for data in tried)
