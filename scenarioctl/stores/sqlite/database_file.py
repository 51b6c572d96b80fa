"""The file of the embedded store, its tables (`schema.sql`), workers and errors."""

import os
import re
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from scenarioctl.errors import InvalidRequest, ScenarioctlError, StoreBusy, StoreFailed, shorten
from scenarioctl.files import read_text
from scenarioctl.stores.validation import SCHEMA_VERSION, check_version

#: Marks the file as ours: "Scen".
APPLICATION_ID = 0x5363656E


#: How long a process waits for another one's write.
BUSY_SECONDS = 10.0

#: Bytes in the write-ahead log before they are moved to the file.  With four times SQLite's 1000
#: pages, a tenth less is written, since ids are random.
LOG_BYTES = 16 * 1024 * 1024

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
#: What errors of SQLite mean to a user.
_MEANINGS: Mapping[int, str] = {
    **dict.fromkeys(
        _BUSY, "has been locked by another process for {seconds:g} seconds; try again later"
    ),
    sqlite3.SQLITE_NOTADB: "is not a database of scenarioctl; name another file",
    sqlite3.SQLITE_CORRUPT: "is damaged ({error}): restore it from a backup",
    sqlite3.SQLITE_FULL: "is out of disk space; nothing was changed",
    **dict.fromkeys(
        (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM),
        "is read-only, expected a file that can be written",
    ),
    sqlite3.SQLITE_CANTOPEN: "cannot be opened, expected a file that can be read and written",
    sqlite3.SQLITE_IOERR: "cannot be read or written ({error}), nothing was changed",
    sqlite3.SQLITE_TOOBIG: "cannot hold a value that large, expected less than 1 GB",
}


@dataclass(frozen=True)
class DatabaseFile:
    """The file of a store."""

    path: Path

    def open(self) -> sqlite3.Connection:
        """Return a connection to the file, created if need be, for one thread at a time."""
        with self.reporting():
            self._create()
            # `transaction` begins and ends them.
            database = sqlite3.connect(
                self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare(database)
            except BaseException:
                database.close()
                raise
        return database

    def is_absent(self) -> bool:
        """Return whether there is no file; a file that can't be accessed exists."""
        try:
            # Path.exists tells no file from one that is out of reach.
            os.stat(self.path)  # noqa: PTH116
        except OSError as error:
            return isinstance(error, FileNotFoundError)
        return False

    def open_empty(self) -> sqlite3.Connection:
        """Return a connection to an empty store in memory."""
        database = sqlite3.connect(":memory:", isolation_level=None)
        self._prepare(database)
        return database

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Turn errors of SQLite and of the system into errors for users."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise self.explain(error) from error

    def explain(self, error: sqlite3.Error | OSError) -> ScenarioctlError:
        """Return what *error* means to a user; raise *error* if it is a bug."""
        if isinstance(error, OSError):
            return StoreFailed(f"store {self.name} cannot be opened: {error.strerror}")
        code = primary_code(error)
        if code not in _MEANINGS:
            raise error
        meaning = _MEANINGS[code].format(error=error, seconds=BUSY_SECONDS)
        if code == sqlite3.SQLITE_TOOBIG:
            return InvalidRequest(f"store {self.name} {meaning}")
        return (StoreBusy if code in _BUSY else StoreFailed)(f"store {self.name} {meaning}")

    @property
    def name(self) -> str:
        return shorten(str(self.path), limit=200)

    def _create(self) -> None:
        """Create the file before SQLite does: only its owner may read it, and the files that SQLite
        adds."""
        missing = []
        folder = self.path.parent
        while not folder.exists():
            missing.append(folder)
            folder = folder.parent
        for folder in reversed(missing):
            folder.mkdir(mode=0o700, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))

    def _prepare(self, database: sqlite3.Connection) -> None:
        # First, so that a file that is not a database, or not ours, is left as it was found.
        database.execute(TRUST_NO_SCHEMA)
        version = self.version_of(database)
        database.execute("PRAGMA synchronous = FULL")
        # Whenever the log begins anew, it is cut to this.
        database.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
        database.execute(f"PRAGMA wal_autocheckpoint = {LOG_BYTES // 4096}")
        _use_wal(database)
        if not version:
            self._create_tables(database)
        database.execute("PRAGMA foreign_keys = ON")

    def _create_tables(self, database: sqlite3.Connection) -> None:
        with transaction(database):
            # Another process may have been first.
            if self.version_of(database):
                return
            for statement in _statements():
                database.execute(statement)
            database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def version_of(self, database: sqlite3.Connection) -> int:
        """Return the version of the file's tables, if this program may use it; 0 if it has none.

        StoreFailed if its schema is not that of this version to the letter.
        """
        # In one statement, since another process may be creating them.
        application, version, tables = database.execute(
            "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)"
            " FROM pragma_application_id, pragma_user_version"
        ).fetchone()
        if application != APPLICATION_ID and (application or version or tables):
            raise InvalidRequest(
                f"store {self.name} is a database of another program; name another file"
            )
        if version:
            check_version(self.name, version)
            rows = database.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")
            if differing := {sql for (sql,) in rows} - _OF_SQLITE ^ _statements().keys():
                named = shorten(" ".join(min(differing).split()[:3]))
                raise StoreFailed(
                    f"store {self.name} doesn't have the tables of this scenarioctl: {named} "
                    "differs. Restore a backup, or create another one with: scenarioctl store init"
                )
        return int(version)


#: So that what a file brings along calls nothing with effects before it is compared.
TRUST_NO_SCHEMA = "PRAGMA trusted_schema = OFF"
#: What SQLite adds by itself, and at ANALYZE.
_OF_SQLITE = {
    "CREATE TABLE sqlite_sequence(name,seq)",
    "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
}


def _statements() -> dict[str, None]:
    """Return the statements that make the tables, as SQLite keeps them, in order."""
    text = read_text(Path(__file__).with_name("schema.sql"))
    return dict.fromkeys(re.findall(r"^CREATE .*?(?=;\n(?:\n|\Z))", text, re.DOTALL | re.MULTILINE))


@contextmanager
def transaction(database: sqlite3.Connection, *, writes: bool = True) -> Iterator[None]:
    """Commit several writes together, or none of them; without *writes*, let several reads see the
    same state."""
    # One that begins with a read fails at once if it then has to wait for a write lock.
    database.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        # A full disk makes SQLite roll back by itself.
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether another process holds the lock."""
    return primary_code(error) in _BUSY


def primary_code(error: sqlite3.Error) -> int:
    # The upper bytes hold SQLite's extended code.
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _use_wal(database: sqlite3.Connection) -> None:
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            # Setting the mode that it has already takes no lock.
            database.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            # SQLite doesn't wait for another process that is switching too.
            if primary_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.005)
