"""`/api/status/events`: what the page's home shows, as it changes."""

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from aiohttp import web

from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.server.access import Access
from scenarioctl.server.endpoints import Endpoint
from scenarioctl.server.streams import Follower, Stream, Subscription, repeat, send, write_event

if TYPE_CHECKING:
    from scenarioctl.operations.status import ChainState

#: Seconds between two reads of the store: at least, and at most, since drafts expire without a write.
_LEAST, _MOST = 1.0, 10.0
#: A read of the store is followed by a pause of so many times what it took.
_REST = 10
#: Seconds between two questions to all chains.
_CHAINS = 6.0


class StatusPoller:
    """Reads the store and asks the chains for all listeners together, only while there are any."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        #: Kind -> the newest event, and its number.
        self.events: dict[str, tuple[int, bytes]] = {}
        self._number = 0
        self._changed = asyncio.Event()
        self._listeners = 0
        self._tasks: list[asyncio.Task[None]] = []
        #: By name.
        self._states: dict[str, ChainState] = {}

    def enter(self) -> None:
        self._listeners += 1
        if self._listeners == 1:
            self.events.clear()
            self._states = {}
            # Clients are told of a store that is away by what they don't hear.
            trouble, bug = "the status stream cannot be read", "bug in the status stream"
            self._tasks = [
                asyncio.create_task(repeat(work, _CHAINS, trouble=trouble, bug=bug))
                for work in (self._read_store, self._ask_chains)
            ]

    def leave(self) -> None:
        self._listeners -= 1
        if not self._listeners:
            for task in self._tasks:
                task.cancel()
            self._tasks = []

    def mark(self) -> asyncio.Event:
        """Return an event that is set when there are news after this call."""
        return self._changed

    def _publish(self, kind: str, said: Mapping[str, Any]) -> None:
        self._number += 1
        self.events[kind] = (self._number, write_event(kind, said))
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _read_store(self) -> None:
        from scenarioctl.operations.status import read_store_status

        written = self._follower.mark()
        began = time.monotonic()
        self._publish("status", await read_store_status(self._follower.app))
        await asyncio.sleep(max(_LEAST, _REST * (time.monotonic() - began)))
        with suppress(TimeoutError):
            async with asyncio.timeout(_MOST):
                await written.wait()

    async def _ask_chains(self) -> None:
        """Ask all chains; tell at once of those that answer another state than before, and of all at the end."""
        from scenarioctl.operations.status import ask_chain, chains_of_status, describe_chain

        async with self._follower.app.session() as app:
            chains = await chains_of_status(app)
            former = self._states
            states = {
                chain.name: former.get(chain.name) or describe_chain(chain, "unknown") for chain in chains
            }
            self._states = states
            if states.keys() != former.keys():
                self._tell_chains()
            asked = [asyncio.create_task(ask_chain(app, chain)) for chain in chains]
            try:
                for answer in asyncio.as_completed(asked):
                    state = await answer
                    is_new = states[state["name"]]["state"] != state["state"]
                    states[state["name"]] = state
                    if is_new:
                        self._tell_chains()
            finally:
                # The last listener has left, or one has failed: nobody waits for the others.
                for task in asked:
                    task.cancel()
        # Even if nothing has changed: the client sees that the daemon is alive.
        self._tell_chains()
        await asyncio.sleep(_CHAINS)

    def _tell_chains(self) -> None:
        self._publish("chains", {"chains": list(self._states.values())})


class StatusStream(Stream):
    """The handler of `/api/status/events`."""

    def __init__(self, row: Endpoint, follower: Follower, access: Access) -> None:
        super().__init__(row, follower, access)
        self._poller = StatusPoller(follower)

    async def begin(self, request: web.Request) -> Subscription:
        query = request.rel_url.raw_query_string
        if query:
            raise InvalidRequest(f"the query string {shorten(query)} is not allowed here, expected none")
        return _FollowedStatus(self._poller)

    def enter(self) -> None:
        super().enter()
        self._poller.enter()

    def leave(self) -> None:
        super().leave()
        self._poller.leave()


class _FollowedStatus:
    def __init__(self, poller: StatusPoller) -> None:
        self._poller = poller
        self._last = 0

    def mark(self) -> asyncio.Event:
        return self._poller.mark()

    async def send_news(self, response: web.StreamResponse) -> bool:
        news = sorted(event for event in self._poller.events.values() if event[0] > self._last)
        if news:
            self._last = news[-1][0]
            await send(response, b"".join(text for _, text in news))
        return bool(news)
