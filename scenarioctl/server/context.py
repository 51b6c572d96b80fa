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
from scenarioctl.server.bodies import LARGE_AT_ONCE, LargeBodies
from scenarioctl.server.endpoints import Endpoint
from scenarioctl.server.limits import Limits
from scenarioctl.server.metrics import Metrics
from scenarioctl.server.streams import Follower

if TYPE_CHECKING:
    from scenarioctl.worker.loop import Worker

log = logging.getLogger("scenarioctl.http")

T = TypeVar("T")

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
    #: `/readyz` says no, and each response closes its connection.
    is_stopping: bool = False
    #: Large bodies that are being received.
    bodies: LargeBodies = field(default_factory=LargeBodies)
    #: Large bodies that are worked on: each may take many times its size once it is parsed.
    large: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(LARGE_AT_ONCE))
    #: Writes in progress, also those whose client has gone.
    writes: set["asyncio.Task[Any]"] = field(default_factory=set)

    async def finish(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what *work* returns; it is finished even if the client disconnects meanwhile."""
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
    """Log a bug in a write that has no client any more."""
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, ScenarioctlError):
        log.error("bug in a write whose client has disconnected", exc_info=error)
