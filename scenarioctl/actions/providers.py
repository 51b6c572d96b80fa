"""Which steps of a diagram give data, and which placeholders nothing before them can fill."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scenarioctl.actions.pills import ANSWERING, Pill, path_in_data, refuse_pills, refused_pills
from scenarioctl.errors import shorten
from scenarioctl.model.diagram import Diagram, Node

if TYPE_CHECKING:
    from scenarioctl.actions import Handler

#: Kinds of steps that give data, and what that is called.
_DATA = {"webhook": "a webhook's event", "http": "an http step's answer", "chainQuery": "a query's answer"}
_ROOT = ("eventData", "content")
#: What an http step's answer has.
_HTTP = ("status", "headers", "body")
#: Parts of a form whose own fields are named one by one.
_PARTS = ("source", "target")


class Providers:
    """The steps of a diagram that give data, in the order in which they run."""

    def __init__(self, diagram: Diagram) -> None:
        #: The ids of the nodes as the editor numbers them.
        self.numbering = diagram.numbering
        self._kinds: dict[str, str] = {}
        self._places: dict[str, int] = {}
        #: Kind -> place of the first such step.
        self._first: dict[str, int] = {}
        for place, node in enumerate(diagram.in_safe_order()):
            self._places.setdefault(node.id, place)
            self._kinds.setdefault(node.id, node.type)
            self._first.setdefault(node.type, place)

    def lacking(self, pill: Pill, node: str) -> str:
        """Return why nothing before *node* can fill *pill*; empty if a step can, for all that is known before it runs."""
        before = self._places[node]
        if pill.step is not None:
            return self._lacking_of_step(pill, before)
        shown, name, rest = shorten(pill.shown), pill.path[0], pill.path[1:]
        if pill.path[: len(_ROOT)] != _ROOT:
            kind = ANSWERING.get(name, "")
            if self._first.get(kind, before) >= before:
                kind = self._kinds[name] if self._places.get(name, before) < before else ""
            if kind == "http" and rest and rest[0] not in _HTTP:
                return f"needs {shown}, but an http step's answer has only: {', '.join(_HTTP)}"
            if kind in _DATA:
                return ""
        # Any name may be that of a field of an event.
        if self._first.get("webhook", before) < before:
            return ""
        return f"needs {shown}, which no step before it can give"

    def _lacking_of_step(self, pill: Pill, before: int) -> str:
        number, written = pill.step or 0, shorten(".".join(pill.path))
        if not number:
            return f"holds {written}, which is no data of a step"
        if number > len(self.numbering):
            reached = len(self.numbering)
            return f"needs {written} of step {number}, but the arrows lead through {reached} step{'s' * (reached != 1)}"
        node = self.numbering[number - 1]
        kind, step = self._kinds.get(node, ""), f"step {number} ({shorten(node)})"
        if kind not in _DATA:
            return f"needs {written} of {step}, which gives no data"
        if self._places[node] >= before:
            return f"needs {written} of {step}, which does not run before it"
        if path_in_data(kind, pill.path) is None:
            return f"needs {written} of {step}, which {_DATA[kind]} does not have"
        return ""


def judge_pills(
    node: Node, providers: Providers, *, asking: Node | None = None, handler: "Handler | None" = None
) -> Node:
    """Return *node* with those texts of its form marked as unfilled that nothing before *asking* (itself) can fill.

    Of a form that holds more than its *handler* reads, that is left.
    """
    if not node.form:
        return node
    read = getattr(handler, "read_form", dict)
    place = (asking or node).id
    return replace(node, form=refuse_pills(read(node.form), lambda pill: providers.lacking(pill, place)))


def lacking_fields(form: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each field of a judged *form* that nothing can fill."""
    found = {}
    for place, reason in refused_pills(form):
        parts = place.removeprefix("actionData.").replace("[", ".").split(".")
        field = ".".join(parts[: 2 if parts[0] in _PARTS else 1])
        found[f"{'selectedMethod.name' if field == 'selectedMethod' else field} {reason}"] = True
    yield from found


def lacking_of(diagram: Diagram) -> Iterator[str]:
    """Yield a sentence for each field of *diagram* that nothing can fill."""
    from scenarioctl.actions import find_handler

    providers = Providers(diagram)
    for node in diagram.in_safe_order():
        if node.type != "chain":
            yield from lacking_fields(judge_pills(node, providers, handler=find_handler(node)).form)


@dataclass(frozen=True, kw_only=True)
class JudgedDiagram(Diagram):
    """A diagram whose neighbouring nodes are judged for the node that looks at them."""

    providers: Providers

    def nearest(
        self, node: Node, types: frozenset[str], *, upstream: bool, stop: frozenset[str]
    ) -> list[Node]:
        found = super().nearest(node, types, upstream=upstream, stop=stop)
        return [judge_pills(near, self.providers, asking=node) for near in found]
