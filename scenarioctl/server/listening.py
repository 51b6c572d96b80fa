"""The daemon's listening sockets: HOST:PORT, unix:PATH, and sockets passed by systemd."""

import errno
import ipaddress
import os
import socket
import stat
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from scenarioctl.errors import Conflict, InvalidRequest, shorten
from scenarioctl.server.access import is_loopback

#: A family of addresses that this machine doesn't have.
_NO_FAMILY = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
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
    #: Path and inode of a Unix socket that the daemon created, so that it unlinks only that one.
    file: tuple[Path, int] | None = None

    def close(self) -> None:
        """Stop listening, and remove the path of a Unix socket that the daemon created."""
        # Remove the path first: while the socket is open, its inode isn't reused.
        if self.file is not None and self.socket.fileno() >= 0:
            path, inode = self.file
            with suppress(OSError):
                if path.stat(follow_symlinks=False).st_ino == inode:
                    path.unlink()
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
    text = ""
    try:
        for text in addresses:
            address = parse_address(text, field=field)
            if address.path:
                opened.append(_listen_on_path(Path(address.path), text, field))
            else:
                _listen_on_port(address, opened)
    except BaseException as error:
        for listener in opened:
            listener.close()
        if isinstance(error, OSError):
            raise _unusable(text, field, error) from None
        raise
    return opened


def _listen_on_port(address: Address, opened: list[ListeningSocket]) -> None:
    found = dict.fromkeys(
        socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    )
    port, left, before = address.port, len(found), len(opened)
    for family, *_, where in found:
        left -= 1
        try:
            sock = socket.create_server((str(where[0]), port), family=family, backlog=BACKLOG)
        except OSError as error:
            # A machine without IPv6 may still resolve localhost to ::1.
            if error.errno not in _NO_FAMILY or not (left or len(opened) > before):
                raise
            continue
        # Port 0 of a name with several addresses means the same free port at each.
        port = sock.getsockname()[1]
        opened.append(_describe(sock))


def _listen_on_path(path: Path, text: str, field: str) -> ListeningSocket:
    _remove_stale(path, text, field)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o117)
    try:
        sock.bind(str(path))
        sock.listen(BACKLOG)
    except OSError:
        sock.close()
        raise
    finally:
        os.umask(before)
    return ListeningSocket(
        socket=sock, name=f"unix:{path}", file=(path, path.stat(follow_symlinks=False).st_ino)
    )


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
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe, suppress(TimeoutError):
        probe.settimeout(1)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise OSError(errno.EADDRINUSE, "")


def _unusable(text: str, field: str, error: OSError) -> Exception:
    if error.errno == errno.EADDRINUSE:
        return Conflict(
            field=field, value=text, limit=140, problem="is in use: another program listens there"
        )
    is_name = isinstance(error, socket.gaierror)
    reason = str(error.strerror) if is_name else os.strerror(error.errno or 0)
    if error.errno == errno.EACCES and not text.startswith("unix:"):
        reason += ". Ports below 1024 need root or a systemd socket"
    return InvalidRequest(field=field, value=text, limit=140, problem=f"cannot be used: {reason}")


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
