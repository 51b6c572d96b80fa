"""A layout of cards and edges that depends on nothing but their sizes: the same for pictures and for text.

Cards stand in columns from left to right, one further with each edge; a graph with many columns is broken into
bands below each other, as text is into lines.  `layered_graph.py`
finds the order of the cards, `edge_routing.py` leads the edges between them.
"""

from collections.abc import Sequence
from math import sqrt

from scenarioctl.render.edge_routing import RoutedGraph
from scenarioctl.render.geometry import Box, EdgePiece, Layout, Size, Spacing


def lay_out(
    sizes: Sequence[Size],
    edges: Sequence[tuple[int, int]],
    spacing: Spacing,
    gaps: Sequence[float] = (),
) -> Layout:
    """Return a layout of cards of these *sizes* with *edges* between them, by their numbers.

    *gaps* has the room that each edge needs between its columns, for its label.
    """
    gaps = gaps or [0.0] * len(edges)
    parts = [
        RoutedGraph(sizes, edges, gaps, cards, between, spacing)
        for cards, between in _split(len(sizes), edges)
    ]
    width = _shelf_width(parts, spacing)
    boxes: list[Box | None] = [None] * len(sizes)
    ways: list[tuple[EdgePiece, ...]] = [()] * len(edges)
    x = y = shelf = right = 0.0
    for part in parts:
        if x and x + part.width > width:
            x, y, shelf = 0.0, y + shelf + spacing.band, 0.0
        part.move_to(x, y, boxes, ways)
        right = max(right, x + part.width)
        x += part.width + spacing.column
        shelf = max(shelf, part.height)
    placed = tuple(box for box in boxes if box is not None)
    return Layout(boxes=placed, ways=tuple(ways), width=right, height=y + shelf)


def _split(count: int, edges: Sequence[tuple[int, int]]) -> list[tuple[list[int], list[int]]]:
    """Return the connected components, each as the numbers of its cards and edges."""
    root = list(range(count))

    def find(number: int) -> int:
        while root[number] != number:
            root[number] = root[root[number]]
            number = root[number]
        return number

    for source, target in edges:
        low, high = sorted((find(source), find(target)))
        root[high] = low
    parts: dict[int, tuple[list[int], list[int]]] = {}
    for number in range(count):
        parts.setdefault(find(number), ([], []))[0].append(number)
    for number, (source, _) in enumerate(edges):
        parts[find(source)][1].append(number)
    return list(parts.values())


def _shelf_width(parts: Sequence[RoutedGraph], spacing: Spacing) -> float:
    if spacing.most:
        return spacing.most
    area = sum((part.width + spacing.column) * (part.height + spacing.band) for part in parts)
    return max([sqrt(area * spacing.shape), *(part.width for part in parts)])
