"""The connection to one chain, which all commands, requests and runs of a process share.

It is opened when somebody asks, and again, at another endpoint if there is one, when it is lost.
With it are its runtime tables: a node can lie about its runtime, and a call built with other
pallet indices means something else, so a second endpoint says whether a table is the right one.
"""

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from math import ceil, inf
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scenarioctl.chains.connection import TIMEOUTS, NodeConnection, Timeouts, connect
from scenarioctl.chains.probing import block_seconds
from scenarioctl.chains.registry import Chain
from scenarioctl.chains.rpc_errors import PoolClosed
from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest, shorten
from scenarioctl.retries import delay_after
from scenarioctl.runtime.table import RuntimeTable
from scenarioctl.runtime.table_cache import endpoint_digest

#: Shortest and longest delay between two attempts, in seconds.
_SHORTEST, _LONGEST = 0.5, 30.0


class Backoff:
    """Delays attempts to reach a chain after a failure."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """*clock* returns seconds; *chance* returns 0 to 1, for jitter."""
        self._clock = clock
        self._chance = chance
        self._failures = 0
        self._reason = ""
        self._next = 0.0

    def check(self) -> None:
        """Raise ChainUnreachable with the last reason if it is too early for another attempt."""
        wait = self._next - self._clock()
        if self._failures and wait > 0:
            raise ChainUnreachable(f"{self._reason}, tried again in {ceil(wait)} s")

    @property
    def is_resting(self) -> bool:
        """Whether the last attempt failed."""
        return self._failures > 0

    def succeeded(self) -> None:
        self._failures = 0

    def failed(self, reason: str) -> None:
        self._reason = reason
        if self._failures and self._clock() < self._next:
            # Several began before the first of them failed: that is one failure.
            return
        self._failures += 1
        wait = delay_after(self._failures, first=_SHORTEST, longest=_LONGEST)
        self._next = self._clock() + wait * (0.75 + self._chance() / 4)


def host_of(endpoint: str) -> str:
    """Return host and port of *endpoint*: two endpoints of one host don't confirm each other."""
    return urlsplit(endpoint).netloc.rpartition("@")[2]


#: So many tables of a chain are kept in memory: the current one, and those of older blocks.
_TABLES = 8

#: Name and number of a runtime.
Runs = tuple[Any, Any]


class Tables:
    """The runtime tables of a chain in memory, shared by all who ask it: reading one takes long,
    and so do its encoders.

    A table that nobody confirmed is found only by who is connected to the endpoint that gave it.
    """

    def __init__(self, *known: RuntimeTable | None) -> None:
        #: By name, number, and the digest of the endpoint that alone gave it.
        self._tables: dict[tuple[Any, Any, str], RuntimeTable] = {}
        #: Until when it is found (time.monotonic), where that is not for good.
        self._until: dict[tuple[Any, Any, str], float] = {}
        #: Held by who reads one that is missing here, so that others wait for it.
        self.reading = asyncio.Lock()
        for table in known:
            if table is not None:
                self.keep(table)

    def find(self, runs: Runs, endpoint: str) -> RuntimeTable | None:
        table = self._tables.get((*runs, ""))
        if table is not None:
            return table
        key = (*runs, endpoint_digest(endpoint))
        return self._tables.get(key) if time.monotonic() < self._until.get(key, inf) else None

    def of_version(self, spec_version: int) -> RuntimeTable | None:
        """Return the table with that number, whatever its name, and rather one that is
        confirmed."""
        found = [
            table for table in list(self._tables.values()) if table.spec_version == spec_version
        ]
        return min(found, key=lambda table: table.told_by, default=None)

    def keep(self, table: RuntimeTable, *, seconds: float | None = None) -> RuntimeTable:
        """Keep *table*, which is then found for so many *seconds*."""
        key = (table.spec_name, table.spec_version, table.told_by)
        self._tables.pop(key, None)
        self._tables[key] = table
        self._until[key] = inf if seconds is None else time.monotonic() + seconds
        if len(self._tables) > _TABLES:
            oldest = next(iter(self._tables))
            del self._tables[oldest], self._until[oldest]
        return table


def runtime_of(version: dict[str, Any]) -> Runs:
    """Return the name and number of a runtime.

    The name too: chains that share a genesis, as forks do, may share a version number.
    """
    return version.get("specName"), version.get("specVersion")


async def fetch_metadata(
    connection: NodeConnection, block: str | None, versions: Sequence[int] = (16, 15, 14)
) -> bytes:
    """Return the newest metadata of *versions* that the node, at *block* or its best one, has."""
    at = () if block is None else (block,)
    for version in (version for version in versions if version > 14):
        with suppress(ChainRefused):
            answer = await connection.call(
                "state_call", "Metadata_metadata_at_version", f"0x{version:02x}000000", *at
            )
            # Option<OpaqueMetadata>: 0x00 says that the runtime does not have this version.
            if isinstance(answer, str) and answer not in {"0x00", "0x"}:
                return _read_bytes(answer)
    if 14 not in versions:
        raise InvalidRequest(f"{connection.endpoint} gave no metadata of version {versions[0]}")
    return _read_bytes(await connection.call("state_getMetadata", *at))


def _read_bytes(answer: object) -> bytes:
    try:
        return bytes.fromhex(str(answer)[2:])
    except ValueError:
        raise InvalidRequest(f"{shorten(answer)} is not metadata") from None


#: Seconds for which a runtime version that the node reported is trusted.
BELIEVED = 1.0
#: Idle seconds after which a connection is checked before use: its node may be gone.
QUIET = 1.0
#: Timeout of that check, in seconds, if the chain has another endpoint.
STALLED = 0.5


class Pool:
    """The connection to one chain, on one event loop."""

    def __init__(
        self,
        chain: Chain,
        *,
        known: RuntimeTable | None,
        cache: Path,
        backoff: Backoff | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        """Begin with the table that is *known*; *cache* is the directory of the chain's tables."""
        self.chain = chain
        self.cache = cache
        self.tables = Tables(known)
        self._known = known
        self.backoff = backoff or Backoff()
        self.timeouts = timeouts or TIMEOUTS
        self.believed = BELIEVED
        self._current: NodeConnection | None = None
        #: All that may be open: those that were replaced close when nobody waits for them.
        self._opened: list[NodeConnection] = []
        self._turn = asyncio.Lock()
        #: Of the connection that is being opened.
        self._opening: asyncio.Timeout | None = None
        self._closed = False
        #: Pools of some of the endpoints, of which is asked what others told.
        self._parts: dict[tuple[str, ...], Pool] = {}

    @cached_property
    def block_seconds(self) -> float:
        """How long a block of the chain takes, in seconds."""
        return block_seconds(self._known)

    def only(self, endpoints: tuple[str, ...]) -> "Pool":
        """Return the pool of these endpoints alone."""
        if endpoints not in self._parts:
            self._parts[endpoints] = part = Pool(
                self.chain._replace(endpoints=endpoints),
                known=self._known,
                cache=self.cache,
                timeouts=self.timeouts,
            )
            # What is confirmed of a runtime is so for all endpoints.
            part.tables = self.tables
        return self._parts[endpoints]

    def retire(self) -> None:
        """Close the connections when nobody waits for them any more."""
        for part in self._parts.values():
            part.retire()
        for connection in self._opened:
            connection.retire()

    async def close(self) -> None:
        """Close the connections, whoever waits for them."""
        self._closed = True
        if self._opening is not None:
            self._opening.reschedule(0)
        await asyncio.gather(
            *(part.close() for part in self._parts.values()),
            *(connection.close() for connection in self._opened),
        )

    async def connection(self, instead_of: NodeConnection | None = None) -> NodeConnection:
        """Return the connection that all share, another one if it is lost or *instead_of*.

        ChainUnreachable if no endpoint answers, or if it is too early to ask them again.
        """
        async with self._turn:
            current = self._current
            if current is not None and current is not instead_of and await self._answers(current):
                return current
            current = await self._open(current.endpoint if current else "")
            self._use(current)
            return current

    async def replace(self, slow: NodeConnection) -> NodeConnection | None:
        """Return another connection than the *slow* one, with the same runtime; None if there is
        none."""
        async with self._turn:
            other = self._current
            if other is slow:
                try:
                    other = await self._open(slow.endpoint)
                except ChainUnreachable:
                    return None
            if other is None or runtime_of(other.version) != runtime_of(slow.version):
                if other is not None and other is not self._current:
                    await other.close()
                return None
            self._use(other)
            return other

    def _use(self, connection: NodeConnection) -> None:
        before, self._current = self._current, connection
        if before is not None and before is not connection:
            before.retire()

    async def _answers(self, connection: NodeConnection) -> bool:
        if not connection.lost and time.monotonic() - connection.heard > QUIET:
            several = len(self.chain.endpoints) > 1
            try:
                await connection.ask_version(STALLED if several else self.timeouts.opening)
            except ChainRefused:
                # It is there, and that is all that was wanted to know.
                pass
            except ChainUnreachable:
                return False
        return not connection.lost

    async def _open(self, avoid: str) -> NodeConnection:
        """Open a connection; the endpoint *avoid* is tried last."""
        if not self._closed:
            self.backoff.check()
        try:
            async with asyncio.timeout(-1 if self._closed else None) as self._opening:
                connection = await connect(self.chain, self.timeouts, avoid=avoid)
        except TimeoutError:
            raise PoolClosed(
                f"the connections to {self.chain.title} were closed before it answered"
            ) from None
        except ChainUnreachable as error:
            self.backoff.failed(str(error))
            raise
        finally:
            self._opening = None
        self.backoff.succeeded()
        self._opened = [each for each in self._opened if not each.lost] + [connection]
        return connection
