"""Diagrams written as flow files: the inverse of `flow_files.py`, for those that a flow file can hold."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scenarioctl.actions import find_step, unknown_sentence
from scenarioctl.actions.flow_files import draw_flow, keys_of, read_flow
from scenarioctl.actions.placeholders import first_names, has_numbered, rename
from scenarioctl.actions.redrawing import NOTHING, is_alike, keep_nodes
from scenarioctl.actions.sides import action_data
from scenarioctl.actions.step_kind import StepKind
from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.formats.diagram_builder import ACTION_BOX
from scenarioctl.model.diagram import Diagram, Node, read_diagram

if TYPE_CHECKING:
    from scenarioctl.application import Application


def write_flow(app: "Application", diagram: Diagram) -> dict[str, Any]:
    """Return the content of the flow file that draws *diagram*; InvalidRequest says why there is none.

    The file is drawn again and compared, so that nothing gets lost on the way.
    """
    flow = _write(app, diagram)
    drawn = read_diagram(draw_flow(app, read_flow(flow)).document)
    if not is_alike(keep_nodes(drawn, diagram), diagram.document):
        raise InvalidRequest("the diagram has parts that a flow file has no keys for")
    return flow


def _write(app: "Application", diagram: Diagram) -> dict[str, Any]:
    """Return a flow file with the steps of *diagram*, as far as it has keys for what is in their forms."""
    steps: dict[str, tuple[Node, StepKind]] = {}
    #: Node -> the steps right before it, through chains.
    before: dict[str, tuple[str, ...]] = {}
    for node in diagram.in_order():
        kind = find_step(node)
        if kind is None:
            raise InvalidRequest(f"{shorten(node.id)}: {unknown_sentence(node)}")
        if has_numbered(node.form):
            raise InvalidRequest(
                f"{shorten(node.id)} has a placeholder of the web editor, which names its step by a number"
            )
        sources = (
            (source,) if source in steps else before[source] for source in diagram.incoming.get(node.id, ())
        )
        before[node.id] = tuple(dict.fromkeys(each for some in sources for each in some))
        if not kind.is_shared:
            steps[node.id] = (node, kind)
    values = {name: _values(app, node, kind) for name, (node, kind) in steps.items()}
    after = _orders(before, list(steps))
    ids = _ids(values, after)
    entries = []
    for name, (_, kind) in steps.items():
        entry: dict[str, Any] = {"id": ids[name]} if name in ids else {}
        entry["type"] = kind.name
        if name in after:
            entry["after"] = [ids[source] for source in after[name]]
        entries.append(entry | rename(values[name], ids))
    labels = {"name": diagram.name, "tags": list(diagram.tags)}
    return {key: value for key, value in labels.items() if value} | {"steps": entries}


def _values(app: "Application", node: Node, kind: StepKind) -> dict[str, Any]:
    keys = keys_of(kind)
    form = action_data(node) if kind.box is ACTION_BOX else node.form
    found = {key: _value_at(form, field) for field, key in reversed([*keys.fields.items()])}
    if keys.read is not None:
        found.update(keys.read(app, node.form))
    # In the order of the documentation.
    return {key: found[key] for key in (*keys.required, *keys.optional) if found.get(key) not in NOTHING}


def _value_at(form: Any, field: str) -> Any:
    for part in field.split("."):
        form = form.get(part) if isinstance(form, dict) else None
    return form


def _orders(before: Mapping[str, tuple[str, ...]], steps: list[str]) -> dict[str, tuple[str, ...]]:
    """Return the steps before each step that doesn't just follow the one above it."""
    return {
        name: before[name]
        for number, name in enumerate(steps)
        if before[name] != tuple(steps[number - 1 : number])
    }


def _ids(values: Mapping[str, Any], after: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return an id for each step that others name: no word that a placeholder begins with."""
    named = first_names(dict(values))
    wanted = named | {source for sources in after.values() for source in sources}
    ids = {}
    for number, name in enumerate(values):
        if name in wanted:
            id = f"step{number}"
            while id in named:
                id += "_"
            ids[name] = id
    return ids
