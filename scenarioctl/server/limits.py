"""Limits of the daemon: requests of a client, connections, large bodies, and costly work.

What takes a thread, or long on the event loop, waits for one of few places, so that other requests
go on whatever a client sends.
"""

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from scenarioctl.config import Settings
from scenarioctl.errors import NotReady, RateLimited
from scenarioctl.token_buckets import TokenBuckets

log = logging.getLogger("scenarioctl.daemon")

#: Requests at costly work at the same time.
AT_ONCE = 4
#: Seconds for which a request waits for costly work.
WAITING_SECONDS = 10.0
#: Memory for large bodies, in units of the largest allowed body.
LARGE_AT_ONCE = 4
#: Seconds between two warnings about closed connections.
_SILENCE = 60.0


class Limits:
    """The limits in force, which a reload changes, and their current use."""

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clients = TokenBuckets()
        #: Open connections of each client.
        self._open = Counter[str]()
        #: Time of the last warning about closed connections.
        self._told = -math.inf
        self._clock = clock
        self.places = asyncio.Semaphore(AT_ONCE)
        #: Bytes of large bodies in memory.
        self.held = 0
        self.change(settings)

    def change(self, settings: Settings) -> None:
        """Apply the limits of *settings*."""
        self._rate = settings.rate
        self.connections = settings.connections
        self.client_connections = settings.client_connections
        self.seconds = float(settings.request_seconds)
        self._bodies = LARGE_AT_ONCE * settings.body_limit

    @property
    def open(self) -> int:
        """The number of open connections."""
        return self._open.total()

    def enter(self, client: str) -> bool:
        """Count a connection of *client*, as `peer_of` names it; return False, without counting it,
        if there are too many."""
        of_client = self._open[client]
        if self.open < self.connections and of_client < (self.client_connections or math.inf):
            self._open[client] += 1
            return True
        now = self._clock()
        if now - self._told >= _SILENCE:
            # Only one of many: a refused client reconnects.
            self._told = now
            log.warning(
                "new connections of %s are closed: it has %d open (client_connections=), and all "
                "clients have %d (connections=)",
                client,
                of_client,
                self.open,
            )
        return False

    def leave(self, client: str) -> None:
        """Remove a connection of *client* from the count."""
        self._open[client] -= 1
        self._open += Counter()

    def admit(self, client: str) -> None:
        """Count a request of *client*, as `Access` names it; raise RateLimited if it sends too
        many."""
        wait = self._clients.take(client, self._rate, self._clock())
        if wait:
            seconds = max(1, math.ceil(wait))
            raise RateLimited(
                f"this client sends more than {self._rate} requests per second; try again in "
                f"{seconds} second{'s' if seconds > 1 else ''}",
                details={"retry_after": seconds},
            )

    def hold(self, count: int) -> None:
        """Count bytes of a large body; NotReady if there is no room for them."""
        self.held += count
        if self.held > self._bodies:
            raise full("other large bodies are on their way")


class Turn:
    """The costly work of one request: parts of it that are in progress together share a place."""

    def __init__(self, limits: Limits) -> None:
        self._places = limits.places
        self._is_held = False
        #: What has begun is not refused.
        self._patience: float | None = WAITING_SECONDS

    @asynccontextmanager
    async def costly(self) -> AsyncIterator[None]:
        """Hold a place for costly work; NotReady if the wait for the first one is too long."""
        if self._is_held:
            yield
            return
        self._is_held = True
        try:
            async with asyncio.timeout(self._patience):
                await self._places.acquire()
        except TimeoutError:
            raise full(f"this costly request waited {WAITING_SECONDS:g} s for others") from None
        self._patience = None
        try:
            yield
        finally:
            self._is_held = False
            self._places.release()


def full(reason: str) -> NotReady:
    """Return the error of a request that has no place."""
    return NotReady(
        f"the daemon is busy: {reason}; try again in 1 second", details={"retry_after": 1}
    )
