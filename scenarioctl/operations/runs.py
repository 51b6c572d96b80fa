"""One run of a scenario: its timeout, its end, how long it is kept, and which rows are read."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol, TypeVar

from scenarioctl.application import Application
from scenarioctl.config import Settings
from scenarioctl.errors import InvalidRequest, ScenarioctlError, TimedOut
from scenarioctl.model.amounts import read_number
from scenarioctl.model.jobs import EXECUTED, RUN_FAILED, SECOND, LogLine, MempoolEntry, Retention
from scenarioctl.operations.job_runs import NumberedRow, span_of_run
from scenarioctl.stores.rows import PORTION

if TYPE_CHECKING:
    from scenarioctl.actions.running import Run
    from scenarioctl.actions.step_kind import Wait


#: Seconds between two looks for an event.
_PAUSE = 0.5
_DAY = 24 * 60 * 60 * SECOND


async def carry_out(run: "Run", *, timeout: int, waited: float = 0.0) -> "Wait | None":
    """Take one leg of *run*, which has *waited* so many seconds; return what it waits for then,
    None at its end.

    TimedOut if all of it takes longer than *timeout* nanoseconds.  With a *timeout* of 0, the
    setting `run_seconds` applies.  It does not count waits and delays, since the scenario says how
    long those take.
    """
    import asyncio

    from scenarioctl.schedules import write_duration

    seconds = timeout / SECOND or run.app.settings.run_seconds or float("inf")
    if timeout:
        run.spent += waited
    clock = asyncio.get_running_loop().time
    began = clock()
    left = seconds - run.spent
    try:
        async with asyncio.timeout(left if left < float("inf") else None) as limit:
            # With nothing left, no step may begin.
            await asyncio.sleep(0)
            wait = await run.go(waited=waited)
    except TimeoutError:
        if not limit.expired():
            raise
        sentence = (
            f"the run took longer than its timeout of {write_duration(timeout)}"
            if timeout
            else (
                f"the run took longer than {seconds:g} s (run_seconds). Give the job a longer "
                "timeout if it needs one."
            )
        )
        raise TimedOut(sentence) from None
    finally:
        run.spent += clock() - began
    if wait is None or not timeout:
        return wait
    return replace(wait, seconds=min(wait.seconds, max(0.0, seconds - run.spent)))


async def wait_for(app: Application, wait: "Wait", *, job: str) -> float:
    """Wait in this process, for an event that *job* has not used or as long as it may take; return
    how many seconds."""
    passed = 0.0
    token = ""
    while passed < wait.seconds:
        if wait.webhook and token != (token := await app.store.change_token()):
            event = await app.store.newest_event(wait.webhook, job=job)
            if event is not None:
                return passed
        pause = min(wait.seconds - passed, _PAUSE) if wait.webhook else wait.seconds
        await app.sleep(pause)
        passed += pause
    return wait.seconds


def closing_lines(run: "Run | None", failure: str) -> list[str]:
    """Return the last lines of a run's log, and give up what it didn't come to; *failure* is empty
    if the run succeeded."""
    if not failure:
        return [EXECUTED]
    if run is None:
        return [f"{RUN_FAILED}: {failure}", EXECUTED]
    return [*run.give_up(failure), run.failure_line(failure), EXECUTED]


def failure_of(run: "Run") -> ScenarioctlError:
    """Return the error of the last step that failed."""
    error = getattr(run, "error", None)
    # A copy, because the details belong to this run: other users of a connection may share the
    # original.
    return (
        type(error)(run.failure)
        if isinstance(error, ScenarioctlError)
        else InvalidRequest(run.failure)
    )


def retention_of(settings: Settings) -> Retention:
    """Return how much of the logs, drafts and events the settings keep."""
    return Retention(
        log_lines=settings.log_lines,
        log_age=settings.log_days * _DAY,
        mempool_entries=settings.mempool_entries,
        mempool_age=settings.mempool_days * _DAY,
        webhook_events=settings.webhook_events,
        webhook_age=settings.webhook_days * _DAY,
    )


_EXPECTED = (
    "a moment like 2026-11-22T15:30:00Z, or a duration before now like 2h or 30m, up to 366d"
)
#: Rows in a portion that is looked through.
_PORTION = 1000
#: Log lines in a portion that is read, each of at most 4 KiB.  So few are read on the event loop.
LINES = 200


class RowsRequest(Protocol):
    """The fields of a request that say which lines or drafts it wants."""

    @property
    def id(self) -> str: ...
    @property
    def after(self) -> str | int: ...
    @property
    def limit(self) -> str | int: ...
    @property
    def tail(self) -> str | int: ...
    @property
    def since(self) -> str: ...
    @property
    def run(self) -> str | int: ...


R = TypeVar("R", bound=NumberedRow)
L = TypeVar("L", LogLine, MempoolEntry)


def read_number_of(value: object, *, field: str) -> int:
    """Return `after` or `tail`; 0 if it is left out."""
    return read_number(value or 0, field=field, kind="a number", expected="0 or more")


def read_since(value: object, *, now: int, field: str = "since") -> int:
    """Return the moment that *field* names: one of the calendar, in UTC if it names no zone, or a
    time before *now*."""
    text = str(value).strip()
    try:
        if "-" not in text:
            from scenarioctl.schedules import read_duration

            return now - read_duration(text, field=field)
        moment = datetime.fromisoformat(text)
    except (InvalidRequest, ValueError):
        raise InvalidRequest(
            field=field, value=value, problem="cannot be read", expected=_EXPECTED
        ) from None
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
    """Return the cursor before the first row at *since* or later; that of the last row if there is
    none."""
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
    """Yield the rows behind *after*, up to the first that *is_wanted* not, *most* at a time;
    *limit* of them, 0 for all.

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


def moment_of(row: LogLine | MempoolEntry) -> int:
    return row.written if isinstance(row, LogLine) else row.draft.date


def size_of(row: LogLine | MempoolEntry) -> int:
    return len(row.text if isinstance(row, LogLine) else row.draft.tx)


async def read_cursor(
    app: Application,
    request: RowsRequest,
    read: Callable[..., Awaitable[Sequence[L]]],
    *,
    of_log: bool,
) -> tuple[int, int, Callable[[L], bool]]:
    """Return the cursor to read from, `limit`, 0 for all, and whether a row belongs to the run that
    the request is for."""
    start = read_number_of(request.after, field="after")
    limit = 0
    if request.limit != "":
        limit = read_number(
            request.limit, field="limit", kind="a number of rows", expected="1 or more", least=1
        )
    tail = read_number_of(request.tail, field="tail")
    moments, last = [], None
    if request.since != "":
        moments.append(read_since(request.since, now=app.clock()))
    if request.run != "":
        span = await span_of_run(app, request.id, request.run, with_before=of_log)
        moments.append(span.first)
        last = span.last

    def is_of_run(row: L) -> bool:
        return last is None or moment_of(row) <= last

    if moments:
        start = await before_moment(read, moment_of, max(moments), after=start)
    if request.tail != "" and last is None:
        line, entry = await app.store.find_tail(request.id, lines=tail, entries=tail)
        start = max(start, line if of_log else entry)
    elif request.tail != "":
        found = [start]
        portions = read_portions(
            read, after=start, most=LINES, is_wanted=is_of_run, size_of=size_of
        )
        async for rows in portions:
            found += [row.seq for row in rows]
        start = found[max(0, len(found) - 1 - tail)]
    return start, limit, is_of_run
