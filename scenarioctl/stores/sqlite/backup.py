"""A copy of the file of a store as it is at one moment, while others use it; and the way back."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from scenarioctl.errors import Conflict, InvalidRequest, StoreBusy, StoreFailed, shorten
from scenarioctl.files import keep_access, reason_of, replacing
from scenarioctl.stores.sqlite.database_file import (
    BUSY_SECONDS,
    TRUST_NO_SCHEMA,
    DatabaseFile,
    is_busy,
    primary_code,
)
from scenarioctl.stores.validation import no_tables

#: Errors that the disk of the copy causes.
_OF_TARGET = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
#: What SQLite keeps beside the file of a store.
_BESIDE = ("-wal", "-shm")
#: Seconds to wait for a process that is just ending.
_PATIENCE = 1.0


@dataclass(frozen=True, kw_only=True)
class Restored:
    """What a restore put in place."""

    bytes: int
    #: Where the store is now that was there before; None if there was none.
    kept: Path | None
    #: Ids of the jobs that ran at the time of the backup.
    stopped: tuple[str, ...]


def back_up(source: DatabaseFile, file: Path) -> int:
    """Copy the store *source* to the new *file*, verify the copy, and return its bytes.

    *file* appears complete or not at all.  The tables keep their version.  Conflict if *file*
    exists, InvalidRequest if it can't be written, StoreFailed if the store is damaged.
    """
    # SQLite would apply a log that was left there to the copy.
    for path in (file, *(file.with_name(file.name + end) for end in ("-wal", "-shm", "-journal"))):
        if os.path.lexists(path):
            raise Conflict(
                field="file",
                value=str(path),
                limit=200,
                problem="already exists. Name another file, or remove it",
            )
    with _writing(source, file, "file"), replacing(file, mode=0o600) as (copy, _):
        # Made before SQLite does: only its owner may read it.
        _copy(source, copy)
        return copy.stat().st_size


async def restore(source: DatabaseFile, store: Path, *, now: int) -> Restored:
    """Put a copy of *source*, verified and with its running jobs stopped, in place of the file
    *store*, or change nothing.

    The file that was there stays beside it, with its log, under a name with the time *now*, in
    nanoseconds since 1970. StoreBusy if a process has it open.
    """
    real = Path(os.path.realpath(store))
    with _writing(source, real, "store"), ExitStack() as held:
        real.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with replacing(real, mode=0o600) as (copy, descriptor):
            _copy(source, copy)
            stopped = await _stop_jobs(copy, now)
            size = copy.stat().st_size
            keep_access(real, descriptor)
            # Held until the copy has the name.
            held.enter_context(_alone(real))
            kept = None
            if os.path.lexists(real):
                kept = real.with_name(f"{real.name}.{_name_moment(now)}")
                os.link(real, kept)
            for end in _BESIDE:
                left = Path(f"{real}{end}")
                # SQLite would apply it to the file that comes.
                if kept is not None and left.exists():
                    left.rename(f"{kept}{end}")
                left.unlink(missing_ok=True)
    return Restored(bytes=size, kept=kept, stopped=stopped)


async def _stop_jobs(copy: Path, now: int) -> tuple[str, ...]:
    """Stop the running jobs in the store *copy*: they would draft again what was signed and sent
    since."""
    from scenarioctl.stores import open_store

    try:
        store = open_store(copy)
        try:
            return tuple(await store.stop_running_jobs(now=now))
        finally:
            await store.close()
    finally:
        for end in _BESIDE:
            Path(f"{copy}{end}").unlink(missing_ok=True)


@contextmanager
def _alone(store: Path) -> Iterator[None]:
    """Move the log into the file *store*, and let nobody else use it; StoreBusy if a process has it
    open."""
    if not store.exists():
        yield
        return
    with closing(sqlite3.connect(store, isolation_level=None, timeout=_PATIENCE)) as database:
        try:
            database.execute("PRAGMA locking_mode = EXCLUSIVE")
            database.execute("PRAGMA journal_mode = DELETE")
            database.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            if is_busy(error):
                raise StoreBusy(
                    f"store {shorten(str(store), limit=200)} is in use: stop its daemons and "
                    "other commands, then try again"
                ) from error
            # What is no store, or a damaged one, nobody has open.
            if primary_code(error) not in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
                raise
        yield


def _name_moment(now: int) -> str:
    return f"{datetime.fromtimestamp(now / 1e9, UTC):%Y-%m-%dT%H%M%SZ}"


@contextmanager
def _writing(source: DatabaseFile, target: Path, field: str) -> Iterator[None]:
    """Turn what happens while *source* is copied to *target* into errors for users."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise _unwritable(field, target, reason_of(error)) from error
    except sqlite3.Error as error:
        if primary_code(error) in _OF_TARGET:
            raise _unwritable(field, target, str(error)) from error
        raise source.explain(error) from error


def _copy(source: DatabaseFile, target: Path) -> None:
    with (
        closing(sqlite3.connect(source.path, timeout=BUSY_SECONDS)) as database,
        closing(sqlite3.connect(target, isolation_level=None)) as copy,
    ):
        database.execute(TRUST_NO_SCHEMA)
        if not source.version_of(database):
            raise no_tables(source.name)
        # All pages in one step, which sees one moment; it keeps no writer waiting.
        database.backup(copy)
        # A file that is complete without a log beside it.
        copy.execute("PRAGMA journal_mode = DELETE")
        (found,) = copy.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise StoreFailed(f"store {source.name} is damaged ({found}): restore it from a backup")


def _unwritable(field: str, target: Path, reason: str) -> InvalidRequest:
    return InvalidRequest(
        field=field, value=str(target), limit=200, problem=f"cannot be written: {reason}"
    )
