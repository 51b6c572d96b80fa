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
import fcntl
import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from scenarioctl.errors import ScenarioctlError, StoreFailed
from scenarioctl.files import remove_left
from scenarioctl.model.jobs import RenewedLease
from scenarioctl.stores import Inspection, jobs
from scenarioctl.stores.batches import BatchWriter
from scenarioctl.stores.figures import SECONDS, Failures, Histogram, Statistics, Usage
from scenarioctl.stores.operations import CONCLUDE, SQLITE, Operation, Ring, Row, Table
from scenarioctl.stores.sqlite.database_file import (
    DatabaseFile,
    is_busy,
    transaction,
)
from scenarioctl.stores.store import Store

log = logging.getLogger("scenarioctl.store")

T = TypeVar("T")
Action = Callable[[sqlite3.Connection], T]

#: The most writes of a transaction.
_BATCH = 256
#: Seconds for which `trouble` reports a failed write, unless a later one succeeds.
_TROUBLE_SECONDS = 60.0


class FilesChanged(StoreFailed):
    """The files of a store were changed while it was open."""


class OpenFiles:
    """The file of an open store and its log, as they were after the last write."""

    def __init__(self, file: DatabaseFile) -> None:
        # SQLite follows links.
        self._paths = (str(file.path), f"{os.path.realpath(file.path)}-wal")
        self._name = file.name
        #: Why the store is not used any more; empty at first.
        self._changed = ""
        self.remember()

    def remember(self) -> None:
        self._found = [*map(_look, self._paths)]

    def check(self) -> None:
        """Raise FilesChanged, from then on, if another file is in the place of one of them."""
        if not self._changed and [*map(_look, self._paths)] != self._found:
            self._changed = (
                f"store {self._name} takes no more writes, its file or its log was moved, deleted "
                "or replaced while it was open: restart the daemon"
            )
            log.error("%s", self._changed)
        if self._changed:
            raise FilesChanged(self._changed)


def _look(path: str) -> tuple[int, int]:
    """Return what tells the file at *path* from others; zeros if there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - on every request, and three times as fast
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino


class Writer:
    """One connection, used by one thread."""

    def __init__(self, file: DatabaseFile, files: OpenFiles) -> None:
        self._file = file
        self._files = files
        self._database = file.open()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store-writer")
        self._batches: BatchWriter[Action[Any], Any] = BatchWriter(self._write_all, most=_BATCH)
        #: When and why the last write failed; None if it succeeded.
        self._failed: tuple[float, str] | None = None

    async def write(self, action: Action[T]) -> T:
        """Return what *action* returns, once all that it writes, or nothing of it, is on the
        disk."""
        answer: T = await self._batches.store(action)
        return answer

    def trouble(self) -> str:
        """Return why the last write failed; empty if it succeeded, or after a minute: somebody has
        to try again."""
        failed = self._failed
        return failed[1] if failed and time.monotonic() - failed[0] < _TROUBLE_SECONDS else ""

    async def close(self) -> None:
        """Write what was asked for, then end."""
        await self._batches.close()
        await asyncio.to_thread(self._thread.shutdown)
        self._database.close()

    async def _write_all(self, actions: list[Action[Any]]) -> list[Any]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._commit, actions)

    def _commit(self, actions: list[Action[Any]]) -> list[Any]:
        """Perform *actions* in one transaction."""
        try:
            self._files.check()
            with self._file.reporting(), transaction(self._database):
                answers = [action(self._database) for action in actions]
            self._files.remember()
        except StoreFailed as error:
            if isinstance(error, FilesChanged) or isinstance(error.__cause__, sqlite3.Error):
                # Nothing can be written.
                self._failed = (time.monotonic(), str(error))
            raise
        self._failed = None
        return answers


def hold_lock(store: Path) -> int:
    """Return the lock file of a worker of *store*, locked until it is closed or the process
    ends."""
    file = os.open(_worker_file(store), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    # Whoever asks `is_locked` has it for a moment.
    fcntl.flock(file, fcntl.LOCK_SH)
    return file


def is_locked(store: Path) -> bool:
    """Return whether a worker serves *store*, one that is frozen by SIGSTOP included."""
    try:
        file = os.open(_worker_file(store), os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except OSError:
        return True
    finally:
        os.close(file)


def _worker_file(store: Path) -> Path:
    return store.with_name(store.name + "-worker")


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
        self._clock = clock
        self._wall: Callable[[], int] = SteadyClock(wall, clock)
        #: None as long as there is no file.
        self._files: OpenFiles | None = None
        if create or not self._file.is_absent():
            self._open()
        else:
            self._database = self._file.open_empty()
        self._writer: Writer | None = None
        self._seconds = Histogram(SECONDS)
        self._failures = Failures(self._file.name)
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="store-reader")
        self._of_thread = threading.local()
        self._of_threads: list[sqlite3.Connection] = []
        #: Owner -> the lock file that says it is there.
        self._locks: dict[str, int] = {}
        self._closed = False

    def _open(self) -> None:
        """Open the file; it is created if there is none."""
        remove_left(self._file.path.parent)
        database = self._file.open()
        try:
            with self._file.reporting():
                # The event loop waits for nobody.
                database.execute("PRAGMA busy_timeout = 0")
                # From then on there is a log.
                database.execute("SELECT count(*) FROM sqlite_master").fetchone()
            self._files = OpenFiles(self._file)
        except BaseException:
            database.close()
            raise
        self._database = database

    def _open_if_created(self) -> None:
        """Go on with the file, if somebody has created it since it was found absent."""
        if self._files is None and not self._file.is_absent():
            self._replace_empty()

    def _replace_empty(self) -> None:
        empty = self._database
        self._open()
        empty.close()

    async def _read(self, action: Action[T], *, long: bool = False) -> T:
        """Return what *action* reads; *long* is one that may take more than a millisecond."""
        try:
            self._open_if_created()
            if self._files is None:
                return action(self._database)
            self._files.check()
            begun = time.monotonic()
            answer = await self._read_file(action, long=long)
            self._seconds.add(time.monotonic() - begun)
            return answer
        except ScenarioctlError as error:
            self._failures.note(error)
            raise

    async def _read_file(self, action: Action[T], *, long: bool) -> T:
        if not long:
            try:
                return action(self._database)
            except sqlite3.Error as error:
                if not is_busy(error):
                    raise self._file.explain(error) from error
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._read_in_thread, action)

    def _read_in_thread(self, action: Action[T]) -> T:
        """Read on a connection of this thread, which may wait for other processes."""
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
        if self._files is None:
            self._replace_empty()
        if self._writer is None:
            assert self._files is not None  # noqa: S101 - opened above
            self._writer = Writer(self._file, self._files)
        begun = time.monotonic()
        try:
            answer = await self._writer.write(action)
            self._seconds.add(time.monotonic() - begun)
            return answer
        except ScenarioctlError as error:
            self._failures.note(error)
            raise

    async def read(self, operation: Callable[[], Operation[T]], *, long: bool = False) -> T:
        run = _run_in_one_moment if long else _run
        return await self._read(partial(run, operation=operation, clocks=self._clocks), long=long)

    async def write(
        self,
        operation: Callable[[], Operation[T]],
        *,
        alone: bool = False,  # noqa: ARG002
        tell: bool = False,  # noqa: ARG002
    ) -> T:
        rings: list[Ring] = []
        run = partial(_run, operation=operation, clocks=self._clocks, rings=rings)
        answer = await self._write(run)
        for ring in rings:
            self.ring(ring)
        return answer

    def _clocks(self) -> dict[str, int]:
        """Return the values of `{now}` and `{lease_now}`."""
        return {"store_now": self._wall(), "lease_now": self._clock()}

    async def renew_lease(
        self, owner: str, *, lease: int, version: str = "", offset: int | None = None
    ) -> RenewedLease:
        self.announce(owner)
        return await super().renew_lease(owner, lease=lease, version=version, offset=offset)

    def announce(self, owner: str) -> None:
        if owner in self._locks or self._files is None:
            return
        try:
            self._locks[owner] = hold_lock(self._file.path)
        except OSError as error:
            log.warning("job start cannot see this worker: %s", error)

    async def has_worker(self) -> bool:
        # The system lets go of the lock however a worker ends, so that no lease has to run out
        # first.
        return is_locked(self._file.path)

    async def free_legs(
        self, owners: Collection[str], *, legs: Collection[tuple[str, int]] | None = None
    ) -> int:
        if legs is None:
            for owner in owners:
                lock = self._locks.pop(owner, None)
                if lock is not None:
                    os.close(lock)
        return await super().free_legs(owners, legs=legs)

    async def statistics(self) -> Statistics:
        return Statistics(
            scenarios=await self.count_scenarios(),
            jobs=await self.read(jobs.count_by_state),
            waiting=await self.read(jobs.count_waiting),
            next_due=await self.read(jobs.next_due),
            workers=int(await self.has_worker()),
        )

    def usage(self) -> Usage:
        return Usage(seconds=self._seconds, errors=self._failures.count)

    async def inspect(self, clock: Callable[[], int]) -> Inspection:  # noqa: ARG002
        return await self._read(_inspect)

    async def health(self) -> str:
        if self._files is None:
            return ""
        self._files.check()
        return self._writer.trouble() if self._writer is not None else ""

    async def change_token(self) -> str:
        self._open_if_created()
        if self._files is None:
            return "absent"
        return str(await self._read(_data_version))

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
        for lock in self._locks.values():
            os.close(lock)
        if self._writer is not None:
            await self._writer.close()
        if self._of_threads:
            await asyncio.to_thread(self._readers.shutdown)
        for database in (*self._of_threads, self._database):
            database.close()


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


def _inspect(database: sqlite3.Connection) -> Inspection:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    return Inspection(engine=f"SQLite {sqlite3.sqlite_version}", version=int(version))


def _data_version(database: sqlite3.Connection) -> int:
    (version,) = database.execute("PRAGMA data_version").fetchone()
    return int(version)
