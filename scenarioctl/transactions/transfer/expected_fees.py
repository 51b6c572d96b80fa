"""Roughly what the chains on a route take out of the amount, for a transfer that is built offline.

`fees.json` says where the figures are from; `tools/measure_fees.py` measures them anew.
"""

from functools import cache
from pathlib import Path

from scenarioctl.files import read_document

FILE = Path(__file__).with_name("fees.json")


def expected_fees(symbol: str, route: str) -> tuple[int, int] | None:
    """Return what the chain between and the last chain take, raw, under the relay chain of *symbol*.

    *route* is `Route.fees_as`.  None if the fees were not measured.
    """
    row = _read().get(symbol, {}).get(route)
    return None if row is None else (row["between"], row["last"])


@cache
def _read() -> dict[str, dict[str, dict[str, int]]]:
    raw: dict[str, dict[str, dict[str, int]]] = read_document(FILE)["raw"]
    return raw
