"""The metadata digest of RFC-78."""

import json
from typing import Any

import pytest

from scenarioctl.errors import InvalidRequest
from scenarioctl.runtime.metadata_hash import accessible_types, metadata_digest
from scenarioctl.runtime.table import BUNDLED, RuntimeTable
from scenarioctl.runtime.type_table import TypeTable
from tests.messages import Says, raises, says

from .runtimes import bundled, metadata_table, vectors

U8, U32, U64, TEXT, LSB, CALL, INNER, UNIT, NEVER, COMPACT, WRAPPED, BITS, VOID, FREE = range(14)

#: Rows by the ids above; a runtime's, but small.
TYPES: tuple[list[Any], ...] = (
    ["", [], "primitive", "u8"],
    ["", [], "primitive", "u32"],
    ["", [], "primitive", "u64"],
    ["", [], "primitive", "str"],
    ["bitvec::order::Lsb0", [], "composite", []],
    [
        "toy::Call",
        [],
        "variant",
        [
            ["pay", 1, [["to", INNER, "T::Inner"], ["bits", BITS, None]]],
            ["stop", 0, [[None, UNIT, None], [None, COMPACT, "Compact<u64>"], [None, VOID, None]]],
        ],
    ],
    ["toy::Inner", [], "composite", [[None, WRAPPED, "[u8; 4]"], [None, TEXT, None]]],
    ["", [], "tuple", []],
    ["toy::Never", [], "variant", []],
    ["", [], "compact", U64],
    ["", [], "array", [4, U8]],
    ["", [], "bits", [U8, LSB]],
    ["", [], "compact", UNIT],
    ["toy::Unused", [], "sequence", U32],
)


def toy(*, rows: dict[int, list[Any]] | None = None, **changes: Any) -> RuntimeTable:
    header: dict[str, Any] = {
        "spec_name": "toy",
        "spec_version": 1,
        "transaction_version": 1,
        "metadata_version": 15,
        "pallets": [],
        "extrinsic": {
            "versions": [4],
            "address": INNER,
            "call": CALL,
            "signature": NEVER,
            "extensions": [["CheckNonce", COMPACT, UNIT]],
        },
    }
    types: list[Any] = [
        (rows or {}).get(type_id, row) for type_id, row in enumerate(json.loads(json.dumps(TYPES)))
    ]
    return RuntimeTable({**header, **changes}, TypeTable(types), [], [])


def digest(table: RuntimeTable, **changes: Any) -> str:
    return metadata_digest(
        table, **{"ss58_prefix": 42, "decimals": 10, "symbol": "TOY", **changes}
    ).hex()


def prefix_of(table: RuntimeTable) -> int:
    return int(table.constant("System", "SS58Prefix"))


@pytest.mark.parametrize("vector", vectors("metadata-hash"), ids=lambda vector: vector["chain"])
def test_the_digest_is_the_one_that_is_known(vector: dict[str, Any]) -> None:
    table = metadata_table(vector["metadata"])

    found = digest(
        table,
        ss58_prefix=prefix_of(table),
        decimals=vector["decimals"],
        symbol=vector["tokenSymbol"],
    )

    assert "0x" + found == vector["digest"]


def test_there_are_three_known_digests_among_the_shared_vectors() -> None:
    assert len(vectors("metadata-hash")) == 3


@pytest.mark.parametrize("chain", sorted(BUNDLED))
def test_a_table_that_was_kept_in_a_file_has_the_same_digest(chain: str) -> None:
    table = bundled(chain)

    assert digest(RuntimeTable.load(table.dump())) == digest(table)


def test_a_type_may_hold_itself() -> None:
    table = toy(rows={WRAPPED: ["", [], "sequence", INNER]})

    assert accessible_types(table.types, [INNER]) == {INNER, WRAPPED, TEXT}
    assert len(digest(table)) == 64


def test_the_digest_of_a_runtime_that_takes_two_versions_of_extrinsics_is_that_of_the_older() -> (
    None
):
    extrinsic = toy()._header["extrinsic"]

    both = digest(toy(extrinsic={**extrinsic, "versions": [5, 4]}))

    assert both == digest(toy())
    assert digest(toy(extrinsic={**extrinsic, "versions": [5]})) != both


def test_metadata_of_version_14_tells_no_digest() -> None:
    with raises(InvalidRequest, says("metadata_hash", "1002005", "14")):
        digest(metadata_table("polkadot-1002005.v14.scale"))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"decimals": 256}, says("metadata_hash", "42", "256")),
        ({"ss58_prefix": 65536}, says("metadata_hash", "65536", "10")),
    ],
)
def test_numbers_that_do_not_fit_have_no_digest(changes: dict[str, int], sentence: Says) -> None:
    with raises(InvalidRequest, sentence):
        digest(toy(), **changes)


@pytest.mark.parametrize(
    ("type_id", "row", "sentence"),
    [
        (COMPACT, ["", [], "compact", TEXT], says("metadata_hash", "computed")),
        (COMPACT, ["", [], "compact", COMPACT], says("metadata_hash", "computed")),
        (BITS, ["", [], "bits", [TEXT, LSB]], says("metadata_hash", "Lsb0")),
        (BITS, ["", [], "bits", [U8, INNER]], says("metadata_hash", "u8")),
    ],
)
def test_a_type_that_rfc_78_does_not_know_is_named(
    type_id: int, row: list[Any], sentence: Says
) -> None:
    with raises(InvalidRequest, sentence):
        digest(toy(rows={type_id: row}))
