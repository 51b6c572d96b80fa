"""Limits of the daemon: requests per client, requests at once, connections, and costly work.

What takes a thread, or long on the event loop, has a queue of its own, with places for each client.
It never waits in a request slot, so that other requests go on whatever one client sends.
"""

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import TracebackType

from scenarioctl.config import Settings
from scenarioctl.errors import NotReady, RateLimited
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
        """Count a connection of *client*, as `peer_of` names it; return False, without counting it,
        if there are too many."""
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
        """Count a request of *client*, as `Access` names it; raise RateLimited if it sends too
        many."""
        wait = self._clients.take(client, self._rate, self._clock())
        if wait:
            raise _limited(f"this client sends more than {self._rate} requests per second", wait)

    def slots(self, *, waits: bool = False) -> "RequestSlots":
        """Return the request slots. Hold one while processing a request, but not while sending its
        response."""
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
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
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
            raise _limited(
                f"the daemon is busy: {self.busy} in progress and {len(self._line)} waiting", 1
            )
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
                    (
                        f"the daemon is busy: this request waited {WAITING_SECONDS:g} s for "
                        f"{self.busy} in progress"
                    ),
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


#: Requests at costly work at the same time, one of each client at most.
AT_ONCE = 4
#: Requests of one client that may wait for it …
WAITING_OF_CLIENT = 32
#: … of all clients together …
WAITING = 128


class CostlyWork:
    """The requests at costly work, and those that wait for it; clients take turns."""

    def __init__(self) -> None:
        self._working: set[str] = set()
        #: Client -> its requests that wait; the client whose turn is next comes first.
        self._lines: dict[str, deque[asyncio.Future[None]]] = {}

    @property
    def busy(self) -> int:
        return len(self._working)

    @property
    def waiting(self) -> int:
        return sum(map(len, self._lines.values()))

    async def enter(self, client: str, *, begun: bool = False) -> None:
        """Wait for a turn of *client*; raise NotReady if the queue is full or the wait too long.

        A request whose work has *begun* is the next of its client, and not refused.
        """
        if client not in self._working and len(self._working) < AT_ONCE:
            self._working.add(client)
            return
        line = self._lines.setdefault(client, deque())
        if not begun and (len(line) >= WAITING_OF_CLIENT or self.waiting >= WAITING):
            raise _full(
                f"{len(line)} costly requests of this client and {self.waiting} in all are waiting"
            )
        turn = asyncio.get_running_loop().create_future()
        if begun:
            line.appendleft(turn)
        else:
            line.append(turn)
        try:
            async with asyncio.timeout(None if begun else WAITING_SECONDS):
                await turn
        except BaseException as error:
            if turn.cancelled():
                if turn in line:
                    line.remove(turn)
            else:
                # It got its turn at the moment it gave up.
                self.leave(client)
            if isinstance(error, TimeoutError):
                raise _full(
                    f"this costly request waited {WAITING_SECONDS:g} s for others"
                ) from None
            raise

    def leave(self, client: str) -> None:
        """Give the turn of *client* to the next client in line."""
        self._working.discard(client)
        for other in list(self._lines):
            if len(self._working) >= AT_ONCE:
                return
            line = self._lines[other]
            while line and other not in self._working:
                turn = line.popleft()
                if not turn.done():
                    self._working.add(other)
                    turn.set_result(None)
            # The client goes to the end, if it has requests left.
            if other in self._working or not line:
                del self._lines[other]
                if line:
                    self._lines[other] = line


class Turn:
    """Where one request of a client is: in a request slot, at costly work, or in neither."""

    def __init__(self, client: str, slots: RequestSlots, work: CostlyWork) -> None:
        self._client = client
        self._slots = slots
        self._work = work
        self._holds_slot = False
        #: Costly parts in progress: they share one place.
        self._parts = 0
        self._changing = asyncio.Lock()
        #: It has had a place for costly work: what has begun is not refused.
        self._has_begun = False

    async def enter(self) -> None:
        """Wait for a request slot, which a request at costly work doesn't need."""
        if not self._parts:
            await self._slots.enter()
            self._holds_slot = True

    def leave(self) -> None:
        """Leave the request slot, if it is in one."""
        if self._holds_slot:
            self._holds_slot = False
            self._slots.leave()

    @asynccontextmanager
    async def costly(self, *, begun: bool = False) -> AsyncIterator[None]:
        """Hold a place for costly work in place of the request slot; NotReady if the queue is full.

        What has *begun* is not refused: a later part of a request, or the answer to it.
        """
        async with self._changing:
            had_slot = self._holds_slot
            if not self._parts:
                self.leave()
                await self._work.enter(self._client, begun=begun or self._has_begun)
                self._has_begun = True
            self._parts += 1
        try:
            yield
        finally:
            self._parts -= 1
            if not self._parts:
                self._work.leave(self._client)
        if had_slot and not self._parts:
            await self._slots.enter(again=True)
            self._holds_slot = True


def _full(reason: str) -> NotReady:
    return NotReady(
        f"the daemon is busy: {reason}; try again in 1 second", details={"retry_after": 1}
    )
