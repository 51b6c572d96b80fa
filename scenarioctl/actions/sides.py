"""The two sides of an action: the source, which value leaves, and the target, which receives it."""

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from scenarioctl.actions import all_steps, find_step
from scenarioctl.actions.fields import read_form_amount
from scenarioctl.actions.vocabulary import Collect, Reading
from scenarioctl.errors import InvalidRequest, ScenarioctlError, name_of, shorten
from scenarioctl.formats.diagram_builder import ACTION_BOX
from scenarioctl.model.diagram import Diagram, Node

if TYPE_CHECKING:
    from scenarioctl.actions.step_kind import StepKind
    from scenarioctl.application import Application

_CHAIN = frozenset({"chain"})
_PLACES = frozenset({"source", "target"})


def read_node(
    app: "Application",
    kind: "StepKind",
    diagram: Diagram,
    node: Node,
    collect: Collect | None = None,
) -> Reading:
    """Return what the form of *node* says; of an action, or the chains beside it.

    InvalidRequest names the field at fault, WaitsForData one with a placeholder.
    """
    if kind.box is ACTION_BOX:
        places = {part.at.partition(".")[0] for part in kind.parts.values()} & _PLACES
        sides = {place: _read_side(diagram, node, place) for place in sorted(places)}
        form: Mapping[str, Any] = {**action_data(node), **sides}
    elif node.form or not kind.formless:
        form = kind.read_form(node.form)
    else:
        raise InvalidRequest(kind.formless)
    return Reading(app, kind, form, "form", collect=collect)


def check_form(app: "Application", diagram: Diagram, node: Node) -> None:
    """Refuse a form that can't be read."""
    if (kind := find_step(node)) is not None:
        read_node(app, kind, diagram, node)


def outline(app: "Application", kind: "StepKind", diagram: Diagram, node: Node) -> tuple[str, str]:
    """Return the chain that a step starts on and the raw amount that leaves, as far as its form
    tells."""
    name, amount = "", "0"
    with suppress(ScenarioctlError):
        step = read_node(app, kind, diagram, node, lambda _: None)
        key = "source_chain" if "source_chain" in step else "chain"
        name = "" if key in step.unread else step[key].name
        if "amount" in step and "amount" not in step.unread:
            (text, raw), asset = step["amount"], step[step.parts["amount"].of]
            amount = str(read_form_amount(text, asset, "amount")[1] if raw is None else raw)
    return name, amount


def read_sides(diagram: Diagram, node: Node) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the source and the target of an action, from its own form or from its neighbours."""
    return _read_side(diagram, node, "source"), _read_side(diagram, node, "target")


def _read_side(diagram: Diagram, node: Node, place: str) -> Mapping[str, Any]:
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
