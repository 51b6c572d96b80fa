"""Runs on PostgreSQL that wait for a webhook need no worker: their events are answered by whichever
there is later."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks import postgres_waits
from benchmarks.postgres_runs import worker
from scenarioctl.stores.postgres.administration import initialize
from scenarioctl.stores.postgres.connections import ServerSettings
from tests import daemons, postgres

pytestmark = pytest.mark.processes

WAITS = 200


def test_waiting_runs_need_no_worker_and_each_event_is_answered_once(tmp_path: Path) -> None:
    server, name = postgres.shared_server(), f"waits{time.time_ns()}"
    asyncio.run(
        initialize(ServerSettings(url=server.create_database(name)), grant=postgres.RUNTIME)
    )
    store = server.url(name, user=postgres.RUNTIME)
    postgres_waits.prepare(server, name, WAITS)

    def held() -> list[Any]:
        rows = (
            "SELECT id FROM jobs WHERE owner <> '' OR due < extract(epoch FROM now()) * 1e9 "
            "UNION ALL SELECT id::text FROM procrastinate_jobs"
        )
        return server.execute(f"SET search_path = scenarioctl; {rows}", database=name)

    with worker(tmp_path / "first", store) as killed:
        postgres_waits.wait_for(server, name, WAITS)
        # A row of the queue goes a moment after its run has begun to wait.
        daemons.wait_until(lambda: not held())
        killed.process.kill()
        killed.process.wait()
    # No process, no row of the queue.
    assert held() == []
    line = ("--role", "api", "--offline", "--store", store)
    with daemons.daemon(tmp_path / "api", *line, listen=("--listen", "127.0.0.1:0")) as api:
        early, late = range(0, WAITS, 4), range(1, WAITS, 4)
        for number in early:
            postgres_waits.post(api.port(), number)
        with worker(tmp_path / "second", store):
            for number in late:
                postgres_waits.post(api.port(), number)

            answered = sorted(f"job-{number}" for number in (*early, *late))
            ended = "SELECT job FROM scenarioctl.runs WHERE failure = '' ORDER BY job"
            daemons.wait_until(lambda: len(server.execute(ended, database=name)) >= len(answered))
    for rows in (ended, "SELECT job FROM scenarioctl.mempool ORDER BY job"):
        assert [job for (job,) in server.execute(rows, database=name)] == answered
    assert postgres_waits.waiting(server, name) == WAITS - len(answered)
