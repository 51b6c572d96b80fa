"""A worker: runs the jobs that its dispatch hands over, and does the chores beside.

When a job runs, and which worker runs it, is the dispatch's (`dispatch.py`); what a run does is in `job_run.py`.
"""

import asyncio
import logging
import time
from collections.abc import Callable

from scenarioctl.application import Application
from scenarioctl.operations.runs import retention_of
from scenarioctl.worker.capacity import Capacity
from scenarioctl.worker.chores import guard, repeat
from scenarioctl.worker.counts import Counts
from scenarioctl.worker.dispatch import choose_dispatch, turns_at_store
from scenarioctl.worker.draft_checks import DraftChecks
from scenarioctl.worker.identity import new_owner
from scenarioctl.worker.notifier import Notifier
from scenarioctl.worker.pace import Pace
from scenarioctl.worker.runs import Runs

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
        self.capacity = Capacity(capacity, monotonic=monotonic, on_free=self.wake)
        self.counts = Counts()
        self.notifier = Notifier(app, self.counts)
        self._draft_checks = DraftChecks(app, self.counts, on_notices=self.notifier.wake)
        self.runs = Runs(
            app,
            owner=self.owner,
            pace=self.pace,
            counts=self.counts,
            capacity=self.capacity,
            at_store=asyncio.Semaphore(turns_at_store(app, capacity)),
            on_draft=self._draft_checks.notice,
            on_notices=self.notifier.wake,
        )
        self._dispatch = choose_dispatch(app, self.runs, monotonic=monotonic)

    @property
    def running(self) -> int:
        """Return how many runs are in progress."""
        return len(self.runs)

    @property
    def waiting(self) -> int:
        """Return how many of them wait for a webhook, a delay or a slow server."""
        return self.runs.waiting

    @property
    def last_beat(self) -> float:
        """Return when the dispatch last made progress, in seconds of the monotonic clock."""
        return self._dispatch.last_beat

    def wake(self) -> None:
        """Look for due jobs now: one was started in this process."""
        self._dispatch.wake()

    async def run(self, stop: asyncio.Event) -> None:
        """Run jobs until *stop*; then let those in progress end, or give them back."""
        self.app.wake = self.wake
        await guard(self.renew, "the worker was not announced")
        await guard(self._dispatch.take_over, "dead workers' jobs were not freed")
        sleep, pace = self.app.sleep, self.pace
        chores = [
            asyncio.create_task(repeat(self.renew, pace.renew, sleep=sleep)),
            asyncio.create_task(repeat(self._dispatch.take_over, pace.owners, sleep=sleep)),
            asyncio.create_task(repeat(self._draft_checks.check, pace.draft_checks, sleep=sleep)),
            asyncio.create_task(repeat(self.notifier.take_turn, pace.notifications, sleep=sleep, first=0)),
            asyncio.create_task(repeat(self._prune, pace.prune, sleep=sleep, first=pace.first_prune)),
        ]
        try:
            await self._dispatch.run(stop)
        finally:
            await self._wind_up(chores)

    async def run_next(self) -> bool:
        """Run what is due now to its end; False if nothing is.  For tests, and without the chores of `run`."""
        return await self._dispatch.run_due()

    async def renew(self) -> None:
        """Keep our jobs, and give up runs whose job is not ours any more."""
        before = self.runs.in_progress()
        ours = await self._dispatch.renew()
        for id, run in before.items():
            if id not in ours:
                self.runs.give_up(run)

    async def _prune(self) -> None:
        await self.app.store.prune(now=self.app.clock(), retention=retention_of(self.app.settings))
        await self.notifier.prune()

    async def _wind_up(self, chores: "list[asyncio.Task[None]]") -> None:
        """Wait for runs that end soon, and release the others."""
        try:
            await self.runs.let_end()
            await self.notifier.let_end()
        finally:
            tasks = [*self.runs.tasks(), *self.notifier.tasks()]
            tasks += chores if self._draft_checks.task is None else [*chores, self._draft_checks.task]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            # Also if a claim was cut short after the store had taken it.
            await guard(self._leave, "the worker's jobs were not given back")

    async def _leave(self) -> None:
        given_back = await self._dispatch.leave()
        if given_back:
            log.info(
                "runs released at the stop; the next worker repeats them unless their jobs are stopped: %d",
                given_back,
            )
