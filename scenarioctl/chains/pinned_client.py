"""A client whose questions are all about one block of its chain, so that another endpoint can be asked the same ones."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from scenarioctl.chains.client import Client
from scenarioctl.chains.connection import Request
from scenarioctl.chains.pool import Pool
from scenarioctl.errors import ChainUnreachable, ScenarioctlError, shorten
from scenarioctl.runtime.table import RuntimeTable

T = TypeVar("T")
#: Questions that name a block last, and how many parameters come before it.
_BEFORE_BLOCK = {
    "chain_getHeader": 0,
    "state_call": 2,
    "state_getKeysPaged": 3,
    "state_getStorage": 1,
    "state_queryStorageAt": 1,
}
#: How a client is asked, and what one answered.
Exchange = tuple[Callable[[Client], Awaitable[Any]], Any]
#: Seconds between two questions whether a node has a block by now.
_PAUSE = 0.25


class BlockMissing(ChainUnreachable):
    """A node that answers, and doesn't have the block that another one has."""


class PinnedClient(Client):
    """One chain for one question, at the block that is the best one when it begins."""

    def __init__(self, pool: Pool, block: str = "") -> None:
        """Pin the hash *block*, or the best block if it is empty."""
        super().__init__(pool)
        self.block = block
        #: Set once the block is known.
        self.is_pinned = asyncio.Event()
        #: What was asked and answered, in order, for another client to repeat; an error is one too.  None ends it.
        self.exchanges: asyncio.Queue[Exchange | None] = asyncio.Queue()

    async def table(self) -> RuntimeTable:
        return await self._keep(super().table(), lambda other: other.table())

    async def call_many(self, requests: Sequence[Request]) -> list[Any]:
        if not self.block:
            (best,) = await super().call_many([("chain_getBlockHash", ())])
            if not isinstance(best, str):
                raise ChainUnreachable(f"{self.endpoint} gave no best block: {shorten(best)}")
            self.block = best
            self.is_pinned.set()
        if list(requests) == [("chain_getBlockHash", ())]:
            return [self.block]
        pinned = [(method, self._at_block(method, params)) for method, params in requests]
        return await self._keep(super().call_many(pinned), lambda other: other.call_many(pinned))

    async def _keep(self, answering: Awaitable[T], ask: Callable[[Client], Awaitable[Any]]) -> T:
        """Return the answer, and keep it with the question."""
        try:
            answer = await answering
        except ScenarioctlError as error:
            self.exchanges.put_nowait((ask, error))
            raise
        self.exchanges.put_nowait((ask, answer))
        return answer

    def _at_block(self, method: str, params: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*params, self.block) if _BEFORE_BLOCK.get(method) == len(params) else params

    async def find_own(self) -> None:
        """Wait shortly for the pinned block; BlockMissing if the node doesn't get it."""
        until = time.monotonic() + self.timeouts.catching_up
        while (header := await self.call("chain_getHeader")) is None:
            if time.monotonic() > until:
                (best,) = await super().call_many([("chain_getBlockHash", ())])
                number = await self.number_of(str(best))
                raise BlockMissing(
                    f"According to {self.endpoint}: it is not, and the best one is block {number} ({best})."
                )
            await asyncio.sleep(_PAUSE)
        self.check_header(header, self.block)
