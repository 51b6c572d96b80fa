"""The letters of the main font as outlines: what a renderer need not look up in a font file, letter by letter.

Read from the bundled TrueType files: their tables `cmap`, `loca`, `glyf` and `hmtx`, and no more of the format than
these two files use.  A text that needs shaping, with marks or in a script of the second font, has none.
"""

import struct
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from scenarioctl.render.letters import FOLDER

#: A point of a contour, and whether the curve goes through it.
_Point = tuple[int, int, bool]

# Flags of a point, and of a part of a composite letter.
_ON, _SHORT_X, _SHORT_Y, _REPEAT, _SAME_X, _SAME_Y = 1, 2, 4, 8, 16, 32
_WORDS, _OFFSETS, _SCALED, _MORE = 1, 2, 8 | 64 | 128, 32


class Outline(NamedTuple):
    """A letter: the commands of its path, from the point where it stands, and how far on the next one stands."""

    path: str
    advance: int


class TextOutline(NamedTuple):
    """A line of text: its path in units of the font with y upwards, and its size in them."""

    path: str
    width: int
    units_per_em: int


def outline(text: str, *, bold: bool = False) -> TextOutline | None:
    """Return the outline of *text*; None where letters are lacking or have to be shaped."""
    font = _open("Inter-SemiBold" if bold else "Inter-Regular")
    parts = []
    at = 0
    for letter in text:
        drawn = font.letter(letter)
        if drawn is None:
            return None
        if drawn.path:
            parts.append(f"M{at} 0{drawn.path}")
        at += drawn.advance
    return TextOutline("".join(parts), at, font.units_per_em)


class _Font:
    def __init__(self, data: bytes) -> None:
        self._data = data
        count = _number(data, 4)
        self._tables: Mapping[bytes, int] = {
            data[at : at + 4]: int.from_bytes(data[at + 8 : at + 12]) for at in range(12, 12 + 16 * count, 16)
        }
        head = self._tables[b"head"]
        self.units_per_em = _number(data, head + 18)
        self._long = bool(_number(data, head + 50))
        self._metrics = _number(data, self._tables[b"hhea"] + 34)
        self._glyphs = self._read_glyphs()
        self._letters: dict[str, Outline | None] = {}

    def letter(self, letter: str) -> Outline | None:
        if letter not in self._letters:
            glyph = self._glyphs.get(ord(letter))
            shaped = glyph is None or unicodedata.combining(letter)
            self._letters[letter] = None if glyph is None or shaped else self._outline(glyph)
        return self._letters[letter]

    def _outline(self, glyph: int) -> Outline:
        at = self._tables[b"hmtx"] + 4 * min(glyph, self._metrics - 1)
        return Outline("".join(_commands(self._contours(glyph))), _number(self._data, at))

    def _read_glyphs(self) -> dict[int, int]:
        """Return the glyph of each letter, out of the table's part in format 4."""
        data, table = self._data, self._tables[b"cmap"]
        parts = [
            table + int.from_bytes(data[at + 4 : at + 8])
            for at in range(table + 4, table + 4 + 8 * _number(data, table + 2), 8)
        ]
        part = next(at for at in parts if _number(data, at) == 4)
        count = _number(data, part + 6) // 2
        ends, starts, deltas, offsets = (
            part + 14 + 2 * count * number + (2 if number else 0) for number in range(4)
        )
        found = {}
        for segment in range(0, 2 * count, 2):
            start, end = _number(data, starts + segment), _number(data, ends + segment)
            delta, offset = _number(data, deltas + segment), _number(data, offsets + segment)
            for code in range(start, end + 1):
                glyph = code
                if offset:
                    glyph = _number(data, offsets + segment + offset + 2 * (code - start))
                if glyph:
                    found[code] = (glyph + delta) & 0xFFFF
        return found

    def _contours(self, glyph: int) -> list[list[_Point]]:
        data, places = self._data, self._tables[b"loca"]
        start, end = (
            int.from_bytes(data[places + 4 * each : places + 4 * each + 4])
            if self._long
            else 2 * _number(data, places + 2 * each)
            for each in (glyph, glyph + 1)
        )
        if start == end:
            return []
        at = self._tables[b"glyf"] + start
        (count,) = struct.unpack_from(">h", data, at)
        return self._simple(at + 10, count) if count >= 0 else self._composite(at + 10)

    def _simple(self, at: int, count: int) -> list[list[_Point]]:
        data = self._data
        last = struct.unpack_from(f">{count}H", data, at)
        at += 2 * count
        at += 2 + _number(data, at)
        total = last[-1] + 1 if last else 0
        flags: list[int] = []
        while len(flags) < total:
            flag = data[at]
            at += 1
            times = 1
            if flag & _REPEAT:
                times += data[at]
                at += 1
            flags += [flag] * times
        across, at = self._coordinates(at, flags, _SHORT_X, _SAME_X)
        up, at = self._coordinates(at, flags, _SHORT_Y, _SAME_Y)
        points = [(x, y, bool(flag & _ON)) for x, y, flag in zip(across, up, flags, strict=True)]
        begins = (0, *(each + 1 for each in last))
        return [points[begin : end + 1] for begin, end in zip(begins, last, strict=False)]

    def _coordinates(self, at: int, flags: list[int], short: int, same: int) -> tuple[list[int], int]:
        found = []
        value = 0
        for flag in flags:
            if flag & short:
                value += self._data[at] if flag & same else -self._data[at]
                at += 1
            elif not flag & same:
                value += struct.unpack_from(">h", self._data, at)[0]
                at += 2
            found.append(value)
        return found, at

    def _composite(self, at: int) -> list[list[_Point]]:
        data = self._data
        contours = []
        flags = _MORE
        while flags & _MORE:
            flags, glyph = struct.unpack_from(">HH", data, at)
            x, y = struct.unpack_from(">hh" if flags & _WORDS else ">bb", data, at + 4)
            at += 8 if flags & _WORDS else 6
            if flags & _SCALED or not flags & _OFFSETS:
                raise ValueError("a letter of the bundled fonts is made in a way that is not read here")
            contours += [[(px + x, py + y, on) for px, py, on in part] for part in self._contours(glyph)]
        return contours


def _commands(contours: list[list[_Point]]) -> Iterator[str]:
    """Yield a path's commands, all of them relative: a letter is the same wherever it stands."""
    at_x = at_y = 0
    for points in contours:
        on = next((number for number, point in enumerate(points) if point[2]), None)
        if on is None:
            # Between two points that the curve passes by, it goes through their middle.
            (ax, ay, _), (bx, by, _) = points[-1], points[0]
            points = [((ax + bx) // 2, (ay + by) // 2, True), *points]
            on = 0
        around = [*points[on:], *points[: on + 1]]
        x, y, _ = around[0]
        yield f"m{x - at_x} {y - at_y}"
        first_x, first_y = x, y
        beside: tuple[int, int] | None = None
        for px, py, through in around[1:]:
            if not through:
                if beside is not None:
                    mx, my = (beside[0] + px) // 2, (beside[1] + py) // 2
                    yield f"q{beside[0] - x} {beside[1] - y} {mx - x} {my - y}"
                    x, y = mx, my
                beside = (px, py)
                continue
            if beside is None:
                yield f"l{px - x} {py - y}"
            else:
                yield f"q{beside[0] - x} {beside[1] - y} {px - x} {py - y}"
            x, y, beside = px, py, None
        yield "z"
        at_x, at_y = first_x, first_y


@cache
def _open(face: str) -> _Font:
    return _Font((FOLDER / f"{face}.ttf").read_bytes())


def _number(data: bytes, at: int) -> int:
    return data[at] << 8 | data[at + 1]
