"""PostgreSQL that goes away under a daemon, and comes back: what the daemon's log and the logs of
jobs say of it."""

import http.client
import json
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.stores import create_store
from tests.daemons import Daemon, daemon, wait_until
from tests.messages import says
from tests.postgres import RUNTIME, Server, start_server
from tests.runner import finish as run
from tests.test_jobs import REMARK, node

pytestmark = pytest.mark.processes

WEBHOOK = "6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d"


class Gate:
    """A web server that answers once it is told to."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.opened = threading.Event()
        self.keys: list[str | None] = []
        gate = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                gate.keys.append(self.headers["Idempotency-Key"])
                gate.asked.set()
                gate.opened.wait(60)
                with suppress(OSError):
                    self.send_response(204)
                    self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.place = f"127.0.0.1:{self._server.server_port}/"
        self.url = f"http://{self.place}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.opened.set()
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    server = start_server(durable=True)
    run(create_store(server.create_database("away"), grant=RUNTIME))
    yield server
    server.remove()


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.close()


@contextmanager
def serving(home: Path, server: Server) -> Iterator[Daemon]:
    variables = {
        "SCENARIOCTL_STORE": server.url("away", user=RUNTIME),
        "SCENARIOCTL_PRIVATE_TARGETS": "127.0.0.1",
    }
    with daemon(home, "--offline", variables=variables) as running:
        yield running


def keep(running: Daemon, *nodes: Mapping[str, Any]) -> str:
    """Store a diagram of nodes that follow one another."""
    edges = [
        {"id": f"e{number}", "source": before["id"], "target": after["id"]}
        for number, (before, after) in enumerate(pairwise(nodes))
    ]
    status, answer, _ = running.ask(
        "/saveUrl", {"url": json.dumps({"nodes": nodes, "edges": edges})}
    )
    assert status == 200, answer
    return str(answer["shortUrl"])


def log_of(running: Daemon, id: str) -> list[str]:
    status, answer, _ = running.ask("/scenario/worker/logs", {"id": id})
    return list(answer["result"]) if status == 200 else []


@contextmanager
def following(running: Daemon, path: str) -> Iterator[None]:
    """Keep an event stream open."""
    with closing(http.client.HTTPConnection("127.0.0.1", running.port(), timeout=60)) as stream:
        stream.request("GET", path)
        stream.getresponse().readline()
        yield


def texts_of_jobs(server: Server) -> str:
    """Return all that the store has of runs in words."""
    questions = (
        "SELECT text FROM scenarioctl.log_lines",
        "SELECT failure FROM scenarioctl.runs",
        "SELECT reason FROM scenarioctl.jobs",
        "SELECT reason FROM scenarioctl.notifications",
    )
    return "\n".join(
        text for each in questions for (text,) in server.execute(each, database="away")
    )


def test_an_outage_is_told_twice_and_fails_no_run(
    tmp_path: Path, server: Server, gate: Gate
) -> None:
    with serving(tmp_path / "home", server) as running:
        id = keep(
            running,
            node("a", "http", url=gate.url, method="POST"),
            node("b", "webhook", uuid=WEBHOOK, webhookName="hook"),
            REMARK,
        )
        often = [keep(running, REMARK) for _ in range(3)]
        with following(running, "/job/events"):
            for each in often:
                assert running.ask("/job/start", {"id": each, "every": "1s"})[0] == 200
            assert running.ask("/job/start", {"id": id, "every": "1h", "pause_after": 1})[0] == 200
            assert gate.asked.wait(60)
            wait_until(lambda: all("workload executed" in log_of(running, each) for each in often))
            server.stop()
            gate.opened.set()
            # Long enough for every part of the daemon to try again.
            end = time.monotonic() + 5
            while time.monotonic() < end:
                assert running.ask("/api/scenarios")[0] == 503
                time.sleep(0.5)
            server.start()
            wait_until(lambda: any("Waiting" in line for line in log_of(running, id)))
            assert running.ask(f"/webhook/{WEBHOOK}", {"go": "on"}, server="job worker")[0] == 200
            wait_until(lambda: "workload executed" in log_of(running, id))
            runs = len(log_of(running, often[0]))
            wait_until(lambda: len(log_of(running, often[0])) > runs + 3)
        told = [
            line.split(" ", 1)[1]
            for line in running.log.splitlines()
            if re.search("Z (error|warning) ", line)
        ]
        log = log_of(running, id)
        found = texts_of_jobs(server)

    lost, back = told
    assert lost.startswith("error store 'postgresql://scenarioctl@/away' is not available: ")
    assert back.startswith(
        "warning store 'postgresql://scenarioctl@/away' is available again after "
    )
    assert log[:3] == [
        *("Starting worker", "The last attempt at this run was interrupted; running it again"),
        f"Requesting POST {gate.place}",
    ]
    assert "failed" not in found
    # The same run.
    assert len(gate.keys) == 2
    assert len(set(gate.keys)) == 1
    assert "postgresql" not in found


def test_a_run_that_the_store_refuses_tells_no_address(tmp_path: Path, server: Server) -> None:
    with serving(tmp_path / "home", server) as running:
        id = keep(running, node("b", "webhook", uuid=WEBHOOK, webhookName="hook"), REMARK)
        server.execute(
            f"REVOKE SELECT ON scenarioctl.webhook_events FROM {RUNTIME}", database="away"
        )
        wanted = {"id": id, "every": "1h", "pause_after": 1, "notify": "http://127.0.0.1:1/hook"}
        assert running.ask("/job/start", wanted)[0] == 200
        wait_until(lambda: any("failed" in line for line in log_of(running, id)))
        reason = running.ask("/job/status", {"id": id}, server="job worker")[1]["reason"]
        found = texts_of_jobs(server)

    assert reason == says("the store refuses this role", "webhook_events")
    assert found.count(reason) >= 4
    assert "postgresql" not in found
