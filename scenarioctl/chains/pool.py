"""The connections of a daemon to one chain: few, kept, each used by one thread at a time, and never on the event loop.

Every request and run has a client of its own (`Pool.client`), whose connection is lent for one exchange with the node
at a time: a run that waits an hour for a webhook keeps nobody from asking.  A client gets the connection again that it had
before, where that is idle, and never reads an answer with the types of a runtime that another node has.
"""

import asyncio
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import ceil
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from scenarioctl.chains.client import CONFIRMING, Client
from scenarioctl.chains.connection import Attempts, Connection, GivenUp, connect
from scenarioctl.chains.registry import Chain
from scenarioctl.chains.tables import Runs, Tables, runtime_of
from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest
from scenarioctl.runtime.table import RuntimeTable

T = TypeVar("T")

#: Connections for questions, and besides them those on which a subscription tells of blocks.
SIZE, SUBSCRIPTIONS = 4, 16
#: Seconds to wait until one is free.
PATIENCE = 10.0
#: Seconds after which a connection that was idle is asked for its runtime first: its node may be gone.
_QUIET = 1.0
#: Seconds that it may take to answer, where there is another endpoint.
_STALLED = 0.5
#: Seconds without a question after which nothing is built any more with what was asked before.
_FORGOTTEN = 30.0
#: Seconds between two attempts to reach a chain: from, to.
_SHORTEST, _LONGEST = 0.5, 30.0


class Backoff:
    """When a chain that could not be reached is tried again, and by whom: by one at a time."""

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, chance: Callable[[], float] = random.random
    ) -> None:
        """Take the time in seconds from *clock*, and from *chance* a number from 0 to 1, so that not all come at once."""
        self._clock = clock
        self._chance = chance
        self._lock = threading.Lock()
        self._failures = 0
        self._reason = ""
        self._next = 0.0
        self._trying = False

    def check(self) -> None:
        """Raise ChainUnreachable, with the last reason, where it is not the time to try."""
        with self._lock:
            self._check()

    @property
    def is_resting(self) -> bool:
        """Tell whether the newest attempt failed."""
        return self._failures > 0

    def begin(self) -> None:
        """Be the one who tries; raises as `check`."""
        with self._lock:
            self._check()
            self._trying = True

    def succeeded(self) -> None:
        with self._lock:
            self._failures, self._trying = 0, False

    def failed(self, reason: str) -> None:
        with self._lock:
            self._trying = False
            self._reason = reason
            if self._failures and self._clock() < self._next:
                # Several began before the first of them failed: that is one failure.
                return
            wait = min(_SHORTEST * 2**self._failures, _LONGEST)
            self._failures = min(self._failures + 1, 16)
            self._next = self._clock() + wait * (0.75 + self._chance() / 4)

    def gave_up(self) -> None:
        """Let another try: this attempt has said nothing about the chain."""
        with self._lock:
            self._trying = False

    def _check(self) -> None:
        if not self._failures:
            return
        wait = self._next - self._clock()
        if wait > 0:
            raise ChainUnreachable(f"{self._reason}, tried again in {ceil(wait)} s")
        if self._trying:
            raise ChainUnreachable(f"{self._reason}, being tried again now")


class Pool:
    """Lives on the event loop; its threads touch nothing of it but `connect`."""

    def __init__(
        self,
        chain: Chain,
        *,
        known: RuntimeTable | None,
        cache: Path,
        size: int = SIZE,
        patience: float = PATIENCE,
        backoff: Backoff | None = None,
    ) -> None:
        self.chain = chain
        self.cache = cache
        self.tables = Tables(known)
        self.backoff = backoff or Backoff()
        self.patience = patience
        #: Seconds for which a chain is believed to run what it said that it runs.
        self.believed = 1.0
        self.threads = ThreadPoolExecutor(size + SUBSCRIPTIONS, thread_name_prefix=chain.name)
        self._size = size
        self._turns = asyncio.Semaphore(size)
        self._subscriptions = asyncio.Semaphore(SUBSCRIPTIONS)
        #: The one that was used last is last.
        self._idle: list[Connection] = []
        self._busy: set[PooledClient] = set()
        self._retired = False

    def client(self) -> "PooledClient":
        """Return a client for one request or run."""
        return PooledClient(self)

    def retire(self) -> None:
        """Keep no connection any more; what has begun goes on."""
        self._retired = True
        while self._idle:
            self.discard(self._idle.pop())

    async def close(self) -> None:
        """Cut what is still asked, and close what is idle."""
        self._retired = True
        for client in self._busy:
            client.stop()
        loop = asyncio.get_running_loop()
        closing = [loop.run_in_executor(self.threads, connection.close) for connection in self._idle]
        self._idle.clear()
        if closing:
            await asyncio.wait(closing)
        self.threads.shutdown(wait=False, cancel_futures=True)

    # For its clients

    async def take_turn(self, client: "PooledClient", *, subscription: bool) -> None:
        if not self._idle:
            # Who cannot be helped does not stand in the queue either.
            self.backoff.check()
        turns = self._subscriptions if subscription else self._turns
        if not turns.locked():
            await turns.acquire()
        else:
            try:
                async with asyncio.timeout(self.patience):
                    await turns.acquire()
            except TimeoutError:
                count = SUBSCRIPTIONS if subscription else self._size
                raise ChainUnreachable(
                    f"{self.chain.name} is being asked too much: its {count} connections were in use for {self.patience:g} seconds, try again"
                ) from None
        self._busy.add(client)

    def end_turn(self, client: "PooledClient", *, subscription: bool) -> None:
        self._busy.discard(client)
        (self._subscriptions if subscription else self._turns).release()

    def look(self, last: Connection | None) -> Connection | None:
        """Return the idle connection that is best for who used *last* before, and leave it here."""
        if last in self._idle:
            return last
        if last is not None:
            for connection in reversed(self._idle):
                if connection.endpoint == last.endpoint and connection.version == last.version:
                    return connection
        return self._idle[-1] if self._idle else None

    def lend(self, last: Connection | None) -> Connection | None:
        """Return such a connection for nobody else to use; None where one is still to be opened."""
        connection = self.look(last)
        if connection is not None:
            self._idle.remove(connection)
        return connection

    def give_back(self, connection: Connection) -> None:
        if self._retired:
            self.discard(connection)
        else:
            self._idle.append(connection)

    def discard(self, connection: Connection) -> None:
        """Close *connection*, in a thread: the other side may take its time."""
        connection.abort()
        try:
            self.threads.submit(connection.close)
        except RuntimeError:
            # No thread begins any more when the pool is closed.
            connection.close()

    def connect(self, opening: float, avoid: tuple[str, ...], ended: Attempts) -> Connection:
        """Open a connection, if it is time to try; called in a thread, and ended by a GivenUp in *ended*."""
        self.backoff.begin()
        try:
            connection = connect(self.chain, opening=opening, avoid=avoid, ended=ended)
        except GivenUp:
            self.backoff.gave_up()
            raise
        except ChainUnreachable as error:
            self.backoff.failed(str(error))
            raise
        except BaseException:
            self.backoff.gave_up()
            raise
        self.backoff.succeeded()
        return connection


class PooledClient(Client):
    """A client whose exchanges go on in threads, on a connection that is its own meanwhile.

    Handlers and runs ask one thing after another.  Were two coroutines of a session to ask side by side, the exchanges
    would still go one by one, but what one begins could clear the runtime that the other's answers are held to.
    """

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool.chain, cache=pool.cache, tables=pool.tables)
        self.believed = pool.believed
        self._pool = pool
        self._turn = asyncio.Lock()
        #: The connection used last, which may be another's by now.
        self._last: Connection | None = None
        #: The runtime that was told: what is asked next is written in its types.
        self._runs: Runs | None = None
        self._asked = 0.0
        #: What a thread still does though nobody waits for it.
        self._left: asyncio.Future[Any] | None = None
        #: Tells that thread to begin nothing more.
        self._stopped = threading.Event()
        #: Where that thread hears of it while it opens a connection.
        self._attempts: Attempts | None = None

    @property
    def endpoint(self) -> str:
        connection = self._connection or self._last
        return connection.endpoint if connection else ""

    @property
    def latency(self) -> float:
        connection = self._connection or self._last
        return connection.latency if connection else 0.0

    async def table(self) -> RuntimeTable:
        found = self._known_table()
        if found is None:
            self._runs = None
            async with self._turn:
                await self._begin()
                # Whoever had the turn before may have asked just now.
                found = self._table_of(self._connection)
                if found is None:
                    found = await self._work(self._current_table)
                else:
                    self._end()
        self._runs = (found.spec_name, found.spec_version)
        return found

    async def version(self) -> dict[str, Any]:
        self._runs = None
        connection = self._look()
        if connection is None or not self._is_fresh(connection):
            return await super().version()
        self._last = connection
        return connection.version

    async def table_at(self, block: str) -> RuntimeTable:
        # What is read at a block is read with that block's types.
        self._runs = None
        return await super().table_at(block)

    async def fetch_table(self) -> RuntimeTable:
        self._runs = None
        return await super().fetch_table()

    async def close(self) -> None:
        if self._holds:
            await self._let_go(None)

    def stop(self) -> None:
        """Let the thread that works for it, if any, come to an end; what it was asked fails."""
        self._stopped.set()
        attempts = self._attempts
        for connection in (self._connection, self._second):
            if connection is not None:
                connection.abort()
        if attempts is not None:
            attempts.put(self._given_up())

    # What is known without a word to the node

    def _known_table(self) -> RuntimeTable | None:
        """Return the table of the runtime that an idle connection's node told of a moment ago."""
        connection = self._look()
        found = self._table_of(connection)
        if found is not None:
            # What was told by one node is asked of that node.
            self._last = connection
        return found

    def _look(self) -> Connection | None:
        if self._turn.locked() or self._left is not None:
            return None
        return self._connection if self._holds else self._pool.look(self._last)

    def _table_of(self, connection: Connection | None) -> RuntimeTable | None:
        if connection is None or not self._is_fresh(connection):
            return None
        return self.tables.find(runtime_of(connection.version), connection.endpoint)

    def _is_fresh(self, connection: Connection) -> bool:
        return time.monotonic() - connection.version_told <= self.believed

    # On the event loop

    async def _run(self, action: Callable[[], T]) -> T:
        async with self._turn:
            await self._begin()
            return await self._work(action)

    async def _begin(self) -> None:
        await self._wait_for_left()
        if time.monotonic() - self._asked > _FORGOTTEN:
            self._runs = None
        if not self._holds:
            await self._pool.take_turn(self, subscription=False)
            self._connection = self._pool.lend(self._last)

    async def _wait_for_left(self) -> None:
        while self._left is not None:
            await asyncio.wait((self._left,))
            # It is cleared in a callback of its own.
            await asyncio.sleep(0)

    async def _work(self, action: Callable[[], T]) -> T:
        """Run *action* in a thread, then end the turn."""
        future = asyncio.get_running_loop().run_in_executor(self._pool.threads, action)
        try:
            await asyncio.wait((future,))
        except BaseException:
            # Cancelled: the thread may be at it still, and nobody else gets its connection.
            self.stop()
            self._left = future
            future.add_done_callback(self._clear)
            raise
        self._asked = time.monotonic()
        problem = future.exception()
        # An answer may still be on its way, for somebody who would not expect it.
        self._end(whole=problem is None or isinstance(problem, (ChainRefused, InvalidRequest)))
        return future.result()

    def _end(self, *, whole: bool = True) -> None:
        connection = self._connection
        if connection is not None:
            self._last = connection
            if not whole:
                self._connection = None
                self._pool.discard(connection)
        if self._holds:
            return
        if self._connection is not None:
            self._pool.give_back(self._connection)
            self._connection = None
        self._pool.end_turn(self, subscription=False)

    def _clear(self, future: "asyncio.Future[Any]") -> None:
        """Clean up after the thread that nobody waited for."""
        if not future.cancelled():
            future.exception()
        connection, self._connection = self._connection, None
        if connection is not None:
            self._pool.discard(connection)
        subscription, self._holds = self._holds > 0, 0
        self._left = None
        self._stopped.clear()
        self._pool.end_turn(self, subscription=subscription)

    async def _hold(self) -> None:
        async with self._turn:
            await self._wait_for_left()
            if not self._holds:
                await self._pool.take_turn(self, subscription=True)
                self._connection = self._pool.lend(self._last)
            self._holds += 1

    async def _let_go(self, _notices: Any) -> None:
        if self._left is not None or not self._holds:
            return
        self._holds -= 1
        if not self._holds:
            connection, self._connection = self._connection, None
            if connection is not None:
                # Its node may tell more; nobody else is to hear that.
                self._pool.discard(connection)
            self._pool.end_turn(self, subscription=True)

    # In a thread

    def _open(self) -> Connection:
        connection = self._connection
        avoid: tuple[str, ...] = ()
        if connection is not None and time.monotonic() - connection.heard > _QUIET:
            try:
                connection.ask_version(_STALLED if len(self.chain.endpoints) > 1 else self.opening)
            except ChainUnreachable:
                self._forget()
                avoid = (connection.endpoint,)
            except ChainRefused:
                # It is there, if not in the mood.
                connection.heard = time.monotonic()
        if self._connection is None:
            self._connection = self._connect(*avoid)
        if self._stopped.is_set():
            # While it was opened: nobody has cut it.
            raise self._given_up()
        return self._of_same_runtime(self._connection)

    def _of_same_runtime(self, connection: Connection) -> Connection:
        """Refuse *connection* where its node runs something else than what was begun with."""
        before, now = self._runs, runtime_of(connection.version)
        if before is not None and before != now:
            raise ChainUnreachable(
                f"{connection.endpoint} runs {now[0]} {now[1]} now, and this was begun with {before[0]} {before[1]}: try again"
            )
        return connection

    def _connect(self, *avoid: str) -> Connection:
        self._attempts = SimpleQueue()
        # Whoever stops it either sees the queue, or has been seen here.
        if self._stopped.is_set():
            raise self._given_up()
        try:
            return self._pool.connect(self.opening, avoid, self._attempts)
        finally:
            self._attempts = None

    def _connect_second(self, others: Chain) -> Connection:
        self._attempts = SimpleQueue()
        if self._stopped.is_set():
            raise self._given_up()
        try:
            return connect(others, opening=self.opening, answering=CONFIRMING, ended=self._attempts)
        finally:
            self._attempts = None

    def _given_up(self) -> GivenUp:
        return GivenUp(f"{self.chain.name} is not asked any more, nobody waits for the answer")
