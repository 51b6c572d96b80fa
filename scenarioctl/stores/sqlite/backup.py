"""A copy of the file of a store as it is at one moment, while others use it; and the way back."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from scenarioctl.errors import Conflict, InvalidRequest, StoreFailed
from scenarioctl.files import reason_of, replacing
from scenarioctl.stores.sqlite.database_file import (
    BUSY_SECONDS,
    TRUST_NO_SCHEMA,
    DatabaseFile,
    primary_code,
)
from scenarioctl.stores.validation import no_tables

#: Errors that the disk of the copy causes.
_OF_TARGET = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)


@dataclass(frozen=True, kw_only=True)
class Restored:
    """What a restore put in place."""

    bytes: int
    #: Ids of the jobs that ran at the time of the backup.
    stopped: tuple[str, ...]


def back_up(source: DatabaseFile, file: Path) -> int:
    """Copy the store *source* to the new *file*, verify the copy, and return its bytes.

    *file* appears complete or not at all.  The tables keep their version.  Conflict if *file*
    exists, InvalidRequest if it can't be written, StoreFailed if the store is damaged.
    """
    with _new_file(source, file, "file") as copy:
        return copy.stat().st_size


async def restore(source: DatabaseFile, store: Path, *, now: int) -> Restored:
    """Copy *source* to the new file *store* as `back_up` does, with its running jobs stopped: they
    would draft again what was signed and sent since."""
    from scenarioctl.stores import open_store

    with _new_file(source, store, "store") as copy:
        opened = open_store(copy)
        try:
            stopped = await opened.stop_running_jobs(now=now)
        finally:
            await opened.close()
        return Restored(bytes=copy.stat().st_size, stopped=tuple(stopped))


@contextmanager
def _new_file(source: DatabaseFile, file: Path, field: str) -> Iterator[Path]:
    """Give a copy of *source*, verified, that gets the name *file* at the end; what happens
    meanwhile is an error for users."""
    # SQLite would apply a log that was left there to the copy.
    for path in (file, *(file.with_name(file.name + end) for end in ("-wal", "-shm", "-journal"))):
        if os.path.lexists(path):
            raise Conflict(
                field=field,
                value=str(path),
                limit=200,
                problem="already exists. Name another file, or move it away",
            )
    try:
        # Made before SQLite does: only its owner may read it.
        with replacing(file, mode=0o600) as (copy, _):
            _copy(source, copy)
            yield copy
    except (OSError, ValueError) as error:
        raise _unwritable(field, file, reason_of(error)) from error
    except sqlite3.Error as error:
        if primary_code(error) in _OF_TARGET:
            raise _unwritable(field, file, str(error)) from error
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
