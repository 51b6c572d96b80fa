"""The values of a form as people read them, and the card of a step."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from scenarioctl.actions.placeholders import display, has_placeholder
from scenarioctl.actions.sides import read_sides
from scenarioctl.chains.addresses import format_of
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

    @property
    def tokens(self) -> str:
        """What leaves or arrives, `1.5 DOT`; empty if neither amount nor asset is there."""
        return group_digits(_join(self.amount, self.asset.short))

    @property
    def full_tokens(self) -> str:
        """The same with what tells a look-alike from the asset it resembles."""
        return _join(self.amount, self.asset.full)


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


#: A number of so many digits that people count them, and what stands behind it.
_LONG_NUMBER = re.compile(r"([0-9]{5,})((?:\.[0-9]+)?(?: .*)?)", re.ASCII)
#: Stands between groups of digits: narrow, and no line ends there.
_GROUP_SPACE = "\u202f"

#: Characters of an address that are shown at each end, and of an asset's id if it is a location.
_SHOWN_END = 6


class Look(NamedTuple):
    """The icon of a card."""

    #: Class of the card in an SVG.
    name: str
    #: A key of `render/svg.py: COLORS`.
    color: str
    #: Path of its strokes in a square of 24; empty for the badge of a chain.
    icon: str = ""


class Row(NamedTuple):
    """One line of a card: a value, and what it is."""

    text: str
    label: str = ""
    #: The amount, or whatever else is read first.
    strong: bool = False
    #: The account whose address the text is; empty if it is none.
    account: bytes = b""


class Card(NamedTuple):
    """One node as it is drawn."""

    title: str
    rows: tuple[Row, ...] = ()
    #: The name of the step type if left empty.
    caption: str = ""
    #: The literal of the chain that the step works on; empty for none.
    chain: str = ""
    #: The node's id; for an edge that leads nowhere, the id that no node has.
    id: str = ""
    look: Look = Look(
        name="unknown", color="slate", icon="M9 9a3 3 0 1 1 4.5 2.6c-1 .6-1.5 1.1-1.5 2.4M12 17.5v.1"
    )
    #: What is wrong, or what it waits for.
    note: str = ""
    #: `ok`, `waiting` for data of an earlier step, `problem`, or `missing` if there is no such node.
    state: str = "ok"

    @property
    def unfinished(self) -> bool:
        return self.state in ("problem", "missing")

    @property
    def is_step(self) -> bool:
        """Whether the node has a known step type."""
        return self.look.name not in ("unknown", "missing")

    def texts(self) -> tuple[str, ...]:
        """Return all that it says."""
        rows = (text for row in self.rows for text in (row.label, row.text))
        return (self.title, self.caption, *rows, self.note)


def shorten_middle(text: str) -> str:
    """Return an address, a hash or a hex with its middle left out; any other text as it is."""
    if len(text) < 24 or " " in text or not text.isascii() or not text.isalnum() or has_placeholder(text):
        return text
    return f"{text[:_SHOWN_END]}…{text[-_SHOWN_END:]}"


class NamedChain(NamedTuple):
    """A chain of a form: its literal, and what people call it; both empty if it is missing."""

    literal: str = ""
    title: str = ""


def name_chain(app: "Application", name: Any) -> NamedChain:
    """Return the chain that *name* means; an unknown name as it is typed."""
    if name in (None, "", "?"):
        return NamedChain()
    try:
        chain = app.registry.find(name)
    except InvalidRequest:
        typed = chain_text(name, app.registry)
        return NamedChain(typed, typed)
    return NamedChain(chain.name, chain.title)


def known(text: str) -> str:
    """Return *text*, empty for the `?` of `side_texts`."""
    return "" if text == "?" else text


def _join(amount: str, symbol: str) -> str:
    return f"{known(amount)} {known(symbol)}".strip()


def group_digits(amount: str) -> str:
    """Return an amount of five digits or more with a narrow space between each three; any other text as it is."""
    match = _LONG_NUMBER.fullmatch(amount)
    return f"{int(match[1]):,}".replace(",", _GROUP_SPACE) + match[2] if match else amount


def account_row(label: str, address: str) -> Row:
    """Return the row of an address, which has the account's picture if it names one."""
    try:
        account = format_of(address).parse(address, field=label)
    except InvalidRequest:
        account = b""
    return Row(label=label, text=shorten_middle(address), account=account)


def mark_rows(asset: AssetText) -> list[Row]:
    """Return the rows that tell a look-alike from the asset it resembles."""
    if not asset.mark:
        return []
    # Rows of their own: a long amount is cut off.
    shown = asset.id
    if len(shown) > 2 * _SHOWN_END:
        shown = f"{shown[:_SHOWN_END]}…{shown[-_SHOWN_END:]}"
    return [Row(label="Asset", text=shown), Row(text=asset.mark)]
