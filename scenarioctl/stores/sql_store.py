"""A store over a database that operations ask: what every such store does, once.

The operations of each noun are in the module of its name, and their statements in `statements.py`.
"""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

from scenarioctl.errors import ScenarioctlError
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
from scenarioctl.stores import JobPage, ScenarioPage, Store, StoredScenario, events, history, runs, scenarios
from scenarioctl.stores import jobs as job_operations
from scenarioctl.stores.cursors import read_cursor
from scenarioctl.stores.operations import Operation, Row, T
from scenarioctl.stores.outbox import Outbox
from scenarioctl.stores.retention import DRAFTS, EVENTS, LINES, prune
from scenarioctl.stores.sent import SentTransactions
from scenarioctl.stores.validation import (
    check_id,
    check_limit,
    check_listing,
    check_scenario,
    check_text,
    taken,
)
from scenarioctl.stores.waiting_drafts import WaitingDrafts

#: A read of more rows than this is a long one.
_SHORT = 200


class SqlStore(Store):
    """What is above the driver of a database."""

    #: Whether a column may hold a value of another type, if somebody has changed it by hand.
    has_damaged_columns = False
    #: What `write` raises if a row may not be stored.
    integrity_error: type[Exception]

    @abstractmethod
    async def read(self, operation: Callable[[], Operation[T]], *, long: bool = False) -> T:
        """Do as `operations.Asking` says."""

    @abstractmethod
    async def write(
        self, operation: Callable[[], Operation[T]], *, alone: bool = False, tell: bool = False
    ) -> T:
        """Do as `operations.Asking` says."""

    # -- scenarios

    async def put_scenario(self, scenario: StoredScenario, *, replace: bool = False) -> None:
        if replace:
            await self.put_scenarios([scenario], replace=True)
            return
        check_scenario(scenario)
        if not await self.add_scenario(scenario):
            raise taken(scenario.id)

    async def add_scenario(self, scenario: StoredScenario) -> bool:
        """Store a new scenario; False if its id is taken."""
        return (await self.write(partial(scenarios.add, [scenario]), alone=True))[0]

    async def put_scenarios(self, all: Iterable[StoredScenario], *, replace: bool = False) -> int:
        # Reading them may fail.
        given = tuple(all)
        for scenario in given:
            check_scenario(scenario)
        return await self.write(partial(scenarios.put_all if replace else scenarios.add_all, given))

    async def keep_scenario(self, scenario: StoredScenario) -> str:
        check_scenario(scenario)
        return await self.write(partial(scenarios.keep, scenario))

    async def get_scenario(self, id: str) -> StoredScenario:
        return await self.read(partial(scenarios.get, check_id(id)))

    async def find_scenarios(self, ids: Sequence[str]) -> dict[str, StoredScenario]:
        return await self.read(partial(scenarios.find_some, ids), long=True)

    async def delete_scenario(self, id: str) -> None:
        await self.write(partial(scenarios.delete, check_id(id)), tell=True)

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
        check_listing(limit=limit, after=after, search=search, sort=sort)
        check_text(chain, field="chain")
        check_text(tag, field="tag")
        key = read_cursor(after, sort=sort, descending=descending, damaged=self.has_damaged_columns)
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
        check_scenario(scenario)
        await self.write(partial(scenarios.change, scenario, revision=revision, job=change), tell=True)

    # -- jobs

    async def now(self) -> int:
        return await self.read(job_operations.now)

    async def start_job(self, job: Job) -> bool:
        return await self.write(partial(job_operations.start, job), tell=True)

    async def change_job(self, id: str, change: Callable[[Job], JobChange | None]) -> Job | None:
        return await self.write(partial(job_operations.change, check_id(id), change), tell=True)

    async def get_job(self, id: str) -> Job | None:
        return await self.read(partial(job_operations.get, check_id(id)))

    async def list_jobs(
        self, *, limit: int = 50, after: str = "", state: JobState | None = None, failing: bool = False
    ) -> JobPage:
        check_limit(limit)
        page = partial(job_operations.list_page, limit=limit, after=after, state=state, failing=failing)
        return await self.read(page, long=limit > _SHORT)

    async def count_drafts(self, ids: Sequence[str], *, now: int) -> dict[str, int]:
        return await self.read(partial(job_operations.count_drafts, ids, now=now), long=len(ids) > 1)

    async def waiting_drafts(self, *, now: int, soon: int, limit: int) -> WaitingDrafts:
        return await self.read(
            partial(job_operations.waiting_drafts, now=now, soon=soon, limit=limit), long=True
        )

    # -- who runs the legs of jobs

    def announce(self, owner: str) -> None:
        pass

    def engine_address(self) -> str:
        return ""

    def explain(self, error: Exception) -> ScenarioctlError:
        raise error

    async def find_due(self, limit: int) -> list[tuple[str, int]]:
        return await self.read(partial(job_operations.find_due, limit))

    async def until_due(self) -> int | None:
        return await self.read(job_operations.until_due)

    async def begin_leg(self, id: str, *, leg: int, owner: str) -> Leg | None:
        return await self.write(partial(job_operations.begin, check_id(id), leg=leg, owner=owner), alone=True)

    async def renew_lease(self, owner: str, *, lease: int) -> set[str]:
        return await self.write(partial(job_operations.renew, owner, lease=lease))

    async def leg_owners(self) -> set[str]:
        return await self.read(job_operations.owners)

    async def lapsed_owners(self) -> set[str]:
        return await self.read(job_operations.lapsed_owners)

    async def free_legs(self, owners: Collection[str], *, jobs: Collection[str] | None = None) -> int:
        return await self.write(partial(job_operations.free, owners, jobs=jobs), tell=True)

    async def ring_due(self) -> int:
        return await self.write(job_operations.ring_due)

    async def replan(self) -> int:
        moved, last = 0, ""
        while some := await self.write(partial(job_operations.replan, after=last)):
            moved += sum(changed for _, changed in some)
            last = some[-1][0]
        return moved

    # -- what runs leave behind

    async def add_lines(
        self, id: str, *, epoch: int, lines: Sequence[str], now: int, planned: int | None = None
    ) -> bool:
        written = runs.Lines(job=id, texts=lines, written=now)
        return await self._store_mark(runs.Mark(epoch=epoch, lines=written, planned=planned))

    async def _store_mark(self, mark: runs.Mark) -> bool:
        return (await self._mark_lines([mark]))[0]

    async def _mark_lines(self, marks: Sequence[runs.Mark]) -> list[bool]:
        return await self.write(partial(runs.mark_lines, marks), tell=True)

    async def finish_run(self, run: FinishedRun, *, retention: Retention) -> bool:
        return (await self._finish_runs([(run, retention)]))[0]

    async def _finish_runs(self, some: Sequence[tuple[FinishedRun, Retention]]) -> list[bool]:
        return await self.write(partial(runs.finish, some), tell=True)

    async def read_log(self, id: str | None, *, after: int = 0, limit: int = 0) -> list[LogLine]:
        read = partial(history.read_log, _check_job(id), after=after, limit=limit)
        return await self.read(read, long=not 0 < limit <= _SHORT)

    async def read_mempool(self, id: str | None, *, after: int = 0, limit: int = 0) -> list[MempoolEntry]:
        read = partial(history.read_mempool, _check_job(id), after=after, limit=limit)
        return await self.read(read, long=not 0 < limit <= _SHORT)

    async def find_tail(self, id: str | None, *, lines: int, entries: int) -> tuple[int, int]:
        return await self.read(partial(history.find_tail, _check_job(id), lines=lines, entries=entries))

    async def find_end(self) -> tuple[int, int]:
        return await self.read(history.find_end)

    async def last_runs(self, id: str, *, limit: int, before: int = 0) -> list[KeptRun]:
        read = partial(history.last_runs, check_id(id), limit=limit, before=before)
        return await self.read(read, long=limit > _SHORT)

    async def runs_of_each(self, ids: Sequence[str], *, limit: int) -> dict[str, list[KeptRun]]:
        return await self.read(partial(history.runs_of_each, ids, limit=limit), long=True)

    async def drafted_for(self) -> list[tuple[str, int]]:
        return await self.read(history.drafted_for, long=True)

    async def read_drafts(
        self, chain: str, spec_version: int, *, after: int = 0, limit: int = 500
    ) -> list[MempoolEntry]:
        return await self.read(
            partial(history.read_drafts, chain, spec_version, after=after, limit=limit), long=True
        )

    async def flag_drafts(
        self,
        flags: dict[int, str],
        *,
        now: int,
        lines: dict[str, list[str]],
        notifications: Sequence[NewNotification] = (),
    ) -> None:
        flag = partial(runs.flag_drafts, flags, now=now, lines=lines, notifications=notifications)
        await self.write(flag, tell=True)

    def outbox(self) -> Outbox:
        return Outbox(self)

    @abstractmethod
    async def place(self) -> Row:
        """Return what only this store answers, however its location is spelled; StoreFailed if its tables are too new."""

    @abstractmethod
    def frozen(self, tables: Iterable[str]) -> AbstractAsyncContextManager[None]:
        """Let nobody else write to *tables* meanwhile; StoreBusy if somebody does for long."""

    def sent(self) -> SentTransactions:
        return SentTransactions(self)

    # -- webhooks

    async def put_event(self, uuid: str, content: Any, *, now: int, retention: Retention) -> WebhookEvent:
        # Refused before it waits for its turn to write: anybody may post to any name.
        await self.check_webhook(uuid)
        put = partial(events.put, uuid, content, now=now, retention=retention)
        ((id,),) = await self.write(put, tell=True)
        return WebhookEvent(id=id, uuid=uuid, received=now, content=content)

    async def newest_event(self, uuid: str, *, job: str, after: int | None = None) -> WebhookEvent | None:
        if "\0" in check_text(uuid, field="webhook"):
            # No text of the store has it.
            return None
        return await self.read(partial(events.newest, uuid, job=job, after=after or 0))

    async def check_webhook(self, uuid: str) -> None:
        check_text(uuid, field="webhook")
        await self.read(partial(events.check_named, uuid))

    async def list_events(self, uuid: str, *, after: int = 0, limit: int = 0) -> list[WebhookEvent]:
        check_text(uuid, field="webhook")
        return await self.read(partial(events.read_some, uuid, after=after, limit=limit), long=True)

    async def get_event(self, id: int) -> WebhookEvent:
        return await self.read(partial(events.get, id))

    # -- the store itself

    async def prune(self, *, now: int, retention: Retention) -> int:
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


def _check_job(id: str | None) -> str | None:
    return None if id is None else check_id(id)
