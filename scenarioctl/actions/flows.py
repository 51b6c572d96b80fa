"""From a flow file to a diagram, and from what is wrong with a node back to the step and the key in the file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scenarioctl.actions import ACTIONS, NODES, find_module
from scenarioctl.actions.pills import rename
from scenarioctl.formats.shapes import Canvas

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.formats.flow import Flow, FlowStep

#: Kinds of steps whose data a later step may name by their `id`.
_NAMED = ("webhook", "http", "chainQuery")


@dataclass(frozen=True, kw_only=True)
class DrawnFlow:
    """The document of a flow, and the step that each of its nodes was drawn for."""

    document: dict[str, Any]
    steps: "Mapping[str, FlowStep]"

    def place(self, node: str) -> str:
        """Return the step that *node* was drawn for, as `steps[2]`."""
        return self.steps[node].place

    def reason(self, node: str, sentence: str) -> str:
        """Return *sentence*, which may begin with a field of a form, in the words of the file."""
        _, words = _in_keys(self.steps[node].kind, sentence)
        return words

    def explain(self, node: str, sentence: str) -> str:
        """Return *sentence* with the step and the key that it is about: `steps[2].amount …`."""
        keyed, words = _in_keys(self.steps[node].kind, sentence)
        return f"{self.place(node)}{'.' if keyed else ': '}{words}"


def draw_flow(app: "Application", flow: "Flow", *, canvas: Canvas | None = None) -> DrawnFlow:
    """Return the diagram of a flow file; InvalidRequest names the step and the key that cannot be used."""
    canvas = canvas or Canvas()
    followers = [0] * len(flow.steps)
    for step in flow.steps:
        for number in step.after:
            followers[number] += 1
    last: dict[int, str] = {}
    #: What the file calls a step that gives data -> its node.
    names: dict[str, str] = {}
    steps: dict[str, FlowStep] = {}
    for number in flow.order:
        step = flow.steps[number]
        before = [last[source] for source in step.after]
        # Where one step ends on the chain that the next one starts on, the editor shows one box for both.
        start = before[0] if len(before) == 1 and followers[step.after[0]] == 1 else ""
        fields = {name: rename(value, names) for name, value in step.fields.items() if value is not None}
        drawn = len(canvas.drawn)
        first, last[number] = _module_of(step.kind).draw(canvas, app, fields, place=step.place, start=start)
        steps |= dict.fromkeys(canvas.drawn[drawn:], step)
        if first != start:
            for source in before:
                canvas.connect(source, first)
        if step.id and step.kind in _NAMED:
            names[step.id] = last[number]
    return DrawnFlow(document=canvas.document(name=flow.name), steps=steps)


def in_keys(kind: str, sentence: str) -> str:
    """Return *sentence*, which may begin with a field of a form, with what a request or a flow file calls that field."""
    return _in_keys(kind, sentence)[1]


def _in_keys(kind: str, sentence: str) -> tuple[bool, str]:
    for field, key in _module_of(kind).KEYS.items():
        rest = sentence.removeprefix(field)
        if rest != sentence and rest[:1] in (" ", ".", "["):
            return True, key + rest
    return False, sentence


def _module_of(kind: str) -> Any:
    return find_module(ACTIONS.get(kind) or NODES[kind])
