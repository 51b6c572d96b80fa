"""How far a chain has come, and the hashes of its blocks."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scenarioctl.errors import ChainUnreachable, shorten

if TYPE_CHECKING:
    from scenarioctl.chains.client import Client


@dataclass(frozen=True, kw_only=True)
class Heads:
    """Numbers of a chain's best and last final block."""

    best: int
    finalized: int


async def read_heads(client: "Client") -> Heads:
    final, best = await client.call_many([("chain_getFinalizedHead", ()), ("chain_getHeader", ())])
    if not isinstance(final, str):
        # Without a hash the question below would be about the best block.
        raise ChainUnreachable(f"{client.endpoint} returned no finalized head: {shorten(final, 80)}")
    return Heads(best=client.read_number(best), finalized=await client.number_of(final))


async def read_block_hashes(client: "Client", numbers: Iterable[int]) -> list[str]:
    """Return the hashes of the blocks with *numbers*; ChainUnreachable if the node doesn't have all of them."""
    blocks = await client.call_many([("chain_getBlockHash", (number,)) for number in numbers])
    if not all(isinstance(block, str) for block in blocks):
        raise ChainUnreachable(f"{client.endpoint} returned no hash of a block: {shorten(blocks, 200)}")
    return blocks
