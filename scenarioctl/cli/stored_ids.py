"""Ids that begin with what somebody has typed, read from the embedded store while a shell waits.

Not by way of the store, whose import alone takes as long as all the rest.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

#: The most that a shell is told.
MOST = 100

_SCENARIOS = """
    SELECT s.id, coalesce(nullif(s.name, ''), s.summary) FROM scenarios s WHERE {} ORDER BY s.created DESC LIMIT ?
"""
_JOBS = """
    SELECT j.id, j.state || ', ' || coalesce(nullif(s.name, ''), s.summary) FROM jobs j JOIN scenarios s ON s.id = j.id
    WHERE {} ORDER BY j.changed DESC LIMIT ?
"""


def find_ids(path: Path, beginning: str, *, jobs: bool = False) -> list[tuple[str, str]]:
    """Return ids of scenarios, or of *jobs*, with a description, the newest first; none if the store can't be read now.

    The file is never created, migrated or waited for.
    """
    try:
        location = f"{path.absolute().as_uri()}?mode=ro"
        # Without a beginning, no condition: it would keep SQLite from reading in the order of the index by date.
        condition = "s.id >= ? AND s.id < ?" if beginning else "1"
        bounds = (beginning, f"{beginning}\x7f") if beginning else ()
        query = (_JOBS if jobs else _SCENARIOS).format(condition)
        with closing(sqlite3.connect(location, uri=True, timeout=0.01)) as database:
            rows: list[tuple[str, str]] = database.execute(query, (*bounds, MOST)).fetchall()
    except (sqlite3.Error, ValueError):
        return []
    return rows
