"""What a store promises about legs of runs: who begins one, what its end needs, and what a run
waits for."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarioctl.errors import NotFound, StoreUnavailable
from scenarioctl.model.jobs import (
    SECOND,
    Job,
    JobChange,
    JobState,
    KnownWorker,
    Leg,
    RunWait,
    Schedule,
)
from scenarioctl.stores.postgres.connections import Connection
from scenarioctl.stores.postgres.store import (
    QUEUE,
    TASK,
    Deferrals,
    PostgresStore,
    moment,
    priority,
)
from scenarioctl.stores.store import Store
from tests.runner import finish as run
from tests.test_store_jobs import (
    DRAFT,
    HOUR,
    JOB,
    NO_LIMIT,
    NOW,
    WEBHOOK,
    claim,
    ended,
    fill_jobs,
    finish,
    get_job,
    next_due,
    note_change,
    stop_job,
    texts,
    waiting,
)
from tests.test_stores import FIRST, STORES, Clock, clock_of, opened
from tests.test_stores import SECOND as OTHER

#: When a wait of `waiting` ends.
END = NOW + HOUR


def due(store: Store) -> list[tuple[str, int]]:
    return run(store.find_due(100))


def begin(store: Store, number: int, owner: str = "me", id: str = FIRST.id) -> Leg | None:
    return run(store.begin_leg(id, leg=number, owner=owner))


def post(store: Store, content: Any = None, *, uuid: str = WEBHOOK) -> int:
    return run(store.put_event(uuid, content, now=NOW, retention=NO_LIMIT)).id


def plan(store: Store, *, ends: bool = False, lines: tuple[str, ...] = (), **fields: Any) -> Job:
    """Change the job as a request does."""

    def change(job: Job) -> JobChange:
        return JobChange(job=replace(job, **fields), lines=lines, written=NOW, ends_run=ends)

    changed = run(store.change_job(FIRST.id, change))
    assert changed is not None
    return changed


def begin_and_wait(store: Store, **more: Any) -> Leg:
    """Let a run begin and wait for the webhook; return its first leg."""
    (leg,) = claim(store)
    assert finish(store, waiting(leg, **more))
    return leg


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=STORES)
def kind(request: pytest.FixtureRequest) -> str:
    assert isinstance(request.param, str)
    return request.param


@pytest.fixture
def store(kind: str, tmp_path: Path, clock: Clock) -> Iterator[Store]:
    with opened(kind, tmp_path, clock) as store:
        run(store.put_scenarios([replace(FIRST, webhooks=(WEBHOOK, "other")), OTHER]))
        yield store


class TestWhoBegins:
    def test_a_leg_is_begun_once_by_its_number_when_it_is_due(
        self, store: Store, clock: Clock
    ) -> None:
        run(store.renew_lease("me", lease=10))
        run(store.start_job(replace(JOB, due=NOW + 5)))
        assert (due(store), run(store.until_due())) == ([], 5)
        assert begin(store, 1) is None

        clock.wall = NOW + 5
        assert due(store) == [(FIRST.id, 1)]
        assert [begin(store, number) for number in (0, 2)] == [None, None]
        leg = begin(store, 1)
        assert leg is not None
        assert (leg.job.owner, leg.job.epoch, leg.now, leg.saved) == ("me", 2, NOW + 5, "")
        assert begin(store, 1, "you") is begin(store, 1) is None
        assert (due(store), run(store.until_due())) == ([], None)

    def test_workers_are_listed_with_what_they_run_and_when_they_were_seen(
        self, store: Store, clock: Clock
    ) -> None:
        run(store.renew_lease("a", lease=10, version="1.2.3", offset=-5))
        clock.now, clock.wall = 8, NOW + 8
        assert run(store.renew_lease("b", lease=10)).now == NOW + 8
        run(store.renew_lease("left", lease=10))
        run(store.free_legs(["left"]))
        run(store.start_job(JOB))
        assert begin(store, 1, "a") is not None
        clock.now, clock.wall = 11, NOW + 11

        assert run(store.list_workers()) == [
            KnownWorker(
                owner="a",
                version="1.2.3",
                clock_offset=-5,
                seen=NOW,
                is_silent=True,
                running=1,
                jobs=(FIRST.id,),
            ),
            KnownWorker(
                owner="b", version="", clock_offset=None, seen=NOW + 8, is_silent=False, running=0
            ),
        ]
        clock.now += HOUR - 8
        assert [each.owner for each in run(store.list_workers())] == ["b"]
        run(store.free_legs(["another"]))
        clock.now = 11
        assert [each.owner for each in run(store.list_workers())] == ["b"]

    def test_the_number_of_a_leg_is_used_once(self, store: Store, clock: Clock) -> None:
        run(store.start_job(JOB))
        seen = due(store)
        (leg,) = claim(store)
        assert finish(store, ended(leg))
        clock.wall = NOW + HOUR
        seen += due(store)
        run(stop_job(store))
        run(store.start_job(JOB))
        seen += due(store)
        plan(store, state=JobState.PAUSED, due=None)
        plan(store, state=JobState.RUNNING, due=NOW)
        seen += due(store)

        numbers = [number for _, number in seen]
        assert len(numbers) == 4
        assert numbers == sorted(set(numbers))
        run(store.renew_lease("you", lease=10))
        # Bells that come late.
        assert [begin(store, number, "you") for number in numbers[:-1]] == [None] * 3
        assert begin(store, numbers[-1], "you") is not None

    def test_a_change_between_two_runs_that_moves_no_time_leaves_the_leg(
        self, store: Store
    ) -> None:
        run(store.start_job(JOB))
        before = due(store)
        plan(store, schedule=Schedule(every=HOUR, pause_after=3))

        assert due(store) == before

    def test_of_many_that_begin_a_leg_one_gets_it(
        self, store: Store, kind: str, tmp_path: Path
    ) -> None:
        fill_jobs(store, 20)
        others = [STORES[kind](tmp_path, clock_of(store)) for _ in range(4)]

        async def work(mine: Store, owner: str) -> list[Leg]:
            await mine.renew_lease(owner, lease=10)
            rung = await mine.find_due(100)
            await asyncio.sleep(0)
            begun = await asyncio.gather(
                *(mine.begin_leg(id, leg=leg, owner=owner) for id, leg in rung)
            )
            return [leg for leg in begun if leg is not None]

        async def work_all() -> list[list[Leg]]:
            return await asyncio.gather(
                *(work(mine, f"worker {n}") for n, mine in enumerate(others))
            )

        begun = [leg for some in run(work_all()) for leg in some]
        assert sorted(leg.job.id for leg in begun) == [f"job-{number:04}" for number in range(20)]
        assert {leg.job.epoch for leg in begun} == {2}
        assert all(finish(store, ended(leg)) for leg in begun)
        for mine in others:
            run(mine.close())

    def test_of_many_starts_at_once_one_starts_the_job(
        self, store: Store, kind: str, tmp_path: Path
    ) -> None:
        others = [STORES[kind](tmp_path, clock_of(store)) for _ in range(4)]

        async def start_all() -> list[bool]:
            return list(await asyncio.gather(*(each.start_job(JOB) for each in others)))

        assert sorted(run(start_all())) == [False] * 3 + [True]
        assert get_job(store).epoch == 1
        for each in others:
            run(each.close())


class TestLeases:
    def test_owners_of_legs_are_told_while_they_are_in_progress(self, store: Store) -> None:
        fill_jobs(store, 2)
        assert run(store.leg_owners()) == set()
        first, second = claim(store, "me", limit=1), claim(store, "you")
        assert run(store.leg_owners()) == {"me", "you"}
        assert finish(store, ended(first[0]))
        assert run(store.leg_owners()) == {"you"}
        run(stop_job(store, second[0].job.id))
        assert run(store.leg_owners()) == set()

    def test_a_lease_runs_out_by_the_clock_of_leases_alone(
        self, store: Store, clock: Clock
    ) -> None:
        run(store.start_job(JOB))
        clock.now = 100
        claim(store, "me")
        seen = []
        for now, wall in ((100, NOW), (109, NOW + 1000 * HOUR), (110, NOW)):
            clock.now, clock.wall = now, wall
            seen.append(run(store.lapsed_owners()))

        assert seen == [set(), set(), {"me"}]
        assert run(store.renew_lease("me", lease=10)).jobs == {FIRST.id}
        assert run(store.lapsed_owners()) == set()

    def test_a_lease_that_was_granted_later_than_now_has_run_out(
        self, store: Store, clock: Clock
    ) -> None:
        run(store.start_job(JOB))
        clock.now = 1000
        claim(store, "before")

        # That of a file begins anew with the boot of the machine.
        clock.now = 5
        assert run(store.lapsed_owners()) == {"before"}
        claim(store, "after")
        assert run(store.lapsed_owners()) == {"before"}

    def test_an_owner_without_a_lease_has_none_that_holds(self, store: Store) -> None:
        run(store.start_job(JOB))
        begin(store, 1)

        assert run(store.lapsed_owners()) == {"me"}

    def test_a_worker_is_there_until_it_frees_its_legs(
        self, store: Store, kind: str, tmp_path: Path, clock: Clock
    ) -> None:
        other = STORES[kind](tmp_path, clock)
        seen = [run(store.has_worker())]
        for owner in ("me", "you"):
            run(other.renew_lease(owner, lease=10))
            seen.append(run(store.has_worker()))
        for owner in ("me", "you"):
            run(other.free_legs([owner]))
            seen.append(run(store.has_worker()))
        run(other.close())

        assert seen == [False, True, True, True, False]

    def test_freed_legs_are_due_as_they_were(self, store: Store) -> None:
        fill_jobs(store, 3)
        freed = claim(store, "gone", limit=2)
        claim(store, "me")

        assert run(store.free_legs(["gone", "never seen"])) == 2
        assert run(store.leg_owners()) == {"me"}
        assert next_due(store) == NOW - 2 * SECOND
        assert [finish(store, ended(leg)) for leg in freed] == [False, False]
        assert [(leg.job.id, leg.interrupted, leg.job.epoch) for leg in claim(store)] == [
            ("job-0002", True, 3),
            ("job-0001", True, 3),
        ]
        assert run(store.free_legs(["gone"])) == run(store.free_legs([])) == 0

    def test_a_worker_that_does_not_hear_that_lines_are_stored_stores_them_once(
        self, store: Store
    ) -> None:
        run(store.start_job(JOB))
        (leg,) = claim(store, "me")
        first: dict[str, Any] = {"epoch": leg.job.epoch, "now": NOW, "noted": 0}

        assert run(store.add_lines(FIRST.id, lines=("a", "b"), **first)) is True
        assert run(store.add_lines(FIRST.id, lines=("a", "b", "c"), **first)) is False
        assert finish(store, ended(leg, lines=("a", "b", "c", "d"))) is True
        assert texts(store) == ["a", "b", "c", "d"]

        (leg,) = claim(store, "me", now=NOW + HOUR)
        assert run(store.add_lines(FIRST.id, epoch=leg.job.epoch, lines=("e",), now=NOW)) is True

    def test_a_frozen_worker_loses_its_leg_to_the_next_and_duplicates_nothing(
        self, store: Store, clock: Clock
    ) -> None:
        run(store.start_job(JOB))
        (frozen,) = claim(store, "frozen")
        assert run(store.add_lines(FIRST.id, epoch=2, lines=("begun",), now=NOW)) is True
        clock.now = 10
        assert run(store.free_legs(run(store.lapsed_owners()))) == 1
        (awake,) = claim(store, "awake")

        assert (awake.interrupted, awake.logged, awake.job.epoch) == (True, True, 3)
        assert run(store.renew_lease("frozen", lease=10)).jobs == set()
        assert run(store.add_lines(FIRST.id, epoch=2, lines=("late",), now=NOW)) is False
        assert finish(store, ended(frozen, lines=("frozen",))) is False
        assert finish(store, ended(awake, lines=("awake",))) is True
        assert texts(store) == ["begun", "awake"]
        assert len(run(store.read_mempool(FIRST.id))) == get_job(store).runs == 1

    def test_a_leg_whose_lease_ran_out_but_nobody_took_is_kept(
        self, store: Store, clock: Clock
    ) -> None:
        run(store.start_job(JOB))
        (leg,) = claim(store)
        clock.now = 50

        assert finish(store, ended(leg)) is True

    def test_another_owner_can_not_end_a_leg(self, store: Store) -> None:
        run(store.start_job(JOB))
        (leg,) = claim(store)

        assert finish(store, ended(leg, owner="you")) is False
        assert finish(store, ended(leg)) is True


class TestWaits:
    def test_a_leg_that_ends_with_a_wait_keeps_what_it_left_and_counts_as_no_run(
        self, store: Store
    ) -> None:
        run(store.start_job(JOB))
        leg = begin_and_wait(store, lines=("begun",), drafts=(DRAFT,))

        job = get_job(store)
        assert (job.step, job.waiting, job.due, job.planned, job.runs) == (
            "webhook 6f1c…",
            2,
            END,
            NOW,
            0,
        )
        assert (job.owner, job.last_started, job.last_finished) == ("", NOW, None)
        assert (texts(store), len(run(store.read_mempool(FIRST.id)))) == (["begun"], 1)
        assert run(store.last_runs(FIRST.id, limit=9)) == []
        assert run(store.statistics()).waiting == 1
        assert (due(store), run(store.until_due())) == ([], HOUR)
        assert finish(store, ended(leg)) is False

    def test_its_end_is_one_run_of_all_legs(self, store: Store) -> None:
        run(store.start_job(JOB))
        begin_and_wait(store, lines=("begun",), drafts=(DRAFT,))
        (second,) = claim(store, now=END)
        assert (second.saved, second.interrupted, second.logged) == (
            '{"what": "it has"}',
            False,
            False,
        )
        assert (second.job.last_started, second.job.planned) == (NOW, NOW)
        end = ended(
            second, started=NOW, finished=END, former_lines=1, former_drafts=1, due=END + HOUR
        )
        assert finish(store, end)

        (kept,) = run(store.last_runs(FIRST.id, limit=9))
        assert (kept.planned, kept.started, kept.finished, kept.drafts) == (NOW, NOW, END, 2)
        assert texts(store) == ["begun", "workload executed"]
        assert (get_job(store).runs, get_job(store).step, get_job(store).waiting) == (1, "", 0)
        assert run(store.statistics()).waiting == 0
        (following,) = claim(store, now=END + HOUR)
        assert following.saved == ""

    def test_a_delay_ends_at_its_time_and_no_event_ends_it(
        self, store: Store, clock: Clock
    ) -> None:
        run(store.start_job(JOB))
        (leg,) = claim(store)
        delay = RunWait(step="delay", number=1, until=NOW + 5, saved="{}")
        finish(store, waiting(leg, wait=delay))
        post(store)
        assert due(store) == []

        clock.wall = NOW + 5
        assert [id for id, _ in due(store)] == [FIRST.id]

    def test_an_event_during_the_wait_ends_it_at_once(self, store: Store) -> None:
        run(store.start_job(JOB))
        begin_and_wait(store)
        post(store, uuid="other")
        assert due(store) == []

        post(store)
        (leg,) = claim(store)
        assert (leg.saved, leg.job.due) == ('{"what": "it has"}', NOW)
        event = run(store.newest_event(WEBHOOK, job=FIRST.id))
        assert event is not None
        assert finish(store, ended(leg, used_events={WEBHOOK: event.id}))
        assert run(store.newest_event(WEBHOOK, job=FIRST.id)) is None

    def test_an_event_that_came_before_the_wait_ends_it_at_once(self, store: Store) -> None:
        run(store.start_job(JOB))
        post(store)
        begin_and_wait(store)

        assert len(claim(store)) == 1

    def test_an_event_that_was_used_ends_no_later_wait(self, store: Store, clock: Clock) -> None:
        run(store.start_job(JOB))
        begin_and_wait(store)
        event = post(store)
        (leg,) = claim(store)
        assert finish(
            store, ended(leg, used_events={WEBHOOK: event}, due=NOW, next_planned=NOW + 1)
        )

        begin_and_wait(store)
        assert due(store) == []

    def test_two_events_end_a_wait_once(self, store: Store) -> None:
        run(store.start_job(JOB))
        begin_and_wait(store)
        stale = due(store)
        post(store, 1)
        stale += due(store)
        post(store, 2)
        (leg,) = claim(store)
        assert [begin(store, number, "you") for _, number in stale] == [None] * len(stale)
        # During the leg that it woke.
        post(store, 3)
        assert due(store) == []

        event = run(store.newest_event(WEBHOOK, job=FIRST.id))
        assert event is not None
        assert finish(store, ended(leg, used_events={WEBHOOK: event.id}))
        assert due(store) == []

    def test_an_event_wakes_two_runs_that_wait_for_it(self, store: Store) -> None:
        run(store.put_scenario(replace(OTHER, webhooks=(WEBHOOK,)), replace=True))
        for id in (FIRST.id, OTHER.id):
            run(store.start_job(replace(JOB, id=id)))
        for leg in claim(store):
            assert finish(store, waiting(leg))
        post(store)

        legs = claim(store)
        assert {leg.job.id for leg in legs} == {FIRST.id, OTHER.id}
        for leg in legs:
            assert finish(store, ended(leg, used_events={WEBHOOK: 1}))
            assert run(store.newest_event(WEBHOOK, job=leg.job.id)) is None

    def test_an_event_and_a_wait_at_the_same_time_miss_no_other(
        self, store: Store, kind: str, tmp_path: Path
    ) -> None:
        fill_jobs(store, 12)
        legs = claim(store)
        other = STORES[kind](tmp_path, clock_of(store))
        wait = RunWait(step="webhook", number=1, webhook=WEBHOOK, until=END, saved="{}")

        async def meet() -> None:
            ends = (store.finish_run(waiting(leg, wait=wait), retention=NO_LIMIT) for leg in legs)
            await asyncio.gather(*ends, other.put_event(WEBHOOK, 1, now=NOW, retention=NO_LIMIT))

        run(meet())
        run(other.close())
        assert len(due(store)) == 12

    def test_the_timeout_of_a_wait_comes_by_the_clock_of_the_store(
        self, store: Store, clock: Clock
    ) -> None:
        run(store.start_job(JOB))
        begin_and_wait(store)
        clock.wall = END - 1
        assert due(store) == []
        clock.wall = END

        (leg,) = claim(store, now=END)
        assert (leg.saved, leg.now) == ('{"what": "it has"}', END)

    def test_a_leg_behind_a_wait_that_dies_is_begun_again(self, store: Store) -> None:
        run(store.start_job(JOB))
        begin_and_wait(store)
        post(store)
        (dead,) = claim(store, "dead")
        assert run(store.free_legs(["dead"])) == 1
        (again,) = claim(store)

        assert (again.saved, again.interrupted) == (dead.saved, True)
        assert finish(store, ended(dead)) is False
        assert finish(store, ended(again)) is True


#: How a request ends a wait, and what the job is then.
ENDS: dict[str, dict[str, Any]] = {
    "stop": {"state": JobState.STOPPED, "due": None, "planned": None},
    "pause": {"state": JobState.PAUSED, "due": None},
    "replace": {"due": NOW + 2 * HOUR, "planned": NOW + 2 * HOUR},
}


@pytest.mark.parametrize("how", ENDS)
class TestRequestsThatEndARun:
    def test_a_run_that_waits_has_no_further_leg(self, store: Store, how: str) -> None:
        run(store.start_job(JOB))
        begin_and_wait(store, lines=("begun",))
        job = plan(store, ends=True, lines=("ended by hand",), **ENDS[how])
        post(store)

        assert (due(store), texts(store)) == ([], ["begun", "ended by hand"])
        kept = get_job(store)
        assert (kept.state, kept.due, kept.planned) == (job.state, job.due, job.planned)
        assert (kept.step, kept.waiting, kept.in_progress) == ("", 0, False)
        assert run(store.statistics()).waiting == 0
        assert claim(store, now=END) == []

    def test_nothing_of_a_leg_in_progress_is_kept(self, store: Store, how: str) -> None:
        run(store.start_job(JOB))
        (leg,) = claim(store)
        plan(store, ends=True, lines=("ended by hand",), **ENDS[how])

        assert (
            run(store.add_lines(FIRST.id, epoch=leg.job.epoch, lines=("late",), now=NOW)) is False
        )
        assert run(store.renew_lease("me", lease=10)).jobs == set()
        assert finish(store, waiting(leg)) is False
        assert finish(store, ended(leg)) is False
        assert texts(store) == ["ended by hand"]
        assert (get_job(store).owner, get_job(store).runs) == ("", 0)

    def test_what_was_rung_for_before_is_not_begun(self, store: Store, how: str) -> None:
        run(store.start_job(JOB))
        begin_and_wait(store)
        post(store)
        stale = due(store)
        plan(store, ends=True, **ENDS[how])

        assert [begin(store, number) for _, number in stale] == [None]


class TestOtherRequests:
    def test_a_paused_job_that_is_stopped_is_stopped(self, store: Store) -> None:
        run(store.start_job(JOB))
        begin_and_wait(store)
        plan(store, ends=True, **ENDS["pause"])

        assert run(stop_job(store)) is True
        assert (get_job(store).state, get_job(store).planned) == (JobState.STOPPED, None)

    def test_a_resumed_job_begins_a_run_of_its_own(self, store: Store) -> None:
        run(store.start_job(JOB))
        begin_and_wait(store)
        plan(store, ends=True, **ENDS["pause"])
        plan(store, state=JobState.RUNNING, due=NOW + 5, planned=NOW + 5)

        (leg,) = claim(store, now=NOW + 5)
        assert (leg.saved, leg.interrupted, leg.job.planned) == ("", False, NOW + 5)

    def test_a_change_of_the_schedule_leaves_a_run_that_waits(self, store: Store) -> None:
        run(store.start_job(JOB))
        begin_and_wait(store)
        plan(store, schedule=Schedule(every=2 * HOUR))
        post(store)
        (leg,) = claim(store)

        assert leg.saved
        assert finish(store, ended(leg, schedule=Schedule(every=HOUR), finished=NOW + 5))
        # Its end plans by the schedule that the job has then.
        assert get_job(store).due == NOW + 2 * HOUR

    def test_a_scenario_that_is_replaced_ends_a_run_with_its_change(self, store: Store) -> None:
        stored = run(store.get_scenario(FIRST.id))
        run(store.start_job(JOB))
        begin_and_wait(store)
        changed = replace(stored, blob=b"new", webhooks=("other",))

        def end(job: Job) -> JobChange:
            return replace(note_change(replace(job, due=NOW + 5, planned=NOW + 5)), ends_run=True)

        run(store.change_scenario(changed, revision=stored.revision, change=end))
        assert texts(store) == ["scenario changed"]
        (leg,) = claim(store, now=NOW + 5)
        assert (leg.blob, leg.saved) == (b"new", "")

    def test_a_deleted_scenario_has_no_leg(self, store: Store) -> None:
        run(store.start_job(JOB))
        begin_and_wait(store)
        run(stop_job(store))
        run(store.delete_scenario(FIRST.id))

        assert claim(store, now=END) == []


class TestOccurrences:
    def test_a_planned_time_has_one_run(self, store: Store) -> None:
        run(store.start_job(JOB))
        (leg,) = claim(store)
        assert finish(store, ended(leg, due=NOW, next_planned=NOW))
        (again,) = claim(store)

        # As after a clock that was set back.
        assert (leg.repeats, again.repeats) == (False, True)
        assert finish(store, ended(again)) is True
        assert [each.planned for each in run(store.last_runs(FIRST.id, limit=9))] == [NOW]
        (following,) = claim(store, now=NOW + HOUR)
        assert following.repeats is False

    def test_runs_by_hand_belong_to_none(self, store: Store) -> None:
        run(store.start_job(JOB))
        (leg,) = claim(store)
        by_hand = replace(ended(leg), epoch=None)

        assert [finish(store, each) for each in (by_hand, by_hand, ended(leg))] == [True] * 3
        assert len(run(store.last_runs(FIRST.id, limit=9))) == 3


def asked(store: Store, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    assert isinstance(store, PostgresStore)
    connections = store.connections

    async def ask() -> list[tuple[Any, ...]]:
        async with connections.lend() as connection:
            done = await connection.execute(statement, values)
            return await done.fetchall() if done.description else []

    return run(ask())


def bells(store: Store) -> list[tuple[Any, ...]]:
    """Return what the engine is to ring for: job, number of the leg, and time in seconds."""
    return asked(
        store,
        "SELECT args ->> 'job', (args ->> 'leg')::bigint, extract(epoch FROM "
        "scheduled_at)::float FROM procrastinate_jobs"
        " ORDER BY id",
    )


@pytest.mark.parametrize("kind", ["postgresql"], indirect=True)
class TestBells:
    """What a store on a server defers to its engine."""

    def test_each_leg_that_is_planned_soon_has_a_bell_at_its_time(self, store: Store) -> None:
        run(store.start_job(replace(JOB, due=NOW + 5 * SECOND)))
        (leg,) = claim(store, now=NOW + 5 * SECOND)
        finish(store, waiting(leg, finished=NOW + 6 * SECOND))
        post(store)
        (leg,) = claim(store, now=NOW + 6 * SECOND)
        finish(store, ended(leg, due=NOW + 20 * SECOND, finished=NOW + 7 * SECOND))
        run(store.free_legs(["me"]))
        (leg,) = claim(store, now=NOW + 20 * SECOND)
        run(store.free_legs(["me"]))
        plan(store, ends=True, due=NOW + 30 * SECOND)

        assert bells(store) == [
            (FIRST.id, number, pytest.approx(NOW / SECOND + seconds))
            for number, seconds in ((1, 5), (3, 6), (4, 20), (5, 20), (6, 30))
        ]
        assert asked(
            store, "SELECT DISTINCT task_name, queue_name, status::text FROM procrastinate_jobs"
        ) == [(TASK, QUEUE, "todo")]
        assert due(store) == []

    def test_an_event_before_a_wait_rings_once(self, store: Store) -> None:
        run(store.start_job(JOB))
        post(store)
        begin_and_wait(store)

        ((_, number),) = due(store)
        assert [leg for _, leg, _ in bells(store)] == [1, number]

    def test_no_bell_rings_for_a_job_without_a_time(self, store: Store) -> None:
        run(store.start_job(JOB))
        (leg,) = claim(store)
        plan(store, ends=True, **ENDS["stop"])
        finish(store, ended(leg))
        run(store.free_legs(["me"]))
        with pytest.raises(NotFound):
            run(store.start_job(replace(JOB, id="nosuchone")))

        assert len(bells(store)) == 1

    def test_what_is_due_later_gets_its_bell_a_minute_before(
        self, store: Store, clock: Clock
    ) -> None:
        run(store.start_job(replace(JOB, due=NOW + HOUR)))
        assert (bells(store), run(store.ring_due())) == ([], 0)

        clock.wall = END - 60 * SECOND
        assert [run(store.ring_due()), run(store.ring_due())] == [1, 0]
        assert bells(store) == [(FIRST.id, 2, pytest.approx(END / SECOND))]
        (leg,) = claim(store, now=END)
        assert leg.job.due == END

    def test_a_leg_whose_bell_was_lost_gets_another_and_the_lost_one_does_no_harm(
        self, store: Store, clock: Clock
    ) -> None:
        run(store.start_job(JOB))
        asked(store, "DELETE FROM procrastinate_jobs")
        clock.wall = NOW + 59 * SECOND
        assert run(store.ring_again()) == 0
        clock.wall = NOW + 61 * SECOND

        assert [run(store.ring_again()), run(store.ring_again())] == [1, 0]
        assert [number for _, number, _ in bells(store)] == [2]
        run(store.renew_lease("me", lease=10))
        assert begin(store, 1) is None
        assert begin(store, 2) is not None

    def test_of_many_that_wait_for_a_worker_only_a_few_get_another_bell(
        self, store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # If a minute's work was rung for again each minute, stale bells alone would keep all
        # workers busy.
        monkeypatch.setattr("scenarioctl.stores.jobs._AGAIN", 5)
        fill_jobs(store, 30)
        before = len(bells(store))
        clock.wall += 61 * SECOND

        assert (run(store.ring_again()), run(store.ring_due())) == (5, 0)
        assert len(bells(store)) == before + 5

    def test_two_that_ring_at_the_same_time_ring_once(
        self, store: Store, kind: str, tmp_path: Path, clock: Clock
    ) -> None:
        fill_jobs(store, 30)
        asked(store, "UPDATE jobs SET rung = 0")
        asked(store, "DELETE FROM procrastinate_jobs")
        other = STORES[kind](tmp_path, clock)

        async def ring() -> tuple[int, int]:
            return await asyncio.gather(store.ring_due(), other.ring_due())

        assert sum(run(ring())) == 30
        assert len(bells(store)) == 30
        run(other.close())

    def test_the_engine_hands_out_first_what_is_due_first_and_only_what_is_due(
        self, store: Store
    ) -> None:
        now = time.time_ns()
        run(store.put_scenarios([replace(FIRST, id=f"job-{number}") for number in range(5)]))
        for number, late in enumerate((3, 1, 4, 2, -30)):
            run(store.start_job(replace(JOB, id=f"job-{number}", due=NOW - late * SECOND)))
        asked(
            store,
            "UPDATE procrastinate_jobs SET scheduled_at = %s WHERE id = 5",
            moment(now + HOUR),
        )
        order = [
            asked(store, "SELECT args ->> 'job' FROM procrastinate_fetch_job_v2(NULL, NULL)")
            for _ in range(5)
        ]

        assert order == [[("job-2",)], [("job-0",)], [("job-3",)], [("job-1",)], [(None,)]]

    def test_a_connection_that_is_lost_meanwhile_is_no_bug(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Cut(Deferrals):
            async def ring(
                self, connection: Connection, legs: Sequence[tuple[str, int, int]]
            ) -> None:
                with pytest.raises(psycopg.OperationalError):
                    await connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")
                await super().ring(connection, legs)

        with monkeypatch.context() as cut:
            cut.setattr(store, "deferrals", Cut())
            with pytest.raises(StoreUnavailable):
                run(store.start_job(JOB))
        assert run(store.start_job(JOB)) is True


class TestTimesOfBells:
    @given(st.integers(0, 2**63 - 1))
    def test_a_bell_never_rings_early_and_at_most_a_microsecond_late(self, due: int) -> None:
        late = (moment(due) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(
            microseconds=1
        ) * 1000 - due

        assert 0 <= late < 1000

    @given(st.lists(st.integers(0, 2**62), min_size=2, max_size=2))
    def test_what_is_due_earlier_has_no_lower_priority(self, dues: list[int]) -> None:
        earlier, later = sorted(dues)

        assert 2**31 > priority(earlier) >= priority(later) >= -(2**31)

    def test_of_two_due_seconds_apart_the_earlier_has_the_higher_priority(self) -> None:
        assert priority(NOW) > priority(NOW + SECOND)


class TestProcesses:
    def test_each_job_goes_to_one_of_many_processes(self, tmp_path: Path) -> None:
        with opened("sqlite", tmp_path) as store:
            fill_jobs(store, 40)
            workers = [
                subprocess.Popen(
                    [
                        sys.executable,
                        "-c",
                        WORKER,
                        str(tmp_path / "scenarios.db"),
                        f"worker-{number}",
                    ],
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


WORKER = """
import asyncio, sys
from scenarioctl.model.jobs import FinishedRun, Retention
from scenarioctl.stores import open_store

path, owner = sys.argv[1:]

async def work():
    store = open_store(path)
    await store.renew_lease(owner, lease=10**10)
    print("ready", flush=True)
    sys.stdin.readline()
    while rung := await store.find_due(3):
        for id, number in rung:
            leg = await store.begin_leg(id, leg=number, owner=owner)
            if leg is None:
                continue
            finished = FinishedRun(
                job=id, epoch=leg.job.epoch, owner=owner, planned=1, started=1, finished=1,
                lines=("x",), due=2**62,
            )
            assert await store.finish_run(finished, retention=Retention())
            print(id)
    await store.close()

asyncio.run(work())
"""
