"""The runs in progress of a worker."""

import asyncio
import logging
import time
from collections.abc import Callable

from scenarioctl.application import Application
from scenarioctl.model.jobs import SECOND, ClaimedJob, MempoolDraft
from scenarioctl.worker.capacity import Capacity
from scenarioctl.worker.counts import Counts
from scenarioctl.worker.job_run import NOT_OURS, JobRun
from scenarioctl.worker.pace import Pace

log = logging.getLogger("scenarioctl.worker")


class Runs:
    """Starts runs, and knows those in progress."""

    def __init__(
        self,
        app: Application,
        *,
        owner: str,
        pace: Pace,
        counts: Counts,
        capacity: Capacity,
        at_store: asyncio.Semaphore,
        on_draft: Callable[[MempoolDraft], None],
        on_notices: Callable[[], None],
    ) -> None:
        self.owner = owner
        self.pace = pace
        self.counts = counts
        self.capacity = capacity
        #: Runs take turns at a store that has few connections, of which they leave some to others.
        self.at_store = at_store
        self._app = app
        self._on_draft = on_draft
        #: Called when runs have left notifications.
        self._on_notices = on_notices
        #: Job -> its run in progress.
        self._by_job: dict[str, JobRun] = {}

    def __len__(self) -> int:
        return len(self._by_job)

    @property
    def waiting(self) -> int:
        """Return how many of them wait for a webhook, a delay or a slow server."""
        return sum(not run.place.busy for run in self._by_job.values())

    def in_progress(self) -> dict[str, JobRun]:
        """Return each job with its run in progress, as of now."""
        return dict(self._by_job)

    def tasks(self) -> list[asyncio.Task[None]]:
        """Return the tasks of all runs."""
        return [run.task for run in self._by_job.values() if run.task is not None]

    def start(self, claimed: ClaimedJob) -> asyncio.Task[None]:
        """Start a run of a claimed job, and return its task."""
        id = claimed.job.id
        before = self._by_job.get(id)
        if before is not None and before.task is not None:
            # We lost the job, and have claimed it again; the store does not keep the older run.
            before.task.cancel()
        run = self._by_job[id] = JobRun(
            self._app,
            claimed,
            owner=self.owner,
            pace=self.pace,
            counts=self.counts,
            capacity=self.capacity,
            at_store=self.at_store,
        )
        run.task = task = asyncio.create_task(self._perform(run), name=f"job {id}")
        task.add_done_callback(lambda _: self._ended(run))
        return task

    def give_up(self, run: JobRun) -> None:
        """Cancel a run in progress whose job is not ours any more, unless it is being stored."""
        id = run.claimed.job.id
        if self._by_job.get(id) is run and not run.finishing and run.task is not None:
            self.counts.lost += 1
            log.warning("a run of job %s is given up: %s", id, NOT_OURS)
            run.task.cancel()

    def release_slow(self) -> None:
        """Release the places of runs that take long: a server that hangs must not stop all jobs."""
        places = [run.place for run in self._by_job.values()]
        self.capacity.release_slow(places, longer_than=round(self.pace.slow * SECOND))

    async def let_end(self) -> None:
        """Wait, within the grace, for runs that end soon."""
        deadline = time.monotonic() + self.pace.grace
        while time.monotonic() < deadline:
            tasks = [
                run.task
                for run in self._by_job.values()
                if run.task is not None and (run.finishing or not run.step)
            ]
            if not tasks:
                return
            await asyncio.wait(tasks, timeout=0.1)

    async def _perform(self, run: JobRun) -> None:
        finished = await run.perform()
        for draft in finished.drafts:
            self._on_draft(draft)
        if finished.notifications:
            self._on_notices()

    def _ended(self, run: JobRun) -> None:
        id = run.claimed.job.id
        if self._by_job.get(id) is run:
            del self._by_job[id]
        self.capacity.release(run.place)
        if run.task is not None and not run.task.cancelled() and (error := run.task.exception()):
            log.error("a run of job %s was lost", id, exc_info=error)
