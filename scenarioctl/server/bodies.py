"""Bodies of requests: their type, their bytes, and how many large ones may be on their way at once."""

import asyncio
import math
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

from aiohttp import web

from scenarioctl.errors import BadRequest, TooSlow, UnsupportedType, shorten
from scenarioctl.server.responses import JSON

#: Bodies above this are parsed by a thread, since the event loop has others to serve meanwhile.
LARGE = 64 * 1024
#: So many of the largest bodies may be in memory at once, in as many pieces as they come.
LARGE_AT_ONCE = 4
#: Seconds in which a body is not judged by its speed while there are others that are.
HEAD_START = 2.0
#: Seconds after which a third of what came counts for the speed.
_FADING = 2.0
#: Seconds between two looks at whether a body that does not come was given up.
_LOOK = 0.25
#: What `curl --data` says of a body unless told otherwise.
_CURL = "application/x-www-form-urlencoded"


class LargeBodies:
    """The large bodies that clients send.  None waits for another one: where they are too much, the slowest is given up."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        #: Bytes in memory.
        self.total = 0
        self.coming: set[LargeBody] = set()

    def make_room(self, most: int) -> None:
        """Give up those that come slowest until the rest has at most *most* bytes."""
        now = self.clock()
        while self.total > most and self.coming:
            slowest = min(self.coming, key=lambda each: (now - each.began < HEAD_START, each.speed(now)))
            slowest.give_up()


class LargeBody:
    """A large body, counted until it is answered: `with LargeBody(bodies, most) as body:`."""

    def __init__(self, bodies: LargeBodies, most: int) -> None:
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
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.give_up()

    def grow(self, count: int) -> None:
        """Count bytes that have come; where there is no room for them, some body is given up, maybe this one."""
        now = self._bodies.clock()
        self._speed, self._seen = self.speed(now) + count / _FADING, now
        self._size += count
        self._bodies.total += count
        self._bodies.make_room(self._most)

    def speed(self, now: float) -> float:
        """Return the bytes per second that came of late."""
        return self._speed * math.exp((self._seen - now) / _FADING)

    def is_whole(self) -> None:
        """Be judged by speed no more."""
        self._bodies.coming.discard(self)

    def give_up(self) -> None:
        """Count its bytes no more."""
        self._bodies.coming.discard(self)
        self._bodies.total -= self._size
        self._size = 0
        self.is_given_up = True


def ask_for_body(request: web.Request) -> None:
    """Tell a client that waits for it (`Expect: 100-continue`) to send the body."""
    expects = request.headers.get("Expect", "").lower() == "100-continue"
    if expects and request.transport is not None and not request.content.is_eof():
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")


async def expect_nothing(request: web.Request) -> None:
    """Leave `Expect: 100-continue` to `ask_for_body`: a body that is refused by its header is never asked for."""


async def read_body(
    request: web.Request,
    body: bytes,
    limit: int,
    seconds: float,
    *,
    coming: LargeBody | None = None,
) -> tuple[bytes, bool]:
    """Return *body* and what follows, up to *limit* bytes or a little more; and whether it is more.

    TooSlow after *seconds*, and where *coming*, a large body, is given up for others that come faster.
    """
    if coming is None and request.content.is_eof():
        # It came with its header.
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
            raise TooSlow(f"the body did not come within {seconds:g} seconds, {size} bytes of it were there")
        with suppress(TimeoutError):
            async with asyncio.timeout_at(min(began + seconds, now + (_LOOK if coming else seconds))):
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
                f"the body came too slowly while others waited to send theirs, {size} bytes of it were there"
            )
    return b"".join(parts), True


async def _read_part(request: web.Request) -> bytes:
    try:
        return await request.content.readany()
    except ConnectionError:
        raise
    except Exception as error:
        # aiohttp documents no class for what its parser finds wrong in the framing of a body.
        raise BadRequest(f"the body is broken off or wrongly cut: {_one_line(error)}") from None


def check_type(request: web.Request, *, present: bool) -> None:
    """Refuse a body that does not say that it is JSON: a web page cannot send one that does without being asked for it.

    No web page can send a body with GET, so that one may say what `curl --data` says, or nothing.
    """
    if not present:
        return
    given = request.headers.get("Content-Type")
    encoding = request.headers.get("Content-Encoding")
    if encoding is not None and encoding.lower() != "identity":
        raise UnsupportedType(
            f"the body has the Content-Encoding {shorten(encoding)}, expected none: it is read as it comes"
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
        if name.strip().lower() == "charset" and value.strip().strip('"').lower() not in ("utf-8", "utf8"):
            raise UnsupportedType(f"the body has the Content-Type {shorten(given)}, expected UTF-8")


def _one_line(error: Exception) -> str:
    text = str(getattr(error, "message", "") or error).strip().partition("\n")[0]
    return shorten(text, 100) if text else type(error).__name__
