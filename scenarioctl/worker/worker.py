"""A worker: takes the legs of runs that its bell rings for, and does the chores beside.

When a leg is due is the store's to say, and a bell's to tell; what a leg does is in `leg.py`.  A
bell may ring late, twice, or for what another worker has begun: a leg is begun by `Legs.begin`,
which succeeds once.  To add one, write a module, and a row in `choose_bell`.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

from scenarioctl.application import Application
from scenarioctl.errors import ScenarioctlError
from scenarioctl.model.jobs import SECOND, new_owner
from scenarioctl.operations.runs import retention_of
from scenarioctl.worker.chores import Attempts, Counts, Pace, guard, repeat
from scenarioctl.worker.draft_checks import DraftChecks
from scenarioctl.worker.legs import Legs
from scenarioctl.worker.notifier import Notifier

log = logging.getLogger("scenarioctl.worker")

#: Seconds between two looks.
_MOMENT = 0.02


class Bell(Protocol):
    """Rings for legs that are due."""

    #: A worker without legs is announced all the same.
    is_shared: bool

    @property
    def last_beat(self) -> float:
        """When it last made progress, in seconds of the monotonic clock."""

    async def run(self, stop: asyncio.Event) -> None:
        """Begin legs when they are due, until *stop*.  Legs in progress go on."""

    async def run_due(self) -> bool:
        """Take what is due now to its end; False if nothing is.  For tests."""

    def wake(self) -> None:
        """Look for due legs now: one was planned in this process."""

    async def ring_due(self) -> None:
        """Ring for what is due and has no bell."""

    async def leave(self) -> None:
        """Let go of what `run` has left open."""


def choose_bell(
    app: Application, legs: Legs, *, capacity: int, monotonic: Callable[[], int]
) -> Bell:
    """Return the bell that goes with the application's store."""
    if app.store.engine_address():
        # Part of an extra.
        from scenarioctl.worker.procrastinate_bell import ProcrastinateBell

        return ProcrastinateBell(app, legs, capacity=capacity)
    return EmbeddedBell(app, legs, capacity=capacity, monotonic=monotonic)


class EmbeddedBell:
    """Looks into the store, again and again."""

    is_shared = False

    def __init__(
        self, app: Application, legs: Legs, *, capacity: int, monotonic: Callable[[], int]
    ) -> None:
        self._app = app
        self._legs = legs
        self._pace = legs.pace
        #: The most legs in progress.
        self._capacity = capacity
        self._monotonic = monotonic
        self._last_beat = time.monotonic()
        self._wake = asyncio.Event()
        self._not_before = 0
        self._attempts = Attempts(trouble="no job can be begun", pace=legs.pace)
        #: The store is being asked: another process may lock it, which is no fault of the loop.
        self._at_store = False

    @property
    def last_beat(self) -> float:
        return time.monotonic() if self._at_store else self._last_beat

    async def run(self, stop: asyncio.Event) -> None:
        stopping = asyncio.create_task(self._wake_at(stop))
        try:
            while not stop.is_set():
                wait = await self._turn()
                if wait > 0:
                    await self._rest(wait)
                else:
                    # Let requests and legs go on.
                    await asyncio.sleep(0)
        finally:
            stopping.cancel()
            await asyncio.gather(stopping, return_exceptions=True)

    async def run_due(self) -> bool:
        begun = False
        while True:
            await self._turn()
            tasks = self._legs.tasks()
            if not tasks:
                return begun
            begun = True
            await asyncio.wait(tasks)

    def wake(self) -> None:
        self._wake.set()

    async def ring_due(self) -> None:
        """Do nothing: each look finds what is due."""

    async def leave(self) -> None:
        """Do nothing: nothing is open."""

    async def _turn(self) -> float:
        """Begin what is due; return for how many seconds there is nothing to do."""
        self._last_beat = time.monotonic()
        self._wake.clear()
        patience = (self._not_before - self._monotonic()) / SECOND
        if patience > 0:
            return min(self._pace.poll, patience)
        room = self._capacity - len(self._legs)
        if room <= 0:
            return self._pace.poll
        self._at_store = True
        try:
            wait = await self._begin(min(room, 100))
        except ScenarioctlError as error:
            self._back_off(error)
            return self._pace.poll
        except Exception as error:
            log.exception("a bug showed while jobs were begun")
            self._back_off(error)
            return self._pace.poll
        finally:
            self._at_store = False
        self._attempts.failures = 0
        return wait

    async def _begin(self, limit: int) -> float:
        due = await self._app.store.find_due(limit)
        # They are written together.
        begun: list[Awaitable[object]] = [self._legs.begin(job, leg) for job, leg in due]
        await asyncio.gather(*begun)
        if due:
            # What is due in the next moment is begun together.
            return 0 if len(due) == limit else _MOMENT
        left = await self._app.store.until_due()
        return self._pace.poll if left is None else min(self._pace.poll, max(0, left) / SECOND)

    def _back_off(self, error: Exception) -> None:
        self._not_before = self._monotonic() + round(self._attempts.failed(error) * SECOND)

    async def _rest(self, seconds: float) -> None:
        waits = (
            asyncio.ensure_future(self._app.sleep(seconds)),
            asyncio.ensure_future(self._wake.wait()),
        )
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()

    async def _wake_at(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._wake.set()


class Worker:
    """Runs the jobs of `app.store`; several may serve one store."""

    def __init__(
        self,
        app: Application,
        *,
        owner: str = "",
        pace: Pace | None = None,
        capacity: int = 256,
        monotonic: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.app = app
        self.owner = owner or new_owner()
        self.pace = pace or Pace()
        self.counts = Counts()
        self.notifier = Notifier(app, self.counts)
        self._draft_checks = DraftChecks(app, self.counts)
        self.legs = Legs(
            app,
            owner=self.owner,
            pace=self.pace,
            counts=self.counts,
            # Requests and chores need connections to a server, too.
            at_store=max(1, app.settings.store_pool - 2)
            if app.store.engine_address()
            else capacity,
            monotonic=monotonic,
            on_draft=self._draft_checks.notice,
            on_notices=self.notifier.wake,
            on_end=self.wake,
        )
        self._bell = choose_bell(app, self.legs, capacity=capacity, monotonic=monotonic)

    @property
    def running(self) -> int:
        """Return how many legs are in progress."""
        return len(self.legs)

    @property
    def last_beat(self) -> float:
        """Return when the bell last made progress, in seconds of the monotonic clock."""
        return self._bell.last_beat

    def wake(self) -> None:
        """Look for due legs now: one was planned in this process."""
        self._bell.wake()

    async def run(self, stop: asyncio.Event) -> None:
        """Run jobs until *stop*; then let legs in progress end, or give them back."""
        self.app.wake = self.wake
        self.app.store.announce(self.owner)
        await guard(self._renew, "the worker was not announced")
        await guard(self._replan, "jobs that are due too late were not planned again")
        await guard(self._take_over, "dead workers' jobs were not freed")
        sleep, pace = self.app.sleep, self.pace
        chores = [
            asyncio.create_task(repeat(self._renew, pace.renew, sleep=sleep)),
            asyncio.create_task(repeat(self._take_over, pace.owners, sleep=sleep)),
            asyncio.create_task(repeat(self._draft_checks.check, pace.draft_checks, sleep=sleep)),
            asyncio.create_task(
                repeat(self.notifier.look, pace.notifications, sleep=sleep, first=0)
            ),
            asyncio.create_task(
                repeat(self._prune, pace.prune, sleep=sleep, first=pace.first_prune)
            ),
        ]
        try:
            await self._bell.run(stop)
        finally:
            await self._wind_up(chores)

    async def run_next(self) -> bool:
        """Take what is due now to its end; False if nothing is.  For tests, and without the chores
        of `run`."""
        return await self._bell.run_due()

    async def _renew(self) -> None:
        # A worker without legs has nothing to lose, and writes little where nobody else looks for
        # it.
        if len(self.legs) or self._bell.is_shared:
            await self.legs.renew()
        else:
            await self.legs.be_seen()

    async def _replan(self) -> None:
        moved = await self.app.store.replan()
        if moved:
            log.warning("the clock was set back: %d jobs have a new due time", moved)

    async def _take_over(self) -> None:
        if await self.legs.take_over():
            self.wake()
        await self._bell.ring_due()

    async def _prune(self) -> None:
        await self.app.store.prune(now=self.app.clock(), retention=retention_of(self.app.settings))
        await self.notifier.prune()

    async def _wind_up(self, chores: "list[asyncio.Task[None]]") -> None:
        """Wait for runs that end soon, and release the others."""
        try:
            await self.legs.let_end()
            await self.notifier.let_end()
        finally:
            tasks = [*self.legs.tasks(), *self.notifier.tasks()]
            tasks += (
                chores if self._draft_checks.task is None else [*chores, self._draft_checks.task]
            )
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            # Also if a claim was cut short after the store had taken it.
            await guard(self._leave, "the worker's jobs were not given back")

    async def _leave(self) -> None:
        try:
            given_back = await self.legs.leave()
        finally:
            await self._bell.leave()
        if given_back:
            log.info(
                (
                    "runs released at the stop; the next worker repeats them unless their jobs "
                    "are stopped: %d"
                ),
                given_back,
            )
