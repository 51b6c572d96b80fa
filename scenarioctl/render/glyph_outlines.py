"""Outlines of the main font's letters, so that the renderer needs no lookup in a font file.

They stand beside the fonts, as `tools/bundle_fonts.py` wrote them.  A text that needs shaping, with marks or in a script
of the second font, has none.
"""

import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from scenarioctl.render.text_metrics import FOLDER


class Outline(NamedTuple):
    """The path of a line of text, in font units with y upwards, and its width."""

    path: str
    width: int
    units_per_em: int


class _Face(NamedTuple):
    units_per_em: int
    #: Code of a letter -> how far on the next one stands, and the commands of its path from where it stands.
    letters: Mapping[str, str]


def outline(text: str, *, bold: bool = False) -> Outline | None:
    """Return the outline of *text*; None if a letter is missing or needs shaping."""
    face = _open("Inter-SemiBold" if bold else "Inter-Regular")
    parts = []
    at = 0
    for letter in text:
        known = face.letters.get(f"{ord(letter):x}")
        if known is None or unicodedata.combining(letter):
            return None
        advance, _, path = known.partition(" ")
        if path:
            parts.append(f"M{at} 0{path}")
        at += int(advance)
    return Outline("".join(parts), at, face.units_per_em)


@cache
def _open(name: str) -> _Face:
    first, *lines = (FOLDER / f"{name}.outlines").read_text().splitlines()
    # Outlines stay unparsed: a picture uses a few dozen letters out of a thousand.
    return _Face(int(first), {code: rest for code, _, rest in [line.partition(" ") for line in lines]})
