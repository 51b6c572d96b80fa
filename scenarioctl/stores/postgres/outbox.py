"""Notifications in PostgreSQL that are not delivered yet."""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from scenarioctl.model.notifications import NewNotification, QueuedNotification
from scenarioctl.stores.outbox import OutboxFigures
from scenarioctl.stores.postgres.connections import Connection
from scenarioctl.stores.rows import NOTIFICATION_COLUMNS, read_notifications
from scenarioctl.stores.texts import clean


class PostgresOutbox:
    """The Outbox of a database, read and written as its store does."""

    def __init__(self, read: Callable[..., Awaitable[Any]], write: Callable[..., Awaitable[Any]]) -> None:
        self._read = read
        self._write = write

    async def claim(
        self, *, now: int, until: int, limit: int, without: Collection[str] = ()
    ) -> list[QueuedNotification]:
        # Workers ask all the time, and hardly ever is one due.
        if not await self._read(partial(_is_any_due, now=now, without=without)):
            return []
        found: list[QueuedNotification] = await self._write(
            partial(_claim, now=now, until=until, limit=limit, without=without), alone=True
        )
        return found

    async def retry(self, notification: QueuedNotification, *, due: int, error: str) -> None:
        await self._write(
            lambda connection: connection.execute(
                "UPDATE notifications SET due = %s, attempts = attempts + 1, error = %s WHERE seq = %s AND due = %s",
                (due, clean(error), notification.seq, notification.due),
            ),
            alone=True,
        )

    async def drop(self, notification: QueuedNotification) -> None:
        await self._write(
            lambda connection: connection.execute(
                "DELETE FROM notifications WHERE seq = %s", (notification.seq,)
            ),
            alone=True,
        )

    async def prune(self, *, before: int, most: int) -> Mapping[str, int]:
        removed: dict[str, int] = await self._write(partial(_prune, before=before, most=most), alone=True)
        return removed

    async def figures(self) -> OutboxFigures:
        found: OutboxFigures = await self._read(_count)
        return found


#: The columns of `notification_rows`.
COLUMNS = "id, job, event, created, format, url, drafts, reason"
#: Their types, for `unnest`.
TYPES = "%s::text[], %s::text[], %s::text[], %s::bigint[], %s::text[], %s::text[], %s::text[], %s::text[]"


def notification_rows(notifications: Sequence[NewNotification]) -> list[tuple[Any, ...]]:
    """Return the values of notifications; `drafts` is NULL if they are those of a run."""
    return [
        (
            *(each.id, each.job, str(each.event), each.created, str(each.format), each.url),
            *(None if each.has_run_drafts else json.dumps(list(each.drafts)), clean(each.reason)),
        )
        for each in notifications
    ]


async def put(connection: Connection, notifications: Sequence[NewNotification]) -> None:
    """Store notifications that are not of a run."""
    if notifications:
        await connection.execute(
            f"INSERT INTO notifications ({COLUMNS}, due, attempts, error)"  # noqa: S608
            f" SELECT {COLUMNS}, created, 0, '' FROM unnest({TYPES}) AS n ({COLUMNS})",
            [list(column) for column in zip(*notification_rows(notifications), strict=True)],
        )


async def forget_expiring(connection: Connection, jobs: Collection[str]) -> None:
    """Remove what was to be said of older drafts of the jobs, now that there are newer ones."""
    await connection.execute(
        "DELETE FROM notifications WHERE job = ANY(%s) AND event = 'draft_expiring' AND attempts = 0",
        (list(jobs),),
    )


async def _is_any_due(connection: Connection, *, now: int, without: Collection[str]) -> bool:
    found = await connection.execute(
        "SELECT FROM notifications WHERE due <= %s AND url <> ALL(%s) LIMIT 1", (now, list(without))
    )
    return await found.fetchone() is not None


async def _claim(
    connection: Connection, *, now: int, until: int, limit: int, without: Collection[str]
) -> list[QueuedNotification]:
    found = await connection.execute(
        "WITH due AS (SELECT seq, due FROM notifications WHERE due <= %s AND url <> ALL(%s) ORDER BY due, seq LIMIT %s"  # noqa: S608
        " FOR UPDATE SKIP LOCKED), claimed AS (UPDATE notifications n SET due = %s FROM due WHERE n.seq = due.seq"
        f" RETURNING {', '.join(f'n.{name}' for name in NOTIFICATION_COLUMNS.split(', '))}, due.due AS since)"
        f" SELECT {NOTIFICATION_COLUMNS} FROM claimed ORDER BY since, seq",
        (now, list(without), limit, until),
    )
    return read_notifications(await found.fetchall(), due=until)


async def _prune(connection: Connection, *, before: int, most: int) -> dict[str, int]:
    found = await connection.execute(
        "DELETE FROM notifications WHERE created < %s OR seq IN (SELECT seq FROM"
        " (SELECT seq, row_number() OVER (PARTITION BY job ORDER BY seq DESC) AS place FROM notifications) AS placed"
        " WHERE place > %s) RETURNING job",
        (before, most),
    )
    return Counter(job for (job,) in await found.fetchall())


async def _count(connection: Connection) -> OutboxFigures:
    found = await connection.execute(
        "SELECT count(*) FILTER (WHERE attempts = 0 AND event <> 'draft_expiring'),"
        " count(*) FILTER (WHERE attempts > 0),"
        " coalesce((SELECT error FROM notifications WHERE attempts > 0 ORDER BY due DESC LIMIT 1), '')"
        " FROM notifications"
    )
    row = await found.fetchone()
    return OutboxFigures(queued=row[0], retrying=row[1], error=row[2]) if row else OutboxFigures()
