"""What votes, delegations, and payouts of the treasury and of bounties do, in words: whose right it
is, and how long tokens are locked."""

import json
from typing import Any

import pytest

from tests.conftest import BOB, BOB_HEX, Run

HUB = "on Polkadot Asset Hub"


def vote(byte: int) -> str:
    return json.dumps({"Standard": {"vote": byte, "balance": "10000000000"}})


HERE = {"parents": 0, "interior": "Here"}


def kind(version: str) -> Any:
    """Return USDT of the Asset Hub, as what the treasury pays."""
    junctions = [{"PalletInstance": 50}, {"GeneralIndex": 1984}]
    return {version: {"location": HERE, "asset_id": {"parents": 0, "interior": {"X2": junctions}}}}


def account(version: str) -> Any:
    interior = {"X1": [{"AccountId32": {"network": None, "id": BOB_HEX}}]}
    return {version: {"location": HERE, "account_id": {"parents": 0, "interior": interior}}}


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            ("ConvictionVoting", "vote", "7", vote(0x83)),
            (
                "votes on the referendum 7: aye with 1 DOT, locked for 4 lock "
                f"periods after it ends, if that side wins, {HUB}"
            ),
        ),
        (
            ("ConvictionVoting", "vote", "7", vote(0x80)),
            (
                "votes on the referendum 7: aye with 1 DOT, not locked after it ends, if that "
                f"side wins, {HUB}"
            ),
        ),
        (
            ("ConvictionVoting", "delegate", "3", BOB, "Locked6x", "10000000000"),
            (
                f"lets {BOB} vote with 1 DOT of the signer, locked for 32 lock "
                f"periods after it is undelegated, on the track 3, {HUB}"
            ),
        ),
        (("ConvictionVoting", "undelegate", "3"), f"stops delegating votes on the track 3 {HUB}"),
        (
            ("ConvictionVoting", "remove_vote", "3", "7"),
            f"removes the signer's vote on the referendum 7 {HUB}",
        ),
        (
            ("Treasury", "spend_local", "10000000000", BOB),
            f"has the treasury of Polkadot Asset Hub pay 1 DOT to {BOB}",
        ),
        (
            (
                *("Treasury", "spend", json.dumps(kind("V5")), "25000000"),
                *(json.dumps(account("V5")), "null"),
            ),
            (
                f"has the treasury of Polkadot Asset Hub pay 25 USDt to {BOB} on Polkadot "
                "Asset Hub, if anybody asks for it within its payout period"
            ),
        ),
        (("Treasury", "payout", "5"), f"pays out the treasury's spend 5 to its beneficiary {HUB}"),
        (("Bounties", "award_bounty", "4", BOB), f"lets {BOB} claim the bounty 4, {HUB}"),
    ],
)
def test_a_call_of_governance_is_told(scenarioctl: Run, call: tuple[str, ...], says: str) -> None:
    ended = scenarioctl("--offline", "tx", "call", "assetHub", *call, "--field", "says")

    assert (ended.code, ended.out) == (0, f"{says}\n")


def test_a_conviction_that_there_is_not_is_not_understood(scenarioctl: Run) -> None:
    ended = scenarioctl(
        "--offline",
        "tx",
        "call",
        "assetHub",
        "ConvictionVoting",
        "vote",
        "7",
        vote(0x87),
        "--field",
        "says",
    )

    assert "not understood" in ended.out


def test_other_chains_pay_in_their_own_asset(scenarioctl: Run) -> None:
    line = ("--offline", "tx", "call", "hydraDx")

    spend = scenarioctl(
        *line, "Treasury", "spend", "null", "2000000000000", BOB, "9", "--field", "says"
    )
    vote_ = scenarioctl(*line, "ConvictionVoting", "vote", "7", vote(0x81), "--field", "says")
    old = scenarioctl(*line, "Democracy", "delegate", BOB, "Locked2x", "5", "--field", "says")

    assert spend.out == (
        f"has the treasury of Hydration pay 2 HDX to {BOB}, if anybody asks for it within "
        "its payout period, from block 9 on\n"
    )
    assert "locked for 1 lock period" in vote_.out
    assert "locked for 2 lock periods" in old.out


def test_the_relay_chain_pays_elsewhere(scenarioctl: Run) -> None:
    place = {"parents": 0, "interior": {"X1": [{"Parachain": 1000}]}}
    asset = {"V5": {"location": place, "asset_id": kind("V5")["V5"]["asset_id"]}}
    receiver = {"V5": account("V5")["V5"]["account_id"]}
    line = (
        *("Treasury", "spend", json.dumps(asset), "25000000", json.dumps(receiver), "null"),
        *("--field", "says"),
    )

    ended = scenarioctl("--offline", "tx", "call", "polkadot", *line)

    assert ended.out == (
        f"has the treasury of Polkadot pay 25 USDt to {BOB} on Polkadot Asset Hub, if "
        "anybody asks for it within its payout period\n"
    )
