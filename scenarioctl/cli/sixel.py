"""Sixels: how a terminal of the DEC kind is shown a picture, six rows of pixels at a time, in few colours."""

import struct
import zlib
from collections import Counter
from collections.abc import Iterator

#: Registers for colours that every such terminal has.
_COLOURS = 256
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def to_sixels(png: bytes) -> str:
    """Return the escape sequence that draws a PNG of 8 bits a channel, RGB or RGBA, not interlaced."""
    width, rows = read_pixels(png)
    palette, rows = _reduce(rows)
    parts = [f'\x1bPq"1;1;{width};{len(rows)}']
    parts += [
        f"#{number};2;{_per_cent(red)};{_per_cent(green)};{_per_cent(blue)}"
        for number, (red, green, blue) in enumerate(palette)
    ]
    for top in range(0, len(rows), 6):
        parts.append("$".join(_band(rows[top : top + 6], width)) + "-")
    parts.append("\x1b\\")
    return "".join(parts)


def read_pixels(png: bytes) -> tuple[int, list[list[int]]]:
    """Return a PNG's width and its rows, each pixel as 0xRRGGBB."""
    if png[:8] != _SIGNATURE:
        raise ValueError("not a PNG")
    width, height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", png[16:29])
    if depth != 8 or kind not in (2, 6) or interlaced:
        raise ValueError("not a PNG of 8 bits a channel, RGB or RGBA")
    data, at = b"", 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + length]
        at += length + 12
    step = 4 if kind == 6 else 3
    raw = zlib.decompress(data)
    size = width * step
    before = bytearray(size)
    rows = []
    for top in range(height):
        start = top * (size + 1)
        before = _unfilter(raw[start], bytearray(raw[start + 1 : start + 1 + size]), before, step)
        rows.append(
            [
                red << 16 | green << 8 | blue
                for red, green, blue in zip(before[0::step], before[1::step], before[2::step], strict=True)
            ]
        )
    return width, rows


def _unfilter(kind: int, row: bytearray, above: bytearray, step: int) -> bytearray:
    """Undo a row's filter: each byte is the difference to what its neighbours foretell."""
    if kind == 1:
        for at in range(step, len(row)):
            row[at] = (row[at] + row[at - step]) & 255
    elif kind == 2:
        for at, value in enumerate(above):
            row[at] = (row[at] + value) & 255
    elif kind == 3:
        for at in range(len(row)):
            left = row[at - step] if at >= step else 0
            row[at] = (row[at] + (left + above[at]) // 2) & 255
    elif kind == 4:
        for at in range(len(row)):
            left, corner = (row[at - step], above[at - step]) if at >= step else (0, 0)
            up = above[at]
            to_left, to_up, to_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
            if to_left <= to_up and to_left <= to_corner:
                up = left
            elif to_up > to_corner:
                up = corner
            row[at] = (row[at] + up) & 255
    return row


def _reduce(rows: list[list[int]]) -> tuple[list[tuple[int, int, int]], list[list[int]]]:
    """Return a palette of the colours that most pixels have, and each row as numbers in it."""
    counted: Counter[int] = Counter()
    for row in rows:
        counted.update(row)
    common = [colour for colour, _ in counted.most_common(_COLOURS)]
    palette = [(colour >> 16, colour >> 8 & 255, colour & 255) for colour in common]
    number = {colour: at for at, colour in enumerate(common)}
    for colour in counted:
        if colour not in number:
            red, green, blue = colour >> 16, colour >> 8 & 255, colour & 255
            number[colour] = min(
                range(len(palette)),
                key=lambda at: (
                    abs(palette[at][0] - red) + abs(palette[at][1] - green) + abs(palette[at][2] - blue)
                ),
            )
    return palette, [[number[colour] for colour in row] for row in rows]


def _band(rows: list[list[int]], width: int) -> Iterator[str]:
    """Yield the sixels of each colour in up to six rows."""
    sixels: dict[int, list[int]] = {}
    for bit, row in enumerate(rows):
        for x, colour in enumerate(row):
            line = sixels.get(colour)
            if line is None:
                line = sixels[colour] = [0] * width
            line[x] |= 1 << bit
    for colour, line in sixels.items():
        yield f"#{colour}" + "".join(_runs(line))


def _runs(line: list[int]) -> Iterator[str]:
    at = 0
    while at < len(line):
        end = at
        while end < len(line) and line[end] == line[at]:
            end += 1
        if end == len(line) and not line[at]:
            return
        sign = chr(63 + line[at])
        yield f"!{end - at}{sign}" if end - at > 3 else sign * (end - at)
        at = end


def _per_cent(value: int) -> int:
    return round(value * 100 / 255)
