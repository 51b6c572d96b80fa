"""A layout of cards and edges that depends on nothing but their sizes: the same for pictures and for text.

Cards stand in columns from left to right, one further with each edge; a graph with many columns is broken into
bands below each other, as text is into lines.  `layered_graph.py` finds the order of the cards, and leads the edges between
them.  A diagram of the web editor keeps its cards where they are there.
"""

from collections.abc import Sequence
from math import isfinite, sqrt

from scenarioctl.render.geometry import Box, EdgePiece, Layout, Point, Size, Spacing, curve, moved, shifted
from scenarioctl.render.layered_graph import RoutedGraph


def keep_positions(
    sizes: Sequence[Size],
    middles: Sequence[Point | None],
    edges: Sequence[tuple[int, int]],
    *,
    gap: float,
    align: float,
    gaps: Sequence[float] = (),
) -> Layout | None:
    """Return a layout with the cards at *middles*; None if they would overlap or be far apart.

    What stands nearly in a row, by less than *align*, is put in a row: hands are not that exact.  Where an edge
    needs more room than it has, by *gaps*, all that stands further right moves.
    """
    known = [middle for middle in middles if middle is not None and all(map(isfinite, middle))]
    if not known or len(known) != len(sizes):
        return None
    for rows in (_align(known, align), [y for _, y in known]):
        boxes = _stand(sizes, known, rows)
        if not _any_overlap(boxes, gap):
            break
    else:
        return None
    boxes = _make_room(boxes, edges, gaps)
    width, height = max(box.right for box in boxes), max(box.bottom for box in boxes)
    filled = sum((box.width + 2 * gap) * (box.height + 2 * gap) for box in boxes)
    if width * height > max(12 * filled, 1e6):
        return None
    ways = tuple(_connect(boxes[source], boxes[target]) for source, target in edges)
    # A backward curve reaches beyond the cards.
    points = [(0.0, 0.0), (width, height), *(point for way in ways for leg in way for point in leg.points)]
    low_x, low_y = min(x for x, _ in points), min(y for _, y in points)
    width = max(x for x, _ in points) - low_x
    height = max(y for _, y in points) - low_y
    return Layout(
        boxes=tuple(moved(box, -low_x, -low_y) for box in boxes),
        ways=tuple(tuple(shifted(leg, -low_x, -low_y) for leg in way) for way in ways),
        width=width,
        height=height,
    )


def _stand(sizes: Sequence[Size], middles: Sequence[Point], rows: Sequence[float]) -> list[Box]:
    boxes = [
        Box(
            x=round(x - size.width / 2),
            y=round(y - size.height / 2),
            width=size.width,
            height=size.height,
            port=round(y),
        )
        for size, (x, _), y in zip(sizes, middles, rows, strict=True)
    ]
    left, top = min(box.x for box in boxes), min(box.y for box in boxes)
    return [moved(box, -left, -top) for box in boxes]


def _align(middles: Sequence[Point], align: float) -> list[float]:
    order = sorted(range(len(middles)), key=lambda number: middles[number][1])
    rows: list[list[int]] = []
    for number in order:
        if rows and middles[number][1] - middles[rows[-1][-1]][1] < align:
            rows[-1].append(number)
        else:
            rows.append([number])
    lines = [0.0] * len(middles)
    for row in rows:
        middle = sum(middles[number][1] for number in row) / len(row)
        for number in row:
            lines[number] = middle
    return lines


def _make_room(boxes: Sequence[Box], edges: Sequence[tuple[int, int]], gaps: Sequence[float]) -> list[Box]:
    x = [box.x for box in boxes]
    order = sorted(zip(edges, gaps, strict=False), key=lambda each: boxes[each[0][1]].x)
    for (source, target), room in order:
        lacking = room - (x[target] - x[source] - boxes[source].width)
        if 0 < lacking < room - 20:
            edge = x[target]
            x = [at + lacking if at >= edge else at for at in x]
    return [moved(box, round(at - box.x), 0) for box, at in zip(boxes, x, strict=True)]


def _any_overlap(boxes: Sequence[Box], gap: float) -> bool:
    """Return whether two boxes are closer than *gap*, by a sweep from left to right."""
    order = sorted(boxes, key=lambda box: box.x)
    open_: list[Box] = []
    for box in order:
        open_ = [other for other in open_ if other.right + gap > box.x]
        if any(box.overlaps(other, gap) for other in open_):
            return True
        open_.append(box)
    return False


def _connect(source: Box, target: Box) -> tuple[EdgePiece, ...]:
    """Return the curve between two cards at any positions."""
    start, end = (source.right, source.port), (target.x, target.port)
    if source is not target and target.x < source.right + 20:
        middle, below = source.x + source.width / 2, target.x + target.width / 2
        if target.y > source.bottom + 16:
            return (curve((middle, source.bottom), (below, target.y), upright=True),)
        if source.y > target.bottom + 16:
            return (curve((middle, source.y), (below, target.bottom), upright=True),)
    return (curve(start, end),)


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
