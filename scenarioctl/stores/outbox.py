"""The outbox of a store: notifications that are not delivered yet.  A store keeps them with the runs that they tell of.

A notification is due at a time of the callers' wall clock.  A claim makes it due again later, so that it is repeated if who
claimed it ends before it has said what became of it.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from scenarioctl.model.jobs import FinishedRun
from scenarioctl.model.notifications import (
    NewNotification,
    NotificationEvent,
    NotificationFormat,
    QueuedNotification,
)
from scenarioctl.stores import statements
from scenarioctl.stores.job_texts import clean
from scenarioctl.stores.operations import Asking, Operation, Row, find, find_all


@dataclass(frozen=True, kw_only=True)
class OutboxFigures:
    """How many notifications wait."""

    #: For their first attempt; those of drafts that expire later don't count.
    queued: int = 0
    #: For another attempt.
    retrying: int = 0
    #: Why the last attempt of one of them failed; empty if none did.
    error: str = ""


class Outbox:
    """That of one store; `tests/test_outbox.py` shows it by example."""

    def __init__(self, store: Asking) -> None:
        self._store = store

    async def claim(
        self, *, now: int, until: int, limit: int, without: Collection[str] = ()
    ) -> list[QueuedNotification]:
        """Return up to *limit* notifications due by *now*, oldest first, which are then due again at *until*.

        None goes to a URL of *without*.  Of all callers, one gets a notification.
        """
        due = {"now": now, "without": list(without)}
        # Workers ask all the time, and hardly ever is one due.
        if await self._store.read(partial(find, statements.IS_NOTIFICATION_DUE, **due)) is None:
            return []
        return await self._store.write(partial(_claim, until, {**due, "limit": limit}))

    async def retry(self, notification: QueuedNotification, *, due: int, error: str) -> None:
        """Count a failed attempt, and let the notification be due again at *due*, unless another has claimed it since."""
        retry = partial(
            find_all,
            statements.RETRY_NOTIFICATION,
            seq=notification.seq,
            claimed=notification.due,
            due=due,
            error=clean(error),
        )
        await self._store.write(retry, alone=True)

    async def drop(self, notification: QueuedNotification) -> None:
        """Remove a notification: it is delivered, or given up."""
        drop = partial(find_all, statements.DROP_NOTIFICATION, seq=notification.seq)
        await self._store.write(drop, alone=True)

    async def prune(self, *, before: int, most: int) -> Mapping[str, int]:
        """Remove notifications created *before*, and the oldest of a job beyond *most*; return how many of each job."""
        bounds = {"before": before, "most": most}
        if await self._store.read(partial(find, statements.HAS_NOTIFICATIONS_TO_PRUNE, **bounds)) is None:
            return {}
        removed = await self._store.write(
            partial(find_all, statements.PRUNE_NOTIFICATIONS, **bounds), alone=True
        )
        return Counter(job for (job,) in removed)

    async def figures(self) -> OutboxFigures:
        """Return how many notifications wait."""
        ((queued, retrying, error),) = await self._store.read(
            partial(find_all, statements.COUNT_NOTIFICATIONS)
        )
        return OutboxFigures(queued=queued, retrying=retrying, error=str(error))


def notifications_of(run: FinishedRun, *, pauses: bool) -> list[NewNotification]:
    """Return the notifications that are stored with *run*; *pauses*: the job is paused by it."""
    return [each for each in run.notifications if pauses or each.event is not NotificationEvent.JOB_PAUSED]


def still_true(notifications: Collection[NewNotification], flagged: Collection[int]) -> list[NewNotification]:
    """Return *notifications* without drafts that others have flagged, and without those that are left with none."""
    kept = [
        replace(each, drafts=tuple(seq for seq in each.drafts if seq in flagged)) for each in notifications
    ]
    return [each for each in kept if each.drafts]


def _claim(until: int, due: Mapping[str, object]) -> Operation[list[QueuedNotification]]:
    rows = yield statements.DUE_NOTIFICATIONS, due
    if rows:
        yield statements.CLAIM_NOTIFICATIONS, {"seqs": [row[0] for row in rows], "until": until}
    return _read_all(rows, due=until)


def _read_all(rows: Iterable[Row], *, due: int) -> list[QueuedNotification]:
    """Return the notifications in *rows*, which are due again at *due*, without those that this version can't read."""
    found = []
    for row in rows:
        # A newer version may share the store, and one row must not hold up the others.
        with suppress(ValueError):
            found.append(_read(row, due=due))
    return found


def _read(row: Row, *, due: int) -> QueuedNotification:
    """Return a notification without drafts if those are damaged; ValueError for an unknown event or format."""
    seq, id, job, event, created, attempts, format, url, drafts, reason = row
    try:
        numbers = tuple(number for number in json.loads(drafts) if isinstance(number, int))
    except (ValueError, TypeError, RecursionError):
        numbers = ()
    return QueuedNotification(
        seq=seq,
        id=str(id),
        job=str(job),
        event=NotificationEvent(event),
        created=created,
        due=due,
        attempts=attempts,
        format=NotificationFormat(format),
        url=str(url),
        drafts=numbers,
        reason=str(reason),
    )
