"""Jobs on a private PostgreSQL that keep a fleet of daemons busy, and what must be there in the
end."""

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg

from scenarioctl.schedules import read_duration
from scenarioctl.stores.postgres.administration import initialize
from scenarioctl.stores.postgres.connections import ServerSettings
from tests import postgres
from tests.fleet import Member
from tests.fleet_clients import Client
from tests.runner import finish
from tests.slow_server import slow_step
from tests.test_jobs import REMARK, node

#: How a log lists planned times without a run.
_LEFT_OUT = re.compile(r"(\d+) planned runs? (?:was|were) (?:missed while|skipped)")


@contextmanager
def killable_server() -> Iterator[tuple[postgres.Server, str]]:
    """Start a server that keeps what it acknowledges, with our tables; yield it with the address
    for daemons."""
    server = postgres.start_server(durable=True)
    try:
        owner = server.create_database("fleet")
        finish(initialize(ServerSettings(url=owner), grant=postgres.RUNTIME))
        yield server, server.url("fleet", user=postgres.RUNTIME)
    finally:
        server.remove()


class Load:
    """Jobs that run again and again, and clients that create and start more of them all the
    time."""

    def __init__(self, apis: Sequence[Member]) -> None:
        self.client = Client([api.port for api in apis])
        #: Each acknowledged job.
        self.repeated: list[str] = []
        self.once: list[str] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._closed = False
        self._failure: BaseException | None = None

    def begin(self, jobs: int, every: str) -> None:
        """Start *jobs*, and more of them until the end."""
        self.start(jobs, every)
        self._thread.start()

    def start(self, jobs: int, every: str) -> None:
        for number in range(jobs):
            self.repeated.append(self._start(number, every))

    def _start(self, number: int, every: str) -> str:
        id = self.client.create(
            REMARK, node("d", "delay", seconds="0.1"), slow_step(0.5), number=number
        )
        self.client.start(id, every)
        return id

    def _run(self) -> None:
        try:
            while not self._closed:
                self.once.append(self._start(-1 - len(self.once), "1h"))
                time.sleep(0.3)
        except BaseException as error:
            self._failure = error

    def end(self) -> None:
        self._closed = True
        self._thread.join(60)
        assert self._failure is None, self._failure
        assert not self._thread.is_alive()


def wait_for_daemons(members: Sequence[Member]) -> None:
    """Wait until all of them serve."""
    deadline = time.monotonic() + 60
    for member in members:
        while not member.serves():
            assert member.process.poll() is None, member.log
            assert time.monotonic() < deadline, member.log
            time.sleep(0.05)


def wait_until_all_ran(
    url: str, load: Load, *, longest: float, meanwhile: Callable[[], None] = lambda: None
) -> float:
    """Wait until each job has run, and each repeated one after this call; return how long that
    took."""
    begun, since = time.monotonic(), time.time_ns()
    with psycopg.connect(url, options="-c search_path=scenarioctl", autocommit=True) as connection:
        while True:
            meanwhile()
            # What is stuck.
            left = connection.execute(
                "SELECT j.id, j.state, j.due, j.owner, j.epoch FROM jobs j"
                " WHERE j.id = ANY(%s) AND coalesce(j.last_finished, 0) < %s"
                " OR j.id = ANY(%s) AND j.last_finished IS NULL ORDER BY j.due",
                (load.repeated, since, load.once),
            ).fetchall()
            if not left:
                return time.monotonic() - begun
            assert time.monotonic() < begun + longest, (since, len(left), left[:5])
            time.sleep(0.2)


@dataclass(frozen=True)
class Findings:
    runs: int
    left_out: int


def check(url: str, load: Load, every: str) -> Findings:
    """Say that each occurrence is kept once or listed as left out, and that nothing acknowledged is
    lost."""
    with psycopg.connect(url, options="-c search_path=scenarioctl") as connection:
        runs = connection.execute(
            "SELECT job, planned, drafts, failure FROM runs ORDER BY seq"
        ).fetchall()
        texts = connection.execute("SELECT job, text FROM log_lines ORDER BY seq").fetchall()
        drafts = Counter(job for (job,) in connection.execute("SELECT job FROM mempool").fetchall())
        jobs = {
            id: more
            for id, *more in connection.execute(
                "SELECT id, state, changed, planned, runs, failures, saved <> '' FROM jobs"
            ).fetchall()
        }
        tallies = {
            job: tuple(counts)
            for job, *counts in connection.execute(
                "SELECT job, lines, entries, runs FROM tallies"
            ).fetchall()
        }
        # Nobody's leg is in progress, and nothing that is due is left.
        stuck = connection.execute(
            "SELECT id, owner, due FROM jobs WHERE owner <> '' OR due < %s",
            (time.time_ns() - 5_000_000_000,),
        ).fetchall()
    lines = Counter(texts)
    total = Counter(job for job, _ in texts)
    counts = Counter(job for job, *_ in runs)
    left_out: Counter[str] = Counter()
    for job, text in texts:
        if found := _LEFT_OUT.match(text):
            left_out[job] += int(found[1])
    assert stuck == []
    odd = [run for run in runs if run[-1] or run[-2] != 1]
    assert odd == [], [text for job, text in texts if job == odd[0][0]]
    assert [
        each
        for each, number in Counter((job, planned) for job, planned, *_ in runs).items()
        if number > 1
    ] == []
    for ids, step in (
        (load.repeated, read_duration(every, field="every")),
        (load.once, read_duration("1h", field="every")),
    ):
        for id in ids:
            state, begun, planned, kept, failures, waits = jobs[id]
            said = [text for job, text in texts if job == id]
            assert (state, kept, failures) == ("running", counts[id], 0)
            assert kept > 0
            # Each planned time from the start of the job to its next run.
            assert (kept + left_out[id]) * step == planned - begun, (
                kept,
                left_out[id],
                planned - begun,
                said,
            )
            assert lines[id, "Starting worker"] == 1, said
            assert lines[id, "workload executed"] == kept, said
            # A run that waits has drafted already.
            assert drafts[id] == kept + waits, said
            assert tallies[id] == (total[id], drafts[id], kept)
    assert set(jobs) >= {*load.repeated, *load.once}
    return Findings(len(runs), left_out.total())
