"""The rows of `assets.json`: one line for each chain, parsed when that chain is first asked for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scenarioctl.chains.data_files import read_line

FILE = Path(__file__).with_name("assets.json")

#: Where an Asset Hub keeps its own, trust-backed assets.
TRUST_BACKED = "0/PalletInstance(50)/GeneralIndex({})"


def kind_of(row: list[Any]) -> str:
    return str(row[4]) if len(row) > 4 and row[4] else "assets"


def location_of(row: list[Any]) -> str:
    return str(row[5]) if len(row) > 5 and row[5] else TRUST_BACKED.format(row[0])


def read_rows(chain: str) -> Iterator[list[Any]]:
    """Give the rows of assets.json for *chain*, parsing its line only."""
    yield from read_line(FILE, chain) or ()
