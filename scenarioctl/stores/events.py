"""What arrives at webhooks, and the notifications that are not delivered yet: operations over a
store.

A store keeps notifications with the runs that they tell of.  One is due at a time of the callers'
wall clock.  A claim makes it due again later, so that it is repeated if who claimed it ends before
it has said what became of it.
"""

import json
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.jobs import FinishedRun, Retention, WebhookEvent
from scenarioctl.model.notifications import (
    NewNotification,
    NotificationEvent,
    QueuedNotification,
)
from scenarioctl.stores import statements
from scenarioctl.stores.asking import (
    CONCLUDE,
    Asking,
    Operation,
    Ring,
    Row,
    find,
    find_all,
    lock_key,
)
from scenarioctl.stores.rows import PORTION, clean
from scenarioctl.stores.validation import INTEGER_MAX, unnamed

#: Events that are read first: few, since they may be long.
_FEW = 2


def put(
    uuid: str, content: Any, *, now: int, retention: Retention, key: str
) -> Operation[list[Row]]:
    """Store an event, and let the runs go on that wait for it; return the list that has its id
    after the commit, or that of the stored one with its *key*."""
    # Deletions of the webhook's events wait; others add theirs side by side.
    yield statements.LOCK_WEBHOOK_SHARED, {"key": lock_key(uuid.encode())}
    yield from check_named(uuid)
    text = json.dumps(content, separators=(",", ":"))
    former = yield statements.EVENT_OF_KEY, {"uuid": uuid, "key": key or None}
    if former:
        if former[0][1] != text:
            raise InvalidRequest(
                field="idempotency_key",
                value=key,
                problem=f"is that of event {former[0][0]}, which has other JSON",
                expected="a key of its own for each event",
            )
        return former
    woken = yield statements.WAKE, {"uuid": uuid}
    if woken:
        yield Ring(woken[0][0], woken[0][0])
    yield CONCLUDE
    row = {"uuid": uuid, "now": now, "content": text, "key": key or None}
    inserted = yield statements.ADD_EVENT, row
    if retention.webhook_events:
        yield statements.TRIM_EVENTS, {"uuid": uuid, "most": retention.webhook_events}
    return inserted


def newest(uuid: str, *, job: str, after: int) -> Operation[WebhookEvent | None]:
    row = yield from find(
        statements.NEWEST_EVENT, uuid=uuid, job=job, after=min(after, INTEGER_MAX)
    )
    return None if row is None else _read_event(row)


def read_some(uuid: str, *, after: int, limit: int) -> Operation[list[WebhookEvent]]:
    yield from check_named(uuid)
    found: list[WebhookEvent] = []
    room, some = PORTION, _FEW
    # An event may have 1 MiB.
    while not limit or (room > 0 and len(found) < limit):
        asked = min(some, limit - len(found)) if limit else INTEGER_MAX
        last = found[-1].id if found else min(after, INTEGER_MAX)
        rows = yield statements.EVENTS_OF_WEBHOOK, {"uuid": uuid, "after": last, "limit": asked}
        for row in rows:
            if not limit or room > 0:
                found.append(_read_event(row))
                room -= len(row[3])
        if len(rows) < asked or not limit:
            break
        some *= 4
    return found


def check_named(uuid: str) -> Operation[None]:
    """Raise NotFound if no scenario names the webhook."""
    if "\0" in uuid or (yield from find(statements.IS_WEBHOOK_NAMED, uuid=uuid)) is None:
        raise unnamed(uuid)


def _read_event(row: Row) -> WebhookEvent:
    id, uuid, received, text = row
    return WebhookEvent(id=id, uuid=uuid, received=received, content=json.loads(text))


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
        """Return up to *limit* notifications due by *now*, oldest first, which are then due again
        at *until*.

        None goes to a URL of *without*.  Of all callers, one gets a notification.
        """
        due = {"now": now, "without": list(without)}
        # Workers ask all the time, and hardly ever is one due.
        if await self._store.read(partial(find, statements.IS_NOTIFICATION_DUE, **due)) is None:
            return []
        return await self._store.write(partial(_claim, until, {**due, "limit": limit}))

    async def retry(self, notification: QueuedNotification, *, due: int, error: str) -> None:
        """Count a failed attempt, and let the notification be due again at *due*, unless another
        has claimed it since."""
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
        """Remove notifications created *before*, and the oldest of a job beyond *most*; return how
        many of each job."""
        bounds = {"before": before, "most": most}
        if (
            await self._store.read(partial(find, statements.HAS_NOTIFICATIONS_TO_PRUNE, **bounds))
            is None
        ):
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
    return [
        each
        for each in run.notifications
        if pauses or each.event is not NotificationEvent.JOB_PAUSED
    ]


def _claim(until: int, due: Mapping[str, object]) -> Operation[list[QueuedNotification]]:
    rows = yield statements.DUE_NOTIFICATIONS, due
    if rows:
        yield statements.CLAIM_NOTIFICATIONS, {"seqs": [row[0] for row in rows], "until": until}
    return [_read_notification(row, due=until) for row in rows]


def _read_notification(row: Row, *, due: int) -> QueuedNotification:
    seq, id, job, event, created, attempts, url, drafts, reason = row
    return QueuedNotification(
        seq=seq,
        id=id,
        job=job,
        event=NotificationEvent(event),
        created=created,
        due=due,
        attempts=attempts,
        url=url,
        drafts=tuple(json.loads(drafts)),
        reason=reason,
    )
