"""The metadata of a node that lies: however few its bytes, names, values and numbers stay small."""

import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from scenarioctl.errors import InvalidRequest
from scenarioctl.runtime import metadata
from scenarioctl.runtime.codec import Codec
from scenarioctl.runtime.metadata import MetadataError, read_metadata
from scenarioctl.runtime.scale import MAX_VALUES, decode_compact, encode_compact
from scenarioctl.runtime.type_table import NAME_PARTS, TypeTable
from scenarioctl.transactions.values import ValueReader
from tests.conftest import DATA
from tests.messages import raises, says
from tests.runtimes import bundled

METADATA = (DATA / "metadata" / "polkadot-1006000.v15.scale").read_bytes()
U8 = ["", [], "primitive", "u8"]
NOTHING = ["", [], "tuple", []]


@contextmanager
def cheaply() -> Iterator[None]:
    """Fail where it takes long, or memory."""
    tracemalloc.start()
    started = time.process_time()
    try:
        yield
        # Tracing makes it slower by far.
        assert time.process_time() - started < 10
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()


def types_of(*rows: list[Any]) -> TypeTable:
    return TypeTable([list(row) for row in rows])


ROWS: dict[str, Callable[[int, int], list[Any]]] = {
    "tuple": lambda below, width: ["", [], "tuple", [below] * width],
    "array": lambda below, width: ["", [], "array", [width, below]],
    "composite": lambda below, width: ["a::B", [], "composite", [[f"f{n}", below,
        None] for n in range(width)]],
    "parameters": lambda below, width: ["a::B", [["T", below]] * width, "composite", []],
}  # fmt: skip


def doubling(kind: str, levels: int, first: list[Any], width: int) -> TypeTable:
    """Return types each of which holds the one before it *width* times."""
    return types_of(first, *(ROWS[kind](below, width) for below in range(levels)))


@pytest.mark.parametrize("kind", ["tuple", "parameters"])
def test_a_name_is_cut_where_it_would_double_with_each_type(kind: str) -> None:
    types = doubling(kind, 60, U8, 100)

    with cheaply():
        names = [types.name(type_id) for type_id in range(len(types))]

    assert max(map(len, names)) < NAME_PARTS * 10
    assert names[1] == (
        "(" + "u8, " * 99 + "u8)" if kind == "tuple" else "B<" + "u8, " * 99 + "u8>"
    )


def test_the_name_of_a_real_type_is_not_cut() -> None:
    table = bundled("assetHub")

    assert not [
        type_id
        for type_id in range(len(table.types))
        if "…" in table.type_name(type_id).replace("{…}", "")
    ]


@pytest.mark.parametrize(
    ("kind", "first", "width"),
    [
        ("tuple", NOTHING, 10),
        ("array", NOTHING, 16),
        ("composite", NOTHING, 10),
        ("array", U8, 2**31),
    ],
)
def test_a_few_bytes_do_not_become_millions_of_values(
    kind: str, first: list[Any], width: int
) -> None:
    types = doubling(kind, 20, first, width)

    with cheaply(), pytest.raises(InvalidRequest) as refused:
        Codec(types).decode(20, b"\0" * 100)

    assert str(refused.value).endswith(f"it holds more than {MAX_VALUES} values")


def test_many_bytes_do_not_either() -> None:
    wrapped = [["", [], "composite", [["a", below, None]]] for below in range(30)]
    types = types_of(U8, *wrapped, ["", [], "sequence", 30])
    data = encode_compact(100_000) + b"\0" * 100_000

    with cheaply(), pytest.raises(InvalidRequest, match=f"it holds more than {MAX_VALUES} values"):
        Codec(types).decode(31, data)


def test_as_many_values_as_an_honest_chain_has_are_read() -> None:
    types = types_of(U8, ["", [], "tuple", [0, 0]], ["", [], "sequence", 1])

    # Two and its own list for each, beside the list of all.
    assert len(Codec(types).decode(2, encode_compact(100_000) + b"\1" * 200_000)) == 100_000


def test_a_number_of_gigabytes_is_none() -> None:
    types = types_of(["", [], "primitive", "u64"], ["", [], "array", [2**32 - 1, 0]], [
        "primitive_types::U256", [], "composite", [[None, 1, None]]])  # fmt: skip

    with cheaply(), pytest.raises(InvalidRequest):
        Codec(types).encode(2, 1)


def test_types_inside_themselves_end_what_reads_them() -> None:
    table = bundled("polkadot")
    types = types_of(
        ["", [], "compact", 0],
        ["Option", [["T", 1]], "variant", [["None", 0, []], ["Some", 1, [[None, 1, None]]]]],
        *(["", [], "tuple", [below]] for below in range(3, 2000)),
        NOTHING,
    )
    table = type(table)(table._header, types, [], [])

    for type_id in (0, 1, 2):
        reader = ValueReader(table, "it")
        assert reader.example(type_id)
        assert not types.is_empty(type_id)
        with pytest.raises(InvalidRequest):
            reader.read(type_id, "[1]")
        with pytest.raises(InvalidRequest):
            table.decode(type_id, b"\1" * 10_000)


def test_large_metadata_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(METADATA) < metadata.MAX_BYTES / 5
    monkeypatch.setattr(metadata, "MAX_BYTES", len(METADATA) - 1)

    with raises(MetadataError, says(len(METADATA), len(METADATA) - 1)):
        read_metadata(METADATA)


@pytest.mark.parametrize("length", [8, 101])
def test_a_runtime_has_a_name_that_can_be_printed(length: int) -> None:
    name = b"\x20polkadot"
    place = METADATA.index(name + b"\x3cparity-polkadot")
    size, begin = decode_compact(METADATA, place - 2)
    assert begin == place
    value = encode_compact(length) + b"x" * length + METADATA[place + len(name) : place + size]
    changed = METADATA[: place - 2] + encode_compact(len(value)) + value + METADATA[place + size :]

    if length < 100:
        assert read_metadata(changed).spec_name == "x" * length
    else:
        with pytest.raises(MetadataError, match="an invalid name or number"):
            read_metadata(changed)
