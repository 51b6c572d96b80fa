"""Which endpoints of a chain answer, how fast, and how far they are; and what a chain tells of
itself."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from scenarioctl.chains.availability import read_block_time
from scenarioctl.chains.connection import TIMEOUTS, NodeConnection
from scenarioctl.chains.registry import Chain
from scenarioctl.config import without_password
from scenarioctl.errors import ChainRefused, ScenarioctlError
from scenarioctl.runtime.storage_keys import TIMESTAMP_NOW

#: An endpoint so many blocks behind the best of its chain is not healthy: some minutes.
FAR_BEHIND = 30


@dataclass(frozen=True, kw_only=True)
class Probe:
    """What one endpoint of a chain told when it was asked."""

    chain: str
    endpoint: str
    #: Seconds until the first answers.
    latency: float | None = None
    #: Number of the best block.
    block: int | None = None
    #: The best block's own time, in nanoseconds since 1970, and how many seconds ago that was; None
    #: if it doesn't say.
    made: int | None = None
    age: float | None = None
    spec_name: str = ""
    spec_version: int | None = None
    #: Why it is not to be relied on; empty where it is.
    reason: str = ""

    @property
    def healthy(self) -> bool:
        return not self.reason


async def probe(
    chains: Sequence[Chain],
    *,
    patience: float = TIMEOUTS.opening,
    clock: Callable[[], int] = time.time_ns,
) -> tuple[Probe, ...]:
    """Ask every endpoint of *chains* at once; those that have not answered after *patience* seconds
    are given up.

    *clock* returns nanoseconds since 1970.
    """
    probes = await asyncio.gather(
        *(
            _probe_one(chain, endpoint, patience, clock)
            for chain in chains
            for endpoint in chain.endpoints
        )
    )
    return tuple(_compare(one, probes) for one in probes)


async def _probe_one(
    chain: Chain, endpoint: str, patience: float, clock: Callable[[], int]
) -> Probe:
    found = Probe(chain=chain.name, endpoint=without_password(endpoint))
    try:
        async with asyncio.timeout(patience + 1):
            return await _ask(found, endpoint, chain, patience, clock)
    except TimeoutError:
        return replace(found, reason=f"{found.endpoint} did not answer in {patience:g} seconds")


async def _ask(
    found: Probe, endpoint: str, chain: Chain, patience: float, clock: Callable[[], int]
) -> Probe:
    timeouts = replace(TIMEOUTS, opening=patience, answering=patience)
    try:
        connection = await NodeConnection.open(chain, endpoint, timeouts)
    except ScenarioctlError as error:
        return replace(found, reason=str(error))
    try:
        found = replace(
            found,
            latency=connection.latency,
            spec_name=str(connection.version.get("specName", "")),
            spec_version=connection.version.get("specVersion"),
        )
        header = await connection.call("chain_getHeader")
        found = replace(found, block=int(header["number"], 16))
        with suppress(ChainRefused):
            made = read_block_time(await connection.call("state_getStorage", TIMESTAMP_NOW))
            age = None if made is None else round((clock() - made) / 1_000_000_000, 1)
            found = replace(found, made=made, age=age)
        # Not every node lets the public ask.
        with suppress(ChainRefused):
            health = await connection.call("system_health")
            if isinstance(health, dict) and health.get("isSyncing") is True:
                found = replace(
                    found, reason=f"{found.endpoint} is still syncing, it is at block {found.block}"
                )
    except ScenarioctlError as error:
        found = replace(found, reason=str(error))
    except (TypeError, KeyError, ValueError):
        found = replace(found, reason=f"{found.endpoint} gave no head")
    finally:
        await connection.abort()
    return found


def _compare(one: Probe, all_of_them: Sequence[Probe]) -> Probe:
    """Return *one* with its reason, where the others of its chain are far ahead of it."""
    best = max((other.block or 0 for other in all_of_them if other.chain == one.chain), default=0)
    if one.reason or one.block is None or best - one.block < FAR_BEHIND:
        return one
    return replace(
        one, reason=f"{one.endpoint} is {best - one.block} blocks behind the others, at {one.block}"
    )
