"""Which rows go by age and number.

Log lines, drafts, runs and webhook events are each kept in the order written, for a job or a
webhook, and the oldest go first.  `tallies` has the number of rows of each job.  Who removes rows
has locked the job's tally before.
"""

import re
from collections import Counter
from dataclasses import dataclass

from scenarioctl.stores import statements
from scenarioctl.stores.asking import Operation, Table

#: The most rows that pruning removes before it lets others write.
_PRUNED_AT_ONCE = 2_000


@dataclass(frozen=True, kw_only=True)
class KeptTable:
    """A table whose rows go by age and number."""

    name: str
    #: The column that says what a row belongs to.
    owner: str = "job"
    #: The column that grows with every row.
    number: str = "seq"
    #: The column that says when the row was written, in nanoseconds since 1970.
    written: str
    #: The column of `tallies` that has the number of rows of each job; empty if there is none.
    tally: str = ""

    def fill(self, statement: str) -> str:
        """Return *statement* about this table, whose fields it has in brackets."""
        return re.sub(r"\[(\w+)\]", lambda found: str(getattr(self, found[1])), statement)


LINES = KeptTable(name="log_lines", written="written", tally="lines")
DRAFTS = KeptTable(name="mempool", written="date", tally="entries")
RUNS = KeptTable(name="runs", written="finished", tally="runs")
EVENTS = KeptTable(name="webhook_events", owner="uuid", number="id", written="received")


def trim_rows(table: KeptTable, owner: str, *, excess: int) -> Operation[None]:
    """Remove the oldest *excess* rows, which are no longer in the owner's tally."""
    if excess:
        yield table.fill(statements.TRIM_ROWS), {"owner": owner, "excess": excess}


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
