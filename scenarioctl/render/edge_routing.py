"""Route edges between the columns of a layered graph: lanes, corners and curves."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from scenarioctl.render.geometry import Box, EdgePiece, curve
from scenarioctl.render.layered_graph import GraphEdge, LayeredGraph

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
