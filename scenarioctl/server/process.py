"""The daemon's process: its listening sockets, its log, and systemd's units and notifications."""

import errno
import logging
import os
import queue
import re
import socket
import sys
import threading
import time
from collections.abc import Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from scenarioctl.errors import Conflict, InvalidRequest, StoreUnavailable, shorten
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


#: Level -> syslog priority, which journald reads from the start of a line.
_PRIORITIES = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4}
#: Lines queued for stderr. Further lines are dropped.
_WAITING = 10_000
#: Seconds for writing the last lines at exit.
_PARTING = 2.0
#: journald prefix of the error that keeps the daemon from starting.
ERROR = "<3>"
#: Attributes of every record; others come from `extra`.
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class Line(logging.Formatter):
    """Formats `sentence key=value key="two words"` in one line, followed by any traceback."""

    def __init__(self, *, for_journal: bool) -> None:
        super().__init__()
        self._for_journal = for_journal

    def format(self, record: logging.LogRecord) -> str:
        words = [_in_one_line(record.getMessage())]
        words += [f"{key}={_quoted_value(value)}" for key, value in fields_of(record).items()]
        lines = [" ".join(words)]
        if record.exc_info:
            lines += [
                _in_one_line(each) for each in self.formatException(record.exc_info).splitlines()
            ]
        if self._for_journal:
            # journald adds the time, and treats each line as an entry.
            start = f"<{_PRIORITIES.get(record.levelno, 3)}>"
        else:
            moment = time.gmtime(record.created)
            start = (
                f"{time.strftime('%Y-%m-%dT%H:%M:%S', moment)}.{int(record.msecs):03}Z "
                f"{record.levelname.lower()} "
            )
        return "\n".join(start + line for line in lines)


class Journal(logging.Handler):
    """Writes lines in a thread, so that a pipe that nobody reads on stderr doesn't block the event
    loop."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._lines: queue.Queue[str] = queue.Queue(_WAITING)
        threading.Thread(target=self._write, name="journal", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a line, unless the queue is full."""
        with suppress(queue.Full):
            self._lines.put_nowait(self.format(record))

    def flush(self) -> None:
        """Wait up to 2 seconds until the queue is written."""
        deadline = time.monotonic() + _PARTING
        while self._lines.unfinished_tasks and time.monotonic() < deadline:
            time.sleep(0.005)

    def _write(self) -> None:
        while True:
            data = self._lines.get().encode(errors="backslashreplace") + b"\n"
            # Ignore a closed stderr.
            with suppress(OSError):
                while data:
                    data = data[os.write(self._descriptor, data) :]
            self._lines.task_done()


def fields_of(record: logging.LogRecord) -> Mapping[str, Any]:
    """Return the `extra` fields of *record*."""
    return {key: value for key, value in vars(record).items() if key not in _OWN}


def _in_one_line(text: str) -> str:
    # Client data must neither start a new line nor send escape sequences to a terminal.
    return (
        text
        if text.isprintable()
        else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    )


def _quoted_value(value: object) -> str:
    text = _in_one_line(f"{value:.6g}" if isinstance(value, float) else str(value))
    if text and not any(letter in ' "=' for letter in text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _is_news(record: logging.LogRecord) -> bool:
    """Return whether *record* says more than that the store is away, which the store tells itself,
    once."""
    return not any(isinstance(value, StoreUnavailable) for value in record.args or ())


def is_for_journal(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Tell whether *stream* is connected to journald, according to JOURNAL_STREAM."""
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return environment.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"


def start_logging(level: str, *, environment: Mapping[str, str] = os.environ) -> None:
    """Start logging to stderr, from libraries only warnings and errors."""
    journal = Journal(sys.stderr.fileno())
    journal.addFilter(_is_news)
    journal.setFormatter(Line(for_journal=is_for_journal(sys.stderr, environment)))
    root = logging.getLogger()
    root.handlers = [journal]
    logging.raiseExceptions = False
    set_level(level)


def set_level(level: str) -> None:
    """Set the log level: of libraries, at least warning."""
    # At lower levels, libraries log the data that they send.
    logging.getLogger().setLevel(logging.ERROR if level == "error" else logging.WARNING)
    logging.getLogger("scenarioctl").setLevel(level.upper())


class SystemdNotifier:
    """Sends notifications to `NOTIFY_SOCKET`, if it is set.

    Removes the variables of systemd from *environment*, so that child processes don't inherit them.
    """

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        names = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")
        address, microseconds, process = (environment.pop(name, "") for name in names)
        # A leading @ means the abstract namespace, whose names start with NUL.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        watches = process in ("", str(os.getpid()))
        #: Seconds within which the watchdog expects a notification; 0 without a watchdog.
        self.watchdog = int(microseconds or 0) / 1_000_000 if watches else 0.0

    def tell(self, *words: str) -> None:
        """Send *words* like `READY=1`, and ignore errors."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock, suppress(OSError):
            # Don't block the event loop if systemd doesn't read.
            sock.setblocking(False)
            sock.sendto("\n".join(words).encode(), self._address)


#: Folders that `ProtectHome=yes` would hide the program in.
_HOMES = ("/home/", "/root/", "/run/user/")
#: What a home directory with the program in it changes.
_NO_HOMES = "# Home directories are inaccessible.\nProtectHome=yes\n"
_READ_ONLY_HOMES = (
    "# Home directories are read-only instead of inaccessible, because the program or its "
    "Python is in one.\nProtectHome=read-only\n"
)
#: The program in the units.
_PROGRAM = "/usr/bin/scenarioctl"
UNITS = Path(__file__).with_name("units")
#: The roles that have a template.
TEMPLATES = ("api", "worker")


def program() -> tuple[str, ...]:
    """Return the command line that runs this installation."""
    script = Path(sys.executable).parent / "scenarioctl"
    return (str(script),) if script.is_file() else (sys.executable, "-m", "scenarioctl")


def interpreter() -> str:
    """Return the real path of this installation's Python."""
    return str(Path(sys.executable).resolve())


def service_unit(*words: str, options: Sequence[str] = (), python: str = "") -> str:
    """Return the service unit that runs the command *words*, whose interpreter is *python*, as a
    daemon with *options*."""
    more = "".join(" " + _quoted(option.replace("$", "$$")) for option in options)
    unit = _for_program("scenarioctl.service", words, python)
    return unit.replace(" daemon\n", f" daemon{more}\n", 1)


def template_unit(*words: str, role: str, python: str = "") -> str:
    """Return the template of units that run the command *words* as daemons of *role*, each on the
    port that is its instance."""
    return _for_program(f"scenarioctl-{role}@.service", words, python)


def socket_unit() -> str:
    """Return the socket unit."""
    return (UNITS / "scenarioctl.socket").read_text(encoding="utf-8")


def _for_program(file: str, words: Sequence[str], python: str) -> str:
    unit = (UNITS / file).read_text(encoding="utf-8")
    if any(each.startswith(_HOMES) for each in (words[0], python)):
        unit = unit.replace(_NO_HOMES, _READ_ONLY_HOMES)
    return unit.replace(_PROGRAM, " ".join(_quoted(word) for word in words))


def _quoted(word: str) -> str:
    # systemd doesn't expand $ in the program's path, and can't escape quotes in it.
    escaped = word.replace("%", "%%")
    return f'"{escaped}"' if any(letter.isspace() for letter in escaped) else escaped
