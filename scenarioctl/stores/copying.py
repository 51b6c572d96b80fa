"""Copying all that a store keeps into another one, with the same numbers.

The rows of each table are copied in the order of their keys, a portion at a time.  What the target
has is therefore the beginning of what the source has: it tells where to go on after an
interruption.

Nobody else writes to the source meanwhile (`Store.frozen`), and each row is read once on either
side: what the target has already is compared with the source first, and what was copied is read
back at the end.  Equal hashes of both sides therefore say that the target has what the source had,
and nothing else.

To copy one more table, add it to `TABLES`.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from scenarioctl.config import is_server, without_password
from scenarioctl.errors import (
    Conflict,
    InvalidRequest,
    NotFound,
    StoreBusy,
    StoreFailed,
    StoreUnavailable,
    shorten,
)
from scenarioctl.model.jobs import LEASE_SECONDS, JobState, stopping
from scenarioctl.stores import file_path, open_store, statements
from scenarioctl.stores.operations import Operation, Row
from scenarioctl.stores.rows import read_texts
from scenarioctl.stores.store import Store
from scenarioctl.stores.validation import no_tables

#: The most rows, and about the most bytes, that are read or added at once.
ROWS = 1000
BYTES = 4 * 1024 * 1024
#: Rows that one statement adds.
_ADDED = 50

#: Called with how many rows are done, and how many there are to do.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class TableColumns:
    """What is copied of a table."""

    name: str
    #: The kinds of its columns, by name: one of `_KINDS`, with `?` if there may be no value, a
    #: `list` of texts, or `json`.
    columns: Mapping[str, str]
    key: tuple[str, ...]
    #: The column that names the scenario of a row; empty if there is none.
    scenario: str
    #: What other columns get in the target.
    fixed: Mapping[str, Any]

    @property
    def is_numbered(self) -> bool:
        """Return whether the store gives each row a number."""
        return len(self.key) == 1 and self.columns[self.key[0]] == "int"

    def key_of(self, row: Row) -> Row:
        named = dict(zip(self.columns, row, strict=True))
        return tuple(named[name] for name in self.key)


_KINDS: Mapping[str, type] = {"int": int, "text": str, "bytes": bytes}


def _table(
    name: str, columns: str, *, key: str = "seq", scenario: str = "job", **fixed: Any
) -> TableColumns:
    groups = [group.split() for group in columns.split(";")]
    kinds = {column: kind for kind, *some in groups for column in some}
    return TableColumns(
        name=name, columns=kinds, key=tuple(key.split()), scenario=scenario, fixed=fixed
    )


#: Each after those that it refers to.
TABLES = (
    _table(
        "scenarios",
        (
            "int seq created updated size; text id summary name; list chains webhooks tags; "
            "bytes? digest; bytes blob"
        ),
        scenario="id",
    ),
    _table(
        "jobs",
        "text id state reason notify step webhook saved; int epoch changed runs failures waiting;"
        " int? due planned last_started last_finished; json schedule",
        key="id",
        scenario="id",
        # Nobody runs it there.
        owner="",
        begun=0,
        attempts=0,
        leg=0,
        rung=0,
    ),
    _table(
        "runs",
        (
            "int seq planned started finished lines drafts; int? epoch occurrence; text job "
            "failure steps"
        ),
    ),
    _table("log_lines", "int seq written; text job text"),
    _table(
        "mempool",
        (
            "int seq date; int? spec_version expires occurrence; text job chain amount tx_type "
            "node flag tx human uuid beside"
        ),
    ),
    _table("tallies", "text job; int lines entries runs", key="job"),
    _table("webhook_events", "int id received; text uuid content", key="id", scenario=""),
    _table("webhook_marks", "text job uuid; int event", key="job uuid"),
    _table(
        "notifications",
        "int seq created due attempts; text id job event url drafts reason error",
    ),
    _table(
        "sent_transactions",
        "text chain hash signer job scenario node state block effects says name; int sent "
        "at_block searched revision;"
        " int? nonce valid_until draft block_number",
        key="chain hash",
        scenario="",
    ),
    _table(
        "addresses",
        "text name account address layers; int watched created",
        key="name",
        scenario="",
    ),
    _table("forks", "text counter; int first last", key="counter first", scenario=""),
)


@dataclass(frozen=True, kw_only=True)
class CopiedTable:
    """What became of a table."""

    name: str
    #: How many it has, and how many of them were copied now.
    rows: int
    copied: int
    #: Hash of all rows, the same in source and target.
    digest: str


@dataclass(frozen=True, kw_only=True)
class Place:
    """A store, and how it is called."""

    name: str
    store: Store

    async def count(self, table: TableColumns) -> int:
        """Return how many rows the table has."""
        return await self.store.read(partial(_count, table), long=True)


class _Reading:
    """The rows of a table, read and hashed from the first one on."""

    def __init__(self, place: Place, table: TableColumns) -> None:
        self._place = place
        self._table = table
        #: How many were read.
        self.rows = 0
        self._last: Row = ()
        self._hash = hashlib.blake2b(digest_size=16)

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    async def portions(self, *, up_to: int | None = None) -> AsyncIterator[list[Row]]:
        """Yield the rows that were not read yet, until *up_to* of them were."""
        while up_to is None or self.rows < up_to:
            limit = ROWS if up_to is None else min(ROWS, up_to - self.rows)
            reading = partial(_read_portion, self._table, after=self._last, rows=limit)
            found = await self._place.store.read(reading, long=True)
            if not found:
                return
            rows = [self._checked(row) for row in found]
            for row in rows:
                self._hash.update(repr(row).encode())
            self.rows += len(rows)
            self._last = self._table.key_of(rows[-1])
            yield rows

    async def read(
        self, *, up_to: int | None = None, tell: Callable[[list[Row]], None] | None = None
    ) -> None:
        """Read them, and call *tell* with each portion."""
        async for rows in self.portions(up_to=up_to):
            if tell is not None:
                tell(rows)

    def _checked(self, row: Row) -> Row:
        """Return *row* with values that are the same in every store."""
        values = []
        for (name, kind), value in zip(self._table.columns.items(), row, strict=True):
            try:
                values.append(_same(kind, value))
            except (ValueError, TypeError, RecursionError):
                raise _damaged(self._place, self._table, row, name) from None
        return tuple(values)


async def stop_running_jobs(store: Store, *, now: int) -> list[str]:
    """Stop the running jobs of *store* and return their ids, sorted."""
    stopped = list[str]()
    while running := (await store.list_jobs(limit=1000, state=JobState.RUNNING)).items:
        for job in running:
            await store.change_job(job.id, partial(stopping, now=now))
            stopped.append(job.id)
    return sorted(stopped)


class StoreCopy:
    """The copy of one store into another one."""

    def __init__(self, source: Place, target: Place) -> None:
        self._source = source
        self._target = target

    @classmethod
    @asynccontextmanager
    async def open(cls, source: str, target: str) -> AsyncIterator["StoreCopy"]:
        """Open the stores at two locations, and look whether one can be copied into the other."""
        async with _opened(source, is_source=True) as first, _opened(target) as second:
            if await first.store.place() == await second.store.place():
                raise InvalidRequest(
                    f"store {second.name} is the same as {first.name}, expected another "
                    "one to copy into"
                )
            for place in (first, second):
                if await place.store.has_worker():
                    raise Conflict(
                        f"store {place.name} cannot take part in a copy while a worker "
                        "uses it: stop the daemons of both stores."
                        f" A worker that was killed may count for another {LEASE_SECONDS:g} seconds"
                    )
            copy = cls(first, second)
            await copy._look_at_target()
            yield copy

    async def _look_at_target(self) -> None:
        """Refuse a target with other content before anything is changed, as far as a glance can
        tell."""
        for table in TABLES:
            here, there = _Reading(self._source, table), _Reading(self._target, table)
            await there.read(up_to=1)
            await here.read(up_to=there.rows)
            if here.digest != there.digest or (
                there.rows and await self._target.count(table) > await self._source.count(table)
            ):
                raise self._other_content(table)

    async def stop_jobs(self, *, stop: bool, now: int) -> list[str]:
        """Stop the source's running jobs and return their ids; Conflict if there are some, unless
        *stop*."""
        running = await self._source.store.list_jobs(limit=1, state=JobState.RUNNING)
        if running.total and not stop:
            raise self._running(running.total)
        return await stop_running_jobs(self._source.store, now=now)

    async def perform(self, progress: Progress) -> list[CopiedTable]:
        """Copy what the target lacks, then compare all rows.

        What was copied stays if this is canceled or fails, and the next copy goes on there.
        """
        try:
            async with self._source.store.frozen(table.name for table in TABLES):
                running = await self._source.store.list_jobs(limit=1, state=JobState.RUNNING)
                if running.total:
                    # Started since: it would run in both stores.
                    raise self._running(running.total)
                return await self._perform(progress)
        except (asyncio.CancelledError, StoreBusy, StoreFailed, StoreUnavailable) as stop:
            if not isinstance(stop, _DamagedStore):
                stop.add_note("the copy is not complete; run the same command again to continue it")
            raise

    async def _perform(self, progress: Progress) -> list[CopiedTable]:
        # Each row is read on both sides.
        done, total = 0, 2 * sum([await self._source.count(table) for table in TABLES])

        def tell(rows: list[Row]) -> None:
            nonlocal done
            done += len(rows)
            progress(done, total)

        tell([])
        readings = [
            (table, _Reading(self._source, table), _Reading(self._target, table))
            for table in TABLES
        ]
        begun = {}
        for table, here, there in readings:
            await there.read(tell=tell)
            await here.read(up_to=there.rows, tell=tell)
            if here.digest != there.digest:
                raise self._other_content(table)
            begun[table.name] = there.rows
        # First, so that a role without the right to do so is refused before anything is copied.
        numbers = await self._source.store.read(_last_numbers, long=True)
        await self._target.store.write(partial(_raise_numbers, numbers))
        for table, here, _ in readings:
            async for rows in here.portions():
                await self._add(table, rows)
                tell(rows)
        copied = []
        for table, here, there in readings:
            await there.read(tell=tell)
            if here.digest != there.digest:
                raise Conflict(
                    f"store {self._target.name} was changed during the copy: its table "
                    f"{table.name} differs from that of"
                    f" {self._source.name}. Stop all daemons, and copy into an empty store"
                )
            copied.append(
                CopiedTable(
                    name=table.name,
                    rows=here.rows,
                    copied=here.rows - begun[table.name],
                    digest=here.digest,
                )
            )
        return copied

    async def _add(self, table: TableColumns, rows: list[Row]) -> None:
        store = self._target.store
        try:
            await store.write(partial(_add, table, rows), tell=True)
        except store.integrity_error as error:
            reason = str(error).partition("\n")[0]
            raise Conflict(
                f"the copy's table {table.name} refuses a row ({reason}): stop all other "
                "users of the stores during the copy"
            ) from error

    def _running(self, count: int) -> Conflict:
        jobs, them = ("1 job is", "it") if count == 1 else (f"{count} jobs are", "them")
        return Conflict(
            f"store {self._source.name} cannot be copied while {jobs} running: stop "
            f"{them}, or pass --stop-jobs"
        )

    def _other_content(self, table: TableColumns) -> Conflict:
        return Conflict(
            f"store {self._target.name} has other content than {self._source.name}, in its "
            f"table {table.name}:"
            " name an empty store"
        )


@asynccontextmanager
async def _opened(location: str, *, is_source: bool = False) -> AsyncIterator[Place]:
    name = shorten(without_password(location), limit=200)
    if not is_server(location):
        _check_file(location, name, is_source=is_source)
    store = open_store(location, create=False, role="copy", statement_seconds=0)
    try:
        assert isinstance(store, Store)  # noqa: S101 - every store is one
        yield Place(name=name, store=store)
    finally:
        await store.close()


def _check_file(location: str, name: str, *, is_source: bool) -> None:
    """Refuse a file without tables: opening it would create them."""
    from scenarioctl.stores.sqlite.database_file import DatabaseFile

    file = DatabaseFile(file_path(location))
    version = file.find_version()
    if version is None and is_source:
        raise NotFound(f"store {name} does not exist, expected a store to copy")
    if version is None:
        raise no_tables(file.name)


class _DamagedStore(StoreFailed):
    """A store has a row that can't be copied."""


def _damaged(place: Place, table: TableColumns, row: Row, column: str) -> _DamagedStore:
    key = ", ".join(str(value) for value in table.key_of(row))
    what = (
        f"store {place.name} has a damaged row: {column} of {shorten(key)} in its table "
        f"{table.name}"
    )
    if not table.scenario:
        return _DamagedStore(f"{what}. Delete the row, and copy into an empty store")
    id = shorten(dict(zip(table.columns, row, strict=True))[table.scenario])
    return _DamagedStore(f"{what}. Delete the scenario {id}, and copy into an empty store")


def _same(kind: str, value: Any) -> Any:
    """Return what *value* is in every store; ValueError, TypeError or RecursionError if not every
    one can keep it."""
    if kind == "list":
        return tuple(sorted(read_texts(value)))
    if kind == "json":
        return json.dumps(json.loads(value), sort_keys=True)
    if value is None and kind.endswith("?"):
        return None
    if not isinstance(value, _KINDS[kind.rstrip("?")]) or (
        isinstance(value, str) and "\0" in value
    ):
        raise ValueError
    return value


def _count(table: TableColumns) -> Operation[int]:
    ((rows,),) = yield statements.count_table(table.name), {}
    return int(rows)


def _read_portion(table: TableColumns, *, after: Row, rows: int) -> Operation[list[Row]]:
    """Return rows with keys above *after*, sorted; at most *rows*, and no more once they have
    BYTES.

    There is none at the end of the table.  () is below all keys.
    """
    values = {
        "rows": rows,
        "size": BYTES,
        **{f"after_{place}": part for place, part in enumerate(after)},
    }
    columns = {
        name: f"CAST({name} AS text)" if kind == "json" else name
        for name, kind in table.columns.items()
    }
    long = tuple(
        columns[name] for name, kind in table.columns.items() if kind in ("text", "bytes", "json")
    )
    measuring = statements.measure_rows(table.name, table.key, long, after=bool(after))
    reading = statements.read_rows(
        table.name, table.key, tuple(columns.values()), after=bool(after)
    )
    ((count,),) = yield measuring, values
    return (yield reading, {**values, "rows": count})


def _add(table: TableColumns, rows: Sequence[Row]) -> Operation[None]:
    columns = (*table.columns, *table.fixed)
    for first in range(0, len(rows), _ADDED):
        some = rows[first : first + _ADDED]
        values = {
            f"{name}_{place}": list(value) if isinstance(value, tuple) else value
            for place, row in enumerate(some)
            for name, value in zip(columns, (*row, *table.fixed.values()), strict=True)
        }
        yield statements.insert(table.name, columns, len(some), numbered=True), values


def _last_numbers() -> Operation[dict[str, int]]:
    """Return the highest number that each numbered table has given to a row, also if the row is
    gone."""
    numbers = {}
    for table in TABLES:
        if table.is_numbered:
            ((given, there),) = yield statements.last_number(table.name, table.key[0]), {}
            numbers[table.name] = max(given or 0, there or 0)
    return numbers


def _raise_numbers(numbers: Mapping[str, int]) -> Operation[None]:
    """Let the tables give out only numbers above *numbers*."""
    own = yield from _last_numbers()
    for table in TABLES:
        if table.is_numbered and numbers[table.name] > own[table.name]:
            for statement in statements.raise_number(table.name, table.key[0]):
                yield statement, {"last": numbers[table.name]}
