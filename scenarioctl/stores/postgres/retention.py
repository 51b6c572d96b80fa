"""How old rows go: plain functions over a connection, whose transactions are the caller's."""

from collections import Counter
from collections.abc import Sequence

from scenarioctl.stores.postgres.connections import Connection
from scenarioctl.stores.retention import PRUNED_AT_ONCE, Table, room, surely_fits


async def trim_rows(connection: Connection, table: Table, owner: str, *, excess: int) -> None:
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
    connection: Connection, table: Table, owner: str, *, added: Sequence[str], limit: int, rows: int
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


async def _remove(connection: Connection, table: Table, owner: str, rows: str, **values: int) -> None:
    """Remove these rows of *owner*, and count them down; nothing is read."""
    statement = f"DELETE FROM {table.name} WHERE {rows}"  # noqa: S608
    if table.tally:
        statement = (
            f"WITH gone AS ({statement} RETURNING 1)"  # noqa: S608
            f" UPDATE tallies SET {table.tally} = {table.tally} - (SELECT count(*) FROM gone) WHERE job = %(owner)s"
        )
    await connection.execute(statement, {"owner": owner, **values})


async def prune(connection: Connection, table: Table, *, now: int, age: int, limit: int = 0) -> int:
    """Remove some of the rows older than *age*, or beyond *limit* of a job (0: no bound); return how many, 0 at the end."""
    removed = await _prune_old(connection, table, now - age) if age else 0
    if not limit:
        return removed
    crowded = await connection.execute(
        f"SELECT job, {table.tally} FROM tallies WHERE {table.tally} > %s ORDER BY job LIMIT 100 FOR UPDATE SKIP LOCKED",  # noqa: S608
        (limit,),
    )
    for job, count in await crowded.fetchall():
        if removed >= PRUNED_AT_ONCE:
            break
        excess = min(count - limit, PRUNED_AT_ONCE)
        await trim_rows(connection, table, job, excess=excess)
        removed += excess
    return removed


async def _prune_old(connection: Connection, table: Table, before: int) -> int:
    found = await connection.execute(
        f"DELETE FROM {table.name} WHERE {table.number} IN"  # noqa: S608
        f" (SELECT {table.number} FROM {table.name} WHERE {table.written} < %s ORDER BY {table.number}"
        f" LIMIT {PRUNED_AT_ONCE} FOR UPDATE SKIP LOCKED) RETURNING {table.owner}",
        (before,),
    )
    owners = [owner for (owner,) in await found.fetchall()]
    if table.tally:
        for owner, count in sorted(Counter(owners).items()):
            await connection.execute(
                f"UPDATE tallies SET {table.tally} = {table.tally} - %s WHERE job = %s",  # noqa: S608
                (count, owner),
            )
    return len(owners)
