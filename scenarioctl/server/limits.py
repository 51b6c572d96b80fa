"""How much the daemon takes on: requests per client and at once, and connections."""

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

#: For each request that is worked on, so many may wait …
WAITING_PER_REQUEST = 4
#: … so many seconds.
WAITING_SECONDS = 10.0
#: Seconds for which the log is silent about connections that are closed, once it has been told.
_SILENCE = 60.0


class Limits:
    """The limits in force, which a reload changes, and how much of them is taken."""

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clients = TokenBuckets()
        self._short = RequestSlots(settings.requests)
        #: Of requests that wait for others than the daemon: as many, besides.
        self._long = RequestSlots(settings.requests)
        #: Connections that are open …
        self.open = 0
        #: … and how many of them each client has.
        self._open_of: dict[str, int] = {}
        #: When the log told last that some were closed.
        self._told = -math.inf
        self._clock = clock
        self.change(settings)

    def change(self, settings: Settings) -> None:
        """Take over the limits of *settings*."""
        self._rate = settings.rate
        self._short.at_once = self._long.at_once = settings.requests
        self.connections = settings.connections
        self.client_connections = settings.client_connections
        self.seconds = float(settings.request_seconds)

    def enter(self, client: str) -> bool:
        """Count a connection of *client*, as `peer_of` names it; False, and not counted, where there are too many."""
        of_client = self._open_of.get(client, 0)
        if self.open >= self.connections:
            self._tell("connections are closed at once: %d are open (connections=)", self.open)
            return False
        if self.client_connections and of_client >= self.client_connections:
            self._tell(
                "connections of %s are closed at once: it has %d open (client_connections=)",
                client,
                of_client,
            )
            return False
        self.open += 1
        self._open_of[client] = of_client + 1
        return True

    def leave(self, client: str) -> None:
        """Count a connection of *client* no more."""
        self.open -= 1
        left = self._open_of.pop(client) - 1
        if left:
            self._open_of[client] = left

    def _tell(self, sentence: str, *values: object) -> None:
        """Warn, once a minute at most: whoever is sent away comes again."""
        now = self._clock()
        if now - self._told >= _SILENCE:
            self._told = now
            log.warning(sentence, *values)

    def admit(self, client: str) -> None:
        """Count a request of *client*, as `Access` names it; RateLimited where it sends too many."""
        wait = self._clients.take(client, self._rate, self._clock())
        if wait:
            raise _limited(f"this client sends more than {self._rate} requests per second", wait)

    def slots(self, *, waits: bool = False) -> "RequestSlots":
        """`async with limits.slots():` around the work on a request, not around the sending of its answer."""
        return self._long if waits else self._short

    @property
    def busy(self) -> int:
        """Requests that are worked on."""
        return self._short.busy + self._long.busy

    @property
    def waiting(self) -> int:
        """Requests that wait for their turn."""
        return self._short.waiting + self._long.waiting


class RequestSlots:
    """So many at once; the next wait in line, and those beyond the line are sent away."""

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

    async def enter(self) -> None:
        """Wait for a turn; RateLimited where too many wait already, or for too long."""
        if self.busy < self.at_once and not self._line:
            self.busy += 1
            return
        if len(self._line) >= self.at_once * WAITING_PER_REQUEST:
            raise _limited(
                f"the daemon works on {self.busy} requests, and {len(self._line)} more wait for their turn", 1
            )
        turn = asyncio.get_running_loop().create_future()
        self._line.append(turn)
        try:
            async with asyncio.timeout(WAITING_SECONDS):
                await turn
        except BaseException as error:
            if turn.cancelled():
                # Where it has come out of the line already, nobody counted it.
                if turn in self._line:
                    self._line.remove(turn)
            else:
                # It was given the turn at the very moment it gave up.
                self.leave()
            if isinstance(error, TimeoutError):
                raise _limited(
                    f"the daemon works on {self.busy} requests, and this one waited {WAITING_SECONDS:g} seconds for its turn",
                    1,
                ) from None
            raise

    def leave(self) -> None:
        """Pass the turn on."""
        self.busy -= 1
        # Not only one: a reload may have raised the limit.
        while self._line and self.busy < self.at_once:
            turn = self._line.popleft()
            if not turn.done():
                self.busy += 1
                turn.set_result(None)


def _limited(reason: str, wait: float) -> RateLimited:
    seconds = max(1, math.ceil(wait))
    return RateLimited(
        f"{reason}, try again in {seconds} second{'s' if seconds > 1 else ''}",
        details={"retry_after": seconds},
    )
