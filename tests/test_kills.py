"""Daemons that are killed and frozen in the middle of their runs: nothing is lost, nothing is there
twice."""

import asyncio
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from benchmarks.jobs import run_jobs
from scenarioctl.model.jobs import LogLine, MempoolEntry
from scenarioctl.operations.jobs import StartJob, start_job
from scenarioctl.schedules import read_duration
from scenarioctl.stores import open_store
from tests.daemons import PATIENCE, wait_until
from tests.runner import finish
from tests.slow_server import TARGETS, slow_step
from tests.test_jobs import REMARK, application, diagram, node

pytestmark = pytest.mark.processes

#: A worker whose lease is short, so that a test need not wait for the end of a long one.
WORKER = """
import asyncio, signal, sys
from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.worker.worker import Worker
from scenarioctl.worker.chores import Pace

async def main():
    given = {"offline": True, "store": sys.argv[1], "private_targets": ["127.0.0.1"]}
    app = Application(load_settings(given), served=True)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    lease = float(sys.argv[2])
    worker = Worker(app, pace=Pace(lease=lease, renew=lease / 3, owners=lease / 4, poll=0.1))
    print("ready", flush=True)
    await worker.run(stop)
    await app.close()
    print(worker.counts.executed, worker.counts.lost, flush=True)

asyncio.run(main())
"""


class Daemon:
    """A process of `scenarioctl daemon --role worker`."""

    def __init__(self, store: Path) -> None:
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "scenarioctl",
                "daemon",
                "--role",
                "worker",
                "--worker-listen",
                "127.0.0.1:0",
            ],
            env={
                **os.environ,
                "SCENARIOCTL_STORE": str(store),
                "SCENARIOCTL_OFFLINE": "true",
                "SCENARIOCTL_PRIVATE_TARGETS": TARGETS,
                "SCENARIOCTL_LOG_LEVEL": "error",
            },
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        self.said: list[str] = []
        for line in self.process.stderr:
            self.said.append(line)
            if found := re.search(r"127\.0\.0\.1:(\d+)", line):
                self.url = f"http://127.0.0.1:{found[1]}"
                break
        else:
            raise RuntimeError("".join(self.said))
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        self.said += self.process.stderr

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code

    def create(self) -> str:
        """Store a scenario; its id is acknowledged once this returns."""
        # Another diagram each time: one that is stored already would only be named.
        document = {"nodes": [REMARK], "edges": [], "made": os.urandom(8).hex()}
        body = json.dumps({"url": json.dumps(document)}).encode()
        request = urllib.request.Request(
            f"{self.url}/saveUrl", data=body, headers={"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            id: str = json.load(answer)["shortUrl"]
            return id


class Witness:
    """Remembers all that the store has shown, in another process than those that are killed."""

    def __init__(self, path: Path) -> None:
        self._store = open_store(path)
        self.lines: list[LogLine] = []
        self.entries: list[MempoolEntry] = []
        self.scenarios: list[str] = []

    def look(self) -> None:
        # At everything again now and then would find a line that came back changed; at the end it
        # does.
        after = self.lines[-1].seq if self.lines else 0
        self.lines += finish(self._store.read_log(None, after=after))
        after = self.entries[-1].seq if self.entries else 0
        self.entries += finish(self._store.read_mempool(None, after=after))

    def compare(self) -> None:
        """Compare what was seen with what is there now."""
        self.look()
        assert finish(self._store.read_log(None)) == self.lines
        assert finish(self._store.read_mempool(None)) == self.entries
        for id in self.scenarios:
            assert finish(self._store.get_scenario(id)).id == id

    def close(self) -> None:
        finish(self._store.close())


def prepare(
    folder: Path, count: int, *nodes: dict[str, Any], every: str = "1s"
) -> tuple[Path, list[str]]:
    """Return a store with so many jobs that are due."""

    async def story(app: Any) -> list[str]:
        ids = [await diagram(app, *nodes) for _ in range(count)]
        for id in ids:
            await start_job(app, StartJob(id=id, every=every))
        return ids

    with application(folder) as app:
        app.clock = time.time_ns
        ids: list[str] = finish(story(app))
        return Path(app.settings.store), ids


def check_runs(path: Path, ids: list[str], witness: Witness, *, every: str = "1s") -> int:
    """Say that each run left all that it leaves, once; return how many there were."""
    lines = Counter((line.job, line.text) for line in witness.lines)
    drafts = Counter(entry.job for entry in witness.entries)
    with closing(sqlite3.connect(path)) as database:
        runs = database.execute("SELECT job, planned, drafts, failure FROM runs").fetchall()
        waits = dict(database.execute("SELECT id, saved <> '' FROM jobs").fetchall())
    counts = Counter(job for job, *_ in runs)
    assert [(failure, count) for *_, count, failure in runs if failure or count != 1] == []
    assert len({(job, planned) for job, planned, *_ in runs}) == len(runs)
    for job in ids:
        assert counts[job] >= 1
        assert lines[job, "Starting worker"] == 1
        assert lines[job, "workload executed"] == counts[job] == lines[job, "Sleeping"]
        # A run that waits has drafted already.
        assert drafts[job] == counts[job] + waits[job]
    # All planned times of a job lie on its grid.
    step = read_duration(every, field="every")
    for job in ids:
        planned = [time for each, time, *_ in runs if each == job]
        assert {(time - planned[0]) % step for time in planned} == {0}
    return len(runs)


def kill_again_and_again(folder: Path, *, jobs: int, kills: int, longest: float) -> None:
    path, ids = prepare(folder, jobs, REMARK, node("d", "delay", seconds="0.05"), slow_step(0.05))
    witness = Witness(path)
    dice = random.Random(jobs)
    try:
        for _ in range(kills):
            daemon = Daemon(path)
            end = time.monotonic() + dice.uniform(0.02, longest)
            while time.monotonic() < end:
                witness.scenarios.append(daemon.create())
                witness.look()
                time.sleep(0.01)
            daemon.end(signal.SIGKILL)
            witness.look()
        daemon = Daemon(path)
        wait_until(lambda: len(runs_of(path)) == jobs)
        time.sleep(1.2)
        assert daemon.end(signal.SIGTERM) == 0
        assert "Traceback" not in "".join(daemon.said)

        witness.compare()
        assert check_runs(path, ids, witness) >= jobs
    finally:
        witness.close()


def runs_of(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as database:
        return {job for (job,) in database.execute("SELECT DISTINCT job FROM runs")}


@pytest.mark.one_python
def test_a_daemon_that_is_killed_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path, jobs=20, kills=3, longest=0.5)


@pytest.mark.soak
def test_fifty_kills_of_two_hundred_jobs(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path, jobs=200, kills=50, longest=4.0)


def start_worker(path: Path, lease: float) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(path), str(lease)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def stop_in_the_middle(process: "subprocess.Popen[str]", path: Path) -> bool:
    """Freeze a worker that has runs in its hands; False, and it goes on, where it has none at the
    moment.

    Nor where it is just writing: SQLite has one writer, whom all others have to wait for.
    """
    process.send_signal(signal.SIGSTOP)
    # On a busy machine it runs on for a moment, and may begin to write.
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    with closing(sqlite3.connect(path, timeout=0.1, isolation_level=None)) as database:
        held = database.execute(
            "SELECT count(*) FROM jobs WHERE owner LIKE ?", (f"%:{process.pid}:%",)
        ).fetchone()
        try:
            database.execute("BEGIN IMMEDIATE")
            database.execute("ROLLBACK")
        except sqlite3.OperationalError:
            held = (0,)
    if not held[0]:
        process.send_signal(signal.SIGCONT)
        time.sleep(0.05)
    return bool(held[0])


def freeze(folder: Path, *, jobs: int, lease: float, frozen: float, times: int) -> None:
    """Freeze one of two workers in the middle of its runs, longer than its leases hold."""
    path, ids = prepare(folder, jobs, REMARK, slow_step(0.2))
    witness = Witness(path)
    workers = [start_worker(path, lease) for _ in range(2)]
    try:
        for round in range(times):
            victim = workers[round % 2]
            wait_until(lambda victim=victim: stop_in_the_middle(victim, path))  # type: ignore[misc]
            witness.look()
            before = len(witness.entries)
            time.sleep(frozen)

            def is_taken_over(before: int = before) -> bool:
                witness.look()
                return {entry.job for entry in witness.entries[before:]} == set(ids)

            # The other takes over, those in the frozen one's hands too.
            wait_until(is_taken_over)
            victim.send_signal(signal.SIGCONT)
        time.sleep(0.5)
        told = []
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        for worker in workers:
            assert worker.stdout is not None
            told.append([int(word) for word in worker.stdout.read().split()])
            assert worker.wait(PATIENCE) == 0

        witness.compare()
        runs = check_runs(path, ids, witness)
        assert sum(executed for executed, _ in told) == runs
        # What the frozen one had begun was not kept a second time.
        assert sum(lost for _, lost in told) > 0
    finally:
        witness.close()
        for worker in workers:
            if worker.poll() is None:
                worker.kill()
                worker.wait()
            assert worker.stdout is not None
            worker.stdout.close()


@pytest.mark.one_python
def test_a_worker_that_was_frozen_duplicates_nothing(tmp_path: Path) -> None:
    freeze(tmp_path, jobs=10, lease=0.6, frozen=2.0, times=1)


@pytest.mark.soak
def test_a_worker_that_was_frozen_for_thirty_seconds_duplicates_nothing(tmp_path: Path) -> None:
    freeze(tmp_path, jobs=100, lease=10, frozen=30, times=2)


def test_a_thousand_jobs_that_are_due_at_once_run_at_once(tmp_path: Path) -> None:
    figures = asyncio.run(run_jobs(tmp_path / "s.db", 1000, 0.0))

    # Not one after the other, and each by another lease.
    assert figures["late_max"] < 60


@pytest.mark.soak
def test_ten_thousand_jobs_of_a_minute_take_less_than_half_a_core(tmp_path: Path) -> None:
    figures = asyncio.run(run_jobs(tmp_path / "s.db", 10_000, 60.0))

    assert figures["late_max"] < 20
    assert figures["percent_of_a_core_over_a_minute"] < 50


def test_a_graceful_stop_leaves_nothing_to_free(tmp_path: Path) -> None:
    path, ids = prepare(tmp_path, 20, REMARK, node("d", "delay", seconds="0.05"), slow_step(0.05))
    daemon = Daemon(path)
    wait_until(lambda: len(runs_of(path)) == len(ids))

    code = daemon.end(signal.SIGTERM)

    assert code == 0
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT count(*) FROM jobs WHERE owner <> ''").fetchone() == (0,)
