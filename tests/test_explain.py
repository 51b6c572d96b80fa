"""What `tx decode` shows of a call."""

import json
from typing import Any

import pytest

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.transactions.call_builder import build_call
from scenarioctl.transactions.explain import describe_call, describe_signature
from scenarioctl.transactions.extrinsic import Extrinsic
from tests.conftest import DATA, Run
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


def golden() -> list[dict[str, Any]]:
    """Return the vectors of calls that name their runtime."""
    documents = [
        json.loads((DATA / "vectors" / name).read_text())["vectors"]
        for name in ("golden.json", "calls.json")
    ]
    return [each for vectors in documents for each in vectors if "call_hex" in each]


def test_what_is_printed_of_a_call_is_read_as_the_same_call() -> None:
    differing, refused = [], []
    tables: dict[str, Any] = {}
    for vector in golden():
        source = vector.get("metadata") or vector["chain"]
        if source not in tables:
            tables[source] = metadata_table(source) if "metadata" in vector else bundled(source)
        table = tables[source]
        name = "hydraDx" if source.startswith("hydra") else vector.get("chain", "polkadot")
        call = table.decode_call(unhex(vector["call_hex"]))
        shown = json.loads(json.dumps(describe_call(table, REGISTRY.find(name), call, ASSETS)))
        try:
            again = build_call(shown["pallet"], shown["method"], shown["args"], table).call
        except InvalidRequest as error:
            refused.append((vector["id"], str(error)))
            continue
        if table.encode_call(again) != unhex(vector["call_hex"]):
            differing.append(vector["id"])

    assert differing == []
    # What no transaction of ours may do, however it is written.
    assert len(refused) == 3 and all(
        "XTokens" in said or "inside another" in said for _, said in refused
    )


@pytest.mark.parametrize(
    ("chain", "tx", "words"),
    [
        (
            "kusama",
            "0x630101000100a10f01000101002aa47c41b763a16946b6cc7e051174877b14fafe5d8daf075b0e39e2"
            "398c8e4c0104000000000b00a0724e180900000000",
            "XCM version 1",
        ),
        (
            "polkadot",
            "0x0503008eaf04151687736326c9fea17e25fc5287613693c912909cb226aa4794f26a480700e40b5402"
            "45021c000080841e001a00000091b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70"
            "ce90c3111111111111111111111111111111111111111111111111111111111111111100",
            "signing payload",
        ),
        (
            "hydraDx",
            "0x4502846a9081b6ca2414f14c5c859880fe52f831b5d991fa0401597e23e615135a7f2b01b0995ccbec"
            "483a8e3b70174218efc1eb49de7a235e4acbb4e9842c452477a35e5955c49505f0a4747a109a2032327e"
            "d8ba29b9b3ca852d280a9a71ef6855a28ac401bd02003b0600000000020000000010a5d4e80000000000"
            "000000000000feeee2ff80b91e000000000000000000",
            "made for another runtime than hydradx 428",
        ),
    ],
)
def test_what_was_made_for_another_runtime_or_is_a_payload_is_told(
    scenarioctl: Run, chain: str, tx: str, words: str
) -> None:
    ended = scenarioctl("--offline", "tx", "decode", "--chain", chain, tx)

    assert (ended.code, words in ended.err) == (2, True)
