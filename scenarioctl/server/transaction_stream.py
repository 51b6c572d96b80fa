"""`/api/tx/events`: a sent transaction on its way, as server-sent events."""

import asyncio
from typing import TYPE_CHECKING, Any

from aiohttp import web

from scenarioctl.operations.transaction_status import (
    TransactionStatus,
    describe_status,
    examine,
    is_settled,
    read_hash,
)
from scenarioctl.server.access import Access
from scenarioctl.server.decoding import Decoder, read_pairs
from scenarioctl.server.endpoints import Endpoint
from scenarioctl.server.streams import Ended, Follower, Stream, Subscription, send, write_event

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.sent import SentTransaction

#: Seconds between two questions to the chain: the time of a block on most chains.
_BLOCK_TIME = 6.0
#: The same for a transaction that neither the store nor the chain knows: it is searched for anew each time.
_UNKNOWN_PAUSE = 60.0


class TransactionStream(Stream):
    """The handler of `/api/tx/events`."""

    def __init__(self, row: Endpoint, follower: Follower, access: Access) -> None:
        super().__init__(row, follower, access)
        self._decoder = Decoder(TransactionStatus)

    async def begin(self, request: web.Request) -> Subscription:
        fields = self._decoder.read_query(read_pairs(request.rel_url.raw_query_string))
        asked = self._decoder.decode(fields, {})
        chain, hash = self._follower.app.registry.find(asked.chain), read_hash(asked.hash)
        following = _FollowedTransaction(self._follower, chain, hash)
        # Report what can't be answered before the stream begins.
        await following.look()
        return following


class _FollowedTransaction:
    def __init__(self, follower: Follower, chain: "Chain", hash: str) -> None:
        self._follower = follower
        self._chain = chain
        self._hash = hash
        self._found: SentTransaction | None = None
        self._event = self._told = b""
        #: When the chain is asked next, on the event loop's clock.
        self._due = 0.0

    def mark(self) -> asyncio.Event:
        """Return an event that is set when the chain is asked again."""
        changed = asyncio.Event()
        asyncio.get_running_loop().call_at(self._due, changed.set)
        return changed

    async def look(self) -> None:
        """Ask the store and the chains."""
        async with self._follower.app.session() as app:
            found, warnings = await examine(app, self._chain, self._hash, self._found)
        self._found = found
        said: dict[str, Any] = describe_status(self._chain, self._hash, found) | {"warnings": list(warnings)}
        self._event = write_event("status", said)
        pause = _UNKNOWN_PAUSE if found is None else _BLOCK_TIME
        self._due = asyncio.get_running_loop().time() + pause

    async def send_news(self, response: web.StreamResponse) -> bool:
        if self._told and asyncio.get_running_loop().time() >= self._due:
            await self.look()
        is_new = self._event != self._told
        if is_new:
            self._told = self._event
            await send(response, self._event)
        if self._found is not None and is_settled(self._found):
            raise Ended
        return is_new
