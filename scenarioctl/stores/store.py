"""A store over a database that operations ask: what every such store does, once.

The operations of each noun are in the module of its name, and their statements in `queries.sql`.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from scenarioctl.errors import (
    InvalidRequest,
    ScenarioctlError,
    StoreBusy,
    StoreFailed,
    StoreUnavailable,
)
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
    is_gone,
    stopping,
)
from scenarioctl.stores import (
    Inspection,
    JobPage,
    ScenarioPage,
    Statistics,
    StoredScenario,
    events,
    runs,
    scenarios,
)
from scenarioctl.stores import jobs as job_operations
from scenarioctl.stores.addresses import AddressBook
from scenarioctl.stores.asking import Operation, Ring, T, reads, writes
from scenarioctl.stores.events import Outbox
from scenarioctl.stores.retention import DRAFTS, EVENTS, LINES, prune
from scenarioctl.stores.rows import read_cursor
from scenarioctl.stores.sent import SentTransactions
from scenarioctl.stores.validation import (
    check_id,
    check_limit,
    check_listing,
    check_scenario,
    check_storable,
    check_text,
    taken,
)

#: A read of more rows than this is a long one.
_SHORT = 200
#: Seconds for which `health` reports a failed write, unless a later one succeeds.
_TROUBLE_SECONDS = 60.0


class Store(ABC):
    """What every store does, above the driver of its database; `tests/test_stores.py` and
    `tests/test_store_jobs.py` show it by example."""

    def __init__(self, name: str) -> None:
        """*name* is what sentences call the store: its address, without a password."""
        self._named = f"store {name}"
        #: Reads and writes of this process that failed because of the store: it was away, busy,
        #: full, or damaged.
        self.errors = 0
        #: When and why the last write failed; None if it succeeded.
        self._failed: tuple[float, str] | None = None

    async def read(self, operation: Callable[[], Operation[T]], *, long: bool = False) -> T:
        """Do as `operations.Asking` says."""
        with self._watched():
            return await self._ask(operation, long=long)

    async def write(self, operation: Callable[[], Operation[T]], *, alone: bool = False) -> T:
        """Do as `operations.Asking` says."""
        rings: list[Ring] = []
        with self._watched(writes=True):
            answer = await self._commit(operation, rings, alone=alone)
        for ring in rings:
            self.ring(ring)
        return answer

    @contextmanager
    def _watched(self, *, writes: bool = False) -> Iterator[None]:
        try:
            yield
        except (StoreBusy, StoreFailed, StoreUnavailable) as error:
            self.errors += 1
            # Logs of jobs, which quote it, don't tell the address.
            error.statement = str(error).replace(self._named, "the store")
            if writes and not isinstance(error, StoreBusy):
                self._failed = (time.monotonic(), str(error))
            raise
        if writes:
            self._failed = None

    @abstractmethod
    async def _ask(self, operation: Callable[[], Operation[T]], *, long: bool) -> T:
        """Read as *operation* says."""

    @abstractmethod
    async def _commit(
        self, operation: Callable[[], Operation[T]], rings: list[Ring], *, alone: bool
    ) -> T:
        """Write as *operation* says, and put its bells into *rings*."""

    # -- scenarios

    async def put_scenario(self, scenario: StoredScenario, *, replace: bool = False) -> None:
        """Store *scenario*; a crash after this returns does not lose it.

        Conflict if the id is taken, unless *replace*, which keeps `created` of the scenario that it
        replaces.
        """
        if replace:
            await self.put_scenarios([scenario], replace=True)
            return
        check_scenario(scenario)
        if not await self.add_scenario(scenario):
            raise taken(scenario.id)

    async def add_scenario(self, scenario: StoredScenario) -> bool:
        """Store a new scenario; False if its id is taken."""
        is_alone = not scenario.name
        return (await self.write(partial(scenarios.add, [scenario]), alone=is_alone))[0]

    async def put_scenarios(self, all: Iterable[StoredScenario], *, replace: bool = False) -> int:
        # Reading them may fail.
        """Store all of *scenarios* or, if one is refused, none of them; return their number."""
        given = tuple(all)
        for scenario in given:
            check_scenario(scenario)
        return await self.write(partial(scenarios.put_all if replace else scenarios.add_all, given))

    async def keep_scenario(self, scenario: StoredScenario) -> str:
        """Store *scenario* as `put_scenario` does, unless one with its digest is stored; return the
        id of that one.

        Of several callers at once with the same digest, one stores its scenario.  Conflict if
        another has the id.
        """
        check_scenario(scenario)
        return await self.write(partial(scenarios.keep, scenario))

    async def get_scenario(self, id: str) -> StoredScenario:
        """Return the scenario, or raise NotFound."""
        return await self.read(partial(scenarios.get, check_id(id)))

    find_scenarios = reads(scenarios.find_some, long=True)

    async def find_named(self, text: str, *, limit: int) -> list[tuple[str, str]]:
        """Return id and name of what *text* means, as `scenarios.find_named` says; at most
        *limit*."""
        try:
            check_storable(text, field="id")
        except InvalidRequest:
            return []
        return await self.read(partial(scenarios.find_named, text, limit=limit))

    async def delete_scenario(self, id: str) -> None:
        """Delete the scenario with its job, log, drafts and runs, or raise NotFound; Conflict while
        its job is running.

        If a run of the stopped job is still in progress, the store does not keep it.
        """
        await self.write(partial(scenarios.delete, check_id(id)))

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

        *chain* selects the scenarios that use it, *tag* those that have it.  *search* selects those
        whose name, summary or id has it, in either case.  Scenarios that are stored or deleted
        between two pages make the second page neither repeat nor skip any other.
        """
        check_listing(limit=limit, after=after, search=search, sort=sort)
        check_text(chain, field="chain")
        check_text(tag, field="tag")
        key = read_cursor(after, sort, descending=descending)
        if "\0" in search + chain + tag:
            # No text of the store has it.
            return ScenarioPage(items=(), total=0)
        page = partial(
            scenarios.list_page,
            limit=limit,
            after=key,
            chain=chain,
            tag=tag,
            search=search,
            sort=sort,
            descending=descending,
        )
        # Some lists are sorted, picked or searched row by row.
        row_by_row = bool(search or tag) or (bool(chain) and sort != "created")
        return await self.read(page, long=limit > _SHORT or row_by_row)

    async def count_scenarios(self, chain: str = "") -> int:
        """Return how many scenarios use *chain*; without one, how many there are.  Reads one
        row."""
        if "\0" in check_text(chain, field="chain"):
            return 0
        return await self.read(partial(scenarios.count, chain))

    async def change_scenario(
        self,
        scenario: StoredScenario,
        *,
        revision: str,
        change: Callable[[Job], JobChange | None] | None = None,
    ) -> None:
        """Replace the scenario that has this id and *revision*; `created` stays, and so do its job,
        log and drafts.

        Conflict if it has another revision by now, NotFound if it is gone.  *change* says what
        becomes of its job in the same transaction, as in `change_job`.
        """
        check_scenario(scenario)
        await self.write(partial(scenarios.change, scenario, revision=revision, job=change))

    # -- jobs

    now = reads(job_operations.now)
    start_job = writes(job_operations.start)

    async def change_job(self, id: str, change: Callable[[Job], JobChange | None]) -> Job | None:
        """Change a job as *change* says, in one transaction, and return it as it is then; None if
        it was never started.

        *change* may be called more than once.  Nothing changes if it returns None or raises.
        Unless the change ends it, a run in progress goes on, and its end plans the next run by the
        schedule that the job has then.  NotFound if there is no such scenario.
        """
        return await self.write(partial(job_operations.change, check_id(id), change))

    async def get_job(self, id: str) -> Job | None:
        """Return the job; None if the scenario was never started, NotFound if there is none."""
        return await self.read(partial(job_operations.get, check_id(id)))

    async def list_jobs(
        self,
        *,
        limit: int = 50,
        after: str = "",
        state: JobState | None = None,
        failing: bool = False,
    ) -> JobPage:
        """Return up to *limit* jobs that follow the cursor *after*, those first that changed their
        state last.

        *failing* selects the running jobs whose last run failed; they have no other state.
        """
        check_limit(limit)
        page = partial(
            job_operations.list_page, limit=limit, after=after, state=state, failing=failing
        )
        return await self.read(page, long=limit > _SHORT)

    async def stop_running_jobs(self, *, now: int) -> list[str]:
        """Stop the running jobs and return their ids, sorted."""
        stopped = list[str]()
        while running := (await self.list_jobs(limit=1000, state=JobState.RUNNING)).items:
            for job in running:
                await self.change_job(job.id, partial(stopping, now=now))
                stopped.append(job.id)
        return sorted(stopped)

    async def count_drafts(self, ids: Sequence[str], *, now: int) -> dict[str, int]:
        """Return how many drafts each of these jobs has that could be signed *now*: not flagged,
        and not expired.

        Jobs without any are left out.
        """
        return await self.read(
            partial(job_operations.count_drafts, ids, now=now), long=len(ids) > 1
        )

    waiting_drafts = reads(job_operations.waiting_drafts, long=True)

    # -- who runs the legs of jobs

    def engine_address(self) -> str:
        """Return how libpq connects to the dispatch engine of the store; it may hold a password.
        Empty if there is none."""
        return ""

    def explain(self, error: Exception) -> ScenarioctlError:
        """Return what an error of a connection to it means to a user; raise *error* if it is a
        bug."""
        raise error

    #: The worker of this process hears here of what is planned; False if it doesn't look then.
    on_plan: Callable[[Ring], bool] | None = None

    def ring(self, ring: Ring) -> None:
        """Have a worker look at that time for what is due."""
        if self.on_plan is None or not self.on_plan(ring):
            self.ring_others(ring)

    def ring_others(self, ring: Ring) -> None:  # noqa: B027 - workers look into a file
        """Have any worker look, of this process or another one."""

    next_ring = reads(job_operations.next_ring)

    async def begin_due(self, limit: int, *, owner: str) -> list[Leg]:
        """Begin legs as `jobs.begin_due` says."""
        return await self.write(partial(job_operations.begin_due, limit, owner=owner), alone=True)

    renew_lease = writes(job_operations.renew)
    list_workers = reads(job_operations.list_workers)
    note_served = writes(job_operations.note_served)
    time_away = reads(job_operations.time_away)
    leg_owners = reads(job_operations.owners)
    lapsed_owners = reads(job_operations.lapsed_owners)
    free_legs = writes(job_operations.free)

    async def replan(self) -> int:
        """Plan jobs that are due later than their schedule ever plans, since the store's clock was
        set back; return how many."""
        moved, last = 0, ""
        while some := await self.write(partial(job_operations.replan, after=last)):
            moved += sum(changed for _, changed in some)
            last = some[-1][0]
        return moved

    # -- what runs leave behind

    async def finish_run(self, run: FinishedRun, *, retention: Retention) -> bool:
        """Store what *run*, or a leg of it, leaves behind, and plan the next leg, in one
        transaction; remove what exceeds *retention*.

        False, and nothing is stored, if the job's epoch has moved on: the job was stopped, paused
        or started again, another worker has the leg, or its end is stored already.  A failure is
        counted, and pauses the job at its `pause_after`.
        """
        return (await self._finish_runs([(run, retention)]))[0]

    async def _finish_runs(self, some: Sequence[tuple[FinishedRun, Retention]]) -> list[bool]:
        return await self.write(partial(runs.finish, some))

    async def read_log(self, id: str | None, *, after: int = 0, limit: int = 0) -> list[LogLine]:
        """Return the job's lines with a seq above *after*, oldest first; *limit* 0 means all.

        None means every job.  NotFound if there is no such scenario.
        """
        read = partial(runs.read_log, _check_job(id), after=after, limit=limit)
        return await self.read(read, long=not 0 < limit <= _SHORT)

    async def read_mempool(
        self, id: str | None, *, after: int = 0, limit: int = 0
    ) -> list[MempoolEntry]:
        """Return the job's drafts with a seq above *after*, in the order drafted; as `read_log`.

        With a *limit* there may be fewer if they are long, but at least one if there is one.
        """
        read = partial(runs.read_mempool, _check_job(id), after=after, limit=limit)
        return await self.read(read, long=not 0 < limit <= _SHORT)

    async def uuids_of_drafts(self, seqs: Sequence[int]) -> dict[int, str]:
        """Return the UUIDs of the drafts with these numbers that are kept still."""
        return await self.read(partial(runs.uuids_of_drafts, seqs)) if seqs else {}

    async def find_tail(self, id: str | None, *, lines: int, entries: int) -> tuple[int, int]:
        """Return the cursors behind which the job's newest *lines* log lines and *entries* drafts
        follow.

        0 if there are no older ones.  None means every job.  NotFound if there is no such scenario.
        """
        return await self.read(
            partial(runs.find_tail, _check_job(id), lines=lines, entries=entries)
        )

    find_end = reads(runs.find_end)
    is_lost = reads(runs.is_lost)

    async def last_runs(self, id: str, *, limit: int, before: int = 0) -> list[KeptRun]:
        """Return the newest runs of the job, `job run` included, newest first; only those with a
        number below *before*.

        *before* 0 means all.
        """
        read = partial(runs.last_runs, check_id(id), limit=limit, before=before)
        return await self.read(read, long=limit > _SHORT)

    steps_of_run = reads(runs.steps_of_run)
    runs_of_each = reads(runs.runs_of_each, long=True)

    async def count_runs(self, ids: Sequence[str]) -> dict[str, tuple[int, KeptRun | None]]:
        """Return how many runs each of these jobs has, and the newest; jobs without any are left
        out."""
        return await self.read(partial(runs.count_runs, ids), long=len(ids) > 1)

    drafted_for = reads(runs.drafted_for, long=True)
    read_drafts = reads(runs.read_drafts, long=True)
    flag_drafts = writes(runs.flag_drafts)

    def outbox(self) -> Outbox:
        """Return the notifications that are not delivered yet."""
        return Outbox(self)

    @abstractmethod
    def frozen(self, tables: Iterable[str]) -> AbstractAsyncContextManager[None]:
        """Let nobody else write to *tables* meanwhile; StoreBusy if somebody does for long."""

    def sent(self) -> SentTransactions:
        """Return the transactions that were sent."""
        return SentTransactions(self)

    def addresses(self) -> AddressBook:
        """Return the accounts with names."""
        return AddressBook(self)

    # -- webhooks

    async def put_event(
        self, uuid: str, content: Any, *, now: int, retention: Retention, key: str = ""
    ) -> WebhookEvent:
        # Refused before it waits for its turn to write: anybody may post to any name.
        """Store an event, and remove the webhook's oldest; NotFound if no stored scenario names the
        webhook.

        One with the *key* of a stored event is that event; InvalidRequest if it is another one.
        """
        await self.check_webhook(uuid)
        put = partial(events.put, uuid, content, now=now, retention=retention, key=key)
        # None if another process stores the key at the same time: then it is found.
        while not (stored := await self.write(put)):
            pass
        return WebhookEvent(id=stored[0][0], uuid=uuid, received=now, content=content)

    async def newest_event(
        self, uuid: str, *, job: str, after: int | None = None
    ) -> WebhookEvent | None:
        """Return the newest event that *job* has not used, with an id above *after*; None if there
        is none."""
        if "\0" in check_text(uuid, field="webhook"):
            # No text of the store has it.
            return None
        return await self.read(partial(events.newest, uuid, job=job, after=after or 0))

    async def check_webhook(self, uuid: str) -> None:
        """Raise NotFound if no stored scenario names the webhook."""
        check_text(uuid, field="webhook")
        await self.read(partial(events.check_named, uuid))

    async def list_events(self, uuid: str, *, after: int = 0, limit: int = 0) -> list[WebhookEvent]:
        """Return the events of the webhook with an id above *after*, oldest first; *limit* 0 means
        all.

        With a *limit* there may be fewer if they are long, but at least one if there is one.
        NotFound if no stored scenario names it.
        """
        check_text(uuid, field="webhook")
        return await self.read(partial(events.read_some, uuid, after=after, limit=limit), long=True)

    # -- the store itself

    async def prune(self, *, now: int, retention: Retention) -> int:
        """Remove what is older, or more, than *retention* allows; return the number of rows."""
        removed = 0
        for table, age, limit in (
            (LINES, retention.log_age, retention.log_lines),
            (DRAFTS, retention.mempool_age, retention.mempool_entries),
            (EVENTS, retention.webhook_age, 0),
        ):
            # Little by little, so that others come to write in between.
            while some := await self.write(partial(prune, table, now=now, age=age, limit=limit)):
                removed += some
        return removed

    async def count_workers(self) -> int:
        """Return how many workers are alive."""
        return sum(not is_gone(owner) for owner in await self.read(job_operations.live_owners))

    async def has_worker(self) -> bool:
        """Return whether any worker is running."""
        return await self.count_workers() > 0

    async def statistics(self) -> Statistics:
        """Return what `/metrics` says of the store."""
        return Statistics(
            scenarios=await self.count_scenarios(),
            jobs=await self.read(job_operations.count_by_state),
            next_due=await self.read(job_operations.next_due),
            workers=await self.count_workers(),
        )

    @property
    def waiting(self) -> int | None:
        """Return how many requests and runs of this process wait for a connection; None without a
        pool."""
        return None

    async def inspect(self, clock: Callable[[], int]) -> Inspection:
        """Look for what an operator should know; *clock* is that of this machine, in nanoseconds
        since 1970."""
        found = await self._inspect(clock)
        stalled, late, running = await self.read(job_operations.find_trouble)
        findings = {
            f"{'1 run is' if stalled == 1 else f'{stalled} runs are'} held by workers that have "
            "gone. A worker takes them over: start one with scenarioctl daemon": stalled,
            f"{'1 job is' if late == 1 else f'{late} jobs are'} more than 10 seconds late. Start "
            "another worker with scenarioctl daemon": late,
            "No worker is running. Start one with scenarioctl daemon": running
            and not await self.has_worker(),
        }
        told = tuple(finding for finding, holds in findings.items() if holds)
        return replace(found, stalled_runs=stalled, findings=(*found.findings, *told))

    @abstractmethod
    async def _inspect(self, clock: Callable[[], int]) -> Inspection:
        """Return what concerns the database alone."""

    async def health(self) -> str:
        """Return why writes fail; empty if the last write succeeded, or if it failed more than a
        minute ago."""
        # Raises if nothing can be read either.
        await self.now()
        failed = self._failed
        return failed[1] if failed and time.monotonic() - failed[0] < _TROUBLE_SECONDS else ""

    change_token = reads(job_operations.change_token)

    @abstractmethod
    async def close(self) -> None:
        """Finish the writes that were asked for, and close the store."""


def _check_job(id: str | None) -> str | None:
    return None if id is None else check_id(id)
