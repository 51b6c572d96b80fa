"""Extrinsics: what no vector has of payloads, extensions and eras, and what is no extrinsic."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarioctl.errors import InvalidRequest
from scenarioctl.runtime.scale import encode_compact
from scenarioctl.runtime.table import RuntimeTable
from scenarioctl.runtime.type_table import Extension
from scenarioctl.transactions.extrinsic import (
    bare_extrinsic,
    decode_era,
    decode_extrinsic,
    encode_era,
    era_start,
    parse_era,
)
from scenarioctl.transactions.signing.payload import SigningOptions, signing_payload
from tests.messages import Says, raises, says
from tests.runtimes import bundled, unhex

GENESIS = bytes.fromhex("91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3")


def options(**changes: Any) -> SigningOptions:
    given: dict[str, Any] = {"nonce": 5, "genesis_hash": GENESIS, "block_hash": GENESIS} | changes
    return SigningOptions(**given)


def framed(body: bytes) -> bytes:
    return encode_compact(len(body)) + body


def test_a_payload_above_256_bytes_is_hashed() -> None:
    table = bundled("polkadot")
    extra = len(signing_payload(table, b"", options()).payload)

    longest = signing_payload(table, bytes(256 - extra), options())
    longer = signing_payload(table, bytes(257 - extra), options())

    assert longest.bytes_to_sign == longest.payload
    assert longest.describe()["hashed"] is False
    assert (len(longer.payload), len(longer.bytes_to_sign)) == (257, 32)
    assert longer.describe()["hashed"] is True


def test_a_payload_says_what_it_is_made_of() -> None:
    payload = signing_payload(bundled("polkadot"), b"\0\0\0", options(tip=1000))

    assert payload.describe() == {
        "call": "0x000000",
        "extra": {
            "CheckMortality": "0x00",
            "CheckNonce": "0x14",
            "ChargeTransactionPayment": "0xa10f",
            "CheckMetadataHash": "0x00",
        },
        "additional": {
            "CheckSpecVersion": "0x80841e00",
            "CheckTxVersion": "0x"
            + bundled("polkadot").transaction_version.to_bytes(4, "little").hex(),
            "CheckGenesis": "0x" + GENESIS.hex(),
            "CheckMortality": "0x" + GENESIS.hex(),
            "CheckMetadataHash": "0x00",
        },
        "hashed": False,
    }


def with_extension(extension: Extension, monkeypatch: pytest.MonkeyPatch) -> RuntimeTable:
    """Return Polkadot's table with one more signed extension."""
    table = bundled("polkadot")
    extensions = (*table.extensions, extension)
    monkeypatch.setattr(RuntimeTable, "extensions", property(lambda _: extensions))
    return table


@pytest.mark.parametrize("place", ["type_id", "additional_type_id"])
def test_an_unknown_extension_that_carries_bytes_is_refused_by_name(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = bundled("polkadot")
    empty = next(
        extension.type_id
        for extension in table.extensions
        if table.types.is_empty(extension.type_id)
    )
    number = table.call_fields("System", "set_heap_pages")[0].type_id
    types = {"type_id": empty, "additional_type_id": empty} | {place: number}
    changed = with_extension(Extension(identifier="ChargeMoonFee", **types), monkeypatch)

    with raises(InvalidRequest, says("2000000", "ChargeMoonFee", "u64")):
        signing_payload(changed, b"\0\0\0", options())


def test_an_unknown_extension_without_bytes_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = bundled("polkadot")
    plain = signing_payload(table, b"\0\0\0", options()).payload
    empty = next(
        extension.type_id
        for extension in table.extensions
        if table.types.is_empty(extension.type_id)
    )
    extension = Extension(identifier="Decoration", type_id=empty, additional_type_id=empty)

    payload = signing_payload(with_extension(extension, monkeypatch), b"\0\0\0", options())

    assert payload.payload == plain


def test_a_known_extension_of_another_shape_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    table = bundled("polkadot")
    empty = next(
        extension.type_id
        for extension in table.extensions
        if table.types.is_empty(extension.type_id)
    )
    number = table.call_fields("System", "set_heap_pages")[0].type_id
    extension = Extension(identifier="CheckGenesis", type_id=empty, additional_type_id=number)

    with pytest.raises(InvalidRequest) as refused:
        signing_payload(with_extension(extension, monkeypatch), b"\0\0\0", options())

    assert str(refused.value).startswith("signed extension CheckGenesis: ")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"nonce": 2**32}, says("extension", "CheckNonce")),
        ({"tip": 2**128}, says("extension", "ChargeTransactionPayment")),
        ({"mode": 2}, says("2", "CheckMetadataHash")),
        ({"mode": 1}, says("metadata_hash", "1")),
        ({"metadata_hash": bytes(32)}, says("metadata_hash", "1")),
        ({"mode": 1, "metadata_hash": b"\1"}, says("CheckMetadataHash", "0x01")),
        ({"block_hash": bytes(32)}, says("block_hash", "immortal")),
        ({"era": b"\1\2\3"}, says("era", "0x010203")),
    ],
)
def test_options_that_cannot_be_signed_are_refused(changes: dict[str, Any], sentence: Says) -> None:
    with raises(InvalidRequest, sentence):
        signing_payload(bundled("polkadot"), b"\0\0\0", options(**changes))


def test_a_metadata_hash_needs_the_extension(monkeypatch: pytest.MonkeyPatch) -> None:
    table = bundled("polkadot")
    without = tuple(entry for entry in table.extensions if entry.identifier != "CheckMetadataHash")
    monkeypatch.setattr(RuntimeTable, "extensions", property(lambda _: without))

    with raises(InvalidRequest, says("metadata_hash", "2000000", "CheckMetadataHash")):
        signing_payload(table, b"\0\0\0", options(mode=1, metadata_hash=bytes(32)))


# Eras


@given(
    power=st.integers(min_value=2, max_value=16),
    current=st.integers(min_value=0, max_value=2**63),
    later=st.integers(min_value=0, max_value=65535),
)
def test_an_era_starts_where_it_was_made_for_as_long_as_it_lives(
    power: int, current: int, later: int
) -> None:
    period = 2**power
    era = encode_era(period, current)
    start = era_start(era, current)

    decoded = decode_era(era)
    assert decoded is not None
    assert decoded[0] == period
    assert start <= current < start + period
    assert current - start < max(period >> 12, 1)
    assert start % period == decoded[1]
    assert era_start(era, start + later % period) == start


def test_a_block_number_is_not_negative() -> None:
    with raises(InvalidRequest, says("block", "-1")):
        encode_era(64, -1)


@pytest.mark.parametrize(
    ("text", "era"), [("immortal", "00"), ("0x00", "00"), ("0x4502", "4502"), ("0XF503", "f503")]
)
def test_an_era_is_read_from_text(text: str, era: str) -> None:
    assert parse_era(text, field="era").hex() == era


@pytest.mark.parametrize("text", ["", "mortal", "0x45", "0x0045", "0xf502ff", 64, "0xf5ff"])
def test_what_is_no_era_is_refused(text: object) -> None:
    with raises(InvalidRequest, says("era", text)):
        parse_era(text, field="era")


# Reading


@pytest.mark.parametrize("head", ["05", "4500"])
def test_version_5_is_refused_where_the_runtime_does_not(head: str) -> None:
    with raises(InvalidRequest, says("tx", "5", "2000000")):
        decode_extrinsic(bundled("polkadot"), framed(unhex(head) + b"\0\0\0"))


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ("", says("tx", "0x")),
        ("03", says("tx", "0x03")),
        ("01", says("tx", "0x01")),
        ("1100040000", says("tx", "0x1100040000")),
        ("00", says("tx", "empty")),
        ("140400", says("tx", "5", "2")),
        ("0404000000", says("tx", "1", "4")),
        ("10030000" + "00", says("tx", "0x03")),
        ("0c4501" + "00", says("tx", "1")),
        ("0445", says("tx", "transaction")),
    ],
)
def test_what_is_no_extrinsic_is_refused(data: str, sentence: Says) -> None:
    with raises(InvalidRequest, sentence):
        decode_extrinsic(bundled("hydraDx"), bytes.fromhex(data))


@given(data=st.binary(max_size=200))
def test_random_bytes_are_read_or_refused_never_a_bug(data: bytes) -> None:
    for candidate in (
        data,
        framed(b"\x84" + data),
        framed(b"\x04" + data),
        framed(b"\x45\0" + data),
    ):
        try:
            extrinsic = decode_extrinsic(bundled("hydraDx"), candidate)
        except InvalidRequest:
            continue
        assert bundled("hydraDx").encode_call(extrinsic.call) in candidate


def test_a_transaction_has_a_length_that_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scenarioctl.transactions.extrinsic.LARGEST", 5)

    with pytest.raises(InvalidRequest) as refused:
        bare_extrinsic(b"12345")

    assert bare_extrinsic(b"1234").hex() == "14" + "04" + b"1234".hex()
    assert str(refused.value) == says("6", "5")
