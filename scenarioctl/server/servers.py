"""The two HTTP servers, as aiohttp applications built from the tables of endpoints and pages."""

import asyncio
import logging
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from aiohttp import web
from aiohttp.http_exceptions import InvalidURLError, LineTooLong

from scenarioctl import __version__
from scenarioctl.application import Application
from scenarioctl.errors import BadRequest
from scenarioctl.server.access import Access
from scenarioctl.server.bodies import expect_nothing
from scenarioctl.server.endpoints import ENDPOINTS, Endpoint
from scenarioctl.server.handlers import OperationHandler, Route, ServerContext
from scenarioctl.server.limits import Limits
from scenarioctl.server.listening import Acceptor, ListeningSocket
from scenarioctl.server.metrics import Metrics, StoreMetrics, figures_of
from scenarioctl.server.pages import page_file_routes, page_routes
from scenarioctl.server.pipeline import COMMON_HEADERS, Paths, RequestPipeline
from scenarioctl.server.responses import error_response
from scenarioctl.server.streams import Follower

if TYPE_CHECKING:
    from scenarioctl.worker.worker import Worker

#: Limits of a request's header: bytes of a line, and number of lines.
LINE_MAX = 16 * 1024
HEADERS_MAX = 100
#: Behind the reason in a message of aiohttp about what isn't HTTP.
_REASON_END = re.compile(r":?\s*\n|: b")
#: Seconds for reading the rest of a refused body, so that the client receives the error.
_LINGERING = 3.0
#: Seconds between checks whether all requests have finished.
_LOOK = 0.02
#: Seconds for closing a request that didn't finish in time.
_CLOSING = 1.0


class HttpServers:
    """The servers of a daemon: call `listen`, then `stop`."""

    def __init__(self, context: ServerContext) -> None:
        self.context = context
        self._running: list[tuple[web.AppRunner, Acceptor]] = []

    async def listen(self, server: str, listeners: Iterable[ListeningSocket]) -> None:
        """Serve *server*, `api` or `worker`, at *listeners*."""
        limits = self.context.limits
        runner = make_runner(build_application(server, self.context))
        await runner.setup()
        acceptor = Acceptor(connections_of(runner, limits), limits)
        self._running.append((runner, acceptor))
        for listener in listeners:
            await acceptor.listen(listener)

    async def stop(self, seconds: float) -> None:
        """Stop accepting connections, give requests *seconds* to finish, and close all
        connections."""
        self.context.is_stopping = True
        # Event streams never end by themselves.
        self.context.follower.close()
        for _, acceptor in self._running:
            await acceptor.close()
        deadline = asyncio.get_running_loop().time() + seconds
        while self._is_busy() and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(_LOOK)
        for runner, _ in self._running:
            await runner.cleanup()
        if self.context.writes:
            await asyncio.wait(self.context.writes, timeout=_CLOSING)

    def _is_busy(self) -> bool:
        busy = self.context.metrics.under_way or self.context.writes
        return bool(busy) or any(acceptor.is_busy() for _, acceptor in self._running)


def make_runner(application: web.Application) -> web.AppRunner:
    """Return a runner of *application*."""
    return web.AppRunner(
        application,
        handler_cancellation=True,
        shutdown_timeout=_CLOSING,
    )


def connections_of(runner: web.AppRunner, limits: Limits) -> Callable[[], web.RequestHandler]:
    """Return what makes the protocol of each connection to *runner*, which is set up, with our
    limits for request headers."""
    assert runner.server is not None  # noqa: S101 - setup() has set it
    return partial(
        _Connection,
        runner.server,
        loop=asyncio.get_running_loop(),
        access_log=None,  # type: ignore[arg-type]
        logger=_quiet_logger(),
        # Time for a complete header, from the opening of the connection or the last response.
        keepalive_timeout=limits.seconds,
        lingering_time=_LINGERING,
        max_line_size=LINE_MAX,
        max_field_size=LINE_MAX,
        max_headers=HEADERS_MAX,
        # Compressed bodies are refused: one could expand a thousandfold.
        auto_decompress=False,
    )


class _Connection(web.RequestHandler):
    """The protocol of a connection, whose requests that aren't HTTP get an error as JSON too."""

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        # It logs, and raises if a response has begun.
        said = super().handle_error(request, status, exc, message)
        if not 400 <= status < 500:
            said.headers.update(COMMON_HEADERS)
            return said
        # The rest of the message repeats bytes of the request.
        reason = _REASON_END.split(message or "", maxsplit=1)[0]
        if isinstance(exc, LineTooLong):
            reason = f"a line of its head has more than {LINE_MAX} bytes"
        elif isinstance(exc, InvalidURLError):
            reason = "its URL is malformed"
        response = error_response(BadRequest(f"the request is not valid HTTP: {reason}"), "")
        response.headers.update(COMMON_HEADERS)
        response.force_close()
        return response


def build_servers(
    app: Application,
    access: Access,
    limits: Limits,
    *,
    role: str = "all",
    worker: "Worker | None" = None,
    endpoints: Sequence[Endpoint] = ENDPOINTS,
) -> HttpServers:
    """Return the servers of *role* (`all`, `api` or `worker`) for *app*. The event loop must be
    running."""
    metrics = Metrics(__version__)
    follower, store = Follower(app, metrics), StoreMetrics(app)
    follower.on_close.append(store.close)
    metrics.sources += [store.read, figures_of(app, worker)]
    context = ServerContext(
        app=app,
        access=access,
        limits=limits,
        metrics=metrics,
        follower=follower,
        role=role,
        endpoints=tuple(endpoints),
        worker=worker,
    )
    return HttpServers(context)


def build_application(server: str, context: ServerContext) -> web.Application:
    """Return the aiohttp application of *server*: its operations, its pages, and the files of the
    web page."""
    # A page needs one origin, and the jobs may be run by the worker of another process.
    served = {"api", "worker", "both"} if server == "api" else {"worker", "both"}
    application = web.Application()
    rows = _add_routes(application.router, routes_of(server, served, context))
    elsewhere = web.UrlDispatcher()
    _add_routes(
        elsewhere, [(row, _unused) for row in context.endpoints if row.server not in served]
    )
    named = [(row, path) for row in context.endpoints for path in (row.path, *row.also)]
    paths = Paths(
        application.router,
        elsewhere,
        flags={path: row.flag for row, path in named if row.flag},
        unsuggested=frozenset(path for row, path in named if row.destructive),
    )
    pipeline = RequestPipeline(server, context, paths, rows)
    application.middlewares.append(pipeline.handle)
    application.on_response_prepare.append(pipeline.add_headers)
    return application


def routes_of(server: str, served: set[str], context: ServerContext) -> list[Route]:
    """Return the rows of the servers in *served* with their handlers."""
    rows = [row for row in context.endpoints if row.server in served]
    routes: list[Route] = [(row, OperationHandler(row, context).answer) for row in rows]
    routes += page_routes(context, served)
    if server == "api":
        routes += page_file_routes(context)
    return routes


def _add_routes(
    router: web.UrlDispatcher, routes: Iterable[Route]
) -> dict[web.AbstractRoute, Endpoint]:
    routes = list(routes)
    literals = [path for row, _ in routes for path in (row.path, *row.also) if "{" not in path]
    rows: dict[web.AbstractRoute, Endpoint] = {}
    for row, handler in routes:
        for path in (row.path, *row.also):
            pattern = _exclude(literals, path)
            for method in ("GET", "HEAD") if row.method == "GET" else (row.method,):
                rows[router.add_route(method, pattern, handler, expect_handler=expect_nothing)] = (
                    row
                )
    return rows


def _exclude(literals: Iterable[str], path: str) -> str:
    """Return *path* as an aiohttp pattern whose parameter doesn't match any of *literals*."""
    before, brace, rest = path.partition("{")
    name, _, after = rest.partition("}")
    taken = [
        each for each in literals if brace and each.startswith(before) and each.endswith(after)
    ]
    words = [re.escape(each[len(before) : len(each) - len(after)]) for each in taken]
    if not words:
        return path
    return f"{before}{{{name}:(?!(?:{'|'.join(words)}){re.escape(after)}$)[^{{}}/]+}}{after}"


async def _unused(request: web.Request) -> web.StreamResponse:  # noqa: ARG001 - as aiohttp calls it
    """Placeholder for a handler of the other server, whose router is only used for lookups."""
    raise web.HTTPNotFound


def _quiet_logger() -> logging.Logger:
    """Return a logger for aiohttp that drops malformed requests, with which any client could fill
    the log."""
    logger = logging.getLogger("scenarioctl.http.protocol")
    if not logger.filters:
        logger.addFilter(_is_own_fault)
    return logger


def _is_own_fault(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return not 400 <= getattr(error, "code", 500) < 500
