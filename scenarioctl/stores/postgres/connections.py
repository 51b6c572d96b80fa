"""Connections to PostgreSQL: one for a command, which opens it once, and a pool for a daemon."""

import asyncio
import select
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from scenarioctl.errors import InvalidRequest, StoreBusy
from scenarioctl.stores.postgres.errors import Explainer
from scenarioctl.stores.postgres.schema import SCHEMA, VERSION

if TYPE_CHECKING:
    from psycopg_pool import AsyncConnectionPool

Connection = AsyncConnection[tuple[Any, ...]]

#: Seconds for which a request waits for one of a daemon's connections, and then for finding out why there is none.
_PATIENCE = 1.0
#: Seconds after which the server ends a transaction whose client says nothing.
_IDLE_SECONDS = 5
#: What libpq gets unless the URL, the environment or a service file says otherwise.  A server that is gone is noticed
#: within seconds, also in the middle of a statement.
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
    #: The most connections of a daemon; 0: one, as a command opens it.
    pool: int = 0
    #: Seconds that a statement may take; 0: no limit.
    statement_seconds: int = 30
    #: The address for LISTEN, where it is another one; a daemon listens, a command doesn't.
    listen: str = field(default="", repr=False)
    #: What `pg_stat_activity` shows, after the program's name.
    role: str = "command"


def connection_info(settings: ServerSettings, url: str) -> str:
    """Return the connection string of libpq; what *url* and the environment say takes precedence over our defaults."""
    try:
        given: dict[str, Any] = dict(conninfo_to_dict(url))
    except psycopg.ProgrammingError:
        # Its text quotes the URL, with the password.
        raise InvalidRequest(
            f"store {Explainer(url).name} is not a valid URL, expected one like postgresql://user@host/database"
        ) from None
    environment = {
        option.keyword.decode(): option.val.decode()
        for option in psycopg.pq.Conninfo.get_defaults()
        if option.val is not None
    }
    defaults = {**_DEFAULTS, "application_name": f"scenarioctl/{settings.role}"}
    for name, value in defaults.items():
        if not given.get(name) and not environment.get(name):
            given[name] = value
    options = [given.get("options") or environment.get("options"), f"-c search_path={SCHEMA}"]
    options.append(f"-c statement_timeout={settings.statement_seconds * 1000}")
    # A frozen process must not hold the locks of its transaction.
    options.append(f"-c idle_in_transaction_session_timeout={_IDLE_SECONDS * 1000}")
    given["options"] = " ".join(option for option in options if option)
    return make_conninfo("", **given)


class Connections:
    """The connections of one store, opened on first use."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.explainer = Explainer(settings.url)
        #: What libpq is told.
        self.info = connection_info(settings, settings.url)
        self._lock = asyncio.Lock()
        self._one: Connection | None = None
        self._pool: AsyncConnectionPool[Connection] | None = None
        self._closed = False

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[Connection]:
        """Lend a connection in autocommit mode; errors of psycopg are explained."""
        if self._closed:
            raise RuntimeError("the store is closed")
        try:
            if self.settings.pool:
                async with self._lend_pooled() as connection:
                    yield connection
            else:
                async with self._lend_one() as connection:
                    yield connection
        except psycopg.Error as error:
            raise self.explainer.explain(error) from error

    @asynccontextmanager
    async def _lend_one(self) -> AsyncIterator[Connection]:
        async with self._lock:
            if self._one is None or not is_sound(self._one):
                self._one = await self.open()
            try:
                yield self._one
            except BaseException:
                if self._one.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                    await self._one.close()
                raise

    @asynccontextmanager
    async def _lend_pooled(self) -> AsyncIterator[Connection]:
        from psycopg_pool import PoolTimeout

        pool = await self._open_pool()
        deadline = time.monotonic() + _PATIENCE
        try:
            # The pool's own check would wait for a second before it tries another one.
            while not is_sound(connection := await pool.getconn(timeout=deadline - time.monotonic())):
                await pool.putconn(connection)
        except PoolTimeout:
            raise await self._explain_timeout(pool) from None
        try:
            # psycopg_pool leaves the transaction of a connection to its user.
            yield connection
        finally:
            await pool.putconn(connection)

    async def _open_pool(self) -> "AsyncConnectionPool[Connection]":
        async with self._lock:
            if self._pool is None:
                from psycopg_pool import AsyncConnectionPool

                # The first one tells what is wrong; a pool only that it has none.
                await (await self.open()).close()
                self._pool = AsyncConnectionPool(
                    self.info,
                    kwargs={"autocommit": True},
                    min_size=1,
                    max_size=self.settings.pool,
                    open=False,
                    timeout=_PATIENCE,
                    configure=self._check_tables,
                    # A server that is back is found by the next request, not after the pauses of the pool.
                    reconnect_timeout=_PATIENCE,
                    name="store",
                )
                await self._pool.open()
            return self._pool

    async def _explain_timeout(self, pool: "AsyncConnectionPool[Connection]") -> Exception:
        """Return why no connection came in time: the server is gone, or all are in use."""
        try:
            async with asyncio.timeout(_PATIENCE):
                await (await self.open()).close()
        except TimeoutError as error:
            return self.explainer.explain_connecting(error)
        except Exception as error:
            return error
        return StoreBusy(
            f"store {self.explainer.name}: all {pool.max_size} connections of this daemon are busy; try again later"
        )

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
        found = await (await connection.execute("SELECT version, compatible FROM meta")).fetchone()
        if found is None:
            raise self.explainer.no_tables()
        version, compatible = found
        if compatible > VERSION:
            raise self.explainer.newer_tables(version, VERSION)
        if version < VERSION:
            raise self.explainer.older_tables(version, VERSION)

    async def close(self) -> None:
        self._closed = True
        if self._one is not None:
            await self._one.close()
        if self._pool is not None:
            await self._pool.close()


async def connect(info: str, explainer: Explainer) -> Connection:
    """Open a connection in autocommit mode; what goes wrong is explained."""
    try:
        return await AsyncConnection.connect(info, autocommit=True)
    except (psycopg.Error, OSError) as error:
        raise explainer.explain_connecting(error) from error


def is_sound(connection: Connection) -> bool:
    """Return whether the server has not ended *connection*, as far as can be told without asking it."""
    if connection.closed:
        return False
    socket = select.poll()
    socket.register(connection.fileno(), select.POLLIN)
    # On a connection that nobody uses, the server says only that it ends it, and then the socket is closed.
    while socket.poll(0):
        try:
            connection.pgconn.consume_input()
        except psycopg.OperationalError:
            return False
    return connection.pgconn.status == psycopg.pq.ConnStatus.OK
