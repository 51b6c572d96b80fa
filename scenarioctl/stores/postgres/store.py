"""The store on a PostgreSQL server, which many machines may use.

What it does are the operations of `../store.py`.  This module says on which connection, and in
which transaction.

- The dispatch engine, procrastinate, rings once for all that is due, and tells one worker.  Which
  leg is due, and whose it is, is said by the rows of `jobs` alone.  A bell that is lost, late or
  doubled costs time: workers look by themselves every few seconds.  So it is deferred after the
  commit, in the background: two open transactions that defer bells of one name would wait for each
  other.  procrastinate is imported for the first bell.
- What is to be written at the same time is written together: a batch is one message, one commit and
  one wait for the disk.
- `seq` of lines and drafts, and `id` of events, are given out under a lock that is held until the
  commit (`asking.py: lock_key`): that makes them cursors that miss nothing.
- A statement that PostgreSQL refuses to end a deadlock has changed nothing, and is repeated.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg import AsyncCursor

from scenarioctl.errors import ScenarioctlError, StoreBusy
from scenarioctl.model.jobs import FinishedRun, Retention
from scenarioctl.stores import Inspection, StoredScenario, scenarios
from scenarioctl.stores.asking import CONCLUDE, POSTGRES, Dialect, Operation, Ring, Row, Table
from scenarioctl.stores.batches import BatchWriter
from scenarioctl.stores.postgres.connections import Connection, Connections, ServerSettings
from scenarioctl.stores.store import Store

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


T = TypeVar("T")

Action = Callable[[Connection], Awaitable[T]]

#: How often a transaction is repeated that PostgreSQL ends because another one waits for it.
_ATTEMPTS = 10
#: How long a copy waits for those who write to its source.
_FREEZE_SECONDS = 10
#: Seconds for which a run that ends waits for others: of a worker at its limit, several end within
#: that time.
_GATHER = 0.01


class PostgresStore(Store):
    """A Store on one PostgreSQL server.  It lives on one event loop, and connects on first use."""

    def __init__(self, settings: ServerSettings) -> None:
        self.connections = Connections(settings)
        super().__init__(self.connections.explainer.name)
        self.dialect = POSTGRES
        self._bells = Bells(self.connections)
        # Transactions that give out numbers commit one after the other, so that runs which end
        # together share one.
        self._run_writer = BatchWriter(self._finish_runs, key=lambda run: run[0].job, delay=_GATHER)
        self._scenario_writer = BatchWriter(self._add_scenarios, key=lambda scenario: scenario.id)

    async def _read(self, action: Action[T]) -> T:
        async with self.connections.lend() as connection:
            return await action(connection)

    async def _write(self, action: Action[T], *, alone: bool) -> T:
        """Return what *action* returns, once all that it writes, or nothing of it, is on the disk.

        *alone*: it is one statement, which needs no transaction.
        """
        for attempt in range(_ATTEMPTS):
            try:
                async with self.connections.lend() as connection:
                    if alone:
                        return await action(connection)
                    async with connection.writing():
                        return await action(connection)
            except StoreBusy as error:
                if (
                    not isinstance(error.__cause__, psycopg.errors.DeadlockDetected)
                    or attempt == _ATTEMPTS - 1
                ):
                    raise
                await asyncio.sleep(0.005 * attempt)
        raise AssertionError

    async def _ask(
        self,
        operation: Callable[[], Operation[T]],
        *,
        long: bool,  # noqa: ARG002
    ) -> T:
        return await self._read(partial(_run, operation=operation, dialect=self.dialect))

    async def _commit(
        self, operation: Callable[[], Operation[T]], rings: list[Ring], *, alone: bool
    ) -> T:
        late: list[tuple[list[Row], AsyncCursor[Row]]] = []
        run = partial(_run, operation=operation, dialect=self.dialect, late=late, rings=rings)
        answer = await self._write(run, alone=alone)
        for rows, cursor in late:
            rows.extend(await _rows_of(cursor))
        return answer

    def ring_others(self, ring: Ring) -> None:
        self._bells.ring(ring)

    # -- scenarios

    async def add_scenario(self, scenario: StoredScenario) -> bool:
        return await self._scenario_writer.store(scenario)

    async def _add_scenarios(self, some: list[StoredScenario]) -> list[bool]:
        return await self.write(partial(scenarios.add, some), alone=True)

    # -- jobs

    def engine_address(self) -> str:
        return self.connections.info

    def explain(self, error: Exception) -> ScenarioctlError:
        if not isinstance(error, psycopg.Error):
            raise error
        return self.connections.explainer.explain(error)

    async def finish_run(self, run: FinishedRun, *, retention: Retention) -> bool:
        return await self._run_writer.store((run, retention))

    # -- the store itself

    @property
    def waiting(self) -> int | None:
        return self.connections.waiting

    async def _inspect(self, clock: Callable[[], int]) -> Inspection:
        from scenarioctl.stores.postgres.administration import inspect

        return await self._read(partial(inspect, clock=clock))

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
        for writer in (self._run_writer, self._scenario_writer):
            await writer.close()
        await self._bells.close()
        await self.connections.close()


async def _run(
    connection: Connection,
    *,
    operation: Callable[[], Operation[T]],
    dialect: Dialect,
    late: list[tuple[list[Row], AsyncCursor[Row]]] | None = None,
    rings: list[Ring] | None = None,
) -> T:
    """Ask the server what *operation* yields; return what it returns.

    *late* gets the lists of the rows that come with the commit, and *rings* its bells.
    """
    running = operation()
    concluded = False
    try:
        asked = next(running)
        while True:
            rows: list[Row] = []
            if isinstance(asked, Ring):
                if rings is not None:
                    rings.append(asked)
            elif asked == CONCLUDE:
                await connection.conclude()
                concluded = True
            else:
                statement, values = asked
                cursor = await connection.execute(
                    dialect.render(statement), _adapted(values), binary=True
                )
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
