"""Programs that others write against the interface, against the daemon itself; `tests/clients/run`
installs their packages."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.conftest import BOB, BOB_HEX, DATA
from tests.daemons import PATIENCE

pytestmark = pytest.mark.acceptance

HERE = Path(__file__).parent
#: Where `run` put the packages; a test's own environment does not say it any more.
PACKAGES = os.environ.get("SCENARIOCTL_CLIENTS", "")
METADATA = {
    "polkadot": "polkadot-2000000.v15.scale",
    "assetHub": "asset-hub-polkadot-2003001.v16.scale",
    "hydraDx": "hydration-428.v16.scale",
}
ALICE = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY"
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z")


@dataclass(frozen=True, kw_only=True)
class Daemon:
    """Where `scenarioctl daemon` listens."""

    api: str
    worker: str


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    """`scenarioctl daemon` as a process, on ports of its own; it asks no node."""
    with tempfile.TemporaryDirectory() as home:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "scenarioctl", "--offline", "daemon"),
                *("--listen", "127.0.0.1:0", "--worker-listen", "127.0.0.1:0"),
            ],
            stderr=subprocess.PIPE,
            text=True,
            cwd=home,
            env={
                **{name: os.environ[name] for name in ("PATH", "PYTHONPATH")},
                "HOME": home,
                "LANG": "C.UTF-8",
            },
        )
        assert process.stderr is not None
        found: dict[str, str] = {}
        said: list[str] = []
        while len(found) < 2:
            line = process.stderr.readline()
            assert line, "".join(said)
            said.append(line)
            for name in ("scenario API", "job worker"):
                if match := re.search(rf"{name} on (http://\S+)", line):
                    found[name] = match[1].rstrip("/")
        try:
            yield Daemon(api=found["scenario API"], worker=found["job worker"])
        finally:
            process.terminate()
            _, rest = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, "".join(said) + rest


def node(tmp_path: Path, script: str, *arguments: str, stdin: str = "") -> Any:
    """Run a client of Node.js where its packages are, and return what it printed."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    if not PACKAGES:
        pytest.skip("SCENARIOCTL_CLIENTS names no folder of packages, see tests/clients/run")
    shutil.copy(HERE / script, tmp_path)
    (tmp_path / "node_modules").symlink_to(Path(PACKAGES) / "node_modules")
    done = subprocess.run(
        ["node", str(tmp_path / script), *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def chain(id: str, name: str) -> dict[str, Any]:
    asset = {"name": "DOT", "assetId": 0, "symbol": "DOT"}
    form = {
        "chain": name,
        "asset": asset,
        "address": ALICE,
        "amount": "1.5",
        "contact": None,
        "delay": None,
    }
    return {
        "id": id,
        "type": "chain",
        "position": {"x": 552.3836857519447, "y": 1e-7},
        "data": {"label": "Chain", "name": "Chain"},
        "formData": form,
    }


def action(id: str, kind: str, source: dict[str, Any], target: dict[str, Any]) -> dict[str, Any]:
    actor = {"actionType": kind, "source": source, "target": target}
    return {
        "id": id,
        "type": "action",
        "position": {"x": 0, "y": 0},
        "data": {"label": "action"},
        "formData": {"action": kind, "actionData": actor},
    }


def edges(*ids: str) -> list[dict[str, str]]:
    return [
        {"id": f"{source}-{target}", "source": source, "target": target, "type": "simplebezier"}
        for source, target in pairwise(ids)
    ]


def editor_diagram() -> dict[str, Any]:
    """A transfer, then a remark, as the web editor draws them."""
    side = {"chain": "polkadot", "assetId": 0, "address": ALICE, "amount": "1.5", "symbol": "DOT"}
    to_hub = {"chain": "assetHub", "assetId": 1000, "address": BOB, "symbol": "DOT"}
    return {
        "nodes": [
            chain("chain_1", "polkadot"),
            action("action_2", "xTransfer", side, to_hub),
            chain("chain_3", "assetHub"),
            action(
                "action_4", "Remark", {"chain": "assetHub", "target": "é 漢字 👩‍🚀 \u2028"}, to_hub
            ),
            chain("chain_5", "assetHub"),
        ],
        "edges": edges("chain_1", "action_2", "chain_3", "action_4", "chain_5"),
        "viewport": {"x": 0, "y": 0, "zoom": 0.75},
    }


def post(url: str, body: dict[str, Any]) -> Any:
    response = requests.post(url, json=body, timeout=PATIENCE)
    assert response.status_code == 200, response.text
    return response.json()


def test_the_editors_own_share_strings_are_saved_and_given_back(
    daemon: Daemon, tmp_path: Path
) -> None:
    diagram = editor_diagram()

    read = node(tmp_path, "share_diagram.mjs", daemon.api, stdin=json.dumps(diagram))

    assert read["success"] is True
    assert re.fullmatch("[A-Za-z0-9]{9}", read["shortUrl"])
    # Compared as text, since 1 == 1.0 == True in Python.
    assert json.dumps(read["diagram"], sort_keys=True) == json.dumps(diagram, sort_keys=True)
    assert post(f"{daemon.api}/api/scenario/info", {"id": read["shortUrl"]}) == {
        "result": "polkadot > xTransfer > assetHub > Remark > assetHub"
    }


def test_a_script_saves_starts_follows_and_stops_a_job_on_the_workers_port(daemon: Daemon) -> None:
    share = requests.get(
        f"{daemon.api}/api/template/getUrl/{_save(daemon, editor_diagram())}", timeout=PATIENCE
    ).json()["longUrl"]

    done = subprocess.run(
        [sys.executable, str(HERE / "follow_job.py"), daemon.worker, "2"],
        input=share,
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE,
    )

    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert told["saved"]["success"] is True
    assert told["started"] == {"success": True, "result": "Job started"}
    assert told["stopped"] == {"success": True, "result": "Job stopped"}
    assert told["logged"] is True
    marks = [
        line for line in told["log"] if line in ("Starting worker", "workload executed", "Sleeping")
    ]
    expected = ["Starting worker", "workload executed", "Sleeping", "workload executed"]
    assert marks[:4] == expected, told["log"]
    entries = told["mempool"]
    assert [entry["txType"] for entry in entries[:4]] == [
        "xTransfer",
        "Remark",
        "xTransfer",
        "Remark",
    ]
    assert [(entry["chain"], entry["amount"]) for entry in entries[:2]] == [
        ("polkadot", "15000000000"),
        ("assetHub", "0"),
    ]
    assert all(DATE.fullmatch(entry["Date"]) for entry in entries)
    assert all(re.fullmatch("0x([0-9a-f]{2})+", entry["tx"]) for entry in entries)


def _save(daemon: Daemon, diagram: dict[str, Any]) -> str:
    answer = post(f"{daemon.api}/api/template/saveUrl", {"url": json.dumps(diagram)})
    return str(answer["shortUrl"])


def test_polkadot_js_reads_every_transaction_of_a_mempool(daemon: Daemon, tmp_path: Path) -> None:
    transfer = {"type": "xTransfer", "destination_address": BOB, "amount": "1.5", "assetid": "DOT"}
    steps = [
        {**transfer, "source_chain": "polkadot", "dest_chain": "polkadot"},
        {**transfer, "source_chain": "polkadot", "dest_chain": "assetHub"},
        {**transfer, "source_chain": "assetHub", "dest_chain": "hydraDx"},
        {**transfer, "source_chain": "assetHub", "dest_chain": "assetHub", "assetid": "1984"},
        {**transfer, "source_chain": "hydraDx", "dest_chain": "assetHub"},
        {
            "type": "swap",
            "assetin": "DOT",
            "assetout": "HDX",
            "amount": "2",
            "min_amount_out": "900000000000000",
        },
        {"type": "Remark", "chain": "hydraDx", "text": "paid in full"},
        {
            "type": "chainTx",
            "chain": "polkadot",
            "pallet_name": "Balances",
            "method_name": "transfer_all",
            "params": {"dest": BOB, "keep_alive": "true"},
        },
        {
            "type": "chainQuery",
            "chain": "polkadot",
            "pallet_name": "System",
            "method_name": "Number",
        },
    ]
    flow = json.dumps({"name": "one of each", "steps": steps})
    id = post(f"{daemon.api}/api/create/flow", {"flow": flow, "syntax": "json"})["result"]
    # The query fails, since this daemon asks no node; what was drafted stays.
    run = requests.post(f"{daemon.worker}/job/run", json={"id": id}, timeout=PATIENCE)

    read = node(
        tmp_path,
        "read_mempool.mjs",
        daemon.worker,
        id,
        *(f"{name}={DATA / 'metadata' / file}" for name, file in METADATA.items()),
    )

    assert (run.status_code, run.json()["code"]) == (503, "chain_unreachable")
    assert [(each["chain"], each["txType"], each["call"]) for each in read] == [
        ("polkadot", "xTransfer", "balances.transferKeepAlive"),
        ("polkadot", "xTransfer", "xcmPallet.limitedTeleportAssets"),
        ("assetHub", "xTransfer", "polkadotXcm.transferAssetsUsingTypeAndThen"),
        ("assetHub", "xTransfer", "assets.transferKeepAlive"),
        ("hydraDx", "xTransfer", "polkadotXcm.transferAssetsUsingTypeAndThen"),
        ("hydraDx", "swap", "omnipool.sell"),
        ("hydraDx", "Remark", "system.remarkWithEvent"),
        ("polkadot", "ChainTx", "balances.transferAll"),
    ]
    assert all(each["again"] and not each["signed"] for each in read)
    assert read[0]["args"] == {"dest": {"Id": BOB}, "value": "15,000,000,000"}
    assert read[3]["args"]["id"] == "1,984"
    assert BOB_HEX in json.dumps(read[1]["args"])
    assert read[5]["args"] == {
        "asset_in": "5",
        "asset_out": "0",
        "amount": "20,000,000,000",
        "min_buy_amount": "900,000,000,000,000",
    }
    assert read[6]["args"] == {"remark": "paid in full"}
