"""How old rows go: plain functions over a connection, whose transactions are the caller's.

Log lines, drafts, runs and webhook events are each kept in the order written, for a job or a webhook, and the oldest go
first.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from sqlite3 import Connection

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

    The newest row stays however long.  Nothing is read while *rows* texts as long as those *added* fit into the spare
    share: to count the bytes of a whole job takes too long for every run.
    """
    size = sum(len(text.encode("utf-8", "replace")) for text in added)
    if size * (rows or _EXPECTED_ROWS) <= limit // _SPARE * len(added):
        return 0
    left = limit - limit // _SPARE
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
