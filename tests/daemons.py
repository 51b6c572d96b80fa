"""A real daemon, as a process of its own."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

#: Seconds that anything may take on a machine that is busy with other tests.
PATIENCE = 90.0
PROGRAM = (sys.executable, "-m", "scenarioctl")


#: Sockets that hold a port without listening, for as long as this process lives.
_HELD: list[socket.socket] = []


def free_port() -> int:
    """Return a port of loopback that refuses connections until a server of ours listens there.

    It stays bound: no connection and no other server is given its number meanwhile.
    """
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    _HELD.append(held)
    port: int = held.getsockname()[1]
    return port


def is_open(port: int) -> bool:
    """Return whether somebody accepts connections on a port of loopback."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_until(holds: Callable[[], Any]) -> Any:
    """Return what *holds* returns, once that is true."""
    deadline = time.monotonic() + PATIENCE
    while not (found := holds()):
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)
    return found


@dataclass(kw_only=True)
class Daemon:
    """A daemon that serves, its home and what it writes to stderr."""

    process: "subprocess.Popen[bytes]"
    home: Path
    stderr: Path

    @property
    def log(self) -> str:
        return self.stderr.read_text()

    def address(self, server: str = "scenario API") -> str:
        """Return what follows `on ` where the daemon says where it listens."""
        return next(
            line for line in self.log.splitlines() if line.startswith(f"{server} on ")
        ).partition(" on ")[2]

    def port(self, server: str = "scenario API") -> int:
        return int(self.address(server).rpartition(":")[2])

    def ask(
        self,
        path: str,
        body: object = None,
        *,
        method: str = "",
        headers: Mapping[str, str] | None = None,
        server: str = "scenario API",
        as_json: bool = True,
    ) -> tuple[int, Any, Mapping[str, str]]:
        """Return status, JSON and header of an answer; a body is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port(server), timeout=PATIENCE)
        try:
            connection.request(
                method or ("GET" if body is None else "POST"),
                path,
                None if body is None else json.dumps(body),
                ({} if body is None else {"Content-Type": "application/json"})
                | dict(headers or {}),
            )
            answer = connection.getresponse()
            text = answer.read()
            return (
                answer.status,
                json.loads(text) if text and as_json else text,
                dict(answer.getheaders()),
            )
        finally:
            connection.close()

    def said(self, sentence: str) -> None:
        """Wait until the log has *sentence*."""
        wait_until(lambda: sentence in self.log)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal, and return how the daemon ended."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


def start(
    home: Path, *line: str, variables: Mapping[str, str] | None = None, **more: Any
) -> "tuple[subprocess.Popen[bytes], Path]":
    """Start the program with a home of its own; return the process, and the file that has its
    stderr."""
    home.mkdir(exist_ok=True)
    stderr = home / "stderr"
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(
            ("SCENARIOCTL_", "XDG_", "NOTIFY_", "LISTEN_", "WATCHDOG_", "JOURNAL_")
        )
    }
    with stderr.open("wb") as file:
        process = subprocess.Popen(
            [*PROGRAM, *line],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=file,
            cwd=home,
            env=environment | {"HOME": str(home)} | dict(variables or {}),
            **more,
        )
    return process, stderr


@contextmanager
def daemon(
    home: Path,
    *line: str,
    listen: tuple[str, ...] = ("--listen", "127.0.0.1:0", "--worker-listen", "127.0.0.1:0"),
    variables: Mapping[str, str] | None = None,
    **more: Any,
) -> Iterator[Daemon]:
    """Start a daemon on free ports, wait until it serves, and end it."""
    process, stderr = start(home, "daemon", *listen, *line, variables=variables, **more)
    running = Daemon(process=process, home=home, stderr=stderr)
    last = "scenario API on" if "api" in line else "job worker on"
    try:
        wait_until(lambda: process.poll() is not None or last in running.log)
        assert process.poll() is None, running.log
        yield running
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE)


class NotifySocket:
    """The end of `NOTIFY_SOCKET` that systemd has.  It reads all the while: a message that finds
    the queue full is lost."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind("\0" + address[1:] if address.startswith("@") else address)
        self._messages: SimpleQueue[str] = SimpleQueue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while message := self._socket.recv(4096):
            self._messages.put(message.decode())

    def heard(self) -> dict[str, str]:
        """Return the next message."""
        words = self._messages.get(timeout=PATIENCE).splitlines()
        return dict(word.split("=", 1) for word in words)

    def heard_with(self, name: str) -> dict[str, str]:
        """Return the next message that has *name*."""
        while name not in (words := self.heard()):
            pass
        return words

    def __enter__(self) -> "NotifySocket":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RD)
        self._thread.join(PATIENCE)
        self._socket.close()
