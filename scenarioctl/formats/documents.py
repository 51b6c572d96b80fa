"""Read and write JSON within limits and without losing digits, and flow files as TOML."""

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from scenarioctl.errors import BadJson, InvalidRequest, TooLarge, shorten
from scenarioctl.model.diagram import MAX_DEPTH, check_depth, name_of

#: The largest document, in bytes of UTF-8.
MAX_BYTES = 16 * 1024 * 1024
#: The most values in a document: objects, lists and their members.  The largest diagram seen has 400.
MAX_VALUES = 250_000
#: The most escaped characters: the parser is slow on them and holds the GIL.
MAX_ESCAPES = 2_000_000

#: More digits than the largest integer of any chain (a u256) has.
_MAX_DIGITS = 80

_PLAIN = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)
_SORTED = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False, sort_keys=True)
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
#: In a document without escapes: a text, or a character before a value.
_TOKEN = re.compile(r'"[^"]*+(?P<end>"?+)|(?P<value>[,\[{])')
#: Characters that are counted at once; other threads run in between.
_PART = 1024 * 1024


def parse_json(text: str | bytes, *, field: str, limit: int = MAX_BYTES) -> Any:
    """Return the value that *text* holds, numbers exactly as written.

    Refused beside what is not JSON: NaN and infinities, a key given twice, a fraction with more digits
    than a double keeps, lone surrogates, nesting beyond `MAX_DEPTH`, more than *limit* bytes, `MAX_VALUES` values
    or `MAX_ESCAPES` escapes.
    """
    text = decode_text(text, field=field, limit=limit)
    check_values(text, field=field)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise BadJson(
            field=field,
            problem=f"is not JSON: {_lower_first(error.msg)} (line {error.lineno}, column {error.colno})",
        ) from None
    except _Unacceptable as error:
        raise BadJson(field=field, problem=str(error)) from None
    except RecursionError:
        raise InvalidRequest(field=field, problem=f"nests deeper than {MAX_DEPTH} levels") from None
    if isinstance(value, (dict, list)):
        check_depth(value, field=field)
    if _SURROGATE_ESCAPE.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise BadJson(
                field=field, problem="contains half of a surrogate pair", expected="whole characters"
            ) from None
    return value


def canonical_json(document: object) -> bytes:
    """Return *document* as canonical JSON: compact, keys sorted, UTF-8."""
    return _write(document, sort_keys=True)


def write_json(document: object) -> bytes:
    """Return *document* as compact JSON in UTF-8, keys in their own order."""
    return _write(document, sort_keys=False)


def decode_text(text: str | bytes, *, field: str, limit: int = MAX_BYTES) -> str:
    """Return *text* as characters; TooLarge above *limit* bytes, BadJson if it is not UTF-8."""
    if len(text) > limit:
        raise TooLarge(field=field, problem=f"is larger than {limit} bytes")
    try:
        if isinstance(text, bytes):
            text = text.decode()
        elif not text.isascii() and len(text.encode()) > limit:
            raise TooLarge(field=field, problem=f"is larger than {limit} bytes")
    except UnicodeError:
        raise BadJson(field=field, problem="is not UTF-8 text") from None
    # Editors on Windows write a byte order mark, which JSON does not allow.
    return text.removeprefix("\ufeff")


def check_values(text: str, *, field: str) -> None:
    """Raise TooLarge if *text* has too many values or escapes, which cost more to parse than their bytes suggest."""
    if len(text) <= MAX_VALUES:
        return
    parts = [(at, at + _PART) for at in range(0, len(text), _PART)]
    if sum(text.count("\\", *part) for part in parts) > MAX_ESCAPES:
        raise TooLarge(
            field=field,
            problem=f"has more than {MAX_ESCAPES} characters written as escapes, write them as they are",
        )
    # An upper bound first: it also counts characters within texts.
    most = sum(text.count(each, *part) for part in parts for each in ",[{")
    if most >= MAX_VALUES and _holds_more(text):
        raise TooLarge(field=field, problem=f"contains more than {MAX_VALUES} values")


def _holds_more(text: str) -> bool:
    """Return whether the document has more than MAX_VALUES values; meaningless if it is not JSON."""
    at = values = texts = 0
    is_inside = False
    while at < len(text):
        part = text[at : at + _PART]
        if (len(part) - len(part.rstrip("\\"))) % 2:
            # Don't cut an escape in two.
            part = text[at : at + _PART + 1]
        at += len(part)
        if "\\" in part:
            # The remaining quotes start or end a text.
            part = part.replace("\\\\", "").replace('\\"', "")
        start = 0
        if is_inside:
            start = part.find('"') + 1
            if not start:
                continue
            is_inside = False
        for token in _TOKEN.finditer(part, start):
            if token.lastgroup == "value":
                values += 1
            else:
                texts += 1
                is_inside = not token["end"]
            if values >= MAX_VALUES or texts > 2 * MAX_VALUES:
                return True
    return False


class _Unacceptable(Exception):
    """Raised inside the parser, which does not know the field's name."""


def _write(document: object, *, sort_keys: bool) -> bytes:
    try:
        return (_SORTED if sort_keys else _PLAIN).encode(document).encode()
    except UnicodeEncodeError:
        raise InvalidRequest(
            "the document contains half of a surrogate pair, expected whole characters"
        ) from None
    except RecursionError:
        raise InvalidRequest("the document is nested too deeply to be written") from None
    except ValueError:
        raise InvalidRequest("the document contains a number that JSON cannot express") from None


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen = set()
        for key, _ in pairs:
            if key in seen:
                raise _Unacceptable(f"contains the key {shorten(key)} twice in one object")
            seen.add(key)
    return found


def _read_int(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise _Unacceptable(f"contains a number of {len(text)} digits, the limit is {_MAX_DIGITS}")
    return int(text)


def read_float(text: str) -> float:
    """Return a JSON number with a point or an exponent; raises if a double would lose digits."""
    value = float(text)
    # A double keeps 15 digits; beyond that, compare its shortest text.
    if len(text) < 16 and "e" not in text and "E" not in text:
        return value
    if value in (float("inf"), float("-inf")):
        raise _Unacceptable(f"contains {shorten(text)}, which is too large; write it as text")
    if value:
        exact = Decimal(text) == Decimal(repr(value))
    else:
        exact = not text.upper().partition("E")[0].strip("-0.")
    if not exact:
        raise _Unacceptable(
            f"contains {shorten(text)}, which has more digits than a JSON number can hold; write it as text"
        )
    return value


def _refuse_constant(name: str) -> object:
    raise _Unacceptable(f"contains {name}, which is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_read_object,
    parse_int=_read_int,
    parse_float=read_float,
    parse_constant=_refuse_constant,
)


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


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
    raise InvalidRequest(field=place, problem=f"is {name_of(value)}, which TOML cannot express")


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
