"""Reads request bodies: checks their type, and limits the memory that large bodies use."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from aiohttp import web

from scenarioctl.errors import (
    BadRequest,
    ScenarioctlError,
    TooLarge,
    TooSlow,
    UnsupportedType,
    shorten,
)
from scenarioctl.server.limits import full
from scenarioctl.server.responses import JSON

#: Bytes. A larger body is parsed in a thread, so that it doesn't block the event loop.
LARGE = 64 * 1024
#: Memory for large bodies, in units of the largest allowed body.
LARGE_AT_ONCE = 4
#: The default Content-Type of `curl --data`.
_CURL = "application/x-www-form-urlencoded"


class LargeBodies:
    """The bytes of large bodies in memory: one that finds no room is refused."""

    def __init__(self) -> None:
        #: Client -> bytes.
        self._held = Counter[str]()

    @contextmanager
    def room(self, client: str, most: int) -> Iterator[Callable[[int], None]]:
        """Give what counts bytes of a body of *client* until the block ends; NotReady if that is
        more than half of *most* for one client, or than *most* for all."""
        held = 0

        def grow(count: int) -> None:
            nonlocal held
            held += count
            self._held[client] += count
            if self._held[client] > most // 2 or self._held.total() > most:
                raise full("other large bodies are on their way")

        try:
            yield grow
        finally:
            self._held[client] -= held
            self._held += Counter()


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
    limit: int,
    seconds: float,
    grow: Callable[[int], None] = lambda _: None,
) -> bytes:
    """Return the body, and tell *grow* of the bytes of a large one.

    Raises TooLarge above *limit* bytes, TooSlow after *seconds*.
    """
    ask_for_body(request)
    parts: list[bytes] = []
    size = counted = 0
    try:
        async with asyncio.timeout(seconds):
            async for part in request.content.iter_any():
                parts.append(part)
                size += len(part)
                if size > limit:
                    break
                if size > LARGE:
                    grow(size - counted)
                    counted = size
    except TimeoutError:
        raise TooSlow(f"the body did not arrive within {seconds:g} s: got {size} bytes") from None
    except (ConnectionError, ScenarioctlError):
        raise
    except Exception as error:
        # aiohttp documents no exception class for malformed framing of a body.
        raise BadRequest(
            f"the request body is truncated or malformed: {_one_line(error)}"
        ) from None
    if size > limit:
        raise TooLarge(f"the body has more than the limit of {limit} bytes")
    return b"".join(parts)


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
