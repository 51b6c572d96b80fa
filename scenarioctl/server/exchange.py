"""One request and its answer: admission, body, decoding, handler, JSON, errors, figures; one wrapper, no middlewares."""

import asyncio
import errno
import itertools
import json
import logging
import math
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, cast
from urllib.parse import parse_qsl, quote

import msgspec
from aiohttp import ClientPayloadError, web
from aiohttp.http_exceptions import HttpProcessingError
from multidict import CIMultiDict

from scenarioctl.application import Application
from scenarioctl.errors import (
    BadJson,
    BadRequest,
    InvalidRequest,
    MethodNotAllowed,
    NotReady,
    ScenarioctlError,
    TooLarge,
    TooSlow,
    Unauthorized,
    UnsupportedType,
    shorten,
)
from scenarioctl.formats.documents import parse_json
from scenarioctl.operations.outcomes import OUTCOMES
from scenarioctl.server.access import Access, address_of
from scenarioctl.server.bodies import AT_ONCE, Bodies, Body
from scenarioctl.server.decoding import Decoder
from scenarioctl.server.endpoints import Endpoint
from scenarioctl.server.limits import Limits
from scenarioctl.server.metrics import NOWHERE, Metrics
from scenarioctl.server.routes import Routes

if TYPE_CHECKING:
    from scenarioctl.server.connections import Connection

log = logging.getLogger("scenarioctl.http")

JSON = "application/json"
#: What `curl --data` says of a body unless told otherwise.
_CURL = "application/x-www-form-urlencoded"
#: Bodies above this are parsed by a thread, since the loop has others to serve meanwhile, and read a few at a time …
LARGE = 64 * 1024
#: Seconds between two looks at whether a body that does not come was given up.
_LOOK = 0.25
#: Bytes of a header with notes or warnings.
_HEADER_MAX = 4096
#: Where `OPTIONS` comes from a web page: what it may send and read.
_PREFLIGHT = {
    "Access-Control-Allow-Headers": "Authorization, Content-Type, X-Request-Id, Last-Event-ID",
    "Access-Control-Max-Age": "600",
}
#: Makes the ids of requests that bring none: of this process, and by number.
_PROCESS = secrets.token_hex(4)
_numbers = itertools.count(1)
#: Headers of every answer.
_COMMON = {
    "Server": "scenarioctl",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
}
#: What such a page may read of an answer, beside its body.
_EXPOSED = "X-Request-Id, Retry-After, Scenarioctl-Notes, Scenarioctl-Warnings"
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
#: What the system says where it has no room for another open file.
_NO_FILES = (errno.EMFILE, errno.ENFILE)
#: Operations of these scopes write, or send: once begun they are not given up because a client went away.
_READING = frozenset({"read"})


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What holds for every request."""

    app: Application
    access: Access
    limits: Limits
    metrics: Metrics
    #: Large bodies that are worked on at once: each may take many times its size once it is parsed.
    large: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    #: Those that are on their way.
    bodies: Bodies = field(default_factory=Bodies)


class Point(Protocol):
    """What answers a path."""

    @property
    def row(self) -> Endpoint: ...

    async def answer(
        self, request: web.BaseRequest, parameters: Mapping[str, str], headers: CIMultiDict[str]
    ) -> web.StreamResponse:
        """Return the answer, with *headers*, or raise one of `errors.py`."""


class Operation:
    """A row of ENDPOINTS: decodes, lets the handler work, encodes."""

    def __init__(
        self,
        row: Endpoint,
        terms: Terms,
        handler: Callable[[Application, Any], Awaitable[Any]],
        decoder: Decoder,
    ) -> None:
        self.row = row
        self._terms = terms
        self._handler = handler
        self._decoder = decoder
        self._writes = row.scope not in _READING
        #: Refuses what can be refused before its body is read.
        self._admit: Callable[[Application, Mapping[str, str]], Awaitable[None]] | None = getattr(
            decoder.request_type, "admit", None
        )

    async def answer(
        self, request: web.BaseRequest, parameters: Mapping[str, str], headers: CIMultiDict[str]
    ) -> web.StreamResponse:
        if self._admit is not None:
            await self._admit(self._terms.app, parameters)
        content = request.content
        if content.is_eof():
            body = content.read_nowait()
            if len(body) <= LARGE:
                return await self._answer(request, body, parameters, headers)
        else:
            body = b""
        return await self._answer_larger(request, body, parameters, headers)

    @property
    def _body_limit(self) -> int:
        """Return the bytes of the largest body; the settings may change while the daemon runs."""
        settings = self._terms.app.settings
        if self._decoder.whole_body:
            return settings.webhook_limit
        # A run may take hours, and would keep its place among the large ones for as long.
        return min(settings.body_limit, LARGE) if self.row.scope == "jobs" else settings.body_limit

    async def _answer_larger(
        self,
        request: web.BaseRequest,
        body: bytes,
        parameters: Mapping[str, str],
        headers: CIMultiDict[str],
    ) -> web.StreamResponse:
        """Answer a request whose body is large, or has not come yet."""
        limit, seconds = self._body_limit, self._terms.limits.seconds
        check_type(request, present=True)
        length = request.content_length
        if length is not None and length > limit:
            raise TooLarge(f"the body has {length} bytes, the limit is {limit}")
        if request.headers.get("Expect", "").lower() == "100-continue":
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            # Or the answer's own head would count as sent.
            request.writer.output_size = 0
        large = length is not None and length > LARGE
        if not large:
            body, large = await read_body(request, body, min(limit, LARGE), seconds)
        if not large:
            return await self._answer(request, body, parameters, headers)
        with Body(self._terms.bodies, AT_ONCE * self._terms.app.settings.body_limit) as coming:
            body, too_large = await read_body(request, body, limit, seconds, coming=coming)
            if too_large:
                raise TooLarge(f"the body has more than {limit} bytes, which is the limit")
            async with self._terms.large:
                return await self._answer(request, body, parameters, headers)

    async def _answer(
        self,
        request: web.BaseRequest,
        body: bytes,
        parameters: Mapping[str, str],
        headers: CIMultiDict[str],
    ) -> web.StreamResponse:
        limit = self._body_limit
        if len(body) > limit:
            raise TooLarge(f"the body has {len(body)} bytes, the limit is {limit}")
        check_type(request, present=bool(body))
        value = await self._read(request, body, limit)
        decoded = self._decoder.decode(value, parameters)
        result = await self._perform(request, decoded)
        for name, sentences in (
            ("Scenarioctl-Notes", getattr(result, "notes", ())),
            ("Scenarioctl-Warnings", getattr(result, "warnings", ())),
        ):
            if sentences:
                headers[name] = write_sentences(tuple(sentences))
        headers["Content-Type"] = JSON
        answer = result.answer()
        if getattr(result, "large", False):
            body = await self._terms.app.aside(encode_large, answer)
        else:
            body = encode(answer)
        return web.Response(body=body, headers=headers)

    async def _read(self, request: web.BaseRequest, body: bytes, limit: int) -> Any:
        """Return the fields, as far as the path does not say them."""
        value: Any
        if body:
            if len(body) <= LARGE:
                value = parse_json(body, field="the body", limit=limit)
            else:
                value = await self._terms.app.aside(parse_json, body, field="the body", limit=limit)
        elif self._decoder.whole_body:
            raise BadJson("the body is empty, expected JSON")
        else:
            value = {}
        query = request.rel_url.raw_query_string
        if not query:
            return value
        if self.row.method != "GET":
            raise InvalidRequest(
                f"the query string {shorten(query)} is not read here, expected the fields in a JSON body"
            )
        return self._decoder.join(self._decoder.read_query(read_pairs(query)), value)

    async def _perform(self, request: web.BaseRequest, decoded: Any) -> Any:
        place = self._terms.limits.place(waits=self.row.waits)
        async with place, self._terms.app.session() as session:
            if self._writes:
                # What is begun is not left half done because nobody waits for it any more; what waited for its place is dropped.
                cast("Connection", request.protocol).gives_up = False
            return await self._handler(session, decoded)


class Front:
    """The one wrapper around every request of a server."""

    def __init__(
        self, server: str, routes: Routes[Point], terms: Terms, *, flags: Mapping[str, str] | None = None
    ) -> None:
        #: `api` or `worker`.
        self.server = server
        #: Path of either server -> the flag that its answers have.
        self._flags = flags or {}
        self._routes = routes
        self._terms = terms

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        started = perf_counter()
        terms, method = self._terms, request.method
        given = request.headers.get("X-Request-Id", "")
        identity = given if given and _REQUEST_ID.fullmatch(given) else f"{_PROCESS}-{next(_numbers):x}"
        headers = CIMultiDict(_COMMON)
        headers["X-Request-Id"] = identity
        row: Endpoint | None = None
        # What a client sees that left before it was answered.
        status = 499
        terms.metrics.under_way += 1
        cast("Connection", request.protocol).gives_up = True
        try:
            if "Origin" in request.headers:
                headers.update(terms.access.cors(request))
                if "Access-Control-Allow-Origin" in headers:
                    headers["Access-Control-Expose-Headers"] = _EXPOSED
            if method == "OPTIONS":
                response = self._describe(request, headers)
            else:
                point, parameters = self._routes.find(method, request.rel_url.raw_path)
                row = point.row
                terms.limits.admit(self._admit(request, row))
                response = await point.answer(request, parameters, headers)
            if "Upgrade" in request.headers:
                # What came behind it was read as another protocol's, and would wait for an answer for good.
                response.force_close()
            status = response.status
            return response
        except ScenarioctlError as error:
            response = self._refuse(request, error, row, headers)
            status = response.status
            return response
        except (ClientPayloadError, HttpProcessingError, web.RequestPayloadError) as error:
            response = self._refuse(
                request,
                BadRequest(f"the body is broken off or wrongly cut: {_one_line(error)}"),
                row,
                headers,
            )
            status = response.status
            return response
        except ConnectionError:
            # The client has gone; there is nobody to answer.
            raise
        except Exception as bug:
            if isinstance(bug, OSError) and bug.errno in _NO_FILES:
                response = self._refuse(request, _no_files(bug), row, headers)
                status = response.status
                return response
            log.exception(
                "bug while answering %s %s",
                method,
                row.path if row else "an unknown path",
                extra={"request_id": identity},
            )
            status = 500
            return self._confess(bug, identity, row, headers)
        finally:
            terms.metrics.under_way -= 1
            seconds = perf_counter() - started
            terms.metrics.count(self.server, row.path if row else NOWHERE, status, seconds)
            if log.isEnabledFor(logging.DEBUG):
                log.debug(
                    "%s %s %d",
                    method,
                    # A webhook's own path is a secret of those who post to it.
                    row.path if row else NOWHERE,
                    status,
                    extra={
                        "request_id": identity,
                        "server": self.server,
                        "status": status,
                        "milliseconds": round(seconds * 1000, 3),
                    },
                )

    def _admit(self, request: web.BaseRequest, row: Endpoint) -> str:
        """Return the name of the client; one that has no good token is counted too."""
        try:
            return self._terms.access.admit(request, row)
        except Unauthorized:
            self._terms.limits.admit(address_of(request))
            raise

    def _describe(self, request: web.BaseRequest, headers: CIMultiDict[str]) -> web.StreamResponse:
        """Answer `OPTIONS`: what a path takes, and what a page of an allowed origin may ask."""
        methods = self._routes.methods(request.rel_url.raw_path)
        if not methods:
            self._routes.find("OPTIONS", request.rel_url.raw_path)
        allowed = ", ".join((*methods, "OPTIONS"))
        headers["Allow"] = allowed
        if "Access-Control-Allow-Origin" in headers:
            headers["Access-Control-Allow-Methods"] = allowed
            headers.update(_PREFLIGHT)
        return web.Response(status=204, headers=headers)

    def _refuse(
        self,
        request: web.BaseRequest,
        error: ScenarioctlError,
        row: Endpoint | None,
        headers: CIMultiDict[str],
    ) -> web.Response:
        if isinstance(error, MethodNotAllowed):
            headers["Allow"] = ", ".join((*self._routes.methods(request.rel_url.raw_path), "OPTIONS"))
        elif isinstance(error, Unauthorized):
            headers["WWW-Authenticate"] = "Bearer"
        if "retry_after" in error.details:
            headers["Retry-After"] = str(math.ceil(float(str(error.details["retry_after"]))))
        response = error_response(error, self._flag(request, row), headers)
        if isinstance(error, (TooLarge, TooSlow, BadRequest)) or "Upgrade" in request.headers:
            # What is left of the body is not worth reading.
            response.force_close()
        return response

    def _flag(self, request: web.BaseRequest, row: Endpoint | None) -> str:
        """Return the flag of the path that was asked, or that was most likely meant; empty if it has none."""
        if row is not None:
            return row.flag
        return self._flags.get(self._routes.meant(request.rel_url.raw_path), "")

    def _confess(
        self, bug: Exception, identity: str, row: Endpoint | None, headers: CIMultiDict[str]
    ) -> web.Response:
        """Answer a bug: what happened is in the log, and only there."""
        done = "".join(f"; {note}" for note in getattr(bug, "__notes__", ()))
        error = ScenarioctlError(
            f"this is a bug in scenarioctl, not in what was sent; its log has the traceback under request id {identity}{done}"
        )
        return error_response(error, row.flag if row else "", headers)


def _no_files(error: OSError) -> NotReady:
    # Not even one to read a part of the program from, or a table.
    return NotReady(f"the daemon can open no more files ({error.strerror}), try again later (LimitNOFILE=)")


def error_response(error: ScenarioctlError, flag: str, headers: CIMultiDict[str]) -> web.Response:
    """Return the answer of a request that failed."""
    said: dict[str, object] = {**error.details}
    if flag:
        said[flag] = False
    said["error"] = str(error)
    said["code"] = error.code
    headers["Content-Type"] = JSON
    return web.Response(status=OUTCOMES[error.code].status, body=encode(said), headers=headers)


async def read_body(
    request: web.BaseRequest,
    body: bytes,
    limit: int,
    seconds: float,
    *,
    coming: Body | None = None,
) -> tuple[bytes, bool]:
    """Return *body* and what follows, up to *limit* bytes or a little more; and whether it is more.

    TooSlow after *seconds*, and where *coming*, a large body, is given up for others that come faster.
    """
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
                part = await request.content.readany()
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


def check_type(request: web.BaseRequest, *, present: bool) -> None:
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


def read_pairs(query: str) -> list[tuple[str, str]]:
    """Return the names and values of a query string."""
    try:
        return parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=100)
    except UnicodeDecodeError:
        raise BadRequest(f"the query string {shorten(query)} is not UTF-8 text") from None
    except ValueError:
        raise BadRequest("the query string has more than 100 fields") from None


def encode(answer: object) -> bytes:
    """Return *answer* as compact JSON."""
    try:
        return msgspec.json.encode(answer)
    except (UnicodeEncodeError, OverflowError):
        # Half of a surrogate pair, which a stored diagram of another's making may hold: escaped, it goes through.
        return json.dumps(answer, separators=(",", ":")).encode()


def encode_large(answer: Mapping[str, object]) -> bytes:
    """Return *answer* as compact JSON, encoded item by item: the encoder lets no other thread run while it works."""
    parts: list[bytes] = []
    for name, value in answer.items():
        parts += (b"," if parts else b"{", encode(name), b":")
        if isinstance(value, list) and value:
            for number, item in enumerate(value):
                parts += (b"," if number else b"[", encode(item))
            parts.append(b"]")
        else:
            parts.append(encode(value))
    return b"".join((*parts, b"}")) if parts else b"{}"


@lru_cache(256)
def write_sentences(sentences: tuple[str, ...]) -> str:
    """Return *sentences* for people as the value of a header: percent-encoded JSON, at most 4 kB of it."""
    kept = list(sentences)
    while (
        len(written := quote(json.dumps(kept, ensure_ascii=False), safe="", errors="replace")) > _HEADER_MAX
    ):
        if len(kept) > 1:
            kept.pop()
        else:
            kept = [kept[0][: len(kept[0]) // 2] + "…"]
    return written


def _one_line(error: Exception) -> str:
    text = str(getattr(error, "message", "") or error).strip().partition("\n")[0]
    return shorten(text, 100) if text else type(error).__name__
