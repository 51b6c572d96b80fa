"""Rows of the store on PostgreSQL as `stores/copying.py` copies them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import psycopg

from scenarioctl.stores.copied_tables import TABLES, Row, Table, refused_row
from scenarioctl.stores.postgres.connections import Connection, Connections
from scenarioctl.stores.postgres.errors import Explainer
from scenarioctl.stores.postgres.schema import VERSION

#: How long a copy waits for those who write to its source.
_LOCK_SECONDS = 10


class PostgresRows:
    """The StoredRows of a database, read and written as its store does."""

    def __init__(
        self,
        connections: Connections,
        read: Callable[..., Awaitable[Any]],
        write: Callable[..., Awaitable[Any]],
    ) -> None:
        self._connections = connections
        self._read = read
        self._write = write

    async def find_place(self) -> Row:
        place: Row = await self._read(partial(_find_place, explainer=self._connections.explainer))
        return place

    @asynccontextmanager
    async def frozen(self) -> AsyncIterator[None]:
        connection = await self._connections.open()
        try:
            await self._lock(connection)
            yield
        finally:
            await connection.close()

    async def _lock(self, connection: Connection) -> None:
        names = ", ".join(table.name for table in TABLES)
        try:
            await connection.execute("BEGIN")
            await connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            await connection.execute(f"SET LOCAL lock_timeout = {_LOCK_SECONDS * 1000:.0f}")
            # Others can read.
            await connection.execute(f"LOCK TABLE {names} IN SHARE MODE")
        except psycopg.Error as error:
            raise self._connections.explainer.explain(error) from error

    async def count(self, table: Table) -> int:
        return int(await self._read(partial(_count, table=table)))

    async def read(self, table: Table, *, after: Row, rows: int, size: int) -> list[Row]:
        some: list[Row] = await self._read(partial(_read, table=table, after=after, rows=rows, size=size))
        return some

    async def add(self, table: Table, rows: Sequence[Row]) -> None:
        await self._write(partial(_add, table=table, rows=rows), tell=True)

    async def last_numbers(self) -> dict[str, int]:
        numbers: dict[str, int] = await self._read(_last_numbers)
        return numbers

    async def raise_numbers(self, numbers: Mapping[str, int]) -> None:
        await self._write(partial(_raise_numbers, numbers=numbers))


async def _find_place(connection: Connection, explainer: Explainer) -> Row:
    version = (await (await connection.execute("SELECT version FROM meta")).fetchone() or (0,))[0]
    if version > VERSION:
        # It may have columns that would be lost.
        raise explainer.newer_tables(version, VERSION)
    # A server restored from another one's backup has its identifier, but was started at another moment.
    found = await connection.execute(
        "SELECT system_identifier, pg_postmaster_start_time(), d.oid FROM pg_control_system(), pg_database d"
        " WHERE datname = current_database()"
    )
    return tuple(await found.fetchone() or ())


async def _count(connection: Connection, table: Table) -> int:
    found = await connection.execute(f"SELECT count(*) FROM {table.name}")  # noqa: S608
    row = await found.fetchone()
    return int(row[0]) if row else 0


async def _read(connection: Connection, table: Table, *, after: Row, rows: int, size: int) -> list[Row]:
    columns = ", ".join(f"{name}::text" if kind is dict else name for name, kind in table.columns.items())
    names, key = ", ".join(table.columns), ", ".join(table.key)
    condition = f"WHERE ({key}) > ({', '.join(['%s'] * len(after))})" if after else ""
    found = await connection.execute(
        f"""
        SELECT {names} FROM (
            SELECT {names}, sum(octet_length({table.long})) OVER (ORDER BY {key}) - octet_length({table.long}) AS former
            FROM (SELECT {columns} FROM {table.name} {condition} ORDER BY {key} LIMIT %s) AS first
        ) AS sized WHERE former < %s ORDER BY {key}
        """,  # noqa: S608
        (*after, rows, size),
        binary=True,
    )
    kinds = list(table.columns.values())
    return [
        tuple(
            tuple(sorted(value)) if kind is tuple else value for kind, value in zip(kinds, row, strict=True)
        )
        for row in await found.fetchall()
    ]


async def _add(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    columns = ", ".join((*table.columns, *table.fixed))
    try:
        # COPY keeps the numbers of rows, which INSERT would give out.
        async with connection.cursor().copy(f"COPY {table.name} ({columns}) FROM STDIN") as stream:
            for row in rows:
                values = [list(value) if isinstance(value, tuple) else value for value in row]
                await stream.write_row((*values, *table.fixed.values()))
    except psycopg.IntegrityError as error:
        raise refused_row(table, error.diag.message_primary) from error


async def _last_numbers(connection: Connection) -> dict[str, int]:
    numbers = {}
    for table in TABLES:
        if table.is_numbered:
            found = await connection.execute(
                "SELECT pg_sequence_last_value(pg_get_serial_sequence(%s, %s)::regclass)",
                (table.name, table.key[0]),
            )
            numbers[table.name] = (await found.fetchone() or (0,))[0] or 0
    return numbers


async def _raise_numbers(connection: Connection, numbers: Mapping[str, int]) -> None:
    own = await _last_numbers(connection)
    for table in TABLES:
        last = numbers.get(table.name, 0)
        if table.is_numbered and last > own[table.name]:
            await connection.execute(
                "SELECT setval(pg_get_serial_sequence(%s, %s)::regclass, %s)",
                (table.name, table.key[0], last),
            )
