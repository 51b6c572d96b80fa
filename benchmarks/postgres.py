"""`make bench-postgres`: a store on PostgreSQL beside its yardsticks: procrastinate, aiohttp with
psycopg, and SQLite.

    python -m benchmarks.postgres [runs] [waits] [creations] [cold] [ceilings] [million] [--rounds
    3]

Each part starts a PostgreSQL server of its own, as the tests do, whose commits wait for the disk.
Rounds alternate between ours and the yardstick, so that a busy machine hits them alike, and the
figures are medians over the rounds.

The ratios have no option that changes them.  procrastinate fetches a task the slower the more are
due, so a ratio depends on how many there are: the more, the better we look.  Both sides have the
same 400 due tasks or jobs all the time, and are offered more than they can do.  That is five times
what four workers have in progress, so none waits, and few enough that a fetch takes as long as with
100. Creations come from as many clients on both sides, each of which sends as soon as it is
     answered.
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

from benchmarks import postgres_bare, postgres_runs, postgres_waits
from benchmarks.http import CONNECTIONS, Load, ask, server_process
from scenarioctl.stores.postgres.administration import initialize
from scenarioctl.stores.postgres.connections import ServerSettings
from tests import daemons
from tests.postgres import RUNTIME, Server, start_server
from tests.runner import finish

#: Worker processes.
WORKERS = (1, 2, 4)
#: Least share of the runs per second of a procrastinate task that does nothing.
LEAST_RUNS = 0.75
#: Least share of the requests per second of a bare insert.
LEAST_CREATIONS = 0.50
#: For which each of them is asked, in each round.
CREATION_SECONDS = 4.0
#: Most MB by which a worker grows when many runs wait.
MOST_GROWTH = 20
#: Most seconds until 99 of 100 events have their draft, and that in multiples of a task of
#: procrastinate.
MOST_SECONDS, MOST_TASKS = 2.0, 3.0
#: Most that a cold command may take, in multiples of the same on SQLite.
MOST_COLD = 1.8
REMARK = {"chain": "polkadot", "text": "hello"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parts: dict[str, Callable[[argparse.Namespace], bool]] = {
        "runs": runs,
        "waits": waits,
        "creations": creations,
        "cold": cold,
        "ceilings": ceilings,
        "million": million,
    }
    parser.add_argument("part", nargs="*", metavar="PART", help=", ".join(parts))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--waits", type=int, default=100_000)
    parser.add_argument("--scenarios", type=int, default=1_000_000)
    given = parser.parse_args()
    if unknown := set(given.part) - set(parts):
        parser.error(f"unknown part {unknown.pop()!r}, expected one of: {', '.join(parts)}")
    # What was started is stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}",
        flush=True,
    )
    reached = [parts[part](given) for part in given.part or parts]
    sys.exit(0 if all(reached) else 1)


def row(
    name: str, ours: str, yardstick: str, ratio: str, goal: str = "", *, reached: bool = True
) -> bool:
    print(
        f"{name:44}{ours:>14}{yardstick:>14}{ratio:>8} {goal:>9}{'' if reached else '  missed'}",
        flush=True,
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
            bare, cpu, ours_cpu = [], [], []
            ours: dict[str, list[float]] = {"first": [], "later": []}
            for _ in range(given.rounds):
                before, used_before = postgres_runs.measure_bare(server, workers)
                rates, cost = postgres_runs.measure_runs(server, workers)
                after, used_after = postgres_runs.measure_bare(server, workers)
                bare.append((before + after) / 2)
                ours["first"].append(rates.first)
                ours["later"].append(rates.later)
                cpu.append((used_before + used_after) / 2)
                ours_cpu.append(cost.server_cpu_ms + cost.worker_cpu_ms)
                costs.append(asdict(cost))
            for kind, found in ours.items():
                shares = [one / other for one, other in zip(found, bare, strict=True)]
                share = statistics.median(shares)
                reached &= row(
                    f"{kind} runs/s, {workers} worker{'s' if workers > 1 else ''}",
                    f"{statistics.median(found):.0f}",
                    f"{statistics.median(bare):.0f}",
                    f"{share:.0%}",
                    f">= {LEAST_RUNS:.0%}",
                    reached=share >= LEAST_RUNS,
                )
                each = (
                    f"{one:.0f}/{other:.0f} = {one / other:.0%}"
                    for one, other in zip(found, bare, strict=True)
                )
                print(f"{'':8}each round: {', '.join(each)}", flush=True)
            # Other work on the machine changes this less.
            one, other = statistics.median(ours_cpu), statistics.median(cpu)
            row(
                "later runs, CPU ms of workers and server",
                f"{one:.2f}",
                f"{other:.2f}",
                f"{other / one:.0%}",
            )
    print("a later run costs: ", end="")
    print(
        ", ".join(
            f"{name} {statistics.median(one[name] for one in costs):.1f}" for name in costs[0]
        )
    )
    return reached


def waits(given: argparse.Namespace) -> bool:
    """Many runs that wait for a webhook: the memory of their worker, and events that wake some of
    them."""
    events = max(1, given.waits // 100)
    with serving() as server:
        found = postgres_waits.measure(server, given.waits, events)
    print(
        f"{given.waits} runs wait, {given.waits / found.settled:.0f} a second; {events} of "
        "them get an event, "
        f"{postgres_waits.RATE} a second"
    )
    row("", "ours", "bare task", "ratio", "goal")
    before, at_last = found.memory[0], max(found.memory)
    reached = row(
        "memory of the worker, MB before and at most",
        f"{before:.1f}, {at_last:.1f}",
        "",
        f"+{found.growth:.1f}",
        f"<= {MOST_GROWTH}",
        reached=found.growth <= MOST_GROWTH,
    )
    for name, ours, bare in zip(
        ("p50", "p99"),
        postgres_waits.quantiles(found.events),
        postgres_waits.quantiles(found.tasks),
        strict=True,
    ):
        goal = name == "p99"
        reached &= row(
            f"event to draft, {name} in ms",
            f"{ours * 1000:.0f}",
            f"{bare * 1000:.0f}",
            f"{ours / bare:.1f}",
            f"<= {MOST_TASKS:.0f}" if goal else "",
            reached=not goal or (ours <= MOST_SECONDS and ours <= MOST_TASKS * bare),
        )
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
            server_process(
                "-c", postgres_bare.PROGRAM, "server", server.create_database("bare")
            ) as bare,
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
                    load = ask(where, path, fields, CREATION_SECONDS if number else 1.0)
                    # The first round warms up.
                    if number:
                        seen[name].append(load)
                        shares[name].append(load.rate / seen["bare insert"][-1].rate)
    row(f"requests/s of {CONNECTIONS} connections", "ours", "bare insert", "share", "goal")
    reached = True
    inserts = statistics.median(load.rate for load in seen["bare insert"])
    for name, loads in seen.items():
        share = statistics.median(shares[name])
        goal = name == "create/remark"
        reached &= row(
            name,
            f"{statistics.median(load.rate for load in loads):.0f}",
            f"{inserts:.0f}",
            f"{share:.0%}",
            f">= {LEAST_CREATIONS:.0%}" if goal else "",
            reached=not goal or share >= LEAST_CREATIONS,
        )
        cpu, p50, p99 = (
            statistics.median(each)
            for each in zip(*((load.cpu, load.p50, load.p99) for load in loads), strict=True)
        )
        print(
            f"{'':8}p50 {p50:.1f} ms, p99 {p99:.1f} ms, CPU of the server process "
            f"{cpu:.0f} us a request"
        )
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
