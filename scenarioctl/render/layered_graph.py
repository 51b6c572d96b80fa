"""A graph in columns: which column each card is in, in which order, at which height, and the way of each edge.

This is the layered drawing of Sugiyama, Tagawa and Toda (1981): circles are cut, cards get the column behind all that
lead to them, long edges get helpers in the columns that they pass, sweeps by barycenter reduce crossings, and heights
are found by weighted least squares.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import ceil
from typing import Any, NamedTuple

from scenarioctl.model.diagram import sort_by_edges
from scenarioctl.render.geometry import Box, EdgePiece, Size, Spacing, curve

#: The most helpers for long edges; further edges go around the columns.
_MOST_DUMMIES = 3000
#: Sweeps to reduce crossings; more hardly help.
_SWEEPS = 12
#: Up to this many vertices, neighbors are also swapped one by one.
_SWAPPED = 400


class GraphEdge(NamedTuple):
    """An edge, by its number among all edges, and its vertices from source to target, one per column."""

    number: int
    source: int
    target: int
    #: Empty for an edge that goes around the columns.
    through: list[int]


class LayeredGraph:
    """A connected graph in columns: its vertices are its cards, then the helpers that lead long edges."""

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

    def _find_forward(self) -> list[tuple[int, int, int]]:
        """Return the edges without those that close a cycle."""
        following: list[list[tuple[int, int]]] = [[] for _ in self.cards]
        entered = [0] * len(self.cards)
        for number, source, target in self.pairs:
            if source != target:
                following[source].append((number, target))
                entered[target] += 1
        state = bytearray(len(self.cards))
        back: set[int] = set()
        # Start at sources, so that a cycle is cut where it is entered.
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
            # Place a source right before its first target, not at the far left.
            if following[card] and not preceded[card]:
                column[card] = min(column[target] for target in following[card]) - 1
        return column

    def _lead_through(self, forward: list[tuple[int, int, int]]) -> list[GraphEdge]:
        """Add a helper vertex to every column that a long edge passes."""
        ahead = {number for number, _, _ in forward}
        found = []
        for number, source, target in self.pairs:
            edge = GraphEdge(number, source, target, [])
            found.append(edge)
            span = self.column[target] - self.column[source]
            if number not in ahead or len(self.sizes) - len(self.cards) + span > _MOST_DUMMIES:
                continue
            edge.through.append(source)
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
        # In depth-first order a tree has no crossings.
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
        # Each band break adds a corridor for the edges that it cuts.
        cut = spacing.band + spacing.corridor * max(len(column) for column in self.columns)

        def badness(rows: int) -> float:
            per_row = ceil(count / rows)
            return max(per_row * pitch / spacing.shape, rows * (height + cut))

        rows = min(range(1, count + 1), key=badness)
        per_row = ceil(count / rows)
        return [list(range(start, min(start + per_row, count))) for start in range(0, count, per_row)]

    def _gutter_rooms(self) -> list[float]:
        """Return an estimate of each gutter's width."""
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
        """Return the height of each vertex, by band: as close to its neighbors as there is room."""
        spacing = self.spacing
        line = [0.0] * len(self.sizes)
        above = [self.anchor(size) for size in self.sizes]
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
        """Move the vertices of a column towards the mean of their neighbors."""
        wanted, weights = [], []
        for vertex in self.columns[number]:
            near = [
                line[other]
                for side in sides
                for other in side[vertex]
                if self.band_of[other] == self.band_of[vertex]
            ]
            wanted.append(sum(near) / len(near) if near else line[vertex])
            # Straight long edges matter more than centered cards.
            weights.append((8.0 if vertex >= len(self.cards) else 1.0) if near else 0.1)
        for vertex, value in zip(self.columns[number], _spread(wanted, steps, weights), strict=True):
            line[vertex] = value

    def _straighten(self, number: int, line: list[float], steps: Sequence[float]) -> None:
        """Align a vertex with its predecessor if both have no other neighbor on that side."""
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

    def anchor(self, size: Size) -> float:
        """Return how far below the upper edge of a card its edges arrive and leave."""
        return size.height // 2 if self.spacing.square else size.height / 2


def _fill_lines(widths: Sequence[float], rooms: Sequence[float], spacing: Spacing) -> list[list[int]]:
    """Break columns of these *widths*, with *rooms* after them, into bands of at most `spacing.most`."""
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
    """Return the positions nearest to *wanted* by weighted least squares, at least *steps* apart."""
    # Less the distances, this is isotonic regression (pool adjacent violators).
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


#: Parallel lines side by side; further ones share a lane.
_MOST_LANES = 40


class _Lanes:
    """Vertical lanes in the gutter between two columns: of edges that leave, and of edges that arrive."""

    leaving = arriving = 0
    #: Room for labels.
    room = 0.0
    left = right = 0.0


class _Turn:
    """A route outside the columns: down a gutter, along below a band, and up or down another gutter."""

    leave = arrive = lane = last_lane = 0
    margin = -1

    def __init__(self, start: int, end: int, first: int, last: int) -> None:
        self.start, self.end = start, end
        #: The band below which it runs first, and the one below which it ends if it passes the margin.
        self.first, self.last = first, last


class RoutedGraph(LayeredGraph):
    """A layered graph with routes for its edges."""

    def __init__(self, *graph: Any) -> None:
        super().__init__(*graph)
        self.width = self.height = 0.0
        self._find_turns()
        self._measure()

    def _find_turns(self) -> None:
        """Assign lanes to all vertical lines between columns and horizontal lines below bands."""
        self.gutters: dict[tuple[int, int], _Lanes] = {
            (band, place): _Lanes()
            for band, columns in enumerate(self.bands)
            for place in range(len(columns) + 1)
        }
        self.corridors = [0] * len(self.bands)
        self.margin = 0
        #: Number of edges routed around the columns.
        self.around = 0
        #: Edge -> its route around the columns.
        self.arounds: dict[int, _Turn] = {}
        #: Edge and vertex -> the route to the next band after that vertex.
        self.wraps: dict[tuple[int, int], _Turn] = {}
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
                turn = _Turn(source, target, self.band_of[source], self.band_of[source])
                self.wraps[edge.number, source] = turn
                wraps.setdefault(turn.first, []).append(turn)
        self.direct: dict[int, int] = {}
        if self.spacing.square:
            self._give_direct_lanes(legs)
        for band, turns in wraps.items():
            self._give_wrap_lanes(band, turns)
        for edge in self.edges:
            if not edge.through:
                self._give_way_around(edge)

    def _give_direct_lanes(self, legs: dict[tuple[int, int], dict[int, list[int]]]) -> None:
        """Assign one lane to each source with a bent edge; the order avoids crossings."""
        for gutter, sources in legs.items():
            bend = {
                source: max((self.line[target] - self.line[source] for target in targets), key=abs)
                for source, targets in sources.items()
            }
            down = sorted((s for s in bend if bend[s] > 0), key=lambda s: -self.line[s])
            up = sorted((s for s in bend if bend[s] < 0), key=lambda s: self.line[s])
            for source in (*down, *up):
                lanes = self.gutters[gutter]
                self.direct[source] = _shared(lanes.leaving)
                lanes.leaving = min(_MOST_LANES, lanes.leaving + 1)

    def _give_wrap_lanes(self, band: int, turns: list[_Turn]) -> None:
        """Nest the edges to the next band so that they do not cross each other."""
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

    def _give_way_around(self, edge: GraphEdge) -> None:
        turn = _Turn(edge.source, edge.target, self.band_of[edge.source], self.band_of[edge.target])
        self.arounds[edge.number] = turn
        leaving = self.gutters[self._gutter(turn.start, arriving=False)]
        arriving = self.gutters[self._gutter(turn.end, arriving=True)]
        self.around += 1
        turn.leave, leaving.leaving = self._take_lane(leaving.leaving)
        turn.arrive, arriving.arriving = self._take_lane(arriving.arriving)
        turn.lane, self.corridors[turn.first] = self._take_lane(self.corridors[turn.first])
        turn.last_lane = turn.lane
        if turn.first != turn.last:
            turn.last_lane, self.corridors[turn.last] = self._take_lane(self.corridors[turn.last])
            turn.margin, self.margin = self._take_lane(self.margin)

    def _take_lane(self, used: int) -> tuple[int, int]:
        """Return a free lane, or share them in turn if all are taken; and how many are used then."""
        lane = used if used < _MOST_LANES else self.around % _MOST_LANES
        return lane, max(used, lane + 1)

    def _gutter(self, vertex: int, *, arriving: bool) -> tuple[int, int]:
        """Return the gutter before *vertex*, or after it."""
        return self.band_of[vertex], self.place[self.column[vertex]] + (0 if arriving else 1)

    def _measure(self) -> None:
        """Compute coordinates from lanes."""
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
                self.line[vertex] + self.sizes[vertex].height - self.anchor(self.sizes[vertex])
                for vertex in vertices
            )
            y += self._corridor_height(band)
        self.height = y

    def _corridor_height(self, band: int) -> float:
        spacing = self.spacing
        lines = self.corridors[band] * spacing.corridor
        return lines if band + 1 == len(self.bands) else spacing.band + lines

    def move_to(self, x: float, y: float, boxes: list[Box | None], ways: list[tuple[EdgePiece, ...]]) -> None:
        """Write the boxes and routes of this part, moved by (x, y), into the whole layout."""
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
            x=x + self.x[column], y=line - self.anchor(size), width=width, height=size.height, port=line
        )

    def _way(self, edge: GraphEdge, placed: list[Box], x: float, y: float) -> Iterable[EdgePiece]:
        if not edge.through:
            yield self._turn(self.arounds[edge.number], placed, x, y)
        for source, target in pairwise(edge.through):
            start, end = placed[source], placed[target]
            if source >= len(self.cards):
                yield EdgePiece(points=((start.x, start.port), (start.right, start.port)))
            turn = self.wraps.get((edge.number, source))
            if turn is not None:
                yield self._turn(turn, placed, x, y)
                continue
            # The line also bridges the gap beside a card narrower than its column.
            begin, finish = (start.right, start.port), (end.x, end.port)
            if not self.spacing.square:
                yield curve(begin, finish)
            elif begin[1] == finish[1]:
                yield EdgePiece(points=(begin, finish))
            else:
                lanes = self.gutters[self._gutter(source, arriving=False)]
                lane = x + lanes.left + self.spacing.leave + self.direct[source] * self.spacing.lane
                yield EdgePiece(points=(begin, (lane, begin[1]), (lane, finish[1]), finish))

    def _turn(self, turn: _Turn, placed: list[Box], x: float, y: float) -> EdgePiece:
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
        return EdgePiece(points=tuple(points))

    def _corridor(self, band: int, lane: int) -> float:
        spacing = self.spacing
        last = band + 1 == len(self.bands)
        bottom, above = (self.height, 0) if last else (self.top[band + 1], spacing.band / 2)
        along = lane if spacing.square else lane + 0.5
        return bottom - self._corridor_height(band) + above + along * spacing.corridor


def _shared(lane: int) -> int:
    return lane % _MOST_LANES
