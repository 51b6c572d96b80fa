"""`scenarioctl status`: what needs a person, the chains, the worker and
the jobs."""

import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.chains.probing import read_block_time
from scenarioctl.model.jobs import (
    SECOND,
    FinishedRun,
    Job,
    JobChange,
    JobState,
    Retention,
    new_owner,
)
from scenarioctl.operations.jobs import StartJob, start_job
from scenarioctl.operations.status import ShowStatus, show_status
from scenarioctl.operations.stores import CheckStore, check_store
from scenarioctl.stores import create_store
from tests.conftest import Run
from tests.messages import says
from tests.network import FakeNetwork
from tests.test_job_runs import MINUTE, draft, run_at
from tests.test_jobs import NOON, opened, remark


async def told(app: Application) -> Any:
    return (await show_status(app, ShowStatus())).answer


async def test_an_empty_store_needs_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        await create_store(app.settings.store)
        answer = await told(app)

        assert answer.pop("version")
        assert answer == {
            "offline": True,
            "worker": False,
            "workers": [],
            "scenarios": 0,
            "recent": [],
            "needs": {
                "count": 0,
                "sign": [],
                "sign_total": 0,
                "expiring": 0,
                "paused": [],
                "paused_total": 0,
                "failing": [],
                "failing_total": 0,
            },
            "jobs": [],
            "jobs_total": 0,
            "chains": [],
        }


async def test_each_worker_has_a_row(tmp_path: Path) -> None:
    owner = new_owner()

    async with opened(tmp_path) as app:
        offset = round(-0.4 * SECOND)
        await app.store.renew_lease(owner, lease=600 * SECOND, version="1.2.3", offset=offset)
        await app.store.renew_lease("somebody else", lease=600 * SECOND)
        id = await remark(app)
        await start_job(app, StartJob(id=id))
        assert await app.store.begin_due(1, owner=owner)

        other, row = sorted((await told(app))["workers"], key=lambda row: str(row["version"]))
        checked = (await check_store(app, CheckStore())).answer
        assert {**row, "last_seen": ""} == {
            "host": os.uname().nodename,
            "process": os.getpid(),
            "version": "1.2.3",
            "clock_offset": -0.4,
            "last_seen": "",
            "silent": False,
            "running": 1,
            "jobs": [id],
        }
        assert (other["process"], other["version"], other["clock_offset"]) == (None, "", None)
        assert [each["version"] for each in checked["workers"]] in (["1.2.3", ""], ["", "1.2.3"])
        assert checked["findings"] == [
            says("0.4 s behind", "NTP", host=os.uname().nodename, process=os.getpid())
        ]


async def test_the_newest_draft_of_each_job_waits_for_a_signature(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        one, other = await remark(app), await remark(app)
        late = replace(draft(NOON), expires=NOON + 60 * MINUTE)
        await run_at(app, one, -9, drafts=(late, late))
        soon = replace(
            draft(NOON - 5, amount="0", human="", tx="0x00"),
            tx_type="Remark",
            expires=NOON + MINUTE,
        )
        await run_at(app, other, -8, drafts=(soon,))
        # Expired, outdated, failed, and the answer of a chain.
        await run_at(app, other, -7, drafts=(replace(soon, expires=NOON),))
        await run_at(app, other, -6, drafts=(replace(soon, spec_version=None, expires=None),))

        needs = (await told(app))["needs"]

        assert (needs["count"], needs["sign_total"], needs["expiring"]) == (2, 2, 1)
        first, second = needs["sign"]
        assert first == {
            "id": other,
            "name": "",
            "title": 'remark "hello" · Polkadot',
            "draft": 3,
            "drafts": 1,
            "chain": "polkadot",
            "txType": "Remark",
            "amount": "0",
            "date": "2026-11-21T11:59:59.999999995Z",
            "expires": "2026-11-21T12:01:00.000000000Z",
            "expiring": True,
        }
        assert (
            second["id"],
            second["draft"],
            second["drafts"],
            second["human"],
            second["expiring"],
        ) == (
            *(one, 2, 2, "1.5 DOT"),
            False,
        )
        await app.store.flag_drafts({3: "the runtime has changed"}, now=NOON, lines={})
        assert [row["id"] for row in (await told(app))["needs"]["sign"]] == [one]


async def fails(app: Application, id: str, *, pause: bool = False) -> None:
    """Let the job look as if its last run had failed."""

    def change(job: Job) -> JobChange:
        state = JobState.PAUSED if pause else job.state
        due = None if pause else job.due
        return JobChange(
            job=replace(job, reason="the chain is down", state=state, due=due, planned=due)
        )

    await app.store.change_job(id, change)


async def test_paused_and_failing_jobs_need_a_person(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        paused, failing, sound = [await remark(app) for _ in range(3)]
        for id in (paused, failing, sound):
            await start_job(app, StartJob(id=id, every="10m"))
        await fails(app, paused, pause=True)
        store = app.store
        await store.renew_lease("me", lease=SECOND)
        for leg in await store.begin_due(10, owner="me"):
            id = leg.job.id
            ended = FinishedRun(
                job=id,
                epoch=leg.job.epoch,
                planned=NOON,
                started=NOON,
                finished=NOON + SECOND // 4,
                failure="the chain is down" if id == failing else "",
                due=NOON + 10 * MINUTE,
                next_planned=NOON + 10 * MINUTE,
            )
            assert await store.finish_run(ended, retention=Retention())

        answer = await told(app)

        needs = answer["needs"]
        assert (needs["count"], needs["paused_total"], needs["failing_total"]) == (2, 1, 1)
        assert [(row["id"], row["reason"]) for row in needs["paused"]] == [
            (paused, "the chain is down")
        ]
        assert needs["failing"] == [
            {
                "id": failing,
                "name": "",
                "title": 'remark "hello" · Polkadot',
                "reason": "the chain is down",
                "failures": 1,
                "since": "2026-11-21T12:00:00.250000000Z",
            }
        ]
        jobs = {row["id"]: row for row in answer["jobs"]}
        assert [row["state"] for row in answer["jobs"]] == ["running", "running", "paused"]
        assert jobs[failing]["runs"][0]["outcome"] == "failed"
        assert jobs[sound]["runs"] == [
            {
                "number": jobs[sound]["runs"][0]["number"],
                "started": "2026-11-21T12:00:00.000000000Z",
                "seconds": 0.25,
                "outcome": "executed",
            }
        ]
        assert jobs[sound]["next"] == "2026-11-21T12:10:00.000000000Z"


async def test_lists_are_bounded_and_counts_are_not(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        for _ in range(25):
            id = await remark(app)
            await start_job(app, StartJob(id=id))
            await run_at(app, id, 0)
            await fails(app, id, pause=True)

        answer = await told(app)

        assert (
            len(answer["jobs"])
            == len(answer["needs"]["sign"])
            == len(answer["needs"]["paused"])
            == 20
        )
        assert (
            answer["jobs_total"]
            == answer["needs"]["sign_total"]
            == answer["needs"]["paused_total"]
            == 25
        )
        assert answer["needs"]["count"] == 50


def test_a_chain_tells_the_age_of_its_head_and_which_endpoint_answers(
    scenarioctl: Run, tmp_path: Path
) -> None:
    def chain() -> Any:
        return json.loads(scenarioctl(*config, "status", "--json").out)["chains"][0]

    with FakeNetwork(tmp_path) as network:
        config = ("--config", str(network.config))
        scenarioctl(
            "--offline", *config, "create", "remark", "--chain", "polkadot", "--text", "hello"
        )
        polkadot = network.chains["polkadot"]
        polkadot.store("Timestamp", "Now", value=int(time.time() * 1000) - 5000)
        fresh = chain()
        polkadot.store("Timestamp", "Now", value=int(time.time() * 1000) - 3600_000)
        late = chain()

    gone = chain()
    assert (fresh["head"], fresh["block_seconds"]) == ("fresh", 6)
    assert 4 < fresh["age"] < 60
    assert fresh["endpoint"].startswith("ws://127.0.0.1:")
    assert (late["head"], round(late["age"] / 60)) == ("late", 60)
    assert (gone["head"], gone["age"], gone["endpoint"]) == ("unknown", None, "")


def test_chains_that_scenarios_use_are_asked(scenarioctl: Run, tmp_path: Path) -> None:
    with FakeNetwork(tmp_path) as network:
        config = ("--config", str(network.config))
        scenarioctl(
            "--offline", *config, "create", "remark", "--chain", "polkadot", "--text", "hello"
        )
        network.chains["polkadot"].store("Timestamp", "Now", value=NOON // 1_000_000)

        connected = json.loads(scenarioctl(*config, "status", "--json").out)["chains"]
        offline = json.loads(scenarioctl("--offline", *config, "status", "--json").out)["chains"]

    assert [(each["name"], each["title"], each["state"]) for each in connected] == [
        ("polkadot", "Polkadot", "connected")
    ]
    assert (connected[0]["block"], connected[0]["block_time"]) == (
        100,
        "2026-11-21T12:00:00.000000000Z",
    )
    assert [each["state"] for each in offline] == ["offline"]
    gone = json.loads(scenarioctl(*config, "status", "--json").out)["chains"]
    assert [(each["state"], each["block"]) for each in gone] == [("unreachable", None)]
    assert "Polkadot" in gone[0]["reason"]


@pytest.mark.parametrize(
    ("answer", "moment"),
    [
        ("0x0100000000000000", 1_000_000),
        ("0x", None),
        (None, None),
        ("0xzz", None),
        ("0xffffffffffffffff", None),
    ],
)
def test_the_time_of_a_block_is_read_or_unknown(answer: object, moment: int | None) -> None:
    assert read_block_time(answer) == moment
