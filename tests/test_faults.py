"""The fault table: what is done to a daemon, and what its users then see.

After each, a normal request is served, all that was acknowledged is in the store and nothing else,
and no traceback is anywhere. Most of it is done to one daemon, a process of its own; what needs
another kind of daemon has one.
"""

import json
import os
import random
import re
import resource
import signal
import socket
import sqlite3
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count, pairwise
from pathlib import Path
from select import select
from typing import Any

import lz4.frame
import pytest

from scenarioctl.actions import running
from scenarioctl.chains.connection import Timeouts
from scenarioctl.schedules import DAY, HOUR
from scenarioctl.server import streams
from scenarioctl.stores.sqlite import database_file
from tests.canned import GENESIS, answers
from tests.conftest import DATA
from tests.daemons import PATIENCE, Daemon, daemon, start, wait_until
from tests.messages import Says, says
from tests.node import Gone, Node, Refusal
from tests.refusals import refused
from tests.serving import Reply, Serving
from tests.test_jobs import REMARK, node
from tests.test_worker import Bench, FakeRun, play

pytestmark = pytest.mark.processes

#: Of the shared daemon: small, so that its ends are reached soon.
SETTINGS = "body_limit = 1048576\nwebhook_limit = 2048\nwebhook_rate = 5\n"
#: Of the one that waits for no slow client.
IMPATIENT = "request_seconds = 2\n"
WEBHOOK = "6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d"
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

    @property
    def pid(self) -> int:
        return self.running.process.pid

    def ask(self, path: str, body: object = None, **more: Any) -> tuple[int, Any]:
        """Return status and JSON of an answer."""
        return self.running.ask(path, body, **more)[:2]

    def create(self, text: str = "gm") -> str:
        status, answer = self.ask("/api/create/remark", {"chain": "polkadot", "text": text})
        assert status == 200, answer
        self.scenarios.add(answer["result"])
        return str(answer["result"])

    def keep(self, *nodes: Mapping[str, Any], **document: Any) -> str:
        """Store a diagram of nodes that follow one another."""
        edges = [
            {"id": f"e{number}", "source": before["id"], "target": after["id"]}
            for number, (before, after) in enumerate(pairwise(nodes))
        ]
        text = json.dumps({"nodes": nodes, "edges": edges, **document})
        status, answer = self.ask("/saveUrl", {"url": text})
        assert status == 200, answer
        self.scenarios.add(answer["shortUrl"])
        return str(answer["shortUrl"])

    def log_of(self, id: str) -> list[str]:
        status, answer = self.ask("/scenario/worker/logs", {"id": id})
        assert status == 200, answer
        lines: list[str] = answer["result"]
        return lines

    def drafts_of(self, id: str) -> list[Any]:
        status, answer = self.ask("/scenario/tx", {"id": id})
        assert status == 200, answer
        entries: list[Any] = answer["mempool"]
        return entries

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
        assert self.rows("PRAGMA foreign_key_check") == []
        # Each run left all of what a run leaves.
        assert (
            self.rows(
                "SELECT s.id, t.lines, t.entries FROM scenarios s JOIN tallies t ON t.job = s.id"
                " WHERE t.lines <> (SELECT count(*) FROM log_lines WHERE job = s.id)"
                " OR t.entries <> (SELECT count(*) FROM mempool WHERE job = s.id)"
            )
            == []
        )
        assert "Traceback" not in self.running.log
        assert BUG not in self.running.log


@contextmanager
def warded(home: Path, config: str = SETTINGS, **more: Any) -> Iterator[Ward]:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(config)
    store = home / "scenarios.db"
    line = ("--config", str(home / "config.toml"), "--store", str(store))
    with daemon(home, *line, variables={"SCENARIOCTL_OFFLINE": "true"}, **more) as running_daemon:
        yield Ward(running=running_daemon, store=store)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ward]:
    with warded(tmp_path_factory.mktemp("ward") / "home") as ward:
        yield ward
        assert ward.running.end() == 0


@pytest.fixture
def ward(shared: Ward) -> Iterator[Ward]:
    """Give the shared daemon, and look afterwards that all is well with it."""
    yield shared
    shared.check()


# -- over the wire
# -------------------------------------------------------------------------------------------------


def dial(port: int, sent: bytes = b"", *, seconds: float = PATIENCE) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=seconds)
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


def talk(port: int, sent: bytes, *, count: int = 1) -> list[Reply]:
    with dial(port, sent) as connection:
        return read_replies(connection, count)


def get(path: str, *lines: bytes) -> bytes:
    return (
        b"GET "
        + path.encode()
        + b" HTTP/1.1\r\n"
        + HOST
        + b"".join(line + b"\r\n" for line in lines)
        + b"\r\n"
    )


def post(
    body: bytes, *lines: bytes, path: str = "/api/scenario/info", kind: bytes = JSON_TYPE
) -> bytes:
    head = b"POST " + path.encode() + b" HTTP/1.1\r\n" + HOST + kind
    return (
        head
        + b"".join(line + b"\r\n" for line in lines)
        + b"Content-Length: %d\r\n\r\n" % len(body)
        + body
    )


def begun(*lines: bytes) -> bytes:
    """Return the header of a POST, whose body is said in *lines*."""
    return (
        b"POST /api/scenario/info HTTP/1.1\r\n"
        + HOST
        + JSON_TYPE
        + b"".join(line + b"\r\n" for line in lines)
    )


CREATE = post(b'{"chain": "polkadot", "text": "never"}', path="/api/create/remark")
CHUNKED = begun(b"Transfer-Encoding: chunked") + b"\r\n"

#: What is sent in place of HTTP, or nearly HTTP; each is 400, and nothing of it is done.
NO_HTTP = {
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "every byte there is": bytes(range(256)) * 4 + b"\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/3.7": b"GET /healthz HTTP/3.7\r\n" + HOST + b"\r\n",
    "bare line feeds": b"GET /healthz HTTP/1.1\nHost: localhost\n\n",
    "a null byte in the path": b"GET /health\0z HTTP/1.1\r\n" + HOST + b"\r\n",
    "a null byte in a header": get("/healthz", b"X-A: a\0b"),
    "a null byte in a header's name": get("/healthz", b"X\0A: b"),
    "a space before a colon": b"GET /healthz HTTP/1.1\r\nHost : localhost\r\n\r\n",
    "a header without a colon": get("/healthz", b"garbage"),
    "a folded header": get("/healthz", b"X-A: a\r\n b"),
    "a header of 20 kB": get("/healthz", b"X-A: " + b"x" * 20_000),
    "200 headers": get("/healthz", *[b"X-A: b"] * 200),
    "a path of 20 kB": get("/" + "x" * 20_000),
    "letters beyond ASCII in the path": "GET /ä HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(),
    "an unknown method": b"BREW /healthz HTTP/1.1\r\n" + HOST + b"\r\n",
    "two hosts": get("/api/scenarios", b"Host: evil.example"),
    "no host": b"GET /api/scenarios HTTP/1.1\r\n\r\n",
    "a negative length": begun(b"Content-Length: -1") + b"\r\n",
    "a length in words": begun(b"Content-Length: ten") + b"\r\n",
    "a length beyond all numbers": begun(b"Content-Length: 99999999999999999999999") + b"\r\n{}",
    "two lengths": begun(b"Content-Length: 2", b"Content-Length: 3") + b"\r\n{}",
    "a length and chunks": begun(b"Content-Length: 2", b"Transfer-Encoding: chunked")
    + b"\r\n0\r\n\r\n",
    "a chunk of garbage length": CHUNKED + b"xyz\r\n{}\r\n0\r\n\r\n",
    "a chunk longer than it says": CHUNKED + b"2\r\n{}}}\r\n0\r\n\r\n",
    "a chunk of endless length": CHUNKED + b"ffffffffffffffffff\r\n{}\r\n0\r\n\r\n",
    "garbage behind a request": CREATE + b"GARBAGE\x00\r\n\r\n",
    "a body longer than its length": CREATE + b'"text": "more"}\r\n\r\n',
}


@pytest.mark.parametrize("sent", NO_HTTP.values(), ids=NO_HTTP)
def test_what_is_no_http_is_refused_whole(ward: Ward, sent: bytes) -> None:
    with dial(ward.port, sent) as connection:
        (reply,) = read_replies(connection, 1)
        rest = connection.recv(1)

    assert (reply.status, reply.headers["content-type"]) == (400, "application/json")
    assert json.loads(reply.body)["code"] == "bad_request"
    assert rest == b""


@dataclass(frozen=True, kw_only=True)
class Row:
    """What is sent, and the answer."""

    sent: bytes
    status: int
    code: str
    error: Says


def row(sent: bytes, status: int, code: str, error: Says) -> Row:
    return Row(sent=sent, status=status, code=code, error=error)


LIMIT = 1_048_576
MANY = "&".join(f"a={number}" for number in range(300))

#: What else is wrong with a request: `data/bad_requests.toml`.
ODD_REQUESTS = {
    "HTTP/0.9's successor without a host": row(
        b"GET /api/scenarios HTTP/1.0\r\n\r\n",
        *(403, "forbidden"),
        says("Host", "daemon"),
    ),
    "a proxy's request for another host": row(
        b"GET http://evil.example/api/scenarios HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        *(403, "forbidden"),
        says("Host", "evil.example"),
    ),
    "a tunnel": row(
        b"CONNECT evil.example:443 HTTP/1.1\r\n" + HOST + b"\r\n",
        *(404, "not_found", says("path", "/docs")),
    ),
    "a trace": row(
        b"TRACE /healthz HTTP/1.1\r\n" + HOST + b"\r\n",
        *(405, "method_not_allowed", says("TRACE", "GET")),
    ),
    "a way out of the path": row(
        get("/api/../../../etc/passwd"),
        *(404, "not_found", says("path", "/docs")),
    ),
    "a path that is no text": row(
        get("/getUrl/%zz%ff"), 400, "bad_request", says("path", "UTF-8", "%zz%ff")
    ),
    "a null byte for an id": row(
        get("/getUrl/%00"),
        *(422, "invalid_request"),
        says("id", "\\x00"),
    ),
    "a query that is no text": row(
        get("/api/scenarios?%ff=%fe"), 400, "bad_request", says("query", "%ff=%fe", "UTF-8")
    ),
    "a query of 300 fields": row(
        get(f"/api/scenarios?{MANY}"), 400, "bad_request", says("query", "100")
    ),
    "a body that is announced beyond the limit": row(
        begun(b"Expect: 100-continue", b"Content-Length: 99999999999") + b"\r\n",
        *(413, "too_large", says("body", "99999999999", LIMIT)),
    ),
    "a body beyond the limit": row(
        post(b'{"id": "' + b"x" * LIMIT + b'"}'),
        *(413, "too_large", says("body", LIMIT + 10, LIMIT)),
    ),
    "chunks beyond the limit": row(
        CHUNKED + (b"10000\r\n" + b"x" * 65536 + b"\r\n") * 20 + b"0\r\n\r\n",
        *(413, "too_large", says("body", LIMIT)),
    ),
    "a null byte": row(
        post(b'{"id": "a\0b"}'),
        *(400, "bad_json", says("body", "JSON", "10")),
    ),
    "a number of 5000 digits": row(
        post(b'{"id": ' + b"1" * 5000 + b"}"),
        *(400, "bad_json", says("body", "5000", "80")),
    ),
    "SQL for an id": row(
        post(b'{"id": "x\' OR 1=1 --"}'),
        *(422, "invalid_request"),
        says("id", "OR", "1=1", "--"),
    ),
}


@pytest.mark.parametrize("fault", ODD_REQUESTS.values(), ids=ODD_REQUESTS)
def test_a_request_that_cannot_be_meant_is_refused_in_a_sentence(ward: Ward, fault: Row) -> None:
    (reply,) = talk(ward.port, fault.sent)

    said = reply.json()
    assert (reply.status, said["code"], said["error"]) == (fault.status, fault.code, fault.error)
    assert refused(said).keys() <= {"error", "code", "success"}
    assert reply.headers["content-type"].startswith("application/json")


def test_garbage_that_comes_after_a_request_undoes_nothing(ward: Ward) -> None:
    with dial(ward.port, CREATE) as connection:
        (created,) = read_replies(connection, 1)
        connection.sendall(b"\0\1\2GARBAGE\r\n\r\n")
        (refused,) = read_replies(connection, 1)

    ward.scenarios.add(created.json()["result"])
    assert (created.status, refused.status) == (200, 400)


def test_a_thousand_requests_in_one_piece_are_answered_in_their_order(ward: Ward) -> None:
    sent = b"".join(get("/healthz", b"X-Request-Id: n%d" % number) for number in range(1000))

    replies = talk(ward.port, sent, count=1000)

    assert [reply.headers["x-request-id"] for reply in replies] == [
        f"n{number}" for number in range(1000)
    ]


# -- slow clients, and those that leave
# ----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a connection ended: what was answered, and whether the daemon has closed it."""

    statuses: tuple[int, ...]
    error: str = ""
    closed: bool = True


def drip(connection: socket.socket, parts: Iterable[bytes]) -> None:
    """Send a part now and then, until the daemon has had enough."""
    for part in parts:
        connection.sendall(part)
        if select([connection], [], [], 0.05)[0]:
            return


def bytes_of(data: bytes) -> Iterable[bytes]:
    return (data[number : number + 1] for number in range(len(data)))


def ending(connection: socket.socket, count: int = 1) -> Ended:
    replies = read_replies(connection, count)
    error = replies[-1].json().get("error", "") if replies and replies[-1].status >= 400 else ""
    try:
        closed = connection.recv(1) == b""
    except ConnectionError:
        closed = True
    return Ended(statuses=tuple(reply.status for reply in replies), error=error, closed=closed)


def slow_header(ward: Ward, connection: socket.socket, id: str) -> Ended:
    drip(connection, bytes_of(get("/healthz", b"X-A: " + b"x" * 1000)))
    return ending(connection)


def silence(ward: Ward, connection: socket.socket, id: str) -> Ended:
    return ending(connection)


def half_a_header(ward: Ward, connection: socket.socket, id: str) -> Ended:
    connection.sendall(b"POST /api/create/remark HTTP/1.1\r\nHost: localh")
    return ending(connection)


def slow_body(ward: Ward, connection: socket.socket, id: str) -> Ended:
    connection.sendall(begun(b"Content-Length: 1001") + b"\r\n")
    drip(connection, bytes_of(b"{" + b" " * 999))
    return ending(connection)


def no_body(ward: Ward, connection: socket.socket, id: str) -> Ended:
    connection.sendall(begun(b"Content-Length: 100") + b"\r\n")
    return ending(connection)


def slow_chunks(ward: Ward, connection: socket.socket, id: str) -> Ended:
    connection.sendall(CHUNKED)
    drip(connection, [b"1\r\n{\r\n"] * 1000)
    return ending(connection)


def idle(ward: Ward, connection: socket.socket, id: str) -> Ended:
    connection.sendall(get("/healthz"))
    return ending(connection)


def unread_answers(ward: Ward, connection: socket.socket, id: str) -> Ended:
    """Ask for much, and read nothing of it; ask on until the daemon has had enough."""
    connection.settimeout(5)
    try:
        for _ in range(200):
            connection.sendall(get(f"/getUrl/{id}"))
        for _ in range(200):
            time.sleep(0.1)
            connection.sendall(get("/healthz"))
    except TimeoutError:
        return Ended(statuses=(), closed=False)
    except ConnectionError:
        return Ended(statuses=())
    return Ended(statuses=(), error="it took all of it", closed=False)


def slow_reading(ward: Ward, connection: socket.socket, id: str) -> Ended:
    """Read an answer for longer than a silent client may be silent."""
    connection.sendall(get(f"/getUrl/{id}", b"Connection: close"))
    got = b""
    while part := connection.recv(20_000):
        got += part
        time.sleep(0.08)
    head, _, body = got.partition(b"\r\n\r\n")
    whole = f"content-length: {len(body)}\r\n" in head.decode().lower()
    return Ended(statuses=(200,) if whole and len(body) > 400_000 else ())


def unread_events(ward: Ward, connection: socket.socket, id: str) -> Ended:
    connection.sendall(get("/job/events"))
    connection.recv(1)
    wait_until(lambda: open_streams(ward) == 0)
    ended = b""
    try:
        # What lies in the buffers, and then the end.
        while part := connection.recv(1 << 20):
            ended = part
    except ConnectionError:
        pass
    return Ended(statuses=(200,) if ended else ())


def open_streams(ward: Ward) -> int:
    text: bytes = ward.ask("/metrics", as_json=False)[1]
    return int(float(text.partition(b"\nscenarioctl_event_streams ")[2].split()[0]))


SLOW: dict[str, tuple[Callable[[Ward, socket.socket, str], Ended], Ended]] = {
    "a header byte by byte": (slow_header, Ended(statuses=())),
    "nothing at all": (silence, Ended(statuses=())),
    "half a header": (half_a_header, Ended(statuses=())),
    "a body byte by byte": (
        slow_body,
        Ended(statuses=(408,), error=says("body", "2")),
    ),
    "a body that never comes": (
        no_body,
        Ended(statuses=(408,), error=says("body", "2")),
    ),
    "chunks one by one": (
        slow_chunks,
        Ended(statuses=(408,), error=says("body", "2")),
    ),
    "nothing after an answer": (idle, Ended(statuses=(200,))),
    "much is asked and nothing read": (unread_answers, Ended(statuses=())),
    "a large answer is read slowly": (slow_reading, Ended(statuses=(200,))),
    "events are never read": (unread_events, Ended(statuses=(200,))),
}


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ward]:
    with warded(tmp_path_factory.mktemp("impatient") / "home", IMPATIENT) as ward:
        yield ward


@pytest.fixture(scope="module")
def slow(impatient: Ward) -> dict[str, Ended]:
    """Let all slow clients come at the same time, and others with them, who are served as ever."""
    large = impatient.keep(node("n", "note", text=os.urandom(300_000).hex()))
    id = impatient.create()
    with closing(sqlite3.connect(impatient.store, timeout=30)) as database, database:
        # More than the buffers of two kernels hold.
        lines = [(id, number, "x" * 2000) for number in range(6000)]
        database.executemany("INSERT INTO log_lines (job, written, text) VALUES (?, ?, ?)", lines)
        database.execute("INSERT INTO tallies VALUES (?, 6000, 0, 0)", (id,))
    ended: dict[str, Ended] = {}

    def meet(name: str, act: Callable[[Ward, socket.socket, str], Ended]) -> None:
        with dial(impatient.port) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            try:
                ended[name] = act(impatient, connection, large)
            except ConnectionError:
                ended[name] = Ended(statuses=())

    threads = [threading.Thread(target=meet, args=(name, act)) for name, (act, _) in SLOW.items()]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert impatient.ask("/api/scenario/info", {"id": id}) == (200, SUMMARY)
        impatient.create()
        time.sleep(0.1)
    return ended


@pytest.mark.parametrize("name", SLOW)
def test_a_slow_client_is_let_go_and_delays_nobody(
    impatient: Ward, slow: dict[str, Ended], name: str
) -> None:
    expected = SLOW[name][1]
    found = slow[name]

    error = re.sub("got [0-9]+ bytes", "got N bytes", found.error)
    assert (found.statuses, error, found.closed) == (
        expected.statuses,
        expected.error,
        expected.closed,
    )
    impatient.check()


def test_who_leaves_in_the_middle_of_a_request_leaves_nothing(ward: Ward) -> None:
    for cut in range(20, len(CREATE), 7):
        with dial(ward.port, CREATE[:cut]) as connection:
            if cut % 2:
                # Not even with a word.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def test_who_leaves_before_the_answer_has_had_it_done_whole(ward: Ward) -> None:
    before = ward.rows("SELECT count(*) FROM scenarios")[0][0]
    for number in range(40):
        with dial(ward.port, CREATE) as connection:
            # What has arrived is carried out; a reset may be quicker than it.
            time.sleep(0.005)
            if number % 2:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wait_until(lambda: ward.rows("SELECT count(*) FROM scenarios")[0][0] >= before + 38)
    time.sleep(0.1)

    found = {id for (id,) in ward.rows("SELECT id FROM scenarios")}
    assert before + 38 <= len(found) <= before + 40
    assert {ward.ask("/api/scenario/info", {"id": id})[0] for id in found - ward.scenarios} == {200}
    ward.scenarios |= found


# -- floods
# --------------------------------------------------------------------------------------------------------


@contextmanager
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def is_open(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


@pytest.fixture(scope="module")
def roomy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ward]:
    """A daemon that is as patient as it is by itself."""
    with warded(tmp_path_factory.mktemp("roomy") / "home", "") as ward:
        yield ward


def test_a_thousand_open_connections_keep_nobody_out(roomy: Ward) -> None:
    with many_files(), ExitStack() as stack:
        held = [
            stack.enter_context(dial(roomy.port, b"POST / HTTP/1.1\r\nHo" if number % 2 else b""))
            for number in range(1000)
        ]
        roomy.check()
        still = sum(map(is_open, held))

    assert still == 1000


def test_connections_beyond_the_limit_are_closed_and_those_within_served(tmp_path: Path) -> None:
    with warded(tmp_path / "home", SETTINGS + "connections = 20\n") as ward, ExitStack() as stack:
        within = [stack.enter_context(dial(ward.port)) for _ in range(20)]
        beyond = [stack.enter_context(dial(ward.port)) for _ in range(50)]
        closed = [ending(each).closed for each in beyond]
        within[0].sendall(get("/healthz"))
        (reply,) = read_replies(within[0], 1)
        for each in within:
            each.close()
        wait_until(lambda: not is_refused(ward))
        ward.check()

    assert closed == [True] * 50
    assert reply.status == 200


def is_refused(ward: Ward) -> bool:
    try:
        return ward.ask("/healthz")[0] != 200
    except (OSError, AssertionError):
        return True


def test_too_few_files_close_new_connections_and_leave_the_others(roomy: Ward) -> None:
    roomy.check()
    limits = resource.prlimit(roomy.pid, resource.RLIMIT_NOFILE)
    with dial(roomy.port, get("/healthz")) as within, ExitStack() as stack:
        (alive,) = read_replies(within, 1)
        taken = len(list(Path(f"/proc/{roomy.pid}/fd").iterdir()))
        resource.prlimit(roomy.pid, resource.RLIMIT_NOFILE, (taken + 10, limits[1]))
        try:
            outside = [stack.enter_context(dial(roomy.port, get("/healthz"))) for _ in range(40)]
            # Each is answered or closed, none is left waiting.
            served = [[reply.status for reply in read_replies(each, 1)] for each in outside]
            within.sendall(get("/api/scenarios?search=gm"))
            (searched,) = read_replies(within, 1)
            within.sendall(post(b'{"chain": "polkadot", "text": "gm"}', path="/api/create/remark"))
            (created,) = read_replies(within, 1)
        finally:
            resource.prlimit(roomy.pid, resource.RLIMIT_NOFILE, limits)

    assert (alive.status, created.status) == (200, 200)
    # The thread that reads may have had the store open.
    assert (searched.status, searched.json().get("code")) in ((200, None), (503, "store_failed"))
    assert [200] in served
    assert [] in served
    roomy.scenarios.add(created.json()["result"])
    roomy.check()


def first_free(pid: int) -> int:
    """Return the lowest number that a file which a process opens can get, once it has read what it
    reads in between."""
    lasting = files_of(pid)
    for _ in range(20):
        time.sleep(0.01)
        lasting &= files_of(pid)
    return next(number for number in count() if number not in lasting)


def files_of(pid: int) -> set[int]:
    """Return the numbers of the open files that are no modules."""
    found = set()
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            if not (file.is_dir() or file.readlink().suffix in (".py", ".pyc", ".so")):
                found.add(int(file.name))
    return found


def test_what_no_file_can_be_opened_for_is_said_to_be_that(tmp_path: Path) -> None:
    with warded(tmp_path / "home") as ward:
        limits = resource.prlimit(ward.pid, resource.RLIMIT_NOFILE)
        with dial(ward.port, get("/healthz")) as within:
            read_replies(within, 1)
            resource.prlimit(ward.pid, resource.RLIMIT_NOFILE, (first_free(ward.pid), limits[1]))
            # It reads the table of a runtime when it first needs it, and of the program itself
            # nothing any more.
            within.sendall(CREATE + get("/docs"))
            refused, docs = read_replies(within, 2)
            assert refused.status == 503
            resource.prlimit(ward.pid, resource.RLIMIT_NOFILE, limits)
            within.sendall(CREATE)
            (created,) = read_replies(within, 1)
        ward.scenarios.add(created.json()["result"])
        ward.check()

    sentence = (
        "the daemon has too many open files (Too many open files); try again later (LimitNOFILE=)"
    )
    assert refused.json() == {"error": sentence, "code": "not_ready"}
    assert docs.status == 200


def test_runs_that_wait_keep_nobody_else_waiting(tmp_path: Path) -> None:
    edge = {"id": "e", "source": "d", "target": "r"}
    with Serving(tmp_path, requests=1) as serving:
        document = {"nodes": [node("d", "delay", seconds="30"), REMARK], "edges": [edge]}
        id = serving.post("/saveUrl", {"url": json.dumps(document)}).json()["shortUrl"]
        with dial(
            serving.api, post(json.dumps({"id": id, "timeout": 1}).encode(), path="/job/run")
        ) as runs:
            told = [serving.post("/job/status", {"id": id}).status for _ in range(20)]
            goes_on = is_open(runs)
            runs.settimeout(PATIENCE)
            (ended,) = read_replies(runs, 1)

    assert (told, goes_on) == ([200] * 20, True)
    assert (ended.status, ended.json()["error"]) == (504, says("longer", "1s"))


@pytest.fixture(scope="module")
def webhook(shared: Ward) -> str:
    document = json.loads((DATA / "diagrams" / "webhook_query.json").read_text())
    shared.keep(*document["nodes"])
    return f"/webhook/{WEBHOOK}"


def webhook_row(
    body: bytes, *more: Any, path: str = f"/webhook/{WEBHOOK}", kind: bytes = JSON_TYPE
) -> Row:
    return row(post(body, path=path, kind=kind), *more)


OTHER = "00000000-0000-4000-8000-000000000000"
EVENTS = {
    "for an unknown uuid": webhook_row(
        *(b"{}", 404, "not_found", says("webhook", OTHER)),
        path=f"/webhook/{OTHER}",
    ),
    "for what is no uuid": webhook_row(
        *(b"{}", 404, "not_found", says("webhook", "..")), path="/webhook/%2e%2e"
    ),
    "too large": webhook_row(
        *(b'"' + b"x" * 3000 + b'"', 413, "too_large", says("body", "3002", "2048"))
    ),
    "no JSON": webhook_row(b"a=b", 400, "bad_json", says("body", "JSON", "1")),
    "empty": webhook_row(b"", 400, "bad_json", says("body", "empty")),
    "from a form of a web page": webhook_row(
        b"{}",
        *(415, "unsupported_type", says("body", "text/plain")),
        kind=b"Content-Type: text/plain\r\n",
    ),
    "lists in lists": webhook_row(
        *(b"[" * 1000 + b"]" * 1000, 422, "invalid_request", says("body", "100"))
    ),
}


@pytest.mark.parametrize("fault", EVENTS.values(), ids=EVENTS)
def test_an_event_that_nobody_can_use_is_refused(ward: Ward, webhook: str, fault: Row) -> None:
    before = ward.rows("SELECT count(*) FROM webhook_events")

    (reply,) = talk(ward.port, fault.sent)

    assert (reply.status, refused(reply.json())) == (
        fault.status,
        {"success": False, "error": fault.error, "code": fault.code},
    )
    assert ward.rows("SELECT count(*) FROM webhook_events") == before


def test_a_flood_of_events_is_cut_to_its_rate_and_what_was_taken_is_kept(
    ward: Ward, webhook: str
) -> None:
    before = len(ward.ask(f"/api/webhooks/{WEBHOOK}")[1]["events"])
    sent = b"".join(post(b'{"number": %d}' % number, path=webhook) for number in range(300))
    replies = talk(ward.port, sent, count=300)
    events = ward.ask(f"/api/webhooks/{WEBHOOK}")[1]["events"][before:]

    statuses = Counter(reply.status for reply in replies)
    assert statuses.keys() == {200, 429}
    # A second's worth at once, and more as time passes.
    assert 5 <= statuses[200] < 60
    taken = [number for number, reply in enumerate(replies) if reply.status == 200]
    assert [event["content"] for event in events] == [{"number": number} for number in taken]
    (refused,) = {reply.body for reply in replies if reply.status == 429}
    assert json.loads(refused) == {
        "success": False,
        "error": says(WEBHOOK, "5 events per second"),
        "code": "rate_limited",
        "retry_after": 1,
    }
    assert {reply.headers["retry-after"] for reply in replies if reply.status == 429} == {"1"}


def test_jobs_that_are_started_and_stopped_by_many_at_once_come_to_rest_whole(ward: Ward) -> None:
    ids = [ward.create() for _ in range(4)]
    told: list[tuple[str, str, str]] = []

    def hammer(seed: int) -> None:
        dice = random.Random(seed)
        for _ in range(30):
            id, act = dice.choice(ids), dice.choice(("start", "stop"))
            status, answer = ward.ask(
                f"/job/{act}", {"id": id, **({"every": "1s"} if act == "start" else {})}
            )
            assert status == 200, answer
            told.append((id, act, answer["result"]))

    threads = [threading.Thread(target=hammer, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for id in ids:
        ward.ask("/job/stop", {"id": id})
    wait_until(lambda: not any(ward.ask("/job/status", {"id": id})[1]["executing"] for id in ids))

    assert len(told) == 180
    assert {result for _, _, result in told} == {
        *("Job started", "Job already running", "Job stopped", "Job not running")
    }
    for id in ids:
        lines = Counter(ward.log_of(id))
        started = sum(each == (id, "start", "Job started") for each in told)
        runs = lines["workload executed"]
        assert lines["Starting worker"] <= started
        assert len(ward.drafts_of(id)) == runs == lines["Sleeping"]


def test_no_more_streams_are_opened_than_are_bearable(ward: Ward) -> None:
    id = ward.create()
    with many_files(), ExitStack() as stack:
        held = [
            stack.enter_context(dial(ward.port, get(f"/job/events?id={id}&after=now")))
            for _ in range(streams.STREAMS + 3)
        ]
        heads = [each.recv(65536) for each in held]
        told = ward.ask("/api/scenario/info", {"id": id})

    refused = [head for head in heads if head.startswith(b"HTTP/1.1 429 ")]
    assert told == (200, SUMMARY)
    assert len(refused) == 3
    sentence = f'"{streams.STREAMS} event streams are already open; try again in 5 seconds"'
    assert sentence.encode() in refused[0]
    wait_until(lambda: b" 200 " in first_of_stream(ward, id))


def first_of_stream(ward: Ward, id: str) -> bytes:
    with dial(ward.port, get(f"/job/events?id={id}")) as connection:
        return connection.recv(65536).partition(b"\r\n")[0]


# -- who may call
# --------------------------------------------------------------------------------------------------

OPS, PHONE = "sctl_ops", "sctl_phone"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    tokens = {
        "ops": {"sha256": sha256(OPS.encode()).hexdigest(), "scopes": ["read", "create", "jobs"]},
        "phone": {"sha256": sha256(PHONE.encode()).hexdigest(), "scopes": ["read"]},
    }
    with Serving(
        tmp_path_factory.mktemp("guarded"), tokens=tokens, cors=("https://app.example",)
    ) as serving:
        yield serving


FOREIGN_HOST = says("Host", "evil.example")
CALLS = {
    "without a token": (
        {},
        401,
        says("token", "Authorization"),
    ),
    "with an unknown token": (
        *({"Authorization": "Bearer sctl_guess"}, 401),
        says("token", "daemon"),
    ),
    "with a token's hash": (
        *({"Authorization": f"Bearer {sha256(OPS.encode()).hexdigest()}"}, 401),
        says("token", "daemon"),
    ),
    "with a password": (
        *({"Authorization": "Basic b3BzOm9wcw=="}, 401),
        says("Authorization", "kind"),
    ),
    "with a token for reading": (
        *({"Authorization": f"Bearer {PHONE}"}, 403),
        says("token", "phone"),
    ),
    "under a name that leads here": (
        *({"Authorization": f"Bearer {OPS}", "Host": "evil.example"}, 403),
        FOREIGN_HOST,
    ),
    "from a web page": (
        *({"Authorization": f"Bearer {OPS}", "Origin": "http://evil.example"}, 403),
        says("Origin", "http://evil.example"),
    ),
    "from a page that hides": (
        *({"Authorization": f"Bearer {OPS}", "Sec-Fetch-Site": "cross-site"}, 403),
        says("Origin", "of another site"),
    ),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_who_may_not_call_changes_nothing(
    guarded: Serving, call: tuple[dict[str, str], int, Says]
) -> None:
    headers, status, error = call
    body = json.dumps({"chain": "polkadot", "text": "gm"})
    kind = {"Content-Type": "application/json"}
    good = {"Authorization": f"Bearer {OPS}"}
    before = guarded.send("GET", "/api/scenarios", headers=good).json()["total"]

    reply = guarded.send("POST", "/api/create/remark", body, kind | headers)

    said = {"error": error, "code": "unauthorized" if status == 401 else "forbidden"}
    assert (reply.status, reply.json()) == (status, said)
    assert reply.headers.get("www-authenticate") == ("Bearer" if status == 401 else None)
    assert "access-control-allow-origin" not in reply.headers
    assert guarded.send("GET", "/api/scenarios", headers=good).json()["total"] == before
    assert guarded.send("POST", "/api/create/remark", body, kind | good).status == 200


# -- the store
# -----------------------------------------------------------------------------------------------------


@contextmanager
def locked(store: Path) -> Iterator[None]:
    """Hold the one place that SQLite has for who writes."""
    with closing(sqlite3.connect(store, isolation_level=None, timeout=30)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("ROLLBACK")


def test_a_store_that_is_locked_for_a_moment_is_waited_for_and_read_meanwhile(ward: Ward) -> None:
    id = ward.create()
    created: list[str] = []
    writers = [threading.Thread(target=lambda: created.append(ward.create())) for _ in range(8)]
    with locked(ward.store):
        for writer in writers:
            writer.start()
        time.sleep(0.3)
        told = [ward.ask("/api/scenario/info", {"id": id}), ward.ask("/readyz")]
        waited = list(created)
    for writer in writers:
        writer.join()

    assert told == [(200, SUMMARY), (200, {"status": "ready"})]
    assert waited == []
    assert len(set(created)) == 8


def full(serving: Serving) -> None:
    database = serving.app.store._writer._database  # type: ignore[attr-defined]
    (pages,) = database.execute("PRAGMA page_count").fetchone()
    database.execute(f"PRAGMA max_page_count = {pages}")


def roomy_again(serving: Serving) -> None:
    serving.app.store._writer._database.execute("PRAGMA max_page_count = 1000000")  # type: ignore[attr-defined]


def read_only(serving: Serving) -> None:
    # The tests may run as root, whom no file mode stops.
    serving.app.store._writer._database.execute("PRAGMA query_only = ON")  # type: ignore[attr-defined]


def writable(serving: Serving) -> None:
    serving.app.store._writer._database.execute("PRAGMA query_only = OFF")  # type: ignore[attr-defined]


@dataclass(kw_only=True)
class Lock:
    stack: ExitStack = field(default_factory=ExitStack)

    def take(self, serving: Serving) -> None:
        self.stack.enter_context(locked(Path(serving.settings.store)))

    def leave(self, serving: Serving) -> None:
        self.stack.close()


LOCK = Lock()
Act = Callable[[Serving], None]
STORES: dict[str, tuple[Act, Act, str, str]] = {
    "full": (full, roomy_again, "store_failed", "is out of disk space; nothing was changed"),
    "read-only": (
        read_only,
        writable,
        "store_failed",
        "is read-only, expected a file that can be written",
    ),
    "locked": (
        *(LOCK.take, LOCK.leave, "store_busy"),
        "has been locked by another process for 0.1 seconds; try again later",
    ),
}
LARGE = json.dumps({"nodes": [node("n", "note", text="0123456789abcdef" * 4096)], "edges": []})
WRITES: dict[str, tuple[str, Any]] = {
    "a scenario": ("/api/create/remark", {"chain": "polkadot", "text": "gm " + "x" * 100_000}),
    "a diagram": ("/saveUrl", {}),
    "an event": (f"/webhook/{WEBHOOK}", {"text": "x" * 20_000}),
    "a run": ("/job/run", {"id": ""}),
}


def another_diagram() -> dict[str, str]:
    return {
        "url": json.dumps({"nodes": [node("n", "note", t=os.urandom(9000).hex())], "edges": []})
    }


@pytest.mark.parametrize("trouble", STORES)
@pytest.mark.parametrize("write", WRITES)
def test_a_store_that_takes_nothing_is_to_blame_and_not_the_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: str, trouble: str
) -> None:
    monkeypatch.setattr(database_file, "BUSY_SECONDS", 0.1)
    begin, end, code, sentence = STORES[trouble]
    path, fields = WRITES[write]
    document = (DATA / "diagrams" / "webhook_query.json").read_text()
    with Serving(tmp_path) as serving:
        serving.post("/saveUrl", {"url": document})
        id = serving.post("/api/create/remark", {"chain": "polkadot", "text": "gm " * 2000}).json()[
            "result"
        ]
        body = {**fields, "id": id} if "id" in fields else fields
        # Where there is no room for one page, there may be some within those that are there.
        replies = []
        begin(serving)
        for _ in range(40 if trouble == "full" else 1):
            # One that is stored already would not be written.
            replies.append(serving.post(path, another_diagram() if path == "/saveUrl" else body))
            if replies[-1].status != 200:
                break
        before = contents(Path(serving.settings.store)) if trouble != "locked" else []
        read = serving.post("/api/scenario/info", {"id": id})
        ready = serving.get("/readyz")
        after = contents(Path(serving.settings.store)) if trouble != "locked" else []
        end(serving)
        again = serving.post(path, another_diagram() if path == "/saveUrl" else body)
        ready_again = serving.get("/readyz")

    said = replies[-1].json()
    assert (replies[-1].status, said["code"]) == (503, code)
    assert said["error"] == f"store '{serving.settings.store}' {sentence}"
    assert before == after
    # A lock passes; a disk without room, or a file that cannot be written, is for somebody to mend.
    assert (read.json(), ready.status) == (SUMMARY, 200 if trouble == "locked" else 503)
    assert trouble == "locked" or sentence in ready.json()["error"]
    assert again.status == 200
    assert ready_again.status == 200


def contents(store: Path) -> list[Any]:
    """Return how many rows each table has."""
    with closing(sqlite3.connect(store)) as database:
        names = [
            name
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        return [database.execute(f"SELECT count(*) FROM {name}").fetchone() for name in names]


def test_a_file_that_may_not_grow_fails_writes_and_jobs_catch_up_once_it_may(ward: Ward) -> None:
    id = ward.create()
    ward.ask("/job/start", {"id": id, "every": "1s"})
    wait_until(lambda: ward.drafts_of(id))
    largest = max(file.stat().st_size for file in ward.store.parent.iterdir())
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    resource.prlimit(ward.pid, resource.RLIMIT_FSIZE, (largest, resource.RLIM_INFINITY))
    try:
        for _ in range(40 + largest // 100_000):
            nodes = [node("n", "note", text=os.urandom(200_000).hex())]
            status, answer = ward.ask(
                "/saveUrl", {"url": json.dumps({"nodes": nodes, "edges": []})}
            )
            if status != 200:
                break
            ward.scenarios.add(answer["shortUrl"])
        told = ward.ask("/api/scenario/info", {"id": id})
        had = len(ward.drafts_of(id))
    finally:
        resource.prlimit(ward.pid, resource.RLIMIT_FSIZE, unlimited)
    wait_until(lambda: len(ward.drafts_of(id)) > had + 1)
    ward.ask("/job/stop", {"id": id})

    assert (status, answer) == (
        503,
        {
            "success": False,
            "error": says("store", store=ward.store),
            "code": "store_failed",
        },
    )
    assert told == (200, SUMMARY)
    lines = Counter(ward.log_of(id))
    assert lines["Starting worker"] == 1


FATES: dict[str, Callable[[Path, Path], object]] = {
    "moved away": lambda store, away: store.rename(away),
    "replaced": lambda store, away: (store.rename(away), store.write_bytes(b"")),
    "cut off": lambda store, away: os.truncate(store, 20_000),
    "log removed": lambda store, away: store.with_name(f"{store.name}-wal").unlink(),
}


@pytest.mark.parametrize("fate", FATES)
def test_a_store_whose_file_was_replaced_or_whose_log_is_gone_takes_no_more_writes(
    tmp_path: Path, fate: str
) -> None:
    home, away = tmp_path / "home", tmp_path / "away"
    with warded(home) as ward:
        made = {ward.create(f"before {number}") for number in range(20)}
        with closing(sqlite3.connect(ward.store)) as database:
            database.execute("PRAGMA wal_checkpoint(FULL)")
        made.add(ward.create())
        FATES[fate](ward.store, away)
        there = ward.store.read_bytes() if ward.store.exists() else None
        told = [
            ward.ask("/api/create/remark", {"chain": "polkadot", "text": "gm"}) for _ in range(2)
        ]
        ready = ward.ask("/readyz")
        time.sleep(0.5)
        assert (ward.store.read_bytes() if ward.store.exists() else None) == there
        ward.running.process.terminate()
        ward.running.process.wait()

    sentence = says("takes no more writes", "restart the daemon", store=ward.store)
    assert [(status, answer["code"], answer["error"]) for status, answer in told] == [
        (503, "store_failed", sentence)
    ] * 2
    assert (ready[0], ready[1]["error"]) == (503, sentence.within("the store does not answer: {}"))
    assert "takes no more writes" in ward.running.log
    if fate == "log removed":
        with closing(sqlite3.connect(ward.store)) as database:
            assert made <= {id for (id,) in database.execute("SELECT id FROM scenarios")}


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


# -- damage
# --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Damage:
    """What is done to the row of one scenario, and what then is answered where it is asked for."""

    statement: str
    path: str
    status: int
    answer: Mapping[str, Any]


def failed(
    error: Any, *, code: str = "store_failed", status: int = 503, **more: Any
) -> dict[str, Any]:
    return {"status": status, "answer": {"error": error, "code": code, **more}}


def blob(content: bytes) -> str:
    return f"UPDATE scenarios SET blob = x'{content.hex()}' WHERE id = 'ID'"


FULL, INFO = "/api/scenario/info/full", "/api/scenario/info"
IN_STORE = says("scenario", "ID", "damaged")
PAUSED = {"state": "paused", "reason": says("row", "damaged")}
DAMAGES = {
    "a blob that is not packed": Damage(
        statement=blob(b"\0\1\2 no lz4"),
        path=FULL,
        **failed(says("scenario", "ID", "LZ4"), code="invalid_request", status=422),
    ),
    "a blob that breaks off": Damage(
        statement=blob(lz4.frame.compress(b"{}" * 100)[:-8]),
        path=FULL,
        **failed(says("scenario", "ID"), code="invalid_request", status=422),
    ),
    "a blob that is no JSON": Damage(
        statement=blob(lz4.frame.compress(b"hello")),
        path=FULL,
        **failed(says("scenario", "ID", "JSON"), code="invalid_request", status=422),
    ),
    "a blob that is no diagram": Damage(
        statement=blob(lz4.frame.compress(b"[1, 2]")),
        path=FULL,
        **failed(
            says("scenario", "ID"),
            code="invalid_request",
            status=422,
        ),
    ),
    "a blob that unpacks to a lot": Damage(
        statement=blob(lz4.frame.compress(bytes(40 << 20))),
        path=FULL,
        **failed(says("scenario", "ID", "16777216"), code="too_large", status=413),
    ),
    "a blob that is a text": Damage(
        statement="UPDATE scenarios SET blob = 'text' WHERE id = 'ID'",
        path=FULL,
        **failed(IN_STORE),
    ),
    "a summary of bytes": Damage(
        statement="UPDATE scenarios SET summary = x'00ff' WHERE id = 'ID'",
        path=INFO,
        **failed(IN_STORE),
    ),
    "a time in words": Damage(
        statement="UPDATE scenarios SET updated = 'then' WHERE id = 'ID'",
        path=INFO,
        **failed(IN_STORE),
    ),
    "a schedule that is no JSON": Damage(
        statement="UPDATE jobs SET schedule = 'hourly' WHERE id = 'ID'",
        path="/job/status",
        status=200,
        answer=PAUSED,
    ),
    "a schedule of wrong types": Damage(
        statement="""UPDATE jobs SET schedule = '{"every": "1h"}' WHERE id = 'ID'""",
        path="/job/status",
        status=200,
        answer=PAUSED,
    ),
    "a state that there is not": Damage(
        statement="UPDATE jobs SET state = 'walking' WHERE id = 'ID'",
        path="/job/status",
        status=200,
        answer=PAUSED,
    ),
    "a line of bytes": Damage(
        statement="UPDATE log_lines SET text = x'ff' WHERE job = 'ID'",
        path="/scenario/worker/logs",
        status=200,
        answer={"success": True, "result": ["This line is damaged in the store"] * 3},
    ),
    "a draft of another time": Damage(
        statement="UPDATE mempool SET date = 'then' WHERE job = 'ID'",
        path="/scenario/tx",
        status=200,
        answer={
            "mempool": [
                {
                    "chain": "polkadot",
                    "amount": "0",
                    "txType": "Remark",
                    "Date": "1970-01-01T00:00:00.000000000Z",
                    "tx": "Could not generate transaction",
                }
            ]
        },
    ),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_what_is_damaged_is_said_and_stops_nothing_else(ward: Ward, damage: Damage) -> None:
    id = ward.create()
    ward.ask("/job/run", {"id": id})
    ward.ask("/job/start", {"id": id, "cron": "0 0 29 2 *"})
    ward.ask("/job/stop", {"id": id})
    with closing(sqlite3.connect(ward.store, timeout=30)) as database, database:
        assert database.execute(damage.statement.replace("ID", id)).rowcount > 0

    status, answer = ward.ask(damage.path, {"id": id})
    found = json.loads(
        json.dumps({name: answer.get(name) for name in damage.answer}).replace(id, "ID")
    )
    for draft in found.get("mempool") or ():
        del draft["seq"]
    assert (status, found) == (damage.status, damage.answer)

    # It can be got rid of.
    assert ward.ask("/api/scenario/delete", {"id": id})[0] == 200
    ward.scenarios.discard(id)


def test_a_job_whose_scenario_is_damaged_fails_its_own_runs_only(ward: Ward) -> None:
    broken, sound = ward.create(), ward.create()
    with closing(sqlite3.connect(ward.store, timeout=30)) as database, database:
        database.execute(
            "UPDATE scenarios SET blob = x'000102030405060708090a0b0c0d0e0f10111213' WHERE id = ?",
            (broken,),
        )
    for id in (broken, sound):
        ward.ask("/job/start", {"id": id, "every": "1s", "pause_after": 2})
    wait_until(lambda: ward.ask("/job/status", {"id": broken})[1]["state"] == "paused")
    # It was started after the other one.
    wait_until(lambda: ward.drafts_of(sound))
    ward.ask("/job/stop", {"id": sound})

    sentence = says("scenario", "LZ4", id=broken)
    assert ward.ask("/job/status", {"id": broken})[1]["reason"] == sentence
    assert ward.log_of(broken) == [
        *("Starting worker", sentence.within("run failed: {}"), "workload executed", "Sleeping"),
        *(sentence.within("run failed: {}"), "workload executed", says("Paused", "2")),
    ]
    assert len(ward.drafts_of(sound)) >= 1
    with closing(sqlite3.connect(ward.store, timeout=30)) as database, database:
        database.execute(
            "UPDATE scenarios SET blob = (SELECT blob FROM scenarios WHERE id = ?) WHERE id = ?",
            (sound, broken),
        )


def test_a_store_with_a_damaged_page_serves_what_lies_elsewhere(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with warded(home) as ward:
        document = json.loads((DATA / "diagrams" / "webhook_query.json").read_text())
        ward.keep(*document["nodes"])
        ward.ask(f"/webhook/{WEBHOOK}", {"a": 1})
        assert ward.running.end() == 0
    with closing(sqlite3.connect(ward.store)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = database.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'webhook_events'"
        ).fetchone()
    content = bytearray(ward.store.read_bytes())
    content[(page - 1) * 4096 : page * 4096] = b"\xa5" * 4096
    ward.store.write_bytes(content)
    with warded(home) as again:
        events = again.ask(f"/api/webhooks/{WEBHOOK}")
        posted = again.ask(f"/webhook/{WEBHOOK}", {"a": 2})
        id = again.create()
        info = again.ask("/api/scenario/info", {"id": id})
        ran = again.ask("/job/run", {"id": id})[0]
        ended = again.running.end()

    sentence = says("malformed", store=ward.store)
    assert events == (503, {"error": sentence, "code": "store_failed"})
    assert posted == (503, {"success": False, "error": sentence, "code": "store_failed"})
    assert (info, ran, ended) == ((200, SUMMARY), 200, 0)
    assert "Traceback" not in again.running.log


# -- what keeps it from starting
# -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class NoStart:
    line: tuple[str, ...]
    code: int
    error: Any
    prepare: Callable[[Path], object] = lambda home: None


def make_database(path: Path, *statements: str, mode: int = 0o600) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        for statement in statements:
            database.execute(statement)
    path.chmod(mode)


#: Starts the program as a root whom file modes stop, as they stop any other user anyway.
POWERLESS = (
    "import ctypes, os, sys; [ctypes.CDLL(None).prctl(24, capability, 0, 0, 0) for "
    "capability in (1, 2)]; "
    "os.execv(sys.executable, [sys.executable, '-m', 'scenarioctl', *sys.argv[1:]])"
)


def listen_at(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    return listener


API = ("--listen", "127.0.0.1:0", "--role", "api")
NO_STARTS = {
    "a port at which another listens": NoStart(
        line=("--role", "api", "--listen", "127.0.0.1:PORT"),
        prepare=lambda home: socket.create_server(("127.0.0.1", 0)),
        code=4,
        error=says("listen", "127.0.0.1:PORT"),
    ),
    "a Unix socket at which another listens": NoStart(
        line=("--role", "api", "--listen", "unix:HOME/api.sock"),
        prepare=lambda home: listen_at(home / "api.sock"),
        code=4,
        error=says("listen", "unix:HOME/api.sock"),
    ),
    "a Unix socket where a file is": NoStart(
        line=("--role", "api", "--listen", "unix:HOME/notes.txt"),
        prepare=lambda home: (home / "notes.txt").write_text("mine"),
        code=4,
        error=says("listen", "unix:HOME/notes.txt"),
    ),
    "a Unix socket in no folder": NoStart(
        line=("--role", "api", "--listen", "unix:HOME/none/api.sock"),
        code=2,
        error=says("listen", "unix:HOME/none/api.sock"),
    ),
    "an address of another machine": NoStart(
        line=("--role", "api", "--listen", "192.0.2.1:8080"),
        code=2,
        error=says("listen", "192.0.2.1:8080"),
    ),
    "an address for a server that the role has not": NoStart(
        line=("--role", "worker", "--listen", "127.0.0.1:8081"),
        code=2,
        error=says("--listen", "127.0.0.1:8081", "--role"),
    ),
    "a worker's address for the scenario API alone": NoStart(
        line=(*API, "--worker-listen", "127.0.0.1:0"),
        code=2,
        error=says("--worker-listen", "127.0.0.1:0", "--role"),
    ),
    "a store that is a text": NoStart(
        line=(*API, "--store", "HOME/list.db"),
        prepare=lambda home: (home / "list.db").write_text("my shopping list\n" * 100),
        code=2,
        error=says("store", "HOME/list.db"),
    ),
    "a store of another program": NoStart(
        line=(*API, "--store", "HOME/other.db"),
        prepare=lambda home: make_database(home / "other.db", "CREATE TABLE mine (a)"),
        code=2,
        error=says("store", "HOME/other.db"),
    ),
    "a store of another version": NoStart(
        line=(*API, "--store", "HOME/newer.db"),
        prepare=lambda home: make_database(
            home / "newer.db", f"PRAGMA application_id = {0x5363656E}", "PRAGMA user_version = 99"
        ),
        code=2,
        error=says("store", "HOME/newer.db", "version 99"),
    ),
    "a store that is a folder": NoStart(
        line=(*API, "--store", "HOME"),
        code=2,
        error=says("store", "HOME"),
    ),
    "a store that may not be written": NoStart(
        line=(*API, "--store", "HOME/kept.db"),
        prepare=lambda home: make_database(home / "kept.db", mode=0o400),
        code=2,
        error=says("store", "HOME/kept.db"),
    ),
    "a config that is no TOML": NoStart(
        line=("--config", "HOME/broken.toml", *API),
        prepare=lambda home: (home / "broken.toml").write_text("rate = \n"),
        code=2,
        error=says("config", "HOME/broken.toml", "TOML", "1", "8"),
    ),
}


@pytest.fixture(scope="module")
def starts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """Start all of them, and return how each ended and what it said."""
    begun = {}
    with ExitStack() as stack:
        for number, (name, fault) in enumerate(NO_STARTS.items()):
            home, port = tmp_path_factory.mktemp(f"s{number}"), "PORT"
            made = fault.prepare(home)
            if isinstance(made, socket.socket):
                stack.enter_context(made)
                port = str(made.getsockname()[1]) if made.family == socket.AF_INET else port
            line = [each.replace("HOME", str(home)).replace("PORT", port) for each in fault.line]
            with pytest.MonkeyPatch.context() as patch:
                if name == "a store that may not be written":
                    patch.setattr("tests.daemons.PROGRAM", (sys.executable, "-c", POWERLESS))
                process, stderr = start(home, "daemon", *line)
            begun[name] = (process, stderr, home, port)
        return {
            name: (
                process.wait(2 * PATIENCE),
                stderr.read_text().replace(str(home), "HOME").replace(f":{port}'", ":PORT'"),
            )
            for name, (process, stderr, home, port) in begun.items()
        }


@pytest.mark.parametrize("name", NO_STARTS)
def test_what_keeps_a_daemon_from_starting_is_a_sentence(
    starts: dict[str, tuple[int, str]], name: str
) -> None:
    assert starts[name] == (NO_STARTS[name].code, NO_STARTS[name].error.printed)


# -- settings that are read anew
# -----------------------------------------------------------------------------------

RELOADS = {
    "no TOML": ("rate = ", "config CONFIG is not TOML: Invalid value (at end of document)"),
    "an unknown key": ("raet = 5", "config CONFIG has the unknown key 'raet', did you mean rate?"),
    "a wrong type": (
        'rate = "fast"',
        "rate 'fast' (config.toml) is not a whole number, expected one like 100",
    ),
    "a limit below what makes sense": ("body_limit = 1", "body_limit 1 (config.toml) is too small"),
    "pages of everywhere without a token": (
        'cors = ["*"]',
        "cors holds '*' and no token is configured: every web page could call the daemon",
    ),
    "a token in place of its hash": (
        '[tokens.ops]\nsha256 = "sctl_secret"\nscopes = ["read"]',
        "tokens.ops.sha256 is not the hash of a token, expected 64 hex digits",
    ),
    "a chain without sense": ("[chains.polkadot]\nendpoints = 5", "chains.polkadot.endpoints"),
}


@pytest.mark.parametrize("fault", RELOADS.values(), ids=RELOADS)
def test_settings_that_cannot_be_used_are_reported_and_change_nothing(
    ward: Ward, fault: tuple[str, str]
) -> None:
    text, sentence = fault
    config = ward.store.with_name("config.toml")
    said = len(ward.running.log)
    config.write_text(text)
    try:
        ward.running.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "reload failed, settings unchanged: " in ward.running.log[said:])
        told = ward.running.log[said:]
    finally:
        config.write_text(SETTINGS)
    ward.running.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "settings reloaded; changed: none" in ward.running.log[said:])

    assert f"reload failed, settings unchanged: {sentence.replace('CONFIG', str(config))}" in told
    assert "sctl_secret" not in ward.running.log


# -- chains and web servers
# ----------------------------------------------------------------------------------------


@contextmanager
def server(talk: Callable[[socket.socket], None]) -> Iterator[int]:
    """Listen at a port, which is given, and *talk* at each connection, in a thread of its own."""
    with socket.create_server(("127.0.0.1", 0)) as listener, ExitStack() as stack:

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                stack.enter_context(connection)
                threading.Thread(target=meet, args=(connection,), daemon=True).start()

        def meet(connection: socket.socket) -> None:
            try:
                talk(connection)
            except OSError:
                pass

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def say(answer: bytes) -> Callable[[socket.socket], None]:
    """Return what answers a request with exactly that, and hangs up."""

    def talk(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(answer)
        connection.close()

    return talk


def stall(connection: socket.socket) -> None:
    time.sleep(5)


def gone(*_: object) -> None:
    raise Gone("killed")


def refuse(*_: object) -> None:
    raise Refusal(-32000, "out of gas", "today")


QUERY = {"pallet_name": "Timestamp", "method_name": "Now"}
NODES: dict[str, tuple[Any, int, str, Says]] = {
    "where nobody listens": (
        *(None, 503, "chain_unreachable"),
        says("{node}", "Connection"),
    ),
    "that does not say a word": (
        *(stall, 503, "chain_unreachable"),
        says("{node}", "0.3"),
    ),
    "that speaks no WebSocket": (
        *(say(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), 503, "chain_unreachable"),
        says("{node}", "HTTP", "200", "WebSocket"),
    ),
    "that hangs up": (
        *(say(b""), 503, "chain_unreachable"),
        says("{node}", "connection"),
    ),
    "of another chain": (
        *(answers("assetHub"), 503, "chain_unreachable"),
        says("{node}", GENESIS["assetHub"], GENESIS["polkadot"]),
    ),
    "that knows no method": (
        *({}, 503, "chain_unreachable"),
        says("{node}", "chain_getBlockHash", "-32601"),
    ),
    "that dies while it is asked": (
        *(answers("polkadot", state_getStorage=gone), 503, "chain_unreachable"),
        says("{node}", "state_getStorage"),
    ),
    "that refuses": (
        *(answers("polkadot", state_getStorage=refuse), 502, "chain_refused"),
        says("{node}", "state_getStorage", "out of gas: today", "-32000"),
    ),
    "that answers with no hex": (
        *(answers("polkadot", state_getStorage=lambda *_: "hello"), 503, "chain_unreachable"),
        says("polkadot", "hello"),
    ),
    "that answers with too little": (
        *(answers("polkadot", state_getStorage=lambda *_: "0x01"), 503, "chain_unreachable"),
        says("u64", "2000000"),
    ),
    "that answers with a list": (
        *(answers("polkadot", state_getStorage=lambda *_: [1, 2]), 503, "chain_unreachable"),
        says("1", "2"),
    ),
    "that does not say what it runs": (
        *(answers("polkadot", state_getRuntimeVersion="new"), 503, "chain_unreachable"),
        says("{node}", "new"),
    ),
    "whose runtime is none": (
        answers(
            "polkadot",
            state_getRuntimeVersion={"specName": "polkadot", "specVersion": 7},
            state_getMetadata="0x00",
            state_call="0x00",
        ),
        *(503, "chain_unreachable"),
        says("polkadot", "metadata"),
    ),
}


@pytest.mark.parametrize("name", NODES)
def test_a_node_that_fails_fails_what_needs_it_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    act, status, code, error = NODES[name]
    # Only the one that says nothing is waited for until the end.
    monkeypatch.setattr(
        "scenarioctl.chains.pool.TIMEOUTS", Timeouts(opening=0.3 if act is stall else 10)
    )
    with ExitStack() as stack:
        if act is None:
            url = "ws://127.0.0.1:1/"
        elif isinstance(act, Mapping):
            url = stack.enter_context(Node(act)).url
        else:
            url = f"ws://127.0.0.1:{stack.enter_context(server(act))}/"
        chains = {"polkadot": {"endpoints": [url]}}
        serving = stack.enter_context(Serving(tmp_path, offline=False, chains=chains))
        reply = serving.post("/api/actions/query", {"chain": "polkadot", **QUERY})
        id = serving.post("/api/create/remark", {"chain": "polkadot", "text": "gm"}).json()[
            "result"
        ]
        info = serving.post("/api/scenario/info", {"id": id})

    said = {"error": error.where(node=url), "code": code}
    assert (reply.status, reply.json()) == (status, said)
    assert info.json() == SUMMARY


WEB: dict[str, tuple[Any, str]] = {
    "where nobody listens": (None, "WEB could not be reached (after 2 tries)"),
    "that does not say a word": (stall, "WEB did not answer within 0.3 s"),
    "that hangs up": (say(b""), "WEB closed the connection without a response (after 2 tries)"),
    "that speaks no HTTP": (say(b"hello\r\n\r\n"), "WEB sent a malformed response"),
    "that fails": (
        say(b"HTTP/1.1 500 Oh\r\nContent-Length: 6\r\n\r\nsecret"),
        "WEB answered 500 (after 2 tries)",
    ),
    "that leads into a private network": (
        say(
            b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n"
        ),
        (
            "WEB answered 302, a redirect to 169.254.169.254; redirects are not followed, use "
            "the final URL"
        ),
    ),
    "that breaks off": (
        say(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"),
        "WEB sent a malformed response",
    ),
}


@pytest.mark.parametrize("name", WEB)
def test_a_web_server_that_fails_fails_the_step_and_the_run_says_so(
    tmp_path: Path, name: str
) -> None:
    act, sentence = WEB[name]
    with ExitStack() as stack:
        port = 1 if act is None else stack.enter_context(server(act))
        serving = stack.enter_context(Serving(tmp_path, private_targets=("127.0.0.1",)))
        timeout = "0.3" if act is stall else "10"
        step = node("h", "http", url=f"http://127.0.0.1:{port}/", timeout=timeout, retries=1)
        document = {"nodes": [step, REMARK], "edges": [{"id": "e", "source": "h", "target": "r"}]}
        id = serving.post("/saveUrl", {"url": json.dumps(document)}).json()["shortUrl"]
        reply = serving.post("/job/run", {"id": id})
        log = serving.post("/scenario/worker/logs", {"id": id}).json()["result"]

    said = reply.json()
    error = f"http 'h' failed: GET WEB/: {sentence}".replace("WEB", f"127.0.0.1:{port}")
    assert (reply.status, said["code"], said["error"]) == (502, "request_failed", error)
    expected = [
        f"Requesting GET 127.0.0.1:{port}/",
        error,
        "Remark 'r' was skipped because 'h' failed",
        f"run failed: 1 of 1 drafts: {error}",
        "workload executed",
    ]
    assert log == said["result"] == expected
    assert said["mempool"] == []


# -- the clock
# -----------------------------------------------------------------------------------------------------

JUMPS: dict[str, Sequence[float]] = {
    "a second back": (-1,),
    "a minute back": (-60,),
    "a year back": (-400 * DAY / 10**9,),
    "a minute on": (60,),
    "a year on": (400 * DAY / 10**9,),
    "on and back": (HOUR / 10**9, -HOUR / 10**9),
    "back and on": (-HOUR / 10**9, HOUR / 10**9),
    "to and fro all the time": (-5, 5, -7, 7, -3600, 7200, -3600) * 3,
}


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(running, "Run", FakeRun)
    monkeypatch.setattr(FakeRun, "plays", {})
    return Bench(tmp_path)


@pytest.mark.parametrize("jumps", JUMPS.values(), ids=JUMPS)
async def test_a_clock_that_jumps_stops_no_job_and_repeats_no_run(
    bench: Bench, jumps: Sequence[float]
) -> None:
    async def story() -> None:
        await bench.start("one", every="10s")
        await bench.start("slow", every="10s")
        await bench.time.let_pass(15)
        for jump in jumps:
            bench.time.now += round(jump * 10**9)
            await bench.time.let_pass(1)
        before = await bench.runs("one")
        await bench.time.let_pass(60)

        assert await bench.runs("one") - before in (5, 6, 7)
        for id in ("one", "slow"):
            lines = await bench.log(id)
            assert lines[0] == "Starting worker"
            assert lines.count("drafted") == lines.count("workload executed") == await drafts(id)
            assert lines.count("Starting worker") == 1
            assert (await bench.job(id)).state.value == "running"

    async def drafts(id: str) -> int:
        return len(await bench.store.read_mempool(id))

    async with play(bench, bench.worker()):
        await story()


@pytest.mark.parametrize("protocol", ["foo", "h2c", "websocket"])
@pytest.mark.parametrize(("path", "status"), [("/healthz", 200), ("/nowhere", 404)])
def test_what_comes_behind_an_upgrade_is_not_left_waiting(
    ward: Ward, protocol: str, path: str, status: int
) -> None:
    with dial(ward.port) as connection:
        connection.sendall(
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: "
            f"{protocol}\r\n\r\n"
            "GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        )
        answer = b""
        while part := connection.recv(65536):
            answer += part

    head = answer.partition(b"\r\n\r\n")[0].decode().lower()
    assert head.startswith(f"http/1.1 {status}")
    assert "connection: close" in head
