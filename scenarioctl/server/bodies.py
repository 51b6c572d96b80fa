"""Reads request bodies: checks their type, and limits the memory that large bodies use."""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

from aiohttp import web

from scenarioctl.errors import BadRequest, TooSlow, UnsupportedType, shorten
from scenarioctl.server.responses import JSON

#: Bytes. A larger body is parsed in a thread, so that it doesn't block the event loop.
LARGE = 64 * 1024
#: Memory for large bodies being received, in units of the largest allowed body.
LARGE_AT_ONCE = 4
#: Seconds for which a new body is dropped only if there are no older ones.
HEAD_START = 2.0
#: Time constant of the moving average of a body's speed, in seconds.
_FADING = 2.0
#: Seconds between checks whether a stalled body was dropped.
_LOOK = 0.25
#: The default Content-Type of `curl --data`.
_CURL = "application/x-www-form-urlencoded"


class LargeBodies:
    """The large bodies that clients are sending. If they use too much memory, the slowest is
    dropped."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        #: Bytes in memory.
        self.total = 0
        self.coming: set[LargeBody] = set()
        #: Client -> bytes of its bodies in memory.
        self.of_client: Counter[str] = Counter()

    def make_room(self, most: int, client: str) -> None:
        """Drop the slowest bodies of *client* until its others use at most half of *most* bytes,
        then those of all clients."""
        while client and self.of_client[client] > most // 2 and self._drop_slowest(client):
            pass
        while self.total > most and self._drop_slowest():
            pass

    def _drop_slowest(self, client: str | None = None) -> bool:
        """Drop the slowest body that is coming, of *client* if given; return whether there was
        one."""
        now = self.clock()
        coming = [each for each in self.coming if client in (None, each.client)]
        if coming:
            min(coming, key=lambda each: (now - each.began < HEAD_START, each.speed(now))).give_up()
        return bool(coming)


class LargeBody:
    """A large body, counted until its request is answered: `with LargeBody(bodies, most) as
    body:`."""

    def __init__(self, bodies: LargeBodies, most: int, *, client: str = "") -> None:
        self.client = client
        self._bodies = bodies
        self._most = most
        self.began = self._seen = bodies.clock()
        self._size = 0
        self._speed = 0.0
        self.is_given_up = False

    def __enter__(self) -> "LargeBody":
        self._bodies.coming.add(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.give_up()

    def grow(self, count: int) -> None:
        """Count received bytes. If there is no room for them, the slowest body is dropped, perhaps
        this one."""
        now = self._bodies.clock()
        self._speed, self._seen = self.speed(now) + count / _FADING, now
        self._size += count
        self._bodies.total += count
        self._bodies.of_client[self.client] += count
        self._bodies.make_room(self._most, self.client)

    def speed(self, now: float) -> float:
        """Return the recent speed in bytes per second."""
        return self._speed * math.exp((self._seen - now) / _FADING)

    def is_whole(self) -> None:
        """Note that the body is complete and can no longer be dropped."""
        self._bodies.coming.discard(self)

    def give_up(self) -> None:
        """Drop the body: stop counting its bytes."""
        self._bodies.coming.discard(self)
        self._bodies.total -= self._size
        self._bodies.of_client[self.client] -= self._size
        if not self._bodies.of_client[self.client]:
            del self._bodies.of_client[self.client]
        self._size = 0
        self.is_given_up = True


def ask_for_body(request: web.Request) -> None:
    """Tell a client that sent `Expect: 100-continue` to send the body."""
    expects = request.headers.get("Expect", "").lower() == "100-continue"
    if expects and request.transport is not None and not request.content.is_eof():
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")


async def expect_nothing(request: web.Request) -> None:
    """Leave `Expect: 100-continue` to `ask_for_body`, so that a request can be refused before its
    body is sent."""


async def read_body(
    request: web.Request,
    body: bytes,
    limit: int,
    seconds: float,
    *,
    coming: LargeBody | None = None,
) -> tuple[bytes, bool]:
    """Return *body* with the rest of the body appended, and whether it exceeds *limit* bytes.

    Raises TooSlow after *seconds*, or if *coming*, a large body, is dropped in favor of faster
    ones.
    """
    if coming is None and request.content.is_eof():
        # It arrived together with the header.
        body += request.content.read_nowait()
        return body, len(body) > limit
    parts, size = [body], len(body)
    clock = asyncio.get_running_loop().time
    began = clock()
    if coming is not None:
        coming.grow(size)
    while size <= limit:
        now = clock()
        if now >= began + seconds:
            raise TooSlow(f"the body did not arrive within {seconds:g} s: got {size} bytes")
        with suppress(TimeoutError):
            async with asyncio.timeout_at(
                min(began + seconds, now + (_LOOK if coming else seconds))
            ):
                part = await _read_part(request)
            if not part:
                if coming is not None:
                    coming.is_whole()
                return b"".join(parts), False
            parts.append(part)
            size += len(part)
            if coming is not None:
                coming.grow(len(part))
        if coming is not None and coming.is_given_up:
            raise TooSlow(
                f"the body arrived too slowly while others were waiting: got {size} bytes"
            )
    return b"".join(parts), True


async def _read_part(request: web.Request) -> bytes:
    try:
        return await request.content.readany()
    except ConnectionError:
        raise
    except Exception as error:
        # aiohttp documents no exception class for malformed framing of a body.
        raise BadRequest(
            f"the request body is truncated or malformed: {_one_line(error)}"
        ) from None


def check_type(request: web.Request, *, present: bool) -> None:
    """Raise UnsupportedType unless the Content-Type is JSON, which a web page can't send without a
    CORS preflight.

    A web page can't send a body with GET, so GET also takes curl's default type, or none.
    """
    if not present:
        return
    given = request.headers.get("Content-Type")
    encoding = request.headers.get("Content-Encoding")
    if encoding is not None and encoding.lower() != "identity":
        raise UnsupportedType(
            f"the body has the Content-Encoding {shorten(encoding)}, expected none"
        )
    if given == JSON or (request.method in ("GET", "HEAD") and given in (None, _CURL)):
        return
    if given is None:
        raise UnsupportedType(f"the body has no Content-Type, expected {JSON}")
    kind, _, rest = given.partition(";")
    if kind.strip().lower() != JSON:
        raise UnsupportedType(f"the body has the Content-Type {shorten(given)}, expected {JSON}")
    for parameter in rest.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip().strip('"').lower() not in (
            "utf-8",
            "utf8",
        ):
            raise UnsupportedType(f"the body has the Content-Type {shorten(given)}, expected UTF-8")


def _one_line(error: Exception) -> str:
    text = str(getattr(error, "message", "") or error).strip().partition("\n")[0]
    return shorten(text, 100) if text else type(error).__name__
