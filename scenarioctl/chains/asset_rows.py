"""The rows of `assets.json`: one line for each chain, parsed when that chain is first asked for."""

from collections.abc import Iterator
from functools import cache
from typing import Any

#: Where an Asset Hub keeps its own, trust-backed assets.
TRUST_BACKED = "0/PalletInstance(50)/GeneralIndex({})"


def kind_of(row: list[Any]) -> str:
    return str(row[4]) if len(row) > 4 and row[4] else "assets"


def location_of(row: list[Any]) -> str:
    return str(row[5]) if len(row) > 5 and row[5] else TRUST_BACKED.format(row[0])


@cache
def read_listing() -> str:
    """Return assets.json, as it was when it was first read: a program that was upgraded meanwhile may not know the new one."""
    from pathlib import Path

    return Path(__file__).with_name("assets.json").read_text(encoding="utf-8")


def read_rows(chain: str) -> Iterator[list[Any]]:
    """Give the rows of assets.json for *chain*, parsing its line only."""
    from json import loads

    text = read_listing()
    start = text.find(f'\n"{chain}":')
    if start < 0:
        return
    end = text.index("\n", start + 1)
    yield from loads(text[start + len(chain) + 4 : end].rstrip(","))
