"""Pictures of accounts."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.render.identicon import draw_identicon, identicon_colors
from tests.conftest import BOB, BOB_HEX, DATA
from tests.messages import says
from tests.serving import Serving

KNOWN: dict[str, Any] = json.loads((DATA / "vectors" / "identicons.json").read_text())


def hex_of(color: str) -> str:
    """Return what CSS means by hsl(…), computed as its specification does."""
    if color == "transparent":
        return "none"
    if color == "#444":
        return "#444444"
    hue, saturation, light = (int(number) for number in re.findall(r"\d+", color))
    reach = saturation / 100 * min(light / 100, 1 - light / 100)

    def channel(number: int) -> int:
        k = (number + hue / 30) % 12
        return round(255 * (light / 100 - reach * max(-1.0, min(k - 3, 9 - k, 1.0))))

    return "#" + "".join(f"{channel(number):02x}" for number in (0, 8, 4))


@pytest.mark.parametrize("account", KNOWN["colors"])
def test_an_account_has_the_colors_that_it_has_in_wallets(account: str) -> None:
    assert list(identicon_colors(bytes.fromhex(account[2:]))) == list(
        map(hex_of, KNOWN["colors"][account])
    )


def test_the_circles_are_where_wallets_have_them() -> None:
    drawn = draw_identicon(bytes(32))

    places = [tuple(map(float, place)) for place in re.findall(r"M([\d.]+) ([\d.]+)h", drawn)]
    ground, *circles = KNOWN["circles"]
    assert sorted(places) == sorted((round(x, 1), round(y, 1)) for x, y, _ in circles)
    assert {2 * radius for _, _, radius in circles} == {
        int(re.findall('stroke-width="(\\d+)"', drawn)[0])
    }
    assert f'<circle cx="{ground[0]}" cy="{ground[1]}" r="{ground[2]}" fill="#eeeeee"/>' in drawn


def test_the_page_has_it_under_each_spelling_of_the_account(tmp_path: Path) -> None:
    with Serving(tmp_path) as served:
        one, other = (
            served.get(f"/web/identicon/{BOB}.svg"),
            served.get(f"/web/identicon/{BOB_HEX}.svg"),
        )
        wrong = served.get("/web/identicon/hello.svg")

    assert one.status == 200
    assert one.headers["content-type"] == "image/svg+xml"
    assert one.body == other.body == draw_identicon(bytes.fromhex(BOB_HEX[2:])).encode()
    assert (wrong.status, wrong.json()["error"]) == (422, says("account", "hello"))
