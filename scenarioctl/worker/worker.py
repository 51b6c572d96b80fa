"""A worker: takes the legs of runs that its bell rings for, and does the chores beside.

When a leg is due is the store's to say, and a bell's to tell; what a leg does is in `leg.py`.  A
bell may ring late, twice, or for what another worker has begun: of those that begin a leg by
`Turns.take`, one gets it.  To add one, write a module, and a row in `choose_bell`.
"""

import asyncio
import logging
import time
from collections.abc import Callable

from scenarioctl.application import Application
from scenarioctl.model.jobs import new_owner
from scenarioctl.operations.runs import retention_of
from scenarioctl.worker.bell import Bell, Legs, Turns
from scenarioctl.worker.chores import Counts, DraftChecks, Pace, guard, repeat
from scenarioctl.worker.notifier import Notifier

log = logging.getLogger("scenarioctl.worker")

#: Legs in progress of a worker: of one of several, and of the only one of a file.
_SHARED, _ALONE = 64, 256


def choose_bell(app: Application, turns: Turns, *, pace: Pace) -> Bell:
    """Return the bell that goes with the application's store."""
    if app.store.engine_address():
        # Part of an extra.
        from scenarioctl.worker.procrastinate_bell import ProcrastinateBell

        return ProcrastinateBell(app, turns, pace=pace)
    return Bell(app, turns, pace=pace)


class Worker:
    """Runs the jobs of `app.store`; several may serve one store."""

    def __init__(
        self,
        app: Application,
        *,
        owner: str = "",
        pace: Pace | None = None,
        capacity: int = 0,
        monotonic: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.app = app
        self.owner = owner or new_owner()
        self.pace = pace or Pace()
        self.counts = Counts()
        shared = bool(app.store.engine_address())
        self._capacity = capacity or (_SHARED if shared else _ALONE)
        self.notifier = Notifier(app, self.counts)
        self._draft_checks = DraftChecks(app, self.counts)
        self.legs = Legs(
            app,
            owner=self.owner,
            pace=self.pace,
            counts=self.counts,
            monotonic=monotonic,
            on_draft=self._draft_checks.notice,
            on_notices=self.notifier.wake,
            on_end=self._make_room,
        )
        self._turns = Turns(app, self.legs, capacity=self._capacity, monotonic=monotonic)
        self._bell = choose_bell(app, self._turns, pace=self.pace)

    @property
    def running(self) -> int:
        """Return how many legs are in progress."""
        return len(self.legs)

    @property
    def last_beat(self) -> float:
        """Return when the bell last made progress, in seconds of the monotonic clock."""
        return self._bell.last_beat

    def _make_room(self) -> None:
        if len(self.legs) == self._capacity - 1:
            self._turns.wake()

    async def run(self, stop: asyncio.Event) -> None:
        """Run jobs until *stop*; then let legs in progress end, or give them back."""
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
        return await self._turns.take_all()

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
        await self.legs.take_over()
        await self._bell.look()

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
