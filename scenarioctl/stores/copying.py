"""Copying all that a store keeps into another one, with the same numbers.

The rows of each table are copied in the order of their keys, a portion at a time.  What the target has is therefore the
beginning of what the source has: it tells where to go on after an interruption.

Nobody else writes to the source meanwhile (`StoredRows.frozen`), and each row is read once on either side: what the target has
already is compared with the source first, and what was copied is read back at the end.  Equal hashes of both sides therefore
say that the target has what the source had, and nothing else.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

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
from scenarioctl.model.jobs import LEASE_SECONDS, JobState
from scenarioctl.stores import Store, file_path, open_store
from scenarioctl.stores.copied_tables import TABLES, DamagedRow, Row, Table, checked
from scenarioctl.stores.validation import no_tables, older_tables

#: The most rows, and about the most bytes, that are read or added at once.
ROWS = 1000
BYTES = 4 * 1024 * 1024

#: Called with how many rows are done, and how many there are to do.
Progress = Callable[[int, int], None]


class StoredRows(Protocol):
    """The rows of a store, which can be copied as they are."""

    async def find_place(self) -> Row:
        """Return what only this store answers, however its location is spelled; StoreFailed if its tables are too new."""

    def frozen(self) -> AbstractAsyncContextManager[None]:
        """Let nobody else write to the store meanwhile; StoreBusy if somebody does for long."""

    async def count(self, table: Table) -> int:
        """Return how many rows the table has."""

    async def read(self, table: Table, *, after: Row, rows: int, size: int) -> list[Row]:
        """Return rows with keys above *after*, sorted; at most *rows*, and no more once they have *size* bytes.

        There is none at the end of the table.  () is below all keys.
        """

    async def add(self, table: Table, rows: Sequence[Row]) -> None:
        """Add all of *rows* or, if one is refused, none; Conflict then."""

    async def last_numbers(self) -> dict[str, int]:
        """Return the highest number that each numbered table has given to a row, also if the row is gone."""

    async def raise_numbers(self, numbers: Mapping[str, int]) -> None:
        """Let the tables give out only numbers above *numbers*."""


@runtime_checkable
class CopyableStore(Store, Protocol):
    """A store that can be copied into another one."""

    def rows(self) -> StoredRows:
        """Return all its rows."""


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
    store: CopyableStore
    rows: StoredRows


class _Reading:
    """The rows of a table, read and hashed from the first one on."""

    def __init__(self, place: Place, table: Table) -> None:
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
            found = await self._place.rows.read(self._table, after=self._last, rows=limit, size=BYTES)
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
        try:
            return checked(self._table, row)
        except DamagedRow as damaged:
            raise _explain(damaged, self._place, self._table, row) from None


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
            if await first.rows.find_place() == await second.rows.find_place():
                raise InvalidRequest(
                    f"store {second.name} is the same as {first.name}, expected another one to copy into"
                )
            for place in (first, second):
                if await place.store.has_worker():
                    raise Conflict(
                        f"store {place.name} cannot take part in a copy while a worker uses it: stop the daemons of both stores."
                        f" A worker that was killed may count for another {LEASE_SECONDS:g} seconds"
                    )
            copy = cls(first, second)
            await copy._look_at_target()
            yield copy

    async def _look_at_target(self) -> None:
        """Refuse a target with other content before anything is changed, as far as a glance can tell."""
        for table in TABLES:
            here, there = _Reading(self._source, table), _Reading(self._target, table)
            await there.read(up_to=1)
            await here.read(up_to=there.rows)
            if here.digest != there.digest or (
                there.rows and await self._target.rows.count(table) > await self._source.rows.count(table)
            ):
                raise self._other_content(table)

    async def stop_jobs(self, *, stop: bool, now: int) -> list[str]:
        """Stop the source's running jobs and return their ids; Conflict if there are some, unless *stop*."""
        store, stopped = self._source.store, list[str]()
        while (running := await store.list_jobs(limit=1000, state=JobState.RUNNING)).items:
            if not stop:
                raise self._running(running.total)
            stopped += [job.id for job in running.items if await store.stop_job(job.id, now=now)]
        return sorted(stopped)

    async def perform(self, progress: Progress) -> list[CopiedTable]:
        """Copy what the target lacks, then compare all rows.

        What was copied stays if this is canceled or fails, and the next copy goes on there.
        """
        try:
            async with self._source.rows.frozen():
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
        source, target = self._source.rows, self._target.rows
        # Each row is read on both sides.
        done, total = 0, 2 * sum([await source.count(table) for table in TABLES])

        def tell(rows: list[Row]) -> None:
            nonlocal done
            done += len(rows)
            progress(done, total)

        tell([])
        readings = [(table, _Reading(self._source, table), _Reading(self._target, table)) for table in TABLES]
        begun = {}
        for table, here, there in readings:
            await there.read(tell=tell)
            await here.read(up_to=there.rows, tell=tell)
            if here.digest != there.digest:
                raise self._other_content(table)
            begun[table.name] = there.rows
        # First, so that a role without the right to do so is refused before anything is copied.
        await target.raise_numbers(await source.last_numbers())
        for table, here, _ in readings:
            async for rows in here.portions():
                await target.add(table, rows)
                tell(rows)
        copied = []
        for table, here, there in readings:
            await there.read(tell=tell)
            if here.digest != there.digest:
                raise Conflict(
                    f"store {self._target.name} was changed during the copy: its table {table.name} differs from that of"
                    f" {self._source.name}. Stop all daemons, and copy into an empty store"
                )
            copied.append(
                CopiedTable(
                    name=table.name, rows=here.rows, copied=here.rows - begun[table.name], digest=here.digest
                )
            )
        return copied

    def _running(self, count: int) -> Conflict:
        jobs, them = ("1 job is", "it") if count == 1 else (f"{count} jobs are", "them")
        return Conflict(
            f"store {self._source.name} cannot be copied while {jobs} running: stop {them}, or pass --stop-jobs"
        )

    def _other_content(self, table: Table) -> Conflict:
        return Conflict(
            f"store {self._target.name} has other content than {self._source.name}, in its table {table.name}:"
            " name an empty store"
        )


@asynccontextmanager
async def _opened(location: str, *, is_source: bool = False) -> AsyncIterator[Place]:
    name = shorten(without_password(location), limit=200)
    if not is_server(location):
        _check_file(location, name, is_source=is_source)
    store = open_store(location, create=False, role="copy", statement_seconds=0)
    try:
        if not isinstance(store, CopyableStore):
            raise InvalidRequest(f"store {name} cannot be copied")
        yield Place(name=name, store=store, rows=store.rows())
    finally:
        await store.close()


def _check_file(location: str, name: str, *, is_source: bool) -> None:
    """Refuse a file without tables of our version: it would be migrated when it is opened."""
    from scenarioctl.stores.sqlite.database_file import DatabaseFile
    from scenarioctl.stores.sqlite.schema import MIGRATIONS

    file = DatabaseFile(file_path(location))
    version = file.find_version()
    if version is None and is_source:
        raise NotFound(f"store {name} does not exist, expected a store to copy")
    if version is None:
        raise no_tables(file.name)
    if version < len(MIGRATIONS):
        raise older_tables(name, version, len(MIGRATIONS))


class _DamagedStore(StoreFailed):
    """A store has a row that can't be copied."""


def _explain(damaged: DamagedRow, place: Place, table: Table, row: Row) -> _DamagedStore:
    (column,) = damaged.args
    key = ", ".join(str(value) for value in table.key_of(row))
    what = f"store {place.name} has a damaged row: {column} of {shorten(key)} in its table {table.name}"
    if not table.scenario:
        return _DamagedStore(f"{what}. Delete the row, and copy into an empty store")
    id = shorten(dict(zip(table.columns, row, strict=True))[table.scenario])
    return _DamagedStore(f"{what}. Delete the scenario {id}, and copy into an empty store")
