"""The runtime tables of one chain, in memory and from its nodes.

A node can lie about its runtime, and a call built with other pallet indices means something else: a
second endpoint says whether that is the right one.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from math import inf
from typing import Any
from urllib.parse import urlsplit

from scenarioctl.chains.connection import NodeConnection
from scenarioctl.errors import ChainRefused, InvalidRequest, shorten
from scenarioctl.runtime.table import RuntimeTable
from scenarioctl.runtime.table_cache import endpoint_digest


def host_of(endpoint: str) -> str:
    """Return host and port of *endpoint*: two endpoints of one host don't confirm each other."""
    return urlsplit(endpoint).netloc.rpartition("@")[2]


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
