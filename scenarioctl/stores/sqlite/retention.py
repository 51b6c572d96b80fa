"""How old rows go: plain functions over a connection, whose transactions are the caller's."""

import json
from collections import Counter
from collections.abc import Sequence
from sqlite3 import Connection

from scenarioctl.stores.retention import PRUNED_AT_ONCE, Table, room, surely_fits


def trim_rows(database: Connection, table: Table, owner: str, *, count: int, limit: int) -> int:
    """Remove the oldest of *count* rows beyond *limit* (0: none); return how many are left."""
    if not limit or count <= limit:
        return count
    database.execute(
        f"DELETE FROM {table.name} WHERE {table.number} IN"  # noqa: S608
        f" (SELECT {table.number} FROM {table.name} WHERE {table.owner} = ? ORDER BY {table.number} LIMIT ?)",
        (owner, count - limit),
    )
    return limit


def trim_bytes(
    database: Connection, table: Table, owner: str, *, added: Sequence[str], limit: int, rows: int
) -> int:
    """Remove the oldest rows beyond *limit* bytes, now that the texts *added* are in; return how many.

    The newest row stays however long.  Nothing is read if they surely fit.
    """
    if surely_fits(added, limit=limit, rows=rows):
        return 0
    left = room(limit)
    sizes = database.execute(
        f"SELECT {table.number}, length(CAST({table.text} AS BLOB)) FROM {table.name}"  # noqa: S608
        f" WHERE {table.owner} = ? ORDER BY {table.number} DESC",
        (owner,),
    )
    for place, (number, length) in enumerate(sizes):
        left -= length
        if left < 0 and place:
            sizes.close()
            return database.execute(
                f"DELETE FROM {table.name} WHERE {table.owner} = ? AND {table.number} <= ?",  # noqa: S608
                (owner, number),
            ).rowcount
    return 0


def prune(database: Connection, table: Table, *, now: int, age: int, limit: int = 0) -> int:
    """Remove some of the rows older than *age*, or beyond *limit* of a job (0: no bound); return how many, 0 at the end."""
    removed = _prune_old(database, table, now - age) if age else 0
    if not limit:
        return removed
    crowded: list[tuple[str, int]] = database.execute(
        f"SELECT job, {table.tally} FROM tallies WHERE {table.tally} > ? LIMIT 100",  # noqa: S608
        (limit,),
    ).fetchall()
    for job, count in crowded:
        if removed >= PRUNED_AT_ONCE:
            break
        excess = min(count - limit, PRUNED_AT_ONCE)
        left = trim_rows(database, table, job, count=count, limit=count - excess)
        database.execute(f"UPDATE tallies SET {table.tally} = ? WHERE job = ?", (left, job))  # noqa: S608
        removed += excess
    return removed


def _prune_old(database: Connection, table: Table, before: int) -> int:
    rows = database.execute(
        f"SELECT {table.number}, {table.owner} FROM {table.name} WHERE {table.written} < ? LIMIT {PRUNED_AT_ONCE}",  # noqa: S608
        (before,),
    ).fetchall()
    database.execute(
        f"DELETE FROM {table.name} WHERE {table.number} IN (SELECT value FROM json_each(?))",  # noqa: S608
        (json.dumps([number for number, _ in rows]),),
    )
    if table.tally:
        database.executemany(
            f"UPDATE tallies SET {table.tally} = {table.tally} - ? WHERE job = ?",  # noqa: S608
            [(count, owner) for owner, count in Counter(owner for _, owner in rows).items()],
        )
    return len(rows)
