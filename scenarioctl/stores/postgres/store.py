"""The store on a PostgreSQL server, which many machines may use.

What it does are the operations of `../store.py`.  This module says on which connection, and in
which transaction.

- The dispatch engine, procrastinate, rings once for all that is due, after the commit (`bells.py`);
  who takes a leg is decided by its row.
- What is to be written at the same time is written together: a batch is one message, one commit and
  one wait for the disk.
- `seq` of lines and drafts, and `id` of events, are given out under a lock that is held until the
  commit (`operations.py: lock_key`): that makes them cursors that miss nothing.
- A statement that PostgreSQL refuses to end a deadlock has changed nothing, and is repeated.
- LISTEN and NOTIFY: a daemon hears at once what other processes have written about jobs.  A
  notification is a hint.  If one is lost, with its connection, the next look at the server's
  transactions tells the same.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncCursor

from scenarioctl.errors import ScenarioctlError, StoreBusy
from scenarioctl.model.jobs import LEASE_SECONDS, SECOND, FinishedRun, Retention
from scenarioctl.stores import Inspection, StoredScenario, jobs, runs, scenarios
from scenarioctl.stores.batches import BatchWriter
from scenarioctl.stores.figures import Failures, Statistics, Usage
from scenarioctl.stores.operations import CONCLUDE, POSTGRES, Dialect, Operation, Ring, Row, Table
from scenarioctl.stores.postgres.administration import JobCounts, count_connections
from scenarioctl.stores.postgres.bells import Bells
from scenarioctl.stores.postgres.connections import (
    Connection,
    Connections,
    ServerSettings,
    connect,
    connection_info,
    find_pooler,
)
from scenarioctl.stores.store import Store

log = logging.getLogger("scenarioctl.store")

#: The channel of all changes of jobs, log lines, drafts and events.
CHANNEL = "scenarioctl_changes"
#: Seconds after which a token is not believed without a look at the server.
_POLL = 1.0
#: Seconds between two attempts to listen.
_PAUSE = 2.0
#: Seconds of silence after which the connection is tried.
_SILENCE = 10.0


async def announce(connection: Connection) -> None:
    """Tell all listeners of changes, once the transaction commits."""
    await connection.execute(f"NOTIFY {CHANNEL}")


class ChangeListener:
    """The listening connection of a daemon, opened when the first token is asked for."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        settings = connections.settings
        self._info = connection_info(settings, settings.listen or settings.url)
        self._heard = 0
        self._snapshot = ""
        self._looked = 0.0
        self._task: asyncio.Task[None] | None = None
        self._connected = False

    @property
    def is_listening(self) -> bool | None:
        """Return whether notifications arrive; None if nobody has asked for a token yet."""
        return None if self._task is None else self._connected

    async def token(self) -> str:
        """Return a text that changes with every write that was announced, and within a second with
        any other."""
        if self._task is None:
            self._task = asyncio.create_task(self._listen(), name="store listener")
        now = time.monotonic()
        if now - self._looked > _POLL:
            async with self._connections.lend() as connection:
                found = await connection.execute("SELECT pg_current_snapshot()::text")
                row = await found.fetchone()
            self._looked, self._snapshot = now, str(row[0]) if row else ""
        return f"{self._heard} {self._snapshot}"

    async def _listen(self) -> None:
        trouble, explainer = "", self._connections.explainer
        while True:
            try:
                connection = await connect(self._info, explainer)
                async with connection:
                    if await find_pooler(connection):
                        raise explainer.cannot_listen()
                    await connection.execute(f"LISTEN {CHANNEL}")
                    trouble = ""
                    # Something may have been written before.
                    self._heard += 1
                    self._connected = True
                    await self._hear(connection)
            except (ScenarioctlError, psycopg.Error, OSError) as error:
                reason = error if isinstance(error, ScenarioctlError) else explainer.lost()
                if trouble != (trouble := str(reason)):
                    log.warning(
                        "changes of other processes are heard later, by polling: %s", reason
                    )
            finally:
                self._connected = False
            await asyncio.sleep(_PAUSE)

    async def _hear(self, connection: Connection) -> None:
        while True:
            async for _ in connection.notifies(timeout=_SILENCE):
                self._heard += 1
            # A connection whose network is gone says nothing either.
            async with asyncio.timeout(_SILENCE):
                await connection.execute("SELECT")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task


T = TypeVar("T")

Action = Callable[[Connection], Awaitable[T]]

#: How often a transaction is repeated that PostgreSQL ends because another one waits for it.
_ATTEMPTS = 10
#: How long a copy waits for those who write to its source.
_FREEZE_SECONDS = 10
#: Seconds for which a run that ends waits for others: of a worker at its limit, several end within
#: that time.
_GATHER = 0.01
#: Seconds for which `health` reports a failed write, unless a later one succeeds.
_TROUBLE_SECONDS = 60.0


class PostgresStore(Store):
    """A Store on one PostgreSQL server.  It lives on one event loop, and connects on first use."""

    def __init__(self, settings: ServerSettings) -> None:
        self.connections = Connections(settings)
        self.dialect = POSTGRES
        self._bells = Bells(self.connections)
        # Transactions that give out numbers commit one after the other, so that runs which end
        # together share one.
        self._run_writer = BatchWriter(self._finish_runs, key=lambda run: run[0].job, delay=_GATHER)
        self._mark_writer = BatchWriter(self._mark_lines, key=lambda mark: mark.lines.job)
        self._scenario_writer = BatchWriter(self._add_scenarios, key=lambda scenario: scenario.id)
        self._listener = ChangeListener(self.connections) if settings.pool else None
        self._job_counts = JobCounts()
        self._failures = Failures(self.connections.explainer.name)
        #: When and why the last write failed; None if it succeeded.
        self._failed: tuple[float, str] | None = None

    async def _read(self, action: Action[T]) -> T:
        try:
            async with self.connections.lend() as connection:
                return await action(connection)
        except ScenarioctlError as error:
            self._failures.note(error)
            raise

    async def _write(self, action: Action[T], *, alone: bool = False, tell: bool = False) -> T:
        """Return what *action* returns, once all that it writes, or nothing of it, is on the disk.

        *alone*: it is one statement, which needs no transaction.  *tell*: processes that follow
        jobs want to know.
        """
        try:
            answer = await self._repeat(action, alone=alone, tell=tell)
        except ScenarioctlError as error:
            if isinstance(error.__cause__, (psycopg.Error, OSError)):
                self._failed = (time.monotonic(), str(error))
            self._failures.note(error)
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

    async def read(
        self,
        operation: Callable[[], Operation[T]],
        *,
        long: bool = False,  # noqa: ARG002
    ) -> T:
        return await self._read(partial(_run, operation=operation, dialect=self.dialect))

    async def write(
        self, operation: Callable[[], Operation[T]], *, alone: bool = False, tell: bool = False
    ) -> T:
        late: list[tuple[list[Row], AsyncCursor[Row]]] = []
        rings: list[Ring] = []
        run = partial(_run, operation=operation, dialect=self.dialect, late=late, rings=rings)
        answer = await self._write(run, alone=alone, tell=tell)
        for rows, cursor in late:
            rows.extend(await _rows_of(cursor))
        for ring in rings:
            self.ring(ring)
        return answer

    def ring_others(self, ring: Ring) -> None:
        self._bells.ring(ring)

    # -- scenarios

    async def add_scenario(self, scenario: StoredScenario) -> bool:
        return await self._scenario_writer.store(scenario)

    async def _add_scenarios(self, some: list[StoredScenario]) -> list[bool]:
        return await self.write(partial(scenarios.add, some), alone=True)

    # -- jobs

    async def has_worker(self) -> bool:
        return await self.read(jobs.count_workers) > 0

    def engine_address(self) -> str:
        return self.connections.info

    def explain(self, error: Exception) -> ScenarioctlError:
        if not isinstance(error, psycopg.Error):
            raise error
        return self.connections.explain(error)

    async def finish_run(self, run: FinishedRun, *, retention: Retention) -> bool:
        return await self._run_writer.store((run, retention))

    async def _store_mark(self, mark: runs.LegProgress) -> bool:
        return await self._mark_writer.store(mark)

    # -- the store itself

    async def statistics(self) -> Statistics:
        states, waiting = await self._job_counts.read(self)
        return Statistics(
            scenarios=await self.count_scenarios(),
            jobs=states,
            waiting=waiting,
            next_due=await self.read(jobs.next_due),
            workers=await self.read(jobs.count_workers),
            connections=await self._read(count_connections),
        )

    def usage(self) -> Usage:
        return Usage(
            seconds=self.connections.seconds,
            errors=self._failures.count,
            pool=self.connections.usage(),
            listening=self._listener.is_listening if self._listener is not None else None,
        )

    async def inspect(self, clock: Callable[[], int]) -> Inspection:
        from scenarioctl.stores.postgres.administration import inspect

        stalled = partial(jobs.count_stalled, silent=3 * round(LEASE_SECONDS * SECOND))
        look = partial(
            inspect,
            clock=clock,
            stalled=await self.read(stalled),
            late=await self.read(jobs.count_late),
            workers=await self.read(jobs.count_workers),
        )
        return await self._read(look)

    async def health(self) -> str:
        async def ask(connection: Connection) -> None:
            await connection.execute("SELECT")

        # Raises if nothing can be read either.
        await self._read(ask)
        failed = self._failed
        return failed[1] if failed and time.monotonic() - failed[0] < _TROUBLE_SECONDS else ""

    async def change_token(self) -> str:
        if self._listener is not None:
            try:
                return await self._listener.token()
            except ScenarioctlError as error:
                self._failures.note(error)
                raise

        async def ask(connection: Connection) -> str:
            found = await connection.execute("SELECT pg_current_snapshot()::text")
            row = await found.fetchone()
            return str(row[0]) if row else ""

        return await self._read(ask)

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
        await self._bells.close()
        if self._listener is not None:
            await self._listener.close()
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
