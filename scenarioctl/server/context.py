"""What the handlers of both HTTP servers share."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from aiohttp import web

from scenarioctl.application import Application
from scenarioctl.errors import ScenarioctlError
from scenarioctl.server.access import Access
from scenarioctl.server.bodies import LargeBodies
from scenarioctl.server.endpoints import Endpoint
from scenarioctl.server.limits import CostlyWork, Limits, Turn
from scenarioctl.server.metrics import Metrics
from scenarioctl.server.streams import Follower

if TYPE_CHECKING:
    from scenarioctl.worker.worker import Worker

log = logging.getLogger("scenarioctl.http")

T = TypeVar("T")

#: Key of the client that sent a request, as `Access` names it.
CLIENT = web.RequestKey("CLIENT", str)
#: A row of the table of endpoints or pages, and the aiohttp handler that answers its paths.
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Route = tuple[Endpoint, Handler]


@dataclass(kw_only=True)
class ServerContext:
    """The application, the limits in force, and the state of both servers."""

    app: Application
    access: Access
    limits: Limits
    metrics: Metrics
    follower: Follower
    role: str
    endpoints: tuple[Endpoint, ...]
    worker: "Worker | None" = None
    #: The daemon is stopping: `/readyz` answers 503, and each response closes its connection.
    is_stopping: bool = False
    #: Large bodies being received.
    bodies: LargeBodies = field(default_factory=LargeBodies)
    #: Large bodies are processed there, too: once parsed, one may take many times its size.
    costly: CostlyWork = field(default_factory=CostlyWork)
    #: Writes in progress, including those whose client has disconnected.
    writes: set["asyncio.Task[Any]"] = field(default_factory=set)

    def turn(self, request: web.Request, *, waits: bool = False) -> Turn:
        """Return a turn for *request*, which is in no slot yet."""
        return Turn(request[CLIENT], self.limits.slots(waits=waits), self.costly)

    async def finish(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of *work*, which finishes even if the client disconnects."""
        task = asyncio.create_task(work)
        self.writes.add(task)
        task.add_done_callback(self.writes.discard)
        try:
            # Canceling this wait does not cancel the task.
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.add_done_callback(_log_failure)
            raise
        return task.result()


def _log_failure(task: "asyncio.Task[Any]") -> None:
    """Log a bug in a write whose client has disconnected."""
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, ScenarioctlError):
        log.error("bug in a write whose client has disconnected", exc_info=error)
