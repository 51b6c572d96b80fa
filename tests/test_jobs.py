"""Jobs as people use them: started, looked at, run once; the answers as the interface has them."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.errors import InvalidRequest, TimedOut
from scenarioctl.model.jobs import (
    SECOND,
    FinishedRun,
    MempoolDraft,
    Retention,
    StepOutcome,
    StepResult,
)
from scenarioctl.operations.creation import CreateRemark, create_remark
from scenarioctl.operations.jobs import (
    JobLog,
    JobMempool,
    JobStatus,
    RunJob,
    StartJob,
    StopJob,
    job_log,
    job_mempool,
    job_status,
    run_job,
    start_job,
    stop_job,
)
from scenarioctl.operations.scenarios import ImportScenario, import_scenario
from scenarioctl.runtime.table import load_bundled
from tests.conftest import Run
from tests.messages import raises, says
from tests.runner import finish

#: 2026-11-21 12:00 UTC.
NOON = 1_795_262_400 * SECOND


@pytest.fixture(scope="module", autouse=True)
def _table() -> None:
    """Read the table that a run would read within its second."""
    load_bundled("polkadot")


def new_application(tmp_path: Path) -> Application:
    settings = load_settings({"offline": True, "store": tmp_path / "s.db", "cache": tmp_path}, {})
    return Application(settings, clock=lambda: NOON)


@contextmanager
def application(tmp_path: Path) -> Iterator[Application]:
    app = new_application(tmp_path)
    try:
        yield app
    finally:
        finish(app.close())


@asynccontextmanager
async def opened(tmp_path: Path) -> AsyncIterator[Application]:
    """Give an application to a test that awaits it."""
    app = new_application(tmp_path)
    try:
        yield app
    finally:
        await app.close()


async def remark(app: Application) -> str:
    return (await create_remark(app, CreateRemark(chain="polkadot", text="hello"))).answer["result"]


_MADE = count()


async def diagram(app: Application, *nodes: dict[str, Any]) -> str:
    """Store a diagram whose nodes follow one another, and return its id."""
    edges = [
        {"id": f"e{number}", "source": before["id"], "target": after["id"]}
        for number, (before, after) in enumerate(pairwise(nodes))
    ]
    # Another one each time: an import of what is stored already only names it.
    document = {"nodes": nodes, "edges": edges, "made": next(_MADE)}
    return (await import_scenario(app, ImportScenario(url=json.dumps(document)))).answer["shortUrl"]


def node(id: str, kind: str, **form: Any) -> dict[str, Any]:
    return {"id": id, "type": kind, "formData": form}


REMARK = node(
    "r",
    "action",
    action="Remark",
    actionData={
        "actionType": "remark",
        "source": {"chain": "polkadot", "target": "hello"},
        "target": {"chain": "polkadot"},
    },
)
BROKEN = node("b", "action", action="Remark", actionData={"source": {"chain": "polkadot"}})


async def test_a_start_without_a_worker_says_so_and_with_one_does_not(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        id = await remark(app)

        alone = await start_job(app, StartJob(id=id))
        await app.store.renew_lease("worker", lease=10**12)
        served = await start_job(app, StartJob(id=id))
        await app.store.free_legs(["worker"])
        again = await start_job(app, StartJob(id=id))

        assert alone.notes[1:] == again.notes == (says("worker", "daemon"),)
        assert served.notes == ()


async def test_the_status_of_a_job_tells_how_its_newest_runs_ended(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        id = await remark(app)
        for number in range(7):
            finished = FinishedRun(
                job=id,
                epoch=None,
                planned=NOON + number * 60 * SECOND,
                started=NOON + number * 60 * SECOND + 1,
                finished=NOON + number * 60 * SECOND + 2 * SECOND,
                failure="the chain is down" if number == 5 else "",
                steps={
                    "a": StepResult(outcome=StepOutcome.DRAFTED),
                    "b": StepResult(outcome=list(StepOutcome)[number % 4]),
                },
            )
            await app.store.finish_run(finished, retention=Retention())

        status = (await job_status(app, JobStatus(id=id))).answer
        runs = status["last_runs"]
        assert status["last_steps"] == {"a": "drafted", "b": "failed"}

        assert [run["planned"][11:16] for run in runs] == [
            "12:06",
            "12:05",
            "12:04",
            "12:03",
            "12:02",
        ]
        assert runs[:2] == [
            {
                "number": 7,
                "planned": "2026-11-21T12:06:00.000000000Z",
                "started": "2026-11-21T12:06:00.000000001Z",
                "finished": "2026-11-21T12:06:02.000000000Z",
                "seconds": 2.0,
                "outcome": "executed",
                "drafts": 0,
                "failure": "",
            },
            {
                "number": 6,
                "planned": "2026-11-21T12:05:00.000000000Z",
                "started": "2026-11-21T12:05:00.000000001Z",
                "finished": "2026-11-21T12:05:02.000000000Z",
                "seconds": 2.0,
                "outcome": "failed",
                "drafts": 0,
                "failure": "the chain is down",
            },
        ]


async def test_the_log_is_whole_unless_a_part_is_asked_for(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        id = await remark(app)
        await app.store.finish_run(
            FinishedRun(
                job=id,
                epoch=None,
                planned=NOON,
                started=NOON,
                finished=NOON,
                lines=("one", "two", "three"),
            ),
            retention=Retention(),
        )

        whole = (await job_log(app, JobLog(id=id))).answer
        first = (await job_log(app, JobLog(id=id, limit=2))).answer
        rest = (await job_log(app, JobLog(id=id, after=first["next"]))).answer
        nothing = (await job_log(app, JobLog(id=id, after=rest["next"]))).answer

        assert whole == {"success": True, "result": ["one", "two", "three"]}
        assert first["result"] == ["one", "two"]
        assert rest["result"] == ["three"]
        assert nothing == {"success": True, "result": [], "next": rest["next"]}
        for field in ("after", "limit"):
            given: dict[str, Any] = {"id": id, field: "-1"}
            with raises(InvalidRequest, says(field, "-1")):
                await job_log(app, JobLog(**given))


async def test_the_newest_lines_and_drafts_are_asked_for_by_number_and_by_time(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as app:
        id = await remark(app)
        for number, minutes in enumerate((180, 60, 10)):
            then = NOON - minutes * 60 * SECOND
            draft = MempoolDraft(
                chain="polkadot", amount="0", tx_type="Remark", date=then, tx=f"0x0{number}"
            )
            run = FinishedRun(
                job=id,
                epoch=None,
                planned=then,
                started=then,
                finished=then,
                lines=(f"line {number}",),
                drafts=(draft,),
            )
            await app.store.finish_run(run, retention=Retention())

        async def lines(**asked: Any) -> list[int]:
            answer = (await job_log(app, JobLog(id=id, **asked))).answer
            drafts = (await job_mempool(app, JobMempool(id=id, **asked))).answer["mempool"]
            numbers = [int(line[-1]) for line in answer["result"]]
            assert [int(draft["tx"][-1]) for draft in drafts] == numbers
            return numbers

        assert await lines(tail=2) == [1, 2]
        assert await lines(tail="9") == [0, 1, 2]
        assert await lines(tail=0) == []
        assert await lines(since="2h") == [1, 2]
        assert await lines(since="60m") == [1, 2]
        assert await lines(since="59m") == [2]
        assert await lines(since="1m") == []
        for moment in ("2026-11-21T11:00:00Z", "2026-11-21 11:00", "2026-11-21T12:00:00+01:00"):
            assert await lines(since=moment) == [1, 2]
        assert await lines(since="2026-11-21T11:00:00.000001Z") == [2]
        assert await lines(since="2h", tail=1) == [2]
        assert await lines(since="1m", tail=2) == []
        assert await lines(since="4h", limit=1) == [0]
        assert await lines(since="2h", limit=1) == [1]
        timed = (await job_log(app, JobLog(id=id, since="2h", after="0", times=True))).answer
        assert timed["times"] == [
            "2026-11-21T11:00:00.000000000Z",
            "2026-11-21T11:50:00.000000000Z",
        ]
        assert (await job_log(app, JobLog(id=id, after=timed["next"]))).answer["result"] == []
        for field, value in (
            ("tail", "-1"),
            ("since", "yesterday"),
            ("since", "2026-13-01"),
            ("since", "-2h"),
            ("since", "367d"),
        ):
            given: dict[str, Any] = {"id": id, field: value}
            for asked in (job_log(app, JobLog(**given)), job_mempool(app, JobMempool(**given))):
                with raises(InvalidRequest, says(field, value)):
                    await asked


async def test_a_run_in_the_foreground_answers_with_its_log_and_drafts_and_keeps_them(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as app:
        id = await diagram(app, REMARK)

        report = (await run_job(app, RunJob(id=id))).answer

        assert report["success"] is True
        assert report["result"][-1] == "workload executed"
        (entry,) = report["mempool"]
        assert (entry["txType"], entry["state"]) == ("Remark", "current")
        assert (await job_log(app, JobLog(id=id))).answer["result"] == report["result"]
        assert (await job_mempool(app, JobMempool(id=id))).answer["mempool"] == [
            {"seq": 1, **entry}
        ]
        # No schedule knows of it.
        assert await app.store.get_job(id) is None


async def test_the_next_planned_times_are_in_the_status(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        id = await diagram(app, REMARK)

        started = await start_job(app, StartJob(id=id, cron="*/45 * * * *"))
        planned = (await job_status(app, JobStatus(id=id))).answer["planned"]
        await stop_job(app, StopJob(id=id))

        assert started.answer == {"success": True, "result": "Job started"}
        assert started.notes[0] == says(*(each[:19].replace("T", " ") for each in planned))
        assert len(planned) == 3
        assert (await job_status(app, JobStatus(id=id))).answer["planned"] == []


class Hanging:
    """A way to web servers that never answer."""

    async def send(self, request: object, *, sleep: object) -> None:
        await asyncio.sleep(3600)

    async def close(self) -> None:
        """Nothing is open."""


HTTP = node("h", "http", url="https://example.org/")


@pytest.mark.parametrize(("seconds", "timeout", "ends"), [(1.2, "", False), (1.2, "1s", True)])
async def test_the_default_timeout_does_not_count_delays(
    tmp_path: Path, seconds: float, timeout: str, ends: bool
) -> None:
    async with opened(tmp_path) as app:
        app.settings = replace(app.settings, run_seconds=1)
        # However long they wait, the step behind them has its second.
        id = await diagram(app, node("d", "delay", seconds=seconds), REMARK)

        if ends:
            with pytest.raises(TimedOut):
                await run_job(app, RunJob(id=id, timeout=timeout))
        else:
            assert len((await run_job(app, RunJob(id=id, timeout=timeout))).answer["mempool"]) == 1


def create(scenarioctl: Run) -> str:
    return scenarioctl(
        "--offline", "create", "remark", "--chain", "polkadot", "--text", "hi"
    ).out.strip()


def test_the_exit_code_of_a_run_tells_what_failed(scenarioctl: Run, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps({"nodes": [BROKEN], "edges": []}))
    id = scenarioctl("scenario", "import", str(broken)).out.strip()
    query = scenarioctl(
        "--offline", "create", "query", "--chain", "polkadot", "System", "Number"
    ).out.strip()

    failed = scenarioctl("--offline", "job", "run", id)
    as_json = scenarioctl("--offline", "--json", "job", "run", id)
    unreachable = scenarioctl("--offline", "job", "run", query)

    assert failed.code == 2
    answer = json.loads(as_json.out)
    sentence = answer["error"]
    assert sentence.startswith("Could not generate transaction: ")
    assert answer["code"] == "invalid_request"
    # Once: what the log says of it too is left out.
    assert (failed.out, failed.err) == ("workload executed\n", f"Error: {sentence}\n")
    reason = sentence.removeprefix("Could not generate transaction: ")
    assert answer["result"] == [sentence, says("1", reason), "workload executed"]
    assert [entry["tx"] for entry in answer["mempool"]] == ["Could not generate transaction"]
    assert unreachable.code == 5


def test_a_moment_without_a_zone_is_local_on_the_command_line(
    scenarioctl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    import time
    from datetime import datetime, timedelta

    id = create(scenarioctl)
    log = scenarioctl("--offline", "job", "run", id).out
    (made, *_) = scenarioctl("job", "mempool", id, "--field", "mempool.*.Date").out.split()
    # Kathmandu is 5:45 ahead of UTC: half an hour before the run, by its clock.
    local = datetime.fromisoformat(made[:19]) + timedelta(hours=5, minutes=15)
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    time.tzset()
    try:
        since = scenarioctl("job", "logs", id, "--since", f"{local:%Y-%m-%dT%H:%M}")
        later = scenarioctl(
            "job", "logs", id, "--since", f"{local + timedelta(hours=1):%Y-%m-%dT%H:%M}"
        )
        utc = scenarioctl("job", "logs", id, "--since", f"{local:%Y-%m-%dT%H:%M}Z")
    finally:
        monkeypatch.undo()
        time.tzset()

    assert (since.out, later.out, utc.out) == (log, "", "")
