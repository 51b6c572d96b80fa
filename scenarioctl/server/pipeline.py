"""The aiohttp middleware around every handler: request id, metrics, errors, access and limits;
unknown paths and wrong methods."""

import errno
import itertools
import logging
import math
import re
import secrets
from collections.abc import Container, Mapping
from time import perf_counter
from urllib.parse import unquote

from aiohttp import web

from scenarioctl.errors import (
    BadRequest,
    MethodNotAllowed,
    NotFound,
    NotReady,
    ScenarioctlError,
    TooLarge,
    TooSlow,
    Unauthorized,
    closest,
    shorten,
)
from scenarioctl.removed import removed_path
from scenarioctl.server.access import address_of
from scenarioctl.server.bodies import error_response
from scenarioctl.server.endpoints import Endpoint
from scenarioctl.server.handlers import Handler, ServerContext
from scenarioctl.server.metrics import NOWHERE

log = logging.getLogger("scenarioctl.http")

#: Headers of every response, unless it has its own.
COMMON_HEADERS = {
    "Cache-Control": "no-store",
    "Server": "scenarioctl",
    # A browser that shows an answer as a page loads and runs nothing of it, in no frame, and tells
    # no other page of it.
    "Content-Security-Policy": (
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
#: Headers of the response to a CORS preflight.
_PREFLIGHT = {
    "Access-Control-Allow-Headers": (
        "Authorization, Content-Type, X-Request-Id, Last-Event-ID, Idempotency-Key"
    ),
    "Access-Control-Max-Age": "600",
}
#: Response headers that a page of another origin may read.
_EXPOSED = "X-Request-Id, Retry-After, Scenarioctl-Ids, Scenarioctl-Notes, Scenarioctl-Warnings"
#: Parts of the ids of requests without one: a random prefix of this process, and a counter.
_PROCESS = secrets.token_hex(4)
_numbers = itertools.count(1)
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
#: Key of a request's id.
_ID = web.RequestKey("_ID", str)
#: Status of a request whose client disconnected before the response.
_CLIENT_GONE = 499


class RequestPipeline:
    """The middleware of one server, and the headers of its responses."""

    def __init__(
        self,
        server: str,
        context: ServerContext,
        router: web.UrlDispatcher,
        rows: Mapping[web.AbstractRoute, Endpoint],
        served: Container[str],
    ) -> None:
        #: `api` or `worker`.
        self._server = server
        self._context = context
        self._router = router
        #: Route -> its row in the tables of endpoints and pages; also those of the other server.
        self._rows = rows
        self._served = served
        self._paths = {
            route.resource.canonical: row for route, row in rows.items() if route.resource
        }

    @web.middleware
    async def handle(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer a request, or turn its error into a response; the only middleware of a server."""
        metrics, started = self._context.metrics, perf_counter()
        given = request.headers.get("X-Request-Id", "")
        request[_ID] = given if _REQUEST_ID.fullmatch(given) else f"{_PROCESS}-{next(_numbers):x}"
        row = self._rows.get(request.match_info.route)
        if row is not None and row.server not in self._served:
            row = None
        status = _CLIENT_GONE
        metrics.under_way += 1
        try:
            response = await self._answer(request, row, handler)
            status = response.status
            if self._context.is_stopping or "Upgrade" in request.headers:
                # After an upgrade request, the client may send another protocol, which can't be
                # answered.
                response.force_close()
            return response
        finally:
            metrics.under_way -= 1
            self._record(request, row, status, perf_counter() - started)

    async def _answer(
        self, request: web.Request, row: Endpoint | None, handler: Handler
    ) -> web.StreamResponse:
        """Return the response of *handler*, or an error response as JSON."""
        try:
            _check_encoding(request.rel_url.raw_path)
            if row is None:
                return await self._answer_unmatched(request)
            self._admit(request, row)
            return await handler(request)
        except ScenarioctlError as error:
            return await self._refuse(request, row, error)
        except ConnectionError:
            # The client has disconnected.
            raise
        except Exception as bug:
            if isinstance(bug, OSError) and bug.errno in (errno.EMFILE, errno.ENFILE):
                # Reading a module or a table can fail with this error too.
                busy = f"the daemon has too many open files ({bug.strerror}); try again later"
                return await self._refuse(request, row, NotReady(f"{busy} (LimitNOFILE=)"))
            return self._report_bug(request, row, bug)

    def _admit(self, request: web.Request, row: Endpoint) -> None:
        """Refuse a client without access to the endpoint, or above its rate limit."""
        access, limits = self._context.access, self._context.limits
        try:
            client = access.admit(request, row)
        except Unauthorized:
            # Limit guesses at tokens too.
            limits.admit(address_of(request))
            raise
        limits.admit(client)

    async def add_headers(self, request: web.Request, response: web.StreamResponse) -> None:
        """Add the headers of every response; a handler of aiohttp's `on_response_prepare`
        signal."""
        headers = response.headers
        # aiohttp has set its own.
        headers["Server"] = COMMON_HEADERS["Server"]
        for name, value in COMMON_HEADERS.items():
            headers.setdefault(name, value)
        headers["X-Request-Id"] = request[_ID]
        if "Origin" in request.headers:
            headers.update(self._context.access.cors(request))
            if "Access-Control-Allow-Origin" in headers:
                headers["Access-Control-Expose-Headers"] = _EXPOSED

    async def _answer_unmatched(self, request: web.Request) -> web.StreamResponse:
        path, error = request.rel_url.raw_path, request.match_info.http_exception
        if instead := removed_path(path):
            raise NotFound(instead)
        found = self._paths.get(await self._find(request))
        if found is not None and found.server not in self._served:
            raise NotFound(f"there is no path {_shown(path)} here; the scenario API has it")
        if isinstance(error, web.HTTPMethodNotAllowed):
            if request.method == "OPTIONS":
                return self._describe(request, error)
            method, allowed = error.method, sorted(error.allowed_methods - {"HEAD"})
            shown = method if method.isalpha() and len(method) < 20 else shorten(method)
            raise MethodNotAllowed(
                f"{_shown(path)} does not take {shown}, expected: {' or '.join(allowed)}"
            )
        close = self._closest(path, served=True)
        # A client may follow the suggestion blindly.
        is_harmless = close and not self._paths[close].destructive
        hint = f"; did you mean {close}?" if is_harmless else "; /openapi.json lists all paths"
        raise NotFound(f"there is no path {_shown(path)}{hint}")

    async def _find(self, request: web.Request) -> str:
        """Return the path that matches a request with any method; empty if there is none."""
        for resource in self._router.resources():
            match, allowed = await resource.resolve(request)
            if match is not None or allowed:
                return resource.canonical
        return ""

    def _closest(self, path: str, *, served: bool = False) -> str:
        known = [
            each for each, row in self._paths.items() if not served or row.server in self._served
        ]
        return next(iter(closest(path.rstrip("/"), known)), "")

    async def _flag(self, request: web.Request) -> str:
        """Return the flag of the requested path, or of the one most likely meant; empty if it has
        none."""
        meant = await self._find(request) or self._closest(request.rel_url.raw_path)
        return self._paths[meant].flag if meant else ""

    def _describe(self, request: web.Request, error: web.HTTPMethodNotAllowed) -> web.Response:
        """Answer `OPTIONS`, including CORS preflights of allowed origins."""
        headers = {"Allow": _allowed(error)}
        if "Access-Control-Allow-Origin" in self._context.access.cors(request):
            headers["Access-Control-Allow-Methods"] = headers["Allow"]
            headers.update(_PREFLIGHT)
        return web.Response(status=204, headers=headers)

    async def _refuse(
        self, request: web.Request, row: Endpoint | None, error: ScenarioctlError
    ) -> web.Response:
        response = error_response(error, row.flag if row else await self._flag(request))
        unmatched = request.match_info.http_exception
        if isinstance(error, MethodNotAllowed) and isinstance(unmatched, web.HTTPMethodNotAllowed):
            response.headers["Allow"] = _allowed(unmatched)
        elif isinstance(error, Unauthorized):
            response.headers["WWW-Authenticate"] = "Bearer"
        if seconds := error.details.get("retry_after"):
            response.headers["Retry-After"] = str(math.ceil(float(str(seconds))))
        if isinstance(error, (TooLarge, TooSlow, BadRequest)):
            # Don't read the rest of the body.
            response.force_close()
        return response

    def _report_bug(
        self, request: web.Request, row: Endpoint | None, bug: Exception
    ) -> web.Response:
        """Answer 500 for a bug, and log its details, which the response doesn't show."""
        log.error(
            "bug while answering %s %s",
            request.method,
            row.path if row else "an unknown path",
            exc_info=bug,
            extra={"request_id": request[_ID]},
        )
        done = "".join(f"; {note}" for note in getattr(bug, "__notes__", ()))
        error = ScenarioctlError(
            "this is a bug in scenarioctl; its log has the details under request id "
            f"{request[_ID]}{done}"
        )
        return error_response(error, row.flag if row else "")

    def _record(
        self, request: web.Request, row: Endpoint | None, status: int, seconds: float
    ) -> None:
        # Don't record the actual path: a webhook's uuid is a secret.
        path = row.path if row else NOWHERE
        self._context.metrics.count(self._server, path, status, seconds)
        if log.isEnabledFor(logging.DEBUG):
            log.debug(
                "%s %s %d",
                request.method,
                path,
                status,
                extra={
                    "request_id": request[_ID],
                    "server": self._server,
                    "status": status,
                    "milliseconds": round(seconds * 1000, 3),
                },
            )


def _shown(path: str) -> str:
    is_plain = path and path.isascii() and path.isprintable() and len(path) <= 80
    return path if is_plain else shorten(path, 80)


def _allowed(error: web.HTTPMethodNotAllowed) -> str:
    return ", ".join((*sorted(error.allowed_methods), "OPTIONS"))


def _check_encoding(path: str) -> None:
    for segment in path.split("/") if "%" in path else ():
        try:
            unquote(segment, errors="strict")
        except UnicodeDecodeError:
            raise BadRequest(f"the path is not UTF-8 text at {shorten(segment)}") from None
