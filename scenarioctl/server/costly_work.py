"""Costly work: what takes a thread, or long on the event loop, has a queue of its own, with places for each client.

It never waits in a request slot, so that other requests go on whatever one client sends.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from scenarioctl.errors import NotReady
from scenarioctl.server.limits import RequestSlots

#: Requests at costly work at the same time, one of each client at most.
AT_ONCE = 4
#: Requests of one client that may wait for it …
WAITING_OF_CLIENT = 32
#: … of all clients together …
WAITING = 128
#: … and for how many seconds.
WAITING_SECONDS = 10.0


class CostlyWork:
    """The requests at costly work, and those that wait for it; clients take turns."""

    def __init__(self) -> None:
        self._working: set[str] = set()
        #: Client -> its requests that wait; the client whose turn is next comes first.
        self._lines: dict[str, deque[asyncio.Future[None]]] = {}

    @property
    def busy(self) -> int:
        return len(self._working)

    @property
    def waiting(self) -> int:
        return sum(map(len, self._lines.values()))

    async def enter(self, client: str, *, begun: bool = False) -> None:
        """Wait for a turn of *client*; raise NotReady if the queue is full or the wait too long.

        A request whose work has *begun* is the next of its client, and not refused.
        """
        if client not in self._working and len(self._working) < AT_ONCE:
            self._working.add(client)
            return
        line = self._lines.setdefault(client, deque())
        if not begun and (len(line) >= WAITING_OF_CLIENT or self.waiting >= WAITING):
            raise _full(f"{len(line)} costly requests of this client and {self.waiting} in all are waiting")
        turn = asyncio.get_running_loop().create_future()
        if begun:
            line.appendleft(turn)
        else:
            line.append(turn)
        try:
            async with asyncio.timeout(None if begun else WAITING_SECONDS):
                await turn
        except BaseException as error:
            if turn.cancelled():
                if turn in line:
                    line.remove(turn)
            else:
                # It got its turn at the moment it gave up.
                self.leave(client)
            if isinstance(error, TimeoutError):
                raise _full(f"this costly request waited {WAITING_SECONDS:g} s for others") from None
            raise

    def leave(self, client: str) -> None:
        """Give the turn of *client* to the next client in line."""
        self._working.discard(client)
        for other in list(self._lines):
            if len(self._working) >= AT_ONCE:
                return
            line = self._lines[other]
            while line and other not in self._working:
                turn = line.popleft()
                if not turn.done():
                    self._working.add(other)
                    turn.set_result(None)
            # The client goes to the end, if it has requests left.
            if other in self._working or not line:
                del self._lines[other]
                if line:
                    self._lines[other] = line


class Turn:
    """Where one request of a client is: in a request slot, at costly work, or in neither."""

    def __init__(self, client: str, slots: RequestSlots, work: CostlyWork) -> None:
        self._client = client
        self._slots = slots
        self._work = work
        self._holds_slot = False
        #: Costly parts in progress: they share one place.
        self._parts = 0
        self._changing = asyncio.Lock()
        #: It has had a place for costly work: what has begun is not refused.
        self._has_begun = False

    async def enter(self) -> None:
        """Wait for a request slot, which a request at costly work doesn't need."""
        if not self._parts:
            await self._slots.enter()
            self._holds_slot = True

    def leave(self) -> None:
        """Leave the request slot, if it is in one."""
        if self._holds_slot:
            self._holds_slot = False
            self._slots.leave()

    @asynccontextmanager
    async def costly(self, *, begun: bool = False) -> AsyncIterator[None]:
        """Hold a place for costly work in place of the request slot; NotReady if the queue is full.

        What has *begun* is not refused: a later part of a request, or the answer to it.
        """
        async with self._changing:
            had_slot = self._holds_slot
            if not self._parts:
                self.leave()
                await self._work.enter(self._client, begun=begun or self._has_begun)
                self._has_begun = True
            self._parts += 1
        try:
            yield
        finally:
            self._parts -= 1
            if not self._parts:
                self._work.leave(self._client)
        if had_slot and not self._parts:
            await self._slots.enter(again=True)
            self._holds_slot = True


def _full(reason: str) -> NotReady:
    return NotReady(f"the daemon is busy: {reason}; try again in 1 second", details={"retry_after": 1})
