"""The letters of the main font as outlines: what a renderer need not look up in a font file, letter by letter.

They stand beside the fonts, as `tools/bundle_fonts.py` wrote them.  A text that needs shaping, with marks or in a script
of the second font, has none.
"""

import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from scenarioctl.render.letters import FOLDER


class Outline(NamedTuple):
    """A line of text: its path in units of the font with y upwards, and its size in them."""

    path: str
    width: int
    units_per_em: int


class _Face(NamedTuple):
    units_per_em: int
    #: Letter -> how far on the next one stands, and the commands of its path from where it stands.
    letters: Mapping[str, tuple[int, str]]


def outline(text: str, *, bold: bool = False) -> Outline | None:
    """Return the outline of *text*; None where letters are lacking or have to be shaped."""
    face = _open("Inter-SemiBold" if bold else "Inter-Regular")
    parts = []
    at = 0
    for letter in text:
        known = face.letters.get(letter)
        if known is None:
            return None
        advance, path = known
        if path:
            parts.append(f"M{at} 0{path}")
        at += advance
    return Outline("".join(parts), at, face.units_per_em)


@cache
def _open(name: str) -> _Face:
    first, *lines = (FOLDER / f"{name}.outlines").read_text().splitlines()
    letters = {}
    for line in lines:
        code, advance, path = line.split(" ", 2)
        letter = chr(int(code, 16))
        if not unicodedata.combining(letter):
            letters[letter] = int(advance), path
    return _Face(int(first), letters)
