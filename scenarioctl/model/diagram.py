"""A diagram of the web editor: its nodes, its edges, and the order in which they run.

The document is kept exactly as it came, so that what is exported is what was imported; nodes and
edges are views into it.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from scenarioctl.errors import (
    ChainUnreachable,
    InvalidRequest,
    ScenarioctlError,
    TooLarge,
    name_of,
    shorten,
)
from scenarioctl.model.acting import Acting, read_acting

#: Limits of a diagram.  The largest one seen has 40 nodes and nests 9 levels.
MAX_NODES = 10_000
MAX_EDGES = 20_000
MAX_DEPTH = 100
#: Values in the form of a `chain` node, which every action near it looks through.  The largest one
#: seen has 20.
MAX_CHAIN_VALUES = 1_000

#: Characters of a name.
MAX_NAME = 200

#: Tags of a diagram, and characters of a tag.
MAX_TAGS = 20
MAX_TAG = 50

#: The key of a document that says who acts for another account in it.
ACTING = "actingAs"

#: Nodes that are searched for a neighbor: in a hostile diagram each of 10 000 nodes could search
#: all others.
_NEARBY = 256

#: Nodes of a cycle that are named in a message.
_NAMED = 8

_NO_FORM: Mapping[str, Any] = {}


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing that keeps a diagram from running."""

    #: The node's id; empty if the problem is the diagram as a whole.
    node: str
    error: ScenarioctlError
    #: The step waits for data; nothing is wrong.
    waiting: bool = False
    #: A chain has to be asked first.
    unasked: bool = False
    #: A check may prove that the step can be drafted after all.
    opens_by_check: bool = False

    @property
    def is_mistake(self) -> bool:
        """Return whether the diagram is at fault: it doesn't wait for data, and no chain has to be
        asked first."""
        return not self.waiting and self.code == InvalidRequest.code

    @property
    def code(self) -> str:
        """The error's code; `chain_unreachable` is no fault of the diagram."""
        return ChainUnreachable.code if self.unasked else self.error.code

    @property
    def sentence(self) -> str:
        return str(self.error)


@dataclass(frozen=True, kw_only=True)
class Node:
    """One box of the diagram."""

    id: str
    type: str
    #: `formData`; empty if the editor saved none.
    form: Mapping[str, Any]
    #: Index in the file.
    position: int
    raw: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Edge:
    """One arrow of the diagram."""

    id: str
    source: str
    target: str


@dataclass(frozen=True, kw_only=True)
class Diagram:
    """A diagram as the editor saved it, runnable or not."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    document: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name that its author gave it, in one line; empty if it has none."""
        name = self.document.get("name")
        return " ".join(name[: 4 * MAX_NAME].split())[:MAX_NAME] if isinstance(name, str) else ""

    @property
    def tags(self) -> tuple[str, ...]:
        """The words that its author sorts it by, each once; what is no tag is left out."""
        tags = self.document.get("tags")
        if not isinstance(tags, list):
            return ()
        return tuple(sorted({tag for tag in tags if is_tag(tag)})[:MAX_TAGS])

    @cached_property
    def acting(self) -> Acting | None:
        """Who acts for another account in all its transactions; None where signers act for
        themselves."""
        given = self.document.get(ACTING)
        return None if given is None else read_acting(given, field=ACTING)

    def acted_by(self, acting: Acting | None) -> "Diagram":
        """Return this diagram with another one acting, or nobody."""
        rest = {key: value for key, value in self.document.items() if key != ACTING}
        document = rest if acting is None else {ACTING: acting.write()} | rest
        return replace(self, document=document)

    def in_order(self) -> tuple[Node, ...]:
        """Return the nodes as the edges order them, ties by position in the file.

        InvalidRequest names the duplicated id, the edge that leads nowhere or the cycle.
        """
        nodes = self.nodes
        index = {node.id: node.position for node in nodes}
        try:
            pairs = [(index[edge.source], index[edge.target]) for edge in self.edges]
        except KeyError:
            raise self.problems()[0].error from None
        if len(index) != len(nodes):
            raise self.problems()[0].error
        order = sort_by_edges(len(nodes), pairs)
        if len(order) != len(nodes):
            raise self._cycle_error(find_cycle(len(nodes), pairs))
        return tuple([nodes[position] for position in order])

    def in_safe_order(self) -> tuple[Node, ...]:
        """Return the nodes in execution order; in the file's order if the edges allow none."""
        try:
            return self.in_order()
        except InvalidRequest:
            return self.nodes

    def problems(self) -> tuple[Problem, ...]:
        """Return the problems of the graph itself; empty if `in_order` works."""
        found = []
        index: dict[str, int] = {}
        duplicated = set()
        for node in self.nodes:
            if (
                index.setdefault(node.id, node.position) != node.position
                and node.id not in duplicated
            ):
                duplicated.add(node.id)
                error = InvalidRequest(f"the id {shorten(node.id)} is used by more than one node")
                found.append(Problem(node=node.id, error=error))
        pairs = []
        for edge in self.edges:
            source, target = index.get(edge.source), index.get(edge.target)
            if source is not None and target is not None:
                pairs.append((source, target))
                continue
            missing = edge.source if source is None else edge.target
            error = InvalidRequest(
                f"the edge from {shorten(edge.source)} to {shorten(edge.target)} "
                f"leads to a missing node: {shorten(missing)}"
            )
            found.append(Problem(node="", error=error))
        cycle = find_cycle(len(self.nodes), pairs)
        if cycle:
            found.append(Problem(node=self.nodes[cycle[0]].id, error=self._cycle_error(cycle)))
        return tuple(found)

    def nearest(
        self, node: Node, types: frozenset[str], *, upstream: bool, stop: frozenset[str]
    ) -> list[Node]:
        """Return the closest nodes of *types* along the edges, through all other nodes except those
        of *stop*."""
        links = self.incoming if upstream else self._outgoing
        found: dict[int, Node] = {}
        seen = {node.id}
        level = [node.id]
        while level and not found and len(seen) < _NEARBY:
            following = []
            for name in level:
                for neighbour in links.get(name, ())[:_NEARBY]:
                    if neighbour in seen:
                        continue
                    seen.add(neighbour)
                    reached = self._by_id.get(neighbour)
                    if reached is None:
                        continue
                    if reached.type in types:
                        found[reached.position] = reached
                    elif reached.type not in stop:
                        following.append(neighbour)
            level = following
        return [found[position] for position in sorted(found)]

    def with_neighbors(self, change: Callable[[Node, Node], Node]) -> "Diagram":
        """Return this diagram with *change*, called with a neighbor and the node that reads it, in
        `nearest`."""
        return _ChangedNeighbors(
            nodes=self.nodes, edges=self.edges, document=self.document, change=change
        )

    @cached_property
    def numbering(self) -> tuple[str, ...]:
        """Return the ids of the nodes as the web editor numbers them, from 1 on.

        It follows the first arrow that leaves each node, from the first node that no arrow enters.
        Nodes beside that path have no number.
        """
        entered = {edge.target for edge in self.edges}
        leaving: dict[str, Edge] = {}
        for edge in self.edges:
            leaving.setdefault(edge.source, edge)
        start = next((edge for edge in self.edges if edge.source not in entered), None)
        end = next((edge for edge in self.edges if edge.target not in leaving), None)
        if start is None or end is None:
            return ()
        path = {start.source: None}
        at = start
        while at is not end:
            following = leaving.get(at.target)
            if following is None:
                break
            if following.source in path:
                # A cycle: the editor would not terminate.
                return ()
            path[following.source] = None
            at = following
        return (*path, end.target)

    @cached_property
    def _by_id(self) -> dict[str, Node]:
        return {node.id: node for node in reversed(self.nodes)}

    @cached_property
    def incoming(self) -> Mapping[str, Sequence[str]]:
        """Node -> the nodes right before it, in the order of the edges."""
        return _group((edge.target, edge.source) for edge in self.edges)

    @cached_property
    def _outgoing(self) -> Mapping[str, Sequence[str]]:
        return _group((edge.source, edge.target) for edge in self.edges)

    def _cycle_error(self, cycle: Sequence[int]) -> InvalidRequest:
        names = [shorten(self.nodes[position].id) for position in [*cycle, cycle[0]]]
        if len(names) > _NAMED:
            names = [*names[: _NAMED - 2], "…", names[-1]]
        return InvalidRequest(f"the edges form a cycle: {' > '.join(names)}")


@dataclass(frozen=True, kw_only=True)
class _ChangedNeighbors(Diagram):
    change: Callable[[Node, Node], Node]

    def nearest(
        self, node: Node, types: frozenset[str], *, upstream: bool, stop: frozenset[str]
    ) -> list[Node]:
        found = super().nearest(node, types, upstream=upstream, stop=stop)
        return [self.change(near, node) for near in found]


def read_diagram(document: object, *, field: str = "diagram") -> Diagram:
    """Return the diagram in *document*, any `{nodes, edges}` of React Flow; one without forms is
    fine.

    InvalidRequest names the place that is malformed, TooLarge a diagram beyond the limits above.
    """
    if not isinstance(document, dict):
        raise InvalidRequest(
            field=field,
            problem=f"is {name_of(document)}",
            expected="an object with `nodes` and `edges`",
        )
    raw_nodes, raw_edges = (_list_in(document, key, field) for key in ("nodes", "edges"))
    for key, entries, limit in (("nodes", raw_nodes, MAX_NODES), ("edges", raw_edges, MAX_EDGES)):
        if len(entries) > limit:
            raise TooLarge(field=field, problem=f"has {len(entries)} {key}, the limit is {limit}")
    check_depth(document, field=field)
    nodes = [
        _read_node(raw, position, f"{field}.nodes[{position}]")
        for position, raw in enumerate(raw_nodes)
    ]
    edges = [
        _read_edge(raw, f"{field}.edges[{position}]") for position, raw in enumerate(raw_edges)
    ]
    return Diagram(nodes=tuple(nodes), edges=tuple(edges), document=document)


def _read_node(raw: object, position: int, place: str) -> Node:
    if not isinstance(raw, dict):
        raise _unexpected(place, raw, "an object")
    identifier, kind, form = raw.get("id"), raw.get("type"), raw.get("formData")
    if not isinstance(identifier, str) or not identifier:
        raise _unexpected(f"{place}.id", identifier, "text")
    if kind is None:
        kind = ""
    elif not isinstance(kind, str):
        raise _unexpected(f"{place}.type", kind, "text")
    if form is None:
        form = _NO_FORM
    elif not isinstance(form, dict):
        raise _unexpected(f"{place}.formData", form, "an object")
    elif kind == "chain" and _holds_more(form, MAX_CHAIN_VALUES):
        raise TooLarge(
            field=f"{place}.formData",
            problem=f"has more than {MAX_CHAIN_VALUES} values, the limit for a chain",
        )
    return Node(id=identifier, type=kind, form=form, position=position, raw=raw)


def _read_edge(raw: object, place: str) -> Edge:
    if not isinstance(raw, dict):
        raise _unexpected(place, raw, "an object")
    source, target, identifier = raw.get("source"), raw.get("target"), raw.get("id")
    if not isinstance(source, str) or not source:
        raise _unexpected(f"{place}.source", source, "the id of a node")
    if not isinstance(target, str) or not target:
        raise _unexpected(f"{place}.target", target, "the id of a node")
    return Edge(id=identifier if isinstance(identifier, str) else "", source=source, target=target)


def is_tag(value: object) -> bool:
    """Return whether *value* is a word that a scenario can be sorted by."""
    return (
        isinstance(value, str)
        and 0 < len(value) <= MAX_TAG
        and value.isprintable()
        and not any(letter == "," or letter.isspace() for letter in value)
        and not value.startswith("-")
    )


def read_name(value: object, *, field: str) -> str:
    """Return *value*, a name; empty for none."""
    if not isinstance(value, str):
        raise InvalidRequest(field=field, problem=f"is {name_of(value)}", expected="text")
    if len(value) > MAX_NAME:
        raise InvalidRequest(
            field=field,
            problem=f"is {len(value)} characters long",
            expected=f"at most {MAX_NAME} characters",
        )
    return value


def read_tags(value: object, *, field: str) -> list[str]:
    """Return a list of tags, sorted, each once."""
    if not isinstance(value, (list, tuple)):
        raise InvalidRequest(field=field, problem=f"is {name_of(value)}", expected="a list of tags")
    for tag in value:
        if not is_tag(tag):
            raise InvalidRequest(
                field=field,
                value=tag,
                problem="is not a tag",
                expected=(
                    f"a word of at most {MAX_TAG} characters without spaces and commas, and "
                    "without - in front"
                ),
            )
    if len(set(value)) > MAX_TAGS:
        raise InvalidRequest(
            field=field, problem=f"has {len(set(value))} tags", expected=f"at most {MAX_TAGS}"
        )
    return sorted(set(value))


def label_document(
    document: Mapping[str, Any], *, name: str, tags: Sequence[str]
) -> dict[str, Any]:
    """Return *document* with this name and these tags, each left out if it is empty."""
    labels: dict[str, Any] = {"name": name, "tags": list(tags)}
    rest = {key: value for key, value in document.items() if key not in labels}
    return {key: value for key, value in labels.items() if value} | rest


def _holds_more(value: Any, most: int) -> bool:
    """Return whether *value* contains more than *most* values, at any depth."""
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        most -= len(inner)
        if most < 0:
            return True
        waiting += [
            child
            for child in (inner.values() if type(inner) is dict else inner)
            if type(child) is dict or type(child) is list
        ]
    return False


def _group(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name, member in pairs:
        groups.setdefault(name, []).append(member)
    return groups


def check_depth(document: object, *, field: str) -> None:
    """Refuse a document so deep that writing it could exhaust the stack."""
    level: list[Any] = [document]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for value in level
            for child in (value.values() if type(value) is dict else value)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return
    raise InvalidRequest(field=field, problem=f"nests deeper than {MAX_DEPTH} levels")


def sort_by_edges(count: int, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Return 0…count-1 so that every pair's first comes before its second, ties by number.

    What lies on a cycle, or behind one, is missing from the answer.
    """
    waiting = [0] * count
    following: list[list[int]] = [[] for _ in range(count)]
    for source, target in pairs:
        waiting[target] += 1
        following[source].append(target)
    ready = [number for number in range(count) if not waiting[number]]
    order = []
    while ready:
        number = heapq.heappop(ready)
        order.append(number)
        for target in following[number]:
            waiting[target] -= 1
            if not waiting[target]:
                heapq.heappush(ready, target)
    return order


def find_cycle(count: int, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Return the numbers on one cycle, in its direction from its smallest on; empty if there is
    none."""
    free = set(sort_by_edges(count, pairs))
    if len(free) == count:
        return []
    before = {
        target: source
        for source, target in reversed(pairs)
        if source not in free and target not in free
    }
    # Every unsorted node has an unsorted one before it, so walking back closes the cycle.
    at = min(before)
    steps: dict[int, int] = {}
    while at not in steps:
        steps[at] = len(steps)
        at = before[at]
    cycle = [number for number, step in steps.items() if step >= steps[at]][::-1]
    start = cycle.index(min(cycle))
    return cycle[start:] + cycle[:start]


def _list_in(document: dict[str, Any], key: str, field: str) -> list[Any]:
    if key not in document:
        raise InvalidRequest(
            field=field, problem=f"has no `{key}`", expected="an object with `nodes` and `edges`"
        )
    entries = document[key]
    if not isinstance(entries, list):
        raise _unexpected(f"{field}.{key}", entries, "a list")
    return entries


def _unexpected(place: str, value: object, expected: str) -> InvalidRequest:
    if value is None or value == "":
        return InvalidRequest(field=place, problem="is missing", expected=expected)
    return InvalidRequest(field=place, problem=f"is {name_of(value)}", expected=expected)
