"""JSON-RPC requests to a chain over its connection pool, with failover for requests that only
read."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from scenarioctl.chains.connection import SMALL, NodeConnection, Request
from scenarioctl.chains.pool import Pool
from scenarioctl.chains.rpc_errors import NodeTimeout
from scenarioctl.chains.tables import Runs, runtime_of
from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest

T = TypeVar("T")

#: Idle seconds after which a connection is checked before use: its node may be gone.
QUIET = 1.0
#: Timeout of that check, in seconds, if the chain has another endpoint.
STALLED = 0.5
#: Seconds without a request after which earlier answers no longer fix the runtime.
_FORGOTTEN = 30.0


class NodeClient:
    """One chain for one command, request or run.

    Handlers ask one thing after another.  Were two tasks to ask side by side, the exchanges would
    still go one by one, but what one begins could clear the runtime that the other's answers are
    held to.
    """

    def __init__(self, pool: Pool) -> None:
        self.chain = pool.chain
        self.tables = pool.tables
        self.timeouts = pool.timeouts
        self._pool = pool
        self._turn = asyncio.Lock()
        #: Borrowed for an exchange, or kept for as long as subscriptions go on.
        self._connection: NodeConnection | None = None
        #: The connection of the last exchange, which another client may use by now.
        self._last: NodeConnection | None = None
        #: The endpoint that is tried last when a connection is opened next.
        self._avoided = ""
        #: The runtime of the newest table: requests are encoded with its types.
        self._runs: Runs | None = None
        self._asked = 0.0
        #: The endpoints that answered here, in the order in which they were asked first.
        self.endpoints_asked: dict[str, None] = {}
        #: Number of open subscriptions on the borrowed connection.
        self._subscriptions = 0

    @property
    def endpoint(self) -> str:
        connection = self._connection or self._last
        return connection.endpoint if connection else ""

    @property
    def block_seconds(self) -> float:
        """How long a block of the chain takes, in seconds."""
        return self._pool.block_seconds

    async def call(self, method: str, *params: Any) -> Any:
        """Return the result of one JSON-RPC call that only reads; retried on another endpoint if
        the node is lost."""
        return (await self.call_many([(method, params)]))[0]

    async def call_many(self, requests: Sequence[Request]) -> list[Any]:
        """Return the results of several reading calls, in one round trip."""
        async with self._exchange():
            return await self._ask(requests)

    async def submit(self, method: str, *params: Any) -> Any:
        """Return the result of a call that changes something: never sent twice, even if the answer
        is lost."""
        async with self._exchange():
            return await (await self._open()).call(method, *params)

    async def version(self) -> dict[str, Any]:
        """Return `state_getRuntimeVersion` as it is now, or was a moment ago."""
        self._runs = None
        async with self._exchange():
            return await self._current_version()

    async def subscribe(
        self, method: str, *params: Any, deadline: float | None = None, ended_by: str = ""
    ) -> AsyncGenerator[Any]:
        """Yield what the node tells of a subscription, until *deadline* (time.monotonic); never
        subscribed to twice.

        Leave it before its end by closing it (`aclosing`): *ended_by* is the method that tells the
        node so.
        """
        async with self._subscription(keep=bool(ended_by)):
            async with self._exchange():
                connection = await self._open()
            notices = connection.subscribe(method, *params, deadline=deadline, ended_by=ended_by)
            try:
                while True:
                    async with self._exchange():
                        try:
                            notice = await anext(notices)
                        except StopAsyncIteration:
                            return
                    yield notice
            finally:
                await notices.aclose()

    async def close(self) -> None:
        """Abort a connection that is still borrowed."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await self._pool.discard(connection)

    # Whose turn it is, and on which connection

    @asynccontextmanager
    async def _exchange(self) -> AsyncIterator[None]:
        """Run the block as the only exchange of this client, on an idle connection if there is
        one."""
        async with self._turn:
            if time.monotonic() - self._asked > _FORGOTTEN:
                self._runs = None
            if self._subscriptions:
                async with self._whole():
                    yield
                return
            await self._pool.take_turn(subscription=False)
            try:
                self._connection = self._pool.borrow(self._last, self._avoided)
                async with self._whole():
                    yield
            finally:
                try:
                    await self._give_back()
                finally:
                    self._pool.end_turn(subscription=False)

    @asynccontextmanager
    async def _whole(self) -> AsyncIterator[None]:
        """Drop the connection if the block fails before it has read all answers."""
        whole = False
        try:
            yield
            whole = True
        except (ChainRefused, InvalidRequest):
            whole = True
            raise
        finally:
            self._asked = time.monotonic()
            if self._connection is not None:
                self._last = self._connection
                self.endpoints_asked[self._last.endpoint] = None
                if not whole:
                    await self.close()

    async def _give_back(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await self._pool.give_back(connection)

    @asynccontextmanager
    async def _subscription(self, *, keep: bool) -> AsyncIterator[None]:
        """Keep one connection for the block: the notifications of a subscription come on the
        connection that began it.

        With *keep*, others may use it afterwards. A node that was not told of the end goes on
        notifying.
        """
        async with self._turn:
            if not self._subscriptions:
                await self._pool.take_turn(subscription=True)
                self._connection = self._pool.borrow(self._last, self._avoided)
            self._subscriptions += 1
        try:
            yield
        finally:
            self._subscriptions -= 1
            if not self._subscriptions:
                try:
                    await (self._give_back() if keep else self.close())
                finally:
                    self._pool.end_turn(subscription=True)

    async def _open(self) -> NodeConnection:
        """Return the connection if it answered a moment ago, else a new one."""
        connection = self._connection
        avoid = self._avoided
        if connection is not None and time.monotonic() - connection.heard > QUIET:
            patience = STALLED if len(self.chain.endpoints) > 1 else self.timeouts.opening
            try:
                await connection.ask_version(patience)
            except ChainUnreachable:
                await self.close()
                avoid = connection.endpoint
            except ChainRefused:
                # It is there, and that is all that was wanted to know.
                connection.heard = time.monotonic()
        if self._connection is None:
            self._connection = await self._pool.open(self.timeouts, avoid)
            self._avoided = ""
        return self._of_same_runtime(self._connection)

    def _of_same_runtime(self, connection: NodeConnection) -> NodeConnection:
        """Refuse *connection* if its node has another runtime than the earlier answers came
        from."""
        before, now = self._runs, runtime_of(connection.version)
        if before is not None and before != now:
            raise ChainUnreachable(
                f"{connection.endpoint} runs {now[0]} {now[1]} now, and this was begun "
                f"with {before[0]} {before[1]}: try again"
            )
        return connection

    # What is asked again elsewhere

    async def _ask(self, requests: Sequence[Request]) -> list[Any]:
        """Send requests that only read; if a cheap one gets no prompt answer, try another
        endpoint."""
        if self._subscriptions or not all(method in SMALL for method, _ in requests):
            return await self._read(lambda connection: connection.call_many(requests))
        connection = await self._open()
        try:
            exchange = await connection.begin(requests)
            try:
                return await connection.finish(exchange, self.timeouts.prompt)
            except NodeTimeout:
                other = await self._replace(connection)
            if other is None:
                # Slow, it may be, and there is no better one.
                return await connection.finish(exchange)
        except ChainUnreachable:
            return await self._read_elsewhere(connection, lambda other: other.call_many(requests))
        return await other.call_many(requests)

    async def _replace(self, connection: NodeConnection) -> NodeConnection | None:
        """Open another connection in place of *connection*, which is kept if no other can be
        had."""
        try:
            other = await self._pool.open(self.timeouts, connection.endpoint)
        except ChainUnreachable:
            return None
        if runtime_of(other.version) != runtime_of(connection.version):
            await self._pool.discard(other)
            return None
        await self.close()
        self._connection = other
        return other

    async def _read(self, ask: Callable[[NodeConnection], Awaitable[T]]) -> T:
        """Call *ask*, and once more on another connection if this one is lost."""
        connection = await self._open()
        try:
            return await ask(connection)
        except ChainUnreachable:
            return await self._read_elsewhere(connection, ask)

    async def _read_elsewhere(
        self, connection: NodeConnection, ask: Callable[[NodeConnection], Awaitable[T]]
    ) -> T:
        """Call *ask* on a new connection in place of *connection*, which is lost."""
        await self.close()
        self._connection = other = await self._pool.open(self.timeouts, connection.endpoint)
        if runtime_of(other.version) != runtime_of(connection.version):
            if other.endpoint != connection.endpoint:
                self._avoided = connection.endpoint
            # What was asked is written in the types of the runtime that is gone, and so would the
            # answer be read.
            name, number = runtime_of(other.version)
            raise ChainUnreachable(
                f"{connection.endpoint} went away, and {other.endpoint} runs another "
                f"runtime, {name} {number}: try again"
            ) from None
        return await ask(other)

    async def _current_version(self) -> dict[str, Any]:
        """Return the runtime version, asked again if the last answer is old: runtimes are
        upgraded."""
        connection = await self._open()
        if time.monotonic() - connection.version_asked > self._pool.believed:
            patience = None if self._subscriptions else self.timeouts.prompt
            await self._read(lambda asked: asked.ask_version(patience))
            connection = await self._open()
        return connection.version
