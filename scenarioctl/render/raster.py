"""Convert SVG to PNG, with the bundled fonts only.

The renderer lets no other thread run while it draws.  A daemon has what takes longer drawn by a
process of its own, which is this module: an SVG on stdin, the width as the argument, a PNG on
stdout.
"""

import sys
from collections import OrderedDict
from collections.abc import Sequence
from math import floor, sqrt
from threading import Lock
from typing import TYPE_CHECKING

from scenarioctl.errors import InvalidRequest, NotReady
from scenarioctl.render.picture import LEAST_WIDTH, MOST_WIDTH, Picture
from scenarioctl.render.svg import canvas_size, find_layout, write_svg
from scenarioctl.render.text_metrics import FILES

if TYPE_CHECKING:
    from segno import QRCode

#: Drawn in a tenth of a second by the slowest machine that anybody would serve from.
SOON = 500_000
#: Seconds for the largest picture, many times over.
PATIENCE = 60.0


class Drawn:
    """Cache of the last pictures, within a limit of bytes: pages reload, and dashboards poll every
    few seconds."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._pictures: OrderedDict[bytes, bytes] = OrderedDict()
        self._lock = Lock()

    def find(self, key: bytes) -> bytes | None:
        with self._lock:
            found = self._pictures.get(key)
            if found is not None:
                self._pictures.move_to_end(key)
            return found

    def keep(self, key: bytes, picture: bytes) -> None:
        with self._lock:
            if key in self._pictures or len(picture) > self._most:
                return
            self._pictures[key] = picture
            self._size += len(picture)
            while self._size > self._most:
                _, oldest = self._pictures.popitem(last=False)
                self._size -= len(oldest)

    def forget(self) -> None:
        with self._lock:
            self._pictures.clear()
            self._size = 0


DRAWN = Drawn(16 * 1024 * 1024)


def rasterize(svg: str, width: int, *, pixels: int, served: bool = False) -> bytes:
    """Return the PNG of *svg*, *width* pixels wide and *pixels* large in all.

    In a program that is *served* by threads the others go on meanwhile, and what was drawn is kept
    for who asks again.
    """
    if not served:
        return _rasterize(svg, width)
    from hashlib import sha256

    text = svg.encode()
    # Keyed by the SVG itself, so that any change of a picture misses the cache.
    key = sha256(text).digest() + width.to_bytes(4)
    found = DRAWN.find(key)
    if found is None:
        found = _rasterize(svg, width) if pixels <= SOON else _rasterize_apart(text, width)
        DRAWN.keep(key, found)
    return found


def _rasterize(svg: str, width: int) -> bytes:
    # Slow to import, and needed only here.
    from resvg_py import svg_to_bytes

    return svg_to_bytes(
        svg_string=svg,
        width=width,
        skip_system_fonts=True,
        font_files=[str(file) for file in FILES],
        font_family="Inter",
    )


def _rasterize_apart(svg: bytes, width: int) -> bytes:
    import subprocess

    # -P: no module of the folder that the daemon was started in takes the place of one of ours.  In
    # a group of its own: Ctrl-C on the daemon's terminal is not for it.
    try:
        return subprocess.run(  # noqa: S603 - this very program, and a number
            [sys.executable, "-P", "-m", "scenarioctl.render.raster", str(width)],
            input=svg,
            stdout=subprocess.PIPE,
            timeout=PATIENCE,
            check=True,
            process_group=0,
        ).stdout
    except subprocess.TimeoutExpired:
        raise NotReady(
            (
                f"the daemon is busy: a PNG {width} pixels wide was not drawn within "
                f"{PATIENCE:g} s; pass a smaller width, or the format svg"
            ),
            details={"retry_after": 10},
        ) from None


def main() -> None:
    """Draw the SVG on stdin."""
    sys.stdout.buffer.write(_rasterize(sys.stdin.buffer.read().decode(), int(sys.argv[1])))


if __name__ == "__main__":
    main()


#: Each takes four bytes of memory.
MOST_PIXELS = 16_000_000
#: Pixels times cards and edges: what it takes to draw a picture. This much takes about 2 s.
MOST_DRAWN = 3_000_000_000
#: Where no width is asked for: a small picture is drawn finer than it is large, up to so many
#: pixels and so fine, and a large one coarser.  Pixels take time.
_FINE_PIXELS = 400_000
_FINEST = 2.0
_COARSE_PIXELS = 4_000_000


def write_png(
    picture: Picture,
    *,
    theme: str = "light",
    width: int = 0,
    letters: bool = True,
    served: bool = False,
) -> bytes:
    """Return *picture* as PNG, *width* pixels wide; without it as fine as is quickly done; *served*
    as in `raster.py`."""
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
    fine = sqrt(_FINE_PIXELS / (wide * high))
    # In halves: edges that fall between pixels take longer, and are blurred.
    scale = min(_FINEST, max(1.0, floor(fine * 2) / 2), sqrt(_COARSE_PIXELS / (wide * high)))
    pixels = width or max(LEAST_WIDTH, int(min(scale * wide, largest)))
    svg = write_svg(picture, theme=theme, boxes=True, outlines=True, letters=letters, layout=layout)
    return rasterize(svg, pixels, pixels=round(pixels * pixels * high / wide), served=served)


#: White modules around a code, as the standard requires.
BORDER = 4


def make_codes(frames: Sequence[bytes]) -> "list[QRCode]":
    """Return a QR code for each of *frames*, in byte mode and nothing else: Vault reads raw
    bytes."""
    from segno import make_qr

    return [make_qr(frame, mode="byte", error="m", boost_error=False) for frame in frames]
