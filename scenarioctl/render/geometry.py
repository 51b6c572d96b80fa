"""Cards and edges on a plane, what a layout is made of, and edges as paths of an SVG."""

from collections.abc import Sequence
from math import dist, hypot
from typing import NamedTuple

Point = tuple[float, float]


class Size(NamedTuple):
    """The size of a card."""

    width: float
    height: float


class Box(NamedTuple):
    """The position (upper left corner) and size of a card."""

    x: float
    y: float
    width: float
    height: float
    #: Height at which edges arrive on the left and leave on the right.
    port: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    def overlaps(self, other: "Box", gap: float = 0) -> bool:
        return (
            self.x < other.right + gap
            and other.x < self.right + gap
            and self.y < other.bottom + gap
            and other.y < self.bottom + gap
        )


class EdgePiece(NamedTuple):
    """A piece of an edge: straight lines with corners, or one cubic curve of four points."""

    points: tuple[Point, ...]
    curved: bool = False


class Layout(NamedTuple):
    """All cards and all edges, in the order they were given."""

    boxes: tuple[Box, ...]
    ways: tuple[tuple[EdgePiece, ...], ...]
    width: float
    height: float


class Spacing(NamedTuple):
    """The distances of one kind of drawing."""

    #: Between columns, at least.
    column: float
    #: Between cards of a column.
    row: float
    #: Between bands, and between parts that no edge joins.
    band: float
    #: Between lines that run beside each other between columns, and below a band.
    lane: float
    corridor: float
    #: Between a card and the first such line on its right, and on its left, where the arrow needs room.
    leave: float
    arrive: float
    #: Preferred width to height; unused if `most` is set.
    shape: float = 1.7
    #: Columns that stay in one band.
    columns: int = 6
    #: The widest band; 0: `shape` decides.
    most: float = 0
    #: Edges have corners only, and all coordinates are whole numbers.
    square: bool = False


def curve(start: Point, end: Point, *, upright: bool = False) -> EdgePiece:
    (x, y), (to_x, to_y) = start, end
    if upright:
        bow = (to_y - y) / 2
        return EdgePiece(points=(start, (x, y + bow), (to_x, to_y - bow), end), curved=True)
    bow = (to_x - x) / 2 if to_x > x else 60 + (x - to_x) / 4
    if to_x <= x and abs(to_y - y) < 60:
        # Around the card, which would hide a straight line back.
        return EdgePiece(points=(start, (x + bow, y + 120), (to_x - bow, to_y + 120), end), curved=True)
    return EdgePiece(points=(start, (x + bow, y), (to_x - bow, to_y), end), curved=True)


def moved(box: Box, x: float, y: float) -> Box:
    return box._replace(x=box.x + x, y=box.y + y, port=box.port + y)


def shifted(leg: EdgePiece, x: float, y: float) -> EdgePiece:
    return EdgePiece(points=tuple((a + x, b + y) for a, b in leg.points), curved=leg.curved)


def number_text(value: float) -> str:
    """Return a coordinate, alike in every locale and on every machine."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


def direction(start: Point, end: Point) -> Point:
    """Return the direction from *start* to *end*, one long."""
    x, y = end[0] - start[0], end[1] - start[1]
    length = hypot(x, y) or 1.0
    return x / length, y / length


def arrowhead(tip: Point, towards: Point) -> str:
    """Return the path of an arrowhead."""
    (x, y), (dx, dy) = tip, towards
    # Its tip stays off the card by half of the line's width.
    x, y = x - dx, y - dy
    back_x, back_y = x - 8 * dx, y - 8 * dy
    return (
        f"M{number_text(x)} {number_text(y)}L{number_text(back_x - 4 * dy)} {number_text(back_y + 4 * dx)}"
        f"L{number_text(back_x + 4 * dy)} {number_text(back_y - 4 * dx)}Z"
    )


def edge_path(way: Sequence[EdgePiece], towards: Point) -> str:
    """Return an edge's line, which ends in its arrowhead and not at its tip."""
    parts = [f"M{_at(way[0].points[0])}"]
    for number, leg in enumerate(way):
        points = list(leg.points)
        if number == len(way) - 1:
            x, y = points[-1]
            points[-1] = (x - 7 * towards[0], y - 7 * towards[1])
        if leg.curved:
            if points[0][1] == points[1][1] == points[2][1] == points[3][1]:
                parts.append(f"H{number_text(points[3][0])}")
            else:
                parts.append("C" + " ".join(_at(point) for point in points[1:]))
            continue
        for before, corner, after in zip(points, points[1:], points[2:], strict=False):
            parts.append(_rounded(before, corner, after))
        parts.append(f"L{_at(points[-1])}")
    return "".join(parts)


def _rounded(before: Point, corner: Point, after: Point) -> str:
    radius = min(10.0, dist(before, corner) / 2, dist(corner, after) / 2)
    (in_x, in_y), (out_x, out_y) = direction(corner, before), direction(corner, after)
    start = (corner[0] + in_x * radius, corner[1] + in_y * radius)
    end = (corner[0] + out_x * radius, corner[1] + out_y * radius)
    return f"L{_at(start)}Q{_at(corner)} {_at(end)}"


def _at(point: Point) -> str:
    return f"{number_text(point[0])} {number_text(point[1])}"


def label_place(way: Sequence[EdgePiece]) -> tuple[Point, float]:
    """Return where an edge's label stands, and how much room is there."""
    leg = way[0]
    if leg.curved:
        (x0, y0), (x1, y1), (x2, y2), (x3, y3) = leg.points
        middle = ((x0 + 3 * x1 + 3 * x2 + x3) / 8, (y0 + 3 * y1 + 3 * y2 + y3) / 8)
        upright = x0 == x1 != x3 or (x0 == x3 and y0 != y3)
        return middle, 400.0 if upright else abs(x3 - x0)
    segments = list(zip(leg.points, leg.points[1:], strict=False))
    (x0, y0), (x1, y1) = max(segments, key=lambda ends: abs(ends[0][0] - ends[1][0]))
    return ((x0 + x1) / 2, (y0 + y1) / 2), abs(x1 - x0)
