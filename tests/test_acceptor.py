"""Connections: what becomes of clients that open too many, stall, or send what is no HTTP.

CI runs this file against the oldest supported version of aiohttp too.
"""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from scenarioctl.config import Settings
from scenarioctl.server.bodies import Limits
from scenarioctl.server.process import open_listeners
from scenarioctl.server.servers import Acceptor
from tests.loops import each_loop
from tests.messages import says

__all__ = ["each_loop"]

SETTINGS = Settings(config=Path("c.toml"), store="s.db", cache=Path("cache"))
#: Seconds that anything may take on a machine that is busy with other tests.
PATIENCE = 60
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def answer(request: web.Request) -> web.StreamResponse:
    return web.Response(text="x" * int(request.rel_url.query.get("size", "2")))


@contextlib.asynccontextmanager
async def served(limits: Limits, *addresses: str) -> AsyncIterator[int]:
    """Serve on a free port, which is given, and at *addresses*, as the daemon does."""
    application = web.Application()
    application.router.add_get("/", answer)
    acceptor = Acceptor(application, limits)
    listeners = open_listeners(("127.0.0.1:0", *addresses), field="listen")
    await acceptor.listen(listeners)
    try:
        yield listeners[0].socket.getsockname()[1]
    finally:
        acceptor.stop_listening()
        await acceptor.runner.cleanup()


async def ask(port: int, request: bytes = GET) -> bytes:
    """Return all that is answered until the server closes, or after a whole answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    try:
        return await asyncio.wait_for(reader.read(65536), PATIENCE)
    except ConnectionError:
        return b""
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def opened(limits: Limits, count: int) -> None:
    """Wait until so many connections are open."""
    async with asyncio.timeout(PATIENCE):
        while limits.open != count:
            await asyncio.sleep(0)


def test_connections_beyond_the_limit_are_closed_at_once_and_the_others_served() -> None:
    async def play() -> tuple[list[bool], bytes]:
        limits = Limits(replace(SETTINGS, connections=3))
        async with served(limits) as port:
            held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
            await opened(limits, 3)
            beyond = [await ask(port) for _ in range(2)]
            held[0][1].close()
            await held[0][1].wait_closed()
            await opened(limits, 2)
            after = await ask(port)
            await opened(limits, 2)
            for _, writer in held[1:]:
                writer.close()
                await writer.wait_closed()
        return [each == b"" for each in beyond], after[:15]

    assert asyncio.run(play()) == ([True, True], b"HTTP/1.1 200 OK")


def test_one_client_cannot_take_the_connections_of_all(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    limits = Limits(replace(SETTINGS, connections=5, client_connections=2))
    path = str(tmp_path / "api.sock")

    async def play() -> tuple[list[bytes], bytes, bytes]:
        async with served(limits, f"unix:{path}") as port:
            held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
            await opened(limits, 2)
            beyond = [await ask(port) for _ in range(3)]
            # Somebody else: of another address, and on a Unix socket.
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", port, local_addr=("127.0.0.2", 0)
            )
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
            await opened(limits, 0)
            again = await ask(port)
        return beyond, other + local, again[:15]

    assert asyncio.run(play()) == ([b"", b"", b""], b"HTTP/1.1 200 OK" * 2, b"HTTP/1.1 200 OK")
    # Said once, however often it comes again.
    assert [each.getMessage() for each in caplog.records] == [
        says("127.0.0.1", "client_connections=")
    ]


@pytest.mark.parametrize("before", [b"", GET], ids=["at once", "after a request"])
def test_who_dribbles_a_header_is_cut_off(before: bytes) -> None:
    async def play() -> float:
        limits = Limits(SETTINGS)
        limits.seconds = 0.6
        loop = asyncio.get_running_loop()
        async with served(limits) as port:
            started = loop.time()
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            if before:
                writer.write(before)
                await reader.readuntil(b"\r\n\r\nxx")
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

    # Not the 30 that is the default.
    assert 0.5 < asyncio.run(play()) < 15


def test_who_does_not_read_an_answer_is_cut_off() -> None:
    async def play() -> None:
        limits = Limits(SETTINGS)
        limits.seconds = 0.1
        async with served(limits) as port:
            connection = socket.create_connection(("127.0.0.1", port))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(b"GET /?size=20000000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await opened(limits, 1)
            await opened(limits, 0)
            connection.close()

    asyncio.run(play())


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX-A: " + b"x" * 20_000 + b"\r\n\r\n",
        b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X-A: b\r\n" * 200 + b"\r\n",
        b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
    ],
    ids=[
        "TLS",
        "no path",
        "long header",
        "long path",
        "many headers",
        "space",
        "length",
        "smuggling",
        "two lengths",
        "bad chunk",
    ],
)
def test_what_is_no_http_is_refused_and_not_logged(
    sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async def play() -> bytes:
        async with served(Limits(SETTINGS)) as port:
            return await ask(port, sent)

    head, _, body = asyncio.run(play()).partition(b"\r\n\r\n")

    assert head.splitlines()[0].endswith(b" 400 Bad Request")
    assert b"\r\nContent-Type: application/json" in head
    answer = json.loads(body)
    # Followed by aiohttp's reason.
    assert answer == {"error": answer["error"], "code": "bad_request"}
    assert answer["error"].startswith("the request is not valid HTTP: ")
    assert caplog.text == ""
