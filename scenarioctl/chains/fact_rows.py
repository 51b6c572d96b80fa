"""The rows of facts about chains, from the files of the package."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scenarioctl.files import read_document, read_line, read_text

_PACKAGE = Path(__file__).parents[1]
#: Kind of rows -> the package's own.
FILES: Mapping[str, Path] = {
    "chains": _PACKAGE / "chains/chains.json",
    "closed": _PACKAGE / "chains/closed.json",
    "assets": _PACKAGE / "chains/assets.json",
    "routes": _PACKAGE / "transactions/transfer/routes.json",
    "trust": _PACKAGE / "chains/trust.json",
    "runtimes": _PACKAGE / "runtime/bundled/manifest.json",
}


def load_rows() -> None:
    """Read all files now: a program that was upgraded meanwhile may not know the new ones."""
    for file in FILES.values():
        read_text(file)


def read_facts(kind: str) -> dict[str, Any]:
    """Return all rows of a *kind* by key; beside them a file has keys of its own, like `read`, the day on which it was read."""
    rows: dict[str, Any] = read_document(FILES[kind])
    if kind == "runtimes":
        return {
            name: {"spec_version": row["spec_version"], "read": row["read"]} for name, row in rows.items()
        }
    return rows


def read_fact(kind: str, key: str) -> Any:
    """Return one row, parsing its line only; None if there is none.  For files with a line for each key."""
    return read_line(FILES[kind], key)
