"""What one PostgreSQL server can do at most of what all workers share, asked by pgbench, without
Python in between."""

import asyncio
import re
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks import postgres_bare
from benchmarks.postgres_runs import server_seconds
from benchmarks.served_store import make_finished, make_job
from benchmarks.store_latency import make_scenario
from scenarioctl.model.jobs import SECOND, Retention
from scenarioctl.stores import open_store
from scenarioctl.stores.asking import POSTGRES
from scenarioctl.stores.postgres.administration import initialize
from scenarioctl.stores.postgres.connections import ServerSettings
from tests.postgres import RUNTIME, Server, need_programs

CLIENTS = (1, 16)
SECONDS = 4
_INSERT = "INSERT INTO line (text) VALUES ('x');"
#: What one transaction does.
SCRIPTS = {
    "commit a row": _INSERT,
    "commit a row with a NOTIFY": f"{_INSERT} NOTIFY changes;",
    "commit a row under the lock of the numbers": (
        f"{POSTGRES.render('SELECT {lock 1, 0}')}; {_INSERT}"
    ),
    "defer, fetch and finish a row of procrastinate": "",
}
#: Three transactions, as a worker has them.
_DISPATCH = """
SELECT procrastinate_defer_jobs_v1(ARRAY[
    ROW('bare', 'nothing', 0, NULL, NULL, '{"id": "a"}'::jsonb, NULL)
]::procrastinate_job_to_defer_v1[]);
SELECT id FROM procrastinate_fetch_job_v2(ARRAY['bare'], NULL) \\gset
SELECT procrastinate_finish_job_v1(:id, 'succeeded', true);
"""


def main(server: Server) -> None:
    url = server.create_database("ceilings")
    asyncio.run(postgres_bare.defer(url, 1000))
    server.execute(
        "CREATE TABLE line (text text NOT NULL); GRANT ALL ON line TO PUBLIC", database="ceilings"
    )
    print(f"{'transactions/s':50}" + "".join(f"{count:>10} {'clients':8}" for count in CLIENTS))
    for name, statements in SCRIPTS.items():
        script = f"BEGIN; {statements} COMMIT;".replace("; ", ";\n") if statements else _DISPATCH
        rates = [press(url, script, clients) for clients in CLIENTS]
        print(f"{name:50}" + "".join(f"{rate:>10.0f} {'':8}" for rate in rates), flush=True)

    asyncio.run(finish(server))


async def finish(server: Server, count: int = 2000) -> None:
    """Store runs that end one by one, and runs that end together, of which up to 50 share a
    transaction."""
    await initialize(ServerSettings(url=server.create_database("ends")), grant=RUNTIME)
    store = open_store(server.url("ends", user=RUNTIME), pool=4)
    scenarios = [make_scenario(number) for number in range(count)]
    await store.put_scenarios(scenarios)
    for scenario in scenarios:
        await store.start_job(make_job(scenario.id, due=time.time_ns() + 3600 * SECOND))
    for together, size in ((1, count // 4), (50, count - count // 4)):
        server.execute("UPDATE scenarioctl.jobs SET owner = 'me'", database="ends")
        some = [scenarios.pop() for _ in range(size)]
        begun, spent = time.perf_counter(), server_seconds(server)
        for first in range(0, size, together):
            # The next run is soon, and is deferred.
            due = time.time_ns() + 30 * SECOND
            runs = [
                make_finished(each.id, epoch=1, owner="me", due=due)
                for each in some[first : first + together]
            ]
            await asyncio.gather(*(store.finish_run(run, retention=Retention()) for run in runs))
        taken, spent = time.perf_counter() - begun, server_seconds(server) - spent
        print(
            f"store {together:2} runs at once: {size / taken:.0f} runs/s, "
            f"{together * taken / size * 1000:.1f} ms a"
            f" transaction, {spent / size * 1000:.2f} ms of the server's CPU a run",
            flush=True,
        )
    await store.close()


def press(url: str, script: str, clients: int) -> float:
    """Return how often *script* runs in a second."""
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(script)
        file.flush()
        command: list[str | Path] = [
            need_programs() / "pgbench",
            "--no-vacuum",
            "--protocol=prepared",
        ]
        command += [f"--client={clients}", f"--time={SECONDS}", f"--file={file.name}", url]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"tps = ([\d.]+)", told)
    if found is None:
        raise RuntimeError(told)
    return float(found[1])
