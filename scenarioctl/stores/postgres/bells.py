"""Rings the dispatch engine, procrastinate: tells one worker that something is due.

Which leg is due, and whose it is, is said by the rows of `jobs` alone.  A bell that is lost, late
or doubled costs time: workers look by themselves every few seconds.  So it is deferred after the
commit, in the background: two open transactions that defer bells of one name would wait for each
other.  procrastinate is imported for the first bell.
"""

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from scenarioctl.errors import ScenarioctlError
from scenarioctl.stores.operations import Ring
from scenarioctl.stores.postgres.connections import Connections

if TYPE_CHECKING:
    from procrastinate import App

log = logging.getLogger("scenarioctl.store")

#: The engine's name of what begins what is due.
TASK = "take_due_legs"
QUEUE = "scenarioctl-bells"

_SECOND = 1_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Seconds between two bells, and after one that another process had rung already: what comes
#: meanwhile is told by the next one.
_PAUSE, _LONG_PAUSE = 0.02, 0.1


class Bells:
    """Rings, once for all that is due at the same second."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._engine: App | None = None
        #: The seconds to ring for; 0 is now.
        self._wanted = set[int]()
        #: Later seconds whose bell waits for its time.
        self._rung = set[int]()
        self._task: asyncio.Task[None] | None = None

    def ring(self, ring: Ring) -> None:
        """Ring soon for what is due, unless that is so late that workers see it by themselves."""
        if not ring.is_soon:
            return
        second = ring.due // _SECOND if ring.due > ring.moment else 0
        self._rung = {each for each in self._rung if each > ring.moment // _SECOND + 1}
        if second in self._rung:
            return
        self._wanted.add(second)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._ring_all(), name="ring")

    async def close(self) -> None:
        """Ring for the rest."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def _ring_all(self) -> None:
        from procrastinate.exceptions import AlreadyEnqueued, ConnectorException

        while self._wanted:
            second, pause = self._wanted.pop(), _PAUSE
            try:
                await self._ring(second)
            except AlreadyEnqueued:
                # Whoever hears it sees what was committed before.
                pause = _LONG_PAUSE
            except (ConnectorException, ScenarioctlError) as error:
                log.debug("a bell was not rung: %s", error)
                continue
            if second:
                self._rung.add(second)
            await asyncio.sleep(pause)

    async def _ring(self, second: int) -> None:
        from procrastinate.jobs import Job

        if self._engine is None:
            # Never opened: all that we ask goes over connections of ours.
            self._engine = make_engine()
        bell = Job(
            id=None,
            task_name=TASK,
            queue=QUEUE,
            priority=0 if second else 1,
            lock=None,
            queueing_lock=f"legs/{second or 'now'}",
            task_kwargs={},
            # In a worker's hand when the time comes.
            scheduled_at=_EPOCH + timedelta(seconds=second - 1) if second else None,
        )
        async with self._connections.lend() as connection:
            await self._engine.job_manager.defer_job_async(bell, connection=connection)


def make_engine() -> "App":
    """Return an engine that isn't connected, and that logs nothing."""
    from procrastinate import App, PsycopgConnector

    # It tells of every run, and of each error of the database with tracebacks; we say what that
    # means, once.
    logging.getLogger("procrastinate").setLevel(logging.CRITICAL)
    return App(connector=PsycopgConnector())
