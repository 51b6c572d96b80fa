"""Ten hostile clients and nodes, and a store that is changed under a daemon.

After each a normal request is served, all that was acknowledged is in the store and nothing else,
and no traceback is anywhere. The bounds themselves are tested one by one in `test_http`,
`test_acceptor`, `test_bodies`, `test_limits` and `test_costly_work`.
"""

import json
import os
import socket
import sqlite3
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from select import select
from typing import Any

import pytest

from scenarioctl.chains.connection import Timeouts
from tests.canned import answers
from tests.daemons import PATIENCE, Daemon, daemon
from tests.messages import Says, says
from tests.node import Node
from tests.serving import Reply, Serving
from tests.test_jobs import node

pytestmark = pytest.mark.processes

SUMMARY = {"result": "polkadot > Remark"}
HOST = b"Host: localhost\r\n"
JSON_TYPE = b"Content-Type: application/json\r\n"
BUG = "this is a bug"


@dataclass(kw_only=True)
class Ward:
    """A daemon, and what it has acknowledged."""

    running: Daemon
    store: Path
    scenarios: set[str] = field(default_factory=set)

    @property
    def port(self) -> int:
        return self.running.port()

    def ask(self, path: str, body: object = None, **more: Any) -> tuple[int, Any]:
        """Return status and JSON of an answer."""
        return self.running.ask(path, body, **more)[:2]

    def create(self, text: str = "gm") -> str:
        status, answer = self.ask("/api/create/remark", {"chain": "polkadot", "text": text})
        assert status == 200, answer
        self.scenarios.add(answer["result"])
        return str(answer["result"])

    def rows(self, statement: str) -> list[Any]:
        """Return what another process reads in the store."""
        with closing(sqlite3.connect(self.store, timeout=30)) as database:
            return database.execute(statement).fetchall()

    def check(self) -> None:
        """Say that it serves, that all it acknowledged is there and whole, and that nothing else
        is."""
        assert self.running.process.poll() is None, self.running.log
        id = self.create()
        assert self.ask("/api/scenario/info", {"id": id}) == (200, SUMMARY)
        assert self.ask("/readyz") == (200, {"status": "ready"})
        assert {id for (id,) in self.rows("SELECT id FROM scenarios")} == self.scenarios
        assert self.rows("PRAGMA quick_check") == [("ok",)]
        assert "Traceback" not in self.running.log
        assert BUG not in self.running.log


@contextmanager
def warded(home: Path, config: str = "") -> Iterator[Ward]:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(config)
    store = home / "scenarios.db"
    line = ("--config", str(home / "config.toml"), "--store", str(store))
    with daemon(home, *line, variables={"SCENARIOCTL_OFFLINE": "true"}) as running:
        yield Ward(running=running, store=store)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ward]:
    # It waits for no slow client.
    with warded(tmp_path_factory.mktemp("ward") / "home", "request_seconds = 2\n") as ward:
        yield ward
        assert ward.running.end() == 0


@pytest.fixture
def ward(shared: Ward) -> Iterator[Ward]:
    """Give the shared daemon, and look afterwards that all is well with it."""
    yield shared
    shared.check()


@pytest.fixture
def patient(tmp_path: Path) -> Iterator[Ward]:
    """A daemon that waits as long as it does by itself."""
    with warded(tmp_path / "home") as ward:
        yield ward


def dial(port: int, sent: bytes = b"", *, source: str = "127.0.0.1") -> socket.socket:
    connection = socket.create_connection(
        ("127.0.0.1", port), timeout=PATIENCE, source_address=(source, 0)
    )
    if sent:
        connection.sendall(sent)
    return connection


def read_replies(connection: socket.socket, count: int) -> list[Reply]:
    """Return so many answers, or those that came before the daemon closed."""
    replies: list[Reply] = []
    buffer = b""
    while len(replies) < count:
        head, separator, rest = buffer.partition(b"\r\n\r\n")
        if separator:
            first, *lines = head.decode("latin-1").split("\r\n")
            headers = {line.partition(": ")[0].lower(): line.partition(": ")[2] for line in lines}
            length = int(headers["content-length"])
            if len(rest) >= length:
                replies.append(
                    Reply(status=int(first.split()[1]), headers=headers, body=rest[:length])
                )
                buffer = rest[length:]
                continue
        try:
            more = connection.recv(65536)
        except ConnectionError:
            break
        if not more:
            break
        buffer += more
    return replies


def get(path: str, *lines: bytes) -> bytes:
    head = b"GET " + path.encode() + b" HTTP/1.1\r\n" + HOST
    return head + b"".join(line + b"\r\n" for line in lines) + b"\r\n"


def begun(*lines: bytes) -> bytes:
    """Return the header of a POST, whose body is said in *lines*."""
    head = b"POST /api/create/remark HTTP/1.1\r\n" + HOST + JSON_TYPE
    return head + b"".join(line + b"\r\n" for line in lines) + b"\r\n"


NEVER = b'{"chain": "polkadot", "text": "never"}'
CREATE = begun(b"Content-Length: %d" % len(NEVER)) + NEVER


# -- slow clients

#: What a client does on a connection, and how that ends: statuses of answers, and the error.
Ended = tuple[tuple[int, ...], str]
Act = Callable[[socket.socket], Ended]


def drip(connection: socket.socket, parts: Iterable[bytes]) -> None:
    """Send a part now and then, until the daemon has had enough."""
    for part in parts:
        connection.sendall(part)
        if select([connection], [], [], 0.05)[0]:
            return


def bytes_of(data: bytes) -> Iterable[bytes]:
    return (data[number : number + 1] for number in range(len(data)))


def ending(connection: socket.socket) -> Ended:
    """Return what is answered until the daemon closes."""
    replies = read_replies(connection, 2)
    error = replies[-1].json().get("error", "") if replies and replies[-1].status >= 400 else ""
    return tuple(reply.status for reply in replies), error


def dripping(begin: bytes, parts: Iterable[bytes]) -> Act:
    def act(connection: socket.socket) -> Ended:
        if begin:
            connection.sendall(begin)
        drip(connection, parts)
        return ending(connection)

    return act


def meet_all(ward: Ward, acts: dict[str, Act]) -> dict[str, Ended]:
    """Let all of them come at the same time, and others with them, who are served as ever."""
    ended: dict[str, Ended] = {}

    def meet(name: str, act: Act) -> None:
        with dial(ward.port) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            try:
                ended[name] = act(connection)
            except ConnectionError:
                ended[name] = (), ""

    threads = [threading.Thread(target=meet, args=each) for each in acts.items()]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        ward.create()
        time.sleep(0.1)
    return ended


def test_who_sends_slowly_is_let_go_and_delays_nobody(ward: Ward) -> None:
    ended = meet_all(
        ward,
        {
            "nothing at all": dripping(b"", []),
            "half a header": dripping(b"POST /api/create/remark HTTP/1.1\r\nHost: localh", []),
            "a header byte by byte": dripping(b"", bytes_of(get("/healthz", b"X: " + b"x" * 999))),
            "a body that never comes": dripping(begun(b"Content-Length: 100"), []),
            "a body byte by byte": dripping(
                begun(b"Content-Length: 1001"), bytes_of(b"{" + b" " * 999)
            ),
            "chunks": dripping(begun(b"Transfer-Encoding: chunked"), [b"1\r\n{\r\n"] * 1000),
            "nothing after an answer": dripping(get("/healthz"), []),
        },
    )

    late: Ended = (408,), says("body", "2")
    assert ended == {
        **dict.fromkeys(("nothing at all", "half a header", "a header byte by byte"), ((), "")),
        **dict.fromkeys(("a body that never comes", "a body byte by byte", "chunks"), late),
        "nothing after an answer": ((200,), ""),
    }


def test_who_reads_slowly_gets_all_and_who_reads_nothing_is_let_go(ward: Ward) -> None:
    nodes = [node("n", "note", text=os.urandom(300_000).hex())]
    status, answer = ward.ask("/saveUrl", {"url": json.dumps({"nodes": nodes, "edges": []})})
    assert status == 200, answer
    large = answer["shortUrl"]
    ward.scenarios.add(large)

    def slowly(connection: socket.socket) -> Ended:
        """Read an answer for longer than a silent client may be silent."""
        connection.sendall(get(f"/getUrl/{large}", b"Connection: close"))
        got = b""
        while part := connection.recv(20_000):
            got += part
            time.sleep(0.08)
        return ((200,) if len(got) > 400_000 else ()), ""

    def nothing(connection: socket.socket) -> Ended:
        """Ask on and on, and read nothing of it."""
        connection.settimeout(5)
        for _ in range(200):
            connection.sendall(get(f"/getUrl/{large}"))
        for _ in range(200):
            time.sleep(0.1)
            connection.sendall(get("/healthz"))
        return (), "it took all of it"

    ended = meet_all(ward, {"slowly": slowly, "nothing": nothing})

    assert ended == {"slowly": ((200,), ""), "nothing": ((), "")}


# -- floods


# -- bodies that cost more than they weigh


# -- clients that leave


def test_who_leaves_in_the_middle_leaves_nothing_also_as_it_stops(patient: Ward) -> None:
    for cut in range(20, len(CREATE), 7):
        with dial(patient.port, CREATE[:cut]) as connection:
            if cut % 2:
                # Not even with a word.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    patient.check()
    with ExitStack() as stack:
        for cut in range(20, len(CREATE), 7):
            stack.enter_context(dial(patient.port, CREATE[:cut]))
        stack.enter_context(dial(patient.port, get("/job/events?after=now"))).recv(1)
        assert patient.running.end() == 0

    assert {id for (id,) in patient.rows("SELECT id FROM scenarios")} == patient.scenarios
    assert "Traceback" not in patient.running.log


# -- nodes


@contextmanager
def silent() -> Iterator[str]:
    """Give the address of a node that takes connections, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"ws://127.0.0.1:{listener.getsockname()[1]}/"


def test_a_node_that_is_stuck_or_lies_fails_what_needs_it_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scenarioctl.chains.pool.TIMEOUTS", Timeouts(opening=2))
    lies: list[tuple[Any, Says]] = [
        (None, says("2")),
        (answers("assetHub"), says("polkadot")),
        (answers("polkadot", state_getStorage=lambda *_: "hello"), says("hello")),
    ]
    for number, (lie, error) in enumerate(lies):
        with ExitStack() as stack:
            url = stack.enter_context(silent()) if lie is None else ""
            url = url or stack.enter_context(Node(lie)).url
            (home := tmp_path / str(number)).mkdir()
            chains = {"polkadot": {"endpoints": [url]}}
            serving = stack.enter_context(Serving(home, offline=False, chains=chains))
            query = {"chain": "polkadot", "pallet_name": "Timestamp", "method_name": "Now"}
            reply = serving.post("/api/actions/query", query)
            remark = serving.post("/api/create/remark", {"chain": "polkadot", "text": "gm"})

        assert (reply.status, reply.json()["code"]) == (503, "chain_unreachable")
        assert reply.json()["error"] == error
        assert remark.status == 200


# -- the store


def test_a_store_that_is_locked_for_a_moment_is_waited_for_and_read_meanwhile(ward: Ward) -> None:
    id = ward.create()
    created: list[str] = []
    writers = [threading.Thread(target=lambda: created.append(ward.create())) for _ in range(8)]
    with closing(sqlite3.connect(ward.store, isolation_level=None, timeout=30)) as other:
        other.execute("BEGIN EXCLUSIVE")
        for writer in writers:
            writer.start()
        time.sleep(0.3)
        told = [ward.ask("/api/scenario/info", {"id": id}), ward.ask("/readyz")]
        waited = list(created)
        other.execute("ROLLBACK")
    for writer in writers:
        writer.join()

    assert told == [(200, SUMMARY), (200, {"status": "ready"})]
    assert waited == []
    assert len(set(created)) == 8


def test_a_store_that_is_vacuumed_or_checkpointed_goes_on(ward: Ward) -> None:
    kept = [ward.create() for _ in range(5)]
    for statement in (
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "VACUUM",
        "PRAGMA wal_checkpoint(TRUNCATE)",
    ):
        with closing(sqlite3.connect(ward.store, timeout=30)) as database:
            database.execute(statement)
        kept.append(ward.create())
        assert ward.ask("/readyz") == (200, {"status": "ready"})

    with closing(sqlite3.connect(ward.store)) as database:
        assert set(kept) <= {id for (id,) in database.execute("SELECT id FROM scenarios")}
