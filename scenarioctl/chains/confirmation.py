"""Ask a question about money of two endpoints, at the same block of each chain.

One node can answer with a false balance or a forged dry run.  So the whole question is asked again
of an endpoint on another host, if the chain has one, and the answer counts if both are the same
value.

While the first endpoint is asked, the second one is asked the same exchanges.  If it answers each
alike, so would it the whole question, which need not be asked again.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Generic, Literal, TypeVar

from scenarioctl.chains.client import Client
from scenarioctl.chains.connection import Request
from scenarioctl.chains.pool import Pool, host_of
from scenarioctl.chains.registry import Chain
from scenarioctl.errors import ChainRefused, ChainUnreachable, ScenarioctlError, shorten
from scenarioctl.runtime.table import RuntimeTable

T = TypeVar("T")
log = logging.getLogger("scenarioctl.chains")

#: Returns the connection to a chain.
PoolOf = Callable[[Chain], Pool]


class EndpointsDisagree(ChainUnreachable):
    """Two endpoints that do not say the same of one block."""


@dataclass(frozen=True, kw_only=True)
class Confirmed(Generic[T]):
    """An answer, and the endpoints that it rests on."""

    answer: T
    #: How many endpoints gave it: 1 or 2.
    asked: Literal[1, 2] = 1
    #: Of which chains only one endpoint told; empty if there is none, or if they are trusted.
    alone: tuple[str, ...] = ()
    #: What two endpoints contradict each other in; empty if they agree.  The answer is then the
    #: first one's.
    difference: str = ""

    def agreed(self) -> T:
        """Return the answer; EndpointsDisagree if two endpoints contradict each other."""
        if self.difference:
            raise EndpointsDisagree(self.difference)
        return self.answer


async def confirm(
    pool_of: PoolOf,
    ask: Callable[["Clients"], Awaitable[T]],
    *,
    decides: Callable[[T], bool] = lambda _: True,
    say: Callable[[T], str] = lambda _: "an answer",
) -> Confirmed[T]:
    """Return what *ask* returns, asked again elsewhere if it *decides* something.  *say* tells an
    answer in words.

    A refusal is an answer too: it is raised unless another endpoint contradicts it, which is
    EndpointsDisagree.
    """
    first = Clients(pool_of)
    try:
        one = await _outcome(ask, first)
        if first.is_mixed:
            await first.end()
            first = Clients(pool_of, pinned=True)
            one = await _outcome(ask, first)
        return await _compare_with_second(pool_of, ask, first, one, decides=decides, say=say)
    finally:
        await first.end()


async def _compare_with_second(
    pool_of: PoolOf,
    ask: Callable[["Clients"], Awaitable[T]],
    first: "Clients",
    one: T | ScenarioctlError,
    *,
    decides: Callable[[T], bool],
    say: Callable[[T], str],
) -> Confirmed[T]:
    if isinstance(one, ChainUnreachable) or (
        isinstance(one, ScenarioctlError) and not first.clients
    ):
        raise one
    if not isinstance(one, ScenarioctlError) and not decides(one):
        return Confirmed(answer=one)
    second = Clients(pool_of)
    difference = await second.follow(first)
    if second.confirmed and not difference and not second.repeats:
        two = await _outcome(ask, second)
        if isinstance(two, ChainUnreachable):
            second.alone[second.confirmed[0]] = f"{first.name(second.confirmed)} ({two})"
        elif told := _compare(one, two, say):
            names = first.name(second.confirmed), second.name(second.confirmed)
            difference = " ".join(
                f"According to {each}: {words}." for each, words in zip(names, told, strict=True)
            )
    if difference:
        difference = say_difference(second.confirmed, difference)
    if isinstance(one, ScenarioctlError):
        raise EndpointsDisagree(difference) if difference else one
    asked: Literal[1, 2] = 2 if second.confirmed and not second.alone else 1
    return Confirmed(
        answer=one, asked=asked, alone=tuple(second.alone.values()), difference=difference
    )


def say_alone(alone: Iterable[str]) -> tuple[str, ...]:
    """Return the note about endpoints that told something *alone*, none if there are none."""
    told = ", ".join(alone)
    return (f"Not confirmed by a second endpoint: {told}.",) if told else ()


async def _outcome(
    ask: Callable[["Clients"], Awaitable[T]], clients: "Clients"
) -> T | ScenarioctlError:
    try:
        return await ask(clients)
    except ScenarioctlError as error:
        return error


def _compare(
    one: T | ScenarioctlError, two: T | ScenarioctlError, say: Callable[[T], str]
) -> tuple[str, str] | None:
    """Return what two outcomes say, in words; None if it is the same.  Refusals name what the
    endpoints told, in numbers."""
    if (isinstance(one, ScenarioctlError) and type(one) is type(two)) or one == two:
        return None
    first, second = (
        str(each) if isinstance(each, ScenarioctlError) else say(each) for each in (one, two)
    )
    return (first, second) if first != second else _first_difference(one, two)


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
        #: What was asked and answered, in order, for another client to repeat; an error is one too.
        #: None ends it.
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
                    f"According to {self.endpoint}: it is not, and the best one is block "
                    f"{number} ({best})."
                )
            await asyncio.sleep(_PAUSE)
        self.check_header(header, self.block)


#: The client of another endpoint, or None and why there is none; and whether it answers every
#: exchange alike.
Repeated = tuple[PinnedClient | None, ScenarioctlError | None, bool]


class Clients:
    """The clients of one asking, by chain: at one block of each that a second endpoint may be asked
    of, or of all."""

    def __init__(self, pool_of: PoolOf, *, pinned: bool = False) -> None:
        self._pool_of = pool_of
        self._pinned = pinned
        self.clients: dict[Chain, Client] = {}
        #: The chains that another endpoint is asked of.
        self.confirmed: list[Chain] = []
        #: Chain -> why no other endpoint is.
        self.alone: dict[Chain, str] = {}
        #: Whether each of those others answered every exchange alike.
        self.repeats = True
        self._repeating: dict[Chain, asyncio.Task[Repeated]] = {}

    def __call__(self, chain: Chain) -> Client:
        client = self.clients.get(chain)
        if client is None:
            pool = self._pool_of(chain)
            several = not chain.trusted and len({host_of(each) for each in chain.endpoints}) > 1
            client = self.clients[chain] = (
                PinnedClient(pool) if several or self._pinned else Client(pool)
            )
            if several and isinstance(client, PinnedClient):
                self._repeating[chain] = asyncio.create_task(_repeat(client))
        return client

    async def end(self) -> None:
        """Ask no second endpoint any more."""
        for task in self._repeating.values():
            task.cancel()
        await asyncio.gather(*self._repeating.values(), return_exceptions=True)

    @property
    def is_mixed(self) -> bool:
        """Whether the answers are of one block on some chains only: asked again, they may be
        others."""
        return len({isinstance(each, PinnedClient) for each in self.clients.values()}) > 1

    async def follow(self, first: "Clients") -> str:
        """Find for each chain of *first* another endpoint that has its block; return what
        contradicts it, if one hasn't."""
        self.clients |= first.clients
        asked = [
            each
            for each in first.clients.values()
            if each.endpoints_asked and not each.chain.trusted
        ]
        found = await asyncio.gather(*map(first.repeated, asked))
        for client, (second, why, agrees) in zip(asked, found, strict=True):
            chain = client.chain
            if isinstance(client, PinnedClient) and isinstance(why, BlockMissing):
                self.confirmed = [chain]
                return (
                    f"According to {client.endpoint}: {client.block} is a block of "
                    f"{chain.title}. {why}"
                )
            if second is None:
                self.alone[chain] = f"{chain.title} ({client.endpoint}{f'; {why}' if why else ''})"
            else:
                self.clients[chain] = second
                self.confirmed.append(chain)
                self.repeats &= agrees
        return ""

    async def repeated(self, client: Client) -> Repeated:
        """Return what came of asking another endpoint the exchanges of *client*, which has no more
        of them."""
        if (
            not isinstance(client, PinnedClient)
            or not client.block
            or client.chain not in self._repeating
        ):
            return None, None, False
        client.exchanges.put_nowait(None)
        second, why, agrees = await self._repeating[client.chain]
        if second is not None and _hosts_of(second) & _hosts_of(client):
            # The first one went away meanwhile, and the second was asked in its place.
            return None, None, False
        return second, why, agrees

    def name(self, chains: list[Chain]) -> str:
        """Return the endpoints that were asked of *chains*."""
        names = {chain: self.clients[chain].endpoint for chain in chains}
        if len(names) == 1:
            return "".join(names.values())
        return " and ".join(f"{endpoint} ({chain.title})" for chain, endpoint in names.items())


async def _repeat(first: PinnedClient) -> Repeated:
    """Ask another endpoint of the same chain what *first* asks, until an answer differs."""
    await first.is_pinned.wait()
    second, why = await find_second(first, first.block)
    agrees = second is not None
    while second is not None and agrees and (exchange := await first.exchanges.get()):
        ask, answer = exchange
        try:
            agrees = await ask(second) == answer
        except ScenarioctlError:
            agrees = False
    return second, why, agrees


def _hosts_of(client: Client) -> set[str]:
    return {host_of(each) for each in client.endpoints_asked}


def second_pool(first: Client) -> Pool | None:
    """Return the pool of the hosts of a chain that *first* hasn't asked; None if there are
    none, or it is trusted."""
    hosts = _hosts_of(first)
    others = tuple(each for each in first.chain.endpoints if host_of(each) not in hosts)
    return first.pool.only(others) if others and not first.chain.trusted else None


def say_difference(chains: Iterable[Chain], said: str) -> str:
    """Return the sentence about two endpoints of *chains* that do not say the same."""
    lists = " and ".join(f"chains.{chain.name}.endpoints" for chain in chains)
    return (
        "two endpoints contradict each other about the same block, so one of them is wrong. "
        f"{said} Try again, or leave the wrong one out of {lists}"
    )


async def find_second(
    first: Client, block: str = ""
) -> tuple[PinnedClient | None, ScenarioctlError | None]:
    """Return a client of the same chain that asks none of the hosts that *first* asked, or None and
    why there is none."""
    pool = second_pool(first)
    if pool is None:
        return None, None
    second = PinnedClient(pool, block)
    try:
        await second.find_own()
    except (ChainUnreachable, ChainRefused) as error:
        return None, error
    log.debug("%s: asked %s and %s", first.chain.name, first.endpoint, second.endpoint)
    return second, None


def _first_difference(one: Any, two: Any, path: str = "") -> tuple[str, str]:
    """Return the first part of two values that differs, with the names of the fields that lead
    there."""
    if type(one) is type(two) and is_dataclass(one):
        for each in fields(one):
            parts = getattr(one, each.name), getattr(two, each.name)
            if parts[0] != parts[1]:
                return _first_difference(*parts, f"{path}{each.name.replace('_', ' ')} ")
    if isinstance(one, tuple) and isinstance(two, tuple) and len(one) == len(two):
        for parts in zip(one, two, strict=True):
            if parts[0] != parts[1]:
                return _first_difference(*parts, path)
    return f"{path}{shorten(one, 200)}", f"{path}{shorten(two, 200)}"
