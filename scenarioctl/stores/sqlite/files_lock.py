"""Which files the processes have open that use a store: each holds a shared lock on a file that names them.

SQLite finds the log and its index by their names.  If one of them is removed or replaced while a process has it open,
the next process gets another one, both write, and what one of them wrote is lost.  So nobody opens a store while a
process has other files of it.
"""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

from scenarioctl.errors import StoreFailed, shorten

#: Seconds to wait for a process that is just ending.
_PATIENCE = 1.0
Identity = tuple[int, int] | None


class FilesChanged(StoreFailed):
    """The files of a store were changed while it was open."""


class FilesLock:
    """The lock of a process that has the files at *store* open, held until it is closed or the process ends."""

    def __init__(self, store: Path) -> None:
        """Lock the files as they are, which SQLite has open; raise FilesChanged, or OSError if there can be no lock."""
        self._path = _beside(store)
        self._file = _join(store, create=True)
        self._identity = identify(self._file)

    def is_there(self) -> bool:
        """Return whether other processes can see the lock."""
        return identify(self._path) == self._identity

    def keep_out(self) -> None:
        """Let nobody open the files until this process ends."""
        os.ftruncate(self._file, 0)

    def close(self) -> None:
        """Let other processes have other files; the last one removes the file."""
        with suppress(OSError):
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self.is_there():
                self._path.unlink()
        os.close(self._file)


def check_neighbors(store: Path) -> None:
    """Raise FilesChanged if a process has files of *store* open that are not at their paths any more."""
    with suppress(FileNotFoundError):
        os.close(_join(store, create=False))


def files_of(store: Path) -> tuple[str, str, str]:
    """Return the paths of the file, its log, and the index of the log."""
    # SQLite follows links.
    real = os.path.realpath(store)
    return str(store), f"{real}-wal", f"{real}-shm"


def _join(store: Path, *, create: bool) -> int:
    """Return the lock file, locked, once it names the files at the paths of *store*; FileNotFoundError without *create*."""
    path = _beside(store)
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        file = _open(path, store) if create else os.open(path, os.O_RDWR | os.O_CLOEXEC)
        names = _name_files(store)
        # The last process may have removed it meanwhile.
        if _lock(file, names, write=create) and identify(path) == identify(file):
            return file
        os.close(file)
        time.sleep(0.002)
    raise FilesChanged(
        f"store {shorten(str(store), limit=200)} is in use, and its files were moved, deleted, replaced or damaged since it was"
        " opened: restart the daemon, then try again"
    )


def _name_files(store: Path) -> bytes:
    # An empty file is no store; opening it, SQLite would remove the log.
    is_empty = store.exists() and not store.stat().st_size
    return repr([is_empty, *map(identify, files_of(store))]).encode()


def _lock(file: int, names: bytes, *, write: bool) -> bool:
    """Share the lock with those who have the files *names*; False if somebody has others, or is about to tell which."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return os.pread(file, 200, 0) == names
    if write:
        # Nobody has files open.
        os.ftruncate(file, 0)
        os.pwrite(file, names, 0)
        fcntl.flock(file, fcntl.LOCK_SH)
    return True


def _open(path: Path, store: Path) -> int:
    """Open or create the lock file, for all who may open the store."""
    owner = store.stat()
    while True:
        with suppress(FileExistsError):
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            break
        with suppress(FileNotFoundError):
            return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    # As SQLite does with the log: root may have come first.
    with suppress(PermissionError):
        os.fchmod(file, owner.st_mode & 0o666)
        os.fchown(file, owner.st_uid, owner.st_gid)
    return file


def identify(path: str | Path | int) -> Identity:
    """Return what tells a file from one that replaces it; None if there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - on every request, and three times as fast
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _beside(store: Path) -> Path:
    # Not -lock: who removes the log and its index by scenarios.db-* must not remove this.
    return Path(f"{os.path.realpath(store)}.lock")


class WorkerLock:
    """The lock of a worker that serves the store at *store*, held until it is closed, or the system releases it as it ends."""

    def __init__(self, store: Path) -> None:
        """Raise OSError if no file can be created beside the store."""
        self._file = os.open(_worker_file(store), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return
            except OSError:
                if time.monotonic() > deadline:
                    os.close(self._file)
                    raise
                time.sleep(0.002)

    def close(self) -> None:
        os.close(self._file)


def is_locked(store: Path) -> bool:
    """Return whether a worker serves the store at *store*, one that is frozen by SIGSTOP included."""
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
