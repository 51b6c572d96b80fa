"""The two sides of an action: the source, which value leaves, and the target, which receives it."""

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from scenarioctl.actions import all_steps
from scenarioctl.actions.fields import Fields
from scenarioctl.actions.placeholders import (
    Data,
    Encoder,
    Filled,
    Unfillable,
    has_placeholder,
    is_placeholder,
    require_filled,
)
from scenarioctl.actions.placeholders import fill as fill_any
from scenarioctl.errors import InvalidRequest, ScenarioctlError, name_of, shorten
from scenarioctl.model.diagram import Diagram, Node
from scenarioctl.model.formulas import split_amount

if TYPE_CHECKING:
    from scenarioctl.application import Application

_CHAIN = frozenset({"chain"})


def read_sides(diagram: Diagram, node: Node) -> tuple[Fields, Fields]:
    """Return the source and the target of an action, from its own form or from its neighbours."""
    return read_side(diagram, node, "source"), read_side(diagram, node, "target")


def read_side(diagram: Diagram, node: Node, place: str) -> Fields:
    """Return one side of an action: `source` or `target`."""
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
    return Fields(values, place, final=True)


def form_sides(form: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return `actionData`, its source and its target, as the form has them; empty if it has
    none."""
    data = _object(form.get("actionData"))
    return data, _object(data.get("source")), _object(data.get("target"))


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def asset_key(app: "Application", side: Mapping[str, Any]) -> Any:
    """Return how a flow file names the asset of a side: by its symbol if no other asset has that,
    else by its id.

    Which of several assets a symbol means may change, and a file is kept for longer.
    """
    asset_id, symbol = side.get("assetId"), side.get("symbol")
    if has_placeholder(asset_id):
        return asset_id
    chain = app.registry.find(side.get("chain"))
    asset = app.assets.find(chain, asset_id, symbol=symbol, field="assetId", diagram=True)
    with suppress(ScenarioctlError):
        symbol = "" if app.assets.told_apart(asset) else asset.own_symbol
        if symbol and app.assets.find(chain, symbol) == asset:
            return symbol
    return asset.id


class _AmountEncoder(Encoder):
    """Writes data into an amount: one amount with or without a unit, and no formula of its own."""

    def write(self, value: Any, following: str) -> str:
        text = super().write(value, following)
        if split_amount(text) is None:
            raise Unfillable(
                "would be filled in with text that is not one amount, like 1.5 or 1.5 DOT"
            )
        # The digits around it belong to other numbers; no number goes on with `raw`.
        return f" {text}" if following in ("r", "R") else f" {text} "


def fill_action(form: Mapping[str, Any], data: Data) -> Mapping[str, Any]:
    """Return *form* with its placeholders replaced; in a formula of the amount, data is one
    amount."""
    filled: dict[str, Any] = fill_any(dict(form), data)
    amount = form_sides(form)[1].get("amount", "")
    if isinstance(amount, str) and has_placeholder(amount) and not is_placeholder(amount):
        written = fill_any(amount, data, encoder=_AmountEncoder)
        # What was filled in is an amount now; the formula around it is its author's.
        filled["actionData"]["source"]["amount"] = (
            " ".join(written.split()) if isinstance(written, Filled) else written
        )
    return filled


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


def outline_source(app: "Application", diagram: Diagram, node: Node) -> tuple[str, str]:
    """Return the chain that an action starts on and the raw amount that leaves, as far as its form
    tells."""
    name, amount = "", "0"
    try:
        source = read_side(diagram, node, "source")
        chain = source.chain(app, "chain")
        name = chain.name
        _, raw = source.amount("amount", source.asset(app, chain, "assetId"))
        amount = str(raw)
    except ScenarioctlError:
        pass
    return name, amount


def outline_chain(app: "Application", diagram: Diagram, node: Node) -> tuple[str, str]:
    """Return the chain that a query or a call is for, empty if its form names none, and that
    nothing moves."""
    try:
        return app.registry.find(
            require_filled(node.form.get("selectedChain"), field="chain")
        ).name, "0"
    except ScenarioctlError:
        return "", "0"
