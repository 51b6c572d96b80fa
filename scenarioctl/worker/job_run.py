"""What a run does: from a claimed job to what the store keeps of it.

Whoever decides when a job runs, and who runs it, hands the claimed job over to this.
"""

import asyncio
import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from scenarioctl.application import Application
from scenarioctl.errors import ScenarioctlError, shorten
from scenarioctl.model.jobs import PAUSED, SLEEPING, ClaimedJob, FinishedRun, Job, MempoolDraft, Overlap
from scenarioctl.operations.runs import carry_out, closing_lines, retention_of, wait_for
from scenarioctl.operations.stored_diagrams import open_blob
from scenarioctl.schedules import COUNTED, Times, caught_up, next_times
from scenarioctl.worker.capacity import Capacity, Place
from scenarioctl.worker.counts import Counts
from scenarioctl.worker.notices import notices_of_run
from scenarioctl.worker.pace import Pace

if TYPE_CHECKING:
    from scenarioctl.actions.running import Run

log = logging.getLogger("scenarioctl.worker")

STARTING = "Starting worker"
#: Why a run is not stored, or canceled.
NOT_OURS = "its scenario was deleted, it was restarted, or another worker has it"


@dataclass(kw_only=True)
class _Outcome:
    """What a run has done so far."""

    planned: int
    started: int
    lines: list[str]
    drafts: tuple[MempoolDraft, ...] = ()
    used: dict[str, int] = field(default_factory=dict)
    failure: str = ""
    #: False for a planned time that is skipped.
    ran: bool = True
    #: The run itself; None until its scenario has been read.
    run: "Run | None" = None


class JobRun:
    """One run of a claimed job."""

    def __init__(
        self,
        app: Application,
        claimed: ClaimedJob,
        *,
        owner: str,
        pace: Pace,
        counts: Counts,
        capacity: Capacity,
        at_store: asyncio.Semaphore,
    ) -> None:
        self.claimed = claimed
        self.place: Place = capacity.take()
        #: What it waits for.
        self.step = ""
        #: Only storing is left, which a renewal that saw the old state must not cancel.
        self.finishing = False
        #: The task that performs it.
        self.task: asyncio.Task[None] | None = None
        self._app = app
        self._owner = owner
        self._pace = pace
        self._counts = counts
        self._capacity = capacity
        self._at_store = at_store
        #: The time that it is for, if that isn't the one that its job had.
        self._planned: int | None = None
        #: Lines that are in the log already.
        self._logged = 0
        #: The task that notes a wait or lines in the store.
        self._noting: asyncio.Task[None] | None = None

    async def perform(self) -> FinishedRun:
        """Run the job, store what it leaves behind, whatever happens to it, and return that."""
        run = await self._execute()
        self.finishing = True
        if self._noting is not None:
            # It may have been in progress when the run was canceled.
            await asyncio.wait({self._noting})
            run = replace(run, lines=run.lines[self._logged :])
        await self._keep(run)
        return run

    async def _execute(self) -> FinishedRun:
        claimed, job = self.claimed, self.claimed.job
        started = self._app.clock()
        outcome = _Outcome(planned=_planned(job, started), started=started, lines=[])
        try:
            due = started if job.due is None else job.due
            if claimed.interrupted:
                # However late it is.  HTTP requests may be sent a second time.
                self._counts.taken_over += 1
                outcome.lines.append("The last attempt at this run was interrupted; running it again")
            else:
                planned, missed = caught_up(job.schedule, outcome.planned, due, started, first=not job.runs)
                if missed:
                    self._counts.left_out += missed
                    whom = "it" if missed == 1 else "them"
                    outcome.lines.append(f"{_planned_runs(missed, job)} missed while no worker ran {whom}")
                if planned is None:
                    outcome.ran = False
                    return self._finished(outcome)
                outcome.planned = self._planned = planned
            if not job.runs and not claimed.logged:
                outcome.lines.insert(0, STARTING)
            if outcome.lines and not claimed.logged:
                # The run may take hours, and clients read the log meanwhile.
                await self._log(outcome.lines)
            await self._run(outcome)
        except ScenarioctlError as error:
            outcome.failure = str(error)
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and self.task is not None and self.task.cancelling():
                raise
            # A bug in one job must not take the other jobs down.  And if something that the run shares was canceled, but
            # not the run itself, the run must still be stored: its job would stay ours forever.
            outcome.failure = self._report(job.id, error)
        return self._finished(outcome)

    async def _run(self, outcome: _Outcome) -> None:
        from scenarioctl.actions.running import Run

        claimed, job = self.claimed, self.claimed.job
        async with self._app.session() as session:
            run = Run(
                session,
                job.id,
                await open_blob(session, claimed.blob, job.id),
                summary=claimed.summary,
                key=f"{job.id} {outcome.planned}",
                on_step=lambda: self._log([*outcome.lines, *run.lines]),
            )
            outcome.run = run
            try:
                wait = await carry_out(run, timeout=job.schedule.timeout)
                while wait is not None:
                    await self._wait(wait.step, [*outcome.lines, *run.lines])
                    waited = await wait_for(session, wait, job=job.id)
                    await self._wait("", [*outcome.lines, *run.lines])
                    wait = await carry_out(run, timeout=job.schedule.timeout, waited=waited)
                outcome.failure = run.failure
            finally:
                outcome.lines += run.lines
                outcome.drafts = tuple(run.drafts)
                outcome.used = dict(run.used_events)

    def _finished(self, outcome: _Outcome) -> FinishedRun:
        """Return what the store keeps of a run, with the time of the next one."""
        job = self.claimed.job
        finished = self._app.clock()
        lines = [*outcome.lines, *(closing_lines(outcome.run, outcome.failure) if outcome.ran else ())]
        times: Times | None = None
        failures = job.failures + 1
        if outcome.failure and job.schedule.pauses(failures):
            lines.append(
                f"{PAUSED}the run failed" if failures == 1 else f"{PAUSED}{failures} runs in a row failed"
            )
        else:
            # A skipped time must not be queued either.
            schedule = job.schedule if outcome.ran else replace(job.schedule, overlap=Overlap.SKIP)
            try:
                times = next_times(schedule, outcome.planned, finished)
            except Exception as error:
                # The machine may not have the time zone any more.
                lines.append(self._report(job.id, error))
                lines.append(f"{PAUSED}there is no next time")
        if times is not None:
            if outcome.ran and times.missed:
                skipped = _planned_runs(times.missed, job)
                lines.append(f"{skipped} skipped, this one took longer than the interval")
            lines.append(SLEEPING)
        return self._with_notices(
            FinishedRun(
                job=job.id,
                epoch=job.epoch,
                owner=self._owner,
                planned=outcome.planned,
                started=outcome.started,
                finished=finished,
                lines=tuple(lines),
                drafts=outcome.drafts,
                used_events=outcome.used,
                failure=outcome.failure,
                steps=outcome.run.outcomes if outcome.run is not None else {},
                due=times.due if times else None,
                next_planned=times.planned if times else None,
                schedule=job.schedule,
                ran=outcome.ran,
            )
        )

    def _with_notices(self, run: FinishedRun) -> FinishedRun:
        """Return *run* with the notifications that are sent of it; none if nobody asked for any."""
        targets = (*self.claimed.job.notify, *self._app.settings.notify)
        return replace(run, notifications=notices_of_run(run, targets)) if targets else run

    def _report(self, id: str, error: BaseException) -> str:
        """Log a bug with its traceback, and return the line for the job's own log."""
        self._counts.bugs += 1
        log.error("a bug showed in job %s", id, exc_info=error)
        return (
            f"this is a bug in scenarioctl ({type(error).__name__}: {shorten(str(error), 200)}); "
            "the daemon's log has the traceback"
        )

    async def _keep(self, run: FinishedRun) -> None:
        """Store *run*, and retry until that succeeds: nothing of it may be lost while its job is ours."""
        delay = self._pace.retry
        retention = retention_of(self._app.settings)
        while True:
            try:
                # The store itself lets runs that end together take one turn.
                kept = await self._app.store.finish_run(run, retention=retention)
                break
            except ScenarioctlError as error:
                self._counts.store_errors += 1
                trouble = "a run of job %s can't be stored; retrying in %.1f s: %s"
                log.error(trouble, run.job, delay, error)  # noqa: TRY400
            except Exception as error:
                # The store refuses something in it: store the rest.
                sentence = self._report(run.job, error)
                lines = (*closing_lines(None, sentence), SLEEPING)
                run = self._with_notices(
                    replace(run, lines=lines, drafts=(), used_events={}, failure=sentence)
                )
            await self._app.sleep(delay)
            delay = min(delay * 2, self._pace.patience)
        if not kept:
            self._counts.lost += 1
            log.warning("a run of job %s is not kept: %s", run.job, NOT_OURS)
        elif run.ran:
            self._counts.executed += 1
            if run.failure:
                self._counts.failed += 1
                outcome = "failed" if run.due is not None else "failed, the job is paused"
                log.warning("a run of job %s %s: %s", run.job, outcome, run.failure)

    async def _wait(self, step: str, lines: list[str]) -> None:
        """Note what the run waits for, and its log; another run has its place meanwhile."""
        if step:
            self._capacity.release(self.place)
        else:
            await self._capacity.take_again(self.place)
        if step == self.step:
            return
        self.step = step
        await self._log(lines)

    async def _log(self, lines: list[str]) -> None:
        """Store what the run has logged so far, and what it waits for."""
        self._noting = asyncio.create_task(self._note(self.step, lines))
        # If the run is canceled meanwhile, its lines must be written exactly once.
        await asyncio.shield(self._noting)

    async def _note(self, step: str, lines: list[str]) -> None:
        job = self.claimed.job
        fresh = tuple(lines[self._logged :])
        try:
            async with self._at_store:
                marked = await self._app.store.mark_step(
                    job.id,
                    epoch=job.epoch,
                    step=step,
                    lines=fresh,
                    now=self._app.clock(),
                    planned=self._planned,
                )
            if marked:
                self._logged += len(fresh)
        except ScenarioctlError as error:
            # The lines are stored at the end of the run.
            log.warning("the step of job %s was not noted: %s", job.id, error)


def _planned(job: Job, now: int) -> int:
    if job.planned is not None:
        return job.planned
    return now if job.due is None else job.due


def _planned_runs(count: int, job: Job) -> str:
    """Return the beginning of a sentence about so many runs."""
    if job.schedule.cron and count >= COUNTED:
        return f"{COUNTED} or more planned runs were"
    return "1 planned run was" if count == 1 else f"{count} planned runs were"
