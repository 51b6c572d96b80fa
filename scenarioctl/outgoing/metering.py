"""Keeps a web server from blocking the event loop: counts its data and passes it to aiohttp in
small pieces.

aiohttp reads any number of interim responses (`103 Early Hints`) before the final one, and parses
everything that a socket has received at once. This module gives all connections together a few
milliseconds at a time, and limits the headers.
"""

import asyncio
import codecs
import json
import time
import zlib
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import Any, cast

import aiohttp

from scenarioctl.errors import RequestFailed, ScenarioctlError
from scenarioctl.model.diagram import check_depth

#: Bytes of the largest body, decompressed.
MAX_BODY = 1024 * 1024

_MAX_DIGITS = 80

#: Python codecs that are no charsets of the web. Decoding a megabyte of punycode takes minutes.
_NO_CHARSETS = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})


class Body:
    """Collects and decompresses a body. Raises RequestFailed above MAX_BODY bytes, before it uses
    more memory."""

    def __init__(self, encoding: str, host: str) -> None:
        self._host = host
        self._parts: list[bytes] = []
        self._size = 0
        #: Whether any data has arrived.
        self._begun = False
        encoding = encoding.strip().lower()
        if encoding in ("", "identity"):
            self._inflate = None
        elif encoding in ("gzip", "x-gzip", "deflate"):
            # 32: detect gzip or zlib.
            self._inflate = zlib.decompressobj(wbits=32 + zlib.MAX_WBITS)
        else:
            raise RequestFailed(f"{host} answered in an encoding that was not requested")

    def add(self, data: bytes) -> None:
        self._begun = self._begun or bool(data)
        if self._inflate is not None:
            try:
                data = self._inflate.decompress(data, MAX_BODY - self._size + 1)
            except zlib.error:
                raise RequestFailed(
                    f"{self._host} sent a response that cannot be decompressed"
                ) from None
            if self._inflate.unused_data:
                # zlib would keep all of it in memory.
                raise RequestFailed(f"{self._host} sent a response that goes on after its end")
        self._size += len(data)
        if self._size > MAX_BODY:
            raise RequestFailed(f"{self._host} answered with more than {MAX_BODY} bytes")
        self._parts.append(data)

    def read(self) -> bytes:
        if self._inflate is not None and self._begun and not self._inflate.eof:
            raise RequestFailed(f"{self._host} sent a truncated response")
        return b"".join(self._parts)


def read_body(data: bytes, content_type: str) -> Any:
    """Return parsed JSON if the type says JSON or the body starts like JSON, else text.

    Numbers are never rounded: a number with more digits than a float or our integers keep becomes
    text.
    """
    kind, _, parameters = content_type.lower().partition(";")
    text = _decode(data, parameters)
    kind = kind.strip()
    if kind.endswith(("/json", "+json")) or text.lstrip()[:1] in ("{", "["):
        try:
            value = json.loads(
                text,
                parse_float=_exact_float,
                parse_int=_exact_int,
                parse_constant=_refuse_constant,
            )
            if isinstance(value, (dict, list)):
                check_depth(value, field="body")
            # A lone surrogate can't be encoded as UTF-8.
            json.dumps(value, ensure_ascii=False).encode()
            return value
        except (ValueError, RecursionError, ScenarioctlError):
            return text
    return text


def _decode(data: bytes, parameters: str) -> str:
    _, _, charset = parameters.partition("charset=")
    name = charset.partition(";")[0].strip(" \"'") or "utf-8"
    try:
        if codecs.lookup(name).name not in {"utf-8", *_NO_CHARSETS}:
            text = data.decode(name, errors="replace")
            # Some codecs, like UTF-7, produce lone surrogates, which can't be encoded as UTF-8.
            return text.encode(errors="surrogatepass").decode(errors="replace")
    except (LookupError, ValueError):
        pass
    return data.decode("utf-8-sig", errors="replace")


def _exact_float(text: str) -> float | str:
    value = float(text)
    try:
        return value if Decimal(text) == Decimal(repr(value)) else text
    except InvalidOperation:
        # The exponent is too large for a Decimal.
        return text


def _exact_int(text: str) -> int | str:
    return int(text) if len(text) <= _MAX_DIGITS else text


def _refuse_constant(name: str) -> object:
    raise ValueError(name)


#: Bytes of a response's headers, including all interim responses before it.
MAX_HEADERS = 64 * 1024
#: Bytes of a response on the wire: a body in small chunks is several times its content.
MAX_SENT = 2 * MAX_BODY
#: Bytes of headers and of a body that aiohttp gets at once. Parsing 16 KiB of the shortest interim
#: responses takes 10 ms.
_PIECE, _BODY_PIECE = 4 * 1024, 16 * 1024
#: Bytes to buffer before reading from the server pauses.
_AHEAD = 64 * 1024
#: Seconds for feeding pieces to aiohttp before other tasks run.
_TURN = 0.005


class RoundRobin:
    """Shares the event loop's time among all connections with data for aiohttp: one piece of each
    in turn."""

    def __init__(self) -> None:
        self._meters: deque[Meter] = deque()
        self._going = False

    def ask(self, meter: "Meter") -> None:
        """Schedule one call of the `feed` method of *meter*."""
        self._meters.append(meter)
        if not self._going:
            self._going = True
            asyncio.get_running_loop().call_soon(self._go)

    def _go(self) -> None:
        end = time.monotonic() + _TURN
        try:
            # One piece each: the task that waits for headers must see them before it gets more.
            for _ in range(len(self._meters)):
                self._meters.popleft().feed()
                if time.monotonic() > end:
                    break
        finally:
            self._going = bool(self._meters)
            if self._going:
                asyncio.get_running_loop().call_soon(self._go)


class Meter(asyncio.Protocol):
    """A protocol between a connection's transport and aiohttp's protocol."""

    def __init__(self, transport: asyncio.Transport, host: str, round_robin: RoundRobin) -> None:
        self._round_robin = round_robin
        self._transport = transport
        self._protocol = cast("asyncio.Protocol", transport.get_protocol())
        self._host = host
        #: Why the connection was aborted; empty if it wasn't.
        self.refusal = ""
        self._waiting = bytearray()
        self._feeding = False
        self._paused = False
        self._sent = 0
        #: Bytes passed to aiohttp before the end of the headers.
        self._headers = 0
        #: Called if the connection is lost during the body; None until the headers are complete.
        self._on_loss: Callable[[], None] | None = None
        self._is_lost = False
        self._ended = False
        self._is_stopped = False
        self._lost: tuple[Exception | None] | None = None
        transport.set_protocol(self)

    def end_headers(self, on_loss: Callable[[], None]) -> None:
        """Treat the following data as the body, and call *on_loss* if the connection is lost before
        `stop`."""
        self._on_loss = on_loss
        if self._is_lost:
            on_loss()

    def stop(self) -> None:
        """Pass on no more data."""
        self._waiting.clear()
        self._is_stopped = True

    # From the transport

    def data_received(self, data: bytes) -> None:
        self._sent += len(data)
        if self._sent > MAX_SENT:
            # Buffered data is still parsed: it may give a better reason for the failure.
            self.refusal = f"{self._host} sent more than {MAX_SENT} bytes"
            self._transport.abort()
            return
        self._waiting += data
        if not self._feeding:
            self._feeding = True
            self._round_robin.ask(self)
        if len(self._waiting) > _AHEAD:
            # aiohttp may have resumed reading, or paused or closed the transport, which is an error
            # here.
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
        """Pass one piece of the buffer to aiohttp."""
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
    """Opens the connection of one request and puts a Meter on it."""

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
