"""Where cards stand and edges go, and how wide text is in the bundled fonts.

Cards stand in columns from left to right, each in the column of its longest path from a start; a
graph with many columns is broken into bands below each other, as text is into lines.

Inter draws what it can, DejaVu Sans what Inter lacks; `tools/bundle_fonts.py` made both.  Widths
are without kerning, so that a text is rather a bit narrower than it is said to be.
"""

import json
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent / "fonts"
FILES = tuple(
    FOLDER / name for name in ("Inter-Regular.ttf", "Inter-SemiBold.ttf", "DejaVuSans.ttf")
)

#: Font families of an SVG, with fallbacks for viewers that lack ours.
FAMILY = "Inter, 'DejaVu Sans', 'Noto Sans', system-ui, sans-serif"
FALLBACK = "'DejaVu Sans', 'Noto Sans', system-ui, sans-serif"

#: Replaces a letter that neither font has.
BOX = "\N{WHITE SQUARE}"
_WIDE = 1000
#: Combining marks on one letter: more would cover other lines.
_MARKS = 3

#: Invisible letters that join others.
_JOINERS = "\u200c\u200d"


def clean(text: str) -> str:
    """Return *text* as one line, without control characters and those that change the direction of
    text."""
    letters: list[str] = []
    marks = 0
    for letter in text:
        category = unicodedata.category(letter)
        if category[0] == "M":
            marks += 1
            if marks > _MARKS or not letters:
                continue
        else:
            marks = 0
            if category[0] in "CZ" and letter not in _JOINERS:
                letter = " "
        letters.append(letter)
    return " ".join("".join(letters).split())


def missing(text: str) -> str:
    """Return the letters of *text* that neither font has, each once."""
    return "".join(dict.fromkeys(letter for letter in text if not _is_known(letter)))


def drawable(text: str) -> str:
    """Return *text* with a box for each letter that neither font has."""
    return "".join(letter if _is_known(letter) else BOX for letter in text)


def runs(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the pieces of *text* by font, each with whether it needs the second one.

    A letter that depends on its neighbours, as Arabic's do, must not be torn from them.
    """
    main = _widths("Inter-Regular")
    start = 0
    second: bool | None = None
    for at, letter in enumerate(text):
        if letter in " \u200c\u200d" or unicodedata.combining(letter):
            continue
        other = ord(letter) not in main
        if second is not None and other is not second:
            yield second, text[start:at]
            start = at
        second = other
    if start < len(text):
        yield bool(second), text[start:]


def measure(text: str, size: float, *, bold: bool = False) -> float:
    """Return the width of *text* at font size *size*."""
    main = _widths("Inter-SemiBold" if bold else "Inter-Regular")
    second = _widths("DejaVuSans")
    total = 0
    for letter in text:
        code = ord(letter)
        width = main.get(code)
        if width is None:
            width = second.get(code)
            if width is None:
                width = 0 if unicodedata.combining(letter) else _WIDE
        total += width
    return total * size / 1000


def fit(text: str, width: float, size: float, *, bold: bool = False) -> str:
    """Return *text*, cut with an ellipsis where it is wider than *width*."""
    if measure(text, size, bold=bold) <= width:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if measure(text[:middle] + "…", size, bold=bold) <= width:
            low = middle
        else:
            high = middle - 1
    # Don't separate a letter from its marks.
    while (
        low and low < len(text) and (unicodedata.combining(text[low]) or text[low - 1] in _JOINERS)
    ):
        low -= 1
    return text[:low].rstrip() + "…"


def wrap(text: str, width: float, size: float, lines: int) -> tuple[str, ...]:
    """Return *text* in at most so many lines, broken between words; the last one is cut where it
    does not fit."""
    words = text.split(" ")
    found: list[str] = []
    while words and len(found) < lines - 1:
        taken = 1
        while taken < len(words) and measure(" ".join(words[: taken + 1]), size) <= width:
            taken += 1
        found.append(fit(" ".join(words[:taken]), width, size))
        words = words[taken:]
    if words:
        found.append(fit(" ".join(words), width, size))
    return tuple(found)


def _is_known(letter: str) -> bool:
    code = ord(letter)
    return code in _widths("Inter-Regular") or code in _widths("DejaVuSans") or letter in _JOINERS


@cache
def _widths(face: str) -> Mapping[int, int]:
    """Return the advance width of each letter of a font, in thousandths of the font size."""
    return {
        start + number: width
        for start, widths in _advances()[face]
        for number, width in enumerate(widths)
    }


@cache
def _advances() -> Any:
    return json.loads((FOLDER / "advances.json").read_text())


Point = tuple[float, float]


class Size(NamedTuple):
    """The size of a card; all cards of a picture are equally wide."""

    width: float
    height: float


class Box(NamedTuple):
    """The position (upper left corner) and size of a card."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def port(self) -> float:
        """The height at which edges arrive on the left and leave on the right."""
        return self.y + self.height / 2


class Way(NamedTuple):
    """The way of an edge: straight lines with corners, or one cubic curve of four points."""

    points: tuple[Point, ...]
    curved: bool = False


class Layout(NamedTuple):
    """All cards and all edges, in the order they were given."""

    boxes: tuple[Box, ...]
    ways: tuple[Way, ...]
    width: float
    height: float


#: Between columns, at least; between cards of a column; and between bands.
COLUMN, ROW, BAND = 70.0, 28.0, 58.0
#: Between lines that run beside each other: in the gutters between columns, and below a band.
_LANE, _CORRIDOR = 8.0, 26.0
#: Between a card and the first such line on its right, and on its left, where the arrow needs room.
_LEAVE, _ARRIVE = 24.0, 30.0
#: Lines side by side; further ones lie on these.
_LANES = 3
#: Preferred width to height, and the columns that stay in one band.
_SHAPE, _COLUMNS = 1.7, 6


def number_text(value: float) -> str:
    """Return a coordinate, alike in every locale and on every machine."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


def lay_out(
    sizes: Sequence[Size], edges: Sequence[tuple[int, int]], gaps: Sequence[float] = ()
) -> Layout:
    """Return a layout of cards of these *sizes* with *edges* between them, by their numbers.

    *gaps* has the room that each edge needs between its columns, for its label.  An edge to the
    next column of a band is direct.  Every other one goes around: down the gutter behind its
    source, along below the band, and through the gutter before its target.
    """
    if not sizes:
        return Layout((), (), 0.0, 0.0)
    column = _assign_columns(len(sizes), edges)
    columns, line = _sort_columns(sizes, edges, column)
    per_band = _columns_of_a_band(sizes, columns)
    direct = [
        column[target] == column[source] + 1 and column[target] % per_band != 0
        for source, target in edges
    ]
    around = Counter(
        column[source] // per_band
        for (source, _), is_direct in zip(edges, direct, strict=True)
        if not is_direct
    )
    left = _ARRIVE + _LANES * _LANE if around else 0.0
    wanted = [gap for gap, is_direct in zip(gaps, direct, strict=False) if is_direct]
    # Gutters of all bands are below each other, so that a line through them passes no card.
    gutter = max([COLUMN, *wanted]) + (_LANES * _LANE if around else 0)
    pitch = sizes[0].width + gutter
    boxes = [Box(0, 0, 0, 0)] * len(sizes)
    floors: list[float] = []
    height = 0.0
    for first in range(0, len(columns), per_band):
        height += BAND if first else 0
        band = columns[first : first + per_band]
        tall = max(_height(sizes, each) for each in band)
        for place, each in enumerate(band):
            for card in each:
                top = height + tall / 2 + line[card] - sizes[card].height / 2
                boxes[card] = Box(left + place * pitch, top, *sizes[card])
        floors.append(height + tall + 20)
        height += tall + min(around[len(floors) - 1], _LANES) * _CORRIDOR
    used: Counter[int] = Counter()
    ways = []
    for (source, target), is_direct in zip(edges, direct, strict=True):
        start, goal = boxes[source], boxes[target]
        begin, end = (start.right, start.port), (goal.x, goal.port)
        if is_direct:
            middle = (begin[0] + end[0]) / 2
            ways.append(Way((begin, (middle, begin[1]), (middle, end[1]), end), curved=True))
            continue
        row = column[source] // per_band
        lane = used[row] % _LANES
        used[row] += 1
        down, up = begin[0] + _LEAVE + lane * _LANE, end[0] - _ARRIVE - lane * _LANE
        floor = floors[row] + lane * _CORRIDOR
        ways.append(Way((begin, (down, begin[1]), (down, floor), (up, floor), (up, end[1]), end)))
    width = max(box.right for box in boxes) + (_LEAVE + _LANES * _LANE if around else 0)
    return Layout(tuple(boxes), tuple(ways), width, height)


def _assign_columns(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the column of each card: behind all that lead to it, but for edges back to an earlier
    card."""
    following: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        if source != target:
            following[source].append(target)
    entering = Counter(target for targets in following for target in targets)
    waiting = Counter(entering)
    column = [0] * count
    ahead: dict[int, list[int]] = {}
    left = set(range(count))
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
    for card, targets in ahead.items():
        # Place a source right before its first target, not at the far left.
        if targets and waiting[card] == entering[card]:
            column[card] = max(column[card], min(column[target] for target in targets) - 1)
    return column


def _sort_columns(
    sizes: Sequence[Size], edges: Sequence[tuple[int, int]], column: Sequence[int]
) -> tuple[list[list[int]], dict[int, float]]:
    """Return the cards of each column, close to their neighbors, and the height of each card's
    middle above or below that of its band."""
    columns: list[list[int]] = [[] for _ in range(max(column) + 1)]
    for card, place in enumerate(column):
        columns[place].append(card)
    before: dict[int, list[int]] = {card: [] for card in range(len(sizes))}
    behind: dict[int, list[int]] = {card: [] for card in range(len(sizes))}
    for source, target in dict.fromkeys(edges):
        if column[target] == column[source] + 1:
            before[target].append(source)
            behind[source].append(target)
    line: dict[int, float] = {}
    for near, order in ((before, columns), (behind, columns[::-1]), (before, columns)):
        for each in order:
            wanted = {
                card: sum(line[other] for other in near[card]) / len(near[card])
                for card in each
                if near[card]
            }
            each.sort(key=lambda card: wanted.get(card, line.get(card, 0.0)))
            top = -_height(sizes, each) / 2
            for card in each:
                line[card] = top + sizes[card].height / 2
                top += sizes[card].height + ROW
    return columns, line


def _height(sizes: Sequence[Size], cards: Sequence[int]) -> float:
    return sum(sizes[card].height + ROW for card in cards) - ROW


def _columns_of_a_band(sizes: Sequence[Size], columns: Sequence[Sequence[int]]) -> int:
    """Return how many columns a band has, so that the picture is as wide as a page."""
    count = len(columns)
    if count <= _COLUMNS:
        return count
    tall = max(_height(sizes, each) for each in columns) + BAND + _CORRIDOR * _LANES
    pitch = sizes[0].width + COLUMN
    return min(
        (ceil(count / bands) for bands in range(1, count + 1)),
        key=lambda each: max(each * pitch / _SHAPE, ceil(count / each) * tall),
    )
