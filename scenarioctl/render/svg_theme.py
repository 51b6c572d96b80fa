"""Colors of a preview, in a light and a dark theme."""

from typing import NamedTuple


class Theme(NamedTuple):
    """The colors of a picture that do not depend on the step type."""

    name: str
    canvas: str
    card: str
    border: str
    text: str
    soft: str
    faint: str
    line: str
    problem: str
    problem_back: str
    waiting: str
    waiting_back: str


THEMES = {
    theme.name: theme
    for theme in (
        Theme(
            name="light",
            canvas="#f6f7fb",
            card="#ffffff",
            border="#dfe3ec",
            text="#161b2b",
            soft="#4b5468",
            faint="#667085",
            line="#98a2b8",
            problem="#b42318",
            problem_back="#fef1f0",
            waiting="#93590a",
            waiting_back="#fdf5e3",
        ),
        Theme(
            name="dark",
            canvas="#0e121b",
            card="#181e2b",
            border="#2b3448",
            text="#eef1f8",
            soft="#b3bccf",
            faint="#8e99b0",
            line="#5f6d89",
            problem="#ff9c92",
            problem_back="#32191b",
            waiting="#f0bd62",
            waiting_back="#2e2415",
        ),
    )
}


#: Colors of icons and of the squares behind them, by `Look.color` and theme.
COLORS = {
    "blue": {"light": ("#2456d6", "#e9effe"), "dark": ("#86abff", "#1b2a4d")},
    "violet": {"light": ("#6b3fd4", "#f0ebfd"), "dark": ("#b69bff", "#2a2149")},
    "teal": {"light": ("#0b7269", "#e2f5f2"), "dark": ("#5cd6c9", "#12332f")},
    "amber": {"light": ("#93590a", "#fcf2dc"), "dark": ("#f0bd62", "#352a14")},
    "rose": {"light": ("#b4245d", "#fdeaf2"), "dark": ("#ff94bd", "#3b1b2a")},
    "slate": {"light": ("#4b5468", "#edf0f5"), "dark": ("#b3bccf", "#262e3e")},
}

#: Background of a chain's badge; white letters on it are readable.
CHAIN_COLORS = {
    "polkadot": "#d6006f",
    "assetHub": "#1b6e53",
    "hydraDx": "#b3145f",
    "kusama": "#30343f",
    "assetHub_kusama": "#51606f",
    "paseo": "#7a3fd0",
    "assetHub_paseo": "#5a55b8",
}


class BadgeMark(NamedTuple):
    """The sign on a chain's badge: strokes in a square of 24. They are made for this program; no chain uses them."""

    path: str
    width: float = 2.1


_DOTS = BadgeMark("M12 4.4h.01M18.6 8.2h.01M18.6 15.8h.01M12 19.6h.01M5.4 15.8h.01M5.4 8.2h.01", width=4.6)
_WINGS = BadgeMark("M5 7.5l7 4.5 7-4.5M5 13.5l7 4.5 7-4.5", width=2.6)
_LAYERS = BadgeMark("M12 4.5l8 4.4-8 4.4-8-4.4zM4 13.6l8 4.4 8-4.4")
_DROP = BadgeMark(
    "M12 3.6c3.7 4.3 5.8 7.2 5.8 10.1a5.8 5.8 0 0 1-11.6 0c0-2.9 2.1-5.8 5.8-10.1zM9.4 14.2c.2 1.4 1 2.2 2.4 2.4"
)
_FLASK = BadgeMark(
    "M9 4.5h6M10.3 4.5v5.4l-4.6 8.2a1 1 0 0 0 .9 1.4h10.8a1 1 0 0 0 .9-1.4l-4.6-8.2v-5.4M8 15h8"
)
#: Other chains have the letters of their title.
CHAIN_MARKS = {
    "polkadot": _DOTS,
    "kusama": _WINGS,
    "paseo": _FLASK,
    "assetHub": _LAYERS,
    "assetHub_kusama": _LAYERS,
    "assetHub_paseo": _LAYERS,
    "hydraDx": _DROP,
}
OTHER_CHAIN_COLOR = "#55607a"
BADGE_TEXT_COLOR = "#ffffff"
