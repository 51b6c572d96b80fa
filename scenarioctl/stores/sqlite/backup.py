"""A copy of the file of a store as it is at one moment, while others use it."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from scenarioctl.errors import Conflict, InvalidRequest, StoreFailed
from scenarioctl.files import reason_of, replacing
from scenarioctl.stores.sqlite.database_file import BUSY_SECONDS, DatabaseFile, check_neighbors, primary_code
from scenarioctl.stores.validation import no_tables

#: Errors that the disk of the copy causes.
_OF_TARGET = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)


def back_up(source: DatabaseFile, target: Path) -> int:
    """Copy the store *source* to the new file *target*, verify the copy, and return its bytes.

    *target* appears complete or not at all.  The tables keep their version.  Conflict if *target* exists, InvalidRequest
    if it can't be written, StoreFailed if the store is damaged.
    """
    # SQLite would apply a log that was left there to the copy.
    for path in (target, *(target.with_name(target.name + end) for end in ("-wal", "-shm", "-journal"))):
        if os.path.lexists(path):
            raise Conflict(
                field="file",
                value=str(path),
                limit=200,
                problem="already exists. Name another file, or remove it",
            )
    if not source.find_version():
        raise no_tables(source.name)
    try:
        # Made before SQLite does: only its owner may read it.
        with replacing(target, mode=0o600) as (copy, _):
            _copy(source, copy)
            size = copy.stat().st_size
    except (OSError, ValueError) as error:
        raise _unwritable(target, reason_of(error)) from error
    except sqlite3.Error as error:
        if primary_code(error) in _OF_TARGET:
            raise _unwritable(target, str(error)) from error
        raise source.explain(error) from error
    return size


def _copy(source: DatabaseFile, target: Path) -> None:
    check_neighbors(source.path)
    with (
        closing(sqlite3.connect(source.path, timeout=BUSY_SECONDS)) as database,
        closing(sqlite3.connect(target, isolation_level=None)) as copy,
    ):
        # All pages in one step, which sees one moment; it keeps no writer waiting.
        database.backup(copy)
        # A file that is complete without a log beside it.
        copy.execute("PRAGMA journal_mode = DELETE")
        (found,) = copy.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise StoreFailed(f"store {source.name} is damaged ({found}): restore it from a backup")


def _unwritable(target: Path, reason: str) -> InvalidRequest:
    return InvalidRequest(field="file", value=str(target), limit=200, problem=f"cannot be written: {reason}")
