"""What a clock that is set does to due times."""

import asyncio
import logging
from collections.abc import Callable

from scenarioctl.application import Application
from scenarioctl.model.jobs import SECOND, JobState
from scenarioctl.schedules import first_times

log = logging.getLogger("scenarioctl.worker")


class ClockWatch:
    """Notices that the clock was set, and plans jobs again that would be due much too late."""

    def __init__(self, app: Application, *, monotonic: Callable[[], int]) -> None:
        self._app = app
        self._monotonic = monotonic
        self._drift = app.clock() - monotonic()
        # Also at the start: the clock may have been set back while no worker ran.
        self._must_replan = True

    def look(self) -> None:
        """Compare the clock with the monotonic one."""
        drift = self._app.clock() - self._monotonic()
        moved, self._drift = drift - self._drift, drift
        if moved < -SECOND:
            log.warning("the clock was set back by %.0f s", -moved / SECOND)
            self._must_replan = True
        elif moved > 60 * SECOND:
            # Late runs follow the rules for downtime.
            log.warning("the clock was set forward, or the machine slept, by %.0f s", moved / SECOND)

    async def replan(self) -> None:
        """Plan jobs again if the clock was set back since the last time."""
        if not self._must_replan:
            return
        moved = await self._replan()
        self._must_replan = False
        if moved:
            log.warning("the clock was set back: %d jobs have a new due time", moved)

    async def _replan(self) -> int:
        """Plan jobs again that are due later than their schedule ever plans; return how many."""
        now = self._app.clock()
        moved = await self._app.store.replan(now=now)
        after = ""
        while True:
            page = await self._app.store.list_jobs(limit=1000, after=after, state=JobState.RUNNING)
            for job in page.items:
                if not job.schedule.cron or job.planned is None or job.owner:
                    continue
                times = first_times(job.schedule, now)
                # Thousands of cron schedules take a while.
                await asyncio.sleep(0)
                if job.planned > times.planned and await self._app.store.plan_job(
                    job.id, epoch=job.epoch, due=times.due, planned=times.planned
                ):
                    moved += 1
            after = page.next
            if not after:
                return moved
