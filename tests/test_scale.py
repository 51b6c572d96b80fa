"""The codec: known bytes, exact refusals, identity over random types and over every call of every
bundled runtime."""

from random import Random
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.runtime.codec import Codec
from scenarioctl.runtime.scale import MAX_CALL_VALUES, MAX_DEPTH, encode_compact
from scenarioctl.runtime.table import BUNDLED, RuntimeTable, load_bundled
from scenarioctl.runtime.type_table import TypeTable
from tests.conftest import examples
from tests.generated_values import PRIMITIVES, Generator, random_types
from tests.messages import Says, raises, says

# A small table of every kind of type, by name.
ROWS: dict[str, list[Any]] = {name: ["", [], "primitive", name] for name in PRIMITIVES}


def _add(
    name: str, kind: str, definition: Any, path: str = "", parameters: tuple[Any, ...] = ()
) -> None:
    ROWS[name] = [path, list(parameters), kind, definition]


def _id(name: str) -> int:
    return list(ROWS).index(name)


def _option(name: str, inner: str) -> None:
    variants = [["None", 0, []], ["Some", 1, [[None, _id(inner), None]]]]
    _add(name, "variant", variants, "Option", (["T", _id(inner)],))


_add("()", "tuple", [])
_add("(u8,)", "tuple", [_id("u8")])
_add("(u8, bool)", "tuple", [_id("u8"), _id("bool")])
_add("Vec<u8>", "sequence", _id("u8"))
_add("Vec<u16>", "sequence", _id("u16"))
_add("Vec<()>", "sequence", _id("()"))
_add("[u8; 4]", "array", [4, _id("u8")])
_add("[u16; 2]", "array", [2, _id("u16")])
_add("[(); 3]", "array", [3, _id("()")])
_add("[(); 4294967295]", "array", [2**32 - 1, _id("()")])
_add("Lsb0", "composite", [], "bitvec::order::Lsb0")
_add("Msb0", "composite", [], "bitvec::order::Msb0")
for _store in ("u8", "u16", "u32", "u64"):
    for _order in ("Lsb0", "Msb0"):
        _add(f"bits {_store} {_order}", "bits", [_id(_store), _id(_order)])
_option("Option<bool>", "bool")
_option("Option<()>", "()")
_option("Option<Option<bool>>", "Option<bool>")
_add("Id", "composite", [[None, _id("u64"), None]], "some::Id")
_option("Option<Id>", "Id")
_add("Named", "composite", [["value", _id("u32"), None]], "some::Named")
_add("Point", "composite", [["x", _id("i8"), None], ["y", _id("Vec<u16>"), None]], "some::Point")
_add("Pair", "composite", [[None, _id("u8"), None], [None, _id("bool"), None]], "some::Pair")
for _inner in ("u8", "u16", "u32", "u64", "u128", "u256", "()", "Id", "Named", "i8"):
    _add(f"Compact<{_inner}>", "compact", _id(_inner))
_add("Never", "variant", [], "some::Never")
_add(
    "Junction",
    "variant",
    [
        ["Here", 0, []],
        ["Parachain", 2, [[None, _id("Compact<u32>"), None]]],
        ["X2", 5, [[None, _id("u8"), None], [None, _id("bool"), None]]],
        ["Account", 9, [["id", _id("[u8; 4]"), None], ["network", _id("Option<bool>"), None]]],
    ],
    "some::Junction",
)
_add("Vec<Junction>", "sequence", _id("Junction"))
_add(
    "Tree",
    "composite",
    [["value", _id("u8"), None], ["children", len(ROWS) + 1, None]],
    "some::Tree",
)
_add("Vec<Tree>", "sequence", _id("Tree"))
_add("Endless", "composite", [[None, len(ROWS), None]], "some::Endless")
_add("EndlessPair", "tuple", [len(ROWS), _id("u8")])
_add("Chain", "variant", [["End", 0, []], ["Next", 1, [[None, len(ROWS), None]]]], "some::Chain")
_add("[u64; 4]", "array", [4, _id("u64")])
_add("U256", "composite", [[None, _id("[u64; 4]"), None]], "primitive_types::U256")
_add("Twice", "composite", [["a", _id("u8"), None], ["a", _id("u8"), None]], "some::Twice")

CODEC = Codec(TypeTable(list(ROWS.values())))


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("bool", True, "01"),
        ("u8", 255, "ff"),
        ("u32", 16777215, "ffffff00"),
        ("u64", 1, "0100000000000000"),
        ("u128", 2**128 - 1, "ff" * 16),
        ("u256", 2**255 + 1, "01" + "00" * 30 + "80"),
        ("i8", -1, "ff"),
        ("i128", -1, "ff" * 16),
        ("i256", -(2**255), "00" * 31 + "80"),
        ("char", "é", "e9000000"),
        ("char", "\U0010ffff", "ffff1000"),
        ("str", "", "00"),
        ("str", "战争与和平", "3ce68898e4ba89e4b88ee5928ce5b9b3"),
        ("()", None, ""),
        ("(u8,)", [3], "03"),
        ("(u8, bool)", [3, False], "0300"),
        ("Vec<u8>", b"\x01\x02", "080102"),
        ("Vec<u16>", [4, 8, 15, 16, 23, 42], "18040008000f00100017002a00"),
        ("Vec<()>", [None, None], "08"),
        ("[u16; 2]", [1, 2], "01000200"),
        ("bits u8 Lsb0", "1010", "1005"),
        ("bits u8 Msb0", "1010", "10a0"),
        ("bits u16 Lsb0", "1010", "100500"),
        ("bits u16 Msb0", "1010", "1000a0"),
        ("bits u32 Lsb0", "100000001", "2401010000"),
        ("bits u32 Msb0", "100000001", "2400008080"),
        ("bits u64 Msb0", "1", "040000000000000080"),
        ("bits u8 Lsb0", "1" * 16, "40ffff"),
        ("Option<bool>", None, "00"),
        # Two bytes, unlike the OptionBool of Rust, which never stands in metadata.
        ("Option<bool>", False, "0100"),
        ("Option<()>", None, "00"),
        ("Option<()>", {"Some": None}, "01"),
        ("Option<Option<bool>>", None, "00"),
        ("Option<Option<bool>>", {"Some": None}, "0100"),
        ("Option<Option<bool>>", {"Some": True}, "010101"),
        ("Id", 7, "0700000000000000"),
        ("Named", {"value": 7}, "07000000"),
        ("Point", {"x": -1, "y": [1]}, "ff040100"),
        ("Compact<u8>", 0, "00"),
        ("Compact<u16>", 63, "fc"),
        ("Compact<u32>", 16383, "fdff"),
        ("Compact<u32>", 16384, "02000100"),
        ("Compact<u32>", 2**30 - 1, "feffffff"),
        ("Compact<u32>", 2**30, "0300000040"),
        ("Compact<u64>", 2**64 - 1, "13" + "ff" * 8),
        ("Compact<u128>", 2**128 - 1, "33" + "ff" * 16),
        ("Compact<u256>", 2**256 - 1, "73" + "ff" * 32),
        ("Compact<()>", None, ""),
        ("Compact<Id>", 1, "04"),
        ("Compact<Named>", {"value": 1}, "04"),
        ("Junction", {"Parachain": 1000}, "02a10f"),
        ("Junction", {"X2": [7, True]}, "050701"),
        ("Junction", {"Account": {"id": b"abcd", "network": None}}, "096162636400"),
        ("Vec<Junction>", ["Here", "Here"], "080000"),
        (
            "Tree",
            {"value": 1, "children": [{"value": 2, "children": []}, {"value": 3, "children": []}]},
            "010802000300",
        ),
        ("Chain", {"Next": {"Next": "End"}}, "010100"),
        ("U256", 2**64, "0000000000000000010000000000000000000000000000000000000000000000"),
    ],
)
def test_a_value_has_exactly_these_bytes(name: str, value: Any, expected: str) -> None:
    data = CODEC.encode(_id(name), value)
    back = CODEC.decode(_id(name), bytes.fromhex(expected))

    assert (data.hex(), back) == (expected, value)
    assert type(back) is type(value)


@pytest.mark.parametrize(
    ("name", "lenient", "value"),
    [
        ("u32", "4294967295", 2**32 - 1),
        ("Compact<u128>", "12345678900", 12345678900),
        ("U256", "7", 7),
        ("Vec<u8>", "0x00fF", b"\x00\xff"),
        ("Vec<u8>", bytearray(b"ab"), b"ab"),
        ("Vec<u16>", (1, 2), [1, 2]),
        ("Junction", {"Here": None}, "Here"),
        ("Junction", {"Here": {}}, "Here"),
        ("Junction", MappingProxyType({"Parachain": 5}), {"Parachain": 5}),
        ("()", [], None),
    ],
)
def test_encode_also_takes_what_people_write(name: str, lenient: Any, value: Any) -> None:
    assert CODEC.encode(_id(name), lenient) == CODEC.encode(_id(name), value)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("u8", 256, says('256', 'u8')),
        ("u32", -1, says('-1', 'u32')),
        ("u128", 2**1000, says('1001', 'u128')),
        ("u8", True, says('whole', 'number')),
        ("u8", 1.0, says('1.0', 'number')),
        ("u8", "1.5", says('1.5', 'number')),
        ("Compact<u8>", 256, says('256', 'u8')),
        ("Compact<()>", 0, says('0', 'belongs')),
        ("Compact<Named>", {"value": 2**32}, says('4294967296', 'u32')),
        ("bool", 1, says('1', 'false')),
        ("str", b"text", says('0x74657874', 'text')),
        ("char", "ab", says('ab', 'character')),
        ("Vec<u8>", "text", says('text', 'bytes')),
        ("Vec<u8>", "0x123", says('0x123', 'hexadecimal')),
        ("[u8; 4]", b"abc", "0x616263 has 3 bytes, expected 4"),
        ("[u16; 2]", [1, 65536], "[1]: 65536 does not fit u16"),
        ("(u8, bool)", [1, 2], "[1]: 2 is neither true nor false, expected bool"),
        ("Vec<u16>", [1, "x"], "[1]: 'x' is not a whole number, expected u16"),
        ("Vec<()>", [None] * 17, says('17', '16')),
        ("[(); 4294967295]", [], says('4294967295', '16')),
        ("bits u8 Lsb0", "0120", says('0120', 'text')),
        ("Option<()>", {"None": None}, says('object', 'field')),
        ("Point", {"x": 1, "y": [], "z": 2}, says('z', 'fields')),
        ("Point", {"x": 1, "y": [1, -1]}, says('y[1', '-1', 'u16')),
        ("Twice", {"a": 1}, says('metadata', 'twice')),
        ("Junction", "here", says('here', 'X2')),
        ("Junction", {"Nowhere": 1}, says('Nowhere', 'X2')),
        ("Junction", None, says('Parachain', 'X2')),
        ("Junction", {"Here": 1}, says('1', 'belongs')),
        ("Junction", {"Account": {"id": b"abcd", "network": 2}}, says('Account.network', '2')),
        ("Vec<Junction>", ["Here", {"X2": [1, 2]}], ("[1].X2[1]: 2 is neither true nor "
"false, expected bool")),
        ("Tree", {"value": 1, "children": [{"value": -1, "children": []}]},
            says('children[0].value', '-1', 'u8')),
        ("char", "\ud800", says('\\ud800', 'character')),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_refused_by_name_and_place(
    name: str, value: Any, sentence: Says
) -> None:
    with raises(InvalidRequest, sentence):
        CODEC.encode(_id(name), value)


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("u32", "0000", says('begins', '0')),
        ("u8", "0000", says('1', 'u8')),
        ("bool", "02", says('0x02', 'byte')),
        # What only OptionBool would mean.
        ("Option<bool>", "01", says('begins', '1')),
        ("char", "00d80000", says('0xd800', 'character')),
        ("str", "08c328", says('0', 'UTF-8')),
        ("Compact<u32>", "", says('begins', '0')),
        ("Compact<u32>", "0100", says('0x0100', 'longer')),
        ("Compact<u32>", "03ffffff3f", says('0x03ffffff3f', 'longer')),
        ("Compact<u32>", "0700000000ff", says('1095216660480', 'u32')),
        ("Compact<u8>", "0104", says('256', '0', 'u8')),
        ("Vec<u16>", "0300000040", says('promises', '1073741824')),
        ("Vec<u16>", "080100", "[1]: the bytes end early, in what begins at byte 3"),
        ("Vec<()>", "0300000040", says('1073741824', '16')),
        ("bits u8 Lsb0", "0300000040", says('promises', '1073741824')),
        ("bits u8 Lsb0", "1015", says('sequence', '0')),
        ("bits u8 Msb0", "10a8", says('sequence', '0')),
        ("bits u16 Msb0", "1001a0", says('sequence', '0')),
        ("Junction", "01", says('0x01', 'Junction')),
        ("Junction", "09616263640103", says('Account.network', '0x03', '6')),
        ("Vec<Junction>", "08000502", "[1].X2[1]: the bytes end early, in what begins at byte 4"),
        ("Tree", "01080200", says('children[1].value', '4')),
        ("Never", "00", says('0x00', 'variant')),
    ],
)  # fmt: skip
def test_bytes_that_are_no_value_are_refused_by_place(name: str, data: str, sentence: Says) -> None:
    with raises(InvalidRequest, sentence):
        CODEC.decode(_id(name), bytes.fromhex(data))


@pytest.mark.parametrize("name", ["Endless", "EndlessPair"])
def test_a_type_that_is_inside_itself_is_refused_both_ways(name: str) -> None:
    sentence = "it is nested too deep, at most 200 lists and variants may stand inside each other"
    value: list[Any] = []
    value.extend([value, 1])

    with pytest.raises(InvalidRequest, match=sentence):
        CODEC.encode(_id(name), value)
    with pytest.raises(InvalidRequest, match=sentence):
        CODEC.decode(_id(name), b"\x00" * 4000)


def test_recursion_goes_down_to_its_limit_and_no_further() -> None:
    value: Any = "End"
    for _ in range(MAX_DEPTH):
        value = {"Next": value}

    data = CODEC.encode(_id("Chain"), value)

    assert CODEC.decode(_id("Chain"), data) == value
    for deeper in (
        lambda: CODEC.encode(_id("Chain"), {"Next": value}),
        lambda: CODEC.decode(_id("Chain"), b"\x01" + data),
    ):
        with pytest.raises(InvalidRequest, match="nested too deep, at most 200 lists and variants"):
            deeper()


@given(st.integers(min_value=0, max_value=2**536 - 1))
def test_a_compact_is_the_shortest_of_its_forms(number: int) -> None:
    data = encode_compact(number)

    bits = number.bit_length()
    size = 1 if bits <= 6 else 2 if bits <= 14 else 4 if bits <= 30 else 1 + (bits + 7) // 8
    assert len(data) == size
    assert (
        int.from_bytes(data, "little") >> 2 == number
        if size <= 4
        else int.from_bytes(data[1:], "little") == number
    )


@settings(max_examples=examples(800), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False), st.integers(1, 14))
def test_values_of_random_types_come_back_as_they_went(random: Random, count: int) -> None:
    types = random_types(random, count)
    codec, generator = Codec(types), Generator(types, random)

    for type_id in range(len(PRIMITIVES) + 3, len(types)):
        if generator.has_values(type_id):
            value = generator.value(type_id)
            data = codec.encode(type_id, value)
            assert codec.decode(type_id, data) == value
            assert codec.encode(type_id, codec.decode(type_id, data)) == data


@settings(max_examples=examples(800), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0), st.integers(1, 14), st.binary(max_size=64))
def test_random_bytes_are_a_value_that_encodes_to_them_or_are_refused(
    seed: int, count: int, data: bytes
) -> None:
    types = random_types(Random(seed), count)
    codec = Codec(types)

    for type_id in range(len(types)):
        try:
            value, end = codec.decode_at(type_id, data, 0)
        except InvalidRequest:
            continue
        assert codec.encode(type_id, value) == data[:end]


@settings(max_examples=examples(200), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0), st.integers(1, 14), st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats()
        | st.text(max_size=9) | st.binary(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.text(max_size=3) | st.sampled_from(["Some", "inner", "field_0"]), inner, max_size=3
    ),
    max_leaves=8,
))  # fmt: skip
def test_any_python_value_is_encoded_or_refused(seed: int, count: int, value: Any) -> None:
    types = random_types(Random(seed), count)
    codec = Codec(types)

    for type_id in range(len(types)):
        try:
            data = codec.encode(type_id, value)
        except InvalidRequest:
            continue
        assert codec.encode(type_id, codec.decode(type_id, data)) == data


# Real runtimes


def _bundled(literal: str) -> RuntimeTable:
    table = load_bundled(literal)
    assert table is not None
    return table


def _all_calls(table: RuntimeTable) -> list[tuple[str, str]]:
    return [(pallet, method) for pallet in table.pallets for method in table.methods(pallet)]


def _goes_there_and_back(
    table: RuntimeTable, generator: Generator, pallet: str, method: str
) -> bool:
    call = generator.call(table, pallet, method)
    if call is None:
        return False
    data = table.encode_call(call)
    back = table.decode_call(data)
    assert back == call
    assert table.encode_call(back) == data
    return True


@pytest.mark.parametrize("literal", BUNDLED)
def test_every_call_of_a_bundled_runtime_comes_back_as_it_went(literal: str) -> None:
    table = _bundled(literal)
    generator = Generator(table.types, Random(literal))

    without_values = {
        (pallet, method)
        for pallet, method in _all_calls(table)
        if not _goes_there_and_back(table, generator, pallet, method)
    }

    # Its one argument is a task, and these runtimes have no tasks.
    assert without_values <= {("System", "do_task")}


@pytest.mark.parametrize("literal", BUNDLED)
def test_every_type_of_a_bundled_runtime_comes_back_as_it_went(literal: str) -> None:
    table = _bundled(literal)
    generator = Generator(table.types, Random(f"types {literal}"))

    for type_id in range(len(table.types)):
        if generator.has_values(type_id):
            value = generator.value(type_id)
            data = table.encode(type_id, value)
            assert table.decode(type_id, data) == value
            assert (len(data) == 0) == table.types.is_empty(type_id)


def test_a_batch_holds_calls_spelled_as_variants() -> None:
    table = _bundled("polkadot")
    calls = [{"System": {"remark": {"remark": b"hi"}}}, {"Timestamp": {"set": {"now": 5}}}]

    data = table.encode_call(Call(pallet="Utility", method="batch_all", args={"calls": calls}))

    assert data.hex() == "1a0208" + "0000086869" + "030014"
    assert table.decode_call(data).args == {"calls": calls}


def test_batches_in_batches_are_refused_beyond_a_depth_and_never_overflow_the_stack() -> None:
    table = _bundled("polkadot")

    def nested(depth: int) -> bytes:
        return b"\x1a\x00\x04" * depth + b"\x00\x00\x00"

    call = table.decode_call(nested(66))

    assert table.encode_call(call) == nested(66)
    with pytest.raises(InvalidRequest, match=r"it is nested too deep, at most 200"):
        table.encode_call(
            Call(
                pallet="Utility",
                method="batch",
                args={"calls": [{"Utility": {"batch": dict(call.args)}}]},
            )
        )
    for depth in (67, 300, 5000, 100_000):
        with pytest.raises(
            InvalidRequest, match=r"^Utility\.batch: .*it is nested too deep, at most 200"
        ):
            table.decode_call(nested(depth))


def _teleport(**changed: Any) -> Call:
    args: dict[str, Any] = {
        "dest": {"V5": {"parents": 1, "interior": "Here"}},
        "beneficiary": {
            "V5": {
                "parents": 0,
                "interior": {"X1": [{"AccountId32": {"network": None, "id": bytes(32)}}]},
            }
        },
        "assets": {"V5": [{"id": {"parents": 1, "interior": "Here"}, "fun": {"Fungible": 10}}]},
        "fee_asset_item": 0,
        "weight_limit": "Unlimited",
    }
    return Call(pallet="PolkadotXcm", method="limited_teleport_assets", args=args | changed)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (
            {"dest": {"V5": {"parents": 1, "interior": {"X1": [{"Parachain": 2**32}]}}}},
            says("dest.V5.interior.X1[0].Parachain", "4294967296", "u32"),
        ),
        (
            {
                "dest": {
                    "V5": {"parents": 1, "interior": {"X1": [{"Parachain": 1}, {"Parachain": 2}]}}
                }
            },
            says("dest.V5.interior.X1", "2"),
        ),
        ({"dest": {"V9": {}}}, says("V9", "V3", "V4", "V5")),
        ({"dest": {"V5": {"parents": 1}}}, says("dest.V5", "interior")),
        (
            {
                "assets": {
                    "V5": [{"id": {"parents": 1, "interior": "Here"}, "fun": {"Fungible": 2**128}}]
                }
            },
            says("assets.V5[0].fun.Fungible", "340282366920938463463374607431768211456", "u128"),
        ),
        ({"fee_asset_item": "first"}, says("fee_asset_item", "first")),
        ({"fee": 1}, says("fee", "fields")),
    ],
)
def test_an_argument_that_does_not_fit_is_named_by_its_place_in_the_call(
    changed: dict[str, Any], sentence: Says
) -> None:
    with raises(InvalidRequest, sentence.within("PolkadotXcm.limited_teleport_assets: {}")):
        _bundled("assetHub").encode_call(_teleport(**changed))


# Independent encoders


def test_a_call_has_no_more_values_than_are_decoded() -> None:
    """Wherever they stand: a batch in a batch counts with the calls that it holds."""
    polkadot = load_bundled("polkadot")
    assert polkadot is not None
    remark = {"System": {"remark": {"remark": b""}}}

    def decode(count: int) -> Call:
        inner = {"Utility": {"batch": {"calls": [remark] * count}}}
        return polkadot.decode_call(
            polkadot.encode_call(
                Call(pallet="Utility", method="batch", args={"calls": [inner, inner]})
            )
        )

    for _ in range(2):
        assert len(decode(5_000).args["calls"]) == 2
    with pytest.raises(InvalidRequest) as refused:
        decode(MAX_CALL_VALUES // 6)

    assert str(refused.value).endswith("it holds more than 100000 values")
