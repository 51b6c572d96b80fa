"""What workers do with both bells, by example: over the embedded store and over procrastinate."""

import asyncio
import random
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.actions import running
from scenarioctl.actions.step_kind import Wait
from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.errors import StoreBusy
from scenarioctl.model.jobs import SECOND, Job, JobState, Retention
from scenarioctl.operations.creation import CreateRemark, create_remark
from scenarioctl.operations.jobs import StartJob, start_job
from scenarioctl.schedules import read_schedule
from scenarioctl.stores import StoredScenario, open_store
from scenarioctl.stores.store import Store
from scenarioctl.worker.chores import Pace
from scenarioctl.worker.worker import Worker
from tests.messages import says
from tests.slow_server import slow_step
from tests.test_jobs import REMARK, diagram
from tests.test_kills import stop_in_the_middle
from tests.test_worker import FakeRun, draft

pytestmark = pytest.mark.processes

#: Seconds that anything may take on a machine that is busy with other tests.
PATIENCE = 60.0
UUID = "6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d"
#: Seconds: short ones, since the clocks of engines can't be moved.
LEASE = 2.0
PACE = Pace(lease=LEASE, renew=LEASE / 6, owners=LEASE / 8, poll=0.2, grace=0.2, retry=0.05)

#: A worker in a process of its own; the arguments are its store and the lease.
PROCESS = """
import asyncio, signal, sys
from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.stores import open_store
from scenarioctl.worker.chores import Pace
from scenarioctl.worker.worker import Worker

async def main():
    settings = load_settings({"offline": True, "private_targets": ["127.0.0.1"]})
    app = Application(settings, served=True)
    location, lease = sys.argv[1], float(sys.argv[2])
    app.resources.store = open_store(location, **({"pool": 4} if "://" in location else {}))
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    pace = Pace(lease=lease, renew=lease / 6, owners=lease / 8, poll=0.2, retry=0.05)
    worker = Worker(app, pace=pace)
    print("ready", flush=True)
    await worker.run(stop)
    await app.close()
    print(worker.counts.executed, worker.counts.lost, flush=True)

asyncio.run(main())
"""


class Place:
    """A store that several workers serve, each as a process of its own would."""

    def __init__(self, folder: Path, *, location: str) -> None:
        self.folder = folder
        #: A path or a URL.
        self.location = location
        self._apps: list[Application] = []

    def open(self) -> Application:
        """Return an application of one more process."""
        app = Application(
            load_settings(
                {"offline": True, "store": self.folder / "s.db", "cache": self.folder}, {}
            )
        )
        app.resources.store = self._open_store()
        self._apps.append(app)
        return app

    def _open_store(self) -> Store:
        if "://" in self.location:
            return open_store(self.location, pool=4)
        return open_store(self.location)

    async def close(self) -> None:
        for app in self._apps:
            await app.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setattr(running, "Run", FakeRun)
    monkeypatch.setattr(FakeRun, "plays", {})
    return make_place(request.param, tmp_path)


def make_place(kind: str, folder: Path) -> Place:
    location = str(folder / "s.db")
    if kind == "postgresql":
        from tests import postgres

        location = postgres.shared_database()
        postgres.empty_tables(location)
    return Place(folder, location=location)


class Stage:
    """Workers that run, and what a story does with their jobs."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.app = place.open()
        self._stops: dict[Worker, tuple[asyncio.Event, asyncio.Task[None]]] = {}

    async def work(self, app: Application | None = None, **fields: Any) -> Worker:
        """Start a worker."""
        fields.setdefault("pace", PACE)
        worker = Worker(app or self.place.open(), **fields)
        stop = asyncio.Event()
        self._stops[worker] = stop, asyncio.create_task(worker.run(stop))
        await until(self.app.store.has_worker)
        return worker

    async def stop(self, worker: Worker) -> None:
        stop, task = self._stops.pop(worker)
        stop.set()
        await asyncio.wait_for(task, PATIENCE)

    async def close(self) -> None:
        for worker in list(self._stops):
            await self.stop(worker)
        await self.place.close()

    async def start(
        self,
        id: str,
        *,
        after: float = 0.0,
        every: str = "1h",
        scenario: bool = True,
        webhook: str = "",
    ) -> None:
        """Start a job that is due in so many seconds."""
        if scenario:
            made = await create_remark(self.app, CreateRemark(chain="polkadot", text="hello"))
            blob = (await self.app.store.get_scenario(made.answer["result"])).blob
            await self.app.store.put_scenario(
                StoredScenario(
                    id=id,
                    blob=blob,
                    summary="Remark",
                    chains=(),
                    created=1,
                    updated=1,
                    webhooks=(webhook,) if webhook else (),
                )
            )
        now = self.app.clock()
        due = now + round(after * SECOND)
        job = Job(
            id=id,
            state=JobState.RUNNING,
            schedule=read_schedule(every=every),
            changed=now,
            due=due,
            planned=due,
        )
        assert await self.app.store.start_job(job)

    async def job(self, id: str) -> Job:
        job = await self.app.store.get_job(id)
        assert job is not None
        return job

    async def log(self, id: str) -> list[str]:
        return [line.text for line in await self.app.store.read_log(id)]

    async def ran(self, *ids: str) -> bool:
        return all([(await self.job(id)).runs for id in ids])


async def until(condition: Callable[[], Awaitable[bool]], *, seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not await condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


@asynccontextmanager
async def on_stage(place: Place) -> AsyncIterator[Stage]:
    stage = Stage(place)
    try:
        yield stage
    finally:
        await stage.close()


async def test_a_run_that_the_store_does_not_answer_is_repeated_and_has_not_failed(
    place: Place,
) -> None:
    attempts = []

    async def ask(run: FakeRun) -> None:
        attempts.append(run.id)
        if len(attempts) == 1:
            raise StoreBusy("store s.db is locked")
        await draft(run)

    FakeRun.plays = {"one": ask}

    async with on_stage(place) as stage:
        await stage.work()
        await stage.start("one")
        await until(lambda: stage.ran("one"))

        assert await stage.log("one") == [
            *("Starting worker", "The last attempt at this run was interrupted; running it again"),
            *("drafted", "workload executed", "Sleeping"),
        ]
        assert (await stage.job("one")).failures == 0


async def test_a_start_in_another_process_is_noticed_soon(place: Place) -> None:
    async with on_stage(place) as stage:
        await stage.work()
        await stage.start("one")

        await until(lambda: stage.ran("one"))


async def test_any_number_of_runs_may_wait(place: Place) -> None:
    ids = [f"waits-{number}" for number in range(40)]
    came = asyncio.Event()

    async def waiting(run: FakeRun) -> Wait | None:
        return None if came.is_set() else Wait(step="webhook 6f1c", seconds=0.3)

    FakeRun.plays = dict.fromkeys(ids, waiting)

    async with on_stage(place) as stage:
        worker = await stage.work(capacity=1)
        for id in (*ids, "other"):
            await stage.start(id)

        async def all_wait() -> bool:
            return await stage.ran("other") and all([(await stage.job(id)).waiting for id in ids])

        await until(all_wait)
        came.set()
        await until(lambda: stage.ran(*ids))

        async def is_idle() -> bool:
            return worker.running == 0

        await until(is_idle)


async def test_an_event_wakes_the_run_that_waits_for_it(place: Place) -> None:
    """A worker that never saw the run wait goes on with it."""

    async def story(stage: Stage) -> None:
        worker = await stage.work()
        await stage.start("one", webhook=UUID)

        async def waits() -> bool:
            return (await stage.job("one")).waiting > 0

        await until(waits)
        await stage.stop(worker)
        await stage.app.store.put_event(
            UUID, {"a": 1}, now=stage.app.clock(), retention=Retention()
        )
        await stage.work()
        await until(lambda: stage.ran("one"))

        assert await stage.log("one") == [
            "Starting worker",
            "waits",
            "went on",
            "workload executed",
            "Sleeping",
        ]

    async def waiting(run: FakeRun) -> Wait | None:
        if not run.leg:
            run.lines.append("waits")
            return Wait(step="webhook", seconds=3600, webhook=UUID)
        run.lines.append("went on")
        return None

    FakeRun.plays = {"one": waiting}
    async with on_stage(place) as stage:
        await story(stage)


async def test_a_stop_gives_its_legs_back_and_another_worker_takes_them_again_at_once(
    place: Place,
) -> None:
    began: list[str] = []

    async def begin(run: FakeRun) -> None:
        began.append(run.id)
        run.say("Asking")
        if len(began) == 1:
            await asyncio.sleep(3600)

    FakeRun.plays = {"one": begin}

    async with on_stage(place) as stage:
        worker = await stage.work()
        await stage.start("one")

        async def asks() -> bool:
            return bool(began)

        await until(asks)
        await stage.stop(worker)
        job = await stage.job("one")
        assert (job.owner, job.step, job.state) == ("", "", JobState.RUNNING)
        assert not await stage.app.store.has_worker()

        second = await stage.work()
        await until(lambda: stage.ran("one"))
        assert await stage.log("one") == [
            *("Starting worker", says("attempt", "interrupted")),
            *("Asking", "workload executed", "Sleeping"),
        ]
        assert (worker.counts.taken_over, second.counts.taken_over) == (0, 1)


# -- workers that are killed and frozen


class Processes:
    """Workers that are processes."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._all: list[subprocess.Popen[str]] = []

    def start(self) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-c", PROCESS, self._place.location, str(LEASE)],
            stdout=subprocess.PIPE,
            text=True,
        )
        self._all.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    def end(self, process: "subprocess.Popen[str]") -> tuple[int, int]:
        """Stop it, and return how many runs it has executed and lost."""
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        executed, lost = map(int, process.stdout.read().split())
        assert process.wait(PATIENCE) == 0
        return executed, lost

    def close(self) -> None:
        for process in self._all:
            if process.poll() is None:
                process.kill()
                process.wait()
            assert process.stdout is not None
            process.stdout.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def shared_place(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Place:
    return make_place(request.param, tmp_path)


@pytest.fixture
def processes(shared_place: Place) -> Iterator[Processes]:
    started = Processes(shared_place)
    yield started
    started.close()


async def start_slow(stage: Stage, seconds: float, *, every: str = "1h") -> str:
    """Start a job whose runs draft and then ask for so many seconds; return its id."""
    id = await diagram(stage.app, REMARK, slow_step(seconds))
    await start_job(stage.app, StartJob(id=id, every=every))
    return id


async def holder(stage: Stage, id: str) -> int:
    """Return the process that runs the job; 0 if none does."""
    owner = (await stage.job(id)).owner
    return int(owner.split(":")[3]) if owner else 0


async def freeze_one(
    stage: Stage, workers: "list[subprocess.Popen[str]]", ids: list[str]
) -> "subprocess.Popen[str]":
    """Freeze a worker that has runs in progress, and return it."""
    location = stage.place.location
    while True:
        holders = [await holder(stage, id) for id in ids]
        for worker in workers:
            if worker.pid not in holders:
                continue
            if "://" not in location:
                # Unless it is writing: SQLite has one writer, for whom all others wait.
                if stop_in_the_middle(worker, Path(location)):
                    return worker
                continue
            worker.send_signal(signal.SIGSTOP)
            if worker.pid in [await holder(stage, id) for id in ids]:
                return worker
            worker.send_signal(signal.SIGCONT)
        await asyncio.sleep(0.02)


async def check_runs(stage: Stage, ids: list[str]) -> int:
    """Say that each run left all that it leaves, once; return how many there were."""
    total = 0
    for id in ids:
        runs = await stage.app.store.last_runs(id, limit=1000)
        total += len(runs)
        assert len({run.planned for run in runs}) == len(runs)
        assert [(run.drafts, run.failure) for run in runs] == [(1, "")] * len(runs)
        log = await stage.log(id)
        assert log.count("Starting worker") == 1
        assert log.count("workload executed") == log.count("Sleeping") == len(runs)
        assert len(await stage.app.store.read_mempool(id)) == len(runs)
    return total


@pytest.mark.one_python
async def test_a_run_of_a_killed_worker_is_taken_over_and_says_so(
    shared_place: Place, processes: Processes
) -> None:
    async with on_stage(shared_place) as stage:
        workers = {worker.pid: worker for worker in (processes.start(), processes.start())}
        id = await start_slow(stage, 2.0)

        async def is_held() -> bool:
            return await holder(stage, id) in workers

        await until(is_held)
        dead = workers.pop(await holder(stage, id))
        dead.kill()
        killed = time.monotonic()
        await until(is_held)
        # A killed process is known to be gone; on a busy machine that is seen a little later.
        assert time.monotonic() - killed < 10 * LEASE
        await until(lambda: stage.ran(id))
        assert await check_runs(stage, [id]) == 1
        assert says("attempt", "interrupted") in await stage.log(id)
        assert [processes.end(worker) for worker in workers.values()] == [(1, 0)]


@pytest.mark.one_python
async def test_a_frozen_worker_keeps_nothing_of_what_another_has_done(
    shared_place: Place, processes: Processes
) -> None:
    async with on_stage(shared_place) as stage:
        workers = [processes.start() for _ in range(2)]
        ids = [await start_slow(stage, 0.3, every="1s") for _ in range(6)]
        frozen = await freeze_one(stage, workers, ids)
        try:

            async def is_taken_over() -> bool:
                return all([await holder(stage, id) != frozen.pid for id in ids])

            # The server first ends what the frozen one had begun.
            await until(is_taken_over, seconds=2 * PATIENCE)
        finally:
            frozen.send_signal(signal.SIGCONT)
        # It finds out when it ends the run that it had: before any job has run thrice more.
        counts = {id: (await stage.job(id)).runs for id in ids}

        async def have_gone_on() -> bool:
            return all([(await stage.job(id)).runs > counts[id] + 2 for id in ids])

        await until(have_gone_on)
        told = [processes.end(worker) for worker in workers]

        assert await check_runs(stage, ids) == sum(executed for executed, _ in told)
        assert sum(lost for _, lost in told) > 0


@pytest.mark.one_python
async def test_after_random_kills_nothing_is_lost_or_repeated(
    shared_place: Place, processes: Processes
) -> None:
    async with on_stage(shared_place) as stage:
        ids = [await start_slow(stage, 0.1, every="1s") for _ in range(6)]
        dice = random.Random(7)
        workers = [processes.start() for _ in range(2)]
        for _ in range(2):
            await asyncio.sleep(dice.uniform(0.2, 1.0))
            victim = workers.pop(dice.randrange(2))
            victim.kill()
            workers.append(processes.start())
        runs = [(await stage.job(id)).runs for id in ids]

        async def have_gone_on() -> bool:
            return all(
                [(await stage.job(id)).runs > before for id, before in zip(ids, runs, strict=True)]
            )

        await until(have_gone_on)
        for worker in workers:
            processes.end(worker)
        assert await check_runs(stage, ids) >= len(ids)
