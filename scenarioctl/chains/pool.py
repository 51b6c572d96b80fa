"""A small pool of connections to one chain, each used for one exchange at a time.

Every command, request and run has a client of its own (`client.py`), which borrows a connection for
one exchange with the node: a run that waits an hour for a webhook blocks nobody.  A client gets the
connection again that it had before, if that is idle.
"""

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from math import ceil
from pathlib import Path

from scenarioctl.chains.availability import block_seconds
from scenarioctl.chains.connection import TIMEOUTS, NodeConnection, Timeouts, connect
from scenarioctl.chains.registry import Chain
from scenarioctl.chains.rpc_errors import PoolClosed
from scenarioctl.chains.tables import Tables
from scenarioctl.errors import ChainUnreachable
from scenarioctl.retries import delay_after
from scenarioctl.runtime.table import RuntimeTable

#: Shortest and longest delay between two attempts, in seconds.
_SHORTEST, _LONGEST = 0.5, 30.0


class Backoff:
    """Delays attempts to reach a chain after a failure."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """*clock* returns seconds; *chance* returns 0 to 1, for jitter."""
        self._clock = clock
        self._chance = chance
        self._failures = 0
        self._reason = ""
        self._next = 0.0

    def check(self) -> None:
        """Raise ChainUnreachable with the last reason if it is too early for another attempt."""
        wait = self._next - self._clock()
        if self._failures and wait > 0:
            raise ChainUnreachable(f"{self._reason}, tried again in {ceil(wait)} s")

    @property
    def is_resting(self) -> bool:
        """Whether the last attempt failed."""
        return self._failures > 0

    def succeeded(self) -> None:
        self._failures = 0

    def failed(self, reason: str) -> None:
        self._reason = reason
        if self._failures and self._clock() < self._next:
            # Several began before the first of them failed: that is one failure.
            return
        self._failures += 1
        wait = delay_after(self._failures, first=_SHORTEST, longest=_LONGEST)
        self._next = self._clock() + wait * (0.75 + self._chance() / 4)


#: Connections for requests, and further ones for subscriptions.
SIZE, SUBSCRIPTIONS = 4, 16
#: Seconds for which a runtime version that the node reported is trusted.
BELIEVED = 1.0
#: Seconds to wait for a free connection.
PATIENCE = 10.0


class Pool:
    """The connections to one chain, on one event loop."""

    def __init__(
        self,
        chain: Chain,
        *,
        known: RuntimeTable | None,
        cache: Path,
        size: int = SIZE,
        patience: float = PATIENCE,
        backoff: Backoff | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        """Begin with the table that is *known*; *cache* is the directory of the chain's tables."""
        self.chain = chain
        self.cache = cache
        self.tables = Tables(known)
        self._known = known
        self.backoff = backoff or Backoff()
        self.patience = patience
        self.timeouts = timeouts or TIMEOUTS
        self.believed = BELIEVED
        #: Idle connections, the most recently used last.
        self.idle: list[NodeConnection] = []
        self._size = size
        self._turns = asyncio.Semaphore(size)
        self._subscriptions = asyncio.Semaphore(SUBSCRIPTIONS)
        self._busy: set[NodeConnection] = set()
        self._opening: set[asyncio.Task[NodeConnection]] = set()
        self._closing: set[asyncio.Task[None]] = set()
        self._retired = self._closed = False

    @cached_property
    def block_seconds(self) -> float:
        """How long a block of the chain takes, in seconds."""
        return block_seconds(self._known)

    def retire(self) -> None:
        """Close idle connections now, and others when their exchange ends."""
        self._retired = True
        while self.idle:
            task = asyncio.create_task(self.idle.pop().close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Abort the exchanges in progress, and close idle connections."""
        self._retired = self._closed = True
        for task in self._opening:
            task.cancel()
        await asyncio.gather(*self._opening, *self._closing, return_exceptions=True)
        for connection in list(self._busy):
            await connection.abort()
        await asyncio.gather(*(connection.close() for connection in self.idle))
        self.idle.clear()

    # For its clients

    async def take_turn(self, *, subscription: bool) -> None:
        """Wait until another connection may be used; ChainUnreachable if that takes too long."""
        if not self.idle:
            # Nobody waits in the queue for a chain that can't be reached.
            self.backoff.check()
        turns = self._subscriptions if subscription else self._turns
        if not turns.locked():
            await turns.acquire()
            return
        try:
            async with asyncio.timeout(self.patience):
                await turns.acquire()
        except TimeoutError:
            count = SUBSCRIPTIONS if subscription else self._size
            raise ChainUnreachable(
                f"too many requests to {self.chain.title}: its {count} connections were "
                f"busy for {self.patience:g} s; try again in a moment"
            ) from None

    def end_turn(self, *, subscription: bool) -> None:
        (self._subscriptions if subscription else self._turns).release()

    def borrow(self, last: NodeConnection | None, avoid: str = "") -> NodeConnection | None:
        """Return the idle connection that is best for a client that used *last* before; None if one
        must be opened."""
        connection = self._best(last, avoid)
        if connection is not None:
            self.idle.remove(connection)
            self._busy.add(connection)
        return connection

    def _best(self, last: NodeConnection | None, avoid: str) -> NodeConnection | None:
        idle = [connection for connection in reversed(self.idle) if connection.endpoint != avoid]
        if last in idle:
            return last
        if last is not None:
            for connection in idle:
                if connection.endpoint == last.endpoint and connection.version == last.version:
                    return connection
        return next(iter(idle), None)

    async def give_back(self, connection: NodeConnection) -> None:
        self._busy.discard(connection)
        if self._retired:
            await connection.close()
        else:
            self.idle.append(connection)

    async def discard(self, connection: NodeConnection) -> None:
        """Abort *connection*: a late answer on it would confuse the next client."""
        self._busy.discard(connection)
        await connection.abort()

    async def open(self, timeouts: Timeouts, *avoid: str) -> NodeConnection:
        """Open a connection unless the backoff forbids it; endpoints in *avoid* are tried last."""
        self.backoff.check()
        try:
            connection = await self._connect(self.chain, timeouts, *avoid)
        except PoolClosed:
            raise
        except ChainUnreachable as error:
            self.backoff.failed(str(error))
            raise
        self.backoff.succeeded()
        return connection

    async def open_second(self, endpoints: tuple[str, ...]) -> NodeConnection:
        """Open a connection to one of *endpoints*, which may confirm what another one told."""
        timeouts = replace(self.timeouts, answering=self.timeouts.confirming)
        return await self._connect(replace(self.chain, endpoints=endpoints), timeouts)

    async def _connect(self, chain: Chain, timeouts: Timeouts, *avoid: str) -> NodeConnection:
        self._check_open()
        task = asyncio.create_task(connect(chain, timeouts, avoid=avoid))
        self._opening.add(task)
        try:
            connection = await task
        except asyncio.CancelledError:
            if task.done() and not task.cancelled() and task.exception() is None:
                # Opened a moment too late for anybody to use it.
                await task.result().abort()
            asking = asyncio.current_task()
            if asking is not None and not asking.cancelling():
                # It was not this task that was canceled: the pool closes.
                self._check_open()
            raise
        finally:
            self._opening.discard(task)
        self._busy.add(connection)
        return connection

    def _check_open(self) -> None:
        if self._closed:
            raise PoolClosed(
                f"the connections to {self.chain.title} were closed before it answered"
            ) from None
