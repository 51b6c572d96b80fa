"""Convert SVG to PNG, with the bundled fonts only; QR codes for wallets that scan them.

The renderer lets no other thread run while it draws, so the bounds keep a daemon from stopping for
long.
"""

from collections.abc import Sequence
from math import floor, sqrt
from typing import TYPE_CHECKING

from scenarioctl.errors import InvalidRequest
from scenarioctl.render.picture import LEAST_WIDTH, MOST_WIDTH, Picture
from scenarioctl.render.svg import canvas_size, find_layout, write_svg
from scenarioctl.render.text_metrics import FILES

if TYPE_CHECKING:
    from segno import QRCode

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
