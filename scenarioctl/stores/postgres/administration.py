"""What an owner does with the database of a store: create its tables, and look at how it is.

An operator should know of the server: clocks, runs that nobody runs; `/metrics` has
figures.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psycopg

from scenarioctl.errors import InvalidRequest, StoreFailed
from scenarioctl.files import read_text
from scenarioctl.model.jobs import CLOCK_SKEW, JobState
from scenarioctl.stores import Inspection, jobs
from scenarioctl.stores.figures import ServerConnections
from scenarioctl.stores.operations import Asking
from scenarioctl.stores.postgres.connections import (
    SCHEMA,
    Connection,
    ServerSettings,
    connect,
    connection_info,
    engine_migration,
)
from scenarioctl.stores.postgres.errors import Explainer
from scenarioctl.stores.validation import SCHEMA_VERSION, check_version

#: Held while tables are created, by one process at a time.
_LOCK = 7_305_803_041


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
            # Behind PgBouncer, the role may have no search path, and other clients' statements may
            # be prepared.
            connection.prepare_threshold = None
            await connection.execute(f"SET LOCAL search_path = {SCHEMA}")
            await connection.execute("SET LOCAL statement_timeout = 0")
            await connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
            created = not await _has_tables(connection)
            if created:
                await _create(connection)
            else:
                check_version(explainer.name, await _one(connection, "SELECT version FROM meta"))
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
    await connection.execute(read_text(Path(__file__).with_name("schema.sql")))
    await connection.execute(
        "INSERT INTO meta (version, engine) VALUES (%s, %s)", (SCHEMA_VERSION, engine_migration())
    )


async def _grant(connection: Connection, role: str) -> None:
    """Let *role* read and write all tables, and create none."""
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


async def inspect(
    connection: Connection, *, clock: Callable[[], int], stalled: int, late: int, workers: int
) -> Inspection:
    """*stalled*: legs whose worker is silent; *late*: those that nobody has begun."""
    skew = await _clock_skew(connection, clock)
    ((version, engine),) = await _all(connection, "SELECT version, engine FROM meta")
    installed = engine_migration()
    where = "ahead of" if skew > 0 else "behind"
    idle, running = (await _all(connection, _SERVER))[0]
    findings = {
        f"The tables of procrastinate have the migration {engine}, and the installed version has "
        f"{installed}. Install the version that made them, or copy the store into a new one": (
            engine != installed
        ),
        f"The server's clock is {abs(skew):.1f} s {where} this machine's, and runs start "
        "by the server's. Synchronize both clocks with NTP": abs(skew) >= CLOCK_SKEW,
        f"{'1 run is' if stalled == 1 else f'{stalled} runs are'} held by workers that have gone. "
        "A worker takes them over: start one with scenarioctl daemon": stalled,
        f"{'1 job is' if late == 1 else f'{late} jobs are'} more than 10 seconds late. Start "
        "another worker with scenarioctl daemon": late,
        "No worker is running. Start one with scenarioctl daemon": running and not workers,
        "A process that freezes in a transaction keeps its locks, since a PgBouncer "
        "drops the timeout that prevents it."
        " Run ALTER ROLE … SET idle_in_transaction_session_timeout = '5s'": idle == "0",
    }
    return Inspection(
        engine=(
            f"PostgreSQL {(connection.info.parameter_status('server_version') or '').split()[0]}"
        ),
        version=version,
        clock_skew=skew,
        stalled_runs=stalled,
        findings=tuple(finding for finding, holds in findings.items() if holds),
    )


async def _clock_skew(connection: Connection, clock: Callable[[], int]) -> float:
    """Return by how many seconds the server's clock is ahead, as near as the time of the question
    allows."""
    before = clock()
    server = await _one(connection, "SELECT extract(epoch FROM clock_timestamp())")
    after = clock()
    return round(float(server) - (before + after) / 2e9, 3)


_SERVER = """
    SELECT current_setting('idle_in_transaction_session_timeout'),
        EXISTS (SELECT FROM jobs WHERE state = 'running')
"""


async def _all(connection: Connection, question: str, *values: Any) -> list[tuple[Any, ...]]:
    return await (await connection.execute(question, values)).fetchall()


async def _one(connection: Connection, question: str, *values: Any) -> Any:
    return (await _all(connection, question, *values))[0][0]


#: The share of the time that a process spends on counting jobs, at most.
_SHARE = 0.001
#: Seconds that a count may take at any time.
_SHORT = 0.02


class JobCounts:
    """How many jobs are in each state, and how many runs wait.

    Counting reads an entry of the index for each job, and many daemons ask.  The longer it takes,
    the longer its answer is used.
    """

    def __init__(self) -> None:
        self._counts: tuple[Mapping[JobState, int], int] = {}, 0
        #: When to count again, in seconds of the monotonic clock.
        self._not_before = float("-inf")

    async def read(self, store: Asking) -> tuple[Mapping[JobState, int], int]:
        begun = time.monotonic()
        if begun >= self._not_before:
            waiting = await store.read(jobs.count_waiting)
            self._counts = await store.read(jobs.count_by_state), waiting
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
