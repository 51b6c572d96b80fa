"""A picture as PNG, drawn with the bundled fonts only."""

from math import floor, sqrt

from scenarioctl.errors import InvalidRequest
from scenarioctl.render.picture import LEAST_WIDTH, MOST_WIDTH, Picture
from scenarioctl.render.raster import rasterize
from scenarioctl.render.svg import canvas_size, find_layout, write_svg

#: Each takes four bytes of memory.
_MOST_PIXELS = 16_000_000
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
    largest = min(float(MOST_WIDTH), sqrt(_MOST_PIXELS * wide / high))
    if width > largest:
        raise InvalidRequest(
            f"width {width} would make a picture of {round(width * high / wide)} pixels in height, "
            f"expected at most {int(largest)} for this scenario"
        )
    fine = sqrt(_FINE_PIXELS / (wide * high))
    # In halves: edges that fall between pixels take longer, and are blurred.
    scale = min(_FINEST, max(1.0, floor(fine * 2) / 2), sqrt(_COARSE_PIXELS / (wide * high)))
    pixels = width or max(LEAST_WIDTH, int(min(scale * wide, largest)))
    svg = write_svg(picture, theme=theme, boxes=True, outlines=True, letters=letters, layout=layout)
    return rasterize(svg, pixels, pixels=round(pixels * pixels * high / wide), served=served)
