"""Whether a worker serves a store: each holds a shared lock on a file beside it, which the system releases when it ends."""

import fcntl
import os
import time
from pathlib import Path

#: Seconds for which a new worker tries again: `is_locked` takes the lock for an instant.
_PATIENCE = 1.0


class WorkerLock:
    """The lock of a worker that serves the store at *store*, held until it is closed."""

    def __init__(self, store: Path) -> None:
        """Raise OSError if no file can be created beside the store."""
        self._file = os.open(_beside(store), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
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
        file = os.open(_beside(store), os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except OSError:
        return True
    finally:
        os.close(file)


def _beside(store: Path) -> Path:
    return store.with_name(store.name + "-worker")
