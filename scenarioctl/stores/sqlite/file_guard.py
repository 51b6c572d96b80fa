"""Whether the files of an open store are still those that were opened, and complete.

A process can go on reading and writing a file that was deleted, replaced or truncated.  It would
acknowledge writes that are lost when it ends.

What was in the log once has to stay, until SQLite begins it anew, and the index has to name the
page of each frame: SQLite reads and writes by the index alone, so by one of another moment it
builds on what isn't there any more.

Formats: https://sqlite.org/fileformat2.html#the_write_ahead_log and
https://sqlite.org/walformat.html.  SQLite holds no lock on the log, so that opening and closing it
here harms none.  Closing the index would end the locks that SQLite has on it.
"""

import ctypes
import logging
import os
import sqlite3
import struct
import sys
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field

from scenarioctl.stores.sqlite.database_file import (
    BUSY_SECONDS,
    LOG_BYTES,
    DatabaseFile,
    FilesChanged,
    FilesLock,
    files_of,
    identify,
)

_HEADER = 32
_FRAME = 24
#: In the header of a frame that is not the last of its transaction.
_NO_COMMIT = bytes(4)

#: File descriptors among which that of SQLite is looked for: it was opened a moment ago, so it is
#: one of the lowest.
_DESCRIPTORS = 2**16
#: A log whose first salt is so many less is an older one.
_SALTS, _OLDER = 2**32, 2**16

#: The index begins with its header twice, and what readers and checkpoints know of each other.
_INDEX_HEADER, _INDEX_START = 48, 136
#: So long is each part of the index, which has the pages of so many frames; the first has fewer,
#: beside the header.
_INDEX_PART, _FRAMES = 32768, 4096
_FIRST_FRAMES = _FRAMES - _INDEX_START // 4


@dataclass(frozen=True)
class LogEnd:
    """The end of a log."""

    #: The header of the log; empty if nothing is in it.
    header: bytes = b""
    #: How many frames there are, and the header of the last one, which has a checksum of all
    #: before.
    frames: int = 0
    frame: bytes = b""
    #: The page of each frame, as the index has it.
    pages: bytes = field(default=b"", repr=False)

    @property
    def salt(self) -> int:
        """The first salt, which SQLite counts up whenever it begins the log anew, or draws by
        lot."""
        return int.from_bytes(self.header[16:20], "big")


def find_index(path: str) -> int:
    """Return the file descriptor by which SQLite has the index at *path* open in this process; -1,
    which reads nothing, without one.

    By a hard link to a file that this process has open, SQLite uses the index beside the first
    name.
    """
    try:
        index = os.stat(path)  # noqa: PTH116 - the paths are texts
    except OSError:
        return -1
    for file in range(_DESCRIPTORS):
        try:
            found = os.fstat(file)
        except OSError:
            continue
        if (found.st_dev, found.st_ino) == (index.st_dev, index.st_ino):
            return file
    return -1


def find_end(log: int, index: int, known: LogEnd = LogEnd()) -> LogEnd | None:
    """Return where the log in the open files ends, which ended at *known* before.

    None if what was in it then is not there any more, or if the index says something else: so for a
    moment, while another process writes.  Without *known*, the log must not go on by several
    transactions behind what the index tells of.
    """
    try:
        return _read_end(log, index, known)
    except OSError:
        return None


def _read_end(log: int, index: int, known: LogEnd) -> LogEnd | None:
    twice = os.pread(index, 2 * _INDEX_HEADER, 0)
    told, again = twice[:_INDEX_HEADER], twice[_INDEX_HEADER:]
    if len(told) < _INDEX_HEADER or told != again:
        return None
    (frames,) = struct.unpack_from("=I", told, 16)
    salts = told[32:40]
    header = os.pread(log, _HEADER, 0)
    is_first = not known.header
    if not frames and _is_begun_anew(header, salts, known):
        return LogEnd()
    if header[16:24] != salts:
        return None
    if header != known.header:
        begun = LogEnd(header)
        if known.header and (known.salt - begun.salt) % _SALTS < _OLDER:
            return None
        known = begun
    step = _FRAME + int.from_bytes(header[8:12], "big")
    if known.frames > frames or (
        known.frame and _read_frame(log, known.frames, step) != known.frame
    ):
        return None
    frame, pages = known.frame, [known.pages]
    for number in range(known.frames + 1, frames + 1):
        frame = _read_frame(log, number, step)
        if frame[8:16] != salts:
            return None
        pages.append(int.from_bytes(frame[:4], "big").to_bytes(4, sys.byteorder))
    if is_first and _count_behind(log, frames, frame, header) > 1:
        return None
    end = LogEnd(header, frames, frame, b"".join(pages))
    return end if _is_commit(frame) and _read_pages(index, frames) == end.pages else None


def _is_begun_anew(header: bytes, salts: bytes, known: LogEnd) -> bool:
    """Return whether the next write begins the log, or begins it anew when its content is all in
    the file."""
    header = header or known.header
    if not header or not any(salts):
        return not known.frames
    # The header of the log follows with the first frame.
    return int.from_bytes(salts[:4], "big") == (LogEnd(header).salt + 1) % _SALTS


def _count_behind(log: int, frames: int, frame: bytes, header: bytes) -> int:
    """Return how many transactions follow the first *frames* frames, of which *frame* is the last;
    the index doesn't tell of them (yet).

    One may be that of a process which was killed between the log and the index: nobody was told
    that it is stored, and SQLite writes over it.  What an earlier one has left further behind
    doesn't belong to the log, by its checksum.
    """
    step = _FRAME + int.from_bytes(header[8:12], "big")
    order = ">" if header[3] & 1 else "<"
    checksum = frame[16:24] or header[24:32]
    found = 0
    while True:
        following = os.pread(log, step, _HEADER + frames * step)
        checksum = _add_up(checksum, following[:8] + following[_FRAME:], order)
        if len(following) < step or following[8:24] != header[16:24] + checksum:
            return found
        found += _is_commit(following[:_FRAME])
        frames += 1


def _add_up(checksum: bytes, content: bytes, order: str) -> bytes:
    """Return the checksum of all before, *checksum*, and *content*."""
    first, second = struct.unpack(">2I", checksum)
    content = content[: len(content) // 8 * 8]
    words = struct.unpack(f"{order}{len(content) // 4}I", content)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return struct.pack(">2I", first, second)


def _is_commit(frame: bytes) -> bool:
    """Return whether *frame* ends a transaction, or there is none."""
    return frame[4:8] != _NO_COMMIT


def _read_frame(log: int, number: int, step: int) -> bytes:
    """Return the header of the frame with that *number*, counted from 1."""
    return os.pread(log, _FRAME, _HEADER + (number - 1) * step)


def _read_pages(index: int, frames: int) -> bytes:
    """Return the pages of the first *frames* frames as the index has them."""
    first = min(frames, _FIRST_FRAMES)
    pages = [os.pread(index, first * 4, _INDEX_START)]
    for part, done in enumerate(range(first, frames, _FRAMES), 1):
        pages.append(os.pread(index, min(frames - done, _FRAMES) * 4, part * _INDEX_PART))
    return b"".join(pages)


log = logging.getLogger("scenarioctl.store")

#: Size in bytes, and when it was written last, in nanoseconds.
_State = tuple[int, int]
#: How often, and after how many seconds, it is tried again what another process's writing forbids.
_TRIES, _PAUSE = 100, 0.01


class FileGuard:
    """The files of one open store, and the lock that keeps other processes from opening others in
    their place."""

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
                f"store {self._file.name} was moved, deleted or replaced while it was "
                "open: put it back, or restart the daemon"
            )

    def is_whole(self) -> bool:
        """Return whether all files are those that were opened, and nobody but SQLite seems to have
        written to them."""
        return (
            not self._refused
            and self._are_found()
            and self._is_file_as_left()
            and not self._is_log_shorter()
        )

    def check_for_writing(self, database: sqlite3.Connection) -> None:
        """Raise FilesChanged if a write could be lost, or was, that *database* makes or has just
        made; it is in no transaction."""
        if self._refused:
            raise FilesChanged(self._refused)
        self.check()
        for path, found in zip(self._paths[1:], self._found[1:], strict=True):
            if identify(path) != found:
                self._refuse(
                    f"the file {path!r} was moved, deleted or replaced while it was "
                    f"open{self._save(database)}"
                )
        if self._is_log_shorter() and not _checkpoint(database):
            # SQLite truncates the log too, but only after moving its content into the file.
            self._refuse(f"the file {self._paths[1]!r} was truncated while it was open")
        end = self._find_end()
        if end is None:
            self._refuse(
                f"the file {self._paths[1]!r} or {self._paths[2]!r} was overwritten while "
                "it was open"
            )
        if not self._is_file_as_left():
            # Another process may have moved the log into the file, or shortened it with VACUUM.
            if not _is_sound(self._paths[0]):
                self._refuse(
                    "its file was overwritten or truncated while it was open: restore it "
                    "from a backup"
                )
            # Where the file has another content now, what is in memory does not belong to it.
            database.execute("PRAGMA shrink_memory")
        self._remember(end)

    def empty_log(self, database: sqlite3.Connection) -> None:
        """Move the content of a long log into the file; only here, so that a change of the file is
        known to be ours."""
        if self._log_left[0] > LOG_BYTES:
            with suppress(sqlite3.Error):
                database.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            self._remember(self._end)

    def let_go(self, database: sqlite3.Connection) -> bool:
        """Return whether *database*, the last connection, may be closed; if not, keep it from being
        closed.

        Closing moves the log into the file and removes what has its name.  Neither may happen to
        files of others.
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
        """Return where the log ends; None if it isn't what it was, or its index says something
        else."""
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
        """Move the log, which this process still has open, into the file; return what is to be said
        of it."""
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
        # All files may have been moved together a moment ago, and then they may be put back.
        self.check()
        self._refused = (
            f"store {self._file.name} takes no more writes, {reason}; restart the daemon"
        )
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
    """Move the content of the log into the file and restart the log; False if not all of it could
    be read."""
    for _ in range(_TRIES):
        try:
            (busy, _, _) = database.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
        except sqlite3.Error:
            return False
        if not busy:
            return True
        # Somebody else moves the log at this moment, for which SQLite doesn't wait.
        time.sleep(_PAUSE)
    return False


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
