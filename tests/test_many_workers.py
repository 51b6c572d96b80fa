"""Several workers on one PostgreSQL, which are killed and frozen while the server itself is killed: each run is kept once."""

import asyncio
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from scenarioctl.operations.jobs import StartJob, start_job
from scenarioctl.stores.postgres.administration import initialize
from scenarioctl.stores.postgres.connections import ServerSettings
from tests import postgres
from tests.runner import finish
from tests.test_dispatch import PROCESS, Place, Stage
from tests.test_jobs import REMARK, diagram, node

LEASE = 2.0
WORKERS = 4


class Crew:
    """Workers as processes, some of them frozen."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._workers = [self._start() for _ in range(WORKERS)]
        #: Each with the time at which it goes on.
        self._frozen: dict[subprocess.Popen[str], float] = {}
        self.kills = self.freezes = 0

    def _start(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", PROCESS, self._url, str(LEASE)], stdout=subprocess.PIPE, text=True
        )

    def trouble(self, dice: random.Random) -> None:
        """Kill a worker and start another one, or freeze one for up to three leases."""
        worker = dice.choice(self._workers)
        if dice.random() < 0.5:
            self._workers.remove(worker)
            self._frozen.pop(worker, None)
            _kill(worker)
            self._workers.append(self._start())
            self.kills += 1
        elif worker not in self._frozen:
            worker.send_signal(signal.SIGSTOP)
            self._frozen[worker] = time.monotonic() + dice.uniform(0.2, 3) * LEASE
            self.freezes += 1

    def thaw(self, *, everyone: bool = False) -> None:
        for worker, until in list(self._frozen.items()):
            if everyone or time.monotonic() > until:
                worker.send_signal(signal.SIGCONT)
                del self._frozen[worker]

    def stop(self) -> list[int]:
        """Stop all of them, and return their exit codes."""
        for worker in self._workers:
            worker.send_signal(signal.SIGTERM)
        return [worker.wait(60) for worker in self._workers]

    def close(self) -> None:
        for worker in self._workers:
            _kill(worker)


def _kill(worker: "subprocess.Popen[str]") -> None:
    worker.kill()
    worker.wait()
    assert worker.stdout is not None
    worker.stdout.close()


@contextmanager
def killable_server() -> Iterator[tuple[postgres.Server, str]]:
    server = postgres.start_server(durable=True)
    try:
        url = server.create_database("workers")
        finish(initialize(ServerSettings(url=url)))
        yield server, url
    finally:
        server.remove()


async def prepare(folder: Path, url: str, jobs: int, every: str) -> list[str]:
    stage = Stage(Place(folder, location=url))
    try:
        ids = []
        for _ in range(jobs):
            ids.append(await diagram(stage.app, REMARK, node("d", "delay", seconds="0.3")))
            await start_job(stage.app, StartJob(id=ids[-1], every=every))
        return ids
    finally:
        await stage.close()


def check(url: str, ids: list[str]) -> int:
    """Say that each run left all that it leaves, once, and no job is forgotten; return how many runs there were."""
    with psycopg.connect(url, options="-c search_path=scenarioctl") as connection:
        runs = connection.execute("SELECT job, planned, drafts, failure FROM runs").fetchall()
        lines = Counter(connection.execute("SELECT job, text FROM log_lines").fetchall())
        drafts = Counter(connection.execute("SELECT job FROM mempool").fetchall())
        # Every job has its next run in the engine, and nobody's is in progress.
        waiting = connection.execute(
            "SELECT count(*) FROM jobs j JOIN procrastinate_jobs p ON p.id = j.dispatch"
            " WHERE j.state = 'running' AND j.owner = '' AND p.status = 'todo'"
        ).fetchone()
    assert [(count, failure) for *_, count, failure in runs if failure or count != 1] == []
    assert len({(job, planned) for job, planned, *_ in runs}) == len(runs)
    counts = Counter(job for job, *_ in runs)
    for id in ids:
        assert counts[id] > 0
        assert lines[id, "Starting worker"] == 1
        assert lines[id, "workload executed"] == drafts[(id,)] == counts[id]
    assert waiting == (len(ids),)
    return len(runs)


def trouble(folder: Path, *, jobs: int, every: str, seconds: float, restarts: int) -> None:
    dice = random.Random(jobs)
    with killable_server() as (server, url):
        ids = asyncio.run(prepare(folder, url, jobs, every))
        crew = Crew(url)
        try:
            for part in range(restarts + 1):
                end = time.monotonic() + seconds / (restarts + 1)
                while time.monotonic() < end:
                    time.sleep(dice.uniform(0.3, 1.5))
                    crew.trouble(dice)
                    crew.thaw()
                if part < restarts:
                    server.stop(signal.SIGQUIT)
                    time.sleep(dice.uniform(0, LEASE))
                    server.start()
            crew.thaw(everyone=True)
            # What the dead had is taken over, and goes on.
            time.sleep(5 * LEASE)
            assert crew.stop() == [0] * WORKERS
        finally:
            crew.close()

        assert check(url, ids) >= len(ids)
        assert crew.kills > 0
        assert crew.freezes > 0


def test_no_run_is_lost_or_repeated_while_workers_and_the_server_are_killed(tmp_path: Path) -> None:
    trouble(tmp_path, jobs=20, every="2s", seconds=12, restarts=1)


@pytest.mark.soak
def test_three_minutes_of_kills_under_five_hundred_jobs(tmp_path: Path) -> None:
    trouble(tmp_path, jobs=500, every="10s", seconds=180, restarts=2)
