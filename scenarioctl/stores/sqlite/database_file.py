"""The file of the embedded store: opened, brought up to date, and what can go wrong with it in words."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from scenarioctl.errors import InvalidRequest, ScenarioctlError, StoreBusy, StoreFailed, shorten
from scenarioctl.stores.sqlite.schema import APPLICATION_ID, MIGRATIONS

#: How long a process waits for another one's write.
BUSY_SECONDS = 10.0

_LOG_BYTES = 64 * 1024 * 1024

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
#: What is said where a table is not what it was when the store was opened.
_OTHER_TABLES = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH)


@dataclass(frozen=True)
class DatabaseFile:
    """Where a store lies."""

    path: Path

    def open(self) -> sqlite3.Connection:
        """Return a connection to the file, created and migrated if need be; threads may share it, one at a time."""
        with self.reporting():
            self._create()
            # Transactions begin and end where this room says so.
            database = sqlite3.connect(
                self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
        # A text that is not UTF-8 is a damaged row, not a reason to read none of the others.
        database.text_factory = partial(str, encoding="utf-8", errors="replace")
        try:
            with self.reporting():
                self._prepare(database)
        except BaseException:
            database.close()
            raise
        return database

    def is_absent(self) -> bool:
        """Return whether there is no file; one that cannot be looked at counts as one."""
        try:
            os.stat(self.path)  # noqa: PTH116 - Path.exists tells no file from one that is out of reach
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
        """Say in our words what SQLite has to say."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise self.explain(error) from error
        except UnicodeDecodeError as error:
            # Of SQLite's own sentence, which names what is damaged as it stands there.
            raise StoreFailed(
                f"store {self.name} is damaged (its schema holds text that is not UTF-8), expected a sound file: restore a copy"
            ) from error

    def explain(self, error: sqlite3.Error | OSError) -> ScenarioctlError:
        """Return what *error* means to a user; raises it where it is a bug."""
        if isinstance(error, OSError):
            return StoreFailed(f"store {self.name} cannot be opened: {error.strerror}")
        code = primary_code(error)
        if code in _BUSY:
            return StoreBusy(
                f"store {self.name} has been locked by another process for {BUSY_SECONDS:g} seconds, try again later"
            )
        if code == sqlite3.SQLITE_NOTADB:
            return StoreFailed(f"store {self.name} is not a database, expected one of scenarioctl")
        if code == sqlite3.SQLITE_CORRUPT:
            return StoreFailed(
                f"store {self.name} is damaged ({error}), expected a sound file: restore a copy"
            )
        if code == sqlite3.SQLITE_FULL:
            return StoreFailed(f"store {self.name} has no room left on its disk, nothing was changed")
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
            return StoreFailed(f"store {self.name} is read-only, expected a file that can be written")
        if code == sqlite3.SQLITE_CANTOPEN:
            return StoreFailed(
                f"store {self.name} cannot be opened, expected a file that can be read and written"
            )
        if code == sqlite3.SQLITE_IOERR:
            return StoreFailed(f"store {self.name} cannot be read or written ({error}), nothing was changed")
        if code == sqlite3.SQLITE_TOOBIG:
            return InvalidRequest(
                f"store {self.name} cannot hold a value that large, expected less than 1 GB"
            )
        if code in _OTHER_TABLES and self._is_newer():
            return StoreFailed(
                f"store {self.name} was brought up to date by a newer scenarioctl meanwhile: restart this one, upgraded too"
            )
        raise error

    @property
    def name(self) -> str:
        return shorten(str(self.path), limit=200)

    def _is_newer(self) -> bool:
        """Return whether somebody has migrated the file further than this program knows it."""
        try:
            with closing(sqlite3.connect(self.path, timeout=BUSY_SECONDS)) as database:
                (version,) = database.execute("PRAGMA user_version").fetchone()
        except sqlite3.Error:
            return False
        return int(version) > len(MIGRATIONS)

    def _create(self) -> None:
        """Make the file before SQLite would: readable by its owner only, and so are the files SQLite adds to it."""
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
        # One large import would else leave the log beside the file at its size for months.
        database.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
        _use_wal(database)
        if version != len(MIGRATIONS):
            self._migrate(database)
        database.execute("PRAGMA foreign_keys = ON")

    def _migrate(self, database: sqlite3.Connection) -> None:
        # A table that is replaced by another one would else take with it what refers to it.
        database.execute("PRAGMA foreign_keys = OFF")
        with all_or_nothing(database):
            # Another process may have been first.
            version = self._version(database)
            for steps in MIGRATIONS[version:]:
                for step in steps:
                    if isinstance(step, str):
                        database.execute(step)
                    else:
                        step(database)
            database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            database.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")

    def _version(self, database: sqlite3.Connection) -> int:
        """Return how many migrations the file has been through, if it is one that we may use."""
        # One statement sees one moment; another process may be migrating.
        application, version, tables = database.execute(
            "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)"
            " FROM pragma_application_id, pragma_user_version"
        ).fetchone()
        if application != APPLICATION_ID and (application or version or tables):
            raise InvalidRequest(
                f"store {self.name} is a database of another program, expected one of scenarioctl"
            )
        if version > len(MIGRATIONS):
            raise InvalidRequest(
                f"store {self.name} was written by a newer scenarioctl (store version {version}, this one knows"
                f" {len(MIGRATIONS)}): upgrade scenarioctl, or name another store"
            )
        return int(version)


@contextmanager
def one_moment(database: sqlite3.Connection) -> Iterator[None]:
    """Let several reads see the same moment."""
    database.execute("BEGIN")
    with _committing(database):
        yield


@contextmanager
def all_or_nothing(database: sqlite3.Connection) -> Iterator[None]:
    """Let several writes take place together, or none of them."""
    # A transaction that begins by reading cannot wait when it comes to write: it would fail at once.
    database.execute("BEGIN IMMEDIATE")
    with _committing(database):
        yield


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether another process was in the way."""
    return primary_code(error) in _BUSY


def primary_code(error: sqlite3.Error) -> int:
    # The upper bytes tell more than is asked here.
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
            # Asking for the mode it is in takes no lock.
            database.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            # SQLite does not wait here for a process that is switching too.
            if primary_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.005)
