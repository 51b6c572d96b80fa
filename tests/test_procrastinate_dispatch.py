"""What becomes of legs whose bell procrastinate loses or rings late, or whose database goes
away."""

import asyncio
import signal
from functools import partial
from pathlib import Path

import psycopg
import pytest

from scenarioctl.actions import running
from scenarioctl.errors import StoreUnavailable
from scenarioctl.stores.postgres.administration import initialize
from scenarioctl.stores.postgres.connections import ServerSettings
from scenarioctl.worker.chores import Pace
from scenarioctl.worker.worker import Worker
from tests import postgres
from tests.test_dispatch import LEASE, PACE, PATIENCE, Place, Stage, make_place, on_stage, until
from tests.test_worker import FakeRun, draft

pytestmark = pytest.mark.processes


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setattr(running, "Run", FakeRun)
    monkeypatch.setattr(FakeRun, "plays", {})
    return make_place("postgresql", tmp_path)


def execute(statement: str) -> list[tuple[object, ...]]:
    options = "-c search_path=scenarioctl"
    with psycopg.connect(
        postgres.shared_database(), options=options, autocommit=True
    ) as connection:
        done = connection.execute(statement)
        return done.fetchall() if done.description else []


async def test_a_leg_whose_bell_is_lost_is_found_by_a_look(place: Place) -> None:
    async with on_stage(place) as stage:
        await stage.work()
        await stage.start("one", after=4)
        await stage.app.store.close()
        stage.app.resources.store = stage.place._open_store()
        execute("DELETE FROM procrastinate_jobs")

        await until(lambda: stage.ran("one"))


async def test_a_bell_that_a_silent_worker_has_goes_and_what_was_due_runs(place: Place) -> None:
    silent = """
        WITH silent AS (
            INSERT INTO procrastinate_workers (last_heartbeat)
            VALUES (now() - interval '1 minute') RETURNING id
        ) UPDATE procrastinate_jobs SET status = 'doing', worker_id = (SELECT id FROM silent)
    """

    async def is_gone() -> bool:
        return execute("SELECT FROM procrastinate_jobs WHERE status = 'doing'") == []

    async with on_stage(place) as stage:
        await stage.start("one", after=-60)
        await asyncio.sleep(0.2)
        execute(silent)
        await stage.work()

        await until(lambda: stage.ran("one"))
        await until(is_gone)


async def test_a_worker_that_stops_leaves_what_is_due_to_others(place: Place) -> None:
    asked = asyncio.Event()

    async def refuse(*_: object, **__: object) -> None:
        asked.set()
        raise StoreUnavailable("the store is away")

    async with on_stage(place) as stage:
        app = stage.place.open()
        app.store.begin_due = refuse  # type: ignore[method-assign, assignment]
        first = await stage.work(app)
        await stage.start("one")
        await asked.wait()
        await stage.stop(first)
        await stage.work()

        await until(lambda: stage.ran("one"))


async def test_a_worker_runs_what_is_due_once_for_a_test(place: Place) -> None:
    async with on_stage(place) as stage:
        await stage.start("one")
        worker = Worker(stage.place.open(), pace=PACE)

        assert [await worker.run_next(), await worker.run_next()] == [True, False]


async def known(count: int) -> bool:
    """Return whether procrastinate knows so many workers."""
    return execute("SELECT count(*) FROM procrastinate_workers") == [(count,)]


async def test_a_worker_that_procrastinate_has_forgotten_begins_anew(place: Place) -> None:
    async with on_stage(place) as stage:
        await stage.work()
        await until(lambda: known(1))
        execute("DELETE FROM procrastinate_workers")
        await stage.start("one")

        await until(lambda: stage.ran("one"))
        # It is another one to procrastinate.
        await until(lambda: known(1))
        assert await stage.app.store.has_worker()


async def test_a_server_that_is_killed_interrupts_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(running, "Run", FakeRun)
    server = postgres.start_server(durable=True)
    url = server.create_database("killed")
    await initialize(ServerSettings(url=url))
    place = Place(tmp_path, location=url)
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(run: FakeRun) -> None:
        begun.set()
        await go_on.wait()
        await draft(run)

    monkeypatch.setattr(FakeRun, "plays", {"slow": slow})

    async def has_run(stage: Stage) -> bool:
        try:
            return await stage.ran("slow", "next")
        except StoreUnavailable:
            return False

    async def story(stage: Stage) -> None:
        worker = await stage.work(pace=Pace(**{**vars(PACE), "lease": 5 * LEASE}))
        await stage.start("slow")
        await stage.start("next", after=2)
        await asyncio.wait_for(begun.wait(), PATIENCE)
        for _ in range(2):
            await asyncio.to_thread(server.stop, signal.SIGQUIT)
            go_on.set()
            await asyncio.sleep(0.5)
            await asyncio.to_thread(server.start)
        await until(partial(has_run, stage))

        assert await stage.log("slow") == [
            "Starting worker",
            "drafted",
            "workload executed",
            "Sleeping",
        ]
        assert (worker.counts.executed, worker.counts.lost) == (2, 0)
        # An outage is told in sentences.
        assert [record for record in caplog.records if record.exc_info] == []

    try:
        async with on_stage(place) as stage:
            await story(stage)
    finally:
        server.remove()
