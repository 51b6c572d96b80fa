"""Limits of the daemon: requests of a client, connections, and costly work.

What takes a thread, or long on the event loop, waits for a place, of which each client has one, so
that other requests go on whatever one client sends.
"""

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from weakref import WeakValueDictionary

from scenarioctl.config import Settings
from scenarioctl.errors import NotReady, RateLimited
from scenarioctl.token_buckets import TokenBuckets

log = logging.getLogger("scenarioctl.daemon")

#: Requests at costly work at the same time, one of each client at most.
AT_ONCE = 4
#: Seconds for which a request waits for costly work.
WAITING_SECONDS = 10.0
#: Seconds between two warnings about closed connections.
_SILENCE = 60.0


class Limits:
    """The limits in force, which a reload changes, and their current use."""

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clients = TokenBuckets()
        #: Open connections …
        self.open = 0
        #: … and those of each client.
        self._open_of = Counter[str]()
        #: Time of the last warning about closed connections.
        self._told = -math.inf
        self._clock = clock
        self._costly = asyncio.Semaphore(AT_ONCE)
        self._costly_of = WeakValueDictionary[str, asyncio.Lock]()
        self.change(settings)

    def change(self, settings: Settings) -> None:
        """Apply the limits of *settings*."""
        self._rate = settings.rate
        self.connections = settings.connections
        self.client_connections = settings.client_connections
        self.seconds = float(settings.request_seconds)

    def enter(self, client: str) -> bool:
        """Count a connection of *client*, as `peer_of` names it; return False, without counting it,
        if there are too many."""
        of_client = self._open_of[client]
        if self.open >= self.connections:
            self._tell("new connections are closed: %d are open (connections=)", self.open)
            return False
        if self.client_connections and of_client >= self.client_connections:
            self._tell(
                "new connections of %s are closed: it has %d open (client_connections=)",
                client,
                of_client,
            )
            return False
        self.open += 1
        self._open_of[client] = of_client + 1
        return True

    def leave(self, client: str) -> None:
        """Remove a connection of *client* from the count."""
        self.open -= 1
        self._open_of[client] -= 1
        self._open_of += Counter()

    def _tell(self, sentence: str, *values: object) -> None:
        """Log a warning, at most once a minute: a refused client reconnects."""
        now = self._clock()
        if now - self._told >= _SILENCE:
            self._told = now
            log.warning(sentence, *values)

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

    def places(self, client: str) -> tuple[AbstractAsyncContextManager[None], ...]:
        """Return what costly work of *client* has to hold: the others of the client wait for its
        own place, so that clients take turns at those of all."""
        own = self._costly_of.get(client) or self._costly_of.setdefault(client, asyncio.Lock())
        return own, self._costly


class Turn:
    """The costly work of one request: parts of it that are in progress together share a place."""

    def __init__(self, client: str, limits: Limits) -> None:
        self._client = client
        self._limits = limits
        self._held = AsyncExitStack()
        self._parts = 0
        self._changing = asyncio.Lock()
        #: It has had a place: what has begun is not refused.
        self._has_begun = False

    @asynccontextmanager
    async def costly(self, *, begun: bool = False) -> AsyncIterator[None]:
        """Hold a place for costly work; NotReady if the wait is too long.

        What has *begun* is not refused: a later part of a request, or the answer to it.
        """
        async with self._changing:
            if not self._parts:
                await self._enter(None if begun or self._has_begun else WAITING_SECONDS)
                self._has_begun = True
            self._parts += 1
        try:
            yield
        finally:
            self._parts -= 1
            if not self._parts:
                await self._held.aclose()

    async def _enter(self, patience: float | None) -> None:
        try:
            async with asyncio.timeout(patience):
                for place in self._limits.places(self._client):
                    await self._held.enter_async_context(place)
        except BaseException as error:
            await self._held.aclose()
            if isinstance(error, TimeoutError):
                raise full(f"this costly request waited {WAITING_SECONDS:g} s for others") from None
            raise


def full(reason: str) -> NotReady:
    """Return the error of a request that has no place."""
    return NotReady(
        f"the daemon is busy: {reason}; try again in 1 second", details={"retry_after": 1}
    )
