"""What an owner does with the database of a store: create its tables, migrate them, and look at how
it is.

An operator should know of the server: clocks, dead rows, runs that nobody runs; `/metrics` has
figures.

Daemons of older versions run on.  A migration that only adds is applied at once.  One that removes
what an older version needs waits until the operator says that no daemon of that version runs any
more, and so do those after it.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from scenarioctl.errors import InvalidRequest, StoreBusy, StoreFailed
from scenarioctl.model.jobs import CLOCK_SKEW, JobState
from scenarioctl.stores import Inspection, Migrated, jobs
from scenarioctl.stores.figures import ServerConnections
from scenarioctl.stores.operations import Asking
from scenarioctl.stores.postgres import schema
from scenarioctl.stores.postgres.connections import (
    Connection,
    ServerSettings,
    check_search_path,
    connect,
    connection_info,
)
from scenarioctl.stores.postgres.errors import Explainer
from scenarioctl.stores.postgres.schema import (
    MIGRATIONS,
    SCHEMA,
    VERSION,
    engine_migrations,
    installed_engine,
    removes,
)
from scenarioctl.stores.validation import no_tables

#: Held while tables are created or changed, by one process at a time.
_LOCK = 7_305_803_041
#: Seconds between two attempts to get it.
_PAUSE = 0.1


async def lock_tables(connection: Connection) -> None:
    """Wait until no other process creates or changes tables, and keep others from it until the
    transaction ends."""
    while True:
        # Building an index waits for all transactions that hold a snapshot.  The function that
        # waits for the lock would hold one, and so does a statement with parameters, until the next
        # one.
        found = await connection.execute(f"SELECT pg_try_advisory_xact_lock({_LOCK})")
        if await found.fetchone() == (True,):
            return
        await asyncio.sleep(_PAUSE)


async def initialize(settings: ServerSettings, *, grant: str = "") -> bool:
    """Create the tables, ours and the engine's, and let the role *grant* use them; False if they
    were there already.

    All or nothing is done.
    """
    explainer = Explainer(settings.url)
    connection = await connect(connection_info(settings, settings.url), explainer)
    try:
        explainer.check_server(connection)
        async with connection.transaction():
            await lock_tables(connection)
            # Behind PgBouncer, the role may have no search path, and other clients' statements may
            # be prepared.
            connection.prepare_threshold = None
            await connection.execute(f"SET LOCAL search_path = {SCHEMA}")
            await connection.execute("SET LOCAL statement_timeout = 0")
            created = not await _has_tables(connection)
            if created:
                await _create(connection)
            if grant:
                await _grant(connection, grant)
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreFailed(
            f"store {explainer.name} does not let this role create the schema {SCHEMA}: "
            "use the owner's role, or GRANT"
            " CREATE ON DATABASE"
        ) from error
    except psycopg.errors.UndefinedObject as error:
        raise InvalidRequest(
            field="grant",
            value=grant,
            problem="is not a role of the server",
            expected="one that exists",
        ) from error
    except psycopg.errors.DuplicateObject as error:
        raise StoreFailed(
            f"store {explainer.name} has a schema {SCHEMA} that is not ours: name another database"
        ) from error
    except psycopg.Error as error:
        raise explainer.explain(error) from error
    finally:
        await connection.close()
    return created


async def _has_tables(connection: Connection) -> bool:
    found = await connection.execute("SELECT to_regclass(%s) IS NOT NULL", (f"{SCHEMA}.meta",))
    return await found.fetchone() == (True,)


async def _create(connection: Connection) -> None:
    from procrastinate.schema import SchemaManager

    await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
    await connection.execute(SchemaManager.get_schema())
    for migration in MIGRATIONS:
        for statement in migration.for_empty_tables:
            await connection.execute(statement)
    engine = installed_engine()
    await connection.execute(
        "INSERT INTO meta (version, compatible, engine, engine_removed) VALUES (%s, %s, %s, %s)",
        (VERSION, MIGRATIONS[-1].compatible, engine.newest, engine.removed),
    )


async def _grant(connection: Connection, role: str) -> None:
    """Let *role* read and write all tables, and those of later migrations, and create none."""
    for statement in (
        "GRANT USAGE ON SCHEMA {schema} TO {role}",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}",
        "GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {role}",
        "REVOKE INSERT, UPDATE, DELETE ON {schema}.meta FROM {role}",
        (
            "ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT SELECT, INSERT, UPDATE, DELETE "
            "ON TABLES TO {role}"
        ),
        "ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT USAGE ON SEQUENCES TO {role}",
    ):
        await connection.execute(
            psycopg.sql.SQL(statement).format(
                schema=psycopg.sql.Identifier(SCHEMA), role=psycopg.sql.Identifier(role)
            )
        )


#: How long a migration waits for transactions that use its table: others wait behind it meanwhile.
_LOCK_TIMEOUT = "1s"
#: How often it tries, and seconds between two attempts, in which the others go on.
_ATTEMPTS = 20
_RETRY_PAUSE = 1.0


@dataclass(frozen=True, kw_only=True)
class MigrationStep:
    """A migration that the tables lack."""

    name: str
    #: Whether it removes what older daemons need.
    contracts: bool
    statements: tuple[str, ...]
    #: The name of the index that the statements build outside a transaction; empty if they belong
    #: into one.
    index: str = ""
    #: What `meta` says afterwards.
    meta: dict[str, int | str]


@dataclass(frozen=True, kw_only=True)
class Meta:
    """What the tables are, as their table `meta` says."""

    version: int
    compatible: int
    engine: str


async def migrate(settings: ServerSettings, *, contract: bool = False) -> Migrated:
    """Apply the migrations that the tables lack, and return what was done.

    Without *contract*, those that older daemons would notice wait, and those after them.  Each
    migration is done as a whole or not at all, so what was applied stays if a later one fails.
    """
    explainer = Explainer(settings.url)
    info = connection_info(settings, settings.url)
    try:
        async with _connected(info, explainer) as guard, _connected(info, explainer) as connection:
            explainer.check_server(connection)
            async with _alone(guard):
                applied = []
                while step := next(
                    iter(_due(await read_meta(connection, explainer), contract=contract)), None
                ):
                    await _apply(connection, step, explainer)
                    applied.append(step.name)
                meta = await read_meta(connection, explainer)
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreFailed(
            f"store {explainer.name} does not let this role change the tables: use the "
            "role that owns them"
        ) from error
    except psycopg.Error as error:
        raise explainer.explain(error) from error
    waiting = lacking(meta)
    return Migrated(
        version=meta.version,
        newest=len(schema.MIGRATIONS),
        applied=tuple(applied),
        waiting=tuple(step.name for step in waiting),
        is_usable=all(step.contracts for step in waiting),
    )


def lacking(meta: Meta) -> list[MigrationStep]:
    """Return the migrations that tables with *meta* lack, in the order in which they are
    applied."""
    return [*_of_engine(meta.engine), *_of_ours(meta)]


async def read_meta(connection: Connection, explainer: Explainer) -> Meta:
    """Read what the tables are; StoreFailed if there are none, or if they are too new for this
    program."""
    found = await connection.execute("SELECT version, compatible, engine FROM meta")
    row = await found.fetchone()
    if row is None:
        raise no_tables(explainer.name)
    version, compatible, engine = row
    if compatible > len(schema.MIGRATIONS):
        raise explainer.newer_tables(version, len(schema.MIGRATIONS))
    return Meta(version=version, compatible=compatible, engine=engine)


@asynccontextmanager
async def _connected(info: str, explainer: Explainer) -> AsyncIterator[Connection]:
    connection = await connect(info, explainer)
    try:
        await check_search_path(connection, explainer)
        # Behind PgBouncer, which may hand each of them to another process of the server.
        connection.prepare_threshold = None
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def _alone(guard: Connection) -> AsyncIterator[None]:
    """Keep other processes from changing the tables meanwhile.

    The lock belongs to a transaction of a connection of its own, since some migrations are done
    outside a transaction.  A lock of a session would stay behind in PgBouncer.
    """
    async with guard.transaction():
        await guard.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        await lock_tables(guard)
        yield


def _due(meta: Meta, *, contract: bool) -> Iterator[MigrationStep]:
    """Yield the next migration of the engine and of ours, if they may be applied."""
    for steps in (_of_engine(meta.engine), _of_ours(meta)):
        first = next(steps, None)
        if first is not None and (contract or not first.contracts):
            yield first


async def _apply(connection: Connection, step: MigrationStep, explainer: Explainer) -> None:
    if step.index:
        # It waits for older transactions, and nobody waits for it.
        for statement in step.statements:
            await connection.execute(statement)
        await _note(connection, step)
        return
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            async with connection.transaction():
                await connection.execute(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'")
                for statement in step.statements:
                    await connection.execute(statement)
                await _note(connection, step)
            return
        except psycopg.errors.LockNotAvailable as error:
            if attempt == _ATTEMPTS:
                raise StoreBusy(
                    f"store {explainer.name} cannot apply {step.name}, since another "
                    "transaction still uses its tables: end"
                    " it (pg_stat_activity shows it), and run scenarioctl store migrate again"
                ) from error
        await asyncio.sleep(_RETRY_PAUSE)


async def _note(connection: Connection, step: MigrationStep) -> None:
    for column, value in step.meta.items():
        await connection.execute(f"UPDATE meta SET {column} = %s", (value,))  # noqa: S608 - of ours


def _of_engine(newest: str) -> Iterator[MigrationStep]:
    """Yield the engine's migrations after *newest*; it says itself which are for after the upgrade
    of all workers."""
    for path in engine_migrations():
        if path.stem > newest:
            contracts = removes(path.stem)
            yield MigrationStep(
                name=f"procrastinate {path.stem}",
                contracts=contracts,
                statements=(path.read_text("utf-8"),),
                meta={"engine": path.stem, **({"engine_removed": path.stem} if contracts else {})},
            )


def _of_ours(meta: Meta) -> Iterator[MigrationStep]:
    compatible = meta.compatible
    for number, migration in enumerate(schema.MIGRATIONS[meta.version :], meta.version + 1):
        index, statements = "", migration.statements
        if migration.index is not None:
            index, definition = migration.index
            # An attempt that failed leaves an index that is not valid.
            statements = (
                f"DROP INDEX CONCURRENTLY IF EXISTS {index}",
                f"{migration.creates} CONCURRENTLY {index} {definition}",
            )
        yield MigrationStep(
            name=f"version {number}",
            contracts=migration.compatible > compatible,
            statements=statements,
            index=index,
            meta={"version": number, "compatible": migration.compatible},
        )
        compatible = migration.compatible


#: Dead rows that are no trouble, and their share of the rows that is.
_DEAD_ROWS = 10_000
_DEAD_SHARE = 0.2
#: The share of its connections that a server should have free.
_FREE_CONNECTIONS = 0.1


async def inspect(
    connection: Connection, *, clock: Callable[[], int], stalled: int, late: int, workers: int
) -> Inspection:
    """*stalled*: legs whose worker is silent; *late*: those that nobody has begun."""
    skew = await _clock_skew(connection, clock)
    dead = await _all(
        connection,
        (
            "SELECT relname, n_dead_tup, n_live_tup FROM pg_stat_user_tables WHERE schemaname "
            "= %s ORDER BY relname"
        ),
        SCHEMA,
    )
    ((version, compatible, engine, removed),) = await _all(
        connection, "SELECT version, compatible, engine, engine_removed FROM meta"
    )
    findings = [
        *_of_migrations(Meta(version=version, compatible=compatible, engine=engine)),
        *_engine_inspected(removed),
        *_of_clocks(skew),
        *_of_dead_rows(dead),
        *_of_stalled(stalled),
        *_of_late(late),
        *[finding async for finding in _of_jobs(connection, workers)],
        *[finding async for finding in _of_server(connection)],
        *await _of_standbys(connection),
    ]
    return Inspection(
        engine=(
            f"PostgreSQL {(connection.info.parameter_status('server_version') or '').split()[0]}"
        ),
        version=version,
        newest=VERSION,
        clock_skew=skew,
        dead_rows=sum(count for _, count, _ in dead),
        stalled_runs=stalled,
        findings=tuple(findings),
    )


async def _clock_skew(connection: Connection, clock: Callable[[], int]) -> float:
    """Return by how many seconds the server's clock is ahead, as near as the time of the question
    allows."""
    before = clock()
    server = await _one(connection, "SELECT extract(epoch FROM clock_timestamp())")
    after = clock()
    return round(float(server) - (before + after) / 2e9, 3)


def _of_migrations(meta: Meta) -> list[str]:
    waiting = lacking(meta)
    due = [step.name for step in waiting if not step.contracts]
    if due:
        return [
            f"The tables lack what this program adds to them ({', '.join(due)}). Run "
            "scenarioctl store migrate with the owner's"
            " role"
        ]
    if waiting:
        names = ", ".join(step.name for step in waiting)
        return [
            f"The tables still have what only older daemons need ({names}). When none of "
            "them runs any more, run scenarioctl"
            " store migrate --contract with the owner's role"
        ]
    return []


def _engine_inspected(removed: str) -> list[str]:
    newest = installed_engine().newest
    if removed <= newest:
        return []
    return [
        f"The tables of procrastinate have the migration {removed}, and the installed "
        f"version knows only {newest}. Run"
        " pip install --upgrade procrastinate"
    ]


def _of_clocks(skew: float) -> list[str]:
    if abs(skew) < CLOCK_SKEW:
        return []
    where = "ahead of" if skew > 0 else "behind"
    return [
        f"The server's clock is {abs(skew):.1f} s {where} this machine's, and runs start "
        "by the server's."
        " Synchronize both clocks with NTP"
    ]


def _of_dead_rows(tables: list[tuple[Any, ...]]) -> list[str]:
    return [
        f"The table {SCHEMA}.{name} has {dead} dead rows beside {live} live ones. Let "
        "autovacuum run more often, and end"
        " transactions that stay open"
        for name, dead, live in tables
        if dead > _DEAD_ROWS and dead > live * _DEAD_SHARE
    ]


def _of_stalled(count: int) -> list[str]:
    if not count:
        return []
    runs = "1 run is" if count == 1 else f"{count} runs are"
    return [
        (
            f"{runs} held by workers that have gone. A worker takes them over: start one with "
            "scenarioctl daemon"
        )
    ]


def _of_late(count: int) -> list[str]:
    if not count:
        return []
    jobs = "1 job is" if count == 1 else f"{count} jobs are"
    return [f"{jobs} more than 10 seconds late. Start another worker with scenarioctl daemon"]


async def _of_jobs(connection: Connection, workers: int) -> AsyncIterator[str]:
    running = await _one(connection, "SELECT count(*) FROM jobs WHERE state = 'running'")
    if running and not workers:
        yield "No worker is running. Start one with scenarioctl daemon"


async def _of_server(connection: Connection) -> AsyncIterator[str]:
    for name in ("fsync", "full_page_writes", "synchronous_commit"):
        if await _one(connection, "SELECT current_setting(%s)", name) == "off":
            yield (
                f"The server's setting {name} is off. After a crash, acknowledged writes may "
                "be lost: turn it on"
            )
    if (
        await _one(connection, "SELECT current_setting('idle_in_transaction_session_timeout')")
        == "0"
    ):
        yield (
            "A process that freezes in a transaction keeps its locks, since a PgBouncer "
            "drops the timeout that prevents it."
            " Run ALTER ROLE … SET idle_in_transaction_session_timeout = '5s'"
        )
    used, most = (
        await _one(
            connection,
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'",
        ),
        await _one(connection, "SELECT current_setting('max_connections')::integer"),
    )
    if used > most * (1 - _FREE_CONNECTIONS):
        yield (
            f"{used} of the server's {most} connections are in use. Raise max_connections, or "
            "lower store_pool"
        )


async def _of_standbys(connection: Connection) -> list[str]:
    # Without pg_read_all_stats, a role sees which standbys there are, and nothing of their state.
    standbys = await _all(
        connection,
        (
            "SELECT application_name, sync_state FROM pg_stat_replication WHERE state IS "
            "DISTINCT FROM 'backup' ORDER BY 1"
        ),
    )
    states = {state for _, state in standbys}
    if not standbys or states & {"sync", "quorum"}:
        return []
    names = ", ".join(name for name, _ in standbys)
    if None in states and await _one(
        connection, "SELECT current_setting('synchronous_standby_names')"
    ):
        return [
            f"It is unknown whether a standby ({names}) is synchronous, since this role "
            "cannot see that."
            " Run GRANT pg_read_all_stats TO …"
        ]
    return [
        (
            f"No standby is synchronous ({names}). A failover loses the newest acknowledged "
            "writes: set synchronous_standby_names"
        )
    ]


async def _all(connection: Connection, question: str, *values: Any) -> list[tuple[Any, ...]]:
    return await (await connection.execute(question, values)).fetchall()


async def _one(connection: Connection, question: str, *values: Any) -> Any:
    return (await _all(connection, question, *values))[0][0]


#: The share of the time that a process spends on counting jobs, at most.
_SHARE = 0.001
#: Seconds that a count may take at any time.
_SHORT = 0.02


class JobCounts:
    """How many jobs are in each state.

    Counting reads an entry of the index for each job, and many daemons ask.  The longer it takes,
    the longer its answer is used.
    """

    def __init__(self) -> None:
        self._counts: Mapping[JobState, int] = {}
        #: When to count again, in seconds of the monotonic clock.
        self._not_before = float("-inf")

    async def read(self, store: Asking) -> Mapping[JobState, int]:
        begun = time.monotonic()
        if begun >= self._not_before:
            self._counts = await store.read(jobs.count_by_state)
            took = time.monotonic() - begun
            self._not_before = begun + (took / _SHARE if took > _SHORT else 0)
        return self._counts


async def count_connections(connection: Connection) -> ServerConnections:
    # Every role may read these, unlike the rows of others in pg_stat_activity.
    found = await connection.execute(
        "SELECT sum(numbackends)::integer, current_setting('max_connections')::integer "
        "FROM pg_stat_database"
    )
    row = await found.fetchone()
    return (
        ServerConnections(open=row[0], limit=row[1]) if row else ServerConnections(open=0, limit=0)
    )
