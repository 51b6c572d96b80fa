"""Where cards stand and edges go: nothing overlaps, chains cross nothing, the same diagram looks
the same."""

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from scenarioctl.render.layout import (
    COLUMN,
    ROW,
    Box,
    Layout,
    Point,
    Size,
    Way,
    lay_out,
)

CARD = Size(width=236, height=120)

Edges = list[tuple[int, int]]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, Edges]:
    """Draw any graph at all: circles, loops, parallel edges, loose parts."""
    count = draw(st.integers(1, 24))
    card = st.integers(0, count - 1)
    return count, draw(st.lists(st.tuples(card, card), max_size=40))


def chain(count: int) -> Edges:
    return list(pairwise(range(count)))


def overlaps(boxes: Sequence[Box], gap: float = 0) -> list[tuple[Box, Box]]:
    return [
        (one, other)
        for one, other in combinations(boxes, 2)
        if one.x < other.right + gap
        and other.x < one.right + gap
        and one.y < other.bottom + gap
        and other.y < one.bottom + gap
    ]


def points_of(leg: Way) -> list[Point]:
    """Return points along a leg, close enough to tell what it passes."""
    if not leg.curved:
        return list(leg.points)
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = leg.points
    found = []
    for step in range(17):
        t = step / 16
        a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
        found.append((a * x0 + b * x1 + c * x2 + d * x3, a * y0 + b * y1 + c * y2 + d * y3))
    return found


def pieces(layout: Layout, number: int) -> Iterator[tuple[Point, Point]]:
    yield from pairwise(points_of(layout.ways[number]))


def run_through_cards(layout: Layout, edges: Edges) -> list[tuple[int, int]]:
    """Return which edges pass over which cards."""
    found = []
    for number in range(len(edges)):
        for start, end in pieces(layout, number):
            low_x, high_x = sorted((start[0], end[0]))
            low_y, high_y = sorted((start[1], end[1]))
            for card, box in enumerate(layout.boxes):
                if (
                    low_x < box.right - 0.5
                    and high_x > box.x + 0.5
                    and low_y < box.bottom - 0.5
                    and high_y > box.y + 0.5
                ):
                    found.append((number, card))
    return found


@given(data=st.data(), graph=graphs())
@settings(max_examples=60, deadline=None)
def test_no_two_cards_overlap_and_no_edge_runs_over_a_card(
    data: st.DataObject, graph: tuple[int, Edges]
) -> None:
    count, edges = graph
    heights = data.draw(st.lists(st.integers(3, 300), min_size=count, max_size=count))
    sizes = [Size(width=236, height=height) for height in heights]

    layout = lay_out(sizes, edges)

    assert len(layout.boxes) == count
    assert len(layout.ways) == len(edges)
    assert not overlaps(layout.boxes, ROW - 1)
    assert all(box.x >= 0 and box.y >= 0 for box in layout.boxes)
    assert all(box.right <= layout.width and box.bottom <= layout.height for box in layout.boxes)
    assert not run_through_cards(layout, edges)
    assert lay_out(sizes, edges) == layout


@given(graph=graphs())
@settings(max_examples=60, deadline=None)
def test_every_way_leads_from_its_source_to_its_target(graph: tuple[int, Edges]) -> None:
    count, edges = graph

    layout = lay_out([CARD] * count, edges)

    for (source, target), way in zip(edges, layout.ways, strict=True):
        start, end = layout.boxes[source], layout.boxes[target]
        assert way.points[0] == (start.right, start.port)
        assert way.points[-1] == (end.x, end.port)


def test_forty_cards_stay_large_enough_to_read() -> None:
    layout = lay_out([CARD] * 40, chain(40))

    # Letters of 12 pixels at half their size can still be read.
    assert layout.width < 2 * 4096
    assert 1 < layout.width / layout.height < 4


def test_what_starts_late_stands_right_before_what_needs_it() -> None:
    layout = lay_out([CARD] * 5, [(0, 1), (1, 2), (2, 3), (4, 3)])

    assert layout.boxes[4].x == layout.boxes[2].x


def test_a_label_gets_the_room_it_wants() -> None:
    layout = lay_out([CARD] * 3, chain(3), [150, 0])

    assert layout.boxes[1].x - layout.boxes[0].right == 150
    assert lay_out([CARD] * 2, chain(2)).boxes[1].x - CARD.width == COLUMN


def test_a_hostile_graph_is_laid_out_too() -> None:
    everything = [(a, b) for a in range(55) for b in range(55)][:3000]
    far = [(0, card) for card in range(1, 600)] + chain(600)

    for count, edges in ((55, everything), (600, far)):
        layout = lay_out([CARD] * count, edges)

        assert not overlaps(layout.boxes)
        # Lines that nobody can follow take no room of their own.
        assert max(layout.width, layout.height) < 100_000
