"""Which rows go by age, number and bytes; every store removes them in its own way.

Log lines, drafts, runs and webhook events are each kept in the order written, for a job or a webhook, and the oldest go
first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

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


def surely_fits(added: Sequence[str], *, limit: int, rows: int) -> bool:
    """Return whether *rows* texts as long as those *added* fit into the spare share of *limit* bytes.

    To count the bytes of a whole job takes too long for every run.
    """
    size = sum(len(text.encode("utf-8", "replace")) for text in added)
    return size * (rows or _EXPECTED_ROWS) <= limit // _SPARE * len(added)


def room(limit: int) -> int:
    """Return how many of *limit* bytes the counted rows may take."""
    return limit - limit // _SPARE
