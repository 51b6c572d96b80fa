"""The file in which the original API keeps scenarios: `{"urls": [{"shortUrl": id, "longUrl": share string}, …]}`."""

from typing import Any, NamedTuple

from scenarioctl.errors import ScenarioctlError
from scenarioctl.formats.documents import parse_json


class BagpipesScenario(NamedTuple):
    """One scenario of the file, unchecked."""

    #: Its place in the file, for error messages: `urls[3]`.
    place: str
    id: Any
    #: Its share string, if the entry is valid.
    share: Any


def read_bagpipes_store(text: str, *, limit: int) -> tuple[BagpipesScenario, ...] | None:
    """Return the entries of the file in *text*; None if it is something else."""
    if '"urls"' not in text[:4096] or not text.lstrip("\ufeff \t\r\n").startswith("{"):
        return None
    try:
        document = parse_json(text, field="source", limit=limit)
    except ScenarioctlError:
        # Reading it as a diagram reports what is wrong.
        return None
    if not isinstance(document, dict) or "nodes" in document or not isinstance(document.get("urls"), list):
        return None
    return tuple(_read_entry(entry, f"urls[{number}]") for number, entry in enumerate(document["urls"]))


def _read_entry(entry: Any, place: str) -> BagpipesScenario:
    if not isinstance(entry, dict):
        return BagpipesScenario(place, None, None)
    share = entry.get("longUrl")
    if isinstance(share, dict):
        # Old versions of the API kept the whole request body.
        share = share.get("url")
    return BagpipesScenario(place, entry.get("shortUrl"), share)
