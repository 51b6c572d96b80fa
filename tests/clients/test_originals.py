"""The requests of the interface's original clients, in their order and with their headers;
`originals.py` runs the clients."""

import json
import re
import time
import zlib
from base64 import b64decode, b64encode
from typing import Any

import pytest
import requests

from tests.clients.test_clients import DATE, Daemon, editor_diagram, post
from tests.clients.test_clients import daemon as daemon
from tests.conftest import BOB
from tests.daemons import PATIENCE

pytestmark = pytest.mark.acceptance

#: What axios sends in Node.js with a body.
AXIOS = {
    "Accept": "application/json, text/plain, */*",
    "Content-Type": "application/json",
    "User-Agent": "axios/1.7.2",
    "Accept-Encoding": "gzip, compress, deflate, br",
}


def share(diagram: dict[str, Any]) -> str:
    return b64encode(zlib.compress(json.dumps(diagram, separators=(",", ":")).encode())).decode()


def axios(url: str, body: dict[str, Any]) -> requests.Response:
    return requests.post(
        url, data=json.dumps(body, separators=(",", ":")), headers=AXIOS, timeout=PATIENCE
    )


def log_of(daemon: Daemon, id: str, end: str) -> list[str]:
    """Return the job's log once it has a line *end*."""
    deadline = time.monotonic() + PATIENCE
    while True:
        log: list[str] = post(f"{daemon.worker}/scenario/worker/logs", {"id": id})["result"]
        if end in log or time.monotonic() > deadline:
            return log
        time.sleep(0.1)


def test_the_python_script_saves_starts_and_reads(daemon: Daemon) -> None:
    base = daemon.worker
    saved = requests.post(
        base + "/saveUrl", json={"url": share(editor_diagram())}, timeout=PATIENCE
    )
    id = saved.json().get("shortUrl", "not found")
    started = requests.post(base + "/job/start", json={"id": id}, timeout=PATIENCE).json()
    log = log_of(daemon, id, "workload executed")
    logs = requests.post(base + "/scenario/worker/logs", json={"id": id}, timeout=PATIENCE)
    # Of no described endpoint: the script prints whatever it says.
    filtered = requests.post(
        base + "/scenario/get_filter_logs", json={"id": id, "log_type": "query"}, timeout=PATIENCE
    )
    mempool = requests.post(base + "/scenario/tx", json={"id": id}, timeout=PATIENCE)
    requests.post(base + "/job/stop", json={"id": id}, timeout=PATIENCE)

    assert re.fullmatch("[A-Za-z0-9]{9}", id)
    assert started == {"success": True, "result": "Job started"}
    assert (logs.json()["success"], log[0], log[-2:]) == (
        True,
        "Starting worker",
        ["workload executed", "Sleeping"],
    )
    assert (filtered.status_code, filtered.json()["success"]) == (404, False)
    entries = mempool.json()["mempool"]
    assert [entry["txType"] for entry in entries] == ["xTransfer", "Remark"]
    assert all(DATE.fullmatch(entry["Date"]) and entry["tx"].startswith("0x") for entry in entries)


def test_a_script_sees_what_a_run_waits_for(daemon: Daemon) -> None:
    uuid = "ba2dae68-6ca8-47fd-88cd-745af0f5e71d"
    step = {
        "id": "webhook_1",
        "type": "webhook",
        "position": {"x": 0, "y": 0},
        "data": {"name": "Webhook"},
        "formData": {"webhookName": "test", "uuid": uuid, "eventData": {"content": {"old": 1}}},
    }
    id = post(f"{daemon.worker}/saveUrl", {"url": share({"nodes": [step], "edges": []})})[
        "shortUrl"
    ]
    post(f"{daemon.worker}/job/start", {"id": id})

    waiting = f"Waiting for a POST to /webhook/{uuid}, up to 3600 s"
    before = log_of(daemon, id, waiting)
    posted = axios(f"{daemon.api}/webhook/{uuid}", {"content": {"amount": "1"}})
    after = log_of(daemon, id, "workload executed")
    post(f"{daemon.worker}/job/stop", {"id": id})

    assert before == ["Starting worker", waiting]
    assert posted.json()["success"] is True
    assert after[:2] == before
    assert after[-2:] == ["workload executed", "Sleeping"]


def test_the_editor_saves_opens_starts_watches_and_stops(daemon: Daemon) -> None:
    diagram = editor_diagram()
    saved = axios(f"{daemon.api}/api/template/saveUrl", {"url": share(diagram)}).json()
    opened = requests.get(
        f"{daemon.api}/api/template/getUrl/{saved['shortUrl']}", headers=AXIOS, timeout=PATIENCE
    ).json()
    id = saved["shortUrl"]
    started = [axios(f"{daemon.worker}/job/start", {"id": id}).json() for _ in range(2)]
    log = log_of(daemon, id, "workload executed")
    # The editor stops by an id of its own, which no server knows.
    own = axios(f"{daemon.worker}/job/stop", {"id": "3f9c1f0e-5a3c-4a57-9c41-0d4f0d2f7f10"})
    stopped = [axios(f"{daemon.worker}/job/stop", {"id": id}).json() for _ in range(2)]

    assert saved["success"] is opened["success"] is True
    # As it cuts the string before it reads it.
    text = re.sub("[^A-Za-z0-9+/]", "", opened["longUrl"])
    assert json.loads(zlib.decompress(b64decode(text + "=" * (-len(text) % 4)))) == diagram
    assert [each["result"] for each in started] == ["Job started", "Job already running"]
    assert all(each["success"] for each in (*started, *stopped))
    assert "Starting worker" in log
    assert (own.status_code, own.json()["success"]) == (404, False)
    assert [each["result"] for each in stopped] == ["Job stopped", "Job not running"]


def test_the_signer_reads_the_first_transaction_of_a_mempool(daemon: Daemon) -> None:
    fields = {
        "source_chain": "polkadot",
        "dest_chain": "assetHub",
        "destination_address": BOB,
        "amount": 1,
        "assetid": 0,
    }
    id = axios(f"{daemon.api}/api/create/scenario", fields).json()["result"]
    axios(f"{daemon.worker}/job/run", {"id": id})

    (entry,) = axios(f"{daemon.worker}/scenario/tx", {"id": id}).json()["mempool"]

    assert {
        name: type(entry[name]) for name in ("chain", "amount", "txType", "Date", "tx")
    } == dict.fromkeys(("chain", "amount", "txType", "Date", "tx"), str)
    assert (entry["chain"], entry["amount"], entry["txType"]) == (
        "polkadot",
        "10000000000",
        "xTransfer",
    )
    # A bare extrinsic, as `registry.createType('Extrinsic', tx)` reads it: its length in a byte,
    # version 4 without a signature.
    data = bytes.fromhex(entry["tx"][2:])
    assert (data[0], data[1]) == ((len(data) - 1) << 2, 4)
