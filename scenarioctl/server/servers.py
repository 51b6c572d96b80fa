"""The two HTTP servers, as aiohttp applications built from the tables of endpoints and pages."""

import asyncio
import logging
import re
import socket
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from aiohttp import web
from aiohttp.http_exceptions import InvalidURLError, LineTooLong

from scenarioctl import __version__
from scenarioctl.application import Application
from scenarioctl.errors import BadRequest
from scenarioctl.server.access import Access, peer_of
from scenarioctl.server.bodies import Limits, error_response, expect_nothing
from scenarioctl.server.endpoints import ENDPOINTS, Endpoint
from scenarioctl.server.handlers import OperationHandler, Route, ServerContext
from scenarioctl.server.metrics import Metrics
from scenarioctl.server.pages import page_file_routes, page_routes
from scenarioctl.server.pipeline import COMMON_HEADERS, RequestPipeline
from scenarioctl.server.process import BACKLOG, ListeningSocket
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
#: Seconds for requests to finish when the daemon stops, between checks whether they have, and then
#: for their responses to be sent.
_GRACE, _LOOK, _CLOSING = 10.0, 0.02, 2.0


class HttpServers:
    """The servers of a daemon: call `listen`, then `stop`."""

    def __init__(self, context: ServerContext) -> None:
        self.context = context
        self._acceptors: list[Acceptor] = []

    async def listen(self, server: str, listeners: Iterable[ListeningSocket]) -> None:
        """Serve *server*, `api` or `worker`, at *listeners*."""
        acceptor = Acceptor(build_application(server, self.context), self.context.limits)
        self._acceptors.append(acceptor)
        await acceptor.listen(listeners)

    async def stop(self) -> None:
        """Stop accepting connections, give requests ten seconds to finish, and close all
        connections."""
        self.context.is_stopping = True
        # Event streams never end by themselves.
        self.context.follower.close()
        for acceptor in self._acceptors:
            acceptor.stop_listening()
        deadline = asyncio.get_running_loop().time() + _GRACE
        while self.context.is_busy() and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(_LOOK)
        # It reads no more bodies.
        await asyncio.gather(*(acceptor.runner.cleanup() for acceptor in self._acceptors))


class Acceptor:
    """Accepts the connections of one server.

    The protocol of each is aiohttp's own with our limits, made for `loop.create_server`: a site of
    aiohttp would make one without.
    """

    def __init__(self, application: web.Application, limits: Limits) -> None:
        self.runner = web.AppRunner(
            application, handler_cancellation=True, shutdown_timeout=_CLOSING
        )
        self._limits = limits
        self._listening: list[tuple[ListeningSocket, asyncio.Server]] = []

    async def listen(self, listeners: Iterable[ListeningSocket]) -> None:
        """Start to accept connections at *listeners*."""
        await self.runner.setup()
        for listener in listeners:
            sock = listener.socket
            if sock.family != socket.AF_UNIX:
                # Ends connections of clients that don't read.
                milliseconds = int(self._limits.seconds * 1000)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
            # A duplicate, since asyncio closes the socket that it is given.
            accepting = await asyncio.get_running_loop().create_server(
                lambda: _Connection(self.runner.server, self._limits),
                sock=sock.dup(),
                backlog=BACKLOG,
            )
            self._listening.append((listener, accepting))

    def stop_listening(self) -> None:
        for listener, accepting in self._listening:
            listener.close()
            accepting.close()


class _Connection(web.RequestHandler):
    """aiohttp's protocol of a connection, which is counted.

    Requests that aren't HTTP get an error as JSON too.
    """

    def __init__(self, server: Any, limits: Limits) -> None:
        super().__init__(
            server,
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
        self.limits = limits
        #: The client, while the connection is counted.
        self.client = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        client = peer_of(transport)
        if self.limits.enter(client):
            self.client = client
            super().connection_made(transport)
        else:
            cast("asyncio.Transport", transport).abort()

    def connection_lost(self, exc: BaseException | None) -> None:
        if self.client:
            self.limits.leave(self.client)
            super().connection_lost(exc)

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
    context = ServerContext(
        app=app,
        access=access,
        limits=limits,
        metrics=metrics,
        follower=Follower(app, metrics),
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
    rows: dict[web.AbstractRoute, Endpoint] = {}
    for row, handler in routes_of(server, served, context):
        for path in (row.path, *row.also):
            for method in ("GET", "HEAD") if row.method == "GET" else (row.method,):
                route = application.router.add_route(
                    method, path, handler, expect_handler=expect_nothing
                )
                rows[route] = row
    pipeline = RequestPipeline(server, context, application.router, rows, served)
    application.middlewares.append(pipeline.handle)
    application.on_response_prepare.append(pipeline.add_headers)
    return application


def routes_of(server: str, served: set[str], context: ServerContext) -> list[Route]:
    """Return the rows with their handlers, also those that the pipeline refuses because they aren't
    of *served*."""
    routes: list[Route] = [
        (row, OperationHandler(row, context).answer) for row in context.endpoints
    ]
    routes += page_routes(context, served)
    if server == "api":
        routes += page_file_routes(context)
    return routes


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
