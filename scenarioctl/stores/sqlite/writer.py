"""The thread that writes: it commits writes that come together as one transaction, with one fsync."""

import asyncio
import sqlite3
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from scenarioctl.errors import ScenarioctlError, StoreFailed
from scenarioctl.stores.sqlite.database_file import DatabaseFile, FilesChanged, all_or_nothing, is_busy
from scenarioctl.stores.sqlite.file_guard import FileGuard

T = TypeVar("T")
Action = Callable[[sqlite3.Connection], T]

#: Writes in a transaction to which no more are added.
_BATCH = 256
#: Seconds for which `trouble` reports a failed write, unless a later one succeeds.
_TROUBLE_SECONDS = 60.0

#: What an action returned, and what it raised.
_Outcome = tuple[Any, BaseException | None]


@dataclass(frozen=True, slots=True)
class _Request:
    """A write, and the future that its caller awaits."""

    action: Action[Any]
    answer: "asyncio.Future[Any]"


class Writer:
    """One connection, used by one thread."""

    def __init__(self, file: DatabaseFile, guard: FileGuard) -> None:
        self._file = file
        self._guard = guard
        self._database = file.open()
        #: The writes of each turn of the loop. None is the end.
        self._queue: SimpleQueue[list[_Request | None]] = SimpleQueue()
        #: Writes that the thread has not been given yet.
        self._gathered: list[_Request | None] = []
        #: When and why the last write failed; None if it succeeded.
        self._failed: tuple[float, str] | None = None
        self._thread = threading.Thread(target=self._work, name="store-writer", daemon=True)
        self._thread.start()

    async def write(self, action: Action[T]) -> T:
        """Return what *action* returns, once all that it writes, or nothing of it, is on the disk."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        # The thread gets all writes of one turn of the loop together.  Woken by the first one, it would compete for the
        # interpreter with the requests that bring the others, which costs half as much again for each scenario created.
        self._gathered.append(_Request(action, answer))
        loop.call_soon(self._hand_over)
        return await answer

    def _hand_over(self) -> None:
        gathered, self._gathered = self._gathered, []
        if gathered:
            self._queue.put(gathered)

    def trouble(self) -> str:
        """Return why the last write failed; empty if it succeeded, or after a minute: somebody has to try again."""
        failed = self._failed
        return failed[1] if failed and time.monotonic() - failed[0] < _TROUBLE_SECONDS else ""

    def close(self) -> None:
        """Write what was asked for, then end."""
        self._gathered.append(None)
        self._hand_over()
        self._thread.join()
        self._database.close()

    def _work(self) -> None:
        while batch := self._take():
            # A caller that was canceled meanwhile does not get its write.
            wanted = [request for request in batch if request is not None and not request.answer.cancelled()]
            if wanted:
                outcomes = self._perform(wanted)
                self._note(outcomes)
                _answer(wanted, outcomes)
            if batch[-1] is None:
                return

    def _take(self) -> "list[_Request | None]":
        """Wait for writes; return them with those that wait behind them. None is the end."""
        batch = self._queue.get()
        with suppress(Empty):
            while len(batch) < _BATCH and batch[-1] is not None:
                batch += self._queue.get_nowait()
        return batch

    def _perform(self, batch: list[_Request]) -> list[_Outcome]:
        try:
            self._guard.check_for_writing(self._database)
            outcomes = self._commit(batch)
            # If the files were cut off or replaced meanwhile, this write may be lost with them.
            self._guard.check_for_writing(self._database)
            self._guard.empty_log(self._database)
        except FilesChanged as changed:
            return [(None, FilesChanged(str(changed))) for _ in batch]
        return outcomes

    def _commit(self, batch: list[_Request]) -> list[_Outcome]:
        """Perform *batch* in one transaction; if SQLite rolls it back, each write in one of its own."""
        # Hardly ever does a write fail: a savepoint for each would cost a third of the throughput.
        for perform in (self._trust, self._attempt):
            try:
                with all_or_nothing(self._database):
                    # Here, so that nobody can migrate the tables meanwhile.
                    self._file.check_version(self._database)
                    return [perform(request) for request in batch]
            except FilesChanged:
                raise
            except Exception as error:
                # Another process holds the lock: each further try would wait as long as this one.
                locked = isinstance(error, sqlite3.Error) and is_busy(error)
                if locked or len(batch) == 1:
                    return [(None, self._explain(error)) for _ in batch]
        # A disk without room for all of them may have some for most.
        return [outcome for request in batch for outcome in self._commit([request])]

    def _trust(self, request: _Request) -> _Outcome:
        return request.action(self._database), None

    def _attempt(self, request: _Request) -> _Outcome:
        """Perform one write so that, if it fails, the others of its transaction stay."""
        self._database.execute("SAVEPOINT one")
        try:
            answer = request.action(self._database)
        except Exception as error:
            if not self._database.in_transaction:
                # SQLite has rolled all of them back.
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

    def _note(self, outcomes: list[_Outcome]) -> None:
        failed = [error for _, error in outcomes if error is not None and _is_of_the_file(error)]
        if failed:
            self._failed = (time.monotonic(), str(failed[-1]))
        elif any(error is None for _, error in outcomes):
            self._failed = None


def _is_of_the_file(error: BaseException) -> bool:
    """Return whether *error* says that nothing can be written, and not that one row is damaged."""
    return isinstance(error, FilesChanged) or (
        isinstance(error, StoreFailed) and isinstance(error.__cause__, sqlite3.Error)
    )


def _answer(batch: list[_Request], outcomes: list[_Outcome]) -> None:
    """Answer the callers, waking each event loop once."""
    loops = defaultdict(list)
    for request, outcome in zip(batch, outcomes, strict=True):
        loops[request.answer.get_loop()].append((request.answer, outcome))
    for loop, answers in loops.items():
        # A loop that is closed has no callers left.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_resolve, answers)


def _resolve(answers: "list[tuple[asyncio.Future[Any], _Outcome]]") -> None:
    for answer, (value, error) in answers:
        if answer.done():
            continue
        if error is None:
            answer.set_result(value)
        else:
            answer.set_exception(error)
