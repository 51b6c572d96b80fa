"""The file of the embedded store: opening, its tables (`schema.sql`), the lock of its workers, and
what its errors mean to a user."""

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from scenarioctl.errors import InvalidRequest, ScenarioctlError, StoreBusy, StoreFailed, shorten
from scenarioctl.files import read_text
from scenarioctl.stores.validation import SCHEMA_VERSION, check_version

#: Marks the file as ours: "Scen".
APPLICATION_ID = 0x5363656E

#: Seconds to wait for a process that is just ending.
_PATIENCE = 1.0


class FilesChanged(StoreFailed):
    """The files of a store were changed while it was open."""


class WorkerLock:
    """The lock of a worker that serves the store at *store*, held until it is closed, or the system
    releases it as it ends."""

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
    """Return whether a worker serves the store at *store*, one that is frozen by SIGSTOP
    included."""
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


#: How long a process waits for another one's write.
BUSY_SECONDS = 10.0

#: Bytes in the write-ahead log before they are moved to the file.  Ids are random, so each write
#: changes pages of their index that earlier writes changed too: with four times SQLite's 1000
#: pages, a tenth less is written.
LOG_BYTES = 16 * 1024 * 1024

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)


@dataclass(frozen=True)
class DatabaseFile:
    """The file of a store."""

    path: Path

    def open(self) -> sqlite3.Connection:
        """Return a connection to the file, created if need be, for one thread at a time."""
        with self.reporting():
            self._create()
            # `all_or_nothing` and `one_moment` begin and end the transactions.
            database = sqlite3.connect(
                self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
        try:
            with self.reporting():
                self._prepare(database)
        except BaseException:
            database.close()
            raise
        return database

    def lock(self) -> sqlite3.Connection:
        """Return a connection with the lock of writers."""
        database = self.open()
        try:
            with self.reporting():
                database.execute("BEGIN IMMEDIATE")
        except BaseException:
            database.close()
            raise
        return database

    def is_absent(self) -> bool:
        """Return whether there is no file; a file that can't be accessed exists."""
        try:
            # Path.exists tells no file from one that is out of reach.
            os.stat(self.path)  # noqa: PTH116
        except FileNotFoundError:
            return True
        except OSError:
            return False
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
        if code in _BUSY:
            return StoreBusy(
                f"store {self.name} has been locked by another process for "
                f"{BUSY_SECONDS:g} seconds; try again later"
            )
        if code == sqlite3.SQLITE_NOTADB:
            return StoreFailed(
                f"store {self.name} is not a database of scenarioctl; name another file"
            )
        if code == sqlite3.SQLITE_CORRUPT:
            return StoreFailed(f"store {self.name} is damaged ({error}): restore it from a backup")
        if code == sqlite3.SQLITE_FULL:
            return StoreFailed(f"store {self.name} is out of disk space; nothing was changed")
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
            return StoreFailed(
                f"store {self.name} is read-only, expected a file that can be written"
            )
        if code == sqlite3.SQLITE_CANTOPEN:
            return StoreFailed(
                f"store {self.name} cannot be opened, expected a file that can be read and written"
            )
        if code == sqlite3.SQLITE_IOERR:
            return StoreFailed(
                f"store {self.name} cannot be read or written ({error}), nothing was changed"
            )
        if code == sqlite3.SQLITE_TOOBIG:
            return InvalidRequest(
                f"store {self.name} cannot hold a value that large, expected less than 1 GB"
            )
        raise error

    def find_version(self) -> int | None:
        """Return the version of the file's tables, and change nothing; None if it has none, or if
        there is no file."""
        if self.is_absent():
            return None
        with (
            self.reporting(),
            closing(sqlite3.connect(self.path, timeout=BUSY_SECONDS)) as database,
        ):
            return self._version(database) or None

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
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:
            pass

    def _prepare(self, database: sqlite3.Connection) -> None:
        # First, so that a file that is not a database, or not ours, is left as it was found.
        version = self._version(database)
        database.execute("PRAGMA synchronous = FULL")
        # Whenever the log begins anew, it is cut to this.
        database.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
        database.execute(f"PRAGMA wal_autocheckpoint = {LOG_BYTES // 4096}")
        _use_wal(database)
        if not version:
            self._create_tables(database)
        database.execute("PRAGMA foreign_keys = ON")

    def _create_tables(self, database: sqlite3.Connection) -> None:
        with all_or_nothing(database):
            # Another process may have been first.
            if self._version(database):
                return
            for statement in read_text(Path(__file__).with_name("schema.sql")).split(";\n\n"):
                database.execute(statement)
            database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def _version(self, database: sqlite3.Connection) -> int:
        """Return the version of the file's tables, if this program may use it; 0 if it has none."""
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
        return int(version)


@contextmanager
def one_moment(database: sqlite3.Connection) -> Iterator[None]:
    """Let several reads see the same state of the store."""
    database.execute("BEGIN")
    with _committing(database):
        yield


@contextmanager
def all_or_nothing(database: sqlite3.Connection) -> Iterator[None]:
    """Commit several writes together, or none of them."""
    # A transaction that begins with a read fails at once if it then has to wait for a write lock.
    database.execute("BEGIN IMMEDIATE")
    with _committing(database):
        yield


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether another process holds the lock."""
    return primary_code(error) in _BUSY


def primary_code(error: sqlite3.Error) -> int:
    # The upper bytes hold SQLite's extended code.
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


@contextmanager
def _committing(database: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        # A full disk makes SQLite roll back by itself.
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


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
