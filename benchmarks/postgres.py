"""`make bench-postgres`: a store on PostgreSQL beside its yardsticks: procrastinate, aiohttp with psycopg, and SQLite.

    python -m benchmarks.postgres [runs] [creations] [cold] [ceilings] [million] [--rounds 3] [--scenarios 1000000]

Each part starts a PostgreSQL server of its own, as the tests do, whose commits wait for the disk.  Rounds alternate between
ours and the yardstick, so that a busy machine hits them alike, and the figures are medians over the rounds.
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from benchmarks import postgres_bare, postgres_runs
from benchmarks.http import CONNECTIONS, Load, ask, server_process
from scenarioctl.stores.postgres.administration import initialize
from scenarioctl.stores.postgres.connections import ServerSettings
from tests import daemons
from tests.postgres import RUNTIME, Server, start_server
from tests.runner import finish

#: Worker processes.
WORKERS = (1, 2, 4)
#: Least share of the runs per second of a procrastinate task that does nothing.
LEAST_RUNS = 0.60
#: Least share of the requests per second of a bare insert.
LEAST_CREATIONS = 0.50
#: Most that a cold command may take, in multiples of the same on SQLite.
MOST_COLD = 1.8
REMARK = {"chain": "polkadot", "text": "hello"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parts: dict[str, Callable[[argparse.Namespace], bool]] = {
        "runs": runs,
        "creations": creations,
        "cold": cold,
        "ceilings": ceilings,
        "million": million,
    }
    parser.add_argument("part", nargs="*", metavar="PART", help=", ".join(parts))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--scenarios", type=int, default=1_000_000)
    given = parser.parse_args()
    if unknown := set(given.part) - set(parts):
        parser.error(f"unknown part {unknown.pop()!r}, expected one of: {', '.join(parts)}")
    # What was started is stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}", flush=True
    )
    reached = [parts[part](given) for part in given.part or parts]
    sys.exit(0 if all(reached) else 1)


def row(name: str, ours: str, yardstick: str, ratio: str, goal: str = "", *, reached: bool = True) -> bool:
    print(
        f"{name:44}{ours:>14}{yardstick:>14}{ratio:>8} {goal:>9}{'' if reached else '  missed'}", flush=True
    )
    return reached


@contextmanager
def serving() -> Iterator[Server]:
    server = start_server(durable=True)
    try:
        yield server
    finally:
        server.remove()


def runs(given: argparse.Namespace) -> bool:
    """Occurrences per second with several workers, and what one costs."""
    reached = True
    costs = []
    row("", "ours", "bare task", "share", "goal")
    with serving() as server:
        for workers in WORKERS:
            bare, first, later, cpu = [], [], [], []
            for _ in range(given.rounds):
                before, used_before = postgres_runs.measure_bare(server, workers, 4 * given.jobs)
                rates, cost = postgres_runs.measure_runs(server, workers, given.jobs, given.seconds)
                after, used_after = postgres_runs.measure_bare(server, workers, 4 * given.jobs)
                bare.append((before + after) / 2)
                first.append(rates.first / bare[-1])
                later.append(rates.later / bare[-1])
                cpu.append((used_before + used_after) / 2)
                costs.append(asdict(cost))
            yardstick = statistics.median(bare)
            for kind, shares in (("first", first), ("later", later)):
                share = statistics.median(shares)
                reached &= row(
                    f"{kind} runs/s, {workers} worker{'s' if workers > 1 else ''}",
                    f"{share * yardstick:.0f}",
                    f"{yardstick:.0f}",
                    f"{share:.0%}",
                    f">= {LEAST_RUNS:.0%}",
                    reached=share >= LEAST_RUNS,
                )
                print(f"{'':8}each round: {', '.join(format(one, '.0%') for one in shares)}", flush=True)
            ours = statistics.median(
                one["server_cpu_ms"] + one["worker_cpu_ms"] for one in costs[-given.rounds :]
            )
            # Other work on the machine changes this less.
            alone = statistics.median(cpu)
            row(
                "later runs, CPU ms of workers and server",
                f"{ours:.2f}",
                f"{alone:.2f}",
                f"{alone / ours:.0%}",
            )
    print("a later run costs: ", end="")
    print(", ".join(f"{name} {statistics.median(one[name] for one in costs):.1f}" for name in costs[0]))
    return reached


def creations(given: argparse.Namespace) -> bool:
    """Creations per second through one daemon, beside a handler that inserts one row."""
    seen: dict[str, list[Load]] = {"bare insert": [], "create/remark": [], "scenario/info": []}
    shares: dict[str, list[float]] = {name: [] for name in seen}
    with serving() as server, tempfile.TemporaryDirectory() as folder:
        finish(initialize(ServerSettings(url=server.create_database("ours")), grant=RUNTIME))
        ours = server.url("ours", user=RUNTIME)
        with (
            daemons.daemon(
                Path(folder) / "home",
                *("--role", "api", "--offline", "--store", ours),
                listen=("--listen", "127.0.0.1:0"),
            ) as api,
            server_process("-c", postgres_bare.PROGRAM, "server", server.create_database("bare")) as bare,
        ):
            daemon = (api.port(), api.process.pid)
            _, made, _ = api.ask("/api/create/remark", REMARK)
            cases = {
                "bare insert": (bare, "/insert", REMARK),
                "create/remark": (daemon, "/api/create/remark", REMARK),
                "scenario/info": (daemon, "/api/scenario/info", {"id": made["result"]}),
            }
            for number in range(given.rounds + 1):
                for name, (where, path, fields) in cases.items():
                    load = ask(where, path, fields, given.seconds / 2 if number else 1.0)
                    # The first round warms up.
                    if number:
                        seen[name].append(load)
                        shares[name].append(load.rate / seen["bare insert"][-1].rate)
    row(f"{CONNECTIONS} connections", "requests/s", "p50 / p99 ms", "share", "goal")
    reached = True
    for name, loads in seen.items():
        share = statistics.median(shares[name])
        goal = name == "create/remark"
        reached &= row(
            name,
            f"{statistics.median(load.rate for load in loads):.0f}",
            " / ".join(
                f"{statistics.median(times):.1f}"
                for times in ([load.p50 for load in loads], [load.p99 for load in loads])
            ),
            f"{share:.0%}",
            f">= {LEAST_CREATIONS:.0%}" if goal else "",
            reached=not goal or share >= LEAST_CREATIONS,
        )
        cpu = statistics.median(load.cpu for load in loads)
        print(f"{'':8}CPU of the server process: {cpu:.0f} us a request", flush=True)
    return reached


def cold(given: argparse.Namespace) -> bool:
    """A whole process that creates a remark, on PostgreSQL and on SQLite."""
    program = str(Path(sys.executable).with_name("scenarioctl"))
    taken: dict[str, list[float]] = {"PostgreSQL": [], "SQLite": []}
    with serving() as server, tempfile.TemporaryDirectory() as home:
        finish(initialize(ServerSettings(url=server.create_database("ours")), grant=RUNTIME))
        stores = {"PostgreSQL": server.url("ours", user=RUNTIME), "SQLite": f"{home}/s.db"}
        environment = {**os.environ, "HOME": home}
        words = [part for name, value in REMARK.items() for part in (f"--{name}", value)]
        for number in range(given.rounds * 7 + 1):
            for name, store in stores.items():
                command = [program, "--offline", "--store", store, "create", "remark", *words]
                begun = time.perf_counter()
                subprocess.run(command, env=environment, check=True, capture_output=True)
                if number:
                    taken[name].append(time.perf_counter() - begun)
    ours, yardstick = (statistics.median(times) for times in taken.values())
    row("", "PostgreSQL", "SQLite", "ratio", "goal")
    return row(
        "cold create remark, ms",
        f"{ours * 1000:.0f}",
        f"{yardstick * 1000:.0f}",
        f"{ours / yardstick:.2f}",
        f"<= {MOST_COLD}",
        reached=ours <= MOST_COLD * yardstick,
    )


def ceilings(given: argparse.Namespace) -> bool:  # noqa: ARG001
    """What all workers share, without Python in between."""
    from benchmarks import postgres_ceilings

    with serving() as server:
        postgres_ceilings.main(server)
    return True


def million(given: argparse.Namespace) -> bool:
    """Lists, searches, counts and creations among many scenarios, beside SQLite."""
    from benchmarks import postgres_million

    with serving() as server:
        postgres_million.main(server, given.scenarios)
    return True


if __name__ == "__main__":
    main()
