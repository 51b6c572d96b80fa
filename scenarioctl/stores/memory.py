"""A store of plain Python objects, for tests: fast, and the proof that the contract asks for nothing of SQLite's.

It lives on one event loop, where nothing comes between the statements of a method.  Reboots do not concern it.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from scenarioctl.model.jobs import (
    NO_TRANSACTION,
    Claim,
    ClaimedJob,
    FinishedRun,
    Job,
    JobChange,
    JobState,
    KeptRun,
    LogLine,
    MempoolEntry,
    Retention,
    WebhookEvent,
)
from scenarioctl.model.notifications import NewNotification
from scenarioctl.stores import (
    DEFAULT_RETENTION,
    Inspection,
    JobPage,
    ScenarioPage,
    StoredScenario,
)
from scenarioctl.stores.figures import Statistics, Usage
from scenarioctl.stores.job_texts import next_plan, read_steps, write_schedule, write_steps
from scenarioctl.stores.memory_outbox import MemoryOutbox
from scenarioctl.stores.memory_sent import MemorySent
from scenarioctl.stores.memory_state import (
    MemoryState,
    list_job_page,
    list_page,
    normal,
    trim,
    waiting_drafts,
)
from scenarioctl.stores.outbox import notifications_of, still_true
from scenarioctl.stores.texts import PORTION, clean, cut_line
from scenarioctl.stores.validation import (
    INTEGER_MAX,
    changed_meanwhile,
    check_id,
    check_job,
    check_limit,
    check_listing,
    check_scenario,
    check_text,
    no_event,
    still_running,
    taken,
    unknown,
    unnamed,
)
from scenarioctl.stores.waiting_drafts import WaitingDrafts


class MemoryStore:
    """A Store over *state*."""

    def __init__(
        self, state: MemoryState | None = None, *, clock: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._state = state or MemoryState()
        #: Nanoseconds, by which leases run.
        self._clock = clock
        self._writes = 0

    def _changed(self) -> None:
        self._state.changes += 1
        self._writes += 1

    # -- scenarios

    async def put_scenario(self, scenario: StoredScenario, *, replace: bool = False) -> None:
        await self.put_scenarios([scenario], replace=replace)

    async def put_scenarios(self, scenarios: Iterable[StoredScenario], *, replace: bool = False) -> int:
        added: dict[str, StoredScenario] = {}
        count = 0
        for scenario in scenarios:
            check_scenario(scenario)
            before = added.get(scenario.id) or self._state.scenarios.get(scenario.id)
            if before is not None and not replace:
                raise taken(scenario.id)
            added[scenario.id] = normal(scenario, before)
            count += 1
        for id in added:
            if id not in self._state.numbers:
                self._state.last_number += 1
                self._state.numbers[id] = self._state.last_number
        self._state.scenarios.update(added)
        self._forget_events()
        self._changed()
        return count

    async def change_scenario(self, scenario: StoredScenario, *, revision: str, line: str = "") -> None:
        check_scenario(scenario)
        if self._find(scenario.id).revision != revision:
            raise changed_meanwhile(scenario.id)
        await self.put_scenario(scenario, replace=True)
        if line and scenario.id in self._state.jobs:
            self._log(scenario.id, [line], scenario.updated)
            self._trim(scenario.id, DEFAULT_RETENTION)

    async def keep_scenario(self, scenario: StoredScenario) -> str:
        for id in sorted(self._state.scenarios, key=self._state.numbers.__getitem__):
            if scenario.digest and self._state.scenarios[id].digest == scenario.digest:
                return id
        await self.put_scenario(scenario)
        return scenario.id

    async def get_scenario(self, id: str) -> StoredScenario:
        return replace(self._find(id), digest=b"")

    def _find(self, id: str) -> StoredScenario:
        scenario = self._state.scenarios.get(check_id(id))
        if scenario is None:
            raise unknown(id)
        return scenario

    async def find_scenarios(self, ids: Sequence[str]) -> dict[str, StoredScenario]:
        scenarios = self._state.scenarios
        return {id: replace(scenarios[id], digest=b"") for id in ids if id in scenarios}

    async def delete_scenario(self, id: str) -> None:
        self._find(id)
        state, job = self._state, self._state.jobs.get(id)
        if job is not None and job.state is JobState.RUNNING:
            raise still_running(id)
        for rows in (state.scenarios, state.numbers, state.jobs, state.begun):
            rows.pop(id, None)
        state.lines = [line for line in state.lines if line.job != id]
        state.drafts = [entry for entry in state.drafts if entry.job != id]
        state.runs = [run for run in state.runs if run[0] != id]
        state.used = {key: event for key, event in state.used.items() if key[0] != id}
        self.outbox().forget(id)
        self._forget_events()
        self._changed()

    def _forget_events(self) -> None:
        """Remove the events of webhooks that no scenario names any more."""
        named = {uuid for scenario in self._state.scenarios.values() for uuid in scenario.webhooks}
        self._state.events = [event for event in self._state.events if event.uuid in named]

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
        return list_page(
            self._state,
            limit=limit,
            after=after,
            chain=chain,
            tag=tag,
            search=search,
            sort=sort,
            descending=descending,
        )

    async def count_scenarios(self, chain: str = "") -> int:
        check_text(chain, field="chain")
        return sum(not chain or chain in scenario.chains for scenario in self._state.scenarios.values())

    # -- jobs

    async def start_job(self, job: Job) -> bool:
        check_job(job)
        self._find(job.id)
        before = self._state.jobs.get(job.id)
        if before is not None and before.state is JobState.RUNNING:
            return False
        self._state.jobs[job.id] = Job(
            id=job.id,
            state=JobState.RUNNING,
            schedule=job.schedule,
            changed=job.changed,
            due=job.due,
            planned=job.planned,
            epoch=before.epoch + 1 if before else 1,
            last_started=before.last_started if before else None,
            last_finished=before.last_finished if before else None,
            notify=job.notify,
        )
        self._state.begun.pop(job.id, None)
        self._changed()
        return True

    async def stop_job(self, id: str, *, now: int) -> bool:
        self._find(id)
        job = self._state.jobs.get(id)
        if job is None or job.state is not JobState.RUNNING:
            return False
        self._change(id, state=JobState.STOPPED, due=None, planned=None, changed=now)
        return True

    def _change(self, id: str, **fields: Any) -> None:
        self._state.jobs[id] = replace(self._state.jobs[id], **fields)
        self._changed()

    async def change_job(self, id: str, change: Callable[[Job], JobChange | None]) -> Job | None:
        self._find(id)
        job = self._state.jobs.get(id)
        wanted = change(job) if job is not None else None
        if job is None or wanted is None:
            return job
        check_job(wanted.job)
        changed = {
            name: getattr(wanted.job, name)
            for name in ("state", "schedule", "notify", "due", "planned", "changed", "reason")
        }
        self._change(id, **changed)
        if not job.owner and wanted.job.due != job.due:
            self._state.begun.pop(id, None)
        self._log(id, wanted.lines, wanted.written)
        self._trim(id, replace(DEFAULT_RETENTION, log_lines=0))
        return self._state.jobs[id]

    async def get_job(self, id: str) -> Job | None:
        self._find(id)
        return self._state.jobs.get(id)

    async def list_jobs(
        self, *, limit: int = 50, after: str = "", state: JobState | None = None, failing: bool = False
    ) -> JobPage:
        check_limit(limit)
        return list_job_page(self._state, limit=limit, after=after, wanted=state, failing=failing)

    async def waiting_drafts(self, *, now: int, soon: int, limit: int) -> WaitingDrafts:
        return waiting_drafts(self._state, now=now, soon=soon, limit=limit)

    async def count_drafts(self, ids: Sequence[str], *, now: int) -> dict[str, int]:
        return dict(
            Counter(
                entry.job
                for entry in self._state.drafts
                if entry.job in ids and not entry.flag and (entry.draft.expires or 0) > now
            )
        )

    def _due(self, now: int) -> list[Job]:
        """Return the jobs that nobody runs and that are due by *now*, those due first first."""
        found = [
            (job.due, job.id)
            for job in self._state.jobs.values()
            if job.state is JobState.RUNNING and not job.owner and job.due is not None and job.due <= now
        ]
        return [self._state.jobs[id] for _, id in sorted(found)]

    async def next_due(self) -> int | None:
        due = self._due(INTEGER_MAX)
        return due[0].due if due else None

    async def claim_jobs(self, claim: Claim) -> list[ClaimedJob]:
        for owner in self._expired() - {claim.owner}:
            await self.free_leases(owner)
        claimed = []
        for job in self._due(claim.now)[: claim.limit]:
            logged = self._state.begun.get(job.id)
            self._change(job.id, owner=claim.owner, epoch=job.epoch + 1, step="", last_started=claim.now)
            self._state.begun[job.id] = bool(logged)
            scenario = self._state.scenarios[job.id]
            claimed.append(
                ClaimedJob(
                    job=self._state.jobs[job.id],
                    blob=scenario.blob,
                    summary=scenario.summary,
                    interrupted=logged is not None,
                    logged=bool(logged),
                )
            )
        if claimed:
            self._state.leases[claim.owner] = self._clock() + claim.lease
        return claimed

    def _expired(self) -> set[str]:
        return {owner for owner, deadline in self._state.leases.items() if deadline <= self._clock()}

    async def renew_leases(self, owner: str, *, lease: int) -> set[str]:
        self._state.leases[owner] = self._clock() + lease
        return {job.id for job in self._state.jobs.values() if job.owner == owner}

    async def has_worker(self) -> bool:
        return bool(set(self._state.leases) - self._expired())

    async def lease_owners(self) -> set[str]:
        return {job.owner for job in self._state.jobs.values() if job.owner}

    async def free_leases(self, owner: str) -> int:
        self._state.leases.pop(owner, None)
        held = [job.id for job in self._state.jobs.values() if job.owner == owner]
        for id in held:
            self._change(id, owner="", step="")
        return len(held)

    async def replan(self, *, now: int) -> int:
        moved = 0
        for job in list(self._state.jobs.values()):
            every = job.schedule.every
            if job.state is not JobState.RUNNING or job.schedule.cron or not every or job.due is None:
                continue
            if job.due > now + every + job.schedule.jitter:
                self._change(job.id, due=now + every, planned=now + every)
                self._state.begun.pop(job.id, None)
                moved += 1
        return moved

    async def plan_job(self, id: str, *, epoch: int, due: int, planned: int) -> bool:
        job = self._state.jobs.get(id)
        if job is None or job.epoch != epoch or job.state is not JobState.RUNNING or job.owner:
            return False
        self._change(id, due=due, planned=planned)
        self._state.begun.pop(id, None)
        return True

    # -- what runs leave behind

    async def mark_step(
        self,
        id: str,
        *,
        epoch: int,
        step: str,
        lines: tuple[str, ...] = (),
        now: int = 0,
        planned: int | None = None,
        retention: Retention = DEFAULT_RETENTION,
    ) -> bool:
        job = self._state.jobs.get(id)
        if job is None or job.epoch != epoch or not job.owner:
            return False
        self._change(id, step=clean(step), planned=job.planned and (planned or job.planned))
        if lines:
            self._state.begun[id] = True
            self._log(id, lines, now)
            self._trim(id, replace(retention, log_lines=0))
        return True

    def _log(self, id: str, lines: Iterable[str], now: int) -> None:
        for line in lines:
            self._state.last_line += 1
            self._state.lines.append(
                LogLine(seq=self._state.last_line, job=id, written=now, text=cut_line(line))
            )

    def _trim(self, id: str, retention: Retention) -> None:
        self._state.lines = trim(
            self._state.lines,
            lambda line: line.job == id,
            limit=retention.log_lines,
            size=retention.log_bytes,
            text=lambda line: line.text,
        )
        self._state.drafts = trim(
            self._state.drafts,
            lambda entry: entry.job == id,
            limit=retention.mempool_entries,
            size=retention.mempool_bytes,
            text=lambda entry: entry.draft.tx,
        )

    async def finish_run(self, run: FinishedRun, *, retention: Retention) -> bool:
        state, job = self._state, self._state.jobs.get(run.job)
        if run.job not in state.scenarios:
            return False
        if run.epoch is not None and (
            job is None or job.epoch != run.epoch or not job.owner or run.owner not in ("", job.owner)
        ):
            return False
        self._log(run.job, run.lines, run.finished)
        first = state.last_draft + 1
        for draft in run.drafts:
            state.last_draft += 1
            texts: dict[str, Any] = {
                name: clean(getattr(draft, name)) for name in ("chain", "amount", "node", "tx", "human")
            }
            state.drafts.append(
                MempoolEntry(seq=state.last_draft, job=run.job, draft=replace(draft, **texts))
            )
        self._trim(run.job, retention)
        if run.ran:
            state.last_run += 1
            kept = KeptRun(
                number=state.last_run,
                planned=run.planned,
                started=run.started,
                finished=run.finished,
                drafts=len(run.drafts),
                failure=clean(run.failure),
                steps=read_steps(write_steps(run.steps)),
            )
            state.runs.append((run.job, kept))
            state.runs = trim(state.runs, lambda each: each[0] == run.job, limit=retention.runs)
        for uuid, event in run.used_events.items():
            state.used[run.job, uuid] = max(event, state.used.get((run.job, uuid), 0))
        pauses = job is not None and run.epoch is not None and self._plan_next(job, run)
        told = [first + place for place, draft in enumerate(run.drafts) if draft.is_transaction]
        if told and run.notifications:
            self.outbox().forget(run.job, expiring=True)
        self.outbox().put(notifications_of(run, pauses=pauses), run_drafts=told)
        self._changed()
        return True

    def _plan_next(self, job: Job, run: FinishedRun) -> bool:
        """Plan the next run; return whether the job is paused instead."""
        plan = next_plan(run, state=job.state, failures=job.failures, schedule=write_schedule(job.schedule))
        self._change(
            job.id,
            state=JobState(plan.state),
            due=plan.due,
            planned=plan.planned,
            changed=job.changed if plan.changed is None else plan.changed,
            owner="",
            step="",
            failures=plan.failures,
            runs=job.runs + run.ran,
            last_started=run.started if run.ran else job.last_started,
            last_finished=run.finished if run.ran else job.last_finished,
            reason=job.reason if plan.reason is None else plan.reason,
        )
        self._state.begun.pop(job.id, None)
        return plan.pauses

    async def read_log(self, id: str | None, *, after: int = 0, limit: int = 0) -> list[LogLine]:
        if id is not None:
            self._find(id)
        found = [line for line in self._state.lines if id in (None, line.job) and line.seq > after]
        return found[: limit or None]

    async def read_mempool(self, id: str | None, *, after: int = 0, limit: int = 0) -> list[MempoolEntry]:
        if id is not None:
            self._find(id)
        found, room = [], PORTION
        for entry in self._state.drafts:
            if id not in (None, entry.job) or entry.seq <= after:
                continue
            found.append(entry)
            room -= len(entry.draft.tx)
            if limit and (room <= 0 or len(found) == limit):
                break
        return found

    async def find_tail(self, id: str | None, *, lines: int, entries: int) -> tuple[int, int]:
        written = [0, *(line.seq for line in await self.read_log(id))]
        drafted = [0, *(entry.seq for entry in await self.read_mempool(id))]
        return written[max(0, len(written) - 1 - lines)], drafted[max(0, len(drafted) - 1 - entries)]

    async def find_end(self) -> tuple[int, int]:
        return self._state.last_line, self._state.last_draft

    async def last_runs(self, id: str, *, limit: int, before: int = 0) -> list[KeptRun]:
        runs = [run for job, run in reversed(self._state.runs) if job == check_id(id)]
        return [run for run in runs if not before or run.number < before][:limit]

    async def runs_of_each(self, ids: Sequence[str], *, limit: int) -> dict[str, list[KeptRun]]:
        found = {id: await self.last_runs(id, limit=limit) for id in ids}
        return {id: runs for id, runs in found.items() if runs}

    async def drafted_for(self) -> list[tuple[str, int]]:
        return sorted(
            {
                (entry.draft.chain, entry.draft.spec_version)
                for entry in self._state.drafts
                if not entry.flag and entry.draft.spec_version is not None
            }
        )

    async def read_drafts(
        self, chain: str, spec_version: int, *, after: int = 0, limit: int = 500
    ) -> list[MempoolEntry]:
        return [
            entry
            for entry in self._state.drafts
            if (entry.draft.chain, entry.draft.spec_version) == (chain, spec_version)
            and not entry.flag
            and entry.seq > after
            and entry.draft.tx != NO_TRANSACTION
        ][:limit]

    async def flag_drafts(
        self,
        flags: dict[int, str],
        *,
        now: int,
        lines: dict[str, list[str]],
        notifications: Sequence[NewNotification] = (),
    ) -> None:
        flagged, seqs = set(), set()
        for place, entry in enumerate(self._state.drafts):
            if entry.seq in flags and not entry.flag:
                self._state.drafts[place] = replace(entry, flag=clean(flags[entry.seq]))
                flagged.add(entry.job)
                seqs.add(entry.seq)
        for job, texts in lines.items():
            if (job in flagged or not flags) and job in self._state.scenarios:
                self._log(job, texts, now)
        self.outbox().put(still_true(notifications, seqs))
        self._changed()

    def outbox(self) -> MemoryOutbox:
        return MemoryOutbox(self._state)

    def sent(self) -> MemorySent:
        return MemorySent(self._state, self._changed)

    async def put_event(self, uuid: str, content: Any, *, now: int, retention: Retention) -> WebhookEvent:
        await self.check_webhook(uuid)
        self._state.last_event += 1
        event = WebhookEvent(
            id=self._state.last_event, uuid=uuid, received=now, content=json.loads(json.dumps(content))
        )
        self._state.events.append(event)
        self._state.events = trim(
            self._state.events,
            lambda event: event.uuid == uuid,
            limit=retention.webhook_events,
            size=retention.webhook_bytes,
            text=lambda event: json.dumps(event.content),
        )
        self._changed()
        return event

    async def newest_event(self, uuid: str, *, job: str, after: int | None = None) -> WebhookEvent | None:
        check_text(uuid, field="webhook")
        last = max(after or 0, self._state.used.get((job, uuid), 0))
        found = [event for event in self._state.events if event.uuid == uuid and event.id > last]
        return found[-1] if found else None

    async def check_webhook(self, uuid: str) -> None:
        check_text(uuid, field="webhook")
        if not any(uuid in scenario.webhooks for scenario in self._state.scenarios.values()):
            raise unnamed(uuid)

    async def list_events(self, uuid: str) -> list[WebhookEvent]:
        await self.check_webhook(uuid)
        return [event for event in self._state.events if event.uuid == uuid]

    async def get_event(self, id: int) -> WebhookEvent:
        for event in self._state.events:
            if event.id == id:
                return event
        raise no_event(id)

    async def prune(self, *, now: int, retention: Retention) -> int:
        def stays(moment: int, age: int) -> bool:
            return not age or moment >= now - age

        state = self._state
        before = len(state.lines) + len(state.drafts) + len(state.events)
        state.lines = [line for line in state.lines if stays(line.written, retention.log_age)]
        state.drafts = [entry for entry in state.drafts if stays(entry.draft.date, retention.mempool_age)]
        state.events = [event for event in state.events if stays(event.received, retention.webhook_age)]
        for id in state.scenarios:
            self._trim(id, retention)
        return before - len(state.lines) - len(state.drafts) - len(state.events)

    async def statistics(self) -> Statistics:
        states = [job.state for job in self._state.jobs.values()]
        return Statistics(
            scenarios=len(self._state.scenarios),
            jobs={state: states.count(state) for state in JobState},
            next_due=await self.next_due(),
            workers=int(await self.has_worker()),
        )

    def usage(self) -> Usage:
        return Usage(writes=self._writes, errors=0)

    async def inspect(self, clock: Callable[[], int]) -> Inspection:  # noqa: ARG002
        return Inspection(engine="memory", version=1, newest=1)

    async def health(self) -> str:
        return ""

    async def change_token(self) -> str:
        return str(self._state.changes)

    async def close(self) -> None:
        pass
