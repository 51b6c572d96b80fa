"""The steps of a scenario: one module per step type.

To add a step type, write a module that exports its `StepKind` as `STEP`, and add a row to `STEPS`.
"""

# Kept light: `scenarioctl xcm asset-transfer` passes through here on its way to drafting.py.
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from scenarioctl.errors import shorten

if TYPE_CHECKING:
    from scenarioctl.actions.step_kind import StepKind
    from scenarioctl.model.diagram import Node

#: Name of each step type -> the module that has its record.
STEPS = {
    "chain": ".chain",
    "xTransfer": ".transfer",
    "swap": ".swap",
    "Remark": ".remark",
    "payout": ".payout",
    "chainQuery": ".chain_query",
    "chainTx": ".chain_tx",
    "condition": ".condition",
    "http": ".http",
    "webhook": ".webhook",
    "delay": ".delay",
}


def find_step(node: "Node") -> "StepKind | None":
    """Return the step type of *node*; None if there is no such type.

    The type of the node names it, or, in any case of letters, `formData.action` of a node of type
    `action`.
    """
    name = node.type
    if name == "action":
        choice = node.form.get("action")
        folded = choice.lower() if isinstance(choice, str) else ""
        name = next((name for name in STEPS if name.lower() == folded), "")
    step = load_step(name) if name in STEPS else None
    return step if step is not None and step.box.type == node.type else None


def number_steps(nodes: "Iterable[Node]") -> dict[str, int]:
    """Return the numbers that messages and the editor call steps by, counted from 1 in the order of
    *nodes*, by node id.

    A box that only says something to the actions beside it has none.
    """
    steps = ((node, find_step(node)) for node in nodes)
    return {
        node.id: number
        for number, (node, _) in enumerate(
            (each for each in steps if each[1] and not each[1].is_shared), 1
        )
    }


@cache
def load_step(name: str) -> "StepKind":
    """Return a step type by its name in `STEPS`."""
    step: StepKind = import_module(STEPS[name], __name__).STEP
    return step


def all_steps() -> "tuple[StepKind, ...]":
    return tuple(map(load_step, STEPS))


def unknown_sentence(node: "Node") -> str:
    """Return what is wrong with a node that has no known step type."""
    if node.type != "action":
        types = ", ".join(
            dict.fromkeys(
                [*(step.box.type for step in all_steps() if step.box.type != "action"), "action"]
            )
        )
        return f"unknown node type {shorten(node.type)}, skipped in runs; expected one of: {types}"
    choice = node.form.get("action")
    known = ", ".join(step.name for step in all_steps() if step.box.type == "action")
    if choice in (None, ""):
        return f"the action has no form, expected one of: {known}"
    return f"unknown action {shorten(choice)}, skipped in runs; expected one of: {known}"
