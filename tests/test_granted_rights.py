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
from tests.test_check import ALICE_KEY, BOB_KEY, DOT, RELAY_TO_HUB

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
