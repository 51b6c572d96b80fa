"""The store on a PostgreSQL server, which many machines may use.

What it does is in the other modules of this folder, as plain functions over a connection: `job_rows.py`.  This module says on which connection, and in which transaction.

- Which job is due, and who runs it, is the dispatch engine's affair, procrastinate.  The store defers runs to it in its own
  transactions (`deferrals.py`), and keeps of a run only what its newest owner brings, checked by the job's epoch.
- `seq` of lines and drafts, and `id` of events, are given out under a lock that is held until the commit (`locks.py`):
  that makes them cursors that miss nothing.
- A statement that PostgreSQL refuses to end a deadlock has changed nothing, and is repeated.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncCursor

from scenarioctl.errors import ScenarioctlError, StoreBusy
from scenarioctl.model.jobs import (
    ClaimedJob,
    FinishedRun,
    Job,
    JobChange,
    JobState,
    Retention,
)
from scenarioctl.stores import Inspection, JobPage, StoredScenario, runs, scenarios
from scenarioctl.stores.dialects import POSTGRES
from scenarioctl.stores.figures import Statistics, Usage, is_failure
from scenarioctl.stores.operations import CONCLUDE, Cancel, Defer, Operation, Row, Table
from scenarioctl.stores.postgres import job_rows
from scenarioctl.stores.postgres.batch_writer import BatchWriter
from scenarioctl.stores.postgres.connections import Connection, Connections, ServerSettings
from scenarioctl.stores.postgres.deferrals import Deferrals
from scenarioctl.stores.postgres.figures import JobCounts, read_statistics
from scenarioctl.stores.postgres.listening import Listener, announce
from scenarioctl.stores.postgres.schema import VERSION
from scenarioctl.stores.sql_store import SqlStore
from scenarioctl.stores.validation import (
    check_id,
    check_limit,
)
from scenarioctl.stores.waiting_drafts import WaitingDrafts

T = TypeVar("T")
Action = Callable[[Connection], Awaitable[T]]

#: How often a transaction is repeated that PostgreSQL ends because another one waits for it.
_ATTEMPTS = 10
#: Portions of runs that are deferred before their worker looks after other things.
_PORTIONS = 20
#: How long a copy waits for those who write to its source.
_FREEZE_SECONDS = 10
#: Seconds for which `health` reports a failed write, unless a later one succeeds.
_TROUBLE_SECONDS = 60.0


class PostgresStore(SqlStore):
    """A DispatchingStore on one PostgreSQL server.  It lives on one event loop, and connects on first use."""

    integrity_error = psycopg.IntegrityError

    def __init__(self, settings: ServerSettings) -> None:
        self.connections = Connections(settings)
        self.deferrals = Deferrals()
        # Transactions that give out numbers commit one after the other, so that runs which end together share one.
        self._run_writer = BatchWriter(self._finish_runs, key=lambda run: run[0].job)
        self._mark_writer = BatchWriter(self._mark_steps, key=lambda mark: mark.lines.job)
        self._scenario_writer = BatchWriter(self._add_scenarios, key=lambda scenario: scenario.id)
        self._listener = Listener(self.connections) if settings.pool else None
        self._job_counts = JobCounts()
        self._writes = self._errors = 0
        #: When and why the last write failed; None if it succeeded.
        self._failed: tuple[float, str] | None = None

    async def _read(self, action: Action[T]) -> T:
        try:
            async with self.connections.lend() as connection:
                return await action(connection)
        except ScenarioctlError as error:
            self._errors += is_failure(error)
            raise

    async def _write(self, action: Action[T], *, alone: bool = False, tell: bool = False) -> T:
        """Return what *action* returns, once all that it writes, or nothing of it, is on the disk.

        *alone*: it is one statement, which needs no transaction.  *tell*: processes that follow jobs want to know.
        """
        self._writes += 1
        try:
            answer = await self._repeat(action, alone=alone, tell=tell)
        except ScenarioctlError as error:
            if isinstance(error.__cause__, (psycopg.Error, OSError)):
                self._failed = (time.monotonic(), str(error))
            self._errors += is_failure(error)
            raise
        self._failed = None
        return answer

    async def _repeat(self, action: Action[T], *, alone: bool, tell: bool) -> T:
        for attempt in range(_ATTEMPTS):
            try:
                async with self.connections.lend() as connection:
                    if alone:
                        return await action(connection)
                    async with connection.writing():
                        answer = await action(connection)
                        if tell:
                            await announce(connection)
                    return answer
            except StoreBusy as error:
                if (
                    not isinstance(error.__cause__, psycopg.errors.DeadlockDetected)
                    or attempt == _ATTEMPTS - 1
                ):
                    raise
                await asyncio.sleep(0.005 * attempt)
        raise AssertionError

    async def read(self, operation: Callable[[], Operation[T]], *, long: bool = False) -> T:  # noqa: ARG002
        return await self._read(partial(_run, operation=operation, deferrals=self.deferrals))

    async def write(
        self, operation: Callable[[], Operation[T]], *, alone: bool = False, tell: bool = False
    ) -> T:
        late: list[tuple[list[Row], AsyncCursor[Row]]] = []
        answer = await self._write(
            partial(_run, operation=operation, deferrals=self.deferrals, late=late), alone=alone, tell=tell
        )
        for rows, cursor in late:
            rows.extend(await _rows_of(cursor))
        return answer

    # -- scenarios

    async def add_scenario(self, scenario: StoredScenario) -> bool:
        return await self._scenario_writer.store(scenario)

    async def _add_scenarios(self, some: list[StoredScenario]) -> list[bool]:
        return await self.write(partial(scenarios.add, some), alone=True)

    # -- jobs

    async def start_job(self, job: Job) -> bool:
        try:
            return await self._write(partial(job_rows.start, job=job, deferrals=self.deferrals), tell=True)
        except job_rows.StartedElsewhere:
            return False

    async def stop_job(self, id: str, *, now: int) -> bool:
        check_id(id)
        return await self._write(partial(job_rows.stop, id=id, now=now, deferrals=self.deferrals), tell=True)

    async def change_job(self, id: str, change: Callable[[Job], JobChange | None]) -> Job | None:
        check_id(id)

        async def add_lines(connection: Connection, lines: runs.Lines) -> None:
            await _run(connection, operation=partial(runs.add_lines, [lines]), deferrals=self.deferrals)

        action = partial(job_rows.change, id=id, change=change, deferrals=self.deferrals, add_lines=add_lines)
        return await self._write(action, tell=True)

    async def get_job(self, id: str) -> Job | None:
        check_id(id)
        return await self._read(partial(job_rows.get, id=id))

    async def list_jobs(
        self, *, limit: int = 50, after: str = "", state: JobState | None = None, failing: bool = False
    ) -> JobPage:
        check_limit(limit)
        return await self._read(
            partial(job_rows.list_page, limit=limit, after=after, state=state, failing=failing)
        )

    async def count_drafts(self, ids: Sequence[str], *, now: int) -> dict[str, int]:
        return await self._read(partial(job_rows.count_drafts, ids=ids, now=now))

    async def waiting_drafts(self, *, now: int, soon: int, limit: int) -> WaitingDrafts:
        return await self._read(partial(job_rows.waiting_drafts, now=now, soon=soon, limit=limit))

    async def has_worker(self) -> bool:
        return await self._read(job_rows.count_workers) > 0

    async def begin_run(self, id: str, *, dispatch: int, owner: str, now: int) -> ClaimedJob | None:
        check_id(id)
        begun = await self._write(
            partial(job_rows.begin, id=id, dispatch=dispatch, owner=owner, now=now), alone=True
        )
        if begun is None:
            await self._write(partial(job_rows.let_go, id=id, dispatch=dispatch, now=now), tell=True)
        return begun

    async def runs_of(self, owner: str) -> set[str]:
        return await self._read(partial(job_rows.of_owner, owner=owner))

    def engine_address(self) -> str:
        return self.connections.info

    def explain(self, error: Exception) -> ScenarioctlError:
        if not isinstance(error, psycopg.Error):
            raise error
        return self.connections.explainer.explain(error)

    async def defer_due(self) -> int:
        deferred = 0
        for _ in range(_PORTIONS):
            deferred += (some := await self._write(partial(job_rows.defer_some, deferrals=self.deferrals)))
            if not some:
                break
        lost = await self._read(job_rows.find_lost)
        return deferred + len(await self.redispatch(lost))

    async def redispatch(self, runs: Sequence[tuple[str, int]]) -> set[str]:
        done: set[str] = set()
        for begin in range(0, len(runs), job_rows.PLANNED_AT_ONCE):
            some = runs[begin : begin + job_rows.PLANNED_AT_ONCE]
            done |= await self._write(
                partial(job_rows.redispatch, runs=some, deferrals=self.deferrals), tell=True
            )
        return done

    async def release(self, owner: str) -> int:
        return await self._write(partial(job_rows.release, owner=owner), alone=True)

    async def finish_run(self, run: FinishedRun, *, retention: Retention) -> bool:
        return await self._run_writer.store((run, retention))

    async def _store_mark(self, mark: runs.Mark) -> bool:
        return await self._mark_writer.store(mark)

    async def replan(self, *, now: int) -> int:
        moved, last = 0, ""
        while some := await self._write(
            partial(job_rows.replan_some, now=now, after=last, deferrals=self.deferrals), tell=True
        ):
            moved += len(some)
            last = some[-1]
        return moved

    async def plan_job(self, id: str, *, epoch: int, due: int, planned: int) -> bool:
        return await self._write(
            lambda connection: job_rows.plan(
                connection, id, epoch=epoch, due=due, planned=planned, deferrals=self.deferrals
            ),
            tell=True,
        )

    # -- the store itself

    async def statistics(self) -> Statistics:
        return await self._read(partial(read_statistics, job_counts=self._job_counts))

    def usage(self) -> Usage:
        return Usage(
            writes=self._writes,
            errors=self._errors,
            pool=self.connections.usage(),
            listening=self._listener.is_listening if self._listener is not None else None,
        )

    async def inspect(self, clock: Callable[[], int]) -> Inspection:
        from scenarioctl.stores.postgres.inspection import inspect

        return await self._read(partial(inspect, clock=clock))

    async def health(self) -> str:
        async def ask(connection: Connection) -> None:
            await connection.execute("SELECT")

        # Raises if nothing can be read either.
        await self._read(ask)
        failed = self._failed
        return failed[1] if failed and time.monotonic() - failed[0] < _TROUBLE_SECONDS else ""

    async def change_token(self) -> str:
        if self._listener is not None:
            return await self._listener.token()

        async def ask(connection: Connection) -> str:
            found = await connection.execute("SELECT pg_current_snapshot()::text")
            row = await found.fetchone()
            return str(row[0]) if row else ""

        return await self._read(ask)

    async def place(self) -> Row:
        return await self._read(self._find_place)

    async def _find_place(self, connection: Connection) -> Row:
        explainer = self.connections.explainer
        meta = await (await connection.execute("SELECT version FROM meta")).fetchone()
        if meta is not None and meta[0] > VERSION:
            # It may have columns that would be lost.
            raise explainer.newer_tables(meta[0], VERSION)
        # A server restored from another one's backup has its identifier, but was started at another moment.
        found = await connection.execute(
            "SELECT system_identifier, pg_postmaster_start_time(), d.oid FROM pg_control_system(), pg_database d"
            " WHERE datname = current_database()"
        )
        return tuple(await found.fetchone() or ())

    @asynccontextmanager
    async def frozen(self, tables: Iterable[str]) -> AsyncIterator[None]:
        connection = await self.connections.open()
        try:
            await connection.execute("BEGIN")
            await connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            await connection.execute(f"SET LOCAL lock_timeout = {_FREEZE_SECONDS * 1000:.0f}")
            # Others can read.
            await connection.execute(f"LOCK TABLE {', '.join(tables)} IN SHARE MODE")
        except psycopg.Error as error:
            await connection.close()
            raise self.connections.explainer.explain(error) from error
        try:
            yield
        finally:
            await connection.close()

    async def close(self) -> None:
        for writer in (self._run_writer, self._mark_writer, self._scenario_writer):
            await writer.close()
        if self._listener is not None:
            await self._listener.close()
        await self.connections.close()


async def _run(
    connection: Connection,
    *,
    operation: Callable[[], Operation[T]],
    deferrals: Deferrals,
    late: list[tuple[list[Row], AsyncCursor[Row]]] | None = None,
) -> T:
    """Ask the server what *operation* yields; return what it returns.

    *late* gets the lists of the rows that come with the commit.
    """
    running = operation()
    concluded = False
    try:
        asked = next(running)
        while True:
            rows: list[Row] = []
            if isinstance(asked, Defer):
                rows = list((await deferrals.defer_soon(connection, asked.runs)).items())
            elif isinstance(asked, Cancel):
                rows = [()] * await deferrals.cancel(connection, asked.number)
            elif asked == CONCLUDE:
                await connection.conclude()
                concluded = True
            else:
                statement, values = asked
                cursor = await connection.execute(POSTGRES.render(statement), _adapted(values), binary=True)
                if not concluded:
                    rows = await _rows_of(cursor)
                elif late is not None:
                    late.append((rows, cursor))
            asked = running.send(rows)
    except StopIteration as end:
        answer: T = end.value
        return answer


async def _rows_of(cursor: AsyncCursor[Row]) -> list[Row]:
    return await cursor.fetchall() if cursor.description is not None else []


def _adapted(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return *values* with tables as an array for each of their columns."""
    adapted = dict(values)
    for name, value in values.items():
        if isinstance(value, Table):
            columns = zip(*value.rows, strict=True)
            adapted |= {f"{name}_{place}": list(column) for place, column in enumerate(columns)}
    return adapted
