"""What a leg of a run does: from the leg that a worker has begun to what the store keeps of it."""

import asyncio
import json
import logging
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, TypeVar

from scenarioctl.application import Application
from scenarioctl.errors import (
    InvalidRequest,
    ScenarioctlError,
    StoreBusy,
    StoreUnavailable,
    shorten,
)
from scenarioctl.model.jobs import (
    PAUSED,
    SECOND,
    SLEEPING,
    FinishedRun,
    Job,
    Leg,
    MempoolDraft,
    Overlap,
    RunWait,
)
from scenarioctl.operations.runs import carry_out, closing_lines, retention_of
from scenarioctl.operations.stored_diagrams import open_blob
from scenarioctl.schedules import COUNTED, Times, caught_up, next_times
from scenarioctl.worker.chores import Attempts, Counts, Pace
from scenarioctl.worker.notifier import notices_of_run

if TYPE_CHECKING:
    from scenarioctl.actions.running import Run
    from scenarioctl.actions.step_kind import Wait

log = logging.getLogger("scenarioctl.worker")

T = TypeVar("T")

STARTING = "Starting worker"
#: Why a leg is not stored, or canceled.
NOT_OURS = "its job was stopped or changed, its scenario was deleted, or another worker has it"
#: The most characters that a run carries over a wait.
STATE_MAX = 4 * 1024 * 1024


@dataclass(kw_only=True)
class _Outcome:
    """What a run has done so far."""

    planned: int
    started: int
    #: Lines and drafts of this leg.
    lines: list[str]
    drafts: tuple[MempoolDraft, ...] = ()
    used: dict[str, int] = field(default_factory=dict)
    failure: str = ""
    #: False for a planned time that is skipped.
    ran: bool = True
    #: What it waits for at the end of the leg, and the text that the next leg goes on with.
    wait: "Wait | None" = None
    saved: str = ""
    #: Since when it waits.
    since: int = 0
    #: How many lines and drafts earlier legs have left.
    former_lines: int = 0
    former_drafts: int = 0
    #: The run itself; None until its scenario has been read.
    run: "Run | None" = None


class RunningLeg:
    """A leg in progress.  All its decisions go by the store's clock, which it knows from the
    beginning of the leg on."""

    def __init__(
        self,
        app: Application,
        leg: Leg,
        *,
        owner: str,
        pace: Pace,
        counts: Counts,
        monotonic: Callable[[], int],
    ) -> None:
        self.leg = leg
        #: Only storing is left, which a renewal that saw the old state must not cancel.
        self.finishing = False
        #: The task that performs it.
        self.task: asyncio.Task[None] | None = None
        self._app = app
        self._owner = owner
        self._pace = pace
        self._counts = counts
        self._monotonic = monotonic
        self._began = monotonic()

    async def perform(self) -> FinishedRun | None:
        """Take the leg, store what it leaves behind, whatever happens to it, and return that.

        None if the store didn't answer it: then the leg is left to whoever begins it again.
        """
        try:
            run = await self._execute()
        except (StoreBusy, StoreUnavailable) as error:
            self.finishing = True
            log.warning(
                "a run of job %s was interrupted, and will be repeated: %s", self.leg.job.id, error
            )
            await self._give_back()
            return None
        self.finishing = True
        await self._keep(run)
        return run

    def _now(self) -> int:
        """Return the store's clock."""
        return self.leg.now + self._monotonic() - self._began

    async def _execute(self) -> FinishedRun:
        leg, job = self.leg, self.leg.job
        outcome = _Outcome(planned=_planned(job, leg.now), started=leg.now, lines=[])
        try:
            if leg.interrupted:
                # However late it is.  HTTP requests may be sent a second time.
                self._counts.taken_over += 1
                outcome.lines.append(
                    "The last attempt at this run was interrupted; running it again"
                )
            if not leg.saved and not self._begin(outcome):
                outcome.ran = False
                return self._finished(outcome)
            await self._run(outcome)
        except (StoreBusy, StoreUnavailable):
            raise
        except ScenarioctlError as error:
            outcome.failure = error.statement
        except (Exception, asyncio.CancelledError) as error:
            if (
                isinstance(error, asyncio.CancelledError)
                and self.task is not None
                and self.task.cancelling()
            ):
                raise
            # A bug in one job must not take the other jobs down.  And if something that the run
            # shares was canceled, but not the run itself, the run must still be stored: its job
            # would stay ours forever.
            outcome.failure = self._report(job.id, error)
        return self._finished(outcome)

    def _begin(self, outcome: _Outcome) -> bool:
        """Find out for which time a run is that begins; False if it comes too late."""
        leg, job = self.leg, self.leg.job
        if leg.repeats:
            outcome.lines.append(
                "1 planned run was skipped, it was done before the clock was set back"
            )
            return False
        # Each attempt is for the same time: steps outside are asked with a key that has it.
        began = leg.now if job.last_started is None else job.last_started
        due = began if job.due is None else job.due
        planned, missed = caught_up(job.schedule, outcome.planned, due, began, first=not job.runs)
        if missed:
            self._counts.left_out += missed
            whom = "it" if missed == 1 else "them"
            outcome.lines.append(f"{_planned_runs(missed, job)} missed while no worker ran {whom}")
        if planned is None:
            return False
        outcome.planned = planned
        if not job.runs:
            outcome.lines.insert(0, STARTING)
        return True

    async def _run(self, outcome: _Outcome) -> None:
        from scenarioctl.actions.running import Run

        leg, job = self.leg, self.leg.job
        saved = json.loads(leg.saved) if leg.saved else {}
        if saved:
            outcome.planned, outcome.started = saved["planned"], saved["started"]
            outcome.former_lines, outcome.former_drafts = saved["lines"], saved["drafts"]
        async with self._app.session() as session:
            run = Run(
                session,
                job.id,
                await open_blob(session, leg.blob, job.id),
                summary=leg.summary,
                key=f"{job.id} {outcome.planned}",
                clock=self._now,
                together=job.schedule.batch,
            )
            if saved:
                if saved["scenario"] != _revision(leg):
                    raise InvalidRequest("the scenario was changed while the run waited")
                run.restore(saved["run"])
            outcome.run = run
            waited = (
                max(0, await self._time(saved["webhook"]) - saved["since"]) / SECOND
                if saved
                else 0.0
            )
            try:
                wait = await carry_out(run, timeout=job.schedule.timeout, waited=waited)
                if wait is not None:
                    outcome.since = self._now()
                    since = await self._time(wait.webhook)
                    outcome.saved = self._save(run, outcome, webhook=wait.webhook, since=since)
                    outcome.wait = wait
                else:
                    outcome.failure = run.failure
            finally:
                outcome.lines += run.lines
                outcome.drafts = tuple(run.drafts)
                outcome.used = dict(run.used_events)

    async def _time(self, webhook: str) -> int:
        """Return the time by which a wait ends: a webhook's stands while nobody could post."""
        away = await self._until_stored(self._app.store.time_away) if webhook else 0
        return self._now() - away

    def _save(self, run: "Run", outcome: _Outcome, *, webhook: str, since: int) -> str:
        saved = {
            "scenario": _revision(self.leg),
            "planned": outcome.planned,
            "started": outcome.started,
            "webhook": webhook,
            "since": since,
            "lines": outcome.former_lines + len(outcome.lines) + len(run.lines),
            "drafts": outcome.former_drafts + len(run.drafts),
            "run": run.save(),
        }
        text = json.dumps(saved)
        if len(text) > STATE_MAX:
            raise InvalidRequest(
                f"the run has collected {len(text)} characters of data, and can't wait "
                f"with more than {STATE_MAX}"
            )
        return text

    def _finished(self, outcome: _Outcome) -> FinishedRun:
        """Return what the store keeps of a leg, with the time of the next one."""
        run = FinishedRun(
            job=self.leg.job.id,
            epoch=self.leg.job.epoch,
            owner=self._owner,
            planned=outcome.planned,
            started=outcome.started,
            finished=self._now(),
            lines=tuple(outcome.lines),
            drafts=outcome.drafts,
            used_events=outcome.used,
            former_lines=outcome.former_lines,
            former_drafts=outcome.former_drafts,
        )
        run = self._waiting(run, outcome) if outcome.wait is not None else self._ended(run, outcome)
        targets = (*self.leg.job.notify, *self._app.settings.notify)
        # None if nobody asked for any.
        return replace(run, notifications=notices_of_run(run, targets)) if targets else run

    def _waiting(self, run: FinishedRun, outcome: _Outcome) -> FinishedRun:
        wait, reached = outcome.wait, outcome.run
        if wait is None or reached is None:
            raise RuntimeError("only a run that has begun waits")
        until = outcome.since + math.ceil(wait.seconds * SECOND)
        stored = RunWait(
            step=wait.step,
            number=reached.number,
            webhook=wait.webhook,
            until=until,
            saved=outcome.saved,
        )
        return replace(run, wait=stored, due=until, ran=False)

    def _ended(self, run: FinishedRun, outcome: _Outcome) -> FinishedRun:
        job = self.leg.job
        lines = [*run.lines, *(closing_lines(outcome.run, outcome.failure) if outcome.ran else ())]
        times: Times | None = None
        failures = job.failures + 1
        if outcome.failure and job.schedule.pauses(failures):
            lines.append(
                f"{PAUSED}the run failed"
                if failures == 1
                else f"{PAUSED}{failures} runs in a row failed"
            )
        else:
            # A skipped time must not be queued either.
            schedule = job.schedule if outcome.ran else replace(job.schedule, overlap=Overlap.SKIP)
            try:
                times = next_times(schedule, outcome.planned, run.finished)
            except Exception as error:
                # The machine may not have the time zone any more.
                lines.append(self._report(job.id, error))
                lines.append(f"{PAUSED}there is no next time")
        if times is not None:
            if outcome.ran and times.missed:
                skipped = _planned_runs(times.missed, job)
                lines.append(f"{skipped} skipped, this one took longer than the interval")
            lines.append(SLEEPING)
        return replace(
            run,
            lines=tuple(lines),
            drafts=run.drafts if outcome.run is None else tuple(outcome.run.drafts),
            failure=outcome.failure,
            steps=outcome.run.steps if outcome.run is not None else {},
            due=times.due if times else None,
            next_planned=times.planned if times else None,
            schedule=job.schedule,
            ran=outcome.ran,
        )

    def _report(self, id: str, error: BaseException) -> str:
        """Log a bug with its traceback, and return the line for the job's own log."""
        self._counts.bugs += 1
        log.error("a bug showed in job %s", id, exc_info=error)
        return (
            f"this is a bug in scenarioctl ({type(error).__name__}: {shorten(str(error), 200)}); "
            "the daemon's log has the traceback"
        )

    async def _keep(self, run: FinishedRun) -> None:
        """Store *run*: nothing of it may be lost while its job is ours."""
        retention = retention_of(self._app.settings)
        try:
            # The store itself lets legs that end together take one turn.
            kept = await self._until_stored(
                partial(self._app.store.finish_run, run, retention=retention)
            )
        except Exception as error:
            # The store refuses something in it: store the rest.
            outcome = _Outcome(planned=run.planned, started=run.started, lines=[])
            outcome.failure = self._report(run.job, error)
            run = self._finished(outcome)
            kept = await self._until_stored(
                partial(self._app.store.finish_run, run, retention=retention)
            )
        if not kept:
            self._counts.lost += 1
            log.warning("a run of job %s is not kept: %s", run.job, NOT_OURS)
        elif run.ran:
            self._counts.executed += 1
            if run.failure:
                self._counts.failed += 1
                outcome_text = "failed" if run.due is not None else "failed, the job is paused"
                log.warning("a run of job %s %s: %s", run.job, outcome_text, run.failure)

    async def _give_back(self) -> None:
        """Let the leg be begun again."""
        job = self.leg.job
        free = partial(self._app.store.free_legs, [self._owner], legs=[(job.id, job.epoch)])
        await self._until_stored(free)

    async def _until_stored(self, write: Callable[[], Awaitable[T]]) -> T:
        """Return what *write* returns, which is retried until the store takes it."""
        trouble = f"a run of job {self.leg.job.id} can't be stored"
        attempts = Attempts(trouble=trouble, pace=self._pace)
        while True:
            try:
                return await write()
            except ScenarioctlError as error:
                delay = attempts.failed(error)
            await self._app.sleep(delay)


def _revision(leg: Leg) -> str:
    return sha256(leg.blob).hexdigest()[:16]


def _planned(job: Job, now: int) -> int:
    if job.planned is not None:
        return job.planned
    return now if job.due is None else job.due


def _planned_runs(count: int, job: Job) -> str:
    """Return the beginning of a sentence about so many runs."""
    if job.schedule.cron and count >= COUNTED:
        return f"{COUNTED} or more planned runs were"
    return "1 planned run was" if count == 1 else f"{count} planned runs were"
