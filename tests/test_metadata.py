"""The metadata reader: every real file to its last byte, and damage of all kinds."""

import hashlib
import json
from functools import cache
from pathlib import Path
from random import Random

import pytest

from scenarioctl.errors import InvalidRequest
from scenarioctl.runtime.metadata import MetadataError, read_metadata, unwrap_metadata
from scenarioctl.runtime.scale import encode_compact
from scenarioctl.runtime.table import RuntimeTable
from tests.conftest import DATA, SHARED
from tests.messages import Says, raises, says

FILES = {
    path.name: path
    for folder in (SHARED / "data", DATA)
    for path in (folder / "metadata").glob("*.scale")
}
POLKADOT = DATA / "metadata" / "polkadot-1002005.v14.scale"

#: What each runtime calls itself, by what its file is called.
SPEC_NAMES = {
    "acala": "acala",
    "astar": "astar",
    "bifrost-polkadot": "bifrost_polkadot",
    "bridge-hub-polkadot": "bridge-hub-polkadot",
    "collectives-polkadot": "collectives",
    "coretime-polkadot": "coretime-polkadot",
    "mythos": "mythos",
    "people-kusama": "people-kusama",
    "people-polkadot": "people-polkadot",
    "unique": "unique",
    "asset-hub-kusama": "statemine",
    "asset-hub-paseo": "asset-hub-paseo",
    "asset-hub-polkadot": "statemint",
    "hydradx": "hydradx",
    "hydration": "hydradx",
    "kusama": "kusama",
    "passet-hub": "passet-hub",
    "paseo": "paseo",
    "polkadot": "polkadot",
    "pop": "pop",
}


@cache
def table_of(path: Path) -> RuntimeTable:
    return read_metadata(path.read_bytes())


@pytest.mark.parametrize("path", FILES.values(), ids=lambda path: path.name)
def test_a_real_file_is_read_to_its_last_byte(path: Path) -> None:
    table = table_of(path)

    name, _, rest = path.name.rpartition("-")
    spec_version, metadata_version, _ = rest.split(".")
    assert (table.spec_name, table.spec_version) == (SPEC_NAMES[name], int(spec_version))
    assert f"v{table.metadata_version}" == metadata_version
    assert table.extrinsic_versions == ((4, 5) if table.metadata_version == 16 else (4,))
    assert bool(table.apis) == (table.metadata_version > 14)
    assert [extension.identifier for extension in table.extensions].count("CheckMortality") == 1


@pytest.mark.parametrize("path", FILES.values(), ids=lambda path: path.name)
def test_the_pallets_of_a_real_file_agree_with_its_call_type(path: Path) -> None:
    table = table_of(path)

    outer = {name: (index, fields[0][1]) for name, index, fields in table.types[table.call_type][3]}
    inner = {
        pallet: (table._places[pallet][1], table._places[pallet][2])
        for pallet in table.pallets
        if pallet in outer
    }
    assert inner == outer
    assert all(not table.methods(pallet) for pallet in table.pallets if pallet not in outer)


@pytest.mark.parametrize("path", FILES.values(), ids=lambda path: path.name)
def test_every_constant_and_default_of_a_real_file_is_a_value_of_its_type(path: Path) -> None:
    table = table_of(path)

    for pallet in table.pallets:
        for name in table.constants(pallet):
            table.constant(pallet, name)
        for name in table.storage_entries(pallet):
            entry = table.storage_entry(pallet, name)
            assert len(entry.key_types) == len(entry.hashers)
            if entry.modifier == "Default":
                value = table.decode(entry.value_type, entry.default)
                assert table.encode(entry.value_type, value) == entry.default
            else:
                assert entry.default == b"\x00"


def test_the_committed_files_are_those_of_the_index() -> None:
    index = json.loads((DATA / "metadata" / "index.json").read_bytes())

    files = {path.name: path.read_bytes() for path in (DATA / "metadata").glob("*.scale")}

    assert {
        name: (len(data), hashlib.sha256(data).hexdigest()) for name, data in files.items()
    } == {name: (row["bytes"], row["sha256"]) for name, row in index.items()}


def test_metadata_is_taken_as_nodes_wrap_it() -> None:
    data = POLKADOT.read_bytes()
    bare = read_metadata(data).dump()
    prefixed = encode_compact(len(data)) + data

    assert read_metadata(prefixed).dump() == bare
    assert read_metadata(b"\x01" + prefixed).dump() == bare
    assert unwrap_metadata(b"\x01" + prefixed) == data


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", says("0x", "start")),
        (b"\x00", says("runtime", "metadata")),
        (b"<html>", says("0x3c68746d6c3e", "start")),
        (b"meta", says("damaged", "4")),
        (b"meta\x0d\x00", says("metadata", "13")),
        (b"meta\x11\x00", says("metadata", "17")),
        (b"meta\x0e\x04\x04", says("1", "0")),
        (b"meta\x0e\x04\x00\x04\x04\xff", says("damaged", "10")),
        (b"meta\x0e\xff" + b"\xff" * 67, says("damaged", "73")),
    ],
)
def test_bytes_that_are_no_metadata_are_refused(data: bytes, sentence: Says) -> None:
    with raises(MetadataError, sentence):
        read_metadata(data)


@pytest.mark.parametrize("name", ["polkadot-1002005.v14.scale", "hydration-428.v16.scale"])
@pytest.mark.parametrize("size", [20, pytest.param(60, marks=pytest.mark.soak)])
def test_damaged_metadata_is_read_or_refused_and_nothing_else(name: str, size: int) -> None:
    data = (DATA / "metadata" / name).read_bytes()
    random = Random(name)

    for _ in range(size):
        damaged = bytearray(data)
        for _ in range(random.randrange(1, 4)):
            damaged[random.randrange(len(data))] = random.randrange(256)
        try:
            read_metadata(bytes(damaged)).dump()
        except InvalidRequest:
            continue


# A made-up runtime with every part that V16 knows, written here byte by byte.


FINE, OLD = b"\x00", b"\x01"


def test_metadata_that_does_not_name_its_runtime_is_refused() -> None:
    data = (DATA / "metadata" / "polkadot-2000000.v15.scale").read_bytes()
    with pytest.raises(
        MetadataError,
        match=r"^the metadata has no constant System\.Version, so its runtime is unknown$",
    ):
        read_metadata(data.replace(b"\x1cVersion", b"\x1cPersion"))
