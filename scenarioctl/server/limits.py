"""How much the daemon takes on: requests per client and at once, bytes of their bodies, seconds to send them."""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from scenarioctl.config import Settings
from scenarioctl.errors import BadJson, RateLimited, TooLarge

if TYPE_CHECKING:
    from aiohttp.web import BaseRequest

#: For each request that is worked on, so many may wait …
_WAITING_PER_REQUEST = 4
#: … so many seconds.
_WAITING_SECONDS = 10.0
#: Bodies of requests that have no answer yet: so many of the largest size at once.
_BODIES_AT_ONCE = 8
#: Clients whose rate is remembered, before those that are quiet are forgotten.
_REMEMBERED = 10_000


class Limits:
    """The limits in force, which a reload changes, and how much of them is taken."""

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clients = Rates(settings.rate, clock)
        self._webhooks = Rates(settings.webhook_rate, clock)
        #: `async with limits.turn:` around the work on a request, not around the sending of its answer.
        self.turn = Turns(settings.requests)
        #: Connections that are open.
        self.open = 0
        #: Bytes of bodies that are in memory.
        self.held = 0
        self.change(settings)

    def change(self, settings: Settings) -> None:
        """Take over the limits of *settings*."""
        self._clients.per_second = settings.rate
        self._webhooks.per_second = settings.webhook_rate
        self.turn.at_once = settings.requests
        self.connections = settings.connections
        self.seconds = float(settings.request_seconds)
        self.body_limit = settings.body_limit
        self.webhook_limit = settings.webhook_limit

    def count(self, client: str) -> None:
        """Count a request of *client*; RateLimited where it sends too many."""
        wait = self._clients.take(client)
        if wait:
            raise _limited(
                f"this client sends more than {self._clients.per_second} requests per second", wait
            )

    def count_event(self, uuid: str) -> None:
        """Count an event of a webhook; RateLimited where it gets too many."""
        wait = self._webhooks.take(uuid)
        if wait:
            raise _limited(f"this webhook gets more than {self._webhooks.per_second} events per second", wait)

    def body(self, request: "BaseRequest", limit: int = 0) -> "Body":
        """`async with limits.body(request) as data:` reads a request's body, and counts its bytes until the block ends.

        TooLarge above *limit* (the setting `body_limit` without one), BadJson where it does not come in time or is cut
        short, RateLimited where the bodies of other requests take up what memory there is for them.
        """
        return Body(self, request, limit or self.body_limit)


class Rates:
    """Token buckets: each key may do *per_second* things a second, and as many at once; 0 is without limit."""

    def __init__(self, per_second: int, clock: Callable[[], float]) -> None:
        self.per_second = per_second
        self._clock = clock
        #: Key -> what is left, and when that was so.
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, key: str) -> float:
        """Return how many seconds are to wait; 0 where *key* may go on, which is then counted."""
        if not self.per_second:
            return 0.0
        now = self._clock()
        left, since = self._left.get(key, (float(self.per_second), now))
        left = min(float(self.per_second), left + (now - since) * self.per_second)
        if left < 1:
            return (1 - left) / self.per_second
        if len(self._left) >= _REMEMBERED:
            # After a second without a request a bucket is full, as it is for somebody new.
            self._left = {each: kept for each, kept in self._left.items() if now - kept[1] < 1}
        self._left[key] = (left - 1, now)
        return 0.0


class Turns:
    """So many at once; the next wait in line, and those beyond the line are sent away."""

    def __init__(self, at_once: int) -> None:
        self.at_once = at_once
        self.busy = 0
        self._line: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        return len(self._line)

    async def __aenter__(self) -> None:
        if self.busy < self.at_once and not self._line:
            self.busy += 1
            return
        if len(self._line) >= self.at_once * _WAITING_PER_REQUEST:
            raise _limited(
                f"the daemon works on {self.busy} requests, and {len(self._line)} more wait for their turn", 1
            )
        turn = asyncio.get_running_loop().create_future()
        self._line.append(turn)
        try:
            async with asyncio.timeout(_WAITING_SECONDS):
                await turn
        except BaseException as error:
            if turn.cancelled():
                # Where it has come out of the line already, nobody counted it.
                if turn in self._line:
                    self._line.remove(turn)
            else:
                # It was given the turn at the very moment it gave up.
                self._end()
            if isinstance(error, TimeoutError):
                raise _limited(
                    f"the daemon works on {self.busy} requests, and this one waited {_WAITING_SECONDS:g} seconds for its turn",
                    1,
                ) from None
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        self.busy -= 1
        # Not only one: a reload may have raised the limit.
        while self._line and self.busy < self.at_once:
            turn = self._line.popleft()
            if not turn.done():
                self.busy += 1
                turn.set_result(None)


class Body:
    """The bytes of one request, as long as they are needed."""

    __slots__ = ("_limit", "_limits", "_request", "_size")

    def __init__(self, limits: Limits, request: "BaseRequest", limit: int) -> None:
        self._limits = limits
        self._request = request
        self._limit = limit
        self._size = 0

    async def __aenter__(self) -> bytes:
        request = self._request
        if not request.body_exists:
            return b""
        if (request.content_length or 0) > self._limit:
            raise self._too_large()
        try:
            return await self._read()
        except BaseException:
            self._release()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._release()

    async def _read(self) -> bytes:
        from aiohttp.web import RequestPayloadError

        content = self._request.content
        try:
            if content.is_eof():
                # All of it came with the header, which is so of nearly every request.
                data = content.read_nowait()
                self._take(len(data))
                return data
            chunks: list[bytes] = []
            async with asyncio.timeout(self._limits.seconds):
                while chunk := await content.readany():
                    self._take(len(chunk))
                    chunks.append(chunk)
            return b"".join(chunks)
        except TimeoutError:
            raise BadJson(
                f"the body was not complete after {self._limits.seconds:g} seconds ({self._size} bytes of it came)"
            ) from None
        except RequestPayloadError:
            raise BadJson(
                f"the body cannot be read after {self._size} bytes, expected it whole, and as its header says"
            ) from None

    def _take(self, count: int) -> None:
        self._size += count
        self._limits.held += count
        if self._size > self._limit:
            raise self._too_large()
        if self._limits.held > _BODIES_AT_ONCE * self._limits.body_limit:
            raise _limited(
                f"the daemon holds {self._limits.held} bytes of requests, which is all it has room for", 1
            )

    def _release(self) -> None:
        self._limits.held -= self._size
        self._size = 0

    def _too_large(self) -> TooLarge:
        return TooLarge(f"the body is larger than {self._limit} bytes, the limit for it")


def _limited(reason: str, wait: float) -> RateLimited:
    seconds = max(1, math.ceil(wait))
    return RateLimited(
        f"{reason}, try again in {seconds} second{'s' if seconds > 1 else ''}",
        details={"retry_after": seconds},
    )
