"""Jobs as every store keeps them: the text of a schedule, and what follows from a finished run."""

import json
from dataclasses import asdict, dataclass
from functools import lru_cache

from scenarioctl.model.jobs import FinishedRun, JobState, Overlap, Schedule
from scenarioctl.stores.texts import clean

#: Why a job is paused whose row holds what no version of this program writes.
DAMAGED = "its row in the store is damaged, start the job again"
SCENARIO_DAMAGED = "its scenario is damaged in the store, delete it and create it again"

_KINDS = {name: type(value) for name, value in asdict(Schedule()).items()}


def write_schedule(schedule: Schedule) -> str:
    return json.dumps(asdict(schedule))


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


def _pause_after(schedule: str) -> int:
    """Return after how many failures a job pauses; 0 for never, or if its row is damaged."""
    try:
        return read_schedule(schedule).pause_after
    except (ValueError, TypeError, RecursionError):
        return 0


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

    @property
    def pauses(self) -> bool:
        """Return whether the job, which was running, is paused."""
        return self.changed is not None


def next_plan(run: FinishedRun, *, state: str, failures: int, schedule: str) -> Plan:
    """Return what *run* changes in a job, which had this *state* and so many *failures* in a row."""
    reason = clean(run.failure) if run.ran else None
    if run.ran:
        failures = failures + 1 if run.failure else 0
    if state != JobState.RUNNING:
        return Plan(state=state, due=None, planned=None, failures=failures, reason=reason)
    if run.due is None or 0 < _pause_after(schedule) <= failures:
        reason = clean(run.failure) or "its schedule has no further time"
        paused = str(JobState.PAUSED)
        return Plan(
            state=paused, due=None, planned=None, failures=failures, changed=run.finished, reason=reason
        )
    return Plan(state=state, due=run.due, planned=run.next_planned, failures=failures, reason=reason)
