"""Jobs that are paused, resumed and rescheduled: over every store, between two runs and during
one."""

from collections.abc import Coroutine, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.errors import Conflict, InvalidRequest, NotFound, ScenarioctlError
from scenarioctl.model.jobs import SECOND, FinishedRun, JobState, Leg, RunWait, Schedule
from scenarioctl.operations.job_changes import (
    PauseJob,
    ResumeJob,
    pause_job,
    resume_job,
)
from scenarioctl.operations.jobs import StartJob, StopJob, start_job, stop_job
from scenarioctl.stores.store import Store
from tests.messages import says
from tests.runner import finish as run
from tests.test_store_jobs import (
    HOUR,
    JOB,
    NOW,
    WEBHOOK,
    claim,
    ended,
    finish,
    get_job,
    next_due,
    texts,
)
from tests.test_stores import FIRST, STORES, Clock, opened

ID = FIRST.id
MINUTE = 60 * SECOND


@pytest.fixture
def time() -> Clock:
    return Clock()


@pytest.fixture(params=STORES)
def app(request: pytest.FixtureRequest, tmp_path: Path, time: Clock) -> Iterator[Application]:
    """An application over each store, whose clock stands still at NOW until a test moves it."""
    with opened(request.param, tmp_path, time) as store:
        run(store.put_scenarios([FIRST]))
        app = Application(
            load_settings({"offline": True, "cache": tmp_path}, {}), clock=lambda: time.wall
        )
        app.resources.store = store
        yield app


@pytest.fixture
def store(app: Application) -> Store:
    return app.store


def pause(app: Application) -> Any:
    return run(pause_job(app, PauseJob(id=ID))).answer["result"]


def resume(app: Application) -> Any:
    return run(resume_job(app, ResumeJob(id=ID))).answer


def reschedule(app: Application, **fields: Any) -> Any:
    return run(start_job(app, StartJob(id=ID, **fields))).answer["result"]


def refusal(kind: type[ScenarioctlError], asked: Coroutine[Any, Any, Any]) -> str:
    with pytest.raises(kind) as refused:
        run(asked)
    return str(refused.value)


class TestBetweenRuns:
    def test_a_paused_job_does_not_run_and_keeps_everything(
        self, app: Application, store: Store
    ) -> None:
        run(store.start_job(JOB))
        finish(store, ended(claim(store)[0], failure="down"))
        before = get_job(store)

        assert pause(app) == "Job paused"
        assert pause(app) == "Job already paused"
        assert claim(store, now=NOW + 5 * HOUR) == []
        assert next_due(store) is None
        assert get_job(store) == replace(
            before, state=JobState.PAUSED, due=None, changed=NOW, reason="paused on request"
        )
        assert texts(store)[-1] == "Paused on request"
        assert len(run(store.read_mempool(ID))) == 1

    def test_a_resumed_job_leaves_out_the_times_that_passed(
        self, app: Application, store: Store, time: Clock
    ) -> None:
        run(store.start_job(JOB))
        finish(store, ended(claim(store)[0]))
        pause(app)
        time.wall = NOW + 3 * HOUR + MINUTE

        assert resume(app) == {
            "success": True,
            "result": "Job resumed",
            "next": "2025-11-20T23:29:18.123456789Z",
        }
        assert claim(store, now=time.wall) == []
        job = get_job(store)
        assert (job.state, job.due, job.planned, job.runs, job.reason) == (
            *(JobState.RUNNING, NOW + 4 * HOUR, NOW + 4 * HOUR, 1, ""),
        )
        assert job.changed == time.wall
        assert texts(store)[-1] == "Resumed, the next run is at 2025-11-20T23:29:18Z"
        (again,) = claim(store, now=NOW + 4 * HOUR)
        assert (again.job.planned, again.interrupted) == (NOW + 4 * HOUR, False)
        assert resume(app)["result"] == "Job already running"

    def test_another_interval_keeps_a_time_of_the_former_one(
        self, app: Application, store: Store, time: Clock
    ) -> None:
        run(store.start_job(JOB))
        finish(store, ended(claim(store)[0]))
        time.wall = NOW + 25 * MINUTE

        assert reschedule(app, every="20m") == "Job rescheduled: every 20m"
        job = get_job(store)
        assert (job.schedule.every, job.due, job.planned) == (
            *(20 * MINUTE, NOW + 40 * MINUTE, NOW + 40 * MINUTE),
        )
        assert job.runs == 1
        assert texts(store)[-1] == "Rescheduled: every 20m, the next run is at 2025-11-20T20:09:18Z"
        assert claim(store, now=NOW + 39 * MINUTE) == []
        assert len(claim(store, now=NOW + 40 * MINUTE)) == 1

    def test_a_start_without_a_schedule_takes_the_last_one(
        self, app: Application, store: Store
    ) -> None:
        run(start_job(app, StartJob(id=ID, every="10m", pause_after=5)))
        run(stop_job(app, StopJob(id=ID)))
        started = run(start_job(app, StartJob(id=ID)))

        assert started.answer == {"success": True, "result": "Job started"}
        assert started.notes[0] == says("every 10m")
        assert get_job(store).schedule == Schedule(every=10 * MINUTE, pause_after=5)
        run(stop_job(app, StopJob(id=ID)))
        other = run(start_job(app, StartJob(id=ID, every="20m")))
        assert get_job(store).schedule == Schedule(every=20 * MINUTE)
        assert started.notes[0] not in other.notes

    def test_what_cannot_be_is_refused(self, app: Application, store: Store) -> None:
        for request in (
            pause_job(app, PauseJob(id="nobody")),
            resume_job(app, ResumeJob(id="nobody")),
        ):
            assert refusal(NotFound, request) == says("nobody")
        never = [
            refusal(Conflict, pause_job(app, PauseJob(id=ID))),
            refusal(Conflict, resume_job(app, ResumeJob(id=ID))),
        ]
        assert never == [says(ID, "never")] * 2
        run(store.start_job(JOB))
        wrong = StartJob(id=ID, timezone="Europe/Berlin")
        assert refusal(InvalidRequest, start_job(app, wrong)) == says("timezone", "cron")
        wrong = StartJob(id=ID, jitter="2h")
        assert refusal(InvalidRequest, start_job(app, wrong)) == says("jitter", "2h")
        run(stop_job(app, StopJob(id=ID)))
        assert refusal(Conflict, pause_job(app, PauseJob(id=ID))) == says(ID, "stopped")
        assert refusal(Conflict, resume_job(app, ResumeJob(id=ID))) == says(ID, "stopped")
        assert texts(store) == ["Job stopped"]


def waiting(leg: Leg) -> FinishedRun:
    """Return the end of *leg*, after which the run waits for a minute."""
    wait = RunWait(
        step=f"webhook {WEBHOOK}", number=2, webhook=WEBHOOK, until=NOW + MINUTE, saved="anything"
    )
    return ended(
        leg, lines=("Waiting",), drafts=(), due=wait.until, next_planned=None, ran=False, wait=wait
    )


class TestDuringARun:
    @pytest.mark.parametrize("end", ["pause", "stop"])
    def test_nothing_is_kept_of_a_leg_whose_job_is_paused_or_stopped(
        self, app: Application, store: Store, end: str
    ) -> None:
        run(store.start_job(JOB))
        (leg,) = claim(store)
        if end == "pause":
            pause(app)
        else:
            run(stop_job(app, StopJob(id=ID)))
        assert finish(store, ended(leg, failure="down")) is False

        job = get_job(store)
        assert (job.due, job.owner, job.runs, job.failures) == (None, "", 0, 0)
        assert claim(store, now=NOW + 5 * HOUR) == []
        assert texts(store) == ["Paused on request" if end == "pause" else "Job stopped"]

    def test_a_job_that_is_resumed_runs_at_its_next_time(
        self, app: Application, store: Store
    ) -> None:
        run(store.start_job(JOB))
        (leg,) = claim(store)
        pause(app)
        assert resume(app)["next"] == "2025-11-20T20:29:18.123456789Z"
        assert finish(store, ended(leg)) is False
        assert claim(store, "you") == []
        (again,) = claim(store, "you", now=NOW + HOUR)

        assert again.interrupted is False
        assert finish(store, ended(again)) is True

    def test_a_run_that_waits_ends_with_a_line_that_says_where(
        self, app: Application, store: Store
    ) -> None:
        for change in ("pause", "stop"):
            run(store.start_job(JOB))
            (leg,) = claim(store)
            assert finish(store, waiting(leg)) is True
            assert get_job(store).in_progress
            if change == "pause":
                pause(app)
            else:
                run(stop_job(app, StopJob(id=ID)))
            assert not get_job(store).in_progress
            assert claim(store, now=NOW + 5 * HOUR) == []
            run(stop_job(app, StopJob(id=ID)))

        assert [text for text in texts(store) if "while" in text] == [
            "Paused on request while step 2 waited for a webhook",
            "Job stopped while step 2 waited for a webhook",
        ]

    @pytest.mark.parametrize(
        "fields", [{"pause_after": "3"}, {"notify": "https://hooks.example.org/jobs"}]
    )
    def test_a_run_that_waits_goes_on_if_its_times_stay(
        self, app: Application, store: Store, fields: dict[str, str]
    ) -> None:
        run(store.start_job(JOB))
        (leg,) = claim(store)
        assert finish(store, waiting(leg)) is True
        reschedule(app, **fields)
        (again,) = claim(store, now=NOW + MINUTE)

        assert again.saved == "anything"
