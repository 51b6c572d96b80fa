"""The node `chain`: where a step starts or ends."""

from typing import TYPE_CHECKING, Any

from scenarioctl.actions.placeholders import require_value
from scenarioctl.actions.step_kind import StepKind
from scenarioctl.actions.story import (
    AssetText,
    Look,
    Story,
    account_row,
    group_digits,
    name_asset,
    name_chain,
    one_line,
)
from scenarioctl.errors import InvalidRequest, name_of
from scenarioctl.formats.diagram_builder import ACTION_BOX, EditorBox
from scenarioctl.model.diagram import Diagram, Node

if TYPE_CHECKING:
    from scenarioctl.actions.vocabulary import Reading
    from scenarioctl.application import Application
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain
    from scenarioctl.formats.diagram_builder import DiagramBuilder

BOX = EditorBox(type="chain", label="Chain", image="./chain.svg", width=245, height=443)


def tell(app: "Application", diagram: Diagram, node: Node) -> Story:
    form = node.form
    chain, asset = name_chain(app, form.get("chain")), _asset_words(app, node)
    typed, amount, given = (
        one_line(form.get("chain")),
        one_line(form.get("amount")),
        form.get("address"),
    )
    said = (typed, f"{amount} {asset.full}".strip(), one_line(given, 60))
    address = one_line(given, 300)
    return Story(
        kind=chain.title or "Chain",
        sentence=", ".join(filter(None, said)) if typed else "no chain chosen yet",
        what=group_digits(f"{amount} {asset.short}".strip()),
        chains=(chain,) if typed else (),
        assets=(asset,),
        facts=(account_row("Account", address),) if address else (),
        caption=chain.literal if chain.literal != chain.title else "",
    )


def _asset_words(app: "Application", node: Node) -> AssetText:
    asset = node.form.get("asset")
    if not isinstance(asset, dict):
        return AssetText("")
    return name_asset(app, node.form.get("chain"), asset.get("assetId"), asset.get("symbol"))


def check(app: "Application", diagram: Diagram, node: Node) -> None:
    if not node.form:
        raise InvalidRequest("the chain has no form, expected the name of a chain")
    name = require_value(node.form.get("chain"), field="chain", expected="the name of a chain")
    app.registry.find(name)
    asset = node.form.get("asset")
    if asset is not None and not isinstance(asset, dict):
        raise InvalidRequest(
            field="asset",
            problem=f"is {name_of(asset)}",
            expected="an object with assetId and symbol",
        )


def draw_chain(
    builder: "DiagramBuilder",
    chain: "Chain",
    asset: "Asset | str | None",
    *,
    amount: str | None = None,
    address: str | None = None,
    start: str = "",
) -> str:
    """Draw the box of a chain and return its id; reuse *start* if it shows the same chain and
    asset."""
    name = None if asset is None or isinstance(asset, str) else asset.name or asset.symbol
    held = {"name": name, **asset_fields(chain, asset)}
    if start:
        form = builder.form(start)
        if form.get("chain") == chain.name and (asset is None or form.get("asset") == held):
            form["amount"] = amount
            return start
    form = {
        "chain": chain.name,
        "asset": held,
        "address": address,
        "amount": amount,
        "delay": None,
        "contact": None,
    }
    return builder.add(BOX, form)


def draw_action(
    builder: "DiagramBuilder",
    step: "Reading",
    name: str,
    source: "tuple[Chain, Asset | str]",
    target: "tuple[Chain, Asset | str | None]",
    start: str,
) -> tuple[str, str]:
    """Draw an action between two chains, and return the ids of the first and the last box."""
    form = step.form()
    sides = {
        side: {
            "address": None,
            **form.get(side, {}),
            "chain": chain.name,
            **asset_fields(chain, asset),
        }
        for side, (chain, asset) in (("source", source), ("target", target))
    }
    amount, address = sides["source"].get("amount"), sides["target"]["address"]
    first = draw_chain(builder, *source, amount=amount, start=start)
    data = {**form, "actionType": name, **sides}
    action = builder.add(ACTION_BOX, {"action": name, "actionData": data})
    last = draw_chain(builder, *target, address=address)
    builder.connect(first, action)
    builder.connect(action, last)
    return first, last


def asset_fields(chain: "Chain", asset: "Asset | str | None") -> dict[str, Any]:
    """Return *asset* as the editor keeps it in a form: an asset, the placeholder that will name it,
    or none."""
    if asset is None or isinstance(asset, str):
        return {"assetId": asset, "symbol": None}
    return {"assetId": _editor_id(chain, asset), "symbol": asset.symbol}


def _editor_id(chain: "Chain", asset: "Asset") -> Any:
    """Return *asset*'s id as the editor lists it: Asset Hub's own DOT is 1000 there."""
    if asset.kind != "native":
        return asset.id
    if chain.name == "assetHub":
        return 1000
    return 0 if chain.role == "relay" else asset.id


STEP = StepKind(
    name="chain",
    box=BOX,
    look=Look(name="chain", color="slate"),
    route="",
    tell=tell,
    check=check,
    is_shared=True,
)
