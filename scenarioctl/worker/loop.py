"""When a job runs, and who runs it: claims jobs that are due, and starts a task for each.

What a run does is in `job_run.py`.  Beside the claims go a few chores: leases are renewed, those of dead workers freed,
drafts compared with the runtime of their chain, old rows pruned.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import cast

from scenarioctl.application import Application
from scenarioctl.errors import ScenarioctlError
from scenarioctl.model.jobs import SECOND, Claim, ClaimedJob, JobState
from scenarioctl.operations.runs import retention_of
from scenarioctl.schedules import first_times
from scenarioctl.stores import ClaimingStore
from scenarioctl.worker.capacity import Capacity
from scenarioctl.worker.chores import guard, repeat
from scenarioctl.worker.counts import Counts
from scenarioctl.worker.draft_checks import DraftChecks
from scenarioctl.worker.identity import is_gone, new_owner
from scenarioctl.worker.job_run import NOT_OURS, JobRun
from scenarioctl.worker.pace import Pace

log = logging.getLogger("scenarioctl.worker")

#: Seconds between two claims.
_MOMENT = 0.02


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
        self.capacity = Capacity(capacity, monotonic=monotonic, on_free=self.wake)
        self.counts = Counts()
        #: When the loop last came round, in seconds of the monotonic clock.
        self.last_beat = time.monotonic()
        self._monotonic = monotonic
        #: Job -> its run in progress.
        self._runs: dict[str, JobRun] = {}
        self._wake = asyncio.Event()
        self._drift = app.clock() - monotonic()
        self._must_replan = True
        self._must_claim = True
        self._not_before = 0
        self._retry = self.pace.retry
        #: The store is being asked: another process may lock it, which is no fault of the loop.
        self._at_store = False
        self._draft_checks = DraftChecks(app, self.counts)

    @property
    def _store(self) -> ClaimingStore:
        return cast(ClaimingStore, self.app.store)

    @property
    def running(self) -> int:
        """Return how many runs are in progress."""
        return len(self._runs)

    @property
    def waiting(self) -> int:
        """Return how many of them wait for a webhook, a delay or a slow server."""
        return sum(not run.place.busy for run in self._runs.values())

    def wake(self) -> None:
        """Look for due jobs now: one was started in this process."""
        self._wake.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Run jobs until *stop*; then let those in progress end, or give them back."""
        self.app.wake = self.wake
        await guard(self.renew, "the worker was not announced")
        await guard(self.free_dead, "dead workers' jobs were not freed")
        sleep, pace = self.app.sleep, self.pace
        chores = [
            asyncio.create_task(repeat(self.renew, pace.renew, sleep=sleep)),
            asyncio.create_task(repeat(self.free_dead, pace.owners, sleep=sleep)),
            asyncio.create_task(repeat(self._draft_checks.check, pace.draft_checks, sleep=sleep)),
            asyncio.create_task(repeat(self._prune, pace.prune, sleep=sleep, first=pace.first_prune)),
            asyncio.create_task(repeat(self._beat, 1.0, sleep=sleep)),
            asyncio.create_task(self._wake_at(stop)),
        ]
        try:
            while not stop.is_set():
                wait = await self._turn()
                if wait > 0:
                    await self._rest(wait)
                else:
                    # Let requests and runs go on.
                    await asyncio.sleep(0)
        finally:
            await self._wind_up(chores)

    async def run_next(self) -> bool:
        """Run what is due now to its end; False if nothing is.  For tests, and without the chores of `run`."""
        await self._turn()
        tasks = [run.task for run in self._runs.values() if run.task is not None]
        if tasks:
            await asyncio.wait(tasks)
        return bool(tasks)

    # -- claiming ------------------------------------------------------------------------------------------------

    async def _turn(self) -> float:
        """Claim what is due and start to run it; return for how many seconds there is nothing to do."""
        self.last_beat = time.monotonic()
        self._wake.clear()
        self._watch_clock()
        patience = (self._not_before - self._monotonic()) / SECOND
        if patience > 0:
            return min(self.pace.poll, patience)
        if self.capacity.free <= 0:
            places = [run.place for run in self._runs.values()]
            self.capacity.release_slow(places, longer_than=round(self.pace.slow * SECOND))
        if self.capacity.free <= 0:
            return self.pace.poll
        self._at_store = True
        try:
            wait = await self._claim()
        except ScenarioctlError as error:
            self._back_off(str(error))
            return self.pace.poll
        except Exception as error:
            log.exception("a bug showed while jobs were claimed")
            self._back_off(type(error).__name__)
            return self.pace.poll
        finally:
            self._at_store = False
        self._retry = self.pace.retry
        return wait

    async def _claim(self) -> float:
        store = self._store
        if self._must_replan:
            # Also at the start: the clock may have been set back while no worker ran.
            moved = await self._replan()
            self._must_replan = False
            if moved:
                log.warning("the clock was set back: %d jobs have a new due time", moved)
        due = await store.next_due()
        now = self.app.clock()
        if (due is None or due > now) and not self._must_claim:
            return self.pace.poll if due is None else min(self.pace.poll, (due - now) / SECOND)
        self._must_claim = False
        claim = Claim(
            owner=self.owner,
            now=now,
            lease=round(self.pace.lease * SECOND),
            limit=min(self.capacity.free, 100),
        )
        claimed = await store.claim_jobs(claim)
        for each in claimed:
            self._start(each)
        # What is due in the next moment is claimed together.  And if nothing was claimed, another worker was quicker:
        # its claim came between `next_due` and ours.
        return 0 if len(claimed) == claim.limit else _MOMENT

    def _back_off(self, reason: str) -> None:
        self.counts.store_errors += 1
        self._not_before = self._monotonic() + round(self._retry * SECOND)
        log.error("no job can be claimed; retrying in %.1f s: %s", self._retry, reason)
        self._retry = min(self._retry * 2, self.pace.patience)

    def _watch_clock(self) -> None:
        drift = self.app.clock() - self._monotonic()
        moved, self._drift = drift - self._drift, drift
        if moved < -SECOND:
            log.warning("the clock was set back by %.0f s", -moved / SECOND)
            self._must_replan = True
        elif moved > 60 * SECOND:
            # Late runs follow the rules for downtime.
            log.warning("the clock was set forward, or the machine slept, by %.0f s", moved / SECOND)

    async def _replan(self) -> int:
        """Plan jobs again that are due later than their schedule ever plans; return how many."""
        now = self.app.clock()
        moved = await self.app.store.replan(now=now)
        after = ""
        while True:
            page = await self.app.store.list_jobs(limit=1000, after=after, state=JobState.RUNNING)
            for job in page.items:
                if not job.schedule.cron or job.planned is None or job.owner:
                    continue
                times = first_times(job.schedule, now)
                # Thousands of cron schedules take a while.
                await asyncio.sleep(0)
                if job.planned > times.planned and await self.app.store.plan_job(
                    job.id, epoch=job.epoch, due=times.due, planned=times.planned
                ):
                    moved += 1
            after = page.next
            if not after:
                return moved

    async def _rest(self, seconds: float) -> None:
        waits = (asyncio.ensure_future(self.app.sleep(seconds)), asyncio.ensure_future(self._wake.wait()))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()

    async def _wake_at(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._wake.set()

    # -- runs ----------------------------------------------------------------------------------------------------

    def _start(self, claimed: ClaimedJob) -> None:
        id = claimed.job.id
        before = self._runs.get(id)
        if before is not None and before.task is not None:
            # Our own lease ran out, and we have claimed the job again; the store does not keep the older run.
            before.task.cancel()
        run = self._runs[id] = JobRun(
            self.app, claimed, owner=self.owner, pace=self.pace, counts=self.counts, capacity=self.capacity
        )
        run.task = asyncio.create_task(self._perform(run), name=f"job {id}")
        run.task.add_done_callback(lambda _: self._ended(run))

    async def _perform(self, run: JobRun) -> None:
        for draft in (await run.perform()).drafts:
            self._draft_checks.notice(draft)

    def _ended(self, run: JobRun) -> None:
        id = run.claimed.job.id
        if self._runs.get(id) is run:
            del self._runs[id]
        self.capacity.release(run.place)
        if run.task is not None and not run.task.cancelled() and (error := run.task.exception()):
            log.error("a run of job %s was lost", id, exc_info=error)

    # -- chores --------------------------------------------------------------------------------------------------

    async def _beat(self) -> None:
        if self._at_store:
            self.last_beat = time.monotonic()

    async def renew(self) -> None:
        """Keep our leases, and give up runs whose job is not ours any more."""
        before = dict(self._runs)
        ours = await self._store.renew_leases(self.owner, lease=round(self.pace.lease * SECOND))
        for id, run in before.items():
            if id not in ours and self._runs.get(id) is run and not run.finishing and run.task is not None:
                self.counts.lost += 1
                log.warning("a run of job %s is given up: %s", id, NOT_OURS)
                run.task.cancel()

    async def free_dead(self) -> None:
        """Release the leases of workers that have ended; those of frozen workers run out."""
        others = await self._store.lease_owners() - {self.owner}
        for owner in others:
            if is_gone(owner):
                freed = await self._store.free_leases(owner)
                log.warning("a worker ended without stopping; its runs in progress: %d", freed)
                self._wake.set()
        if others:
            self._must_claim = True

    async def _prune(self) -> None:
        await self.app.store.prune(now=self.app.clock(), retention=retention_of(self.app.settings))

    # -- the end -------------------------------------------------------------------------------------------------

    async def _wind_up(self, chores: "list[asyncio.Task[None]]") -> None:
        """Wait for runs that end soon, and release the others."""
        try:
            await self._let_end()
        finally:
            tasks = [run.task for run in self._runs.values() if run.task is not None]
            tasks += chores if self._draft_checks.task is None else [*chores, self._draft_checks.task]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            # Also if a claim was cut short after the store had taken it.
            await guard(self._give_back, "the worker's jobs were not given back")

    async def _let_end(self) -> None:
        deadline = time.monotonic() + self.pace.grace
        while time.monotonic() < deadline:
            tasks = [
                run.task
                for run in self._runs.values()
                if run.task is not None and (run.finishing or not run.step)
            ]
            if not tasks:
                return
            await asyncio.wait(tasks, timeout=0.1)

    async def _give_back(self) -> None:
        freed = await self._store.free_leases(self.owner)
        if freed:
            log.info(
                "runs released at the stop; the next worker repeats them unless their jobs are stopped: %d",
                freed,
            )
