"""Webhook events in PostgreSQL: plain functions over a connection, whose transactions are the caller's."""

from typing import Any

from psycopg import AsyncCursor

from scenarioctl.model.jobs import Retention, WebhookEvent
from scenarioctl.stores.postgres.connections import Connection
from scenarioctl.stores.postgres.locks import LOCK_NUMBERS_OF_EVENTS, lock_webhooks
from scenarioctl.stores.postgres.retention import prune, trim_bytes
from scenarioctl.stores.retention import EVENTS
from scenarioctl.stores.rows import read_event
from scenarioctl.stores.validation import INTEGER_MAX, no_event, unnamed


async def put(
    connection: Connection, *, uuid: str, text: str, now: int, retention: Retention
) -> AsyncCursor[tuple[Any, ...]]:
    """Store an event; return a cursor that has its id once the transaction is committed."""
    await lock_webhooks(connection, [uuid], shared=True)
    await check_named(connection, uuid)
    await connection.conclude()
    inserted = await connection.execute(
        f"WITH locked AS MATERIALIZED (SELECT {LOCK_NUMBERS_OF_EVENTS})"  # noqa: S608 - of a constant
        " INSERT INTO webhook_events (uuid, received, content) SELECT %s, %s, %s FROM locked RETURNING id",
        (uuid, now, text),
    )
    if retention.webhook_events:
        await connection.execute(
            "DELETE FROM webhook_events WHERE uuid = %s AND id <= (SELECT id FROM webhook_events WHERE uuid = %s"
            " ORDER BY id DESC LIMIT 1 OFFSET %s)",
            (uuid, uuid, retention.webhook_events),
        )
    await trim_bytes(
        connection,
        EVENTS,
        uuid,
        added=[text],
        limit=retention.webhook_bytes,
        rows=retention.webhook_events,
    )
    return inserted


async def newest(connection: Connection, uuid: str, *, job: str, after: int | None) -> WebhookEvent | None:
    found = await connection.execute(
        "SELECT id, uuid, received, content FROM webhook_events WHERE uuid = %s AND id > greatest(%s::bigint,"
        " (SELECT event FROM webhook_marks WHERE job = %s AND uuid = %s)) ORDER BY id DESC LIMIT 1",
        (uuid, min(after or 0, INTEGER_MAX), job, uuid),
    )
    row = await found.fetchone()
    return read_event(row) if row else None


async def list_all(connection: Connection, uuid: str) -> list[WebhookEvent]:
    found = await connection.execute(
        "SELECT id, uuid, received, content FROM webhook_events WHERE uuid = %s ORDER BY id", (uuid,)
    )
    rows = await found.fetchall()
    if not rows:
        await check_named(connection, uuid)
    return [read_event(row) for row in rows]


async def get(connection: Connection, id: int) -> WebhookEvent:
    row = None
    if 0 < id <= INTEGER_MAX:
        found = await connection.execute(
            "SELECT id, uuid, received, content FROM webhook_events WHERE id = %s", (id,)
        )
        row = await found.fetchone()
    if row is None:
        raise no_event(id)
    return read_event(row)


async def prune_some(connection: Connection, *, now: int, retention: Retention) -> int:
    """Remove some events that are too old; return how many, 0 at the end."""
    return await prune(connection, EVENTS, now=now, age=retention.webhook_age)


async def check_named(connection: Connection, uuid: str) -> None:
    found = await connection.execute(
        "SELECT FROM scenarios WHERE webhooks <> '{}' AND webhooks @> ARRAY[%s::text] LIMIT 1", (uuid,)
    )
    if await found.fetchone() is None:
        raise unnamed(uuid)
