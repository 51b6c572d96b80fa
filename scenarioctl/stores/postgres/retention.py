"""How old rows go: plain functions over a connection, whose transactions are the caller's."""

from collections.abc import Sequence

from scenarioctl.stores.postgres.connections import Connection
from scenarioctl.stores.retention import KeptTable, room, surely_fits


async def trim_rows(connection: Connection, table: KeptTable, owner: str, *, excess: int) -> None:
    """Remove the oldest *excess* rows."""
    if excess > 0:
        await _remove(
            connection,
            table,
            owner,
            f"{table.number} IN (SELECT {table.number} FROM {table.name} WHERE {table.owner} = %(owner)s"  # noqa: S608
            f" ORDER BY {table.number} LIMIT %(excess)s)",
            excess=excess,
        )


async def trim_bytes(
    connection: Connection, table: KeptTable, owner: str, *, added: Sequence[str], limit: int, rows: int
) -> None:
    """Remove the oldest rows beyond *limit* bytes, now that the texts *added* are in.

    The newest row stays however long.  Nothing is read if they surely fit.
    """
    if surely_fits(added, limit=limit, rows=rows):
        return
    await _remove(
        connection,
        table,
        owner,
        f"""
        {table.owner} = %(owner)s AND {table.number} <= (
            SELECT max({table.number}) FROM (
                SELECT {table.number}, row_number() OVER newest AS place,
                    sum(octet_length({table.text})) OVER newest AS bytes
                FROM {table.name} WHERE {table.owner} = %(owner)s WINDOW newest AS (ORDER BY {table.number} DESC)
            ) AS each WHERE bytes > %(limit)s AND place > 1
        )
        """,  # noqa: S608
        limit=room(limit),
    )


async def _remove(connection: Connection, table: KeptTable, owner: str, rows: str, **values: int) -> None:
    """Remove these rows of *owner*, and count them down; nothing is read."""
    statement = f"DELETE FROM {table.name} WHERE {rows}"  # noqa: S608
    if table.tally:
        statement = (
            f"WITH gone AS ({statement} RETURNING 1)"  # noqa: S608
            f" UPDATE tallies SET {table.tally} = {table.tally} - (SELECT count(*) FROM gone) WHERE job = %(owner)s"
        )
    await connection.execute(statement, {"owner": owner, **values})
