"""Jobs as every store keeps them: the text of a schedule, and what follows from a finished run."""

import json
from dataclasses import asdict, dataclass
from functools import lru_cache

from scenarioctl.model.jobs import (
    STEPS_MAX,
    FinishedRun,
    JobState,
    Overlap,
    Schedule,
    StepOutcome,
    StepOutcomes,
)

#: Bytes of a line of the log; a longer one is cut.
LONGEST_LINE = 4096
#: Characters of drafts that a limited read returns at most, though one draft at least.
PORTION = 1024 * 1024


def clean(text: str) -> str:
    """Return *text* with `?` in place of lone surrogates and NUL characters, which a store may be unable to hold."""
    if "\0" in text:
        text = text.replace("\0", "?")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def cut_line(line: str) -> str:
    """Return *line* as the log keeps it: clean, and with `…` at its end if it had to be cut."""
    data = clean(line).encode()
    if len(data) <= LONGEST_LINE:
        return data.decode()
    return data[: LONGEST_LINE - len("…".encode())].decode("utf-8", "ignore") + "…"


#: Why a job is paused whose row holds what no version of this program writes.
DAMAGED = "its row in the store is damaged, start the job again"
SCENARIO_DAMAGED = "its scenario is damaged in the store, delete it and create it again"

_KINDS = {name: type(value) for name, value in asdict(Schedule()).items()}


def write_schedule(schedule: Schedule) -> str:
    return json.dumps(asdict(schedule))


def write_steps(steps: StepOutcomes) -> str:
    """Return the outcomes of a run's steps as text; empty if there are none, or too many."""
    text = clean(json.dumps(steps, ensure_ascii=False)) if steps else ""
    return text if len(text) <= STEPS_MAX else ""


def read_steps(text: str) -> StepOutcomes:
    """Return the outcomes in *text*; none if somebody has damaged it."""
    try:
        return {str(node): StepOutcome(outcome) for node, outcome in json.loads(text or "{}").items()}
    except (ValueError, AttributeError, RecursionError):
        return {}


@lru_cache(maxsize=1024)
def read_schedule(text: str) -> Schedule:
    """Return the schedule in *text*; ValueError, TypeError or RecursionError if there is none."""
    written = json.loads(text)
    if not isinstance(written, dict):
        raise TypeError
    fields = {**written, "overlap": Overlap(written.get("overlap", Overlap.SKIP))}
    if any(type(value) is not _KINDS.get(name) for name, value in fields.items()):
        raise TypeError
    return Schedule(**fields)


def _schedule_of(row: str) -> Schedule | None:
    """Return the schedule in the text of a row; None if it is damaged."""
    try:
        return read_schedule(row)
    except (ValueError, TypeError, RecursionError):
        return None


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
    """Return what *run* changes in a job, which has this *state* and *schedule*, and had so many *failures* in a row."""
    if run.wait is not None:
        return Plan(state=state, due=run.wait.until, planned=run.planned, failures=failures, waits=True)
    reason = clean(run.failure) if run.ran else None
    if run.ran:
        failures = failures + 1 if run.failure else 0
    if state == JobState.PAUSED:
        # It says why it is paused.
        return Plan(state=state, due=None, planned=run.planned, failures=failures)
    if state != JobState.RUNNING:
        return Plan(state=state, due=None, planned=None, failures=failures, reason=reason)
    stored = _schedule_of(schedule)
    # The run has logged whether the job pauses, by the schedule that it began with.
    known = run.schedule or stored
    pauses = run.ran and bool(run.failure) and known is not None and known.pauses(failures)
    due, planned = run.due, run.next_planned
    if due is not None and stored is not None and run.schedule not in (None, stored):
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
    """Return the due and the planned time after *run* of a job that has this *schedule* by now; None if there is none."""
    from scenarioctl.schedules import next_times

    try:
        times = next_times(schedule, run.planned, run.finished)
    except LookupError:
        # This machine doesn't have the time zone.
        return None, None
    return times.due, times.planned
