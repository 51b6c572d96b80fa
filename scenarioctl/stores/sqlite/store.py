"""The embedded store: one SQLite file that many processes of one machine may have open.

What it does are the operations of `../store.py`.  This module says on which connection, and in
which transaction.

- Short reads, by key or of a short page, happen on the event loop, on a connection that never
  waits.  A scenario is read in 15 µs; a thread would take 22 µs of CPU and 70 µs of time more, and
  `scenario/info` would miss its goal.
- Long reads, and short ones that another process keeps waiting, happen in threads with connections
  of their own.
- Writes go to one thread, which commits those that come together as one transaction, with one
  fsync.  One writer at a time, here and in other processes, is what makes `seq` of lines and
  drafts, and `id` of events, cursors that miss nothing.
- Leases run by CLOCK_MONOTONIC: all processes of a machine share it, and no change of the wall
  clock moves it.  It begins anew at a reboot: a lease that was granted at a moment ahead of it is
  of an earlier boot, and has run out.
- What is due is judged by the wall clock, which for this process never goes back (`SteadyClock`).
"""

import asyncio
import json
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from scenarioctl.files import remove_left
from scenarioctl.stores import Inspection
from scenarioctl.stores.asking import CONCLUDE, SQLITE, Operation, Ring, Row, Table
from scenarioctl.stores.batches import BatchWriter
from scenarioctl.stores.sqlite.database_file import (
    DatabaseFile,
    is_busy,
    transaction,
)
from scenarioctl.stores.store import Store
from scenarioctl.stores.validation import SCHEMA_VERSION

T = TypeVar("T")
Action = Callable[[sqlite3.Connection], T]

#: The most writes of a transaction.
_BATCH = 256
#: Threads for long reads.
_READERS = 2


class SteadyClock:
    """A wall clock that goes on by the monotonic one while it is behind what it told before: it was
    set back."""

    def __init__(self, wall: Callable[[], int], monotonic: Callable[[], int]) -> None:
        self._wall = wall
        self._monotonic = monotonic
        #: What it told last, and when.
        self._told, self._at = wall(), monotonic()

    def __call__(self) -> int:
        moment, now = self._monotonic(), self._wall()
        if now < self._told:
            now = self._told + moment - self._at
        self._told, self._at = now, moment
        return now


class SqliteStore(Store):
    """A Store in one file.  It may be used on one event loop after another, but on one at a time.

    Without *create*, a file that does not exist is read as an empty store, and created by the first
    write.
    """

    def __init__(
        self,
        path: Path,
        *,
        create: bool = True,
        clock: Callable[[], int] = time.monotonic_ns,
        wall: Callable[[], int] = time.time_ns,
    ) -> None:
        """*clock* and *wall* tell nanoseconds: those by which leases run, and those since 1970."""
        self._file = DatabaseFile(path.absolute())
        super().__init__(self._file.name)
        self._clock = clock
        self._wall: Callable[[], int] = SteadyClock(wall, clock)
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="store-reader")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="store-writer")
        self._batches: BatchWriter[Action[Any], Any] = BatchWriter(self._write_all, most=_BATCH)
        self._of_thread = threading.local()
        self._of_threads: list[sqlite3.Connection] = []
        self._closed = False
        #: That of the event loop; None as long as there is no file.
        self._database: sqlite3.Connection | None = None
        if create:
            self._open()

    def _open(self) -> sqlite3.Connection:
        """Return the connection of the event loop; the file is created if there is none."""
        if self._database is None:
            remove_left(self._file.path.parent)
            self._database = self._file.open()
            # The event loop waits for nobody.
            self._database.execute("PRAGMA busy_timeout = 0")
        return self._database

    async def _read(self, action: Action[T], *, long: bool = False) -> T:
        """Return what *action* reads; *long* is one that may take more than a millisecond."""
        if self._database is None and self._file.is_absent():
            with closing(self._file.open_empty()) as empty:
                return action(empty)
        database = self._open()
        if not long:
            try:
                return action(database)
            except sqlite3.Error as error:
                if not is_busy(error):
                    raise self._file.explain(error) from error
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._in_thread, action)

    def _in_thread(self, action: Action[T]) -> T:
        """Return what *action* returns on a connection of this thread, which may wait for other
        processes."""
        database: sqlite3.Connection | None = getattr(self._of_thread, "database", None)
        if database is None:
            database = self._of_thread.database = self._file.open()
            self._of_threads.append(database)
        with self._file.reporting():
            return action(database)

    async def _write(self, action: Action[T]) -> T:
        """Return what *action* returns, once all that it writes, or nothing of it, is on the
        disk."""
        if self._closed:
            raise RuntimeError("the store is closed")
        self._open()
        answer: T = await self._batches.store(action)
        return answer

    async def _write_all(self, actions: list[Action[Any]]) -> list[Any]:
        loop = asyncio.get_running_loop()
        together = partial(_write_together, actions)
        return await loop.run_in_executor(self._writer, self._in_thread, together)

    async def _ask(self, operation: Callable[[], Operation[T]], *, long: bool) -> T:
        run = _run_in_one_moment if long else _run
        return await self._read(partial(run, operation=operation, clocks=self._clocks), long=long)

    async def _commit(
        self,
        operation: Callable[[], Operation[T]],
        rings: list[Ring],
        *,
        alone: bool,  # noqa: ARG002
    ) -> T:
        return await self._write(
            partial(_run, operation=operation, clocks=self._clocks, rings=rings)
        )

    def _clocks(self) -> dict[str, int]:
        """Return the values of `{now}` and `{lease_now}`."""
        return {"store_now": self._wall(), "lease_now": self._clock()}

    async def _inspect(self, clock: Callable[[], int]) -> Inspection:  # noqa: ARG002
        return Inspection(engine=f"SQLite {sqlite3.sqlite_version}", version=SCHEMA_VERSION)

    @asynccontextmanager
    async def frozen(self, tables: Iterable[str]) -> AsyncIterator[None]:  # noqa: ARG002
        with closing(await asyncio.to_thread(self._file.open)) as database, self._file.reporting():
            await asyncio.to_thread(database.execute, "BEGIN IMMEDIATE")
            yield

    async def close(self) -> None:
        """Let what is under way end, and let go."""
        if self._closed:
            return
        self._closed = True
        await self._batches.close()
        if self._of_threads:
            await asyncio.to_thread(self._writer.shutdown)
            await asyncio.to_thread(self._readers.shutdown)
        for database in (*self._of_threads, self._database):
            if database is not None:
                database.close()


def _write_together(actions: list[Action[Any]], database: sqlite3.Connection) -> list[Any]:
    with transaction(database):
        return [action(database) for action in actions]


def _run(
    database: sqlite3.Connection,
    operation: Callable[[], Operation[T]],
    clocks: Callable[[], dict[str, int]],
    rings: list[Ring] | None = None,
) -> T:
    """Ask *database* what *operation* yields, but put its bells into *rings*; return what it
    returns."""
    running = operation()
    moment = clocks()
    try:
        asked = next(running)
        while True:
            rows: list[Row] = []
            if isinstance(asked, Ring):
                if rings is not None:
                    rings.append(asked)
            elif asked != CONCLUDE:
                statement, values = asked
                rows = database.execute(
                    SQLITE.render(statement), _adapted(values) | moment
                ).fetchall()
            asked = running.send(rows)
    except StopIteration as end:
        answer: T = end.value
        return answer


def _run_in_one_moment(
    database: sqlite3.Connection,
    operation: Callable[[], Operation[T]],
    clocks: Callable[[], dict[str, int]],
) -> T:
    with transaction(database, writes=False):
        return _run(database, operation, clocks)


def _adapted(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return *values* with lists and tables as JSON."""
    return {
        name: json.dumps(value.rows if isinstance(value, Table) else value)
        if isinstance(value, (list, Table))
        else value
        for name, value in values.items()
    }
