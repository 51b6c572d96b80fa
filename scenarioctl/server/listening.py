"""The daemon's listening sockets: HOST:PORT, unix:PATH, and sockets passed by systemd."""

import errno
import os
import re
import socket
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path

from scenarioctl.errors import Conflict, InvalidRequest, shorten
from scenarioctl.server.access import is_loopback

#: Size of the accept queue.
BACKLOG = 1024
#: First file descriptor passed by systemd.
_FIRST = 3
_HOST_AND_PORT = re.compile(
    r"(?:\[([0-9a-f:]+)\]|([a-z0-9._-]+)):([0-9]{1,5})", re.ASCII | re.IGNORECASE
)
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
    #: The path of a Unix socket that the daemon created.
    path: Path | None = None
    #: `api` or `worker`.
    server: str = ""

    def close(self) -> None:
        """Stop listening, and remove the path of a Unix socket that the daemon created."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
            self.path = None
        self.socket.close()


def parse_address(text: str, *, field: str = "listen") -> Address:
    """Return the address that *text* spells, or raise InvalidRequest."""
    found = _HOST_AND_PORT.fullmatch(text)
    if found is not None and int(found[3]) < 65536:
        return Address(host=found[1] or found[2], port=int(found[3]))
    if text.startswith("unix:") and text != "unix:" and "\0" not in text:
        return Address(path=str(Path(text.removeprefix("unix:")).expanduser()))
    raise InvalidRequest(
        field=field,
        value=text,
        problem="is not a host with a port from 0 to 65535, or a path",
        expected=_EXPECTED,
    )


def open_listeners(addresses: tuple[str, ...], *, field: str) -> list[ListeningSocket]:
    """Listen at all of *addresses*, or raise InvalidRequest or Conflict and listen at none."""
    if not addresses:
        raise InvalidRequest(field=field, problem="is empty", expected=_EXPECTED)
    opened: list[ListeningSocket] = []
    try:
        for text in addresses:
            address = parse_address(text, field=field)
            try:
                opened.append(_listen(address))
            except (OSError, UnicodeError) as error:
                raise _unusable(text, field, error) from None
    except BaseException:
        for listener in opened:
            listener.close()
        raise
    return opened


def _listen(address: Address) -> ListeningSocket:
    if not address.path:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        where = (address.host, address.port)
        return _describe(socket.create_server(where, family=family, backlog=BACKLOG))
    sock = socket.socket(socket.AF_UNIX)
    sock.setblocking(False)
    before = os.umask(0o117)
    try:
        if sock.connect_ex(address.path) == errno.ECONNREFUSED and Path(address.path).is_socket():
            # A killed daemon left it.
            Path(address.path).unlink()
        sock.bind(address.path)
        sock.listen(BACKLOG)
    except OSError:
        sock.close()
        raise
    finally:
        os.umask(before)
    listener = _describe(sock)
    listener.path = Path(address.path)
    return listener


def _unusable(text: str, field: str, error: Exception) -> Exception:
    number = getattr(error, "errno", None)
    if number == errno.EADDRINUSE:
        return Conflict(
            field=field, value=text, limit=140, problem="is in use: another program listens there"
        )
    reason = getattr(error, "strerror", None) or str(error)
    if number == errno.EACCES and not text.startswith("unix:"):
        reason += ". Ports below 1024 need root or a systemd socket"
    return InvalidRequest(field=field, value=text, limit=140, problem=f"cannot be used: {reason}")


def take_activated(environment: MutableMapping[str, str]) -> dict[str, list[ListeningSocket]]:
    """Return the sockets passed by systemd, by server: `api` or `worker`.

    `FileDescriptorName=` says which server a socket is for. Others are for the API first, then the
    worker. Removes the variables of systemd from *environment*, so that child processes don't
    inherit them.
    """
    words = ("LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES")
    count, process, names = (environment.pop(each, "") for each in words)
    taken: dict[str, list[ListeningSocket]] = {"api": [], "worker": []}
    if process != str(os.getpid()):
        return taken
    for number, name in enumerate((names.split(":") + [""] * int(count))[: int(count)]):
        sock = socket.socket(fileno=_FIRST + number)
        if not sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            sock.close()
            raise InvalidRequest(
                f"the socket {shorten(name)} from systemd is not a listening stream socket, "
                "expected ListenStream= and Accept=no"
            )
        sock.set_inheritable(False)
        server = name if name in taken else "worker" if taken["api"] else "api"
        taken[server].append(_describe(sock))
    return taken


def _describe(sock: socket.socket) -> ListeningSocket:
    name = sock.getsockname()
    if sock.family == socket.AF_UNIX:
        return ListeningSocket(socket=sock, name=f"unix:{os.fsdecode(name)}")
    shown = f"[{name[0]}]" if sock.family == socket.AF_INET6 else name[0]
    exposed = not is_loopback(name[0])
    return ListeningSocket(socket=sock, name=f"http://{shown}:{name[1]}", is_exposed=exposed)
