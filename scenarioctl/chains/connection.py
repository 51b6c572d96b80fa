"""One connection to an endpoint of a chain: JSON-RPC over WebSocket, with a deadline and a bound
for all that is read.  Any number of requests share it: answers find them by their id.

`substrateinterface` is not imported for it: it blocks, and its import alone takes 0.2 s.
"""

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.registry import Chain
from scenarioctl.chains.rpc_errors import NodeError, NodeTimeout, SocketFailed
from scenarioctl.config import without_password
from scenarioctl.errors import ChainUnreachable, ScenarioctlError, shorten

if TYPE_CHECKING:
    from scenarioctl.chains.websocket import WebSocket

log = logging.getLogger("scenarioctl.chains")


@dataclass(frozen=True, kw_only=True)
class Timeouts:
    """Seconds that nodes are given."""

    #: To open an endpoint and hear its first answers.
    opening: float = 5.0
    #: For all answers to later requests that are sent together: the dry run of a message that
    #: travels far takes long on a busy node.
    answering: float = 20.0
    #: After which a question that takes a node no work is asked elsewhere too.
    prompt: float = 3.0
    #: For each answer of the second endpoint that confirms the metadata of the first.
    confirming: float = 10.0
    #: For a second endpoint to get the block that the first one answers at.
    catching_up: float = 6.0
    #: For which the next endpoint waits for the one before it.
    stagger: float = 0.25


TIMEOUTS = Timeouts()
#: Questions that take a node no work; what runs the runtime or sends all of it may take longer.
SMALL = frozenset(
    (
        "chain_getBlock",
        "chain_getBlockHash",
        "chain_getFinalizedHead",
        "chain_getHeader",
        "state_getKeysPaged",
        "state_getRuntimeVersion",
        "state_getStorage",
        "state_queryStorageAt",
        "system_accountNextIndex",
        "system_properties",
    )
)
#: Bytes that a node may answer to requests that were sent together: metadata as hex is about 3 MB,
#: a full block 10 MB.
LARGEST = 32 * 1024 * 1024
#: Values and keys in one message, estimated from its commas, colons and brackets: `[],[],…` takes
#: 25 times its bytes as Python's lists, and the parser lets no other thread run while it reads 240
#: 000 keys.
MOST_VALUES = 250_000
#: Messages in a row that nobody asked for, pings too, and notifications of a subscription that wait
#: to be read.
MOST_NOTICES = 1000
#: Bytes of those notifications.
NOTICE_BYTES = 8 * 1024 * 1024
#: Bytes of a message that is parsed in a thread: a larger one could hold the event loop too long.
_LARGE = 512 * 1024
#: Letters of a hash in hex.
_HASH = 66

Request = tuple[str, tuple[Any, ...]]


@dataclass
class _Exchange:
    """Requests that were sent together, and what has been answered of them so far."""

    count: int
    answers: dict[int, dict[str, Any]] = field(default_factory=dict)
    #: Bytes that the node may still answer.
    room: int = field(default_factory=lambda: LARGEST)
    #: Set when all are answered, or the connection is lost.
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class NodeConnection:
    """One endpoint of a chain: genesis checked, and the version of its runtime known."""

    def __init__(
        self, chain: Chain, endpoint: str, socket: "WebSocket", timeouts: Timeouts = TIMEOUTS
    ) -> None:
        self.chain = chain
        #: As it may be shown.
        self.endpoint = without_password(endpoint)
        #: Seconds from opening to the first answers.
        self.latency = 0.0
        #: When something last came from the node (time.monotonic).
        self.heard = 0.0
        #: As `state_getRuntimeVersion` answered, and when it was asked (time.monotonic): an answer
        #: can be late.
        self.version: dict[str, Any] = {}
        self.version_asked = 0.0
        #: Why it can't be used any more; empty as long as it can.
        self.lost = ""
        self._socket = socket
        self._timeouts = timeouts
        self._count = 0
        #: By the number of each of its requests.
        self._exchanges: dict[int, _Exchange] = {}
        #: Messages in a row that nobody asked for.
        self._unasked = 0
        #: What was told of each subscription, with its bytes, and how many bytes that are.
        self._notices: dict[str | int, asyncio.Queue[tuple[int, Any]]] = {}
        self._held = 0
        #: Subscriptions that the node has not named yet.
        self._beginning = 0
        #: Exchanges and subscriptions in progress.
        self._uses = 0
        self._retired = False
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def open(
        cls, chain: Chain, endpoint: str, timeouts: Timeouts = TIMEOUTS
    ) -> "NodeConnection":
        """Return a connection to *endpoint*; ChainUnreachable if it does not answer, or serves
        another chain."""
        # aiohttp takes longer to import than all the rest of a command.
        from scenarioctl.chains.websocket import open_websocket

        started, shown = time.monotonic(), without_password(endpoint)
        try:
            async with asyncio.timeout(timeouts.opening):
                socket = await open_websocket(endpoint, limit=LARGEST)
        except TimeoutError:
            raise ChainUnreachable(
                f"{shown} did not open: no answer within {timeouts.opening:g} s"
            ) from None
        except SocketFailed as error:
            raise ChainUnreachable(f"{shown} did not open: {error}") from None
        connection = cls(chain, endpoint, socket, timeouts)
        try:
            await connection._greet(started + timeouts.opening - time.monotonic())
        except BaseException:
            await connection.abort()
            raise
        connection.latency = time.monotonic() - started
        return connection

    async def _greet(self, patience: float) -> None:
        self.version_asked = time.monotonic()
        genesis, version = await self.call_many(
            [("chain_getBlockHash", (0,)), ("state_getRuntimeVersion", ())], patience
        )
        if self.chain.genesis and genesis != self.chain.genesis:
            told = (
                genesis if isinstance(genesis, str) and len(genesis) == _HASH else shorten(genesis)
            )
            raise ChainUnreachable(
                f"{self.endpoint} serves another chain: genesis {told}, not {self.chain.genesis}"
            )
        self.version = self.read_version(version)

    async def ask_version(self, patience: float | None = None) -> None:
        """Ask what the chain runs now, and wait *patience* seconds for the answer if given."""
        asked = time.monotonic()
        (version,) = await self.call_many([("state_getRuntimeVersion", ())], patience)
        self.version, self.version_asked = self.read_version(version), asked

    def read_version(self, answer: object) -> dict[str, Any]:
        """Return an answer to `state_getRuntimeVersion` that names a runtime and its version."""
        if (
            isinstance(answer, dict)
            and isinstance(answer.get("specName"), str)
            and isinstance(answer.get("specVersion"), int)
        ):
            return answer
        raise ChainUnreachable(
            f"{self.endpoint} does not tell which runtime it runs: {shorten(answer)}"
        )

    async def call(self, method: str, *params: Any) -> Any:
        """Return the result of one JSON-RPC call; ChainRefused passes on what the node says against
        it."""
        return (await self.call_many([(method, params)]))[0]

    async def call_many(
        self, requests: Sequence[Request], patience: float | None = None
    ) -> list[Any]:
        """Return the results of several calls, in one round trip; NodeTimeout if it isn't over in
        *patience* seconds."""
        if not requests:
            return []
        exchange = _Exchange(len(requests))
        numbers = range(self._count + 1, self._count + 1 + exchange.count)
        self._count += exchange.count
        method = requests[0][0] + (f" and {len(requests) - 1} more" if len(requests) > 1 else "")
        async with self._in_use():
            self._exchanges |= dict.fromkeys(numbers, exchange)
            try:
                async with asyncio.timeout(
                    self._timeouts.answering if patience is None else max(patience, 0)
                ):
                    for number, request in zip(numbers, requests, strict=True):
                        await self._send(number, request)
                    await exchange.ended.wait()
            except TimeoutError:
                raise NodeTimeout(f"{self.endpoint} did not answer {method} in time") from None
            finally:
                for number in numbers:
                    del self._exchanges[number]
        if len(exchange.answers) < exchange.count:
            raise self._left(method)
        return [
            self._result(exchange.answers[number], method)
            for number, (method, _) in zip(numbers, requests, strict=True)
        ]

    async def subscribe(
        self, method: str, *params: Any, ended_by: str, deadline: float | None = None
    ) -> AsyncGenerator[Any]:
        """Yield what the node tells of a subscription, until the generator is closed or *deadline*
        (time.monotonic).

        *ended_by* is the method that ends the subscription.
        """
        async with self._in_use():
            name, notices = await self._begin(method, params)
            try:
                while (left := inf if deadline is None else deadline - time.monotonic()) > 0:
                    try:
                        async with asyncio.timeout(min(left, self._timeouts.answering)):
                            size, notice = await notices.get()
                    except TimeoutError:
                        if left > self._timeouts.answering:
                            # No news is no fault; a node that does not answer any more is.
                            await self.call_many(
                                [("chain_getBlockHash", (0,))], self._timeouts.opening
                            )
                        continue
                    if not size:
                        raise self._left(method)
                    self._held -= size
                    yield notice
            finally:
                self._forget(name)
                self._count += 1
                with suppress(ChainUnreachable, TimeoutError):
                    async with asyncio.timeout(self._timeouts.opening):
                        await self._send(self._count, (ended_by, (name,)))

    async def _begin(
        self, method: str, params: tuple[Any, ...]
    ) -> tuple[str | int, "asyncio.Queue[tuple[int, Any]]"]:
        """Return the name of a new subscription, and its notifications, which can come before the
        name."""
        subscribed = set(self._notices)
        self._beginning += 1
        try:
            name = await self.call(method, *params)
        finally:
            self._beginning -= 1
        if not isinstance(name, (str, int)):
            raise ChainUnreachable(f"{self.endpoint} did not answer {method}: {shorten(name)}")
        notices = self._notices.setdefault(name, asyncio.Queue())
        if not self._beginning:
            for other in self._notices.keys() - subscribed - {name}:
                self._forget(other)
        return name, notices

    def _forget(self, name: str | int) -> None:
        notices = self._notices.pop(name)
        while not notices.empty():
            self._held -= notices.get_nowait()[0]

    @asynccontextmanager
    async def _in_use(self) -> AsyncIterator[None]:
        self._uses += 1
        try:
            yield
        finally:
            self._uses -= 1
            if self._retired:
                self.retire()

    def retire(self) -> None:
        """Close it when nobody waits for an answer or a notification any more."""
        self._retired = True
        if not self._uses and not self.lost:
            self._closing = asyncio.create_task(self.close())

    async def abort(self) -> None:
        """Cut the connection without a word: its node may not answer any more."""
        self._lose("the connection was closed")
        self._reader.cancel()
        await self._socket.abort()

    async def close(self) -> None:
        """Take leave of the node, without waiting for its answer."""
        self._lose("the connection was closed")
        self._reader.cancel()
        await self._socket.close()

    def _lose(self, reason: str) -> None:
        self.lost = self.lost or reason
        for exchange in self._exchanges.values():
            exchange.ended.set()
        for notices in self._notices.values():
            notices.put_nowait((0, None))

    def _left(self, method: str) -> ChainUnreachable:
        return ChainUnreachable(f"{self.endpoint} did not answer {method}: {self.lost}")

    async def _send(self, number: int, request: Request) -> None:
        method, params = request
        sent = {"jsonrpc": "2.0", "id": number, "method": method, "params": list(params)}
        if self.lost:
            raise self._left(method)
        try:
            await self._socket.send(json.dumps(sent))
        except SocketFailed as error:
            raise ChainUnreachable(f"{self.endpoint} did not take {method}: {error}") from None

    async def _read(self) -> None:
        """Read what the node sends, for as long as the connection is open."""
        try:
            while True:
                data = await self._socket.receive()
                self.heard = time.monotonic()
                # A ping is an empty message.
                self._take(len(data), await _read_message(data) if data else {})
        except SocketFailed as error:
            self._lose(str(error))
            await self._socket.abort()

    def _take(self, size: int, message: dict[str, Any]) -> None:
        """Give *message* to whoever waits for it."""
        number, params = message.get("id"), message.get("params")
        exchange = self._exchanges.get(number) if isinstance(number, int) else None
        if exchange is not None and isinstance(number, int):
            self._unasked = 0
            exchange.room -= size
            if exchange.room < 0:
                raise SocketFailed(f"it sent more than {LARGEST} bytes")
            exchange.answers[number] = message
            if len(exchange.answers) == exchange.count:
                exchange.ended.set()
            return
        name = params.get("subscription") if isinstance(params, dict) else None
        if isinstance(name, (str, int)) and (name in self._notices or self._beginning):
            notices = self._notices.setdefault(name, asyncio.Queue())
            notices.put_nowait((size, message["params"].get("result")))
            self._held += size
            if notices.qsize() > MOST_NOTICES or self._held > NOTICE_BYTES:
                raise SocketFailed("it sends more notifications than can be read")
            return
        self._unasked += 1
        if self._unasked > MOST_NOTICES:
            raise SocketFailed(f"it sent {self._unasked} messages that nobody asked for")

    def _result(self, answer: dict[str, Any], method: str) -> Any:
        error = answer.get("error")
        if error is None:
            return answer.get("result")
        raise NodeError(self.endpoint, method, error)


async def connect(
    chain: Chain, timeouts: Timeouts = TIMEOUTS, *, avoid: str = ""
) -> NodeConnection:
    """Return a connection to the first endpoint of *chain* that answers and serves that chain.

    Endpoints are tried in the order of the registry, *avoid* last, each a moment after the one
    before it or as soon as that one fails, so that a stalled one costs a fraction of a second.
    """
    waiting = sorted(chain.endpoints, key=lambda endpoint: without_password(endpoint) == avoid)
    if not waiting:
        raise ChainUnreachable(
            f"{chain.title} has no endpoints. Add some with: scenarioctl config set "
            f"chains.{chain.name}.endpoints '[\"wss://…\"]'"
        )
    reasons: list[str] = []
    attempts: set[asyncio.Task[NodeConnection]] = set()
    try:
        while waiting or attempts:
            if waiting:
                attempts.add(
                    asyncio.create_task(NodeConnection.open(chain, waiting.pop(0), timeouts))
                )
            done, _ = await asyncio.wait(
                attempts,
                timeout=timeouts.stagger if waiting else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            for attempt in done:
                attempts.remove(attempt)
                try:
                    connection = attempt.result()
                except ScenarioctlError as error:
                    log.debug("%s: %s", chain.name, error)
                    reasons.append(str(error))
                else:
                    log.debug("%s: connected to %s", chain.name, connection.endpoint)
                    return connection
    finally:
        for attempt in attempts:
            attempt.cancel()
        for outcome in await asyncio.gather(*attempts, return_exceptions=True):
            if isinstance(outcome, NodeConnection):
                await outcome.abort()
    raise ChainUnreachable(f"{chain.title} cannot be reached ({'; '.join(reasons)})")


async def _read_message(data: bytes) -> dict[str, Any]:
    """Return the JSON object in *data*; SocketFailed if it is none, or has more values than memory
    is risked for."""
    if len(data) > MOST_VALUES and sum(map(data.count, (b",", b":", b"[", b"{"))) > MOST_VALUES:
        raise SocketFailed(f"what it sent holds more than {MOST_VALUES} values and keys")
    try:
        message = (
            await asyncio.to_thread(json.loads, data) if len(data) > _LARGE else json.loads(data)
        )
    except (ValueError, RecursionError):
        raise SocketFailed("what it sent is not JSON") from None
    if not isinstance(message, dict):
        raise SocketFailed("what it sent is not JSON-RPC")
    return message
