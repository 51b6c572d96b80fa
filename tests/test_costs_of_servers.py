"""What a node, or the web server of an http step, can take of a daemon's time and memory."""

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
import tomli_w

from tests.canned import answers
from tests.daemons import Daemon
from tests.node import Node
from tests.pressure import pressed_daemon, send, sizes, under_probe
from tests.test_node_cost import ASKED, Babbler, answer_with, flood

#: Web servers: what each sends again and again, in answer to a request.
FLOODS = {
    "interim": b"HTTP/1.1 103 \r\n\r\n" * 4000,
    "behind": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" + b"HTTP/1.1 200 OK\r\n\r\n" * 4000,
    "headers": b"HTTP/1.1 200 OK\r\n" + (b"X: " + b"y" * 1000 + b"\r\n") * 100,
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 1_000_000,
    "broken chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    + b"1\r\nx\r\n" * 10_000,
}
REFUSED = {
    "interim": "sent more than 65536 bytes of headers",
    "headers": "sent more than 65536 bytes of headers",
    "chunks": "sent more than 2097152 bytes",
    "broken chunks": "sent a malformed response",
}


@contextmanager
def web_server(words: bytes) -> Iterator[int]:
    """Serve on the port that is given: whoever comes is sent *words* until it goes."""
    stopping = threading.Event()

    def talk(connection: socket.socket) -> None:
        with connection:
            try:
                connection.recv(65536)
                while not stopping.is_set():
                    connection.sendall(words)
            except OSError:
                return

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=talk, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, daemon=True).start()
        yield listening.getsockname()[1]
        stopping.set()
        listening.shutdown(socket.SHUT_RDWR)


@contextmanager
def running(home: Path, *endpoints: str) -> Iterator[Daemon]:
    home.mkdir()
    config = home / "config.toml"
    chains = {"polkadot": {"endpoints": list(endpoints)}} if endpoints else {}
    config.write_text(tomli_w.dumps({"private_targets": ["127.0.0.1"], "chains": chains}))
    with pressed_daemon(home, "--config", str(config)) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("pressed") / "home") as daemon:
        yield daemon


@pytest.mark.parametrize(
    "kind",
    [
        "interim",
        "broken chunks",
        *(pytest.param(kind, marks=pytest.mark.soak) for kind in ("behind", "headers", "chunks")),
    ],
)
@sizes(2, 40)
def test_a_web_server_that_never_ends(daemon: Daemon, kind: str, size: int) -> None:
    with web_server(FLOODS[kind]) as port:
        step = {
            "id": "h",
            "type": "http",
            "formData": {"url": f"http://127.0.0.1:{port}/", "retries": 0},
        }
        diagram = json.dumps({"nodes": [step], "edges": []})
        id = send(daemon, "/api/template/saveUrl", {"url": diagram})[1]["shortUrl"]
        with under_probe(daemon), ThreadPoolExecutor(size) as threads:
            ended = list(
                threads.map(
                    lambda _: send(
                        daemon, "/job/run", {"id": id}, server="job worker", seconds=120
                    ),
                    range(size),
                )
            )

    for _, answer in ended:
        if kind == "behind":
            assert answer["success"] is True
        else:
            # A busy machine may not get as far with so many chunks in the time that a step has.
            assert REFUSED[kind] in answer["error"] or (kind, size) == ("chunks", 40)


@pytest.mark.parametrize("kind", ["notices", "lists"])
@pytest.mark.soak
@pytest.mark.parametrize("size", [2, 40])
def test_a_node_that_never_ends(tmp_path: Path, kind: str, size: int) -> None:
    nuisance = flood if kind == "notices" else answer_with(ASKED + "[" + "[]," * 5_000_000 + "[]]}")
    question = {"chain": "polkadot", "pallet_name": "System", "method_name": "Number", "params": []}
    with (
        Babbler("state_getStorage", nuisance) as babbler,
        Node(answers("polkadot")) as node,
        running(tmp_path / "home", babbler.url, node.url) as daemon,
        under_probe(daemon),
        ThreadPoolExecutor(size) as threads,
    ):
        ended = list(
            threads.map(lambda _: send(daemon, "/api/actions/query", question)[1], range(size))
        )

    assert ended == [{"result": "0", "asked": 1}] * size
