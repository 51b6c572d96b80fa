"""Rows of the embedded store as `stores/copying.py` copies them."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from functools import partial
from sqlite3 import Connection
from typing import Any

from scenarioctl.stores.copied_tables import Row, Table, refused_row
from scenarioctl.stores.sqlite.database_file import DatabaseFile


class SqliteRows:
    """The StoredRows of a file, read and written as its store does."""

    def __init__(
        self, file: DatabaseFile, read: Callable[..., Awaitable[Any]], write: Callable[..., Awaitable[Any]]
    ) -> None:
        self._file = file
        self._read = read
        self._write = write

    async def find_place(self) -> Row:
        with self._file.reporting():
            found = self._file.path.stat()
        return found.st_dev, found.st_ino

    @asynccontextmanager
    async def frozen(self) -> AsyncIterator[None]:
        with closing(await asyncio.to_thread(self._lock)):
            yield

    def _lock(self) -> Connection:
        """Return a connection with the lock of writers."""
        database = self._file.open()
        try:
            with self._file.reporting():
                database.execute("BEGIN IMMEDIATE")
        except BaseException:
            database.close()
            raise
        return database

    async def count(self, table: Table) -> int:
        return int(await self._read(partial(_count, table=table), long=True))

    async def read(self, table: Table, *, after: Row, rows: int, size: int) -> list[Row]:
        some: list[Row] = await self._read(
            partial(_read, table=table, after=after, rows=rows, size=size), long=True
        )
        return some

    async def add(self, table: Table, rows: Sequence[Row]) -> None:
        await self._write(partial(_add, table=table, rows=rows))

    async def last_numbers(self) -> dict[str, int]:
        numbers: dict[str, int] = await self._read(_last_numbers)
        return numbers

    async def raise_numbers(self, numbers: Mapping[str, int]) -> None:
        await self._write(partial(_raise_numbers, numbers=numbers))


def _count(database: Connection, table: Table) -> int:
    (rows,) = database.execute(f"SELECT count(*) FROM {table.name}").fetchone()  # noqa: S608
    return int(rows)


def _read(database: Connection, table: Table, *, after: Row, rows: int, size: int) -> list[Row]:
    columns = ", ".join(table.columns)
    key = ", ".join(table.key)
    condition = f"WHERE ({key}) > ({', '.join('?' * len(after))})" if after else ""
    found = database.execute(
        f"SELECT {columns} FROM {table.name} t {condition} ORDER BY {key} LIMIT ?",  # noqa: S608
        (*after, rows),
    )
    kinds = list(table.columns.values())
    long = list(table.columns).index(table.long)
    some: list[Row] = []
    total = 0
    # Rows that are not wanted any more are never read.
    for row in found:
        some.append(
            tuple(
                tuple(sorted(json.loads(value))) if kind is tuple else value
                for kind, value in zip(kinds, row, strict=True)
            )
        )
        total += len(row[long]) if isinstance(row[long], (str, bytes)) else 0
        if total >= size:
            break
    found.close()
    return some


def _add(database: Connection, table: Table, rows: Sequence[Row]) -> None:
    columns = (*table.columns, *table.fixed)
    try:
        database.executemany(
            f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",  # noqa: S608
            [
                (
                    *(json.dumps(value) if isinstance(value, tuple) else value for value in row),
                    *table.fixed.values(),
                )
                for row in rows
            ],
        )
    except sqlite3.IntegrityError as error:
        raise refused_row(table, error) from error


def _last_numbers(database: Connection) -> dict[str, int]:
    numbers: dict[str, int] = dict(database.execute("SELECT name, seq FROM sqlite_sequence").fetchall())
    (last,) = database.execute("SELECT max(seq) FROM scenarios").fetchone()
    return {**numbers, "scenarios": last or 0}


def _raise_numbers(database: Connection, numbers: Mapping[str, int]) -> None:
    for name, last in numbers.items():
        # Numbers of scenarios are no cursors, and follow the highest that is there.
        if last and name != "scenarios":
            # The table of SQLite has no keys.
            raised = database.execute(
                "UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", (last, name)
            )
            if not raised.rowcount:
                database.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (name, last))
