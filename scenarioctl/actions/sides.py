"""The two sides of an action: the source, which value leaves, and the target, which receives it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scenarioctl.actions import all_steps
from scenarioctl.errors import InvalidRequest, name_of, shorten
from scenarioctl.model.diagram import Diagram, Node

if TYPE_CHECKING:
    pass

_CHAIN = frozenset({"chain"})


def read_sides(diagram: Diagram, node: Node) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the source and the target of an action, from its own form or from its neighbours."""
    return read_side(diagram, node, "source"), read_side(diagram, node, "target")


def read_side(diagram: Diagram, node: Node, place: str) -> Mapping[str, Any]:
    data = node.form.get("actionData")
    if data is None:
        data = {}
    elif not isinstance(data, dict):
        raise InvalidRequest(
            field="actionData",
            problem=f"is {name_of(data)}",
            expected="an object with source and target",
        )
    values = data.get(place)
    if values is None:
        values = _neighbour(diagram, node, place)
    elif not isinstance(values, dict):
        raise InvalidRequest(
            field=f"actionData.{place}",
            problem=f"is {name_of(values)}",
            expected="an object with chain and assetId",
        )
    return values


def form_sides(form: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return `actionData`, its source and its target, as the form has them; empty if it has
    none."""
    data = _object(form.get("actionData"))
    return data, _object(data.get("source")), _object(data.get("target"))


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def action_data(node: Node) -> Mapping[str, Any]:
    """Return `actionData`, empty if there is none."""
    return _object(node.form.get("actionData"))


def _neighbour(diagram: Diagram, node: Node, place: str) -> Mapping[str, Any]:
    # A chain behind another step that drafts a transaction is that step's.
    stop = frozenset(step.box.type for step in all_steps() if step.draft is not None)
    found = diagram.nearest(node, _CHAIN, upstream=place == "source", stop=stop)
    if len(found) > 1:
        names = ", ".join(shorten(chain.id) for chain in found[:4])
        raise InvalidRequest(
            field=place, problem=f"is not clear, more than one chain is connected there: {names}"
        )
    if not found:
        return {}
    form = found[0].form
    asset = form.get("asset")
    values = {
        "chain": form.get("chain"),
        "address": form.get("address"),
        "amount": form.get("amount"),
    }
    if isinstance(asset, dict):
        values |= {"assetId": asset.get("assetId"), "symbol": asset.get("symbol")}
    return values
