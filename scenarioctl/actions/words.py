"""How a form's values are shown in one line, whatever an editor put there."""

from scenarioctl.actions.pills import display
from scenarioctl.actions.sides import read_sides
from scenarioctl.chains.registry import Registry
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.diagram import Diagram, Node

#: Shown of one value.
_LONGEST = 48


def word(value: object, limit: int = _LONGEST) -> str:
    """Return *value* as one short line, empty for what is neither text nor a number."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    # A text is cut before it is cleaned: a form may hold megabytes.
    text = display(value[:4096]) if isinstance(value, str) else str(value)
    text = " ".join("".join(c if c.isprintable() else " " for c in text[: limit * 4]).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def chain_word(value: object, registry: Registry) -> str:
    """Return the literal of the chain that *value* names, or the name as it is typed if nobody knows it."""
    try:
        return registry.find(value).name
    except InvalidRequest:
        return word(value)


def side_words(diagram: Diagram, node: Node) -> tuple[dict[str, str], dict[str, str]]:
    """Return what an action's form says of its source and its target, for show; `?` where it says nothing."""
    try:
        sides = read_sides(diagram, node)
    except InvalidRequest:
        empty = dict.fromkeys(("chain", "asset", "address", "amount"), "?")
        return empty, empty
    found = []
    for side in sides:
        values = {
            key: word(side.values.get(key)) for key in ("chain", "symbol", "assetId", "address", "amount")
        }
        values["asset"] = values["symbol"] or values["assetId"]
        found.append({key: value or "?" for key, value in values.items()})
    return found[0], found[1]
