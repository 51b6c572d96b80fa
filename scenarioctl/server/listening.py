"""The daemon's listening sockets: HOST:PORT, unix:PATH, and sockets passed by systemd; and how it
accepts connections.

aiohttp limits the size of a request's header and the time it may take. It has no settings for three
other guarantees, which this module gives:

- at most `connections` connections are open, and at most `client_connections` of one client;
- a client that does not read its response is disconnected after `request_seconds`;
- a restart loses no request: connections in the accept queue are accepted before the daemon stops
  listening, and the daemon waits for requests that are being sent.

It relies on one property of aiohttp: a `web.RequestHandler` is the protocol of a connection of
`loop.create_server`. A ClientConnection wraps each of these protocols. Everything else is asyncio.
"""

import asyncio
import errno
import ipaddress
import os
import select
import socket
import stat
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from scenarioctl.errors import Conflict, InvalidRequest, shorten
from scenarioctl.server.access import is_loopback, peer_of
from scenarioctl.server.limits import Limits

#: Size of the accept queue.
BACKLOG = 1024
#: First file descriptor passed by systemd.
_FIRST = 3
#: Bytes of the longest path of a Unix socket.
_PATH_MAX = 107
_EXPECTED = "HOST:PORT like 127.0.0.1:8080 or [::1]:8080, or unix:/path/to/socket"


@dataclass(frozen=True, kw_only=True)
class Address:
    """A host and a port, or the path of a Unix socket."""

    host: str = ""
    port: int = 0
    path: str = ""


@dataclass(kw_only=True)
class ListeningSocket:
    """A listening socket and its name for people."""

    socket: socket.socket
    #: `http://127.0.0.1:8080`, `unix:/run/scenarioctl/api.sock`.
    name: str
    #: Other machines can reach it.
    is_exposed: bool = False
    #: Passed by systemd, which keeps it open after the daemon stops.
    is_lent: bool = False
    #: Path, device and inode of a Unix socket that the daemon created, so that it unlinks only that
    #: one.
    file: tuple[Path, int, int] | None = None

    def close(self) -> None:
        """Stop listening, and remove the path of a Unix socket that the daemon created."""
        # Remove the path first: while the socket is open, its inode isn't reused.
        if self.file is not None and self.socket.fileno() >= 0:
            path, device, inode = self.file
            try:
                found = path.stat(follow_symlinks=False)
                if (found.st_dev, found.st_ino) == (device, inode):
                    path.unlink()
            except OSError:
                pass
        self.socket.close()


def parse_address(text: str, *, field: str = "listen") -> Address:
    """Return the address that *text* spells, or raise InvalidRequest."""
    if text.startswith("unix:"):
        path = text.removeprefix("unix:")
        if not path or "\0" in path:
            raise InvalidRequest(field=field, value=text, problem="has no path", expected=_EXPECTED)
        path = str(Path(path).expanduser())
        if len(os.fsencode(path)) > _PATH_MAX:
            raise InvalidRequest(
                field=field,
                value=text,
                limit=140,
                problem="is too long for a socket",
                expected=f"a path of at most {_PATH_MAX} bytes",
            )
        return Address(path=path)
    host, colon, port = text.rpartition(":")
    if not colon or not (
        port.isascii() and port.isdigit() and len(port) <= 5 and int(port) < 65536
    ):
        raise InvalidRequest(
            field=field, value=text, problem="has no port from 0 to 65535", expected=_EXPECTED
        )
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        try:
            ipaddress.IPv6Address(host)
        except ValueError:
            raise InvalidRequest(
                field=field, value=text, problem="is not an IPv6 address", expected=_EXPECTED
            ) from None
    elif not host or not all(
        letter.isascii() and (letter.isalnum() or letter in ".-_") for letter in host
    ):
        raise InvalidRequest(field=field, value=text, problem="has no host", expected=_EXPECTED)
    return Address(host=host, port=int(port))


def open_listeners(addresses: tuple[str, ...], *, field: str) -> list[ListeningSocket]:
    """Listen at all of *addresses*, or raise InvalidRequest or Conflict and listen at none."""
    if not addresses:
        raise InvalidRequest(field=field, problem="is empty", expected=_EXPECTED)
    opened: list[ListeningSocket] = []
    try:
        for text in addresses:
            address = parse_address(text, field=field)
            if address.path:
                opened.append(_listen_on_path(address.path, text, field))
            else:
                opened += _listen_on_port(address, text, field)
    except BaseException:
        for listener in opened:
            listener.close()
        raise
    return opened


def _listen_on_port(address: Address, text: str, field: str) -> list[ListeningSocket]:
    try:
        found = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as error:
        raise InvalidRequest(
            field=field, value=text, problem=f"has an unknown host: {error.strerror}"
        ) from None
    opened: list[ListeningSocket] = []
    port = address.port
    problem: OSError | None = None
    for family, kind, protocol, _, where in dict.fromkeys(found):
        try:
            sock = socket.socket(family, kind, protocol)
        except OSError as error:
            # A machine without IPv6 may still resolve localhost to ::1.
            problem = error
            continue
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            sock.bind((where[0], port, *where[2:]))
            sock.listen(BACKLOG)
        except OSError as error:
            sock.close()
            problem = error
            if error.errno == errno.EADDRNOTAVAIL and len(found) > 1:
                continue
            for listener in opened:
                listener.close()
            break
        # Port 0 of a name with several addresses means the same free port at each.
        port = sock.getsockname()[1]
        opened.append(_describe(sock))
    else:
        if opened:
            return opened
    raise _unusable(text, field, problem)


def _listen_on_path(path: str, text: str, field: str) -> ListeningSocket:
    place = Path(path)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o117)
    try:
        _remove_stale(place, text, field)
        sock.bind(path)
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise _unusable(text, field, error) from None
    except BaseException:
        sock.close()
        raise
    finally:
        os.umask(before)
    made = place.stat(follow_symlinks=False)
    return ListeningSocket(socket=sock, name=f"unix:{path}", file=(place, made.st_dev, made.st_ino))


def _remove_stale(path: Path, text: str, field: str) -> None:
    """Remove the socket of a killed daemon; raise Conflict if it is in use or not a socket."""
    try:
        mode = path.stat(follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise Conflict(
            field=field,
            value=text,
            limit=140,
            problem="exists and is not a socket; remove it or choose another path",
        )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except TimeoutError:
            pass
    raise _unusable(text, field, OSError(errno.EADDRINUSE, ""))


def _unusable(text: str, field: str, error: OSError | None) -> Exception:
    code = error.errno if error else None
    if code == errno.EADDRINUSE:
        return Conflict(
            field=field, value=text, limit=140, problem="is in use: another program listens there"
        )
    if code == errno.EACCES and not text.startswith("unix:"):
        return InvalidRequest(
            field=field,
            value=text,
            problem="is not permitted: ports below 1024 need root or a systemd socket",
        )
    if code == errno.EADDRNOTAVAIL:
        return InvalidRequest(field=field, value=text, problem="is not an address of this machine")
    return InvalidRequest(
        field=field,
        value=text,
        limit=140,
        problem=f"cannot be used: {(error and error.strerror) or 'it has no address'}",
    )


def take_activated(environment: MutableMapping[str, str]) -> Mapping[str, list[ListeningSocket]]:
    """Return the sockets passed by systemd, by server: `api` or `worker`.

    `FileDescriptorName=` says which server a socket is for. Unnamed sockets are for the API first,
    then the worker. Removes the variables of systemd from *environment*, so that child processes
    don't inherit them.
    """
    count, process = environment.pop("LISTEN_FDS", ""), environment.pop("LISTEN_PID", "")
    names = environment.pop("LISTEN_FDNAMES", "")
    taken: dict[str, list[ListeningSocket]] = {"api": [], "worker": []}
    if not (count.isascii() and count.isdigit() and process == str(os.getpid())):
        return taken
    named = names.split(":")
    in_order = ["api", "worker"]
    opened: list[ListeningSocket] = []
    try:
        for number in range(int(count)):
            name = named[number] if number < len(named) else ""
            opened.append(replace(_describe(_inherited(_FIRST + number, name)), is_lent=True))
            taken[_server_of(name, in_order)].append(opened[-1])
    except BaseException:
        for listener in opened:
            listener.close()
        raise
    return taken


def _server_of(name: str, in_order: list[str]) -> str:
    """Return the server that a socket is for: by its name, else the next of *in_order*."""
    if name in ("api", "worker"):
        return name
    # Without FileDescriptorName=, the name is that of the unit.
    if in_order:
        return in_order.pop(0)
    raise InvalidRequest(
        f"systemd passed a socket named {shorten(name)} beside two others, expected "
        "FileDescriptorName=api or FileDescriptorName=worker"
    )


def _inherited(descriptor: int, name: str) -> socket.socket:
    try:
        sock = socket.socket(fileno=descriptor)
        listens = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError as error:
        raise InvalidRequest(
            f"the socket {shorten(name)} from systemd cannot be used: {error.strerror}"
        ) from None
    if sock.type != socket.SOCK_STREAM or not listens:
        sock.close()
        raise InvalidRequest(
            f"the socket {shorten(name)} from systemd is not a listening stream socket, "
            "expected ListenStream= and Accept=no"
        )
    sock.set_inheritable(False)
    return sock


def _describe(sock: socket.socket) -> ListeningSocket:
    name = sock.getsockname()
    if sock.family == socket.AF_UNIX:
        path = name if isinstance(name, str) else os.fsdecode(name)
        return ListeningSocket(socket=sock, name=f"unix:{path.replace(chr(0), '@')}")
    host, port = name[0], name[1]
    shown = f"[{host}]" if sock.family == socket.AF_INET6 else host
    return ListeningSocket(
        socket=sock, name=f"http://{shown}:{port}", is_exposed=not is_loopback(host)
    )


#: Seconds for which a stopping daemon waits for the first request on a new connection …
_FIRST_REQUEST = 1.0
#: … and for the rest of a request that has begun to arrive.
_NEXT_REQUEST = 0.1
#: Seconds for which a stopping daemon accepts connections from its accept queue.
_DRAIN = 2.0


class Acceptor:
    """Accepts the connections of one server."""

    def __init__(self, connect: Callable[[], asyncio.Protocol], limits: Limits) -> None:
        #: Makes aiohttp's protocol of a connection.
        self._connect = connect
        self.limits = limits
        self._listening: list[tuple[ListeningSocket, asyncio.Server]] = []
        self.connections: set[ClientConnection] = set()

    async def listen(self, listener: ListeningSocket) -> None:
        """Start to accept connections at *listener*."""
        # A duplicate, since asyncio closes the socket that it is given.
        accepting = await asyncio.get_running_loop().create_server(
            lambda: ClientConnection(self, self._connect()),
            sock=listener.socket.dup(),
            backlog=BACKLOG,
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
        """Disconnect the client if the write buffer has not shrunk below *before* bytes since the
        last check."""
        waiting = self._transport.get_write_buffer_size()
        if before is not None and waiting >= before:
            self._transport.abort()
            return
        self._stall = self._loop.call_later(
            self._acceptor.limits.seconds, self._watch_stall, waiting
        )

    def _end_stall(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None
