"""LISTEN and NOTIFY: a daemon hears at once what other processes have written about jobs.

A notification is a hint.  If one is lost, with its connection, the next look at the server's transactions tells the same.
"""

import asyncio
import logging
import time
from contextlib import suppress

import psycopg

from scenarioctl.errors import ScenarioctlError
from scenarioctl.stores.postgres.connections import (
    Connection,
    Connections,
    connect,
    connection_info,
    find_pooler,
)

log = logging.getLogger("scenarioctl.store")

#: The channel of all changes of jobs, log lines, drafts and events.
CHANNEL = "scenarioctl_changes"
#: Seconds after which a token is not believed without a look at the server.
_POLL = 1.0
#: Seconds between two attempts to listen.
_PAUSE = 2.0
#: Seconds of silence after which the connection is tried.
_SILENCE = 10.0


async def announce(connection: Connection) -> None:
    """Tell all listeners of changes, once the transaction commits."""
    await connection.execute(f"NOTIFY {CHANNEL}")


class ChangeListener:
    """The listening connection of a daemon, opened when the first token is asked for."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        settings = connections.settings
        self._info = connection_info(settings, settings.listen or settings.url)
        self._heard = 0
        self._snapshot = ""
        self._looked = 0.0
        self._task: asyncio.Task[None] | None = None
        self._connected = False

    @property
    def is_listening(self) -> bool | None:
        """Return whether notifications arrive; None if nobody has asked for a token yet."""
        return None if self._task is None else self._connected

    async def token(self) -> str:
        """Return a text that changes with every write that was announced, and within a second with any other."""
        if self._task is None:
            self._task = asyncio.create_task(self._listen(), name="store listener")
        now = time.monotonic()
        if now - self._looked > _POLL:
            async with self._connections.lend() as connection:
                found = await connection.execute("SELECT pg_current_snapshot()::text")
                row = await found.fetchone()
            self._looked, self._snapshot = now, str(row[0]) if row else ""
        return f"{self._heard} {self._snapshot}"

    async def _listen(self) -> None:
        trouble, explainer = "", self._connections.explainer
        while True:
            try:
                connection = await connect(self._info, explainer)
                async with connection:
                    if await find_pooler(connection):
                        raise explainer.cannot_listen()
                    await connection.execute(f"LISTEN {CHANNEL}")
                    trouble = ""
                    # Something may have been written before.
                    self._heard += 1
                    self._connected = True
                    await self._hear(connection)
            except (ScenarioctlError, psycopg.Error, OSError) as error:
                reason = error if isinstance(error, ScenarioctlError) else explainer.lost()
                if trouble != (trouble := str(reason)):
                    log.warning("changes of other processes are heard later, by polling: %s", reason)
            finally:
                self._connected = False
            await asyncio.sleep(_PAUSE)

    async def _hear(self, connection: Connection) -> None:
        while True:
            async for _ in connection.notifies(timeout=_SILENCE):
                self._heard += 1
            # A connection whose network is gone says nothing either.
            async with asyncio.timeout(_SILENCE):
                await connection.execute("SELECT")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
