"""A private PostgreSQL for the tests: one server per pytest process, in a temporary folder.

Debian's `postgresql` package has the programs.  Where they are missing, the tests skip and say so;
with POSTGRES_REQUIRED in the environment, as `.ci/run` sets it, they fail.
"""

import atexit
import os
import pwd
import secrets
import select
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pytest

from scenarioctl.stores.postgres.administration import initialize
from scenarioctl.stores.postgres.connections import ServerSettings
from scenarioctl.stores.postgres.store import PostgresStore
from tests.daemons import free_port
from tests.runner import finish as run

#: PostgreSQL refuses to run as root.
_USER = "postgres"
_REQUIRED = "POSTGRES_REQUIRED"
#: Owns databases and tables.
OWNER = "scenarioctl_owner"
#: Reads and writes the tables, as daemons and commands do.
RUNTIME = "scenarioctl"
_PATIENCE = 240
#: Seconds until a server that was told to stop is killed; its immediate mode kills its own
#: processes after five.
_STOPS = 20
#: Bytes of all tables and indexes.
_LARGE = 4_000_000


def find_programs() -> Path | None:
    """Return the folder of the newest installed `initdb` and `postgres`; None if there is none."""
    found = [
        path for path in Path("/usr/lib/postgresql").glob("*/bin/initdb") if path.parts[4].isdigit()
    ]
    if found:
        return max(found, key=lambda path: int(path.parts[4])).parent
    program = shutil.which("initdb")
    return Path(program).resolve().parent if program else None


def need_programs() -> Path:
    """Return the folder of the programs; skip the test if there is none, or fail where CI must run
    it."""
    folder = find_programs()
    if folder is None:
        reason = "no PostgreSQL server is installed (Debian: apt install postgresql)"
        if os.environ.get(_REQUIRED):
            pytest.fail(reason)
        pytest.skip(reason)
    return folder


@dataclass
class Server:
    """A PostgreSQL server of our own, on a Unix socket and a port of the loopback interface."""

    folder: Path
    port: int
    #: Whether a commit is on the disk before it is acknowledged: only tests that kill the server
    #: need that.
    durable: bool = False
    #: The password of every role over TCP; over the socket, everybody is trusted.
    password: str = ""
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        programs, data = need_programs(), self.folder / "data"
        owner = _USER if os.geteuid() == 0 else None
        if not data.exists():
            self.password = secrets.token_hex(8)
            entry = pwd.getpwnam(_USER) if owner else None
            secret = self.folder / "password"
            secret.write_text(self.password)
            if entry is not None:
                for path in (self.folder, secret):
                    os.chown(path, entry.pw_uid, entry.pw_gid)
            make: list[str | Path] = [
                programs / "initdb",
                "-D",
                data,
                "-U",
                _USER,
                "--pwfile",
                secret,
                "--no-sync",
            ]
            make += [
                "--auth-local=trust",
                "--auth-host=scram-sha-256",
                "--encoding=UTF8",
                "--locale=C.UTF-8",
            ]
            subprocess.run(
                make,
                user=owner,
                cwd=self.folder,
                check=True,
                stdout=subprocess.DEVNULL,
                extra_groups=[],
            )
        options = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": str(self.folder),
            "fsync": "on" if self.durable else "off",
            "max_connections": "200",
        }
        if not self.durable:
            options |= {"synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off"}
        words = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [programs / "postgres", "-D", data, *words],
                user=owner,
                cwd=self.folder,
                stdout=log,
                stderr=log,
                extra_groups=[],
            )
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                psycopg.connect(self.url("postgres", user=_USER)).close()
            except psycopg.OperationalError:
                if time.monotonic() > deadline or (
                    self.process and self.process.poll() is not None
                ):
                    log = (self.folder / "log").read_text(errors="replace")
                    pytest.fail(f"PostgreSQL did not start: {log[-2000:]}")
                time.sleep(0.02)
            else:
                return

    def promote(self) -> None:
        """Make a standby a primary, whose timeline is a new one."""
        self.execute("SELECT pg_promote()")
        # What waits for no checkpoint, but for the end of the recovery.
        assert self.execute("SELECT pg_is_in_recovery()") == [(False,)]

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """Stop the server: SIGQUIT is its immediate mode, SIGINT the fast one."""
        if self.process is not None:
            self.process.send_signal(how)
            try:
                self.process.wait(_STOPS)
            except subprocess.TimeoutExpired:
                self._kill(self.process)
            self.process = None

    def _kill(self, process: "subprocess.Popen[bytes]") -> None:
        """Kill the server with all its processes, and wait until none of them uses its files."""
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.kill()
        for child in children:
            # One may have ended.
            with suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)
        process.wait(_PATIENCE)
        for child in children:
            # No signal ends a write to a busy disk.
            with suppress(ProcessLookupError):
                handle = os.pidfd_open(int(child))
                ended, _, _ = select.select([handle], [], [], _PATIENCE)
                os.close(handle)
                assert ended, "PostgreSQL did not end"

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str, *, user: str = OWNER) -> str:
        """Return the address of *database* over the Unix socket."""
        return f"postgresql://{user}@/{database}?host={self.folder}&port={self.port}"

    def tcp_url(self, database: str, *, user: str = _USER, password: str | None = None) -> str:
        secret = self.password if password is None else password
        return f"postgresql://{user}:{secret}@127.0.0.1:{self.port}/{database}"

    def execute(self, statement: str, *, database: str = "postgres") -> list[Any]:
        """Run *statement* as the superuser, and return its rows."""
        with psycopg.connect(self.url(database, user=_USER), autocommit=True) as connection:
            done = connection.execute(statement)
            return done.fetchall() if done.description else []

    def create_database(self, name: str, *, more: str = "") -> str:
        """Create a database without our tables, and return its address."""
        self.execute(f'CREATE DATABASE "{name}" OWNER {OWNER} {more}')
        return self.url(name)


def start_server(*, durable: bool = False) -> Server:
    """Return a new server, which runs until the process ends."""
    need_programs()
    folder = Path(tempfile.mkdtemp(prefix="scenarioctl-postgres-"))
    server = Server(folder=folder, port=free_port(), durable=durable)
    # The process that started it, and not the workers that it forks.
    pid = os.getpid()
    atexit.register(lambda: server.remove() if os.getpid() == pid else None)
    server.start()
    for role in (OWNER, RUNTIME):
        server.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{server.password}'")
    return server


def start_standby(primary: Server) -> Server:
    """Return a new server that follows *primary* asynchronously; it runs until the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="scenarioctl-standby-"))
    standby = Server(
        folder=folder, port=free_port(), durable=primary.durable, password=primary.password
    )
    pid = os.getpid()
    atexit.register(lambda: standby.remove() if os.getpid() == pid else None)
    owner = _USER if os.geteuid() == 0 else None
    if owner:
        os.chown(folder, pwd.getpwnam(owner).pw_uid, pwd.getpwnam(owner).pw_gid)
    source: list[str | Path] = ["-h", primary.folder, "-p", str(primary.port), "-U", _USER]
    subprocess.run(
        [
            need_programs() / "pg_basebackup",
            *source,
            "-D",
            folder / "data",
            "--write-recovery-conf",
            "--checkpoint=fast",
            "--no-sync",
        ],
        user=owner,
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
        extra_groups=[],
    )
    standby.start()
    return standby


@cache
def shared_server() -> Server:
    """Return the server of this process."""
    return start_server()


@cache
def shared_database() -> str:
    """Return the owner's address of a database with our tables, which all tests of this process
    share."""
    url = shared_server().create_database("shared")
    run(initialize(ServerSettings(url=url), grant=RUNTIME))
    return url


@dataclass
class _Occupied:
    folder: Path | None = None


_occupied = _Occupied()


def open_store(folder: Path) -> PostgresStore:
    """Return a store over the shared database; it is empty if *folder* isn't that of the last call.

    Its role may use the tables, and neither create nor change them.
    """
    url = shared_database()
    if folder != _occupied.folder:
        empty_tables(url)
        _occupied.folder = folder
    return PostgresStore(ServerSettings(url=shared_server().url("shared", user=RUNTIME)))


def empty_tables(url: str) -> None:
    """Delete all rows, and let numbers start at 1 again.

    TRUNCATE makes new files for each table and index: 60 ms, so that only large tables are worth
    it.
    """
    with psycopg.connect(url, user=_USER) as connection:
        found = connection.execute(
            "SELECT format('scenarioctl.%I', tablename), "
            "pg_total_relation_size(format('scenarioctl.%I', tablename))"
            " FROM pg_tables WHERE schemaname = 'scenarioctl' AND tablename <> 'meta'"
        ).fetchall()
        names = [name for name, _ in found]
        # Both wait for transactions of the last test.
        if sum(size for _, size in found) > _LARGE:
            connection.execute(f"TRUNCATE {', '.join(names)} RESTART IDENTITY")
            return
        connection.execute(f"LOCK TABLE {', '.join(names)}")
        # Without triggers and foreign keys: every table is emptied.
        connection.execute("SET LOCAL session_replication_role = replica")
        connection.execute("; ".join(f"DELETE FROM {name}" for name in names))
        connection.execute(
            "SELECT setval(oid::regclass, 1, false) FROM pg_class"
            " WHERE relkind = 'S' AND relnamespace = 'scenarioctl'::regnamespace"
        )
