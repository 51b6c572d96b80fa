"""Takes the tables of an older version to ours, while daemons of older versions run on.

A migration that only adds is applied at once.  One that removes what an older version needs waits until the operator says
that no daemon of that version runs any more.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import psycopg

from scenarioctl.errors import StoreFailed
from scenarioctl.stores import Migrated
from scenarioctl.stores.postgres import schema
from scenarioctl.stores.postgres.administration import LOCK, engine_migrations
from scenarioctl.stores.postgres.connections import Connection, ServerSettings, connect, connection_info
from scenarioctl.stores.postgres.errors import Explainer

#: How long a migration waits for transactions that use its table: others wait behind it meanwhile.
_LOCK_TIMEOUT = "3s"


@dataclass(frozen=True, kw_only=True)
class _Step:
    """A migration that the tables lack."""

    name: str
    #: Whether it removes what older daemons need.
    contracts: bool
    statements: tuple[str, ...]
    #: What `meta` says afterwards.
    meta: dict[str, int | str]


async def migrate(settings: ServerSettings, *, contract: bool = False) -> Migrated:
    """Apply the migrations that the tables lack, each in a transaction, and return what was done.

    Without *contract*, those that older daemons would notice wait, and those after them.
    """
    explainer = Explainer(settings.url)
    connection = await connect(connection_info(settings, settings.url), explainer)
    try:
        explainer.check_server(connection)
        applied = []
        while name := await _apply_next(connection, explainer, contract=contract):
            applied.append(name)
        version, compatible, engine = await _read_meta(connection, explainer)
        waiting = [step.name for step in _lacking(version, compatible, engine)]
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreFailed(
            f"store {explainer.name} does not let this role change the tables: use the role that owns them"
        ) from error
    except psycopg.Error as error:
        raise explainer.explain(error) from error
    finally:
        await connection.close()
    return Migrated(
        version=version, newest=len(schema.MIGRATIONS), applied=tuple(applied), waiting=tuple(waiting)
    )


async def _apply_next(connection: Connection, explainer: Explainer, *, contract: bool) -> str:
    """Apply the next migration; return its name, empty if none may be applied."""
    async with connection.transaction():
        await connection.execute("SET LOCAL statement_timeout = 0")
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        step = _next_step(*await _read_meta(connection, explainer), contract=contract)
        if step is None:
            return ""
        await connection.execute(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'")
        for statement in step.statements:
            await connection.execute(statement)
        for column, value in step.meta.items():
            await connection.execute(f"UPDATE meta SET {column} = %s", (value,))  # noqa: S608 - of ours
        return step.name


def _next_step(version: int, compatible: int, engine: str, *, contract: bool) -> _Step | None:
    for steps in (_of_engine(engine), _of_ours(version, compatible)):
        first = next(steps, None)
        if first is not None and (contract or not first.contracts):
            return first
    return None


def _lacking(version: int, compatible: int, engine: str) -> list[_Step]:
    return [*_of_engine(engine), *_of_ours(version, compatible)]


def _of_engine(newest: str) -> Iterator[_Step]:
    """Yield the engine's migrations after *newest*; it says itself which are for after the upgrade of all workers."""
    for path in engine_migrations():
        if path.stem > newest:
            yield _Step(
                name=f"procrastinate {path.stem}",
                contracts="_post_" in path.stem,
                statements=(path.read_text("utf-8"),),
                meta={"engine": path.stem},
            )


def _of_ours(version: int, compatible: int) -> Iterator[_Step]:
    for number, migration in enumerate(schema.MIGRATIONS[version:], version + 1):
        yield _Step(
            name=f"version {number}",
            contracts=migration.compatible > compatible,
            statements=migration.statements,
            meta={"version": number, "compatible": migration.compatible},
        )


async def _read_meta(connection: Connection, explainer: Explainer) -> tuple[int, int, str]:
    found = await connection.execute("SELECT version, compatible, engine FROM meta")
    row = await found.fetchone()
    if row is None:
        raise explainer.no_tables()
    version, compatible, engine = row
    if compatible > len(schema.MIGRATIONS):
        raise explainer.newer_tables(version, len(schema.MIGRATIONS))
    return version, compatible, engine
