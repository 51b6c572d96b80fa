"""How old rows go: plain functions over a connection, whose transactions are the caller's."""

from collections.abc import Sequence
from sqlite3 import Connection

from scenarioctl.stores.retention import KeptTable, room, surely_fits


def trim_rows(database: Connection, table: KeptTable, owner: str, *, count: int, limit: int) -> int:
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
    database: Connection, table: KeptTable, owner: str, *, added: Sequence[str], limit: int, rows: int
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
