"""How long pictures take: cold as a whole process, warm as in a daemon.

python -m benchmarks.preview [ROUNDS]
"""

import asyncio
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from scenarioctl.application import Application
from scenarioctl.config import Settings
from scenarioctl.operations.previews import PreviewScenario, preview_scenario
from scenarioctl.operations.stored_diagrams import store_document

BOB = "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3"
_DOT = {"name": "polkadotDot", "assetId": 0, "symbol": "DOT"}
_SIDES = {
    "source": {"chain": "polkadot", "assetId": 0, "address": BOB, "amount": "1.5", "symbol": "DOT"},
    "target": {"chain": "assetHub", "assetId": 1000, "address": BOB, "symbol": "DOT"},
}
#: The steps of the smallest diagram, over and over in the larger ones.
_STEPS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("webhook", {"webhookName": "payments", "uuid": "6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d"}),
    ("chain", {"chain": "polkadot", "asset": _DOT, "address": BOB, "amount": "1.5"}),
    ("action", {"action": "xTransfer", "actionData": {"actionType": "xTransfer", **_SIDES}}),
    (
        "chain",
        {"chain": "assetHub", "asset": {**_DOT, "assetId": 1000}, "address": BOB, "amount": None},
    ),
    ("delay", {"seconds": 60}),
)
SIZES = (5, 40, 500)
LIMITS = {("cold", 5): 150, ("png", 5): 40, ("png", 500): 2000}


def make_diagram(count: int) -> dict[str, Any]:
    """Return a diagram of so many steps: a chain, or where it is large a graph that branches."""
    dice = random.Random(count)
    nodes = []
    for number in range(count):
        kind, form = _STEPS[number % len(_STEPS)]
        nodes.append({"id": f"n{number}", "type": kind, "formData": form})
    pairs = [
        (number - 1 if count < 10 else dice.randrange(max(0, number - 8), number), number)
        for number in range(1, count)
    ]
    return {"nodes": nodes, "edges": [{"source": f"n{a}", "target": f"n{b}"} for a, b in pairs]}


async def warm(folder: Path, rounds: int) -> None:
    """Time the handler on an event loop, as a daemon runs it."""
    settings = Settings(
        config=folder / "c", store=str(folder / "s.db"), cache=folder / "r", offline=True
    )
    app = Application(settings, served=True)
    try:
        for count in SIZES:
            id = await store_document(app, make_diagram(count))
            for form in ("png", "svg"):
                taken = []
                for _ in range(rounds if count < 100 else max(3, rounds // 6)):
                    start = time.perf_counter()
                    await preview_scenario(app, PreviewScenario(scenario_id=id, format=form))
                    taken.append(time.perf_counter() - start)
                show(f"warm, {count} steps, {form}", taken, LIMITS.get((form, count)))
    finally:
        await app.close()


def cold(folder: Path, rounds: int) -> None:
    """Time whole processes that write a picture of 5 steps to a file."""
    program = str(Path(sys.executable).with_name("scenarioctl"))
    environment = {**os.environ, "HOME": str(folder), "SCENARIOCTL_STORE": str(folder / "cold.db")}

    async def store() -> str:
        app = Application(
            Settings(
                config=folder / "c", store=str(folder / "cold.db"), cache=folder / "r", offline=True
            )
        )
        try:
            return await store_document(app, make_diagram(5))
        finally:
            await app.close()

    id = asyncio.run(store())
    lines = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "cold, 5 steps, png": [program, "scenario", "preview", id, "-o", str(folder / "p.png")],
    }
    for name, line in lines.items():
        taken = [seconds(partial(run, line, environment)) for _ in range(rounds)]
        show(name, taken, LIMITS["cold", 5] if "cold" in name else None)


def run(line: list[str], environment: dict[str, str]) -> None:
    subprocess.run(line, env=environment, check=True, capture_output=True)


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def show(what: str, taken: list[float], limit: int | None) -> None:
    median, least = statistics.median(taken) * 1000, min(taken) * 1000
    wanted = f"   wanted: at most {limit}" if limit else ""
    print(f"{what:28}{median:>9.1f} ms, at best {least:>8.1f}{wanted}", flush=True)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 21
    with tempfile.TemporaryDirectory() as folder:
        cold(Path(folder), rounds)
        asyncio.run(warm(Path(folder), rounds))


if __name__ == "__main__":
    main()
