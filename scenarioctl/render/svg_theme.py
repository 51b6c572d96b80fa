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
    "pop": "#2456d6",
    "passetHub": "#0b6a86",
}
OTHER_CHAIN_COLOR = "#55607a"
BADGE_TEXT_COLOR = "#ffffff"
