"""The rows of `assets.json`: one line for each chain, parsed when that chain is first asked for."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.data_files import read_line
from scenarioctl.chains.locations import absolute

if TYPE_CHECKING:
    from scenarioctl.chains.chain import Chain

FILE = Path(__file__).with_name("assets.json")

#: Where an Asset Hub keeps its own, trust-backed assets.
TRUST_BACKED = "0/PalletInstance(50)/GeneralIndex({})"


def kind_of(row: list[Any]) -> str:
    return str(row[4]) if len(row) > 4 and row[4] else "assets"


def decimals_of(row: list[Any]) -> int | None:
    """Return the decimals of an asset; None if they are unknown."""
    return row[2] if len(row) > 2 else None


def location_of(row: list[Any]) -> str:
    return str(row[5]) if len(row) > 5 and row[5] else TRUST_BACKED.format(row[0])


def read_rows(chain: str) -> Iterator[list[Any]]:
    """Give the rows of assets.json for *chain*, parsing its line only."""
    yield from read_line(FILE, chain) or ()


def identities_of(chain: "Chain", number: str, kind: str, location: str) -> tuple[str, ...]:
    """Return the names under which the network knows an asset of *chain*, seen from the relay chain."""
    if not location or (not chain.is_network and chain.para_id is None):
        return ()
    name = absolute(location, chain.para_id)
    if kind == "erc20" and chain.role == "dex":
        # Abroad, what a contract of the exchange holds goes by its number there.
        return (name, f"Parachain({chain.para_id})/GeneralIndex({number})")
    return (name,)
