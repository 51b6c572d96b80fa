"""What errors of PostgreSQL mean to a user.  No sentence quotes a connection string, which may hold
a password."""

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
        if isinstance(error, errors.QueryCanceled):
            return StoreBusy(f"store {self.name} took too long for a statement; try again later")
        if isinstance(error, (errors.LockNotAvailable, errors.DeadlockDetected)):
            return StoreBusy(f"store {self.name} is locked by another transaction; try again later")
        if isinstance(error, errors.ReadOnlySqlTransaction):
            return StoreFailed(
                f"store {self.name} is read-only (a standby server?): name the primary server"
            )
        if isinstance(error, (errors.DiskFull, errors.OutOfMemory)):
            return StoreFailed(
                f"store {self.name} is out of disk space or memory; nothing was changed"
            )
        if isinstance(error, (errors.DataCorrupted, errors.IndexCorrupted)):
            return StoreFailed(f"store {self.name} is damaged: restore it from a backup")
        if isinstance(error, errors.TooManyConnections):
            return self.unavailable("it has too many connections")
        if isinstance(error, errors.ProgramLimitExceeded):
            return InvalidRequest(f"store {self.name} cannot hold a value that large")
        if isinstance(error, errors.InsufficientPrivilege):
            return StoreFailed(
                f"store {self.name} refuses this role ({_first_line(error)}): grant it the "
                "rights, or use another role"
            )
        if isinstance(error, (*_NO_TABLES, errors.UndefinedObject)) and "procrastinate_" in str(
            error
        ):
            return StoreFailed(
                f"store {self.name} has tables that the installed version of procrastinate "
                "does not work with: run scenarioctl store check"
            )
        if isinstance(error, _NO_TABLES):
            return no_tables(self.name)
        if isinstance(error, _GONE) or _is_lost(error):
            return self.lost()
        if (error.sqlstate or "").startswith(_CONNECTION):
            return self.unavailable(_first_line(error))
        raise error

    def unavailable(self, reason: str, *, advice: str = "try again later") -> StoreUnavailable:
        return StoreUnavailable(
            f"store {self.name} is not available: {reason}; {advice}",
            details={"retry_after": RETRY_AFTER},
        )

    def lost(self) -> StoreUnavailable:
        return self.unavailable("the connection was lost")

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

    def explain_connecting(self, error: psycopg.Error | OSError | TimeoutError) -> ScenarioctlError:
        """Return why no connection could be opened; the server's own sentences say it in its
        language."""
        said = str(error)
        words = said.lower()
        if ": invalid " in words:
            # The value may be a part of a password that is not written as a URL wants it.
            return InvalidRequest(
                f"store {self.name} has a port or an option that is not valid, expected one like"
                " postgresql://user@host:5432/database; write / and @ of a password as %2F and %40"
            )
        if "session is read-only" in words or "in hot standby mode" in words:
            # Of several servers: what libpq says of the others is in there, too.
            return self.unavailable(
                "only a read-only standby answers",
                advice="start the primary server, or promote the standby",
            )
        if isinstance(error, TimeoutError) or "timeout expired" in words or "timed out" in words:
            return self.unavailable("the server does not answer")
        for spellings, kind, sentence in _REFUSALS:
            if all(spelling in words for spelling in spellings):
                return kind(f"store {self.name} {sentence.format(reason=_first_line(error))}")
        if "certificate" in words or "ssl" in words or "private key" in words:
            return StoreFailed(f"store {self.name} cannot be reached by TLS: {_explain_tls(error)}")
        if "too many clients" in words or "remaining connection slots" in words:
            return self.unavailable("it has too many connections")
        if "starting up" in words or "shutting down" in words or "recovery" in words:
            return self.unavailable("the server is starting or stopping")
        if "refused" in words or "no such file" in words:
            return self.unavailable("no server answers there")
        return self.unavailable(_first_line(error))

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


#: Words that all stand in an error of connecting -> what it is, and its sentence behind the name of
#: the store.
_REFUSALS: tuple[tuple[tuple[str, ...], type[ScenarioctlError], str], ...] = (
    *(
        ((spelling,), StoreFailed, "names an unknown host, expected one that can be resolved")
        for spelling in ("resolve host", "translate host name", "name or service")
    ),
    (
        ("definition of service",),
        InvalidRequest,
        "names an unknown service ({reason}): add it to ~/.pg_service.conf",
    ),
    (("no password supplied",), StoreFailed, "needs a password: put it into ~/.pgpass"),
    (
        ("password authentication failed",),
        StoreFailed,
        "refuses the user or the password, expected those of a role of the server",
    ),
    (
        ("does not exist", "database"),
        StoreFailed,
        "names an unknown database, create it with: createdb",
    ),
    (("does not exist", "role"), StoreFailed, "names an unknown role, create it with: createuser"),
    (
        ("pg_hba.conf", "no encryption"),
        StoreFailed,
        "accepts only connections with TLS: set sslmode=verify-full",
    ),
    (
        ("pg_hba.conf",),
        StoreFailed,
        "does not let this client in, expected a line for it in the server's pg_hba.conf",
    ),
    (
        ("permission denied for database",),
        StoreFailed,
        "does not let this role connect, expected the CONNECT right",
    ),
    (
        ("unsupported startup parameter",),
        StoreFailed,
        "is behind a PgBouncer that refuses the startup parameter options. Set "
        "ignore_startup_parameters = options there,"
        " and ALTER ROLE … SET search_path = scenarioctl",
    ),
)


def _is_lost(error: psycopg.Error) -> bool:
    """Return whether the connection has ended under the statement: then there is no state of the
    server."""
    return (
        isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
        and error.sqlstate is None
    )


def _explain_tls(error: BaseException) -> str:
    """Return why there is no TLS, and what to do; what libpq says itself names a file."""
    line = _first_line(error)
    for words, sentence in _TLS.items():
        if words in line:
            return sentence
    return line


_TLS = {
    "certificate verify failed": (
        "the authority in sslrootcert has not signed the server's certificate"
    ),
    "does not match host name": (
        "the server's certificate is for another host; use the name that it has"
    ),
    "requires a valid client certificate": (
        "the server asks for a client certificate; set sslcert and sslkey"
    ),
    "certificate authentication failed": (
        "the client certificate in sslcert is that of another role"
    ),
    "does not support SSL": "the server has TLS turned off; turn its setting ssl on",
    "has group or world access": "others can read the file in sslkey; run chmod 600 on it",
}


def _first_line(error: BaseException) -> str:
    """Return the reason in the first line of an error, without the address before it."""
    line = str(error).strip().partition("\n")[0]
    for before in ("connection failed: ", "connection is bad: "):
        line = line.removeprefix(before)
    if line.startswith("connection to server at "):
        line = line.partition(" failed: ")[2]
    return (line.rpartition("FATAL:")[2].strip() or line)[:200]
