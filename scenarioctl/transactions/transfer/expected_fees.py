"""About what a route takes out of the amount on its way, for whoever asks no chain.

`fees.json` says where the figures are from; `tools/measure_fees.py` measures them anew.
"""

import json
from functools import cache
from pathlib import Path


def expected_tolls(
    symbol: str, source_role: str, destination_role: str, origin: str
) -> tuple[int, int] | None:
    """Return what chains between and the last chain take, raw, under the relay chain of *symbol*; None if not known."""
    row = _read().get(symbol, {}).get(f"{source_role}>{destination_role}:{origin}")
    return None if row is None else (row["between"], row["last"])


@cache
def _read() -> dict[str, dict[str, dict[str, int]]]:
    document = json.loads(Path(__file__).with_name("fees.json").read_text(encoding="utf-8"))
    raw: dict[str, dict[str, dict[str, int]]] = document["raw"]
    return raw
