"""TOML within bounds: what would take the parser's memory never reaches it."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarioctl.actions.flow_files import read_flow
from scenarioctl.errors import InvalidRequest, ScenarioctlError, TooLarge
from scenarioctl.model.toml import MAX_KEY_PARTS, MAX_VALUES, parse_toml
from tests.messages import raises, says

LONG = ".".join("a" * 20_000)


@pytest.fixture
def _unparsed(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(*_: Any, **__: Any) -> None:
        raise AssertionError("it was parsed")

    monkeypatch.setattr(tomllib, "loads", parse)


@pytest.mark.usefixtures("_unparsed")
@pytest.mark.parametrize(
    "text",
    [
        f"{LONG} = 1",
        f"x = 1\n[{LONG}]",
        f"[[{LONG}]]",
        f"x = {{{LONG} = 1}}",
        f"x = [{{y = 2, {LONG} = 1}}]",
        ".".join(['"a"'] * 20_000) + " = 1",
        ".".join(["'a.b'"] * 20_000) + " = 1",
        " . ".join(["a", '"b"'] * 20_000) + " = 1",
        f"# '\n{LONG} = 1",
        f"x = '''it's\n'''\n{LONG} = 1",
        f'x = """a "" b\\"""" \n{LONG} = 1',
        f'x = "\'"\n{LONG} = 1',
    ],
)
def test_a_key_of_too_many_parts_is_refused_before_it_is_parsed(text: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_toml(text, field="flow")

    sentence, _, line = str(refused.value).partition(" (")
    assert sentence == says("dotted", "16")
    assert line in (
        "line 1), write it as tables",
        "line 2), write it as tables",
        "line 3), write it as tables",
    )


@pytest.mark.usefixtures("_unparsed")
@pytest.mark.parametrize("text", ["x = [" + "[]," * MAX_VALUES + "]", "a.b=1\n" * MAX_VALUES])
def test_too_many_values_are_refused_before_they_are_parsed(text: str) -> None:
    with raises(TooLarge, says("100000", "values")):
        parse_toml(text, field="flow")


def test_a_key_of_as_many_parts_as_there_may_be_is_parsed() -> None:
    key = ".".join("a" * MAX_KEY_PARTS)

    assert list(parse_toml(f"{key} = 1", field="flow")) == ["a"]
    with pytest.raises(InvalidRequest):
        parse_toml(f"{key}.a = 1", field="flow")


def test_dots_in_texts_and_comments_are_no_keys() -> None:
    text = "." * 1000

    document = f"""# {text}
a = "{text} \\" {text}"  # {text}
b = '{text}'
c = \"\"\"
{text} "" \\\""" {text}
\"\"\"
d = '''
{text} '' {text}'''
e = [1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5]
"""

    assert parse_toml(document, field="flow") == tomllib.loads(document)


def test_a_flow_says_where_its_key_is_too_long() -> None:
    with raises(InvalidRequest, says("16", "2")):
        read_flow(f"name = 'x'\r\n{LONG} = 1")


@given(st.text(alphabet="ab.\"'#\n=[]{}, \\1", max_size=60))
def test_what_is_parsed_is_what_tomllib_gives(text: str) -> None:
    try:
        expected: Any = tomllib.loads(text)
    except ValueError as error:
        expected = str(error)

    try:
        found: Any = parse_toml(text, field="flow")
    except ScenarioctlError:
        # As many dots in a row as a key may not have, in what is no TOML anyway.
        assert isinstance(expected, str)
        return
    except ValueError as error:
        found = str(error)

    assert found == expected


@pytest.mark.parametrize(
    "number", ["1" * 1001, "1." + "1" * 1001, "0x" + "f" * 5000, "_".join("1" * 600)]
)
def test_a_number_as_long_as_a_book_is_refused_before_it_is_parsed(number: str) -> None:
    """The parser lets no other thread run meanwhile; as hex it was a bug."""
    with raises(InvalidRequest, says("flow", "1000", "line 3")):
        parse_toml(f"[[steps]]\ntype = 'delay'\nseconds = {number}\n", field="flow")


def test_long_texts_and_long_indents_are_no_numbers() -> None:
    text = "a" * 5000

    assert parse_toml(f"[[steps]]{' ' * 3000}\ntext = '{text}' # {text}\n", field="flow") == {
        "steps": [{"text": text}]
    }
