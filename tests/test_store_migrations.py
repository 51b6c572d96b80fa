"""Tables of a store brought to a newer version, while daemons of the older one run."""

import asyncio
import json
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from uuid import RFC_4122, UUID

import procrastinate.schema
import psycopg
import pytest

from scenarioctl.errors import NotFound, StoreBusy, StoreFailed
from scenarioctl.stores import Migrated, create_store, migrate_store
from scenarioctl.stores.postgres import administration, connections, schema
from scenarioctl.stores.postgres.connections import ServerSettings
from scenarioctl.stores.postgres.schema import Migration, needed_version
from scenarioctl.stores.postgres.store import PostgresStore
from scenarioctl.stores.sqlite import database_file
from scenarioctl.stores.sqlite.database_file import MIGRATIONS
from scenarioctl.stores.sqlite.store import SqliteStore
from tests.conftest import Run
from tests.daemons import PATIENCE, wait_until
from tests.messages import says
from tests.postgres import OWNER, RUNTIME, shared_server
from tests.runner import finish as run
from tests.test_missing_approvals import KEY, NOTICE, READING
from tests.test_store_jobs import JOB, WEBHOOK
from tests.test_stores import FIRST, SECOND, all_pages, message, tell_words

#: The version of the tables today, and what messages call it and those after it.
TODAY = len(schema.MIGRATIONS)
OURS, NEXT, LAST = (f"version {TODAY + number}" for number in range(3))

ADD = Migration(
    statements=("ALTER TABLE scenarios ADD COLUMN note text NOT NULL DEFAULT ''",), compatible=1
)
REMOVE = Migration(statements=("ALTER TABLE scenarios DROP COLUMN summary",), compatible=TODAY + 1)
INDEX = Migration(index=("scenarios_by_size", "ON scenarios (size)"), compatible=1)
ENGINE = ("CREATE TABLE engine_more (id integer)", "DROP TABLE engine_more")


@pytest.fixture
def url() -> Iterator[str]:
    """Return the owner's address of a database with tables of our version, which the test may
    change."""
    server = shared_server()
    url = server.create_database("migrated")
    run(create_store(url, grant=RUNTIME))
    yield url
    server.execute("DROP DATABASE migrated WITH (FORCE)")


#: The migrations of the engine that is installed.
OLDER = schema.engine_migrations()


@contextmanager
def installed(paths: list[Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have the engine installed that brings these migrations."""
    with monkeypatch.context() as patched:
        for module in (schema, administration):
            patched.setattr(module, "engine_migrations", lambda: paths)
        schema.installed_engine.cache_clear()
        yield
    schema.installed_engine.cache_clear()


@contextmanager
def program_with(*migrations: Migration, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Be a newer program, with *migrations* after those of today."""
    all = (*schema.MIGRATIONS, *migrations)
    with monkeypatch.context() as patched:
        patched.setattr(schema, "MIGRATIONS", all)
        patched.setattr(administration, "MIGRATIONS", all)
        patched.setattr(administration, "VERSION", len(all))
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
    return run(_counting(url))


def findings(url: str) -> tuple[str, ...]:
    store = PostgresStore(ServerSettings(url=url))
    try:
        return run(store.inspect(time.time_ns)).findings
    finally:
        run(store.close())


async def _counting(url: str, *, pool: int = 0) -> int:
    """Open the store as a command does, or with *pool* as a daemon, and ask it something."""
    store = PostgresStore(ServerSettings(url=url, pool=pool))
    try:
        return await store.count_scenarios()
    finally:
        await store.close()


class TestOurs:
    def test_nothing_to_do(self, url: str) -> None:
        assert run(migrate_store(url)) == Migrated(version=TODAY, newest=TODAY, applied=())

    def test_what_only_adds_is_done_while_older_daemons_run(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        older = PostgresStore(
            ServerSettings(url=shared_server().url("migrated", user=RUNTIME), pool=2)
        )
        run(older.put_scenario(FIRST))
        with program_with(ADD, monkeypatch=monkeypatch):
            assert message(StoreFailed, _counting(url)) == says(
                "store migrate", ours=OURS, newer=NEXT
            )
            assert run(migrate_store(url)) == Migrated(
                version=TODAY + 1, newest=TODAY + 1, applied=(NEXT,)
            )
            assert run(migrate_store(url)) == Migrated(
                version=TODAY + 1, newest=TODAY + 1, applied=()
            )
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
            assert first == Migrated(
                version=TODAY + 1, newest=TODAY + 2, applied=(NEXT,), waiting=(LAST,)
            )
            # A second time too: nobody has said that the older daemons have gone.
            assert run(migrate_store(url)).waiting == (LAST,)
            # The newer program doesn't need the removal.
            assert count(url) == 0
            assert run(migrate_store(url, contract=True)).applied == (LAST,)
            assert meta()[:2] == (TODAY + 2, TODAY + 1)

        assert message(StoreFailed, _counting(url)) == says("newer", ours=OURS, newer=LAST)
        assert message(StoreFailed, migrate_store(url)) == says("newer", ours=OURS, newer=LAST)

    def test_of_two_at_once_one_does_it(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        async def both() -> tuple[Migrated, Migrated]:
            return await asyncio.gather(migrate_store(url), migrate_store(url))

        with program_with(ADD, monkeypatch=monkeypatch):
            assert sorted(done.applied for done in run(both())) == [(), (NEXT,)]

    def test_what_is_needed_may_wait_behind_a_removal(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with program_with(REMOVE, replace(ADD, compatible=TODAY + 1), monkeypatch=monkeypatch):
            done = run(migrate_store(url))
            assert (done.waiting, done.is_usable) == ((NEXT, LAST), False)
            assert message(StoreFailed, _counting(url)) == says(
                "store migrate", ours=OURS, newer=LAST
            )
            done = run(migrate_store(url, contract=True))
            assert (done.applied, done.is_usable) == ((NEXT, LAST), True)

    def test_a_check_says_what_to_do(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        with program_with(ADD, REMOVE, monkeypatch=monkeypatch):
            run(migrate_store(url))
            assert findings(url)[0] == says("--contract", last=LAST)

    def test_an_entry_that_fails_changes_nothing(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        broken = Migration(statements=(*ADD.statements, "SELECT 1 / 0"), compatible=1)
        with (
            program_with(broken, monkeypatch=monkeypatch),
            pytest.raises(psycopg.errors.DivisionByZero),
        ):
            run(migrate_store(url))
        assert meta()[:2] == (TODAY, 1)

        with program_with(ADD, monkeypatch=monkeypatch):
            assert run(migrate_store(url)).version == TODAY + 1

    def test_it_waits_for_a_transaction_that_uses_the_table(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(administration, "_LOCK_TIMEOUT", "20ms")
        monkeypatch.setattr(administration, "_RETRY_PAUSE", 0.02)
        # However long the others take below.
        monkeypatch.setattr(administration, "_ATTEMPTS", 10_000)
        older = PostgresStore(ServerSettings(url=shared_server().url("migrated", user=RUNTIME)))
        run(older.count_scenarios())

        async def meanwhile() -> Migrated:
            async with await psycopg.AsyncConnection.connect(url) as other:
                await other.execute("SELECT FROM scenarioctl.scenarios")
                migrated = asyncio.create_task(migrate_store(url))
                await asyncio.sleep(0.2)
                assert not migrated.done()
                # Others don't wait behind it.
                assert await asyncio.wait_for(older.count_scenarios(), PATIENCE) == 0
                await asyncio.wait_for(older.put_scenario(FIRST), PATIENCE)
            return await migrated

        with program_with(ADD, monkeypatch=monkeypatch):
            assert run(meanwhile()).applied == (NEXT,)
        run(older.close())

    def test_it_gives_up_if_a_transaction_uses_the_table_for_long(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(administration, "_LOCK_TIMEOUT", "20ms")
        monkeypatch.setattr(administration, "_RETRY_PAUSE", 0.0)
        with psycopg.connect(url) as other, program_with(ADD, monkeypatch=monkeypatch):
            other.execute("SELECT FROM scenarioctl.scenarios")
            assert message(StoreBusy, migrate_store(url)) == says("pg_stat_activity", newer=NEXT)
        assert meta()[:2] == (TODAY, 1)

    def test_a_role_that_does_not_own_the_tables(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        runtime = shared_server().url("migrated", user=RUNTIME)

        assert run(migrate_store(runtime)).applied == ()
        with program_with(ADD, monkeypatch=monkeypatch):
            assert message(StoreFailed, migrate_store(runtime)) == says("role", "owns")

    def test_a_database_without_tables(self) -> None:
        assert message(
            StoreFailed, migrate_store(shared_server().url("postgres", user=OWNER))
        ) == says("store init")

    def test_the_version_that_a_program_needs(self) -> None:
        first = Migration(statements=(), compatible=1)

        assert needed_version([first]) == 1
        assert needed_version([first, ADD]) == 2
        assert needed_version([first, ADD, REMOVE]) == 2
        assert needed_version([first, ADD, REMOVE, REMOVE]) == 4


#: A draft, as the version before UUIDs kept it.
_DRAFT = """
    INSERT INTO mempool (date, job, chain, amount, tx_type, node, flag, tx)
        VALUES (1, 'job', 'polkadot', '0', 'Remark', '1', '', '0x00'), (1, 'job', 'polkadot', '0', 'Remark', '1', '', '0x00')
"""


def test_drafts_of_before_and_of_older_daemons_get_a_uuid(monkeypatch: pytest.MonkeyPatch) -> None:
    server = shared_server()
    url = server.create_database("migrated")
    with monkeypatch.context() as patched:
        older = schema.MIGRATIONS[:18]
        patched.setattr(administration, "MIGRATIONS", older)
        patched.setattr(administration, "VERSION", len(older))
        run(create_store(url, grant=RUNTIME))
    insert = _DRAFT.replace("mempool", "scenarioctl.mempool")
    server.execute(insert, database="migrated")
    run(migrate_store(url))
    server.execute(insert, database="migrated")
    found = server.execute("SELECT uuid, occurrence FROM scenarioctl.mempool", database="migrated")
    server.execute("DROP DATABASE migrated WITH (FORCE)")

    assert len({UUID(uuid) for uuid, _ in found}) == 4
    assert {occurrence for _, occurrence in found} == {None}


class TestIndexes:
    """An entry that builds an index of a large table, outside a transaction."""

    def test_others_write_meanwhile(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        store = PostgresStore(ServerSettings(url=shared_server().url("migrated", user=RUNTIME)))
        run(store.count_scenarios())

        async def meanwhile() -> Migrated:
            async with await psycopg.AsyncConnection.connect(url) as other:
                # The index waits for this transaction, and writers don't wait for the index.
                await other.execute("LOCK TABLE scenarioctl.scenarios IN ROW EXCLUSIVE MODE")
                migrated = asyncio.create_task(migrate_store(url))
                await asyncio.sleep(0.3)
                await asyncio.wait_for(store.put_scenario(FIRST), PATIENCE)
                assert not migrated.done()
            return await migrated

        with program_with(INDEX, monkeypatch=monkeypatch):
            assert run(meanwhile()).applied == (NEXT,)
        run(store.close())
        assert is_valid("scenarios_by_size")

    def test_an_attempt_that_failed_is_repeated(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with (
            psycopg.connect(url) as writer,
            psycopg.connect(url, autocommit=True) as other,
            ThreadPoolExecutor(1) as threads,
        ):
            writer.execute("LOCK TABLE scenarioctl.scenarios IN ROW EXCLUSIVE MODE")
            other.execute("SET search_path = scenarioctl")
            built = threads.submit(
                other.execute, "CREATE INDEX CONCURRENTLY scenarios_by_size ON scenarios (size)"
            )
            # It is there, and waits for the writer.
            wait_until(lambda: is_there("scenarios_by_size"))
            other.cancel()
            with pytest.raises(psycopg.errors.QueryCanceled):
                built.result()
        assert not is_valid("scenarios_by_size")
        with program_with(INDEX, monkeypatch=monkeypatch):
            assert run(migrate_store(url)).version == TODAY + 1

        assert is_valid("scenarios_by_size")
        assert meta()[:2] == (TODAY + 1, 1)

    def test_of_two_at_once_one_builds_it(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        async def all() -> tuple[Migrated, Migrated, bool]:
            # Each waits for the lock; that must not keep the index from being built.
            return await asyncio.gather(migrate_store(url), migrate_store(url), create_store(url))

        with program_with(INDEX, monkeypatch=monkeypatch):
            *migrated, created = run(all())
        assert sorted(done.applied for done in migrated) == [(), (NEXT,)]
        assert created is False

    def test_new_tables_have_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        server = shared_server()
        fresh = server.create_database("fresh")
        with program_with(INDEX, monkeypatch=monkeypatch):
            run(create_store(fresh))
            assert run(migrate_store(fresh)) == Migrated(
                version=TODAY + 1, newest=TODAY + 1, applied=()
            )
        assert is_valid("scenarios_by_size", database="fresh")
        server.execute("DROP DATABASE fresh WITH (FORCE)")


def is_there(index: str) -> bool:
    ((oid,),) = shared_server().execute(
        f"SELECT to_regclass('scenarioctl.{index}')", database="migrated"
    )
    return oid is not None


def is_valid(index: str, *, database: str = "migrated") -> bool:
    ((valid,),) = shared_server().execute(
        f"SELECT indisvalid FROM pg_index WHERE indexrelid = 'scenarioctl.{index}'::regclass",
        database=database,
    )
    return bool(valid)


class TestTheEngines:
    @pytest.fixture(autouse=True)
    def _newer(self, url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
        """Be a program with a newer engine than that of the tables."""
        names = ("99.00.00_01_pre_more", "99.00.00_50_post_more")
        for name, statement in zip(names, ENGINE, strict=True):
            (tmp_path / f"{name}.sql").write_text(statement)
        paths = [*schema.engine_migrations(), *(tmp_path / f"{name}.sql" for name in names)]
        with installed(paths, monkeypatch):
            yield

    def test_those_for_after_the_upgrade_wait(self, url: str) -> None:
        done = run(migrate_store(url))
        assert done.applied == ("procrastinate 99.00.00_01_pre_more",)
        assert done.waiting == ("procrastinate 99.00.00_50_post_more",)
        assert meta()[2] == "99.00.00_01_pre_more"

        assert run(migrate_store(url, contract=True)).applied == (
            "procrastinate 99.00.00_50_post_more",
        )
        assert run(migrate_store(url)) == Migrated(version=TODAY, newest=TODAY, applied=())

    def test_a_daemon_says_that_it_is_too_new_or_too_old(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert message(StoreFailed, _counting(url, pool=2)) == says(
            "99.00.00_01_pre", "store migrate"
        )
        assert findings(url)[0] == says("99.00.00_01_pre", "store migrate")
        # A command that needs no engine.
        assert count(url) == 0
        run(migrate_store(url))
        assert run(_counting(url, pool=2)) == 0
        assert findings(url)[0] == says("99.00.00_50_post", "--contract")

        with installed(OLDER, monkeypatch):
            # What was only added doesn't disturb an older one.
            assert run(_counting(url, pool=2)) == 0
        run(migrate_store(url, contract=True))
        assert run(_counting(url, pool=2)) == 0
        with installed(OLDER, monkeypatch):
            assert message(StoreFailed, _counting(url, pool=2)) == says(
                "99.00.00_50_post", "upgrade"
            )
            assert findings(url)[0] == says("99.00.00_50_post", "upgrade")

    def test_the_command_says_what_waits(self, url: str, scenarioctl: Run) -> None:
        done = scenarioctl("--store", url, "store", "migrate")
        told = scenarioctl("--store", url, "--json", "store", "migrate", "--contract")
        again = scenarioctl("--store", url, "store", "migrate")

        assert done.out == "procrastinate 99.00.00_01_pre_more\n"
        assert done.err == says("50_post", "--contract").within("{}\n")
        assert json.loads(told.out)["applied"] == ["procrastinate 99.00.00_50_post_more"]
        assert (again.out, again.err) == ("", says("Nothing to do", ours=OURS).within("{}\n"))


class TestOlderTablesOfTheEngine:
    """The real migrations of procrastinate, over the tables that its version 3.1 made."""

    NEWEST = "03.01.00_50_post_add_heartbeat"

    @pytest.fixture
    def older(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
        paths = [path for path in OLDER if path.stem <= self.NEWEST]
        server = shared_server()
        url = server.create_database("migrated")
        options = "-c search_path=scenarioctl"
        with psycopg.connect(url, options=options, autocommit=True) as owner:
            owner.execute("CREATE SCHEMA scenarioctl")
            for path in paths:
                owner.execute(path.read_bytes())
        with installed(paths, monkeypatch), monkeypatch.context() as patched:
            patched.setattr(procrastinate.schema.SchemaManager, "get_schema", lambda: "SELECT")
            run(create_store(url, grant=RUNTIME))
        yield url
        server.execute("DROP DATABASE migrated WITH (FORCE)")

    def test_they_become_those_of_today(self, older: str, scenarioctl: Run) -> None:
        assert message(StoreFailed, _counting(older, pool=2)) == says("03.01.00", "store migrate")
        first = scenarioctl("--store", older, "store", "migrate")
        second = scenarioctl("--store", older, "store", "migrate", "--contract")

        assert first.out == "procrastinate 03.02.00_01_pre_batch_defer_jobs\n"
        # The next one removes, and this procrastinate needs those behind it.
        assert first.err == says("03.02.00_50_post", "Stop all daemons").within("{}\n")
        assert len(second.out.splitlines()) == 4
        assert run(_counting(older, pool=2)) == 0
        fresh = shared_server().create_database("today")
        run(create_store(fresh))
        assert objects("migrated") == objects("today")
        shared_server().execute("DROP DATABASE today WITH (FORCE)")

    def test_a_command_that_needs_them(self, older: str) -> None:
        store = PostgresStore(ServerSettings(url=older))
        run(store.put_scenario(FIRST))
        words = message(StoreFailed, store.start_job(replace(JOB, id=FIRST.id)))
        run(store.close())

        assert words == says("procrastinate", "store check")


def objects(database: str) -> set[tuple[str, ...]]:
    """Return the names of all that is in our schema."""
    found = shared_server().execute(
        r"""
        SELECT 'column', table_name, column_name, data_type, column_default FROM information_schema.columns
            WHERE table_schema = 'scenarioctl'
        UNION ALL SELECT 'index', tablename, indexdef, '', '' FROM pg_indexes WHERE schemaname = 'scenarioctl'
        UNION ALL SELECT 'trigger', tgrelid::regclass::text, pg_get_triggerdef(oid), '', '' FROM pg_trigger WHERE NOT tgisinternal
        UNION ALL SELECT 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid), '' FROM pg_constraint
            WHERE connamespace = 'scenarioctl'::regnamespace
        UNION ALL SELECT 'function', proname, pg_get_function_identity_arguments(oid), md5(regexp_replace(prosrc, '\s+', '', 'g')), ''
            FROM pg_proc WHERE pronamespace = 'scenarioctl'::regnamespace AND prokind = 'f'
            AND proname LIKE 'procrastinate%'
        """,
        database=database,
    )
    return set(found)


def older_file(path: Path, version: int, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Create a file with the tables of an older *version*, and run *script* on it."""
    with monkeypatch.context() as patched:
        patched.setattr(database_file, "MIGRATIONS", MIGRATIONS[:version])
        run(SqliteStore(path).close())
    with closing(sqlite3.connect(path)) as database:
        database.executescript(f"PRAGMA foreign_keys = ON; {script}")


#: Scenarios, as version 12 kept them.
BESIDE = f"""
    INSERT INTO scenarios (seq, id, summary, created, updated, size, blob, digest) VALUES
        (3, '{FIRST.id}', 'first', 5, 6, 1, x'01', x'aa'), (7, '{SECOND.id}', 'second', 4, 4, 1, x'02', NULL),
        (9, 'odd', 'damaged', 'then', 4, 1, x'03', NULL);
    INSERT INTO chains_of_scenarios (chain, created, scenario) VALUES
        ('polkadot', 5, 3), ('assetHub', 5, 3), ('hydraDx', 4, 7), (x'6b', 'then', 9);
    INSERT INTO scenario_names (scenario, name) VALUES (3, 'Löhne');
    INSERT INTO scenario_tags (tag, scenario) VALUES ('rent', 3), ('dao', 3), ('dao', 7);
    INSERT INTO scenario_webhooks (uuid, scenario) VALUES ('{WEBHOOK}', '{FIRST.id}'), ('6f1c', '{FIRST.id}');
    INSERT INTO jobs (id, state, due, owner, epoch, begun, changed, runs, failures, step, reason, schedule)
        VALUES ('{FIRST.id}', 'stopped', NULL, '', 1, 0, 1, 0, 0, '', '', '{{"every": 1}}');
    INSERT INTO log_lines (job, written, text) VALUES ('{FIRST.id}', 1, 'kept');
"""

#: The last version whose notifications belong to jobs.
WITHOUT_OPERATIONS = 23


class TestFiles:
    def test_names_tags_chains_and_webhooks_become_columns(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "scenarios.db"
        older_file(path, 12, BESIDE, monkeypatch)
        store = SqliteStore(path)

        first = run(store.get_scenario(FIRST.id))
        assert (
            first.name,
            first.chains,
            first.tags,
            first.webhooks,
            first.created,
            first.blob,
        ) == (
            "Löhne",
            ("assetHub", "polkadot"),
            ("dao", "rent"),
            ("6f1c", WEBHOOK),
            5,
            b"\x01",
        )
        second = run(store.get_scenario(SECOND.id))
        assert (second.name, second.chains, second.tags, second.webhooks) == (
            "",
            ("hydraDx",),
            ("dao",),
            (),
        )
        assert run(store.list_scenarios()).damaged == ("odd",)
        assert all_pages(store, tag="dao", limit=1) == [SECOND.id, FIRST.id]
        tell_words(store)
        assert all_pages(store, search="LÖHNE") == all_pages(store, chain="polkadot") == [FIRST.id]
        assert [run(store.count_scenarios(chain)) for chain in ("", "polkadot", "hydraDx")] == [
            3,
            1,
            1,
        ]
        run(store.check_webhook(WEBHOOK))
        assert [line.text for line in run(store.read_log(FIRST.id))] == ["kept"]
        assert run(store.keep_scenario(replace(SECOND, id="twin", digest=b"\xaa"))) == FIRST.id
        assert store._database.execute("PRAGMA foreign_key_check").fetchall() == []
        run(store.delete_scenario("odd"))
        run(store.delete_scenario(FIRST.id))
        assert run(store.get_job(SECOND.id)) is None
        assert all_pages(store, tag="dao") == [SECOND.id]
        assert [run(store.count_scenarios(chain)) for chain in ("", "polkadot", "k")] == [1, 0, 0]
        assert message(NotFound, store.check_webhook(WEBHOOK)) == says("webhook")
        run(store.close())

    def test_a_file_is_migrated(
        self, scenarioctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "scenarios.db"
        older_file(path, 4, "", monkeypatch)
        done = scenarioctl("--store", str(path), "store", "migrate")
        again = scenarioctl("--store", str(path), "store", "migrate")

        assert (done.code, done.out, done.err) == (
            0,
            "".join(f"version {each}\n" for each in range(5, len(MIGRATIONS) + 1)),
            "",
        )
        assert (again.out, again.err) == (
            "",
            says("Nothing to do", ours=f"version {len(MIGRATIONS)}").within("{}\n"),
        )

    def test_drafts_get_a_uuid(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "scenarios.db"
        older_file(path, 14, f"PRAGMA foreign_keys = OFF; {_DRAFT}", monkeypatch)
        store = SqliteStore(path)
        drafts = [UUID(entry.draft.uuid) for entry in run(store.read_mempool(None))]
        run(store.close())

        assert len(set(drafts)) == 2
        assert {(uuid.version, uuid.variant) for uuid in drafts} == {(4, RFC_4122)}

    @pytest.mark.parametrize("delivered", [7, 8], ids=["one waits", "none waits"])
    def test_notifications_need_no_job_and_numbers_are_not_given_twice(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, delivered: int
    ) -> None:
        path = tmp_path / "scenarios.db"
        waiting = ", ".join(
            (
                f"({seq}, 'msg_{seq}', '{FIRST.id}', 'run_failed', 1, 1, 0, 'json', "
                "'https://x.org', '[]', 'why', '')"
            )
            for seq in (7, 8)
        )
        script = f"""
            PRAGMA foreign_keys = OFF;
            INSERT INTO notifications VALUES {waiting};
            DELETE FROM notifications WHERE seq <= {delivered};
        """
        older_file(path, WITHOUT_OPERATIONS, script, monkeypatch)
        store = SqliteStore(path)
        run(store.multisig_readings().put(READING, {KEY: [NOTICE]}))

        found = run(store.outbox().claim(now=9, until=9, limit=9))
        run(store.close())

        assert [(each.seq, each.operation) for each in found] == [
            *((seq, None) for seq in (7, 8) if seq > delivered),
            (9, KEY),
        ]

    def test_no_file_is_created(self, tmp_path: Path) -> None:
        path = tmp_path / "absent.db"

        assert message(StoreFailed, migrate_store(str(path))) == says("store init", store=str(path))
        assert not path.exists()
