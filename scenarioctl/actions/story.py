"""What a step or a scenario does, finished or not: its `Story`, and the values of forms as people
read them.

A step type tells it (`StepKind.tell`).  Lines, titles, cards and labels of arrows are made from it
here, and nowhere else.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from scenarioctl.actions import find_step
from scenarioctl.actions.placeholders import display, has_placeholder
from scenarioctl.actions.sides import form_sides, read_sides
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
    #: Which of several assets the symbol means: `1984, Tether USD`; empty if it needs no words.
    which: str = ""

    @property
    def short(self) -> str:
        return f"{self.symbol} (asset {self.id})" if self.id else self.symbol

    @property
    def full(self) -> str:
        return f"{self.symbol} (asset {self.id}, {self.mark})" if self.mark else self.short

    @property
    def exact(self) -> str:
        return f"{self.symbol} ({self.which})" if self.which else self.full


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
    def said(self) -> str:
        """The same in a sentence, with `?` for what is missing."""
        return _beside(self.amount, self.asset.full)

    @property
    def full_tokens(self) -> str:
        """The same with what tells a look-alike from the asset it resembles."""
        return _join(self.amount, self.asset.full)

    @property
    def exact_tokens(self) -> str:
        """The same with what tells the canonical asset from look-alikes, too."""
        return _join(self.amount, self.asset.exact)


def side_texts(app: "Application", diagram: Diagram, node: Node) -> tuple[SideText, SideText]:
    """Return an action's source and target as text."""
    try:
        source, target = read_sides(diagram, node)
    except InvalidRequest:
        return SideText(), SideText()
    return _side_text(app, source), _side_text(app, target)


def _side_text(app: "Application", values: Mapping[str, Any]) -> SideText:
    asset = name_asset(app, values.get("chain"), values.get("assetId"), values.get("symbol"))
    chain, address, amount = (
        one_line(values.get(key)) or "?" for key in ("chain", "address", "amount")
    )
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
    name = claimed if claimed.casefold() == asset.symbol.casefold() else asset.display_name
    return AssetText(name, which=app.assets.told_apart(asset))


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
        name="unknown",
        color="slate",
        icon="M9 9a3 3 0 1 1 4.5 2.6c-1 .6-1.5 1.1-1.5 2.4M12 17.5v.1",
    )
    #: What is wrong, or what it waits for.
    note: str = ""
    #: `ok`, `waiting` for data of an earlier step, `problem`, or `missing` if there is no such
    #: node.
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
    if (
        len(text) < 24
        or " " in text
        or not text.isascii()
        or not text.isalnum()
        or has_placeholder(text)
    ):
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
    return _beside(known(amount), known(symbol)).strip()


def _beside(amount: str, symbol: str) -> str:
    if symbol and f" {symbol}" in amount:
        # A formula names its asset itself.
        return amount
    return f"{amount}{' of' * amount.endswith('%')} {symbol}"


def group_digits(amount: str) -> str:
    """Return an amount of five digits or more with a narrow space between each three; any other
    text as it is."""
    match = _LONG_NUMBER.fullmatch(amount)
    return f"{int(match[1]):,}".replace(",", _GROUP_SPACE) + match[2] if match else amount


def account_row(label: str, address: str) -> Row:
    """Return the row of an address."""
    return Row(label=label, text=shorten_middle(address))


def mark_rows(asset: AssetText) -> list[Row]:
    """Return the rows that tell a look-alike from the asset it resembles."""
    if not asset.mark:
        return []
    # Rows of their own: a long amount is cut off.
    shown = asset.id
    if len(shown) > 2 * _SHOWN_END:
        shown = f"{shown[:_SHOWN_END]}…{shown[-_SHOWN_END:]}"
    return [Row(label="Asset", text=shown), Row(text=asset.mark)]


#: Steps that the title of a scenario names.
_SHOWN = 3


class Story(NamedTuple):
    """Who gives what to whom, and over which chains; for a step that moves nothing, what it does
    and where."""

    #: What kind of step it is: `Transfer`.
    kind: str
    #: All of it in one line: `1.5 DOT from polkadot to assetHub, for 14E5…`.
    sentence: str = ""
    #: What moves, or what is done: `1.5 DOT`, `System.account`.
    what: str = ""
    #: The same in a title; the kind and `what` if left empty.
    named: str = ""
    #: The same where it was just created: which asset a symbol means is said too.
    exact: str = ""
    #: The chains that value passes, in order, or the one that the step works on.
    chains: tuple[NamedChain, ...] = ()
    #: Whom it pays, as it is written in the scenario; empty if nobody receives something.
    receiver: str = ""
    #: What is given at the start, and what is there at the end.
    gives: str = ""
    gets: str = ""
    assets: tuple[AssetText, ...] = ()
    #: What else there is to know.
    facts: tuple[Row, ...] = ()
    #: A second name of the kind; that of the step type if left empty.
    caption: str = ""

    @property
    def brief(self) -> str:
        """What is done and where: `1.5 DOT, Polkadot → Asset Hub`."""
        return self._placed(", ", " on ")

    @property
    def title(self) -> str:
        """The same for a list: `1.5 DOT · Polkadot → Asset Hub`."""
        return self._placed(" · ", " · ")

    @property
    def announcement(self) -> str:
        """All that a slip is seen by: `1.5 DOT, Polkadot → Asset Hub, to 14E5nq…NcKVf3`."""
        brief = self._replace(named=self.exact or self.named).brief
        return f"{brief}, to {shorten_middle(self.receiver)}" if self.receiver else brief

    @property
    def card(self) -> Card:
        """The card of the step, as far as its form tells."""
        places = zip(("From", "To") if len(self.chains) > 1 else ("On",), self.chains, strict=False)
        rows = (
            *([Row(text=self.what, strong=True)] if self.what else []),
            *(row for asset in self.assets for row in mark_rows(asset)),
            # The card of a chain names it already.
            *(
                Row(label=label, text=chain.title or "?")
                for label, chain in places
                if chain.title != self.kind
            ),
            *self.facts,
        )
        chain = self.chains[0].literal if self.chains else ""
        return Card(title=self.kind, rows=rows, caption=self.caption, chain=chain)

    def _placed(self, several: str, one: str) -> str:
        # `Query` is a word in a sentence, `GET request` stays as it is.
        kind = self.kind if self.kind[1:2].isupper() else self.kind.lower()
        what = self.named or f"{kind} {self.what}".strip()
        titles = dict.fromkeys(chain.title or "?" for chain in self.chains)
        # A relay chain beside another chain of its network needs no second name: `Polkadot → Asset
        # Hub`.
        way = [
            next(
                (
                    title.removeprefix(f"{other} ")
                    for other in titles
                    if title.startswith(f"{other} ")
                ),
                title,
            )
            for title in titles
        ]
        return f"{what}{several if len(way) > 1 else one}{' → '.join(way)}" if way else what


def tell_step(app: "Application", diagram: "Diagram", node: "Node") -> Story:
    """Return what *node* does."""
    step = find_step(node)
    if step is not None:
        story = step.tell(app, diagram, node)
        return story._replace(caption=story.caption or step.name)
    if node.type == "action":
        caption = one_line(node.form.get("action")) or "not chosen yet"
        return Story("Action", "no action chosen yet", caption=caption)
    return Story(
        "Unknown step", "unknown, skipped in a run", caption=one_line(node.type) or "no type"
    )


def tell_scenario(app: "Application", diagram: "Diagram") -> Story:
    """Return what the scenario of *diagram* does."""
    nodes = [node for node in diagram.in_safe_order() if _is_named(node)]
    if not nodes:
        return Story("Scenario", named="no steps yet")
    if len(nodes) == 1:
        return tell_step(app, diagram, nodes[0])
    named = "; ".join(tell_step(app, diagram, node).brief for node in nodes[:_SHOWN])
    return Story(
        "Scenario", named=f"{len(nodes)} steps: {named}{'; …' if len(nodes) > _SHOWN else ''}"
    )


def _is_named(node: "Node") -> bool:
    step = find_step(node)
    return step is not None and not step.is_shared


def summarise(diagram: "Diagram", registry: "Registry | None" = None) -> str:
    """Return the route in one line: `assetHub > xTransfer > polkadot`.

    Chain, action and other steps in execution order (in the file's where the graph gives none);
    chains by their literal; a chain or action without a form, and an unknown type of node, are left
    out.
    """
    registry = registry or _built_in()
    steps = ((find_step(node), node) for node in diagram.in_safe_order())
    return " > ".join(
        filter(None, (step.word(node, registry) for step, node in steps if step is not None))
    )


def chains_of(diagram: "Diagram", registry: "Registry | None" = None) -> frozenset[str]:
    """Return the literals of all chains that appear in any node, an unknown name in lower case as
    typed."""
    registry = registry or _built_in()
    found = set()
    for name in {name for node in diagram.nodes for name in _chain_names(node.form) if name}:
        if has_placeholder(name):
            continue
        try:
            found.add(registry.literal(name))
        except InvalidRequest:
            # An editor may save megabytes as a name.
            found.add(name.strip().lower()[:64])
    return frozenset(found - {""})


def _chain_names(form: Mapping[str, Any]) -> list[str]:
    """Return the names in all places where the editor keeps a chain's name, whatever the node's
    type."""
    sides = (side.get("chain") for side in form_sides(form)[1:])
    names = (form.get("chain"), form.get("selectedChain"), *sides)
    return [name for name in names if isinstance(name, str)]


@cache
def _built_in() -> "Registry":
    from scenarioctl.chains.registry import Registry

    return Registry()
