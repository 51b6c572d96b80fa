"""A worker: takes the legs of runs that its bell rings for, and does the chores beside.

When a leg is due is the store's to say, and a bell's to tell (`bells.py`); what a leg does is in `leg.py`.
"""

import asyncio
import logging
import time
from collections.abc import Callable

from scenarioctl.application import Application
from scenarioctl.model.jobs import SECOND, new_owner
from scenarioctl.operations.runs import retention_of
from scenarioctl.worker.bells import choose_bell
from scenarioctl.worker.chores import Counts, Pace, guard, repeat
from scenarioctl.worker.draft_checks import DraftChecks
from scenarioctl.worker.legs import Legs
from scenarioctl.worker.notifier import Notifier

log = logging.getLogger("scenarioctl.worker")


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
        self._draft_checks = DraftChecks(app, self.counts, on_notices=self.notifier.wake)
        self.legs = Legs(
            app,
            owner=self.owner,
            pace=self.pace,
            counts=self.counts,
            # Requests and chores need connections to a server, too.
            at_store=max(1, app.settings.store_pool - 2) if app.store.engine_address() else capacity,
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
    def clock_offset(self) -> float | None:
        """Return by how many seconds this machine's clock is ahead of the store's, at least; None until that is known."""
        offset = self.legs.clock_offset
        return None if offset is None else offset / SECOND

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
            asyncio.create_task(repeat(self.notifier.take_turn, pace.notifications, sleep=sleep, first=0)),
            asyncio.create_task(repeat(self._prune, pace.prune, sleep=sleep, first=pace.first_prune)),
        ]
        try:
            await self._bell.run(stop)
        finally:
            await self._wind_up(chores)

    async def run_next(self) -> bool:
        """Take what is due now to its end; False if nothing is.  For tests, and without the chores of `run`."""
        return await self._bell.run_due()

    async def _renew(self) -> None:
        # A worker without legs has nothing to lose, and writes little where nobody else looks for it.
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
            tasks += chores if self._draft_checks.task is None else [*chores, self._draft_checks.task]
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
                "runs released at the stop; the next worker repeats them unless their jobs are stopped: %d",
                given_back,
            )
