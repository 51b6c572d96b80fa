"""What the store of a daemon takes and gives on one event loop, per second.

    python -m benchmarks.served_store [FOLDER]

FOLDER is where the store is made (default: the system's temporary folder): its disk decides how
long an fsync takes.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from benchmarks.store_latency import make_scenario
from scenarioctl.model.jobs import (
    SECOND,
    FinishedRun,
    Job,
    JobState,
    Leg,
    MempoolDraft,
    Retention,
    Schedule,
)
from scenarioctl.stores.sqlite.store import SqliteStore

#: Who asks at once, as connections of a daemon do.
CLIENTS = 32
COUNT = 5_000


async def measure(path: Path, count: int = COUNT) -> dict[str, float]:
    """Return how many of each a store at *path* does in a second; writes count once they are on the
    disk."""
    store = SqliteStore(path)
    scenarios = [make_scenario(number) for number in range(count)]
    figures = {
        "put a scenario": await _rate(count, lambda number: store.put_scenario(scenarios[number])),
        "get a scenario": await _rate(
            count, lambda number: store.get_scenario(scenarios[number].id)
        ),
        "start a job": await _rate(
            count, lambda number: store.start_job(make_job(scenarios[number].id))
        ),
        "begin and finish a run": await _run_all(store, count),
        "get a job": await _rate(count, lambda number: store.get_job(scenarios[number].id)),
        "ask whether anything was written": await _rate(count, lambda _: store.change_token()),
    }
    await store.close()
    return figures


async def _rate(count: int, ask: Callable[[int], Awaitable[object]]) -> float:
    numbers = iter(range(count))

    async def client() -> None:
        for number in numbers:
            await ask(number)

    start = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return count / (time.perf_counter() - start)


async def _run_all(store: SqliteStore, count: int) -> float:
    await store.renew_lease("me", lease=3600 * SECOND)
    start = time.perf_counter()
    runs = []
    while begun := await store.begin_due(100, owner="me"):
        runs += [
            asyncio.ensure_future(store.finish_run(_finished(leg), retention=Retention()))
            for leg in begun
        ]
    if not all(await asyncio.gather(*runs)) or len(runs) != count:
        raise RuntimeError("a run was lost")
    return count / (time.perf_counter() - start)


def _finished(leg: Leg) -> FinishedRun:
    return make_finished(leg.job.id, epoch=leg.job.epoch, owner=leg.job.owner, due=2**62)


def make_job(id: str, *, due: int = 1) -> Job:
    return Job(id=id, state=JobState.RUNNING, schedule=Schedule(), changed=1, due=due, planned=due)


def make_finished(id: str, *, epoch: int, owner: str, due: int = 2) -> FinishedRun:
    draft = MempoolDraft(
        chain="polkadot",
        amount="1",
        tx_type="xTransfer",
        date=1,
        tx="0x" + "ab" * 100,
        spec_version=1,
        expires=2,
    )
    return FinishedRun(
        job=id,
        epoch=epoch,
        owner=owner,
        planned=1,
        started=1,
        finished=2,
        lines=("Starting worker", "workload executed", "Sleeping"),
        drafts=(draft,),
        due=due,
        next_planned=due,
    )


def _lines(figures: dict[str, float]) -> Iterator[str]:
    for question, rate in figures.items():
        yield f"{question:34}{rate:>10,.0f} /s"


def main() -> None:
    """Print a table: how many of each in a second."""
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        print("\n".join(_lines(asyncio.run(measure(Path(folder) / "scenarios.db")))))


if __name__ == "__main__":
    main()
