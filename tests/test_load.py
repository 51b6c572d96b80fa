"""A daemon under load: every request is answered once, every job runs once, and the memory stays
what it was.

Times are printed, as rows of a table, and not judged: what else the machine does is not the
daemon's fault.  `make soak` runs the large sizes, and judges what they use of a core and the share
of a bare server's rate in the same run.
"""

import asyncio
import itertools
import os
import sqlite3
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from benchmarks.http import ACCOUNT, SCENARIO, TRANSFER, cpu_seconds, request_bytes
from tests.daemons import Daemon, daemon, wait_until

pytestmark = pytest.mark.acceptance

Tell = Callable[[str], None]

#: Megabytes by which a daemon may be larger after its requests than after the first tenth of them:
#: it is 4 to 6, by how its threads take turns.
GROWTH = 12
#: Megabytes that an idle daemon may take: it is 111 to 113, and more with threads for more
#: processors.
IDLE = 130
CONNECTIONS = 32
#: Files that a daemon may open once it has work, most of them for long reads.  A leak leaves one
#: for each connection.
OPENED = CONNECTIONS // 2


@contextmanager
def loaded(home: Path) -> Iterator[tuple[Daemon, Path]]:
    """Start a daemon, and give it with the path of its store."""
    store = home / "scenarios.db"
    with daemon(home, "--store", str(store), variables={"SCENARIOCTL_OFFLINE": "true"}) as running:
        yield running, store
        assert running.end() == 0
        assert "Traceback" not in running.log
        assert " error " not in running.log


def megabytes(running: Daemon) -> float:
    """Return what a daemon has in memory."""
    pages = int(Path(f"/proc/{running.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def files(running: Daemon) -> int:
    """Return how many files and sockets a daemon has open."""
    return len(list(Path(f"/proc/{running.process.pid}/fd").iterdir()))


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Tell:
    """Print past pytest, which shows nothing of what goes well."""

    def say(line: str) -> None:
        with capsys.disabled():
            print(f"\n{line}", end="")

    return say


# -- requests
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A request, and the status of its answer."""

    name: str
    sent: bytes
    status: int = 200


@dataclass(kw_only=True)
class Seen:
    """What clients saw of one kind of request."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    def row(self, name: str) -> str:
        p50 = statistics.median(self.seconds) * 1000
        p99 = sorted(self.seconds)[int(len(self.seconds) * 0.99)] * 1000
        return f"| {name} | {len(self.seconds)} | {p50:.1f} | {p99:.1f} | {p99 / p50:.1f} |"


async def send(port: int, kinds: list[Kind], count: int) -> dict[str, Seen]:
    """Send so many requests, one kind after the other, over connections each of which has one under
    way."""
    seen = {kind.name: Seen() for kind in kinds}
    turns = itertools.islice(itertools.cycle(kinds), count)

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for kind in turns:
            started = time.perf_counter()
            writer.write(kind.sent)
            head = await reader.readuntil(b"\r\n\r\n")
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r")[0]
            await reader.readexactly(int(length))
            seen[kind.name].seconds.append(time.perf_counter() - started)
            seen[kind.name].statuses[int(head[9:12])] += 1
        writer.close()
        await writer.wait_closed()

    await asyncio.gather(*(client() for _ in range(CONNECTIONS)))
    return seen


def kinds_of(id: str) -> list[Kind]:
    return [
        Kind(name="scenario/info", sent=request_bytes("/api/scenario/info", {"id": id})),
        Kind(name="scenario/info/full", sent=request_bytes("/api/scenario/info/full", {"id": id})),
        Kind(name="xcm/asset-transfer", sent=request_bytes("/api/xcm/asset-transfer", TRANSFER)),
        Kind(name="create/scenario", sent=request_bytes("/api/create/scenario", SCENARIO)),
        Kind(name="worker/logs", sent=request_bytes("/scenario/worker/logs", {"id": id})),
        Kind(
            name="an unknown id",
            sent=request_bytes("/api/scenario/info", {"id": "nobody"}),
            status=404,
        ),
        Kind(
            name="a wrong field",
            sent=request_bytes("/api/scenario/info", {"idd": ACCOUNT}),
            status=422,
        ),
    ]


@pytest.mark.parametrize("count", [10_000, pytest.param(100_000, marks=pytest.mark.soak)])
def test_every_request_is_answered_once_and_the_memory_stays(
    tmp_path: Path, tell: Tell, count: int
) -> None:
    with loaded(tmp_path / "home") as (running, store):
        id = running.ask("/api/create/scenario", SCENARIO)[1]["result"]
        at_rest = files(running)
        kinds = kinds_of(id)
        warm = count // 10
        asyncio.run(send(running.port(), kinds, warm))
        before = megabytes(running)
        used, started = cpu_seconds(running.process.pid), time.perf_counter()

        seen = asyncio.run(send(running.port(), kinds, count))

        passed = time.perf_counter() - started
        used = cpu_seconds(running.process.pid) - used
        wait_until(lambda: files(running) <= at_rest + OPENED)
        after = megabytes(running)
        with closing(sqlite3.connect(store)) as database:
            (stored,) = database.execute("SELECT count(*) FROM scenarios").fetchone()

    tell("| request | count | p50 ms | p99 ms | p99 / p50 |\n|---|---|---|---|---|")
    for name, each in seen.items():
        tell(each.row(name))
    tell(
        f"{count} requests in {passed:.1f} s, {used / count * 1e6:.0f} us of CPU each; "
        f"{before:.0f} MB, then {after:.0f} MB"
    )
    for kind in kinds:
        assert seen[kind.name].statuses.keys() == {kind.status}
    assert sum(len(each.seconds) for each in seen.values()) == count
    # All that was acknowledged, and nothing else.
    assert kinds[3].name == "create/scenario"
    created = sum(len(range(3, size, len(kinds))) for size in (warm, count))
    assert stored == 1 + created
    assert after - before < GROWTH
    assert after < IDLE


# -- jobs
# --------------------------------------------------------------------------------------------------
