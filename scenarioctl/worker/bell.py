"""The bell of a file: a clock."""

import asyncio

from scenarioctl.application import Application
from scenarioctl.stores.operations import Ring
from scenarioctl.worker.chores import Pace
from scenarioctl.worker.turns import Turns


class Bell:
    """Says when a turn is to be taken: looks into the store, again and again."""

    #: A worker without legs is announced all the same.
    is_shared = False

    def __init__(self, app: Application, turns: Turns, *, pace: Pace) -> None:
        self._app = app
        self._turns = turns
        self._pace = pace

    @property
    def last_beat(self) -> float:
        """Return when it last made progress, in seconds of the monotonic clock."""
        return self._turns.last_beat

    async def run(self, stop: asyncio.Event) -> None:
        """Take turns until *stop*.  Legs in progress go on."""
        stopping = asyncio.create_task(self._wake_at(stop))
        self._app.store.on_plan = self._hear
        try:
            while not stop.is_set():
                await self._turns.take()
                # Other processes plan, too.
                await self._turns.rest(self._pace.poll)
        finally:
            self._app.store.on_plan = None
            stopping.cancel()
            await asyncio.gather(stopping, return_exceptions=True)

    def _hear(self, ring: Ring) -> bool:
        self._turns.hear(ring)
        return True

    async def look(self) -> None:
        """Find what is due and has no bell: each turn does."""

    async def leave(self) -> None:
        """Let go of what `run` has left open: nothing."""

    async def _wake_at(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._turns.wake()
