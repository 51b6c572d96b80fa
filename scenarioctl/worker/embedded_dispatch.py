"""The dispatch of the embedded store: each worker claims jobs that are due, under a lease that it renews."""

import asyncio
import logging
import time
from collections.abc import Callable

from scenarioctl.application import Application
from scenarioctl.errors import ScenarioctlError
from scenarioctl.model.jobs import SECOND, Claim
from scenarioctl.stores import ClaimingStore
from scenarioctl.worker.chores import repeat
from scenarioctl.worker.clock_watch import ClockWatch
from scenarioctl.worker.identity import is_gone
from scenarioctl.worker.runs import Runs

log = logging.getLogger("scenarioctl.worker")

#: Seconds between two claims.
_MOMENT = 0.02


class EmbeddedDispatch:
    """Claims due jobs of *store*, again and again."""

    def __init__(
        self, app: Application, store: ClaimingStore, runs: Runs, *, monotonic: Callable[[], int]
    ) -> None:
        self.last_beat = time.monotonic()
        self._app = app
        self._store = store
        self._runs = runs
        self._pace = runs.pace
        self._monotonic = monotonic
        self._clock_watch = ClockWatch(app, monotonic=monotonic)
        self._wake = asyncio.Event()
        self._must_claim = True
        self._not_before = 0
        self._retry = self._pace.retry
        #: The store is being asked: another process may lock it, which is no fault of the loop.
        self._at_store = False

    async def run(self, stop: asyncio.Event) -> None:
        helpers = [
            asyncio.create_task(repeat(self._beat, 1.0, sleep=self._app.sleep)),
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
            for helper in helpers:
                helper.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)

    async def run_due(self) -> bool:
        await self._turn()
        tasks = self._runs.tasks()
        if tasks:
            await asyncio.wait(tasks)
        return bool(tasks)

    def wake(self) -> None:
        self._wake.set()

    async def renew(self) -> set[str]:
        return await self._store.renew_leases(self._runs.owner, lease=round(self._pace.lease * SECOND))

    async def take_over(self) -> None:
        # Leases of frozen workers run out by themselves.
        others = await self._store.lease_owners() - {self._runs.owner}
        for owner in others:
            if is_gone(owner):
                freed = await self._store.free_leases(owner)
                log.warning("a worker ended without stopping; its runs in progress: %d", freed)
                self._wake.set()
        if others:
            self._must_claim = True

    async def leave(self) -> int:
        return await self._store.free_leases(self._runs.owner)

    async def _turn(self) -> float:
        """Claim what is due and start to run it; return for how many seconds there is nothing to do."""
        self.last_beat = time.monotonic()
        self._wake.clear()
        self._clock_watch.look()
        patience = (self._not_before - self._monotonic()) / SECOND
        if patience > 0:
            return min(self._pace.poll, patience)
        if self._runs.capacity.free <= 0:
            self._runs.release_slow()
        if self._runs.capacity.free <= 0:
            return self._pace.poll
        self._at_store = True
        try:
            wait = await self._claim()
        except ScenarioctlError as error:
            self._back_off(str(error))
            return self._pace.poll
        except Exception as error:
            log.exception("a bug showed while jobs were claimed")
            self._back_off(type(error).__name__)
            return self._pace.poll
        finally:
            self._at_store = False
        self._retry = self._pace.retry
        return wait

    async def _claim(self) -> float:
        await self._clock_watch.replan()
        due = await self._store.next_due()
        now = self._app.clock()
        if (due is None or due > now) and not self._must_claim:
            return self._pace.poll if due is None else min(self._pace.poll, (due - now) / SECOND)
        self._must_claim = False
        claim = Claim(
            owner=self._runs.owner,
            now=now,
            lease=round(self._pace.lease * SECOND),
            limit=min(self._runs.capacity.free, 100),
        )
        claimed = await self._store.claim_jobs(claim)
        for each in claimed:
            self._runs.start(each)
        # What is due in the next moment is claimed together.  And if nothing was claimed, another worker was quicker:
        # its claim came between `next_due` and ours.
        return 0 if len(claimed) == claim.limit else _MOMENT

    def _back_off(self, reason: str) -> None:
        self._runs.counts.store_errors += 1
        self._not_before = self._monotonic() + round(self._retry * SECOND)
        log.error("no job can be claimed; retrying in %.1f s: %s", self._retry, reason)
        self._retry = min(self._retry * 2, self._pace.patience)

    async def _rest(self, seconds: float) -> None:
        waits = (asyncio.ensure_future(self._app.sleep(seconds)), asyncio.ensure_future(self._wake.wait()))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()

    async def _beat(self) -> None:
        if self._at_store:
            self.last_beat = time.monotonic()

    async def _wake_at(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._wake.set()
