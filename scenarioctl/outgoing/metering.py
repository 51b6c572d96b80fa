"""Keeps a web server from taking the event loop: what it sends is given to aiohttp in small pieces, and counted.

aiohttp reads any number of interim answers (`103 Early Hints`) before the answer itself, as many at once as the socket has
bytes.  Here all connections together get a few milliseconds at a time, and headers end after so many bytes.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import aiohttp

from scenarioctl.outgoing.response_body import MAX_BODY

#: Bytes of an answer's headers, and of all interim answers before it.
MAX_HEADERS = 64 * 1024
#: Bytes of an answer as it is sent: a body in small chunks is several times as long as what is in it.
MAX_SENT = 2 * MAX_BODY
#: Bytes that aiohttp gets at once, of headers and of a body: of the shortest interim answers 16 KiB are 10 milliseconds' work.
_PIECE, _BODY_PIECE = 4 * 1024, 16 * 1024
#: Bytes that may wait for that before the server has to.
_AHEAD = 64 * 1024
#: Seconds for which pieces of all connections are given to aiohttp before other tasks have their turn.
_TURN = 0.005


class RoundRobin:
    """Shares the event loop's time among all connections that have something for aiohttp: a piece of each in turn."""

    def __init__(self) -> None:
        self._meters: deque[Meter] = deque()
        self._going = False

    def ask(self, meter: "Meter") -> None:
        """Call `feed` of *meter* soon; once for each time that it asks."""
        self._meters.append(meter)
        if not self._going:
            self._going = True
            asyncio.get_running_loop().call_soon(self._go)

    def _go(self) -> None:
        end = time.monotonic() + _TURN
        try:
            # One piece of each: who waits for headers has to see them before more is given.
            for _ in range(len(self._meters)):
                self._meters.popleft().feed()
                if time.monotonic() > end:
                    break
        finally:
            self._going = bool(self._meters)
            if self._going:
                asyncio.get_running_loop().call_soon(self._go)


class Meter(asyncio.Protocol):
    """Stands between a connection's transport and aiohttp's protocol."""

    def __init__(self, transport: asyncio.Transport, host: str, round_robin: RoundRobin) -> None:
        self._round_robin = round_robin
        self._transport = transport
        self._protocol = cast("asyncio.Protocol", transport.get_protocol())
        self._host = host
        #: Why the server was cut off, if it was.
        self.refusal = ""
        self._waiting = bytearray()
        self._feeding = False
        self._paused = False
        self._sent = 0
        #: Bytes that aiohttp got before it had the headers of the answer.
        self._headers = 0
        #: Called when the connection is lost amid the body; None before the headers were there.
        self._on_loss: Callable[[], None] | None = None
        self._is_lost = False
        self._ended = False
        self._is_stopped = False
        self._lost: tuple[Exception | None] | None = None
        transport.set_protocol(self)

    def end_headers(self, on_loss: Callable[[], None]) -> None:
        """Take what follows for the body, and call *on_loss* if the connection is lost before `stop`."""
        self._on_loss = on_loss
        if self._is_lost:
            on_loss()

    def stop(self) -> None:
        """Pass on no more of what was sent."""
        self._waiting.clear()
        self._is_stopped = True

    # From the transport

    def data_received(self, data: bytes) -> None:
        self._sent += len(data)
        if self._sent > MAX_SENT:
            # What came before is read even so: it may tell why the answer is refused.
            self.refusal = f"{self._host} sent more than {MAX_SENT} bytes"
            self._transport.abort()
            return
        self._waiting += data
        if not self._feeding:
            self._feeding = True
            self._round_robin.ask(self)
        if len(self._waiting) > _AHEAD:
            # Again, where aiohttp has resumed it; an error where it has paused or closed it.
            self._paused = True
            with suppress(RuntimeError):
                self._transport.pause_reading()

    def eof_received(self) -> None:
        self._ended = True
        if not self._feeding:
            self._finish()

    def connection_lost(self, error: Exception | None) -> None:
        self._lost = (error,)
        if not self._feeding:
            self._finish()

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()

    # To aiohttp

    def feed(self) -> None:
        """Give aiohttp one piece of what waits."""
        size = _PIECE if self._on_loss is None else _BODY_PIECE
        piece = bytes(self._waiting[:size])
        del self._waiting[:size]
        if piece:
            if self._on_loss is None:
                self._headers += len(piece)
                if self._headers > MAX_HEADERS:
                    self._refuse(f"{self._host} sent more than {MAX_HEADERS} bytes of headers")
                    return
            self._protocol.data_received(piece)
        if self._paused and len(self._waiting) <= _AHEAD:
            self._paused = False
            with suppress(RuntimeError):
                self._transport.resume_reading()
        self._feeding = bool(self._waiting)
        if self._feeding:
            self._round_robin.ask(self)
        else:
            self._finish()

    def _finish(self) -> None:
        if self._ended:
            self._ended = False
            self._protocol.eof_received()
        if self._lost is not None:
            (error,), self._lost = self._lost, None
            self._protocol.connection_lost(error)
            self._is_lost = True
            if self._on_loss is not None and not self._is_stopped:
                self._on_loss()

    def _refuse(self, sentence: str) -> None:
        self._waiting.clear()
        self._feeding = False
        self.refusal = sentence
        self._transport.abort()


class MeteredConnector(aiohttp.TCPConnector):
    """Opens connections, each with a Meter; of one request, it has one."""

    def __init__(self, host: str, round_robin: RoundRobin, **options: Any) -> None:
        super().__init__(**options)
        self._round_robin = round_robin
        self._named = host
        self.meter: Meter | None = None

    async def connect(self, *request: Any, **options: Any) -> aiohttp.connector.Connection:
        connection = await super().connect(*request, **options)
        transport = connection.transport
        if transport is not None:
            self.meter = Meter(transport, self._named, self._round_robin)
        return connection
