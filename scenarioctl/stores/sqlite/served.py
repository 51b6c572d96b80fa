"""The embedded store of a daemon: it never blocks the event loop, and writes that come together share one fsync."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, cast

from scenarioctl.errors import ScenarioctlError, StoreFailed
from scenarioctl.stores import StoredScenario
from scenarioctl.stores.sqlite import database_file, scenario_rows
from scenarioctl.stores.sqlite.database_file import StoreFile, all_or_nothing, is_busy
from scenarioctl.stores.sqlite.file_guard import FilesChanged, StorePlace
from scenarioctl.stores.sqlite.store import Action, SqliteStore, T

#: Writes that one transaction takes: those that come meanwhile wait for the next one.
_TOGETHER = 256
#: Brief writes that the loop does at once, each of at most so many bytes: together they take a millisecond or two.
_BRIEF_TOGETHER = 64
_BRIEF_BYTES = 16 * 1024
#: Writes that may be under way; whoever brings another one waits for room.
_UNDER_WAY = 4096
#: Scenarios that are kept in memory, each of at most so many bytes, until somebody writes.
_KEPT = 1000
_KEPT_BYTES = 16 * 1024
#: Pages in the log before they are moved to the file.  Ids lie anywhere in their index, so that each write changes pages
#: that others changed before it: with four times SQLite's 1000, a tenth less is written.
_LOG_PAGES = 4000
#: Threads for what takes long to read.
_READERS = 2
#: Seconds for which a write that failed is told of, unless one succeeds: then somebody may try again.
_TROUBLE = 60.0


class ServedStore(SqliteStore):
    """The same store on an event loop.

    What takes microseconds is read on the loop itself, with a connection of its own that never waits; the rest in
    threads.  Everything is committed by one thread, in transactions that hold all that was asked for meanwhile.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        try:
            with self._file.reporting():
                self._database.execute("PRAGMA busy_timeout = 0")
            self._place = StorePlace(self._file, self._database)
            self._writer = _Writer(self._file, self._place)
            self._writer.after = self._hand_over
        except BaseException:
            self._database.close()
            raise
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="store-reader")
        self._reading = threading.local()
        self._opened: list[sqlite3.Connection] = []
        #: For the writes that may be under way.
        self._room = asyncio.Semaphore(_UNDER_WAY)
        #: How many were asked for since the store was opened.
        self.writes = 0
        #: Writes that the writer has not been told of yet.
        self._gathered: list[_Asked] = []
        #: Scenarios as they were read since somebody last wrote, and what SQLite calls that moment.
        self._kept: dict[str, StoredScenario] = {}
        self._read_at = 0
        self._closed = False

    def _open(self) -> sqlite3.Connection:
        return self._file.open(shared=True)

    async def _read(self, action: Action[T], *, long: bool = False) -> T:
        self._place.check()
        if not long:
            try:
                return action(self._database)
            except sqlite3.Error as error:
                if not is_busy(error):
                    raise self._file.explain(error) from error
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read_patiently, action)

    def _read_patiently(self, action: Action[T]) -> T:
        """Read in a thread, which may wait for other processes."""
        database: sqlite3.Connection | None = getattr(self._reading, "database", None)
        if database is None:
            database = self._reading.database = self._file.open(shared=True)
            self._opened.append(database)
        with self._file.reporting():
            return action(database)

    async def _write(self, action: Action[T], *, brief: bool = False, new: StoredScenario | None = None) -> T:
        async with self._room:
            if self._closed:
                raise RuntimeError("the store is closed")
            loop = asyncio.get_running_loop()
            answer: asyncio.Future[T] = loop.create_future()
            self._gather(_Asked(action, answer, loop, brief=brief, new=new))
            return await answer

    def _gather(self, asked: "_Asked") -> None:
        """Give *asked* to the writer with all that the loop comes upon before it waits.

        One by one, the writer would wake at the first and quarrel over the interpreter with those who bring the rest.
        """
        if self._gathered and self._gathered[0].loop is not asked.loop:
            self._hand_over()
        self.writes += 1
        self._gathered.append(asked)
        if len(self._gathered) == 1:
            asked.loop.call_soon(self._hand_over)

    def _hand_over(self) -> None:
        gathered = self._gathered
        if not gathered or self._writer.committing is gathered[0].loop:
            # Called again once that is done.
            return
        if all(asked.brief for asked in gathered):
            self._gathered = gathered[_BRIEF_TOGETHER:]
            if self._writer.begin(gathered[:_BRIEF_TOGETHER]):
                return
        self._gathered = []
        for asked in gathered:
            self._writer.ask(asked)

    async def get_scenario(self, id: str) -> StoredScenario:
        try:
            (version,) = self._database.execute("PRAGMA data_version").fetchone()
        except sqlite3.Error:
            # What is wrong is said by the read itself.
            return await super().get_scenario(id)
        if version != self._read_at:
            # Somebody has written, which no other connection misses.
            self._kept.clear()
            self._read_at = version
        found = self._kept.get(id)
        if found is None:
            found = await super().get_scenario(id)
            if len(found.blob) <= _KEPT_BYTES and len(self._kept) < _KEPT and self._read_at == version:
                self._kept[id] = found
        return found

    async def put_scenario(self, scenario: StoredScenario, *, replace: bool = False) -> None:
        action = partial(scenario_rows.put, scenario=scenario, replace=replace)
        brief = not replace and len(scenario.blob) <= _BRIEF_BYTES
        await self._write(action, brief=brief, new=scenario if brief and not scenario.webhooks else None)

    async def put_scenarios(self, all: Iterable[StoredScenario], *, replace: bool = False) -> int:
        # Where they come from is not known to bear another thread.
        return await super().put_scenarios(tuple(all), replace=replace)

    async def write_trouble(self) -> str:
        self._place.check()
        if not self._place.is_whole():
            # The writer finds out why, and whether it matters.
            with suppress(StoreFailed):
                await self._write(lambda _: None)
        return self._writer.trouble()

    async def close(self) -> None:
        """Let what is under way end, and let go."""
        if self._closed:
            return
        self._closed = True
        gathered, self._gathered = self._gathered, []
        for asked in gathered:
            self._writer.ask(asked)
        await asyncio.to_thread(self._end)
        self._database.close()

    def _end(self) -> None:
        self._writer.end()
        self._readers.shutdown()
        for database in self._opened:
            database.close()


class _Asked:
    """A write that somebody waits for."""

    __slots__ = ("action", "answer", "brief", "loop", "new")

    def __init__(
        self,
        action: Callable[[sqlite3.Connection], Any],
        answer: "asyncio.Future[Any]",
        loop: asyncio.AbstractEventLoop,
        *,
        brief: bool,
        new: StoredScenario | None,
    ) -> None:
        self.action = action
        self.answer = answer
        self.loop = loop
        #: Takes microseconds: the loop may do it itself.
        self.brief = brief
        #: What a brief one adds, where it does nothing else.
        self.new = new


#: What an action answered, and what it raised.
_Outcome = tuple[Any, BaseException | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Begun:
    """A transaction that has only to be committed."""

    batch: list[_Asked]
    outcomes: list[_Outcome]


class _Writer:
    """The thread that writes.

    Brief writes are done by the loop, if nothing else is to be written, and only committed here: a thread that runs
    many short statements has to ask a busy loop for the interpreter after each.
    """

    def __init__(self, file: StoreFile, place: StorePlace) -> None:
        self._file = file
        self._place = place
        #: Called on the loop whenever what it waited for is written.
        self.after: Callable[[], object] = bool
        self._database = file.open(shared=True)
        with file.reporting():
            self._database.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
        self._patience = int(database_file.BUSY_SECONDS * 1000)
        self._queue: SimpleQueue[_Asked | _Begun | None] = SimpleQueue()
        #: Held by whoever gives the thread work.
        self._giving = threading.Lock()
        #: What the thread was given, and what of it has ended: as long as they differ, the connection is the thread's.
        self._given = 0
        self._ended = 0
        #: When, and why, the file took nothing; None once it has taken something.
        self._failed: tuple[float, str] | None = None
        #: The loop whose brief writes are being committed.
        self.committing: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._work, name="store-writer", daemon=True)
        self._thread.start()

    def ask(self, asked: _Asked) -> None:
        with self._giving:
            self._given += 1
            self._queue.put(asked)

    def begin(self, batch: list[_Asked]) -> bool:
        """Perform *batch* at once, and let the thread commit it; False, and nothing is done, where that cannot be."""
        with self._giving:
            if self._given != self._ended:
                return False
            outcomes = self._try(batch)
            if outcomes is None:
                return False
            self._given += len(batch)
            self.committing = batch[0].loop
            self._queue.put(_Begun(batch=batch, outcomes=outcomes))
            return True

    def _try(self, batch: list[_Asked]) -> list[_Outcome] | None:
        """Perform *batch* in a transaction that stays open; None where one fails, or another process is writing."""
        database = self._database
        try:
            if not self._place.is_whole():
                # The thread finds out why, which may take a while.
                return None
            database.execute("PRAGMA busy_timeout = 0")
            try:
                database.execute("BEGIN IMMEDIATE")
            finally:
                database.execute(f"PRAGMA busy_timeout = {self._patience}")
            # Who has gone meanwhile does not get what nobody waits for.
            wanted = [asked for asked in batch if not asked.answer.cancelled()]
            added = [asked.new for asked in wanted if asked.new is not None]
            if len(added) == len(wanted):
                # Most are scenarios that are created: many rows are as quickly added as few statements.
                scenario_rows.add_all(database, added)
                return [(None, None)] * len(batch)
            done = {asked: asked.action(database) for asked in wanted}
            return [(done.get(asked), None) for asked in batch]
        except BaseException as error:
            if database.in_transaction:
                database.execute("ROLLBACK")
            if not isinstance(error, Exception):
                raise
            # The thread will find out what it is, and has the time.
            return None

    def end(self) -> None:
        """Write what was asked for, then end."""
        self._queue.put(None)
        self._thread.join()
        self._database.close()

    def _work(self) -> None:
        while (work := self._take()) is not None:
            if isinstance(work, _Begun):
                batch, outcomes = work.batch, self._commit(work)
                self._ended += len(batch)
                self.committing = None
            else:
                # Who has gone meanwhile does not get what nobody waits for.
                batch = [asked for asked in work if not asked.answer.cancelled()]
                outcomes = self._perform(batch) if batch else []
                self._ended += len(work)
            self._note(outcomes)
            _answer(batch, outcomes, self.after)

    def _note(self, outcomes: list[_Outcome]) -> None:
        failed = [error for _, error in outcomes if error is not None and _is_of_the_file(error)]
        if failed:
            self._failed = (time.monotonic(), str(failed[-1]))
        elif any(error is None for _, error in outcomes):
            self._failed = None

    def trouble(self) -> str:
        """Return why the newest write failed, if the file takes none; empty after a minute, for somebody has to try."""
        failed = self._failed
        return failed[1] if failed and time.monotonic() - failed[0] < _TROUBLE else ""

    def _commit(self, begun: _Begun) -> list[_Outcome]:
        try:
            self._database.execute("COMMIT")
        except sqlite3.Error:
            # A full disk makes SQLite roll back by itself.
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            return self._perform(begun.batch)
        try:
            self._place.check_for_writing(self._database)
        except FilesChanged as changed:
            return [(None, FilesChanged(str(changed))) for _ in begun.batch]
        return begun.outcomes

    def _take(self) -> list[_Asked] | _Begun | None:
        first = self._queue.get()
        if first is None or isinstance(first, _Begun):
            return first
        batch = [first]
        try:
            while len(batch) < _TOGETHER:
                asked = self._queue.get_nowait()
                if asked is None:
                    self._queue.put(None)
                    break
                # Nothing is begun while others wait here.
                batch.append(cast("_Asked", asked))
        except Empty:
            pass
        return batch

    def _perform(self, batch: list[_Asked]) -> list[_Outcome]:
        try:
            self._place.check_for_writing(self._database)
            outcomes = self._perform_all(batch)
            # What was cut off or taken away meanwhile may have taken this with it.
            self._place.check_for_writing(self._database)
        except FilesChanged as changed:
            return [(None, FilesChanged(str(changed))) for _ in batch]
        return outcomes

    def _perform_all(self, batch: list[_Asked]) -> list[_Outcome]:
        # Hardly ever is anything refused: a savepoint for each would cost a sixth of the throughput.
        ways = (self._trust, self._guard, self._separate)
        for way in ways[:1] if len(batch) == 1 else ways:
            try:
                return way(batch)
            except Exception as error:
                trouble = error
                if isinstance(error, sqlite3.Error) and is_busy(error):
                    # Each further try would wait as long as this one.
                    break
        return [(None, self._explain(trouble)) for _ in batch]

    def _trust(self, batch: list[_Asked]) -> list[_Outcome]:
        """Perform all in one transaction; raises, and nothing is done, where one of them fails."""
        with all_or_nothing(self._database):
            return [(asked.action(self._database), None) for asked in batch]

    def _guard(self, batch: list[_Asked]) -> list[_Outcome]:
        """Perform all that do not fail in one transaction; raises where SQLite takes all of it back."""
        with all_or_nothing(self._database):
            return [self._attempt(asked) for asked in batch]

    def _separate(self, batch: list[_Asked]) -> list[_Outcome]:
        """Perform each in a transaction of its own: a disk without room for all may have some for most."""
        outcomes: list[_Outcome] = []
        for asked in batch:
            try:
                outcomes += self._trust([asked])
            except Exception as error:
                outcomes.append((None, self._explain(error)))
        return outcomes

    def _attempt(self, asked: _Asked) -> _Outcome:
        """Perform one action such that, if it fails, the others of its transaction stay."""
        self._database.execute("SAVEPOINT one")
        try:
            answer = asked.action(self._database)
        except Exception as error:
            if not self._database.in_transaction:
                # SQLite has rolled back all of them.
                raise
            self._database.execute("ROLLBACK TO one")
            self._database.execute("RELEASE one")
            return None, self._explain(error)
        self._database.execute("RELEASE one")
        return answer, None

    def _explain(self, error: Exception) -> Exception:
        if not isinstance(error, sqlite3.Error):
            return error
        try:
            explained: ScenarioctlError = self._file.explain(error)
        except sqlite3.Error:
            return error
        explained.__cause__ = error
        return explained


def _is_of_the_file(error: BaseException) -> bool:
    """Tell whether *error* says that nothing can be written, and not that one row is damaged."""
    return isinstance(error, FilesChanged) or (
        isinstance(error, StoreFailed) and isinstance(error.__cause__, sqlite3.Error)
    )


def _answer(batch: list[_Asked], outcomes: list[_Outcome], after: Callable[[], object]) -> None:
    """Tell those who wait, waking each loop once."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[_Asked, _Outcome]]] = {}
    for asked, outcome in zip(batch, outcomes, strict=True):
        loops.setdefault(asked.loop, []).append((asked, outcome))
    for loop, answers in loops.items():
        try:
            loop.call_soon_threadsafe(_resolve, answers, after)
        except RuntimeError:
            # That loop has ended, and nobody waits on it.
            continue


def _resolve(answers: list[tuple[_Asked, _Outcome]], after: Callable[[], object]) -> None:
    for asked, (answer, error) in answers:
        if asked.answer.done():
            continue
        if error is None:
            asked.answer.set_result(answer)
        else:
            asked.answer.set_exception(error)
    after()
