"""Reads request bodies: checks their type, and limits the memory that large bodies use."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from scenarioctl.errors import (
    BadRequest,
    ScenarioctlError,
    TooLarge,
    TooSlow,
    UnsupportedType,
    shorten,
)
from scenarioctl.server.limits import Limits
from scenarioctl.server.responses import JSON

#: Bytes. A larger body is parsed in a thread, so that it doesn't block the event loop.
LARGE = 64 * 1024
#: The default Content-Type of `curl --data`.
_CURL = "application/x-www-form-urlencoded"


def ask_for_body(request: web.Request) -> None:
    """Tell a client that sent `Expect: 100-continue` to send the body."""
    expects = request.headers.get("Expect", "").lower() == "100-continue"
    if expects and request.transport is not None and not request.content.is_eof():
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")


async def expect_nothing(request: web.Request) -> None:
    """Leave `Expect: 100-continue` to `ask_for_body`, so that a request can be refused before its
    body is sent."""


@asynccontextmanager
async def reading(request: web.Request, limit: int, limits: Limits) -> AsyncIterator[bytes]:
    """Give the body, whose bytes count as held until the block ends if they are many.

    Raises TooLarge above *limit* bytes, TooSlow if it takes too long.
    """
    length = request.content_length or 0
    if length > limit:
        raise TooLarge(f"the body has {length} bytes; the limit is {limit}")
    ask_for_body(request)
    parts: list[bytes] = []
    size = held = 0
    try:
        try:
            async with asyncio.timeout(limits.seconds):
                async for part in request.content.iter_any():
                    parts.append(part)
                    size += len(part)
                    if size > limit:
                        break
                    if size > LARGE:
                        held, more = size, size - held
                        limits.hold(more)
        except TimeoutError:
            raise TooSlow(
                f"the body did not arrive within {limits.seconds:g} s: got {size} bytes"
            ) from None
        except (ConnectionError, ScenarioctlError):
            raise
        except Exception as error:
            # aiohttp documents no exception class for malformed framing of a body.
            raise BadRequest(
                f"the request body is truncated or malformed: {_one_line(error)}"
            ) from None
        if size > limit:
            raise TooLarge(f"the body has more than the limit of {limit} bytes")
        body = b"".join(parts)
        parts.clear()
        yield body
    finally:
        limits.held -= held


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
