"""What one request can take of a daemon's time and memory, whoever sends it."""

import asyncio
import json
import socket
import zlib
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.model.calls import Call
from scenarioctl.model.jobs import FinishedRun, MempoolDraft, Retention
from scenarioctl.runtime.scale import encode_compact
from scenarioctl.runtime.table import RuntimeTable, load_bundled
from scenarioctl.stores import open_store
from tests.conftest import BOB
from tests.daemons import PATIENCE, Daemon
from tests.messages import says
from tests.pressure import pressed_daemon, send, sizes, under_probe

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    home: Path = tmp_path_factory.mktemp("pressed")
    with pressed_daemon(home / "home", "--offline") as running:
        yield running


def share(text: bytes) -> str:
    """Return *text* as a share string."""
    return b64encode(zlib.compress(text)).decode()


@sizes(60_000, 249_000)
def test_a_diagram_of_as_many_values_as_there_may_be(running: Daemon, size: int) -> None:
    """Deep lists are the dearest values: import, list of problems, picture, draft, export."""
    deep = b"[" * 90 + b"]" * 90
    url = share(b'{"nodes":[],"edges":[],"x":[' + (deep + b",") * (size // 91) + b"[]]}")

    with under_probe(running):
        status, answer = send(running, "/api/template/saveUrl", {"url": url})
        assert status == 200, answer
        name = answer["shortUrl"]
        assert send(running, "/api/scenario/show", {"id": name})[0] == 200
        assert running.ask(f"/api/info/preview?scenario_id={name}&format=svg")[0] == 200
        assert send(running, "/api/scenario/info/full", {"id": name})[0] == 422
        assert running.ask(f"/api/template/getUrl/{name}")[0] == 200


@sizes(1_000, 10_000)
def test_a_diagram_of_many_nodes(running: Daemon, size: int) -> None:
    """Each is drafted to find out what is wrong with it."""
    form = {"action": "Remark", "actionData": {"source": {"chain": "polkadot", "target": "hello"}}}
    nodes = [{"id": f"n{number}", "type": "action", "formData": form} for number in range(size)]
    edges = [
        {"id": "", "source": f"n{number}", "target": f"n{number + 1}"} for number in range(size - 1)
    ]
    url = share(json.dumps({"nodes": nodes, "edges": edges}).encode())

    with under_probe(running):
        status, answer = send(running, "/api/template/saveUrl", {"url": url})
        assert status == 200, answer
        name = answer["shortUrl"]
        assert len(send(running, "/api/scenario/show", {"id": name})[1]["nodes"]) == size
        assert send(running, "/api/scenario/info/full", {"id": name})[0] == 200
        assert send(running, "/job/run", {"id": name})[0] == 200


@sizes(3_000_000, 24_000_000)
def test_a_link_that_is_all_percent_encoded(running: Daemon, size: int) -> None:
    """Decoding made an object of each character: 24 MB took 2 GB, and a long break in everybody's
    answers."""
    bound = 100 * 1024 * 1024 + 5 * size
    with under_probe(running, grown=bound):
        for encoded in ("%41", "A B", "%2B"):
            url = "https://x/#/create/?diagramData=" + encoded * (size // 3 - 32)
            status, answer = send(running, "/api/template/saveUrl", {"url": url})
            assert (status, answer["code"]) == (422, "invalid_request")


def transaction(call: bytes) -> str:
    return "0x" + call.hex()


def batch(table: RuntimeTable, count: int) -> str:
    """Return a batch of the shortest calls that there are."""
    call = Call(
        pallet="Utility", method="batch", args={"calls": [{"System": {"remark": {"remark": b""}}}]}
    )
    one = table.encode_call(call)
    return transaction(one[:2] + encode_compact(count) + one[3:] * count)


@pytest.fixture(scope="module")
def polkadot() -> RuntimeTable:
    table = load_bundled("polkadot")
    assert table is not None
    return table


@sizes(3 * 1024 * 1024, 15 * 1024 * 1024)
def test_a_transaction_that_is_longer_than_any_block(running: Daemon, size: int) -> None:
    """29 MB took 43 s of processor time."""
    tx = "0x" + "00" * (2 * size)

    with under_probe(running):
        for path, more in (
            ("/api/tx/decode", {}),
            ("/api/chain/Broadcast", {}),
            ("/api/tx/payload", {"sender": BOB}),
        ):
            status, answer = send(running, path, {"chain": "polkadot", "tx": tx, **more})
            assert (status, answer["code"]) == (413, "too_large"), path


@sizes(100_000, 1_700_000)
def test_a_batch_of_more_calls_than_are_decoded(
    running: Daemon, polkadot: RuntimeTable, size: int
) -> None:
    tx = batch(polkadot, size)

    with under_probe(running):
        status, answer = send(running, "/api/tx/decode", {"chain": "polkadot", "tx": tx})

    assert (status, answer["code"]) == (422, "invalid_request")
    assert "it holds more than 100000 values" in answer["error"]


@sizes(3_000, 15_000)
def test_a_batch_of_many_calls(running: Daemon, polkadot: RuntimeTable, size: int) -> None:
    tx = batch(polkadot, size)

    with under_probe(running):
        status, answer = send(running, "/api/tx/decode", {"chain": "polkadot", "tx": tx})
        assert send(running, "/api/chain/Broadcast", {"chain": "polkadot", "tx": tx})[0] == 422

    assert status == 200, answer
    assert len(answer["call"]["args"]["calls"]) == size


def abi(types: list[Any], args: list[Any]) -> dict[str, Any]:
    message = {"label": "a", "selector": "0x00000000", "mutates": False, "args": args}
    return {
        "version": 5,
        "types": [{"id": number, "type": each} for number, each in enumerate(types)],
        "spec": {"messages": [message]},
    }


@sizes(100_000, 240_000)
def test_a_contract_whose_types_are_long(running: Daemon, size: int) -> None:
    """The names of a type were joined before anybody looked how long that is: 5 MB took 4.9 GB."""
    long = {"path": ["a" * 990], "def": {}}
    args = [{"label": "b", "type": {"type": 1}}]

    with under_probe(running):
        for shape in (
            {"def": {"tuple": [0] * size}},
            {"def": {"composite": {"fields": [{"type": 0}] * (size // 2)}}},
            {"path": ["a"], "params": [{"type": 0}] * (size // 2)},
            {"def": {"variant": {"variants": [{"name": "a" * 20}] * (size // 2)}}},
        ):
            status, answer = send(
                running,
                "/api/contracts/contract_info",
                {"abiJson": abi([long, shape], args), "address": BOB},
            )
            assert (status, answer["code"]) == (422, "invalid_request")
            assert answer["error"].endswith("has a type longer than 1000 characters")


@sizes(8_000, 30_000)
def test_a_contract_of_many_long_arguments(running: Daemon, size: int) -> None:
    long = {"path": ["a" * 990], "def": {}}
    args = [{"label": "b", "type": {"type": 0}}] * size

    with under_probe(running):
        status, answer = send(
            running, "/api/contracts/contract_info", {"abiJson": abi([long], args), "address": BOB}
        )

    assert (status, answer["error"]) == (413, says("abiJson", "4194304"))


def upload(running: Daemon, path: str, length: int, begin: bytes) -> socket.socket:
    """Begin to send a body, and return the connection."""
    connection = socket.create_connection(("127.0.0.1", running.port()), timeout=PATIENCE)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
        f"application/json\r\nContent-Length: {length}\r\n\r\n"
    )
    connection.sendall(head.encode() + begin)
    return connection


def test_an_event_for_nobody_is_refused_before_its_body_comes(running: Daemon) -> None:
    path = "/webhook/00000000-0000-4000-8000-000000000000"

    with under_probe(running), upload(running, path, 1_000_000, b"[") as connection:
        assert connection.recv(64).startswith(b"HTTP/1.1 404 ")


def keep_run(
    running: Daemon, id: str, *, lines: tuple[str, ...], drafts: tuple[MempoolDraft, ...]
) -> None:
    """Put the end of a run into the daemon's store, as another process does."""

    async def put() -> None:
        (path,) = running.home.rglob("*.db")
        store = open_store(path)
        ran = FinishedRun(
            job=id, epoch=None, planned=1, started=1, finished=1, lines=lines, drafts=drafts
        )
        assert await store.finish_run(ran, retention=Retention())
        await store.close()

    asyncio.run(put())


WEBHOOK = "6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d"


def keep_all(running: Daemon, size: int) -> str:
    """Give a job *size* thirtieths of the lines, drafts and events that are kept at most, and
    return its id."""
    flow = {
        "steps": [
            {"type": "webhook", "name": "hook", "uuid": WEBHOOK},
            {"type": "Remark", "chain": "polkadot", "text": "{{ a }}"},
        ]
    }
    status, created = send(running, "/api/create/flow", {"flow": flow, "syntax": "json"})
    assert status == 200, created
    id = created["result"]
    tx = "0x" + "ab" * (470 * size)
    draft = MempoolDraft(chain="polkadot", amount="0", tx_type="Remark", date=1, tx=tx)
    keep_run(running, id, lines=("é" * (24 * size),) * 10_000, drafts=(draft,) * 1_000)
    for _ in range(size):
        assert send(running, f"/webhook/{WEBHOOK}", b"[" + b"0," * 249_000 + b"0]")[0] == 200
    return str(id)


@sizes(1, 30)
def test_many_who_ask_for_all_that_is_kept(running: Daemon, size: int) -> None:
    """Each answer of 28 MiB of drafts, 14 MiB of lines or 12 MiB of events was read as a whole, 12
    took more than 1 GiB."""
    id = keep_all(running, size)

    def ask(number: int) -> int:
        if number % 3 == 0:
            return running.ask(f"/api/webhooks/{WEBHOOK}", as_json=False)[0]
        path = ("/scenario/worker/logs", "/scenario/tx")[number % 3 - 1]
        return running.ask(path, {"id": id}, server="job worker", as_json=False)[0]

    with under_probe(running), ThreadPoolExecutor(6) as pool:
        found = Counter(pool.map(ask, range(12)))

    assert found == {200: 12}
