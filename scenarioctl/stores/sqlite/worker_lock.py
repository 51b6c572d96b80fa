"""Whether a worker serves a store: each holds a lock beside it, which the system lets go of however the worker ends."""

import fcntl
import os
import time
from pathlib import Path

#: A look takes the lock for an instant, in which a worker that comes has to try again.
_PATIENCE = 1.0


class WorkerLock:
    """A worker's sign that it serves the store at *store*, until it is closed."""

    def __init__(self, store: Path) -> None:
        """Raise OSError where the folder of the store takes no file."""
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
    """Tell whether a worker is there for the store at *store*, one that is stopped by SIGSTOP too."""
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
