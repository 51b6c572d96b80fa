"""Where the cards of a diagram stand, and which way its edges go: the same for pictures and for text.

Cards stand in columns from left to right, one further with each edge; a graph with many columns is broken into
bands below each other, as text is into lines.  All of it depends on nothing but sizes and edges, so that the
same diagram always gives the same picture.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import ceil, isfinite, sqrt
from typing import NamedTuple

from scenarioctl.model.diagram import sort_by_edges

Point = tuple[float, float]

#: Beyond so many helpers for long edges, those that are left go around the columns in place of through them.
_MOST_DUMMIES = 3000
#: So many lines run beside each other; further ones share theirs.  Where that many do, nobody follows one any more.
_MOST_LANES = 40
#: Sweeps that look for an order with fewer crossings; further ones hardly find any.
_SWEEPS = 12
#: Swapping neighbours one by one is worth its time up to so many places.
_SWAPPED = 400


class Size(NamedTuple):
    """How much room a card takes."""

    width: float
    height: float


class Box(NamedTuple):
    """Where a card stands: its upper left corner, and its size."""

    x: float
    y: float
    width: float
    height: float
    #: Where edges arrive on the left and leave on the right.
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


class Leg(NamedTuple):
    """A piece of an edge's way: straight lines with corners, or one cubic curve of four points."""

    points: tuple[Point, ...]
    curved: bool = False


class Layout(NamedTuple):
    """All cards and all edges, in the order they were given."""

    boxes: tuple[Box, ...]
    ways: tuple[tuple[Leg, ...], ...]
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
    #: Width to height of a picture that is looked at with pleasure; not used where `most` is.
    shape: float = 1.7
    #: Up to so many columns nothing is broken into bands.
    columns: int = 6
    #: The widest a band may be; 0 leaves it to `shape`.
    most: float = 0
    #: Edges have corners only, and everything stands on whole numbers.
    square: bool = False


def lay_out(
    sizes: Sequence[Size],
    edges: Sequence[tuple[int, int]],
    spacing: Spacing,
    gaps: Sequence[float] = (),
) -> Layout:
    """Return a layout of cards of these *sizes* with *edges* between them, by their numbers.

    *gaps* has the room that each edge wants between its columns, for its label.
    """
    gaps = gaps or [0.0] * len(edges)
    parts = [
        _Part(sizes, edges, gaps, cards, between, spacing) for cards, between in _split(len(sizes), edges)
    ]
    width = _shelf_width(parts, spacing)
    boxes: list[Box | None] = [None] * len(sizes)
    ways: list[tuple[Leg, ...]] = [()] * len(edges)
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


def keep_positions(
    sizes: Sequence[Size],
    middles: Sequence[Point | None],
    edges: Sequence[tuple[int, int]],
    *,
    gap: float,
    align: float,
    gaps: Sequence[float] = (),
) -> Layout | None:
    """Return the layout with cards where *middles* puts them; None where they would overlap or lie far apart.

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
    # A curve that goes back reaches beyond the cards.
    low_x = min([0.0, *(x for way in ways for leg in way for x, _ in leg.points)])
    low_y = min([0.0, *(y for way in ways for leg in way for _, y in leg.points)])
    width = max([width, *(x for way in ways for leg in way for x, _ in leg.points)]) - low_x
    height = max([height, *(y for way in ways for leg in way for _, y in leg.points)]) - low_y
    return Layout(
        boxes=tuple(_moved(box, -low_x, -low_y) for box in boxes),
        ways=tuple(tuple(_shifted(leg, -low_x, -low_y) for leg in way) for way in ways),
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
    return [_moved(box, -left, -top) for box in boxes]


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
    return [_moved(box, round(at - box.x), 0) for box, at in zip(boxes, x, strict=True)]


def _any_overlap(boxes: Sequence[Box], gap: float) -> bool:
    """Tell whether two boxes come closer than *gap*: each is held against those that start beside it."""
    order = sorted(boxes, key=lambda box: box.x)
    open_: list[Box] = []
    for box in order:
        open_ = [other for other in open_ if other.right + gap > box.x]
        if any(box.overlaps(other, gap) for other in open_):
            return True
        open_.append(box)
    return False


def _connect(source: Box, target: Box) -> tuple[Leg, ...]:
    """Return the curve between two cards that stand anywhere."""
    start, end = (source.right, source.port), (target.x, target.port)
    if source is not target and target.x < source.right + 20:
        middle, below = source.x + source.width / 2, target.x + target.width / 2
        if target.y > source.bottom + 16:
            return (_curve((middle, source.bottom), (below, target.y), upright=True),)
        if source.y > target.bottom + 16:
            return (_curve((middle, source.y), (below, target.bottom), upright=True),)
    return (_curve(start, end),)


def _curve(start: Point, end: Point, *, upright: bool = False) -> Leg:
    (x, y), (to_x, to_y) = start, end
    if upright:
        bow = (to_y - y) / 2
        return Leg(points=(start, (x, y + bow), (to_x, to_y - bow), end), curved=True)
    bow = (to_x - x) / 2 if to_x > x else 60 + (x - to_x) / 4
    if to_x <= x and abs(to_y - y) < 60:
        # Around the card, where a straight line back would hide behind it.
        return Leg(points=(start, (x + bow, y + 120), (to_x - bow, to_y + 120), end), curved=True)
    return Leg(points=(start, (x + bow, y), (to_x - bow, to_y), end), curved=True)


def _moved(box: Box, x: float, y: float) -> Box:
    return Box(x=box.x + x, y=box.y + y, width=box.width, height=box.height, port=box.port + y)


def _shifted(leg: Leg, x: float, y: float) -> Leg:
    return Leg(points=tuple((a + x, b + y) for a, b in leg.points), curved=leg.curved)


def _split(count: int, edges: Sequence[tuple[int, int]]) -> list[tuple[list[int], list[int]]]:
    """Return the parts that no edge joins, each the numbers of its cards and of its edges."""
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


def _shelf_width(parts: Sequence["_Part"], spacing: Spacing) -> float:
    if spacing.most:
        return spacing.most
    area = sum((part.width + spacing.column) * (part.height + spacing.band) for part in parts)
    return max([sqrt(area * spacing.shape), *(part.width for part in parts)])


class _Lanes:
    """The lines that run upright in one gutter: those that leave a card on its left side, and those that arrive."""

    def __init__(self) -> None:
        self.leaving = 0
        self.arriving = 0
        #: The room that labels want.
        self.room = 0.0
        self.left = 0.0
        self.right = 0.0


class _Turn:
    """An edge's way that leaves its columns: down a gutter, along below a band, and up or down another gutter."""

    def __init__(self, *, start: int, end: int, first: int, last: int) -> None:
        self.start = start
        self.end = end
        #: Below which bands it runs: the first, and where it has to climb along the margin, the last.
        self.first = first
        self.last = last
        self.leave = 0
        self.arrive = 0
        self.lane = 0
        self.last_lane = 0
        self.margin = -1


class _Edge:
    def __init__(self, number: int) -> None:
        self.number = number
        #: Every vertex from the source to the target, one per column; empty for one that goes around.
        self.through: list[int] = []
        self.around: _Turn | None = None
        self.wraps: dict[int, _Turn] = {}


class _Part:
    """One connected part of a graph: its vertices are its cards, then the helpers that lead long edges."""

    def __init__(
        self,
        sizes: Sequence[Size],
        edges: Sequence[tuple[int, int]],
        gaps: Sequence[float],
        cards: list[int],
        between: list[int],
        spacing: Spacing,
    ) -> None:
        self.cards = cards
        self.spacing = spacing
        self.gaps = gaps
        index = {card: number for number, card in enumerate(cards)}
        self.pairs = [(number, index[edges[number][0]], index[edges[number][1]]) for number in between]
        self.sizes = [sizes[card] for card in cards]
        forward = self._find_forward()
        self.column = self._assign_columns(forward)
        self.edges = self._lead_through(forward)
        self.columns = self._fill_columns()
        self._reduce_crossings()
        self.bands = self._break_into_bands()
        self.band_of = [0] * len(self.sizes)
        for band, columns in enumerate(self.bands):
            for column in columns:
                for vertex in self.columns[column]:
                    self.band_of[vertex] = band
        self.line = self._find_lines()
        self.width = self.height = 0.0
        self._find_turns()
        self._measure()

    def _find_forward(self) -> list[tuple[int, int, int]]:
        """Return the edges without those that would close a circle."""
        following: list[list[tuple[int, int]]] = [[] for _ in self.cards]
        entered = [0] * len(self.cards)
        for number, source, target in self.pairs:
            if source != target:
                following[source].append((number, target))
                entered[target] += 1
        state = bytearray(len(self.cards))
        back: set[int] = set()
        # From where nothing leads to first, so that a circle is cut where it is entered.
        for start in sorted(range(len(self.cards)), key=lambda card: (entered[card] > 0, card)):
            if state[start]:
                continue
            state[start] = 1
            stack = [(start, iter(following[start]))]
            while stack:
                card, rest = stack[-1]
                step = next(rest, None)
                if step is None:
                    state[card] = 2
                    stack.pop()
                elif state[step[1]] == 1:
                    back.add(step[0])
                elif not state[step[1]]:
                    state[step[1]] = 1
                    stack.append((step[1], iter(following[step[1]])))
        return [pair for pair in self.pairs if pair[0] not in back and pair[1] != pair[2]]

    def _assign_columns(self, forward: list[tuple[int, int, int]]) -> list[int]:
        count = len(self.cards)
        pairs = [(source, target) for _, source, target in forward]
        following: list[list[int]] = [[] for _ in range(count)]
        preceded = [False] * count
        for source, target in pairs:
            following[source].append(target)
            preceded[target] = True
        column = [0] * count
        for card in sort_by_edges(count, pairs):
            for target in following[card]:
                column[target] = max(column[target], column[card] + 1)
        for card in range(count):
            # What starts late stands right before what needs it, not at the far left.
            if following[card] and not preceded[card]:
                column[card] = min(column[target] for target in following[card]) - 1
        return column

    def _lead_through(self, forward: list[tuple[int, int, int]]) -> list[_Edge]:
        """Give long edges a place in every column that they pass."""
        ahead = {number for number, _, _ in forward}
        found = []
        for number, source, target in self.pairs:
            edge = _Edge(number=number)
            found.append(edge)
            span = self.column[target] - self.column[source]
            if number not in ahead or len(self.sizes) - len(self.cards) + span > _MOST_DUMMIES:
                edge.around = _Turn(start=source, end=target, first=0, last=0)
                continue
            edge.through = [source]
            for column in range(self.column[source] + 1, self.column[target]):
                edge.through.append(len(self.sizes))
                self.sizes.append(Size(width=0, height=0))
                self.column.append(column)
            edge.through.append(target)
        return found

    def _fill_columns(self) -> list[list[int]]:
        self.before: list[list[int]] = [[] for _ in self.sizes]
        self.after: list[list[int]] = [[] for _ in self.sizes]
        for edge in self.edges:
            for source, target in pairwise(edge.through):
                if target not in self.after[source]:
                    self.after[source].append(target)
                    self.before[target].append(source)
        columns: list[list[int]] = [[] for _ in range(max(self.column) + 1)]
        seen = bytearray(len(self.sizes))
        # In the order of a walk, a tree has no crossing from the start.
        for start in sorted(range(len(self.sizes)), key=lambda vertex: (bool(self.before[vertex]), vertex)):
            stack = [start]
            while stack:
                vertex = stack.pop()
                if seen[vertex]:
                    continue
                seen[vertex] = 1
                columns[self.column[vertex]].append(vertex)
                stack.extend(reversed(self.after[vertex]))
        return columns

    def _reduce_crossings(self) -> None:
        best, fewest = [list(column) for column in self.columns], self._count_crossings()
        small = len(self.sizes) <= _SWAPPED
        for sweep in range(_SWEEPS if len(self.sizes) < 2000 else 4):
            if not fewest:
                break
            down = sweep % 2 == 0
            links = self.before if down else self.after
            order = range(1, len(self.columns)) if down else range(len(self.columns) - 2, -1, -1)
            place = self._places()
            for number in order:
                column = self.columns[number]
                weight = {
                    vertex: sum(place[other] for other in links[vertex]) / len(links[vertex])
                    if links[vertex]
                    else float(place[vertex])
                    for vertex in column
                }
                column.sort(key=weight.__getitem__)
                for position, vertex in enumerate(column):
                    place[vertex] = position
            if small:
                self._swap_neighbours()
            crossings = self._count_crossings()
            if crossings < fewest:
                best, fewest = [list(column) for column in self.columns], crossings
        self.columns = best

    def _swap_neighbours(self) -> None:
        place = self._places()
        for column in self.columns:
            for at in range(len(column) - 1):
                upper, lower = column[at], column[at + 1]
                now = next_ = 0
                for links in (self.before, self.after):
                    for one in links[upper]:
                        for other in links[lower]:
                            now += place[one] > place[other]
                            next_ += place[one] < place[other]
                if next_ < now:
                    column[at], column[at + 1] = lower, upper
                    place[upper], place[lower] = at + 1, at

    def _places(self) -> list[int]:
        place = [0] * len(self.sizes)
        for column in self.columns:
            for position, vertex in enumerate(column):
                place[vertex] = position
        return place

    def _count_crossings(self) -> int:
        place = self._places()
        crossings = 0
        for column in self.columns[:-1]:
            ends: list[int] = []
            for vertex in column:
                targets = sorted(place[target] for target in self.after[vertex])
                crossings += sum(len(ends) - bisect_left(ends, target + 1) for target in targets)
                for target in targets:
                    insort(ends, target)
        return crossings

    def _break_into_bands(self) -> list[list[int]]:
        spacing = self.spacing
        count = len(self.columns)
        widths = [max(self.sizes[vertex].width for vertex in column) for column in self.columns]
        if spacing.most:
            return _fill_lines(widths, self._gutter_rooms(), spacing)
        if count <= spacing.columns:
            return [list(range(count))]
        pitch = max(widths) + spacing.column
        height = max(
            sum(self.sizes[vertex].height + spacing.row for vertex in column) for column in self.columns
        )
        # Each cut takes a corridor with the edges that it cuts.
        cut = spacing.band + spacing.corridor * max(len(column) for column in self.columns)

        def badness(rows: int) -> float:
            per_row = ceil(count / rows)
            return max(per_row * pitch / spacing.shape, rows * (height + cut))

        rows = min(range(1, count + 1), key=badness)
        per_row = ceil(count / rows)
        return [list(range(start, min(start + per_row, count))) for start in range(0, count, per_row)]

    def _gutter_rooms(self) -> list[float]:
        """Return about how wide each gutter between two columns will be."""
        spacing = self.spacing
        rooms = [spacing.column] * len(self.columns)
        for edge in self.edges:
            for source, _ in pairwise(edge.through):
                behind = self.column[source]
                rooms[behind] = max(rooms[behind], self.gaps[edge.number])
        for number, column in enumerate(self.columns):
            rooms[number] = max(
                rooms[number], spacing.leave + spacing.arrive + spacing.lane * (len(column) + 1)
            )
        return rooms

    def _find_lines(self) -> list[float]:
        """Return the height of each vertex's line, by band: as near to its neighbours' as there is room."""
        spacing = self.spacing
        line = [0.0] * len(self.sizes)
        above = [self._anchor(size) for size in self.sizes]
        below = [size.height - anchor for size, anchor in zip(self.sizes, above, strict=True)]
        steps: list[list[float]] = []
        for members in self.columns:
            distances = [0.0]
            for upper, lower in pairwise(members):
                distances.append(distances[-1] + below[upper] + spacing.row + above[lower])
            steps.append(distances)
            middle = distances[-1] / 2
            for vertex, distance in zip(members, distances, strict=True):
                line[vertex] = distance - middle
        for columns in self.bands:
            for sweep in range(12):
                for number in columns if sweep % 2 == 0 else columns[::-1]:
                    sides = (
                        (self.before, self.after) if sweep > 5 else ((self.before, self.after)[sweep % 2],)
                    )
                    self._settle(number, line, steps[number], sides)
            for _ in range(2):
                for number in columns:
                    self._straighten(number, line, steps[number])
            self._round(columns, line, above, below)
            top = min(line[v] - above[v] for number in columns for v in self.columns[number])
            for number in columns:
                for vertex in self.columns[number]:
                    line[vertex] -= top
        return line

    def _settle(
        self, number: int, line: list[float], steps: Sequence[float], sides: Sequence[list[list[int]]]
    ) -> None:
        """Move the vertices of a column towards the middle of those that they are joined to."""
        wanted, weights = [], []
        for vertex in self.columns[number]:
            near = [
                line[other]
                for side in sides
                for other in side[vertex]
                if self.band_of[other] == self.band_of[vertex]
            ]
            wanted.append(sum(near) / len(near) if near else line[vertex])
            # Long edges are straight before cards stand in the middle.
            weights.append((8.0 if vertex >= len(self.cards) else 1.0) if near else 0.1)
        for vertex, value in zip(self.columns[number], _spread(wanted, steps, weights), strict=True):
            line[vertex] = value

    def _straighten(self, number: int, line: list[float], steps: Sequence[float]) -> None:
        """Put what only follows one vertex, and alone does so, on that one's line."""
        wanted, weights = [], []
        for vertex in self.columns[number]:
            before = self.before[vertex]
            alone = (
                len(before) == 1
                and len(self.after[before[0]]) == 1
                and self.band_of[before[0]] == self.band_of[vertex]
            )
            wanted.append(line[before[0]] if alone else line[vertex])
            weights.append(8.0 if alone else 1.0)
        for vertex, value in zip(self.columns[number], _spread(wanted, steps, weights), strict=True):
            line[vertex] = value

    def _round(self, columns: list[int], line: list[float], above: list[float], below: list[float]) -> None:
        for number in columns:
            column = self.columns[number]
            for position, vertex in enumerate(column):
                line[vertex] = float(round(line[vertex]))
                if position:
                    upper = column[position - 1]
                    least = line[upper] + below[upper] + self.spacing.row + above[vertex]
                    line[vertex] = max(line[vertex], least)

    def _anchor(self, size: Size) -> float:
        return size.height // 2 if self.spacing.square else size.height / 2

    def _find_turns(self) -> None:
        """Give a lane to everything that runs up or down between columns, or along below a band."""
        self.gutters: dict[tuple[int, int], _Lanes] = {
            (band, place): _Lanes()
            for band, columns in enumerate(self.bands)
            for place in range(len(columns) + 1)
        }
        self.corridors = [0] * len(self.bands)
        self.margin = 0
        #: Edges so far that go around.
        self.around = 0
        #: Column -> its place in its band.
        self.place = {column: place for columns in self.bands for place, column in enumerate(columns)}
        wraps: dict[int, list[_Turn]] = {}
        legs: dict[tuple[int, int], dict[int, list[int]]] = {}
        for edge in self.edges:
            for source, target in pairwise(edge.through):
                if self.band_of[source] == self.band_of[target]:
                    gutter = self._gutter(target, arriving=True)
                    legs.setdefault(gutter, {}).setdefault(source, []).append(target)
                    lanes = self.gutters[gutter]
                    lanes.room = max(lanes.room, self.gaps[edge.number])
                    continue
                turn = _Turn(start=source, end=target, first=self.band_of[source], last=self.band_of[source])
                edge.wraps[source] = turn
                wraps.setdefault(turn.first, []).append(turn)
        self.direct: dict[int, int] = {}
        if self.spacing.square:
            self._give_direct_lanes(legs)
        for band, turns in wraps.items():
            self._give_wrap_lanes(band, turns)
        for edge in self.edges:
            if edge.around is not None:
                self._give_way_around(edge.around)

    def _give_direct_lanes(self, legs: dict[tuple[int, int], dict[int, list[int]]]) -> None:
        """Give each source whose lines are not straight one lane: the upper ones that go down get the outer ones."""
        for gutter, sources in legs.items():
            bent = {
                source: max(targets, key=lambda target: abs(self.line[target] - self.line[source]))
                for source, targets in sources.items()
                if any(self.line[target] != self.line[source] for target in targets)
            }
            down = sorted(
                (s for s, t in bent.items() if self.line[t] > self.line[s]), key=lambda s: -self.line[s]
            )
            up = sorted(
                (s for s, t in bent.items() if self.line[t] < self.line[s]), key=lambda s: self.line[s]
            )
            for source in (*down, *up):
                lanes = self.gutters[gutter]
                self.direct[source] = _shared(lanes.leaving)
                lanes.leaving = min(_MOST_LANES, lanes.leaving + 1)

    def _give_wrap_lanes(self, band: int, turns: list[_Turn]) -> None:
        """Nest what goes on in the next band, so that it crosses nothing of its kind."""
        sources = sorted({turn.start for turn in turns}, key=lambda vertex: self.line[vertex])
        targets = sorted({turn.end for turn in turns}, key=lambda vertex: self.line[vertex])
        leaving = self.gutters[self._gutter(sources[0], arriving=False)]
        arriving = self.gutters[self._gutter(targets[0], arriving=True)]
        ordered = sorted(turns, key=lambda turn: (self.line[turn.start], -self.line[turn.end]))
        for number, turn in enumerate(ordered):
            turn.leave = _shared(leaving.leaving + len(sources) - 1 - sources.index(turn.start))
            turn.arrive = _shared(arriving.arriving + targets.index(turn.end))
            turn.lane = turn.last_lane = _shared(self.corridors[band] + len(ordered) - 1 - number)
        leaving.leaving = min(_MOST_LANES, leaving.leaving + len(sources))
        arriving.arriving = min(_MOST_LANES, arriving.arriving + len(targets))
        self.corridors[band] = min(_MOST_LANES, self.corridors[band] + len(ordered))

    def _give_way_around(self, turn: _Turn) -> None:
        turn.first, turn.last = self.band_of[turn.start], self.band_of[turn.end]
        leaving = self.gutters[self._gutter(turn.start, arriving=False)]
        arriving = self.gutters[self._gutter(turn.end, arriving=True)]
        self.around += 1
        turn.leave = self._next_lane(leaving.leaving)
        turn.arrive = self._next_lane(arriving.arriving)
        leaving.leaving = max(leaving.leaving, turn.leave + 1)
        arriving.arriving = max(arriving.arriving, turn.arrive + 1)
        turn.lane = turn.last_lane = self._next_lane(self.corridors[turn.first])
        self.corridors[turn.first] = max(self.corridors[turn.first], turn.lane + 1)
        if turn.first != turn.last:
            turn.last_lane = self._next_lane(self.corridors[turn.last])
            self.corridors[turn.last] = max(self.corridors[turn.last], turn.last_lane + 1)
            turn.margin = self._next_lane(self.margin)
            self.margin = max(self.margin, turn.margin + 1)

    def _next_lane(self, used: int) -> int:
        """Return a free lane; where there is none, one after the other."""
        return used if used < _MOST_LANES else self.around % _MOST_LANES

    def _gutter(self, vertex: int, *, arriving: bool) -> tuple[int, int]:
        """Return the gutter that lines arrive at *vertex* from, or leave it to."""
        return self.band_of[vertex], self.place[self.column[vertex]] + (0 if arriving else 1)

    def _measure(self) -> None:
        """Turn lanes into distances."""
        spacing = self.spacing
        first = max((self.gutters[band, 0].arriving for band in range(len(self.bands))), default=0)
        self.left = self.margin * spacing.lane + (
            spacing.arrive + first * spacing.lane if first or self.margin else 0
        )
        self.x = [0.0] * len(self.columns)
        self.top: list[float] = []
        y = 0.0
        for band, columns in enumerate(self.bands):
            x = self.left
            self.gutters[band, 0].right = x
            for place, column in enumerate(columns):
                self.x[column] = x
                x += max(self.sizes[vertex].width for vertex in self.columns[column])
                lanes = self.gutters[band, place + 1]
                lanes.left = x
                last = place + 1 == len(columns)
                used = (lanes.leaving + lanes.arriving) * spacing.lane
                if used:
                    used += spacing.leave + (0 if last else spacing.arrive)
                x += used if last else max(used, spacing.column, lanes.room)
                lanes.right = x
            self.width = max(self.width, x)
            vertices = [vertex for column in columns for vertex in self.columns[column]]
            self.top.append(y)
            y += max(
                self.line[vertex] + self.sizes[vertex].height - self._anchor(self.sizes[vertex])
                for vertex in vertices
            )
            y += self._corridor_height(band)
        self.height = y

    def _corridor_height(self, band: int) -> float:
        spacing = self.spacing
        lines = self.corridors[band] * spacing.corridor
        if band + 1 < len(self.bands):
            return spacing.band + lines
        return lines

    def move_to(self, x: float, y: float, boxes: list[Box | None], ways: list[tuple[Leg, ...]]) -> None:
        """Put the cards and edges of this part into the whole, at this place."""
        placed = [self._box(vertex, x, y) for vertex in range(len(self.sizes))]
        for card, box in zip(self.cards, placed, strict=False):
            boxes[card] = box
        for edge in self.edges:
            ways[edge.number] = tuple(self._way(edge, placed, x, y))

    def _box(self, vertex: int, x: float, y: float) -> Box:
        size = self.sizes[vertex]
        column = self.column[vertex]
        width = size.width
        if vertex >= len(self.cards):
            width = max(self.sizes[other].width for other in self.columns[column])
        line = y + self.top[self.band_of[vertex]] + self.line[vertex]
        return Box(
            x=x + self.x[column], y=line - self._anchor(size), width=width, height=size.height, port=line
        )

    def _way(self, edge: _Edge, placed: list[Box], x: float, y: float) -> Iterable[Leg]:
        if edge.around is not None:
            yield self._turn(edge.around, placed, x, y)
        for source, target in pairwise(edge.through):
            start, end = placed[source], placed[target]
            if source >= len(self.cards):
                yield Leg(points=((start.x, start.port), (start.right, start.port)))
            turn = edge.wraps.get(source)
            if turn is not None:
                yield self._turn(turn, placed, x, y)
                continue
            # A card that is narrower than its column's widest leaves a gap that the line has to bridge.
            begin, finish = (start.right, start.port), (end.x, end.port)
            if not self.spacing.square:
                yield _curve(begin, finish)
            elif begin[1] == finish[1]:
                yield Leg(points=(begin, finish))
            else:
                lanes = self.gutters[self._gutter(source, arriving=False)]
                lane = x + lanes.left + self.spacing.leave + self.direct[source] * self.spacing.lane
                yield Leg(points=(begin, (lane, begin[1]), (lane, finish[1]), finish))

    def _turn(self, turn: _Turn, placed: list[Box], x: float, y: float) -> Leg:
        spacing = self.spacing
        start, end = placed[turn.start], placed[turn.end]
        leaving = self.gutters[self._gutter(turn.start, arriving=False)]
        arriving = self.gutters[self._gutter(turn.end, arriving=True)]
        down = x + leaving.left + spacing.leave + turn.leave * spacing.lane
        up = x + arriving.right - spacing.arrive - turn.arrive * spacing.lane
        along = y + self._corridor(turn.first, turn.lane)
        points = [(start.right, start.port), (down, start.port), (down, along)]
        if turn.margin >= 0:
            margin = x + turn.margin * spacing.lane
            back = y + self._corridor(turn.last, turn.last_lane)
            points += [(margin, along), (margin, back), (up, back)]
        else:
            points += [(up, along)]
        points += [(up, end.port), (end.x, end.port)]
        return Leg(points=tuple(points))

    def _corridor(self, band: int, lane: int) -> float:
        spacing = self.spacing
        bottom = self.top[band + 1] if band + 1 < len(self.bands) else self.height
        above = spacing.band / 2 if band + 1 < len(self.bands) else 0
        return (
            bottom
            - self._corridor_height(band)
            + above
            + (lane + (0.5 if not spacing.square else 0)) * spacing.corridor
        )


def _shared(lane: int) -> int:
    return lane % _MOST_LANES


def _fill_lines(widths: Sequence[float], rooms: Sequence[float], spacing: Spacing) -> list[list[int]]:
    """Break columns of these *widths*, with this much room behind each, into bands of at most `spacing.most`."""
    bands: list[list[int]] = []
    used = 0.0
    for number, width in enumerate(widths):
        room = rooms[number - 1] if bands and bands[-1] else 0.0
        if bands and used + room + width <= spacing.most:
            bands[-1].append(number)
            used += room + width
        else:
            bands.append([number])
            used = width
    return bands


def _spread(wanted: Sequence[float], steps: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return places that keep at least the distances of *steps* and are, by least squares, nearest to *wanted*."""
    # Without the distances it is an isotonic regression: what would overtake its neighbour moves with it.
    blocks: list[tuple[float, float, int]] = []
    for want, step, weight in zip(wanted, steps, weights, strict=True):
        value, mass, size = want - step, weight, 1
        while blocks and blocks[-1][0] > value:
            other, other_mass, other_size = blocks.pop()
            value = (value * mass + other * other_mass) / (mass + other_mass)
            mass += other_mass
            size += other_size
        blocks.append((value, mass, size))
    places = [value for value, _, size in blocks for _ in range(size)]
    return [place + step for place, step in zip(places, steps, strict=True)]
