"""What answers say of a job: a row of lists, of `job status` and of `job watch`."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Literal, TypeAlias, TypedDict, cast

from scenarioctl.application import Application
from scenarioctl.model.jobs import Job, JobState, Schedule
from scenarioctl.model.json_types import ScenarioId, Timestamp, timestamp

RunOutcome: TypeAlias = Literal["executed", "failed"]


class JobRow(TypedDict):
    id: "ScenarioId"
    state: Literal["running", "stopped", "paused"]
    #: In words; this and the fields up to `changed` are null for a job that was never started.
    schedule: str | None
    every: str | None
    cron: str | None
    timezone: str | None
    jitter: str | None
    overlap: str | None
    catchup: str | None
    pause_after: int | None
    timeout: str | None
    changed: "Timestamp | None"
    next: "Timestamp | None"
    last: "Timestamp | None"
    finished: "Timestamp | None"
    outcome: RunOutcome | None
    #: Whether a run is in progress.
    executing: bool
    #: The step that is executing.
    step: str
    runs: int
    #: Failed runs in a row.
    failures: int
    #: Drafts that could be signed now: neither expired nor outdated.
    drafts: int
    reason: str


async def describe_jobs(app: Application, jobs: Sequence[Job | str]) -> list[JobRow]:
    """Return the rows of *jobs*; of one that was never started the id is given."""
    ids = [job if isinstance(job, str) else job.id for job in jobs]
    drafts = await app.store.count_drafts(ids, now=app.clock())
    return [
        _never_started(job, drafts.get(job, 0))
        if isinstance(job, str)
        else _describe_job(job, drafts.get(job.id, 0))
        for job in jobs
    ]


def _describe_job(job: Job, drafts: int) -> JobRow:
    from scenarioctl.schedules import describe_schedule, write_duration

    schedule = job.schedule
    return {
        "id": job.id,
        "state": job.state.value,
        "schedule": describe_schedule(schedule),
        "every": write_duration(schedule.every) if schedule.every else None,
        "cron": schedule.cron or None,
        "timezone": schedule.timezone if schedule.cron else None,
        "jitter": write_duration(schedule.jitter),
        "overlap": schedule.overlap.value,
        "catchup": write_duration(schedule.catchup),
        "pause_after": schedule.pause_after,
        "timeout": write_duration(schedule.timeout) if schedule.timeout else None,
        "changed": timestamp(job.changed),
        "next": _moment(job.due if job.state is JobState.RUNNING else None),
        "last": _moment(job.last_started),
        "finished": _moment(job.last_finished),
        "outcome": ("failed" if job.failures else "executed") if job.runs else None,
        "executing": job.in_progress,
        "step": job.step,
        "runs": job.runs,
        "failures": job.failures,
        "drafts": drafts,
        "reason": job.reason,
    }


def _never_started(id: str, drafts: int) -> JobRow:
    row = _describe_job(Job(id=id, state=JobState.STOPPED, schedule=Schedule(), changed=0), drafts)
    unknown = ("schedule", *(field.name for field in fields(Schedule)), "changed")
    return cast("JobRow", {**row, **dict.fromkeys(unknown)})


def _moment(nanoseconds: int | None) -> str | None:
    return timestamp(nanoseconds) if nanoseconds is not None else None
