"""Bells of legs, deferred to the dispatch engine in the transactions of the store.

procrastinate is imported when the first job is started, stopped or finished: creating a scenario doesn't need it.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import psycopg

from scenarioctl.stores.postgres.connections import Connection

if TYPE_CHECKING:
    from procrastinate import App

#: The engine's name of what takes a leg; its arguments are `job` and `leg`.
TASK = "take_leg"
#: The engine's queue of all legs.  Workers of versions that knew no legs have another one.
QUEUE = "scenarioctl-legs"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Due at this second since 1970, a leg has the priority 0; at an earlier one, a higher priority.
_ZERO = 1_600_000_000
_PRIORITIES = 2**31 - 1


class Deferrals:
    """Defers bells of legs."""

    def __init__(self) -> None:
        self._engine: App | None = None

    async def ring(self, connection: Connection, legs: Sequence[tuple[str, int, int]]) -> None:
        """Have the engine ring for each leg at its due time, if the transaction of *connection* commits."""
        from procrastinate.jobs import Job

        bells = [
            Job(
                id=None,
                task_name=TASK,
                queue=QUEUE,
                priority=priority(due),
                lock=None,
                # Legs of a scenario that is deleted and created again are counted anew.
                queueing_lock=f"{job}/{leg}/{due}",
                task_kwargs={"job": job, "leg": leg},
                scheduled_at=moment(due),
            )
            for job, leg, due in legs
        ]
        with _as_psycopg_raised_it():
            await self._app().job_manager.batch_defer_jobs_async(bells, connection=connection)

    def _app(self) -> "App":
        if self._engine is None:
            # Never opened: all that we ask goes over connections of ours.
            self._engine = make_engine()
        return self._engine


def make_engine() -> "App":
    """Return an engine that isn't connected, and that logs nothing."""
    from procrastinate import App, PsycopgConnector

    # It tells of every run, and of each error of the database with tracebacks; we say what that means, once.
    logging.getLogger("procrastinate").setLevel(logging.CRITICAL)
    return App(connector=PsycopgConnector())


@contextmanager
def _as_psycopg_raised_it() -> Iterator[None]:
    """Let the store explain an error of the database: the engine's own says nothing of it."""
    from procrastinate.exceptions import ConnectorException

    try:
        yield
    except ConnectorException as error:
        if isinstance(error.__cause__, psycopg.Error):
            raise error.__cause__ from None
        raise


def moment(due: int) -> datetime:
    """Return the first microsecond at which *due* has come."""
    return _EPOCH + timedelta(microseconds=-(-due // 1000))


def priority(due: int) -> int:
    """Return the engine's priority of a run: it takes what is due first, to the second, and then what was deferred first."""
    return max(-_PRIORITIES, min(_ZERO - due // 1_000_000_000, _PRIORITIES))
