"""Bodies of requests and responses: JSON, read and written within bounds; and the limits of clients
and of costly work.
"""

import asyncio
import json
import logging
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Any
from urllib.parse import quote

import msgspec
from aiohttp import web

from scenarioctl.config import Settings
from scenarioctl.errors import (
    BadRequest,
    NotReady,
    RateLimited,
    ScenarioctlError,
    TooLarge,
    TooSlow,
    UnsupportedType,
    shorten,
)
from scenarioctl.operations.results import OUTCOMES, Result, join
from scenarioctl.token_buckets import TokenBuckets

JSON = "application/json"
#: Bytes of the largest header with notes or warnings.
_HEADER_MAX = 4096


def encode(answer: object) -> bytes:
    """Return *answer* as compact JSON."""
    try:
        return msgspec.json.encode(answer)
    except (UnicodeEncodeError, OverflowError):
        # An imported diagram may contain a lone surrogate, which msgspec refuses and json escapes.
        return json.dumps(answer, separators=(",", ":")).encode()


async def encode_portions(result: Result[Any]) -> AsyncIterator[bytes]:
    """Yield the answer of *result* as compact JSON: its list, then everything else."""
    others: dict[str, Any] = dict(result.answer)
    name = next(name for name, value in others.items() if isinstance(value, list))
    yield b"{" + encode(name) + b":[" + encode(others.pop(name))[1:-1]
    assert result.rest is not None  # noqa: S101 - whose answer is in portions
    async for portion in result.rest:
        values = dict(portion)
        yield b"," + encode(values.pop(name))[1:-1]
        others = join(others, values)
    yield b"]," + encode(others)[1:] if others else b"]}"


def write_header(value: object) -> str:
    """Return *value* as the value of a header: percent-encoded JSON."""
    return quote(json.dumps(value, ensure_ascii=False), safe="", errors="replace")


@lru_cache(256)
def write_sentences(sentences: tuple[str, ...]) -> str:
    """Return *sentences* as the value of a header: percent-encoded JSON, cut to at most 4 kB."""
    kept = list(sentences)
    while len(written := write_header(kept)) > _HEADER_MAX:
        if len(kept) > 1:
            kept.pop()
        else:
            kept = [kept[0][: len(kept[0]) // 2] + "…"]
    return written


def error_response(error: ScenarioctlError, flag: str) -> web.Response:
    """Return the response to a failed request; *flag* is that of the endpoint, or empty."""
    said: dict[str, object] = {flag: False} if flag else {}
    said |= {"error": str(error), "code": error.code, **error.details}
    if error.advice:
        said["advice"] = error.advice
    return web.Response(status=OUTCOMES[error.code].status, body=encode(said), content_type=JSON)


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
