"""Parse TOML within limits, checked before the parser could use too much memory."""

import re
from collections.abc import Callable
from typing import Any

from scenarioctl.errors import InvalidRequest, TooLarge

#: How many parts a dotted key may have: the parser keeps every prefix of every key, so that its
#: memory grows with the square.
MAX_KEY_PARTS = 16
#: How many keys, parts of keys and values a document may hold in all.
MAX_VALUES = 100_000
#: Characters of a number, or of a key without quotes: the parser holds the GIL for a third of a
#: second over 1 MB of digits.
MAX_WORD = 1000

#: A shorter document cannot exceed either limit.
_HARMLESS = 2 * MAX_KEY_PARTS - 1

#: A comment; a string of each of the four kinds, terminated or not; a separator; anything else.
_TOKEN = re.compile(
    r"""
    \#[^\n]*+
    | \"\"\"(?:[^"\\]++|\\.|\"(?!\"\"))*+(?:\"\"\")?+
    | '''(?:[^']++|'(?!''))*+(?:''')?+
    | "(?:[^"\\\n]++|\\.)*+"?+
    | '[^'\n]*+'?+
    | (?P<dot>\.)
    | (?P<value>[=,\]}])
    | (?P<end>[\n\[{])\s*+
    | (?P<word>[^\#"'\n=,\[\]{}.]++)
    """,
    re.VERBOSE | re.DOTALL,
)


def parse_toml(
    text: str, *, field: str, parse_float: Callable[[str], Any] = float
) -> dict[str, Any]:
    """Return the document in *text*.

    InvalidRequest for a key of too many parts, TooLarge for too many values; what is not TOML
    raises as `tomllib` does.
    """
    import tomllib

    if len(text) > _HARMLESS:
        _check(text, field)
    return tomllib.loads(text, parse_float=parse_float)


def _check(text: str, field: str) -> None:
    """Count tokens as the parser sees them; if they differ, the text is invalid and the parser
    stops there."""
    dots = values = 0
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "word":
            if len(token[0]) > MAX_WORD and len(token[0].strip()) > MAX_WORD:
                line = text.count("\n", 0, token.start()) + 1
                raise InvalidRequest(
                    field=field,
                    problem=(
                        f"has a number or a key of more than {MAX_WORD} characters (line "
                        f"{line}), write it as text"
                    ),
                )
            continue
        if kind is None:
            continue
        dots = dots + 1 if kind == "dot" else 0
        if dots >= MAX_KEY_PARTS:
            line = text.count("\n", 0, token.start()) + 1
            raise InvalidRequest(
                field=field,
                problem=(
                    f"has a dotted key of more than {MAX_KEY_PARTS} parts (line {line}), write "
                    "it as tables"
                ),
            )
        values += kind != "end"
        if values > MAX_VALUES:
            raise TooLarge(field=field, problem=f"has more than {MAX_VALUES} keys and values")
