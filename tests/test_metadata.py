"""The metadata reader: every real file to its last byte, every part of V16, and damage of all
kinds."""

import hashlib
import json
from functools import cache
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarioctl.errors import InvalidRequest
from scenarioctl.runtime.metadata import MetadataError, read_metadata, unwrap_metadata
from scenarioctl.runtime.scale import encode_compact
from scenarioctl.runtime.table import RuntimeTable
from scenarioctl.runtime.table_entries import ApiMethod, Extension, Field, StorageEntry
from tests.conftest import DATA, SHARED
from tests.messages import Says, raises, says
from tests.pressure import sizes

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


def test_documentation_is_left_out() -> None:
    data = (DATA / "metadata" / "hydration-428.v16.scale").read_bytes()
    sentence = b"Make some on-chain remark."

    assert sentence in data
    assert sentence not in read_metadata(data).dump()


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
        (b"\x01", says("0x01", "start")),
        (b"\x00", says("runtime", "metadata")),
        (b"<html>", says("0x3c68746d6c3e", "start")),
        (b"meta", says("damaged", "4")),
        (b"meta\x0d\x00", says("metadata", "13")),
        (b"meta\x11\x00", says("metadata", "17")),
        (b"\x18meta\x0e", says("5", "6")),
        (b"meta\x0e\x00", says("damaged", "6")),
        (b"meta\x0e\x04\x04", says("1", "0")),
        (b"meta\x0e\x04\x00\x00\x00\x08", says("0", "8")),
        (b"meta\x0e\x04\x00\x04\x04\xff", says("damaged", "10")),
        (b"meta\x0e\x03\x00\x00\x00\x40", says("damaged", "10")),
        (b"meta\x0e\xff" + b"\xff" * 67, says("damaged", "73")),
    ],
)
def test_bytes_that_are_no_metadata_are_refused(data: bytes, sentence: Says) -> None:
    with raises(MetadataError, sentence):
        read_metadata(data)


def test_one_byte_more_or_less_is_refused() -> None:
    data = POLKADOT.read_bytes()

    with pytest.raises(MetadataError, match="has 279307 bytes, but its content ends after 279306"):
        read_metadata(data + b"\x00")
    with pytest.raises(MetadataError, match="truncated or damaged"):
        read_metadata(data[:-1])


@pytest.mark.parametrize(
    "name", ["polkadot-1002005.v14.scale", "polkadot-2000000.v15.scale", "hydration-428.v16.scale"]
)
@sizes(20, 60)
def test_metadata_cut_off_anywhere_is_refused(name: str, size: int) -> None:
    data = (DATA / "metadata" / name).read_bytes()
    random = Random(name)

    for length in [*range(60), *(random.randrange(len(data)) for _ in range(size))]:
        with pytest.raises(MetadataError):
            read_metadata(data[:length])


@pytest.mark.parametrize("name", ["polkadot-1002005.v14.scale", "hydration-428.v16.scale"])
@sizes(20, 60)
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


def _text(text: str) -> bytes:
    return encode_compact(len(text.encode())) + text.encode()


def _list(*items: bytes) -> bytes:
    return encode_compact(len(items)) + b"".join(items)


def _option(item: bytes | None) -> bytes:
    return b"\x00" if item is None else b"\x01" + item


def _type(type_id: int, definition: bytes, path: str = "", parameters: bytes = b"\x00") -> bytes:
    segments = [_text(segment) for segment in path.split("::")] if path else []
    return encode_compact(type_id) + _list(*segments) + parameters + definition + DOCS


def _field(name: str | None, type_id: int, type_name: str | None = None) -> bytes:
    named = _option(None if name is None else _text(name))
    return (
        named
        + encode_compact(type_id)
        + _option(None if type_name is None else _text(type_name))
        + DOCS
    )


def _variant(name: str, index: int, *fields: bytes) -> bytes:
    return _text(name) + _list(*fields) + bytes((index,)) + DOCS


DOCS = _list(_text("Nothing of this is kept."), _text("x" * 100))
#: Its length takes four bytes.
LONG_DOCS = _list(_text("y" * 20000))
FINE, OLD = b"\x00", b"\x01"
OLDER = b"\x02" + _text("use another") + _option(_text("1.2.3"))
OLDEST = b"\x02" + _text("use another") + _option(None)

TYPES = _list(
    _type(0, b"\x05\x03"),  # u8
    _type(1, b"\x05\x05"),  # u32
    _type(2, b"\x05\x02"),  # str
    _type(3, b"\x02" + encode_compact(0)),  # Vec<u8>
    _type(4, b"\x03" + (32).to_bytes(4, "little") + encode_compact(0)),  # [u8; 32]
    _type(5, b"\x04" + _list(encode_compact(1), encode_compact(3))),  # (u32, Vec<u8>)
    _type(6, b"\x06" + encode_compact(1)),  # Compact<u32>
    _type(7, b"\x00" + _list(), "bitvec::order::Lsb0"),
    _type(8, b"\x07" + encode_compact(0) + encode_compact(7)),  # BitVec<u8, Lsb0>
    _type(
        9,
        b"\x00"
        + _list(
            _field("spec_name", 2, "Text"),
            _field("spec_version", 1),
            _field("transaction_version", 1),
        ),
        "sp_version::RuntimeVersion",
    ),
    _type(
        10,
        b"\x01"
        + _list(
            _variant("say", 7, _field("what", 3, "Vec<u8>"), _field("times", 6)),
            _variant("stop", 9),
        ),
        "some_pallet::Call",
        _list(_text("T") + _option(None)),
    ),
    _type(
        11, b"\x01" + _list(_variant("System", 3, _field(None, 10))), "some_runtime::RuntimeCall"
    ),
    _type(12, b"\x01" + _list(), "some_runtime::Never"),
    _type(13, b"\x04" + _list()),
)

STORAGE = _option(
    _text("SystemPrefix")
    + _list(
        _text("Number")
        + b"\x01"
        + b"\x00"
        + encode_compact(1)
        + _list(b"\x05", b"\x00", b"\x00", b"\x00")
        + DOCS
        + OLD,
        _text("Account")
        + b"\x00"
        + (b"\x01" + _list(b"\x02") + encode_compact(4) + encode_compact(3))
        + _list(b"\x00")
        + DOCS
        + OLDER,
        _text("Double")
        + b"\x00"
        + (b"\x01" + _list(b"\x05", b"\x06") + encode_compact(5) + encode_compact(8))
        + _list(b"\x00")
        + DOCS
        + FINE,
    )
)
VERSION = _text("made-up") + (77).to_bytes(4, "little") + (3).to_bytes(4, "little")


def _enum(type_id: int) -> bytes:
    return _option(encode_compact(type_id) + _list(b"\x07" + OLDEST, b"\x09" + OLD))


SYSTEM = (
    _text("System")
    + STORAGE
    + _enum(10)
    + _enum(12)
    + _list(
        _text("Version") + encode_compact(9) + encode_compact(len(VERSION)) + VERSION + DOCS + OLDER
    )
    + _enum(12)
    + _list(_text("AccountId") + encode_compact(4) + LONG_DOCS)
    + _list(
        bytes(range(32))
        + _text("view_it")
        + _list(_text("who") + encode_compact(4))
        + encode_compact(1)
        + DOCS
        + OLDEST
    )
    + b"\x03"
    + DOCS
    + OLDER
)
BARE_PALLET = (
    _text("Bare")
    + b"\x00"
    + b"\x00"
    + b"\x00"
    + _list()
    + b"\x00"
    + _list()
    + _list()
    + b"\xc8"
    + _list()
    + FINE
)
EXTRINSIC = (
    _list(b"\x04", b"\x05")
    + encode_compact(4)
    + encode_compact(11)
    + encode_compact(3)
    + _list(
        b"\x00" + _list(encode_compact(1), encode_compact(0)),
        b"\x01" + _list(encode_compact(0), encode_compact(1), encode_compact(2)),
    )
    + _list(
        _text("CheckNonce") + encode_compact(6) + encode_compact(13),
        _text("CheckGenesis") + encode_compact(13) + encode_compact(4),
        _text("Newer") + encode_compact(13) + encode_compact(13),
    )
)
APIS = _list(
    _text("Core")
    + _list(
        _text("version") + _list() + encode_compact(9) + DOCS + OLD,
        _text("echo")
        + _list(_text("first") + encode_compact(1), _text("second") + encode_compact(3))
        + encode_compact(5)
        + DOCS
        + OLDER,
    )
    + DOCS
    + encode_compact(300)
    + OLDEST
)
OUTER = encode_compact(11) + encode_compact(12) + encode_compact(12)
CUSTOM = _list(_text("name") + encode_compact(1) + _list(b"\x01", b"\x00", b"\x00", b"\x00"))
V16 = b"meta\x10" + TYPES + _list(SYSTEM, BARE_PALLET) + EXTRINSIC + APIS + OUTER + CUSTOM


def test_every_part_of_version_16_is_read() -> None:
    table = read_metadata(V16)

    assert (table.spec_name, table.spec_version, table.transaction_version) == ("made-up", 77, 3)
    assert (table.metadata_version, table.extrinsic_versions) == (16, (4, 5))
    assert (table.address_type, table.call_type, table.signature_type) == (4, 11, 3)
    # The extensions of version 0, in its order.
    assert table.extensions == (
        Extension(identifier="CheckGenesis", type_id=13, additional_type_id=4),
        Extension(identifier="CheckNonce", type_id=6, additional_type_id=13),
    )
    assert table.pallets == ("System", "Bare")
    assert table.call_fields("System", "say") == (
        Field(name="what", type_id=3, type_name="Vec<u8>"),
        Field(name="times", type_id=6),
    )
    assert table.methods("System") == ("say", "stop")
    assert table.methods("Bare") == ()
    assert table.storage_entry("System", "Number") == StorageEntry(
        pallet="System",
        prefix="SystemPrefix",
        name="Number",
        modifier="Default",
        hashers=(),
        key_types=(),
        value_type=1,
        default=b"\x05\x00\x00\x00",
    )
    assert table.storage_entry("System", "Account") == StorageEntry(
        pallet="System",
        prefix="SystemPrefix",
        name="Account",
        modifier="Optional",
        hashers=("Blake2_128Concat",),
        key_types=(4,),
        value_type=3,
        default=b"\x00",
    )
    assert table.storage_entry("System", "Double").hashers == ("Twox64Concat", "Identity")
    assert table.storage_entry("System", "Double").key_types == (1, 3)
    assert table.constant("System", "Version") == {
        "spec_name": "made-up",
        "spec_version": 77,
        "transaction_version": 3,
    }
    assert table.apis == ("Core",)
    assert table.api_methods("Core") == ("version", "echo")
    assert table.api_method("Core", "echo") == ApiMethod(
        api="Core",
        name="echo",
        inputs=(Field(name="first", type_id=1), Field(name="second", type_id=3)),
        output_type=5,
    )
    assert [table.type_name(type_id) for type_id in range(len(table.types))] == [
        "u8",
        "u32",
        "str",
        "Vec<u8>",
        "[u8; 32]",
        "(u32, Vec<u8>)",
        "Compact<u32>",
        "Lsb0",
        "BitVec<u8, Lsb0>",
        "RuntimeVersion",
        "Call",
        "RuntimeCall",
        "Never",
        "()",
    ]
    assert b"is kept" not in table.dump()


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300), st.sampled_from([14, 15, 16]))
def test_random_bytes_are_refused(data: bytes, version: int) -> None:
    with pytest.raises(MetadataError):
        read_metadata(b"meta" + bytes((version,)) + data)


def test_metadata_that_does_not_name_its_runtime_is_refused() -> None:
    with pytest.raises(
        MetadataError,
        match=r"^the metadata has no constant System\.Version, so its runtime is unknown$",
    ):
        read_metadata(V16.replace(_text("Version"), _text("Persion")))
