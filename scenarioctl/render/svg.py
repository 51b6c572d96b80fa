"""A picture as SVG and as PNG: cards with icons, edges with arrowheads, in a light or a dark theme.

Colors are attributes, not a stylesheet: a page whose policy allows no inline styles can show the
picture, and restyle it by its classes.  Every node is a `<g class="node" data-node="…">`, every
edge a `<g class="edge">`. Nothing in it refers to anything outside.

The renderer of PNGs lets no other thread run while it draws, so its bounds keep a daemon from
stopping for long.  QR codes for wallets are made here, too.
"""

from collections.abc import Iterator, Sequence
from math import ceil, dist, floor, hypot, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scenarioctl.actions.story import Card
from scenarioctl.errors import InvalidRequest
from scenarioctl.files import read_document
from scenarioctl.render.layout import (
    FALLBACK,
    FAMILY,
    FILES,
    Box,
    Layout,
    Point,
    Size,
    Way,
    clean,
    drawable,
    fit,
    lay_out,
    measure,
    number_text,
    runs,
    wrap,
)
from scenarioctl.render.picture import LEAST_WIDTH, MOST_WIDTH, Arrow, Picture

if TYPE_CHECKING:
    from segno import QRCode


class Theme(NamedTuple):
    """The colors of a picture that do not depend on the step type."""

    name: str
    canvas: str
    card: str
    border: str
    text: str
    soft: str
    faint: str
    line: str
    problem: str
    problem_back: str
    waiting: str
    waiting_back: str


class BadgeMark(NamedTuple):
    """The sign on a chain's badge: strokes in a square of 24. They are made for this program; no
    chain uses them."""

    path: str
    width: float


_PALETTE = read_document(Path(__file__).with_name("palette.json"))
THEMES = {name: Theme(name, **colors) for name, colors in _PALETTE["themes"].items()}
#: Colors of icons and of the squares behind them, by `Look.color` and theme.
COLORS: dict[str, dict[str, tuple[str, str]]] = _PALETTE["icons"]
#: Background of a chain's badge; white letters on it are readable.
CHAIN_COLORS: dict[str, str] = _PALETTE["chains"]
#: Other chains have the letters of their title.
CHAIN_MARKS = {
    chain: BadgeMark(**_PALETTE["marks"][mark]) for chain, mark in _PALETTE["chain_marks"].items()
}
OTHER_CHAIN_COLOR = "#55607a"
BADGE_TEXT_COLOR = "#ffffff"


#: All cards are as wide as the longest text needs, between these.
NARROW, BROAD = 184.0, 236.0
MARGIN = 20.0

_PADDING = 14.0
_ICON = 32.0
#: Text starts here, right of the icon.
_TITLE = _PADDING + _ICON + 11
_HEADER = 60.0
_ROW = 20.0
_STRONG_ROW = 26.0
_LABEL_WIDTH = 62.0
_NOTE_LINE = 15.0
_NOTE_LINES = 3
_NOTE_WIDTH = BROAD - 2 * _PADDING - 20
_MOST_DASHED = 200
#: The widest text on an edge, and the room left and right of it.
_FLOW_WIDTH = 108.0
_FLOW_ROOM = 36.0


def write_svg(
    picture: Picture,
    *,
    theme: str = "light",
    width: int = 0,
    boxes: bool = False,
    layout: Layout | None = None,
) -> str:
    """Return *picture* as an SVG document, *width* pixels wide, or as wide as it needs.

    With *boxes* a letter that the bundled fonts lack becomes a box; a viewer with fonts of its own
    needs none.
    """
    layout = layout or find_layout(picture)
    writer = _SvgWriter(picture, layout, THEMES[theme], boxes=boxes)
    return "".join(writer.document(width))


def find_layout(picture: Picture) -> Layout:
    """Return where cards stand and edges go."""
    width = _card_width(picture)
    sizes = [Size(width=width, height=_height(card)) for card in picture.cards]
    edges = [(arrow.source, arrow.target) for arrow in picture.arrows]
    return lay_out(sizes, edges, [_label_room(arrow) for arrow in picture.arrows])


def canvas_size(picture: Picture, layout: Layout) -> tuple[float, float]:
    """Return the natural size of *picture* in pixels."""
    footer = 24.0 if picture.left_out else 0.0
    if not picture.cards:
        return float(LEAST_WIDTH), 160.0
    return max(float(LEAST_WIDTH), layout.width + 2 * MARGIN), layout.height + 2 * MARGIN + footer


def _card_width(picture: Picture) -> float:
    if any(card.note for card in picture.cards):
        return BROAD
    needed = max((_needed(card) for card in picture.cards), default=NARROW)
    return max(NARROW, min(BROAD, 2.0 * ceil(needed / 2)))


def _needed(card: Card) -> float:
    """Return the width at which no text of a card is cut."""
    header = _TITLE + max(measure(card.title, 14.5, bold=True), measure(card.caption, 11.5))
    rows = (
        _PADDING + measure(row.text, 17, bold=True)
        if row.strong
        else _PADDING + (_LABEL_WIDTH if row.label else 0) + measure(row.text, 12.5)
        for row in card.rows
    )
    return max(header, *rows) + _PADDING if card.rows else header + _PADDING


def _height(card: Card) -> float:
    rows = sum(_STRONG_ROW if row.strong else _ROW for row in card.rows)
    note = len(_note_lines(card)) * _NOTE_LINE
    return _HEADER + rows + (9 if card.rows else 0) + (note + 20 if note else 0)


def _note_lines(card: Card) -> tuple[str, ...]:
    if not card.note:
        return ()
    return wrap(card.note, _NOTE_WIDTH, 11, _NOTE_LINES)


def _label_room(arrow: Arrow) -> float:
    if not arrow.label:
        return 0.0
    return min(measure(arrow.label, 11), _FLOW_WIDTH) + 16 + _FLOW_ROOM


_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})


def escape(text: str) -> str:
    """Return *text* escaped for XML, in text or in an attribute."""
    return text.translate(_ESCAPES)


class _SvgWriter:
    def __init__(self, picture: Picture, layout: Layout, theme: Theme, *, boxes: bool) -> None:
        self.picture = picture
        self.layout = layout
        self.theme = theme
        self.boxes = boxes
        #: Rendering thousands of long dashed lines takes minutes.
        self.dashes = sum(arrow.unfinished for arrow in picture.arrows) <= _MOST_DASHED
        #: Where edges leave each card.
        self.ports: list[set[Point]] = [set() for _ in picture.cards]
        for arrow, way in zip(picture.arrows, layout.ways, strict=True):
            self.ports[arrow.source].add(way.points[0])

    def document(self, width: int) -> Iterator[str]:
        theme = self.theme
        wide, high = canvas_size(self.picture, self.layout)
        shown = f"{width}" if width else number_text(wide)
        tall = f"{max(1, round(high * width / wide))}" if width else number_text(high)
        title = escape(clean(self.picture.summary[:1000]) or "a scenario without steps")
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="scenario {theme.name}" role="img" '
            f'width="{shown}" height="{tall}" viewBox="0 0 {number_text(wide)} '
            f'{number_text(high)}" '
            f'font-family="{escape(FAMILY)}" font-size="12.5">\n'
            f"<title>{title}</title>\n"
            f'<rect class="canvas" width="{number_text(wide)}" '
            f'height="{number_text(high)}" fill="{theme.canvas}"/>\n'
        )
        if not self.picture.cards:
            text = "This scenario has no steps yet"
            yield self._text(text, wide / 2, high / 2 + 5, 14, theme.faint, anchor="middle")
            yield "\n</svg>\n"
            return
        left = (wide - self.layout.width) / 2
        yield f'<g transform="translate({number_text(left)} {number_text(MARGIN)})">\n'
        for arrow, way in zip(self.picture.arrows, self.layout.ways, strict=True):
            yield from self._edge(arrow, way)
        for number in self.picture.order:
            card, box = self.picture.cards[number], self.layout.boxes[number]
            yield from self._card(card, box, sorted(self.ports[number]))
        # Above the cards: with close positions a card would hide a label.
        for arrow, way in zip(self.picture.arrows, self.layout.ways, strict=True):
            yield from self._label(arrow, way)
        yield "</g>\n"
        if self.picture.left_out:
            more = f"and {self.picture.left_out} more steps"
            yield (
                self._text(more, wide / 2, high - MARGIN + 6, 13, theme.faint, anchor="middle")
                + "\n"
            )
        yield "</svg>\n"

    def _edge(self, arrow: Arrow, way: Way) -> Iterator[str]:
        theme = self.theme
        color = theme.problem if arrow.unfinished else theme.line
        dash = ' stroke-dasharray="5 5"' if arrow.unfinished and self.dashes else ""
        source, target = (self.picture.cards[number].id for number in (arrow.source, arrow.target))
        tip, back = way.points[-1], way.points[-2]
        towards = direction(back, tip) if back != tip else (1.0, 0.0)
        yield (
            f'<g class="edge{" unfinished" if arrow.unfinished else ""}" '
            f'data-source="{escape(source)}" data-target="{escape(target)}">'
            f'<path d="{edge_path(way, towards)}" fill="none" stroke="{color}" stroke-width="1.75" '
            f'stroke-linecap="round"{dash}/>'
            f'<path d="{arrowhead(tip, towards)}" fill="{color}" stroke="{color}" '
            'stroke-width="1.5" '
            f'stroke-linejoin="round"/></g>\n'
        )

    def _label(self, arrow: Arrow, way: Way) -> Iterator[str]:
        if not arrow.label:
            return
        (x, y), room = label_place(way)
        text = fit(clean(arrow.label), min(_FLOW_WIDTH, room - 36), 11)
        if len(text) < 2 or room < 66:
            return
        theme = self.theme
        half = measure(text, 11) / 2 + 8
        yield (
            f'<g class="label"><rect x="{number_text(x - half)}" y="{number_text(y - 10)}" '
            f'width="{number_text(2 * half)}" height="20" '
            f'rx="10" fill="{theme.card}" stroke="{theme.border}"/>'
            + self._text(text, x, y + 4, 11, theme.soft, anchor="middle")
            + "</g>\n"
        )

    def _card(self, card: Card, box: Box, ports: Sequence[Point]) -> Iterator[str]:
        theme = self.theme
        yield (
            f'<g class="node {card.look.name} {card.state}" data-node="{escape(card.id)}" '
            f'transform="translate({number_text(box.x)} {number_text(box.y)})">'
        )
        about = ": ".join(filter(None, (card.title, clean(card.note))))
        yield f"<title>{escape(about)}</title>\n"
        wide, high = box.width, box.height
        if card.unfinished:
            ground = theme.canvas if card.state == "missing" else theme.card
            yield (
                f'<rect class="card" width="{number_text(wide)}" '
                f'height="{number_text(high)}" rx="12" fill="{ground}" '
                f'stroke="{theme.problem}" stroke-dasharray="6 5"/>\n'
            )
        else:
            # The border is a larger rectangle behind the card: a stroke would be slower to render.
            border = theme.waiting if card.state == "waiting" else theme.border
            yield (
                f'<rect class="shadow" x="-1" y="-1" width="{number_text(wide + 2)}" '
                f'height="{number_text(high + 4)}" rx="13" '
                f'fill="{border}"/>'
                f'<rect class="card" width="{number_text(wide)}" '
                f'height="{number_text(high)}" rx="12" fill="{theme.card}"/>\n'
            )
        yield from self._header(card, wide)
        y = _HEADER
        for row in card.rows:
            if row.strong:
                value = fit(row.text, wide - 2 * _PADDING, 17, bold=True)
                yield (
                    self._text(
                        value, _PADDING, y + 17, 17, theme.text, bold=True, room=wide - 2 * _PADDING
                    )
                    + "\n"
                )
                y += _STRONG_ROW
                continue
            at = _PADDING
            if row.label:
                label = fit(row.label, _LABEL_WIDTH - 8, 12)
                yield self._text(label, at, y + 14, 12, theme.faint)
                at += _LABEL_WIDTH
            value = fit(row.text, wide - _PADDING - at, 12.5)
            yield self._text(value, at, y + 14, 12.5, theme.soft, room=wide - _PADDING - at) + "\n"
            y += _ROW
        yield from self._note(card, wide, high)
        for x, y in ports:
            yield (
                f'<circle cx="{number_text(x - box.x)}" cy="{number_text(y - box.y)}" '
                f'r="3.5" fill="{theme.card}" '
                f'stroke="{theme.line}" stroke-width="1.5"/>\n'
            )
        yield "</g>\n"

    def _header(self, card: Card, wide: float) -> Iterator[str]:
        theme = self.theme
        middle = _PADDING + _ICON / 2
        room = wide - _TITLE - _PADDING
        if not card.look.icon:
            ground = CHAIN_COLORS.get(card.chain, OTHER_CHAIN_COLOR)
            yield (
                f'<circle cx="{number_text(middle)}" cy="{number_text(middle)}" '
                f'r="{number_text(_ICON / 2)}" fill="{ground}"/>'
            )
            mark = CHAIN_MARKS.get(card.chain)
            if mark is not None:
                yield (
                    f'<path transform="translate({number_text(middle - 9.6)} '
                    f'{number_text(middle - 9.6)}) scale(0.8)" '
                    f'd="{mark.path}" fill="none" stroke="{BADGE_TEXT_COLOR}" '
                    f'stroke-width="{mark.width}" '
                    f'stroke-linecap="round" stroke-linejoin="round"/>'
                )
            else:
                sign = _sign(card.title)
                size = 13 if len(sign) > 1 else 15
                yield self._text(
                    sign, middle, middle + 4.6, size, BADGE_TEXT_COLOR, bold=True, anchor="middle"
                )
        else:
            ink, back = COLORS[card.look.color][theme.name]
            if card.unfinished and not card.is_step:
                ink, back = theme.problem, theme.problem_back
            yield (
                f'<rect x="{number_text(_PADDING)}" y="{number_text(_PADDING)}" '
                f'width="{number_text(_ICON)}" height="{number_text(_ICON)}" rx="9" '
                f'fill="{back}"/>'
                f'<path transform="translate({number_text(middle - 9.6)} '
                f'{number_text(middle - 9.6)}) scale(0.8)" d="{card.look.icon}" '
                f'fill="none" stroke="{ink}" stroke-width="2.1" stroke-linecap="round" '
                'stroke-linejoin="round"/>'
            )
        # Leave out a caption that repeats the title.
        caption = (
            "" if card.caption.lower() == card.title.lower() else fit(card.caption, room, 11.5)
        )
        title = fit(card.title, room, 14.5, bold=True)
        line = 28.5 if caption else middle + 5
        yield self._text(title, _TITLE, line, 14.5, theme.text, bold=True, room=room)
        yield self._text(caption, _TITLE, 44.5, 11.5, theme.faint, room=room) + "\n"

    def _note(self, card: Card, wide: float, high: float) -> Iterator[str]:
        lines = _note_lines(card)
        if not lines:
            return
        theme = self.theme
        waiting = card.state == "waiting"
        ink, back = (
            (theme.waiting, theme.waiting_back) if waiting else (theme.problem, theme.problem_back)
        )
        tall = len(lines) * _NOTE_LINE + 12
        top = high - tall - 7
        yield (
            f'<rect class="note" x="7" y="{number_text(top)}" '
            f'width="{number_text(wide - 14)}" height="{number_text(tall)}" rx="8" '
            f'fill="{back}"/>'
        )
        sign = "M0 -3.6v4M0 2.9v.1" if not waiting else "M0 -3v3.2l2 1.4"
        yield (
            f'<g transform="translate({number_text(_PADDING + 5)} '
            f'{number_text(top + 13.5)})" fill="none" stroke="{ink}" '
            f'stroke-linecap="round"><circle r="6" stroke-width="1.3"/>'
            f'<path d="{sign}" stroke-width="1.5"/></g>'
        )
        for number, line in enumerate(lines):
            yield (
                self._text(
                    line, _PADDING + 18, top + 17.5 + number * _NOTE_LINE, 11, ink, room=_NOTE_WIDTH
                )
                + "\n"
            )

    def _text(
        self,
        text: str,
        x: float,
        y: float,
        size: float,
        color: str,
        *,
        bold: bool = False,
        anchor: str = "",
        room: float = 0,
    ) -> str:
        """Return a line of text, with its length if it nearly fills *room*."""
        if not text:
            return ""
        if self.boxes:
            text = drawable(text)
        weight = ' font-weight="600"' if bold else ""
        place = f' text-anchor="{anchor}"' if anchor else ""
        length = measure(text, size, bold=bold)
        # A fallback font may be wider and would leave the card.
        if room and not self.boxes and length > 0.8 * room:
            place += f' textLength="{number_text(length)}" lengthAdjust="spacingAndGlyphs"'
        pieces = list(runs(text))
        if len(pieces) == 1 and not pieces[0][0]:
            inner = escape(text)
        else:
            # The renderer joins Arabic letters only within text of one font.
            inner = "".join(
                f'<tspan font-family="{escape(FALLBACK)}">{escape(piece)}</tspan>'
                if second
                else escape(piece)
                for second, piece in pieces
            )
        return (
            f'<text x="{number_text(x)}" y="{number_text(y)}" '
            f'font-size="{number_text(size)}"{weight}{place} fill="{color}">{inner}</text>'
        )


def _sign(title: str) -> str:
    """Return the one or two letters on a chain's badge."""
    words = [each for each in title.split() if each[0].isalnum()]
    if len(words) > 1:
        words = words[-2:] if words[-1].lower() == "hub" else words[:2]
        return "".join(each[0] for each in words).upper()
    return words[0][0].upper() if words else "?"


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
        f"M{number_text(x)} {number_text(y)}L{number_text(back_x - 4 * dy)} "
        f"{number_text(back_y + 4 * dx)}"
        f"L{number_text(back_x + 4 * dy)} {number_text(back_y - 4 * dx)}Z"
    )


def edge_path(way: Way, towards: Point) -> str:
    """Return an edge's line, which ends in its arrowhead and not at its tip."""
    points = list(way.points)
    x, y = points[-1]
    points[-1] = (x - 7 * towards[0], y - 7 * towards[1])
    if way.curved:
        return f"M{_at(points[0])}C" + " ".join(map(_at, points[1:]))
    corners = map(_rounded, points, points[1:], points[2:])
    return f"M{_at(points[0])}{''.join(corners)}L{_at(points[-1])}"


def _rounded(before: Point, corner: Point, after: Point) -> str:
    radius = min(10.0, dist(before, corner) / 2, dist(corner, after) / 2)
    (in_x, in_y), (out_x, out_y) = direction(corner, before), direction(corner, after)
    start = (corner[0] + in_x * radius, corner[1] + in_y * radius)
    end = (corner[0] + out_x * radius, corner[1] + out_y * radius)
    return f"L{_at(start)}Q{_at(corner)} {_at(end)}"


def _at(point: Point) -> str:
    return f"{number_text(point[0])} {number_text(point[1])}"


def label_place(way: Way) -> tuple[Point, float]:
    """Return where an edge's label stands, and how much room is there."""
    if way.curved:
        segments = [(way.points[0], way.points[-1])]
    else:
        segments = list(zip(way.points, way.points[1:], strict=False))
    (x0, y0), (x1, y1) = max(segments, key=lambda ends: abs(ends[0][0] - ends[1][0]))
    return ((x0 + x1) / 2, (y0 + y1) / 2), abs(x1 - x0)


#: Each takes four bytes of memory.
MOST_PIXELS = 4_000_000
#: Pixels times cards and edges: what it takes to draw a picture.
MOST_DRAWN = 1_000_000_000
#: Where no width is asked for: a small picture is drawn finer than it is large, up to so many
#: pixels and so fine.  Pixels take time.
_FINE_PIXELS = 400_000
_FINEST = 2.0


def write_png(picture: Picture, *, theme: str = "light", width: int = 0) -> bytes:
    """Return *picture* as PNG, *width* pixels wide; without it as fine as is quickly done."""
    # Slow to import, and needed only here.
    from resvg_py import svg_to_bytes

    layout = find_layout(picture)
    wide, high = canvas_size(picture, layout)
    marks = len(picture.cards) + len(picture.arrows)
    largest = min(
        float(MOST_WIDTH), sqrt(min(MOST_PIXELS, MOST_DRAWN / max(1, marks)) * wide / high)
    )
    if width > max(LEAST_WIDTH, largest):
        raise InvalidRequest(
            field="width",
            problem=(
                f"{width} would make a PNG of {width} x {round(width * high / wide)} pixels "
                f"with {marks} cards and edges"
            ),
            expected=(
                f"at most {max(LEAST_WIDTH, int(largest))} for this scenario, or the format svg"
            ),
        )
    # In halves: edges that fall between pixels take longer, and are blurred.
    scale = min(_FINEST, max(1.0, floor(sqrt(_FINE_PIXELS / (wide * high)) * 2) / 2))
    return svg_to_bytes(
        svg_string=write_svg(picture, theme=theme, boxes=True, layout=layout),
        width=width or max(LEAST_WIDTH, int(min(scale * wide, largest))),
        skip_system_fonts=True,
        font_files=[str(file) for file in FILES],
        font_family="Inter",
    )


#: White modules around a code, as the standard requires.
BORDER = 4


def make_codes(frames: Sequence[bytes]) -> "list[QRCode]":
    """Return a QR code for each of *frames*, in byte mode and nothing else: Vault reads raw
    bytes."""
    from segno import make_qr

    return [make_qr(frame, mode="byte", error="m", boost_error=False) for frame in frames]
