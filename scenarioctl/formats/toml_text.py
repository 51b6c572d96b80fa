"""Flow files written as TOML text, for people to read and to edit."""

import re
from collections.abc import Mapping
from typing import Any

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.diagram import name_of

_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def write_toml(document: Mapping[str, Any]) -> str:
    """Return *document* as TOML: its values, then each of its lists of objects as tables.

    InvalidRequest names a value that TOML doesn't have.
    """
    tables = {key: value for key, value in document.items() if _is_tables(value)}
    parts = [_lines({key: value for key, value in document.items() if key not in tables}, "")]
    parts += [
        f"[[{_key(key)}]]\n{_lines(entry, f'{key}[{number}].')}"
        for key, entries in tables.items()
        for number, entry in enumerate(entries)
    ]
    return "\n".join(filter(None, parts))


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, Mapping) for entry in value)


def _lines(table: Mapping[str, Any], place: str) -> str:
    return "".join(
        f"{_key(key)} = {_value(value, place + key, lines=True)}\n" for key, value in table.items()
    )


def _value(value: Any, place: str, *, lines: bool = False) -> str:
    """Return *value* in one line, or text with line breaks in *lines* of its own."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return _lines_of(value) if lines and "\n" in value else _quoted(value)
    if isinstance(value, list):
        return f"[{', '.join(_value(entry, f'{place}[{number}]') for number, entry in enumerate(value))}]"
    if isinstance(value, Mapping):
        entries = (f"{_key(key)} = {_value(entry, f'{place}.{key}')}" for key, entry in value.items())
        return f"{{ {', '.join(entries)} }}" if value else "{}"
    raise InvalidRequest(f"{place} is {name_of(value)}, which TOML cannot express")


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _quoted(key)


def _quoted(text: str) -> str:
    return f'"{"".join(map(_letter, text))}"'


def _lines_of(text: str) -> str:
    written = "".join(letter if letter in "\n\t" else _letter(letter) for letter in text)
    return f'"""\n{written}"""'


def _letter(letter: str) -> str:
    if letter in _SHORT:
        return _SHORT[letter]
    return letter if letter.isprintable() else f"\\U{ord(letter):08X}"
