"""A call that gives a right away, or that isn't understood, is never ok, however deep it stands in
a transaction."""

from typing import Any

import pytest

from scenarioctl.model.calls import Call
from scenarioctl.transactions.simulation import branches
from scenarioctl.transactions.wording.phrases import CallStory, GrantedRight
from tests.check_rules import (
    WEIGHT,
    Judge,
    batch,
    check,
    inner,
    judge,
    network,
    pay,
    transferred,
    trial,
)
from tests.conftest import BOB
from tests.messages import Says, says
from tests.network import FakeNetwork
from tests.runner import finish
from tests.test_check import ALICE_KEY, BOB_KEY, DOT, RELAY_TO_HUB, location

__all__ = ["check", "judge", "network"]

ADD_PROXY = Call(
    pallet="Proxy",
    method="add_proxy",
    args={"delegate": {"Id": BOB_KEY}, "proxy_type": "Any", "delay": 0},
)
RIGHT = f"lets {BOB} do anything with this account from now on, on Polkadot"


def call(pallet: str, method: str, **args: Any) -> Call:
    return Call(pallet=pallet, method=method, args=args)


@pytest.mark.parametrize(
    ("granting", "sentence"),
    [
        pytest.param(
            call("Proxy", "add_proxy", delegate={"Id": BOB_KEY}, proxy_type="Staking", delay=7),
            says(BOB, "Staking", "7 blocks"),
            id="proxy of a type",
        ),
        pytest.param(
            call(
                "XcmPallet", "add_authorized_alias", aliaser={"V5": location(BOB_KEY)}, expires=99
            ),
            says(BOB, "as this account", "until block 99"),
            id="alias",
        ),
        pytest.param(
            call("Indices", "transfer", new={"Raw": b"\1"}, index=5),
            says("index 5", "0x01"),
            id="an address that is no account",
        ),
        pytest.param(
            call("System", "set_code", code=b"\0asm"), says("replaces the runtime"), id="runtime"
        ),
        pytest.param(
            call(
                "Multisig",
                "as_multi_threshold_1",
                other_signatories=[BOB_KEY],
                call=inner(ADD_PROXY),
            ),
            RIGHT,
            id="through a multisig",
        ),
        pytest.param(
            call(
                "Scheduler",
                "schedule",
                when=99,
                maybe_periodic=None,
                priority=0,
                call=inner(ADD_PROXY),
            ),
            RIGHT,
            id="at a later block",
        ),
    ],
)
def test_a_right_for_somebody_else_is_said_first_and_unknown(
    judge: Judge, granting: Call, sentence: str | Says
) -> None:
    answer = judge(granting, transferred(BOB_KEY, DOT))

    assert (answer["verdict"], answer["exit"]) == ("unknown", 5)
    assert answer["warnings"][0] == sentence
    assert sentence in answer["reasons"]


@pytest.mark.parametrize(
    ("puzzling", "reason"),
    [
        (
            call("Balances", "transfer_keep_alive", dest={"Index": None}, value=DOT),
            says("Balances.transfer_keep_alive"),
        )
    ],
)
def test_a_call_that_is_not_understood_is_unknown(
    judge: Judge, puzzling: Call, reason: Says
) -> None:
    answer = judge(batch(pay(), puzzling), transferred(BOB_KEY, DOT))

    assert (answer["verdict"], answer["exit"]) == ("unknown", 5)
    assert answer["reasons"] == [reason]


@pytest.mark.parametrize(
    "ordinary",
    [
        call("Staking", "chill"),
        call("Staking", "set_payee", payee="Staked"),
        call("NominationPools", "claim_payout"),
        call("ConvictionVoting", "remove_vote", **{"class": None, "index": 5}),
        call("Proxy", "remove_proxies"),
        call("Session", "purge_keys"),
        call("System", "remark", remark=b"\xff"),
    ],
)
def test_what_users_ordinarily_sign_is_understood(judge: Judge, ordinary: Call) -> None:
    answer = judge(batch(pay(), ordinary), transferred(BOB_KEY, DOT))

    assert (answer["verdict"], answer["reasons"]) == ("ok", [])


def test_a_right_in_a_message_is_read_by_the_runtime_of_its_chain(
    judge: Judge, network: FakeNetwork
) -> None:
    data = network.chains["assetHub"].table.encode_call(ADD_PROXY)
    transact = {
        "Transact": {
            "origin_kind": "SovereignAccount",
            "fallback_max_weight": WEIGHT,
            "call": {"encoded": data},
        }
    }
    send = call("XcmPallet", "send", dest={"V5": RELAY_TO_HUB}, message={"V5": [transact]})

    answer = judge(send, forwarded=[(RELAY_TO_HUB, {"V5": [transact]})])

    assert answer["verdict"] == "unknown"
    assert RIGHT.replace("Polkadot", "Polkadot Asset Hub") in answer["reasons"]


def test_rights_are_told_apart_from_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    story, tried = CallStory(), trial()
    story.grants(GrantedRight(sentence="for Bob", accounts=frozenset((BOB_KEY,))))
    story.grants(GrantedRight(sentence="for both", accounts=frozenset((BOB_KEY, ALICE_KEY))))
    story.grants(GrantedRight(sentence="for Alice", accounts=frozenset((ALICE_KEY,))))

    monkeypatch.setattr(branches, "tell_call", lambda *_: story)

    finish(branches.check_granted_rights(tried))

    findings = tried.findings
    assert (findings.rights, findings.warnings) == (["for Bob", "for both"], [])
    assert findings.unknowns == findings.rights
