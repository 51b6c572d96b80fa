"""TLS and credentials of a store on PostgreSQL: certificates that openssl makes, and the files of
libpq in a home directory."""

import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from scenarioctl.errors import StoreUnavailable
from scenarioctl.stores import create_store
from scenarioctl.stores.postgres.connections import Connection, ServerSettings
from scenarioctl.stores.postgres.store import PostgresStore
from tests.daemons import wait_until
from tests.messages import says
from tests.postgres import RUNTIME, Server, start_server
from tests.runner import finish as run
from tests.test_stores import message

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl is installed"),
]


def make_authority(folder: Path, name: str) -> None:
    _openssl(
        *(
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
        ),
        *(
            "-subj",
            f"/CN={name}",
            "-keyout",
            f"{folder}/{name}.key",
            "-out",
            f"{folder}/{name}.crt",
        ),
    )


def make_certificate(folder: Path, name: str, *, common_name: str, hosts: str = "") -> None:
    """Make a certificate that the authority `root` has signed."""
    _openssl(
        *(
            "req",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-subj",
            f"/CN={common_name}",
        ),
        *("-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.csr"),
    )
    extension = folder / f"{name}.ext"
    extension.write_text(f"subjectAltName={hosts}\n" if hosts else "")
    _openssl(
        *(
            "x509",
            "-req",
            "-in",
            f"{folder}/{name}.csr",
            "-CA",
            f"{folder}/root.crt",
            "-CAkey",
            f"{folder}/root.key",
        ),
        *(
            "-CAcreateserial",
            "-days",
            "2",
            "-extfile",
            str(extension),
            "-out",
            f"{folder}/{name}.crt",
        ),
    )
    (folder / f"{name}.key").chmod(0o600)


def _openssl(*line: str) -> None:
    subprocess.run(["openssl", *line], check=True, capture_output=True)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    make_authority(folder, "root")
    make_authority(folder, "other")
    make_certificate(folder, "server", common_name="db.example.org", hosts="IP:127.0.0.1")
    make_certificate(folder, "client", common_name=RUNTIME)
    return folder


@pytest.fixture(scope="module")
def server(files: Path) -> Iterator[Server]:
    """A server that lets the runtime role in over TLS alone, with a password, and `certified` with
    a certificate."""
    server = start_server()
    run(create_store(server.create_database("guarded"), grant=RUNTIME))
    server.create_database("certified")
    run(create_store(server.url("certified"), grant=RUNTIME))
    data = server.folder / "data"
    for name in ("root.crt", "server.crt", "server.key"):
        path = Path(shutil.copy(files / name, data / name))
        path.chmod(0o600)
        if os.geteuid() == 0:
            owner = pwd.getpwnam("postgres")
            os.chown(path, owner.pw_uid, owner.pw_gid)
    (data / "pg_hba.conf").write_text(
        "local all all trust\nhostssl certified all 127.0.0.1/32 cert\nhostssl all all "
        "127.0.0.1/32 scram-sha-256\n"
    )
    for setting in (
        "ssl = on",
        "ssl_cert_file = 'server.crt'",
        "ssl_key_file = 'server.key'",
        "ssl_ca_file = 'root.crt'",
    ):
        server.execute(f"ALTER SYSTEM SET {setting}")
    server.execute("SELECT pg_reload_conf()")
    # It reads them a moment later.
    wait_until(lambda: server.execute("SHOW ssl") == [("on",)])
    yield server
    server.remove()


def address(server: Server, database: str = "guarded", **options: object) -> str:
    host = options.pop("host", "127.0.0.1")
    query = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in options.items())
    return f"postgresql://{RUNTIME}:{server.password}@{host}:{server.port}/{database}?{query}"


def version_of_tls(url: str) -> object:
    """Return the version with which a daemon's pool reaches the store at *url*."""
    store = PostgresStore(ServerSettings(url=url, pool=2))

    async def ask(connection: Connection) -> object:
        found = await connection.execute(
            "SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
        )
        row = await found.fetchone()
        return row[0] if row else None

    version = run(store._read(ask))
    run(store.close())
    return version


def refusal(url: str) -> str:
    return message(StoreUnavailable, PostgresStore(ServerSettings(url=url)).count_scenarios())


class TestCertificates:
    def test_a_server_whose_certificate_is_verified(self, server: Server, files: Path) -> None:
        url = address(server, sslmode="verify-full", sslrootcert=files / "root.crt")

        assert version_of_tls(url) == "TLSv1.3"

    def test_a_server_that_another_authority_should_have_signed(
        self, server: Server, files: Path
    ) -> None:
        url = address(server, sslmode="verify-full", sslrootcert=files / "other.crt")

        assert refusal(url) == says("certificate verify failed", port=server.port)

    def test_a_server_under_another_name(self, server: Server, files: Path) -> None:
        url = address(
            server, host="localhost", sslmode="verify-full", sslrootcert=files / "root.crt"
        )

        assert refusal(url) == says("certificate", "localhost", port=server.port)

    def test_no_tls_where_the_server_wants_it(self, server: Server) -> None:
        assert refusal(address(server, sslmode="disable")) == says(
            "no encryption", port=server.port
        )

    def test_a_client_with_a_certificate(self, server: Server, files: Path) -> None:
        shown: dict[str, object] = {"sslmode": "verify-full", "sslrootcert": files / "root.crt"}
        mine: dict[str, object] = {"sslcert": files / "client.crt", "sslkey": files / "client.key"}

        assert version_of_tls(address(server, "certified", **shown, **mine)) == "TLSv1.3"

    def test_a_key_that_others_can_read(self, server: Server, files: Path, tmp_path: Path) -> None:
        key = Path(shutil.copy(files / "client.key", tmp_path / "client.key"))
        key.chmod(0o644)
        url = address(
            server, "certified", sslmode="require", sslcert=files / "client.crt", sslkey=key
        )

        assert refusal(url) == says("client.key", port=server.port)


class TestHome:
    """What a user has in the home directory, as a process of its own finds it."""

    @pytest.fixture
    def home(self, server: Server, files: Path, tmp_path: Path) -> Path:
        (tmp_path / ".pg_service.conf").write_text(
            f"[scenarios]\nhost=127.0.0.1\nport={server.port}\nuser={RUNTIME}\n"
            "dbname=guarded\nsslmode=verify-full\n"
            f"sslrootcert={files / 'root.crt'}\n"
        )
        passwords = tmp_path / ".pgpass"
        passwords.write_text(f"127.0.0.1:{server.port}:*:{RUNTIME}:{server.password}\n")
        passwords.chmod(0o600)
        return tmp_path

    def call(self, home: Path, *line: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PG", "SCENARIOCTL_"))
        }
        return subprocess.run(
            [sys.executable, "-m", "scenarioctl", *line],
            env=environment | {"HOME": str(home)} | variables,
            cwd=home,
            capture_output=True,
            text=True,
        )

    @pytest.mark.parametrize(
        ("store", "variables"),
        [("postgresql://?service=scenarios", {}), ("postgresql://", {"PGSERVICE": "scenarios"})],
    )
    def test_a_service_and_the_file_of_passwords(
        self, home: Path, store: str, variables: dict[str, str]
    ) -> None:
        said = self.call(home, "--store", store, "template", "stats", "polkadot", **variables)

        assert (said.returncode, said.stderr) == (0, "")
