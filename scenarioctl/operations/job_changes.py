"""Jobs: pause and resume."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypedDict

from scenarioctl.application import Application
from scenarioctl.errors import Conflict
from scenarioctl.model.jobs import Job, JobChange, JobState, while_waiting
from scenarioctl.model.json_types import Timestamp, timestamp
from scenarioctl.model.request_fields import OwnJobName
from scenarioctl.operations.jobs import notes_on_worker
from scenarioctl.operations.results import Done, Result

__all__ = ["pause_job", "resume_job"]

#: The line in the log of a job that is paused, and the beginning of that of one that is resumed.
PAUSED_LINE = "Paused on request"
RESUMED = "Resumed"
#: Why such a job is paused.
ON_REQUEST = "paused on request"


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
