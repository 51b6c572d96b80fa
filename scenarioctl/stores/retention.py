"""Which rows go by age, number and bytes.

Log lines, drafts, runs and webhook events are each kept in the order written, for a job or a
webhook, and the oldest go first.  `tallies` has the number of rows of each job.  Who removes rows
has locked the job's tally before.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from scenarioctl.stores import statements
from scenarioctl.stores.operations import Operation, Table

#: The most rows that pruning removes before it lets others write.
_PRUNED_AT_ONCE = 2_000
#: The share of its bytes, one in so many, that is kept free for short rows, whose bytes are not
#: counted.
_SPARE = 8
#: Rows that are expected if their number has no limit.
_EXPECTED_ROWS = 10_000


@dataclass(frozen=True, kw_only=True)
class KeptTable:
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

    def fill(self, statement: str) -> str:
        """Return *statement* about this table, whose fields it has in brackets."""
        return re.sub(r"\[(\w+)\]", lambda found: str(getattr(self, found[1])), statement)


LINES = KeptTable(name="log_lines", written="written", text="text", tally="lines")
DRAFTS = KeptTable(name="mempool", written="date", text="tx", tally="entries")
RUNS = KeptTable(name="runs", written="finished", text="failure", tally="runs")
EVENTS = KeptTable(
    name="webhook_events", owner="uuid", number="id", written="received", text="content"
)


def trim_rows(table: KeptTable, owner: str, *, excess: int) -> Operation[None]:
    """Remove the oldest *excess* rows, which are no longer in the owner's tally."""
    if excess:
        yield table.fill(statements.TRIM_ROWS), {"owner": owner, "excess": excess}


def trim_bytes(
    table: KeptTable, owner: str, *, added: Sequence[str], limit: int, rows: int
) -> Operation[None]:
    """Remove the oldest rows beyond *limit* bytes, now that the texts *added* are in, and at most
    *rows* (0: any number).

    The newest row stays however long.  Nothing is read if they surely fit.
    """
    if _surely_fits(added, limit=limit, rows=rows):
        return
    yield table.fill(statements.TRIM_BYTES), {"owner": owner, "room": limit - limit // _SPARE}
    if table.tally:
        yield table.fill(statements.COUNT_ROWS), {"owner": owner}


def _surely_fits(added: Sequence[str], *, limit: int, rows: int) -> bool:
    """Return whether *rows* texts as long as those *added* fit into the spare share of *limit*
    bytes.

    To count the bytes of a whole job takes too long for every run.
    """
    size = sum(len(text.encode("utf-8", "replace")) for text in added)
    return size * (rows or _EXPECTED_ROWS) <= limit // _SPARE * len(added)


def prune(table: KeptTable, *, now: int, age: int, limit: int = 0) -> Operation[int]:
    """Remove some of the rows older than *age*, or beyond *limit* of a job (0: no bound); return
    how many, 0 at the end."""
    removed = (yield from _prune_old(table, now - age)) if age else 0
    if not limit:
        return removed
    crowded = yield table.fill(statements.CROWDED_JOBS), {"limit": limit}
    for job, count in crowded:
        if removed >= _PRUNED_AT_ONCE:
            break
        excess = min(count - limit, _PRUNED_AT_ONCE)
        yield from trim_rows(table, job, excess=excess)
        yield table.fill(statements.COUNT_DOWN), {"gone": Table([(job, excess)])}
        removed += excess
    return removed


def _prune_old(table: KeptTable, before: int) -> Operation[int]:
    old = yield table.fill(statements.OLD_ROWS), {"before": before, "most": _PRUNED_AT_ONCE}
    if not old:
        return 0
    if table.tally:
        yield statements.LOCK_TALLIES, {"jobs": sorted({owner for _, owner in old})}
    # Another process may prune too.
    gone = yield table.fill(statements.REMOVE_ROWS), {"numbers": [number for number, _ in old]}
    if table.tally and gone:
        counts = Counter(owner for (owner,) in gone)
        yield table.fill(statements.COUNT_DOWN), {"gone": Table(list(counts.items()))}
    return len(gone)
