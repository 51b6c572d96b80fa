"""What the HTTP servers cost: each endpoint against a bare aiohttp JSON echo, same machine, same
client.

`python -m benchmarks.http` starts each server as a process of its own, and a client as another: 32
connections that are kept alive, each with one request at a time.  Rounds of all servers alternate,
so that a busy machine hits them alike; the figures are medians over the rounds.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aiohttp import web

ACCOUNT = "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3"
CONNECTIONS = 32
#: Least share of the echo's requests per second.
GOALS = {"scenario/info": 0.45, "xcm/asset-transfer": 0.33, "create/scenario": 0.20}
SCENARIO = {
    "source_chain": "assetHub",
    "dest_chain": "hydraDx",
    "destination_address": ACCOUNT,
    "amount": 1.5,
    "assetid": 1984,
}
TRANSFER = {
    "sourchain": "assetHub",
    "destchain": "hydraDx",
    "assetid": "1984",
    "amount": 1500000,
    "destinationaddress": ACCOUNT,
}


@dataclass(frozen=True, kw_only=True)
class Load:
    """What a client saw."""

    rate: float
    #: Milliseconds.
    p50: float
    p99: float
    #: Microseconds of the server's own work on each request: other work on the machine does not
    #: change it.
    cpu: float = 0


def request_bytes(path: str, fields: Any) -> bytes:
    body = json.dumps(fields).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: "
        f"application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class _Connection(asyncio.Protocol):
    """Sends the same request again as soon as it is answered."""

    def __init__(
        self, request: bytes, seconds: list[float], end: float, gone: "asyncio.Future[None]"
    ) -> None:
        self._request = request
        self._seconds = seconds
        self._end = end
        self._gone = gone
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._send()

    def _send(self) -> None:
        self._sent = time.perf_counter()
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, separator, body = self._buffer.partition(b"\r\n\r\n")
        if not separator:
            return
        if not head.startswith(b"HTTP/1.1 200"):
            self._fail(RuntimeError(self._buffer[:2000].decode(errors="replace")))
            return
        at = head.index(b"Content-Length: ") + 16
        if len(body) < int(head[at : at + 10].partition(b"\r")[0]):
            return
        self._buffer = b""
        now = time.perf_counter()
        self._seconds.append(now - self._sent)
        if now < self._end:
            self._send()
        else:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - as asyncio calls it
        if not self._gone.done():
            self._gone.set_result(None)

    def _fail(self, error: Exception) -> None:
        if not self._gone.done():
            self._gone.set_exception(error)
        self._transport.close()


async def press(port: int, request: bytes, seconds: float) -> Load:
    """Send *request* over and over for so many *seconds*."""
    loop = asyncio.get_running_loop()
    taken: list[float] = []
    started = time.perf_counter()
    ends = []
    for _ in range(CONNECTIONS):
        gone = loop.create_future()
        ends.append(gone)
        await loop.create_connection(
            partial(_Connection, request, taken, started + seconds, gone),
            "127.0.0.1",
            port,
        )
    await asyncio.gather(*ends)
    passed = time.perf_counter() - started
    taken.sort()
    return Load(
        rate=len(taken) / passed,
        p50=taken[len(taken) // 2] * 1000,
        p99=taken[int(len(taken) * 0.99)] * 1000,
    )


async def serve_echo() -> None:
    """The measure: what aiohttp alone does with a JSON body."""
    from aiohttp import web

    async def echo(request: web.Request) -> web.Response:
        return web.json_response(await request.json())

    app = web.Application()
    app.router.add_post("/echo", echo)
    await serve_bare(app)


async def serve_bare(app: "web.Application") -> None:
    """Serve *app* on a free port, which is printed."""
    from aiohttp import web

    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


async def serve_site(folder: Path) -> None:
    from scenarioctl.application import Application
    from scenarioctl.config import Settings
    from scenarioctl.server.access import Access
    from scenarioctl.server.bodies import Limits
    from scenarioctl.server.daemon import preload, settle
    from scenarioctl.server.process import open_listeners
    from scenarioctl.server.servers import build_servers

    settings = Settings(
        config=folder / "config.toml",
        store=str(folder / "scenarios.db"),
        cache=folder / "cache",
        offline=True,
    )
    app = Application(settings, served=True)
    servers = build_servers(app, Access(settings), Limits(settings))
    preload()
    settle()
    listeners = open_listeners(("127.0.0.1:0",), field="listen")
    await servers.listen("api", listeners)
    print(listeners[0].socket.getsockname()[1], flush=True)
    await asyncio.Event().wait()


@contextmanager
def server_process(*arguments: str) -> Iterator[tuple[int, int]]:
    """Start a Python process that prints the port it listens on; gives the port and the process
    id."""
    with subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline()), process.pid
        finally:
            process.kill()


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ask(server: tuple[int, int], path: str, fields: Any, seconds: float) -> Load:
    """Let a client, a process of its own, press *server*."""
    port, pid = server
    before = cpu_seconds(pid)
    order = json.dumps({"port": port, "path": path, "fields": fields, "seconds": seconds})
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.http", "client", order],
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        raise SystemExit(ended.stderr[-3000:])
    told = json.loads(ended.stdout)
    return Load(**told, cpu=(cpu_seconds(pid) - before) / (told["rate"] * seconds) * 1e6)


def measure(rounds: int, seconds: float, folder: Path) -> dict[str, Load]:
    import urllib.request

    ours = ("-m", "benchmarks.http")
    with server_process(*ours, "echo") as echo, server_process(*ours, "site", str(folder)) as site:
        wanted = urllib.request.Request(
            f"http://127.0.0.1:{site[0]}/api/create/scenario",
            data=json.dumps(SCENARIO).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(wanted) as answer:
            stored = json.load(answer)["result"]
        cases = {
            "echo": (echo, "/echo", {"id": stored}),
            "scenario/info": (site, "/api/scenario/info", {"id": stored}),
            "xcm/asset-transfer": (site, "/api/xcm/asset-transfer", TRANSFER),
            "create/scenario": (site, "/api/create/scenario", SCENARIO),
        }
        seen: dict[str, list[Load]] = {name: [] for name in cases}
        for number in range(rounds + 1):
            for name, (server, path, fields) in cases.items():
                load = ask(server, path, fields, seconds if number else 0.5)
                # The first round warms up.
                if number:
                    seen[name].append(load)
    return {
        name: Load(
            rate=statistics.median(load.rate for load in loads),
            p50=statistics.median(load.p50 for load in loads),
            p99=statistics.median(load.p99 for load in loads),
            cpu=statistics.median(load.cpu for load in loads),
        )
        for name, loads in seen.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    given = parser.parse_args()
    if given.part[:1] == ["echo"]:
        asyncio.run(serve_echo())
    elif given.part[:1] == ["site"]:
        from scenarioctl.server.daemon import run_served

        run_served(serve_site(Path(given.part[1])))
    elif given.part[:1] == ["client"]:
        told = json.loads(given.part[1])
        load = asyncio.run(
            press(told["port"], request_bytes(told["path"], told["fields"]), told["seconds"])
        )
        print(json.dumps({"rate": load.rate, "p50": load.p50, "p99": load.p99}))
    else:
        with tempfile.TemporaryDirectory() as folder:
            loads = measure(given.rounds, given.seconds, Path(folder))
        missed = report(loads)
        if missed:
            sys.exit(1)


def report(loads: dict[str, Load]) -> list[str]:
    """Print the figures; return what missed its goal."""
    echo, work = loads["echo"].rate, loads["echo"].cpu
    missed = []
    print(f"{os.cpu_count()} cores, {CONNECTIONS} connections")
    print(
        f"{'':20} {'requests/s':>10} {'share':>6} {'goal':>5} {'p50 ms':>7} {'p99 ms':>7} "
        f"{'cpu us':>7} {'share':>6}"
    )
    for name, load in loads.items():
        share, goal = load.rate / echo, GOALS.get(name)
        print(
            f"{name:20} {load.rate:10.0f} {share:6.0%} "
            f"{'' if goal is None else format(goal, '.0%'):>5} {load.p50:7.2f} "
            f"{load.p99:7.2f} {load.cpu:7.0f} {work / load.cpu:6.0%}"
        )
        if goal is not None and share < goal:
            missed.append(name)
    return missed


if __name__ == "__main__":
    main()
