"""The connections to PostgreSQL of a process, and what errors of the server mean to a user.

No sentence quotes a connection string, which may hold a password.  That no connection can be
opened, and that one can again, is told once in the log of a daemon.  `server/process.py` leaves out
what only repeats that the store is away.
"""

import asyncio
import logging
import os
import select
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import AsyncConnection, errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from scenarioctl.config import without_password
from scenarioctl.errors import (
    InvalidRequest,
    ScenarioctlError,
    StoreBusy,
    StoreFailed,
    StoreUnavailable,
    shorten,
)
from scenarioctl.stores.validation import check_version, no_tables

if TYPE_CHECKING:
    from psycopg_pool import AsyncConnectionPool


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
            return StoreFailed(
                f"{no_tables(self.name)}. Behind a PgBouncer, set the search path for the role: "
                "ALTER ROLE … SET search_path = scenarioctl"
            )
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


log = logging.getLogger("scenarioctl.store")

#: Holds our tables and those of the engine; every connection has it as its search path.
SCHEMA = "scenarioctl"
#: Seconds to wait for a connection before the server is asked whether it is there.
_PATIENCE = 1.0
#: Seconds to wait for a connection while others use all.
_BUSY_SECONDS = 10.0
#: Seconds that an answer may be on its way once the server has to have it.
_SILENCE = 5.0


class Connection(AsyncConnection[tuple[Any, ...]]):
    """A connection in autocommit mode, and how transactions are made of it."""

    _last: AsyncExitStack | None = None
    #: Seconds that a statement, or a commit, may take until the connection is ended.
    patience = 86_400.0

    async def execute(self, *query: Any, **options: Any) -> psycopg.AsyncCursor[tuple[Any, ...]]:
        with self._bounded():
            return await super().execute(*query, **options)

    @contextmanager
    def _bounded(self) -> Iterator[None]:
        """End the connection if it takes too long: the network reports no loss where a proxy or a
        frozen server still takes what is sent."""
        late = asyncio.get_running_loop().call_later(self.patience, self._end)
        try:
            yield
        finally:
            late.cancel()

    def _end(self) -> None:
        if not self.closed:
            # Whoever waits for its answer is told that it has ended.
            with socket.socket(fileno=os.dup(self.fileno())) as line:
                line.shutdown(socket.SHUT_RDWR)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Commit at the end, or roll back."""
        try:
            async with AsyncExitStack() as last, AsyncExitStack() as self._last, self.transaction():
                yield
                last.enter_context(self._bounded())
        finally:
            self._last = None

    async def conclude(self) -> None:
        """Send all further statements of the transaction together with its commit; none of their
        answers may be read before.

        Locks that they take are held for as long as the server needs, however slow or frozen this
        process is.
        """
        if self._last is not None:
            await self._last.enter_async_context(self.pipeline())
            self._last = None


#: Seconds after which the server ends a transaction whose client says nothing.
_IDLE_SECONDS = 5
#: What libpq gets unless the URL, the environment or a service file says otherwise.  A server that
#: is gone is noticed within seconds, also in the middle of a statement.
_DEFAULTS = {
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "5000",
}


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """Which server, and how it is used."""

    url: str = field(repr=False)
    #: The most connections of a daemon; 0: one, for a command.
    pool: int = 0
    #: Seconds that a statement may take; 0: no limit.
    statement_seconds: int = 30
    #: What `pg_stat_activity` shows, after the program's name.
    role: str = "command"


def connection_info(settings: ServerSettings, url: str) -> str:
    """Return the connection string of libpq; what *url* and the environment say takes precedence
    over our defaults."""
    try:
        given: dict[str, Any] = dict(conninfo_to_dict(url))
        # With a bare / or @ in a password, a part of it would be quoted as one of these.
        is_read = str(given.get("port") or 1).replace(",", "").isdecimal() and not any(
            "@" in (given.get(name) or "")[1:] for name in ("host", "dbname")
        )
    except psycopg.ProgrammingError:
        is_read = False
    if not is_read:
        # The text of the error quotes the URL, with the password.
        raise InvalidRequest(
            f"store {Explainer(url).name} is not a valid URL, expected one like "
            "postgresql://user@host:5432/database; write / and @ of a password as %2F and %40"
        )
    environment = {
        option.keyword.decode(): option.val.decode()
        for option in psycopg.pq.Conninfo.get_defaults()
        if option.val is not None
    }
    defaults = {**_DEFAULTS, "application_name": f"scenarioctl/{settings.role}"}
    for name, value in defaults.items():
        if not given.get(name) and not environment.get(name):
            given[name] = value
    hosts = given.get("host") or environment.get("host") or ""
    if "," in hosts and not given.get("target_session_attrs"):
        # Of several servers, the one that takes writes: libpq would take the first that answers.
        given["target_session_attrs"] = "read-write"
    options = [given.get("options") or environment.get("options"), f"-c search_path={SCHEMA}"]
    options.append(f"-c statement_timeout={settings.statement_seconds * 1000}")
    # A frozen process must not hold the locks of its transaction.
    options.append(f"-c idle_in_transaction_session_timeout={_IDLE_SECONDS * 1000}")
    given["options"] = " ".join(option for option in options if option)
    return make_conninfo("", **given)


class Connections:
    """The pool of one store's connections, opened on first use."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.explainer = Explainer(settings.url)
        #: What libpq is told.
        self.info = connection_info(settings, settings.url)
        self._probing = asyncio.Lock()
        #: When the server was last found to be there, and when to be away, on the monotonic clock;
        #: 0.0 while it isn't.
        self._probed = self._away = 0.0
        self._pool: AsyncConnectionPool[Connection] | None = None
        #: It has lent a connection.
        self._known = False
        self._closed = False

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[Connection]:
        """Lend a connection in autocommit mode; errors of psycopg are explained."""
        if self._closed:
            raise RuntimeError("the store is closed")
        asked, pool = time.monotonic(), await self._open_pool()
        try:
            connection = await self._take(pool)
        except StoreUnavailable as error:
            # A command shows its error itself, and so does a daemon that starts.
            if self.settings.pool and self._known and not self._away:
                # As text, so that it isn't left out.
                log.error("%s", str(error))  # noqa: TRY400
                self._away = time.monotonic()
            raise
        self._known = True
        try:
            yield connection
        except psycopg.Error as error:
            # Whatever it says: what becomes of a connection that has ended is known by its state.
            lost = not is_sound(connection)
            raise (self.explainer.lost() if lost else self.explainer.explain(error)) from error
        finally:
            await pool.putconn(connection)
        if 0 < self._away < asked:
            seconds, self._away = time.monotonic() - self._away, 0.0
            log.warning("store %s is available again after %.1f s", self.explainer.name, seconds)

    async def _take(self, pool: "AsyncConnectionPool[Connection]") -> Connection:
        from psycopg_pool import PoolTimeout

        deadline = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                connection = await pool.getconn(timeout=_PATIENCE)
            except PoolTimeout:
                if time.monotonic() > deadline:
                    raise StoreBusy(
                        f"store {self.explainer.name}: all {pool.max_size} connections of this "
                        "process have been busy for"
                        f" {_BUSY_SECONDS:g} seconds; try again later"
                    ) from None
                await self._probe()
                continue
            # The pool's own check would wait for a second before it tries another one.
            if is_sound(connection):
                return connection
            await connection.close()
            await pool.putconn(connection)

    async def _probe(self) -> None:
        """Find out, for all that wait, why no connection has come: raise if the server can't be
        reached."""
        async with self._probing:
            if time.monotonic() - self._probed > _PATIENCE:
                await (await self.open()).close()
                self._probed = time.monotonic()

    async def _open_pool(self) -> "AsyncConnectionPool[Connection]":
        if self._pool is None:
            from psycopg_pool import AsyncConnectionPool

            # It tells of each attempt that fails, and of each question; we say what that means,
            # once.
            logging.getLogger("psycopg").setLevel(logging.CRITICAL)
            self._pool = AsyncConnectionPool(
                self.info,
                connection_class=Connection,
                kwargs={"autocommit": True},
                min_size=1,
                max_size=self.settings.pool or 1,
                open=False,
                configure=self._check_tables,
                # A server that is back is found by the next request, not after the pauses of the
                # pool.
                reconnect_timeout=_PATIENCE,
                name="store",
            )
        if self._pool.closed:
            await self._pool.open()
        return self._pool

    @property
    def waiting(self) -> int | None:
        """Return how many wait for a connection of the pool; None without one."""
        return None if self._pool is None else self._pool.get_stats()["requests_waiting"]

    async def open(self) -> Connection:
        """Return a new connection to a store of our version."""
        connection = await connect(self.info, self.explainer)
        try:
            await self._check_tables(connection)
        except psycopg.Error as error:
            await connection.close()
            raise self.explainer.explain(error) from error
        except BaseException:
            await connection.close()
            raise
        return connection

    async def _check_tables(self, connection: Connection) -> None:
        self.explainer.check_server(connection)
        if self.settings.statement_seconds:
            connection.patience = self.settings.statement_seconds + _SILENCE
        asked = await connection.execute("SELECT version, engine, pg_backend_pid() FROM meta")
        found = await asked.fetchone()
        if found is None:
            raise no_tables(self.explainer.name)
        version, engine, process = found
        if process != connection.info.backend_pid:
            # A pooler like PgBouncer, which has invented the number of the process, may hand each
            # transaction to another one.
            connection.prepare_threshold = None
        check_version(self.explainer.name, version)
        # A daemon. Most commands don't need the engine, whose import takes longer than they do.
        if self.settings.pool and engine != (installed := engine_migration()):
            raise self.explainer.other_engine(engine, installed)

    async def close(self) -> None:
        self._closed = True
        if self._pool is not None:
            await self._pool.close()


@cache
def engine_migration() -> str:
    """Return the newest migration of the installed engine, which its tables have to have."""
    from procrastinate.schema import SchemaManager

    return max(path.stem for path in Path(SchemaManager.get_migrations_path()).glob("*.sql"))


async def connect(info: str, explainer: Explainer) -> Connection:
    """Open a connection in autocommit mode; what goes wrong is explained."""
    try:
        return await Connection.connect(info, autocommit=True)
    except (psycopg.Error, OSError) as error:
        raise explainer.explain_connecting(error) from error


def is_sound(connection: Connection) -> bool:
    """Return whether the server has not ended *connection*, as far as can be told without asking
    it."""
    if connection.closed:
        return False
    socket = select.poll()
    socket.register(connection.fileno(), select.POLLIN)
    # On a connection that nobody uses, the server says hardly anything but that it ends it.
    return not socket.poll(0)
