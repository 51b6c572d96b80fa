"""How much the daemon takes on, and what becomes of clients that ask for more, or for ever."""

import asyncio
import contextlib
import json
import resource
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from aiohttp import web

from scenarioctl.config import Settings
from scenarioctl.errors import RateLimited
from scenarioctl.server import connections
from scenarioctl.server.app import Server
from scenarioctl.server.limits import Limits, Turns

SETTINGS = Settings(config=Path("c.toml"), store=Path("s.db"), cache=Path("cache"))
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def test_a_client_has_its_rate_and_a_seconds_worth_at_once() -> None:
    moment = [100.0]
    limits = Limits(replace(SETTINGS, rate=4), clock=lambda: moment[0])

    for _ in range(4):
        limits.admit("a")
    with pytest.raises(RateLimited) as refused:
        limits.admit("a")
    limits.admit("b")
    moment[0] += 1 / 4
    limits.admit("a")
    with pytest.raises(RateLimited):
        limits.admit("a")
    moment[0] += 60
    for _ in range(4):
        limits.admit("a")
    with pytest.raises(RateLimited):
        limits.admit("a")

    assert str(refused.value) == ("this client sends more than 4 requests per second, try again in 1 second")
    assert refused.value.details == {"retry_after": 1}


def test_without_a_rate_nobody_is_counted() -> None:
    limits = Limits(SETTINGS)

    for _ in range(1000):
        limits.admit("a")

    assert limits._clients._left == {}


def test_clients_that_are_quiet_are_forgotten() -> None:
    moment = [100.0]
    limits = Limits(replace(SETTINGS, rate=1), clock=lambda: moment[0])

    for number in range(10_000):
        limits.admit(f"client {number}")
    moment[0] += 2
    limits.admit("another")

    assert list(limits._clients._left) == ["another"]


def test_a_change_of_the_rate_holds_at_once() -> None:
    limits = Limits(SETTINGS)

    limits.change(replace(SETTINGS, rate=1))
    limits.admit("a")
    with pytest.raises(RateLimited):
        limits.admit("a")
    limits.change(SETTINGS)

    limits.admit("a")


def test_requests_beyond_those_at_once_wait_in_line() -> None:
    async def play() -> list[str]:
        turns, seen = Turns(2), list[str]()
        gate = asyncio.Event()

        async def work(name: str) -> None:
            async with turns:
                seen.append(f"{name} begins")
                await gate.wait()
            seen.append(f"{name} ends")

        tasks = [asyncio.create_task(work(name)) for name in "abcd"]
        await asyncio.sleep(0)
        seen.append(f"{turns.busy} at work, {turns.waiting} wait")
        gate.set()
        await asyncio.gather(*tasks)
        seen.append(f"{turns.busy} at work, {turns.waiting} wait")
        return seen

    assert asyncio.run(play()) == [
        *("a begins", "b begins", "2 at work, 2 wait"),
        *("a ends", "b ends", "c begins", "c ends", "d begins", "d ends"),
        "0 at work, 0 wait",
    ]


def test_the_line_has_an_end() -> None:
    async def play() -> str:
        turns = Turns(1)

        async def wait() -> None:
            async with turns:
                pass

        async with turns:
            tasks = [asyncio.create_task(wait()) for _ in range(4)]
            await asyncio.sleep(0)
            with pytest.raises(RateLimited) as refused:
                await wait()
        await asyncio.gather(*tasks)
        assert (turns.busy, turns.waiting) == (0, 0)
        return str(refused.value)

    assert (
        asyncio.run(play())
        == "the daemon works on 1 requests, and 4 more wait for their turn, try again in 1 second"
    )


def test_who_waits_too_long_is_sent_away_and_leaves_no_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scenarioctl.server.limits.WAITING_SECONDS", 0.02)

    async def play() -> tuple[str, int, int]:
        turns = Turns(1)
        async with turns:
            with pytest.raises(RateLimited) as refused:
                async with turns:
                    pass
        async with turns:
            pass
        return str(refused.value), turns.busy, turns.waiting

    assert asyncio.run(play()) == (
        "the daemon works on 1 requests, and this one waited 0.02 seconds for its turn, try again in 1 second",
        0,
        0,
    )


@pytest.mark.parametrize("given_first", [True, False])
def test_a_turn_that_comes_as_its_client_goes_is_passed_on(given_first: bool) -> None:
    async def play() -> tuple[int, int]:
        turns = Turns(1)

        async def wait() -> None:
            async with turns:
                await asyncio.sleep(0)

        await turns.__aenter__()
        goes, stays = asyncio.create_task(wait()), asyncio.create_task(wait())
        await asyncio.sleep(0)
        if given_first:
            await turns.__aexit__(None, None, None)
            goes.cancel()
        else:
            goes.cancel()
            await turns.__aexit__(None, None, None)
        with pytest.raises(asyncio.CancelledError):
            await goes
        await asyncio.wait_for(stays, 1)
        return turns.busy, turns.waiting

    assert asyncio.run(play()) == (0, 0)


def test_a_higher_limit_lets_in_those_that_wait() -> None:
    async def play() -> int:
        limits = Limits(replace(SETTINGS, requests=1))
        gate = asyncio.Event()

        async def work() -> None:
            async with limits.place():
                await gate.wait()

        first = asyncio.create_task(work())
        tasks = [asyncio.create_task(work()) for _ in range(3)]
        await asyncio.sleep(0)
        limits.change(replace(SETTINGS, requests=3))
        first.cancel()
        await asyncio.sleep(0)
        busy = limits.busy
        gate.set()
        await asyncio.gather(*tasks)
        return busy

    assert asyncio.run(play()) == 3


# -- connections ---------------------------------------------------------------------------------------------------


async def answer(request: web.BaseRequest) -> web.StreamResponse:
    return web.Response(text="x" * int(request.rel_url.query.get("size", "2")))


@contextlib.asynccontextmanager
async def served(
    limits: Limits, handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]] = answer
) -> AsyncIterator[int]:
    """Serve *handler* on a port of this machine, as the daemon does its own."""
    runner = web.ServerRunner(Server(cast(Any, handler), limits), shutdown_timeout=0.1)
    await runner.setup()
    assert runner.server is not None
    loop = asyncio.get_running_loop()
    server = await loop.create_server(runner.server, "127.0.0.1", 0, backlog=1024)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await runner.cleanup()


async def ask(port: int, request: bytes = GET) -> bytes:
    """Return all that is answered until the server closes, or after a whole answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    try:
        return await asyncio.wait_for(reader.read(65536), 5)
    except ConnectionError:
        return b""
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


def test_connections_beyond_the_limit_are_closed_at_once_and_the_others_served() -> None:
    async def play() -> tuple[list[bool], bytes, int]:
        limits = Limits(replace(SETTINGS, connections=3))
        async with served(limits) as port:
            held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
            await asyncio.sleep(0.02)
            beyond = [await ask(port) for _ in range(2)]
            held[0][1].close()
            await held[0][1].wait_closed()
            await asyncio.sleep(0.02)
            after = await ask(port)
            await asyncio.sleep(0.02)
            still_open = limits.open
            for _, writer in held[1:]:
                writer.close()
                await writer.wait_closed()
        return [each == b"" for each in beyond], after[:15], still_open

    assert asyncio.run(play()) == ([True, True], b"HTTP/1.1 200 OK", 2)


def test_one_client_cannot_take_the_connections_of_all(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    limits = Limits(replace(SETTINGS, connections=5, client_connections=2))
    path = str(tmp_path / "api.sock")

    async def play() -> tuple[list[bytes], bytes, bytes]:
        runner = web.ServerRunner(Server(cast(Any, answer), limits), shutdown_timeout=0.1)
        async with served(limits) as port:
            await runner.setup()
            await web.UnixSite(runner, path).start()
            held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
            while limits.open < 2:
                await asyncio.sleep(0)
            beyond = [await ask(port) for _ in range(3)]
            # Somebody else: of another address, and on a Unix socket.
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=("127.0.0.2", 0))
            writer.write(GET)
            other = await reader.read(15)
            writer.close()
            reader, writer = await asyncio.open_unix_connection(path)
            writer.write(GET)
            local = await reader.read(15)
            writer.close()
            for _, writer in held:
                writer.close()
                await writer.wait_closed()
            while limits.open:
                await asyncio.sleep(0)
            again = await ask(port)
            await runner.cleanup()
        return beyond, other + local, again[:15]

    assert asyncio.run(play()) == ([b"", b"", b""], b"HTTP/1.1 200 OK" * 2, b"HTTP/1.1 200 OK")
    # Said once, however often it comes again.
    assert [each.getMessage() for each in caplog.records] == [
        "connections of 127.0.0.1 are closed at once: it has 2 open (client_connections=)"
    ]


def test_a_proxy_may_be_let_have_all_connections() -> None:
    limits = Limits(replace(SETTINGS, connections=5, client_connections=0))

    entered = [limits.enter("127.0.0.1") for _ in range(7)]
    limits.leave("127.0.0.1")

    assert (entered, limits.open) == ([True] * 5 + [False] * 2, 4)
    assert limits.enter("127.0.0.1")


@pytest.mark.parametrize("is_new", [True, False], ids=["just come", "idle"])
def test_of_who_has_only_just_come_the_request_is_waited_for_when_the_daemon_stops(
    monkeypatch: pytest.MonkeyPatch, is_new: bool
) -> None:
    """Each restart under load closed a connection or two whose request was on its way."""
    monkeypatch.setattr(connections, "_WELCOME", 60.0)

    async def play() -> tuple[bool, bytes, bool]:
        server = Server(cast(Any, answer), Limits(SETTINGS))
        listener = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*listener.sockets[0].getsockname()[:2])
        if not is_new:
            writer.write(GET)
            await reader.readuntil(b"xx")
        while not server.connections:
            await asyncio.sleep(0)
        (connection,) = server.connections
        assert isinstance(connection, connections.Connection)
        async with asyncio.timeout(20):
            # The last touches of the answer before.
            while (is_waited_for := connection.retire()) and not is_new:
                await asyncio.sleep(0)
        writer.write(GET)
        # To the end: no second request is taken.
        got = b""
        with contextlib.suppress(ConnectionError):
            got = await asyncio.wait_for(reader.read(), 20)
        writer.close()
        listener.close()
        await server.shutdown(0)
        return is_waited_for, got[:15], b"\r\nConnection: close\r\n" in got

    assert asyncio.run(play()) == ((True, b"HTTP/1.1 200 OK", True) if is_new else (False, b"", False))


@pytest.mark.parametrize("before", [b"", GET], ids=["at once", "after a request"])
def test_who_dribbles_a_header_is_cut_off(before: bytes) -> None:
    async def play() -> float:
        limits = Limits(SETTINGS)
        limits.seconds = 0.25
        loop = asyncio.get_running_loop()
        async with served(limits) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            if before:
                writer.write(before)
                await reader.readuntil(b"\r\n\r\nxx")
            started = loop.time()
            writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
            with contextlib.suppress(ConnectionError):
                while not reader.at_eof():
                    writer.write(b"X-A: b\r\n")
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(reader.read(1), 0.02)
            ended = loop.time()
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
        return ended - started

    assert 0.2 < asyncio.run(play()) < 1


def test_who_does_not_read_an_answer_is_cut_off() -> None:
    async def play() -> tuple[int, int]:
        limits = Limits(SETTINGS)
        limits.seconds = 0.1
        async with served(limits) as port:
            connection = socket.create_connection(("127.0.0.1", port))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(b"GET /?size=20000000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await asyncio.sleep(0.08)
            meanwhile = limits.open
            for _ in range(100):
                await asyncio.sleep(0.02)
                if limits.open == 0:
                    break
            connection.close()
            return meanwhile, limits.open

    assert asyncio.run(play()) == (1, 0)


def test_who_reads_a_large_answer_slowly_gets_it_whole() -> None:
    async def play() -> int:
        limits = Limits(SETTINGS)
        limits.seconds = 0.1
        size = 3_000_000
        async with served(limits) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=65536)
            writer.write(f"GET /?size={size} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            await reader.readuntil(b"\r\n\r\n")
            got = 0
            while got < size:
                got += len(await reader.read(200_000))
                await asyncio.sleep(0.01)
            writer.close()
            await writer.wait_closed()
        return got

    assert asyncio.run(play()) == 3_000_000


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", ""),
        (b"GET\r\n\r\n", ""),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX-A: " + b"x" * 20_000 + b"\r\n\r\n", "Got more than 16384 bytes"),
        (b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", "Got more than 16384 bytes"),
        (b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X-A: b\r\n" * 200 + b"\r\n", ""),
        (b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", "Invalid"),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", ""),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", ""),
    ],
    ids=["TLS", "no path", "long header", "long path", "many headers", "space", "length", "smuggling"],
)
def test_what_is_no_http_is_answered_as_every_other_error(
    request_: bytes, sentence: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def play() -> bytes:
        async with served(Limits(SETTINGS)) as port:
            return await ask(port, request_)

    head, _, body = asyncio.run(play()).partition(b"\r\n\r\n")
    said = json.loads(body)

    assert head.splitlines()[0].endswith(b" 400 Bad Request")
    assert sorted(said) == ["code", "error"]
    assert said["code"] == "bad_request"
    assert said["error"].startswith("the request cannot be read as HTTP: ")
    assert sentence.lower() in said["error"].lower()
    assert len(said["error"]) < 300
    assert caplog.text == ""


def test_a_bug_beyond_the_exchange_shows_no_traceback_to_a_client(caplog: pytest.LogCaptureFixture) -> None:
    async def breaks(request: web.BaseRequest) -> web.StreamResponse:
        raise RuntimeError("secret")

    async def play() -> bytes:
        async with served(Limits(SETTINGS), breaks) as port:
            return await ask(port)

    head, _, body = asyncio.run(play()).partition(b"\r\n\r\n")

    assert head.splitlines()[0] == b"HTTP/1.1 500 Internal Server Error"
    assert json.loads(body) == {
        "error": "this is a bug of scenarioctl; its log has the traceback",
        "code": "bug",
    }
    assert "RuntimeError: secret" in caplog.text


def test_among_1000_open_connections_and_slow_clients_a_normal_one_is_served() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))

    async def play() -> tuple[int, bytes, float]:
        limits = Limits(SETTINGS)
        loop = asyncio.get_running_loop()
        async with served(limits) as port:
            idle = []
            for number in range(1000):
                connection = socket.create_connection(("127.0.0.1", port))
                if number % 2:
                    connection.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Le")
                idle.append(connection)
                if number % 100 == 0:
                    await asyncio.sleep(0)
            while limits.open < 1000:
                await asyncio.sleep(0.01)
            started = loop.time()
            got = await ask(port)
            took = loop.time() - started
            for connection in idle:
                connection.close()
            opened = limits.open
            while limits.open:
                await asyncio.sleep(0.01)
        return opened, got[:15], took

    try:
        opened, got, took = asyncio.run(play())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert (opened >= 1000, got) == (True, b"HTTP/1.1 200 OK")
    assert took < 1
