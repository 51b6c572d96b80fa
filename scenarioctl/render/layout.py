"""Where cards stand and edges go: a layout that depends on nothing but sizes.

Cards stand in columns from left to right, each in the column of its longest path from a start; a
graph with many columns is broken into bands below each other, as text is into lines.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from math import ceil, sqrt
from operator import itemgetter
from typing import NamedTuple, TypeVar

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
    #: Between a card and the first such line on its right, and on its left, where the arrow needs
    #: room.
    leave: float
    arrive: float
    #: Preferred width to height.
    shape: float = 1.7
    #: Columns that stay in one band.
    columns: int = 6


def curve(start: Point, end: Point) -> EdgePiece:
    (x, y), (to_x, to_y) = start, end
    bow = (to_x - x) / 2
    return EdgePiece(points=(start, (x + bow, y), (to_x - bow, to_y), end), curved=True)


def number_text(value: float) -> str:
    """Return a coordinate, alike in every locale and on every machine."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


_Item = TypeVar("_Item", bound=Hashable)

#: Parallel lines side by side; further ones share a lane.
_MOST_LANES = 40


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
        _Part(sizes, edges, gaps, spacing, cards, between)
        for cards, between in _split(len(sizes), edges)
    ]
    area = sum((part.width + spacing.column) * (part.height + spacing.band) for part in parts)
    shelf_width = max([sqrt(area * spacing.shape), *(part.width for part in parts)])
    boxes: dict[int, Box] = {}
    ways: dict[int, tuple[EdgePiece, ...]] = {}
    x = y = shelf = right = 0.0
    for part in parts:
        if x and x + part.width > shelf_width:
            x, y, shelf = 0.0, y + shelf + spacing.band, 0.0
        part.move_to(x, y, boxes, ways)
        right = max(right, x + part.width)
        x += part.width + spacing.column
        shelf = max(shelf, part.height)
    return Layout(
        boxes=tuple(boxes[card] for card in range(len(sizes))),
        ways=tuple(ways[number] for number in range(len(edges))),
        width=right,
        height=y + shelf,
    )


def _split(count: int, edges: Sequence[tuple[int, int]]) -> list[tuple[list[int], list[int]]]:
    """Return the connected components, each as the numbers of its cards and edges."""
    beside: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        beside[source].append(target)
        beside[target].append(source)
    part = [-1] * count
    parts: list[tuple[list[int], list[int]]] = []
    for start in range(count):
        reached = [start] if part[start] < 0 else []
        if reached:
            parts.append(([], []))
        while reached:
            card = reached.pop()
            if part[card] < 0:
                part[card] = len(parts) - 1
                reached.extend(beside[card])
        parts[part[start]][0].append(start)
    for number, (source, _) in enumerate(edges):
        parts[part[source]][1].append(number)
    return parts


class _Part:
    """A connected graph: its cards in columns, the columns in bands below each other.

    An edge between neighboring columns of a band is direct.  Every other one goes around: down the
    gutter behind its source, along the corridor below the band, and through the gutter before its
    target.
    """

    def __init__(
        self,
        sizes: Sequence[Size],
        edges: Sequence[tuple[int, int]],
        gaps: Sequence[float],
        spacing: Spacing,
        cards: list[int],
        between: list[int],
    ) -> None:
        self.sizes, self.spacing = sizes, spacing
        self.edges = {number: edges[number] for number in between}
        #: Card -> how far below its upper edge its edges arrive and leave.
        self.above = {card: sizes[card].height / 2 for card in cards}
        self.column = self._assign_columns(cards)
        self.columns: list[list[int]] = [[] for _ in range(max(self.column.values()) + 1)]
        for card in cards:
            self.columns[self.column[card]].append(card)
        self.widths = [max(sizes[card].width for card in column) for column in self.columns]
        self.line = self._find_lines()
        #: Column -> the room that a label needs behind it.
        self.rooms = [spacing.column] * len(self.columns)
        for number, (source, target) in self.edges.items():
            if self.column[target] == self.column[source] + 1:
                self.rooms[self.column[source]] = max(self.rooms[self.column[source]], gaps[number])
        self.bands = self._break_into_bands()
        self.band = {
            card: b for b, band in enumerate(self.bands) for c in band for card in self.columns[c]
        }
        self._assign_lanes()
        self._measure()

    def _assign_columns(self, cards: list[int]) -> dict[int, int]:
        """Return the column of each card: behind all that lead to it, but for edges back to an
        earlier card."""
        following: dict[int, list[int]] = {card: [] for card in cards}
        for source, target in self.edges.values():
            if source != target:
                following[source].append(target)
        entering = Counter(target for targets in following.values() for target in targets)
        waiting = Counter(entering)
        column = dict.fromkeys(cards, 0)
        ahead: dict[int, list[int]] = {}
        left = set(cards)
        while left:
            # A cycle is cut where it is entered.
            card = min(
                left, key=lambda each: (waiting[each] > 0, waiting[each] == entering[each], each)
            )
            left.remove(card)
            ahead[card] = [target for target in following[card] if target in left]
            for target in ahead[card]:
                waiting[target] -= 1
                column[target] = max(column[target], column[card] + 1)
        for card in cards:
            # Place a source right before its first target, not at the far left.
            if ahead[card] and waiting[card] == entering[card]:
                column[card] = max(column[card], min(column[target] for target in ahead[card]) - 1)
        return column

    def _find_lines(self) -> dict[int, float]:
        """Return the height of each card's edges: as close to its neighbors as there is room, in
        their order."""
        sides: list[dict[int, list[int]]] = [{card: [] for card in self.column} for _ in range(2)]
        for source, target in dict.fromkeys(self.edges.values()):
            if self.column[target] == self.column[source] + 1:
                sides[0][target].append(source)
                sides[1][source].append(target)
        line = {card: float(place) for column in self.columns for place, card in enumerate(column)}
        for side, columns in ((0, self.columns), (1, self.columns[::-1]), (0, self.columns)):
            for column in columns:
                for card in column:
                    near = sides[side][card]
                    if near:
                        line[card] = sum(line[other] for other in near) / len(near)
                column.sort(key=line.__getitem__)
                self._spread(column, line)
        return line

    def _spread(self, column: Sequence[int], line: dict[int, float]) -> None:
        """Move the cards of a column apart, as little as that needs by least squares."""
        # Less the distances, this is isotonic regression (pool adjacent violators).
        step, steps = 0.0, []
        blocks: list[tuple[float, int]] = []
        for place, card in enumerate(column):
            if place:
                upper = column[place - 1]
                step += (
                    self.sizes[upper].height
                    - self.above[upper]
                    + self.spacing.row
                    + self.above[card]
                )
            steps.append(step)
            value, size = line[card] - step, 1
            while blocks and blocks[-1][0] > value:
                other, others = blocks.pop()
                value = (value * size + other * others) / (size + others)
                size += others
            blocks.append((value, size))
        places = [round(value) for value, size in blocks for _ in range(size)]
        for card, place, step in zip(column, places, steps, strict=True):
            line[card] = place + step

    def _break_into_bands(self) -> list[range]:
        spacing, count = self.spacing, len(self.columns)
        per_row = count
        if count > spacing.columns:
            pitch = max(self.widths) + spacing.column
            height = max(
                sum(self.sizes[card].height + spacing.row for card in each) for each in self.columns
            )
            # Each band break adds a corridor for the edges that it cuts.
            height += spacing.band + spacing.corridor * max(map(len, self.columns))
            per_row = min(
                (ceil(count / rows) for rows in range(1, count + 1)),
                key=lambda each: max(each * pitch / spacing.shape, ceil(count / each) * height),
            )
        return [range(start, min(start + per_row, count)) for start in range(0, count, per_row)]

    def _is_direct(self, source: int, target: int) -> bool:
        return (
            self.column[target] == self.column[source] + 1
            and self.band[target] == self.band[source]
        )

    def _gutter_before(self, card: int) -> int:
        """Return the number of the gutter before a card; each band has one more than columns."""
        return self.column[card] + self.band[card]

    def _gutter_behind(self, card: int) -> int:
        return self._gutter_before(card) + 1

    def _assign_lanes(self) -> None:
        """Give vertical lines a lane in their gutter, one for each card, and horizontal lines one
        below their band."""
        sources: set[int] = set()
        targets: set[int] = set()
        runs: list[tuple[int, int]] = []
        self.margin: dict[int, int] = {}
        for number, (source, target) in self.edges.items():
            if self._is_direct(source, target):
                continue
            sources.add(source)
            targets.add(target)
            first, last = self.band[source], self.band[target]
            runs.append((number, first))
            if last not in (first, first + 1):
                runs.append((number, last))
                self.margin[number] = len(self.margin) % _MOST_LANES
        # In these orders lines don't cross: the lowest turns down first.
        self.leave, self.leaving = _assign(
            sorted(sources, key=lambda card: -self.line[card]), self._gutter_behind
        )
        self.arrive, self.arriving = _assign(
            sorted(targets, key=self.line.__getitem__), self._gutter_before
        )
        self.along, self.corridors = _assign(sorted(runs, key=self._nesting), itemgetter(1))

    def _nesting(self, run: tuple[int, int]) -> tuple[float, ...]:
        source, target = self.edges[run[0]]
        start, end = (
            self.column[card] - self.bands[self.band[card]].start for card in (source, target)
        )
        below = self.band[target] != self.band[source]
        return (below, abs(start - end), -self.line[source], -self.line[target])

    def _measure(self) -> None:
        """Find the gutters' edges, the columns' left edges and the bands' upper edges."""
        spacing = self.spacing
        margin = max(self.margin.values(), default=-1) + 1
        first = max(self.arriving[band.start + number] for number, band in enumerate(self.bands))
        left = margin * spacing.lane + (
            spacing.arrive + first * spacing.lane if first or margin else 0
        )
        #: Column -> its left edge; gutter -> its left and right edges; band -> its upper edge, and
        #: that of its corridor.
        self.x: list[float] = []
        self.gutters: list[tuple[float, float]] = []
        self.tops: list[float] = []
        self.floors: list[float] = []
        self.width = self.height = 0.0
        for number, band in enumerate(self.bands):
            x = left
            self.gutters.append((0.0, x))
            for column in band:
                self.x.append(x)
                x += self.widths[column]
                gutter, is_last = len(self.gutters), column + 1 == band.stop
                used = (self.leaving[gutter] + self.arriving[gutter]) * spacing.lane
                if used:
                    used += spacing.leave + (0 if is_last else spacing.arrive)
                room = used if is_last else max(used, self.rooms[column])
                self.gutters.append((x, x + room))
                x += room
            self.width = max(self.width, x)
            cards = [card for column in band for card in self.columns[column]]
            top = min(self.line[card] - self.above[card] for card in cards)
            self.tops.append(self.height - top)
            self.height += (
                max(self.line[card] - self.above[card] + self.sizes[card].height for card in cards)
                - top
            )
            is_last = number + 1 == len(self.bands)
            self.floors.append(self.height + (0 if is_last else spacing.band / 2))
            self.height += self.corridors[number] * spacing.corridor + (
                0 if is_last else spacing.band
            )

    def move_to(
        self, x: float, y: float, boxes: dict[int, Box], ways: dict[int, tuple[EdgePiece, ...]]
    ) -> None:
        """Write the boxes and ways of this part, moved by (x, y), into the whole layout."""
        for card, column in self.column.items():
            line = y + self.tops[self.band[card]] + self.line[card]
            width, height = self.sizes[card]
            boxes[card] = Box(
                x=x + self.x[column],
                y=line - self.above[card],
                width=width,
                height=height,
                port=line,
            )
        for number, (source, target) in self.edges.items():
            start, end = boxes[source], boxes[target]
            begin, finish = (start.right, start.port), (end.x, end.port)
            if self._is_direct(source, target):
                ways[number] = (curve(begin, finish),)
                continue
            corners = self._corners(number, x, y, begin[1], finish[1])
            ways[number] = (EdgePiece(points=(begin, *corners, finish)),)

    def _corners(self, number: int, x: float, y: float, begin: float, finish: float) -> list[Point]:
        spacing = self.spacing
        source, target = self.edges[number]
        leave = (
            self.gutters[self._gutter_behind(source)][0]
            + spacing.leave
            + self.leave[source] * spacing.lane
        )
        down = x + leave
        right = self.gutters[self._gutter_before(target)][1]
        up = x + right - spacing.arrive - self.arrive[target] * spacing.lane
        along = y + self._height_of(number, self.band[source])
        corners = [(down, begin), (down, along)]
        if number in self.margin:
            margin = x + self.margin[number] * spacing.lane
            corners += [(margin, along)]
            along = y + self._height_of(number, self.band[target])
            corners += [(margin, along)]
        return [*corners, (up, along), (up, finish)]

    def _height_of(self, number: int, band: int) -> float:
        lane = self.along[number, band] + 0.5
        return self.floors[band] + lane * self.spacing.corridor


def _assign(
    items: Iterable[_Item], place: Callable[[_Item], int]
) -> tuple[dict[_Item, int], Counter[int]]:
    """Return a lane for each item at its place, and how many lanes each place has."""
    lanes: dict[_Item, int] = {}
    used: Counter[int] = Counter()
    for number, item in enumerate(items):
        lane = lanes[item] = (
            used[place(item)] if used[place(item)] < _MOST_LANES else number % _MOST_LANES
        )
        used[place(item)] = max(used[place(item)], lane + 1)
    return lanes, used
