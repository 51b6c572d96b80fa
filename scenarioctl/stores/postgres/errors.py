"""What errors of PostgreSQL mean to a user.  No sentence quotes a connection string, which may hold
a password."""

from collections.abc import Callable

import psycopg
from psycopg import errors

from scenarioctl.config import without_password
from scenarioctl.errors import (
    InvalidRequest,
    ScenarioctlError,
    StoreBusy,
    StoreFailed,
    StoreUnavailable,
    shorten,
)
from scenarioctl.stores.validation import no_tables

#: Seconds after which a client may try again.
RETRY_AFTER = 2

#: The oldest server, as libpq numbers versions.
OLDEST_SERVER = 150_000

#: What errors of the server mean to a user.
_MEANINGS: tuple[
    tuple[tuple[type[psycopg.Error], ...], Callable[[str], ScenarioctlError], str], ...
] = (
    ((errors.QueryCanceled,), StoreBusy, "took too long for a statement; try again later"),
    (
        (errors.LockNotAvailable, errors.DeadlockDetected),
        StoreBusy,
        "is locked by another transaction; try again later",
    ),
    (
        (errors.ReadOnlySqlTransaction,),
        StoreFailed,
        "is read-only (a standby server?): name the primary server",
    ),
    (
        (errors.DiskFull, errors.OutOfMemory),
        StoreFailed,
        "is out of disk space or memory; nothing was changed",
    ),
    (
        (errors.DataCorrupted, errors.IndexCorrupted),
        StoreFailed,
        "is damaged: restore it from a backup",
    ),
    ((errors.ProgramLimitExceeded,), InvalidRequest, "cannot hold a value that large"),
    (
        (errors.InsufficientPrivilege,),
        StoreFailed,
        "refuses this role ({reason}): grant it the rights, or use another role",
    ),
)
_NO_TABLES = (
    errors.UndefinedTable,
    errors.InvalidSchemaName,
    errors.UndefinedColumn,
    errors.UndefinedFunction,
)
#: The server is stopping or starting, has lost a part of itself, or gave up the connection.
_GONE = (
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.IdleInTransactionSessionTimeout,
)
#: The class of errors of the connection, with which PgBouncer says that it has no server.
_CONNECTION = "08"


class Explainer:
    """Turns errors of psycopg into errors for users; all of them name the store."""

    def __init__(self, url: str) -> None:
        self.name = shorten(without_password(url), limit=200)

    def explain(self, error: psycopg.Error) -> ScenarioctlError:
        """Return what *error* means to a user; raise *error* if it is a bug."""
        for classes, kind, meaning in _MEANINGS:
            if isinstance(error, classes):
                said = meaning.format(reason=error.diag.message_primary)
                return kind(f"store {self.name} {said}")
        if isinstance(error, errors.TooManyConnections):
            return self.unavailable("it has too many connections")
        if isinstance(error, _NO_TABLES):
            return no_tables(self.name)
        if isinstance(error, _GONE) or _is_lost(error):
            return self.lost()
        if (error.sqlstate or "").startswith(_CONNECTION):
            return self.unavailable(str(error.diag.message_primary))
        raise error

    def unavailable(self, reason: str) -> StoreUnavailable:
        return StoreUnavailable(
            f"store {self.name} is not available: {reason}", details={"retry_after": RETRY_AFTER}
        )

    def lost(self) -> StoreUnavailable:
        return self.unavailable("the connection was lost; try again later")

    def cannot_listen(self) -> StoreFailed:
        return StoreFailed(
            f"store {self.name} is behind PgBouncer, which does not forward notifications. "
            "Set store_listen to a URL of the server itself"
        )

    def no_search_path(self) -> StoreFailed:
        return StoreFailed(
            f"store {self.name} is behind a PgBouncer that drops the search path. Set it "
            "for the role: ALTER ROLE … SET"
            " search_path = scenarioctl"
        )

    def other_engine(self, made: str, installed: str) -> StoreFailed:
        return StoreFailed(
            f"store {self.name} has tables of procrastinate with the migration {made}, and the "
            f"installed version has {installed}: install the version that made them, or copy the "
            "store into a new one"
        )

    def explain_connecting(self, error: psycopg.Error | OSError) -> StoreUnavailable:
        """Return why no connection could be opened, in the words of libpq and of the server."""
        return self.unavailable(" ".join(str(error).split())[:400])

    def check_server(self, connection: "psycopg.AsyncConnection[object]") -> None:
        """Refuse a server that can't hold the store."""
        info = connection.info
        if info.server_version < OLDEST_SERVER:
            version = info.parameter_status("server_version") or "unknown"
            raise StoreFailed(
                f"store {self.name} is PostgreSQL {version.split()[0]}, expected version "
                "15 or newer"
            )
        encoding = info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise StoreFailed(
                f"store {self.name} has the encoding {encoding}, expected a database with "
                "the encoding UTF8"
            )


def _is_lost(error: psycopg.Error) -> bool:
    """Return whether the connection has ended under the statement: then there is no state of the
    server."""
    return error.sqlstate is None and isinstance(
        error, (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError)
    )
