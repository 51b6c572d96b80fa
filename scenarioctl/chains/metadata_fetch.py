"""A runtime table from the node itself, and from a second endpoint whether that is the right one.

A node can lie about its runtime, and a call built with other pallet indices means something else.
"""

from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import urlsplit

from scenarioctl.chains.connection import NodeConnection
from scenarioctl.errors import ChainRefused, InvalidRequest, shorten


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
