"""A daemon under attack: its memory capped, and `/healthz` asked all the while.

    with pressed_daemon(home) as running, under_probe(running):
        assert send(running, "/api/create/flow", body)[0] == 422

On leaving, `under_probe` fails where an answer of `/healthz` took longer than `ANSWER`, or where
the daemon grew by more than its bound.  Each attack is a test of two sizes, `sizes(small, full)`:
the full one is for `make soak`.
"""

import http.client
import json
import os
import resource
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.daemons import PATIENCE, Daemon, daemon

#: Seconds that any answer of /healthz may take.
ANSWER = 0.25
#: Bytes of address space of the daemon, threads and libraries included.
MEMORY = 2 * 1024**3
#: Seconds between two probes.
_PAUSE = 0.01
_TICKS = os.sysconf("SC_CLK_TCK")


def sizes(small: Any, full: Any) -> pytest.MarkDecorator:
    """Parametrize a test with *size*: the small one always, the full one in `make soak`."""
    return pytest.mark.parametrize(
        "size",
        [pytest.param(small, id="small"), pytest.param(full, id="full", marks=pytest.mark.soak)],
    )


@contextmanager
def pressed_daemon(home: Path, *line: str, memory: int = MEMORY, **more: Any) -> Iterator[Daemon]:
    """Start a daemon that may take no more than *memory* bytes of address space."""

    def cap() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    with daemon(home, *line, preexec_fn=cap, **more) as running:
        yield running


@contextmanager
def under_probe(
    running: Daemon, *, grown: int = 300 * 1024 * 1024, server: str = "scenario API"
) -> Iterator[None]:
    """Ask /healthz all the while, and fail on leaving where the daemon kept it waiting or grew by
    more than *grown* bytes."""
    before = peak_memory(running)
    probe = _Probe(running, running.port(server))
    probe.start()
    try:
        yield
        probe.asked.wait(PATIENCE)
    finally:
        probe.stop()
    assert not probe.failures, f"{probe.failures[0]}\n{running.log[-2000:]}"
    assert probe.count, "the probe never asked"
    assert probe.longest <= ANSWER, (
        f"an answer of /healthz took {probe.longest:.2f} s of the daemon's work"
    )
    grew = peak_memory(running) - before
    assert grew <= grown, f"the daemon grew by {grew // 2**20} MiB, the bound is {grown // 2**20}"


def send(
    running: Daemon,
    path: str,
    body: bytes | object,
    *,
    headers: Mapping[str, str] | None = None,
    server: str = "scenario API",
    seconds: float = PATIENCE,
) -> tuple[int, Any]:
    """Return status and JSON of the answer to a POST of *body*: JSON as bytes, or what is written
    as such."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection = http.client.HTTPConnection("127.0.0.1", running.port(server), timeout=seconds)
    try:
        try:
            connection.request(
                "POST", path, data, {"Content-Type": "application/json"} | dict(headers or {})
            )
        except (BrokenPipeError, ConnectionResetError):
            # Refused by its header; the answer is there already.
            pass
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None
    finally:
        connection.close()


def peak_memory(running: Daemon) -> int:
    """Return the most bytes that the daemon ever had in memory."""
    for line in Path(f"/proc/{running.process.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the daemon has gone")


def work_of(running: Daemon) -> float:
    """Return the seconds of processor time that all threads of the daemon have used."""
    fields = Path(f"/proc/{running.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


class _Probe(threading.Thread):
    """Asks /healthz again and again.

    What counts of an answer is the time that the daemon worked while it was waited for: on a
    machine that is busy with other things an answer comes late for want of a processor, and that
    says nothing about the event loop.
    """

    def __init__(self, running: Daemon, port: int) -> None:
        super().__init__(daemon=True)
        self._running = running
        self._port = port
        self._stopping = threading.Event()
        #: Once at least one answer was waited for.
        self.asked = threading.Event()
        self.longest = 0.0
        self.count = 0
        self.failures: list[str] = []

    def run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        try:
            while not self._stopping.wait(_PAUSE):
                self._ask(connection)
        except (OSError, http.client.HTTPException) as error:
            self.failures.append(f"/healthz was not answered: {error!r}")
        finally:
            self.asked.set()
            connection.close()

    def _ask(self, connection: http.client.HTTPConnection) -> None:
        worked, began = work_of(self._running), time.monotonic()
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        answer.read()
        waited = time.monotonic() - began
        if answer.status != 200:
            self.failures.append(f"/healthz answered {answer.status}")
        # Processor time is counted in ticks, of which one may have been begun before.
        self.longest = max(self.longest, min(waited, work_of(self._running) - worked))
        self.count += 1
        self.asked.set()

    def stop(self) -> None:
        self._stopping.set()
        self.join(PATIENCE + 1)
