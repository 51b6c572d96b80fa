"""Runs that wait for a webhook: what a worker needs for many of them, and how soon an event becomes
a draft.

All runs go through their first leg in one worker.  Then events arrive at a rate that is far below
what a worker can do: this is about time, and not about load.  Tasks of procrastinate are deferred
on the same server meanwhile, at the same rate, so that other work on the machine hits both alike.
"""

import asyncio
import http.client
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg

from benchmarks import postgres_bare
from benchmarks.postgres_runs import read_line, tell, worker
from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.model.jobs import Job, JobState, Schedule
from scenarioctl.stores import StoredScenario, open_store
from scenarioctl.stores.postgres.administration import initialize
from scenarioctl.stores.postgres.connections import ServerSettings
from tests import daemons
from tests.postgres import RUNTIME, Server

#: Events, or tasks, a second.
RATE = 25
#: Seconds between two looks for drafts.
_LOOK = 0.005
#: Seconds in which nothing more comes to wait, or is answered.
_PATIENCE = 120.0
_AT_ONCE = 1000
#: The first job has been started as users do.  The others are rows like its own.
_COPY = """
    INSERT INTO scenarioctl.jobs SELECT (
        jsonb_populate_record(j, jsonb_build_object('id', 'job-' || number))
    ).*
    FROM scenarioctl.jobs AS j, generate_series(1, {last}) AS number WHERE j.id = 'job-0'
"""


@dataclass(frozen=True, kw_only=True)
class Waits:
    """What was measured."""

    #: Seconds until all runs waited.
    settled: float
    #: MB of the worker's memory when a hundredth of the runs waited, when all did, and when the
    #: events were answered.
    memory: tuple[float, float, float]
    #: Seconds from each event to its draft, and from each task to its end.
    events: list[float]
    tasks: list[float]

    @property
    def growth(self) -> float:
        return max(self.memory) - self.memory[0]


def measure(server: Server, count: int, events: int) -> Waits:
    """Let *count* runs wait, and wake some of them by *events*; AssertionError if one isn't
    answered, or another one is."""
    name = f"waits{time.time_ns()}"
    asyncio.run(initialize(ServerSettings(url=server.create_database(name)), grant=RUNTIME))
    url = server.url(name, user=RUNTIME)
    prepare(server, name, count)
    with tempfile.TemporaryDirectory() as folder:
        begun = time.monotonic()
        with (
            worker(Path(folder) / "worker", url) as working,
            daemons.daemon(
                Path(folder) / "api",
                *("--role", "api", "--offline", "--store", url),
                listen=("--listen", "127.0.0.1:0"),
            ) as api,
        ):
            wait_for(server, name, count // 100)
            memory = [resident(working.process.pid)]
            wait_for(server, name, count)
            settled = time.monotonic() - begun
            memory.append(resident(working.process.pid))
            # Each of them once, from all over the table.
            numbers = [number * count // events for number in range(events)]
            with ThreadPoolExecutor(1) as beside:
                bare = beside.submit(measure_tasks, server, events)
                answered = answer(server, name, api.port(), numbers)
                tasks = bare.result()
            memory.append(resident(working.process.pid))
            wait_for(server, name, count - events, count - events)
    server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
    return Waits(
        settled=settled, memory=(memory[0], memory[1], memory[2]), events=answered, tasks=tasks
    )


def quantiles(seconds: Sequence[float]) -> tuple[float, float]:
    """Return the median and the 99th percentile."""
    return statistics.median(seconds), statistics.quantiles(seconds, n=100)[98]


def webhook(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000000"


def prepare(server: Server, name: str, count: int) -> None:
    """Store *count* jobs, from `job-0` on, each of which waits for its webhook and then drafts a
    remark.  All are due."""
    asyncio.run(_put(server.url(name, user=RUNTIME), count))
    server.execute(_COPY.format(last=count - 1), database=name)
    server.execute("ANALYZE", database=name)


async def _put(url: str, count: int) -> None:
    app = Application(load_settings({"offline": True, "store": url}, {}))
    app.resources.store = store = open_store(url, pool=2)
    async for some in _scenarios(app, count):
        await store.put_scenarios(some)
    now = app.clock()
    job = Job(
        id="job-0", state=JobState.RUNNING, schedule=Schedule(), changed=now, due=now, planned=now
    )
    await store.start_job(job)
    await app.close()


async def _scenarios(app: Application, count: int) -> AsyncIterator[list[StoredScenario]]:
    from scenarioctl.model.diagram import read_diagram
    from scenarioctl.operations.stored_diagrams import pack_diagram

    for first in range(0, count, _AT_ONCE):
        some = []
        for number in range(first, min(first + _AT_ONCE, count)):
            document = {
                "nodes": [
                    {
                        "id": "w",
                        "type": "webhook",
                        "formData": _WEBHOOK | {"uuid": webhook(number)},
                    },
                    {
                        "id": "r",
                        "type": "action",
                        "formData": {"action": "Remark", "actionData": _REMARK},
                    },
                ],
                "edges": [{"id": "e", "source": "w", "target": "r"}],
            }
            diagram = read_diagram(document, field="diagram")
            packed = pack_diagram(app, json.dumps(document).encode(), diagram)
            some.append(replace(packed, id=f"job-{number}"))
        yield some


_WEBHOOK = {"webhookName": "w", "timeout": "86400"}
_REMARK = {
    "actionType": "remark",
    "source": {"chain": "polkadot", "target": "hello"},
    "target": {"chain": "polkadot"},
}


def waiting(server: Server, name: str) -> int:
    """Return how many runs wait."""
    ((count,),) = server.execute(
        "SELECT count(*) FROM scenarioctl.jobs WHERE waiting > 0", database=name
    )
    return int(count)


def wait_for(server: Server, name: str, least: int, most: float = math.inf) -> None:
    """Wait until that many runs wait."""
    before, at = -1, time.monotonic()
    while not least <= (now := waiting(server, name)) <= most:
        if now != before:
            before, at = now, time.monotonic()
        assert time.monotonic() < at + _PATIENCE, f"{now} runs wait, expected {least} to {most}"
        time.sleep(0.2)


def resident(pid: int) -> float:
    """Return the memory of a process that isn't shared with files, in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) / 1024


def post(port: int, number: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=daemons.PATIENCE)
    try:
        head = {"Content-Type": "application/json"}
        connection.request(
            "POST", f"/webhook/{webhook(number)}", json.dumps({"number": number}), head
        )
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
    finally:
        connection.close()


def answer(server: Server, name: str, port: int, numbers: Sequence[int]) -> list[float]:
    """Send the events of these jobs, and return after how many seconds each had its draft."""
    sent: dict[str, float] = {}
    drafted: dict[str, float] = {}
    begun = time.monotonic()
    with (
        ThreadPoolExecutor(8) as clients,
        psycopg.connect(server.url(name, user=RUNTIME), autocommit=True) as connection,
    ):
        posts = []
        at = last = 0
        while len(drafted) < len(numbers):
            now = time.monotonic()
            while at < len(numbers) and now >= begun + at / RATE:
                sent[f"job-{numbers[at]}"] = now
                posts.append(clients.submit(post, port, numbers[at]))
                at += 1
            rows = connection.execute(
                "SELECT seq, job FROM scenarioctl.mempool WHERE seq > %s ORDER BY seq", (last,)
            ).fetchall()
            for seq, job in rows:
                last = seq
                assert job in sent, f"{job} has a draft, and got no event"
                assert job not in drafted, f"{job} has two drafts"
                drafted[job] = time.monotonic()
            assert now < begun + len(numbers) / RATE + _PATIENCE, (
                f"{len(drafted)} events are answered"
            )
            time.sleep(_LOOK)
        for each in posts:
            each.result()
    return sorted(drafted[job] - sent[job] for job in sent)


def measure_tasks(server: Server, count: int) -> list[float]:
    """Return the seconds from the deferral of each of *count* tasks to its end, of procrastinate
    alone."""
    name = f"bare{time.time_ns()}"
    url = server.create_database(name)
    asyncio.run(postgres_bare.defer(url, 0))
    command = [sys.executable, "-c", postgres_bare.PROGRAM, "taker", url]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        read_line(process)
        tell(process)
        asyncio.run(postgres_bare.defer_at(url, count, RATE))
        taken = (
            "SELECT extract(epoch FROM ended.at - deferred.at)::float8 FROM "
            "procrastinate_events AS deferred"
            " JOIN procrastinate_events AS ended USING (job_id) WHERE deferred.type = "
            "'deferred' AND ended.type = 'succeeded'"
        )
        deadline = time.monotonic() + _PATIENCE
        while len(rows := server.execute(taken, database=name)) < count:
            assert time.monotonic() < deadline, f"{len(rows)} tasks have ended"
            time.sleep(0.2)
        assert process.stdin is not None
        process.stdin.close()
    server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
    return sorted(seconds for (seconds,) in rows)
