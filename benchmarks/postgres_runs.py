"""Occurrences per second of trivial jobs on PostgreSQL, and what a run costs its server."""

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks import postgres_bare
from benchmarks.http import cpu_seconds
from benchmarks.jobs import put_remarks
from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.model.jobs import SECOND, Job, JobState, Schedule
from scenarioctl.stores import open_store
from scenarioctl.stores.postgres.administration import initialize
from scenarioctl.stores.postgres.connections import ServerSettings
from tests import daemons
from tests.postgres import RUNTIME, Server

#: Jobs, or tasks, that are due all the time: so many that no worker waits, and so few that a fetch
#: of procrastinate takes as long as with a hundred.
BACKLOG = 400
#: Nanoseconds between two planned times of a job: 4 000 occurrences a second are offered.
EVERY = SECOND // 10
#: Before something is counted, and while it is.
WARM_UP, SECONDS = 2.0, 10.0
#: Tables that grow with each run.
GROWING = ("log_lines", "mempool", "runs")


@dataclass(frozen=True, kw_only=True)
class Rates:
    """Occurrences per second."""

    #: The first run of each job, which has a `STARTING` line of its own to store.
    first: float
    later: float


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What one of many runs costs the server."""

    wal_bytes: float
    #: The part of them that are whole pages, each written when it is first changed after a
    #: checkpoint.
    page_bytes: float
    commits: float
    dead_rows: float
    table_bytes: float
    server_cpu_ms: float
    worker_cpu_ms: float


def measure_bare(server: Server, workers: int) -> tuple[float, float]:
    """Return tasks per second of procrastinate alone, and the CPU milliseconds of one, those of the
    server with it."""
    name = f"bare{time.time_ns()}"
    url = server.create_database(name)
    asyncio.run(postgres_bare.defer(url, BACKLOG))
    with ExitStack() as stack:
        command = [sys.executable, "-c", postgres_bare.PROGRAM, "worker", url]
        processes = [
            stack.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            for _ in range(workers)
        ]
        for process in processes:
            read_line(process)
            tell(process)
        time.sleep(WARM_UP)
        begun, done, spent = count_done(server, processes)
        time.sleep(SECONDS)
        ended, all_done, all_spent = count_done(server, processes)
        for process in processes:
            assert process.stdin is not None
            process.stdin.close()
    server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
    return (all_done - done) / (ended - begun), (all_spent - spent) / (all_done - done) * 1000


def count_done(
    server: Server, processes: "list[subprocess.Popen[str]]"
) -> tuple[float, float, float]:
    """Return the time, how many tasks the workers have run, and the CPU seconds so far, those of
    the server with them."""
    for process in processes:
        tell(process)
    told = [[float(word) for word in read_line(process).split()] for process in processes]
    return (
        time.time(),
        sum(done for done, _ in told),
        sum(used for _, used in told) + server_seconds(server),
    )


def tell(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("go on\n")
    process.stdin.flush()


def read_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def measure_runs(server: Server, workers: int) -> tuple[Rates, Cost]:
    """Let daemons run jobs that are due more often than they can be run."""
    name = f"runs{time.time_ns()}"
    asyncio.run(initialize(ServerSettings(url=server.create_database(name)), grant=RUNTIME))
    url = server.url(name, user=RUNTIME)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        pids = [
            stack.enter_context(worker(Path(folder) / str(number), url)).process.pid
            for number in range(workers)
        ]
        start = asyncio.run(prepare(url, BACKLOG))
        while (done := first_runs(server, name)) < BACKLOG:
            if time.time() > start / SECOND + BACKLOG:
                raise RuntimeError(f"only {done} of {BACKLOG} jobs have run")
            time.sleep(0.5)
        time.sleep(WARM_UP)
        before = Usage.read(server, name, pids)
        time.sleep(SECONDS)
        after = Usage.read(server, name, pids)
    # Without the first and the last tenth: by the clock of the runs, since the last of a batch may
    # not be stored yet.
    ends = server.execute(
        "SELECT min(finished) AS ended FROM scenarioctl.runs GROUP BY job ORDER BY ended",
        database=name,
    )
    begun, ended = (ends[BACKLOG * tenths // 10][0] for tenths in (1, 9))
    server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
    return (
        Rates(
            first=0.8 * BACKLOG / ((ended - begun) / SECOND),
            later=(after.runs - before.runs) / (after.at - before.at),
        ),
        after.since(before),
    )


@contextmanager
def worker(home: Path, url: str) -> Iterator[daemons.Daemon]:
    with daemons.daemon(
        home,
        *("--role", "worker", "--offline", "--store", url),
        listen=("--worker-listen", "127.0.0.1:0"),
    ) as running:
        yield running
        running.end()


async def prepare(url: str, jobs: int) -> int:
    """Start *jobs* remarks, and return when all are due."""
    app = Application(load_settings({"offline": True, "store": url}, {}))
    app.resources.store = store = open_store(url, pool=8)
    await put_remarks(app, jobs)
    start = app.clock() + 5 * SECOND + jobs * SECOND // 20
    each = asyncio.Semaphore(8)

    async def begin(number: int) -> None:
        async with each:
            await store.start_job(
                Job(
                    id=f"job-{number}",
                    state=JobState.RUNNING,
                    schedule=Schedule(every=EVERY),
                    changed=start,
                    due=start,
                    planned=start,
                )
            )

    await asyncio.gather(*(begin(number) for number in range(jobs)))
    if app.clock() > start:
        raise RuntimeError("the jobs were due before all were started")
    await app.close()
    return start


def first_runs(server: Server, name: str) -> int:
    ((count,),) = server.execute(
        "SELECT count(*) FROM scenarioctl.tallies WHERE runs > 0", database=name
    )
    return int(count)


def server_seconds(server: Server) -> float:
    """Return the CPU seconds of the processes that the server has now."""
    assert server.process is not None
    pid, seconds = server.process.pid, 0.0
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with suppress(FileNotFoundError, ProcessLookupError):
            seconds += cpu_seconds(int(child))
    return seconds


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What a server and the workers have used so far."""

    at: float
    runs: int
    wal: int
    pages: int
    commits: int
    dead: int
    size: int
    server_cpu: float
    worker_cpu: float

    @classmethod
    def read(cls, server: Server, name: str, pids: list[int]) -> "Usage":
        sizes = " + ".join(f"pg_total_relation_size('scenarioctl.{table}')" for table in GROWING)
        ((runs, wal, pages, commits, dead, size),) = server.execute(
            "SELECT (SELECT coalesce(sum(runs), 0) FROM scenarioctl.tallies), "
            "pg_current_wal_lsn() - '0/0'::pg_lsn,"
            " (SELECT wal_fpi FROM pg_stat_wal), (SELECT xact_commit FROM pg_stat_database "
            "WHERE datname ="
            # Each updated or deleted row leaves one behind for vacuum.
            " current_database()), (SELECT sum(n_tup_upd + n_tup_del) FROM pg_stat_user_tables),"
            f" {sizes}",
            database=name,
        )
        return cls(
            at=time.time(),
            runs=int(runs),
            wal=int(wal),
            pages=int(pages),
            commits=int(commits),
            dead=int(dead),
            size=int(size),
            server_cpu=server_seconds(server),
            worker_cpu=sum(cpu_seconds(pid) for pid in pids),
        )

    def since(self, before: "Usage") -> Cost:
        runs = self.runs - before.runs
        return Cost(
            wal_bytes=(self.wal - before.wal) / runs,
            page_bytes=(self.pages - before.pages) * 8192 / runs,
            commits=(self.commits - before.commits) / runs,
            dead_rows=(self.dead - before.dead) / runs,
            table_bytes=(self.size - before.size) / runs,
            server_cpu_ms=(self.server_cpu - before.server_cpu) / runs * 1000,
            worker_cpu_ms=(self.worker_cpu - before.worker_cpu) / runs * 1000,
        )
