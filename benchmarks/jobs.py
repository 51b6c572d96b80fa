"""Jobs in bulk: 10 000 that are due in the same minute, what they cost, and what an idle worker
costs.

`python -m benchmarks.jobs [JOBS]`; everything runs in a process of its own, whose CPU time is what
is counted.
"""

import asyncio
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.model.jobs import SECOND, Job, JobState, Schedule
from scenarioctl.operations.creation import CreateRemark, create_remark
from scenarioctl.stores import StoredScenario
from scenarioctl.worker.worker import Worker

#: Seconds over which the jobs are due: all in the same minute.
MINUTE = 60.0


def main() -> None:
    jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        for name, spread in (("spread over a minute", MINUTE), ("all at once", 0.0)):
            figures = asyncio.run(run_jobs(Path(folder) / f"{spread}.db", jobs, spread))
            print(f"{jobs} trivial jobs due {name}: {json.dumps(figures)}", flush=True)
        print(
            f"idle worker, {jobs} jobs stored: "
            f"{json.dumps(asyncio.run(idle(Path(folder) / '0.0.db')))}"
        )


def application(path: Path) -> Application:
    return Application(
        load_settings({"offline": True, "store": path, "cache": path.parent}, {}), served=True
    )


async def run_jobs(path: Path, jobs: int, spread: float) -> dict[str, float]:
    """Run *jobs* remarks once; return seconds, CPU, and how late they began."""
    app = application(path)
    await prepare(app, jobs, spread)
    worker, stop = Worker(app), asyncio.Event()
    begun, used = time.monotonic(), cpu()
    task = asyncio.create_task(worker.run(stop))
    while worker.counts.executed < jobs and time.monotonic() - begun < 10 * MINUTE:
        await asyncio.sleep(0.1)
    seconds, spent = time.monotonic() - begun, cpu() - used
    stop.set()
    await task
    late = await lateness(app)
    await app.close()
    return {
        "seconds": round(seconds, 1),
        "cpu_seconds": round(spent, 2),
        "ms_cpu_per_job": round(spent / jobs * 1000, 2),
        "percent_of_a_core_over_a_minute": round(spent / MINUTE * 100, 1),
        "late_p50": late[len(late) // 2],
        "late_max": late[-1],
        "mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


async def put_remarks(app: Application, count: int) -> None:
    """Store *count* remarks, from `job-0` on."""
    made = await create_remark(app, CreateRemark(chain="polkadot", text="hello"))
    blob = (await app.store.get_scenario(made.answer["result"])).blob
    await app.store.put_scenarios(
        StoredScenario(
            id=f"job-{number}",
            blob=blob,
            summary="Remark",
            chains=("polkadot",),
            created=number,
            updated=number,
        )
        for number in range(count)
    )


async def prepare(app: Application, jobs: int, spread: float) -> None:
    await put_remarks(app, jobs)
    # By then all are started.
    start = app.clock() + SECOND // 2 + jobs * SECOND // 2000
    await asyncio.gather(
        *(
            app.store.start_job(
                Job(
                    id=f"job-{number}",
                    state=JobState.RUNNING,
                    schedule=Schedule(),
                    changed=start,
                    due=start + round(spread * number / jobs * SECOND),
                    planned=start + round(spread * number / jobs * SECOND),
                )
            )
            for number in range(jobs)
        )
    )
    await asyncio.sleep(max(0.0, (start - app.clock()) / SECOND))


async def lateness(app: Application) -> list[float]:
    """Return by how many seconds each run began after its planned time."""
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(app.settings.store)) as database:
        rows = database.execute("SELECT started - planned FROM runs").fetchall()
    return sorted(round(late / SECOND, 3) for (late,) in rows)


async def idle(path: Path, seconds: float = 20.0) -> dict[str, float]:
    """Return what a worker uses that has nothing to do."""
    app = application(path)
    worker, stop = Worker(app), asyncio.Event()
    task = asyncio.create_task(worker.run(stop))
    await asyncio.sleep(2)
    begun, used = time.monotonic(), cpu()
    await asyncio.sleep(seconds)
    spent = (cpu() - used) / (time.monotonic() - begun)
    stop.set()
    await task
    await app.close()
    return {"percent_of_a_core": round(spent * 100, 2)}


def cpu() -> float:
    """Return the CPU seconds of this process, all its threads."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
