"""The client's side of a WebSocket (RFC 6455), as far as JSON-RPC needs one: text that is sent, messages that are read.

The package websocket-client does this too, and its import is a fifth of what a connected command costs.
"""

import os
import socket
from binascii import b2a_base64
from contextlib import suppress
from hashlib import sha1
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

_ACCEPTED = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_CONTINUED, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
_FINAL, _RESERVED, _OPCODE, _MASKED, _LENGTH = 0x80, 0x70, 0x0F, 0x80, 0x7F
#: The largest answer to the handshake, and what is read at once.
_LARGEST_HEAD = 64 * 1024
_CHUNK = 256 * 1024
#: The largest payload of a control frame.
_LARGEST_CONTROL = 125


class Broken(Exception):
    """The other side is gone, or does not keep to the protocol."""


class NoWebSocket(Broken):
    """The other side answered the handshake with an HTTP status that is not 101."""

    def __init__(self, status: int) -> None:
        super().__init__(f"it answered with the HTTP status {status}, not as a WebSocket")


class WebSocket:
    """A connection; TimeoutError where the other side takes longer than the timeout for its next bytes.

    What had come until then is kept: the message can be waited for again.
    """

    def __init__(self, url: str, *, timeout: float) -> None:
        """Open *url*, `ws://…` or `wss://…`, within *timeout* seconds: no proxy, and no redirect followed."""
        parts = urlsplit(url)
        secure = parts.scheme == "wss"
        host = parts.hostname or ""
        # As bytes, so that the codec of international names is not imported for plain ones.
        address: Any = host.encode() if host.isascii() else host
        until = monotonic() + timeout
        self._socket: Any = socket.create_connection(
            (address, parts.port or (443 if secure else 80)), timeout
        )
        #: What was read and is in no message yet.
        self._read = bytearray()
        #: The fragments of a message that is not complete, and how long they are.
        self._parts: list[bytes] = []
        self._size = 0
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if secure:
                import ssl

                context = ssl.create_default_context()
                self._socket = context.wrap_socket(self._socket, server_hostname=host)
            place = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            self._shake_hands(place, parts.netloc.rpartition("@")[2], until)
        except BaseException:
            self._socket.close()
            raise
        self._socket.settimeout(timeout)

    def gettimeout(self) -> float | None:
        timeout: float | None = self._socket.gettimeout()
        return timeout

    def settimeout(self, seconds: float | None) -> None:
        self._socket.settimeout(seconds)

    def send(self, text: str) -> None:
        self._send(_TEXT, text.encode())

    def recv(self, largest: int) -> bytes:
        """Return the next message; nothing where the other side said farewell.  Broken beyond *largest* bytes."""
        while True:
            first, payload = self._read_frame(largest - self._size, largest)
            opcode = first & _OPCODE
            if opcode == _CLOSE:
                return b""
            if opcode == _PING:
                self._send(_PONG, payload)
            elif opcode in {_CONTINUED, _TEXT, _BINARY}:
                if (opcode == _CONTINUED) != bool(self._parts):
                    raise Broken("what it sent is no WebSocket message")
                self._parts.append(payload)
                # A fragment without content is one too: it counts, or they could come without end.
                self._size += len(payload) + 1
                if first & _FINAL:
                    message = b"".join(self._parts)
                    self._parts, self._size = [], 0
                    return message
            elif opcode != _PONG:
                raise Broken("what it sent is no WebSocket message")

    def abort(self) -> None:
        """Cut the connection, from whatever thread: one that waits for a message on it waits no longer."""
        self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Say farewell, and wait for no answer."""
        with suppress(OSError):
            self._socket.settimeout(0)
            self._send(_CLOSE, (1000).to_bytes(2, "big"))
        self._socket.close()

    def _shake_hands(self, place: str, host: str, until: float) -> None:
        key = b2a_base64(os.urandom(16), newline=False)
        request = (
            f"GET {place} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key.decode()}\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        self._socket.sendall(request.encode("ascii"))
        while (end := self._read.find(b"\r\n\r\n")) < 0:
            if len(self._read) > _LARGEST_HEAD:
                raise Broken("its answer to the handshake has no end")
            self._socket.settimeout(max(until - monotonic(), 0.001))
            self._more(1)
        lines = bytes(self._read[:end]).decode("latin-1").split("\r\n")
        del self._read[: end + 4]
        version, _, status = lines[0].partition(" ")
        if not version.startswith("HTTP/1.") or not status[:3].isdecimal():
            raise Broken("its answer to the handshake is not HTTP")
        if status[:3] != "101":
            raise NoWebSocket(int(status[:3]))
        fields = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines[1:])
        }
        accepted = b2a_base64(sha1(key + _ACCEPTED, usedforsecurity=False).digest(), newline=False).decode()
        if fields.get("upgrade", "").lower() != "websocket" or fields.get("sec-websocket-accept") != accepted:
            raise Broken("its answer to the handshake is not that of a WebSocket")

    def _send(self, opcode: int, payload: bytes) -> None:
        size = len(payload)
        head = bytearray([_FINAL | opcode])
        if size < 126:
            head.append(_MASKED | size)
        elif size < 1 << 16:
            head += bytes([_MASKED | 126]) + size.to_bytes(2, "big")
        else:
            head += bytes([_MASKED | 127]) + size.to_bytes(8, "big")
        mask = os.urandom(4)
        repeated = int.from_bytes((mask * (size // 4 + 1))[:size], "little")
        masked = (int.from_bytes(payload, "little") ^ repeated).to_bytes(size, "little")
        self._socket.sendall(bytes(head) + mask + masked)

    def _read_frame(self, room: int, largest: int) -> tuple[int, bytes]:
        """Return the first byte and the payload of the next frame, once all of it is there."""
        self._fill(2)
        first, size, start = self._read[0], self._read[1], 2
        if first & _RESERVED or size & _MASKED:
            raise Broken("what it sent is no WebSocket message")
        if first & _CLOSE and (size > _LARGEST_CONTROL or not first & _FINAL):
            raise Broken("what it sent is no WebSocket message")
        if size >= 126:
            start = 4 if size == 126 else 10
            self._fill(start)
            size = int.from_bytes(self._read[2:start], "big")
        if size > room:
            raise Broken(f"it sent more than {largest} bytes")
        self._fill(start + size)
        payload = bytes(memoryview(self._read)[start : start + size])
        del self._read[: start + size]
        return first, payload

    def _fill(self, size: int) -> None:
        while len(self._read) < size:
            self._more(size - len(self._read))

    def _more(self, wanted: int) -> None:
        data = self._socket.recv(max(wanted, _CHUNK) if wanted < 4 * _CHUNK else 4 * _CHUNK)
        if not data:
            raise Broken("Connection to remote host was lost.")
        self._read += data
