"""The bell of a store on PostgreSQL: procrastinate, as an at-least-once queue.

The store defers a task for each leg, in the transaction that plans it; the task's arguments are the
job and the number of its leg. Which worker takes the leg is decided by `Legs.begin`, so a task that
is lost, doubled or stale does no harm.  A task whose worker is silent, or stops, is another
worker's; a chore defers again what is due and was not begun for long.  procrastinate's worker ends
with an error of the database, and is started anew.
"""

import asyncio
import logging
import time
from contextlib import suppress
from typing import Any

import psycopg
from procrastinate import App, BaseRetryStrategy, RetryDecision
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import DeleteJobCondition, Job
from psycopg_pool import AsyncConnectionPool

from scenarioctl.application import Application
from scenarioctl.errors import ScenarioctlError
from scenarioctl.stores.postgres.connections import find_pooler
from scenarioctl.stores.postgres.store import QUEUE, TASK, make_engine, moment
from scenarioctl.worker.chores import Attempts
from scenarioctl.worker.legs import Legs

log = logging.getLogger("scenarioctl.worker")

_ENDED = "procrastinate's worker ended"
#: Legs in progress of one worker: they take as long as their requests.
_CONCURRENCY = 20
#: Connections of procrastinate: one listens, the others fetch and finish tasks.
_CONNECTIONS = 5
#: Seconds to wait for one of them.
_PATIENCE = 2.0
#: Seconds for legs to end in tests.
_LONG = 3600.0
#: Leases after which procrastinate forgets a worker that is silent.
_FORGOTTEN = 6
#: Due at once, whatever clock a worker has.
_AT_ONCE = moment(0)


class _ForOthers(BaseRetryStrategy):
    """Leaves a task that doesn't end to other workers."""

    def get_retry_decision(
        self,
        *,
        exception: BaseException,  # noqa: ARG002
        job: Job,  # noqa: ARG002
    ) -> RetryDecision:
        return RetryDecision(retry_at=_AT_ONCE)


class _Stopping(Exception):
    """A task came while its worker stops."""


class ProcrastinateBell:
    """Begins the legs that procrastinate's worker is given."""

    is_shared = True

    def __init__(self, app: Application, legs: Legs, *, capacity: int) -> None:
        self._app = app
        self._legs = legs
        self._pace = legs.pace
        self._capacity = capacity
        self._begun = 0
        self._attempts = Attempts(trouble="jobs can't be fetched", pace=legs.pace)
        self._stopping = False
        self._pool: AsyncConnectionPool[Any] | None = None
        #: procrastinate's worker, which may still wait for its tasks at the stop.
        self._serving: asyncio.Task[None] | None = None
        self._engine = self._make_engine()

    @property
    def last_beat(self) -> float:
        # procrastinate's worker is a task of this loop: while that turns, it does.
        return time.monotonic()

    async def run(self, stop: asyncio.Event) -> None:
        stopped = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                serving = self._serving = asyncio.create_task(self._serve(), name="procrastinate")
                await asyncio.wait({serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
                if serving.done():
                    error = serving.exception()
                    delay = self._attempts.failed(_ENDED if error is None else self._explain(error))
                    with suppress(TimeoutError):
                        async with asyncio.timeout(delay):
                            await stop.wait()
        finally:
            self._stopping = True
            stopped.cancel()
            if self._serving is not None:
                # It waits for its tasks, which end when their legs are canceled.
                self._serving.cancel()

    async def run_due(self) -> bool:
        before = self._begun
        try:
            await self._serve(until_idle=True)
        finally:
            await self._close()
        return self._begun > before

    def wake(self) -> None:
        """Do nothing: procrastinate hears of what is deferred."""

    async def ring_due(self) -> None:
        while await self._app.store.ring_due():
            pass
        await self._app.store.ring_again()
        if self._pool is None:
            return
        manager = self._engine.job_manager
        try:
            silent = await manager.get_stalled_jobs(
                queue=QUEUE, seconds_since_heartbeat=self._pace.lease
            )
            for task in silent:
                if task.id is not None:
                    await self._leave_to_others(task.id)
        except ConnectorException as error:
            raise self._explain(error) from None

    async def _leave_to_others(self, task: int) -> None:
        try:
            await self._engine.job_manager.retry_job_by_id_async(task, retry_at=_AT_ONCE)
        except ConnectorException as error:
            # It has ended by now, or another worker did the same.
            if not isinstance(error.__cause__, psycopg.errors.RaiseException):
                raise

    async def leave(self) -> None:
        serving = self._serving
        if serving is not None:
            await asyncio.wait({serving}, timeout=5 * _PATIENCE)
            if serving.done() and not serving.cancelled():
                # It can't say that it leaves: others notice.
                serving.exception()
        await self._close()

    async def _serve(self, *, until_idle: bool = False) -> None:
        await self._open()
        await self._engine.run_worker_async(
            queues=[QUEUE],
            wait=not until_idle,
            concurrency=min(self._capacity, _CONCURRENCY),
            # Due times come without a notification.
            fetch_job_polling_interval=self._pace.poll,
            shutdown_graceful_timeout=_LONG if until_idle else 0,
            delete_jobs=DeleteJobCondition.ALWAYS,
            install_signal_handlers=False,
            update_heartbeat_interval=self._pace.renew,
            stalled_worker_timeout=_FORGOTTEN * self._pace.lease,
        )

    async def _take(self, job: str, leg: int) -> None:
        task = await self._begin(job, leg)
        self._attempts.failures = 0
        if task is not None:
            self._begun += 1
            await asyncio.wait({task})

    async def _begin(self, job: str, leg: int) -> "asyncio.Task[None] | None":
        """Begin the leg, as soon as the store answers."""
        legs = self._legs
        attempts = Attempts(
            trouble=f"job {job} can't begin",
            pace=legs.pace,
            level=logging.WARNING,
        )
        while not self._stopping:
            try:
                return await legs.begin(job, leg)
            except ScenarioctlError as error:
                delay = attempts.failed(error)
            except Exception:
                log.exception("a bug showed when job %s began", job)
                return None
            await self._app.sleep(delay)
        raise _Stopping

    def _make_engine(self) -> App:
        engine = make_engine()
        engine.task(name=TASK, queue=QUEUE, retry=_ForOthers())(self._take)
        return engine

    async def _open(self) -> None:
        if self._pool is not None:
            return
        # A task that can't tell the server how it ended is another worker's.
        logging.getLogger("asyncio").addFilter(_is_ours)
        self._pool = AsyncConnectionPool(
            self._app.store.engine_address(),
            configure=_configure,
            min_size=1,
            max_size=_CONNECTIONS,
            timeout=_PATIENCE,
            # A server that is back is found by the next attempt, not after the pauses of the pool.
            reconnect_timeout=_PATIENCE,
            open=False,
            name="bell",
        )
        await self._pool.open()
        await self._engine.open_async(self._pool)

    async def _close(self) -> None:
        if self._pool is not None:
            await self._pool.close()
            self._pool = None
            # It would go on with the pool that is closed.
            self._engine = self._make_engine()

    def _explain(self, error: BaseException) -> BaseException:
        """Return what an error of procrastinate's connections means to a user, as far as that is
        known."""
        reason = error.__cause__ if isinstance(error, ConnectorException) else error
        if not isinstance(reason, psycopg.Error):
            return error
        try:
            return self._app.store.explain(reason)
        except psycopg.Error:
            # Procrastinate has forgotten a worker that was silent for long, for one.
            return reason


def _is_ours(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], ConnectorException))


async def _configure(connection: "psycopg.AsyncConnection[Any]") -> None:
    # procrastinate asks one statement at a time.
    await connection.set_autocommit(True)
    await find_pooler(connection)
