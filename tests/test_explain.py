"""What `tx decode` shows of a call."""

import json
from typing import Any

import pytest

from scenarioctl.model.calls import Call
from scenarioctl.transactions.explain import describe_call, describe_signature
from scenarioctl.transactions.extrinsic import Extrinsic
from tests.runtimes import (
    ASSETS,
    BOB,
    BOB_ADDRESS,
    REGISTRY,
    bundled,
    metadata_table,
    unhex,
    vectors,
)


def describe(chain: str, pallet: str, method: str, **arguments: Any) -> dict[str, Any]:
    call = Call(pallet=pallet, method=method, args=arguments)
    # What the chain reads, not what the test wrote.
    table = bundled(chain)
    call = table.decode_call(table.encode_call(call))
    return describe_call(table, REGISTRY.find(chain), call, ASSETS)


def test_an_account_is_written_with_the_chains_own_prefix() -> None:
    described = describe(
        "kusama", "Balances", "transfer_keep_alive", dest={"Id": BOB}, value=10**12
    )

    assert described["args"] == {
        "dest": "FoQJpPyadYccjavVdTWxpxU7rUEaYhfLCPwXgkfD6Zat9QP",
        "value": {"value": "1000000000000", "human": "1 KSM"},
    }


@pytest.mark.parametrize(
    ("chain", "pallet", "method", "arguments", "amounts"),
    [
        (
            "assetHub",
            "Assets",
            "transfer_keep_alive",
            {"id": 1984, "target": {"Id": BOB}, "amount": 1500000},
            {
                "id": 1984,
                "target": BOB_ADDRESS,
                "amount": {"value": "1500000", "human": "1.5 USDt"},
            },
        ),
        (
            "assetHub",
            "ForeignAssets",
            "transfer_keep_alive",
            {
                "id": {"parents": 2, "interior": {"X1": [{"GlobalConsensus": "Kusama"}]}},
                "target": {"Id": BOB},
                "amount": 10**12,
            },
            {
                "id": {"parents": 2, "interior": {"X1": [{"GlobalConsensus": "Kusama"}]}},
                "target": BOB_ADDRESS,
                "amount": {"value": "1000000000000", "human": "1 KSM"},
            },
        ),
        (
            "hydraDx",
            "Omnipool",
            "sell",
            {"asset_in": 5, "asset_out": 0, "amount": 10**10, "min_buy_amount": 10**15},
            {
                "asset_in": 5,
                "asset_out": 0,
                "amount": {"value": "10000000000", "human": "1 DOT"},
                "min_buy_amount": {"value": "1000000000000000", "human": "1000 HDX"},
            },
        ),
        (
            "hydraDx",
            "Router",
            "sell",
            {
                "asset_in": 0,
                "asset_out": 10,
                "amount_in": 10**12,
                "min_amount_out": 2**127,
                "route": [{"pool": {"Stableswap": 102}, "asset_in": 0, "asset_out": 10}],
            },
            {
                "asset_in": 0,
                "asset_out": 10,
                "amount_in": {"value": "1000000000000", "human": "1 HDX"},
                "min_amount_out": {
                    "value": str(2**127),
                    "human": "170141183460469231731687303715884.105728 USDT",
                },
                "route": [{"pool": {"Stableswap": 102}, "asset_in": 0, "asset_out": 10}],
            },
        ),
    ],
)
def test_amounts_of_known_assets_are_written_in_tokens_too(
    chain: str, pallet: str, method: str, arguments: dict[str, Any], amounts: dict[str, Any]
) -> None:
    assert describe(chain, pallet, method, **arguments)["args"] == amounts


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"hello", "hello"),
        ("Grüße ✓".encode(), "Grüße ✓"),
        (b"two\nlines", "two\nlines"),
        (b"", ""),
        (b"\xff\xfe", "0xfffe"),
        (b"\x1b[31m", "0x1b5b33316d"),
        ("a\u202eb".encode(), "0x61e280ae62"),
        (b"0x1234", "0x307831323334"),
    ],
)
def test_a_remark_is_shown_as_text_where_it_is_text(data: bytes, shown: str) -> None:
    assert describe("polkadot", "System", "remark_with_event", remark=data)["args"] == {
        "remark": shown
    }


def test_only_the_assets_that_leave_are_valued_since_a_message_sees_them_from_elsewhere() -> None:
    vector = next(entry for entry in vectors("builder") if entry["id"] == "rec-84")
    table = metadata_table(vector["metadata"])

    described = describe_call(
        table, REGISTRY.find("polkadot"), table.decode_call(unhex(vector["callHex"])), ASSETS
    )

    arguments = described["args"]
    assert arguments["assets"] == {
        "V5": [
            {
                "id": {"parents": 0, "interior": "Here"},
                "fun": {"Fungible": {"value": "12345678900", "human": "1.23456789 DOT"}},
            }
        ]
    }
    assert arguments["custom_xcm_on_dest"]["V5"][0]["DepositReserveAsset"]["xcm"] == [
        {
            "BuyExecution": {
                "fees": {
                    "id": {"parents": 1, "interior": "Here"},
                    "fun": {"Fungible": "6172839450"},
                },
                "weight_limit": "Unlimited",
            }
        },
        {
            "DepositAsset": {
                "assets": {"Wild": {"AllCounted": 1}},
                "beneficiary": {
                    "parents": 0,
                    "interior": {"X1": [{"AccountId32": {"network": None, "id": BOB_ADDRESS}}]},
                },
            }
        },
    ]


@pytest.mark.parametrize(
    "vector",
    [entry for entry in vectors("builder", "codec") if "callHex" in entry],
    ids=lambda entry: entry["id"],
)
def test_every_vector_is_shown_as_plain_json(vector: dict[str, Any]) -> None:
    table = metadata_table(vector["metadata"])
    call = table.decode_call(unhex(vector["callHex"]))

    described = describe_call(table, REGISTRY.find(vector["chain"]), call, ASSETS)
    plain = describe_call(table, REGISTRY.find(vector["chain"]), call)

    assert json.loads(json.dumps(described)) == described
    assert json.loads(json.dumps(plain)) == plain
    assert (described["pallet"], described["method"]) == (call.pallet, call.method)
    assert '"human"' not in json.dumps(plain)


def test_a_signature_says_who_signed_what_besides_the_call() -> None:
    extrinsic = Extrinsic(
        version=4,
        call=Call(pallet="System", method="remark", args={"remark": b""}),
        signer={"Id": BOB},
        signature={"Sr25519": b"\1" * 64},
        extensions={
            "CheckMortality": {"Mortal69": 2},
            "CheckNonce": 5,
            "ChargeAssetTxPayment": {"tip": 1000, "asset_id": {"parents": 0, "interior": "Here"}},
            "CheckMetadataHash": {"mode": "Enabled"},
            "Other": b"\2",
        },
    )

    assert describe_signature(extrinsic, REGISTRY.find("assetHub"), ASSETS) == {
        "signer": BOB_ADDRESS,
        "kind": "sr25519",
        "signature": "0x" + "01" * 64,
        "era": {"period": 64, "phase": 36},
        "nonce": 5,
        "tip": {"value": "1000", "human": "0.0000001 DOT"},
        "fee_asset": {"location": "0/Here"},
        "metadata_hash": True,
        "Other": "0x02",
    }
