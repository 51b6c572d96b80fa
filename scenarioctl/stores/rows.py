"""Rows of SQL stores, read as what they mean, and written alike: schedules, what follows from a
run, cursors of lists."""

import base64
import binascii
import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.jobs import (
    STEP_TEXT_MAX,
    STEPS_MAX,
    FinishedRun,
    Job,
    JobState,
    Overlap,
    Schedule,
    StepOutcome,
    StepResult,
    StepResults,
)
from scenarioctl.stores.validation import INTEGER_MAX, check_storable

#: Bytes of a line of the log; a longer one is cut.
LONGEST_LINE = 4096
#: Characters of drafts that a limited read returns at most, though one draft at least.
PORTION = 1024 * 1024


def clean(text: str) -> str:
    """Return *text* with `?` in place of lone surrogates and NUL characters, which a store may be
    unable to hold."""
    if "\0" in text:
        text = text.replace("\0", "?")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def cut_line(line: str) -> str:
    """Return *line* as the log keeps it: clean, and with `…` at its end if it had to be cut."""
    data = clean(line).encode()
    if len(data) <= LONGEST_LINE:
        return data.decode()
    return data[: LONGEST_LINE - len("…".encode())].decode("utf-8", "ignore") + "…"


def write_schedule(schedule: Schedule) -> str:
    return json.dumps(asdict(schedule))


def write_steps(steps: StepResults) -> str:
    """Return what became of a run's steps as text, with as much of their inputs and outputs as
    fits; empty if none does."""
    for longest in (STEP_TEXT_MAX, STEP_TEXT_MAX // 5, 0) if steps else ():
        written = {node: _write_step(step, longest) for node, step in steps.items()}
        text = clean(json.dumps(written, ensure_ascii=False))
        if len(text) <= STEPS_MAX:
            return text
    text = clean(
        json.dumps({node: step.outcome for node, step in steps.items()}, ensure_ascii=False)
    )
    return text if steps and len(text) <= STEPS_MAX else ""


def _write_step(step: StepResult, longest: int) -> object:
    """Return *step* as JSON: as its outcome alone if there is no more."""
    cut = f"{step.input[:longest]}…" if longest else ""
    shown = step.input if len(step.input) <= longest else cut
    texts = {"input": shown, "output": step.output[:longest]}
    fields = {"seconds": step.seconds, **texts, "length": step.length}
    said = {name: value for name, value in fields.items() if value not in ("", None, 0)}
    return {"outcome": step.outcome, **said} if said else step.outcome


def read_steps(text: str) -> StepResults:
    """Return what *text* has of the steps of a run."""
    return {node: _read_step(step) for node, step in json.loads(text or "{}").items()}


def _read_step(step: Any) -> StepResult:
    if isinstance(step, str):
        return StepResult(outcome=StepOutcome(step))
    return StepResult(**{**step, "outcome": StepOutcome(step["outcome"])})


@lru_cache(maxsize=1024)
def read_schedule(text: str) -> Schedule:
    """Return the schedule in *text*."""
    written = json.loads(text)
    return Schedule(**{**written, "overlap": Overlap(written["overlap"])})


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a finished run changes in its job."""

    state: str
    due: int | None
    planned: int | None
    failures: int
    #: When the job paused; None if its state stays.
    changed: int | None = None
    #: None: as it was.
    reason: str | None = None
    #: Its run goes on.
    waits: bool = False

    @property
    def pauses(self) -> bool:
        """Return whether the job, which was running, is paused."""
        return self.changed is not None


def next_plan(run: FinishedRun, *, state: str, failures: int, schedule: str) -> Plan:
    """Return what *run* changes in a job, which has this *state* and *schedule*, and had so many
    *failures* in a row."""
    if run.wait is not None:
        return Plan(
            state=state, due=run.wait.until, planned=run.planned, failures=failures, waits=True
        )
    reason = clean(run.failure) if run.ran else None
    if run.ran:
        failures = failures + 1 if run.failure else 0
    if state == JobState.PAUSED:
        # It says why it is paused.
        return Plan(state=state, due=None, planned=run.planned, failures=failures)
    if state != JobState.RUNNING:
        return Plan(state=state, due=None, planned=None, failures=failures, reason=reason)
    stored = read_schedule(schedule)
    # The run has logged whether the job pauses, by the schedule that it began with.
    pauses = run.ran and bool(run.failure) and (run.schedule or stored).pauses(failures)
    due, planned = run.due, run.next_planned
    if due is not None and run.schedule not in (None, stored):
        due, planned = _plan_anew(stored, run)
    if due is None or pauses:
        return Plan(
            state=str(JobState.PAUSED),
            due=None,
            planned=run.planned,
            failures=failures,
            changed=run.finished,
            reason=clean(run.failure) or "its schedule has no further time",
        )
    return Plan(state=state, due=due, planned=planned, failures=failures, reason=reason)


def _plan_anew(schedule: Schedule, run: FinishedRun) -> tuple[int | None, int | None]:
    """Return the due and the planned time after *run* of a job that has this *schedule* by now;
    None if there is none."""
    from scenarioctl.schedules import next_times

    try:
        times = next_times(schedule, run.planned, run.finished)
    except LookupError:
        # This machine doesn't have the time zone.
        return None, None
    return times.due, times.planned


#: Numbers that two servers have given out, of which one was promoted, are farther apart than this.
FORK = 1 << 28

#: A part of a sort key.
Value = str | int

#: Sort -> the types of its key. Rows with the same time or summary follow each other in the order
#: of their numbers.
_KEYS: dict[str, tuple[type, ...]] = {
    "created": (int, int),
    "id": (str,),
    "summary": (str, int),
    # Of jobs.
    "changed": (int, str),
    # Of sent transactions.
    "sent": (int, str, str),
}


def write_cursor(sort: str, *values: Value, descending: bool = True) -> str:
    """Return the cursor behind a row that has the sort key *values*."""
    text = json.dumps([sort, descending, *values], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def read_cursor(cursor: str, sort: str, *, descending: bool = True) -> list[Value]:
    """Return the sort key that *cursor* holds; InvalidRequest if no list of this order has written
    it."""
    if not cursor:
        return []
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        given, direction, *key = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        sound = given in _KEYS and type(direction) is bool
        for part, kind in zip(key, _KEYS[given], strict=True):
            sound = (
                sound
                and type(part) is kind
                and (not isinstance(part, int) or abs(part) <= INTEGER_MAX)
            )
            check_storable(str(part), field="after")
    except (ValueError, TypeError, KeyError, RecursionError, binascii.Error, InvalidRequest):
        sound = False
    if not sound:
        raise InvalidRequest(
            field="after",
            value=cursor,
            problem="is not a cursor",
            expected="the `next` of another page",
        )
    if (given, direction) != (sort, descending):
        order = f"{given} {'descending' if direction else 'ascending'}"
        raise InvalidRequest(
            field="after",
            value=cursor,
            problem=f"belongs to a list sorted by {order}",
            expected="that order again",
        )
    return list(key)


#: How many columns `read_job` takes.
JOB_WIDTH = 16


def read_texts(value: str | list[str]) -> tuple[str, ...]:
    """Return a list of texts, which a database has as an array or as JSON."""
    return tuple(json.loads(value) if isinstance(value, str) else value)


def read_job(row: tuple[Any, ...]) -> Job:
    """Return the job in the first columns of *row*."""
    (
        id,
        state,
        schedule,
        changed,
        due,
        planned,
        epoch,
        owner,
        step,
        runs,
        failures,
        started,
        finished,
        reason,
        notify,
        waiting,
    ) = row[:JOB_WIDTH]
    return Job(
        id=id,
        state=JobState(state),
        schedule=read_schedule(schedule),
        changed=changed,
        due=due,
        planned=planned,
        epoch=epoch,
        owner=owner,
        step=step,
        runs=runs,
        failures=failures,
        last_started=started,
        last_finished=finished,
        reason=reason,
        notify=tuple(notify.split()),
        waiting=waiting,
    )
