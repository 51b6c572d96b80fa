"""Where scenarios are kept.  To add a store, write a module and add a branch to `open_store`.

Nothing here assumes that all processes run on one machine.  What any store must hold beyond its methods:

- Time.  Leases run by the store's own clock, and it alone judges what is due; callers give durations.  A store documents what a
  reboot or a clock that is set does to them.
- Cursors.  `seq` of log lines and drafts and `id` of events grow in the order in which rows become visible: once a
  reader has seen a number, no smaller one appears any more.  A store whose writers commit side by side has to give the
  numbers out under a lock that is held until the commit.
- Text.  It has no NUL characters and no lone surrogates.  Text of a request is refused for them, with the field's
  name; in what a run leaves behind each is replaced by `?`, since a run must not be lost.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Protocol

from scenarioctl.config import is_server
from scenarioctl.errors import InvalidRequest, ScenarioctlError, shorten
from scenarioctl.model.jobs import (
    FinishedRun,
    Job,
    JobChange,
    JobState,
    KeptRun,
    Leg,
    LogLine,
    MempoolEntry,
    Retention,
    WebhookEvent,
)
from scenarioctl.model.notifications import NewNotification
from scenarioctl.stores.figures import Statistics, Usage
from scenarioctl.stores.outbox import Outbox
from scenarioctl.stores.sent import SentTransactions
from scenarioctl.stores.waiting_drafts import WaitingDrafts


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
    #: Words that its author sorts it by; read back sorted, each once.
    tags: tuple[str, ...] = ()
    #: Hash of the diagram, the same for the same diagram; empty where nobody looks for it.  Not read back.
    digest: bytes = field(default=b"", compare=False)

    @property
    def revision(self) -> str:
        """What distinguishes the versions of a scenario: of the same blob, the same."""
        return sha256(self.blob).hexdigest()[:16]


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
    tags: tuple[str, ...] = ()


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
class Inspection:
    """What `store check` says of a store."""

    #: Its name and version, like `PostgreSQL 15.14`.
    engine: str
    #: The version of its tables, and the newest that this program knows.
    version: int
    newest: int
    #: Those of the server that are used.
    extensions: tuple[str, ...] = ()
    #: Seconds by which the server's clock is ahead of this machine's; None if there is no server.
    clock_skew: float | None = None
    #: Rows that were changed or deleted, and whose room can't be used yet.
    dead_rows: int = 0
    #: Runs whose worker has gone and that no other has taken over yet.
    stalled_runs: int = 0
    #: What is wrong, and what to do about it, in a sentence each.
    findings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Migrated:
    """What became of the tables of a store."""

    #: Their version now, and the newest that this program knows.
    version: int
    newest: int
    #: Migrations that were applied.
    applied: tuple[str, ...]
    #: Those that wait until no older daemon runs any more.
    waiting: tuple[str, ...] = ()
    #: Whether this program can use the tables as they are.
    is_usable: bool = True


DEFAULT_RETENTION = Retention()


class Store(Protocol):
    """What every store does; `tests/test_stores.py` and `tests/test_store_jobs.py` show it by example."""

    async def put_scenario(self, scenario: StoredScenario, *, replace: bool = False) -> None:
        """Store *scenario*; a crash after this returns does not lose it.

        Conflict if the id is taken, unless *replace*, which keeps `created` of the scenario that it replaces.
        """

    async def put_scenarios(self, scenarios: Iterable[StoredScenario], *, replace: bool = False) -> int:
        """Store all of *scenarios* or, if one is refused, none of them; return their number."""

    async def keep_scenario(self, scenario: StoredScenario) -> str:
        """Store *scenario* as `put_scenario` does, unless one with its digest is stored; return the id of that one.

        Of several callers at once with the same digest, one stores its scenario.  Conflict if another has the id.
        """

    async def get_scenario(self, id: str) -> StoredScenario:
        """Return the scenario, or raise NotFound."""

    async def find_scenarios(self, ids: Sequence[str]) -> dict[str, StoredScenario]:
        """Return those of the scenarios that are stored, and not damaged."""

    async def change_scenario(
        self,
        scenario: StoredScenario,
        *,
        revision: str,
        change: Callable[[Job], JobChange | None] | None = None,
    ) -> None:
        """Replace the scenario that has this id and *revision*; `created` stays, and so do its job, log and drafts.

        Conflict if it has another revision by now, NotFound if it is gone.  *change* says what becomes
        of its job in the same transaction, as in `change_job`.
        """

    async def delete_scenario(self, id: str) -> None:
        """Delete the scenario with its job, log, drafts and runs, or raise NotFound; Conflict while its job is running.

        If a run of the stopped job is still in progress, the store does not keep it.
        """

    async def list_scenarios(
        self,
        *,
        limit: int = 50,
        after: str = "",
        chain: str = "",
        tag: str = "",
        search: str = "",
        sort: str = "created",
        descending: bool = False,
    ) -> ScenarioPage:
        """Return up to *limit* scenarios that follow the cursor *after*.

        *chain* selects the scenarios that use it, *tag* those that have it.  *search* selects those with this text in their id, summary or name;
        ASCII letters match in either case.  A damaged scenario is named in the page, and hides no other.  Scenarios that
        are stored or deleted between two pages make the second page neither repeat nor skip any other.
        """

    async def count_scenarios(self, chain: str = "") -> int:
        """Return how many scenarios use *chain*; without one, how many there are.  Reads one row."""

    async def now(self) -> int:
        """Return the store's clock, by which jobs are due: nanoseconds since 1970."""

    async def start_job(self, job: Job) -> bool:
        """Start *job* with its schedule, due, planned and changed; False, and nothing changes, if it is running.

        The epoch grows and the counts restart at zero.  A run of an earlier start that is still in progress is not kept.
        NotFound if there is no such scenario.
        """

    async def change_job(self, id: str, change: Callable[[Job], JobChange | None]) -> Job | None:
        """Change a job as *change* says, in one transaction, and return it as it is then; None if it was never started.

        *change* may be called more than once.  Nothing changes if it returns None or raises.  Unless the change ends it, a run
        in progress goes on, and its end plans the next run by the schedule that the job has then.  NotFound if there is no such
        scenario.
        """

    async def get_job(self, id: str) -> Job | None:
        """Return the job; None if the scenario was never started, NotFound if there is none.

        A job whose row is damaged reads as paused, with that as its reason, here and in lists.
        """

    async def list_jobs(
        self, *, limit: int = 50, after: str = "", state: JobState | None = None, failing: bool = False
    ) -> JobPage:
        """Return up to *limit* jobs that follow the cursor *after*, those first that changed their state last.

        *failing* selects the running jobs whose last run failed; they have no other state.
        """

    async def count_drafts(self, ids: Sequence[str], *, now: int) -> dict[str, int]:
        """Return how many drafts each of these jobs has that could be signed *now*: not flagged, and not expired.

        Jobs without any are left out.
        """

    async def waiting_drafts(self, *, now: int, soon: int, limit: int) -> WaitingDrafts:
        """Return the newest draft of each job that waits for a signature *now*, up to *limit*: those first that expire first.

        A job counts as `expiring` if it will have none any more at *soon*.  Reads as many rows as there are jobs, however
        many drafts they have.
        """

    async def has_worker(self) -> bool:
        """Return whether any worker is running."""

    def announce(self, owner: str) -> None:
        """Let `has_worker` find the worker *owner*, until it frees its legs or ends."""

    def engine_address(self) -> str:
        """Return how libpq connects to the dispatch engine of the store; it may hold a password.  Empty if there is none."""

    def explain(self, error: Exception) -> ScenarioctlError:
        """Return what an error of a connection to it means to a user; raise *error* if it is a bug."""

    async def find_due(self, limit: int) -> list[tuple[str, int]]:
        """Return up to *limit* legs that are due and that nobody has begun: job and number, in the order in which they are due."""

    async def until_due(self) -> int | None:
        """Return in how many nanoseconds the next leg is due that nobody has begun; None if none is.  Reads one row."""

    async def begin_leg(self, id: str, *, leg: int, owner: str) -> Leg | None:
        """Give the leg with this number to *owner*, with a new epoch.

        None, and nothing changes, unless it is due, nobody has begun it, and no other leg was planned in its place.  Of several
        callers, one gets it.  The owner must have a lease.
        """

    async def renew_lease(self, owner: str, *, lease: int) -> set[str]:
        """Let the owner's legs be its own for *lease* nanoseconds from now; return the ids of the jobs that they are of."""

    async def leg_owners(self) -> set[str]:
        """Return the owners of all legs in progress."""

    async def lapsed_owners(self) -> set[str]:
        """Return those of them whose lease has run out, or that have none."""

    async def free_legs(self, owners: Collection[str], *, jobs: Collection[str] | None = None) -> int:
        """Let others begin the legs in progress of *owners* again, or of those only of *jobs*; return how many.

        The store keeps nothing more of them.
        """

    async def ring_due(self) -> int:
        """Ring for some legs that are due soon, and again for some that nobody begins; return how many, 0 at the end."""

    async def replan(self) -> int:
        """Plan jobs that are due later than their schedule ever plans, since the store's clock was set back; return how many."""

    async def add_lines(
        self, id: str, *, epoch: int, lines: Sequence[str], now: int, planned: int | None = None
    ) -> bool:
        """Store *lines* of a leg in progress; False, and nothing changes, if the epoch has moved on.

        They stay whatever becomes of the leg.  `finish_run` gets only the lines that follow.  *planned* is the time that the run
        is for, if its lines say that others were missed: should it be interrupted, the next attempt is for that.
        """

    async def finish_run(self, run: FinishedRun, *, retention: Retention) -> bool:
        """Store what *run*, or a leg of it, leaves behind, and plan the next leg, in one transaction; remove what exceeds *retention*.

        False, and nothing is stored, if the job's epoch has moved on: the job was stopped, paused or started again, another
        worker has the leg, or its end is stored already.  A failure is counted, and pauses the job at its `pause_after`.
        """

    async def read_log(self, id: str | None, *, after: int = 0, limit: int = 0) -> list[LogLine]:
        """Return the job's lines with a seq above *after*, oldest first; *limit* 0 means all.

        None means every job.  NotFound if there is no such scenario.
        """

    async def read_mempool(self, id: str | None, *, after: int = 0, limit: int = 0) -> list[MempoolEntry]:
        """Return the job's drafts with a seq above *after*, in the order drafted; as `read_log`.

        With a *limit* there may be fewer if they are long, but at least one if there is one.
        """

    async def find_tail(self, id: str | None, *, lines: int, entries: int) -> tuple[int, int]:
        """Return the cursors behind which the job's newest *lines* log lines and *entries* drafts follow.

        0 if there are no older ones.  None means every job.  NotFound if there is no such scenario.
        """

    async def find_end(self) -> tuple[int, int]:
        """Return the highest seq that any log line and any draft has been given, deleted ones included.

        A higher cursor comes from a store that was restored to an earlier time since.
        """

    async def last_runs(self, id: str, *, limit: int, before: int = 0) -> list[KeptRun]:
        """Return the newest runs of the job, `job run` included, newest first; only those with a number below *before*.

        *before* 0 means all.
        """

    async def runs_of_each(self, ids: Sequence[str], *, limit: int) -> dict[str, list[KeptRun]]:
        """Return the newest runs of each of these jobs, newest first.  Jobs without any are left out."""

    async def drafted_for(self) -> list[tuple[str, int]]:
        """Return each chain and spec version that a draft without a flag was made for, once."""

    async def read_drafts(
        self, chain: str, spec_version: int, *, after: int = 0, limit: int = 500
    ) -> list[MempoolEntry]:
        """Return drafts for that runtime without a flag and with a seq above *after*."""

    async def flag_drafts(
        self,
        flags: "dict[int, str]",
        *,
        now: int,
        lines: "dict[str, list[str]]",
        notifications: Sequence[NewNotification] = (),
    ) -> None:
        """Flag drafts (seq -> reason), add *lines* (job -> texts) to the logs, and store notifications, in one transaction.

        A draft keeps the flag that it has.  A job gets its lines only if one of its drafts is flagged now (or if there are no
        *flags*), and a notification tells only of drafts that are.
        """

    def outbox(self) -> Outbox:
        """Return the notifications that are not delivered yet."""

    def sent(self) -> SentTransactions:
        """Return the transactions that were sent."""

    async def put_event(self, uuid: str, content: Any, *, now: int, retention: Retention) -> WebhookEvent:
        """Store an event, and remove the webhook's oldest; NotFound if no stored scenario names the webhook."""

    async def newest_event(self, uuid: str, *, job: str, after: int | None = None) -> WebhookEvent | None:
        """Return the newest event that *job* has not used, with an id above *after*; None if there is none."""

    async def check_webhook(self, uuid: str) -> None:
        """Raise NotFound if no stored scenario names the webhook."""

    async def list_events(self, uuid: str, *, after: int = 0, limit: int = 0) -> list[WebhookEvent]:
        """Return the events of the webhook with an id above *after*, oldest first; *limit* 0 means all.

        With a *limit* there may be fewer if they are long, but at least one if there is one.  NotFound if no stored scenario
        names it.
        """

    async def get_event(self, id: int) -> WebhookEvent:
        """Return the event, or raise NotFound."""

    async def prune(self, *, now: int, retention: Retention) -> int:
        """Remove what is older, or more, than *retention* allows; return the number of rows."""

    async def statistics(self) -> Statistics:
        """Return what `/metrics` says of the store."""

    def usage(self) -> Usage:
        """Return what `/metrics` says of this process and the store, without asking it."""

    async def inspect(self, clock: Callable[[], int]) -> Inspection:
        """Look for what an operator should know; *clock* is that of this machine, in nanoseconds since 1970."""

    async def health(self) -> str:
        """Return why writes fail; empty if the last write succeeded, or if it failed more than a minute ago."""

    async def change_token(self) -> str:
        """Return a text that changes with every write of any process; cheap, for callers that poll."""

    async def close(self) -> None:
        """Finish the writes that were asked for, and close the store."""


def open_store(
    location: str | PathLike[str],
    *,
    create: bool = True,
    wall: Callable[[], int] = time.time_ns,
    **server: Any,
) -> Store:
    """Open the store at *location*, a path or a URL; without *create* the first write creates a file.

    *wall* is the clock of a file, in nanoseconds since 1970; a server has its own.  *server* are fields of `ServerSettings`, for a URL.  InvalidRequest if the location can't be used, StoreBusy while another
    process locks a file; both name *location*.  A server is asked by the first question.
    """
    text = fspath(location)
    if is_server(text):
        return _open_postgres(text, **server)
    path = file_path(text)
    from scenarioctl.stores.sqlite.store import SqliteStore

    return SqliteStore(path, create=create, wall=wall)


async def create_store(location: str, *, grant: str = "") -> bool:
    """Create the tables of the store at *location*; False if they are there already.

    On a server, the role *grant* may then use them, and create none.
    """
    if is_server(location):
        with needing_libraries():
            from scenarioctl.stores.postgres.administration import initialize
            from scenarioctl.stores.postgres.connections import ServerSettings
        return await initialize(ServerSettings(url=location, role="init"), grant=grant)
    if grant:
        raise InvalidRequest(
            f"grant {shorten(grant)} needs a store on a server, expected a postgresql:// URL"
        )
    is_new = not Path(location).exists()
    await open_store(location).close()
    return is_new


async def migrate_store(location: str, *, contract: bool = False) -> Migrated:
    """Take the tables of the store at *location* to the version of this program, as far as older daemons allow.

    *contract*: no older daemon runs any more.  A file is migrated when it is opened.
    """
    if is_server(location):
        with needing_libraries():
            from scenarioctl.stores.postgres.connections import ServerSettings
            from scenarioctl.stores.postgres.migrating import migrate
        settings = ServerSettings(url=location, role="migrate", statement_seconds=0)
        return await migrate(settings, contract=contract)
    from scenarioctl.stores.sqlite.database_file import DatabaseFile

    return DatabaseFile(file_path(location)).migrate()


def file_path(location: str) -> Path:
    """Return *location* as the path of a file, or raise InvalidRequest."""
    scheme, separator, _ = location.partition("://")
    if separator:
        # The rest of a URL may hold a password.
        raise InvalidRequest(
            f"store {shorten(scheme + '://…')} is a URL of an unsupported kind, expected the path of a file or a"
            " postgresql:// URL"
        )
    if not location or "\0" in location:
        raise InvalidRequest(f"store {shorten(location)} is not a path, expected one like scenarios.db")
    return Path(location)


def _open_postgres(url: str, **server: Any) -> Store:
    with needing_libraries():
        from scenarioctl.stores.postgres.connections import ServerSettings
        from scenarioctl.stores.postgres.store import PostgresStore
    return PostgresStore(ServerSettings(url=url, **server))


@contextmanager
def needing_libraries() -> Iterator[None]:
    """Import modules of the store on a server; InvalidRequest if its libraries are not installed."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").startswith("scenarioctl"):
            raise
        raise InvalidRequest(
            "store postgresql://… needs the PostgreSQL libraries, install them with: pip install 'scenarioctl[postgres]'"
        ) from error
