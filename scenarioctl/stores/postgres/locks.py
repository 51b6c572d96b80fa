"""Locks that a transaction holds until its end, so that what others must not do meanwhile waits."""

from collections.abc import Iterable
from hashlib import blake2b

from scenarioctl.stores.postgres.connections import Connection

#: Numbers of log lines and drafts, and ids of webhook events, are given out under these, each taken last.  All that have got
#: numbers before have committed then, so that readers see numbers in the order given out.
LOCK_NUMBERS_OF_RUNS = "pg_advisory_xact_lock(1, 0)"
LOCK_NUMBERS_OF_EVENTS = "pg_advisory_xact_lock(2, 0)"
_DIGESTS = 3
_WEBHOOKS = 4


async def lock_digest(connection: Connection, digest: bytes) -> None:
    """Let one at a time look for a scenario with this digest, and store one."""
    await connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (_DIGESTS, _short(digest)))


async def lock_webhooks(connection: Connection, uuids: Iterable[str], *, shared: bool = False) -> None:
    """Hold off deletions of the webhooks' events; *shared*: events are added side by side."""
    suffix = "_shared" if shared else ""
    # Sorted, so that two transactions don't wait for each other.
    for key in sorted({_short(uuid.encode()) for uuid in uuids}):
        await connection.execute(f"SELECT pg_advisory_xact_lock{suffix}(%s, %s)", (_WEBHOOKS, key))


def _short(name: bytes) -> int:
    return int.from_bytes(blake2b(name, digest_size=4).digest(), signed=True)
