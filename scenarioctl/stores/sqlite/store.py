"""The embedded store: one SQLite file that many processes of one machine may have open.

What it does is in the other modules of this folder, as plain functions over a connection: `job_rows.py`.  This module says on which connection, and in which transaction.

- Short reads, by key or of a short page, happen on the event loop, on a connection that never waits.  A scenario is
  read in 15 µs; a thread would take 22 µs of CPU and 70 µs of time more, and `scenario/info` would miss its goal.
- Long reads, and short ones that another process keeps waiting, happen in threads with connections of their own.
- Writes go to one thread (`writer.py`).  One writer at a time, here and in other processes, is what makes `seq` of
  lines and drafts, and `id` of events, cursors that miss nothing.
- Leases run by CLOCK_MONOTONIC: all processes of a machine share it, and no change of the wall clock moves it.  It
  begins anew at a reboot; `job_rows.py` says how an older lease is told.
"""

import asyncio
import json
import logging
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

from scenarioctl.errors import ScenarioctlError, StoreFailed
from scenarioctl.model.jobs import (
    Claim,
    ClaimedJob,
    Job,
    JobChange,
    JobState,
)
from scenarioctl.stores import Inspection, JobPage, runs, scenarios
from scenarioctl.stores.dialects import SQLITE
from scenarioctl.stores.figures import Statistics, Usage, is_failure
from scenarioctl.stores.operations import CONCLUDE, Operation, Row, Table
from scenarioctl.stores.sql_store import SqlStore
from scenarioctl.stores.sqlite import job_rows
from scenarioctl.stores.sqlite.database_file import DatabaseFile, is_busy, one_moment
from scenarioctl.stores.sqlite.file_guard import FileGuard
from scenarioctl.stores.sqlite.schema import MIGRATIONS
from scenarioctl.stores.sqlite.worker_lock import WorkerLock, is_locked
from scenarioctl.stores.sqlite.writer import Action, T, Writer
from scenarioctl.stores.validation import check_id, check_limit
from scenarioctl.stores.waiting_drafts import WaitingDrafts

log = logging.getLogger("scenarioctl.store")

#: A read of more rows than this is a long one.
_SHORT = 200
#: Threads for long reads.
_READERS = 2


class SqliteStore(SqlStore):
    """A Store in one file.  It may be used on one event loop after another, but on one at a time.

    Without *create*, a file that does not exist is read as an empty store, and created by the first write.
    """

    has_damaged_columns = True
    integrity_error = sqlite3.IntegrityError

    def __init__(
        self, path: Path, *, create: bool = True, clock: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._file = DatabaseFile(path.absolute())
        #: Nanoseconds, by which leases run.
        self._clock = clock
        self._guard: FileGuard | None = None
        if create or not self._file.is_absent():
            self._open()
        else:
            self._database = self._file.open_empty()
        self._writer: Writer | None = None
        self._writes = self._errors = 0
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="store-reader")
        self._of_thread = threading.local()
        self._of_threads: list[sqlite3.Connection] = []
        #: Owner -> the lock that says it is there.
        self._locks: dict[str, WorkerLock] = {}
        self._closed = False

    def _open(self) -> None:
        """Open the file; it is created if there is none."""
        database = self._file.open()
        try:
            with self._file.reporting():
                # The event loop waits for nobody.
                database.execute("PRAGMA busy_timeout = 0")
            self._guard = FileGuard(self._file, database)
        except BaseException:
            database.close()
            raise
        self._database = database

    def _open_if_created(self) -> None:
        """Go on with the file, if somebody has created it since it was found absent."""
        if self._guard is None and not self._file.is_absent():
            self._replace_empty()

    def _replace_empty(self) -> None:
        empty = self._database
        self._open()
        empty.close()

    async def _read(self, action: Action[T], *, long: bool = False) -> T:
        """Return what *action* reads; *long* is one that may take more than a millisecond."""
        try:
            self._open_if_created()
            if self._guard is None:
                return action(self._database)
            self._guard.check()
            if not long:
                try:
                    return action(self._database)
                except sqlite3.Error as error:
                    if not is_busy(error):
                        raise self._file.explain(error) from error
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._readers, self._read_in_thread, action)
        except ScenarioctlError as error:
            self._errors += is_failure(error)
            raise

    def _read_in_thread(self, action: Action[T]) -> T:
        """Read on a connection of this thread, which may wait for other processes."""
        database: sqlite3.Connection | None = getattr(self._of_thread, "database", None)
        if database is None:
            database = self._of_thread.database = self._file.open()
            self._of_threads.append(database)
        with self._file.reporting():
            return action(database)

    async def _write(self, action: Action[T]) -> T:
        """Return what *action* returns, once all that it writes, or nothing of it, is on the disk."""
        if self._closed:
            raise RuntimeError("the store is closed")
        if self._guard is None:
            self._replace_empty()
        if self._writer is None:
            assert self._guard is not None  # noqa: S101 - opened above
            self._writer = Writer(self._file, self._guard)
        self._writes += 1
        try:
            return await self._writer.write(action)
        except ScenarioctlError as error:
            self._errors += is_failure(error)
            raise

    async def read(self, operation: Callable[[], Operation[T]], *, long: bool = False) -> T:
        return await self._read(partial(_run_in_one_moment if long else _run, operation=operation), long=long)

    async def write(
        self,
        operation: Callable[[], Operation[T]],
        *,
        alone: bool = False,  # noqa: ARG002
        tell: bool = False,  # noqa: ARG002
    ) -> T:
        return await self._write(partial(_run, operation=operation))

    async def start_job(self, job: Job) -> bool:
        return await self._write(partial(job_rows.start, job=job))

    async def stop_job(self, id: str, *, now: int) -> bool:
        check_id(id)
        return await self._write(partial(job_rows.stop, id=id, now=now))

    async def change_job(self, id: str, change: Callable[[Job], JobChange | None]) -> Job | None:
        check_id(id)

        def add_lines(database: sqlite3.Connection, lines: runs.Lines) -> None:
            _run(database, partial(runs.add_lines, [lines]))

        return await self._write(partial(job_rows.change, id=id, change=change, add_lines=add_lines))

    async def get_job(self, id: str) -> Job | None:
        check_id(id)
        return await self._read(partial(job_rows.get, id=id))

    async def list_jobs(
        self, *, limit: int = 50, after: str = "", state: JobState | None = None, failing: bool = False
    ) -> JobPage:
        check_limit(limit)
        action = partial(job_rows.list_page, limit=limit, after=after, state=state, failing=failing)
        return await self._read(action, long=limit > _SHORT)

    async def count_drafts(self, ids: Sequence[str], *, now: int) -> dict[str, int]:
        action = partial(job_rows.count_drafts, ids=ids, now=now)
        return await self._read(action, long=len(ids) > 1)

    async def waiting_drafts(self, *, now: int, soon: int, limit: int) -> WaitingDrafts:
        return await self._read(partial(job_rows.waiting_drafts, now=now, soon=soon, limit=limit), long=True)

    async def next_due(self) -> int | None:
        return await self._read(job_rows.next_due)

    async def claim_jobs(self, claim: Claim) -> list[ClaimedJob]:
        # A worker asks all the time: where nothing is due, nothing is written.
        if not await self._read(partial(job_rows.may_claim, claim=claim, moment=self._clock())):
            return []
        return await self._write(lambda database: job_rows.claim_due(database, claim, moment=self._clock()))

    async def renew_leases(self, owner: str, *, lease: int) -> set[str]:
        self._announce(owner)
        if not await self._read(partial(job_rows.holds, owner=owner)):
            return set()
        return await self._write(
            lambda database: job_rows.renew(database, owner=owner, moment=self._clock(), lease=lease)
        )

    def _announce(self, owner: str) -> None:
        if owner in self._locks or self._guard is None:
            return
        try:
            self._locks[owner] = WorkerLock(self._file.path)
        except OSError as error:
            log.warning("job start cannot see this worker: %s", error)

    async def has_worker(self) -> bool:
        # The system lets go of the lock however a worker ends, so that no lease has to run out first.
        return is_locked(self._file.path)

    async def lease_owners(self) -> set[str]:
        return await self._read(job_rows.owners)

    async def free_leases(self, owner: str) -> int:
        lock = self._locks.pop(owner, None)
        if lock is not None:
            lock.close()
        if not await self._read(partial(job_rows.holds, owner=owner)):
            return 0
        return await self._write(partial(job_rows.free, owner=owner))

    async def replan(self, *, now: int) -> int:
        return await self._write(partial(job_rows.replan, now=now))

    async def plan_job(self, id: str, *, epoch: int, due: int, planned: int) -> bool:
        return await self._write(
            lambda database: job_rows.plan(database, id, epoch=epoch, due=due, planned=planned)
        )

    async def statistics(self) -> Statistics:
        workers = int(await self.has_worker())
        return await self._read(partial(_read_statistics, workers=workers), long=True)

    def usage(self) -> Usage:
        return Usage(writes=self._writes, errors=self._errors)

    async def inspect(self, clock: Callable[[], int]) -> Inspection:  # noqa: ARG002
        return await self._read(_inspect)

    async def health(self) -> str:
        if self._guard is None:
            return ""
        self._guard.check()
        if not self._guard.is_whole():
            # The writer finds out why, and whether it matters.
            with suppress(StoreFailed):
                await self._write(lambda _: None)
        trouble = self._writer.trouble() if self._writer is not None else ""
        if not trouble:
            await self._read(self._file.check_version)
        return trouble

    async def change_token(self) -> str:
        self._open_if_created()
        if self._guard is None:
            return "absent"
        return str(await self._read(_data_version))

    async def place(self) -> Row:
        with self._file.reporting():
            found = self._file.path.stat()
        return found.st_dev, found.st_ino

    @asynccontextmanager
    async def frozen(self, tables: Iterable[str]) -> AsyncIterator[None]:  # noqa: ARG002
        with closing(await asyncio.to_thread(self._file.lock)):
            yield

    async def close(self) -> None:
        """Let what is under way end, and let go."""
        if self._closed:
            return
        self._closed = True
        for lock in self._locks.values():
            lock.close()
        if self._writer is not None or self._of_threads:
            await asyncio.to_thread(self._end_threads)
        if self._guard is None or self._guard.let_go(self._database):
            self._database.close()

    def _end_threads(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._readers.shutdown()
        for database in self._of_threads:
            database.close()


def _run(database: sqlite3.Connection, operation: Callable[[], Operation[T]]) -> T:
    """Ask *database* what *operation* yields; return what it returns."""
    running = operation()
    try:
        asked = next(running)
        while True:
            rows: list[Row] = []
            if isinstance(asked, tuple) and asked != CONCLUDE:
                statement, values = asked
                rows = database.execute(SQLITE.render(statement), _adapted(values)).fetchall()
            asked = running.send(rows)
    except StopIteration as end:
        answer: T = end.value
        return answer


def _run_in_one_moment(database: sqlite3.Connection, operation: Callable[[], Operation[T]]) -> T:
    with one_moment(database):
        return _run(database, operation)


def _adapted(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return *values* with lists and tables as JSON."""
    return {
        name: json.dumps(value.rows if isinstance(value, Table) else value)
        if isinstance(value, (list, Table))
        else value
        for name, value in values.items()
    }


def _read_statistics(database: sqlite3.Connection, *, workers: int) -> Statistics:
    with one_moment(database):
        return Statistics(
            scenarios=_run(database, partial(scenarios.count, "")),
            jobs=job_rows.count_by_state(database),
            next_due=job_rows.next_due(database),
            workers=workers,
        )


def _inspect(database: sqlite3.Connection) -> Inspection:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    return Inspection(engine=f"SQLite {sqlite3.sqlite_version}", version=int(version), newest=len(MIGRATIONS))


def _data_version(database: sqlite3.Connection) -> int:
    (version,) = database.execute("PRAGMA data_version").fetchone()
    return int(version)
