"""Files that users name: read within a limit, and replaced whole or not at all.  Files of facts
beside the modules that use them.

Those are JSON objects, in which a key and its value may have a line of their own.
"""

import errno
import fcntl
import os
import select
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

#: Seconds to wait for the first byte of a pipe.
_PIPE_SECONDS = 60.0


def reason_of(error: OSError | ValueError) -> str:
    """Return why a file can't be read or written."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return "a path cannot contain a NUL character"


def read_file(path: Path, *, limit: int) -> bytes:
    """Return what is in the file *path*, or its first *limit* + 1 bytes; OSError says why it can't
    be read.

    A pipe, as shells make it of `<(…)`, must have something within a minute.
    """
    # Opened otherwise, a pipe that nobody writes to is waited for without end.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            if not select.select([file], (), (), _PIPE_SECONDS)[0]:
                raise OSError(
                    errno.ETIMEDOUT,
                    f"nothing was written to this pipe for {_PIPE_SECONDS:g} seconds",
                )
            os.set_blocking(descriptor, True)
        return file.read(limit + 1)


def atomic_write(path: Path, data: bytes, *, mode: int, is_secret: bool = False) -> None:
    """Replace the file *path*, or leave it as it is if anything fails, even the power; OSError says
    what.

    A file that is there keeps its permissions and, if this process may set it, its owner; a new one
    gets *mode*, less the umask.  If *is_secret* and everybody could read the file, only its owner
    can read it from now on.
    """
    is_closed = is_secret and is_open(path)
    with replacing(path, mode=mode) as (_, descriptor), os.fdopen(os.dup(descriptor), "wb") as file:
        keep_access(path, descriptor)
        if is_closed:
            os.fchmod(descriptor, 0o600)
        file.write(data)


@contextmanager
def replacing(path: Path, *, mode: int) -> Iterator[tuple[Path, int]]:
    """Give a new file with *mode*, open for writing, that replaces *path* at the end; if anything
    fails, it is removed.

    It has its content on the disk before it gets the name.
    """
    remove_left(path.parent)
    temporary = path.with_name(f".scenarioctl-{os.urandom(6).hex()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with suppress(OSError):
        # Until it is closed, `remove_left` leaves it alone.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        try:
            yield temporary, descriptor
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def remove_left(folder: Path) -> None:
    """Remove the new files of `replacing` in *folder* that processes left which were killed."""
    for left in filter(Path.is_file, folder.glob(".scenarioctl-*.tmp")):
        with suppress(OSError), left.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for each in folder.glob(f"{left.name}*"):
                each.unlink()


def is_open(path: Path) -> bool:
    """Return whether users who are neither the owner of the file nor in its group can read or write
    it."""
    try:
        return bool(path.stat().st_mode & 0o006)
    except OSError:
        return False


def keep_access(path: Path, descriptor: int) -> None:
    """Give the open file the permissions and the owner of *path*, as far as that exists and this
    process may."""
    try:
        before = path.stat()
        os.fchmod(descriptor, before.st_mode & 0o7777)
        os.fchown(descriptor, before.st_uid, before.st_gid)
    except OSError:
        # There is none yet, or it is somebody else's.
        pass


@cache
def read_text(file: Path) -> str:
    """Return a file as it was when it was first read: a program that was upgraded meanwhile may not
    know the new one."""
    return file.read_text(encoding="utf-8")


def read_document(file: Path) -> Any:
    """Return all that a file says."""
    from json import loads

    return loads(read_text(file))


def read_line(file: Path, key: str) -> Any:
    """Return what a file says of *key*, parsing its line only; None if it says nothing of it."""
    from json import loads

    text = read_text(file)
    start = text.find(f'\n"{key}":')
    if start < 0:
        return None
    end = text.index("\n", start + 1)
    return loads(text[start + len(key) + 4 : end].rstrip(","))
