"""The cursor of a list of scenarios or jobs: the sort key of the last row of a page."""

import base64
import binascii
import json
from collections.abc import Callable
from typing import Any

from scenarioctl.errors import InvalidRequest
from scenarioctl.stores.validation import INTEGER_MAX, check_text

#: The bits of a row's number below the timeline of the server that has given it out.
TIMELINE_BITS = 40

#: A part of a sort key.
Value = str | int

#: Sort -> the types of its key. Rows with the same time or summary follow each other in the order of their numbers.
_KEYS: dict[str, tuple[type, ...]] = {
    "created": (int, int),
    "id": (str,),
    "summary": (str, int),
    # Of jobs.
    "changed": (int, str),
}


def write_cursor(*, id: str, summary: str, created: int, seq: int, sort: str, descending: bool) -> str:
    """Return the cursor behind a row; *seq* is its number in the store."""
    keys: dict[str, list[Value]] = {"created": [created, seq], "id": [id], "summary": [summary, seq]}
    return _write(keys[sort], sort=sort, descending=descending)


def write_job_cursor(*, id: str, changed: int) -> str:
    """Return the cursor behind a job of a list that begins with the newest."""
    return _write([changed, id], sort="changed", descending=True)


def read_job_cursor(cursor: str) -> list[Value]:
    """Return `changed` and the id in *cursor*; InvalidRequest if no list of jobs has written it."""
    return read_cursor(cursor, sort="changed", descending=True)


def _write(values: list[Value], *, sort: str, descending: bool) -> str:
    key = [
        # A damaged row may have anything in its place, and the list has to go on behind it.
        part if type(part) is kind else _write_damaged(part)
        for part, kind in zip(values, _KEYS[sort], strict=True)
    ]
    text = json.dumps([sort, descending, *key], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def read_cursor(cursor: str, *, sort: str, descending: bool, damaged: bool = True) -> list[Value]:
    """Return the sort key that *cursor* holds; InvalidRequest if no list of this order has written it.

    Without *damaged*, the store has no column with a value of another type, or with a NUL character.
    """
    if not cursor:
        return []
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        given, direction, *key = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        sound = given in _KEYS and type(direction) is bool
        for place, (part, kind) in enumerate(zip(key, _KEYS[given], strict=True)):
            if damaged and type(part) is list:
                key[place] = _read_damaged(*part)
                continue
            sound = (
                sound
                and type(part) is kind
                and (damaged or "\0" not in str(part))
                and (not isinstance(part, int) or abs(part) <= INTEGER_MAX)
            )
            check_text(str(part), field="after")
    except (ValueError, TypeError, KeyError, RecursionError, binascii.Error, InvalidRequest):
        sound = False
    if not sound:
        raise InvalidRequest(
            field="after", value=cursor, problem="is not a cursor", expected="the `next` of another page"
        )
    if (given, direction) != (sort, descending):
        order = f"{given} {'descending' if direction else 'ascending'}"
        raise InvalidRequest(
            field="after",
            value=cursor,
            problem=f"belongs to a list sorted by {order}",
            expected="that order again",
        )
    return list(key)


def _write_damaged(value: object) -> list[str]:
    if isinstance(value, bytes):
        return ["blob", value.hex()]
    return ["real", repr(value)] if isinstance(value, float) else ["text", str(value)]


def _read_damaged(kind: str, value: str) -> Any:
    readers: dict[str, Callable[[str], Any]] = {"blob": bytes.fromhex, "real": float, "text": str}
    return readers[kind](check_text(value, field="after"))
