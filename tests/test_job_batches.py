"""Jobs that draft all their steps as one transaction, payrolls among them."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.chains.addresses import format_account
from scenarioctl.errors import Conflict
from scenarioctl.operations.creation import CreateFlow, create_flow
from scenarioctl.operations.jobs import JobStatus, RunJob, StartJob, job_status, run_job, start_job
from scenarioctl.operations.views import read_unsigned
from scenarioctl.worker.leg import RunningLeg
from tests.conftest import BOB, Run
from tests.daemons import wait_until
from tests.messages import Says, raises, says
from tests.runner import finish
from tests.runtimes import unhex
from tests.test_broadcast import CHAIN, TABLE
from tests.test_kills import WORKER
from tests.test_payout_records import CAROL, send
from tests.test_payout_records import create as create_lines
from tests.test_payouts import calls_of, somebody, table
from tests.test_scenario_batches import create, flow, transfer
from tests.test_transaction_status import World
from tests.test_worker import Bench

REMARK = {"type": "Remark", "chain": "polkadot", "text": "paid"}


def job(scenarioctl: Run, *line: str) -> Any:
    return json.loads(scenarioctl("--offline", "--json", "job", *line).out)


def test_all_steps_are_one_draft(scenarioctl: Run, tmp_path: Path) -> None:
    scenario = create(
        scenarioctl, flow(tmp_path, transfer("2"), transfer("1.5", "assetHub"), REMARK)
    )
    job(scenarioctl, "start", scenario, "--batch", "--every", "30d")

    done = job(scenarioctl, "run", scenario)

    (draft,) = done["mempool"]
    assert (draft["txType"], draft["human"], draft["amount"]) == ("Batch", "3.5 DOT", "35000000000")
    assert "node" not in draft
    assert len(calls_of(draft["tx"])) == 3
    assert done["result"][0] == says("3.5 DOT", "polkadot > Batch > polkadot")
    shown = job(scenarioctl, "status", scenario)
    assert (shown["batch"], shown["schedule"]) == (True, says("every 30d", "one transaction"))
    assert set(shown["last_steps"].values()) == {"drafted"}
    built = json.loads(
        scenarioctl("--offline", "--json", "scenario", "build", scenario, "--batch").out
    )
    assert built["tx"] == draft["tx"]


@pytest.mark.parametrize(
    ("steps", "error"),
    [
        ([transfer("1"), {"type": "delay", "seconds": 60}, transfer("2")], says("delay")),
        ([{"type": "condition", "when": "time > 08:00"}, transfer("2")], says("condition")),
        ([transfer("1"), transfer("2", "polkadot", "assetHub")], says("polkadot", "assetHub")),
        ([{"type": "delay", "seconds": 60}], says("delay")),
    ],
    ids=["a delay", "a condition", "two chains", "no draft"],
)
def test_what_cannot_be_one_draft_is_refused_at_the_start(
    scenarioctl: Run, tmp_path: Path, steps: list[dict[str, Any]], error: Says
) -> None:
    scenario = create(scenarioctl, flow(tmp_path, *steps))

    refused = scenarioctl("--offline", "job", "start", scenario, "--batch")

    assert refused.code == 2
    assert refused.err.strip() == error
    assert job(scenarioctl, "status", scenario)["state"] == "stopped"


def test_a_scenario_that_is_changed_later_fails_as_one_draft(
    scenarioctl: Run, tmp_path: Path
) -> None:
    scenario = create(scenarioctl, flow(tmp_path, transfer("2"), REMARK))
    job(scenarioctl, "start", scenario, "--batch")
    scenarioctl(
        "--offline",
        "scenario",
        "edit",
        scenario,
        "--file",
        flow(tmp_path, transfer("2"), transfer("3", source="assetHub")),
    )

    ended = scenarioctl("--offline", "job", "run", scenario)

    assert ended.code == 2
    assert ended.err.splitlines()[-1] == says("polkadot", "assetHub")
    assert "run failed: 1 of 1 drafts" in scenarioctl("job", "logs", scenario).out
    (entry,) = job(scenarioctl, "drafts", scenario)["mempool"]
    assert (entry["txType"], entry["chain"]) == ("Batch", "polkadot")
    assert entry["tx"] == "Could not generate transaction"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    for store in made.stores:
        finish(store.close())


async def test_a_worker_drafts_as_one_too(bench: Bench) -> None:
    steps = [transfer("2"), REMARK]
    made = await create_flow(bench.app, CreateFlow(flow={"steps": steps}, syntax="json"))
    id = made.answer["result"]
    await start_job(bench.app, StartJob(id=id, batch=True, every="30d"))

    assert await take_leg(bench, id, "me") == ["0x"]
    assert (await job_status(bench.app, JobStatus(id=id))).answer["batch"] is True


async def take_leg(bench: Bench, id: str, owner: str) -> list[str]:
    """Take the leg that is due; return the first letters of each draft that it leaves."""
    worker = bench.worker(owner=owner)
    leg = RunningLeg(
        bench.app,
        await bench.begin(id, owner),
        owner=owner,
        pace=worker.pace,
        counts=worker.counts,
        monotonic=bench.time.monotonic,
    )
    ended = await leg.perform()
    assert ended is not None
    return [draft.tx[:2] for draft in ended.drafts]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(tmp_path, stack)


def test_a_payroll_in_one_draft_is_sent_once(world: World) -> None:
    scenario = create_lines(world, [BOB, "1"], [CAROL, "2"])["result"]
    finish(start_job(world.app, StartJob(id=scenario, batch=True)))
    (draft,) = finish(run_job(world.app, RunJob(id=scenario))).answer["mempool"]
    call, _ = read_unsigned(TABLE, CHAIN, unhex(draft["tx"]))
    assert len(call.args["calls"]) == 2
    hash = send(world, "", call, job=scenario, draft=draft["seq"])
    world.chain.nonce = 6

    with raises(Conflict, says("nothing was sent", hash=hash)):
        send(world, "", call, nonce=6, job=scenario, draft=draft["seq"])

    # By hand none of its lines is drafted once more.
    with pytest.raises(Conflict) as sent:
        finish(run_job(world.app, RunJob(id=scenario)))
    assert hash in str(sent.value)


#: A worker that has drafted, and doesn't come to store it.
STUCK = WORKER.replace(
    "async def main():",
    """from scenarioctl.worker.leg import RunningLeg

async def stay(leg, run):
    print("drafted", len(run.drafts), flush=True)
    await asyncio.sleep(3600)

RunningLeg._keep = stay

async def main():""",
)


def start(program: str, store: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", program, str(store), "2"], stdout=subprocess.PIPE, text=True
    )


@pytest.mark.processes
def test_of_a_payroll_whose_worker_is_killed_no_line_is_lost_or_drafted_twice(
    scenarioctl: Run, tmp_path: Path
) -> None:
    store = tmp_path / "s.db"
    people = [somebody(number) for number in range(5)]
    lines = table(*[[each, "2"] for each in people])
    at = ("--store", str(store), "--offline", "--json")
    (tmp_path / "pay.csv").write_text(lines)
    paid = ("create", "payout", str(tmp_path / "pay.csv"), "--chain", "polkadot", "--asset", "DOT")
    id = json.loads(scenarioctl(*at, *paid, "--portion", "2").out)["result"]
    scenarioctl(*at, "job", "start", id, "--batch", "--every", "30d")

    with start(STUCK, store) as worker:
        assert worker.stdout is not None
        assert [worker.stdout.readline() for _ in range(2)] == ["ready\n", "drafted 1\n"]
        worker.kill()

    def drafts() -> list[Any]:
        found: list[Any] = json.loads(scenarioctl(*at, "job", "drafts", id).out)["mempool"]
        return found

    assert drafts() == []
    with start(WORKER, store) as worker:
        (draft,) = wait_until(drafts)
        worker.terminate()
    assert draft["txType"] == "Batch"
    calls = [line for portion in calls_of(draft["tx"]) for line in flatten(portion)]
    assert [format_account(each["dest"]["Id"], 0) for each in calls] == people
    assert drafts() == [draft]


def flatten(call: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the transfers of a portion."""
    ((_, inner),) = call.items()
    ((_, args),) = inner.items()
    return [each for one in args["calls"] for each in flatten(one)] if "calls" in args else [args]
