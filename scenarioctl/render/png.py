"""A picture as PNG, drawn with the bundled fonts only."""

from math import floor, sqrt

from scenarioctl.errors import InvalidRequest
from scenarioctl.render.picture import LEAST_WIDTH, MOST_WIDTH, Picture
from scenarioctl.render.raster import rasterize
from scenarioctl.render.svg import canvas_size, find_layout, write_svg

#: Each takes four bytes of memory.
MOST_PIXELS = 16_000_000
#: Pixels times cards and edges: what it takes to draw a picture. This much takes about 2 s.
MOST_DRAWN = 3_000_000_000
#: Where no width is asked for: a small picture is drawn finer than it is large, up to so many pixels and so fine,
#: and a large one coarser.  Pixels take time.
_FINE_PIXELS = 400_000
_FINEST = 2.0
_COARSE_PIXELS = 4_000_000


def write_png(
    picture: Picture, *, theme: str = "light", width: int = 0, letters: bool = True, served: bool = False
) -> bytes:
    """Return *picture* as PNG, *width* pixels wide; without it as fine as is quickly done; *served* as in `raster.py`."""
    layout = find_layout(picture)
    wide, high = canvas_size(picture, layout)
    marks = len(picture.cards) + len(picture.arrows)
    largest = min(float(MOST_WIDTH), sqrt(min(MOST_PIXELS, MOST_DRAWN / max(1, marks)) * wide / high))
    if width > max(LEAST_WIDTH, largest):
        raise InvalidRequest(
            f"width {width} would make a PNG of {width} x {round(width * high / wide)} pixels with {marks} cards and edges, "
            f"expected at most {max(LEAST_WIDTH, int(largest))} for this scenario, or the format svg"
        )
    fine = sqrt(_FINE_PIXELS / (wide * high))
    # In halves: edges that fall between pixels take longer, and are blurred.
    scale = min(_FINEST, max(1.0, floor(fine * 2) / 2), sqrt(_COARSE_PIXELS / (wide * high)))
    pixels = width or max(LEAST_WIDTH, int(min(scale * wide, largest)))
    svg = write_svg(picture, theme=theme, boxes=True, outlines=True, letters=letters, layout=layout)
    return rasterize(svg, pixels, pixels=round(pixels * pixels * high / wide), served=served)
