"""The problems of a diagram: invalid steps, and placeholders that no earlier step can fill."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scenarioctl.actions import find_step, unknown_sentence
from scenarioctl.actions.drafts import CarriedData
from scenarioctl.actions.placeholders import (
    Placeholder,
    StepData,
    WaitsForData,
    mark_unfillable,
    unfillable_texts,
)
from scenarioctl.actions.step_kind import StepKind
from scenarioctl.errors import InvalidRequest, ScenarioctlError, shorten
from scenarioctl.model.diagram import Diagram, Node, Problem

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.model.calls import UnsignedTransaction


async def find_problems(app: "Application", diagram: Diagram) -> tuple[Problem, ...]:
    """Return all problems of *diagram*, in execution order.  Drafts every step to find them."""
    return (await judge(app, diagram))[0]


async def judge(
    app: "Application", diagram: Diagram
) -> "tuple[tuple[Problem, ...], tuple[tuple[str, UnsignedTransaction], ...]]":
    """Return the problems, and the node and transaction of each step that can be drafted now."""
    found = list(diagram.problems())
    drafted = []
    providers = Providers(diagram)
    carried = CarriedData(diagram)
    judged = diagram.with_neighbors(
        lambda near, node: carried.fill_near(judge_placeholders(near, providers, asking=node), node)
    )
    async with app.long_loop(len(diagram.nodes)) as breathe:
        for node in diagram.in_safe_order():
            await breathe()
            step = find_step(node)
            if step is not None and not step.is_shared:
                node = judge_placeholders(node, providers, step=step)
            lacking = tuple(lacking_fields(node.form))
            found += [Problem(node=node.id, error=error) for error in lacking]
            try:
                transaction = await _try(app, judged, carried, node, step)
            except ScenarioctlError as error:
                if str(error) not in map(str, lacking):
                    found.append(_problem_of(node, error))
            else:
                if transaction is not None:
                    drafted.append((node.id, transaction))
    return tuple(found), tuple(drafted)


def _problem_of(node: Node, error: ScenarioctlError) -> Problem:
    from scenarioctl.transactions.transfer.request import OnlyChecked, OnlyConnected

    return Problem(
        node=node.id,
        error=error,
        waiting=isinstance(error, WaitsForData),
        # What a transfer costs is asked for when the scenario runs.
        unasked=isinstance(error, OnlyConnected),
        opens_by_check=isinstance(error, OnlyChecked),
    )


async def _try(
    app: "Application", diagram: Diagram, carried: CarriedData, node: Node, step: StepKind | None
) -> "UnsignedTransaction | None":
    if step is None:
        raise InvalidRequest(unknown_sentence(node))
    if step.draft is not None:
        drafted = await step.draft(app, diagram, carried.fill(node), None)
        return carried.add(node, drafted).transaction
    if step.check is not None:
        step.check(app, diagram, node)
    return None


#: Parts of a form whose fields are named separately.
_PARTS = ("source", "target", "selectedMethod")


class Providers:
    """The steps of a diagram that provide data, in execution order."""

    def __init__(self, diagram: Diagram) -> None:
        #: Node ids in the order of the editor's numbers.
        self.numbering = diagram.numbering
        self._data: dict[str, StepData] = {}
        self._places: dict[str, int] = {}
        #: Name of the data -> the first step that gives it, and its place in the order.
        self._first: dict[str, tuple[int, StepData]] = {}
        for place, node in enumerate(diagram.in_safe_order()):
            if self._places.setdefault(node.id, place) != place:
                continue
            step = find_step(node)
            if step is not None and step.data is not None:
                self._data[node.id] = step.data
                self._first.setdefault(step.data.name, (place, step.data))

    def lacking(self, placeholder: Placeholder, node: str) -> str:
        """Return why no step before *node* can fill *placeholder*; empty if one may."""
        before = self._places[node]
        if placeholder.step is not None:
            return self._lacking_of_step(placeholder, before)
        shown, name, rest = shorten(placeholder.shown), placeholder.path[0], placeholder.path[1:]
        if not placeholder.is_rooted and (data := self._find_before(name, before)) is not None:
            if data.fields and rest and rest[0] not in data.fields:
                return f"needs {shown}, but {data.title} has only: {', '.join(data.fields)}"
            return ""
        # An event may have a field of any name.
        if self._find_before("", before) is not None:
            return ""
        return f"needs {shown}, which no earlier step provides"

    def _find_before(self, name: str, before: int) -> StepData | None:
        """Return the data of this name that a step before *before* gives, or of the step with this
        id."""
        place, data = self._first.get(name, (before, None))
        if place < before:
            return data
        return self._data.get(name) if self._places.get(name, before) < before else None

    def _lacking_of_step(self, placeholder: Placeholder, before: int) -> str:
        number, written = placeholder.step or 0, shorten(".".join(placeholder.path))
        if not number:
            return f"holds {written}, which no step provides"
        if number > len(self.numbering):
            reached = len(self.numbering)
            return (
                f"needs {written} of step {number}, but the arrows lead through {reached} "
                f"step{'s' * (reached != 1)}"
            )
        node = self.numbering[number - 1]
        data, step = self._data.get(node), f"step {number} ({shorten(node)})"
        if data is None:
            return f"needs {written} of {step}, which provides no data"
        if self._places[node] >= before:
            return f"needs {written} of {step}, which does not run before it"
        if data.find_path(placeholder.path) is None:
            return f"needs {written} of {step}, which is not in {data.title}"
        return ""


def judge_placeholders(
    node: Node, providers: Providers, *, asking: Node | None = None, step: StepKind | None = None
) -> Node:
    """Return *node* with the texts of its form marked that no step before *asking* (default:
    itself) can fill.

    Only what its *step* reads of the form is kept.
    """
    if not node.form:
        return node
    read = dict if step is None else step.read_form
    place = (asking or node).id
    return replace(
        node,
        form=mark_unfillable(
            read(node.form), lambda placeholder: providers.lacking(placeholder, place)
        ),
    )


def lacking_fields(form: Mapping[str, Any]) -> Iterator[InvalidRequest]:
    """Yield an error for each marked field of *form*."""
    found = set()
    for place, reason in unfillable_texts(form):
        parts = place.removeprefix("actionData.").replace("[", ".").split(".")
        field = ".".join(parts[: 2 if parts[0] in _PARTS else 1])
        if (field, reason) not in found:
            found.add((field, reason))
            yield InvalidRequest(field=field, problem=reason)


def unfillable_fields(diagram: Diagram) -> Iterator[tuple[StepKind | None, InvalidRequest]]:
    """Yield the step type and an error for each field of *diagram* that no step can fill."""
    providers = Providers(diagram)
    for node in diagram.in_safe_order():
        step = find_step(node)
        if step is None or not step.is_shared:
            for error in lacking_fields(judge_placeholders(node, providers, step=step).form):
                yield step, error
