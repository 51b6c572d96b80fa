"""The two servers, of the tables of endpoints and pages.  `server/daemon.py` gives them sockets."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from aiohttp import web

from scenarioctl import __version__
from scenarioctl.application import Application
from scenarioctl.server.access import Access
from scenarioctl.server.connections import Connection
from scenarioctl.server.decoding import decoder_of
from scenarioctl.server.endpoints import ENDPOINTS, Endpoint, find_handler
from scenarioctl.server.exchange import Front, Operation, Point, Terms
from scenarioctl.server.limits import Limits
from scenarioctl.server.metrics import Metrics, figures_of
from scenarioctl.server.page_files import web_points
from scenarioctl.server.pages import Grounds, page_points
from scenarioctl.server.routes import Elsewhere, Routes
from scenarioctl.server.streams import Follower

if TYPE_CHECKING:
    from scenarioctl.worker.loop import Worker

#: Role -> the servers that it has.
ROLES = {"all": ("api", "worker"), "api": ("api",), "worker": ("worker",)}


class Server(web.Server):
    """aiohttp's server, with connections of our own kind."""

    def __init__(self, front: Front, limits: Limits) -> None:
        super().__init__(front)
        self._limits = limits

    def __call__(self) -> web.RequestHandler:
        return Connection(self, self._limits, self._loop)


class Runner(web.ServerRunner):
    """Starts and ends a server; streams end first, since they would not by themselves."""

    def __init__(self, site: "Site", name: str, *, shutdown_timeout: float) -> None:
        super().__init__(Server(site.fronts[name], site.limits), shutdown_timeout=shutdown_timeout)
        self._site = site

    async def shutdown(self) -> None:
        self._site.follower.close()


class Site:
    """Both servers, as far as a role has them, and what they share."""

    def __init__(self, terms: Terms, fronts: dict[str, Front], follower: Follower, grounds: Grounds) -> None:
        #: `api`, `worker` -> what answers there.
        self.fronts = fronts
        self.metrics = terms.metrics
        self.limits = terms.limits
        self.follower = follower
        self._terms = terms
        self._grounds = grounds

    def runner(self, name: str, *, shutdown_timeout: float = 20.0) -> web.BaseRunner:
        """Return aiohttp's runner of the server *name*, to be set up and given sockets; one per site and server."""
        return Runner(self, name, shutdown_timeout=shutdown_timeout)

    def stopping(self) -> None:
        """Let `/readyz` say no from now on: proxies then send their requests elsewhere."""
        self._grounds.stopping = True

    async def finish(self, seconds: float = 20.0) -> None:  # noqa: ARG002 - the runners have waited
        """Let go of what the servers shared; to be called between the runners' cleanup and `app.close()`."""
        self.follower.close()


def build_site(
    app: Application,
    access: Access,
    limits: Limits,
    *,
    role: str = "all",
    worker: "Worker | None" = None,
    endpoints: Sequence[Endpoint] = ENDPOINTS,
) -> Site:
    """Return the servers of *role* (`all`, `api` or `worker`) over *app*, whose loop has to run already."""
    metrics = Metrics(__version__)
    metrics.sources.append(figures_of(app, worker))
    terms = Terms(app=app, access=access, limits=limits, metrics=metrics)
    follower = Follower(app, metrics)
    grounds = Grounds(
        app=app,
        access=access,
        metrics=metrics,
        role=role,
        endpoints=tuple(endpoints),
        worker=worker,
        follower=follower,
    )
    paths = [(row, path) for row in endpoints for path in (row.path, *row.also)]
    destructive = frozenset(path for row, path in paths if row.destructive)
    flags = {path: row.flag for row, path in paths if row.flag}
    fronts = {}
    for name in ROLES[role]:
        served = {name, "both"} | ({"worker"} if role == "all" and name == "api" else set())
        points: list[Point] = [_operation(row, terms) for row in endpoints if row.server in served]
        points += page_points(grounds, served)
        if name == "api":
            points += web_points(terms)
        other = "worker" if name == "api" else "api"
        elsewhere = Elsewhere(
            name={"api": "the scenario API", "worker": "the job worker"}[other],
            routes=Routes([(row.method, row.path, None) for row in endpoints if row.server == other]),
        )
        routes = Routes(_rows(points), elsewhere=elsewhere, unsuggested=destructive)
        fronts[name] = Front(name, routes, terms, flags=flags)
    return Site(terms, fronts, follower, grounds)


def _rows(points: Sequence[Point]) -> list[tuple[str, str, Point]]:
    return [(point.row.method, path, point) for point in points for path in (point.row.path, *point.row.also)]


def _operation(row: Endpoint, terms: Terms) -> Operation:
    handler, request_type = find_handler(row)
    return Operation(row, terms, handler, decoder_of(row, request_type))
