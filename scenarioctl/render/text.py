"""A picture as text, for any terminal: cards as boxes, edges as lines with corners."""

import unicodedata
from collections.abc import Sequence
from itertools import pairwise

from scenarioctl.actions.story import Card
from scenarioctl.render.layout import Box, Layout, Size, Spacing, lay_out
from scenarioctl.render.picture import Picture
from scenarioctl.render.text_metrics import clean, wrap_words

DEFAULT_COLUMNS = 80

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
#: Box-drawing characters by the directions that they connect.
_LINES = " ││││┘┐┤─└┌├─┴┬┼"
_ARROW = "▶"
_NARROW, _BROAD = 20, 26
_NOTE_LINES = 3
#: The most characters of lines; further edges are left out.
_MOST_SIGNS = 1_000_000

#: ASCII replacements of box-drawing characters.
ASCII = str.maketrans(
    {
        **dict.fromkeys("─╌", "-"),
        **dict.fromkeys("│╎", "|"),
        **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╰╯", "+"),
        "▶": ">",
        "→": ">",
        "…": "~",
        "·": "-",
    }
)


def draw_text(picture: Picture, columns: int = DEFAULT_COLUMNS) -> str:
    """Return *picture* as lines of at most *columns* characters, if possible."""
    if not picture.cards:
        return "This scenario has no steps yet"
    inner = _BROAD if columns >= 110 else min(_NARROW, columns - 6)
    contents = [_lines_of(card, inner) for card in picture.cards]
    sizes = [
        Size(width=max(map(width_of, lines)) + 4, height=len(lines) + 1 + (len(lines) == 1))
        for lines in contents
    ]
    edges = [(arrow.source, arrow.target) for arrow in picture.arrows]
    labels = [clean(arrow.label) for arrow in picture.arrows]
    tight = _arrange(sizes, edges, columns, [0.0] * len(edges))
    roomy = _arrange(
        sizes, edges, columns, [width_of(label) + 6.0 if label else 0.0 for label in labels]
    )
    layout = (
        roomy
        if roomy.height <= tight.height and roomy.width <= max(columns, tight.width)
        else tight
    )
    sheet = _Sheet(layout)
    undrawn = sheet.draw_ways(labels)
    for card, box, lines in zip(picture.cards, layout.boxes, contents, strict=True):
        sheet.draw_box(box, lines, unfinished=card.unfinished)
    lines = "\n".join("".join(row).rstrip() for row in sheet.cells).rstrip().split("\n")
    if picture.left_out:
        lines += ["", f"and {picture.left_out} more steps"]
    if undrawn:
        lines += ["", f"and {undrawn} more edges"]
    return "\n".join(lines)


def width_of(text: str) -> int:
    """Return how many columns of a terminal *text* takes."""
    return sum(map(_cells, text))


def ascii_only(text: str) -> str:
    """Return a drawing in ASCII, with `?` for other letters."""
    return "".join(
        letter if letter.isascii() else "?" * _cells(letter) for letter in text.translate(ASCII)
    )


def _cells(letter: str) -> int:
    if (
        unicodedata.combining(letter)
        or letter in "\u200c\u200d"
        or unicodedata.category(letter) == "Mn"
    ):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _fit(text: str, columns: int) -> str:
    if width_of(text) <= columns:
        return text
    used = 0
    for at, letter in enumerate(text):
        used += _cells(letter)
        if used > columns - 1:
            return text[:at].rstrip() + "…"
    return text


def _wrap(text: str, columns: int) -> list[str]:
    return wrap_words(text, _NOTE_LINES, lambda line: _fit(line, columns))


def _lines_of(card: Card, inner: int) -> list[str]:
    """Return the lines of a card; the first one is part of the upper border."""
    lines = [_fit(card.title, inner)]
    if not card.is_step:
        lines.append(_fit(card.caption, inner))
    for row in card.rows:
        if not row.label and not row.strong:
            lines += _wrap(clean(row.text), inner)
            continue
        label = f"{row.label.lower()} " if row.label and row.label != "Account" else ""
        lines.append(_fit(label + clean(row.text), inner))
    if card.note:
        sign = "~ " if card.state == "waiting" else "! "
        lines += [
            (sign if not number else "  ") + line
            for number, line in enumerate(_wrap(card.note, inner - 2))
        ]
    return [clean_line(line) for line in lines]


def clean_line(line: str) -> str:
    """Return *line* without control characters, its spaces kept."""
    return "".join(
        letter if letter.isprintable() or letter in "\u200c\u200d" else " " for letter in line
    )


def _arrange(
    sizes: Sequence[Size], edges: Sequence[tuple[int, int]], columns: int, gaps: Sequence[float]
) -> Layout:
    def arrange(most: float) -> Layout:
        spacing = Spacing(
            column=5,
            row=1,
            band=2,
            lane=1,
            corridor=1,
            leave=1,
            arrive=2,
            most=max(1.0, most),
            square=True,
        )
        return lay_out(sizes, edges, spacing, gaps)

    most = float(columns)
    layout = arrange(most)
    for _ in range(4):
        if layout.width <= columns:
            break
        # Lanes beside the cards were not counted.
        most -= layout.width - columns
        layout = arrange(most)
    return layout


class _Sheet:
    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        # Nothing is outside the layout's size.
        self.width = int(layout.width) + 1
        self.height = int(layout.height) + 1
        self.cells = [[" "] * self.width for _ in range(self.height)]
        self.masks = [[0] * self.width for _ in range(self.height)]
        #: How many edges pass each cell.
        self.passing = [[0] * self.width for _ in range(self.height)]

    def draw_ways(self, labels: Sequence[str]) -> int:
        """Draw the edges, and return how many were left out."""
        ends: list[tuple[int, int]] = []
        drawn = 0
        for way in self.layout.ways:
            if drawn > _MOST_SIGNS:
                break
            points = list(dict.fromkeys((int(x), int(y)) for leg in way for x, y in leg.points))
            x, y = points[-1]
            points[-1] = (x - 1, y)
            ends.append((x - 1, y))
            first_x, first_y = points[0]
            self.masks[first_y][first_x] |= _LEFT
            passed = {cell for ends_ in pairwise(points) for cell in self._line(*ends_)}
            drawn += len(passed)
            for x, y in passed:
                self.passing[y][x] += 1
        for y, row in enumerate(self.masks):
            for x, mask in enumerate(row):
                if mask:
                    self.cells[y][x] = _LINES[mask]
        for x, y in ends:
            self.cells[y][x] = _ARROW
        for label, way in zip(labels[: len(ends)], self.layout.ways, strict=False):
            self._write_label(label, [(int(x), int(y)) for x, y in way[0].points])
        return len(self.layout.ways) - len(ends)

    def _write_label(self, label: str, points: list[tuple[int, int]]) -> None:
        """Write on the last straight piece to the right, if it fits and no other line crosses
        it."""
        if not label:
            return
        (x, y), (end, _) = points[-2], points[-1]
        room = end - x - 3
        cells = range(x + 1, end - 1)
        if width_of(label) > room or any(
            self.cells[y][at] != "─" or self.passing[y][at] > 1 for at in cells
        ):
            return
        self._write(x + 1 + (room - width_of(label)) // 2, y, label)

    def draw_box(self, box: Box, lines: Sequence[str], *, unfinished: bool) -> None:
        x, y, width, height = int(box.x), int(box.y), int(box.width), int(box.height)
        flat, upright = ("╌", "╎") if unfinished else ("─", "│")
        leaves = box.right < self.width and self.masks[int(box.port)][int(box.right)] & _LEFT
        self._write(x, y, f"┌ {lines[0]} {flat * (width - 4 - width_of(lines[0]))}┐")
        for number in range(1, height - 1):
            text = lines[number] if number < len(lines) else ""
            self._write(
                x, y + number, f"{upright} {text}{' ' * (width - 4 - width_of(text))} {upright}"
            )
        self._write(x, y + height - 1, f"└{flat * (width - 2)}┘")
        if leaves:
            self.cells[int(box.port)][int(box.right) - 1] = "├"

    def _write(self, x: int, y: int, text: str) -> None:
        at = x
        for letter in text:
            cells = _cells(letter)
            if not cells:
                self.cells[y][at - 1] += letter
                continue
            self.cells[y][at] = letter
            if cells == 2:
                self.cells[y][at + 1] = ""
            at += cells

    def _line(self, start: tuple[int, int], end: tuple[int, int]) -> list[tuple[int, int]]:
        """Draw a straight line, and return the cells that it passes."""
        (x0, y0), (x1, y1) = start, end
        if y0 == y1:
            low, high = sorted((x0, x1))
            for x in range(low, high):
                self.masks[y0][x] |= _RIGHT
                self.masks[y0][x + 1] |= _LEFT
            return [(x, y0) for x in range(low, high + 1)]
        low, high = sorted((y0, y1))
        for y in range(low, high):
            self.masks[y][x0] |= _DOWN
            self.masks[y + 1][x0] |= _UP
        return [(x0, y) for y in range(low, high + 1)]
