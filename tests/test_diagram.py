"""Reading diagrams, and the order in which their nodes run."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarioctl.errors import InvalidRequest, ScenarioctlError, TooLarge
from scenarioctl.model.diagram import (
    MAX_DEPTH,
    MAX_EDGES,
    MAX_NODES,
    Diagram,
    find_cycle,
    read_diagram,
    sort_by_edges,
)
from tests.messages import Says, says


def diagram_of(ids: str, edges: str) -> Diagram:
    """Return a diagram with one node per letter, and an edge per pair: `ab bc`."""
    return read_diagram(
        {
            "nodes": [{"id": letter, "type": "chain"} for letter in ids],
            "edges": [{"source": pair[0], "target": pair[1]} for pair in edges.split()],
        }
    )


def names(diagram: Diagram) -> str:
    return "".join(node.id for node in diagram.in_order())


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


def test_the_document_is_kept_as_it_came() -> None:
    document = {
        "nodes": [{"id": "a", "type": "chain", "formData": None, "selected": True}],
        "edges": [],
        "viewport": {"zoom": 0.5},
    }

    diagram = read_diagram(document)

    assert diagram.document is document
    assert diagram.nodes[0].form == {}
    assert diagram.nodes[0].raw is document["nodes"][0]  # type: ignore[index]


def test_an_empty_diagram_is_well_formed() -> None:
    diagram = read_diagram({"nodes": [], "edges": []})

    assert (diagram.in_order(), diagram.problems()) == ((), ())


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        (None, says("diagram", "null")),
        ([], says("diagram", "list")),
        ("x", says("diagram", "x")),
        ({"edges": []}, says("diagram", "nodes")),
        ({"nodes": []}, says("diagram", "edges")),
        ({"nodes": {}, "edges": []}, says("diagram.nodes", "object")),
        ({"nodes": None, "edges": []}, says("diagram.nodes", "missing")),
        ({"nodes": [], "edges": True}, says("diagram.edges", "true")),
        ({"nodes": [1], "edges": []}, says("diagram.nodes[0]", "1")),
        ({"nodes": [{}], "edges": []}, says("diagram.nodes[0].id", "missing")),
        ({"nodes": [{"id": ""}], "edges": []}, says("diagram.nodes[0].id", "missing")),
        ({"nodes": [{"id": 7}], "edges": []}, says("diagram.nodes[0].id", "7")),
        ({"nodes": [{"id": "a", "type": 5}], "edges": []}, says("diagram.nodes[0].type", "5")),
        (
            {"nodes": [{"id": "a"}, {"id": "b", "formData": []}], "edges": []},
            says("diagram.nodes[1].formData", "list"),
        ),
        ({"nodes": [], "edges": [None]}, says("diagram.edges[0]", "missing")),
        ({"nodes": [], "edges": [{}]}, says("diagram.edges[0].source", "missing")),
        (
            {"nodes": [], "edges": [{"source": "a", "target": 1}]},
            says("diagram.edges[0].target", "1"),
        ),
        ({"nodes": [], "edges": [], "x": nested(MAX_DEPTH)}, says("deeper", "100")),
    ],
)
def test_what_is_malformed_is_refused_by_its_place(document: object, sentence: Says) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_diagram(document)

    assert str(refused.value) == sentence


def test_nesting_up_to_the_limit_is_read() -> None:
    diagram = read_diagram({"nodes": [], "edges": [], "x": nested(MAX_DEPTH - 1)})

    assert diagram.nodes == ()


@pytest.mark.parametrize(("key", "limit"), [("nodes", MAX_NODES), ("edges", MAX_EDGES)])
def test_more_entries_than_the_limit_are_too_large(key: str, limit: int) -> None:
    with pytest.raises(TooLarge) as refused:
        read_diagram({"nodes": [], "edges": [], key: [{}] * (limit + 1)})

    assert str(refused.value) == says(limit + 1, key, limit)


def test_the_largest_diagram_is_ordered() -> None:
    ids = [f"n{number}" for number in range(MAX_NODES)]
    edges = [{"source": ids[n + 1], "target": ids[n]} for n in range(MAX_NODES - 1)]
    diagram = read_diagram({"nodes": [{"id": name} for name in ids], "edges": edges})

    assert [node.id for node in diagram.in_order()] == ids[::-1]


@pytest.mark.parametrize(
    ("ids", "edges", "order"),
    [
        ("abc", "", "abc"),
        ("abc", "cb ba", "cba"),
        # The two routes are not mixed where the file does not mix them.
        ("abcdef", "ab bc de ef", "abcdef"),
        ("abc", "ac bc", "abc"),
        ("cab", "ac bc", "abc"),
        ("ab", "ba ba", "ba"),
    ],
)
def test_nodes_run_in_the_order_of_the_edges(ids: str, edges: str, order: str) -> None:
    assert names(diagram_of(ids, edges)) == order


@pytest.mark.parametrize(
    ("ids", "edges", "sentence"),
    [
        ("aba", "ab", says("id", "a")),
        ("ab", "ax", says("a", "x")),
        ("ab", "xa", says("x", "a")),
        ("ab", "aa", says("edges", "a")),
        ("xbca", "xb ca ab bc", says("a", "c", "b")),
    ],
)
def test_a_broken_graph_has_no_order_but_a_sentence(ids: str, edges: str, sentence: Says) -> None:
    diagram = diagram_of(ids, edges)

    with pytest.raises(InvalidRequest) as refused:
        diagram.in_order()

    assert str(refused.value) == sentence
    assert [problem.sentence for problem in diagram.problems()] == [sentence]
    assert "".join(node.id for node in diagram.in_safe_order()) == ids


def test_all_problems_of_a_graph_are_listed() -> None:
    diagram = diagram_of("aabbc", "ax cc")

    assert [(problem.node, problem.sentence) for problem in diagram.problems()] == [
        ("a", "the id 'a' is used by more than one node"),
        ("b", "the id 'b' is used by more than one node"),
        ("", "the edge from 'a' to 'x' leads to a missing node: 'x'"),
        ("c", "the edges form a cycle: 'c' > 'c'"),
    ]


def test_the_nearest_node_of_a_type_is_found_through_others() -> None:
    document = {
        "nodes": [
            {"id": "far", "type": "chain"},
            {"id": "near", "type": "chain"},
            {"id": "delay", "type": "delay"},
            {"id": "action", "type": "action"},
        ],
        "edges": [
            {"source": "far", "target": "near"},
            {"source": "near", "target": "delay"},
            {"source": "delay", "target": "action"},
            {"source": "lost", "target": "action"},
        ],
    }
    diagram = read_diagram(document)

    found = diagram.nearest(
        diagram.nodes[3], frozenset({"chain"}), upstream=True, stop=frozenset({"action"})
    )

    assert [node.id for node in found] == ["near"]


graphs = st.integers(1, 12).flatmap(
    lambda count: st.tuples(
        st.just(count),
        st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=30),
    )
)


@settings(deadline=None)
@given(graphs)
def test_what_cannot_be_ordered_has_a_cycle_that_is_one(
    graph: tuple[int, list[tuple[int, int]]],
) -> None:
    count, pairs = graph
    cycle = find_cycle(count, pairs)

    assert bool(cycle) == (len(sort_by_edges(count, pairs)) < count)
    assert len(set(cycle)) == len(cycle)
    assert all(step in pairs for step in zip(cycle, cycle[1:] + cycle[:1], strict=True))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["nodes", "edges", "id", "type", "formData", "source", "target", "x"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@settings(deadline=None)
@given(
    json_values
    | st.fixed_dictionaries({"nodes": st.lists(json_values), "edges": st.lists(json_values)})
)
def test_any_json_is_a_diagram_or_a_sentence(document: Any) -> None:
    try:
        diagram = read_diagram(document)
    except ScenarioctlError as refused:
        assert str(refused).startswith("diagram")
        return

    assert diagram.document is document
    assert len(diagram.in_safe_order()) == len(diagram.nodes)


@pytest.mark.parametrize(
    ("edges", "numbering"),
    [
        ("", ""),
        ("ba", "ba"),
        # Whatever order the edges stand in.
        ("cb ac bd", "acbd"),
        # The first arrow is followed, what lies beside its path has no number.
        ("ab bc bd", "abc"),
        ("ac bc cd", "acd"),
        ("ab cd", "ab"),
        # Nowhere to begin, and nowhere to end.
        ("ab ba", ""),
        ("ab bc cd db", ""),
        ("ab bc cb cd", ""),
    ],
)
def test_nodes_are_numbered_as_the_web_editor_does(edges: str, numbering: str) -> None:
    assert "".join(diagram_of("abcd", edges).numbering) == numbering
