"""Signed extrinsics: put together as polkadot.js does, taken apart, and their signatures
checked."""

import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.transactions.extrinsic import bare_extrinsic
from scenarioctl.transactions.signing.payload import SigningOptions, bytes_to_sign, signing_payload
from scenarioctl.transactions.signing.signatures import (
    decode_signed_extrinsic,
    encode_signed_extrinsic,
    possible_signatures,
    rebuild_payload,
    verify_signature,
)
from scenarioctl.transactions.submission.validation import decode_for_chain
from tests.messages import raises, says
from tests.runtimes import REGISTRY, bundled, unhex
from tests.signing import (
    ALITH,
    ALITH_KEY,
    dev_key,
    ecdsa_signature,
    ed25519_key,
    ethereum_signature,
    sign,
)
from tests.test_golden import Vector, asset_id_of, of_kind, table_of

GENESIS = unhex("0x91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3")
REMARK = Call(pallet="System", method="remark", args={"remark": b"hello"})


def options(**changes: Any) -> SigningOptions:
    given: dict[str, Any] = {"nonce": 5, "genesis_hash": GENESIS, "block_hash": GENESIS} | changes
    return SigningOptions(**given)


@of_kind("signed-extrinsic")
def test_a_signed_extrinsic_is_that_of_polkadot_js(vector: Vector) -> None:
    table = table_of(vector["metadata"])
    era = unhex(vector["era_hex"])
    payload = signing_payload(
        table,
        unhex(vector["call_hex"]),
        options(
            nonce=vector["nonce"],
            tip=int(vector["tip"]),
            era=era,
            block_hash=GENESIS if era == b"\0" else bytes(32),
            mode=vector["mode"],
            metadata_hash=bytes(32) if vector["mode"] else None,
            asset_id=asset_id_of(vector),
        ),
    )

    data = encode_signed_extrinsic(
        table,
        payload.call_data,
        payload.extra,
        account=unhex(vector["signer"]),
        scheme=vector["signature_kind"].lower(),
        signature=unhex(vector["signature"]),
    )

    signed = decode_signed_extrinsic(table, data)
    assert "0x" + data.hex() == vector["extrinsic_hex"]
    assert (signed.account, signed.scheme) == (
        unhex(vector["signer"]),
        vector["signature_kind"].lower(),
    )
    assert (signed.signature, signed.call_data) == (unhex(vector["signature"]), payload.call_data)
    assert (signed.extra, signed.era, signed.mode) == (payload.extra, era, vector["mode"])
    assert signed.nonce == vector["nonce"]


@pytest.mark.parametrize("chain", ["polkadot", "assetHub", "hydraDx", "kusama", "assetHub_kusama"])
@pytest.mark.parametrize("text", [b"hi", b"x" * 300], ids=["short", "hashed"])
@pytest.mark.parametrize("mode", [0, 1])
def test_what_was_signed_is_rebuilt_from_the_extrinsic(chain: str, text: bytes, mode: int) -> None:
    table = bundled(chain)
    metadata_hash = b"\x09" * 32 if mode else None
    given = options(
        era=b"\x45\x02", block_hash=b"\x22" * 32, mode=mode, metadata_hash=metadata_hash, tip=3
    )
    call = Call(pallet="System", method="remark", args={"remark": text})

    signed = decode_signed_extrinsic(table, sign(table, call, given))

    payload = rebuild_payload(
        table, signed, genesis_hash=GENESIS, block_hash=b"\x22" * 32, metadata_hash=metadata_hash
    )
    assert payload == signing_payload(table, table.encode_call(call), given).payload
    assert signed.account == dev_key().public_key
    assert verify_signature(
        "sr25519", signed.signature, bytes_to_sign(payload), dev_key().public_key
    )


def test_an_unsigned_extrinsic_is_not_read_as_a_signed_one() -> None:
    table = bundled("polkadot")

    with pytest.raises(InvalidRequest, match=r"^tx is not signed$"):
        decode_signed_extrinsic(table, bare_extrinsic(table.encode_call(REMARK)))


# The first of each library's checks loads it.
@settings(deadline=None)
@given(message=st.binary(max_size=300), other=st.binary(max_size=300))
def test_a_signature_fits_its_message_and_no_other(message: bytes, other: bytes) -> None:
    account, signature = ecdsa_signature(message)
    found = {
        "sr25519": (dev_key().public_key, dev_key().sign(message)),
        "ed25519": (ed25519_key().public_key, ed25519_key().sign(message)),
        "ecdsa": (account, signature),
    }

    for scheme, (public, made) in found.items():
        assert verify_signature(scheme, made, message, public)
        assert verify_signature(scheme, made, other, public) == (other == message)
        assert not verify_signature(scheme, made, message, b"\x01" * 32)


def test_a_signature_of_a_wrapped_message_is_not_one_of_the_message() -> None:
    wrapped = b"<Bytes>hello</Bytes>"
    account, signature = ecdsa_signature(wrapped)
    found = {
        "sr25519": (dev_key().public_key, dev_key().sign(wrapped)),
        "ed25519": (ed25519_key().public_key, ed25519_key().sign(wrapped)),
        "ecdsa": (account, signature),
        "ethereum": (ALITH, ethereum_signature(ALITH_KEY, wrapped)),
    }

    # What it is held against: a polkadot.js extension wraps what it signs as a message.
    assert dev_key().verify(b"hello", found["sr25519"][1])
    for scheme, (public, made) in found.items():
        assert verify_signature(scheme, made, wrapped, public)
        assert not verify_signature(scheme, made, b"hello", public)


@pytest.mark.parametrize(
    ("scheme", "library"), [("sr25519", "substrateinterface"), ("ecdsa", "ecdsa")]
)
def test_a_library_that_is_missing_says_nothing_of_a_signature(
    scheme: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    account, signature = ecdsa_signature(b"hello")
    made = {
        "sr25519": (dev_key().public_key, dev_key().sign(b"hello")),
        "ecdsa": (account, signature),
    }
    public, signed = made[scheme]
    monkeypatch.setitem(sys.modules, library, None)

    with pytest.raises(ImportError):
        verify_signature(scheme, signed, b"hello", public)


def test_a_key_for_which_a_signature_fits_every_message_verifies_as_on_the_chain() -> None:
    # The account 0x00…00 is the identity of the curve.
    assert verify_signature("sr25519", bytes(63) + b"\x80", b"hello", bytes(32))
    assert verify_signature("ed25519", b"\x01" + bytes(63), b"hello", b"\x01" + bytes(31))


@pytest.mark.parametrize("scheme", ["sr25519", "ed25519", "ecdsa"])
@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 66])
@pytest.mark.parametrize("byte", [0, 1, 0x7F, 0xFF])
def test_bytes_that_are_no_signature_fit_nothing(scheme: str, length: int, byte: int) -> None:
    signature = bytes([byte]) * length

    assert not verify_signature(scheme, signature, b"hello", dev_key().public_key)
    assert not verify_signature(scheme, signature, b"hello", b"\xff" * 32)


def test_an_ecdsa_signature_says_which_of_two_keys_made_it() -> None:
    account, signature = ecdsa_signature(b"hello")
    other = signature[:64] + bytes([1 - signature[64]])

    assert verify_signature(
        "ecdsa", signature[:64] + bytes([signature[64] + 27]), b"hello", account
    )
    assert not verify_signature("ecdsa", other, b"hello", account)


def test_a_signature_is_taken_with_and_without_the_byte_of_its_scheme() -> None:
    assert list(possible_signatures(b"a" * 64)) == [("sr25519", b"a" * 64), ("ed25519", b"a" * 64)]
    assert list(possible_signatures(b"\x01" + b"a" * 64)) == [
        ("sr25519", b"a" * 64),
        ("ecdsa", b"\x01" + b"a" * 64),
        ("ethereum", b"\x01" + b"a" * 64),
    ]
    assert list(possible_signatures(b"\x00" + b"a" * 64, "ed25519")) == [("ed25519", b"a" * 64)]
    assert list(possible_signatures(b"\x02" + b"a" * 65)) == [("ecdsa", b"a" * 65)]
    assert list(possible_signatures(b"a" * 10)) == []


class OnlyFive:
    """A runtime of which extrinsics have no signature of their own."""

    extrinsic_versions = (5,)

    def __str__(self) -> str:
        return "new 1"


@pytest.mark.parametrize(
    ("table", "scheme", "words"),
    [
        (bundled("polkadot"), "ethereum", ("ethereum", "no Ethereum signatures")),
        (OnlyFive(), "sr25519", ("new 1", "version 4")),
    ],
    ids=["polkadot", "version 5"],
)
def test_what_a_runtime_does_not_accept_is_not_assembled(
    table: Any, scheme: str, words: tuple[str, ...]
) -> None:
    with raises(InvalidRequest, says(*words)):
        encode_signed_extrinsic(
            table, b"", b"", account=bytes(20), scheme=scheme, signature=bytes(65)
        )


def test_what_another_chain_can_read_alone_names_it() -> None:
    hydration, polkadot = REGISTRY.find("hydraDx"), REGISTRY.find("polkadot")
    genesis = unhex(hydration.genesis)
    given = options(genesis_hash=genesis, block_hash=genesis)
    tx = sign(bundled("hydraDx"), REMARK, given)

    with raises(InvalidRequest, says("signed for Hydration", "Polkadot")):
        decode_for_chain(
            polkadot, bundled("polkadot"), tx, lambda: [(hydration, bundled("hydraDx"))]
        )
