"""What answers say of a job: its row, and its runs, one by one: when, with what outcome, and which
lines and drafts are theirs."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Literal, NamedTuple, Protocol, TypeAlias, TypedDict, cast

from scenarioctl.application import Application
from scenarioctl.errors import NotFound, StaleCursor, shorten
from scenarioctl.model.amounts import read_number
from scenarioctl.model.jobs import SECOND, Job, JobState, KeptRun, Schedule, StepResult
from scenarioctl.model.json_types import SHOWN, Column, ScenarioId, Timestamp, timestamp
from scenarioctl.model.request_fields import Cursor, OwnJobName, Value
from scenarioctl.operations.results import PageFields, Result, read_page_size
from scenarioctl.stores.rows import FORK
from scenarioctl.stores.runs import Counter

__all__ = ["list_runs", "list_steps"]

#: `number` of a run is below this.
_NUMBER_MAX = 2**63 - 1


RunOutcome: TypeAlias = Literal["executed", "failed"]


class JobRow(TypedDict):
    id: Annotated[ScenarioId, SHOWN]
    state: Annotated[Literal["running", "stopped", "paused"], SHOWN]
    #: In words; this and the fields up to `changed` are null for a job that was never started.
    schedule: Annotated[str | None, SHOWN]
    every: str | None
    cron: str | None
    timezone: str | None
    jitter: str | None
    overlap: str | None
    catchup: str | None
    pause_after: int | None
    timeout: str | None
    #: Whether all steps are drafted as one transaction.
    batch: bool | None
    changed: Annotated[Timestamp | None, Column("since")]
    next: Annotated[Timestamp | None, Column("next run")]
    #: Of the last run, those of `job run` included; null if it never ran.
    last: "Timestamp | None"
    finished: Annotated[Timestamp | None, Column("last run")]
    outcome: Annotated[RunOutcome | None, Column("result")]
    #: Whether a run is in progress.
    executing: bool
    #: What the run in progress waits for: `webhook 6f1c…` or `delay 60 s`; empty if it doesn't
    #: wait.
    step: Annotated[str, Column("waits for")]
    #: The number of the step that waits, as in the editor; 0 if none does.
    step_number: int
    #: When that wait ends at the latest; null if none does.
    until: Annotated[Timestamp | None, Column(detail=True)]
    #: How many runs `job logs --runs` lists: those of `job run` included, and at most about the
    #: newest 1000.
    runs: Annotated[int, SHOWN]
    #: Failed runs of its schedule in a row.
    failures: Annotated[int, SHOWN]
    #: Drafts that could be signed now: neither expired nor outdated.
    drafts: Annotated[int, SHOWN]
    reason: Annotated[str, SHOWN]


class RunRow(TypedDict):
    #: `run` of `job logs` and `job drafts`. It grows with every run of the store, whichever job it
    #: is of.
    number: Annotated[int, Column("run")]
    planned: "Timestamp"
    started: Annotated[Timestamp, SHOWN]
    finished: "Timestamp"
    #: How long it took.
    seconds: Annotated[float, Column("took", form="seconds")]
    outcome: Annotated[RunOutcome, Column("result")]
    drafts: Annotated[int, SHOWN]
    #: Why it failed; empty if it succeeded.
    failure: Annotated[str, SHOWN]


class StepRow(TypedDict):
    #: As in the editor, counted from 1; null if the scenario doesn't have the step any more.
    number: Annotated[int | None, Column("step")]
    #: Id of its node.
    node: str
    #: Like `http`; empty if it is not known.
    step: Annotated[str, Column("type")]
    #: What became of it; null if the run didn't come to it.
    outcome: Annotated[Literal["done", "drafted", "failed", "skipped"] | None, Column("result")]
    #: How long it took, with what it waited for; null if that isn't stored.
    seconds: Annotated[float | None, Column("took", form="seconds")]
    #: What it did, with its data filled in; for a step without an outcome, what it does.
    input: Annotated[str, SHOWN]
    #: What came of it: its data as JSON without the headers of an answer, or a line of the log. At
    #: most its first 1000 characters.
    output: Annotated[str, SHOWN]
    #: Characters of the whole output.
    output_length: int


class StepList(TypedDict):
    run: RunRow
    #: In the order in which they run; those that the scenario doesn't have any more come last.
    steps: Annotated[list[StepRow], SHOWN]


@dataclass(frozen=True, kw_only=True)
class ListSteps:
    """Show what a run did, step by step: how long each took, its input and its output."""

    id: OwnJobName
    #: The number of the run. Default: the newest.
    run: Annotated[str | int, Value("NUMBER")] = ""


class LastRun(TypedDict):
    started: "Timestamp"
    finished: Annotated[Timestamp, SHOWN]
    seconds: float
    outcome: Annotated[RunOutcome, SHOWN]


@dataclass(frozen=True, kw_only=True)
class ListRuns(PageFields):
    """List the finished runs of a job, newest first, a page at a time."""

    id: OwnJobName
    #: Continue after the page that returned this cursor.
    after: Cursor = ""  # type: ignore[assignment]  # a number too


class RunList(TypedDict):
    runs: Annotated[list[RunRow], SHOWN]
    #: `after` of the next page; null on the last one.
    next: str | None


async def describe_jobs(app: Application, jobs: Sequence[Job | str]) -> list[JobRow]:
    """Return the rows of *jobs*; of one that was never started the id is given."""
    ids = [job if isinstance(job, str) else job.id for job in jobs]
    drafts = await app.store.count_drafts(ids, now=app.clock())
    runs = await app.store.count_runs(ids)
    rows = []
    for id, job in zip(ids, jobs, strict=True):
        known = (
            Job(id=id, state=JobState.STOPPED, schedule=Schedule(), changed=0)
            if isinstance(job, str)
            else job
        )
        count, newest = runs.get(id, (0, None))
        row = _describe_job(known, newest, runs=count, drafts=drafts.get(id, 0))
        rows.append(cast("JobRow", row | _NEVER_STARTED) if isinstance(job, str) else row)
    return rows


#: What is unknown of a job that was never started.
_NEVER_STARTED = dict.fromkeys(("schedule", *(field.name for field in fields(Schedule)), "changed"))


def _describe_job(job: Job, newest: KeptRun | None, *, runs: int, drafts: int) -> JobRow:
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
        "batch": schedule.batch,
        "changed": timestamp(job.changed),
        "next": _moment(job.due if job.state is JobState.RUNNING else None),
        "last": _moment(newest.started if newest else None),
        "finished": _moment(newest.finished if newest else None),
        "outcome": outcome_of(newest) if newest else None,
        "executing": job.in_progress,
        "step": job.step,
        "step_number": job.waiting,
        "until": _moment(job.due if job.waiting else None),
        "runs": runs,
        "failures": job.failures,
        "drafts": drafts,
        "reason": job.reason,
    }


def _moment(nanoseconds: int | None) -> str | None:
    return timestamp(nanoseconds) if nanoseconds is not None else None


async def list_runs(app: Application, request: ListRuns) -> Result[RunList]:
    from scenarioctl.stores.validation import check_limit

    limit = read_page_size(request.limit)
    check_limit(limit)
    before = read_run(request.after, field="after") if request.after != "" else 0
    # NotFound for an unknown scenario.
    await app.store.get_job(request.id)
    if before:
        await refuse_lost(app, "runs", before)
    runs = await app.store.last_runs(request.id, limit=limit + 1, before=before)
    more = len(runs) > limit
    rows = [describe_run(run) for run in runs[:limit]]
    return Result(answer={"runs": rows, "next": str(rows[-1]["number"]) if more else None})


async def list_steps(app: Application, request: ListSteps) -> Result[StepList]:
    from scenarioctl.actions import find_step, number_steps
    from scenarioctl.actions.story import tell_step
    from scenarioctl.operations.stored_diagrams import open_blob

    number = read_run(request.run, field="run") if request.run != "" else None
    stored = await app.store.get_scenario(request.id)
    run = await _find_run(app, request.id, number)
    left = dict(await app.store.steps_of_run(request.id, run.number))
    diagram = await open_blob(app, stored.blob, request.id)
    nodes = diagram.in_safe_order()
    numbers = number_steps(nodes)
    rows: list[StepRow] = []
    async with app.long_loop(len(nodes)) as breathe:
        for node in nodes:
            await breathe()
            if (found := left.pop(node.id, None)) is None and node.id not in numbers:
                continue
            step = find_step(node)
            row = _describe_step(node.id, found, number=numbers.get(node.id))
            row["step"] = step.name if step is not None else ""
            row["input"] = row["input"] or tell_step(app, diagram, node).sentence
            rows.append(row)
    rows += [_describe_step(node, found, number=None) for node, found in left.items()]
    return Result(answer={"run": describe_run(run), "steps": rows})


def _describe_step(node: str, found: StepResult | None, *, number: int | None) -> StepRow:
    return {
        "number": number,
        "node": node,
        "step": "",
        "outcome": found.outcome.value if found else None,
        "seconds": found.seconds if found else None,
        "input": found.input if found else "",
        "output": found.output if found else "",
        "output_length": found.length if found else 0,
    }


async def _find_run(app: Application, id: str, number: int | None) -> KeptRun:
    """Return a run of the job, the newest for None; NotFound if the store doesn't have it."""
    found = await app.store.last_runs(id, limit=1, before=0 if number is None else number + 1)
    if not found and number is None:
        raise NotFound(f"scenario {shorten(id)} has no finished run. Run it with `job run`.")
    if not found or number not in (None, found[0].number):
        raise _not_stored(id, number)
    return found[0]


def _not_stored(id: str, number: int | None) -> NotFound:
    return NotFound(
        field="run",
        value=number,
        problem=f"of scenario {shorten(id)} is not stored",
        advice="`job logs` with `runs` lists them.",
    )


def describe_run(run: KeptRun) -> RunRow:
    return {
        "number": run.number,
        "planned": timestamp(run.planned),
        "started": timestamp(run.started),
        "finished": timestamp(run.finished),
        "seconds": duration_of(run),
        "outcome": outcome_of(run),
        "drafts": run.drafts,
        "failure": run.failure,
    }


def duration_of(run: KeptRun) -> float:
    """Return how long *run* took, in seconds; 0 if the clock was set back meanwhile."""
    return round(max(0, run.finished - run.started) / SECOND, 3)


def outcome_of(run: KeptRun) -> RunOutcome:
    return "failed" if run.failure else "executed"


class Span(NamedTuple):
    """Moments, both included."""

    first: int
    last: int


async def span_of_run(app: Application, id: str, run: str | int, *, with_before: bool) -> Span:
    """Return from when to when a run went; *with_before*: from the end of the run before it, if
    that came first.

    NotFound if the store doesn't have the run.
    """
    number = read_run(run, field="run")
    await app.store.get_job(id)
    found = await app.store.last_runs(id, limit=2, before=number + 1)
    if not found or found[0].number != number:
        raise _not_stored(id, number)
    first = found[0].started
    if with_before:
        first = min(first, found[1].finished + 1) if len(found) > 1 else 0
    return Span(first, found[0].finished)


def read_run(value: str | int, *, field: str) -> int:
    return read_number(
        value,
        field=field,
        kind="the number of a run",
        expected="that of a finished run",
        most=_NUMBER_MAX - 1,
    )


async def last_runs_of(app: Application, ids: Sequence[str]) -> dict[str, LastRun]:
    """Return the last run of each of these scenarios that has run."""
    found = await app.store.runs_of_each(ids, limit=1)
    return {
        id: {
            "started": timestamp(run.started),
            "finished": timestamp(run.finished),
            "seconds": duration_of(run),
            "outcome": outcome_of(run),
        }
        for id, (run, *_) in found.items()
    }


class NumberedRow(Protocol):
    """A row that the store gave a number, which is a cursor."""

    @property
    def seq(self) -> int: ...


async def check_cursor(
    app: Application,
    counter: "Counter",
    after: int,
    rows: Sequence[NumberedRow],
    *,
    given: object = None,
) -> None:
    """Raise StaleCursor for the cursor *after* if its row is lost; *rows* follow behind it, and
    *given* is what the client has sent.

    A cursor with rows of its own timeline behind it needs no question to the store.
    """
    if after and not (rows and 0 <= rows[0].seq - after < FORK):
        await refuse_lost(app, counter, after, given=given)


async def refuse_lost(
    app: Application, counter: "Counter", number: int, *, given: object = None
) -> None:
    """Raise StaleCursor for a cursor whose row is lost: its client may have read rows that nobody
    else knows."""
    if await app.store.is_lost(counter, number):
        raise StaleCursor(
            f"after {given or number} is of a row that the store doesn't have: it lost the "
            "row in a failover or a restore, or never"
            " had it. Leave after out to read from the beginning, and compare drafts by their uuid"
        )
