"""What one request can take of a daemon's time and memory, whoever sends it."""

import asyncio
import json
import socket
import time
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


@sizes(40_000, 400_000)
def test_a_long_dotted_key(running: Daemon, size: int) -> None:
    """The parser keeps every prefix of a key: 400 kB took 21 GB."""
    flow = ".".join("a" * (size // 2)) + " = 1"

    with under_probe(running):
        status, answer = send(running, "/api/create/flow", {"flow": flow})

    assert (status, answer["code"]) == (422, "invalid_request")


def share(text: bytes) -> str:
    """Return *text* as a share string."""
    return b64encode(zlib.compress(text)).decode()


@sizes(3_000_000, 16_000_000)
def test_a_share_string_of_nothing_but_lists(running: Daemon, size: int) -> None:
    """A thousandth of the size comes over the wire; 21 kB took 5 s, all of them on the event
    loop."""
    url = share(b'{"nodes":[],"edges":[],"x":[' + b"[]," * (size // 3) + b"[]]}")

    with under_probe(running):
        status, answer = send(running, "/api/template/saveUrl", {"url": url})

    assert (status, answer["error"]) == (413, says("contains", "250000"))


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


@sizes(4_000, 10_000)
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


@sizes(20, 5_000)
def test_many_actions_around_one_large_form(running: Daemon, size: int) -> None:
    """Each of them looks through it."""

    def store(values: int) -> tuple[int, Any]:
        nodes = [{"id": "c", "type": "chain", "formData": {"chain": "polkadot", "x": [0] * values}}]
        nodes += [
            {"id": f"n{number}", "type": "action", "formData": {"action": "xTransfer"}}
            for number in range(size)
        ]
        edges = [{"source": "c", "target": f"n{number}"} for number in range(size)]
        url = share(json.dumps({"nodes": nodes, "edges": edges}).encode())
        return send(running, "/api/template/saveUrl", {"url": url})

    with under_probe(running):
        assert store(120_000)[0] == 413
        status, answer = store(990)
        assert status == 200, answer
        assert send(running, "/api/scenario/show", {"id": answer["shortUrl"]})[0] == 200
        assert send(running, "/job/run", {"id": answer["shortUrl"]})[0] == 422


@sizes(2_000, 9_999)
def test_a_flow_of_many_steps(running: Daemon, size: int) -> None:
    flow = "[[steps]]\ntype='Remark'\nchain='polkadot'\ntext='hello'\n" * (size // 2)

    with under_probe(running):
        status, answer = send(running, "/api/create/flow", {"flow": flow})

    assert status == 200, answer


@sizes(280, 280)
def test_pictures_that_one_client_wants_leave_the_slots_to_others(
    running: Daemon, size: int
) -> None:
    """280 of one node with 20 000 edges to itself kept all request slots: everybody else got
    429."""
    form = {"action": "Remark", "actionData": {"source": {"chain": "polkadot", "target": "hello"}}}
    diagram = {
        "nodes": [{"id": "n", "type": "action", "formData": form}],
        "edges": [{"source": "n", "target": "n"}] * 20_000,
    }
    status, answer = send(
        running, "/api/template/saveUrl", {"url": share(json.dumps(diagram).encode())}
    )
    assert status == 200, answer
    path = f"/api/info/preview?format=png&width=1200&scenario_id={answer['shortUrl']}"
    answers: list[tuple[int, Any, Any]] = []

    with ThreadPoolExecutor(size) as pool:
        asked = [pool.submit(running.ask, path) for _ in range(size)]
        while not all(each.done() for each in asked):
            # Another kind of request is answered all the while, though the client is the same.
            assert running.ask("/api/chains")[0] == 200
        answers = [each.result() for each in asked]

    found = Counter(status for status, _, _ in answers)
    assert found[200] >= 1, found
    assert found[503] >= size // 2
    assert set(found) == {200, 503}
    assert all(
        said["code"] == "not_ready" and head["Retry-After"] == "1"
        for status, said, head in answers
        if status == 503
    )


@sizes(280, 280)
def test_pictures_wider_than_can_be_drawn_are_refused_before(running: Daemon, size: int) -> None:
    form = {"action": "Remark", "actionData": {"source": {"chain": "polkadot", "target": "hello"}}}
    nodes = [{"id": f"n{number}", "type": "action", "formData": form} for number in range(size)]
    diagram = {"nodes": nodes, "edges": [{"source": "n0", "target": "n0"}] * 20_000}
    id = send(running, "/api/template/saveUrl", {"url": share(json.dumps(diagram).encode())})[1][
        "shortUrl"
    ]

    status, answer, _ = running.ask(f"/api/info/preview?format=png&width=4096&scenario_id={id}")

    assert (status, answer["error"]) == (422, says("width", "4096", "svg"))


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


@sizes(1_000_000, 15_000_000)
def test_a_text_of_escapes(running: Daemon, size: int) -> None:
    text = b'{"url": "' + b"\\n" * (size // 2) + b'"}'

    with under_probe(running):
        status, _ = send(running, "/api/template/saveUrl", text)

    assert status in (413, 422)


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
            ("/api/tx/assemble", {"sender": BOB, "signature": "0x" + "00" * 64}),
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


@sizes(500_000, 5 * 1024 * 1024 - 20)
def test_a_remark_as_long_as_a_transaction(
    running: Daemon, polkadot: RuntimeTable, size: int
) -> None:
    call = Call(pallet="System", method="remark", args={"remark": b"x" * size})
    tx = transaction(polkadot.encode_call(call))

    with under_probe(running):
        status, answer = send(running, "/api/tx/decode", {"chain": "polkadot", "tx": tx})
        signing = {"sender": BOB, "nonce": 0, "era": "immortal"}
        assert (
            send(running, "/api/tx/payload", {"chain": "polkadot", "tx": tx, **signing})[0] == 200
        )
        joined = send(
            running,
            "/api/tx/assemble",
            {"chain": "polkadot", "tx": tx, **signing, "signature": "0x" + "00" * 64},
        )

    assert status == 200, answer
    assert joined[0] == 422


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


@sizes(8, 100)
def test_slow_large_bodies_keep_nobody_from_sending_another(running: Daemon, size: int) -> None:
    """Four of them took all places for as long as they liked."""
    large = {"flow": "#" * 200_000, "syntax": "toml"}
    slow = [upload(running, "/api/create/flow", 30_000_000, b" " * 100_000) for _ in range(size)]

    with under_probe(running):
        started = time.monotonic()
        for _ in range(8):
            status, answer = send(running, "/api/create/flow", large)
            assert (status, answer["code"]) == (422, "invalid_request")
        seconds = time.monotonic() - started

    for connection in slow:
        connection.close()
    # Not the 30 of request_seconds.
    assert seconds < 25


def test_an_event_for_nobody_is_refused_before_its_body_comes(running: Daemon) -> None:
    path = "/webhook/00000000-0000-4000-8000-000000000000"

    with under_probe(running), upload(running, path, 1_000_000, b"[") as connection:
        assert connection.recv(64).startswith(b"HTTP/1.1 404 ")


@sizes(20, 200)
def test_many_who_ask_for_codes_of_polkadot_vault(running: Daemon, size: int) -> None:
    def ask(_: int) -> int:
        return send(running, "/web/vault", {"payload": "0x" + "00" * 3_000})[0]

    with under_probe(running), ThreadPoolExecutor(size) as pool:
        found = Counter(pool.map(ask, range(size)))

    assert found[200] >= 1, found
    # Those beyond the queue, of one place and 32 that wait.
    assert set(found) <= {200, 503}
    assert found[200] <= 64 or found[503]


@sizes(50, 1_000)
def test_many_who_ask_for_the_documentation(running: Daemon, size: int) -> None:
    with under_probe(running), ThreadPoolExecutor(8) as pool:
        found = Counter(
            pool.map(
                lambda number: running.ask(("/docs", "/openapi.json")[number % 2], as_json=False)[
                    0
                ],
                range(size),
            )
        )

    assert found == {200: size}


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
