"""Daemons on one PostgreSQL: workers and APIs that are killed, frozen and cut off from it, and
restarted as systemd would."""

import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import cycle
from pathlib import Path
from typing import IO

from tests.daemons import free_port, wait_until
from tests.slow_server import TARGETS

#: A daemon as users start it, with the clock and the lease that a test wants.
PROGRAM = """
import json, os, time
from functools import partial

wanted = json.loads(os.environ["FLEET"])
if wanted["clock"]:
    # All that a worker reads of its clock, and before anybody has taken a reference.
    seconds, nanoseconds = time.time, time.time_ns
    time.time = lambda: seconds() + wanted["clock"]
    time.time_ns = lambda: nanoseconds() + round(wanted["clock"] * 1_000_000_000)
if wanted["lease"]:
    from scenarioctl.worker import worker
    from scenarioctl.worker.chores import Pace

    lease = wanted["lease"]
    pace = {"lease": lease, "renew": lease / 3, "owners": lease / 4}
    worker.Pace = partial(Pace, **pace, poll=0.2, retry=0.05)

from scenarioctl.__main__ import main

main()
"""
#: By how many seconds the clocks of workers are wrong.
CLOCKS = (-30.0, -0.4, 90.0, 0.0)
#: Seconds for a daemon to stop, or to serve, on a machine that is busy.
PATIENCE = 60.0

#: Workers that no fault hits at a time: somebody must be there to take over.
_LEFT = 1


def environment(
    home: Path, store: str, *, lease: float = 0.0, clock: float = 0.0
) -> dict[str, str]:
    """Return the variables of a process of the program; without a *lease*, with that of users."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith("SCENARIOCTL_")
    }
    return inherited | {
        "HOME": str(home),
        "SCENARIOCTL_STORE": store,
        "SCENARIOCTL_OFFLINE": "true",
        "SCENARIOCTL_PRIVATE_TARGETS": TARGETS,
        "FLEET": json.dumps({"lease": lease, "clock": clock}),
    }


class Member:
    """One daemon, through all of its restarts."""

    def __init__(
        self,
        home: Path,
        role: str,
        store: str,
        *,
        lease: float = 0.0,
        clock: float = 0.0,
    ) -> None:
        self.role = role
        self.store = store
        self.port = free_port()
        self.frozen_until = 0.0
        self._home = home
        self._lease = lease
        #: By how many seconds its clock is wrong.
        self.clock = clock
        self.created = time.time()
        home.mkdir()
        self._log: IO[bytes] = (home / "log").open("ab")
        self.process: subprocess.Popen[bytes]
        self.start()

    def start(self) -> None:
        listen = "--listen" if self.role == "api" else "--worker-listen"
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-c", PROGRAM, "daemon", "--role", self.role),
                *(listen, f"127.0.0.1:{self.port}"),
            ],
            env=environment(
                self._home,
                self.store,
                lease=self._lease,
                clock=self.clock,
            ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._log,
            cwd=self._home,
        )
        self.frozen_until = 0.0

    @property
    def log(self) -> str:
        return (self._home / "log").read_text()

    def first_started(self) -> float:
        """Return when it first started, by its own clock, in milliseconds that have passed."""
        said = wait_until(lambda: re.search(r"^(\S+) info started ", self.log, re.MULTILINE))
        return datetime.fromisoformat(said[1]).timestamp()

    def serves(self) -> bool:
        """Return whether it answers requests."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=1)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    @property
    def pid(self) -> int:
        return self.process.pid

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def freeze(self, seconds: float) -> None:
        self.process.send_signal(signal.SIGSTOP)
        self.frozen_until = time.monotonic() + seconds

    def thaw(self) -> None:
        if self.frozen_until:
            self.process.send_signal(signal.SIGCONT)
            self.frozen_until = 0.0

    def close(self) -> None:
        self.kill()
        self._log.close()


class Proxy:
    """A network between a client and a server, on loopback, that can be cut: connections stay open,
    and nothing arrives."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.cut_until = 0.0
        #: Seconds for which it holds up what passes.
        self.delay = 0.0
        self._open = threading.Event()
        self._open.set()
        #: Grows when connections are lost; a pair that is older ends.
        self._generation = 0
        self._closing = False
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, seconds: float) -> None:
        self.cut_until = time.monotonic() + seconds
        self._open.clear()

    def mend(self, *, lost: bool) -> None:
        """Deliver what was held up, or, if it is *lost*, reset all connections."""
        if lost:
            self._generation += 1
        self.cut_until = 0.0
        self._open.set()

    def close(self) -> None:
        self._closing = True
        self._listener.close()
        self.mend(lost=True)

    def _accept(self) -> None:
        while not self._closing:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(
                target=self._connect, args=(client, self._generation), daemon=True
            ).start()

    def _connect(self, client: socket.socket, generation: int) -> None:
        self._open.wait()
        try:
            server = socket.create_connection(("127.0.0.1", self._target), timeout=5)
        except OSError:
            client.close()
            return
        server.settimeout(None)
        back = threading.Thread(target=self._pump, args=(server, client, generation), daemon=True)
        back.start()
        self._pump(client, server, generation)
        back.join()
        client.close()
        server.close()

    def _pump(self, source: socket.socket, target: socket.socket, generation: int) -> None:
        try:
            source.settimeout(0.5)
            while True:
                try:
                    data = source.recv(65536)
                except TimeoutError:
                    data = None
                # Nothing passes a cut network, not even the end of a connection.
                self._open.wait()
                if generation != self._generation:
                    break
                if data is None:
                    continue
                if not data:
                    break
                time.sleep(self.delay)
                target.sendall(data)
        except OSError:
            self._open.wait()
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue


class Fleet:
    """Workers, of which every second is behind a proxy and most have a wrong clock, and APIs."""

    def __init__(
        self,
        home: Path,
        store: str,
        *,
        workers: int,
        apis: int,
        lease: float,
        far: Callable[[int], str],
        port: int,
    ) -> None:
        """*far* returns the address of the store on another port than *port*, which is the
        server's."""
        self.lease = lease or 10.0
        self.proxies = [Proxy(port) for _ in range(workers // 2)]
        stores = [far(proxy.port) for proxy in self.proxies] + [store] * (
            workers - len(self.proxies)
        )
        self.workers = [
            Member(home / f"worker-{number}", "worker", each, lease=lease, clock=clock)
            for number, (each, clock) in enumerate(zip(stores, cycle(CLOCKS), strict=False))
        ]
        self.apis = [
            Member(home / f"api-{number}", "api", store, lease=lease) for number in range(apis)
        ]
        #: What was done to it, and how often.
        self.faults: Counter[str] = Counter()
        #: Called with a worker that was just killed.
        self.on_kill: Callable[[int], None] = lambda pid: None
        self.dice = random.Random(workers)
        self._deck: list[Callable[[], bool]] = []

    @property
    def members(self) -> list[Member]:
        return [*self.workers, *self.apis]

    # -- faults

    def trouble(self) -> None:
        """Do one of all faults, each as often as the others, and end those whose time has come."""
        self.mend()
        if not self._deck:
            self._deck = [
                *(self._kill_worker, self._kill_worker, self._freeze_worker, self._cut_off),
                *(self._kill_api, self._freeze_api),
            ]
            self.dice.shuffle(self._deck)
        if self._deck[-1]():
            self._deck.pop()

    def mend(self, *, everything: bool = False) -> None:
        now = time.monotonic()
        for member in self.members:
            if member.process.poll() is not None:
                # It found no server when it started.
                member.start()
                self.faults["start without a server"] += 1
            if member.frozen_until and (everything or now > member.frozen_until):
                member.thaw()
        for proxy in self.proxies:
            if proxy.cut_until and (everything or now > proxy.cut_until):
                proxy.mend(lost=self.dice.random() < 0.5)

    def _able(self) -> list[Member]:
        """Return the workers that serve and reach the server."""
        cut = [
            worker
            for worker, proxy in zip(self.workers, self.proxies, strict=False)
            if proxy.cut_until
        ]
        return [
            worker
            for worker in self.workers
            if not worker.frozen_until and worker not in cut and worker.serves()
        ]

    def _kill_worker(self) -> bool:
        worker = self.dice.choice(self.workers)
        if len([other for other in self._able() if other is not worker]) < _LEFT:
            return False
        self.kill(worker)
        return True

    def kill(self, worker: Member) -> None:
        pid = worker.pid
        worker.kill()
        self.on_kill(pid)
        worker.start()
        self.faults["SIGKILL of a worker"] += 1

    def _freeze_worker(self) -> bool:
        able = self._able()
        if len(able) <= _LEFT:
            return False
        self.dice.choice(able).freeze(self.dice.uniform(0.2, 2.5) * self.lease)
        self.faults["SIGSTOP of a worker"] += 1
        return True

    def _cut_off(self) -> bool:
        able = self._able()
        far = [
            proxy
            for worker, proxy in zip(self.workers, self.proxies, strict=False)
            if worker in able
        ]
        if not far or len(able) <= _LEFT:
            return False
        self.dice.choice(far).cut(self.dice.uniform(1.2, 2.5) * self.lease)
        self.faults["partition"] += 1
        return True

    def _kill_api(self) -> bool:
        api = self.dice.choice(self.apis)
        api.kill()
        api.start()
        self.faults["SIGKILL of an API"] += 1
        return True

    def _freeze_api(self) -> bool:
        if any(api.frozen_until for api in self.apis):
            return False
        self.dice.choice(self.apis).freeze(self.dice.uniform(0.5, 1.0) * self.lease)
        self.faults["SIGSTOP of an API"] += 1
        return True

    # -- the end

    def close(self) -> None:
        for proxy in self.proxies:
            proxy.close()
        for member in self.members:
            member.close()


def stop(members: Sequence[Member]) -> list[int]:
    """Stop *members* gracefully, all at once, and return their exit codes."""
    for member in members:
        member.process.send_signal(signal.SIGTERM)
    return [_exit_code(member) for member in members]


def _exit_code(member: Member) -> int:
    try:
        return member.process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        raise AssertionError(
            f"a daemon of role {member.role} doesn't stop:\n{member.log[-5000:]}"
        ) from None
