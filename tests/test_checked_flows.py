"""Scenarios and flows that are checked before they are stored or drafted: what only a check opens,
and what follows a swap."""

import json
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from scenarioctl.transactions.swap import swap_limits
from tests.conftest import BOB, Run
from tests.messages import says
from tests.network import FakeNetwork, call_tried
from tests.test_check import (
    ALICE,
    ALICE_KEY,
    BOB_KEY,
    DEX_TO_HUB,
    DOT,
    NATIVE_UP,
    asset,
    call_effects,
    location,
    message_effects,
)
from tests.test_connected import HDX_ON_HUB, WEIGHT_FEE, network, registered, tokens
from tests.test_fee_beside import program
from tests.test_remote_fee import AMOUNT, WUD_ON_HUB

__all__ = ["network"]

CHECK = ("--check", "--sender", ALICE)
HDX = {
    "type": "xTransfer",
    "source_chain": "hydraDx",
    "dest_chain": "assetHub",
    "destination_address": BOB,
    "amount": "1000",
    "assetid": "HDX",
}
WUD = {**HDX, "amount": "{{ swap.min_received }}", "assetid": "1000085", "remote_fee_asset": "DOT"}
SWAP = {
    "type": "swap",
    "assetin": "DOT",
    "assetout": "1000085",
    "amount": "1",
    "min_received": "1000000",
}


def flow(folder: Path, *steps: dict[str, Any]) -> str:
    file = folder / "flow.toml"
    file.write_text(tomli_w.dumps({"steps": list(steps)}))
    return str(file)


@pytest.fixture
def hdx_arrives(network: FakeNetwork) -> FakeNetwork:
    """Let the Asset Hub take HDX by teleport, as its runtime says."""
    fees = asset(HDX_ON_HUB, 10**15)
    message = {
        "V5": [
            {"ReceiveTeleportedAsset": [fees]},
            "ClearOrigin",
            {"BuyExecution": {"fees": fees, "weight_limit": "Unlimited"}},
            {
                "DepositAsset": {
                    "assets": {"Wild": {"AllCounted": 1}},
                    "beneficiary": location(BOB_KEY),
                }
            },
            {"SetTopic": b"\7" * 32},
        ]
    }
    issued = {"asset_id": HDX_ON_HUB, "owner": BOB_KEY, "amount": 10**15 - WEIGHT_FEE}
    network.chains["hydraDx"].api["DryRunApi_dry_run_call"] = call_effects((DEX_TO_HUB, message))
    network.chains["assetHub"].api |= {
        "DryRunApi_dry_run_xcm": message_effects({"ForeignAssets": {"Issued": issued}}),
        "TrustedQueryApi_is_trusted_teleporter": {"Ok": True},
    }
    return network


def test_what_only_a_check_opens_is_created_by_it_and_says_so(
    hdx_arrives: FakeNetwork, scenarioctl: Run, tmp_path: Path
) -> None:
    config = ("--config", str(hdx_arrives.config))
    words = ("--from", "hydraDx", "--to", "assetHub", "--asset", "HDX", "--amount", "1000")

    single = scenarioctl(
        *config, "create", "scenario", *words, "--destination-address", BOB, *CHECK
    )
    several = scenarioctl(*config, "create", "flow", flow(tmp_path, HDX, HDX), *CHECK)
    unchecked = scenarioctl(*config, "create", "flow", flow(tmp_path, HDX))

    assert (single.code, several.code, unchecked.code) == (0, 0, 2)
    told = says("only a check opens this transfer", "no job can")
    assert [line for line in single.err.splitlines() if "only a check" in line] == [told]
    assert [
        line.partition(": ")[2] for line in several.err.splitlines() if "only a check" in line
    ] == [told] * 2


@pytest.fixture
def sends_wud(network: FakeNetwork, monkeypatch: pytest.MonkeyPatch) -> FakeNetwork:
    """Let Hydration send WUD on, with half of the DOT that should go along; the swap before it is
    built without a quote."""

    async def price(_: Any, **terms: Any) -> Any:
        kept = {name: terms[name] for name in ("asset_in", "asset_out", "amount", "route")}
        return swap_limits.price_swap_offline(**kept, minimum=terms["bounds"].minimum)

    monkeypatch.setattr(swap_limits, "price_swap", price)
    hub, dex = network.chains["assetHub"], network.chains["hydraDx"]
    for number, held in ((5, 10**12), (1000085, 10 * AMOUNT)):
        dex.store("Tokens", "Accounts", ALICE_KEY, number, value=tokens(held))
        dex.store("AssetRegistry", "Assets", number, value=registered(10_000))
    half = (2 * WEIGHT_FEE + DOT // 100) // 2
    message = program("WithdrawAsset", asset(NATIVE_UP, half), asset(WUD_ON_HUB, AMOUNT))
    swapped = (
        {
            "Tokens": {
                "Transfer": {"currency_id": 5, "from": ALICE_KEY, "to": bytes(32), "amount": DOT}
            }
        },
        {"Tokens": {"Deposited": {"currency_id": 1000085, "who": ALICE_KEY, "amount": AMOUNT}}},
    )

    def dry_run(arguments: bytes) -> Any:
        pallet = call_tried(dex.table, arguments).pallet
        if pallet in ("Omnipool", "Router"):
            return call_effects(events=swapped)
        return call_effects((DEX_TO_HUB, message), events=swapped if pallet == "Utility" else ())

    dex.api["DryRunApi_dry_run_call"] = dry_run
    hub.api["DryRunApi_dry_run_xcm"] = message_effects(
        {"Assets": {"Issued": {"asset_id": 31337, "owner": BOB_KEY, "amount": AMOUNT}}},
        {"Balances": {"Minted": {"who": BOB_KEY, "amount": half - WEIGHT_FEE}}},
    )
    return network


def test_a_swap_before_it_hides_nothing_that_is_wrong_with_a_transfer(
    sends_wud: FakeNetwork, scenarioctl: Run, tmp_path: Path
) -> None:
    """The sender holds what it takes, so that the transfer's own check says all of it."""
    config = ("--json", "--config", str(sends_wud.config))
    scenario = json.loads(scenarioctl(*config, "create", "flow", flow(tmp_path, SWAP, WUD)).out)[
        "id"
    ]

    ended = scenarioctl(*config, "tx", "check", scenario, "--step", "2", "--sender", ALICE)

    assert ended.code == 6
    assert json.loads(ended.out)["reasons"] == [
        says("0.0108 DOT should leave Hydration", "carries")
    ]
