"""Where to begin in a log or a mempool: after a cursor, at the newest rows, or at a moment; and how to go on from there."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar

from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.model.request_values import read_number
from scenarioctl.stores.texts import PORTION

_EXPECTED = "expected a moment like 2026-11-22T15:30:00Z, or a duration before now like 2h or 30m, up to 366d"
#: Rows in a portion that is looked through.
_PORTION = 1000
#: Log lines in a portion that is read, each of at most 4 KiB.  So few are read on the event loop.
LINES = 200


class Row(Protocol):
    @property
    def seq(self) -> int: ...


R = TypeVar("R", bound=Row)


def read_number_of(value: object, *, field: str) -> int:
    """Return `after`, `limit` or `tail`; 0 if it is left out."""
    return read_number(value or 0, field=field, expected="a number, expected 0 or more")


def read_since(value: object, *, now: int) -> int:
    """Return the moment that `since` names: one of the calendar, in UTC if it names no zone, or a time before *now*."""
    text = str(value).strip()
    try:
        if "-" not in text:
            from scenarioctl.schedules import read_duration

            return now - read_duration(text, field="since")
        moment = datetime.fromisoformat(text)
    except (InvalidRequest, ValueError):
        raise InvalidRequest(f"since {shorten(value)} cannot be read, {_EXPECTED}") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1) * 1000


async def before_moment(
    read: Callable[..., Awaitable[Sequence[R]]],
    moment_of: Callable[[R], int],
    since: int,
    *,
    after: int,
) -> int:
    """Return the cursor before the first row at *since* or later; that of the last row if there is none."""
    while rows := await read(after=after, limit=_PORTION):
        for row in rows:
            if moment_of(row) >= since:
                return after
            after = row.seq
    return after


async def read_portions(
    read: Callable[..., Awaitable[Sequence[R]]],
    *,
    after: int,
    most: int,
    limit: int = 0,
    is_wanted: Callable[[R], bool] = lambda _: True,
    size_of: Callable[[R], int] = lambda _: 0,
) -> AsyncIterator[Sequence[R]]:
    """Yield the rows behind *after*, up to the first that *is_wanted* not, *most* at a time; *limit* of them, 0 for all.

    With *size_of*, the store gives fewer rows at a time if they have a portion's size.
    """
    left = limit
    while rows := await read(after=after, limit=(asked := min(most, left) if limit else most)):
        wanted = [row for row in rows if is_wanted(row)]
        if wanted:
            yield wanted
        left -= len(rows)
        is_end = len(rows) < asked and sum(map(size_of, rows)) < PORTION
        if is_end or len(wanted) < len(rows) or (limit and not left):
            return
        after = rows[-1].seq
