"""The daemon as a process: where it listens, what its signals do, what systemd hears, what it
logs."""

import logging
import os
import re
import signal
import socket
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from scenarioctl.errors import Conflict, InvalidRequest, ScenarioctlError
from scenarioctl.server import process as listening
from scenarioctl.server.process import (
    Address,
    Journal,
    Line,
    SystemdNotifier,
    open_listeners,
    parse_address,
    take_activated,
)
from tests.daemons import (
    PATIENCE,
    Daemon,
    NotifySocket,
    daemon,
    free_port,
    start,
    wait_until,
)
from tests.messages import raises, says

pytestmark = pytest.mark.processes

# -- where it listens
# ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8080", Address(host="127.0.0.1", port=8080)),
        ("localhost:0", Address(host="localhost", port=0)),
        ("[::1]:8080", Address(host="::1", port=8080)),
        ("0.0.0.0:65535", Address(host="0.0.0.0", port=65535)),
        ("unix:/run/api.sock", Address(path="/run/api.sock")),
        ("unix:api.sock", Address(path="api.sock")),
    ],
)
def test_an_address_is_a_host_and_a_port_or_a_path(text: str, address: Address) -> None:
    assert parse_address(text) == address


EXPECTED = "expected HOST:PORT like 127.0.0.1:8080 or [::1]:8080, or unix:/path/to/socket"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "8080",
        "localhost",
        "localhost:http",
        "localhost:65536",
        "localhost:-1",
        "localhost:٨٠",
        ":8080",
        "::1:8080",
        "http://127.0.0.1:80",
        "[::g]:80",
        "[127.0.0.1]:80",
        "unix:",
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with raises(InvalidRequest, says("listen", text, "65535").within(f"{{}}, {EXPECTED}")):
        parse_address(text)


def test_port_0_is_a_free_port_which_is_named() -> None:
    (listener,) = open_listeners(("127.0.0.1:0",), field="listen")

    port = listener.socket.getsockname()[1]
    listener.close()

    assert (listener.name, listener.is_exposed) == (f"http://127.0.0.1:{port}", False)


def test_an_address_of_every_network_is_exposed() -> None:
    (listener,) = open_listeners(("0.0.0.0:0",), field="listen")
    listener.close()

    assert listener.is_exposed


def refusal(address: str) -> tuple[type[ScenarioctlError], str]:
    with pytest.raises(ScenarioctlError) as refused:
        open_listeners((address,), field="listen")
    return type(refused.value), str(refused.value)


def test_a_port_that_is_taken_is_a_conflict_and_nothing_stays_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, socket.socket() as later:
        taken = f"127.0.0.1:{other.getsockname()[1]}"
        port = free_port()
        later.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)

        with pytest.raises(Conflict) as refused:
            open_listeners((f"127.0.0.1:{port}", taken), field="listen")
        # Not while somebody listens there.
        later.bind(("127.0.0.1", port))

    assert str(refused.value) == says("listen", address=taken)


def test_a_unix_socket_is_its_owners_and_groups_and_goes_with_the_daemon(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"

    (listener,) = open_listeners((f"unix:{path}",), field="listen")
    mode = path.stat().st_mode & 0o777
    listener.close()

    assert (listener.name, listener.is_exposed, oct(mode)) == (f"unix:{path}", False, "0o660")
    assert not path.exists()


def test_a_socket_that_a_killed_daemon_left_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))

    (listener,) = open_listeners((f"unix:{path}",), field="listen")
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
    listener.close()


def test_a_socket_that_somebody_listens_at_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    (listener,) = open_listeners((f"unix:{path}",), field="listen")

    refused = refusal(f"unix:{path}")

    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
    listener.close()
    assert refused == (
        Conflict,
        says("listen", path=path),
    )


def test_files_and_paths_that_can_be_no_socket_are_named(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("mine")

    assert refusal(f"unix:{file}") == (
        Conflict,
        says("listen", path=file),
    )
    assert refusal(f"unix:{tmp_path}/none/api.sock") == (
        InvalidRequest,
        says("listen", tmp_path=tmp_path),
    )
    assert refusal(f"unix:/{'x' * 120}")[1].endswith("cannot be used: AF_UNIX path too long")
    assert file.read_text() == "mine"


def handed_over(
    monkeypatch: pytest.MonkeyPatch, *sockets: socket.socket, names: str = ""
) -> dict[str, str]:
    """Return what systemd would have put in the environment; *sockets* have to lie in a row."""
    monkeypatch.setattr(listening, "_FIRST", sockets[0].fileno())
    environment = {"LISTEN_FDS": str(len(sockets)), "LISTEN_PID": str(os.getpid()), "HOME": "/"}
    return environment | ({"LISTEN_FDNAMES": names} if names else {})


@pytest.fixture
def row() -> Iterator[list[socket.socket]]:
    """Three listening sockets whose descriptors lie in a row, to be taken over."""
    made = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
    # Where no file of other tests is.
    taken = {int(file.name) for file in Path("/proc/self/fd").iterdir()}
    first = next(number for number in count(100) if taken.isdisjoint(range(number, number + 3)))
    for number, each in enumerate(made):
        os.dup2(each.fileno(), first + number)
    handed = [socket.socket(fileno=first + number) for number in range(3)]
    yield handed
    for each in (*made, *handed):
        each.close()


@pytest.mark.parametrize(
    ("count", "names", "expected"),
    [
        (2, "", {"api": [0], "worker": [1]}),
        (2, "worker:api", {"api": [1], "worker": [0]}),
        (3, "api:worker:api", {"api": [0, 2], "worker": [1]}),
        (2, "scenarioctl.socket:scenarioctl.socket", {"api": [0], "worker": [1]}),
        (1, "worker", {"api": [], "worker": [0]}),
    ],
)
def test_sockets_of_systemd_go_by_name_and_else_by_order(
    monkeypatch: pytest.MonkeyPatch,
    row: list[socket.socket],
    count: int,
    names: str,
    expected: dict[str, list[int]],
) -> None:
    environment = handed_over(monkeypatch, *row[:count], names=names)
    ports = [each.getsockname()[1] for each in row]
    for each in row[:count]:
        each.detach()

    taken = take_activated(environment)

    found = {
        server: [ports.index(listener.socket.getsockname()[1]) for listener in listeners]
        for server, listeners in taken.items()
    }
    inheritable = [
        each.socket.get_inheritable() for listeners in taken.values() for each in listeners
    ]
    for listeners in taken.values():
        for listener in listeners:
            listener.close()
    assert found == expected
    assert not any(inheritable)
    assert environment == {"HOME": "/"}
    for each in row[count:]:
        each.close()


def test_a_socket_of_systemd_that_does_not_listen_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    environment = handed_over(monkeypatch, datagrams, names="api")
    datagrams.detach()

    with raises(InvalidRequest, says("api", "systemd")):
        take_activated(environment)


# -- what systemd hears
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["path", "abstract"])
def test_systemd_hears_what_it_is_told(tmp_path: Path, kind: str) -> None:
    address = str(tmp_path / "notify") if kind == "path" else f"@scenarioctl-test-{os.getpid()}"
    environment = {
        "NOTIFY_SOCKET": address,
        "WATCHDOG_USEC": "3000000",
        "WATCHDOG_PID": str(os.getpid()),
    }

    with NotifySocket(address) as systemd:
        notifier = SystemdNotifier(environment)
        notifier.tell("READY=1", "STATUS=Serving")
        heard = systemd.heard()

    assert heard == {"READY": "1", "STATUS": "Serving"}
    assert notifier.watchdog == 3.0
    assert environment == {}


# -- what it logs
# --------------------------------------------------------------------------------------------------


def record(message: str, level: int = logging.INFO, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("scenarioctl", level, "", 0, message, None, None)
    made.created, made.msecs = 1_700_000_000.5, 500.0
    made.__dict__.update(extra)
    return made


def test_people_read_the_time_and_the_level() -> None:
    line = Line(for_journal=False).format(record("stopped", request_id="ab12", seconds=0.25))

    assert line == "2023-11-14T22:13:20.500Z info stopped request_id=ab12 seconds=0.25"


@pytest.mark.parametrize(
    ("level", "priority"),
    [
        (logging.DEBUG, 7),
        (logging.INFO, 6),
        (logging.WARNING, 4),
        (logging.ERROR, 3),
        (logging.CRITICAL, 3),
    ],
)
def test_journald_reads_priorities(level: int, priority: int) -> None:
    assert Line(for_journal=True).format(record("stopped", level)) == f"<{priority}>stopped"


def test_what_clients_send_neither_begins_a_line_nor_commands_a_terminal() -> None:
    line = Line(for_journal=True).format(
        record("a\n<0>b\x1b[2J", path="x y", quote='"', empty="", odd="c\nd")
    )

    assert line == '<6>a\\n<0>b\\x1b[2J path="x y" quote="\\"" empty="" odd=c\\nd'


def test_a_log_that_nobody_reads_holds_up_nobody() -> None:
    reading, writing = os.pipe()
    journal = Journal(writing)
    journal.setFormatter(Line(for_journal=True))
    try:
        for number in range(20_000):
            journal.emit(record("x" * 1000, number=number))
        with os.fdopen(reading, encoding="utf-8") as stream:
            while "number=9999" not in stream.readline():
                pass
            journal.emit(record("seen again"))
            while "seen again" not in (line := stream.readline()):
                pass
    finally:
        os.close(writing)

    assert line == "<6>seen again\n"


# -- real processes
# ------------------------------------------------------------------------------------------------


def half_sent(running: Daemon, path: str, body: bytes) -> socket.socket:
    """Return a connection on which a request has been sent but for the last half of its body."""
    connection = socket.create_connection(("127.0.0.1", running.port()), timeout=PATIENCE)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    connection.sendall(head.encode() + body[: len(body) // 2])
    return connection


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return False
    except ConnectionResetError:
        # It stopped between the two: the next try is refused.
        return True
    return True


def test_a_daemon_starts_reloads_and_stops_as_systemd_expects(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    config = home / "config.toml"
    config.write_text("rate = 100\n")
    with (
        NotifySocket(str(tmp_path / "notify")) as systemd,
        daemon(
            home,
            *("--config", str(config)),
            variables={"NOTIFY_SOCKET": systemd.address, "WATCHDOG_USEC": "400000"},
        ) as running,
    ):
        ready = systemd.heard()
        health = running.ask("/healthz")[:2]
        files = Path(f"/proc/{running.process.pid}/limits").read_text()
        beats = [systemd.heard().get("WATCHDOG") for _ in range(3)]

        # A reload: what can change at once does; a connection that is open stays so.
        with half_sent(running, "/api/scenario/info", b'{"id": "nosuchone"}') as kept:
            config.write_text('rate = 50\nlog_level = "warning"\nstore = "elsewhere.db"\n')
            running.process.send_signal(signal.SIGHUP)
            reload = systemd.heard_with("RELOADING")
            again = systemd.heard_with("READY")
            running.said("store changed; restart the daemon to apply it")

            # A broken one changes nothing.
            config.write_text("rate = ")
            running.process.send_signal(signal.SIGHUP)
            running.said("reload failed, settings unchanged: config ")
            refused = systemd.heard_with("READY")["STATUS"]
            config.write_text('private_targets = ["10.0.0.0/99"]')
            running.process.send_signal(signal.SIGHUP)
            running.said(
                "reload failed, settings unchanged: private_targets '10.0.0.0/99' is not a "
                "host or a network"
            )

            # The request that is on its way is answered; a new one finds nobody.
            running.process.send_signal(signal.SIGTERM)
            systemd.heard_with("STOPPING")
            port = running.port()
            wait_until(lambda: not listens(port))
            kept.sendall(b'osuchone"}')
            answer = kept.recv(65536)
        ended = running.process.wait(PATIENCE)

    assert ready["READY"] == "1"
    assert ready["STATUS"].startswith("Serving on http://127.0.0.1:")
    assert health == (200, {"status": "ok", "store": "file", "store_from": "default"})
    # For 2048 connections of clients, and others.
    assert int(re.findall(r"Max open files +([0-9]+)", files)[0]) >= 3072
    assert beats == ["1", "1", "1"]
    assert reload.keys() == {"RELOADING", "MONOTONIC_USEC"}
    assert again["READY"] == "1"
    assert re.sub(r":\d+", "", refused) == says("http://127.0.0.1", "reload")
    assert answer.startswith(b"HTTP/1.1 404 Not Found\r\n")
    assert b"Connection: close\r\n" in answer
    assert ended == 0
    assert "Traceback" not in running.log
    assert " info settings reloaded; changed: rate, log_level\n" in running.log


def test_what_the_watchdog_ends_says_where_it_stood(tmp_path: Path) -> None:
    with daemon(tmp_path / "home", variables={"WATCHDOG_USEC": "60000000"}) as running:
        ended = running.end(signal.SIGABRT)

    assert "Fatal Python error: Aborted" in running.log
    # Threads go on while CPython writes where they are, so that it seldom stumbles over what they
    # change, and ends by that.
    assert ended in (-signal.SIGABRT, -signal.SIGSEGV)
    assert "in run_daemon" in running.log or ended == -signal.SIGSEGV


EVERY_ADDRESS = (
    "listen 'http://0.0.0.0:{port}' is reachable from other machines and no token is "
    "configured: anyone there could "
    "create, run and broadcast. Make a token with scenarioctl config token NAME, listen on "
    "127.0.0.1, or accept the risk with --force"
)


def test_what_keeps_a_daemon_from_starting_is_one_sentence(tmp_path: Path) -> None:
    config = tmp_path / "broken.toml"
    config.write_text("[tokens.ops]\nsha256 = 'sctl_x'\nscopes = ['read']\n")
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = f"127.0.0.1:{other.getsockname()[1]}"
        lines = [
            ("--listen", "0.0.0.0:0"),
            ("--listen", taken),
            ("--listen", "nowhere"),
            ("--config", str(config), "--listen", "127.0.0.1:0"),
            ("--store", "/dev/null/x", "--listen", "127.0.0.1:0"),
        ]
        started = [
            start(tmp_path / str(number), "daemon", "--role", "api", *line)
            for number, line in enumerate(lines)
        ]
        codes = [process.wait(PATIENCE) for process, _ in started]
    said = [
        re.sub(r"0\.0\.0\.0:\d+", "0.0.0.0:{port}", stderr.read_text()) for _, stderr in started
    ]

    assert said[:4] == [
        f"Error: {EVERY_ADDRESS}\n",
        says("listen", address=taken).printed,
        says("listen", "nowhere", "0", "65535").printed,
        says("tokens.ops", "sha256", "token").printed,
    ]
    assert said[4].startswith("Error: store '/dev/null/x' ")
    assert (codes[:4], codes[4] in (2, 4)) == ([2, 4, 2, 2], True)


def test_a_second_signal_ends_a_daemon_at_once(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    with (
        daemon(
            tmp_path / "home",
            "--role",
            "api",
            listen=("--listen", "127.0.0.1:0", "--listen", f"unix:{path}"),
        ) as running,
        half_sent(running, "/api/scenario/info", b'{"id": "nosuchone"}'),
    ):
        running.process.send_signal(signal.SIGTERM)
        running.said("stopping at SIGTERM: requests and runs in progress may finish")
        started = time.monotonic()
        ended = running.end(signal.SIGINT)
        took = time.monotonic() - started

    assert (ended, path.exists()) == (130, False)
    # Not the 10 that the request has.
    assert took < 8
    assert "stopped at once by a second SIGINT" in running.log
