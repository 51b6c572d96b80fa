"""A block is what its hash says: headers and roots of extrinsics, as polkadot.js, smoldot and nodes
make them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarioctl.runtime.storage_keys import extrinsics_roots, header_hash
from tests.conftest import DATA
from tests.live.recorder import read_conversations
from tests.runtimes import unhex

VECTORS = json.loads((DATA / "vectors" / "blocks.json").read_text())
HEADER = VECTORS["headers"][1]["header"]
BODIES = st.lists(st.binary(max_size=40), max_size=20)


@pytest.mark.parametrize(
    "vector", VECTORS["headers"], ids=lambda vector: str(vector["header"]["number"])
)
def test_a_header_hashes_as_polkadot_js_says(vector: dict[str, Any]) -> None:
    assert header_hash(vector["header"]) == vector["hash"]


@pytest.mark.parametrize("vector", VECTORS["extrinsics"], ids=lambda vector: str(vector["count"]))
def test_extrinsics_have_the_roots_that_smoldot_says(vector: dict[str, Any]) -> None:
    lengths = vector["lengths"]
    extrinsics = [
        bytes([place % 256]) * lengths[place % len(lengths)] for place in range(vector["count"])
    ]

    assert list(extrinsics_roots(extrinsics)[:2]) == vector["roots"]


@given(BODIES, BODIES)
def test_other_extrinsics_have_another_root(one: list[bytes], other: list[bytes]) -> None:
    shared = set(extrinsics_roots(one)[:2]) & set(extrinsics_roots(other)[:2])

    assert bool(shared) == (one == other)


@pytest.mark.parametrize("recording", ["test_status", "test_broadcast", "test_signing"])
def test_blocks_of_real_runtimes_are_proven(recording: str) -> None:
    told = read_conversations(DATA / "conversations" / f"{recording}.json").chains.values()
    blocks = [
        (each["params"][0], each["result"]["block"])
        for exchanges in told
        for each in exchanges
        if each["method"] == "chain_getBlock"
    ]

    assert len(blocks) > 5
    for block_hash, block in blocks:
        assert header_hash(block["header"]) == block_hash
        assert block["header"]["extrinsicsRoot"] in extrinsics_roots(
            list(map(unhex, block["extrinsics"]))
        )


@pytest.mark.parametrize(
    "changes",
    [
        {"number": "0x2"},
        {"number": "-0x1"},
        {"number": None},
        {"stateRoot": HEADER["parentHash"]},
        {"digest": {"logs": ["0x00"]}},
        {"digest": {}},
        {"parentHash": 5},
    ],
)
def test_a_header_that_was_changed_has_another_hash_or_none(changes: dict[str, Any]) -> None:
    assert header_hash({**HEADER, **changes}) != VECTORS["headers"][1]["hash"]


def test_the_bytes_of_a_header_cannot_be_cut_elsewhere() -> None:
    parent, state = HEADER["parentHash"], HEADER["stateRoot"]
    assert HEADER["number"] == "0x1"
    # The first byte of the state is taken for the number, whose byte ends the parent's hash.
    cut = {
        "parentHash": parent + "04",
        "number": hex(int(state[2:4], 16) >> 2),
        "stateRoot": "0x" + state[4:],
    }

    assert header_hash({**HEADER, **cut}) == ""


def test_what_is_no_header_has_no_hash() -> None:
    others: tuple[object, ...] = (None, [], {}, "0x00", {"digest": None})

    assert [header_hash(each) for each in others] == [""] * 5
