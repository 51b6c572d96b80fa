"""How old rows go: plain functions over a connection, whose transactions are the caller's.

Log lines, drafts, runs and webhook events are each kept in the order written, for a job or a webhook, and the oldest go
first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from scenarioctl.stores.postgres.connections import Connection

#: The most rows that pruning removes before it lets others write.
PRUNED_AT_ONCE = 2_000
#: The share of its bytes, one in so many, that is kept free for short rows, whose bytes are not counted.
_SPARE = 8
#: Rows that are expected if their number has no limit.
_EXPECTED_ROWS = 10_000


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table whose rows go by age, number and bytes."""

    name: str
    #: The column that says what a row belongs to.
    owner: str = "job"
    #: The column that grows with every row.
    number: str = "seq"
    #: The column that says when the row was written, in nanoseconds since 1970.
    written: str
    #: The column whose bytes count.
    text: str
    #: The column of `tallies` that has the number of rows of each job; empty if there is none.
    tally: str = ""


LINES = Table(name="log_lines", written="written", text="text", tally="lines")
DRAFTS = Table(name="mempool", written="date", text="tx", tally="entries")
RUNS = Table(name="runs", written="finished", text="failure", tally="runs")
EVENTS = Table(name="webhook_events", owner="uuid", number="id", written="received", text="content")


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

    The newest row stays however long.  Nothing is read while *rows* texts as long as those *added* fit into the spare
    share: to count the bytes of a whole job takes too long for every run.
    """
    size = sum(len(text.encode("utf-8", "replace")) for text in added)
    if size * (rows or _EXPECTED_ROWS) <= limit // _SPARE * len(added):
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
        limit=limit - limit // _SPARE,
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
        for owner in sorted(set(owners)):
            await connection.execute(
                f"UPDATE tallies SET {table.tally} = {table.tally} - %s WHERE job = %s",  # noqa: S608
                (owners.count(owner), owner),
            )
    return len(owners)
