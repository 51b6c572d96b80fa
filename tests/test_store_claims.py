"""What a store promises whose workers claim jobs by lease, and that of many workers one gets a job."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from scenarioctl.model.jobs import SECOND, Claim
from scenarioctl.stores import ClaimingStore
from scenarioctl.stores.sqlite.store import SqliteStore
from tests.runner import finish as run
from tests.test_store_jobs import (
    HOUR,
    JOB,
    NO_LIMIT,
    NOW,
    claim,
    ended,
    fill_jobs,
    finish,
    get_job,
    texts,
)
from tests.test_stores import FIRST, STORES, Clock, opened
from tests.test_stores import SECOND as OTHER

CLAIMING = ["sqlite"]


@pytest.mark.parametrize("kind", CLAIMING)
class TestEveryClaimingStore:
    @pytest.fixture
    def clock(self) -> Clock:
        return Clock()

    @pytest.fixture
    def store(self, kind: str, tmp_path: Path, clock: Clock) -> Iterator[ClaimingStore]:
        with opened(kind, tmp_path, clock) as store:
            assert isinstance(store, ClaimingStore)
            run(store.put_scenarios([FIRST, OTHER]))
            yield store

    def test_the_owners_of_claims_and_the_next_due_time_are_told(self, store: ClaimingStore) -> None:
        assert (run(store.lease_owners()), run(store.next_due())) == (set(), None)
        run(store.start_job(JOB))
        run(store.start_job(replace(JOB, id=OTHER.id, due=NOW + 5)))
        assert (run(store.lease_owners()), run(store.next_due())) == (set(), NOW)

        claim(store)
        assert (run(store.lease_owners()), run(store.next_due())) == ({"me"}, NOW + 5)
        run(store.stop_job(FIRST.id, now=NOW))
        run(store.delete_scenario(FIRST.id))
        assert run(store.lease_owners()) == set()

    def test_a_claim_that_is_not_renewed_runs_out_by_the_clock_of_the_store(
        self, store: ClaimingStore, clock: Clock
    ) -> None:
        run(store.start_job(JOB))
        clock.now = 100
        (first,) = claim(store, "me")

        # The wall clock jumps, and moves no lease.
        clock.now = 109
        assert claim(store, "you", now=NOW + 1000 * HOUR) == []
        clock.now = 110
        (second,) = claim(store, "you")
        assert (first.job.epoch, second.job.epoch, second.job.owner) == (2, 3, "you")
        assert (first.interrupted, second.interrupted) == (False, True)
        assert run(store.renew_leases("me", lease=10)) == set()

    def test_nobody_takes_a_claim_from_himself(self, store: ClaimingStore, clock: Clock) -> None:
        fill_jobs(store, 2)
        claim(store, "me", limit=1)

        clock.now = 200
        assert [one.job.id for one in claim(store, "me")] == ["job-0000"]
        clock.now = 300
        assert claim(store, "me") == []
        assert run(store.renew_leases("me", lease=10)) == {"job-0000", "job-0001"}

    def test_a_renewed_claim_holds(self, store: ClaimingStore, clock: Clock) -> None:
        fill_jobs(store, 2)
        claim(store, "me")

        clock.now = 5
        assert run(store.renew_leases("me", lease=10)) == {"job-0000", "job-0001"}
        clock.now = 14
        assert claim(store, "you") == []
        clock.now = 15
        assert len(claim(store, "you")) == 2

    def test_a_worker_is_there_until_it_frees_its_leases(
        self, store: ClaimingStore, kind: str, tmp_path: Path, clock: Clock
    ) -> None:
        other = STORES[kind](tmp_path, clock)
        assert isinstance(other, ClaimingStore)
        seen = [run(store.has_worker())]
        for owner in ("me", "you"):
            run(other.renew_leases(owner, lease=10))
            seen.append(run(store.has_worker()))
        for owner in ("me", "you"):
            run(other.free_leases(owner))
            seen.append(run(store.has_worker()))
        run(other.close())

        assert seen == [False, True, True, True, False]

    def test_freed_claims_are_due_as_they_were(self, store: ClaimingStore) -> None:
        fill_jobs(store, 3)
        claim(store, "gone", limit=2)
        claim(store, "me")

        assert run(store.lease_owners()) == {"gone", "me"}
        assert run(store.free_leases("gone")) == 2
        assert run(store.lease_owners()) == {"me"}
        assert run(store.next_due()) == NOW - 2 * SECOND
        assert [(one.job.id, one.interrupted) for one in claim(store)] == [
            ("job-0002", True),
            ("job-0001", True),
        ]
        assert run(store.free_leases("gone")) == run(store.free_leases("never seen")) == 0

    def test_a_lease_that_nobody_holds_any_more_is_not_told(self, store: ClaimingStore) -> None:
        run(store.start_job(JOB))
        (claimed,) = claim(store)
        finish(store, ended(claimed))

        assert run(store.lease_owners()) == set()
        assert run(store.renew_leases("me", lease=10)) == set()

    def test_a_frozen_worker_loses_its_run_to_the_next_and_duplicates_nothing(
        self, store: ClaimingStore, clock: Clock
    ) -> None:
        run(store.start_job(JOB))
        (frozen,) = claim(store, "frozen")
        clock.now = 10
        (awake,) = claim(store, "awake")

        assert finish(store, ended(awake, lines=("awake",))) is True
        assert finish(store, ended(frozen, lines=("frozen",))) is False
        assert texts(store) == ["awake"]
        assert len(run(store.read_mempool(FIRST.id))) == get_job(store).runs == 1

    def test_a_run_whose_lease_ran_out_but_nobody_took_is_kept(
        self, store: ClaimingStore, clock: Clock
    ) -> None:
        run(store.start_job(JOB))
        (claimed,) = claim(store)

        clock.now = 50
        assert run(store.renew_leases("me", lease=10)) == {FIRST.id}
        assert finish(store, ended(claimed)) is True


class TestWorkersAtOnce:
    """Many ask for the same jobs."""

    def test_each_job_goes_to_one_of_many_threads(self, tmp_path: Path) -> None:
        store = SqliteStore(tmp_path / "scenarios.db")
        fill_jobs(store, 60)
        taken: list[str] = []
        kept: list[bool] = []

        async def work(owner: str) -> None:
            mine = SqliteStore(tmp_path / "scenarios.db")
            while claimed := await mine.claim_jobs(Claim(owner=owner, now=NOW, lease=10**10, limit=7)):
                for one in claimed:
                    taken.append(one.job.id)
                    kept.append(await mine.finish_run(ended(one, lines=(owner,)), retention=NO_LIMIT))
            await mine.close()

        threads = [
            threading.Thread(target=asyncio.run, args=(work(f"worker {number}"),)) for number in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        everything = [f"job-{number:04}" for number in range(60)]
        assert sorted(taken) == everything
        assert kept == [True] * 60
        assert sorted(line.job for line in run(store.read_log(None))) == everything
        run(store.close())

    def test_each_job_goes_to_one_of_many_processes(self, tmp_path: Path) -> None:
        path = tmp_path / "scenarios.db"
        store = SqliteStore(path)
        fill_jobs(store, 40)
        workers = [
            subprocess.Popen(
                [sys.executable, "-c", WORKER, str(path), f"worker-{number}", str(NOW)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(3)
        ]
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        said = " ".join(worker.communicate(timeout=60)[0] for worker in workers).split()

        assert sorted(said) == [f"job-{number:04}" for number in range(40)]
        assert len(run(store.read_log(None))) == 40
        run(store.close())


WORKER = """
import asyncio, sys
from scenarioctl.model.jobs import Claim, FinishedRun, Retention
from scenarioctl.stores import open_store

path, owner, now = sys.argv[1:]

async def work():
    store = open_store(path)
    print("ready", flush=True)
    sys.stdin.readline()
    question = Claim(owner=owner, now=int(now), lease=10**10, limit=3)
    while claimed := await store.claim_jobs(question):
        for one in claimed:
            finished = FinishedRun(
                job=one.job.id, epoch=one.job.epoch, owner=owner, planned=1, started=1, finished=1, lines=("x",),
                due=2**62,
            )
            assert await store.finish_run(finished, retention=Retention())
            print(one.job.id)
    await store.close()

asyncio.run(work())
"""
