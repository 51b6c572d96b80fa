"""The bell of a store on PostgreSQL: procrastinate, as an at-least-once queue.

It rings once for all that is due (`stores/postgres/store.py`); whose each leg is, is decided by its
row.  A bell serves its worker until nothing is due any more.  One that is lost, doubled or stale
does no harm: each worker looks by itself, too.  procrastinate's worker ends with an error of the
database, and is started anew.
"""

import asyncio
import logging
import time
from contextlib import suppress
from typing import Any

import psycopg
from procrastinate import App
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import DeleteJobCondition, Status
from psycopg_pool import AsyncConnectionPool

from scenarioctl.application import Application
from scenarioctl.model.jobs import SECOND
from scenarioctl.stores.asking import Ring
from scenarioctl.stores.postgres.store import QUEUE, TASK, make_engine
from scenarioctl.worker.bell import Bell, Turns
from scenarioctl.worker.chores import Attempts, Pace

_ENDED = "procrastinate's worker ended"
#: Bells in a worker's hand: one serves it; a second one, if it is full, makes the next one go to
#: another worker.
_CONCURRENCY = 2
#: Connections of procrastinate: one listens, the others fetch and finish tasks.
_CONNECTIONS = 3
#: Seconds to wait for one of them.
_PATIENCE = 2.0
#: Leases after which procrastinate forgets a worker that is silent.
_FORGOTTEN = 6
#: Seconds until the next due time for which a bell goes on serving: it rings a second before.
_LINGER = 1.2
#: Seconds between two bells for other workers while this one is full.
_AGAIN = 1.0
_NOW = Ring(0, 0)


class ProcrastinateBell(Bell):
    """Takes turns while a bell is in the hand of procrastinate's worker."""

    is_shared = True

    def __init__(self, app: Application, turns: Turns, *, pace: Pace) -> None:
        super().__init__(app, turns, pace=pace)
        self._attempts = Attempts(trouble="bells can't be heard", pace=pace)
        self._stopping = False
        self._serves = False
        self._rang = 0.0
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
        self._app.store.on_plan = self._hear
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
                self._serving.cancel()

    def _hear(self, ring: Ring) -> bool:
        if self._serves:
            self._turns.hear(ring)
        return self._serves

    async def look(self) -> None:
        if not self._serves:
            ring = await self._app.store.next_ring()
            # Somebody hears of what became due just now.
            if ring is not None and not -SECOND < ring.due - ring.moment <= 0:
                self._app.store.ring_others(ring)
        if self._pool is None:
            return
        manager = self._engine.job_manager
        try:
            for bell in await manager.get_stalled_jobs(
                queue=QUEUE, seconds_since_heartbeat=self._pace.lease
            ):
                if bell.id is not None:
                    await manager.finish_job_by_id_async(bell.id, Status.ABORTED, delete_job=True)
        except ConnectorException as error:
            # Another worker may have been first.
            if not isinstance(error.__cause__, psycopg.errors.RaiseException):
                raise self._explain(error) from None

    async def leave(self) -> None:
        serving = self._serving
        if serving is not None:
            await asyncio.wait({serving}, timeout=5 * _PATIENCE)
            if serving.done() and not serving.cancelled():
                # It can't say that it leaves: others notice.
                serving.exception()
        await self._close()
        # Others go on with what this one served.
        self._app.store.ring_others(_NOW)

    async def _serve(self) -> None:
        await self._open()
        await self._engine.run_worker_async(
            queues=[QUEUE],
            concurrency=_CONCURRENCY,
            # Due times come without a notification.
            fetch_job_polling_interval=self._pace.poll,
            shutdown_graceful_timeout=0,
            delete_jobs=DeleteJobCondition.ALWAYS,
            install_signal_handlers=False,
            update_heartbeat_interval=self._pace.renew,
            stalled_worker_timeout=_FORGOTTEN * self._pace.lease,
        )

    async def _take_due_legs(self) -> None:
        self._attempts.failures = 0
        if self._serves:
            self._turns.wake()
            if self._turns.is_full:
                self._ring_others()
                await self._app.sleep(_AGAIN)
            return
        self._serves = True
        try:
            await self._take_turns()
        finally:
            self._serves = False
        if self._turns.ring is not None and not self._stopping:
            self._app.store.ring_others(self._turns.ring)

    async def _take_turns(self) -> None:
        while not self._stopping:
            await self._turns.take()
            if self._turns.is_full:
                self._ring_others()
            elif self._turns.seconds > _LINGER and not self._turns.is_late:
                return
            await self._turns.rest(self._pace.poll if self._turns.is_full else _LINGER)

    def _ring_others(self) -> None:
        if time.monotonic() - self._rang > _AGAIN:
            self._rang = time.monotonic()
            self._app.store.ring_others(_NOW)

    def _make_engine(self) -> App:
        engine = make_engine()
        engine.task(name=TASK, queue=QUEUE)(self._take_due_legs)
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
    # Behind a pooler, another client's statements may be prepared.
    connection.prepare_threshold = None
