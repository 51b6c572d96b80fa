"""The worker's loop, in a time of its own: nothing here waits for a real clock."""

import asyncio
import gc
import heapq
import logging
import os
import subprocess
import sys
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scenarioctl import __version__
from scenarioctl.actions import running
from scenarioctl.actions.step_kind import Wait
from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.errors import Conflict, InvalidRequest, StoreUnavailable
from scenarioctl.model import jobs
from scenarioctl.model.jobs import (
    NO_TRANSACTION,
    SECOND,
    FinishedRun,
    Job,
    JobState,
    Leg,
    LogLine,
    MempoolDraft,
    Retention,
    Schedule,
    StepResult,
    is_gone,
    new_owner,
)
from scenarioctl.operations.creation import CreateFlow, CreateRemark, create_flow, create_remark
from scenarioctl.operations.jobs import StartJob, StopJob, start_job, stop_job
from scenarioctl.schedules import DAY, HOUR, MINUTE, read_schedule
from scenarioctl.stores import StoredScenario
from scenarioctl.stores.sqlite.database_file import transaction
from scenarioctl.stores.sqlite.store import Action, SqliteStore, T
from scenarioctl.worker.chores import Pace
from scenarioctl.worker.worker import Worker
from tests.messages import says

START = 1_790_000_000 * SECOND


class Time:
    """A clock that stands still until somebody lets time pass."""

    def __init__(self) -> None:
        self.now = START
        self.passed = 0
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self._count = 0

    def clock(self) -> int:
        return self.now

    def monotonic(self) -> int:
        return self.passed

    async def sleep(self, seconds: float) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._count += 1
        heapq.heappush(self._sleepers, (self.passed + round(seconds * SECOND), self._count, turn))
        await turn

    async def let_pass(self, seconds: float) -> None:
        """Let time pass, waking each sleeper at its time."""
        end = self.passed + round(seconds * SECOND)
        await settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            at, _, turn = heapq.heappop(self._sleepers)
            self.now += max(0, at - self.passed)
            self.passed = max(self.passed, at)
            if not turn.done():
                turn.set_result(None)
                await settle()
        self.now += end - self.passed
        self.passed = end
        await settle()


async def settle() -> None:
    for _ in range(12):
        await asyncio.sleep(0)


#: One leg.
Play = Callable[["FakeRun"], Awaitable[Wait | None]]


async def draft(run: "FakeRun") -> None:
    run.lines.append("drafted")
    run.drafts.append(
        MempoolDraft(
            chain="polkadot", amount="0", tx_type="Remark", date=run.app.clock(), tx="0x00"
        )
    )


class FakeRun:
    """A run that does what the test says."""

    plays: dict[str, Play] = {}  # noqa: RUF012 - set anew for each test

    def __init__(
        self,
        app: Application,
        id: str,
        diagram: object,
        *,
        summary: str = "",
        key: str = "",
        clock: Callable[[], int] | None = None,
        together: bool = False,
    ) -> None:
        self.app, self.id = app, id
        #: How many legs it has had.
        self.leg = 0
        self.spent = 0.0
        self.number = 1
        self.wait: Wait | None = None
        self.lines: list[str] = []
        self.drafts: list[MempoolDraft] = []
        self.used_events: dict[str, int] = {}
        self.steps: dict[str, StepResult] = {}
        self.failure = ""

    async def go(self, *, waited: float = 0.0) -> Wait | None:
        self.wait = await self.plays.get(self.id, draft)(self)
        self.leg += 1
        return self.wait

    def save(self) -> dict[str, Any]:
        return {"leg": self.leg, "spent": self.spent}

    def restore(self, saved: dict[str, Any]) -> None:
        self.leg, self.spent = saved["leg"], saved["spent"]

    def give_up(self, _: str) -> list[str]:
        return []

    def failure_line(self, failure: str) -> str:
        return f"run failed: {failure.removeprefix(f'{NO_TRANSACTION}: ')}"

    def say(self, line: str) -> None:
        self.lines.append(line)


class PromptStore(SqliteStore):
    """One that answers at once, without threads: what happens is a matter of the bench's time
    alone."""

    async def _read(self, action: Action[T], *, long: bool = False) -> T:
        return action(self._open())

    async def _write(self, action: Action[T]) -> T:
        database = self._open()
        with transaction(database):
            return action(database)


class Bench:
    """A store, a worker that runs, and a time of their own."""

    def __init__(self, tmp_path: Path) -> None:
        self.time = Time()
        self.app = Application(
            load_settings({"offline": True, "store": tmp_path / "s.db", "cache": tmp_path}, {}),
            clock=self.time.clock,
            sleep=self.time.sleep,
        )
        self._path = tmp_path / "s.db"
        #: All that were opened.
        self.stores: list[PromptStore] = []
        self.open()

    def open(self) -> None:
        self.store = self.app.resources.store = PromptStore(
            self._path, clock=self.time.monotonic, wall=self.time.clock
        )
        self.stores.append(self.store)

    def worker(self, **fields: Any) -> Worker:
        # The grace of a stop is the event loop's, whose clock is real.
        fields.setdefault("pace", Pace(grace=0.1))
        return Worker(self.app, monotonic=self.time.monotonic, **fields)

    async def scenario(self, id: str, *, blob: bytes | None = None) -> None:
        if blob is None:
            made = await create_remark(self.app, CreateRemark(chain="polkadot", text="hello"))
            blob = (await self.store.get_scenario(made.answer["result"])).blob
        await self.store.put_scenario(
            StoredScenario(id=id, blob=blob, summary="Remark", chains=(), created=1, updated=1)
        )

    async def start(self, id: str, *, scenario: bool = True, **fields: Any) -> None:
        if scenario:
            await self.scenario(id)
        now = self.time.clock()
        schedule = read_schedule(**fields)
        assert await self.store.start_job(
            Job(id=id, state=JobState.RUNNING, schedule=schedule, changed=now, due=now, planned=now)
        )

    async def begin(self, id: str, owner: str) -> Leg:
        """Give the leg of the job, which is due, to *owner*."""
        await self.store.renew_lease(owner, lease=10 * SECOND)
        (leg,) = await self.store.begin_due(100, owner=owner)
        assert leg.job.id == id
        return leg

    async def stop(self, id: str) -> None:
        async with self.app.session() as session:
            assert (await stop_job(session, StopJob(id=id))).answer["result"] == "Job stopped"

    async def log(self, id: str) -> list[str]:
        return [line.text for line in await self.store.read_log(id)]

    async def written(self, id: str) -> list[tuple[int, str]]:
        """Return the log with the second, from the start of the test, in which each line was
        written."""
        lines: list[LogLine] = await self.store.read_log(id)
        return [((line.written - START) // SECOND, line.text) for line in lines]

    async def runs(self, id: str) -> int:
        return (await self.log(id)).count("workload executed")

    async def job(self, id: str) -> Job:
        job = await self.store.get_job(id)
        assert job is not None
        return job


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(running, "Run", FakeRun)
    monkeypatch.setattr(FakeRun, "plays", {})
    made = Bench(tmp_path)
    yield made
    for store in made.stores:
        asyncio.run(store.close())


@asynccontextmanager
async def play(bench: Bench, *workers: Worker) -> AsyncIterator[None]:
    """Let the workers run, then stop them."""
    stop = asyncio.Event()
    tasks = [asyncio.create_task(worker.run(stop)) for worker in workers]
    try:
        await settle()
        yield
    finally:
        stop.set()
        await asyncio.wait_for(asyncio.gather(*tasks), 60)
        await bench.app.close()


async def test_a_job_runs_at_once_and_then_at_its_interval(bench: Bench) -> None:
    async with play(bench, bench.worker()):
        await bench.start("one", every="10s")
        await bench.time.let_pass(25)

        assert await bench.written("one") == [
            (0, "Starting worker"),
            (0, "drafted"),
            (0, "workload executed"),
            (0, "Sleeping"),
            (10, "drafted"),
            (10, "workload executed"),
            (10, "Sleeping"),
            (20, "drafted"),
            (20, "workload executed"),
            (20, "Sleeping"),
        ]
        assert len(await bench.store.read_mempool("one")) == 3
        job = await bench.job("one")
        assert (job.runs, job.failures, job.due) == (3, 0, START + 30 * SECOND)


async def test_a_job_that_another_process_starts_is_noticed_within_a_second(bench: Bench) -> None:
    async with play(bench, bench.worker()):
        await bench.time.let_pass(100.3)
        await bench.start("one")
        await bench.time.let_pass(1)

        assert await bench.runs("one") == 1


async def test_a_job_that_is_started_in_the_same_process_runs_at_once(bench: Bench) -> None:
    async with play(bench, bench.worker()):
        await bench.scenario("one")
        await bench.time.let_pass(100.3)
        async with bench.app.session() as session:
            await start_job(session, StartJob(id="one"))
        await settle()

        assert await bench.runs("one") == 1


async def test_a_slow_job_does_not_delay_the_others(bench: Bench) -> None:
    async def slow(run: FakeRun) -> None:
        await run.app.sleep(3600)

    FakeRun.plays = {"slow": slow}

    async with play(bench, bench.worker()):
        await bench.start("slow", every="1s")
        await bench.start("quick", every="1s")
        await bench.time.let_pass(30)

        assert (await bench.runs("slow"), await bench.runs("quick")) == (0, 31)


async def test_a_run_that_has_ended_is_freed_at_once(bench: Bench) -> None:
    """A worker that has many to do kept a thousand of them, and their diagrams, until garbage was
    collected."""
    runs: list[weakref.ref[FakeRun]] = []

    async def draws_on(run: FakeRun) -> None:
        runs.append(weakref.ref(run))
        run.say("Requesting GET example.org")

    FakeRun.plays = {"one": draws_on}

    async with play(bench, bench.worker()):
        gc.disable()
        try:
            await bench.start("one", every="1s")
            await bench.time.let_pass(10)

            assert await bench.runs("one") == len(runs) == 11
            assert {each() for each in runs} == {None}
        finally:
            gc.enable()


async def test_a_run_that_waits_takes_no_place(bench: Bench) -> None:
    async def waiting(run: FakeRun) -> Wait | None:
        if not run.leg:
            return Wait(step="webhook 6f1c", seconds=50)
        run.lines.append("went on")
        return None

    FakeRun.plays = {"first": waiting, "second": waiting}
    worker = bench.worker(capacity=1)

    async with play(bench, worker):
        for id in ("first", "second", "third"):
            await bench.start(id, every="12h")
        await bench.time.let_pass(10)
        assert worker.running == 0
        job = await bench.job("first")
        assert (job.step, job.waiting, job.owner, job.in_progress) == ("webhook 6f1c", 1, "", True)
        assert await bench.runs("third") == 1
        await bench.time.let_pass(50)

        assert await bench.log("first") == [
            "Starting worker",
            "went on",
            "workload executed",
            "Sleeping",
        ]
        assert await bench.runs("second") == 1
        job = await bench.job("first")
        assert (job.step, job.waiting, job.in_progress, job.runs) == ("", 0, False, 1)


async def test_a_bug_in_one_job_does_not_stop_the_others(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(run: FakeRun) -> None:
        await draft(run)
        raise KeyError("oops")

    FakeRun.plays = {"broken": broken}

    async def story() -> None:
        await bench.start("broken", every="10s")
        await bench.start("sound", every="10s")
        await bench.time.let_pass(11)

        assert (await bench.log("broken"))[:5] == [
            "Starting worker",
            "drafted",
            says("KeyError", "oops"),
            "workload executed",
            "Sleeping",
        ]
        job = await bench.job("broken")
        assert (job.runs, job.failures) == (2, 2)
        assert len(await bench.store.read_mempool("broken")) == 2
        assert await bench.runs("sound") == 2

    worker = bench.worker()
    with caplog.at_level(logging.ERROR, "scenarioctl.worker"):
        async with play(bench, worker):
            await story()
    assert worker.counts.bugs == 2
    record = next(
        record for record in caplog.records if "a bug showed in job broken" in record.getMessage()
    )
    assert record.exc_info
    assert record.exc_info[0] is KeyError


async def test_a_failed_step_counts_and_the_job_pauses_after_so_many(bench: Bench) -> None:
    async def failing(run: FakeRun) -> None:
        run.failure = "no route"
        run.lines.append(f"{NO_TRANSACTION}: no route")

    FakeRun.plays = {"one": failing}

    async with play(bench, bench.worker()):
        await bench.start("one", every="10s", pause_after=2)
        await bench.time.let_pass(60)

        assert await bench.log("one") == [
            "Starting worker",
            says("generate", "transaction"),
            says("failed", "route"),
            "workload executed",
            "Sleeping",
            says("generate", "transaction"),
            says("failed", "route"),
            "workload executed",
            says("Paused", "2"),
        ]
        job = await bench.job("one")
        assert (job.state, job.failures, job.reason, job.due) == (
            JobState.PAUSED,
            2,
            "no route",
            None,
        )


async def test_a_run_that_takes_too_long_has_failed_and_keeps_what_it_drafted(bench: Bench) -> None:
    async def slow(run: FakeRun) -> None:
        await draft(run)
        await asyncio.sleep(3600)

    FakeRun.plays = {"one": slow}

    async with play(bench, bench.worker()):
        await bench.start("one", every="1h", timeout="1s")
        await bench.time.let_pass(1)
        # Its limit is the event loop's, whose clock is real.
        await asyncio.sleep(1.05)
        await settle()

        sentence = "the run took longer than its timeout of 1s"
        assert await bench.log("one") == [
            *("Starting worker", "drafted", says("failed", sentence)),
            *("workload executed", "Sleeping"),
        ]
        job = await bench.job("one")
        assert (job.failures, job.reason) == (1, sentence)
        assert len(await bench.store.read_mempool("one")) == 1


async def test_times_that_come_during_a_run_are_skipped_and_said(bench: Bench) -> None:
    async def slow(run: FakeRun) -> None:
        await run.app.sleep(25)

    FakeRun.plays = {"one": slow}

    async with play(bench, bench.worker()):
        await bench.start("one", every="10s")
        await bench.time.let_pass(26)

        assert (await bench.written("one"))[-2:] == [
            (25, says("2", "longer")),
            (25, "Sleeping"),
        ]
        assert (await bench.job("one")).due == START + 30 * SECOND


async def test_a_first_run_comes_however_late_a_worker_does(bench: Bench) -> None:
    await bench.start("one", every="12h", catchup="1m")
    bench.time.now += 2 * HOUR

    async with play(bench, bench.worker()):
        await bench.time.let_pass(1)

        assert await bench.log("one") == [
            "Starting worker",
            "drafted",
            "workload executed",
            "Sleeping",
        ]
        assert (await bench.job("one")).due == START + 12 * HOUR


async def test_after_a_long_downtime_it_is_left_out(bench: Bench) -> None:
    await bench.start("one", every="10m", catchup="1m")
    await bench.worker().run_next()
    bench.time.now += 23 * MINUTE

    async with play(bench, bench.worker()):
        await bench.time.let_pass(1)

        assert (await bench.log("one"))[4:] == [
            says("2", "planned"),
            "Sleeping",
        ]
        job = await bench.job("one")
        assert (job.runs, job.due) == (1, START + 30 * MINUTE)
        await bench.time.let_pass(7 * 60)

        assert (await bench.log("one"))[6:] == ["drafted", "workload executed", "Sleeping"]


async def test_a_run_that_a_crash_cut_off_is_run_again_however_late(bench: Bench) -> None:
    await bench.start("one", every="12h", catchup="1m")
    await bench.begin("one", "crashed")
    bench.time.now += 3 * HOUR
    bench.time.passed += 3 * HOUR

    async with play(bench, bench.worker()):
        await bench.time.let_pass(1)

        assert await bench.log("one") == [
            "Starting worker",
            says("attempt", "interrupted"),
            "drafted",
            "workload executed",
            "Sleeping",
        ]


async def test_a_run_whose_job_was_started_anew_is_given_up(bench: Bench) -> None:
    cancelled = []

    async def slow(run: FakeRun) -> None:
        try:
            await run.app.sleep(3600)
        except asyncio.CancelledError:
            cancelled.append(run.id)
            raise

    FakeRun.plays = {"one": slow}

    async with play(bench, bench.worker()):
        await bench.start("one", every="12h")
        await bench.time.let_pass(1)
        await bench.stop("one")
        FakeRun.plays = {}
        await bench.start("one", scenario=False, every="1h")
        await bench.time.let_pass(4)

        assert cancelled == ["one"]
        assert await bench.log("one") == [
            *("Job stopped", "Starting worker"),
            *("drafted", "workload executed", "Sleeping"),
        ]


async def test_a_worker_that_was_frozen_alone_goes_on_with_its_runs(bench: Bench) -> None:
    begun = 0

    async def slow(run: FakeRun) -> None:
        nonlocal begun
        begun += 1
        await run.app.sleep(60)

    FakeRun.plays = {"slow": slow}

    async with play(bench, bench.worker()):
        await bench.start("slow", every="12h")
        await bench.start("other", every="10s")
        await bench.time.let_pass(1)
        # All that was to happen meanwhile happens at once, the claim before the renewal.
        bench.time.now += 30 * SECOND
        bench.time.passed += 30 * SECOND
        await bench.time.let_pass(60)

        assert begun == 1
        assert await bench.log("slow") == ["Starting worker", "workload executed", "Sleeping"]


async def test_a_worker_without_runs_is_seen_now_and_then_with_what_its_clock_is_ahead(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.app, "clock", lambda: bench.time.clock() + SECOND // 2)
    worker = bench.worker()

    async with play(bench, worker):
        (first,) = await bench.store.list_workers()
        await bench.time.let_pass(70)
        (later,) = await bench.store.list_workers()

        assert (first.version, first.clock_offset, first.running) == (__version__, None, 0)
        assert (later.clock_offset, later.is_silent) == (SECOND // 2, False)
        assert 50 * SECOND < later.seen - first.seen < 70 * SECOND


async def test_leases_of_a_dead_worker_are_freed_at_once(bench: Bench) -> None:
    ended = subprocess.Popen([sys.executable, "-c", "pass"])
    ended.wait()
    host, boot, namespace, _, _, _ = new_owner().split(":")

    await bench.start("one", every="1h")
    owner = f"{host}:{boot}:{namespace}:{ended.pid}:1:dead"
    await bench.begin("one", owner)

    async with play(bench, bench.worker()):
        await settle()
        await bench.time.let_pass(0.1)

        assert await bench.runs("one") == 1


async def test_a_leg_whose_beginning_was_never_answered_is_freed_at_the_next_renewal(
    bench: Bench,
) -> None:
    worker = bench.worker()
    await bench.start("one")
    await bench.begin("one", worker.owner)

    await worker.legs.renew()

    assert await bench.store.leg_owners() == set()
    await bench.app.close()


async def test_a_leg_whose_beginning_is_answered_late_is_not_freed_meanwhile(bench: Bench) -> None:
    begin = bench.store.begin_due

    answered = asyncio.Event()

    async def begin_slowly(limit: int, *, owner: str) -> list[Leg]:
        begun = await begin(limit, owner=owner)
        await answered.wait()
        return begun

    bench.store.begin_due = begin_slowly  # type: ignore[method-assign]
    worker = bench.worker()
    await bench.start("one")
    beginning = asyncio.create_task(worker.legs.begin_due(1))
    await settle()
    for _ in range(2):
        await worker.legs.renew()
    answered.set()
    assert await beginning == 1
    await asyncio.gather(*worker.legs.tasks())

    assert await bench.runs("one") == 1
    await bench.app.close()


async def test_who_is_silent_is_not_judged_for_a_lease_after_the_store_was_away(
    bench: Bench,
) -> None:
    worker = bench.worker()
    await bench.start("one")
    await bench.begin("one", "another")
    bench.time.passed += round(worker.pace.lease * 2 * SECOND)
    renew = bench.store.renew_lease

    async def refuse(*_: object, **__: object) -> None:
        raise StoreUnavailable("the store is away")

    bench.store.renew_lease = refuse  # type: ignore[method-assign,assignment]
    with pytest.raises(StoreUnavailable):
        await worker.legs.renew()
    bench.store.renew_lease = renew  # type: ignore[method-assign]

    assert not await worker.legs.take_over()
    bench.time.passed += round(worker.pace.lease * SECOND)
    assert await worker.legs.take_over()
    await bench.app.close()


async def test_a_clock_that_is_set_back_does_not_stop_the_jobs(bench: Bench) -> None:
    async with play(bench, bench.worker()):
        await bench.start("interval", every="10s")
        await bench.scenario("cron")
        schedule = read_schedule(cron="* * * * *")
        await bench.store.start_job(
            Job(
                id="cron",
                state=JobState.RUNNING,
                schedule=schedule,
                changed=START,
                due=START + 60 * SECOND,
                planned=START + 60 * SECOND,
            )
        )
        await bench.time.let_pass(25)
        bench.time.now -= 400 * DAY
        await bench.time.let_pass(121)

        assert await bench.runs("interval") == 3 + 12
        assert await bench.runs("cron") == 2


async def test_a_time_that_comes_again_after_the_clock_was_set_back_is_left_out(
    bench: Bench,
) -> None:
    await bench.start("one", every="1h")
    leg = await bench.begin("one", "me")
    ended = FinishedRun(
        job="one",
        epoch=leg.job.epoch,
        planned=START,
        started=START,
        finished=START,
        due=START,
        next_planned=START,
    )
    assert await bench.store.finish_run(ended, retention=Retention())

    async with play(bench, bench.worker()):
        await bench.time.let_pass(1)

        assert await bench.log("one") == [says("planned", "before"), "Sleeping"]
        assert len(await bench.store.last_runs("one", limit=5)) == 1
        assert (await bench.job("one")).due == START + HOUR


async def test_a_run_is_kept_as_soon_as_the_store_takes_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    trouble: Exception | None = None
    finish, find = bench.store.finish_run, bench.store.next_ring

    async def finish_run(*args: Any, **kwargs: Any) -> bool:
        if trouble:
            raise trouble
        return await finish(*args, **kwargs)

    async def next_ring() -> Any:
        if trouble:
            raise trouble
        return await find()

    monkeypatch.setattr(bench.store, "finish_run", finish_run)
    monkeypatch.setattr(bench.store, "next_ring", next_ring)

    async def slow(run: FakeRun) -> None:
        await run.app.sleep(2)
        await draft(run)

    FakeRun.plays = {"slow": slow}

    async def story() -> None:
        nonlocal trouble
        await bench.start("slow", every="1h")
        await bench.time.let_pass(1)
        trouble = InvalidRequest("store 's.db' is out of disk space; nothing was changed")
        await bench.start("later", every="1h")
        await bench.time.let_pass(30)
        assert await bench.log("slow") == []
        trouble = None
        await bench.time.let_pass(20)

        assert (await bench.log("slow")) == [
            "Starting worker",
            "drafted",
            "workload executed",
            "Sleeping",
        ]
        assert await bench.runs("later") == 1

    with caplog.at_level(logging.ERROR, "scenarioctl.worker"):
        async with play(bench, bench.worker()):
            await story()
    said = [record.getMessage() for record in caplog.records]
    # Not at every look: it backs off.
    assert 4 < len(said) < 20
    assert said[0] == says("0.2", "s.db")


async def test_what_the_store_cannot_take_is_left_out_and_the_job_goes_on(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = bench.store.finish_run

    async def finish_run(run: Any, **kwargs: Any) -> bool:
        if run.drafts:
            raise TypeError("impossible")
        return await finish(run, **kwargs)

    monkeypatch.setattr(bench.store, "finish_run", finish_run)

    async def story() -> None:
        await bench.start("one", every="10s")
        await bench.time.let_pass(5)

        assert await bench.log("one") == [
            says("TypeError", "impossible"),
            "workload executed",
            "Sleeping",
        ]
        assert (await bench.job("one")).due == START + 10 * SECOND

    async with play(bench, bench.worker()):
        await story()


async def test_a_scenario_that_is_deleted_after_its_run_began_takes_nothing_along(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    async def slow(run: FakeRun) -> None:
        await run.app.sleep(5)

    FakeRun.plays = {"gone": slow}
    worker = bench.worker(pace=Pace(grace=0.1, renew=6))

    async def story() -> None:
        await bench.start("gone", every="10s")
        await bench.start("here", every="10s")
        await bench.time.let_pass(1)
        with pytest.raises(Conflict):
            await bench.store.delete_scenario("gone")
        await bench.stop("gone")
        await bench.store.delete_scenario("gone")
        await bench.time.let_pass(24)

        assert await bench.runs("here") == 3
        assert worker.counts.lost == 1

    with caplog.at_level(logging.WARNING, "scenarioctl.worker"):
        async with play(bench, worker):
            await story()
    assert [record.getMessage() for record in caplog.records] == [says("scenario", "stopped")]


async def test_nothing_of_a_worker_goes_on_after_its_stop(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = 0

    async def upgraded(run: FakeRun) -> None:
        await draft(run)
        run.drafts = [replace(run.drafts[0], spec_version=bench.time.now // SECOND)]

    async def look() -> None:
        nonlocal looked
        looked += 1
        await asyncio.sleep(3600)

    FakeRun.plays = {"one": upgraded}
    worker = bench.worker()
    monkeypatch.setattr(worker._draft_checks, "check", look)

    stop = asyncio.Event()
    task = asyncio.create_task(worker.run(stop))
    await bench.start("one", every="10s")
    await bench.time.let_pass(12)
    assert looked == 1
    stop.set()
    await asyncio.wait_for(task, 60)

    assert asyncio.all_tasks() == {asyncio.current_task()}
    await bench.app.close()


async def test_a_stop_lets_runs_end_and_touches_none_that_waits(bench: Bench) -> None:
    async def soon(run: FakeRun) -> None:
        await asyncio.sleep(0.05)
        run.lines.append("ended")

    async def late(run: FakeRun) -> Wait | None:
        return Wait(step="webhook 6f1c", seconds=3600)

    FakeRun.plays = {"soon": soon, "late": late}
    worker = bench.worker(pace=Pace(grace=60))

    stop = asyncio.Event()
    task = asyncio.create_task(worker.run(stop))
    await bench.start("soon", every="1h")
    await bench.start("late", every="1h")
    await bench.time.let_pass(1)
    assert await bench.store.has_worker()
    stop.set()
    await asyncio.wait_for(task, 60)

    assert await bench.log("soon") == ["Starting worker", "ended", "workload executed", "Sleeping"]
    assert await bench.log("late") == ["Starting worker"]
    job = await bench.job("late")
    assert (job.owner, job.step, job.due) == ("", "webhook 6f1c", START + 3600 * SECOND)
    assert not await bench.store.has_worker()
    await bench.app.close()


async def test_a_run_that_is_run_again_is_for_the_same_time(bench: Bench) -> None:
    async def stuck(run: FakeRun) -> None:
        await asyncio.sleep(3600)

    async def serve(worker: Worker, seconds: int) -> None:
        stop = asyncio.Event()
        task = asyncio.create_task(worker.run(stop))
        await bench.time.let_pass(seconds)
        stop.set()
        await asyncio.wait_for(task, 60)

    await bench.start("one", every="10m")
    bench.time.now += 25 * MINUTE
    FakeRun.plays = {"one": stuck}
    await serve(bench.worker(), 10)
    FakeRun.plays = {}
    bench.time.now += 10 * MINUTE
    await serve(bench.worker(), 10)

    assert await bench.log("one") == [
        "Starting worker",
        says("attempt", "interrupted"),
        says("2", "missed"),
        "drafted",
        "workload executed",
        says("1", "skipped"),
        "Sleeping",
    ]
    assert [run.planned for run in await bench.store.last_runs("one", limit=5)] == [
        START + 20 * MINUTE
    ]
    await bench.app.close()


async def test_a_run_that_waits_is_over_at_its_timeout(bench: Bench) -> None:
    async def waiting(run: FakeRun) -> Wait | None:
        return Wait(step="webhook 6f1c", seconds=3600)

    FakeRun.plays = {"one": waiting}

    async with play(bench, bench.worker()):
        await bench.start("one", every="12h", timeout="30s")
        await bench.time.let_pass(29)
        assert (await bench.job("one")).waiting == 1
        await bench.time.let_pass(2)

        assert (await bench.log("one"))[1:] == [
            says("longer", "30s"),
            "workload executed",
            "Sleeping",
        ]


async def test_a_stop_does_not_wait_for_ever(bench: Bench) -> None:
    async def stuck(run: FakeRun) -> None:
        await asyncio.sleep(3600)

    FakeRun.plays = {"stuck": stuck}
    worker = bench.worker(pace=Pace(grace=0.1))

    stop = asyncio.Event()
    task = asyncio.create_task(worker.run(stop))
    await bench.start("stuck", every="1h")
    await bench.time.let_pass(1)
    stop.set()
    await asyncio.wait_for(task, 60)

    assert (await bench.job("stuck")).due == START
    await bench.app.close()


async def test_a_schedule_whose_time_zone_is_gone_pauses_its_job(bench: Bench) -> None:
    async with play(bench, bench.worker()):
        await bench.scenario("one")
        schedule = Schedule(every=0, cron="* * * * *", timezone="Atlantis/Poseidonis")
        await bench.store.start_job(
            Job(
                id="one",
                state=JobState.RUNNING,
                schedule=schedule,
                changed=START,
                due=START,
                planned=START,
            )
        )
        await bench.start("other", every="10s")
        await bench.time.let_pass(11)

        assert (await bench.log("one"))[-1] == says("Paused", "next")
        assert (await bench.job("one")).state is JobState.PAUSED
        assert await bench.runs("other") == 2


async def test_drafts_for_an_older_runtime_are_flagged_in_list_and_log(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:

    asked: list[tuple[str, int, int]] = []
    newest = 1

    async def current_spec(app: Application, chain: str) -> int | None:
        return {"polkadot": newest}.get(chain)

    async def judge_drafts(app: Application, chain: str, spec_version: int, txs: Any) -> list[str]:
        asked.append((chain, spec_version, len(txs)))
        return ["its index has moved" if tx == "0x02" else "" for tx in txs]

    from scenarioctl.worker import chores

    monkeypatch.setattr(chores, "current_spec_version", current_spec)
    monkeypatch.setattr(chores, "judge_drafts", judge_drafts)
    object.__setattr__(bench.app.settings, "offline", False)

    async def two(run: FakeRun) -> None:
        for chain, tx in (("polkadot", "0x01"), ("polkadot", "0x02"), ("gone", "0x03")):
            run.drafts.append(
                MempoolDraft(
                    chain=chain,
                    amount="0",
                    tx_type="Remark",
                    date=START,
                    tx=tx,
                    spec_version=1,
                    expires=START,
                )
            )

    FakeRun.plays = {"one": two}

    async with play(bench, bench.worker()):
        await bench.start("one", every="12h")
        await bench.time.let_pass(31)
        assert asked == []
        newest = 2
        await bench.time.let_pass(60)

        flags = [entry.flag for entry in await bench.store.read_mempool("one")]
        assert flags == ["", "its index has moved", ""]
        assert (await bench.log("one"))[-1] == says("Remark", "2026-09-21T14:13:20.000000000Z")
        # Each was compared once.
        assert asked == [("polkadot", 1, 2)]


async def test_what_is_older_than_the_settings_want_goes_though_its_job_runs_no_more(
    bench: Bench,
) -> None:
    bench.app.settings = replace(bench.app.settings, log_days=1, mempool_days=2, webhook_days=3)
    webhook = "6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d"

    async def kept() -> tuple[int, int, int]:
        events = await bench.store.list_events(webhook)
        return len(await bench.log("one")), len(await bench.store.read_mempool("one")), len(events)

    async with play(bench, bench.worker()):
        await bench.start("one", every="366d")
        await bench.time.let_pass(1)
        await create_flow(
            bench.app,
            CreateFlow(
                flow={"steps": [{"type": "webhook", "name": "hook", "uuid": webhook}]},
                syntax="json",
            ),
        )
        await bench.store.put_event(
            webhook, {"a": 1}, now=bench.time.clock(), retention=Retention()
        )
        seen = [await kept()]
        for _ in range(3):
            # The clock alone: stepping the worker through each second of a day took most of this
            # file's time.
            bench.time.now += DAY
            await bench.time.let_pass(300)
            seen.append(await kept())

        assert seen == [(4, 1, 1), (0, 1, 1), (0, 0, 1), (0, 0, 0)]


async def test_a_worker_runs_what_is_due_once_for_a_test(bench: Bench) -> None:
    await bench.start("one", every="10s")
    worker = bench.worker()

    assert [await worker.run_next(), await worker.run_next()] == [True, False]
    assert await bench.runs("one") == 1
    await bench.app.close()


def test_an_owner_that_lives_is_not_gone() -> None:
    assert not is_gone(new_owner())
    assert new_owner() != new_owner()


def test_an_owner_is_gone_whose_process_is() -> None:
    ended = subprocess.Popen([sys.executable, "-c", "pass"])
    ended.wait()
    host, boot, namespace, pid, start, dice = new_owner().split(":")

    assert is_gone(f"{host}:{boot}:{namespace}:{ended.pid}:{start}:{dice}")
    assert is_gone(f"{host}:{boot}:{namespace}:{pid}:{int(start) + 1}:{dice}")


def test_what_cannot_be_known_of_an_owner_is_left_to_its_lease() -> None:
    ended = subprocess.Popen([sys.executable, "-c", "pass"])
    ended.wait()
    host, boot, namespace, _, start, dice = new_owner().split(":")
    process = f"{ended.pid}:{start}:{dice}"

    # The same numbers, on another host, after a reboot, in another container.
    assert not is_gone(f"another:{boot}:{namespace}:{process}")
    assert not is_gone(f"{host}:another:{namespace}:{process}")
    assert not is_gone(f"{host}:{boot}:1:{process}")
    assert not is_gone("somebody else")
    assert not is_gone("")


def test_a_zombie_is_gone() -> None:
    host, boot, namespace, _, _, dice = new_owner().split(":")
    child = subprocess.Popen([sys.executable, "-c", "pass"], stdout=subprocess.PIPE)
    start = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[19]
    assert child.stdout is not None
    child.stdout.read()
    child.stdout.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    try:
        assert is_gone(f"{host}:{boot}:{namespace}:{child.pid}:{start}:{dice}")
    finally:
        child.wait()


def test_without_proc_the_process_number_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = subprocess.Popen([sys.executable, "-c", "pass"])
    ended.wait()
    for name in ("_boot", "_namespace"):
        monkeypatch.setattr(jobs, name, lambda: "-")
    monkeypatch.setattr(jobs, "_start", lambda pid: "-")

    assert not is_gone(new_owner())
    host = new_owner().partition(":")[0]
    assert is_gone(f"{host}:-:-:{ended.pid}:-:dice")
