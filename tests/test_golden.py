"""Our bytes beside those of polkadot.js: `tests/data/vectors/golden.json`, made by
`tools/golden/`."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.actions.acting import act
from scenarioctl.application import Application
from scenarioctl.chains.assets import Assets
from scenarioctl.chains.locations import read_location
from scenarioctl.chains.registry import Registry
from scenarioctl.config import load_settings
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.acting import read_acting
from scenarioctl.model.calls import Call
from scenarioctl.runtime.codec import Codec
from scenarioctl.runtime.metadata import read_metadata
from scenarioctl.runtime.table import RuntimeTable, load_bundled
from scenarioctl.runtime.type_table import TypeTable
from scenarioctl.transactions.call_builder import build_call, build_remark
from scenarioctl.transactions.extrinsic import (
    Draft,
    bare_extrinsic,
    decode_era,
    decode_extrinsic,
    encode_era,
    era_start,
)
from scenarioctl.transactions.signing.payload import SigningOptions, signing_payload
from scenarioctl.transactions.swap.swap_call import Swap, build_swap, parse_route
from scenarioctl.transactions.transfer.build import build_transfer
from scenarioctl.transactions.transfer.plan import build_candidate, make_plan
from scenarioctl.transactions.transfer.request import Transfer
from scenarioctl.transactions.transfer.routes import candidate_routes

from .conftest import DATA
from .runner import finish

Vector = dict[str, Any]

VECTORS: list[Vector] = json.loads((DATA / "vectors" / "golden.json").read_text())["vectors"]
REGISTRY = Registry()
ASSETS = Assets(REGISTRY)

#: The metadata from which each bundled table was made.
BUNDLED = {
    "polkadot": "polkadot-2000000.v15.scale",
    "assetHub": "asset-hub-polkadot-2003001.v16.scale",
    "hydraDx": "hydration-428.v16.scale",
    "kusama": "kusama-1009002.v15.scale",
    "assetHub_kusama": "asset-hub-kusama-2002000.v16.scale",
    "assetHub_paseo": "asset-hub-paseo-2002002.v16.scale",
}


def params_of(*kinds: str, without_pallet: str = "") -> list[Any]:
    return [
        pytest.param(vector, id=vector["id"])
        for vector in VECTORS
        if vector["kind"] in kinds and vector.get("pallet") != without_pallet
    ]


def of_kind(*kinds: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("vector", params_of(*kinds))


@cache
def table_of(metadata: str) -> RuntimeTable:
    return read_metadata((DATA / "metadata" / metadata).read_bytes())


def from_hex(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


def assert_is(data: bytes, vector: Vector, name: str) -> None:
    """Compare *data* with what the vector says of it: all of it, or the hash of what is too long to
    be written down."""
    if f"{name}_hex" in vector:
        assert data.hex() == vector[f"{name}_hex"].removeprefix("0x")
    else:
        assert len(data) == vector[f"{name}_length"]
        assert blake2b(data, digest_size=32).hexdigest() == vector[
            f"{name}_blake2_256"
        ].removeprefix("0x")


def same(decoded: Any, expected: Any) -> bool:
    """Tell whether *decoded* is what *expected* writes in JSON: bytes as 0x hex, numbers perhaps as
    decimal text."""
    if isinstance(decoded, Mapping):
        return (
            isinstance(expected, Mapping)
            and decoded.keys() == expected.keys()
            and all(same(value, expected[key]) for key, value in decoded.items())
        )
    if isinstance(decoded, list):
        return (
            isinstance(expected, list)
            and len(decoded) == len(expected)
            and all(same(value, other) for value, other in zip(decoded, expected, strict=True))
        )
    if isinstance(decoded, bytes):
        return bool("0x" + decoded.hex() == expected)
    if isinstance(decoded, int) and not isinstance(decoded, bool):
        return type(expected) in (int, str) and str(decoded) == str(expected)
    return type(decoded) is type(expected) and bool(decoded == expected)


def assert_call(draft: Draft | Call, vector: Vector) -> None:
    call = draft.call if isinstance(draft, Draft) else draft
    data = table_of(vector["metadata"]).encode_call(call)

    assert_is(data, vector, "call")
    assert_is(bare_extrinsic(data), vector, "extrinsic")


def test_every_kind_of_transaction_has_vectors() -> None:
    counts: dict[str, int] = {}
    for vector in VECTORS:
        counts[vector["kind"]] = counts.get(vector["kind"], 0) + 1

    assert counts == {
        "transfer": 197,
        "by-check": 54,
        "swap": 12,
        "remark": 23,
        "call": 370,
        "chain-tx": 16,
        "nested": 35,
        "line": 15,
        "payout": 4,
        "join": 9,
        "signing-payload": 77,
        "signed-extrinsic": 30,
        "extrinsic-v5": 4,
        "wallet": 18,
        "metadata-digest": 8,
        "era": 20,
        "codec": 291,
        "acting": 10,
    }


@of_kind("transfer")
def test_a_transfer_is_the_call_that_polkadot_js_makes(vector: Vector) -> None:
    source = REGISTRY.find(vector["source"])
    transfer = Transfer(
        accept_loss=True,
        source=source,
        destination=REGISTRY.find(vector["destination"]),
        asset=ASSETS.find(source, vector["asset"]),
        amount=int(vector["amount"]),
        beneficiary=from_hex(vector["beneficiary"]),
        xcm_version=vector["xcm_version"],
        remote_fee_asset=ASSETS.find(source, vector["remote_fee_asset"])
        if "remote_fee_asset" in vector
        else None,
        allow_death=vector.get("allow_death", False),
    )
    other = vector.get("destination_metadata")
    beside = None
    if "native_fee" in vector:
        beside = ASSETS.find(source, "1/Here"), int(vector["native_fee"])
    if transfer.remote_fee_asset is not None:
        beside = transfer.remote_fee_asset, int(vector["remote_fee"])

    draft = build_transfer(
        transfer,
        table_of(vector["metadata"]),
        assets=ASSETS,
        destination_table=table_of(other) if other else None,
        beside=beside,
        fee_accepted=vector.get("fee_accepted", False),
    )

    assert_call(draft, vector)


@of_kind("by-check")
def test_a_transfer_that_a_check_tries_is_the_call_that_polkadot_js_makes(vector: Vector) -> None:
    """Of the ways that it tries, the one that the vector names; half of the amount is set aside for
    a last hop."""
    source = REGISTRY.find(vector["source"])
    transfer = Transfer(
        source=source,
        destination=REGISTRY.find(vector["destination"]),
        asset=ASSETS.find(source, vector["asset"]),
        amount=int(vector["amount"]),
        beneficiary=from_hex(vector["beneficiary"]),
        xcm_version=vector["xcm_version"],
    )
    (route,) = [each for each in candidate_routes(transfer, ASSETS) if each.way == vector["way"]]
    plan = make_plan(transfer, route, table_of(vector["metadata"]))

    assert_call(build_candidate(replace(plan, last_hop_fee=transfer.amount // 2)), vector)


@of_kind("swap")
def test_a_swap_is_the_call_that_polkadot_js_makes(vector: Vector) -> None:
    chain = REGISTRY.find(vector["chain"])
    route = vector["route"]
    swap = Swap(
        chain=chain,
        asset_in=ASSETS.find(chain, vector["asset_in"]),
        asset_out=ASSETS.find(chain, vector["asset_out"]),
        amount=int(vector["amount"]),
        min_amount_out=int(vector["min_amount_out"]),
        route=None if route is None else parse_route(route, field="route"),
    )

    draft = build_swap(swap, table_of(vector["metadata"]))

    assert_call(draft, vector)


@of_kind("remark")
def test_a_remark_is_the_call_that_polkadot_js_makes(vector: Vector) -> None:
    text = vector["text"]
    words = text if isinstance(text, str) else text["repeat"][0] * text["repeat"][1]

    draft = build_remark(words, plain=vector["plain"])

    assert_call(draft, vector)


@of_kind("chain-tx")
def test_a_call_from_the_texts_of_a_form_is_the_call_that_polkadot_js_makes(vector: Vector) -> None:
    draft = build_call(
        vector["pallet"], vector["method"], vector["params"], table_of(vector["metadata"])
    )

    assert_call(draft, vector)


# XTokens is refused on purpose: it would send DOT over the wrong reserve.
@pytest.mark.parametrize("vector", params_of("call", "transfer", "swap", without_pallet="XTokens"))
def test_a_call_from_the_json_of_its_arguments_is_the_call_that_polkadot_js_makes(
    vector: Vector,
) -> None:
    params = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in vector["args"].items()
    }

    if vector["id"] == "call-batch-nested":
        # No chain runs a batch_all inside another one.
        with pytest.raises(InvalidRequest, match="CallFiltered"):
            build_call(vector["pallet"], vector["method"], params, table_of(vector["metadata"]))
        return
    draft = build_call(vector["pallet"], vector["method"], params, table_of(vector["metadata"]))

    assert_call(draft, vector)


@of_kind("call", "transfer", "swap")
def test_a_call_with_its_arguments_is_encoded_as_polkadot_js_does(vector: Vector) -> None:
    call = Call(pallet=vector["pallet"], method=vector["method"], args=vector["args"])

    assert_call(call, vector)


@of_kind("call", "transfer", "swap")
def test_a_call_of_polkadot_js_is_decoded_to_its_arguments(vector: Vector) -> None:
    call = table_of(vector["metadata"]).decode_call(from_hex(vector["call_hex"]))

    assert (call.pallet, call.method) == (vector["pallet"], vector["method"])
    assert same(call.args, vector["args"]), call.args


@pytest.mark.parametrize("chain", BUNDLED)
def test_the_bundled_table_makes_the_same_bytes(chain: str) -> None:
    table = load_bundled(chain)
    calls = [
        from_hex(vector["call_hex"])
        for vector in VECTORS
        if vector.get("metadata") == BUNDLED[chain] and "call_hex" in vector
    ]

    assert table is not None
    assert len(calls) > 10
    assert [table.encode_call(table.decode_call(data)).hex() for data in calls] == [
        data.hex() for data in calls
    ]


@of_kind("signing-payload")
def test_a_signing_payload_is_the_one_that_polkadot_js_signs(vector: Vector) -> None:
    table = table_of(vector["metadata"])
    call = Call(pallet=vector["pallet"], method=vector["method"], args=vector["args"])
    options = SigningOptions(
        nonce=vector["nonce"],
        tip=int(vector["tip"]),
        era=from_hex(vector["era_hex"]),
        genesis_hash=from_hex(vector["genesis_hash"]),
        block_hash=from_hex(vector["block_hash"]),
        mode=vector["mode"],
        asset_id=asset_id_of(vector),
        metadata_hash=from_hex(vector["metadata_hash"]) if vector["metadata_hash"] else None,
    )

    payload = signing_payload(table, table.encode_call(call), options)

    assert (table.spec_version, table.transaction_version) == (
        vector["spec_version"],
        vector["transaction_version"],
    )
    assert_is(payload.payload, vector, "payload")
    assert_is(payload.bytes_to_sign, vector, "to_sign")


@of_kind("signed-extrinsic")
def test_a_signed_extrinsic_of_polkadot_js_is_read(vector: Vector) -> None:
    table = table_of(vector["metadata"])
    data = from_hex(vector["extrinsic_hex"])

    extrinsic = decode_extrinsic(table, data)

    signer = from_hex(vector["signer"])
    assert (extrinsic.version, extrinsic.form) == (4, "signed")
    assert extrinsic.signer == (signer if vector["chain"] == "hydraDx" else {"Id": signer})
    assert extrinsic.signature == {vector["signature_kind"]: from_hex(vector["signature"])}
    assert table.encode_call(extrinsic.call).hex() == vector["call_hex"].removeprefix("0x")
    assert extrinsic.extensions == expected_extensions(vector, table)
    assert blake2b(data, digest_size=32).hexdigest() == vector["extrinsic_hash"].removeprefix("0x")


@of_kind("extrinsic-v5")
def test_an_extrinsic_of_version_5_is_read(vector: Vector) -> None:
    table = table_of(vector["metadata"])

    extrinsic = decode_extrinsic(table, from_hex(vector["extrinsic_hex"]))

    assert (extrinsic.version, extrinsic.form) == (5, vector["form"])
    assert (extrinsic.signer, extrinsic.signature) == (None, None)
    assert table.encode_call(extrinsic.call).hex() == vector["call_hex"].removeprefix("0x")
    assert extrinsic.extensions == (
        expected_extensions(vector, table) if vector["form"] == "general" else {}
    )


def asset_id_of(vector: Vector) -> Any:
    """Return the location of the asset that pays the fee; None for the native one."""
    return read_location(vector["fee_asset"]) if "fee_asset" in vector else None


def expected_extensions(vector: Vector, table: RuntimeTable) -> dict[str, Any]:
    era = from_hex(vector["era_hex"])
    known = {
        "CheckMortality": "Immortal" if era == b"\0" else {f"Mortal{era[0]}": era[1]},
        "CheckNonce": vector["nonce"],
        "ChargeTransactionPayment": int(vector["tip"]),
        "ChargeAssetTxPayment": {"tip": int(vector["tip"]), "asset_id": asset_id_of(vector)},
        "CheckMetadataHash": {"mode": "Enabled" if vector["mode"] else "Disabled"},
    }
    present = [extension.identifier for extension in table.extensions]
    return {name: known[name] for name in present if name in known}


@of_kind("era")
def test_an_era_is_the_one_of_polkadot_js(vector: Vector) -> None:
    # polkadot.js rounds a period up to a power of two; ours wants it so from the beginning.
    era = encode_era(vector["decoded_period"], vector["current"])

    assert era.hex() == vector["era_hex"].removeprefix("0x")
    assert decode_era(era) == (vector["decoded_period"], vector["decoded_phase"])
    assert era_start(era, vector["current"]) == vector["birth"]


@of_kind("codec")
def test_a_value_of_a_type_of_our_own_has_the_bytes_of_polkadot_js(vector: Vector) -> None:
    rows: list[Any] = []
    type_id = add_type(rows, vector["type"])
    codec = Codec(TypeTable(rows))

    encoded = codec.encode(type_id, vector["value"])
    decoded = codec.decode(type_id, from_hex(vector["hex"]))

    assert encoded.hex() == vector["hex"].removeprefix("0x")
    assert same(decoded, vector["value"]), decoded


def add_type(rows: list[Any], tree: Any) -> int:
    """Add the type that *tree* writes, and those inside it, to the table's *rows*; return its
    id."""
    rows.append(None)
    place = len(rows) - 1
    rows[place] = row_of(rows, tree)
    return place


def row_of(rows: list[Any], tree: Any) -> list[Any]:
    if isinstance(tree, str):
        return ["", [], "primitive", tree]
    ((kind, inner),) = tree.items()
    if kind == "compact":
        return ["", [], "compact", add_type(rows, inner)]
    if kind == "option":
        some = add_type(rows, inner)
        return [
            "Option",
            [["T", some]],
            "variant",
            [["None", 0, []], ["Some", 1, [[None, some, None]]]],
        ]
    if kind == "vec":
        return ["", [], "sequence", add_type(rows, inner)]
    if kind == "array":
        return ["", [], "array", [inner[1], add_type(rows, inner[0])]]
    if kind == "tuple":
        return ["", [], "tuple", [add_type(rows, one) for one in inner]]
    if kind == "map":
        entries = add_type(rows, {"vec": {"tuple": inner}})
        return ["BTreeMap", [], "composite", [[None, entries, None]]]
    if kind == "struct":
        return [
            "a::Struct",
            [],
            "composite",
            [[name, add_type(rows, one), None] for name, one in inner.items()],
        ]
    if kind == "enum":
        variants = [
            [name, index, [] if one is None else [[None, add_type(rows, one), None]]]
            for index, (name, one) in enumerate(inner.items())
        ]
        return ["an::Enum", [], "variant", variants]
    assert kind == "bits"
    store = add_type(rows, inner[0])
    rows.append([f"bitvec::order::{inner[1]}", [], "composite", []])
    return ["", [], "bits", [store, len(rows) - 1]]


def test_the_vectors_need_only_committed_metadata() -> None:
    named = {
        vector[key]
        for vector in VECTORS
        for key in ("metadata", "destination_metadata")
        if key in vector
    }
    index = json.loads(Path(DATA / "metadata" / "index.json").read_text())

    assert named <= index.keys()
    assert all(
        index[name]["source"].startswith(("npm ", "polkadot-api/polkadot-api:")) for name in named
    )


@of_kind("acting")
def test_a_call_as_another_account_is_the_one_that_polkadot_js_makes(vector: Vector) -> None:
    table, chain = table_of(vector["metadata"]), REGISTRY.find(vector["chain"])
    acting = read_acting({"name": "treasury", "layers": vector["layers"]}, field="as")
    app = Application(load_settings({"offline": True}, {})).acting_as(
        acting, signer=vector["signer"]
    )

    made = finish(act(app, acting, chain, table, table.decode_call(from_hex(vector["inner"]))))

    assert acting.account == from_hex(vector["account"])
    assert_call(made.call, vector)
