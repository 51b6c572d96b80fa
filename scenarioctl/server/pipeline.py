"""The aiohttp middleware around every handler: request id, metrics, errors, access and limits;
unknown paths and wrong methods."""

import errno
import itertools
import logging
import math
import re
import secrets
from collections.abc import Container, Mapping, Sequence
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
from scenarioctl.server.endpoints import Endpoint
from scenarioctl.server.handlers import Handler, ServerContext
from scenarioctl.server.metrics import NOWHERE
from scenarioctl.server.responses import error_response


class Paths:
    """The paths of one server, and those that only the scenario API has."""

    def __init__(
        self,
        here: web.UrlDispatcher,
        elsewhere: web.UrlDispatcher,
        *,
        flags: Mapping[str, str],
        unsuggested: Container[str],
    ) -> None:
        self._here = here
        self._elsewhere = elsewhere
        #: Path of either server -> the flag in its responses.
        self._flags = flags
        #: Paths that no error suggests, because a client may follow the suggestion blindly.
        self._unsuggested = unsuggested

    def wrong_method(self, path: str, error: web.HTTPMethodNotAllowed) -> MethodNotAllowed:
        """Return the error for a path that does not take the method of the request."""
        method, allowed = error.method, sorted(error.allowed_methods - {"HEAD"})
        shown = method if method.isalpha() and len(method) < 20 else shorten(method)
        return MethodNotAllowed(
            f"{_shown(path)} does not take {shown}, expected: {' or '.join(allowed)}"
        )

    async def unknown(self, request: web.Request) -> NotFound:
        """Return the error for a path that this server does not have, with a hint where one
        helps."""
        path = request.rel_url.raw_path
        if instead := removed_path(path):
            return NotFound(instead)
        if await _find(self._elsewhere, request):
            return NotFound(f"there is no path {_shown(path)} here; the scenario API has it")
        close = _closest(path, _paths_of(self._here))
        hint = (
            f"; did you mean {close}?"
            if close and close not in self._unsuggested
            else "; /openapi.json lists all paths"
        )
        return NotFound(f"there is no path {_shown(path)}{hint}")

    async def flag(self, request: web.Request) -> str:
        """Return the flag of the requested path, or of the one most likely meant; empty if it has
        none."""
        both = (self._here, self._elsewhere)
        found = [path for router in both if (path := await _find(router, request))]
        meant = (
            found[0]
            if found
            else _closest(
                request.rel_url.raw_path, [path for router in both for path in _paths_of(router)]
            )
        )
        return self._flags.get(meant, "")


async def _find(router: web.UrlDispatcher, request: web.Request) -> str:
    """Return the path of *router* that matches a request with any method; empty if there is
    none."""
    for resource in router.resources():
        match, allowed = await resource.resolve(request)
        if match is not None or allowed:
            return resource.canonical
    return ""


def _paths_of(router: web.UrlDispatcher) -> list[str]:
    return [resource.canonical for resource in router.resources()]


def _closest(path: str, paths: Sequence[str]) -> str:
    return next(iter(closest(path.rstrip("/"), paths)), "")


def _shown(path: str) -> str:
    return (
        path
        if path and path.isascii() and path.isprintable() and len(path) <= 80
        else shorten(path, 80)
    )


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
#: The process or the system has too many open files.
_NO_FILES = (errno.EMFILE, errno.ENFILE)


class RequestPipeline:
    """The middleware of one server, and the headers of its responses."""

    def __init__(
        self,
        server: str,
        context: ServerContext,
        paths: Paths,
        rows: Mapping[web.AbstractRoute, Endpoint],
    ) -> None:
        #: `api` or `worker`.
        self._server = server
        self._context = context
        self._paths = paths
        #: Route -> its row in the tables of endpoints and pages.
        self._rows = rows

    @web.middleware
    async def handle(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer a request, or turn its error into a response; the only middleware of a server."""
        metrics, started = self._context.metrics, perf_counter()
        given = request.headers.get("X-Request-Id", "")
        request[_ID] = given if _REQUEST_ID.fullmatch(given) else f"{_PROCESS}-{next(_numbers):x}"
        row = self._rows.get(request.match_info.route)
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
            if isinstance(bug, OSError) and bug.errno in _NO_FILES:
                return await self._refuse(request, row, _no_files(bug))
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
        if isinstance(error, web.HTTPMethodNotAllowed):
            if request.method == "OPTIONS":
                return self._describe(request, error)
            raise self._paths.wrong_method(path, error)
        raise await self._paths.unknown(request)

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
        response = error_response(error, row.flag if row else await self._paths.flag(request))
        unmatched = request.match_info.http_exception
        if isinstance(error, MethodNotAllowed) and isinstance(unmatched, web.HTTPMethodNotAllowed):
            response.headers["Allow"] = _allowed(unmatched)
        elif isinstance(error, Unauthorized):
            response.headers["WWW-Authenticate"] = "Bearer"
        if "retry_after" in error.details:
            response.headers["Retry-After"] = str(
                math.ceil(float(str(error.details["retry_after"])))
            )
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


def _allowed(error: web.HTTPMethodNotAllowed) -> str:
    return ", ".join((*sorted(error.allowed_methods), "OPTIONS"))


def _check_encoding(path: str) -> None:
    for segment in path.split("/") if "%" in path else ():
        try:
            unquote(segment, errors="strict")
        except UnicodeDecodeError:
            raise BadRequest(f"the path is not UTF-8 text at {shorten(segment)}") from None


def _no_files(error: OSError) -> NotReady:
    # Reading a module or a table can fail with this error too.
    return NotReady(
        f"the daemon has too many open files ({error.strerror}); try again later (LimitNOFILE=)"
    )
