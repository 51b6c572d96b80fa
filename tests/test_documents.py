"""JSON in and out: nothing lost, nothing unbounded."""

import json
from decimal import Decimal
from typing import Any

import lz4.frame
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarioctl.errors import BadJson, InvalidRequest, ScenarioctlError, TooLarge
from scenarioctl.formats.documents import (
    MAX_BYTES,
    MAX_VALUES,
    canonical_json,
    pack,
    parse_json,
    unpack,
)
from tests.messages import Says, raises, says

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
documents = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**78), 10**78)
    # Whole ones are read as integers, whatever their spelling.
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda each: not each.is_integer())
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.50", 1.5),
        ("0.1", 0.1),
        ("-0.0000001", -1e-7),
        ("552.3836857519447", 552.3836857519447),
        ("1e3", 1000),
        ("1.5e23", 150000000000000000000000),
        ("12345678901234567890.0", 12345678901234567890),
        ("-0.0", 0),
        ("0e99999999999999999999999", 0),
        ("340282366920938463463374607431768211456", 2**128),
        ('"\\ud83d\\ude00"', "😀"),
        ('"\\\\ud800"', "\\ud800"),
        ("\ufeff[]", []),
        (b"\xef\xbb\xbf[]", []),
        (" {} ", {}),
    ],
)
def test_json_is_read_as_written(text: str | bytes, value: object) -> None:
    read = parse_json(text, field="body")

    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", says("body", "JSON", "1")),
        ("{", says("body", "JSON", "1", "2")),
        ("[1]\n x", says("body", "JSON", "2")),
        ("[NaN]", says("body", "NaN", "JSON")),
        ("-Infinity", says("body", "JSON")),
        ("1e400", says("body", "1e400")),
        ("-1e400", says("body", "-1e400")),
        ("1" * 400 + ".5", says("body", "1" * 58)),
        ("1e-400", says("body", "1e-400", "JSON")),
        ("1e-99999999999999999999999", says("body", "1e-99999999999999999999999", "JSON")),
        ("0.12345678901234567890", says("body", "0.12345678901234567890", "JSON")),
        ("9" * 100_000, says("body", "100000", "80")),
        ('{"a": 1, "b": 2, "a": 3}', says("body", "a")),
        ('"\\uD800"', says("body", "surrogate")),
        ('{"\\udfff": 1}', says("body", "surrogate")),
        ('"\udc80"', says("body", "UTF-8")),
        (b'"\xff"', says("body", "UTF-8")),
    ],
)
def test_what_is_not_json_is_refused(text: str | bytes, sentence: Says) -> None:
    with raises(BadJson, sentence):
        parse_json(text, field="body")


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"a":' * 100_000, "[" * 101 + "]" * 101, '{"a":' * 101 + "1" + "}" * 101],
    ids=["lists", "objects", "101 lists", "101 objects"],
)
def test_deep_nesting_is_refused_and_not_a_crash(text: str) -> None:
    with raises(InvalidRequest, says("body", "100")):
        parse_json(text, field="body")


def test_a_hundred_levels_are_read() -> None:
    assert (
        canonical_json(parse_json("[" * 100 + "]" * 100, field="body")) == b"[" * 100 + b"]" * 100
    )


@pytest.mark.parametrize(
    "text",
    ['"' + "a" * MAX_BYTES, b" " * (MAX_BYTES + 1), "é" * (MAX_BYTES // 2 + 1)],
    ids=["text", "bytes", "wide text"],
)
def test_what_is_too_large_is_not_even_parsed(text: str | bytes) -> None:
    with raises(TooLarge, says("body", "16777216")):
        parse_json(text, field="body")


def test_canonical_json_is_compact_sorted_utf8() -> None:
    assert (
        canonical_json({"b": [1, 2.5, None], "a": {"ü": True}})
        == '{"a":{"ü":true},"b":[1,2.5,null]}'.encode()
    )


@pytest.mark.parametrize(
    "value", [float("nan"), "\ud800", 10**5000], ids=["nan", "surrogate", "huge"]
)
def test_what_json_cannot_express_is_not_written(value: object) -> None:
    with pytest.raises(InvalidRequest, match=r"^the document contains "):
        canonical_json([value])


@settings(deadline=None)
@given(documents)
def test_canonical_json_is_the_same_for_the_same_content(document: Any) -> None:
    text = canonical_json(document)
    read = parse_json(text, field="document")

    assert read == document
    assert canonical_json(read) == text
    assert canonical_json(json.loads(json.dumps(document))) == text


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_survives(value: float) -> None:
    read = parse_json(repr(value), field="body")

    assert (float(read), Decimal(str(read))) == (value, Decimal(repr(value)))


@settings(deadline=None)
@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_a_fraction_is_read_exactly_or_refused(number: Decimal) -> None:
    try:
        value = parse_json(str(number), field="body")
    except BadJson:
        return

    assert Decimal(repr(value)) == number


@settings(deadline=None)
@given(
    st.text(max_size=40) | st.binary(max_size=40) | st.text('[]{},:"01.e+-ntfa\\u d8', max_size=40)
)
def test_any_text_is_json_or_a_sentence(text: str | bytes) -> None:
    try:
        value = parse_json(text, field="body")
    except ScenarioctlError as refused:
        assert str(refused).startswith("body ")
        return

    assert parse_json(canonical_json(value), field="body") == value


def test_too_many_values_are_refused_before_they_are_parsed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def parse(*_: Any, **__: Any) -> None:
        raise AssertionError("it was parsed")

    monkeypatch.setattr(json, "loads", parse)

    for text in (
        "[" + "[]," * MAX_VALUES + "]",
        '{"text": "' + "\\\\" * 600_000 + '", "x": [' + "1," * MAX_VALUES + "]}",
        "{" + '"a":{},' * MAX_VALUES + "}",
        '{"text": "' + "," * MAX_VALUES + '"}',
    ):
        with pytest.raises(TooLarge, match=r"^body has more than 250000 commas and brackets$"):
            parse_json(text, field="body")
    with pytest.raises(
        TooLarge,
        match=r"^body has more than 2000000 characters written as escapes, write them as they are$",
    ):
        parse_json('"' + "\\n" * 2_000_001 + '"', field="body")


DOCUMENT = {"nodes": [{"id": "ä", "position": {"x": 0.1, "y": -3}}], "edges": []}


def test_a_blob_is_an_lz4_frame_of_canonical_json() -> None:
    blob = pack(DOCUMENT)

    assert (
        lz4.frame.decompress(blob)
        == '{"edges":[],"nodes":[{"id":"ä","position":{"x":0.1,"y":-3}}]}'.encode()
    )
    assert unpack(blob) == DOCUMENT


@settings(deadline=None)
@given(documents)
def test_what_is_packed_comes_back(document: Any) -> None:
    assert unpack(pack(document)) == document


def test_a_document_above_the_limit_is_not_packed() -> None:
    with raises(TooLarge, says("16777218", "JSON", "16777216")):
        pack("a" * MAX_BYTES)
