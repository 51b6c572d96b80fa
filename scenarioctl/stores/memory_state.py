"""What a store in memory holds, and how its rows are read, found and trimmed."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from scenarioctl.model.jobs import Job, JobState, KeptRun, LogLine, MempoolEntry, WebhookEvent
from scenarioctl.model.notifications import QueuedNotification
from scenarioctl.model.sent import SentState, SentTransaction
from scenarioctl.stores import (
    JobPage,
    ListedScenario,
    ScenarioPage,
    StoredScenario,
)
from scenarioctl.stores.cursors import Value, read_cursor, read_job_cursor, write_cursor, write_job_cursor
from scenarioctl.stores.retention import room
from scenarioctl.stores.waiting_drafts import WaitingDraft, WaitingDrafts

Row = TypeVar("Row")


@dataclass
class QueuedInMemory:
    """A notification, and why the last attempt to deliver it failed."""

    notification: QueuedNotification
    error: str = ""


@dataclass(kw_only=True)
class MemoryState:
    """What the stores of one test hold in common, as processes share a file."""

    scenarios: dict[str, StoredScenario] = field(default_factory=dict)
    #: Scenario -> its number, in the order of creation.
    numbers: dict[str, int] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    #: Jobs that were claimed for their due time, and whether such a run has lines in the log.
    begun: dict[str, bool] = field(default_factory=dict)
    #: Owner -> when its lease runs out.
    leases: dict[str, int] = field(default_factory=dict)
    lines: list[LogLine] = field(default_factory=list)
    drafts: list[MempoolEntry] = field(default_factory=list)
    runs: list[tuple[str, KeptRun]] = field(default_factory=list)
    events: list[WebhookEvent] = field(default_factory=list)
    #: Job, webhook -> the newest event that the job has used.
    used: dict[tuple[str, str], int] = field(default_factory=dict)
    #: Number -> notification that is not delivered yet.
    notifications: dict[int, QueuedInMemory] = field(default_factory=dict)
    #: Chain and hash -> transaction that was sent.
    sent: dict[tuple[str, str], SentTransaction] = field(default_factory=dict)
    #: The last number that was given out.
    last_number: int = 0
    last_line: int = 0
    last_draft: int = 0
    last_run: int = 0
    last_event: int = 0
    last_notification: int = 0
    changes: int = 0


def normal(scenario: StoredScenario, before: StoredScenario | None) -> StoredScenario:
    """Return *scenario* as it is read back; *before* is the one that it replaces."""
    return replace(
        scenario,
        chains=tuple(sorted(set(scenario.chains))),
        webhooks=tuple(sorted(set(scenario.webhooks))),
        tags=tuple(sorted(set(scenario.tags))),
        created=before.created if before else scenario.created,
    )


def list_job_page(
    state: MemoryState, *, limit: int, after: str, wanted: JobState | None, failing: bool
) -> JobPage:
    """Return the page that `Store.list_jobs` describes."""
    found = [job for job in state.jobs.values() if wanted in (None, job.state)]
    if failing:
        found = [job for job in state.jobs.values() if job.state is JobState.RUNNING and job.failures]
    found.sort(key=lambda job: (job.changed, job.id), reverse=True)
    rest = found
    if after:
        changed, id = read_job_cursor(after)
        rest = [job for job in found if (job.changed, job.id) < (changed, id)]
    items = tuple(rest[:limit])
    following = write_job_cursor(id=items[-1].id, changed=items[-1].changed) if len(rest) > limit else ""
    return JobPage(items=items, total=len(found), next=following)


def waiting_drafts(state: MemoryState, *, now: int, soon: int, limit: int) -> WaitingDrafts:
    """Return what `Store.waiting_drafts` describes."""
    nodes = {entry.seq: (entry.job, entry.draft.node) for entry in state.drafts}
    done: dict[tuple[str, str], int] = {}
    for sent in state.sent.values():
        place = nodes.get(sent.draft or 0)
        if place is not None and place[0] == sent.job and sent.state is not SentState.EXPIRED:
            done[place] = max(done.get(place, 0), sent.draft or 0)
    newest: dict[str, WaitingDraft] = {}
    for entry in state.drafts:
        expires = entry.draft.expires
        if entry.flag or expires is None or expires <= now or entry.seq <= done.get(nodes[entry.seq], 0):
            continue
        former = newest.get(entry.job)
        found = WaitingDraft(job=entry.job, seq=entry.seq, expires=expires, count=1)
        if former is not None:
            found = replace(found if expires >= former.expires else former, count=former.count + 1)
        newest[entry.job] = found
    waiting = sorted(newest.values(), key=lambda draft: (draft.expires, draft.seq))
    expiring = sum(draft.expires <= soon for draft in waiting)
    return WaitingDrafts(items=tuple(waiting[:limit]), total=len(waiting), expiring=expiring)


def list_page(
    state: MemoryState,
    *,
    limit: int,
    after: str,
    chain: str,
    tag: str,
    search: str,
    sort: str,
    descending: bool,
) -> ScenarioPage:
    """Return the page that `Store.list_scenarios` describes."""

    def key(scenario: StoredScenario) -> list[Value]:
        number = state.numbers[scenario.id]
        return {
            "created": [scenario.created, number],
            "id": [scenario.id],
            "summary": [scenario.summary, number],
        }[sort]  # type: ignore[return-value]

    found = [
        one
        for one in state.scenarios.values()
        if (not chain or chain in one.chains) and (not tag or tag in one.tags) and _matches(one, search)
    ]
    found.sort(key=key, reverse=descending)
    rest = found
    if after:
        last = read_cursor(after, sort=sort, descending=descending)
        rest = [one for one in found if (key(one) < last if descending else key(one) > last)]
    page, following = rest[:limit], ""
    if len(rest) > limit:
        end = page[-1]
        following = write_cursor(
            id=end.id,
            summary=end.summary,
            created=end.created,
            seq=state.numbers[end.id],
            sort=sort,
            descending=descending,
        )
    return ScenarioPage(items=tuple(map(_listed, page)), total=len(found), next=following)


def _matches(scenario: StoredScenario, search: str) -> bool:
    """Return whether *search* is in the id, summary or name."""
    # Lower case of bytes: ASCII letters alone are alike in both cases.
    text = search.encode().lower()
    return any(text in each.encode().lower() for each in (scenario.id, scenario.summary, scenario.name))


def _listed(scenario: StoredScenario) -> ListedScenario:
    """Return what a list shows of *scenario*."""
    return ListedScenario(
        id=scenario.id,
        summary=scenario.summary,
        chains=scenario.chains,
        created=scenario.created,
        updated=scenario.updated,
        size=len(scenario.blob),
        name=scenario.name,
        tags=scenario.tags,
    )


def trim(
    rows: list[Row],
    belongs: Callable[[Row], bool],
    *,
    limit: int = 0,
    size: int = 0,
    text: Callable[[Row], str] = lambda _: "",
) -> list[Row]:
    """Return *rows* without the oldest of those that belong together, beyond *limit* rows or *size* bytes; 0 is no bound."""
    kept: list[Row] = []
    count, left = 0, room(size)
    for row in reversed(rows):
        if belongs(row):
            count += 1
            left -= len(text(row).encode())
            # The newest stays however long.
            if (limit and count > limit) or (size and left < 0 and count > 1):
                continue
        kept.append(row)
    return kept[::-1]
