"""A call is said in one sentence, and said no further than it is understood."""

from typing import Any

import pytest

from scenarioctl.chains.assets import Assets
from scenarioctl.chains.registry import Registry
from scenarioctl.model.calls import Call
from scenarioctl.runtime.table import load_bundled
from scenarioctl.transactions.wording import say_call
from tests.conftest import BOB, BOB_HEX

REGISTRY = Registry()
ASSETS = Assets(REGISTRY)
BOB_ON_HYDRATION = BOB


def say(chain: str, call_data: str) -> str:
    table = load_bundled(chain)
    assert table is not None
    return say_call(table.decode_call(bytes.fromhex(call_data)), REGISTRY.find(chain), REGISTRY, ASSETS)


ACCOUNT = BOB_HEX[2:]


@pytest.mark.parametrize(
    ("chain", "call_data", "sentence"),
    [
        ("polkadot", f"050300{ACCOUNT}07341cdcdf02", f"transfers 1.23456789 DOT to {BOB} on polkadot"),
        ("assetHub", f"3209011f00{ACCOUNT}02093d00", f"transfers 1 USDt to {BOB} on assetHub"),
        ("hydraDx", f"4d02{ACCOUNT}0500000007341cdcdf02", f"transfers 1.23456789 DOT to {BOB} on hydraDx"),
        (
            "polkadot",
            f"630905000100a10f0500010100{ACCOUNT}050400000007341cdcdf020000000000",
            f"teleports 1.23456789 DOT from polkadot to assetHub for {BOB}",
        ),
        (
            "assetHub",
            f"1f090501000500010100{ACCOUNT}050401000007341cdcdf020000000000",
            f"teleports 1.23456789 DOT from assetHub to polkadot for {BOB}",
        ),
        (
            "assetHub",
            f"1f0d05010100c91f050401000007341cdcdf02010501000105040d01020400010100{ACCOUNT}00",
            f"sends 1.23456789 DOT from assetHub to hydraDx (reserve on assetHub) for {BOB}",
        ),
        (
            "hydraDx",
            f"6b0d05010100a10f050401000007341cdcdf02020501000205040d01020400010100{ACCOUNT}00",
            f"sends 1.23456789 DOT from hydraDx to assetHub (reserve on assetHub) for {BOB}",
        ),
        (
            "hydraDx",
            f"6b0d05010100a10f050401000007341cdcdf02020501000205041101020401000813000000071a0eee6f01000d01020400010100{ACCOUNT}00",
            "sends 1.23456789 DOT from hydraDx to assetHub (reserve on assetHub) and on to polkadot (by teleport) "
            f"for {BOB}",
        ),
        (
            "polkadot",
            f"630d05000100a10f050400000007341cdcdf02000500000005040e010204010100c91f0813010000071a0eee6f01000d01020400010100{ACCOUNT}00",
            "sends 1.23456789 DOT from polkadot to assetHub (by teleport) and on to hydraDx (reserve on assetHub) "
            f"for {BOB}",
        ),
        (
            "hydraDx",
            "3b05050000000000000000e40b540200000000000000000000000080c6a47e8d03000000000000000000",
            "sells 1 DOT for at least 1000 HDX on hydraDx",
        ),
        (
            "hydraDx",
            "4300050000000a00000000e40b5402000000000000000000000060f5900000000000000000000000000000",
            "sells 1 DOT for at least 9.5 USDT on hydraDx, over the route that the chain chooses",
        ),
        ("polkadot", "00071468656c6c6f", "writes 'hello' to the history of polkadot"),
        ("polkadot", "000000", "writes nothing to the history of polkadot"),
        (
            "polkadot",
            f"1a020800001468656c6c6f050300{ACCOUNT}07341cdcdf02",
            f"writes 'hello' to the history of polkadot; then transfers 1.23456789 DOT to {BOB} on polkadot",
        ),
    ],
)
def test_what_a_call_does_is_said_in_one_sentence(chain: str, call_data: str, sentence: str) -> None:
    assert say(chain, call_data) == sentence


def with_changed(chain: str, call_data: str, **changes: Any) -> str:
    table = load_bundled(chain)
    assert table is not None
    call = table.decode_call(bytes.fromhex(call_data))
    changed = Call(pallet=call.pallet, method=call.method, args={**call.args, **changes})
    return say_call(changed, REGISTRY.find(chain), REGISTRY, ASSETS)


TYPE_AND_THEN = f"1f0d05010100c91f050401000007341cdcdf02010501000105040d01020400010100{ACCOUNT}00"


@pytest.mark.parametrize(
    "changes",
    [
        {"dest": {"V5": {"parents": 1, "interior": {"X1": [{"Parachain": 4000}]}}}},
        {"fees_transfer_type": "DestinationReserve"},
        {"assets_transfer_type": "Teleport"},
        {"custom_xcm_on_dest": {"V5": []}},
        {"custom_xcm_on_dest": {"V5": [{"ClearOrigin": None}]}},
        {
            "custom_xcm_on_dest": {
                "V5": [
                    {
                        "DepositAsset": {
                            "assets": {"Definite": []},
                            "beneficiary": {
                                "parents": 0,
                                "interior": {
                                    "X1": [{"AccountId32": {"network": None, "id": bytes.fromhex(ACCOUNT)}}]
                                },
                            },
                        }
                    }
                ]
            }
        },
        {"remote_fees_id": {"V5": {"parents": 0, "interior": "Here"}}},
        {"assets": {"V5": []}},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_is_not_understood_whole_is_only_named(changes: dict[str, Any]) -> None:
    sentence = with_changed("assetHub", TYPE_AND_THEN, **changes)

    assert sentence == "calls PolkadotXcm.transfer_assets_using_type_and_then on assetHub"
