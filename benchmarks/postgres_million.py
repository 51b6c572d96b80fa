"""Lists, searches, counts and creations in a store of many scenarios on PostgreSQL, beside SQLite's
with the same ones."""

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.store_latency import make_scenario
from scenarioctl.stores import StoredScenario, open_store
from scenarioctl.stores.postgres.administration import initialize
from scenarioctl.stores.postgres.connections import ServerSettings
from scenarioctl.stores.rows import write_cursor
from scenarioctl.stores.store import Store
from tests.postgres import RUNTIME, Server

#: Scenarios that one transaction puts.
PORTION = 20_000
ROUNDS = 300
_WORDS = ("payout", "treasury", "bridge", "rebalance", "salary", "grant", "refund", "sweep")

Ask = Callable[[Store, int], Awaitable[object]]


@dataclass(frozen=True, kw_only=True)
class Latency:
    """Milliseconds."""

    median: float
    p99: float

    def __str__(self) -> str:
        return f"{self.median:.2f} / {self.p99:.2f}"


def scenario(number: int) -> StoredScenario:
    """Return the scenario of this *number*, with a name as people give it."""
    word = _WORDS[number % len(_WORDS)]
    return replace(make_scenario(number), name=f"{word} {number * 7919 % 1_000_003:07d}")


def main(server: Server, count: int) -> None:
    """Fill both stores, and print what they answer in."""
    owner = server.create_database("million")
    settings = ServerSettings(url=owner)
    asyncio.run(initialize(settings, grant=RUNTIME))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scenarios.db"
        fill_sqlite(path, count)
        begun = time.perf_counter()
        fill_postgres(path, owner)
        print(f"{count} scenarios: store copy took {time.perf_counter() - begun:.0f} s")
        server.execute("VACUUM ANALYZE", database="million")
        ((size,),) = server.execute("SELECT pg_database_size('million')")
        print(
            f"bytes per scenario: PostgreSQL {size / count:.0f}, SQLite "
            f"{path.stat().st_size / count:.0f}"
        )
        print(f"{'ms: median / p99':40}{'PostgreSQL':>20}{'SQLite':>20}{'ratio':>8}", flush=True)
        url = server.url("million", user=RUNTIME)
        report(url, path, {**quick(count), **creations(count)})


def fill_postgres(path: Path, url: str) -> None:
    program = str(Path(sys.executable).with_name("scenarioctl"))
    subprocess.run(
        [program, "store", "copy", str(path), url], check=True, stdout=subprocess.DEVNULL
    )


def fill_sqlite(path: Path, count: int) -> None:
    async def fill() -> None:
        store = open_store(path)
        for first in range(0, count, PORTION):
            await store.put_scenarios(
                scenario(number) for number in range(first, min(first + PORTION, count))
            )
        await store.close()

    asyncio.run(fill())


def quick(count: int) -> dict[str, Ask]:
    def middle(sort: str = "created") -> str:
        """Return a cursor that half of the scenarios come before."""
        key = (scenario(count // 2).created, count // 2) if sort == "created" else ("8",)
        return write_cursor(sort, *key, descending=sort == "created")

    return {
        "get": lambda store, number: store.get_scenario(scenario(number * 7919 % count).id),
        "stats": lambda store, _: store.count_scenarios(),
        "stats of a chain": lambda store, _: store.count_scenarios("polkadot"),
        "list 50, newest": lambda store, _: store.list_scenarios(descending=True),
        "list 50, newest, half way down": lambda store, _: store.list_scenarios(
            descending=True, after=middle()
        ),
        "list 50, by id, half way down": lambda store, _: store.list_scenarios(
            sort="id", after=middle("id")
        ),
        "list 50, by summary": lambda store, _: store.list_scenarios(sort="summary"),
        "list 50 of a chain, newest": lambda store, _: store.list_scenarios(
            chain="hydraDx", descending=True
        ),
        "list 50 of a chain, half way down": lambda store, _: store.list_scenarios(
            chain="hydraDx", descending=True, after=middle()
        ),
        "list 50 of a rare chain": lambda store, _: store.list_scenarios(
            chain="kusama", descending=True
        ),
        "list 50 of a chain, by summary": lambda store, _: store.list_scenarios(
            chain="hydraDx", sort="summary"
        ),
        "list 50 of a rare chain, by id": lambda store, _: store.list_scenarios(
            chain="kusama", sort="id"
        ),
    }


def creations(count: int) -> dict[str, Ask]:
    return {
        "create": lambda store, number: store.put_scenario(scenario(count + number)),
        "delete": lambda store, number: store.delete_scenario(scenario(count + number).id),
    }


def report(url: str, path: Path, questions: dict[str, Ask]) -> None:
    for question, ask in questions.items():
        ours, yardstick = asyncio.run(measure(url, path, ask, ROUNDS))
        print(
            f"{question:40}{ours!s:>20}{yardstick!s:>20}{ours.median / yardstick.median:>8.1f}",
            flush=True,
        )


async def measure(url: str, path: Path, ask: Ask, rounds: int) -> list[Latency]:
    """Ask both stores in turns."""
    stores = (open_store(url, pool=2), open_store(path))
    taken: tuple[list[float], ...] = ([], [])
    for store in stores:
        # Connects.
        await store.count_scenarios()
    for number in range(rounds):
        for store, times in zip(stores, taken, strict=True):
            begun = time.perf_counter()
            await ask(store, number)
            times.append((time.perf_counter() - begun) * 1000)
    for store in stores:
        await store.close()
    return [_latency(times) for times in taken]


def _latency(times: list[float]) -> Latency:
    times.sort()
    return Latency(
        median=times[len(times) // 2], p99=times[min(len(times) - 1, round(len(times) * 0.99) - 1)]
    )
