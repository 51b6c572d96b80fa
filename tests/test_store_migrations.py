"""Tables of a store brought to a newer version, while daemons of the older one run."""

import asyncio
import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest

from scenarioctl.errors import StoreBusy, StoreFailed
from scenarioctl.stores import Migrated, create_store, migrate_store, open_store
from scenarioctl.stores.postgres import administration, connections, inspection, migrating, schema
from scenarioctl.stores.postgres.connections import ServerSettings
from scenarioctl.stores.postgres.schema import Migration, needed_version
from scenarioctl.stores.postgres.store import PostgresStore
from tests.conftest import Run
from tests.messages import says
from tests.postgres import OWNER, RUNTIME, shared_server
from tests.runner import finish as run
from tests.test_stores import FIRST, SECOND, message

ADD = Migration(statements=("ALTER TABLE scenarios ADD COLUMN note text NOT NULL DEFAULT ''",), compatible=1)
REMOVE = Migration(statements=("ALTER TABLE scenarios DROP COLUMN summary",), compatible=2)
ENGINE = ("CREATE TABLE engine_more (id integer)", "DROP TABLE engine_more")


@pytest.fixture
def url() -> Iterator[str]:
    """Return the owner's address of a database with tables of our version, which the test may change."""
    server = shared_server()
    url = server.create_database("migrated")
    run(create_store(url, grant=RUNTIME))
    yield url
    server.execute("DROP DATABASE migrated WITH (FORCE)")


@contextmanager
def program_with(*migrations: Migration, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Be a newer program, with *migrations* after those of today."""
    all = (*schema.MIGRATIONS, *migrations)
    with monkeypatch.context() as patched:
        patched.setattr(schema, "MIGRATIONS", all)
        patched.setattr(inspection, "VERSION", len(all))
        patched.setattr(connections, "VERSION", len(all))
        patched.setattr(connections, "NEEDED", needed_version(all))
        yield


def meta() -> tuple[int, int, str]:
    (row,) = shared_server().execute(
        "SELECT version, compatible, engine FROM scenarioctl.meta", database="migrated"
    )
    version, compatible, engine = row
    return version, compatible, engine


def count(url: str) -> int:
    store = PostgresStore(ServerSettings(url=url))
    try:
        return run(store.count_scenarios())
    finally:
        run(store.close())


class TestOurs:
    def test_nothing_to_do(self, url: str) -> None:
        assert run(migrate_store(url)) == Migrated(version=1, newest=1, applied=())

    def test_what_only_adds_is_done_while_older_daemons_run(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        older = PostgresStore(ServerSettings(url=shared_server().url("migrated", user=RUNTIME), pool=2))
        run(older.put_scenario(FIRST))
        with program_with(ADD, monkeypatch=monkeypatch):
            assert message(StoreFailed, _counting(url)) == says("version 1", "version 2", "store migrate")
            assert run(migrate_store(url)) == Migrated(version=2, newest=2, applied=("version 2",))
            assert run(migrate_store(url)) == Migrated(version=2, newest=2, applied=())
            assert count(url) == 1
        run(older.put_scenario(SECOND))

        assert run(older.get_scenario(FIRST.id)) == FIRST
        run(older.close())
        # Also one that is started now.
        assert count(shared_server().url("migrated", user=RUNTIME)) == 2

    def test_what_older_daemons_need_is_removed_when_the_operator_says_so(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with program_with(ADD, REMOVE, monkeypatch=monkeypatch):
            first = run(migrate_store(url))
            assert first == Migrated(version=2, newest=3, applied=("version 2",), waiting=("version 3",))
            # A second time too: nobody has said that the older daemons have gone.
            assert run(migrate_store(url)).waiting == ("version 3",)
            # The newer program doesn't need the removal.
            assert count(url) == 0
            assert run(migrate_store(url, contract=True)).applied == ("version 3",)
            assert meta()[:2] == (3, 2)

        assert message(StoreFailed, _counting(url)) == says("version 3", "newer")
        assert message(StoreFailed, migrate_store(url)) == says("version 3", "newer")

    def test_of_two_at_once_one_does_it(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        async def both() -> tuple[Migrated, Migrated]:
            return await asyncio.gather(migrate_store(url), migrate_store(url))

        with program_with(ADD, monkeypatch=monkeypatch):
            assert sorted(done.applied for done in run(both())) == [(), ("version 2",)]

    def test_a_check_says_what_to_do(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        with program_with(REMOVE, monkeypatch=monkeypatch):
            store = PostgresStore(ServerSettings(url=url))
            found = run(store.inspect(time.time_ns))
            run(store.close())

        assert found.findings[0] == says("version 1", "store migrate")

    def test_an_entry_that_fails_changes_nothing(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        broken = Migration(statements=(*ADD.statements, "SELECT 1 / 0"), compatible=1)
        with program_with(broken, monkeypatch=monkeypatch), pytest.raises(psycopg.errors.DivisionByZero):
            run(migrate_store(url))
        assert meta()[:2] == (1, 1)

        with program_with(ADD, monkeypatch=monkeypatch):
            assert run(migrate_store(url)).version == 2

    def test_it_gives_up_if_a_transaction_uses_the_table_for_long(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(migrating, "_LOCK_TIMEOUT", "20ms")
        with psycopg.connect(url) as other, program_with(ADD, monkeypatch=monkeypatch):
            other.execute("SELECT FROM scenarioctl.scenarios")
            assert message(StoreBusy, migrate_store(url)) == says("locked", "try again")
        assert meta()[:2] == (1, 1)

    def test_a_role_that_does_not_own_the_tables(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        runtime = shared_server().url("migrated", user=RUNTIME)

        assert run(migrate_store(runtime)).applied == ()
        with program_with(ADD, monkeypatch=monkeypatch):
            assert message(StoreFailed, migrate_store(runtime)) == says("role", "owns")

    def test_a_database_without_tables(self) -> None:
        assert message(StoreFailed, migrate_store(shared_server().url("postgres", user=OWNER))) == says(
            "store init"
        )

    def test_the_version_that_a_program_needs(self) -> None:
        first = Migration(statements=(), compatible=1)

        assert needed_version([first]) == 1
        assert needed_version([first, ADD]) == 2
        assert needed_version([first, ADD, REMOVE]) == 2
        assert needed_version([first, ADD, REMOVE, REMOVE]) == 4


async def _counting(url: str) -> int:
    store = PostgresStore(ServerSettings(url=url))
    try:
        return await store.count_scenarios()
    finally:
        await store.close()


class TestTheEngines:
    @pytest.fixture(autouse=True)
    def _newer(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """Be a program with a newer engine."""
        names = ("99.00.00_01_pre_more", "99.00.00_50_post_more")
        for name, statement in zip(names, ENGINE, strict=True):
            (tmp_path / f"{name}.sql").write_text(statement)
        paths = [*administration.engine_migrations(), *(tmp_path / f"{name}.sql" for name in names)]
        monkeypatch.setattr(migrating, "engine_migrations", lambda: paths)

    def test_those_for_after_the_upgrade_wait(self, url: str) -> None:
        done = run(migrate_store(url))
        assert done.applied == ("procrastinate 99.00.00_01_pre_more",)
        assert done.waiting == ("procrastinate 99.00.00_50_post_more",)
        assert meta()[2] == "99.00.00_01_pre_more"

        assert run(migrate_store(url, contract=True)).applied == ("procrastinate 99.00.00_50_post_more",)
        assert run(migrate_store(url)) == Migrated(version=1, newest=1, applied=())

    def test_the_command_says_what_waits(self, url: str, scenarioctl: Run) -> None:
        done = scenarioctl("--store", url, "store", "migrate")
        told = scenarioctl("--store", url, "--json", "store", "migrate", "--contract")
        again = scenarioctl("--store", url, "store", "migrate")

        assert done.out == "procrastinate 99.00.00_01_pre_more\n"
        assert done.err == says("50_post", "--contract").within("{}\n")
        assert json.loads(told.out)["applied"] == ["procrastinate 99.00.00_50_post_more"]
        assert (again.out, again.err) == ("", says("version 1").within("{}\n"))


class TestFiles:
    def test_a_file_is_migrated(self, scenarioctl: Run, tmp_path: Path) -> None:
        path = tmp_path / "scenarios.db"
        run(open_store(path).close())
        # Version 5 adds only this column.
        with closing(sqlite3.connect(path)) as database:
            database.executescript(
                "ALTER TABLE leases DROP COLUMN granted;"
                "CREATE TABLE scenarios_unindexed (id TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID;"
                "PRAGMA user_version = 4;"
            )
        done = scenarioctl("--store", str(path), "store", "migrate")
        again = scenarioctl("--store", str(path), "store", "migrate")

        assert (done.code, done.out, done.err) == (0, "version 5\n", "")
        assert (again.out, again.err) == ("", says("version 5").within("{}\n"))

    def test_no_file_is_created(self, tmp_path: Path) -> None:
        path = tmp_path / "absent.db"

        assert message(StoreFailed, migrate_store(str(path))) == says("store init", store=str(path))
        assert not path.exists()
