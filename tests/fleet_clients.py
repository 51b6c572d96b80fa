"""Who uses a fleet of daemons in a test: clients that create and start, streams that are followed,
a watch on takeovers."""

import http.client
import json
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

import psycopg

#: What a client gets from a daemon that is killed, or that says nothing.
UNREACHED = (OSError, http.client.HTTPException)
#: Seconds after which a client asks another daemon.
_PATIENCE = 5.0


class Client:
    """Asks one of several daemons after the other until one has acknowledged."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = list(ports)
        #: How often an answer said that the store is away, and how often there was none.
        self.refused = self.unreached = 0
        #: Seconds until a daemon said that the store is away.
        self.refusals: list[float] = []

    def ask(self, path: str, fields: Any) -> Any:
        """Return the acknowledged answer."""
        while True:
            begun = time.monotonic()
            try:
                self._ports.append(port := self._ports.pop(0))
                status, headers, body = self._ask(port, path, fields)
            except UNREACHED:
                self.unreached += 1
                time.sleep(0.1)
                continue
            if status == 200:
                return body
            assert status == 503, (path, status, body)
            self.refused += 1
            self.refusals.append(time.monotonic() - begun)
            time.sleep(float(headers["Retry-After"]))

    def _ask(self, port: int, path: str, fields: Any) -> tuple[int, http.client.HTTPMessage, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE)
        try:
            connection.request(
                "POST", path, json.dumps(fields), {"Content-Type": "application/json"}
            )
            answer = connection.getresponse()
            return answer.status, answer.headers, json.loads(answer.read())
        finally:
            connection.close()

    def create(self, *nodes: dict[str, Any], number: int) -> str:
        edges = [{"id": "e", "source": nodes[0]["id"], "target": each["id"]} for each in nodes[1:]]
        document = json.dumps({"nodes": nodes, "edges": edges, "made": number})
        id: str = self.ask("/saveUrl", {"url": document})["shortUrl"]
        return id

    def start(self, id: str, every: str) -> None:
        # The second time, if the first answer was lost.
        assert self.ask("/job/start", {"id": id, "every": every})["result"] in (
            "Job started",
            "Job already running",
        )


class Stream:
    """Follows all jobs from the beginning, on another daemon whenever one ends the stream or falls
    silent."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = list(ports)
        self._position = "0.0"
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._closed = False
        #: The numbers of log lines and drafts, in the order in which they came.
        self.seen: dict[str, list[int]] = {"log": [], "mempool": []}
        #: When each log line came, and how many seconds after it was written.
        self.delays: list[tuple[float, float]] = []
        self.reconnects = -1
        self._thread.start()

    def _follow(self) -> None:
        while not self._closed:
            self._ports.append(port := self._ports.pop(0))
            self.reconnects += 1
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE)
            with suppress(*UNREACHED):
                connection.request("GET", "/job/events", headers={"Last-Event-ID": self._position})
                answer = connection.getresponse()
                if answer.status == 200:
                    self._read(answer)
            connection.close()
            time.sleep(0.1)

    def _read(self, answer: http.client.HTTPResponse) -> None:
        event: dict[str, str] = {}
        while not self._closed and (line := answer.readline().decode()):
            name, _, value = line.rstrip("\n").partition(": ")
            if line != "\n":
                event[name] = value
                continue
            if "id" in event:
                self._take(event)
            event = {}

    def _take(self, event: dict[str, str]) -> None:
        self._position, kind = event["id"], event["event"]
        log, _, mempool = event["id"].partition(".")
        self.seen[kind].append(int(log if kind == "log" else mempool))
        if kind == "log":
            now = time.time()
            self.delays.append(
                (now, now - datetime.fromisoformat(json.loads(event["data"])["date"]).timestamp())
            )

    def between(self, begin: float, end: float) -> list[float]:
        """Return the delays of lines that came then, in order of length."""
        return sorted(delay for when, delay in self.delays if begin <= when <= end)

    def close(self) -> None:
        self._closed = True
        self._thread.join(2 * _PATIENCE)


class Takeovers:
    """Watches the runs of killed workers until another worker begins them."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        #: Job -> the epoch of its run, how many runs came before, and when its worker was killed.
        self._held: dict[str, tuple[int, int, float]] = {}
        self._closed = False
        #: Seconds of each takeover, and when it had come.
        self.seconds: list[tuple[float, float]] = []
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        return len(self._held)

    def busiest(self, pids: Sequence[int]) -> int:
        """Return the one of some workers that has most runs, once one has any."""
        while True:
            with psycopg.connect(self._url, autocommit=True) as connection:
                owners = [
                    owner for (owner,) in connection.execute("SELECT owner FROM jobs").fetchall()
                ]
            held = {pid: sum(f":{pid}:" in owner for owner in owners) for pid in pids}
            most = max(held, key=lambda pid: held[pid])
            if held[most]:
                return most
            time.sleep(0.05)

    def killed(self, pid: int) -> None:
        """Note which runs the worker *pid* had."""
        killed = time.monotonic()
        with suppress(psycopg.Error), psycopg.connect(self._url, autocommit=True) as connection:
            owned = "SELECT id, epoch, runs FROM jobs WHERE owner LIKE %s"
            first = connection.execute(owned, (f"%:{pid}:%",)).fetchall()
            # The server may still have been ending some of them.
            time.sleep(0.1)
            second = connection.execute(owned, (f"%:{pid}:%",)).fetchall()
            with self._lock:
                self._held |= {
                    id: (epoch, runs, killed) for id, epoch, runs in set(first) & set(second)
                }

    def _watch(self) -> None:
        while not self._closed:
            with suppress(psycopg.Error), psycopg.connect(self._url, autocommit=True) as connection:
                while not self._closed:
                    self._look(connection)
                    time.sleep(0.05)
            time.sleep(0.2)

    def _look(self, connection: "psycopg.Connection[Any]") -> None:
        with self._lock:
            held = dict(self._held)
        if not held:
            return
        rows = connection.execute(
            "SELECT id, epoch, runs FROM jobs WHERE id = ANY(%s)", (list(held),)
        ).fetchall()
        now = time.monotonic()
        with self._lock:
            for id, epoch, runs in rows:
                before, count, killed = held[id]
                if self._held.get(id) != held[id] or (epoch == before and runs == count):
                    continue
                del self._held[id]
                # The server may still have kept it after the death of its worker.
                if epoch > before:
                    self.seconds.append((now, now - killed))

    def close(self) -> None:
        self._closed = True
        self._thread.join(10)
