"""The picture of an account that wallets show beside its address, so that people recognize it.

19 circles whose colors come from a hash of the public key, as in polkadot.js
(`@polkadot/ui-shared`) and the wallets that show the same picture.
"""

from cmath import exp, pi
from collections.abc import Iterator
from colorsys import hls_to_rgb
from functools import cache
from hashlib import blake2b
from itertools import pairwise
from typing import NamedTuple

from scenarioctl.render.layout import number_text

#: Of the square, and of its parts.
_SIZE, _RING, _CIRCLE = 64, 24, 5


class _Scheme(NamedTuple):
    """Which color of an account's palette each of the 19 circles has."""

    #: Of how many accounts, in relation to the other schemes.
    frequency: int
    colors: tuple[int, ...]


_SCHEMES = (
    _Scheme(1, (0, 28, 0, 0, 28, 0, 0, 28, 0, 0, 28, 0, 0, 28, 0, 0, 28, 0, 1)),
    _Scheme(20, (0, 1, 3, 2, 4, 3, 0, 1, 3, 2, 4, 3, 0, 1, 3, 2, 4, 3, 5)),
    _Scheme(16, (1, 2, 3, 1, 2, 4, 5, 5, 4, 1, 2, 3, 1, 2, 4, 5, 5, 4, 0)),
    _Scheme(32, (0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 3)),
    _Scheme(32, (0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 6)),
    _Scheme(128, (0, 1, 2, 3, 4, 5, 3, 4, 2, 0, 1, 6, 7, 8, 9, 7, 8, 6, 10)),
    _Scheme(128, (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 8, 6, 7, 5, 3, 4, 2, 11)),
)


def draw_identicon(account: bytes) -> str:
    """Return the picture of *account* as an SVG document."""
    places: dict[str, str] = {}
    for place, color in zip(_places(), identicon_colors(account), strict=True):
        # A line of no length with round ends.
        dot = f"M{number_text(place.real)} {number_text(place.imag)}h.01"
        places[color] = places.get(color, "") + dot
    dots = "".join(f'<path d="{path}" stroke="{color}"/>' for color, path in places.items())
    middle = number_text(_SIZE / 2)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_SIZE} {_SIZE}" '
        f'stroke-width="{2 * _CIRCLE}" stroke-linecap="round">'
        f'<circle cx="{middle}" cy="{middle}" r="{middle}" fill="#eeeeee"/>{dots}</svg>'
    )


def identicon_colors(account: bytes) -> tuple[str, ...]:
    """Return the colors of the 19 circles, like `#a1b2c3`; `none` for one that isn't drawn."""
    id = bytes(
        (one - zero) % 256
        for one, zero in zip(_hash(account), _hash(bytes(len(account))), strict=True)
    )
    saturation = (id[29] * 70 // 256 + 26) % 80 + 30
    scheme = _scheme((id[30] + 256 * id[31]) % sum(each.frequency for each in _SCHEMES))
    turn = id[28] % 6 * 3
    ring = [scheme.colors[(number + turn) % 18] for number in range(18)]
    return tuple(_color(id, number, saturation) for number in (*ring, scheme.colors[18]))


def _hash(account: bytes) -> bytes:
    return blake2b(account).digest()


def _scheme(number: int) -> _Scheme:
    for scheme in _SCHEMES:
        if number < scheme.frequency:
            return scheme
        number -= scheme.frequency
    raise AssertionError("a number beyond all schemes")


def _color(id: bytes, number: int, saturation: int) -> str:
    value = (id[number] + number % 28 * 58) % 256
    if value == 0:
        return "#444444"
    if value == 255:
        return "none"
    hue, lightness = value % 64 * 360 // 64, (53, 15, 35, 75)[value // 64]
    parts = hls_to_rgb(hue / 360, lightness / 100, saturation / 100)
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)


@cache
def _places() -> tuple[complex, ...]:
    """Return the middles of the circles: in each of six directions one on the ring, one halfway to
    it, and one between two of the ring."""
    return tuple(_find_places())


def _find_places() -> Iterator[complex]:
    middle = complex(_SIZE / 2, _SIZE / 2)
    # Upwards, and on against the clock.
    on_ring = [-1j * _RING * exp(-1j * pi / 3 * number) for number in range(7)]
    for one, next_one in pairwise(on_ring):
        yield from (middle + one, middle + one / 2, middle + (one + next_one) / 2)
    yield middle
