"""What a scenario does in a line, and in a few words: for the line that creating it prints, and as its title in a list."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from scenarioctl.actions import find_step
from scenarioctl.actions.cards import chain_title, shorten_middle
from scenarioctl.actions.placeholders import has_placeholder
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.diagram import Diagram, Node

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.chains.registry import Registry
    from scenarioctl.model.diagram import Diagram, Node


def summarise(diagram: Diagram, registry: "Registry | None" = None) -> str:
    """Return the route in one line: `assetHub > xTransfer > polkadot`.

    Chain, action and other steps in execution order (in the file's where the graph gives none); chains by
    their literal; a chain or action without a form, and an unknown type of node, are left out.
    """
    registry = registry or _built_in()
    steps = ((find_step(node), node) for node in diagram.in_safe_order())
    return " > ".join(filter(None, (step.word(node, registry) for step, node in steps if step is not None)))


def chains_of(diagram: Diagram, registry: "Registry | None" = None) -> frozenset[str]:
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


def describe_node(app: "Application", node: Node, diagram: Diagram) -> str:
    """Return one line that says what *node* does, finished or not."""
    step = find_step(node)
    if step is not None:
        return step.describe(app, diagram, node)
    return "no action chosen yet" if node.type == "action" else "unknown, skipped in a run"


def _chain_names(form: Mapping[str, Any]) -> list[str]:
    """Return the names in all places where the editor keeps a chain's name, whatever the node's type."""
    names = [form.get("chain"), form.get("selectedChain")]
    data = form.get("actionData")
    if isinstance(data, dict):
        names += [
            side.get("chain") for side in (data.get("source"), data.get("target")) if isinstance(side, dict)
        ]
    return [name for name in names if isinstance(name, str)]


@cache
def _built_in() -> "Registry":
    from scenarioctl.chains.registry import Registry

    return Registry()


#: Steps that are named.
_SHOWN = 3


class Headline(NamedTuple):
    """What one step does, or all of a scenario's."""

    #: What moves, or what is done: `1.5 DOT`, `remark "paid in full"`.
    what: str
    #: Titles of the chains, in the order in which value passes them.
    chains: tuple[str, ...] = ()
    #: As it is written in the scenario; empty if nobody receives something.
    receiver: str = ""
    #: The chain of the receiver, as the scenario names it.
    receiver_chain: str = ""

    @property
    def brief(self) -> str:
        """What is done and where: `1.5 DOT, Polkadot → Asset Hub`."""
        way = " → ".join(_without_relay(self.chains))
        if not way:
            return self.what
        return f"{self.what} on {way}" if len(self.chains) == 1 else f"{self.what}, {way}"

    @property
    def title(self) -> str:
        """The same for a list: `1.5 DOT · Polkadot → Asset Hub`."""
        way = " → ".join(_without_relay(self.chains))
        return f"{self.what} · {way}" if way else self.what

    @property
    def sentence(self) -> str:
        """All of it: `1.5 DOT, Polkadot → Asset Hub, to 14E5nq…NcKVf3`."""
        return f"{self.brief}, to {shorten_middle(self.receiver)}" if self.receiver else self.brief


def headline_of(app: "Application", diagram: "Diagram") -> Headline:
    """Return what the scenario of *diagram* does, finished or not."""
    nodes = [node for node in diagram.in_safe_order() if _is_named(node)]
    if not nodes:
        return Headline("no steps yet")
    if len(nodes) == 1:
        return _headline_of_step(app, diagram, nodes[0])
    named = [_headline_of_step(app, diagram, node).brief for node in nodes[:_SHOWN]]
    more = "; …" if len(nodes) > _SHOWN else ""
    return Headline(f"{len(nodes)} steps: {'; '.join(named)}{more}")


def _is_named(node: "Node") -> bool:
    step = find_step(node)
    return step is not None and not step.is_shared


def _headline_of_step(app: "Application", diagram: "Diagram", node: "Node") -> Headline:
    step = find_step(node)
    if step is None:
        return Headline("?")
    if step.headline is not None:
        return step.headline(app, diagram, node)
    card = step.card(app, diagram, node)
    # `Query` is a word in a sentence, `GET request` stays as it is.
    title = card.title if card.title[1:2].isupper() else card.title.lower()
    strong = next((row.text for row in card.rows if row.strong), "")
    where = chain_title(app, card.chain)[1]
    return Headline(f"{title} {strong}".strip(), (where,) if where else ())


def _without_relay(chains: tuple[str, ...]) -> tuple[str, ...]:
    """Return titles of chains, without the name of a relay chain that stands beside them: `Polkadot → Asset Hub`."""
    return tuple(
        next((title.removeprefix(f"{other} ") for other in chains if title.startswith(f"{other} ")), title)
        for title in chains
    )
