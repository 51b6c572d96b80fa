"""Notifications in SQLite that are not delivered yet."""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from sqlite3 import Connection
from typing import Any

from scenarioctl.model.notifications import NewNotification, QueuedNotification
from scenarioctl.stores.outbox import OutboxFigures
from scenarioctl.stores.rows import NOTIFICATION_COLUMNS, read_notifications
from scenarioctl.stores.texts import clean


class SqliteOutbox:
    """The Outbox of a file, read and written as its store does."""

    def __init__(self, read: Callable[..., Awaitable[Any]], write: Callable[..., Awaitable[Any]]) -> None:
        self._read = read
        self._write = write

    async def claim(
        self, *, now: int, until: int, limit: int, without: Collection[str] = ()
    ) -> list[QueuedNotification]:
        # Workers ask all the time, and hardly ever is one due.
        if not await self._read(partial(_find_due, now=now, limit=1, without=without)):
            return []
        found: list[QueuedNotification] = await self._write(
            partial(_claim, now=now, until=until, limit=limit, without=without)
        )
        return found

    async def retry(self, notification: QueuedNotification, *, due: int, error: str) -> None:
        await self._write(
            lambda database: database.execute(
                "UPDATE notifications SET due = ?, attempts = attempts + 1, error = ? WHERE seq = ? AND due = ?",
                (due, clean(error), notification.seq, notification.due),
            )
        )

    async def drop(self, notification: QueuedNotification) -> None:
        await self._write(
            lambda database: database.execute("DELETE FROM notifications WHERE seq = ?", (notification.seq,))
        )

    async def prune(self, *, before: int, most: int) -> Mapping[str, int]:
        if not await self._read(partial(_find_excess, before=before, most=most)):
            return {}
        removed: dict[str, int] = await self._write(partial(_prune, before=before, most=most))
        return removed

    async def figures(self) -> OutboxFigures:
        found: OutboxFigures = await self._read(_count)
        return found


def put(
    database: Connection, notifications: Sequence[NewNotification], *, run_drafts: Sequence[int] = ()
) -> None:
    """Store notifications; *run_drafts* are the numbers of the transactions that a run drafted."""
    for each in notifications:
        drafts = run_drafts if each.has_run_drafts else each.drafts
        database.execute(
            "INSERT INTO notifications (id, job, event, created, due, attempts, format, url, drafts, reason, error)"
            " VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, ?, '')",
            (
                *(each.id, each.job, each.event, each.created, each.created),
                *(each.format, each.url, json.dumps(list(drafts)), clean(each.reason)),
            ),
        )


def forget_expiring(database: Connection, job: str) -> None:
    """Remove what was to be said of older drafts of the job, now that there are newer ones."""
    database.execute(
        "DELETE FROM notifications WHERE job = ? AND event = 'draft_expiring' AND attempts = 0", (job,)
    )


def _find_due(
    database: Connection, *, now: int, limit: int, without: Collection[str]
) -> list[tuple[Any, ...]]:
    return database.execute(
        f"SELECT {NOTIFICATION_COLUMNS} FROM notifications WHERE due <= ?"  # noqa: S608
        " AND url NOT IN (SELECT value FROM json_each(?)) ORDER BY due, seq LIMIT ?",
        (now, json.dumps(list(without)), limit),
    ).fetchall()


def _claim(
    database: Connection, *, now: int, until: int, limit: int, without: Collection[str]
) -> list[QueuedNotification]:
    rows = _find_due(database, now=now, limit=limit, without=without)
    database.executemany("UPDATE notifications SET due = ? WHERE seq = ?", [(until, row[0]) for row in rows])
    return read_notifications(rows, due=until)


def _find_excess(database: Connection, *, before: int, most: int) -> bool:
    """Return whether there is anything to prune."""
    return bool(
        database.execute(
            "SELECT EXISTS (SELECT 1 FROM notifications WHERE created < ?)"
            " OR EXISTS (SELECT 1 FROM notifications GROUP BY job HAVING count(*) > ?)",
            (before, most),
        ).fetchone()[0]
    )


def _prune(database: Connection, *, before: int, most: int) -> dict[str, int]:
    removed = database.execute(
        "DELETE FROM notifications WHERE created < ? OR seq IN (SELECT seq FROM"
        " (SELECT seq, row_number() OVER (PARTITION BY job ORDER BY seq DESC) AS place FROM notifications)"
        " WHERE place > ?) RETURNING job",
        (before, most),
    )
    return Counter(job for (job,) in removed)


def _count(database: Connection) -> OutboxFigures:
    queued, retrying, error = database.execute(
        "SELECT count(*) FILTER (WHERE attempts = 0 AND event <> 'draft_expiring'),"
        " count(*) FILTER (WHERE attempts > 0),"
        " coalesce((SELECT error FROM notifications WHERE attempts > 0 ORDER BY due DESC LIMIT 1), '')"
        " FROM notifications"
    ).fetchone()
    return OutboxFigures(queued=queued, retrying=retrying, error=str(error))
