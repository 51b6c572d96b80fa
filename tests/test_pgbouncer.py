"""The store behind a real PgBouncer in transaction mode: each transaction may run in another
process of the server."""

import json
import os
import pwd
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.errors import StoreFailed, StoreUnavailable
from scenarioctl.stores import create_store
from scenarioctl.stores.postgres.connections import Connection, ServerSettings
from scenarioctl.stores.postgres.store import PostgresStore
from tests.daemons import daemon, free_port, is_open, wait_until
from tests.messages import says
from tests.postgres import OWNER, RUNTIME, Server, start_server
from tests.runner import finish as run
from tests.test_stores import message

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(
        PROGRAM is None, reason="no PgBouncer is installed (Debian: apt install pgbouncer)"
    ),
]

#: Roles without settings, and with the search path alone.
BARE, PATIENT = "bare", "patient"
#: What docs/scaling.md tells an operator to set.
_INI = """
pool_mode = transaction
ignore_startup_parameters = options
query_wait_timeout = 2
"""
#: The same for the role.
_ROLE = (
    "ALTER ROLE {role} SET search_path = scenarioctl",
    "ALTER ROLE {role} SET statement_timeout = '30s'",
    "ALTER ROLE {role} SET idle_in_transaction_session_timeout = '5s'",
)


@dataclass
class Bouncer:
    """A PgBouncer before a server of its own; a database there has our tables."""

    server: Server
    folder: Path
    port: int

    def url(self, database: str = "pooled", *, user: str = RUNTIME) -> str:
        return f"postgresql://{user}:{self.server.password}@127.0.0.1:{self.port}/{database}"


@contextmanager
def start_bouncer(server: Server, ini: str) -> Iterator[Bouncer]:
    folder = server.folder / f"bouncer{len(list(server.folder.glob('bouncer*')))}"
    folder.mkdir()
    port = free_port()
    users = "".join(f'"{role}" "{server.password}"\n' for role in (OWNER, RUNTIME, BARE, PATIENT))
    (folder / "users").write_text(users)
    (folder / "pgbouncer.ini").write_text(
        f"[databases]\n* = host=127.0.0.1 port={server.port}\n[pgbouncer]\nlisten_addr = "
        "127.0.0.1\n"
        f"listen_port = {port}\nunix_socket_dir =\nauth_type = scram-sha-256\nauth_file = "
        f"{folder / 'users'}\n"
        f"logfile = {folder / 'log'}\ndefault_pool_size = 4\nserver_login_retry = 1\n{ini}"
    )
    root = os.geteuid() == 0
    if root:
        entry = pwd.getpwnam("postgres")
        for path in (folder, *folder.iterdir()):
            os.chown(path, entry.pw_uid, entry.pw_gid)
    assert PROGRAM is not None
    process = subprocess.Popen(
        [PROGRAM, folder / "pgbouncer.ini"],
        user="postgres" if root else None,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        extra_groups=[] if root else None,
    )
    try:
        wait_until(lambda: is_open(port))
        yield Bouncer(server=server, folder=folder, port=port)
    finally:
        process.kill()
        process.wait(30)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = start_server()
    run(create_store(server.create_database("pooled"), grant=RUNTIME))
    for role in (BARE, PATIENT):
        server.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{server.password}' IN ROLE {RUNTIME}")
    server.execute(f"ALTER ROLE {PATIENT} SET search_path = scenarioctl")
    yield server
    server.remove()


@pytest.fixture(scope="module")
def bouncer(server: Server) -> Iterator[Bouncer]:
    """As the guide says."""
    for statement in _ROLE:
        server.execute(statement.format(role=RUNTIME))
    with start_bouncer(server, _INI) as bouncer:
        yield bouncer


@pytest.fixture
def store(bouncer: Bouncer) -> Iterator[PostgresStore]:
    store = PostgresStore(ServerSettings(url=bouncer.url(), pool=8, role="api"))
    yield store
    run(store.close())


def test_connections_have_the_settings_of_the_role(bouncer: Bouncer, store: PostgresStore) -> None:
    async def ask(connection: Connection) -> list[Any]:
        names = ("search_path", "statement_timeout", "idle_in_transaction_session_timeout")
        found = [
            await (await connection.execute("SELECT current_setting(%s)", (name,))).fetchone()
            for name in names
        ]
        return [row[0] for row in found if row]

    assert run(store._read(ask)) == ["scenarioctl", "30s", "5s"]
    assert not [
        finding for finding in run(store.inspect(time.time_ns)).findings if "PgBouncer" in finding
    ]


def test_a_daemon_runs_jobs_and_streams_them(bouncer: Bouncer, tmp_path: Path) -> None:
    variables = {"SCENARIOCTL_STORE": bouncer.url()}
    with daemon(tmp_path / "home", "--offline", variables=variables) as running:
        made = [
            running.ask("/api/create/remark", {"chain": "polkadot", "text": f"hello {number}"})[1][
                "result"
            ]
            for number in range(12)
        ]
        for id in made:
            assert running.ask("/job/start", {"id": id, "every": "1s"})[0] == 200
        with closing(HTTPConnection("127.0.0.1", running.port(), timeout=30)) as stream:
            stream.request("GET", "/job/events")
            lines = stream.getresponse()
            drafted: Counter[str] = Counter()
            while len(drafted) < 12 or min(drafted.values()) < 3:
                if (line := lines.readline()).startswith(b"event: mempool"):
                    drafted[
                        json.loads((lines.readline(), lines.readline())[1][len("data: ") :])["id"]
                    ] += 1
                assert line
        assert "ERROR" not in running.log
        assert "Traceback" not in running.log
        assert running.ask("/readyz")[0] == 200


class TestThatIsNotSetUp:
    """Each is one sentence that says what to set."""

    def test_that_refuses_options(self, server: Server) -> None:
        with start_bouncer(server, "pool_mode = transaction\n") as strict:
            store = PostgresStore(ServerSettings(url=strict.url()))

            assert message(StoreUnavailable, store.count_scenarios()) == says(
                "unsupported startup parameter: options", port=strict.port
            )

    def test_a_role_without_a_search_path(self, bouncer: Bouncer) -> None:
        store = PostgresStore(ServerSettings(url=bouncer.url(user=BARE)))

        assert message(StoreFailed, store.count_scenarios()) == says(
            "search_path", port=bouncer.port
        )
        run(store.close())

    def test_a_role_whose_transactions_never_time_out(self, bouncer: Bouncer) -> None:
        store = PostgresStore(ServerSettings(url=bouncer.url(user=PATIENT)))

        (said,) = [
            each for each in run(store.inspect(time.time_ns)).findings if "PgBouncer" in each
        ]
        assert said == says("idle_in_transaction_session_timeout")
        run(store.close())
