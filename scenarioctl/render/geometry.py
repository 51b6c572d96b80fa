"""Cards and edges on a plane: what a layout is made of."""

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
