"""New stores are copies of one that was migrated once: most tests make one, and few are about
how."""

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from uuid import uuid4

from scenarioctl.stores.sqlite import database_file
from scenarioctl.stores.sqlite.database_file import DatabaseFile

_create, _migrate = DatabaseFile._create, DatabaseFile._migrate
#: The migrations -> the file of an empty store after them; nothing if they fail.
_EMPTY: dict[object, bytes] = {}


def copy_new_stores() -> None:
    """Have this process copy an empty store where it would migrate a new one."""
    for name, replaced in {"_create": _create_copy, "_migrate": _copy_and_migrate}.items():
        setattr(DatabaseFile, name, replaced)


def _empty() -> bytes:
    # A test with other migrations has another tuple of them.
    migrations = vars(database_file)["MIGRATIONS"]
    if migrations not in _EMPTY:
        with tempfile.TemporaryDirectory() as folder:
            file = DatabaseFile(Path(folder) / "s.db")
            try:
                _create(file)
                with closing(sqlite3.connect(file.path, isolation_level=None)) as database:
                    file._prepare(database)
                _EMPTY[migrations] = file.path.read_bytes()
            except Exception:
                _EMPTY[migrations] = b""
    return _EMPTY[migrations]


def _create_copy(file: DatabaseFile) -> None:
    if not (file.is_absent() and _empty()):
        _create(file)
        return
    # Made aside, for another process may open the file as soon as it is there.
    aside = file.path.with_name(uuid4().hex)
    _create(DatabaseFile(aside))
    aside.write_bytes(_empty())
    try:
        os.link(aside, file.path)
    except FileExistsError:
        pass
    finally:
        aside.unlink()


def _copy_and_migrate(file: DatabaseFile, database: sqlite3.Connection) -> None:
    """Fill a store in memory, which no other process can; then there is nothing left to do."""
    (_, _, path) = database.execute("PRAGMA database_list").fetchone()
    if not path and _empty():
        with closing(sqlite3.connect(":memory:")) as copy:
            # As a file without a log, since memory has none.
            copy.deserialize(_empty()[:18] + b"\1\1" + _empty()[20:])
            copy.backup(database)
    _migrate(file, database)
