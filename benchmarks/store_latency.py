"""What a store answers in, by how much it holds.

    python -m benchmarks.store_latency [FOLDER]

FOLDER is where the stores are made (default: the system's temporary folder); it decides how long a
put takes, since each waits for the disk.
"""

import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scenarioctl.stores import StoredScenario, open_store
from scenarioctl.stores.store import Store

SIZES = (1_000, 10_000, 100_000)
ROUNDS = 300

_CHAINS = ("polkadot", "assetHub", "hydraDx")
_RARE = "kusama"

_LOOP = asyncio.Runner()


@dataclass(frozen=True, kw_only=True)
class Latency:
    """How long one kind of question took, in milliseconds."""

    question: str
    median: float
    p99: float


def make_scenario(number: int) -> StoredScenario:
    """Return the scenario of this *number*: alike on every run, its blob as long as one of a
    transfer."""
    dice = random.Random(number)
    source, target = dice.sample(_CHAINS, 2)
    return StoredScenario(
        id=f"{dice.getrandbits(40):010x}-{number}",
        blob=dice.randbytes(dice.randint(600, 1400)),
        summary=f"{source} > xTransfer > {target}",
        chains=(source, target, _RARE) if number % 1000 == 0 else (source, target),
        created=1_763_000_000_000_000_000 + number,
        updated=1_763_000_000_000_000_000 + number,
    )


def fill(store: Store, start: int, end: int) -> None:
    """Put the scenarios from number *start* up to *end*, in one transaction."""
    _run(store.put_scenarios(make_scenario(number) for number in range(start, end)))


def measure(path: Path, held: int, rounds: int = ROUNDS) -> tuple[Latency, ...]:
    """Ask the store at *path*, which holds the scenarios up to number *held*, everything *rounds*
    times.

    What the questions put is deleted again.
    """
    dice = random.Random(held)
    known = [make_scenario(dice.randrange(held)).id for _ in range(rounds)]
    fresh = [
        replace(make_scenario(held + number), id=f"fresh-{number}") for number in range(rounds)
    ]
    store = open_store(path)
    cursor = _run(store.list_scenarios(limit=min(1000, held // 2), sort="id")).next

    async def open_and_get(number: int) -> None:
        one = open_store(path)
        await one.get_scenario(known[number])
        await one.close()

    questions: dict[str, Callable[[int], Coroutine[Any, Any, object]]] = {
        "open, get, close": open_and_get,
        "get": lambda number: store.get_scenario(known[number]),
        "put": lambda number: store.put_scenario(fresh[number]),
        "replace": lambda number: store.put_scenario(fresh[number], replace=True),
        "delete": lambda number: store.delete_scenario(fresh[number].id),
        "stats of a chain": lambda _: store.count_scenarios("polkadot"),
        "list 50, newest": lambda _: store.list_scenarios(descending=True),
        "list 50, further on": lambda _: store.list_scenarios(sort="id", after=cursor),
        "list 50, of a chain": lambda _: store.list_scenarios(chain="hydraDx", descending=True),
        "list 50, of a rare chain": lambda _: store.list_scenarios(chain=_RARE, descending=True),
    }
    # These look at everything that matches; they are here to know the price.
    dear: dict[str, Callable[[int], Coroutine[Any, Any, object]]] = {
        "list 50, of a chain by summary": lambda _: store.list_scenarios(
            chain="hydraDx", sort="summary"
        ),
        "search": lambda number: store.list_scenarios(search=known[number]),
    }
    latencies = [_time(question, ask, rounds) for question, ask in questions.items()]
    latencies += [_time(question, ask, max(3, rounds // 20)) for question, ask in dear.items()]
    _run(store.close())
    return tuple(latencies)


def measure_sizes(
    folder: Path, sizes: tuple[int, ...] = SIZES
) -> Iterator[tuple[int, tuple[Latency, ...]]]:
    """Grow one store in *folder* to each of *sizes* and measure it there."""
    path = folder / "scenarios.db"
    held = 0
    for size in sizes:
        store = open_store(path)
        fill(store, held, size)
        _run(store.close())
        held = size
        yield size, measure(path, held)


def main() -> None:
    """Print a table: milliseconds, median and 99th percentile, at each size."""
    parent = sys.argv[1] if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        columns = dict(measure_sizes(Path(folder)))
    print(f"{'ms: median / p99':32}" + "".join(f"{size:>20,}" for size in columns))
    for row in zip(*columns.values(), strict=True):
        print(
            f"{row[0].question:32}"
            + "".join(f"{one.median:>11.3f} /{one.p99:>7.3f}" for one in row)
        )


def _time(question: str, ask: Callable[[int], Coroutine[Any, Any, object]], rounds: int) -> Latency:
    taken = []
    for number in range(rounds):
        start = time.perf_counter_ns()
        _run(ask(number))
        taken.append(time.perf_counter_ns() - start)
    taken.sort()
    return Latency(
        question=question,
        median=taken[rounds // 2] / 1e6,
        p99=taken[min(rounds - 1, rounds * 99 // 100)] / 1e6,
    )


def _run(work: Coroutine[Any, Any, Any]) -> Any:
    return _LOOP.run(work)


if __name__ == "__main__":
    main()
