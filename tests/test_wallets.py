"""What is to be signed, as wallets take it: beside polkadot.js's own (`tools/golden/wallets.mjs`),
and read back from QR codes."""

import json
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.registry import Registry
from scenarioctl.errors import TooLarge
from scenarioctl.runtime.metadata_hash import metadata_digest
from scenarioctl.runtime.table import RuntimeTable
from scenarioctl.transactions.extrinsic import IMMORTAL, encode_era
from scenarioctl.transactions.signing.payload import (
    MAX_FRAMES,
    SigningOptions,
    signer_payload,
    signing_payload,
    vault_frames,
    vault_payload,
)
from tests.conftest import BOB, BOB_HEX, Run
from tests.messages import raises, says
from tests.qr_reader import read_code
from tests.runtimes import metadata_table, unhex
from tests.test_golden import VECTORS, assert_is, asset_id_of

REMARK = "0x00071468656c6c6f"
PAYLOAD = ("--offline", "tx", "payload", REMARK, "--chain", "polkadot", "--nonce", "0", "--sender",
    BOB, "--era", "immortal")  # fmt: skip
TWO_FRAMES = (
    *PAYLOAD[:3],
    "0x0007" + (4 * 1500 + 1).to_bytes(2, "little").hex() + "61" * 1500,
    *PAYLOAD[4:],
)


def vectors(kind: str) -> list[Any]:
    return [pytest.param(vector, id=vector["id"]) for vector in VECTORS if vector["kind"] == kind]


def options_of(vector: dict[str, Any]) -> SigningOptions:
    era = vector["era"]
    return SigningOptions(
        nonce=vector["nonce"],
        tip=int(vector["tip"]),
        era=encode_era(era["period"], era["current"]) if era else IMMORTAL,
        genesis_hash=unhex(vector["genesis_hash"]),
        block_hash=unhex(vector["block_hash"]),
        block_number=era["current"] if era else 0,
        asset_id=asset_id_of(vector),
        mode=vector["mode"],
        metadata_hash=unhex(vector["metadata_hash"]) if vector["metadata_hash"] else None,
    )


def table_of(vector: dict[str, Any]) -> RuntimeTable:
    return metadata_table(vector["metadata"])


@pytest.mark.parametrize("vector", vectors("wallet"))
def test_a_signer_payload_is_the_one_of_polkadot_js(vector: dict[str, Any]) -> None:
    table, options = table_of(vector), options_of(vector)
    payload = signing_payload(table, unhex(vector["call_hex"]), options)
    address = format_account(unhex(vector["sender"]), Registry().find(vector["chain"]).ss58_prefix)

    found = signer_payload(table, payload, options, address=address)

    assert found == vector["signer_payload"]
    # What polkadot.js makes of it, is what was to be signed.
    assert_is(payload.payload, vector, "payload")


@pytest.mark.parametrize("vector", vectors("wallet"))
def test_what_vault_scans_is_what_polkadot_js_shows(vector: dict[str, Any]) -> None:
    options = options_of(vector)
    payload = signing_payload(table_of(vector), unhex(vector["call_hex"]), options)

    vault = vault_payload(
        payload,
        account=unhex(vector["sender"]),
        crypto="sr25519",
        genesis_hash=options.genesis_hash,
    )
    frames = vault_frames(vault)

    assert vault == unhex(vector["vault_hex"])
    assert len(frames) == vector["frames"]
    assert blake2b(b"".join(frames), digest_size=32).digest() == unhex(vector["frames_blake2_256"])


@pytest.mark.parametrize("vector", vectors("metadata-digest"))
def test_a_digest_is_that_of_another_implementation(vector: dict[str, Any]) -> None:
    table = table_of(vector)
    prefix = table.constant("System", "SS58Prefix")

    digest = metadata_digest(
        table, ss58_prefix=prefix, decimals=vector["decimals"], symbol=vector["symbol"]
    )

    assert "0x" + digest.hex() == vector["digest"]


@given(st.binary(min_size=1, max_size=5000))
def test_frames_join_to_what_they_were_cut_from(data: bytes) -> None:
    frames = vault_frames(data)

    heads = [
        b"\0" + len(frames).to_bytes(2, "big") + index.to_bytes(2, "big")
        for index in range(len(frames))
    ]
    assert [frame[:5] for frame in frames] == heads
    assert b"".join(frame[5:] for frame in frames) == data
    assert max(map(len, frames)) <= 1024 + 5


def test_the_largest_payload_that_is_drawn() -> None:
    largest = bytes(1024 * MAX_FRAMES)

    assert len(vault_frames(largest)) == 64
    with raises(TooLarge, says("tx", "QR", "65537")):
        vault_frames(largest + b"\0")


def test_the_kind_of_key_is_told_to_vault(scenarioctl: Run) -> None:
    sr25519 = scenarioctl(*PAYLOAD, "--field", "vault_payload").out
    ed25519 = scenarioctl(*PAYLOAD, "--field", "vault_payload", "--crypto", "ed25519").out

    assert sr25519.startswith(f"0x530102{BOB_HEX[2:]}20{REMARK[2:]}")
    assert ed25519 == sr25519.replace("0x530102", "0x530002", 1)


def test_a_qr_code_in_a_file(scenarioctl: Run, tmp_path: Path) -> None:
    path = tmp_path / "tx.png"
    plain = scenarioctl(*PAYLOAD)

    ended = scenarioctl(*PAYLOAD, "--qr-file", str(path))

    vault = unhex(json.loads(plain.out)["vault_payload"])
    assert (ended.out, ended.err, ended.code) == (plain.out, f"{plain.err}Wrote {path}\n", 0)
    assert read_code(Image.open(path)) == b"\0\0\1\0\0" + vault


def test_a_file_that_is_there_is_replaced(scenarioctl: Run, tmp_path: Path) -> None:
    path = tmp_path / "tx.PNG"
    path.write_bytes(b"old")

    assert scenarioctl(*PAYLOAD, "--qr-file", str(path)).code == 0
    assert read_code(Image.open(path)).startswith(b"\0\0\1\0\0\x53\1\2")


def test_a_long_payload_takes_several_files(scenarioctl: Run, tmp_path: Path) -> None:
    ended = scenarioctl(*TWO_FRAMES, "--qr-file", str(tmp_path / "tx.png"))

    paths = [tmp_path / "tx-1.png", tmp_path / "tx-2.png"]
    frames = [read_code(Image.open(path)) for path in paths]
    assert sorted(tmp_path.iterdir()) == paths
    assert ended.err.endswith(f"\nWrote {paths[0]}\nWrote {paths[1]}\n")
    assert [frame[:5] for frame in frames] == [b"\0\0\2\0\0", b"\0\0\2\0\1"]
    assert b"".join(frame[5:] for frame in frames) == unhex(json.loads(ended.out)["vault_payload"])
