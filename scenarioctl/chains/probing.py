"""Which endpoints of a chain answer, how fast, and how far they are; and whether the best block of
a chain is as new as it should be."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

from scenarioctl.chains.connection import TIMEOUTS, NodeConnection
from scenarioctl.chains.registry import Chain
from scenarioctl.config import without_password
from scenarioctl.errors import ChainRefused, InvalidRequest, ScenarioctlError
from scenarioctl.runtime.storage_keys import TIMESTAMP_NOW, read_timestamp
from scenarioctl.runtime.table import RuntimeTable

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


#: A head is late if it is older than so many blocks, and than so many seconds.
_LATE_BLOCKS, _LATE_SECONDS = 5, 60.0
#: Seconds by which clocks may differ: a head that is further ahead tells nothing of its age.
_SKEW = 30.0
#: Constants that tell how many milliseconds a block takes, with a factor, and the seconds if none
#: does.
_BLOCK_TIMES = (
    ("Babe", "ExpectedBlockTime", 1),
    ("Aura", "SlotDuration", 1),
    ("Timestamp", "MinimumPeriod", 2),
)
_BLOCK_SECONDS = 12.0


def block_seconds(table: RuntimeTable | None) -> float:
    """Return how long a block of this runtime takes, in seconds; 12 if it doesn't say."""
    if table is None:
        return _BLOCK_SECONDS
    for pallet, name, factor in _BLOCK_TIMES:
        try:
            milliseconds = table.constant(pallet, name)
        except InvalidRequest:
            continue
        if isinstance(milliseconds, int) and milliseconds > 0:
            return milliseconds * factor / 1000
    return _BLOCK_SECONDS


def read_block_time(answer: object) -> int | None:
    """Return the time of a block in nanoseconds since 1970, of what a node answers for
    `TIMESTAMP_NOW`; None if there is none that can be a date."""
    milliseconds = read_timestamp(answer)
    return None if milliseconds is None or milliseconds >= 10**14 else milliseconds * 1_000_000


def judge_head(age: float | None, block: float) -> Literal["fresh", "late", "unknown"]:
    """Return how a head of that *age* is on a chain whose blocks take *block* seconds; `unknown`
    without a believable age."""
    if age is None or age < -_SKEW:
        return "unknown"
    return "late" if age > max(_LATE_BLOCKS * block, _LATE_SECONDS) else "fresh"
