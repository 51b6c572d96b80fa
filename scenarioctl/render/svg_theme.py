"""Colors of a preview, in a light and a dark theme."""

from typing import NamedTuple


class Ink(NamedTuple):
    """A color by theme."""

    light: str
    dark: str


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


class Color(NamedTuple):
    """The color of an icon, and of the square behind it."""

    ink: Ink
    back: Ink


#: Colors of icons, by `Look.color`.
COLORS = {
    "blue": Color(Ink("#2456d6", "#86abff"), Ink("#e9effe", "#1b2a4d")),
    "violet": Color(Ink("#6b3fd4", "#b69bff"), Ink("#f0ebfd", "#2a2149")),
    "teal": Color(Ink("#0b7269", "#5cd6c9"), Ink("#e2f5f2", "#12332f")),
    "amber": Color(Ink("#93590a", "#f0bd62"), Ink("#fcf2dc", "#352a14")),
    "rose": Color(Ink("#b4245d", "#ff94bd"), Ink("#fdeaf2", "#3b1b2a")),
    "slate": Color(Ink("#4b5468", "#b3bccf"), Ink("#edf0f5", "#262e3e")),
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
