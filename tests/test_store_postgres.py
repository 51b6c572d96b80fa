"""What holds for the store on a PostgreSQL server alone: its connections, its roles, and what goes
wrong, in a sentence each."""

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

from scenarioctl.errors import (
    InvalidRequest,
    ScenarioctlError,
    StoreBusy,
    StoreFailed,
    StoreUnavailable,
)
from scenarioctl.model.jobs import FinishedRun, Retention
from scenarioctl.stores import create_store, events, jobs, open_store, runs, scenarios, statements
from scenarioctl.stores.asking import POSTGRES, Operation, find_all
from scenarioctl.stores.postgres import connections
from scenarioctl.stores.postgres.administration import initialize
from scenarioctl.stores.postgres.connections import Connection, ServerSettings
from scenarioctl.stores.postgres.store import PostgresStore
from scenarioctl.stores.postgres.store import _run as run_operation
from scenarioctl.stores.rows import read_cursor
from scenarioctl.stores.validation import SCHEMA_VERSION
from tests import postgres
from tests.conftest import Run
from tests.cut_network import Proxy
from tests.daemons import wait_until
from tests.messages import says
from tests.postgres import OWNER, RUNTIME, Server, shared_server, start_server
from tests.runner import finish as run
from tests.test_outbox import READY
from tests.test_store_jobs import DRAFT, JOB, NO_LIMIT, NOW, WEBHOOK, begin_due, ended
from tests.test_stores import FIRST, SECOND, fill, message

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def server() -> Server:
    return shared_server()


@contextmanager
def opened(url: str, **settings: Any) -> Iterator[PostgresStore]:
    store = PostgresStore(ServerSettings(url=url, **settings))
    yield store
    run(store.close())


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PostgresStore]:
    store = postgres.open_store(tmp_path)
    yield store
    run(store.close())


def asked(store: PostgresStore, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    async def ask(connection: Connection) -> list[tuple[Any, ...]]:
        done = await connection.execute(statement, values)
        return await done.fetchall() if done.description else []

    return run(store._read(ask))


def rows_read(store: PostgresStore, table: str, operation: Callable[[], Operation[Any]]) -> int:
    """Return how many rows of *table* the server reads for *operation*."""

    async def count(connection: Connection) -> int:
        found = await connection.execute(
            (
                "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE "
                "schemaname = 'scenarioctl' AND relname = %s"
            ),
            (table,),
        )
        row = await found.fetchone()
        return int(row[0]) if row else 0

    async def measure(connection: Connection) -> int:
        # Within a transaction, the server doesn't empty its counters.
        async with connection.transaction():
            before = await count(connection)
            await run_operation(connection, operation=operation, dialect=store.dialect)
            return await count(connection) - before

    return run(store._read(measure))


#: Without its triggers and keys, which would take minutes.
WAITING_RUNS = """
    SET search_path = scenarioctl;
    SET session_replication_role = replica;
    INSERT INTO jobs (id, state, due, planned, owner, epoch, attempts, changed, runs,
        failures, waiting, webhook, step, reason, schedule, notify, saved)
    SELECT 'job-' || number, 'running', 4102444800000000000 + number, 1, '', 1, 0, number, 0,
        0, 1, 'webhook-' || number, 'webhook', '', '{}', '', '{}'
    FROM generate_series(1, 100000) AS number
"""
#: What workers and servers ask again and again.
IDLE: list[Callable[[], Operation[Any]]] = [
    jobs.next_ring,
    partial(jobs.renew, "me", lease=10**12),
    partial(jobs.begin_due, 50, owner="me"),
    jobs.owners,
    jobs.lapsed_owners,
    jobs.list_workers,
    jobs.live_owners,
    jobs.find_trouble,
    jobs.count_by_state,
    partial(find_all, statements.COUNT_OF_STATE, state=None),
    partial(jobs.free, ["nobody"]),
    runs.drafted_for,
    partial(find_all, statements.IS_NOTIFICATION_DUE, now=1, without=[]),
    partial(find_all, statements.WAKE, uuid="webhook-7"),
    partial(find_all, statements.WAITING_DRAFTS, now=1),
]


def plans_of(
    connection: psycopg.Connection[Any], operation: Callable[[], Operation[Any]]
) -> Iterator[tuple[str, str]]:
    """Do *operation*, and return how the server did each of its statements."""
    asking, rows = operation(), None
    with suppress(StopIteration):
        while True:
            asked = asking.send(rows)  # type: ignore[arg-type]
            rows = []
            if not isinstance(asked, tuple) or not asked[0]:
                continue
            statement, values = POSTGRES.render(asked[0]), asked[1]
            with connection.transaction(force_rollback=True):
                plan = connection.execute(f"EXPLAIN (ANALYZE, TIMING ON) {statement}", values)
                yield statement, "\n".join(line for (line,) in plan)
            done = connection.execute(statement, values)
            rows = done.fetchall() if done.description else []


def refusal(error: type[ScenarioctlError], url: str, **settings: Any) -> str:
    with opened(url, **settings) as store:
        return message(error, store.count_scenarios())


def several(server: Server) -> str:
    """Return the address of two servers, of which the first is gone."""
    return f"postgresql://{RUNTIME}@/shared?host=127.0.0.1,{server.folder}&port=1,{server.port}"


class TestRefusals:
    """Each is one sentence, which tells no password."""

    def test_an_unknown_host(self) -> None:
        url = "postgresql://me:secret@nosuchhost.invalid/scenarioctl"

        assert refusal(StoreUnavailable, url) == says("nosuchhost.invalid", "host")

    def test_a_wrong_password(self, server: Server) -> None:
        url = server.tcp_url("postgres", user=OWNER, password="secret")

        assert refusal(StoreUnavailable, url) == says("password", port=server.port)

    def test_a_database_without_tables(self, server: Server) -> None:
        url = server.create_database("bare")

        assert refusal(StoreFailed, url) == says("bare", "scenarioctl store init")

    def test_tables_of_another_version(self, server: Server) -> None:
        url = server.create_database("another")
        run(create_store(url))
        server.execute("UPDATE scenarioctl.meta SET version = 77", database="another")
        words = says("another", "version 77", ours=f"version {SCHEMA_VERSION}")

        assert refusal(StoreFailed, url) == words
        assert message(StoreFailed, create_store(url)) == words

    def test_tables_of_another_version_of_the_engine(self, server: Server) -> None:
        url = server.create_database("engine")
        run(create_store(url))
        server.execute("UPDATE scenarioctl.meta SET engine = '09'", database="engine")

        assert refusal(StoreFailed, url, pool=2) == says("engine", "procrastinate", "09")

    def test_no_right_to_create(self, server: Server) -> None:
        server.create_database("guarded")

        assert message(StoreFailed, create_store(server.url("guarded", user=RUNTIME))) == says(
            "guarded", "schema scenarioctl"
        )

    def test_several_servers_of_which_only_a_standby_answers(
        self,
        server: Server,
        store: PostgresStore,
        scenarioctl: Run,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        run(store.put_scenario(FIRST))
        url = several(server) + "&options=" + quote("-c default_transaction_read_only=on")

        sentence = refusal(StoreUnavailable, url)
        assert sentence == says("shared", "read-only")
        monkeypatch.setenv("SCENARIOCTL_STORE", url)
        refused = scenarioctl("scenario", "list")
        assert (refused.code, refused.err) == (5, f"Error: {sentence}\n")

    def test_of_several_servers_the_one_that_takes_writes_is_used(
        self, server: Server, store: PostgresStore
    ) -> None:
        with opened(several(server)) as either:
            run(either.put_scenario(FIRST))
        assert run(store.get_scenario(FIRST.id)) == FIRST

    def test_a_schema_of_somebody_else(self, server: Server) -> None:
        url = server.create_database("occupied")
        server.execute(f"CREATE SCHEMA scenarioctl AUTHORIZATION {OWNER}", database="occupied")
        server.execute(
            "CREATE TYPE scenarioctl.procrastinate_job_status AS ENUM ('x')", database="occupied"
        )

        assert message(StoreFailed, create_store(url)) == says("occupied", "schema scenarioctl")

    @pytest.mark.parametrize(
        "url",
        [
            "postgresql://me:secret@[::1/db",
            "postgresql://me:secret@host/db?nosuchoption=1",
            "postgresql://me:secret%zz@host/db",
            "postgresql://me:secret/more@host/db",
            "postgresql://me:secret@more@host/db",
        ],
    )
    def test_what_is_no_url(self, url: str) -> None:
        with pytest.raises(InvalidRequest) as refused:
            open_store(url)

        assert str(refused.value) == says("postgresql://me:…", "URL")
        assert "secret" not in str(refused.value)

    def test_libraries_that_are_not_installed(self) -> None:
        script = """
import sys
sys.modules["psycopg"] = None
from scenarioctl.errors import InvalidRequest
from scenarioctl.stores import open_store
try:
    open_store("postgresql://me:secret@host/db")
except InvalidRequest as error:
    print(error)
"""
        told = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        )

        assert told.stdout == says("scenarioctl[postgres]").within("{}\n")

    def test_a_value_that_no_index_holds(self, store: PostgresStore) -> None:
        import secrets

        long = secrets.token_hex(5000)

        assert message(InvalidRequest, store.put_scenario(replace(FIRST, chains=(long,)))) == says(
            "large"
        )
        assert run(store.count_scenarios()) == 0

    def test_a_statement_that_takes_too_long(self, server: Server, store: PostgresStore) -> None:
        async def sleep(connection: Connection) -> None:
            await connection.execute("SELECT pg_sleep(5)")

        with opened(server.url("shared", user=RUNTIME), statement_seconds=1) as hasty:
            assert message(StoreBusy, hasty._read(sleep)) == says("shared", "too long")
            assert run(hasty.count_scenarios()) == 0


class TestRoles:
    def test_the_runtime_role_can_neither_create_nor_change_tables(
        self, store: PostgresStore
    ) -> None:
        for statement in (
            "CREATE TABLE scenarioctl.more (id integer)",
            "DROP TABLE scenarioctl.runs",
            "ALTER TABLE scenarioctl.jobs ADD COLUMN more integer",
            "TRUNCATE scenarioctl.log_lines",
            "UPDATE scenarioctl.meta SET version = 77",
        ):

            async def do(connection: Connection, statement: str = statement) -> None:
                await connection.execute(statement)

            with pytest.raises(StoreFailed, match="refuses this role"):
                run(store._read(do))

    def test_tables_are_created_once(self, server: Server) -> None:
        url = server.create_database("once")

        async def create_all() -> list[bool]:
            return list(await asyncio.gather(*(create_store(url) for _ in range(3))))

        assert sorted(run(create_all())) == [False, False, True]
        assert run(create_store(url, grant=RUNTIME)) is False
        with opened(server.url("once", user=RUNTIME)) as store:
            run(store.put_scenario(FIRST))


class TestConnections:
    def test_a_command_opens_one_connection(self, server: Server, store: PostgresStore) -> None:
        async def use() -> None:
            await asyncio.gather(
                *(store.put_scenario(replace(FIRST, id=f"s{number}")) for number in range(20))
            )

        run(use())
        question = (
            "SELECT usename, application_name FROM pg_stat_activity WHERE datname = 'shared' "
            "AND usename = 'scenarioctl'"
        )
        # The server may still be ending connections of earlier tests.
        wait_until(lambda: server.execute(question) == [(RUNTIME, "scenarioctl/command")])

    def test_a_daemon_opens_no_more_than_its_pool(
        self, server: Server, store: PostgresStore
    ) -> None:
        with opened(server.url("shared", user=RUNTIME), pool=3, role="api") as daemon:

            async def use() -> None:
                await asyncio.gather(*(daemon.list_scenarios(search="polkadot") for _ in range(50)))

            run(use())
            question = (
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'scenarioctl/api'"
            )
            # The server may still be ending connections of earlier tests.
            wait_until(lambda: 1 <= server.execute(question)[0][0] <= 3)

    def test_a_transaction_whose_process_is_frozen_is_ended_by_the_server(
        self, server: Server, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(connections, "_IDLE_SECONDS", 1)
        run(store.put_scenario(replace(FIRST, webhooks=(WEBHOOK,))))
        with opened(server.url("shared", user=RUNTIME)) as frozen:

            async def freeze(connection: Connection) -> None:
                await connection.execute("SELECT pg_advisory_xact_lock(2, 0)")
                # As a process does that SIGSTOP stops.
                time.sleep(0.1)
                begun = time.monotonic()
                await store.put_event(WEBHOOK, 1, now=NOW, retention=Retention())
                # Sooner than a statement is given up.
                assert time.monotonic() - begun < 20
                await connection.execute("SELECT 1")

            assert message(StoreUnavailable, frozen._write(freeze, alone=False)) == says(
                "shared", "lost"
            )


class TestRows:
    def test_what_names_a_scenario_is_sought_in_an_index(
        self, server: Server, store: PostgresStore
    ) -> None:
        fill(store, 3000)
        run(store.put_scenario(replace(FIRST, id="needle", name="Pay the rent")))
        server.execute("ANALYZE scenarioctl.scenarios", database="shared")
        values = {"name": "'Pay the rent'", "first": "'need'", "last": "'need~'", "limit": "6"}
        plans = {
            index: asked(
                store,
                "EXPLAIN "
                + re.sub(r"%\((\w+)\)s", lambda name: values[name[1]], POSTGRES.render(question)),
            )
            for index, question in (
                ("scenarios_by_name", statements.SCENARIOS_WITH_NAME),
                ("scenarios_id_key", statements.SCENARIOS_BEGINNING),
                ("scenarios_by_created", statements.NEWEST_SCENARIO),
            )
        }

        for index, plan in plans.items():
            assert index in "\n".join(row[0] for row in plan), plan

    def test_statistics_read_no_scenario(self, server: Server, store: PostgresStore) -> None:
        fill(store, 3000)
        server.execute("ANALYZE", database="shared")
        # A table as small is scanned sooner.
        asked(store, "SET enable_seqscan = off")
        counting = POSTGRES.render(statements.COUNT_SCENARIOS).replace("%(chain)s", "'polkadot'")
        plan = asked(store, f"EXPLAIN {counting}")
        read = partial(scenarios.count, "polkadot")

        assert run(store.count_scenarios("polkadot")) == 3000
        assert "Index Scan using scenario_counts_pkey" in plan[1][0]
        # One for each slot of connections.
        assert 1 <= rows_read(store, "scenario_counts", read) <= 16
        assert rows_read(store, "scenarios", read) == rows_read(store, "scenario_chains", read) == 0

    @pytest.mark.parametrize("sort", ["created", "id", "summary"])
    @pytest.mark.parametrize("descending", [False, True])
    def test_a_page_is_read_from_its_index(
        self, server: Server, store: PostgresStore, sort: str, descending: bool
    ) -> None:
        more = [
            replace(each, id=f"s{each.id}", summary=f"{each.summary} {each.id}")
            for each in fill(store, 1000)
        ]
        run(store.put_scenarios(more))
        server.execute("ANALYZE", database="shared")
        question: dict[str, Any] = {
            "chain": "",
            "tag": "",
            "search": "",
            "sort": sort,
            "descending": descending,
        }
        page = run(store.list_scenarios(limit=10, **question))
        after = read_cursor(page.next, sort, descending=descending)
        read = partial(scenarios.list_page, limit=10, after=after, **question)

        assert rows_read(store, "scenarios", read) < 100

    def test_numbers_are_given_out_in_the_order_of_commits(self, store: PostgresStore) -> None:
        """What another transaction has numbered and not committed keeps the next one waiting: a
        reader would miss it."""
        run(store.put_scenario(replace(FIRST, webhooks=(WEBHOOK,))))
        other = PostgresStore(store.connections.settings)
        left = FinishedRun(
            job=FIRST.id,
            epoch=None,
            planned=NOW,
            started=NOW,
            finished=NOW,
            lines=("x",),
            drafts=(DRAFT,),
        )
        begin: dict[str, Callable[[], Operation[Any]]] = {
            "lines": partial(runs.finish, [(replace(left, drafts=()), NO_LIMIT)]),
            "drafts": partial(runs.finish, [(replace(left, lines=()), NO_LIMIT)]),
            "event": partial(events.put, WEBHOOK, 1, now=NOW, retention=NO_LIMIT, key=""),
        }

        async def follow(what: str) -> None:
            async with store.connections.lend() as connection:
                async with connection.transaction():
                    await run_operation(
                        connection,
                        operation=begin[what],
                        dialect=store.dialect,
                    )
                    # Another job, so that nothing else is waited for.
                    following = asyncio.create_task(
                        other.put_event("other", 2, now=NOW, retention=NO_LIMIT)
                        if what == "event"
                        else other.finish_run(replace(left, job=SECOND.id), retention=NO_LIMIT)
                    )
                    done, _ = await asyncio.wait({following}, timeout=0.3)
                    assert not done
                await following

        run(store.put_scenario(replace(SECOND, webhooks=("other",))))
        for what in begin:
            run(follow(what))
        run(other.close())
        assert [line.job for line in run(store.read_log(None))] == [FIRST.id, SECOND.id, SECOND.id]
        assert [entry.job for entry in run(store.read_mempool(None))] == [
            SECOND.id,
            FIRST.id,
            SECOND.id,
        ]

    def test_rows_are_counted_while_runs_end_and_old_ones_are_pruned(
        self, store: PostgresStore
    ) -> None:
        """Who removes rows of a job locks its tally first: nobody waits in a circle, and no count
        is lost."""
        jobs = [f"job{number}" for number in range(6)]
        run(store.put_scenarios([replace(FIRST, id=id) for id in jobs]))
        other = PostgresStore(store.connections.settings)
        ended = 0

        async def end_runs(first: int) -> None:
            nonlocal ended
            kept = Retention(log_lines=40, mempool_entries=10, runs=16)
            for number in range(40):
                ended += 1
                left = FinishedRun(
                    job=jobs[(first + number) % 6],
                    epoch=None,
                    planned=NOW,
                    started=NOW,
                    finished=ended,
                    lines=("x" * (3000 if number % 7 == 0 else 3),) * (number % 9),
                    drafts=(replace(DRAFT, date=ended),) * (number % 3),
                )
                assert await (store, other)[first % 2].finish_run(left, retention=kept)

        async def prune(store: PostgresStore, ends: "asyncio.Future[Any]") -> int:
            few = Retention(log_lines=30, log_age=60, mempool_entries=8, mempool_age=40)
            return sum([await store.prune(now=ended, retention=few) for _ in iter(ends.done, True)])

        async def do_both() -> int:
            ends = asyncio.gather(*map(end_runs, range(8)))
            _, *pruned = await asyncio.gather(ends, prune(store, ends), prune(other, ends))
            return sum(pruned)

        assert run(do_both())
        run(other.close())
        for table, tally in (("log_lines", "lines"), ("mempool", "entries"), ("runs", "runs")):
            counted = asked(
                store, f"SELECT job, {tally} FROM tallies WHERE {tally} > 0 ORDER BY job"
            )
            assert counted == asked(
                store, f"SELECT job, count(*) FROM {table} GROUP BY job ORDER BY job"
            )
        deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        assert asked(store, deadlocks) == [(0,)]

    @pytest.mark.parametrize("table", ["jobs", "notifications", "tallies"])
    def test_rows_that_another_worker_has_are_left_to_it(
        self, server: Server, store: PostgresStore, table: str
    ) -> None:
        """Who begins, delivers or prunes waits for nobody who does the same."""
        run(store.put_scenario(FIRST))
        run(store.start_job(JOB))
        (claimed,) = run(begin_due(store, "me", lease=2 * NOW))
        left = ended(claimed, notifications=(READY,), lines=("a", "b"), drafts=(DRAFT,))
        assert run(store.finish_run(left, retention=NO_LIMIT))
        asked(store, "UPDATE jobs SET due = 1")
        run(store.renew_lease("me", lease=2 * NOW))

        async def take(one: PostgresStore) -> int:
            if table == "jobs":
                return len(await one.begin_due(1, owner="me"))
            if table == "notifications":
                return len(await one.outbox().claim(now=2 * NOW, until=3 * NOW, limit=1))
            return await one.prune(now=NOW, retention=Retention(log_lines=1))

        with opened(server.url("shared", user=RUNTIME), statement_seconds=10) as hasty:
            with psycopg.connect(server.url("shared")) as other:
                other.execute(f"SELECT 1 FROM scenarioctl.{table} FOR UPDATE")
                assert run(take(hasty)) == 0
            assert run(take(hasty)) == 1

    def test_an_idle_worker_reads_few_rows_beside_many_runs_that_wait(self, server: Server) -> None:
        name = f"idle{time.time_ns()}"
        run(initialize(ServerSettings(url=server.create_database(name)), grant=RUNTIME))
        server.execute(WAITING_RUNS, database=name)
        server.execute("ANALYZE", database=name)
        settings = "-c search_path=scenarioctl"
        with psycopg.connect(server.url(name), options=settings, autocommit=True) as connection:
            for operation in IDLE:
                for statement, plan in plans_of(connection, operation):
                    removed = re.findall(r"Rows Removed by Filter: (\d+)", plan)
                    read = re.findall(r"Scan .*actual time=\S+ rows=(\d+)", plan)
                    assert max(map(int, removed + read), default=0) <= 1000, (statement, plan)
        server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')

    @pytest.mark.parametrize("error", [psycopg.InternalError, psycopg.DataError])
    def test_any_error_on_a_connection_that_has_ended_is_an_outage(
        self, server: Server, store: PostgresStore, error: type[psycopg.Error]
    ) -> None:
        async def fail(*, ended: bool) -> None:
            async with store.connections.lend() as connection:
                if ended:
                    process = connection.info.backend_pid
                    server.execute(f"SELECT pg_terminate_backend({process}, 5000)")
                raise error("received 2 results from command 'COMMIT'")

        with pytest.raises(StoreUnavailable):
            run(fail(ended=True))
        with pytest.raises((psycopg.DataError, StoreUnavailable)):
            run(fail(ended=False))


@pytest.fixture(scope="module")
def mortal() -> Iterator[Server]:
    server = start_server(durable=True)
    url = server.create_database("mortal")
    run(create_store(url, grant=RUNTIME))
    yield server
    server.remove()


class TestServerThatEnds:
    """A server of their own, which these tests end and start again."""

    @pytest.mark.parametrize("pool", [0, 4])
    def test_each_question_says_so_soon_and_the_next_after_its_start_is_answered(
        self, mortal: Server, pool: int
    ) -> None:
        with opened(mortal.url("mortal", user=RUNTIME), pool=pool) as store:
            id = f"before{pool}"
            run(store.put_scenario(replace(FIRST, id=id)))
            mortal.stop()
            for _ in range(3):
                begun = time.monotonic()
                with pytest.raises(StoreUnavailable) as refused:
                    run(store.get_scenario(id))
                # Sooner than a request gives up waiting for a connection.
                assert time.monotonic() - begun < 8
                assert refused.value.details == {"retry_after": 2}
            assert str(refused.value) == says("mortal", "available")
            with pytest.raises(StoreUnavailable):
                run(store.health())
            mortal.start()

            # Nothing that was acknowledged is lost, and nobody has to open the store again.
            begun = time.monotonic()
            while True:
                try:
                    assert run(store.get_scenario(id)).id == id
                    break
                except StoreUnavailable:
                    assert time.monotonic() - begun < 20
            run(store.put_scenario(replace(SECOND, id=f"after{pool}")))
            assert run(store.health()) == ""

    @pytest.mark.parametrize("pool", [0, 4])
    def test_a_question_that_nobody_answers_any_more_ends(
        self, mortal: Server, pool: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The network between takes what is sent, and delivers nothing."""
        monkeypatch.setattr(connections, "_SILENCE", 0.5)
        network = Proxy(mortal.port)
        url = mortal.tcp_url("mortal").replace(str(mortal.port), str(network.port))
        try:
            with opened(url, pool=pool, statement_seconds=1) as store:
                before = run(store.count_scenarios())
                network.cut(60)
                with pytest.raises(StoreUnavailable) as refused:
                    run(store.count_scenarios())
                network.mend(lost=False)

                assert str(refused.value).endswith("the connection was lost; try again later")
                assert run(store.count_scenarios()) == before
        finally:
            network.close()

    def test_connections_that_ended_meanwhile_are_replaced_unseen(self, mortal: Server) -> None:
        for pool in (0, 4):
            with opened(mortal.url("mortal", user=RUNTIME), pool=pool) as store:
                before = run(store.count_scenarios())
                # It waits until they have ended.
                ended = mortal.execute(
                    "SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity WHERE "
                    "datname = 'mortal'"
                )

                assert set(ended) == {(True,)}
                assert run(store.count_scenarios()) == before


class TestCommands:
    def test_a_store_is_created_and_checked(self, scenarioctl: Run, server: Server) -> None:
        url = server.create_database("commands")
        location = f"postgresql://{OWNER}@/commands"

        first = scenarioctl("--store", url, "store", "init", "--grant", RUNTIME)
        again = scenarioctl("--store", url, "store", "init", "--json")
        assert (first.out, first.err, first.code) == (f"{location}\n", "", 0)
        assert json.loads(again.out) == {"store": location, "created": False}
        for role in (OWNER, RUNTIME):
            after = scenarioctl("--store", server.url("commands", user=role), "store", "init")
            assert (after.code, after.err) == (0, says("there already").within("{}\n"))
        made = scenarioctl(
            "--store",
            url,
            "--offline",
            "create",
            "remark",
            "--chain",
            "polkadot",
            "--text",
            "hello",
        )
        started = scenarioctl("--store", url, "job", "start", made.out.strip())
        assert started.code == 0, started.err

        answer = json.loads(scenarioctl("--store", url, "--json", "store", "check").out)
        assert re.fullmatch(r"PostgreSQL \d+(\.\d+)?", answer.pop("engine"))
        assert abs(answer.pop("clock_skew")) < 1
        # Unless the answer of the server was late.
        findings = [each for each in answer.pop("findings") if "clock is" not in each]
        assert answer == {
            "store": location,
            "version": SCHEMA_VERSION,
            "stalled_runs": 0,
            "workers": [],
        }
        assert findings == [says("worker")]

    def test_what_a_check_finds(self, store: PostgresStore, server: Server) -> None:
        run(store.put_scenarios([FIRST, SECOND]))
        run(store.start_job(JOB))
        assert len(run(begin_due(store, "me", lease=2 * NOW))) == 1
        asked(store, "UPDATE leases SET deadline = 0")
        run(store.start_job(replace(JOB, id=SECOND.id)))
        found = run(store.inspect(lambda: time.time_ns() - 3_500_000_000))

        # As near as the time of the question allows.
        assert found.clock_skew == pytest.approx(3.5, abs=2)
        assert found.stalled_runs == 1
        clock, held, late, *_ = found.findings
        assert clock == says("clock is", seconds=f"{found.clock_skew:.1f}")
        assert held == says("held by workers")
        assert late == says("late")
        behind = run(store.inspect(lambda: time.time_ns() + 60_000_000_000))
        assert behind.clock_skew == pytest.approx(-60, abs=2)
        assert behind.findings[0] == says("clock is", seconds=f"{abs(behind.clock_skew or 0):.1f}")

    def test_an_error_of_the_server_has_its_exit_status(
        self, scenarioctl: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SCENARIOCTL_STORE", "postgresql://me:secret@127.0.0.1:1/db")
        refused = scenarioctl("scenario", "list")

        assert refused.code == 5
        assert refused.err == says("127.0.0.1:1", "available").within("Error: {}\n")
        assert "secret" not in refused.err
