"""Whether the files of an open store are still those that were opened, and complete.

A process can go on reading and writing a file that was deleted, replaced or truncated.  It would acknowledge writes
that are lost when it ends.
"""

import ctypes
import logging
import os
import sqlite3
import time
from contextlib import closing, suppress

from scenarioctl.stores.sqlite.database_file import BUSY_SECONDS, LOG_BYTES, DatabaseFile
from scenarioctl.stores.sqlite.files_lock import FilesChanged, FilesLock, files_of, identify
from scenarioctl.stores.sqlite.log_end import LogEnd, find_end, find_index

log = logging.getLogger("scenarioctl.store")

#: Size in bytes, and when it was written last, in nanoseconds.
_State = tuple[int, int]
#: How often, and after how many seconds, it is looked for the end of what another process is writing.
_TRIES, _PAUSE = 100, 0.01


class FileGuard:
    """The files of one open store, and the lock that keeps other processes from opening others in their place."""

    def __init__(self, file: DatabaseFile, database: sqlite3.Connection) -> None:
        """Remember the files as they are; *database* is open, so the log and its index exist."""
        self._file = file
        self._paths = files_of(file.path)
        with file.reporting():
            database.execute("SELECT count(*) FROM sqlite_master").fetchone()
            self._lock = FilesLock(file.path)
            self._index = find_index(self._paths[2])
        self._found = [identify(path) for path in self._paths]
        # Opened once: a process without room for another file can still write.
        self._log = os.open(self._paths[1], os.O_RDONLY | os.O_CLOEXEC)
        self._remember(find_end(self._log, self._index))
        #: Why nothing may be written any more, until the files are opened again.
        self._refused = ""

    def check(self) -> None:
        """Raise FilesChanged if the file at the store's path is not the one that was opened."""
        if identify(self._paths[0]) != self._found[0]:
            raise FilesChanged(
                f"store {self._file.name} was moved, deleted or replaced while it was open: put it back, or restart the daemon"
            )

    def is_whole(self) -> bool:
        """Return whether all files are those that were opened, and nobody but SQLite seems to have written to them."""
        return (
            not self._refused and self._are_found() and self._is_file_as_left() and not self._is_log_shorter()
        )

    def check_for_writing(self, database: sqlite3.Connection) -> None:
        """Raise FilesChanged if a write could be lost, or was, that *database* makes or has just made; it is in no transaction."""
        if self._refused:
            raise FilesChanged(self._refused)
        self.check()
        for path, found in zip(self._paths[1:], self._found[1:], strict=True):
            if identify(path) != found:
                self._refuse(
                    f"the file {path!r} was moved, deleted or replaced while it was open{self._save(database)}"
                )
        if self._is_log_shorter() and not _checkpoint(database):
            # SQLite truncates the log too, but only after moving its content into the file.
            self._refuse(f"the file {self._paths[1]!r} was truncated while it was open")
        end = self._find_end()
        if end is None:
            self._refuse(
                f"the file {self._paths[1]!r} or {self._paths[2]!r} was overwritten while it was open"
            )
        if not self._is_file_as_left():
            # Another process may have moved the log into the file, or shortened it with VACUUM.
            if not _is_sound(self._paths[0]):
                self._refuse(
                    "its file was overwritten or truncated while it was open: restore it from a backup"
                )
            # Where the file has another content now, what is in memory does not belong to it.
            database.execute("PRAGMA shrink_memory")
        self._remember(end)

    def empty_log(self, database: sqlite3.Connection) -> None:
        """Move the content of a long log into the file; only here, so that a change of the file is known to be ours."""
        if self._log_left[0] > LOG_BYTES:
            with suppress(sqlite3.Error):
                database.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            self._remember(self._end)

    def let_go(self, database: sqlite3.Connection) -> bool:
        """Return whether *database*, the last connection, may be closed; if not, keep it from being closed.

        Closing moves the log into the file and removes what has its name.  Neither may happen to files of others.
        """
        with suppress(FilesChanged):
            self.check_for_writing(database)
        # If only the file was moved, SQLite finds that out itself, and leaves the log alone.
        os.close(self._log)
        are_ours = [identify(path) for path in self._paths[1:]] == self._found[1:]
        if are_ours and self._lock.is_there() and not self._refused:
            self._lock.close()
            return True
        # The lock stays too, until the process ends: it keeps others out.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(database))
        return False

    def _find_end(self) -> LogEnd | None:
        """Return where the log ends; None if it isn't what it was, or its index says something else."""
        for _ in range(_TRIES):
            end = find_end(self._log, self._index, self._end)
            if end is not None:
                return end
            time.sleep(_PAUSE)
        return None

    def _are_found(self) -> bool:
        return [identify(path) for path in self._paths] == self._found

    def _is_file_as_left(self) -> bool:
        return _look(self._paths[0]) == self._left

    def _is_log_shorter(self) -> bool:
        return _look(self._paths[1])[0] < self._log_left[0]

    def _remember(self, end: LogEnd | None) -> None:
        self._left = _look(self._paths[0])
        self._log_left = _look(self._paths[1])
        self._end = end or LogEnd()

    def _save(self, database: sqlite3.Connection) -> str:
        """Move the log, which this process still has open, into the file; return what is to be said of it."""
        # Without the lock, another process may have written to the file meanwhile.
        if not self._lock.is_there() or not _checkpoint(database):
            return "; what was written last may be lost"
        log_path = self._paths[1]
        if identify(log_path) != self._found[1]:
            # The next process would apply it to the file, which has all of it, or something newer.
            with suppress(OSError):
                os.replace(log_path, f"{log_path}.replaced")  # noqa: PTH105 - the paths are texts
        return ""

    def _refuse(self, reason: str) -> None:
        self._refused = f"store {self._file.name} takes no more writes, {reason}; restart the daemon"
        log.error("%s", self._refused)
        self._lock.keep_out()
        raise FilesChanged(self._refused)


def _look(path: str) -> _State:
    """Return the size of the file at *path*, and when it was written; zeros if there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - on every write, and three times as fast
    except OSError:
        return 0, 0
    return found.st_size, found.st_mtime_ns


def _checkpoint(database: sqlite3.Connection) -> bool:
    """Move the content of the log into the file and restart the log; False if not all of it could be read."""
    try:
        (busy, _, _) = database.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
    except sqlite3.Error:
        return False
    return not busy


def _is_sound(path: str) -> bool:
    """Return whether the file is intact although somebody wrote to it."""
    if not _look(path)[0]:
        # Opening it, SQLite would remove the log.
        return False
    try:
        # Not on the open connection, which may have pages in its cache that the file has lost.
        with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as database:
            return bool(database.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
    except sqlite3.Error:
        return False
