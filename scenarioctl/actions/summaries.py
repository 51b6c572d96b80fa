"""Scenarios and steps in one line each."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from scenarioctl.actions import find_step
from scenarioctl.actions.placeholders import has_placeholder
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.diagram import Diagram, Node

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.chains.registry import Registry


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
