"""Accepts client connections: limits their number, disconnects stalled clients, and shuts down without lost requests.

aiohttp limits the size of a request's header and the time it may take. It has no settings for three other guarantees,
which this module gives:

- at most `connections` connections are open, and at most `client_connections` of one client;
- a client that does not read its response is disconnected after `request_seconds`;
- a restart loses no request: connections in the accept queue are accepted before the daemon stops listening, and
  the daemon waits for requests that are being sent.

It relies on one documented property of aiohttp: `web.Server` is a protocol factory for `loop.create_server`. A
ClientConnection wraps each of these protocols. Everything else is asyncio.
"""

import asyncio
import select
from typing import cast

from aiohttp import web

from scenarioctl.server.access import peer_of
from scenarioctl.server.limits import Limits
from scenarioctl.server.listening import BACKLOG, ListeningSocket

#: Seconds for which a stopping daemon waits for the first request on a new connection …
_FIRST_REQUEST = 1.0
#: … and for the rest of a request that has begun to arrive.
_NEXT_REQUEST = 0.1
#: Seconds for which a stopping daemon accepts connections from its accept queue.
_DRAIN = 2.0


class Acceptor:
    """Accepts the connections of one server."""

    def __init__(self, server: web.Server, limits: Limits) -> None:
        self._server = server
        self.limits = limits
        self._listening: list[tuple[ListeningSocket, asyncio.Server]] = []
        self.connections: set[ClientConnection] = set()

    async def listen(self, listener: ListeningSocket) -> None:
        """Start to accept connections at *listener*."""
        # A duplicate, since asyncio closes the socket that it is given.
        accepting = await asyncio.get_running_loop().create_server(
            lambda: ClientConnection(self, self._server()), sock=listener.socket.dup(), backlog=BACKLOG
        )
        self._listening.append((listener, accepting))

    async def close(self) -> None:
        """Stop listening, once the connections in the accept queue have been accepted."""
        for listener, accepting in self._listening:
            if not listener.is_lent:
                # systemd keeps its own sockets open, and the next daemon accepts their queue.
                await _drain(listener)
            listener.close()
            accepting.close()
        self._listening.clear()

    def is_busy(self) -> bool:
        """Tell whether any connection expects a request or has response data to send."""
        now = asyncio.get_running_loop().time()
        return any(each.is_busy(now) for each in self.connections)


async def _drain(listener: ListeningSocket) -> None:
    loop = asyncio.get_running_loop()
    queue = select.poll()
    queue.register(listener.socket, select.POLLIN)
    deadline = loop.time() + _DRAIN
    while queue.poll(0) and loop.time() < deadline:
        # Let asyncio accept connections from the queue.
        await asyncio.sleep(0)


class ClientConnection(asyncio.Protocol):
    """A protocol between a connection's transport and aiohttp's protocol."""

    def __init__(self, acceptor: Acceptor, http: asyncio.Protocol) -> None:
        self._acceptor = acceptor
        self._http = http
        self._loop = asyncio.get_running_loop()
        #: The client, while the connection is counted; empty before and after.
        self._client = ""
        #: Loop time until which a stopping daemon waits for a request.
        self._expected_until = 0.0
        self._stall: asyncio.TimerHandle | None = None

    def is_busy(self, now: float) -> bool:
        """Tell whether a request is expected or response data is still to be sent."""
        return now < self._expected_until or self._transport.get_write_buffer_size() > 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        client = peer_of(transport)
        if not self._acceptor.limits.enter(client):
            self._transport.abort()
            return
        self._client = client
        self._expected_until = self._loop.time() + _FIRST_REQUEST
        self._acceptor.connections.add(self)
        self._http.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self._client:
            self._expected_until = self._loop.time() + _NEXT_REQUEST
            self._http.data_received(data)

    def eof_received(self) -> bool | None:
        return self._http.eof_received() if self._client else None

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._client:
            return
        self._acceptor.limits.leave(self._client)
        self._acceptor.connections.discard(self)
        self._client = ""
        self._end_stall()
        self._http.connection_lost(exc)

    def pause_writing(self) -> None:
        self._http.pause_writing()
        self._watch_stall()

    def resume_writing(self) -> None:
        self._end_stall()
        self._http.resume_writing()

    def _watch_stall(self, before: int | None = None) -> None:
        """Disconnect the client if the write buffer has not shrunk below *before* bytes since the last check."""
        waiting = self._transport.get_write_buffer_size()
        if before is not None and waiting >= before:
            self._transport.abort()
            return
        self._stall = self._loop.call_later(self._acceptor.limits.seconds, self._watch_stall, waiting)

    def _end_stall(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None
