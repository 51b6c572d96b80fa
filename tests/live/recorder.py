"""Conversations with nodes: recorded from live ones by a loopback proxy, replayed by a loopback
server.

A runtime's metadata is kept once for all recordings, without its documentation: see
recorded_metadata.py.
"""

import asyncio
import json
import os
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, WSMsgType, web

from tests.live.recorded_metadata import as_answered
from tests.loopback import Server

#: `test`, `method`, `params`; `result` or `error`; `notices` of the method `notice`; `times` where
#: it came so often.
Exchange = dict[str, Any]
#: An absent Option<OpaqueMetadata>.
_NO_METADATA = "0x00"
#: The storage key `:code`, of the runtime itself.
_CODE = "0x3a636f6465"
#: Results that are longer, as JSON, are written once for all who got them.
_SHORT = 100


def is_metadata(method: str, params: list[Any]) -> bool:
    return method == "state_getMetadata" or (
        method == "state_call" and bool(params) and params[0] == "Metadata_metadata_at_version"
    )


def _is_kept(params: list[Any]) -> bool:
    return _CODE not in params


def _ends_subscription(method: str) -> bool:
    return "_unsubscribe" in method or "_unwatch" in method


def _current_test() -> str:
    """Return the name of the test that runs, without its file: a fixture belongs to the test that
    it is made for."""
    return os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[2].rpartition(" ")[0]


class Recorder(Server):
    """Passes every message to a live node and back, and keeps requests, answers, notices and the
    metadata."""

    def __init__(self, endpoint: str) -> None:
        super().__init__()
        self.endpoint = endpoint
        #: In the order in which they were asked.
        self.exchanges: list[Exchange] = []
        #: As the node gave it.
        self.metadata: set[bytes] = set()

    async def talk(self, http: web.Request, socket: web.WebSocketResponse) -> None:
        asked: dict[Any, Exchange] = {}
        metadata: set[Any] = set()
        subscribed: dict[str, Exchange] = {}
        async with (
            ClientSession() as session,
            session.ws_connect(self.endpoint, max_msg_size=0) as node,
        ):

            async def back() -> None:
                async for message in node:
                    if message.type is WSMsgType.TEXT:
                        answer = json.loads(message.data)
                        if answer.get("id") in metadata:
                            self._keep_metadata(answer)
                        _keep(answer, asked, subscribed)
                        await socket.send_str(message.data)
                await socket.close()

            returning = asyncio.create_task(back())
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    request = json.loads(message.data)
                    method, params = request["method"], request.get("params", [])
                    if is_metadata(method, params):
                        metadata.add(request["id"])
                    elif _is_kept(params):
                        exchange: Exchange = {
                            "test": _current_test(),
                            "method": method,
                            "params": params,
                        }
                        self.exchanges.append(exchange)
                        asked[request["id"]] = exchange
                    if _ends_subscription(method):
                        # What is told after that, nobody hears.
                        subscribed.pop(params[0], None)
                    await node.send_str(message.data)
            returning.cancel()

    def _keep_metadata(self, answer: dict[str, Any]) -> None:
        result = answer.get("result")
        if isinstance(result, str) and result not in (_NO_METADATA, "0x"):
            self.metadata.add(bytes.fromhex(result[2:]))


def _keep(
    message: dict[str, Any], asked: dict[Any, Exchange], subscribed: dict[str, Exchange]
) -> None:
    if "id" in message:
        exchange = asked.pop(message["id"], None)
        if exchange is not None:
            exchange |= {key: message[key] for key in ("result", "error") if key in message}
            if isinstance(message.get("result"), str) and not _ends_subscription(
                exchange["method"]
            ):
                subscribed[message["result"]] = exchange
    elif message["params"]["subscription"] in subscribed:
        exchange = subscribed[message["params"]["subscription"]]
        exchange["notice"] = message["method"]
        exchange.setdefault("notices", []).append(message["params"]["result"])


class Replay(Server):
    """Answers as a recorded node did: in each test every request with what it got there, in the
    order of then.

    The last answer repeats, and what a test did not ask then is answered as in the first one that
    did.
    """

    def __init__(self, exchanges: list[Exchange], metadata: Mapping[int, bytes]) -> None:
        super().__init__()
        self._answers: dict[str, deque[Exchange]] = defaultdict(deque)
        self._first: dict[str, Exchange] = {}
        #: By its version.
        self._metadata = metadata
        for exchange in exchanges:
            key = _key(exchange["method"], exchange["params"])
            self._answers[exchange["test"] + key].extend([exchange] * exchange.get("times", 1))
            self._first.setdefault(key, exchange)

    async def talk(self, http: web.Request, socket: web.WebSocketResponse) -> None:
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                await self._reply(json.loads(message.data), socket)

    async def _reply(self, request: dict[str, Any], socket: web.WebSocketResponse) -> None:
        method, params = request["method"], request.get("params", [])
        if is_metadata(method, params):
            await socket.send_str(_answer(request, self._tell_metadata(method, params)))
            return
        key = _key(method, params)
        recorded = self._answers.get(_current_test() + key)
        if recorded:
            exchange = recorded.popleft() if len(recorded) > 1 else recorded[0]
        elif key in self._first:
            exchange = self._first[key]
        else:
            exchange = _not_recorded(method, params)
        await socket.send_str(
            _answer(
                request, {name: exchange[name] for name in ("result", "error") if name in exchange}
            )
        )
        for notice in exchange.get("notices", ()):
            body = {"subscription": exchange["result"], "result": notice}
            await socket.send_str(
                json.dumps({"jsonrpc": "2.0", "method": exchange["notice"], "params": body})
            )

    def _tell_metadata(self, method: str, params: list[Any]) -> dict[str, Any]:
        if method == "state_getMetadata" and 14 in self._metadata:
            return {"result": "0x" + self._metadata[14].hex()}
        if method == "state_getMetadata":
            return _not_recorded(method, params)
        found = self._metadata.get(int.from_bytes(bytes.fromhex(params[1][2:]), "little"))
        return {"result": _NO_METADATA if found is None else as_answered(found)}


def _not_recorded(method: str, params: list[Any]) -> dict[str, Any]:
    message = f"not in the recording: {method} {json.dumps(params)[:200]}"
    return {"error": {"code": -32000, "message": message}}


def _answer(request: dict[str, Any], outcome: dict[str, Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], **outcome})


def _key(method: str, params: Any) -> str:
    return json.dumps([method, params], sort_keys=True)


@dataclass(frozen=True, kw_only=True)
class Conversations:
    """What was said in the tests of a module, and what makes them say it again."""

    #: Variable -> what its chain was asked, and answered.
    chains: Mapping[str, list[Exchange]]
    #: What the accounts are drawn from.
    salt: str
    #: Who signed what -> the signature; an sr25519 one is another each time.
    signatures: Mapping[str, str]
    #: Variable -> the files of its chain's metadata.
    metadata: Mapping[str, list[str]]


def write_conversations(path: Path, conversations: Conversations) -> None:
    """Write a module's conversations, an exchange to a line; long results that come again are
    written once."""
    chains = {name: _folded(exchanges) for name, exchanges in conversations.chains.items()}
    seen = Counter(
        text
        for exchanges in chains.values()
        for text in map(_result, exchanges)
        if len(text) > _SHORT
    )
    values = {
        text: number
        for number, text in enumerate(text for text, times in seen.items() if times > 1)
    }
    told = {
        name: ",\n".join(
            _told(list(exchanges), test, values) for test, exchanges in _by_test(chain)
        )
        for name, chain in chains.items()
    }
    parts = [
        f'"salt":{_compact(conversations.salt)}',
        f'"metadata":{json.dumps(conversations.metadata, indent=0)}',
        f'"signatures":{json.dumps(conversations.signatures, indent=0)}',
        '"values":[\n' + ",\n".join(values) + "\n]",
        '"chains":{\n'
        + ",\n".join(f'"{name}":{{\n{text}\n}}' for name, text in told.items())
        + "\n}",
    ]
    path.write_text("{" + ",\n".join(parts) + "}\n")


def read_conversations(path: Path) -> Conversations:
    document = json.loads(path.read_text())
    values = document["values"]
    chains = {
        name: [
            {**({"result": values[row["value"]]} if "value" in row else {}), **row, "test": test}
            for test, rows in tests.items()
            for row in rows
        ]
        for name, tests in document["chains"].items()
    }
    return Conversations(
        chains=chains,
        salt=document["salt"],
        signatures=document["signatures"],
        metadata=document["metadata"],
    )


def _by_test(exchanges: list[Exchange]) -> Iterator[tuple[str, Iterator[Exchange]]]:
    def name(exchange: Exchange) -> str:
        return str(exchange["test"])

    return groupby(sorted(exchanges, key=name), key=name)


def _told(exchanges: list[Exchange], test: str, values: Mapping[str, int]) -> str:
    rows = []
    for exchange in exchanges:
        row = {key: exchange[key] for key in exchange if key != "test"}
        number = values.get(_result(exchange))
        if number is not None:
            del row["result"]
            row["value"] = number
        rows.append(_compact(row))
    return f"{_compact(test)}:[\n" + ",\n".join(rows) + "\n]"


def _folded(exchanges: list[Exchange]) -> list[Exchange]:
    """Return the answered exchanges, those that a test had several times in a row as one."""
    folded: list[Exchange] = []
    last: dict[str, Exchange] = {}
    for exchange in exchanges:
        if "result" not in exchange and "error" not in exchange:
            continue
        key = exchange["test"] + _key(exchange["method"], exchange["params"])
        before = last.get(key)
        if (
            before is not None
            and {name: before[name] for name in before if name != "times"} == exchange
            and "notices" not in exchange
        ):
            before["times"] = before.get("times", 1) + 1
        else:
            last[key] = dict(exchange)
            folded.append(last[key])
    return folded


def _result(exchange: Exchange) -> str:
    return _compact(exchange["result"]) if "result" in exchange else ""


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


class _Mode:
    """How the tests run: with a *salt* where they are recorded or replayed, *hurried* where they
    are replayed."""

    def __init__(self) -> None:
        self.salt = ""
        self.hurried = False
        #: Test -> how often it drew.
        self.drawn: Counter[str] = Counter()
        #: Seconds of all pauses.
        self.paused = 0.0


_mode = _Mode()


def fresh(count: int) -> bytes:
    """Return random bytes; recorded and replayed, the same ones each time that a test draws
    them."""
    if not _mode.salt:
        return os.urandom(count)
    test = _current_test()
    _mode.drawn[test] += 1
    return blake2b(f"{_mode.salt}|{test}|{_mode.drawn[test]}".encode(), digest_size=count).digest()


def pause(seconds: float) -> None:
    """Give a node time to go on; a replay needs none."""
    _mode.paused += seconds
    if not _mode.hurried:
        time.sleep(seconds)


def clock() -> float:
    """Return a time that only pauses move: who waits by it asks as often in a replay as was
    recorded."""
    return _mode.paused


@contextmanager
def repeatable(salt: str, signatures: dict[str, str], *, hurried: bool = False) -> Iterator[None]:
    """Draw from *salt*, and sign as in *signatures*, which keeps what is signed for the first
    time."""
    from substrateinterface import Keypair

    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("salt", salt), ("hurried", hurried), ("drawn", Counter())):
            patch.setattr(_mode, name, value)
        original = Keypair.sign

        def sign(self: Any, data: Any) -> bytes:
            raw = data if isinstance(data, bytes) else bytes.fromhex(str(data).removeprefix("0x"))
            signed = f"{self.public_key.hex()[:16]}:{blake2b(raw, digest_size=16).hexdigest()}"
            if signed not in signatures:
                signatures[signed] = original(self, data).hex()
            return bytes.fromhex(signatures[signed])

        patch.setattr(Keypair, "sign", sign)
        yield
