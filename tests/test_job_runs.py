"""The runs of a job: their list, page by page, and the lines and drafts of one."""

from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest, NotFound, ScenarioctlError
from scenarioctl.model.jobs import (
    SECOND,
    FinishedRun,
    MempoolDraft,
    Retention,
)
from scenarioctl.operations.creation import CreateFlow, create_flow
from scenarioctl.operations.job_runs import ListRuns, ListSteps, list_runs, list_steps
from scenarioctl.operations.jobs import JobLog, JobMempool, RunJob, job_log, job_mempool, run_job
from tests.messages import says
from tests.runner import finish
from tests.test_jobs import NOON, application, opened, remark

MINUTE = 60 * SECOND


def draft(date: int, **more: Any) -> MempoolDraft:
    fields: dict[str, Any] = {"amount": "15000000000", "human": "1.5 DOT", "tx": "0x0400", **more}
    return MempoolDraft(
        chain="polkadot",
        tx_type="xTransfer",
        date=date,
        spec_version=7,
        expires=date + MINUTE,
        **fields,
    )


async def run_at(app: Application, id: str, minute: int, *, seconds: int = 2, **more: Any) -> None:
    """Store a run with two lines and a draft that began so many minutes after noon."""
    started = NOON + minute * MINUTE
    fields: dict[str, Any] = {
        "lines": (f"Drafted at {minute}", "workload executed"),
        "drafts": (draft(started + SECOND),),
        **more,
    }
    run = FinishedRun(
        job=id,
        epoch=None,
        planned=started,
        started=started,
        finished=started + seconds * SECOND,
        **fields,
    )
    assert await app.store.finish_run(run, retention=Retention())


async def test_runs_come_newest_first_and_page_by_page(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        id, other = await remark(app), await remark(app)
        for minute in range(3):
            await run_at(app, id, minute, failure="the chain is down" if minute == 1 else "")
            await run_at(app, other, minute)

        first = (await list_runs(app, ListRuns(id=id, limit=2))).answer
        second = (await list_runs(app, ListRuns(id=id, limit=2, after=first["next"] or ""))).answer

        assert [(run["number"], run["outcome"], run["failure"]) for run in first["runs"]] == [
            (5, "executed", ""),
            (3, "failed", "the chain is down"),
        ]
        assert first["runs"][0]["seconds"] == 2.0
        assert first["runs"][0]["drafts"] == 1
        assert [run["number"] for run in second["runs"]] == [1]
        assert second["next"] is None


async def test_a_run_has_its_lines_and_those_since_the_run_before(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        id = await remark(app)
        await run_at(app, id, 0)
        between = {id: ["Scenario changed"]}
        await app.store.flag_drafts({}, now=NOON + 30 * SECOND, lines=between)
        await run_at(app, id, 1)
        await run_at(app, id, 2)

        async def lines(run: int, **more: Any) -> list[str]:
            return (await job_log(app, JobLog(id=id, run=run, **more))).answer["result"]

        assert await lines(1) == ["Drafted at 0", "workload executed"]
        assert await lines(2) == ["Scenario changed", "Drafted at 1", "workload executed"]
        assert await lines(2, tail=1) == ["workload executed"]
        assert await lines(2, tail=0) == []
        assert await lines(3) == ["Drafted at 2", "workload executed"]


async def test_a_long_run_beside_a_short_one_keeps_its_first_lines(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        id = await remark(app)
        await app.store.flag_drafts({}, now=NOON + 10 * SECOND, lines={id: ["Waiting for webhook"]})
        await run_at(app, id, 1, lines=("by hand",))
        await run_at(app, id, 0, seconds=180, lines=("received",))

        assert (await job_log(app, JobLog(id=id, run=2))).answer["result"] == [
            "Waiting for webhook",
            "by hand",
            "received",
        ]


async def test_a_run_has_its_drafts_in_whole_tokens(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        id = await remark(app)
        await run_at(app, id, 0)
        await run_at(
            app, id, 1, drafts=(draft(NOON + MINUTE), draft(NOON + MINUTE, amount="1", human=""))
        )

        first = (await job_mempool(app, JobMempool(id=id, run=1))).answer["mempool"]
        second = (await job_mempool(app, JobMempool(id=id, run="2"))).answer["mempool"]

        assert [(row["seq"], row["amount"], row["human"]) for row in first] == [
            (1, "15000000000", "1.5 DOT")
        ]
        assert [(row["seq"], row["amount"], row.get("human")) for row in second] == [
            (2, "15000000000", "1.5 DOT"),
            (3, "1", None),
        ]
        (newest,) = (await job_mempool(app, JobMempool(id=id, run=2, tail=1))).answer["mempool"]
        assert newest["seq"] == 3


@pytest.mark.parametrize("asked", [JobLog, JobMempool])
def test_a_run_that_is_not_stored_is_refused(tmp_path: Path, asked: Any) -> None:
    work = job_log if asked is JobLog else job_mempool
    with application(tmp_path) as app:
        id, other = finish(remark(app)), finish(remark(app))
        finish(run_at(app, other, 0))

        with pytest.raises(NotFound) as missing:
            finish(work(app, asked(id=id, run=1)))
        with pytest.raises(InvalidRequest) as refused:
            finish(work(app, asked(id=id, run="first")))

    assert str(missing.value) == says("run 1", id=id)
    assert str(refused.value) == says("run", "first")


async def test_a_run_tells_of_its_steps_by_their_numbers_in_the_editor(tmp_path: Path) -> None:
    flow = {
        "steps": [
            {"type": "Remark", "chain": "polkadot", "text": "x"},
            {"type": "http", "url": "http://127.0.0.1:1/"},
            {"type": "delay", "seconds": 1},
        ]
    }
    async with opened(tmp_path) as app:
        id = str((await create_flow(app, CreateFlow(flow=flow, syntax="json"))).answer["result"])
        with pytest.raises(NotFound) as never:
            await list_steps(app, ListSteps(id=id))
        with pytest.raises(ScenarioctlError):
            await run_job(app, RunJob(id=id))
        shown = await list_steps(app, ListSteps(id=id))
        (number,) = (
            run["number"] for run in (await list_runs(app, ListRuns(id=id))).answer["runs"]
        )
        same = await list_steps(app, ListSteps(id=id, run=str(number)))
        with pytest.raises(NotFound) as missing:
            await list_steps(app, ListSteps(id=id, run=number + 1))

    assert str(never.value) == says("job run", id=id)
    assert str(missing.value) == says("run 2", id=id)
    assert shown.answer == same.answer
    assert shown.answer["run"]["number"] == number
    found = [(row["number"], row["step"], row["outcome"]) for row in shown.answer["steps"]]
    assert found == [(1, "Remark", "drafted"), (2, "http", "failed"), (3, "delay", "skipped")]
