"""Whether the files of an open store are still those that were opened, and complete.

A process can go on reading and writing a file that was deleted, replaced or truncated.  It would acknowledge writes
that are lost when it ends.
"""

import logging
import os
import sqlite3
from contextlib import closing

from scenarioctl.errors import StoreFailed
from scenarioctl.stores.sqlite.database_file import BUSY_SECONDS, DatabaseFile

log = logging.getLogger("scenarioctl.store")

#: Beside the file: the write-ahead log, and its index.
_BESIDE = ("-wal", "-shm")

_Identity = tuple[int, int]


class FilesChanged(StoreFailed):
    """The files of a store were changed while it was open."""


class FileGuard:
    """The files of one open store."""

    def __init__(self, file: DatabaseFile, database: sqlite3.Connection) -> None:
        """Remember the files as they are; *database* is open, so the log and its index exist."""
        self._file = file
        self._path = str(file.path)
        self._paths = (self._path, *(self._path + end for end in _BESIDE))
        with file.reporting():
            database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        looks = [_look(path) for path in self._paths]
        self._found = [found for found, _ in looks]
        self._sizes = [size for _, size in looks]
        self._told = ""

    def check(self) -> None:
        """Raise FilesChanged if the file at the store's path is not the one that was opened."""
        if _look(self._path)[0] != self._found[0]:
            raise FilesChanged(
                f"store {self._file.name} was moved, deleted or replaced while it was open: put it back, or restart the daemon"
            )

    def is_whole(self) -> bool:
        """Return whether all files are those that were opened, and none is shorter than it was."""
        looks = [_look(path) for path in self._paths]
        if [found for found, _ in looks] != self._found:
            return False
        sizes = [size for _, size in looks]
        if sizes[0] < self._sizes[0] or sizes[1] < self._sizes[1]:
            return False
        self._sizes = sizes
        return True

    def check_for_writing(self, database: sqlite3.Connection) -> None:
        """Raise FilesChanged if a write could be lost; *database* is in no transaction."""
        if self.is_whole():
            return
        self.check()
        for path, found in zip(self._paths[1:], self._found[1:], strict=True):
            if _look(path)[0] != found:
                # This process still has the log open: move its content into the file, where it is safe.
                saved = "" if _checkpoint(database) else "; what was written last may be lost"
                self._refuse(f"the file {path!r} was moved, deleted or replaced while it was open{saved}")
        if _look(self._path)[1] < self._sizes[0] and not _is_sound(self._path):
            self._refuse("its file was truncated while it was open: restore it from a backup")
        if _look(self._paths[1])[1] < self._sizes[1] and not _checkpoint(database):
            # SQLite truncates the log too, but only after moving its content into the file.
            self._refuse(f"the file {self._paths[1]!r} was truncated while it was open")
        self._sizes = [_look(path)[1] for path in self._paths]

    def _refuse(self, reason: str) -> None:
        sentence = f"store {self._file.name} takes no more writes, {reason}; restart the daemon"
        if sentence != self._told:
            self._told = sentence
            log.error("%s", sentence)
        raise FilesChanged(sentence)


def _look(path: str) -> tuple[_Identity | None, int]:
    """Return the identity and size of the file at *path*; None and 0 if there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - on every request, and three times as fast
    except OSError:
        return None, 0
    return (found.st_dev, found.st_ino), found.st_size


def _checkpoint(database: sqlite3.Connection) -> bool:
    """Move the content of the log into the file and restart the log; False if not all of it could be read."""
    try:
        (busy, _, _) = database.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
    except sqlite3.Error:
        return False
    return not busy


def _is_sound(path: str) -> bool:
    """Return whether the file is intact although it is shorter, as after VACUUM."""
    try:
        # Not on the open connection, which may have pages in its cache that the file has lost.
        with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as database:
            return bool(database.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
    except sqlite3.Error:
        return False
