"""The wire: JSON-RPC over WebSocket to whichever of a chain's endpoints is healthy first.

`substrateinterface` is not imported for it: the import alone takes 0.2 s.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from queue import Empty, SimpleQueue
from typing import Any

from scenarioctl.chains.registry import Chain
from scenarioctl.errors import ChainRefused, ChainUnreachable, ScenarioctlError, shorten

#: Seconds for opening an endpoint and hearing its first answers.
OPENING = 5.0
#: Seconds for each later answer; a dry run of a far message takes long on a busy node.
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
#: The largest answer: metadata as hex is about 3 MB.
LARGEST = 64 * 1024 * 1024
#: Letters of a hash in hex.
_HASH = 66

Request = tuple[str, tuple[Any, ...]]


class Exchange:
    """Requests that were sent, and what has been answered of them so far."""

    def __init__(self, requests: Sequence[Request], first: int) -> None:
        self.requests = requests
        #: Number of the first of them; the others follow.
        self.first = first
        self.answers: dict[int, dict[str, Any]] = {}

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
        self._count = 0
        #: When something last came from the node (time.monotonic).
        self.heard = 0.0
        #: Notifications of subscriptions that came while an answer was awaited.
        self._notices: list[dict[str, Any]] = []
        started = time.perf_counter()
        try:
            # No proxy of the environment, and no redirect to where the configuration does not point.
            self._socket: Any = websocket.create_connection(
                endpoint,
                timeout=opening,
                redirect_limit=0,
                http_no_proxy=["*"],
                skip_utf8_validation=True,
                class_=_bounded(),
            )
        except (OSError, websocket.WebSocketException, ValueError) as error:
            raise ChainUnreachable(f"{endpoint} did not open: {_reason(error)}") from None
        try:
            genesis, version = self.call_many([("chain_getBlockHash", (0,)), ("state_getRuntimeVersion", ())])
            self._check_genesis(genesis)
            self._keep_version(version)
        except ScenarioctlError:
            self.close()
            raise
        #: Seconds from opening to the first answers.
        self.latency = time.perf_counter() - started
        self._socket.settimeout(answering)

    def ask_version(self, patience: float | None = None) -> None:
        """Ask what the chain runs now, and wait *patience* seconds for the answer where that is given."""
        usual = self._socket.gettimeout()
        try:
            if patience is not None:
                self._socket.settimeout(patience)
            self._keep_version(self.call("state_getRuntimeVersion"))
        finally:
            self._socket.settimeout(usual)

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

    def begin(self, requests: Sequence[Request]) -> Exchange:
        """Send several calls, whose results `finish` returns."""
        exchange = Exchange(requests, self._count + 1)
        self._count += len(requests)
        for number, (method, params) in enumerate(requests, start=exchange.first):
            self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": list(params)}, method)
        return exchange

    def finish(self, exchange: Exchange, patience: float | None = None) -> list[Any]:
        """Return the results of what was begun.

        Silence where nothing comes for *patience* seconds: it can be waited for again.
        """
        answers, count = exchange.answers, len(exchange.requests)
        while len(answers) < count:
            message = self._receive(str(exchange), None if patience is None else time.monotonic() + patience)
            answered = message.get("id")
            if isinstance(answered, int) and exchange.first <= answered < exchange.first + count:
                answers[answered] = message
            elif "params" in message:
                self._notices.append(message)
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
        subscription = self.call(method, *params)
        try:
            while True:
                try:
                    notice = self._notices.pop(0) if self._notices else self._receive(method, deadline)
                except Silence:
                    if deadline is not None and time.monotonic() >= deadline:
                        return
                    # No news is no fault; a node that does not answer any more is.
                    self.finish(self.begin([("chain_getBlockHash", (0,))]), OPENING)
                    continue
                body = notice.get("params")
                if isinstance(body, dict) and body.get("subscription") == subscription:
                    yield body.get("result")
        finally:
            if ended_by:
                self._count += 1
                request = {"jsonrpc": "2.0", "id": self._count, "method": ended_by, "params": [subscription]}
                with suppress(ChainUnreachable):
                    self._send(request, ended_by)

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
            self._socket.shutdown()

    def _send(self, request: dict[str, Any], method: str) -> None:
        import websocket

        try:
            self._socket.send(json.dumps(request))
        except (OSError, websocket.WebSocketException, ValueError) as error:
            raise ChainUnreachable(f"{self.endpoint} did not take {method}: {_reason(error)}") from None

    def _receive(self, method: str, deadline: float | None = None) -> dict[str, Any]:
        import websocket

        patience = self._socket.gettimeout() or ANSWERING
        if deadline is not None:
            self._socket.settimeout(max(min(deadline - time.monotonic(), patience), 0.001))
        try:
            self._socket.room = LARGEST
            text = self._socket.recv()
            self.heard = time.monotonic()
            message = json.loads(text) if text else None
        except (OSError, websocket.WebSocketException, ValueError, RecursionError) as error:
            kind = Silence if isinstance(error, websocket.WebSocketTimeoutException) else ChainUnreachable
            raise kind(f"{self.endpoint} did not answer {method}: {_reason(error)}") from None
        finally:
            self._socket.settimeout(patience)
        if not text:
            raise ChainUnreachable(f"{self.endpoint} did not answer {method}: it closed the connection")
        if not isinstance(message, dict):
            raise ChainUnreachable(f"{self.endpoint} did not answer {method}: what it sent is not JSON-RPC")
        return message

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


@cache
def _bounded() -> Any:
    """Return the class of sockets that read no more than `room` bytes: one message of a node could fill the memory."""
    import websocket

    class Bounded(websocket.WebSocket):
        room = LARGEST

        def _recv(self, bufsize: int) -> bytes:
            data: bytes = super()._recv(bufsize)  # type: ignore[no-untyped-call]
            self.room -= len(data)
            if self.room < 0:
                raise websocket.WebSocketPayloadException(f"it sent more than {LARGEST} bytes")
            return data

    return Bounded


def _reason(error: Exception) -> str:
    import websocket

    if isinstance(error, websocket.WebSocketBadStatusException):
        return f"it answered with the HTTP status {error.status_code}, not as a WebSocket"
    text = str(error).strip() or type(error).__name__
    return text if len(text) <= 160 else text[:159] + "…"
