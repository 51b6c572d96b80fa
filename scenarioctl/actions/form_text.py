"""Values of a form as one line of text, whatever an editor put there."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from scenarioctl.actions.placeholders import display, has_placeholder
from scenarioctl.actions.sides import read_sides
from scenarioctl.chains.assets import UNVERIFIED
from scenarioctl.chains.registry import Registry
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.diagram import Diagram, Node

if TYPE_CHECKING:
    from scenarioctl.application import Application

#: Characters of one value.
_LONGEST = 48


def one_line(value: object, limit: int = _LONGEST) -> str:
    """Return *value* as one short line; empty unless it is text or a number."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    # Cut before cleaning: a form may contain megabytes.
    text = display(value[:4096]) if isinstance(value, str) else str(value)
    text = " ".join("".join(c if c.isprintable() else " " for c in text[: limit * 4]).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def chain_text(value: object, registry: Registry) -> str:
    """Return the literal of the chain that *value* names; an unknown name as typed."""
    try:
        return registry.find(value).name
    except InvalidRequest:
        return one_line(value)


class AssetText(NamedTuple):
    """The name of a form's asset."""

    symbol: str
    #: The asset id, if the symbol alone would be ambiguous or unverified; else empty.
    id: str = ""
    #: Marks an asset with the symbol of another one.
    mark: str = ""

    @property
    def short(self) -> str:
        return f"{self.symbol} (asset {self.id})" if self.id else self.symbol

    @property
    def full(self) -> str:
        return f"{self.symbol} (asset {self.id}, {self.mark})" if self.mark else self.short


class SideText(NamedTuple):
    """One side of an action as text, `?` for what is missing."""

    chain: str = "?"
    asset: AssetText = AssetText("?")
    address: str = "?"
    amount: str = "?"


def side_texts(app: "Application", diagram: Diagram, node: Node) -> tuple[SideText, SideText]:
    """Return an action's source and target as text."""
    try:
        source, target = read_sides(diagram, node)
    except InvalidRequest:
        return SideText(), SideText()
    return _side_text(app, source.values), _side_text(app, target.values)


def _side_text(app: "Application", values: Mapping[str, Any]) -> SideText:
    asset = name_asset(app, values.get("chain"), values.get("assetId"), values.get("symbol"))
    chain, address, amount = (one_line(values.get(key)) or "?" for key in ("chain", "address", "amount"))
    return SideText(chain, asset if asset.full else AssetText("?"), address, amount)


def name_asset(app: "Application", chain: object, asset_id: object, symbol: object) -> AssetText:
    """Return the name of a form's asset, even if the form is invalid.

    A symbol is the form's own claim: it is printed alone only if the id means that asset.
    """
    number, claimed = one_line(asset_id), one_line(symbol)
    # Without a symbol, show the id: a target may only repeat the source's.
    if not claimed or has_placeholder(chain) or has_placeholder(asset_id):
        return AssetText(claimed or number)
    try:
        asset = app.assets.find(
            app.registry.find(chain), asset_id if number else symbol, symbol=symbol, diagram=True
        )
    except InvalidRequest:
        return AssetText(claimed, number)
    if asset.mark:
        return AssetText(asset.symbol, asset.id, asset.mark)
    if not asset.symbol:
        return AssetText(claimed, asset.id, UNVERIFIED)
    return AssetText(claimed if claimed.casefold() == asset.symbol.casefold() else asset.display_name)
