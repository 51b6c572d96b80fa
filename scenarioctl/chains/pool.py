"""The connection to one chain, which all commands, requests and runs of a process share.

It is opened when somebody asks, and again, at another endpoint if there is one, when it is lost.
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
from scenarioctl.chains.tables import Tables, runtime_of
from scenarioctl.errors import ChainRefused, ChainUnreachable
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


#: Seconds for which a runtime version that the node reported is trusted.
BELIEVED = 1.0
#: Idle seconds after which a connection is checked before use: its node may be gone.
QUIET = 1.0
#: Timeout of that check, in seconds, if the chain has another endpoint.
STALLED = 0.5


class Pool:
    """The connection to one chain, on one event loop."""

    def __init__(
        self,
        chain: Chain,
        *,
        known: RuntimeTable | None,
        cache: Path,
        backoff: Backoff | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        """Begin with the table that is *known*; *cache* is the directory of the chain's tables."""
        self.chain = chain
        self.cache = cache
        self.tables = Tables(known)
        self._known = known
        self.backoff = backoff or Backoff()
        self.timeouts = timeouts or TIMEOUTS
        self.believed = BELIEVED
        self._current: NodeConnection | None = None
        #: All that may be open: those that were replaced close when nobody waits for them.
        self._opened: list[NodeConnection] = []
        self._turn = asyncio.Lock()
        #: Of the connection that is being opened.
        self._opening: asyncio.Timeout | None = None
        self._closed = False
        #: Pools of some of the endpoints, of which is asked what others told.
        self._parts: dict[tuple[str, ...], Pool] = {}

    @cached_property
    def block_seconds(self) -> float:
        """How long a block of the chain takes, in seconds."""
        return block_seconds(self._known)

    def only(self, endpoints: tuple[str, ...]) -> "Pool":
        """Return the pool of these endpoints alone."""
        if endpoints not in self._parts:
            self._parts[endpoints] = part = Pool(
                replace(self.chain, endpoints=endpoints),
                known=self._known,
                cache=self.cache,
                timeouts=self.timeouts,
            )
            # What is confirmed of a runtime is so for all endpoints.
            part.tables = self.tables
        return self._parts[endpoints]

    def retire(self) -> None:
        """Close the connections when nobody waits for them any more."""
        for part in self._parts.values():
            part.retire()
        for connection in self._opened:
            connection.retire()

    async def close(self) -> None:
        """Close the connections, whoever waits for them."""
        self._closed = True
        if self._opening is not None:
            self._opening.reschedule(0)
        await asyncio.gather(
            *(part.close() for part in self._parts.values()),
            *(connection.close() for connection in self._opened),
        )

    async def connection(self, instead_of: NodeConnection | None = None) -> NodeConnection:
        """Return the connection that all share, another one if it is lost or *instead_of*.

        ChainUnreachable if no endpoint answers, or if it is too early to ask them again.
        """
        async with self._turn:
            current = self._current
            if current is not None and current is not instead_of and await self._answers(current):
                return current
            current = await self._open(current.endpoint if current else "")
            self._use(current)
            return current

    async def replace(self, slow: NodeConnection) -> NodeConnection | None:
        """Return another connection than the *slow* one, with the same runtime; None if there is
        none."""
        async with self._turn:
            other = self._current
            if other is slow:
                try:
                    other = await self._open(slow.endpoint)
                except ChainUnreachable:
                    return None
            if other is None or runtime_of(other.version) != runtime_of(slow.version):
                if other is not None and other is not self._current:
                    await other.close()
                return None
            self._use(other)
            return other

    def _use(self, connection: NodeConnection) -> None:
        before, self._current = self._current, connection
        if before is not None and before is not connection:
            before.retire()

    async def _answers(self, connection: NodeConnection) -> bool:
        if not connection.lost and time.monotonic() - connection.heard > QUIET:
            several = len(self.chain.endpoints) > 1
            try:
                await connection.ask_version(STALLED if several else self.timeouts.opening)
            except ChainRefused:
                # It is there, and that is all that was wanted to know.
                pass
            except ChainUnreachable:
                return False
        return not connection.lost

    async def _open(self, avoid: str) -> NodeConnection:
        """Open a connection; the endpoint *avoid* is tried last."""
        if not self._closed:
            self.backoff.check()
        try:
            async with asyncio.timeout(-1 if self._closed else None) as self._opening:
                connection = await connect(self.chain, self.timeouts, avoid=avoid)
        except TimeoutError:
            raise PoolClosed(
                f"the connections to {self.chain.title} were closed before it answered"
            ) from None
        except ChainUnreachable as error:
            self.backoff.failed(str(error))
            raise
        finally:
            self._opening = None
        self.backoff.succeeded()
        self._opened = [each for each in self._opened if not each.lost] + [connection]
        return connection
