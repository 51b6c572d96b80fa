"""What an owner does with the database of a store: create its tables, and look at what they are."""

import asyncio

import psycopg

from scenarioctl.errors import InvalidRequest, StoreFailed
from scenarioctl.stores.postgres.connections import Connection, ServerSettings, connect, connection_info
from scenarioctl.stores.postgres.engine_tables import installed_engine
from scenarioctl.stores.postgres.errors import Explainer
from scenarioctl.stores.postgres.schema import MIGRATIONS, SCHEMA, VERSION

#: Held while tables are created or changed, by one process at a time.
_LOCK = 7_305_803_041
#: Seconds between two attempts to get it.
_PAUSE = 0.1


async def lock_tables(connection: Connection) -> None:
    """Wait until no other process creates or changes tables, and keep others from it until the transaction ends."""
    while True:
        # Building an index waits for all transactions that hold a snapshot.  The function that waits for the lock would hold
        # one, and so does a statement with parameters, until the next one.
        found = await connection.execute(f"SELECT pg_try_advisory_xact_lock({_LOCK})")
        if await found.fetchone() == (True,):
            return
        await asyncio.sleep(_PAUSE)


async def initialize(settings: ServerSettings, *, grant: str = "") -> bool:
    """Create the tables, ours and the engine's, and let the role *grant* use them; False if they were there already.

    All or nothing is done.
    """
    explainer = Explainer(settings.url)
    connection = await connect(connection_info(settings, settings.url), explainer)
    try:
        explainer.check_server(connection)
        async with connection.transaction():
            await lock_tables(connection)
            # Behind PgBouncer, the role may have no search path, and other clients' statements may be prepared.
            connection.prepare_threshold = None
            await connection.execute(f"SET LOCAL search_path = {SCHEMA}")
            await connection.execute("SET LOCAL statement_timeout = 0")
            created = not await _has_tables(connection)
            if created:
                await _create(connection)
            await index_search(connection)
            if grant:
                await _grant(connection, grant)
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreFailed(
            f"store {explainer.name} does not let this role create the schema {SCHEMA}: use the owner's role, or GRANT"
            " CREATE ON DATABASE"
        ) from error
    except psycopg.errors.UndefinedObject as error:
        raise InvalidRequest(
            field="grant", value=grant, problem="is not a role of the server", expected="one that exists"
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


async def index_search(connection: Connection) -> bool:
    """Create the index of searches if the extension pg_trgm is installed or may be; return whether there is one."""
    from scenarioctl.stores.dialects import SEARCHED

    found = await connection.execute("SELECT to_regclass(%s) IS NOT NULL", (f"{SCHEMA}.scenarios_by_text",))
    if await found.fetchone() == (True,):
        # Also for a role that may not create it.
        return True
    try:
        async with connection.transaction():
            await connection.execute(f"CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA {SCHEMA}")
    except psycopg.Error:
        # Not available on this server, or not to this role: a search reads all rows then.
        return False
    found = await connection.execute(
        "SELECT nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'pg_trgm'"
    )
    row = await found.fetchone()
    if row is None:
        return False
    operators = psycopg.sql.Identifier(row[0], "gin_trgm_ops")
    await connection.execute(
        psycopg.sql.SQL(
            "CREATE INDEX IF NOT EXISTS scenarios_by_text ON scenarios USING gin (({}) {})"
        ).format(psycopg.sql.SQL(SEARCHED), operators)
    )
    return True


async def _grant(connection: Connection, role: str) -> None:
    """Let *role* read and write all tables, and those of later migrations, and create none."""
    for statement in (
        "GRANT USAGE ON SCHEMA {schema} TO {role}",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}",
        "GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {role}",
        "REVOKE INSERT, UPDATE, DELETE ON {schema}.meta FROM {role}",
        "ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {role}",
        "ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT USAGE ON SEQUENCES TO {role}",
    ):
        await connection.execute(
            psycopg.sql.SQL(statement).format(
                schema=psycopg.sql.Identifier(SCHEMA), role=psycopg.sql.Identifier(role)
            )
        )
