"""How many runs draft at once."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(kw_only=True, eq=False)
class Place:
    """The place of one run."""

    #: The run drafts; one that waits has given its place up.
    busy: bool = True
    #: Since when, in nanoseconds of the monotonic clock.
    since: int


class Capacity:
    """Places for *limit* runs; those that wait for a webhook, a delay or a slow server need none."""

    def __init__(
        self, limit: int, *, monotonic: Callable[[], int], on_free: Callable[[], None] = lambda: None
    ) -> None:
        self._limit = limit
        self._monotonic = monotonic
        #: Called when there is a free place after there was none.
        self._on_free = on_free
        self.busy = 0
        #: Runs that are back from a wait while no place is free, first come first served.
        self._queue: deque[tuple[Place, asyncio.Future[None]]] = deque()

    @property
    def free(self) -> int:
        """Return how many runs may begin; negative if more come back from a wait than have left."""
        return self._limit - self.busy - len(self._queue)

    def take(self) -> Place:
        """Return a place for a run that begins."""
        self.busy += 1
        return Place(since=self._monotonic())

    def release(self, place: Place) -> None:
        """Give *place* to the first run in the queue, or free it."""
        if not place.busy:
            return
        place.busy = False
        while self._queue:
            other, turn = self._queue.popleft()
            if not turn.done():
                other.busy, other.since = True, self._monotonic()
                turn.set_result(None)
                return
        if self.busy >= self._limit:
            self._on_free()
        self.busy -= 1

    def release_slow(self, places: Iterable[Place], *, longer_than: int) -> None:
        """Release places held for longer than so many nanoseconds: a server that hangs must not stop all jobs."""
        before = self._monotonic() - longer_than
        for place in places:
            if place.since <= before:
                self.release(place)

    async def take_again(self, place: Place) -> None:
        """Wait for a place for a run that is back from a wait."""
        if place.busy:
            return
        if self.busy < self._limit:
            place.busy, place.since = True, self._monotonic()
            self.busy += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append((place, turn))
        await turn
