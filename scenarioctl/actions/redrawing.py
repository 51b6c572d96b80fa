"""A diagram that was drawn again: which of its nodes are the former ones, and whether it still says
the same."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from scenarioctl.actions import find_step
from scenarioctl.actions.placeholders import rename
from scenarioctl.model.diagram import ACTING, Diagram, Node, label_document, read_diagram

#: Keys of a node that say where it is.
_PLACE = ("position", "positionAbsolute")
#: Values that say nothing: a flow file leaves them out.
NOTHING: tuple[Any, ...] = (None, "", [], {})


def keep_nodes(drawn: Diagram, former: Diagram) -> dict[str, Any]:
    """Return the document of *drawn* with those nodes of *former* that are still there.

    A node that says the same stays as it is, with what only the web editor reads of it.  A changed
    node keeps its id if as many of its type as before are changed.  If no node and no edge was
    added or removed, nodes stay in their places too.
    """
    ids = _pair(drawn, former)
    olds = {node.id: node for node in former.nodes}
    nodes = {}
    for node in drawn.nodes:
        name, form = ids.get(node.id, node.id), rename(node.form, ids)
        old = olds.get(name)
        if old is not None and _says(form, node) == _says(old.form, old):
            nodes[name] = {**old.raw, **{key: node.raw[key] for key in _PLACE}}
        else:
            nodes[name] = {**node.raw, "id": name, "formData": form}
    ends = [
        (ids.get(edge.source, edge.source), ids.get(edge.target, edge.target))
        for edge in drawn.edges
    ]
    edges = {
        (source, target): {**raw, "id": f"{source}-{target}", "source": source, "target": target}
        for (source, target), raw in zip(ends, drawn.document["edges"], strict=True)
    }
    formers = {
        (edge.source, edge.target): raw
        for edge, raw in zip(former.edges, former.document["edges"], strict=True)
    }
    if set(olds) == set(nodes) and set(formers) == set(edges):
        nodes = {
            name: {**nodes[name], **{key: old.raw[key] for key in _PLACE if key in old.raw}}
            for name, old in olds.items()
        }
        edges = formers
    kept = {
        key: value for key, value in former.document.items() if key not in ("name", "tags", ACTING)
    }
    acting = {key: value for key, value in drawn.document.items() if key == ACTING}
    document = {**acting, **kept, "nodes": list(nodes.values()), "edges": list(edges.values())}
    return label_document(document, name=drawn.name, tags=drawn.tags)


def _pair(drawn: Diagram, former: Diagram) -> dict[str, str]:
    """Return the nodes of *drawn* that are nodes of *former*, with their ids there."""
    new, old = (list(_keys(diagram)) for diagram in (drawn, former))
    pairs: dict[str, str] = {}
    for exactly in (True, False):
        left: defaultdict[Any, list[str]] = defaultdict(list)
        found: defaultdict[Any, list[str]] = defaultdict(list)
        taken = set(pairs.values())
        for node, key in old:
            if node.id not in taken:
                left[key if exactly else node.type].append(node.id)
        for node, key in new:
            if node.id not in pairs:
                found[key if exactly else node.type].append(node.id)
        for key, names in found.items():
            if exactly or len(names) == len(left[key]):
                pairs |= dict(zip(names, left[key], strict=False))
    return pairs


def _keys(diagram: Diagram) -> Iterable[tuple[Node, str]]:
    """Yield each node in execution order with what it says, whatever the ids of other nodes are."""
    types = {node.id: node.type for node in diagram.nodes}
    for node in diagram.in_safe_order():
        yield node, json.dumps([node.type, _says(rename(node.form, types), node)], sort_keys=True)


def is_alike(document: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two diagrams with the same ids say the same, wherever their nodes are."""
    first, second = read_diagram(document), read_diagram(other)
    if (first.name, first.tags) != (second.name, second.tags):
        return False
    if document.get(ACTING) != other.get(ACTING):
        return False
    if sorted((edge.source, edge.target) for edge in first.edges) != sorted(
        (edge.source, edge.target) for edge in second.edges
    ):
        return False
    forms = [
        {node.id: (node.type, _says(node.form, node)) for node in diagram.nodes}
        for diagram in (first, second)
    ]
    if any(
        len(found) < len(diagram.nodes)
        for found, diagram in zip(forms, (first, second), strict=True)
    ):
        return False
    return forms[0] == forms[1] and [node.id for node in first.in_safe_order()] == [
        node.id for node in second.in_safe_order()
    ]


def _says(form: Mapping[str, Any], node: Node) -> Any:
    """Return what a form says to us, without what is empty and what only the web editor shows."""
    kind = find_step(node)
    whole = form if kind is None else kind.read_form(form)
    read = _without_nothing(whole)
    if isinstance(whole.get("params"), Mapping) and whole["params"]:
        # An empty text is an argument of a call too.
        read["params"] = whole["params"]
    if kind is None or kind.box.type not in ("chain", "action"):
        return read
    if kind.name == "chain":
        read.pop("address", None)
        places = [read.get("asset")]
    else:
        data = read.get("actionData")
        sides = ("source", "target") if kind.name == "swap" else ("source",)
        places = [data.get(side) for side in sides] if isinstance(data, dict) else []
    for values in places:
        if isinstance(values, dict):
            # The account that was connected in the editor, and its own name of an asset.
            values.pop("address", None)
            values.pop("name", None)
    return read


def _without_nothing(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key: _without_nothing(entry) for key, entry in value.items() if entry not in NOTHING
        }
    if isinstance(value, list):
        return [_without_nothing(entry) for entry in value]
    return value
