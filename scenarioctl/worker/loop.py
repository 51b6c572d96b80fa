"""The worker: claims jobs that are due, runs each as a task of its own, and keeps what they leave behind.

One loop claims; every claim is a task, so that a slow run delays no other.  Beside it a few chores go round: leases are
renewed, those of dead workers freed, drafts looked at again when a chain has a new runtime, old rows pruned.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from scenarioctl.application import Application
from scenarioctl.errors import ScenarioctlError, shorten
from scenarioctl.model.jobs import (
    SECOND,
    Claim,
    ClaimedJob,
    FinishedRun,
    Job,
    JobState,
    MempoolDraft,
    Overlap,
)
from scenarioctl.model.json_types import timestamp
from scenarioctl.operations.runs import carry_out, closing_lines, retention_of
from scenarioctl.operations.stored_diagrams import open_blob
from scenarioctl.schedules import COUNTED, Times, caught_up, first_times, next_times
from scenarioctl.worker.identity import is_gone, new_owner

if TYPE_CHECKING:
    from scenarioctl.actions.running import Run

log = logging.getLogger("scenarioctl.worker")

STARTING = "Starting worker"
SLEEPING = "Sleeping"
#: What has become of a job that is not ours any more.
_NOT_OURS = "its scenario was deleted, it was started anew, or another worker has it"
#: Seconds between two claims.
_MOMENT = 0.02


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How often a worker does what, in seconds."""

    #: A claim holds so long without being renewed: what a frozen worker holds is then free for others.
    lease: float = 10.0
    renew: float = 3.0
    #: Jobs that other processes start are noticed within this.
    poll: float = 0.5
    #: Leases of workers that died are looked for.
    owners: float = 3.0
    #: A graceful stop waits so long for runs that go on.
    grace: float = 10.0
    #: A run that takes longer waits for a server that hangs: its place is another's then.  Longer than the connections of
    #: a chain that is only asked too much are waited for, or more and more would wait for them.
    slow: float = 15.0
    hygiene: float = 30.0
    prune: float = 300.0
    #: And so soon after the start, for workers that never live for long.
    first_prune: float = 20.0
    #: After an error of the store, doubled up to `patience`.
    retry: float = 0.2
    patience: float = 15.0


@dataclass(kw_only=True, eq=False)
class _Live:
    """A run that goes on."""

    claimed: ClaimedJob
    #: Waits for nobody: counts against the worker's capacity.
    busy: bool = True
    #: Since when, by the monotonic clock.
    since: int
    #: What it waits for.
    step: str = ""
    #: All is done but keeping it, which must not be cut short by a renewal that saw the old state.
    finishing: bool = False
    #: Lines that are in the log already.
    logged: int = 0
    #: Tells the store of a wait.
    noting: "asyncio.Task[None] | None" = None
    task: "asyncio.Task[None] | None" = None


@dataclass(kw_only=True)
class _Outcome:
    """What a run has come to, as far as it got."""

    planned: int
    started: int
    lines: list[str]
    drafts: tuple[MempoolDraft, ...] = ()
    used: dict[str, int] = field(default_factory=dict)
    failure: str = ""
    #: False for a time that was left out.
    ran: bool = True
    #: The run itself; None until its scenario has been read.
    run: "Run | None" = None


@dataclass(kw_only=True)
class Counts:
    """What a worker has done since it began, for the daemon's figures."""

    executed: int = 0
    failed: int = 0
    #: Runs whose job was another's when they ended.
    lost: int = 0
    left_out: int = 0
    bugs: int = 0
    store_errors: int = 0
    flagged: int = 0
    drafts: dict[str, int] = field(default_factory=dict)


class Worker:
    """Runs the jobs of `app.store`; several may serve one store."""

    def __init__(
        self,
        app: Application,
        *,
        owner: str = "",
        pace: Pace | None = None,
        capacity: int = 256,
        monotonic: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.app = app
        self.owner = owner or new_owner()
        self.pace = pace or Pace()
        #: So many runs may draft at once; those that wait for a webhook, a delay or a slow server do not count.
        self.capacity = capacity
        self.counts = Counts()
        #: When the loop last came round, in seconds of the monotonic clock.
        self.last_beat = time.monotonic()
        self._monotonic = monotonic
        self._live: dict[str, _Live] = {}
        self._busy = 0
        #: Runs that come back from a wait while no place is free.
        self._line: deque[tuple[_Live, asyncio.Future[None]]] = deque()
        self._wake = asyncio.Event()
        self._drift = app.clock() - monotonic()
        self._must_replan = True
        self._must_claim = True
        self._not_before = 0
        self._retry = self.pace.retry
        #: While the store is asked, which may be locked by another process: that is no fault of the loop.
        self._at_store = False
        #: Chain -> newest runtime that a draft was made for.
        self._specs: dict[str, int] = {}
        #: Chain, version of drafts, version they were compared with -> the last entry that was.
        self._judged: dict[tuple[str, int, int], int] = {}
        self._judging = asyncio.Lock()
        #: A look at drafts that a run has given cause for.
        self._look: asyncio.Task[None] | None = None

    @property
    def running(self) -> int:
        """How many runs go on."""
        return len(self._live)

    @property
    def waiting(self) -> int:
        """How many of them wait for a webhook, a delay or a slow server."""
        return sum(not live.busy for live in self._live.values())

    def wake(self) -> None:
        """Look for due jobs now: one was started in this process."""
        self._wake.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Run jobs until *stop*; then let those that go on end, or give them back."""
        self.app.wake = self.wake
        await self._begin()
        chores = [
            asyncio.create_task(self._go_round(self.pace.renew, self.renew)),
            asyncio.create_task(self._go_round(self.pace.owners, self.free_dead)),
            asyncio.create_task(self._go_round(self.pace.hygiene, self.check_drafts)),
            asyncio.create_task(self._go_round(self.pace.prune, self._prune, first=self.pace.first_prune)),
            asyncio.create_task(self._go_round(1.0, self._beat)),
            asyncio.create_task(self._wake_at(stop)),
        ]
        try:
            while not stop.is_set():
                wait = await self._turn()
                if wait > 0:
                    await self._rest(wait)
                else:
                    # Requests and runs have their turn.
                    await asyncio.sleep(0)
        finally:
            await self._wind_up(chores)

    async def run_next(self) -> bool:
        """Run what is due now to its end; False if nothing is.  For tests, and without the chores of `run`."""
        await self._turn()
        tasks = [live.task for live in self._live.values() if live.task is not None]
        if tasks:
            await asyncio.wait(tasks)
        return bool(tasks)

    # -- claiming ------------------------------------------------------------------------------------------------

    async def _begin(self) -> None:
        await self._guarded("the worker was not announced", self.renew)
        await self._guarded("dead workers' jobs were not freed", self.free_dead)

    async def _turn(self) -> float:
        """Claim what is due and begin to run it; return how many seconds nothing is to be done."""
        self.last_beat = time.monotonic()
        self._wake.clear()
        self._watch_clock()
        patience = (self._not_before - self._monotonic()) / SECOND
        if patience > 0:
            return min(self.pace.poll, patience)
        room = self._room()
        if room <= 0:
            self._pass_by_slow()
            room = self._room()
        if room <= 0:
            return self.pace.poll
        self._at_store = True
        try:
            wait = await self._claim(room)
        except ScenarioctlError as error:
            self._back_off(str(error))
            return self.pace.poll
        except Exception as error:
            log.exception("a bug showed while jobs were claimed")
            self._back_off(type(error).__name__)
            return self.pace.poll
        finally:
            self._at_store = False
        self._retry = self.pace.retry
        return wait

    async def _claim(self, room: int) -> float:
        store = self.app.store
        if self._must_replan:
            # Also at the start: the clock may have been set back while no worker ran.
            moved = await self._replan()
            self._must_replan = False
            if moved:
                log.warning("the clock was set back: %d jobs were planned anew", moved)
        due = await store.next_due()
        now = self.app.clock()
        if (due is None or due > now) and not self._must_claim:
            return self.pace.poll if due is None else min(self.pace.poll, (due - now) / SECOND)
        self._must_claim = False
        claim = Claim(
            owner=self.owner,
            now=now,
            lease=round(self.pace.lease * SECOND),
            limit=min(room, 100),
        )
        claimed = await store.claim_jobs(claim)
        for each in claimed:
            self._start(each)
        # What is due in the next moment is claimed together.  And where nothing was claimed another worker was quicker,
        # since its claim and `next_due` are two looks.
        return 0 if len(claimed) == claim.limit else _MOMENT

    def _back_off(self, reason: str) -> None:
        self.counts.store_errors += 1
        self._not_before = self._monotonic() + round(self._retry * SECOND)
        log.error("no job can be claimed, the next try comes in %.1f s: %s", self._retry, reason)
        self._retry = min(self._retry * 2, self.pace.patience)

    def _watch_clock(self) -> None:
        drift = self.app.clock() - self._monotonic()
        moved, self._drift = drift - self._drift, drift
        if moved < -SECOND:
            log.warning("the clock was set back by %.0f s", -moved / SECOND)
            self._must_replan = True
        elif moved > 60 * SECOND:
            # What is late then is caught up with, or left out, as after a downtime.
            log.warning("the clock was set forward, or the machine slept, by %.0f s", moved / SECOND)

    async def _replan(self) -> int:
        """Bring back what lies further ahead than its schedule ever plans."""
        now = self.app.clock()
        moved = await self.app.store.replan(now=now)
        after = ""
        while True:
            page = await self.app.store.list_jobs(limit=1000, after=after, state=JobState.RUNNING)
            for job in page.items:
                if not job.schedule.cron or job.planned is None or job.owner:
                    continue
                times = first_times(job.schedule, now)
                # Thousands of cron lines take a while.
                await asyncio.sleep(0)
                if job.planned > times.planned and await self.app.store.plan_job(
                    job.id, epoch=job.epoch, due=times.due, planned=times.planned
                ):
                    moved += 1
            after = page.next
            if not after:
                return moved

    async def _rest(self, seconds: float) -> None:
        waits = (asyncio.ensure_future(self.app.sleep(seconds)), asyncio.ensure_future(self._wake.wait()))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()

    async def _wake_at(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._wake.set()

    # -- one run -------------------------------------------------------------------------------------------------

    def _start(self, claimed: ClaimedJob) -> None:
        id = claimed.job.id
        before = self._live.get(id)
        if before is not None and before.task is not None:
            # Our own lease ran out, and we have claimed the job again: what the older run does is not kept.
            before.task.cancel()
        live = self._live[id] = _Live(claimed=claimed, since=self._monotonic())
        self._busy += 1
        live.task = asyncio.create_task(self._carry(live), name=f"job {id}")
        live.task.add_done_callback(lambda _: self._ended(live))

    def _ended(self, live: _Live) -> None:
        id = live.claimed.job.id
        if self._live.get(id) is live:
            del self._live[id]
        self._make_room(live)
        if live.task is not None and not live.task.cancelled() and (error := live.task.exception()):
            log.error("a run of job %s was lost", id, exc_info=error)

    def _room(self) -> int:
        """Return how many runs may begin."""
        return self.capacity - self._busy - len(self._line)

    def _pass_by_slow(self) -> None:
        """Let others have the places of runs that have had theirs for long: a server that hangs must not stop all jobs."""
        before = self._monotonic() - round(self.pace.slow * SECOND)
        for live in self._live.values():
            if live.since <= before:
                self._make_room(live)

    def _make_room(self, live: _Live) -> None:
        """Let another run have the place of *live*: first one that comes back from a wait."""
        if not live.busy:
            return
        live.busy = False
        while self._line:
            other, turn = self._line.popleft()
            if not turn.done():
                other.busy, other.since = True, self._monotonic()
                turn.set_result(None)
                return
        if self._busy >= self.capacity:
            self._wake.set()
        self._busy -= 1

    async def _take_room(self, live: _Live) -> None:
        if live.busy:
            return
        if self._busy < self.capacity:
            live.busy, live.since = True, self._monotonic()
            self._busy += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.append((live, turn))
        await turn

    async def _carry(self, live: _Live) -> None:
        """Run a claimed job and keep what it leaves behind, whatever happens to it."""
        run = await self._execute(live)
        live.finishing = True
        if live.noting is not None:
            # It may have been on its way when the run was cut short.
            await asyncio.wait({live.noting})
            run = replace(run, lines=run.lines[live.logged :])
        await self._keep(run)
        for draft in run.drafts:
            self._notice(draft)

    async def _execute(self, live: _Live) -> FinishedRun:
        claimed, job = live.claimed, live.claimed.job
        started = self.app.clock()
        outcome = _Outcome(planned=_planned(job, started), started=started, lines=[])
        try:
            due = started if job.due is None else job.due
            if claimed.interrupted:
                # However late that is; what it sent to web servers may be sent again.
                outcome.lines.append("This run was begun before and did not come to its end: it is run again")
            else:
                planned, missed = caught_up(job.schedule, outcome.planned, due, started, first=not job.runs)
                if missed:
                    self.counts.left_out += missed
                    whom = "it" if missed == 1 else "them"
                    outcome.lines.append(f"{_planned_runs(missed, job)} missed while no worker ran {whom}")
                if planned is None:
                    outcome.ran = False
                    return self._finished(live, outcome)
                outcome.planned = planned
            if not job.runs and not claimed.logged:
                outcome.lines.insert(0, STARTING)
            if outcome.lines and not claimed.logged:
                # What the run does may take hours, and a client looks meanwhile.
                await self._log(live, outcome.lines)
            await self._run(live, outcome)
        except ScenarioctlError as error:
            outcome.failure = str(error)
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and live.task is not None and live.task.cancelling():
                raise
            # A bug in one job must not take the other jobs down with it.  Nor may a run that nobody cancelled end
            # unkept, for something that it shared was given up: its job would be ours for ever.
            outcome.failure = self._report(job.id, error)
        return self._finished(live, outcome)

    async def _run(self, live: _Live, outcome: "_Outcome") -> None:
        from scenarioctl.actions.running import Run

        claimed, job = live.claimed, live.claimed.job
        async with self.app.session() as session:
            run = Run(
                session,
                job.id,
                await open_blob(session, claimed.blob, job.id),
                summary=claimed.summary,
                on_wait=lambda step: self._wait(live, step, [*outcome.lines, *run.lines]),
                on_step=lambda: self._log(live, [*outcome.lines, *run.lines]),
            )
            outcome.run = run
            try:
                await carry_out(run, timeout=job.schedule.timeout)
                outcome.failure = run.failure
            finally:
                outcome.lines += run.lines
                outcome.drafts = tuple(run.drafts)
                outcome.used = dict(run.used_events)

    def _finished(self, live: _Live, outcome: "_Outcome") -> FinishedRun:
        """Return what is kept of a run, with the time of the next."""
        job = live.claimed.job
        finished = self.app.clock()
        lines = [*outcome.lines, *(closing_lines(outcome.run, outcome.failure) if outcome.ran else ())]
        times: Times | None = None
        failures = job.failures + 1
        if outcome.failure and 0 < job.schedule.pause_after <= failures:
            lines.append(
                "Paused: the run failed" if failures == 1 else f"Paused: {failures} runs in a row failed"
            )
        else:
            # What is left out must not be made up for either.
            schedule = job.schedule if outcome.ran else replace(job.schedule, overlap=Overlap.SKIP)
            try:
                times = next_times(schedule, outcome.planned, finished)
            except Exception as error:
                # The time zone may be gone from the machine.
                lines.append(self._report(job.id, error))
                lines.append("Paused: there is no next time")
        if times is not None:
            if outcome.ran and times.missed:
                skipped = _planned_runs(times.missed, job)
                lines.append(f"{skipped} skipped, this one took longer than the interval")
            lines.append(SLEEPING)
        return FinishedRun(
            job=job.id,
            epoch=job.epoch,
            owner=self.owner,
            planned=outcome.planned,
            started=outcome.started,
            finished=finished,
            lines=tuple(_writable(line) for line in lines),
            drafts=outcome.drafts,
            used_events=outcome.used,
            failure=_writable(outcome.failure),
            due=times.due if times else None,
            next_planned=times.planned if times else None,
            ran=outcome.ran,
        )

    def _report(self, id: str, error: BaseException) -> str:
        """Log a bug with its traceback, and return what the job's own log says of it."""
        self.counts.bugs += 1
        log.error("a bug showed in job %s", id, exc_info=error)
        return (
            f"this is a bug in scenarioctl ({type(error).__name__}: {shorten(str(error), 200)}); "
            "the daemon's log has the traceback"
        )

    async def _keep(self, run: FinishedRun) -> None:
        """Give *run* to the store, as often as it takes: nothing of it may get lost while its job is ours."""
        delay = self.pace.retry
        retention = retention_of(self.app.settings)
        while True:
            try:
                kept = await self.app.store.finish_run(run, retention=retention)
                break
            except ScenarioctlError as error:
                self.counts.store_errors += 1
                trouble = "a run of job %s is not kept yet, the next try comes in %.1f s: %s"
                log.error(trouble, run.job, delay, error)  # noqa: TRY400
            except Exception as error:
                # The store takes something in it for impossible: the rest is kept.
                sentence = self._report(run.job, error)
                lines = (*closing_lines(None, sentence), SLEEPING)
                run = replace(run, lines=lines, drafts=(), used_events={}, failure=sentence)
            await self.app.sleep(delay)
            delay = min(delay * 2, self.pace.patience)
        if not kept:
            self.counts.lost += 1
            log.warning("a run of job %s is not kept: %s", run.job, _NOT_OURS)
        elif run.ran:
            self.counts.executed += 1
            self.counts.failed += bool(run.failure)

    async def _wait(self, live: _Live, step: str, lines: list[str]) -> None:
        """Note what a run waits for, and what it has logged; while it waits, its place is free for another."""
        if step:
            self._make_room(live)
        else:
            await self._take_room(live)
        if step == live.step:
            return
        live.step = step
        await self._log(live, lines)

    async def _log(self, live: _Live, lines: list[str]) -> None:
        """Write what a run has logged so far, and what it waits for, while it goes on."""
        live.noting = asyncio.create_task(self._note(live, live.step, lines))
        # However the run is cut short, its lines must not be written twice, or not at all.
        await asyncio.shield(live.noting)

    async def _note(self, live: _Live, step: str, lines: list[str]) -> None:
        job = live.claimed.job
        fresh = tuple(_writable(line) for line in lines[live.logged :])
        try:
            if await self.app.store.mark_step(
                job.id, epoch=job.epoch, step=step, lines=fresh, now=self.app.clock()
            ):
                live.logged += len(fresh)
        except ScenarioctlError as error:
            # The lines come with those of the run's end.
            log.warning("the step of job %s was not noted: %s", job.id, error)

    # -- chores --------------------------------------------------------------------------------------------------

    async def _beat(self) -> None:
        if self._at_store:
            self.last_beat = time.monotonic()

    async def renew(self) -> None:
        """Keep our leases, and give up runs whose job is ours no more."""
        before = dict(self._live)
        ours = await self.app.store.renew_leases(self.owner, lease=round(self.pace.lease * SECOND))
        for id, live in before.items():
            if id not in ours and self._live.get(id) is live and not live.finishing and live.task is not None:
                self.counts.lost += 1
                log.warning("a run of job %s is given up: %s", id, _NOT_OURS)
                live.task.cancel()

    async def free_dead(self) -> None:
        """Free the leases of workers that are gone; those of frozen ones run out, and are then claimed."""
        others = await self.app.store.lease_owners() - {self.owner}
        for owner in others:
            if is_gone(owner):
                freed = await self.app.store.free_leases(owner)
                log.warning("a worker is gone without having stopped, runs that it had begun: %d", freed)
                self._wake.set()
        if others:
            self._must_claim = True

    async def check_drafts(self) -> None:
        """Compare drafts with the runtime that their chain has now, and flag those that must be drafted anew."""
        if self.app.settings.offline:
            return
        async with self._judging:
            pairs = await self.app.store.drafted_for()
            for chain in sorted({chain for chain, _ in pairs}):
                versions = [version for name, version in pairs if name == chain]
                await self._guarded(
                    f"drafts for {chain} were not compared with its runtime",
                    lambda chain=chain, versions=versions: self._check_chain(chain, versions),  # type: ignore[misc]
                )

    async def _check_chain(self, chain: str, versions: list[int]) -> None:
        from scenarioctl.actions.stale_drafts import current_spec_version, judge_drafts

        async with self.app.session() as session:
            current = await current_spec_version(session, chain)
            if current is None:
                return
            for version in versions:
                if version >= current:
                    continue
                key = (chain, version, current)
                while True:
                    entries = await self.app.store.read_drafts(chain, version, after=self._judged.get(key, 0))
                    if not entries:
                        break
                    reasons = await judge_drafts(session, chain, version, [each.draft.tx for each in entries])
                    flags, lines = {}, dict[str, list[str]]()
                    for entry, reason in zip(entries, reasons, strict=True):
                        if reason:
                            flags[entry.seq] = reason
                            lines.setdefault(entry.job, []).append(
                                f"The {entry.draft.tx_type} draft of {timestamp(entry.draft.date)} must not be "
                                f"signed any more: {reason}"
                            )
                    if flags:
                        await self.app.store.flag_drafts(flags, now=self.app.clock(), lines=lines)
                        self.counts.flagged += len(flags)
                        log.warning(
                            "%s has version %d now: %d drafts were flagged", chain, current, len(flags)
                        )
                    self._judged[key] = entries[-1].seq

    def _notice(self, draft: MempoolDraft) -> None:
        """Count a draft; where it is the first of a new runtime, older ones are looked at now."""
        self.counts.drafts[draft.tx_type] = self.counts.drafts.get(draft.tx_type, 0) + 1
        version = draft.spec_version
        if version is None:
            return
        known = self._specs.get(draft.chain)
        if known is None or version > known:
            self._specs[draft.chain] = version
            if known is not None and not self._judging.locked():
                self._look = asyncio.create_task(
                    self._guarded("drafts were not compared with their runtimes", self.check_drafts)
                )

    async def _prune(self) -> None:
        await self.app.store.prune(now=self.app.clock(), retention=retention_of(self.app.settings))

    async def _go_round(
        self, seconds: float, chore: Callable[[], Awaitable[None]], *, first: float | None = None
    ) -> None:
        await self.app.sleep(seconds if first is None else first)
        while True:
            await self._guarded("a chore of the worker failed", chore)
            await self.app.sleep(seconds)

    async def _guarded(self, trouble: str, action: Callable[[], Awaitable[None]]) -> None:
        """Do what must not end the worker if it fails; it is tried again later."""
        try:
            await action()
        except ScenarioctlError as error:
            log.error("%s: %s", trouble, error)  # noqa: TRY400 - nothing to trace, the sentence says it
        except Exception:
            log.exception(trouble)

    # -- the end -------------------------------------------------------------------------------------------------

    async def _wind_up(self, chores: "list[asyncio.Task[None]]") -> None:
        """Let runs end that soon will, give the others back, and leave."""
        try:
            await self._let_end()
        finally:
            tasks = [live.task for live in self._live.values() if live.task is not None]
            tasks += chores if self._look is None else [*chores, self._look]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            # Also where a claim was cut short after the store had taken it.
            await self._guarded("the worker's jobs were not given back", self._give_back)

    async def _let_end(self) -> None:
        deadline = time.monotonic() + self.pace.grace
        while time.monotonic() < deadline:
            tasks = [
                live.task
                for live in self._live.values()
                if live.task is not None and (live.finishing or not live.step)
            ]
            if not tasks:
                return
            await asyncio.wait(tasks, timeout=0.1)

    async def _give_back(self) -> None:
        freed = await self.app.store.free_leases(self.owner)
        if freed:
            log.info(
                "given up at the stop, for the next start to run again unless their jobs are stopped: %d",
                freed,
            )


def _planned(job: Job, now: int) -> int:
    if job.planned is not None:
        return job.planned
    return now if job.due is None else job.due


def _planned_runs(count: int, job: Job) -> str:
    """Return the beginning of a sentence on so many runs."""
    if job.schedule.cron and count >= COUNTED:
        return f"{COUNTED} or more planned runs were"
    return "1 planned run was" if count == 1 else f"{count} planned runs were"


def _writable(text: str) -> str:
    """Return *text* as the store takes it: what a chain or a server answered may hold half a character."""
    return text.encode("utf-8", "replace").decode()
