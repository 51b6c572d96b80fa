"""The log of a job says what a run does while it does it, and how it ended."""

from pathlib import Path

from scenarioctl.operations.jobs import (
    JobLog,
    JobMempool,
    JobStatus,
    ListJobs,
    StartJob,
    job_log,
    job_mempool,
    job_status,
    list_jobs,
    start_job,
)
from scenarioctl.runtime.table import load_bundled
from scenarioctl.worker.worker import Worker
from tests.messages import says
from tests.test_jobs import BROKEN, HTTP, REMARK, Hanging, diagram, opened


async def test_a_run_in_which_a_draft_fails_says_so_before_its_end_mark(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        id = await diagram(app, REMARK, BROKEN)
        sound = await diagram(app, REMARK)
        for each in (id, sound):
            await start_job(app, StartJob(id=each))

        assert await Worker(app).run_next()

        lines = (await job_log(app, JobLog(id=id))).answer["result"]
        reason = "node 'b': the Remark has no text, expected it in actionData.source.target"
        assert lines[-4:] == [
            says("transaction", reason),
            says("1", "2", reason),
            "workload executed",
            "Sleeping",
        ]
        status = (await job_status(app, JobStatus(id=id))).answer
        assert (status["outcome"], status["last_runs"][0]["outcome"]) == ("failed", "failed")
        listed = (await list_jobs(app, ListJobs())).answer["jobs"]
        assert {job["id"]: job["outcome"] for job in listed} == {id: "failed", sound: "executed"}


async def test_drafts_that_a_run_did_not_come_to_are_counted(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        # A run would read it within its second.
        load_bundled("polkadot")
        app.resources.outgoing[()] = Hanging()  # type: ignore[assignment]
        id = await diagram(app, REMARK, HTTP, {**REMARK, "id": "s"})
        await start_job(app, StartJob(id=id, timeout="1s"))

        assert await Worker(app).run_next()

        lines = (await job_log(app, JobLog(id=id))).answer["result"]
        assert lines[2:] == [
            "Requesting GET example.org/",
            says("Could not generate transaction", "Remark", "s", "1s"),
            says("1 of 2", "1s"),
            "workload executed",
            "Sleeping",
        ]
        entries = (await job_mempool(app, JobMempool(id=id))).answer["mempool"]
        assert [each["tx"] for each in entries[1:]] == ["Could not generate transaction"]
