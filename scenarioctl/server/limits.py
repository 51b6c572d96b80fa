"""Limits of the daemon: requests per client, requests at once, and connections."""

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType

from scenarioctl.config import Settings
from scenarioctl.errors import RateLimited
from scenarioctl.token_buckets import TokenBuckets

log = logging.getLogger("scenarioctl.daemon")

#: Requests that may wait, for each request slot …
WAITING_PER_REQUEST = 4
#: … and for how many seconds.
WAITING_SECONDS = 10.0
#: Seconds between two warnings about closed connections.
_SILENCE = 60.0


class Limits:
    """The limits in force, which a reload changes, and their current use."""

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clients = TokenBuckets()
        self._short = RequestSlots(settings.requests)
        #: Separate slots, of the same number, for requests that wait for webhooks or web servers.
        self._long = RequestSlots(settings.requests)
        #: Open connections …
        self.open = 0
        #: … and those of each client.
        self._open_of: dict[str, int] = {}
        #: Time of the last warning about closed connections.
        self._told = -math.inf
        self._clock = clock
        self.change(settings)

    def change(self, settings: Settings) -> None:
        """Apply the limits of *settings*."""
        self._rate = settings.rate
        self._short.at_once = self._long.at_once = settings.requests
        self.connections = settings.connections
        self.client_connections = settings.client_connections
        self.seconds = float(settings.request_seconds)

    def enter(self, client: str) -> bool:
        """Count a connection of *client*, as `peer_of` names it; return False, without counting it, if there are too many."""
        of_client = self._open_of.get(client, 0)
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
        left = self._open_of.pop(client) - 1
        if left:
            self._open_of[client] = left

    def _tell(self, sentence: str, *values: object) -> None:
        """Log a warning, at most once a minute: a refused client reconnects."""
        now = self._clock()
        if now - self._told >= _SILENCE:
            self._told = now
            log.warning(sentence, *values)

    def admit(self, client: str) -> None:
        """Count a request of *client*, as `Access` names it; raise RateLimited if it sends too many."""
        wait = self._clients.take(client, self._rate, self._clock())
        if wait:
            raise _limited(f"this client sends more than {self._rate} requests per second", wait)

    def slots(self, *, waits: bool = False) -> "RequestSlots":
        """Return the request slots. Hold one while processing a request, but not while sending its response."""
        return self._long if waits else self._short

    @property
    def busy(self) -> int:
        """Number of requests in progress."""
        return self._short.busy + self._long.busy

    @property
    def waiting(self) -> int:
        """Number of requests waiting for a slot."""
        return self._short.waiting + self._long.waiting


class RequestSlots:
    """A semaphore with a bounded queue: requests beyond the queue are refused."""

    def __init__(self, at_once: int) -> None:
        self.at_once = at_once
        self.busy = 0
        self._line: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        return len(self._line)

    async def __aenter__(self) -> None:
        await self.enter()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()

    async def enter(self, *, again: bool = False) -> None:
        """Wait for a slot; raise RateLimited if the queue is full or the wait too long.

        A request that had a slot before enters *again*: it is the next, and not refused.
        """
        if self.busy < self.at_once and not self._line:
            self.busy += 1
            return
        if not again and len(self._line) >= self.at_once * WAITING_PER_REQUEST:
            raise _limited(f"the daemon is busy: {self.busy} in progress and {len(self._line)} waiting", 1)
        turn = asyncio.get_running_loop().create_future()
        if again:
            self._line.appendleft(turn)
        else:
            self._line.append(turn)
        try:
            async with asyncio.timeout(None if again else WAITING_SECONDS):
                await turn
        except BaseException as error:
            if turn.cancelled():
                # `leave` may have removed it from the queue already, without counting it.
                if turn in self._line:
                    self._line.remove(turn)
            else:
                # It got the slot at the moment it gave up.
                self.leave()
            if isinstance(error, TimeoutError):
                raise _limited(
                    f"the daemon is busy: this request waited {WAITING_SECONDS:g} s for {self.busy} in progress",
                    1,
                ) from None
            raise

    def leave(self) -> None:
        """Release the slot to the next requests in the queue."""
        self.busy -= 1
        # There may be several free slots after a reload raised the limit.
        while self._line and self.busy < self.at_once:
            turn = self._line.popleft()
            if not turn.done():
                self.busy += 1
                turn.set_result(None)


def _limited(reason: str, wait: float) -> RateLimited:
    seconds = max(1, math.ceil(wait))
    return RateLimited(
        f"{reason}; try again in {seconds} second{'s' if seconds > 1 else ''}",
        details={"retry_after": seconds},
    )
