"""What a store promises about legs of runs: who begins one, what its end needs, and what a run
waits for."""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from procrastinate.exceptions import ConnectorException

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
from scenarioctl.stores.asking import Ring, find_all
from scenarioctl.stores.postgres.store import QUEUE, TASK, Bells, PostgresStore
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


def due(store: Store) -> list[str]:
    """Return the jobs whose leg is due and begun by nobody."""
    free = (
        "SELECT id FROM jobs WHERE state = 'running' AND owner = '' AND due <= {now} ORDER BY due"
    )
    return [id for (id,) in run(store.read(partial(find_all, free)))]


def until_due(store: Store) -> int | None:
    ring = run(store.next_ring())
    return ring.due - ring.moment if ring else None


def begin(store: Store, owner: str = "me", limit: int = 100) -> list[str]:
    return [leg.job.id for leg in run(store.begin_due(limit, owner=owner))]


def post(store: Store, content: Any = None, *, uuid: str = WEBHOOK) -> int:
    return run(store.put_event(uuid, content, now=NOW, retention=NO_LIMIT)).id


def plan(
    store: Store,
    *,
    id: str = FIRST.id,
    ends: bool = False,
    lines: tuple[str, ...] = (),
    **fields: Any,
) -> Job:
    """Change the job as a request does."""

    def change(job: Job) -> JobChange:
        return JobChange(job=replace(job, **fields), lines=lines, written=NOW, ends_run=ends)

    changed = run(store.change_job(id, change))
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
    def test_a_leg_is_begun_once_when_it_is_due(self, store: Store, clock: Clock) -> None:
        run(store.renew_lease("me", lease=10))
        run(store.start_job(replace(JOB, due=NOW + 5)))
        assert (due(store), until_due(store), begin(store)) == ([], 5, [])

        clock.wall = NOW + 5
        assert due(store) == [FIRST.id]
        (leg,) = run(store.begin_due(1, owner="me"))
        assert (leg.job.owner, leg.job.epoch, leg.now, leg.saved) == ("me", 2, NOW + 5, "")
        assert (due(store), until_due(store), begin(store)) == ([], None, [])

    def test_legs_are_begun_in_the_order_in_which_they_are_due(self, store: Store) -> None:
        fill_jobs(store, 5)
        run(store.renew_lease("me", lease=10))

        assert [begin(store, limit=2) for _ in range(3)] == [
            ["job-0004", "job-0003"],
            ["job-0002", "job-0001"],
            ["job-0000"],
        ]

    def test_an_owner_whose_lease_has_run_out_begins_nothing(
        self, store: Store, clock: Clock
    ) -> None:
        run(store.start_job(JOB))
        run(store.renew_lease("me", lease=10))
        clock.now += 10
        assert (begin(store), begin(store, "you")) == ([], [])
        run(store.renew_lease("me", lease=10))

        assert begin(store) == [FIRST.id]

    def test_a_job_whose_row_is_damaged_keeps_no_other_from_beginning(self, store: Store) -> None:
        fill_jobs(store, 3)
        damage = """UPDATE jobs SET schedule = '{"never": 1}' WHERE id = 'job-0001' RETURNING id"""
        run(store.write(partial(find_all, damage)))
        run(store.renew_lease("me", lease=10))

        assert begin(store) == ["job-0002", "job-0000"]
        assert begin(store) == []

    def test_workers_are_listed_with_what_they_run_and_when_they_were_seen(
        self, store: Store, clock: Clock
    ) -> None:
        run(store.renew_lease("a", lease=10, version="1.2.3", offset=-5))
        clock.now, clock.wall = 8, NOW + 8
        assert run(store.renew_lease("b", lease=10)).now == NOW + 8
        run(store.renew_lease("left", lease=10))
        run(store.free_legs(["left"]))
        run(store.start_job(JOB))
        assert begin(store, "a")
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
            begun = await asyncio.gather(*(mine.begin_due(3, owner=owner) for _ in range(3)))
            return [leg for some in begun for leg in some]

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
        assert run(store.renew_lease("me", lease=10)).jobs == {FIRST.id: 2}
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

    def test_a_leg_is_freed_by_its_epoch_alone(self, store: Store) -> None:
        run(store.start_job(JOB))
        (leg,) = claim(store)
        before, this = [(FIRST.id, leg.job.epoch - back) for back in (1, 0)]

        assert run(store.free_legs(["me"], legs=[before])) == 0
        assert run(store.free_legs(["you"], legs=[this])) == 0
        assert run(store.free_legs(["me"], legs=[before, this])) == 1

    def test_a_frozen_worker_loses_its_leg_to_the_next_and_duplicates_nothing(
        self, store: Store, clock: Clock
    ) -> None:
        run(store.start_job(JOB))
        (frozen,) = claim(store, "frozen")
        clock.now = 10
        assert run(store.free_legs(run(store.lapsed_owners()))) == 1
        (awake,) = claim(store, "awake")

        assert (awake.interrupted, awake.job.epoch) == (True, 3)
        assert run(store.renew_lease("frozen", lease=10)).jobs == {}
        assert finish(store, ended(frozen, lines=("frozen",))) is False
        assert finish(store, ended(awake, lines=("awake",))) is True
        assert texts(store) == ["awake"]
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
        assert (due(store), until_due(store)) == ([], HOUR)
        assert finish(store, ended(leg)) is False

    def test_its_end_is_one_run_of_all_legs(self, store: Store) -> None:
        run(store.start_job(JOB))
        begin_and_wait(store, lines=("begun",), drafts=(DRAFT,))
        (second,) = claim(store, now=END)
        assert (second.saved, second.interrupted) == ('{"what": "it has"}', False)
        assert (second.job.last_started, second.job.planned) == (NOW, NOW)
        end = ended(
            second, started=NOW, finished=END, former_lines=1, former_drafts=1, due=END + HOUR
        )
        assert finish(store, end)

        (kept,) = run(store.last_runs(FIRST.id, limit=9))
        assert (kept.planned, kept.started, kept.finished, kept.drafts) == (NOW, NOW, END, 2)
        assert texts(store) == ["begun", "workload executed"]
        assert (get_job(store).runs, get_job(store).step, get_job(store).waiting) == (1, "", 0)
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
        assert due(store) == [FIRST.id]

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
        post(store, 1)
        post(store, 2)
        (leg,) = claim(store)
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

    def test_the_time_in_which_no_server_took_events_is_counted_while_a_run_waits(
        self, store: Store, clock: Clock
    ) -> None:
        def after(seconds: int, *, served: bool = True) -> int:
            clock.wall = NOW + seconds * SECOND
            if served:
                run(store.note_served())
            return run(store.time_away()) // SECOND

        run(store.start_job(JOB))
        assert [after(0), after(100)] == [0, 0]
        begin_and_wait(store)
        assert [after(102), after(104), after(107)] == [0, 0, 0]
        assert [after(137, served=False), after(139), after(141), after(151)] == [30, 32, 32, 42]

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
        assert claim(store, now=END) == []

    def test_nothing_of_a_leg_in_progress_is_kept(self, store: Store, how: str) -> None:
        run(store.start_job(JOB))
        (leg,) = claim(store)
        plan(store, ends=True, lines=("ended by hand",), **ENDS[how])

        assert run(store.renew_lease("me", lease=10)).jobs == {}
        assert finish(store, waiting(leg)) is False
        assert finish(store, ended(leg)) is False
        assert texts(store) == ["ended by hand"]
        assert (get_job(store).owner, get_job(store).runs) == ("", 0)


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
    """Return what the engine is to ring for: its name, and the time in seconds, if it has one."""
    assert isinstance(store, PostgresStore)
    run(store._bells.close())
    return asked(
        store,
        "SELECT queueing_lock, extract(epoch FROM scheduled_at)::float FROM procrastinate_jobs "
        "WHERE status = 'todo' ORDER BY id",
    )


RINGS: dict[str, Callable[[Store], Any]] = {
    "start": lambda store: run(store.start_job(replace(JOB, id=OTHER.id))),
    "event": post,
    "takeover": lambda store: run(store.free_legs(["me"])),
    "change": lambda store: plan(store, ends=True, due=NOW),
}


@pytest.mark.parametrize("kind", ["postgresql"], indirect=True)
class TestBells:
    """What a store on a server has its engine ring for."""

    @pytest.mark.parametrize("how", RINGS)
    def test_what_is_due_at_once_is_rung_for(self, store: Store, how: str) -> None:
        run(store.start_job(JOB))
        (leg,) = claim(store)
        if how == "event":
            assert finish(store, waiting(leg))
        bells(store)
        asked(store, "DELETE FROM procrastinate_jobs")
        RINGS[how](store)

        assert bells(store) == [("legs/now", None)]
        assert asked(store, "SELECT DISTINCT task_name, queue_name FROM procrastinate_jobs") == [
            (TASK, QUEUE)
        ]

    def test_however_much_is_due_at_a_time_one_bell_waits_for_it(
        self, store: Store, kind: str, tmp_path: Path, clock: Clock
    ) -> None:
        other = STORES[kind](tmp_path, clock)
        fill_jobs(store, 4)
        now = NOW // SECOND
        for number, soon in enumerate((5.5, 5.8, 7, 9.8)):
            due = NOW + round(soon * SECOND)
            plan(store, id=f"job-{number:04}", ends=True, due=due)
            plan(other, id=f"job-{number:04}", ends=True, due=due + 1)

        bells(other)
        assert sorted(bells(store)) == [
            *((f"legs/{now + second}", now + second - 1) for second in (5, 7, 9)),
            ("legs/now", None),
        ]
        run(other.close())

    def test_what_is_due_late_or_never_is_not_rung_for(self, store: Store) -> None:
        run(store.start_job(replace(JOB, due=NOW + 11 * SECOND)))
        plan(store, ends=True, **ENDS["stop"])
        assert run(store.free_legs(["nobody"])) == 0

        assert bells(store) == []

    def test_the_end_of_a_leg_rings_for_the_next(self, store: Store) -> None:
        run(store.start_job(JOB))
        (leg,) = claim(store)
        assert finish(store, ended(leg, due=NOW + 3 * SECOND, finished=NOW))

        assert bells(store)[-1] == (f"legs/{NOW // SECOND + 3}", NOW // SECOND + 2)

    def test_a_bell_that_can_not_be_rung_fails_nothing(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def fail(*_: object) -> None:
            raise ConnectorException

        monkeypatch.setattr(Bells, "_ring", fail)
        assert run(store.start_job(JOB)) is True

        assert (due(store), bells(store)) == ([FIRST.id], [])

    def test_a_worker_that_hears_of_a_leg_itself_needs_no_bell(self, store: Store) -> None:
        heard: list[Ring] = []
        store.on_plan = lambda ring: heard.append(ring) or True  # type: ignore[func-returns-value]
        run(store.start_job(JOB))

        assert (bells(store), heard) == ([], [Ring(NOW, NOW)])


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
    while legs := await store.begin_due(3, owner=owner):
        for leg in legs:
            id = leg.job.id
            finished = FinishedRun(
                job=id, epoch=leg.job.epoch, owner=owner, planned=1, started=1, finished=1,
                lines=("x",), due=2**62,
            )
            assert await store.finish_run(finished, retention=Retention())
            print(id)
    await store.close()

asyncio.run(work())
"""
