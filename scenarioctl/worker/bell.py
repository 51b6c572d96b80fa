"""The legs in progress of a worker, its turns, each of which begins what is due, and the bell of a
file, which is a clock."""

import asyncio
import logging
import math
import time
from collections.abc import Callable

from scenarioctl import __version__
from scenarioctl.application import Application
from scenarioctl.errors import ScenarioctlError
from scenarioctl.model.jobs import SECOND, Leg, MempoolDraft, is_gone
from scenarioctl.stores.asking import Ring
from scenarioctl.worker.chores import Attempts, Counts, Pace
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
        monotonic: Callable[[], int],
        on_draft: Callable[[MempoolDraft], None],
        on_notices: Callable[[], None],
        on_end: Callable[[], None],
    ) -> None:
        self.owner = owner
        self.pace = pace
        self.counts = counts
        self._app = app
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


#: The most legs of one turn: no worker empties the queue.
_AT_ONCE = 50
#: Seconds between two turns: what is due in the next moment is begun together.
_MOMENT = 0.02


class Turns:
    """Begins what is due: asked by a clock over a file, by a bell over a server."""

    def __init__(
        self, app: Application, legs: Legs, *, capacity: int, monotonic: Callable[[], int]
    ) -> None:
        self._app = app
        self._legs = legs
        #: The most legs in progress.
        self._capacity = capacity
        self._monotonic = monotonic
        self._attempts = Attempts(trouble="no job can be begun", pace=legs.pace)
        self._not_before = 0
        #: The last turn began all that it asked for.
        self._busy = False
        #: When the next turn is, by the monotonic clock; it may be put forward at any time.
        self._next = math.inf
        self._sooner = asyncio.Event()
        self._last_beat = time.monotonic()
        #: The store is being asked: another process may lock it, which is no fault of the loop.
        self._at_store = False
        #: When the store says that the next leg is due.
        self.ring: Ring | None = None

    @property
    def last_beat(self) -> float:
        """Return when the last turn was, in seconds of the real monotonic clock."""
        return time.monotonic() if self._at_store else self._last_beat

    @property
    def is_full(self) -> bool:
        return len(self._legs) >= self._capacity

    @property
    def is_late(self) -> bool:
        """Return whether something was due that the store didn't let begin."""
        return self.ring is not None and self.ring.due <= self.ring.moment

    @property
    def seconds(self) -> float:
        """Return the seconds until the next turn; infinite if nothing is planned."""
        return max(0.0, self._next - self._monotonic()) / SECOND

    async def take(self) -> None:
        """Begin what is due."""
        self._last_beat = time.monotonic()
        self._next = math.inf
        patience = (self._not_before - self._monotonic()) / SECOND
        if patience > 0 or self.is_full:
            self._put_forward(patience if patience > 0 else math.inf)
            return
        self._at_store = True
        try:
            self._put_forward(await self._begin())
            self._attempts.failures = 0
        except ScenarioctlError as error:
            self._back_off(error)
        except Exception as error:
            log.exception("a bug showed while jobs were begun")
            self._back_off(error)
        finally:
            self._at_store = False

    async def _begin(self) -> float:
        if not self._busy:
            # No lease is written while nothing is due.
            self.ring = ring = await self._app.store.next_ring()
            if ring is None:
                return math.inf
            if ring.due > ring.moment:
                return (ring.due - ring.moment) / SECOND
        limit = min(self._capacity - len(self._legs), _AT_ONCE)
        self._busy = await self._legs.begin_due(limit) == limit
        return 0.0 if self._busy else _MOMENT

    def _back_off(self, error: Exception) -> None:
        self._busy = False
        delay = self._attempts.failed(error)
        self._not_before = self._monotonic() + round(delay * SECOND)
        self._put_forward(delay)

    def _put_forward(self, seconds: float) -> None:
        at = self._monotonic() + seconds * SECOND
        if at < self._next:
            self._next = at
            self._sooner.set()

    def hear(self, ring: Ring) -> None:
        """Take the next turn when what was planned is due."""
        self._put_forward(max(0, ring.due - ring.moment) / SECOND)

    def wake(self) -> None:
        """Take the next turn at once."""
        self._put_forward(0.0)

    async def rest(self, most: float) -> None:
        """Wait for the next turn, *most* seconds at most."""
        self._put_forward(most)
        # Requests and legs go on.
        await asyncio.sleep(0)
        while self.seconds > 0:
            self._sooner.clear()
            waits = (
                asyncio.ensure_future(self._app.sleep(self.seconds)),
                asyncio.ensure_future(self._sooner.wait()),
            )
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for each in waits:
                    each.cancel()

    async def take_all(self) -> bool:
        """Take what is due now to its end; False if nothing is.  For tests."""
        begun = False
        while True:
            await self.take()
            tasks = self._legs.tasks()
            if not tasks:
                return begun
            begun = True
            await asyncio.wait(tasks)


class Bell:
    """Says when a turn is to be taken: looks into the store, again and again."""

    #: A worker without legs is announced all the same.
    is_shared = False

    def __init__(self, app: Application, turns: Turns, *, pace: Pace) -> None:
        self._app = app
        self._turns = turns
        self._pace = pace

    @property
    def last_beat(self) -> float:
        """Return when it last made progress, in seconds of the monotonic clock."""
        return self._turns.last_beat

    async def run(self, stop: asyncio.Event) -> None:
        """Take turns until *stop*.  Legs in progress go on."""
        stopping = asyncio.create_task(self._wake_at(stop))
        self._app.store.on_plan = self._hear
        try:
            while not stop.is_set():
                await self._turns.take()
                # Other processes plan, too.
                await self._turns.rest(self._pace.poll)
        finally:
            self._app.store.on_plan = None
            stopping.cancel()
            await asyncio.gather(stopping, return_exceptions=True)

    def _hear(self, ring: Ring) -> bool:
        self._turns.hear(ring)
        return True

    async def look(self) -> None:
        """Find what is due and has no bell: each turn does."""

    async def leave(self) -> None:
        """Let go of what `run` has left open: nothing."""

    async def _wake_at(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._turns.wake()
