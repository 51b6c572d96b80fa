"""WebSocket connections to nodes: aiohttp's client without redirects, proxies, cookies or
compression.

Deadlines are the caller's (`asyncio.timeout`): every call here can be canceled at any point.
"""

import asyncio
import os
import socket
import threading
from contextlib import suppress

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from scenarioctl.chains.rpc_errors import SocketFailed
from scenarioctl.config import without_password

#: Header lines of the node's answer to the handshake, each of at most `HEADER_BYTES`.
HEADERS = 64
HEADER_BYTES = 8 * 1024
#: Names that are looked up at once for one purpose.
_LOOKUPS = 16


class WebSocket:
    """An open WebSocket; SocketFailed says why it can't be used any more."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        response: aiohttp.ClientResponse,
        wire: "aiohttp.ClientWebSocketResponse[bool]",
        limit: int,
    ) -> None:
        self._session = session
        #: To the handshake: closing it cuts the connection, whatever state the WebSocket is in.
        self._response = response
        self._wire = wire
        self._limit = limit

    async def send(self, text: str) -> None:
        """Send one text message."""
        try:
            await self._wire.send_str(text)
        except (aiohttp.ClientError, OSError) as error:
            raise SocketFailed(_reason(error)) from None

    async def receive(self) -> bytes:
        """Return the next message; a ping or pong is an empty one, so that the caller can count
        them."""
        message = await self._wire.receive()
        if message.type in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
            data: bytes = message.data
            return data
        if message.type is aiohttp.WSMsgType.PING:
            with suppress(aiohttp.ClientError, OSError):
                await self._wire.pong(message.data)
            return b""
        if message.type is aiohttp.WSMsgType.PONG:
            return b""
        if message.type is aiohttp.WSMsgType.ERROR:
            if (
                isinstance(message.data, aiohttp.WebSocketError)
                and message.data.code == aiohttp.WSCloseCode.MESSAGE_TOO_BIG
            ):
                raise SocketFailed(f"it sent more than {self._limit} bytes")
            raise SocketFailed("what it sent is not a WebSocket message")
        raise SocketFailed("it closed the connection")

    async def close(self) -> None:
        """Tell the node, without waiting for its answer, and close the connection."""
        with suppress(aiohttp.ClientError, OSError, TimeoutError):
            async with asyncio.timeout(0.1):
                await self._wire.close()
        await self.abort()

    async def abort(self) -> None:
        """Close the connection without a word."""
        self._response.close()
        await self._session.close()


async def open_websocket(endpoint: str, *, limit: int) -> WebSocket:
    """Connect to a `ws://` or `wss://` endpoint whose messages may have *limit* bytes; SocketFailed
    if that fails."""
    response: aiohttp.ClientResponse

    async def shake_hands(
        request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        # `ws_connect` follows redirects, and hides the response.
        nonlocal response
        response = await handler(request)
        if 300 <= response.status < 400:
            response.close()
            raise SocketFailed(_not_a_websocket(response.status))
        return response

    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(resolver=Resolver(), use_dns_cache=False, force_close=True),
        cookie_jar=aiohttp.DummyCookieJar(),
        # The caller has a deadline for all of it.
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
        trust_env=False,
        max_line_size=HEADER_BYTES,
        max_field_size=HEADER_BYTES,
        max_headers=HEADERS,
        middlewares=[shake_hands],
    )
    try:
        wire = await session.ws_connect(
            endpoint,
            max_msg_size=limit,
            decode_text=False,
            # Counted by the caller: a node may send nothing else.
            autoping=False,
            compress=0,
            timeout=aiohttp.ClientWSTimeout(ws_close=0),
        )
        return WebSocket(session, response, wire, limit)
    except (aiohttp.ClientError, OSError, ValueError) as error:
        await session.close()
        raise SocketFailed(_reason(error)) from None
    except BaseException:
        await session.close()
        raise


class Resolver(AbstractResolver):
    """Looks up names in threads that the process doesn't wait for when it ends: a name server may
    hang."""

    def __init__(self, flags: int = 0) -> None:
        self._flags = flags
        self._places = asyncio.Semaphore(_LOOKUPS)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        loop = asyncio.get_running_loop()
        found: asyncio.Future[list[ResolveResult]] = loop.create_future()

        def look_up() -> None:
            outcome: list[ResolveResult] | OSError
            try:
                outcome = _find_addresses(host, port, family, self._flags)
            except OSError as error:
                outcome = error
            # The loop is closed if nobody waited for it.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(settle, outcome)

        def settle(outcome: "list[ResolveResult] | OSError") -> None:
            if found.done():
                return
            if isinstance(outcome, OSError):
                found.set_exception(outcome)
            else:
                found.set_result(outcome)

        async with self._places:
            threading.Thread(target=look_up, daemon=True).start()
            return await found

    async def close(self) -> None:
        """Nothing is kept open."""


def _find_addresses(host: str, port: int, family: int, flags: int) -> list[ResolveResult]:
    """Return the addresses of *host* for aiohttp, as the system's resolver knows them; it may take
    long."""
    return [
        ResolveResult(
            hostname=host,
            host=str(address[0]),
            port=int(address[1]),
            family=int(kind),
            proto=protocol,
            flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
        )
        for kind, _, protocol, _, address in socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, family=family, flags=flags
        )
    ]


def _reason(error: Exception) -> str:
    """Return what *error* of aiohttp or the socket means, in a few words."""
    if isinstance(error, SocketFailed):
        return str(error)
    if isinstance(error, aiohttp.WSServerHandshakeError):
        return _not_a_websocket(error.status)
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"its certificate is not trusted: {_shortened(str(error.certificate_error))}"
    if isinstance(error, aiohttp.ClientConnectorError):
        error = error.os_error
    if isinstance(error, aiohttp.ClientResponseError):
        return f"its answer is not an HTTP handshake: {_shortened(error.message)}"
    if isinstance(error, (aiohttp.ServerDisconnectedError, aiohttp.ClientConnectionResetError)):
        return "it closed the connection"
    if (
        isinstance(error, OSError)
        and not isinstance(error, socket.gaierror)
        and (error.errno or 0) > 0
    ):
        return os.strerror(error.errno or 0)
    text = (getattr(error, "strerror", None) or str(error)).strip() or type(error).__name__
    return _shortened(without_password(text))


def _not_a_websocket(status: int) -> str:
    return f"it answered with the HTTP status {status}, not as a WebSocket"


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 160 else text[:159] + "…"
