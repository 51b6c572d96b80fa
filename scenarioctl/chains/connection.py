"""The wire: JSON-RPC over WebSocket to whichever of a chain's endpoints is healthy first.

`substrateinterface` is not imported for it: the import alone takes 0.2 s.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from scenarioctl.chains.registry import Chain
from scenarioctl.chains.transport import open_socket
from scenarioctl.errors import ChainRefused, ChainUnreachable, ScenarioctlError, shorten

#: Seconds for opening an endpoint and hearing its first answers.
OPENING = 5.0
#: Seconds for all answers of a later exchange, whatever else the node sends meanwhile; a dry run of a far message takes
#: long on a busy node.
ANSWERING = 20.0
#: Seconds after which a question that takes a node no work is asked elsewhere too.
PROMPT = 3.0
#: Such questions; what runs the runtime or sends all of it may take longer.
SMALL = frozenset(
    (
        "chain_getBlock",
        "chain_getBlockHash",
        "chain_getFinalizedHead",
        "chain_getHeader",
        "state_getKeysPaged",
        "state_getRuntimeVersion",
        "state_getStorage",
        "system_accountNextIndex",
        "system_properties",
    )
)
#: Seconds that the next endpoint waits for the one before it.
STAGGER = 0.25
#: Bytes that a node may send in one exchange: metadata as hex is about 3 MB, a full block 10 MB.
LARGEST = 32 * 1024 * 1024
#: Bytes of its answer to the request to speak WebSocket.
HANDSHAKE = 16 * 1024
#: Values in one message, estimated from its commas and brackets: `[],[],…` takes 25 times its bytes as Python's lists.
MOST_VALUES = 250_000
#: Messages in one exchange that nobody asked for, and notifications that wait to be read.
MOST_NOTICES = 1000
#: Bytes of those notifications.
NOTICE_BYTES = 8 * 1024 * 1024
#: Letters of a hash in hex.
_HASH = 66

Request = tuple[str, tuple[Any, ...]]


class Exchange:
    """Requests that were sent, and what has been answered of them so far."""

    def __init__(self, requests: Sequence[Request], first: int, patience: float) -> None:
        self.requests = requests
        self.started = time.monotonic()
        #: When the node must have answered all of them.
        self.deadline = self.started + patience
        #: Number of the first of them; the others follow.
        self.first = first
        self.answers: dict[int, dict[str, Any]] = {}
        #: Messages beside the answers.
        self.unasked = 0

    def __str__(self) -> str:
        method, more = self.requests[0][0], len(self.requests) - 1
        return f"{method} and {more} more" if more else method


class Connection:
    """One endpoint of a chain: genesis checked, and the version of its runtime known."""

    def __init__(
        self, chain: Chain, endpoint: str, *, opening: float = OPENING, answering: float = ANSWERING
    ) -> None:
        import websocket

        self.chain = chain
        self.endpoint = endpoint
        self._answering = answering
        self._count = 0
        #: When something last came from the node (time.monotonic).
        self.heard = 0.0
        #: What the node calls the subscriptions that are read here.
        self._subscriptions: list[Any] = []
        #: One is being begun: the node has not said yet what it calls it.
        self._subscribing = False
        #: Notifications of subscriptions that came while something else was awaited, and their bytes.
        self._notices: list[tuple[int, dict[str, Any]]] = []
        started = time.monotonic()
        deadline = started + opening
        try:
            self._wire = open_socket(endpoint, deadline=deadline, room=HANDSHAKE)
        except (OSError, ValueError) as error:
            raise self._unopened(error) from None
        try:
            # No redirect to where the configuration does not point.
            self._socket: Any = websocket.create_connection(
                endpoint, redirect_limit=0, skip_utf8_validation=True, socket=self._wire
            )
        except (OSError, websocket.WebSocketException, ValueError) as error:
            self._wire.close()
            raise self._unopened(error) from None
        try:
            genesis, version = self.finish(
                self.begin(
                    [("chain_getBlockHash", (0,)), ("state_getRuntimeVersion", ())],
                    deadline - time.monotonic(),
                )
            )
            self._check_genesis(genesis)
            self._keep_version(version)
        except ScenarioctlError:
            self.close()
            raise
        #: Seconds from opening to the first answers.
        self.latency = time.monotonic() - started

    def _unopened(self, error: Exception) -> ChainUnreachable:
        return ChainUnreachable(f"{self.endpoint} did not open: {_reason(error)}")

    def ask_version(self, patience: float | None = None) -> None:
        """Ask what the chain runs now, and wait *patience* seconds for the answer where that is given."""
        (version,) = self.finish(self.begin([("state_getRuntimeVersion", ())]), patience)
        self._keep_version(version)

    def _keep_version(self, version: object) -> None:
        #: As `state_getRuntimeVersion` answered, and when (time.monotonic).
        self.version: dict[str, Any] = self.read_version(version)
        self.version_told = time.monotonic()

    def read_version(self, answer: object) -> dict[str, Any]:
        """Return an answer to `state_getRuntimeVersion` that names a runtime and its version."""
        if (
            isinstance(answer, dict)
            and isinstance(answer.get("specName"), str)
            and isinstance(answer.get("specVersion"), int)
        ):
            return answer
        raise ChainUnreachable(f"{self.endpoint} does not tell which runtime it runs: {shorten(answer)}")

    def _check_genesis(self, genesis: object) -> None:
        if self.chain.genesis and genesis != self.chain.genesis:
            told = genesis if isinstance(genesis, str) and len(genesis) == _HASH else shorten(genesis)
            raise ChainUnreachable(
                f"{self.endpoint} serves another chain: genesis {told}, not {self.chain.genesis}"
            )

    def call(self, method: str, *params: Any) -> Any:
        """Return the result of one JSON-RPC call; ChainRefused passes on what the node says against it."""
        return self.call_many([(method, params)])[0]

    def call_many(self, requests: Sequence[Request]) -> list[Any]:
        """Return the results of several calls, in one round trip."""
        return self.finish(self.begin(requests))

    def begin(self, requests: Sequence[Request], patience: float | None = None) -> Exchange:
        """Send several calls, whose results `finish` returns; all is to be over in *patience* seconds."""
        exchange = Exchange(requests, self._count + 1, self._answering if patience is None else patience)
        self._count += len(requests)
        self._wire.deadline = exchange.deadline
        self._wire.allow(room=LARGEST)
        for number, (method, params) in enumerate(requests, start=exchange.first):
            self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": list(params)}, method)
        return exchange

    def finish(self, exchange: Exchange, patience: float | None = None) -> list[Any]:
        """Return the results of what was begun.

        Silence where they are not all there *patience* seconds after its beginning, whatever else came: it can be waited
        for again.
        """
        answers, count = exchange.answers, len(exchange.requests)
        deadline = (
            exchange.deadline if patience is None else min(exchange.deadline, exchange.started + patience)
        )
        # What has come by now is read in any case.
        self._wire.deadline = max(deadline, time.monotonic() + 0.01)
        while len(answers) < count:
            size, message = self._receive(str(exchange))
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

    def subscribe(
        self, method: str, *params: Any, deadline: float | None = None, ended_by: str = ""
    ) -> Iterator[Any]:
        """Yield what the node tells of a subscription, until the iterator is closed or *deadline* (time.monotonic).

        *ended_by* is the method that ends the subscription, so that a connection that goes on is not told more.
        """
        self._subscribing = True
        try:
            subscription = self.call(method, *params)
        finally:
            self._subscribing = False
        self._subscriptions.append(subscription)
        self._forget_notices()
        try:
            while deadline is None or time.monotonic() < deadline:
                try:
                    yield self._next_notice(subscription, method, deadline)
                except Silence:
                    if deadline is None or time.monotonic() < deadline:
                        # No news is no fault; a node that does not answer any more is.
                        self.finish(self.begin([("chain_getBlockHash", (0,))], OPENING))
        finally:
            self._subscriptions.remove(subscription)
            self._forget_notices()
            if ended_by:
                self._count += 1
                request = {"jsonrpc": "2.0", "id": self._count, "method": ended_by, "params": [subscription]}
                self._wire.deadline = time.monotonic() + OPENING
                with suppress(ChainUnreachable):
                    self._send(request, ended_by)

    def _next_notice(self, subscription: Any, method: str, deadline: float | None) -> Any:
        """Return what the node tells next of *subscription*; Silence where that takes longer than an exchange may."""
        until = time.monotonic() + self._answering
        self._wire.deadline = until if deadline is None else min(until, deadline)
        self._wire.allow(room=LARGEST)
        unasked = 0
        while True:
            for place, (_, notice) in enumerate(self._notices):
                if _subscription_of(notice) == subscription:
                    del self._notices[place]
                    return notice["params"].get("result")
            if not self._keep_notice(*self._receive(method)):
                unasked += 1
                self._check_unasked(unasked)

    def _keep_notice(self, size: int, message: dict[str, Any]) -> bool:
        """Keep a notification of a subscription that is read here; False where *message* is none."""
        if not isinstance(message.get("params"), dict):
            return False
        if not self._subscribing and _subscription_of(message) not in self._subscriptions:
            return False
        self._notices.append((size, message))
        if len(self._notices) > MOST_NOTICES or sum(held for held, _ in self._notices) > NOTICE_BYTES:
            raise ChainUnreachable(f"{self.endpoint} sends more notifications than can be read")
        return True

    def _forget_notices(self) -> None:
        """Keep only the notifications of subscriptions that are read here."""
        self._notices = [each for each in self._notices if _subscription_of(each[1]) in self._subscriptions]

    def _check_unasked(self, count: int) -> None:
        if count > MOST_NOTICES:
            raise ChainUnreachable(f"{self.endpoint} sent {count} messages that nobody asked for")

    def abort(self) -> None:
        """Cut the connection, from whatever thread: one that waits for an answer on it waits no longer."""
        with suppress(Exception):
            self._socket.abort()

    def close(self) -> None:
        with suppress(Exception):
            # A farewell, whose answer nobody waits for: that would be a round trip more at the end of every command.
            self._socket.close(timeout=0)
        with suppress(Exception):
            # Where the other side closed first, closing leaves the socket open.
            self._wire.close()

    def _send(self, request: dict[str, Any], method: str) -> None:
        import websocket

        try:
            self._socket.send(json.dumps(request))
        except (OSError, websocket.WebSocketException, ValueError) as error:
            raise ChainUnreachable(f"{self.endpoint} did not take {method}: {_reason(error)}") from None

    def _receive(self, method: str) -> tuple[int, dict[str, Any]]:
        """Return the size of the next message, and the message."""
        import websocket

        try:
            text = self._socket.recv()
            self.heard = time.monotonic()
            message = _read_message(text) if text else None
        except (OSError, websocket.WebSocketException, ValueError, RecursionError) as error:
            kind = Silence if isinstance(error, websocket.WebSocketTimeoutException) else ChainUnreachable
            raise kind(f"{self.endpoint} did not answer {method}: {_reason(error)}") from None
        if not text:
            raise ChainUnreachable(f"{self.endpoint} did not answer {method}: it closed the connection")
        if not isinstance(message, dict):
            raise ChainUnreachable(f"{self.endpoint} did not answer {method}: what it sent is not JSON-RPC")
        return len(text), message

    def _result(self, answer: dict[str, Any], method: str) -> Any:
        error = answer.get("error")
        if error is None:
            return answer.get("result")
        raise NodeError(self.endpoint, method, error)


#: How each attempt to open an endpoint ended.
Attempts = SimpleQueue[Connection | ScenarioctlError]


class Silence(ChainUnreachable):
    """Nothing came in the time that an answer may take."""


class GivenUp(ChainUnreachable):
    """Nobody waits any more for a connection that is being opened."""


class NodeError(ChainRefused):
    """A JSON-RPC error, as the node worded it."""

    def __init__(self, endpoint: str, method: str, error: object) -> None:
        body = error if isinstance(error, dict) else {"message": error}
        self.number = body.get("code")
        self.message = str(body.get("message", ""))
        #: What the node adds, often the part that explains.
        self.data = body.get("data")
        detail = f"{self.message}: {self.data}" if isinstance(self.data, str) and self.data else self.message
        super().__init__(f"{endpoint} refused {method}: {detail[:400]} ({self.number})")


def connect(
    chain: Chain,
    *,
    stagger: float = STAGGER,
    opening: float = OPENING,
    answering: float = ANSWERING,
    avoid: Sequence[str] = (),
    ended: "Attempts | None" = None,
) -> Connection:
    """Return a connection to the first endpoint of *chain* that answers and serves that chain.

    Endpoints are tried in the order of the registry, each a *stagger* after the one before it or as soon as that one
    fails, so that a stalled one costs a fraction of a second.  Those in *avoid* are tried last.  A GivenUp that another
    thread puts into *ended* ends it all.
    """
    endpoints = sorted(chain.endpoints, key=lambda endpoint: endpoint in avoid)
    if not endpoints:
        raise ChainUnreachable(
            f"{chain.name} has no endpoints, give it some: scenarioctl config set chains.{chain.name}.endpoints '[\"wss://…\"]'"
        )

    def open_one(endpoint: str) -> Connection:
        return Connection(chain, endpoint, opening=opening, answering=answering)

    # A single endpoint too: looking up its name may hang for longer than any timeout of a socket.
    return _race(chain, endpoints, open_one, stagger, opening, SimpleQueue() if ended is None else ended)


def _race(
    chain: Chain,
    endpoints: list[str],
    open_one: Callable[[str], Connection],
    stagger: float,
    opening: float,
    ended: "Attempts",
) -> Connection:
    won = threading.Event()

    def run(endpoint: str) -> None:
        try:
            outcome: Connection | ScenarioctlError = open_one(endpoint)
        except (ChainUnreachable, ChainRefused) as error:
            outcome = error
        if won.is_set() and isinstance(outcome, Connection):
            outcome.close()
        else:
            ended.put(outcome)

    waiting = list(endpoints)
    running = 0
    reasons: list[str] = []
    deadline = time.monotonic() + opening + stagger * len(endpoints) + 1
    while waiting or running:
        if waiting:
            # A daemon: the process does not wait at its end for an endpoint that stalls.
            threading.Thread(target=run, args=(waiting.pop(0),), daemon=True).start()
            running += 1
        patience = stagger if waiting else deadline - time.monotonic()
        try:
            outcome = ended.get(timeout=max(patience, 0.001))
        except Empty:
            if not waiting:
                break
            continue
        running -= 1
        if isinstance(outcome, Connection):
            won.set()
            _close_losers(ended)
            return outcome
        if isinstance(outcome, GivenUp):
            won.set()
            _close_losers(ended)
            raise outcome
        reasons.append(str(outcome))
    won.set()
    raise _unreachable(chain, [*reasons, *([f"{running} did not answer in time"] if running else [])])


def _close_losers(ended: "Attempts") -> None:
    with suppress(Empty):
        while True:
            loser = ended.get_nowait()
            if isinstance(loser, Connection):
                loser.close()


def _unreachable(chain: Chain, reasons: list[str]) -> ChainUnreachable:
    return ChainUnreachable(f"{chain.name} cannot be reached ({'; '.join(reasons)})")


def _read_message(text: str | bytes) -> Any:
    """Return the JSON in *text*; ValueError where it holds more values than memory is risked for."""
    if isinstance(text, bytes):
        text = text.decode()
    if len(text) > MOST_VALUES and sum(map(text.count, ",[{")) > MOST_VALUES:
        raise ValueError(f"what it sent holds more than {MOST_VALUES} values")
    return json.loads(text)


def _subscription_of(notice: dict[str, Any]) -> Any:
    return notice["params"].get("subscription")


def _reason(error: Exception) -> str:
    import websocket

    if isinstance(error, websocket.WebSocketBadStatusException):
        return f"it answered with the HTTP status {error.status_code}, not as a WebSocket"
    text = str(error).strip() or type(error).__name__
    return text if len(text) <= 160 else text[:159] + "…"
