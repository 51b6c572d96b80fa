"""Jobs: start, stop, run once, and read their status, logs and drafts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from scenarioctl.application import Application
from scenarioctl.errors import ScenarioctlError
from scenarioctl.model.amounts import read_choice
from scenarioctl.model.jobs import (
    NO_TRANSACTION,
    FinishedRun,
    Job,
    JobChange,
    JobState,
    LogLine,
    MempoolDraft,
    MempoolEntry,
    Overlap,
    Schedule,
    stopping,
    while_waiting,
)
from scenarioctl.model.json_types import SHOWN, Digits, Timestamp, timestamp
from scenarioctl.model.request_fields import (
    Count,
    Duration,
    JobName,
    JobNames,
    OwnJobName,
    OwnScenarioName,
    ScenarioName,
    Value,
)
from scenarioctl.operations.job_runs import (
    JobRow,
    RunRow,
    check_cursor,
    describe_jobs,
    describe_run,
)
from scenarioctl.operations.payout_records import mark_sent
from scenarioctl.operations.results import (
    Done,
    PageFields,
    Result,
    answer_in_portions,
    next_portion,
    read_page_size,
)
from scenarioctl.operations.runs import (
    LINES,
    carry_out,
    closing_lines,
    failure_of,
    read_cursor,
    read_portions,
    retention_of,
    size_of,
    wait_for,
)
from scenarioctl.operations.sent_records import SentMark, read_marks, warn_of_sent
from scenarioctl.operations.stored_diagrams import open_blob

__all__ = ["job_log", "job_mempool", "job_status", "list_jobs", "run_job", "start_job", "stop_job"]

#: The newest runs in the status of a job.
_LAST_RUNS = 5
#: Drafts in a page, if the client does not say how many.
MEMPOOL_PAGE = 1000
#: The beginnings of the lines in the log of a job that is rescheduled.
RESCHEDULED = "Rescheduled"
NOTIFICATIONS_CHANGED = "Notifications changed"
#: What decides when a job runs.  The other fields say what becomes of a run.
_TIMING = ("every", "cron", "timezone", "jitter")


@dataclass(frozen=True, kw_only=True)
class StartJob:
    """Run a scenario on a schedule: first at once, or at the next time of `cron`.

    Without a schedule, a job that was started before keeps its last one; a new one runs every 12
    hours. If the job is running, its schedule changes: fields that are left out keep their values.
    """

    id: ScenarioName
    #: Time between two runs, like 90s, 10m, 12h or 1h30m, or a number of seconds (12h in a new
    #: schedule).
    every: Duration = ""
    #: Instead of `every`: minute, hour, day of month, month and day of week, like '*/5 9-17 * *
    #: mon-fri'. LW is the last weekday of the month, 5L the last Friday.
    cron: Annotated[str, Value("LINE")] = ""
    #: Time zone of `cron`, like Europe/Berlin (UTC in a new schedule).
    timezone: Annotated[str, Value("ZONE")] = ""
    #: Delay each run by a random time up to this.
    jitter: Duration = ""
    #: If a run is still in progress when the next is due: `skip` it, as a new schedule does, or
    #: `queue` one.
    overlap: Annotated[str, Value("POLICY", offers=tuple(Overlap))] = ""
    #: After downtime, skip runs that are later than this (1m in a new schedule).
    catchup: Duration = ""
    #: Pause the job after this many failed runs in a row (0, in a new schedule: never).
    pause_after: Count = ""
    #: End a run that takes longer (0, in a new schedule: the setting run_seconds, 1h).
    timeout: Duration = ""
    #: Also send notifications of this job to URL; may be repeated. `none` removes those of the job.
    notify: Annotated[str | list[Any], Value("URL", repeats=True)] = ""
    #: Draft all steps as one transaction (Utility.batch_all), as `scenario build --batch` does:
    #: they must be on one chain.
    batch: bool = False

    def given(self) -> dict[str, object]:
        """Return the fields of the schedule that are given."""
        values = {each.name: getattr(self, each.name, "") for each in fields(Schedule)}
        return {name: value for name, value in values.items() if value is not False and value != ""}

    def targets(self) -> tuple[str, ...] | None:
        """Return where notifications are to be sent; None if that is left out."""
        if self.notify == "":
            return None
        from scenarioctl.model.notifications import read_targets

        return read_targets(self.notify)


async def start_job(app: Application, request: StartJob) -> Result[Done]:
    from scenarioctl.schedules import (
        changed_schedule,
        describe_schedule,
        first_times,
        note_on_times,
        read_schedule,
    )

    given, wanted = request.given(), request.targets()
    notes: tuple[str, ...] = ()
    former = await app.store.get_job(request.id)
    is_running = former is not None and former.state is JobState.RUNNING
    # Also of one that is running: another client may stop it before it is started here.
    if former is not None and (is_running or not given.keys() - {"batch"}):
        schedule = changed_schedule(former.schedule, given)
        notes = (f"Using the schedule of the last start: {describe_schedule(schedule)}.",)
    else:
        schedule = read_schedule(**given)
    if schedule.batch and (not is_running or "batch" in given):
        await _check_batch(app, request.id)
    now = await app.store.now()
    times = first_times(schedule, now)
    job = Job(
        id=request.id,
        state=JobState.RUNNING,
        schedule=schedule,
        changed=now,
        due=times.due,
        planned=times.planned,
        notify=wanted if wanted is not None else former.notify if former is not None else (),
    )
    result = "Job started"
    if not await app.store.start_job(job):
        changed = await _reschedule(app, request.id, given, wanted, now)
        if changed is None:
            answer: Done = {"success": True, "result": "Job already running"}
            return Result(answer=answer, notes=await notes_on_worker(app))
        job, notes = changed, ()
        result = f"Job rescheduled: {describe_schedule(job.schedule)}"
    if job.planned is not None and not job.in_progress:
        notes += (note_on_times(job.schedule, job.planned),)
    notes += await notes_on_worker(app)
    return Result(answer={"success": True, "result": result}, notes=notes)


async def _reschedule(
    app: Application,
    id: str,
    given: Mapping[str, object],
    targets: tuple[str, ...] | None,
    now: int,
) -> Job | None:
    """Change the schedule of a running job, and where its notifications are sent; return it, or
    None if nothing is different.

    Planned times lie on the grid of the former ones. Another time ends a run that waits for a
    webhook or a delay. Any other run in progress, and one that is due already, are not affected.
    """
    from scenarioctl.schedules import changed_schedule, describe_schedule, following_times

    changed: Job | None = None

    def reschedule(job: Job) -> JobChange | None:
        nonlocal changed
        schedule = changed_schedule(job.schedule, given)
        changed = replace(job, schedule=schedule, notify=job.notify if targets is None else targets)
        if changed == job:
            changed = None
            return None
        lines = (NOTIFICATIONS_CHANGED,) if changed.notify != job.notify else ()
        moves = job.state is JobState.RUNNING and any(
            getattr(schedule, name) != getattr(job.schedule, name) for name in _TIMING
        )
        ends_wait = moves and bool(job.waiting)
        if schedule != job.schedule:
            while_ = while_waiting(job) if ends_wait else ""
            line = f"{RESCHEDULED}{while_}: {describe_schedule(schedule)}"
            is_planned = not job.in_progress and job.due is not None and job.due > now
            if ends_wait or (moves and is_planned):
                times = following_times(schedule, job.planned, now)
                changed = replace(changed, due=times.due, planned=times.planned)
                line += f", the next run is at {timestamp(times.due)[:19]}Z"
            lines = (line, *lines)
        return JobChange(job=changed, lines=lines, written=now, ends_run=ends_wait)

    await app.store.change_job(id, reschedule)
    return changed


async def _check_batch(app: Application, id: str) -> None:
    from scenarioctl.actions.batching import check_together

    stored = await app.store.get_scenario(id)
    check_together(app, await open_blob(app, stored.blob, id))


async def notes_on_worker(app: Application) -> tuple[str, ...]:
    """Return the note that nobody runs the jobs, if that is so."""
    if await app.store.has_worker():
        return ()
    return ("No worker is running. The job will start when you run `scenarioctl daemon`.",)


@dataclass(frozen=True, kw_only=True)
class StopJob:
    """Stop a job, also a paused one. A run in progress ends, and leaves nothing more."""

    id: JobName


async def stop_job(app: Application, request: StopJob) -> Result[Done]:
    now = await app.store.now()
    had_to_stop = False

    def change(job: Job) -> JobChange | None:
        nonlocal had_to_stop
        had_to_stop = job.state is not JobState.STOPPED
        return stopping(job, now=now) if had_to_stop else None

    await app.store.change_job(request.id, change)
    return Result(
        answer={"success": True, "result": "Job stopped" if had_to_stop else "Job not running"}
    )


class MempoolRow(TypedDict):
    """A draft, with the interface's spellings."""

    #: Its number in the mempool: `draft` of /api/tx/payload.
    seq: NotRequired[int]
    #: Names it for ever, also if a failover of the store loses it and gives its number to no other.
    uuid: NotRequired[str]
    #: Id of the step's node in the diagram.
    node: NotRequired[str]
    #: The planned time that the run is for; left out for `job run`. Drafts of one job, `node` and
    #: occurrence do the same: sign one.
    occurrence: "NotRequired[Timestamp]"
    chain: str
    #: In the smallest unit; `0` if no asset moves.
    amount: "Digits"
    #: The same in whole tokens, like `1.5 DOT`; left out if it is not known.
    human: NotRequired[str]
    #: What it sends beside that to pay on the way, in whole tokens; left out for nothing.
    beside: NotRequired[str]
    #: As the step type names it, like `xTransfer` or `ChainQuery`.
    txType: str
    Date: "Timestamp"
    #: 0x hex, the JSON that a chain returned, or `Could not generate transaction`.
    tx: str
    spec_version: NotRequired[int]
    expires: "NotRequired[Timestamp]"
    state: NotRequired[Literal["current", "expired", "outdated"]]
    #: Why it is outdated.
    flag: NotRequired[str]
    #: The transaction that was sent last for it, if a broadcast named this job and draft.
    sent: NotRequired[SentMark]


@dataclass(frozen=True, kw_only=True)
class RunJob:
    """Run a scenario once, now, and wait until it ends."""

    id: OwnScenarioName
    #: End the run if it takes longer. Default: the setting run_seconds (1h).
    timeout: Duration = ""


class RunReport(TypedDict):
    """A run that succeeded; the error of a failed run has the same fields."""

    success: Literal[True]
    #: The lines of its log.
    result: list[str]
    mempool: list[MempoolRow]


async def run_job(app: Application, request: RunJob) -> Result[RunReport]:
    """Run the scenario once.

    If a step fails, its error is raised after the run is stored. The exit code and the HTTP status
    are those of the error, and `details` has the log lines and the drafts.
    """
    from scenarioctl.actions.running import Run
    from scenarioctl.schedules import read_duration

    timeout = read_duration(request.timeout, field="timeout") if request.timeout != "" else 0
    stored = await app.store.get_scenario(request.id)
    diagram = await mark_sent(app, request.id, await open_blob(app, stored.blob, request.id))
    started = app.clock()
    key = f"{request.id} {started} by hand"
    job = await app.store.get_job(request.id)
    run = Run(
        app,
        request.id,
        diagram,
        summary=stored.summary,
        key=key,
        together=job is not None and job.schedule.batch,
    )
    error: ScenarioctlError | None = None
    try:
        wait = await carry_out(run, timeout=timeout)
        while wait is not None:
            waited = await wait_for(app, wait, job=request.id)
            wait = await carry_out(run, timeout=timeout, waited=waited)
    except ScenarioctlError as raised:
        error = raised
    if error is None and run.failure:
        error = failure_of(run)
    failure = error.statement if error is not None else ""
    finished = FinishedRun(
        job=request.id,
        epoch=None,
        planned=started,
        started=started,
        finished=app.clock(),
        lines=(*run.lines, *closing_lines(run, failure)),
        drafts=tuple(run.drafts),
        used_events=dict(run.used_events),
        failure=failure,
        steps=run.steps,
    )
    _, before = await app.store.find_end()
    await app.store.finish_run(finished, retention=retention_of(app.settings))
    lines = list(finished.lines)
    mempool = [describe_draft(draft, flag="", now=finished.finished) for draft in run.drafts]
    await _number_drafts(app, request.id, mempool, after=before)
    if error is not None:
        error.add_details(result=lines, mempool=mempool)
        raise error
    return Result(answer={"success": True, "result": lines, "mempool": mempool})


async def _number_drafts(app: Application, id: str, rows: list[MempoolRow], *, after: int) -> None:
    """Add the `seq` of drafts that were stored behind *after*; other runs may have stored theirs
    between them."""
    if not rows:
        return
    stored = await app.store.read_mempool(id, after=after)
    numbers = {entry.draft.uuid: entry.seq for entry in stored}
    for row in rows:
        # The limits of the mempool may have removed it already.
        if (seq := numbers.get(row.get("uuid", ""))) is not None:
            row["seq"] = seq


@dataclass(frozen=True, kw_only=True)
class JobStatus:
    """Show the state of a job and its last runs."""

    id: OwnJobName


class JobDetails(JobRow):
    #: The next three planned times, without jitter; none if it isn't running.
    planned: Annotated[list["Timestamp"], SHOWN]
    #: Where its notifications are sent, without what may be secret in a URL.
    notify: Annotated[list[str], SHOWN]
    #: The newest first.
    last_runs: Annotated[list[RunRow], SHOWN]
    #: Outcome of each step that the last run came to, by the id of its node.
    last_steps: dict[str, Literal["done", "drafted", "failed", "skipped"]]


async def job_status(app: Application, request: JobStatus) -> Result[JobDetails]:
    from scenarioctl.model.notifications import describe_target
    from scenarioctl.schedules import planned_times

    job = await app.store.get_job(request.id)
    (row,) = await describe_jobs(app, [job or request.id])
    runs = await app.store.last_runs(request.id, limit=_LAST_RUNS)
    steps = await app.store.steps_of_run(request.id, runs[0].number) if runs else {}
    targets = job.notify if job is not None else ()
    times = (
        planned_times(job.schedule, job.planned, await app.store.now())
        if job is not None and job.state is JobState.RUNNING
        else []
    )
    answer: JobDetails = {
        **row,
        "planned": [timestamp(each) for each in times],
        "notify": [describe_target(each) for each in targets],
        "last_runs": [describe_run(run) for run in runs],
        "last_steps": {node: step.outcome.value for node, step in steps.items()},
    }
    return Result(answer=answer)


@dataclass(frozen=True, kw_only=True)
class ListJobs(PageFields):
    """List the jobs, a page at a time: the most recently started, stopped, paused or resumed
    first."""

    #: Only these, in this order and on one page. Default: all jobs.
    ids: JobNames = ()
    #: Only those that are `running`, `stopped` or `paused`.
    state: Annotated[str, Value("STATE", offers=tuple(JobState))] = ""


class JobList(TypedDict):
    jobs: Annotated[list[JobRow], SHOWN]
    total: int
    #: `after` of the next page; null on the last one.
    next: str | None


async def list_jobs(app: Application, request: ListJobs) -> Result[JobList]:
    state = _read_state(request.state)
    store = app.existing_store
    if request.ids:
        named = [await store.get_job(id) or id for id in dict.fromkeys(request.ids)]
        rows = await describe_jobs(app, named)
        rows = [row for row in rows if state in (None, row["state"])]
        return Result(answer={"jobs": rows, "total": len(rows), "next": None})
    page = await store.list_jobs(
        limit=read_page_size(request.limit), after=request.after, state=state
    )
    rows = await describe_jobs(app, page.items)
    return Result(
        answer={"jobs": rows, "total": page.total, "next": page.next or None},
    )


@dataclass(frozen=True, kw_only=True)
class ReadFields:
    """A job, and which of its log lines or drafts are read."""

    id: JobName
    #: Only what follows `next` of an earlier answer (0 starts over).
    after: Annotated[str | int, Value("SEQ")] = ""
    #: At most this many. Default: all, or of drafts 1000 if `after` is given.
    limit: Annotated[Count, Value("N", least=1)] = ""
    #: Only the last N.
    tail: Count = ""
    #: Only those from this time on, like 2026-11-22T15:30 (local time), or in the last 2h or 30m.
    since: Annotated[str, Value("TIME")] = ""
    #: Only those of the run with this number of `job logs --runs`; of a log, also what was written
    #: between it and the run before.
    run: Annotated[str | int, Value("NUMBER")] = ""


@dataclass(frozen=True, kw_only=True)
class JobLog(ReadFields):
    """Read the log of a job, oldest line first."""

    #: Say when each line was written.
    times: bool = False


class LogLines(TypedDict):
    success: Literal[True]
    result: list[str]
    #: `after` of the next request; only if the request has `after` or `limit`.
    next: NotRequired[str]
    #: When each line was written; only if the request asks for it.
    times: "NotRequired[list[Timestamp]]"


async def job_log(app: Application, request: JobLog) -> Result[LogLines]:
    read = partial(app.store.read_log, request.id)
    after, limit, is_wanted = await read_cursor(app, request, read, of_log=True)

    async def describe(lines: Sequence[LogLine]) -> LogLines:
        await check_cursor(app, "log_lines", after, lines)
        answer: LogLines = {"success": True, "result": [line.text for line in lines]}
        if request.after != "" or request.limit != "":
            answer["next"] = str(lines[-1].seq if lines else after)
        if request.times:
            answer["times"] = [timestamp(line.written) for line in lines]
        return answer

    portions = read_portions(read, after=after, most=LINES, limit=limit, is_wanted=is_wanted)
    return await answer_in_portions(portions, describe)


@dataclass(frozen=True, kw_only=True)
class JobMempool(ReadFields):
    """Read the drafts of a job, oldest first: all of them, or with `after` or `limit` about 1 MiB
    at a time."""


class Mempool(TypedDict):
    mempool: list[MempoolRow]
    #: `after` of the next request; only if the request has `after` or `limit`.
    next: NotRequired[str]


async def job_mempool(app: Application, request: JobMempool) -> Result[Mempool]:
    read = partial(app.store.read_mempool, request.id)
    after, limit, is_wanted = await read_cursor(app, request, read, of_log=False)
    paged = request.after != "" or request.limit != ""

    async def describe(entries: Sequence[MempoolEntry]) -> Mempool:
        await check_cursor(app, "mempool", after, entries)
        answer: Mempool = {
            "mempool": _write_entries(entries, app.clock(), await read_marks(app, entries))
        }
        if paged:
            answer["next"] = str(entries[-1].seq if entries else after)
        return answer

    most = min(limit or MEMPOOL_PAGE, MEMPOOL_PAGE)
    portions = read_portions(read, after=after, most=most, is_wanted=is_wanted, size_of=size_of)
    if paged:
        return Result(answer=await describe(await next_portion(portions)))
    result = await answer_in_portions(portions, describe)
    return replace(result, warnings=await _warn_of_others(app, request.id))


async def _warn_of_others(app: Application, job: str) -> tuple[str, ...]:
    """Return a warning about what was sent of the scenario of *job* since its last run, and not as
    one of its drafts."""
    runs = await app.store.last_runs(job, limit=1)
    pairs = await app.store.sent().of_scenarios([job]) if runs else []
    others = [each for each in pairs if not each[0].draft and each[1].sent >= runs[0].finished]
    return warn_of_sent(f"scenario {job}", others)


def _write_entries(
    entries: Sequence[MempoolEntry], now: int, marks: Mapping[int, SentMark]
) -> list[MempoolRow]:
    return [describe_entry(entry, now=now, sent=marks.get(entry.seq)) for entry in entries]


def describe_entry(entry: MempoolEntry, *, now: int, sent: SentMark | None = None) -> MempoolRow:
    """Return an entry of the mempool with its number."""
    fields: MempoolRow = {
        "seq": entry.seq,
        **describe_draft(entry.draft, flag=entry.flag, now=now, sent=sent),
    }
    if entry.occurrence is not None:
        fields["occurrence"] = timestamp(entry.occurrence)
    return fields


def describe_draft(
    draft: MempoolDraft, *, flag: str, now: int, sent: SentMark | None = None
) -> MempoolRow:
    """Return a mempool entry as the interface has it, with the validity of its transaction."""
    fields: MempoolRow = {
        "chain": draft.chain,
        "amount": draft.amount,
        "txType": draft.tx_type,
        "Date": timestamp(draft.date),
        "tx": draft.tx,
    }
    if draft.human:
        fields["human"] = draft.human
    if draft.beside:
        fields["beside"] = draft.beside
    if draft.uuid:
        fields["uuid"] = draft.uuid
    if draft.node:
        fields["node"] = draft.node
    if draft.tx == NO_TRANSACTION:
        return fields
    if draft.spec_version is not None:
        fields["spec_version"] = draft.spec_version
    if draft.expires is not None:
        fields["expires"] = timestamp(draft.expires)
        fields["state"] = "outdated" if flag else "expired" if now >= draft.expires else "current"
    if flag:
        fields["flag"] = flag
    if sent is not None:
        fields["sent"] = sent
    return fields


def _read_state(state: str) -> JobState | None:
    return (
        JobState(read_choice(state, field="state", choices=list(JobState), fold=str.lower))
        if state
        else None
    )
