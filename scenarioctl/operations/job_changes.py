"""Jobs: pause, resume, and change the schedule."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Literal, TypedDict

from scenarioctl.application import Application
from scenarioctl.errors import Conflict, InvalidRequest
from scenarioctl.model.jobs import Job, JobChange, JobState, while_waiting
from scenarioctl.model.json_types import Timestamp, timestamp
from scenarioctl.model.request_fields import OwnJobName, OwnScenarioName
from scenarioctl.operations.jobs import ScheduledJob, notes_on_worker
from scenarioctl.operations.results import Done, Result

__all__ = ["pause_job", "reschedule_job", "resume_job"]

#: The line in the log of a job that is paused, and the beginnings of those of one that is resumed
#: or rescheduled.
PAUSED_LINE = "Paused on request"
RESUMED = "Resumed"
RESCHEDULED = "Rescheduled"
NOTIFICATIONS_CHANGED = "Notifications changed"
#: Why such a job is paused.
ON_REQUEST = "paused on request"

#: What decides when a job runs.  The other fields say what becomes of a run.
_TIMING = ("every", "cron", "timezone", "jitter")


class Planned(TypedDict):
    """What became of the job, and when it runs next."""

    success: Literal[True]
    result: str
    #: Null if the job is not running.
    next: "Timestamp | None"


@dataclass(frozen=True, kw_only=True)
class PauseJob:
    """Pause a job until it is resumed. A run in progress ends; schedule, log, counts and drafts
    stay."""

    id: OwnJobName


async def pause_job(app: Application, request: PauseJob) -> Result[Done]:
    now = await app.store.now()

    def pause(job: Job) -> JobChange | None:
        if job.state is JobState.PAUSED:
            return None
        if job.state is JobState.STOPPED:
            raise Conflict(
                field="job", problem=f"{job.id} is stopped. Only a running job can be paused"
            )
        paused = replace(job, state=JobState.PAUSED, due=None, changed=now, reason=ON_REQUEST)
        return JobChange(
            job=paused, lines=(f"{PAUSED_LINE}{while_waiting(job)}",), written=now, ends_run=True
        )

    _, changed = await _change(app, request.id, pause)
    return Result(
        answer={"success": True, "result": "Job paused" if changed else "Job already paused"}
    )


@dataclass(frozen=True, kw_only=True)
class ResumeJob:
    """Resume a paused job. The next run is at the next time of its schedule. Runs that were due in
    the meantime are skipped."""

    id: OwnJobName


async def resume_job(app: Application, request: ResumeJob) -> Result[Planned]:
    from scenarioctl.schedules import changed_schedule, following_times

    now = await app.store.now()

    def resume(job: Job) -> JobChange | None:
        if job.state is JobState.RUNNING:
            return None
        if job.state is JobState.STOPPED:
            raise Conflict(
                field="job", problem=f"{job.id} is stopped, not paused. Start it instead"
            )
        times = following_times(changed_schedule(job.schedule, {}), job.planned, now)
        resumed = replace(
            job,
            state=JobState.RUNNING,
            due=times.due,
            planned=times.planned,
            changed=now,
            reason="",
        )
        line = f"{RESUMED}, the next run is at {_second(times.due)}"
        return JobChange(job=resumed, lines=(line,), written=now)

    job, changed = await _change(app, request.id, resume)
    return await _planned(app, job, "Job resumed" if changed else "Job already running")


@dataclass(frozen=True, kw_only=True)
class RescheduleJob(ScheduledJob):
    """Change the schedule of a job, or where its notifications are sent. Fields that are left out
    stay as they are.

    Planned times lie on the grid of the former ones. Another time ends a run that waits for a
    webhook or a delay. Any other run in progress, and one that is due already, are not affected.
    """

    id: OwnScenarioName


async def reschedule_job(app: Application, request: RescheduleJob) -> Result[Planned]:
    from scenarioctl.schedules import (
        changed_schedule,
        describe_schedule,
        following_times,
        note_on_steps,
    )

    given = request.given()
    if not given and request.notify == "":
        names = ", ".join(each.name for each in fields(ScheduledJob) if each.name != "id")
        raise InvalidRequest(f"nothing to change is given, expected at least one of: {names}")
    now, wanted = await app.store.now(), request.targets()

    def reschedule(job: Job) -> JobChange | None:
        schedule = changed_schedule(job.schedule, given)
        targets = job.notify if wanted is None else wanted
        if schedule == job.schedule:
            if targets == job.notify:
                return None
            return JobChange(
                job=replace(job, notify=targets), lines=(NOTIFICATIONS_CHANGED,), written=now
            )
        due, planned = job.due, job.planned
        is_planned = not job.in_progress and due is not None and due > now
        moves = job.state is JobState.RUNNING and any(
            getattr(schedule, name) != getattr(job.schedule, name) for name in _TIMING
        )
        ends_wait = moves and bool(job.waiting)
        line = (
            f"{RESCHEDULED}{while_waiting(job) if ends_wait else ''}: {describe_schedule(schedule)}"
        )
        if ends_wait or (moves and is_planned):
            times = following_times(schedule, planned, now)
            due, planned = times.due, times.planned
            line += f", the next run is at {_second(due)}"
        return JobChange(
            job=replace(job, schedule=schedule, due=due, planned=planned, notify=targets),
            lines=(line, NOTIFICATIONS_CHANGED) if targets != job.notify else (line,),
            written=now,
            ends_run=ends_wait,
        )

    job, changed = await _change(app, request.id, reschedule)
    what = describe_schedule(job.schedule)
    result = f"Job rescheduled: {what}" if changed else f"The schedule is already: {what}"
    planned = await _planned(app, job, result)
    return replace(planned, notes=(*note_on_steps(job.schedule, now), *planned.notes))


async def _change(
    app: Application, id: str, change: Callable[[Job], JobChange | None]
) -> tuple[Job, bool]:
    """Return the job as it is then, and whether it changed."""
    changed = False

    def note(job: Job) -> JobChange | None:
        nonlocal changed
        wanted = change(job)
        changed = wanted is not None
        return wanted

    job = await app.store.change_job(id, note)
    if job is None:
        raise Conflict(field="job", problem=f"{id} was never started. Start it first")
    return job, changed


async def _planned(app: Application, job: Job, result: str) -> Result[Planned]:
    runs = job.state is JobState.RUNNING
    due = timestamp(job.due) if runs and not job.in_progress and job.due is not None else None
    notes = await notes_on_worker(app) if runs else ()
    return Result(answer={"success": True, "result": result, "next": due}, notes=notes)


def _second(moment: int) -> str:
    return f"{timestamp(moment)[:19]}Z"
