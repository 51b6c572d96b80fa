"""What arrives at webhooks: operations over a store."""

import json
from typing import Any

from scenarioctl.model.jobs import Retention, WebhookEvent
from scenarioctl.stores import statements
from scenarioctl.stores.job_statements import WAKE
from scenarioctl.stores.job_texts import PORTION
from scenarioctl.stores.operations import CONCLUDE, Operation, Ring, Row, find, lock_key
from scenarioctl.stores.retention import EVENTS, trim_bytes
from scenarioctl.stores.validation import INTEGER_MAX, damaged_event, no_event, unnamed

#: Events that are read first: few, since they may be long.
_FEW = 2


def put(uuid: str, content: Any, *, now: int, retention: Retention) -> Operation[list[Row]]:
    """Store an event, and let the runs go on that wait for it; return the list that has its id after the commit."""
    # Deletions of the webhook's events wait; others add theirs side by side.
    yield statements.LOCK_WEBHOOK_SHARED, {"key": lock_key(uuid.encode())}
    yield from check_named(uuid)
    woken = yield WAKE, {"uuid": uuid}
    if woken:
        yield Ring([(job, leg, due) for job, leg, due in woken])
    yield CONCLUDE
    text = json.dumps(content, separators=(",", ":"))
    inserted = yield statements.ADD_EVENT, {"uuid": uuid, "now": now, "content": text}
    if retention.webhook_events:
        yield statements.TRIM_EVENTS, {"uuid": uuid, "most": retention.webhook_events}
    yield from trim_bytes(
        EVENTS, uuid, added=[text], limit=retention.webhook_bytes, rows=retention.webhook_events
    )
    return inserted


def newest(uuid: str, *, job: str, after: int) -> Operation[WebhookEvent | None]:
    row = yield from find(statements.NEWEST_EVENT, uuid=uuid, job=job, after=min(after, INTEGER_MAX))
    return None if row is None else _read(row)


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
                found.append(_read(row))
                room -= len(row[3])
        if len(rows) < asked or not limit:
            break
        some *= 4
    return found


def get(id: int) -> Operation[WebhookEvent]:
    row = (yield from find(statements.FIND_EVENT, id=id)) if 0 < id <= INTEGER_MAX else None
    if row is None:
        raise no_event(id)
    return _read(row)


def check_named(uuid: str) -> Operation[None]:
    """Raise NotFound if no scenario names the webhook."""
    if "\0" in uuid or (yield from find(statements.IS_WEBHOOK_NAMED, uuid=uuid)) is None:
        raise unnamed(uuid)


def _read(row: Row) -> WebhookEvent:
    id, uuid, received, text = row
    try:
        content = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        raise damaged_event(id, uuid) from None
    return WebhookEvent(id=id, uuid=uuid, received=received, content=content)
