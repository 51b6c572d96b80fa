"""The dispatch of a store on PostgreSQL: procrastinate decides when a job runs, which worker runs it, and who has died.

The line between procrastinate and us:

- A run that is due soon is a row of procrastinate's, whose number is in `jobs.dispatch`.  The worker that procrastinate
  gives the row to begins the run (`DispatchingStore.begin_run`), which fails unless the number is still the job's.
- A row is never given to a second worker while the first may still have it.  What a dead worker had is deferred under
  a new number instead (`redispatch`): procrastinate lets a frozen worker finish a row that another one has by now.
- procrastinate's worker ends with an error of the database, and its heart may stop without one.  `_JobManager` waits
  for the database instead.
- Runs that wait need no place.  procrastinate's own limit of concurrent tasks is therefore out of reach, and
  `Capacity` decides whether to fetch.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import psycopg
from procrastinate import App, JobContext, PsycopgConnector
from procrastinate.connector import BaseConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import DeleteJobCondition, Job, Status
from procrastinate.manager import JobManager
from procrastinate.retry import BaseRetryStrategy, RetryDecision
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import AsyncConnectionPool

from scenarioctl.application import Application
from scenarioctl.errors import ScenarioctlError
from scenarioctl.stores import DispatchingStore
from scenarioctl.stores.postgres.connections import find_pooler
from scenarioctl.stores.postgres.deferrals import QUEUE, TASK
from scenarioctl.worker.clock_watch import ClockWatch
from scenarioctl.worker.runs import Runs

log = logging.getLogger("scenarioctl.worker")

T = TypeVar("T")

#: Connections of the dispatch: one fetches, the others finish rows.
_CONNECTIONS = 4
#: Seconds to wait for one of them.
_PATIENCE = 2.0
#: Tasks at once, which is no limit: see `Capacity`.
_CONCURRENCY = 1_000_000
#: Seconds between two looks at whether procrastinate's worker has ended.
_MOMENT = 0.01
#: Seconds for runs to end in tests.
_LONG = 3600.0
#: Leases after which procrastinate forgets a worker that is silent.  Its jobs are taken over after one.
_REMEMBERED = 6


class ProcrastinateDispatch:
    """Fetches due jobs of *store* with a procrastinate worker."""

    def __init__(
        self, app: Application, store: DispatchingStore, runs: Runs, *, monotonic: Callable[[], int]
    ) -> None:
        self._app = app
        self._store = store
        self._runs = runs
        self._pace = runs.pace
        self._clock_watch = ClockWatch(app, monotonic=monotonic)
        self._wake = asyncio.Event()
        self._last_beat = time.monotonic()
        #: The database is being asked: that it hangs is no fault of ours.
        self._at_database = False
        #: Seconds to wait before the next fetch, unless woken.
        self._pause = 0.0
        #: When to fetch again after an error, in seconds of the monotonic clock.
        self._not_before = 0.0
        self._retry = self._pace.retry
        self._stopping = False
        #: The runs have been given back: nothing waits for the database any more.
        self._leaving = False
        #: The numbers of the rows that we have, and of those whose run has not begun.
        self._rows: set[int] = set()
        self._coming: set[int] = set()
        #: Numbers of rows that procrastinate says we have, and that we have never seen.
        self._stray: set[int] = set()
        #: How many runs have begun.
        self._begun = 0
        #: When the database last failed, in seconds of the monotonic clock.
        self._failed = float("-inf")
        #: Our id among procrastinate's workers.
        self._worker_id: int | None = None
        self._serving: asyncio.Task[None] | None = None
        self._pool: AsyncConnectionPool[Any] | None = None
        self._engine = App(connector=PsycopgConnector())
        self._engine.job_manager = self._manager = _JobManager(self._engine.connector, self)
        self._engine.task(name=TASK, queue=QUEUE, pass_context=True, retry=_Retry())(self._run_scenario)

    # -- what every dispatch does

    @property
    def last_beat(self) -> float:
        return time.monotonic() if self._at_database else self._last_beat

    async def run(self, stop: asyncio.Event) -> None:
        stopped = asyncio.create_task(stop.wait())
        try:
            await self._open()
            while not stop.is_set():
                self._serving = asyncio.create_task(self._serve(), name="procrastinate")
                await asyncio.wait({self._serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
                if self._serving.done():
                    self._back_off("procrastinate's worker ended", self._serving.exception())
                    await self._rest()
        finally:
            self._stopping = True
            self._wake.set()
            stopped.cancel()

    async def run_due(self) -> bool:
        await self._open()
        try:
            before = self._begun
            await self._serve(until_idle=True)
            return self._begun > before
        finally:
            await self._close()

    def wake(self) -> None:
        self._wake.set()

    async def renew(self) -> set[str]:
        # The heartbeats are procrastinate's.
        return await self._store.runs_of(self._runs.owner)

    async def take_over(self) -> None:
        await self._open()
        if await self._store.defer_due():
            self._wake.set()
        if time.monotonic() < self._failed + self._pace.lease:
            # The others were silent too because the database was away.
            return
        stalled = self._manager.get_stalled_jobs(queue=QUEUE, seconds_since_heartbeat=self._pace.lease)
        # A worker that was frozen would find itself dead.
        await self._dispatch_again(row for row in await self._ask(stalled) if row.id not in self._rows)
        await self._find_stray()

    async def leave(self) -> int:
        try:
            return await self._store.release(self._runs.owner)
        finally:
            self._leaving = True
            if self._serving is not None:
                self._serving.cancel()
                self._pause = 0.0
                self._wake.set()
                await asyncio.wait({self._serving}, timeout=5 * _PATIENCE)
                if self._serving.done() and not self._serving.cancelled():
                    # It can't say that it leaves: others notice.
                    self._serving.exception()
            await self._close()

    # -- procrastinate's worker

    async def _open(self) -> None:
        if self._pool is not None:
            return
        # It tells of each row at the level info, and the pool of each attempt to connect; we say what that means.
        logging.getLogger("procrastinate").setLevel(logging.WARNING)
        logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
        # What a crash of the server loses of procrastinate's rows is found: a row that was fetched may be fetched once
        # more, but its run begins under the newest epoch; one that was finished is stray.
        address = conninfo_to_dict(self._store.engine_address())
        options = f"{address.pop('options', None) or ''} -c synchronous_commit=off"
        self._pool = AsyncConnectionPool(
            make_conninfo("", **address, options=options),
            kwargs={"autocommit": True},
            configure=_configure,
            min_size=1,
            max_size=_CONNECTIONS,
            timeout=_PATIENCE,
            # A server that is back is found by the next attempt, not after the pauses of the pool.
            reconnect_timeout=_PATIENCE,
            open=False,
            name="dispatch",
        )
        await self._pool.open()
        # One that was open keeps its pool.
        self._engine.connector = self._manager.connector = PsycopgConnector()
        await self._engine.open_async(self._pool)

    async def _close(self) -> None:
        if self._pool is not None:
            await self._pool.close()
            self._pool = None

    async def _serve(self, *, until_idle: bool = False) -> None:
        await self._engine.run_worker_async(
            queues=[QUEUE],
            wait=not until_idle,
            concurrency=_CONCURRENCY,
            # Its notifications tell of jobs that are due later, too.  `fetch` does the waiting.
            listen_notify=False,
            fetch_job_polling_interval=0,
            shutdown_graceful_timeout=_LONG if until_idle else 0,
            delete_jobs=DeleteJobCondition.ALWAYS,
            install_signal_handlers=False,
            update_heartbeat_interval=self._pace.renew,
            stalled_worker_timeout=_REMEMBERED * self._pace.lease,
        )

    async def fetch(self, ask: Callable[[], Awaitable[Job | None]], worker_id: int) -> Job | None:
        """Return a row that is due if there is room for its run; wait a little if there was none last time."""
        await self._rest()
        self._worker_id = worker_id
        self._last_beat = time.monotonic()
        # Due times come without a notification.
        self._pause = _MOMENT if self._leaving else self._pace.poll / 2
        self._clock_watch.look()
        if self._stopping or not self._has_room:
            return None
        self._at_database = True
        try:
            await self._clock_watch.replan()
            row = await self._ask(ask())
        except ConnectorException:
            raise
        except Exception as error:
            if not isinstance(error, ScenarioctlError):
                log.exception("a bug showed while jobs were fetched")
            self._back_off("no job can be fetched", error)
            return None
        finally:
            self._at_database = False
        if row is None:
            self._retry = self._pace.retry
            return None
        self._rows.add(_number(row))
        self._coming.add(_number(row))
        self._pause = 0.0
        return row

    async def beat(self, tell: Callable[[], Awaitable[None]]) -> None:
        """Tell procrastinate that we are alive.  If that fails, it is tried again at the next time."""
        try:
            await self._ask(tell())
        except Exception as error:
            self._failed = time.monotonic()
            log.warning("the heartbeat of this worker was not stored: %s", error)

    async def end(self, row: int | None, store: Callable[[], Awaitable[None]]) -> None:
        """Store what became of a row, however long the database is away."""
        delay = self._pace.retry
        while True:
            try:
                await store()
                break
            except ConnectorException as error:
                if isinstance(error.__cause__, psycopg.errors.RaiseException):
                    # There is no such row any more: its run was taken over, or this is a second attempt.
                    break
                self._failed = time.monotonic()
                if self._leaving:
                    raise
            await self._app.sleep(delay)
            delay = min(delay * 2, self._pace.patience)
        if row is not None:
            self._rows.discard(row)

    async def _run_scenario(self, context: JobContext, id: str) -> None:
        """Run the job *id* to its end: the task of a row."""
        number = _number(context.job)
        try:
            task = await self._begin(id, number)
        finally:
            self._coming.discard(number)
        if task is None:
            return
        try:
            await asyncio.wait({task})
        finally:
            # If procrastinate's worker ends before, its rows go to other workers.
            task.cancel()
        if task.cancelled():
            raise _Unfinished
        bug = task.exception()
        if bug is not None:
            self._back_off(f"job {id} didn't end", bug)
            raise _Unfinished

    async def _begin(self, id: str, number: int) -> asyncio.Task[None] | None:
        """Start the run of a row, and return its task; None if the job was stopped, or started again, after it became due."""
        if self._stopping:
            raise _Unfinished
        try:
            async with self._runs.at_store:
                claimed = await self._store.begin_run(
                    id, dispatch=number, owner=self._runs.owner, now=self._app.clock()
                )
        except Exception as error:
            if not isinstance(error, ScenarioctlError):
                log.exception("a bug showed when job %s began", id)
            self._back_off(f"job {id} can't begin", error)
            raise _Unfinished from None
        if claimed is None:
            return None
        self._begun += 1
        self._retry = self._pace.retry
        return self._runs.start(claimed)

    @property
    def _has_room(self) -> bool:
        if self._runs.capacity.free <= len(self._coming):
            self._runs.release_slow()
        return self._runs.capacity.free > len(self._coming)

    # -- what others leave undone

    async def _find_stray(self) -> None:
        """Dispatch again what procrastinate gave us in an answer that was lost with its connection."""
        if self._worker_id is None:
            return
        listed = await self._ask(
            self._manager.list_jobs_async(queue=QUEUE, status=Status.DOING.value, worker_id=self._worker_id)
        )
        unknown = {_number(row): row for row in listed if row.id not in self._rows}
        # An answer may be on its way: only what is unknown twice is stray.
        await self._dispatch_again(row for number, row in unknown.items() if number in self._stray)
        self._stray = set(unknown) - self._stray

    async def _dispatch_again(self, rows: Iterable[Job]) -> None:
        numbers = {_number(row): str(row.task_kwargs["id"]) for row in rows}
        # All at once: a worker may have had hundreds.
        for id in await self._store.redispatch([(id, number) for number, id in numbers.items()]):
            log.warning("job %s is dispatched again: a worker ended without stopping", id)
            self._wake.set()
        finish = self._manager.finish_job_by_id_async
        for number in numbers:
            await self.end(None, partial(finish, number, status=Status.ABORTED, delete_job=True))

    # -- trouble

    async def _ask(self, question: Awaitable[T]) -> T:
        """Return the answer of procrastinate; an error of the database becomes one of the store."""
        try:
            return await question
        except ConnectorException as error:
            cause = error.__cause__
            if isinstance(cause, psycopg.errors.ForeignKeyViolation) or not isinstance(cause, psycopg.Error):
                # procrastinate has forgotten this worker, which begins anew.
                raise
            raise self._store.explain(cause) from error

    def _back_off(self, trouble: str, error: BaseException | None) -> None:
        now = self._failed = time.monotonic()
        self._runs.counts.store_errors += 1
        if now < self._not_before:
            # The same trouble: many runs may begin at once.
            return
        self._not_before = now + self._retry
        reason = error.__cause__ if isinstance(error, ConnectorException) else error
        log.error("%s; retrying in %.1f s: %s", trouble, self._retry, reason)
        self._retry = min(self._retry * 2, self._pace.patience)

    async def _rest(self) -> None:
        """Wait for the pause, or until there may be something to do."""
        end = max(time.monotonic() + self._pause, self._not_before)
        while not self._wake.is_set() and (left := end - time.monotonic()) > 0:
            self._last_beat = time.monotonic()
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left, self._pace.poll)):
                    await self._wake.wait()
        self._wake.clear()


async def _configure(connection: "psycopg.AsyncConnection[Any]") -> None:
    await find_pooler(connection)


def _number(row: Job) -> int:
    if row.id is None:
        raise TypeError("only rows that were not deferred yet have no number")
    return row.id


class _Unfinished(Exception):
    """The run has not ended: its row goes back to the queue."""


class _Retry(BaseRetryStrategy):
    """Puts every row back whose task did not end well; procrastinate would drop it."""

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision:  # noqa: ARG002
        return RetryDecision()


class _JobManager(JobManager):
    """procrastinate's manager of rows, for a worker that outlives its database."""

    def __init__(self, connector: BaseConnector, dispatch: ProcrastinateDispatch) -> None:
        super().__init__(connector)
        self._dispatch = dispatch

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        return await self._dispatch.fetch(partial(super().fetch_job, queues, worker_id), worker_id)

    async def update_heartbeat(self, worker_id: int) -> None:
        await self._dispatch.beat(partial(super().update_heartbeat, worker_id))

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        await self._dispatch.end(job.id, partial(super().finish_job, job, status, delete_job))

    async def retry_job(self, job: Job, *args: Any, **kwargs: Any) -> None:
        await self._dispatch.end(job.id, partial(super().retry_job, job, *args, **kwargs))

    async def list_jobs_to_abort_async(self, queue: str | None = None) -> Iterable[int]:  # noqa: ARG002
        # None is ever aborted.
        return ()
