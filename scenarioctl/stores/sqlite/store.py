"""The embedded store: one SQLite file that many processes may have open.

What it does is in the other modules of this room, as plain functions over a connection: `scenario_rows.py`,
`job_rows.py`, `event_rows.py`.  Here is said who calls them when, and within which transaction.
"""

import sqlite3
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

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
from scenarioctl.stores import (
    JobPage,
    ScenarioPage,
    StoredScenario,
    check_id,
    check_limit,
    check_listing,
    check_text,
)
from scenarioctl.stores.sqlite import event_rows, job_rows, scenario_rows
from scenarioctl.stores.sqlite.database_file import StoreFile, all_or_nothing

T = TypeVar("T")
Action = Callable[[sqlite3.Connection], T]

#: A read of more rows than this is a long one.
_SHORT = 200


class SqliteStore:
    """A Store in one file.  It belongs to the thread that opened it.

    Without *create*, a file that does not exist is read as an empty store, and created by the first write.
    """

    def __init__(self, path: Path, *, create: bool = True) -> None:
        self._file = StoreFile(path.absolute())
        #: Nothing has been written yet, neither here nor by another process.
        self._absent = not create and self._file.is_absent()
        self._database = self._file.open_empty() if self._absent else self._open()
        #: How often this connection has written, which `data_version` does not tell.
        self._writes = 0

    def _open(self) -> sqlite3.Connection:
        return self._file.open()

    async def _read(self, action: Action[T], *, long: bool = False) -> T:  # noqa: ARG002 - what is served heeds it
        """Return what *action* reads; *long* is one that may take more than a millisecond."""
        if self._absent and not self._file.is_absent():
            self._open_file()
        try:
            return action(self._database)
        except sqlite3.Error as error:
            raise self._file.explain(error) from error

    def _open_file(self) -> None:
        """Go on with the file, in place of the empty store that stood for it."""
        database = self._open()
        self._database.close()
        self._database, self._absent = database, False

    async def _write(self, action: Action[T]) -> T:
        """Return what *action* answers, once all that it writes, or nothing of it, is on the disk."""
        if self._absent:
            self._open_file()
        try:
            with all_or_nothing(self._database):
                answer = action(self._database)
        except sqlite3.Error as error:
            raise self._file.explain(error) from error
        self._writes += 1
        return answer

    async def put_scenario(self, scenario: StoredScenario, *, replace: bool = False) -> None:
        await self._write(partial(scenario_rows.put, scenario=scenario, replace=replace))

    async def put_scenarios(self, all: Iterable[StoredScenario], *, replace: bool = False) -> int:
        return await self._write(partial(scenario_rows.put_all, scenarios=all, replace=replace))

    async def keep_scenario(self, scenario: StoredScenario) -> str:
        return await self._write(partial(scenario_rows.keep, scenario=scenario))

    async def get_scenario(self, id: str) -> StoredScenario:
        check_id(id)
        return await self._read(partial(scenario_rows.get, id=id))

    async def delete_scenario(self, id: str) -> None:
        check_id(id)
        await self._write(partial(scenario_rows.delete, id=id))

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
        check_listing(limit=limit, after=after, search=search, sort=sort)
        action = partial(
            scenario_rows.list_page,
            limit=limit,
            after=after,
            chain=check_text(chain, field="chain"),
            search=search,
            sort=sort,
            descending=descending,
        )
        # Some lists are sorted, picked or searched row by row.
        row_by_row = bool(search) or (bool(chain) and sort != "created")
        return await self._read(action, long=limit > _SHORT or row_by_row)

    async def count_scenarios(self, chain: str = "") -> int:
        check_text(chain, field="chain")
        return await self._read(partial(scenario_rows.count, chain=chain))

    async def start_job(self, job: Job) -> bool:
        return await self._write(partial(job_rows.start, job=job))

    async def stop_job(self, id: str, *, now: int) -> bool:
        check_id(id)
        return await self._write(partial(job_rows.stop, id=id, now=now))

    async def get_job(self, id: str) -> Job | None:
        check_id(id)
        return await self._read(partial(job_rows.get, id=id))

    async def list_jobs(self, *, limit: int = 50, after: str = "", state: JobState | None = None) -> JobPage:
        check_limit(limit)
        if after:
            check_id(after, field="after")
        return await self._read(
            partial(job_rows.list_page, limit=limit, after=after, state=state), long=limit > _SHORT
        )

    async def next_due(self) -> int | None:
        return await self._read(job_rows.next_due)

    async def claim_jobs(self, claim: Claim) -> list[ClaimedJob]:
        # A worker asks all the time: where nothing is due, nothing is written.
        if not await self._read(partial(job_rows.may_claim, claim=claim)):
            return []
        return await self._write(partial(job_rows.claim_due, claim=claim))

    async def renew_leases(self, owner: str, *, moment: int, lease: int) -> set[str]:
        if not await self._read(partial(job_rows.holds, owner=owner)):
            return set()
        return await self._write(partial(job_rows.renew, owner=owner, deadline=moment + lease))

    async def lease_owners(self) -> set[str]:
        return await self._read(job_rows.owners)

    async def free_leases(self, owner: str) -> int:
        if not await self._read(partial(job_rows.holds, owner=owner)):
            return 0
        return await self._write(partial(job_rows.free, owner=owner))

    async def mark_step(
        self, id: str, *, epoch: int, step: str, lines: tuple[str, ...] = (), now: int = 0
    ) -> bool:
        action = partial(job_rows.mark_step, id=id, epoch=epoch, step=step, lines=lines, now=now)
        return await self._write(action)

    async def finish_run(self, run: FinishedRun, *, retention: Retention) -> bool:
        return await self._write(partial(job_rows.finish, run=run, retention=retention))

    async def replan(self, *, now: int) -> int:
        return await self._write(partial(job_rows.replan, now=now))

    async def plan_job(self, id: str, *, epoch: int, due: int, planned: int) -> bool:
        return await self._write(
            lambda database: job_rows.plan(database, id, epoch=epoch, due=due, planned=planned)
        )

    async def read_log(self, id: str | None, *, after: int = 0, limit: int = 0) -> list[LogLine]:
        action = partial(job_rows.read_log, id=_check_job(id), after=after, limit=limit)
        return await self._read(action, long=not 0 < limit <= _SHORT)

    async def find_tail(self, id: str | None, *, lines: int, entries: int) -> tuple[int, int]:
        return await self._read(partial(job_rows.find_tail, id=_check_job(id), lines=lines, entries=entries))

    async def last_runs(self, id: str, *, limit: int) -> list[KeptRun]:
        check_id(id)
        return await self._read(partial(job_rows.last_runs, id=id, limit=limit))

    async def read_mempool(self, id: str | None, *, after: int = 0, limit: int = 0) -> list[MempoolEntry]:
        action = partial(job_rows.read_mempool, id=_check_job(id), after=after, limit=limit)
        return await self._read(action, long=not 0 < limit <= _SHORT)

    async def drafted_for(self) -> list[tuple[str, int]]:
        return await self._read(job_rows.drafted_for)

    async def read_drafts(
        self, chain: str, spec_version: int, *, after: int = 0, limit: int = 500
    ) -> list[MempoolEntry]:
        action = partial(
            job_rows.read_drafts, chain=chain, spec_version=spec_version, after=after, limit=limit
        )
        return await self._read(action, long=True)

    async def flag_drafts(self, flags: dict[int, str], *, now: int, lines: dict[str, list[str]]) -> None:
        await self._write(partial(job_rows.flag_drafts, flags=flags, now=now, lines=lines))

    async def put_event(self, uuid: str, content: Any, *, now: int, retention: Retention) -> WebhookEvent:
        check_text(uuid, field="webhook")
        # Refused before it waits for its turn to write: anybody may post to any name.
        await self._read(partial(event_rows.check_named, uuid=uuid))
        text = event_rows.write_content(content)
        return await self._write(
            partial(event_rows.put, uuid=uuid, content=content, text=text, now=now, retention=retention)
        )

    async def newest_event(self, uuid: str, *, job: str, after: int | None = None) -> WebhookEvent | None:
        check_text(uuid, field="webhook")
        return await self._read(partial(event_rows.newest, uuid=uuid, job=job, after=after))

    async def check_webhook(self, uuid: str) -> None:
        check_text(uuid, field="webhook")
        await self._read(partial(event_rows.check_named, uuid=uuid))

    async def list_events(self, uuid: str) -> list[WebhookEvent]:
        check_text(uuid, field="webhook")
        return await self._read(partial(event_rows.list_all, uuid=uuid), long=True)

    async def get_event(self, id: int) -> WebhookEvent:
        return await self._read(partial(event_rows.get, id=id))

    async def unindexed(self, *, limit: int = 100) -> list[StoredScenario]:
        return await self._read(partial(scenario_rows.unindexed, limit=limit), long=True)

    async def index_webhooks(self, id: str, webhooks: tuple[str, ...]) -> None:
        check_id(id)
        scenario_rows.check_webhooks(webhooks)
        await self._write(partial(scenario_rows.index_webhooks, id=id, webhooks=webhooks))

    async def prune(self, *, now: int, retention: Retention) -> int:
        removed = 0
        for prune_some in (job_rows.prune_some, event_rows.prune_some):
            # Little by little, so that others come to write in between.
            while some := await self._write(partial(prune_some, now=now, retention=retention)):
                removed += some
        return removed

    async def write_trouble(self) -> str:
        return ""

    async def version(self) -> int:
        return self._writes + await self._read(_data_version)

    async def close(self) -> None:
        self._database.close()


def _data_version(database: sqlite3.Connection) -> int:
    (version,) = database.execute("PRAGMA data_version").fetchone()
    return int(version)


def _check_job(id: str | None) -> str | None:
    return None if id is None else check_id(id)
