"""The node `chain`: where a step starts or ends."""

# Every module of this package answers the same questions, whether it needs all that it is told or not.

from typing import TYPE_CHECKING, Any

from scenarioctl.actions.pills import settled
from scenarioctl.actions.words import chain_word, name_asset, word
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.diagram import Diagram, Node, name_of

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain, Registry
    from scenarioctl.formats.shapes import Canvas


def summary(node: Node, registry: "Registry") -> str:
    return chain_word(node.form.get("chain"), registry)


def describe(app: "Application", diagram: Diagram, node: Node) -> str:
    chain = word(node.form.get("chain"))
    if not chain:
        return "a chain that is not chosen yet"
    asset = node.form.get("asset")
    named = ""
    if isinstance(asset, dict):
        named = name_asset(app, node.form.get("chain"), asset.get("assetId"), asset.get("symbol")).full
    amount = word(node.form.get("amount"))
    address = word(node.form.get("address"), 60)
    return ", ".join(filter(None, (chain, f"{amount} {named}".strip(), address)))


async def check(app: "Application", diagram: Diagram, node: Node) -> None:
    if not node.form:
        raise InvalidRequest("the chain has no form, expected the name of a chain")
    name = settled(node.form.get("chain"), field="chain")
    if name is None or name == "":
        raise InvalidRequest("chain is missing, expected the name of a chain")
    app.registry.find(name)
    asset = node.form.get("asset")
    if asset is not None and not isinstance(asset, dict):
        raise InvalidRequest(f"asset is {name_of(asset)}, expected an object with assetId and symbol")


def draw_chain(
    canvas: "Canvas",
    chain: "Chain",
    asset: "Asset | str | None",
    *,
    amount: str | None = None,
    address: str | None = None,
    start: str = "",
) -> str:
    """Draw a chain's box and return its id; *start*, if it is a box of the same chain and asset, serves again."""
    held: dict[str, Any] = {"name": None, "assetId": None, "symbol": None}
    if isinstance(asset, str):
        held["assetId"] = asset
    elif asset is not None:
        held = {
            "name": asset.name or asset.symbol,
            "assetId": editor_id(chain, asset),
            "symbol": asset.symbol,
        }
    if start:
        form = canvas.form(start)
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
    return canvas.add("chain", form)


def editor_id(chain: "Chain", asset: "Asset") -> Any:
    """Return *asset*'s id as the editor lists it: Asset Hub's own DOT is 1000 there."""
    if asset.kind != "native":
        return asset.id
    if chain.name == "assetHub":
        return 1000
    return 0 if chain.role == "relay" else asset.id
