"""What a step or a scenario does, finished or not: its `Story`.

A step type tells it (`StepKind.tell`).  Lines, titles, cards and labels of arrows are made from it here, and nowhere else.
"""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from scenarioctl.actions import find_step
from scenarioctl.actions.cards import AssetText, Card, NamedChain, Row, mark_rows, one_line, shorten_middle
from scenarioctl.actions.placeholders import has_placeholder
from scenarioctl.actions.sides import form_sides
from scenarioctl.errors import InvalidRequest

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.chains.registry import Registry
    from scenarioctl.model.diagram import Diagram, Node

#: Steps that the title of a scenario names.
_SHOWN = 3


class Story(NamedTuple):
    """Who gives what to whom, and over which chains; for a step that moves nothing, what it does and where."""

    #: What kind of step it is: `Transfer`.
    kind: str
    #: All of it in one line: `1.5 DOT from polkadot to assetHub, for 14E5…`.
    sentence: str = ""
    #: What moves, or what is done: `1.5 DOT`, `System.account`.
    what: str = ""
    #: The same in a title; the kind and `what` if left empty.
    named: str = ""
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
        return f"{self.brief}, to {shorten_middle(self.receiver)}" if self.receiver else self.brief

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
        # A relay chain beside another chain of its network needs no second name: `Polkadot → Asset Hub`.
        way = [
            next(
                (title.removeprefix(f"{other} ") for other in titles if title.startswith(f"{other} ")), title
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
    return Story("Unknown step", "unknown, skipped in a run", caption=one_line(node.type) or "no type")


def tell_scenario(app: "Application", diagram: "Diagram") -> Story:
    """Return what the scenario of *diagram* does."""
    nodes = [node for node in diagram.in_safe_order() if _is_named(node)]
    if not nodes:
        return Story("Scenario", named="no steps yet")
    if len(nodes) == 1:
        return tell_step(app, diagram, nodes[0])
    named = "; ".join(tell_step(app, diagram, node).brief for node in nodes[:_SHOWN])
    return Story("Scenario", named=f"{len(nodes)} steps: {named}{'; …' if len(nodes) > _SHOWN else ''}")


def _is_named(node: "Node") -> bool:
    step = find_step(node)
    return step is not None and not step.is_shared


def summarise(diagram: "Diagram", registry: "Registry | None" = None) -> str:
    """Return the route in one line: `assetHub > xTransfer > polkadot`.

    Chain, action and other steps in execution order (in the file's where the graph gives none); chains by
    their literal; a chain or action without a form, and an unknown type of node, are left out.
    """
    registry = registry or _built_in()
    steps = ((find_step(node), node) for node in diagram.in_safe_order())
    return " > ".join(filter(None, (step.word(node, registry) for step, node in steps if step is not None)))


def chains_of(diagram: "Diagram", registry: "Registry | None" = None) -> frozenset[str]:
    """Return the literals of all chains that appear in any node, an unknown name in lower case as typed."""
    registry = registry or _built_in()
    found = set()
    for name in {name for node in diagram.nodes for name in _chain_names(node.form) if name}:
        if has_placeholder(name):
            continue
        try:
            found.add(registry.find(name).name)
        except InvalidRequest:
            # An editor may save megabytes as a name.
            found.add(name.strip().lower()[:64])
    return frozenset(found - {""})


def _chain_names(form: Mapping[str, Any]) -> list[str]:
    """Return the names in all places where the editor keeps a chain's name, whatever the node's type."""
    sides = (side.get("chain") for side in form_sides(form)[1:])
    names = (form.get("chain"), form.get("selectedChain"), *sides)
    return [name for name in names if isinstance(name, str)]


@cache
def _built_in() -> "Registry":
    from scenarioctl.chains.registry import Registry

    return Registry()
