"""What an owner does with the database of a store: create its tables, and look at how it is."""

from collections.abc import Callable
from pathlib import Path

import psycopg

from scenarioctl.errors import InvalidRequest, StoreFailed
from scenarioctl.files import read_text
from scenarioctl.model.jobs import CLOCK_SKEW
from scenarioctl.stores import Inspection
from scenarioctl.stores.postgres.connections import (
    SCHEMA,
    Connection,
    Explainer,
    ServerSettings,
    connect,
    connection_info,
    engine_migration,
)
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
                found = await connection.execute("SELECT version FROM meta")
                ((version,),) = await found.fetchall()
                check_version(explainer.name, version)
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


async def inspect(connection: Connection, *, clock: Callable[[], int]) -> Inspection:
    """Return what an operator should know of the server; *clock* is that of this machine."""
    before = clock()
    found = await connection.execute(
        "SELECT version, current_setting('server_version'),"
        " current_setting('idle_in_transaction_session_timeout'),"
        " extract(epoch FROM clock_timestamp())::float8 FROM meta"
    )
    ((version, engine, idle, moment),) = await found.fetchall()
    # As near as the time of the question allows.
    skew = round(moment - (before + clock()) / 2e9, 3)
    where = "ahead of" if skew > 0 else "behind"
    findings = {
        f"The server's clock is {abs(skew):.1f} s {where} this machine's, and runs start "
        "by the server's. Synchronize both clocks with NTP": abs(skew) >= CLOCK_SKEW,
        "A process that freezes in a transaction keeps its locks, since a PgBouncer "
        "drops the timeout that prevents it."
        " Run ALTER ROLE … SET idle_in_transaction_session_timeout = '5s'": idle == "0",
    }
    return Inspection(
        engine=f"PostgreSQL {engine.split()[0]}",
        version=version,
        clock_skew=skew,
        findings=tuple(finding for finding, holds in findings.items() if holds),
    )
