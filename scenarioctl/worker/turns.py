"""The turns of a worker: each begins what is due, and says when the next one is."""

import asyncio
import logging
import math
import time
from collections.abc import Callable

from scenarioctl.application import Application
from scenarioctl.errors import ScenarioctlError
from scenarioctl.model.jobs import SECOND
from scenarioctl.stores.operations import Ring
from scenarioctl.worker.chores import Attempts
from scenarioctl.worker.legs import Legs

log = logging.getLogger("scenarioctl.worker")

#: The most legs of one turn: no worker empties the queue.
_AT_ONCE = 50
#: Seconds between two turns: what is due in the next moment is begun together.
_MOMENT = 0.02


class Turns:
    """Begins what is due: asked by a clock over a file, by a bell over a server."""

    def __init__(
        self, app: Application, legs: Legs, *, capacity: int, monotonic: Callable[[], int]
    ) -> None:
        self._app = app
        self._legs = legs
        #: The most legs in progress.
        self._capacity = capacity
        self._monotonic = monotonic
        self._attempts = Attempts(trouble="no job can be begun", pace=legs.pace)
        self._not_before = 0
        #: The last turn began all that it asked for.
        self._busy = False
        #: When the next turn is, by the monotonic clock; it may be put forward at any time.
        self._next = math.inf
        self._sooner = asyncio.Event()
        self._last_beat = time.monotonic()
        #: The store is being asked: another process may lock it, which is no fault of the loop.
        self._at_store = False
        #: When the store says that the next leg is due.
        self.ring: Ring | None = None

    @property
    def last_beat(self) -> float:
        """Return when the last turn was, in seconds of the real monotonic clock."""
        return time.monotonic() if self._at_store else self._last_beat

    @property
    def is_full(self) -> bool:
        return len(self._legs) >= self._capacity

    @property
    def is_late(self) -> bool:
        """Return whether something was due that the store didn't let begin."""
        return self.ring is not None and self.ring.due <= self.ring.moment

    @property
    def seconds(self) -> float:
        """Return the seconds until the next turn; infinite if nothing is planned."""
        return max(0.0, self._next - self._monotonic()) / SECOND

    async def take(self) -> None:
        """Begin what is due."""
        self._last_beat = time.monotonic()
        self._next = math.inf
        patience = (self._not_before - self._monotonic()) / SECOND
        if patience > 0 or self.is_full:
            self._put_forward(patience if patience > 0 else math.inf)
            return
        self._at_store = True
        try:
            self._put_forward(await self._begin())
            self._attempts.failures = 0
        except ScenarioctlError as error:
            self._back_off(error)
        except Exception as error:
            log.exception("a bug showed while jobs were begun")
            self._back_off(error)
        finally:
            self._at_store = False

    async def _begin(self) -> float:
        if not self._busy:
            # No lease is written while nothing is due.
            self.ring = ring = await self._app.store.next_ring()
            if ring is None:
                return math.inf
            if ring.due > ring.moment:
                return (ring.due - ring.moment) / SECOND
        limit = min(self._capacity - len(self._legs), _AT_ONCE)
        self._busy = await self._legs.begin_due(limit) == limit
        return 0.0 if self._busy else _MOMENT

    def _back_off(self, error: Exception) -> None:
        self._busy = False
        delay = self._attempts.failed(error)
        self._not_before = self._monotonic() + round(delay * SECOND)
        self._put_forward(delay)

    def _put_forward(self, seconds: float) -> None:
        at = self._monotonic() + seconds * SECOND
        if at < self._next:
            self._next = at
            self._sooner.set()

    def hear(self, ring: Ring) -> None:
        """Take the next turn when what was planned is due."""
        self._put_forward(max(0, ring.due - ring.moment) / SECOND)

    def wake(self) -> None:
        """Take the next turn at once."""
        self._put_forward(0.0)

    async def rest(self, most: float) -> None:
        """Wait for the next turn, *most* seconds at most."""
        self._put_forward(most)
        # Requests and legs go on.
        await asyncio.sleep(0)
        while self.seconds > 0:
            self._sooner.clear()
            waits = (
                asyncio.ensure_future(self._app.sleep(self.seconds)),
                asyncio.ensure_future(self._sooner.wait()),
            )
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for each in waits:
                    each.cancel()

    async def take_all(self) -> bool:
        """Take what is due now to its end; False if nothing is.  For tests."""
        begun = False
        while True:
            await self.take()
            tasks = self._legs.tasks()
            if not tasks:
                return begun
            begun = True
            await asyncio.wait(tasks)
