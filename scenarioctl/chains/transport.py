"""The socket under a connection to a node: what it reads is bounded in bytes, and all that it does in time.

A timeout of a plain socket begins anew with each byte.  A node that sends one now and then, or a ping, is then waited for
without end, while its HTTP headers or its messages grow.  Here a deadline holds until another is set.
"""

import socket
import time
from urllib.parse import urlsplit

#: Seconds without a word before TCP asks whether the node is still there, between such questions, and how many.
_KEEPALIVE = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))


class BoundedSocket:
    """A connected socket that reads at most `room` bytes, and neither reads nor writes after `deadline`."""

    def __init__(self, wire: socket.socket, *, deadline: float, room: int) -> None:
        self._wire = wire
        #: By time.monotonic.
        self.deadline = deadline
        self._limit = self._room = room

    def allow(self, *, room: int) -> None:
        """Let *room* bytes be read from now on."""
        self._limit = self._room = room

    # What websocket-client calls

    def recv(self, size: int) -> bytes:
        self._wire.settimeout(self._left())
        data = self._wire.recv(size)
        self._room -= len(data)
        if self._room < 0:
            raise ConnectionAbortedError(f"it sent more than {self._limit} bytes")
        return data

    def send(self, data: bytes) -> int:
        self._wire.settimeout(self._left())
        return self._wire.send(data)

    def settimeout(self, seconds: float | None) -> None:
        if seconds is not None:
            self.deadline = time.monotonic() + seconds

    def gettimeout(self) -> float:
        return max(self.deadline - time.monotonic(), 0.001)

    def fileno(self) -> int:
        return self._wire.fileno()

    def shutdown(self, how: int) -> None:
        self._wire.shutdown(how)

    def close(self) -> None:
        self._wire.close()

    def _left(self) -> float:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        return left


def open_socket(endpoint: str, *, deadline: float, room: int) -> BoundedSocket:
    """Connect to the host of a `ws://` or `wss://` endpoint until *deadline*; OSError where that fails."""
    parts = urlsplit(endpoint)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "wss" else 80)
    problem: OSError = ConnectionError("no address was found")
    for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        wire = socket.socket(family, kind, protocol)
        try:
            wire.settimeout(left)
            wire.setsockopt(socket.SOL_TCP, socket.TCP_NODELAY, 1)
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, value in _KEEPALIVE:
                if hasattr(socket, option):
                    wire.setsockopt(socket.SOL_TCP, getattr(socket, option), value)
            wire.connect(address)
            if parts.scheme == "wss":
                import ssl

                wire.settimeout(max(deadline - time.monotonic(), 0.001))
                wire = ssl.create_default_context().wrap_socket(wire, server_hostname=host)
        except OSError as error:
            wire.close()
            problem = error
        else:
            return BoundedSocket(wire, deadline=deadline, room=room)
    raise problem
