"""Locks that a transaction holds until its end, so that what others must not do meanwhile waits."""

from collections.abc import Iterable

from scenarioctl.stores.locks import lock_key
from scenarioctl.stores.postgres.connections import Connection

_DIGESTS = 3
_WEBHOOKS = 4


async def lock_digest(connection: Connection, digest: bytes) -> None:
    """Let one at a time look for a scenario with this digest, and store one."""
    await connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (_DIGESTS, lock_key(digest)))


async def lock_webhooks(connection: Connection, uuids: Iterable[str]) -> None:
    """Hold off deletions of the webhooks' events, and additions to them."""
    # Sorted, so that two transactions don't wait for each other.
    for key in sorted({lock_key(uuid.encode()) for uuid in uuids}):
        await connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (_WEBHOOKS, key))
