"""The legs in progress of a worker."""

import asyncio
import logging
import time
from collections.abc import Callable

from scenarioctl import __version__
from scenarioctl.application import Application
from scenarioctl.errors import ScenarioctlError
from scenarioctl.model.jobs import SECOND, Leg, MempoolDraft, is_gone
from scenarioctl.worker.chores import Counts, Pace
from scenarioctl.worker.leg import NOT_OURS, RunningLeg

log = logging.getLogger("scenarioctl.worker")


class Legs:
    """Begins legs, and keeps those in progress."""

    def __init__(
        self,
        app: Application,
        *,
        owner: str,
        pace: Pace,
        counts: Counts,
        at_store: int,
        monotonic: Callable[[], int],
        on_draft: Callable[[MempoolDraft], None],
        on_notices: Callable[[], None],
        on_end: Callable[[], None],
    ) -> None:
        self.owner = owner
        self.pace = pace
        self.counts = counts
        self._app = app
        #: Legs take turns at a store that has few connections, of which they leave some to others.
        self._at_store = asyncio.Semaphore(at_store)
        self._monotonic = monotonic
        self._on_draft = on_draft
        #: Called when legs have left notifications.
        self._on_notices = on_notices
        #: Called when one has ended.
        self._on_end = on_end
        #: Job -> its leg in progress.
        self._by_job: dict[str, RunningLeg] = {}
        #: How many times the store is being asked for legs.
        self._claims = 0
        #: When the lease was last renewed for legs, when it has to be renewed to be seen, and when
        #: that last failed, by the monotonic clock.
        self._renewed: int | None = None
        self._next_seen = 0
        self._failed: int | None = None
        self._renewing = asyncio.Lock()
        #: By how many nanoseconds this machine's clock is ahead of the store's, at least; None
        #: until that is known.
        self.clock_offset: int | None = None

    def __len__(self) -> int:
        return len(self._by_job)

    def tasks(self) -> list[asyncio.Task[None]]:
        """Return the tasks of all legs."""
        return [leg.task for leg in self._by_job.values() if leg.task is not None]

    async def begin_due(self, limit: int) -> int:
        """Begin up to *limit* legs that are due; return how many."""
        await self._have_lease()
        self._claims += 1
        try:
            async with self._at_store:
                begun = await self._app.store.begin_due(limit, owner=self.owner)
        finally:
            self._claims -= 1
        for leg in begun:
            self._start(leg)
        return len(begun)

    def _start(self, begun: Leg) -> None:
        job = begun.job.id
        before = self._by_job.get(job)
        if before is not None and before.task is not None:
            # We lost the job, and have it again; the store does not keep the older leg.
            before.task.cancel()
        leg = self._by_job[job] = RunningLeg(
            self._app,
            begun,
            owner=self.owner,
            pace=self.pace,
            counts=self.counts,
            at_store=self._at_store,
            monotonic=self._monotonic,
        )
        leg.task = asyncio.create_task(self._perform(leg), name=f"job {job}")
        leg.task.add_done_callback(lambda _: self._ended(leg))

    async def renew(self) -> None:
        """Keep our legs, and give up those whose job is not ours any more."""
        before = dict(self._by_job)
        ours = await self._renew(self.pace.lease)
        self._renewed = self._monotonic()
        for job, leg in before.items():
            if (
                ours.get(job) != leg.leg.job.epoch
                and self._by_job.get(job) is leg
                and not leg.finishing
                and leg.task is not None
            ):
                self.counts.lost += 1
                log.warning("a run of job %s is given up: %s", job, NOT_OURS)
                leg.task.cancel()
        if self._claims:
            # Some may be about to be known.
            return
        known = {job: leg.leg.job.epoch for job, leg in self._by_job.items()}
        # The store's answer was lost when they began, or they have ended since this one.
        if stray := [(job, epoch) for job, epoch in ours.items() if known.get(job) != epoch]:
            await self._app.store.free_legs([self.owner], legs=stray)

    async def be_seen(self) -> None:
        """Renew, now and then, the lease of a worker that has no legs: operators see that it is
        there."""
        if (now := self._monotonic()) >= self._next_seen:
            # Also if that fails.
            self._next_seen = now + round(self.pace.seen * SECOND)
            await self._renew(3 * self.pace.seen)

    async def _renew(self, seconds: float) -> dict[str, int]:
        """Renew the lease for so many seconds, and find out how far the clocks differ; return our
        jobs."""
        asked, began = self._app.clock(), self._monotonic()
        try:
            renewed = await self._app.store.renew_lease(
                self.owner,
                lease=round(seconds * SECOND),
                version=__version__,
                offset=self.clock_offset,
            )
        except ScenarioctlError:
            self._failed = self._monotonic()
            raise
        answered = self._monotonic()
        # In time: one for legs is short, and the legs may have ended.
        self._next_seen = answered + round(seconds * SECOND / 3)
        half = (answered - began) // 2
        offset = asked + half - renewed.now
        # When the store looked at its clock is known no better than that.
        self.clock_offset = max(0, offset - half) or min(0, offset + half)
        return renewed.jobs

    async def _have_lease(self) -> None:
        """Renew the lease unless that was done a moment ago: a leg of an owner without one is taken
        over."""
        async with self._renewing:
            if (
                self._renewed is None
                or self._monotonic() - self._renewed >= self.pace.renew * SECOND
            ):
                await self.renew()

    async def take_over(self) -> bool:
        """Free the legs of workers that have ended or are silent, and return whether there were
        any."""
        store = self._app.store
        others = await store.leg_owners() - {self.owner}
        gone = {owner for owner in others if is_gone(owner)}
        if others - gone and not self._was_away():
            gone |= await store.lapsed_owners() - {self.owner}
        if not gone:
            return False
        freed = await store.free_legs(gone)
        log.warning("a worker ended without stopping; its runs in progress: %d", freed)
        return True

    def _was_away(self) -> bool:
        """Return whether the store was out of reach within a lease: the others were silent because
        of that, too."""
        if self._failed is None:
            return False
        return self._monotonic() - self._failed < self.pace.lease * SECOND

    async def let_end(self) -> None:
        """Wait, within the grace, for legs that end soon."""
        deadline = time.monotonic() + self.pace.grace
        while time.monotonic() < deadline and (tasks := self.tasks()):
            await asyncio.wait(tasks, timeout=0.1)

    async def leave(self) -> int:
        """Give back the legs that are still ours; return how many."""
        return await self._app.store.free_legs([self.owner])

    async def _perform(self, leg: RunningLeg) -> None:
        finished = await leg.perform()
        if finished is None:
            return
        for draft in finished.drafts:
            self._on_draft(draft)
        if finished.notifications:
            self._on_notices()

    def _ended(self, leg: RunningLeg) -> None:
        job = leg.leg.job.id
        if self._by_job.get(job) is leg:
            del self._by_job[job]
        self._on_end()
        if leg.task is not None and not leg.task.cancelled() and (error := leg.task.exception()):
            log.error("a run of job %s was lost", job, exc_info=error)
