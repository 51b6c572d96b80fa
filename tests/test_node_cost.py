"""What one node can take: of time no more than a deadline, of memory no more than its bounds,
whatever it says meanwhile."""

import asyncio
import json
import resource
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from aiohttp import WSMsgType, web

from scenarioctl.chains.client import Client
from scenarioctl.chains.connection import Timeouts, _read_message, connect
from scenarioctl.chains.pool import Pool
from scenarioctl.chains.rpc_errors import SocketFailed
from scenarioctl.errors import ChainUnreachable
from tests.canned import answers, polkadot_at
from tests.messages import raises, says
from tests.node import Node
from tests.runner import finish
from tests.runtimes import bundled
from tests.web import Visit, serving

Nuisance = Callable[[web.Request, web.WebSocketResponse], Awaitable[None]]

MIB = 1024 * 1024
#: Waits half a second for what is no work, and asks the first endpoint first, however busy the
#: machine is.
HURRIED = Timeouts(prompt=0.5, stagger=10.0)


class Babbler(Node):
    """A node that answers, but with a *nuisance* to *method*."""

    def __init__(self, method: str, nuisance: Nuisance) -> None:
        super().__init__(answers("polkadot"))
        self.method = method
        self.nuisance = nuisance

    async def talk(self, http: web.Request, socket: web.WebSocketResponse) -> None:
        async for message in socket:
            if message.type is not WSMsgType.TEXT:
                continue
            request = json.loads(message.data)
            if request["method"] != self.method:
                await socket.send_str(json.dumps(self._answer(request)))
                continue
            try:
                await self.nuisance(http, socket)
            except ConnectionError:
                return


NOTICE = json.dumps({"jsonrpc": "2.0", "method": "notice", "params": {"subscription": "none",
    "result": "x" * 100}})  # fmt: skip


async def tell(_: web.Request, socket: web.WebSocketResponse) -> None:
    while True:
        await socket.send_str(NOTICE)
        await asyncio.sleep(0.02)


async def ping(_: web.Request, socket: web.WebSocketResponse) -> None:
    while True:
        await socket.ping()
        await asyncio.sleep(0.02)


async def answer_others(_: web.Request, socket: web.WebSocketResponse) -> None:
    while True:
        await socket.send_str('{"jsonrpc": "2.0", "id": 999999, "result": null}')
        await asyncio.sleep(0.02)


async def drip(http: web.Request, _: web.WebSocketResponse) -> None:
    """Send one byte of a message after the other."""
    assert http.transport is not None
    http.transport.write(b"\x81\x7e\xff\xff")
    while not http.transport.is_closing():
        http.transport.write(b" ")
        await asyncio.sleep(0.02)


async def flood(_: web.Request, socket: web.WebSocketResponse) -> None:
    while True:
        await socket.send_str(NOTICE)


def answer_with(text: str) -> Nuisance:
    async def answer(_: web.Request, socket: web.WebSocketResponse) -> None:
        await socket.send_str(text)

    return answer


@contextmanager
def client_of(tmp_path: Path, *endpoints: str, timeouts: Timeouts = HURRIED) -> Iterator[Client]:
    pool = Pool(
        polkadot_at(*endpoints), known=bundled("polkadot"), cache=tmp_path, timeouts=timeouts
    )
    try:
        yield Client(pool)
    finally:
        finish(pool.close())


NUISANCES = pytest.mark.parametrize("nuisance", [tell, ping, answer_others, drip])


@NUISANCES
def test_a_node_that_says_anything_but_the_answer_is_left_for_the_next(
    tmp_path: Path, nuisance: Nuisance
) -> None:
    with (
        Babbler("state_getStorage", nuisance) as babbler,
        Node(answers("polkadot")) as node,
        client_of(tmp_path, babbler.url, node.url) as client,
    ):
        started = time.monotonic()
        said = finish(client.storage("System", "Number"))
        passed = time.monotonic() - started

    assert said == 0
    # Not the 20 that an answer may take.
    assert passed < 15


@NUISANCES
def test_what_may_take_a_node_long_has_a_deadline_too(tmp_path: Path, nuisance: Nuisance) -> None:
    with (
        Babbler("state_call", nuisance) as babbler,
        Node(answers("polkadot", state_call="0x01")) as node,
        client_of(
            tmp_path, babbler.url, node.url, timeouts=Timeouts(answering=3.0, stagger=10.0)
        ) as client,
    ):
        started = time.monotonic()
        said = finish(client.call("state_call", "Core_version", "0x"))
        passed = time.monotonic() - started

    assert said == "0x01"
    assert passed < 15


def test_a_subscription_is_waited_for_only_while_the_node_answers(tmp_path: Path) -> None:
    async def follow(client: Client) -> None:
        async with aclosing(
            client.subscribe("chain_subscribeNewHeads", ended_by="chain_unsubscribeNewHeads")
        ) as heads:
            await anext(heads)

    async def subscribe_and_ping(http: web.Request, socket: web.WebSocketResponse) -> None:
        await socket.send_str('{"jsonrpc": "2.0", "id": 3, "result": "heads"}')
        await ping(http, socket)

    with (
        Babbler("chain_subscribeNewHeads", subscribe_and_ping) as babbler,
        client_of(tmp_path, babbler.url, timeouts=Timeouts(opening=1.5, answering=1.0)) as client,
    ):
        started = time.monotonic()
        with pytest.raises(ChainUnreachable, match="did not answer chain_getBlockHash"):
            finish(follow(client))
        passed = time.monotonic() - started

    assert passed < 15


def test_news_that_come_before_the_name_of_their_subscription_are_kept(tmp_path: Path) -> None:
    async def subscribe_and_tell(_: web.Request, socket: web.WebSocketResponse) -> None:
        for subscription in ("another", "heads"):
            notice = {
                "method": "notice",
                "params": {"subscription": subscription, "result": subscription},
            }
            await socket.send_str(json.dumps(notice))
        await socket.send_str('{"jsonrpc": "2.0", "id": 3, "result": "heads"}')

    async def follow(client: Client) -> Any:
        async with aclosing(
            client.subscribe("chain_subscribeNewHeads", ended_by="chain_unsubscribeNewHeads")
        ) as heads:
            return await anext(heads)

    with (
        Babbler("chain_subscribeNewHeads", subscribe_and_tell) as babbler,
        client_of(tmp_path, babbler.url) as client,
    ):
        assert finish(follow(client)) == "heads"


HEADERS = b"HTTP/1.1 101 Switching Protocols\r\nX-More: "


@pytest.mark.parametrize(
    ("pause", "words"),
    [(0.01, "did not open: "), (0, "did not open: its answer is not an HTTP handshake: ")],
)
def test_headers_without_end_are_not_read_to_their_end(pause: float, words: str) -> None:
    ended = asyncio.Event()

    async def talk(visit: Visit) -> None:
        await visit.say(HEADERS)
        try:
            while True:
                await visit.say(b"x" * (1 if pause else 4096))
                await asyncio.sleep(pause)
        finally:
            ended.set()

    async def go() -> str:
        async with serving(talk) as port:
            chain = polkadot_at(f"ws://127.0.0.1:{port}/")
            with pytest.raises(ChainUnreachable) as refused:
                # What comes without a pause is soon too much.
                await connect(chain, Timeouts(opening=0.5 if pause else 60.0))
            # Nor is it read on behind the scenes.
            async with asyncio.timeout(60):
                await ended.wait()
            return str(refused.value)

    assert words in asyncio.run(go())


ASKED = '{"jsonrpc": "2.0", "id": 3, "result": '


@pytest.mark.parametrize(
    ("nuisance", "words"),
    [
        pytest.param(flood, "sent 1001 messages that nobody asked for", id="notices"),
        pytest.param(
            answer_with(ASKED + "[" + "[]," * 5_000_000 + "[]]}"), ("holds more than 250000 "
"values"), id="lists"
        ),
        pytest.param(answer_with(ASKED + '"' + "x" * 40 * MIB + '"}'), ("sent more than 33554432 "
"bytes"), id="bytes"),
    ],
)  # fmt: skip
def test_no_answer_takes_much_memory(tmp_path: Path, nuisance: Nuisance, words: str) -> None:
    with Babbler("state_getStorage", nuisance) as babbler:
        ended = capped(tmp_path, babbler.url, "query", "polkadot", "System", "Number")

    assert ended.returncode == 5, ended.stderr
    assert words in ended.stderr


def capped(tmp_path: Path, endpoint: str, *command: str) -> "subprocess.CompletedProcess[str]":
    """Run *command* against a node, with room for what is imported and for one message of the
    largest size."""
    config = tmp_path / "config.toml"
    config.write_text(
        tomli_w.dumps(
            {"cache": str(tmp_path / "cache"), "chains": {"polkadot": {"endpoints": [endpoint]}}}
        )
    )
    room = 400 * MIB
    return subprocess.run(
        [sys.executable, "-m", "scenarioctl", "--config", str(config), *command],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (room, room)),
    )


def test_the_keys_of_a_message_count_as_values() -> None:
    """Reading 240 000 keys held up all other threads for a second."""

    def message(keys: int) -> bytes:
        return json.dumps({"id": 1, "result": dict.fromkeys(map(str, range(keys)), 1)}).encode()

    assert len(finish(_read_message(message(100_000)))["result"]) == 100_000
    with raises(SocketFailed, says("250000", "keys")):
        finish(_read_message(message(240_000)))
