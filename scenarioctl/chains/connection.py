"""One connection to an endpoint of a chain: JSON-RPC over WebSocket, with a deadline and a bound
for all that is read.

`substrateinterface` is not imported for it: it blocks, and its import alone takes 0.2 s.
"""

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass
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
    #: For all answers of a later exchange, whatever else the node sends meanwhile: the dry run of a
    #: message that travels far takes long on a busy node.
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
#: Bytes of the messages that a node may send in one exchange: metadata as hex is about 3 MB, a full
#: block 10 MB.
LARGEST = 32 * 1024 * 1024
#: Values and keys in one message, estimated from its commas, colons and brackets: `[],[],…` takes
#: 25 times its bytes as Python's lists, and the parser lets no other thread run while it reads 240
#: 000 keys.
MOST_VALUES = 250_000
#: Messages in one exchange that nobody asked for, pings too, and notifications that wait to be
#: read.
MOST_NOTICES = 1000
#: Bytes of those notifications.
NOTICE_BYTES = 8 * 1024 * 1024
#: Bytes of a message that is parsed in a thread: a larger one could hold the event loop too long.
_LARGE = 512 * 1024
#: Letters of a hash in hex.
_HASH = 66

Request = tuple[str, tuple[Any, ...]]


class Exchange:
    """Requests that were sent, and what has been answered of them so far."""

    def __init__(self, requests: Sequence[Request], first: int, patience: float) -> None:
        self.requests = requests
        self.started = time.monotonic()
        #: When the node must have answered all of them (time.monotonic).
        self.deadline = self.started + patience
        #: Number of the first of them; the others follow.
        self.first = first
        self.answers: dict[int, dict[str, Any]] = {}
        #: Messages beside the answers.
        self.unasked = 0

    def __str__(self) -> str:
        method, more = self.requests[0][0], len(self.requests) - 1
        return f"{method} and {more} more" if more else method


class NodeConnection:
    """One endpoint of a chain: genesis checked, and the version of its runtime known.  For one
    exchange at a time."""

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
        self._socket = socket
        self._timeouts = timeouts
        self._count = 0
        #: Bytes that the node may still send.
        self._room = LARGEST
        #: What the node calls the subscriptions that are read here.
        self._subscriptions: list[Any] = []
        #: One is being begun: the node has not said yet what it calls it.
        self._subscribing = False
        #: Notifications of subscriptions that came while something else was awaited, and their
        #: bytes.
        self._notices: list[tuple[int, dict[str, Any]]] = []

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
        exchange = await self.begin(
            [("chain_getBlockHash", (0,)), ("state_getRuntimeVersion", ())], patience
        )
        genesis, version = await self.finish(exchange)
        self._check_genesis(genesis)
        self._keep_version(version, exchange.started)

    async def ask_version(self, patience: float | None = None) -> None:
        """Ask what the chain runs now, and wait *patience* seconds for the answer if given."""
        exchange = await self.begin([("state_getRuntimeVersion", ())])
        (version,) = await self.finish(exchange, patience)
        self._keep_version(version, exchange.started)

    def _keep_version(self, version: object, asked: float) -> None:
        self.version = self.read_version(version)
        self.version_asked = asked

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

    def _check_genesis(self, genesis: object) -> None:
        if self.chain.genesis and genesis != self.chain.genesis:
            told = (
                genesis if isinstance(genesis, str) and len(genesis) == _HASH else shorten(genesis)
            )
            raise ChainUnreachable(
                f"{self.endpoint} serves another chain: genesis {told}, not {self.chain.genesis}"
            )

    async def call(self, method: str, *params: Any) -> Any:
        """Return the result of one JSON-RPC call; ChainRefused passes on what the node says against
        it."""
        return (await self.call_many([(method, params)]))[0]

    async def call_many(
        self, requests: Sequence[Request], patience: float | None = None
    ) -> list[Any]:
        """Return the results of several calls, in one round trip that is to be over in *patience*
        seconds."""
        return await self.finish(await self.begin(requests, patience))

    async def begin(self, requests: Sequence[Request], patience: float | None = None) -> Exchange:
        """Send several calls, whose results `finish` returns."""
        patience = self._timeouts.answering if patience is None else patience
        exchange = Exchange(requests, self._count + 1, patience)
        self._count += len(requests)
        self._room = LARGEST
        for number, (method, params) in enumerate(requests, start=exchange.first):
            await self._send(number, method, params, exchange.deadline)
        return exchange

    async def finish(self, exchange: Exchange, patience: float | None = None) -> list[Any]:
        """Return the results of what was begun.

        NodeTimeout if they are not all there *patience* seconds after its beginning, whatever else
        came: it can be waited for again.
        """
        deadline = (
            exchange.deadline
            if patience is None
            else min(exchange.deadline, exchange.started + patience)
        )
        answers, count = exchange.answers, len(exchange.requests)
        while len(answers) < count:
            size, message = await self._receive(str(exchange), deadline)
            answered = message.get("id")
            if isinstance(answered, int) and exchange.first <= answered < exchange.first + count:
                answers[answered] = message
            elif not self._keep_notice(size, message):
                exchange.unasked += 1
                self._check_unasked(exchange.unasked)
        return [
            self._result(answers[number], method)
            for number, (method, _) in enumerate(exchange.requests, start=exchange.first)
        ]

    async def subscribe(
        self, method: str, *params: Any, deadline: float | None = None, ended_by: str = ""
    ) -> AsyncGenerator[Any]:
        """Yield what the node tells of a subscription, until the generator is closed or *deadline*
        (time.monotonic).

        *ended_by* is the method that ends the subscription, so that a connection that goes on is
        not told more.
        """
        self._subscribing = True
        try:
            subscription = await self.call(method, *params)
        finally:
            self._subscribing = False
        self._subscriptions.append(subscription)
        self._forget_notices()
        try:
            while deadline is None or time.monotonic() < deadline:
                try:
                    notice = await self._next_notice(subscription, method, deadline)
                except NodeTimeout:
                    if deadline is None or time.monotonic() < deadline:
                        # No news is no fault; a node that does not answer any more is.
                        await self.call_many([("chain_getBlockHash", (0,))], self._timeouts.opening)
                else:
                    yield notice
        finally:
            self._subscriptions.remove(subscription)
            self._forget_notices()
            if ended_by:
                self._count += 1
                until = time.monotonic() + self._timeouts.opening
                with suppress(ChainUnreachable):
                    await self._send(self._count, ended_by, (subscription,), until)

    async def _next_notice(self, subscription: Any, method: str, deadline: float | None) -> Any:
        """Return what the node tells next of *subscription*; NodeTimeout if that takes longer than
        an exchange may."""
        until = time.monotonic() + self._timeouts.answering
        until = until if deadline is None else min(until, deadline)
        self._room = LARGEST
        unasked = 0
        while True:
            for place, (_, notice) in enumerate(self._notices):
                if _subscription_of(notice) == subscription:
                    del self._notices[place]
                    return notice["params"].get("result")
            if not self._keep_notice(*await self._receive(method, until)):
                unasked += 1
                self._check_unasked(unasked)

    def _keep_notice(self, size: int, message: dict[str, Any]) -> bool:
        """Keep a notification of a subscription that is read here; False if *message* is none."""
        if not isinstance(message.get("params"), dict):
            return False
        if not self._subscribing and _subscription_of(message) not in self._subscriptions:
            return False
        self._notices.append((size, message))
        if (
            len(self._notices) > MOST_NOTICES
            or sum(held for held, _ in self._notices) > NOTICE_BYTES
        ):
            raise ChainUnreachable(f"{self.endpoint} sends more notifications than can be read")
        return True

    def _forget_notices(self) -> None:
        """Keep only the notifications of subscriptions that are read here."""
        self._notices = [
            each for each in self._notices if _subscription_of(each[1]) in self._subscriptions
        ]

    def _check_unasked(self, count: int) -> None:
        if count > MOST_NOTICES:
            raise ChainUnreachable(f"{self.endpoint} sent {count} messages that nobody asked for")

    async def abort(self) -> None:
        """Cut the connection without a word: its node may not answer any more."""
        await self._socket.abort()

    async def close(self) -> None:
        """Take leave of the node, without waiting for its answer."""
        await self._socket.close()

    async def _send(
        self, number: int, method: str, params: tuple[Any, ...], deadline: float
    ) -> None:
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": list(params)}
        try:
            async with asyncio.timeout(max(deadline - time.monotonic(), 0)):
                await self._socket.send(json.dumps(request))
        except TimeoutError:
            raise ChainUnreachable(f"{self.endpoint} did not take {method} in time") from None
        except SocketFailed as error:
            raise ChainUnreachable(f"{self.endpoint} did not take {method}: {error}") from None

    async def _receive(self, method: str, deadline: float) -> tuple[int, dict[str, Any]]:
        """Return the size of the next message, and the message; a ping is an empty one."""
        try:
            # What has come by now is read in any case.
            async with asyncio.timeout(max(deadline - time.monotonic(), 0.01)):
                data = await self._socket.receive()
            self.heard = time.monotonic()
            self._take_room(len(data))
            message = await _read_message(data) if data else {}
        except TimeoutError:
            raise NodeTimeout(f"{self.endpoint} did not answer {method} in time") from None
        except SocketFailed as error:
            raise ChainUnreachable(f"{self.endpoint} did not answer {method}: {error}") from None
        if not isinstance(message, dict):
            raise ChainUnreachable(
                f"{self.endpoint} did not answer {method}: what it sent is not JSON-RPC"
            )
        return len(data), message

    def _take_room(self, size: int) -> None:
        self._room -= size
        if self._room < 0:
            raise SocketFailed(f"it sent more than {LARGEST} bytes")

    def _result(self, answer: dict[str, Any], method: str) -> Any:
        error = answer.get("error")
        if error is None:
            return answer.get("result")
        raise NodeError(self.endpoint, method, error)


async def connect(
    chain: Chain, timeouts: Timeouts = TIMEOUTS, *, avoid: Sequence[str] = ()
) -> NodeConnection:
    """Return a connection to the first endpoint of *chain* that answers and serves that chain.

    Endpoints are tried in the order of the registry, each a moment after the one before it or as
    soon as that one fails, so that a stalled one costs a fraction of a second.  Those in *avoid*
    are tried last.
    """
    waiting = sorted(chain.endpoints, key=lambda endpoint: without_password(endpoint) in avoid)
    if not waiting:
        raise ChainUnreachable(
            f"{chain.title} has no endpoints. Add some with: scenarioctl config set "
            f"chains.{chain.name}.endpoints '[\"wss://…\"]'"
        )
    attempts: list[asyncio.Task[NodeConnection]] = []
    try:
        winner = await _race(chain, waiting, timeouts, attempts)
    except BaseException:
        await _give_up(attempts)
        raise
    try:
        await _give_up(attempts)
    except BaseException:
        await winner.abort()
        raise
    return winner


async def _race(
    chain: Chain,
    waiting: list[str],
    timeouts: Timeouts,
    attempts: list[asyncio.Task[NodeConnection]],
) -> NodeConnection:
    """Return the first connection that opens, and leave in *attempts* those that are still being
    opened."""
    reasons: list[str] = []
    while waiting or attempts:
        if waiting:
            attempts.append(
                asyncio.create_task(NodeConnection.open(chain, waiting.pop(0), timeouts))
            )
        await asyncio.wait(
            attempts,
            timeout=timeouts.stagger if waiting else None,
            return_when=asyncio.FIRST_COMPLETED,
        )
        for attempt in [each for each in attempts if each.done()]:
            attempts.remove(attempt)
            try:
                connection = attempt.result()
            except ScenarioctlError as error:
                log.debug("%s: %s", chain.name, error)
                reasons.append(str(error))
            else:
                log.debug("%s: connected to %s", chain.name, connection.endpoint)
                return connection
    raise ChainUnreachable(f"{chain.title} cannot be reached ({'; '.join(reasons)})")


async def _give_up(attempts: Sequence[asyncio.Task[NodeConnection]]) -> None:
    for attempt in attempts:
        attempt.cancel()
    for outcome in await asyncio.gather(*attempts, return_exceptions=True):
        if isinstance(outcome, NodeConnection):
            await outcome.abort()


async def _read_message(data: bytes) -> Any:
    """Return the JSON in *data*; SocketFailed if it has more values than memory is risked for."""
    if len(data) > MOST_VALUES and sum(map(data.count, (b",", b":", b"[", b"{"))) > MOST_VALUES:
        raise SocketFailed(f"what it sent holds more than {MOST_VALUES} values and keys")
    try:
        return await asyncio.to_thread(json.loads, data) if len(data) > _LARGE else json.loads(data)
    except (ValueError, RecursionError):
        raise SocketFailed("what it sent is not JSON") from None


def _subscription_of(notice: dict[str, Any]) -> Any:
    return notice["params"].get("subscription")
