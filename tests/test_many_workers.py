"""Several daemons on one PostgreSQL, all of which are killed, frozen and cut off, and most of whose
clocks are wrong.

Each run is kept once, and nothing is lost.
"""

import signal
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests import postgres
from tests.daemons import wait_until
from tests.fleet import Fleet, stop
from tests.fleet_clients import Stream, Takeovers
from tests.fleet_load import Load, check, killable_server, wait_for_daemons, wait_until_all_ran

pytestmark = pytest.mark.acceptance

WORKERS, APIS = 4, 2
#: Each of them is done to the fleet.
FAULTS = {
    "SIGKILL of a worker",
    "SIGSTOP of a worker",
    "partition",
    "SIGKILL of an API",
    "SIGSTOP of an API",
}


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much trouble there is."""

    jobs: int
    every: str
    #: Kills of workers without other faults beside.
    kills: int
    #: Of all faults.
    seconds: float
    #: Seconds between two faults, at most.
    pause: float
    #: Without faults, at both ends; longer than the interval.
    quiet: float
    restarts: int
    #: Seconds; 0 for that of users.
    lease: float
    #: Whether times are judged: a busy machine may pause a process for as long as a short lease.
    judges_times: bool


SMALL = Size(
    kills=1,
    jobs=12,
    every="1s",
    seconds=5,
    pause=0.9,
    quiet=1.3,
    restarts=1,
    lease=2.0,
    judges_times=False,
)
FULL = Size(
    kills=3,
    jobs=500,
    every="8s",
    seconds=180,
    pause=3.0,
    quiet=15,
    restarts=2,
    lease=0,
    judges_times=True,
)


def far(server: postgres.Server, port: int) -> str:
    """Return the address of the server for a daemon behind a proxy."""
    address = server.tcp_url("fleet", user=postgres.RUNTIME)
    return address.replace(f":{server.port}/", f":{port}/")


def show(title: str, **figures: Any) -> None:
    print(
        f"\n{title}: "
        + ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in figures.items())
    )


def nearly_all(seconds: list[float]) -> float:
    """Return the 99th percentile."""
    return statistics.quantiles(seconds, n=100)[98]


def spread(seconds: list[float]) -> str:
    if not seconds:
        return "none"
    return f"{len(seconds)}, p50 {statistics.median(seconds):.2f} s, max {max(seconds):.2f} s"


def trouble(folder: Path, size: Size) -> None:
    with killable_server() as (server, url):
        fleet = Fleet(
            folder,
            url,
            workers=WORKERS,
            apis=APIS,
            lease=size.lease,
            far=lambda port: far(server, port),
            port=server.port,
        )
        takeovers = Takeovers(server.url("fleet") + "&options=-csearch_path%3Dscenarioctl")
        streams = []
        try:
            wait_for_daemons(fleet.members)
            for worker in fleet.workers:
                assert (
                    worker.created <= worker.first_started() - worker.clock + 0.001 <= time.time()
                )
            load = Load(fleet.apis)
            streams += [
                Stream([api.port for api in fleet.apis]),
                Stream([api.port for api in fleet.apis[::-1]]),
            ]
            load.begin(size.jobs, size.every)
            fleet.on_kill = takeovers.killed
            # The jobs so far are new.
            time.sleep(1)
            calm = [be_calm(streams, size.quiet)]
            for _ in range(size.kills):
                before = len(takeovers.seconds)
                # Its legs may end just before.
                while not takeovers.waiting and len(takeovers.seconds) == before:
                    most = takeovers.busiest([worker.pid for worker in fleet.workers])
                    fleet.kill(next(worker for worker in fleet.workers if worker.pid == most))
                wait_until(lambda: not takeovers.waiting)
            undisturbed = [seconds for _, seconds in takeovers.seconds]
            for part in range(size.restarts + 1):
                end = time.monotonic() + size.seconds / (size.restarts + 1)
                is_last = part == size.restarts
                while time.monotonic() < end or (is_last and not set(fleet.faults) >= FAULTS):
                    fleet.trouble()
                    time.sleep(fleet.dice.uniform(0.1, 1) * size.pause)
                if part < size.restarts:
                    server.stop(signal.SIGQUIT)
                    time.sleep(fleet.dice.uniform(0, fleet.lease))
                    server.start()
            fleet.mend(everything=True)
            load.end()
            settled = wait_until_all_ran(
                server.url("fleet"), load, longest=6 * fleet.lease + 60, meanwhile=fleet.mend
            )
            wait_for_daemons(fleet.members)
            calm.append(be_calm(streams, size.quiet))
            # Whoever takes a run over may be hit as well.
            wait_until(lambda: not takeovers.waiting)
            disturbed = [seconds for _, seconds in takeovers.seconds][len(undisturbed) :]
            assert stop(fleet.workers) == [0] * WORKERS
            for stream in streams:
                check_stream(server.url("fleet"), stream)
            assert stop(fleet.apis) == [0] * APIS

            found = check(server.url("fleet"), load, size.every)
            delays = [
                sorted(delay for stream in streams for delay in stream.between(*when))
                for when in calm
            ]
            show(
                "many workers",
                **fleet.faults,
                runs=found.runs,
                left_out=found.left_out,
                created_and_started=len(load.once),
                refused=load.client.refused,
                unreached=load.client.unreached,
                refused_within=spread(load.client.refusals),
                takeovers_without_other_faults=spread(undisturbed),
                takeovers_with_other_faults=spread(disturbed),
                settled=f"{settled:.1f} s",
                streams=[spread(each) for each in delays],
                reconnects=sum(stream.reconnects for stream in streams),
                given_up=sum(
                    worker.log.count("is given up") + worker.log.count("is not kept")
                    for worker in fleet.workers
                ),
            )
            for member in fleet.members:
                assert "Traceback" not in member.log
                assert "bug" not in member.log
            assert undisturbed
            assert all(delays)
            if size.judges_times:
                assert max(undisturbed) <= 2 * fleet.lease
                # Other work on the machine may hold up one of the two.
                assert min(nearly_all(each) for each in delays) < 1
        finally:
            for stream in streams:
                stream.close()
            takeovers.close()
            fleet.close()


def be_calm(streams: Sequence[Stream], seconds: float) -> tuple[float, float]:
    """Do nothing for so many seconds, and until each stream has shown a line; return begin and
    end."""
    begin = time.time()
    time.sleep(seconds)
    wait_until(lambda: all(stream.between(begin, time.time()) for stream in streams))
    return begin, time.time()


def check_stream(url: str, stream: Stream) -> None:
    """Say that a stream has shown all that is there, once and in order."""
    with psycopg.connect(url, options="-c search_path=scenarioctl") as connection:
        for kind, table in (("log", "log_lines"), ("mempool", "mempool")):
            rows = [
                seq
                for (seq,) in connection.execute(f"SELECT seq FROM {table} ORDER BY seq").fetchall()
            ]
            seen, count = stream.seen[kind], len(rows)
            wait_until(lambda: len(seen) >= count)  # noqa: B023 - called at once
            assert seen == rows, kind


def test_no_run_is_lost_or_repeated_while_daemons_and_the_server_are_killed(tmp_path: Path) -> None:
    trouble(tmp_path, SMALL)


@pytest.mark.soak
def test_three_minutes_of_faults_under_five_hundred_jobs(tmp_path: Path) -> None:
    trouble(tmp_path, FULL)
