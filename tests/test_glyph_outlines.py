"""Letters as outlines: the same ink as the renderer makes of the text, and no outline where it has
to shape one."""

import json
import unicodedata
from io import BytesIO

import pytest
import resvg_py
from PIL import Image, ImageChops

from scenarioctl.render.svg import escape
from scenarioctl.render.text_metrics import FILES, FOLDER, measure, outline

FACES = {"Inter-Regular": False, "Inter-SemiBold": True}
SIZE = 32
ROW = 32


def letters_of(face: str) -> str:
    runs = json.loads((FOLDER / "advances.json").read_text())[face]
    codes = (start + number for start, widths in runs for number in range(len(widths)))
    return "".join(
        letter for letter in map(chr, codes) if unicodedata.category(letter)[0] not in "CMZ"
    )


def draw(parts: list[str], high: int) -> Image.Image:
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{ROW * 2 * SIZE}" height="{high}" '
        'font-family="Inter" '
        f'font-size="{SIZE}" font-kerning="none"><rect width="100%" height="100%" '
        f'fill="#fff"/>{"".join(parts)}</svg>'
    )
    png = resvg_py.svg_to_bytes(
        svg_string=svg, skip_system_fonts=True, font_files=[str(file) for file in FILES]
    )
    return Image.open(BytesIO(png)).convert("L")


@pytest.mark.parametrize("face", FACES)
def test_an_outline_leaves_the_ink_that_the_letter_leaves(face: str) -> None:
    bold = FACES[face]
    letters = letters_of(face)
    as_text, as_path = [], []
    for number, letter in enumerate(letters):
        x, y = (number % ROW) * 2 * SIZE + SIZE // 2, (number // ROW) * 2 * SIZE + SIZE * 3 // 2
        drawn = outline(letter, bold=bold)
        assert drawn is not None, letter
        scale = SIZE / drawn.units_per_em
        weight = ' font-weight="600"' if bold else ""
        as_text.append(f'<text x="{x}" y="{y}"{weight}>{escape(letter)}</text>')
        as_path.append(f'<path transform="matrix({scale} 0 0 {-scale} {x} {y})" d="{drawn.path}"/>')
    high = (len(letters) // ROW + 1) * 2 * SIZE

    texts, paths = draw(as_text, high), draw(as_path, high)

    assert len(letters) > 900
    difference = ImageChops.difference(texts, paths)
    for number, letter in enumerate(letters):
        x, y = (number % ROW) * 2 * SIZE, (number // ROW) * 2 * SIZE
        cell = (x, y, x + 2 * SIZE, y + 2 * SIZE)
        assert min(texts.crop(cell).tobytes()) < 200, letter
        # Coordinates between pixels are rounded in another place.
        assert max(difference.crop(cell).tobytes()) < 40, letter


@pytest.mark.parametrize("bold", [False, True])
def test_a_line_is_as_wide_as_it_is_measured(bold: bool) -> None:
    text = "Polkadot Asset Hub, 1.5 DOT → Łódź Ελλάδα Привет"

    drawn = outline(text, bold=bold)

    assert drawn is not None
    assert drawn.width * 12.5 / drawn.units_per_em == pytest.approx(
        measure(text, 12.5, bold=bold), abs=0.01 * len(text)
    )
    assert drawn.path.count("M") == len(text.replace(" ", ""))


@pytest.mark.parametrize("text", ["e\u0301", "مرحبا", "שלום", "漢字", "😀", "DOT ☂"])
def test_what_has_to_be_shaped_or_is_lacking_has_no_outline(text: str) -> None:
    assert outline(text) is None
