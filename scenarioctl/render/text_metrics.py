"""Measure text in the bundled fonts, and cut or wrap it to fit.

Inter draws what it can, DejaVu Sans what Inter lacks; `tools/bundle_fonts.py` made both.  Widths
are without kerning, so that a text is rather a bit narrower than it is said to be.
"""

import json
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

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
