"""Webhook events in SQLite: plain functions over a connection, whose transactions are the caller's."""

from sqlite3 import Connection
from typing import Any

from scenarioctl.model.jobs import Retention, WebhookEvent
from scenarioctl.stores.retention import EVENTS
from scenarioctl.stores.rows import read_event
from scenarioctl.stores.sqlite.retention import prune, trim_bytes
from scenarioctl.stores.validation import INTEGER_MAX, no_event, unnamed


def put(
    database: Connection, uuid: str, content: Any, text: str, *, now: int, retention: Retention
) -> WebhookEvent:
    check_named(database, uuid)
    inserted = database.execute(
        "INSERT INTO webhook_events (uuid, received, content) VALUES (?, ?, ?)", (uuid, now, text)
    )
    if retention.webhook_events:
        database.execute(
            "DELETE FROM webhook_events WHERE uuid = ? AND id <= (SELECT id FROM webhook_events WHERE uuid = ?"
            " ORDER BY id DESC LIMIT 1 OFFSET ?)",
            (uuid, uuid, retention.webhook_events),
        )
    trim_bytes(
        database,
        EVENTS,
        uuid,
        added=[text],
        limit=retention.webhook_bytes,
        rows=retention.webhook_events,
    )
    return WebhookEvent(id=inserted.lastrowid or 0, uuid=uuid, received=now, content=content)


def newest(database: Connection, uuid: str, *, job: str, after: int | None) -> WebhookEvent | None:
    row = database.execute(
        "SELECT id, uuid, received, content FROM webhook_events WHERE uuid = ? AND id > max(?,"
        " coalesce((SELECT event FROM webhook_marks WHERE job = ? AND uuid = ?), 0)) ORDER BY id DESC LIMIT 1",
        (uuid, min(after or 0, INTEGER_MAX), job, uuid),
    ).fetchone()
    return read_event(row) if row else None


def list_all(database: Connection, uuid: str) -> list[WebhookEvent]:
    rows = database.execute(
        "SELECT id, uuid, received, content FROM webhook_events WHERE uuid = ? ORDER BY id", (uuid,)
    ).fetchall()
    if not rows:
        check_named(database, uuid)
    return [read_event(row) for row in rows]


def get(database: Connection, id: int) -> WebhookEvent:
    row = None
    if 0 < id <= INTEGER_MAX:
        row = database.execute(
            "SELECT id, uuid, received, content FROM webhook_events WHERE id = ?", (id,)
        ).fetchone()
    if row is None:
        raise no_event(id)
    return read_event(row)


def prune_some(database: Connection, *, now: int, retention: Retention) -> int:
    """Remove some events that are too old; return how many, 0 at the end."""
    return prune(database, EVENTS, now=now, age=retention.webhook_age)


def check_named(database: Connection, uuid: str) -> None:
    if not database.execute("SELECT 1 FROM scenario_webhooks WHERE uuid = ?", (uuid,)).fetchone():
        raise unnamed(uuid)
