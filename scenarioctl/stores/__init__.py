"""Where scenarios are kept.  To add a store, write a module and add a branch to `open_store`.

Nothing here assumes that all processes run on one machine.  What any store must hold beyond its methods:

- Time.  Leases run by the store's own clock; callers give durations.  A store documents what a reboot or a clock that
  is set does to them.  Due times and the times in rows are wall-clock times of the callers.
- Cursors.  `seq` of log lines and drafts and `id` of events grow in the order in which rows become visible: once a
  reader has seen a number, no smaller one appears any more.  A store whose writers commit side by side has to give the
  numbers out under a lock that is held until the commit.
- Text.  It has no NUL characters and no lone surrogates.  Text of a request is refused for them, with the field's
  name; in what a run leaves behind each is replaced by `?`, since a run must not be lost.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Protocol

from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.model.jobs import (
    Claim,
    ClaimedJob,
    FinishedRun,
    Job,
    JobState,
    KeptRun,
    LogLine,
    MempoolEntry,
    Retention,
    WebhookEvent,
)


@dataclass(frozen=True, kw_only=True)
class StoredScenario:
    """A scenario as it lies in the store.  The store never looks into the blob."""

    id: str
    blob: bytes
    summary: str
    #: Each chain that appears in any node, as `template stats` counts it; read back sorted, each once.
    chains: tuple[str, ...]
    #: Nanoseconds since 1970, UTC.
    created: int
    updated: int
    #: UUIDs of the webhooks that its steps wait for.
    webhooks: tuple[str, ...] = ()
    #: What its author calls it; empty where it has no name.
    name: str = ""
    #: Hash of the diagram, the same for the same diagram; empty where nobody looks for it.  Not read back.
    digest: bytes = field(default=b"", compare=False)


@dataclass(frozen=True, kw_only=True)
class ListedScenario:
    """What a list shows of a scenario."""

    id: str
    summary: str
    chains: tuple[str, ...]
    created: int
    updated: int
    #: Bytes of the blob.
    size: int
    #: Empty where it has none.
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class ScenarioPage:
    """A part of a list."""

    items: tuple[ListedScenario, ...]
    #: How many scenarios match, on all pages.
    total: int
    #: Give it as `after` to get what follows; empty on the last page.
    next: str = ""
    #: Ids of scenarios of this page that are damaged in the store, and left out.
    damaged: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class JobPage:
    """A part of the list of jobs."""

    items: tuple[Job, ...]
    #: How many jobs match, on all pages.
    total: int
    #: Give it as `after` to get what follows; empty on the last page.
    next: str = ""


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """Figures of a store."""

    scenarios: int
    #: How many jobs are in each state; 0 where there are none.
    jobs: Mapping[JobState, int]
    #: When the next job that nobody runs is due; None if none is.
    next_due: int | None
    #: Writes that this process asked for since it opened the store.
    writes: int


DEFAULT_RETENTION = Retention()


class Store(Protocol):
    """What every store can do; `tests/test_stores.py` says it in examples."""

    async def put_scenario(self, scenario: StoredScenario, *, replace: bool = False) -> None:
        """Keep *scenario*; once this returns, a crash does not lose it.

        Conflict if the id is taken, unless *replace*, which keeps the time of the first `created`.
        """

    async def put_scenarios(self, scenarios: Iterable[StoredScenario], *, replace: bool = False) -> int:
        """Keep all of *scenarios* or, when one is refused, none of them; return how many."""

    async def keep_scenario(self, scenario: StoredScenario) -> str:
        """Keep *scenario*, as `put_scenario` does, unless one with its digest is kept; return the id of the one that is.

        Of those that come at once with the same digest one is kept.  Conflict if the id is taken by another one.
        """

    async def get_scenario(self, id: str) -> StoredScenario:
        """Return the scenario, or raise NotFound."""

    async def delete_scenario(self, id: str) -> None:
        """Forget the scenario and all that its job left behind, or raise NotFound; Conflict while its job is running.

        A run that still goes on after its job was stopped is not kept then.
        """

    async def list_scenarios(
        self,
        *,
        limit: int = 50,
        after: str = "",
        chain: str = "",
        search: str = "",
        sort: str = "created",
        descending: bool = False,
    ) -> ScenarioPage:
        """Return up to *limit* scenarios that follow the cursor *after*.

        *chain* keeps those it appears in, *search* those with this text in their id, summary or name, ASCII letters
        alike in both cases.  One that is damaged is named beside them, and keeps none of the others from being listed.  What is put meanwhile never makes a later page repeat or leave out what was there.
        """

    async def count_scenarios(self, chain: str = "") -> int:
        """Return in how many scenarios *chain* appears; without one, how many there are.  Reads one row."""

    async def start_job(self, job: Job) -> bool:
        """Keep *job* (state, schedule, due, planned, changed) as running; False where it runs already, and nothing changes.

        The epoch grows, and the counts begin at zero: a run of an earlier start that still goes on is not kept any more.
        NotFound if there is no such scenario.
        """

    async def stop_job(self, id: str, *, now: int) -> bool:
        """Let the job be due no more; False where it was not running.  NotFound if there is no such scenario.

        A run that goes on may still end, and is kept.
        """

    async def get_job(self, id: str) -> Job | None:
        """Return the job; None if the scenario was never started, NotFound if there is none.

        One whose row is damaged reads as paused and says so in its reason, here, in a list, and once it is claimed.
        """

    async def list_jobs(self, *, limit: int = 50, after: str = "", state: JobState | None = None) -> JobPage:
        """Return up to *limit* jobs that follow the cursor *after*, by id."""

    async def next_due(self) -> int | None:
        """Return when the next job that nobody runs is due; None if none is.  Reads one row."""

    async def claim_jobs(self, claim: Claim) -> list[ClaimedJob]:
        """Make the due jobs that nobody runs, or whose lease has run out, the owner's, those due first first.

        What is the owner's already it still runs, however late it renews its own lease.

        A job is claimed once, whatever number of workers ask; each claim has a new epoch.
        """

    async def renew_leases(self, owner: str, *, lease: int) -> set[str]:
        """Let the owner's claims hold for *lease* nanoseconds from now; return the ids of the jobs that are still theirs.

        From then on `has_worker` counts the owner, until it frees its leases or this one runs out.
        """

    async def has_worker(self) -> bool:
        """Return whether a worker is there to run jobs."""

    async def lease_owners(self) -> set[str]:
        """Return everyone who runs a job at this moment, as far as the store knows."""

    async def free_leases(self, owner: str) -> int:
        """Let go of all jobs of *owner*, who is gone or going: they are due as they were.  Returns how many.

        What its runs still bring is not kept.
        """

    async def mark_step(
        self,
        id: str,
        *,
        epoch: int,
        step: str,
        lines: tuple[str, ...] = (),
        now: int = 0,
        retention: Retention = DEFAULT_RETENTION,
    ) -> bool:
        """Say what a run waits for, and keep *lines*, what it has logged so far; False, and nothing, if the epoch has moved on.

        The lines stay whatever becomes of the run: `finish_run` gets those that follow.
        """

    async def finish_run(self, run: FinishedRun, *, retention: Retention) -> bool:
        """Keep what *run* leaves behind and plan the next one, in one transaction; prune what exceeds *retention* counts.

        False, and nothing is kept, where the job's epoch has moved on (another worker has it), where the claim was freed,
        or the run was kept already.  A stopped job keeps the run and stays stopped.  A failure is counted, and pauses the job at its `pause_after`.
        """

    async def replan(self, *, now: int) -> int:
        """Bring jobs with an interval whose due time lies further ahead than it, after the clock was set back, to *now* + interval."""

    async def plan_job(self, id: str, *, epoch: int, due: int, planned: int) -> bool:
        """Say anew when a running job that nobody runs is due; False, and nothing changes, where its epoch has moved on."""

    async def read_log(self, id: str | None, *, after: int = 0, limit: int = 0) -> list[LogLine]:
        """Return the job's lines with a seq above *after*, oldest first; *limit* 0 is all.  NotFound if there is no scenario.

        None means every job; an empty id is an id that names nothing.
        """

    async def read_mempool(self, id: str | None, *, after: int = 0, limit: int = 0) -> list[MempoolEntry]:
        """Return the job's entries with a seq above *after*, in the order drafted; as `read_log`.

        With a *limit* there may be fewer than that, where they are long, but one at least if there is one.
        """

    async def find_tail(self, id: str | None, *, lines: int, entries: int) -> tuple[int, int]:
        """Return the seqs after which the job's newest *lines* log lines and *entries* mempool entries stand.

        0 where there are no more than those.  NotFound if there is no scenario; None means every job.
        """

    async def last_runs(self, id: str, *, limit: int) -> list[KeptRun]:
        """Return the newest runs of the job, those in the foreground among them, newest first."""

    async def drafted_for(self) -> list[tuple[str, int]]:
        """Return chain and spec version of all transactions in mempools that carry no flag, each pair once."""

    async def read_drafts(
        self, chain: str, spec_version: int, *, after: int = 0, limit: int = 500
    ) -> list[MempoolEntry]:
        """Return transactions drafted for that runtime that carry no flag, with a seq above *after*."""

    async def flag_drafts(self, flags: "dict[int, str]", *, now: int, lines: "dict[str, list[str]]") -> None:
        """Flag the entries (seq -> why), and add *lines* (job -> texts) to the logs, in one transaction.

        What carries a flag keeps it; a job gets its lines only where one of its entries is flagged now.
        """

    async def put_event(self, uuid: str, content: Any, *, now: int, retention: Retention) -> WebhookEvent:
        """Keep what was posted; NotFound where no stored scenario names the webhook.  Prunes that webhook's oldest."""

    async def newest_event(self, uuid: str, *, job: str, after: int | None = None) -> WebhookEvent | None:
        """Return the newest event that *job* has not used; None if there is none.  *after*: only with a larger id."""

    async def check_webhook(self, uuid: str) -> None:
        """NotFound where no stored scenario names the webhook."""

    async def list_events(self, uuid: str) -> list[WebhookEvent]:
        """Return the events that are kept, oldest first; NotFound where no stored scenario names the webhook."""

    async def get_event(self, id: int) -> WebhookEvent:
        """Return the event, or raise NotFound."""

    async def prune(self, *, now: int, retention: Retention) -> int:
        """Remove what is older than *retention* allows; return how many rows that were."""

    async def statistics(self) -> Statistics:
        """Return what `/metrics` says of the store."""

    async def health(self) -> str:
        """Return why the store takes no writes; empty while it does, as far as the last minute has shown."""

    async def change_token(self) -> str:
        """Return a text that differs from the one before once anybody has written; cheap, for clients that poll."""

    async def close(self) -> None:
        """Let go of the store; nothing can be asked of it afterwards."""


def open_store(location: str | PathLike[str], *, create: bool = True) -> Store:
    """Open the store at *location*, a path or a URL; without *create* the first write creates it.

    InvalidRequest if it can't be used, StoreBusy while another process locks it; both name *location*.
    """
    text = fspath(location)
    scheme, separator, _ = text.partition("://")
    if separator:
        # The rest of a URL may hold a password.
        raise InvalidRequest(
            f"store {shorten(scheme + '://…')} is a URL of no known kind, expected the path of a file"
        )
    if not text or "\0" in text:
        raise InvalidRequest(f"store {shorten(text)} is not a path, expected one like scenarios.db")
    from scenarioctl.stores.sqlite.store import SqliteStore

    return SqliteStore(Path(text), create=create)
