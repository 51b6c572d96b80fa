"""What a store promises whose runs a dispatch engine hands out: each job with a due time has one run in the engine."""

import asyncio
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

from scenarioctl.errors import Conflict, NotFound, StoreUnavailable
from scenarioctl.model.jobs import SECOND, ClaimedJob, JobChange, JobState, Schedule
from scenarioctl.stores import DispatchingStore
from scenarioctl.stores.postgres.connections import Connection
from scenarioctl.stores.postgres.deferrals import QUEUE, TASK, Deferrals, moment, priority
from scenarioctl.stores.postgres.store import PostgresStore
from tests.runner import finish as run
from tests.test_store_jobs import HOUR, JOB, NOW, begin_due, claim, ended, finish, get_job, texts
from tests.test_stores import FIRST, Clock, opened
from tests.test_stores import SECOND as OTHER


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PostgresStore]:
    with opened("postgresql", tmp_path, Clock()) as store:
        assert isinstance(store, PostgresStore)
        assert isinstance(store, DispatchingStore)
        run(store.put_scenarios([FIRST, OTHER]))
        yield store


def execute(store: PostgresStore, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    async def ask() -> list[tuple[Any, ...]]:
        async with store.connections.lend() as connection:
            done = await connection.execute(statement, values)
            return await done.fetchall() if done.description else []

    return run(ask())


def deferred(store: PostgresStore) -> list[tuple[Any, ...]]:
    """Return each run that the engine has: its job, status and time in seconds."""
    return execute(
        store,
        "SELECT args ->> 'id', status::text, extract(epoch FROM scheduled_at)::float FROM procrastinate_jobs ORDER BY id",
    )


def dispatch_of(store: PostgresStore, id: str = FIRST.id) -> int:
    ((number,),) = execute(store, "SELECT dispatch FROM jobs WHERE id = %s", id)
    assert isinstance(number, int)
    return number


def take(store: PostgresStore, number: int, status: str = "doing") -> None:
    """Change the status of a run, as the engine does for a worker."""
    execute(
        store,
        "UPDATE procrastinate_jobs SET status = %s::procrastinate_job_status WHERE id = %s",
        status,
        number,
    )


def begin(store: PostgresStore, number: int, owner: str = "me", id: str = FIRST.id) -> ClaimedJob | None:
    return run(store.begin_run(id, dispatch=number, owner=owner, now=NOW + 7))


def plan(store: PostgresStore, **fields: Any) -> None:
    """Change the job as a request does."""
    state = JobState.PAUSED if fields.get("due", NOW) is None else JobState.RUNNING
    run(store.change_job(FIRST.id, lambda job: JobChange(job=replace(job, state=state, **fields))))


def pause(store: PostgresStore) -> None:
    plan(store, due=None)


def resume(store: PostgresStore) -> None:
    plan(store, due=NOW)


class TestRunsInTheEngine:
    def test_a_started_job_has_one_run_at_its_time(self, store: PostgresStore) -> None:
        run(store.start_job(replace(JOB, due=NOW + HOUR)))

        assert deferred(store) == [(FIRST.id, "todo", pytest.approx((NOW + HOUR) / SECOND))]
        assert execute(store, "SELECT task_name, queue_name, id FROM procrastinate_jobs") == [
            (TASK, QUEUE, dispatch_of(store))
        ]

    def test_a_finished_run_leaves_the_next(self, store: PostgresStore) -> None:
        run(store.start_job(JOB))
        first = dispatch_of(store)
        take(store, first)
        claimed = begin(store, first)
        assert claimed is not None
        assert finish(store, ended(claimed)) is True

        assert dispatch_of(store) != first
        assert [row[1:] for row in deferred(store)] == [
            ("doing", pytest.approx(NOW / SECOND)),
            ("todo", pytest.approx((NOW + HOUR) / SECOND)),
        ]
        # Its worker ended before the engine heard of it.
        take(store, first)
        assert begin(store, first, "you") is None
        assert get_job(store).owner == ""

    def test_a_stopped_job_has_no_run(self, store: PostgresStore) -> None:
        run(store.start_job(JOB))
        number = dispatch_of(store)
        run(store.stop_job(FIRST.id, now=NOW))

        assert deferred(store) == []
        assert begin(store, number) is None

    def test_a_stopped_job_that_is_being_run_keeps_that_run_and_gets_no_other(
        self, store: PostgresStore
    ) -> None:
        run(store.start_job(JOB))
        take(store, dispatch_of(store))
        claimed = begin(store, dispatch_of(store))
        assert claimed is not None
        run(store.stop_job(FIRST.id, now=NOW + 1))

        assert [status for _, status, _ in deferred(store)] == ["doing"]
        assert finish(store, ended(claimed)) is True
        assert [status for _, status, _ in deferred(store)] == ["doing"]

    def test_a_stopped_job_whose_worker_died_is_released_by_the_next(self, store: PostgresStore) -> None:
        run(store.start_job(JOB))
        number = dispatch_of(store)
        take(store, number)
        claimed = begin(store, number)
        run(store.stop_job(FIRST.id, now=NOW + 1))
        assert get_job(store).owner == "me"

        assert begin(store, number, "you") is None
        assert get_job(store).owner == ""
        assert claimed is not None
        assert finish(store, ended(claimed)) is False

    def test_a_job_that_is_started_anew_has_a_new_run_and_knows_the_old_one_no_more(
        self, store: PostgresStore
    ) -> None:
        run(store.start_job(JOB))
        old = dispatch_of(store)
        take(store, old)
        before = begin(store, old)
        run(store.stop_job(FIRST.id, now=NOW))
        run(store.start_job(JOB))
        new = dispatch_of(store)
        take(store, new)

        assert begin(store, old) is None
        after = begin(store, new)
        assert before is not None
        assert after is not None
        assert finish(store, ended(before, lines=("before",))) is False
        assert finish(store, ended(after, lines=("after",))) is True
        assert texts(store) == ["after"]

    def test_a_paused_job_has_no_run(self, store: PostgresStore) -> None:
        run(store.start_job(replace(JOB, schedule=Schedule(every=HOUR, pause_after=1))))
        number = dispatch_of(store)
        take(store, number)
        claimed = begin(store, number)
        assert claimed is not None
        finish(store, ended(claimed, failure="down"))

        assert get_job(store).state is JobState.PAUSED
        assert execute(store, "SELECT dispatch FROM jobs") == [(None,)]
        assert [status for _, status, _ in deferred(store)] == ["doing"]

    def test_a_job_that_is_paused_on_request_has_no_run_and_one_that_is_resumed_has_one(
        self, store: PostgresStore
    ) -> None:
        run(store.start_job(JOB))
        number = dispatch_of(store)
        pause(store)
        assert deferred(store) == []
        assert execute(store, "SELECT dispatch FROM jobs") == [(None,)]
        resume(store)

        assert [(id, status) for id, status, _ in deferred(store)] == [(FIRST.id, "todo")]
        assert dispatch_of(store) != number

    def test_a_run_that_was_fetched_before_a_pause_does_not_begin_after_a_resume(
        self, store: PostgresStore
    ) -> None:
        run(store.start_job(JOB))
        fetched = dispatch_of(store)
        take(store, fetched)
        pause(store)
        assert begin(store, fetched) is None
        resume(store)
        assert begin(store, fetched) is None

        take(store, dispatch_of(store))
        assert begin(store, dispatch_of(store)) is not None

    def test_a_pause_and_a_resume_during_a_run_keep_its_number(self, store: PostgresStore) -> None:
        run(store.start_job(JOB))
        number = dispatch_of(store)
        take(store, number)
        claimed = begin(store, number)
        assert claimed is not None
        pause(store)
        resume(store)
        assert dispatch_of(store) == number
        assert len(deferred(store)) == 1

        # Its worker dies: the run is dispatched again.
        assert run(store.redispatch([(FIRST.id, number)])) == {FIRST.id}
        assert dispatch_of(store) != number
        assert finish(store, ended(claimed)) is False

    def test_a_job_that_was_paused_during_a_run_and_whose_worker_died_has_no_run(
        self, store: PostgresStore
    ) -> None:
        run(store.start_job(JOB))
        number = dispatch_of(store)
        take(store, number)
        assert begin(store, number) is not None
        pause(store)
        assert run(store.redispatch([(FIRST.id, number)])) == {FIRST.id}

        assert execute(store, "SELECT dispatch, owner FROM jobs") == [(None, "")]
        assert [status for _, status, _ in deferred(store)] == ["doing"]
        resume(store)
        assert [status for _, status, _ in deferred(store)] == ["doing", "todo"]

    def test_a_rescheduled_job_has_one_run_at_its_new_time(self, store: PostgresStore) -> None:
        run(store.start_job(replace(JOB, due=NOW + HOUR, planned=NOW + HOUR)))
        plan(store, due=NOW + 60 * SECOND, schedule=Schedule(every=60 * SECOND))

        assert deferred(store) == [(FIRST.id, "todo", pytest.approx((NOW + 60 * SECOND) / SECOND))]

    def test_a_job_that_is_resumed_long_before_its_time_is_deferred_later(self, store: PostgresStore) -> None:
        run(store.start_job(JOB))
        pause(store)
        plan(store, due=time.time_ns() + HOUR)

        assert deferred(store) == []
        assert execute(store, "SELECT dispatch FROM jobs") == [(None,)]

    def test_a_deleted_scenario_has_no_run(self, store: PostgresStore) -> None:
        run(store.start_job(JOB))
        with pytest.raises(Conflict):
            run(store.delete_scenario(FIRST.id))
        assert len(deferred(store)) == 1
        run(store.stop_job(FIRST.id, now=NOW))
        run(store.delete_scenario(FIRST.id))

        assert deferred(store) == []
        assert begin(store, 1) is None

    def test_a_job_that_is_planned_anew_has_one_run_at_the_new_time(self, store: PostgresStore) -> None:
        run(store.start_job(JOB))
        assert run(store.plan_job(FIRST.id, epoch=1, due=NOW + 5 * SECOND, planned=NOW)) is True

        assert deferred(store) == [(FIRST.id, "todo", pytest.approx(NOW / SECOND + 5))]
        run(store.stop_job(FIRST.id, now=NOW))
        run(store.start_job(replace(JOB, due=NOW + 100 * HOUR)))
        assert run(store.replan(now=NOW)) == 1
        assert deferred(store) == [(FIRST.id, "todo", pytest.approx((NOW + HOUR) / SECOND))]

    def test_a_refused_start_leaves_no_run(self, store: PostgresStore) -> None:
        with pytest.raises(NotFound):
            run(store.start_job(replace(JOB, id="nosuchone")))
        run(store.start_job(JOB))
        assert run(store.start_job(JOB)) is False

        assert len(deferred(store)) == 1

    def test_a_connection_that_is_lost_meanwhile_is_no_bug(
        self, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Cut(Deferrals):
            async def defer_all(self, connection: Connection, runs: Sequence[tuple[str, int]]) -> list[int]:
                with pytest.raises(psycopg.OperationalError):
                    await connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")
                return await super().defer_all(connection, runs)

            async def cancel(self, connection: Connection, number: int) -> bool:
                with pytest.raises(psycopg.OperationalError):
                    await connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")
                return await super().cancel(connection, number)

        with monkeypatch.context() as cut:
            cut.setattr(store, "deferrals", Cut())
            with pytest.raises(StoreUnavailable):
                run(store.start_job(JOB))
        assert run(store.start_job(JOB))
        monkeypatch.setattr(store, "deferrals", Cut())
        with pytest.raises(StoreUnavailable):
            run(store.stop_job(JOB.id, now=NOW))

    def test_of_many_starts_at_once_one_starts_the_job(self, store: PostgresStore, tmp_path: Path) -> None:
        async def start_all() -> list[bool]:
            others = [PostgresStore(store.connections.settings) for _ in range(5)]
            try:
                return list(await asyncio.gather(*(each.start_job(JOB) for each in others)))
            finally:
                for each in others:
                    await each.close()

        assert sorted(run(start_all())) == [False] * 4 + [True]
        assert len(deferred(store)) == 1
        assert get_job(store).epoch == 1


class TestWhoRunsIt:
    def test_a_run_is_begun_with_its_scenario_and_a_new_epoch(self, store: PostgresStore) -> None:
        run(store.start_job(JOB))

        assert begin(store, dispatch_of(store)) == ClaimedJob(
            job=replace(JOB, owner="me", epoch=2, last_started=NOW + 7),
            blob=FIRST.blob,
            summary=FIRST.summary,
        )
        assert run(store.runs_of("me")) == {FIRST.id}
        assert run(store.runs_of("you")) == run(store.runs_of("")) == set()

    def test_the_next_that_the_engine_gives_a_run_to_takes_it_over(self, store: PostgresStore) -> None:
        run(store.start_job(JOB))
        number = dispatch_of(store)
        frozen = begin(store, number, "frozen")
        assert frozen is not None
        assert run(store.mark_step(FIRST.id, epoch=2, step="x", lines=("begun",), now=NOW)) is True
        awake = begin(store, number, "awake")

        assert awake is not None
        assert (awake.interrupted, awake.logged, awake.job.epoch) == (True, True, 3)
        assert (run(store.runs_of("frozen")), run(store.runs_of("awake"))) == (set(), {FIRST.id})
        assert run(store.mark_step(FIRST.id, epoch=2, step="late", lines=("late",), now=NOW)) is False
        assert finish(store, ended(frozen, lines=("frozen",))) is False
        assert finish(store, ended(awake, lines=("awake",))) is True
        assert texts(store) == ["begun", "awake"]

    def test_of_many_that_begin_a_run_the_last_keeps_it(self, store: PostgresStore) -> None:
        run(store.start_job(JOB))
        number = dispatch_of(store)

        async def begin_all() -> list[ClaimedJob | None]:
            others = [PostgresStore(store.connections.settings) for _ in range(4)]
            try:
                return list(
                    await asyncio.gather(
                        *(
                            each.begin_run(FIRST.id, dispatch=number, owner=f"worker {place}", now=NOW)
                            for place, each in enumerate(others)
                        )
                    )
                )
            finally:
                for each in others:
                    await each.close()

        begun = [one for one in run(begin_all()) if one is not None]
        assert sorted(one.job.epoch for one in begun) == [2, 3, 4, 5]
        kept = [finish(store, ended(one, lines=(one.job.owner,))) for one in begun]
        assert kept.count(True) == 1
        assert len(texts(store)) == 1

    def test_what_a_worker_releases_is_nobodys_until_it_is_begun_again(self, store: PostgresStore) -> None:
        run(store.start_job(JOB))
        run(store.start_job(replace(JOB, id=OTHER.id)))
        claimed = claim(store, "me")
        assert run(store.release("me")) == 2
        assert run(store.release("me")) == run(store.release("")) == 0

        assert [finish(store, ended(one)) for one in claimed] == [False, False]
        assert get_job(store).owner == get_job(store).step == ""
        assert [one.interrupted for one in claim(store, "you")] == [True, True]

    def test_a_job_whose_row_was_damaged_by_hand_pauses(self, store: PostgresStore) -> None:
        run(store.start_job(JOB))
        number = dispatch_of(store)
        execute(store, "UPDATE jobs SET schedule = '7'")
        assert begin(store, number) is None

        job = get_job(store)
        assert (job.state, job.due) == (JobState.PAUSED, None)
        assert job.reason == "its row in the store is damaged, start the job again"
        assert run(store.start_job(JOB)) is True

    def test_a_worker_is_there_while_its_heart_beats(self, store: PostgresStore) -> None:
        assert run(store.has_worker()) is False
        execute(store, "INSERT INTO procrastinate_workers DEFAULT VALUES")
        assert run(store.has_worker()) is True
        execute(store, "UPDATE procrastinate_workers SET last_heartbeat = now() - interval '11 s'")
        assert run(store.has_worker()) is False


class TestWhenItIsDue:
    @given(st.integers(0, 2**63 - 1))
    def test_a_run_never_begins_early_and_at_most_a_microsecond_late(self, due: int) -> None:
        late = (moment(due) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 1000 - due

        assert 0 <= late < 1000

    @given(st.lists(st.integers(0, 2**62), min_size=2, max_size=2))
    def test_what_is_due_earlier_has_no_lower_priority(self, dues: list[int]) -> None:
        earlier, later = sorted(dues)

        assert 2**31 > priority(earlier) >= priority(later) >= -(2**31)

    def test_of_two_due_seconds_apart_the_earlier_has_the_higher_priority(self) -> None:
        assert priority(NOW) > priority(NOW + SECOND)

    def test_the_engine_hands_out_what_is_due_first(self, store: PostgresStore) -> None:
        run(store.put_scenarios([replace(FIRST, id=f"job-{number}") for number in range(4)]))
        for number, due in enumerate((3, 1, 4, 2)):
            run(store.start_job(replace(JOB, id=f"job-{number}", due=NOW - due * SECOND)))
        order = []
        for _ in range(4):
            ((id,),) = execute(store, "SELECT args ->> 'id' FROM procrastinate_fetch_job_v2(NULL, NULL)")
            order.append(id)

        assert order == ["job-2", "job-0", "job-3", "job-1"]

    def test_only_what_is_due_is_handed_out(self, store: PostgresStore) -> None:
        soon = time.time_ns() + 30 * SECOND
        run(store.start_job(replace(JOB, due=soon)))

        assert execute(store, "SELECT id FROM procrastinate_fetch_job_v2(NULL, NULL)") == [(None,)]
        assert run(begin_due(store, "me", NOW)) == []
        assert len(run(begin_due(store, "me", soon))) == 1

    def test_what_is_due_much_later_is_no_run_of_the_engine_until_then(self, store: PostgresStore) -> None:
        run(store.start_job(replace(JOB, due=time.time_ns() + 100 * SECOND)))
        assert deferred(store) == []
        assert run(store.defer_due()) == 0

        execute(store, "UPDATE jobs SET due = %s", time.time_ns() + 30 * SECOND)
        assert [run(store.defer_due()), run(store.defer_due())] == [1, 0]
        assert [status for _, status, _ in deferred(store)] == ["todo"]
        run(store.stop_job(FIRST.id, now=NOW))
        assert deferred(store) == []

    def test_a_run_that_the_engine_has_lost_is_deferred_again(self, store: PostgresStore) -> None:
        for id in (FIRST.id, OTHER.id):
            run(store.start_job(replace(JOB, id=id)))
        begun = dispatch_of(store)
        take(store, begun)
        claimed = begin(store, begun)
        execute(store, "DELETE FROM procrastinate_jobs")

        assert [run(store.defer_due()), run(store.defer_due())] == [2, 0]
        assert {id for id, *_ in deferred(store)} == {FIRST.id, OTHER.id}
        assert claimed is not None
        assert finish(store, ended(claimed)) is False


class TestRedispatch:
    def test_a_run_of_a_dead_worker_gets_another_number(self, store: PostgresStore) -> None:
        run(store.start_job(JOB))
        first = dispatch_of(store)
        take(store, first)
        claimed = begin(store, first)
        assert claimed is not None

        assert run(store.redispatch([(FIRST.id, first)])) == {FIRST.id}
        second = dispatch_of(store)
        assert second != first
        assert get_job(store).owner == ""
        # That worker was only frozen.
        assert finish(store, ended(claimed)) is False
        assert begin(store, first) is None
        again = begin(store, second, "you")
        assert again is not None
        assert again.interrupted
        assert run(store.redispatch([(FIRST.id, first)])) == set()
        assert finish(store, ended(again)) is True

    def test_a_run_of_a_stopped_job_gets_none(self, store: PostgresStore) -> None:
        run(store.start_job(JOB))
        number = dispatch_of(store)
        take(store, number)
        begin(store, number)
        run(store.stop_job(FIRST.id, now=NOW))

        assert run(store.redispatch([(FIRST.id, number)])) == {FIRST.id}
        assert get_job(store).owner == ""
        assert [status for _, status, _ in deferred(store)] == ["doing"]
        assert run(store.redispatch([(FIRST.id, number)])) == set()

    def test_many_runs_are_deferred_again_in_one_statement(self, store: PostgresStore) -> None:
        later = replace(JOB, id=OTHER.id, due=time.time_ns() + HOUR)
        run(store.start_job(JOB))
        run(store.start_job(later))
        execute(store, "UPDATE jobs SET dispatch = 77 WHERE id = %s", OTHER.id)
        number = dispatch_of(store)
        before = len(deferred(store))

        done = run(store.redispatch([(OTHER.id, 77), (FIRST.id, number), ("absent", 3)]))

        assert done == {FIRST.id, OTHER.id}
        assert dispatch_of(store) > number
        # What is not due soon is deferred when it is.
        assert execute(store, "SELECT dispatch FROM jobs WHERE id = %s", OTHER.id) == [(None,)]
        assert len(deferred(store)) == before + 1
