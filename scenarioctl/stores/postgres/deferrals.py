"""Runs handed to the dispatch engine, in the transactions of the store.

procrastinate is imported when the first job is started, stopped or finished: creating a scenario doesn't need it.
"""

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import psycopg

from scenarioctl.stores.postgres.connections import Connection

if TYPE_CHECKING:
    from procrastinate import App

#: The engine's name of what runs a job; its one argument is `id`.
TASK = "run_scenario"
#: The engine's queue of all runs.
QUEUE = "scenarioctl"

#: Nanoseconds before its due time at which a run is deferred.
SOON = 60 * 1_000_000_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Due at this second since 1970, a run has the priority 0; at an earlier one, a higher priority.
_ZERO = 1_600_000_000
_PRIORITIES = 2**31 - 1


class Deferrals:
    """Defers and cancels runs of jobs."""

    def __init__(self) -> None:
        self._engine: App | None = None

    async def defer(self, connection: Connection, id: str, due: int) -> int | None:
        """Have the engine run the job *id* at *due*, if the transaction of *connection* commits; return its number.

        None, and nothing happens, if that is not soon: the engine reads all runs that are not due to find one that is.
        """
        return (await self.defer_soon(connection, [(id, due)])).get(id)

    async def defer_soon(self, connection: Connection, runs: Sequence[tuple[str, int]]) -> dict[str, int]:
        """Do so for each id and due time of *runs*; return the numbers of those that are due soon."""
        horizon = time.time_ns() + SOON
        soon = [(id, due) for id, due in runs if due <= horizon]
        numbers = await self.defer_all(connection, soon) if soon else []
        return {id: number for (id, _), number in zip(soon, numbers, strict=True)}

    async def defer_all(self, connection: Connection, runs: Sequence[tuple[str, int]]) -> list[int]:
        """Do so however long until they are due, and return their numbers in the same order."""
        from procrastinate.jobs import Job

        jobs = [
            Job(
                id=None,
                task_name=TASK,
                queue=QUEUE,
                priority=priority(due),
                lock=None,
                queueing_lock=None,
                task_kwargs={"id": id},
                scheduled_at=moment(due),
            )
            for id, due in runs
        ]
        with _as_psycopg_raised_it():
            deferred = await self._app().job_manager.batch_defer_jobs_async(jobs, connection=connection)
        return [job.id for job in deferred if job.id is not None]

    async def cancel(self, connection: Connection, number: int) -> bool:
        """Take a run back, if the transaction commits; False if it is in progress or over, and nothing changes."""
        with _as_psycopg_raised_it():
            return await self._app().job_manager.cancel_job_by_id_async(
                number, delete_job=True, connection=connection
            )

    def _app(self) -> "App":
        if self._engine is None:
            from procrastinate import App, PsycopgConnector

            # It tells of every run at the level info.
            logging.getLogger("procrastinate").setLevel(logging.WARNING)
            # Never opened: all that we ask goes over connections of ours.
            self._engine = App(connector=PsycopgConnector())
        return self._engine


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
