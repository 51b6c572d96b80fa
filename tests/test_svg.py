"""What a picture shows, letter by letter; what people write in a diagram stays text in it.

    python -m tests.test_svg

draws the golden pictures in `tests/data/pictures` anew: look at them before they are committed.
"""

import re
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarioctl.application import Application
from scenarioctl.render.layout import (
    clean,
    drawable,
    fit,
    measure,
    missing,
    runs,
    wrap,
)
from scenarioctl.render.picture import MOST_CARDS
from scenarioctl.render.svg import BADGE_TEXT_COLOR, CHAIN_COLORS, COLORS, THEMES, escape, write_svg
from tests.conftest import DATA
from tests.drawing import SAMPLES, document, make_app, picture_of, read_document

PICTURES = DATA / "pictures"
SVG = "{http://www.w3.org/2000/svg}"

#: All that a picture is made of: nothing that refers, runs or embeds.
ELEMENTS = {"svg", "title", "g", "rect", "circle", "path", "text", "tspan"}
ATTRIBUTES = {
    "class", "role", "width", "height", "viewBox", "x", "y", "cx", "cy", "r", "rx", "d",
        "transform",
    "font-family", "font-size", "font-weight", "text-anchor", "textLength", "lengthAdjust",
    "data-node", "data-source", "data-target", "fill",
    "stroke", "stroke-opacity", "stroke-width", "stroke-linecap", "stroke-linejoin",
        "stroke-dasharray",
}  # fmt: skip

#: Graphs that no sample of the editor has, by the names of their golden pictures.
GRAPHS: dict[str, Any] = {
    "wrapped": document(9, [(n, n + 1) for n in range(8)]),
    "branches": document(
        7, [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4), (0, 4), (4, 5), (5, 6)]
    ),
    "circle": document(4, [(0, 1), (1, 2), (2, 1), (2, 3), (3, 3)]),
    "empty": document(0, []),
}
GRAPHS["dangling"] = document(2, [(0, 1), (1, 2)])
GRAPHS["dangling"]["edges"][0]["label"] = "top up"


@pytest.fixture
def app(tmp_path: Path) -> Application:
    return make_app(tmp_path)


def golden_pictures(app: Application) -> dict[str, str]:
    """Return the name and the text of every golden picture."""
    found = {}
    for path in SAMPLES:
        found[path.stem] = write_svg(picture_of(app, read_document(path)))
    for name, raw in GRAPHS.items():
        found[name] = write_svg(picture_of(app, raw))
    swap = read_document(DATA / "diagrams" / "swap_with_minimum.json")
    found["swap_with_minimum-dark"] = write_svg(picture_of(app, swap), theme="dark", width=1600)
    return found


def test_the_golden_pictures_are_drawn_to_the_letter(app: Application) -> None:
    drawn = golden_pictures(app)

    assert {path.stem for path in PICTURES.glob("*.svg")} == set(drawn)
    for name, text in drawn.items():
        assert text == (PICTURES / f"{name}.svg").read_text(), name


def texts_of(svg: str) -> list[str]:
    return ["".join(each.itertext()) for each in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_a_swap_without_a_minimum_is_no_problem_but_a_quote(app: Application) -> None:
    picture = picture_of(app, read_document(DATA / "diagrams" / "swap.json"))

    assert [card.state for card in picture.cards] == ["ok", "ok", "ok"]
    assert "the quote less 1 %" in texts_of(write_svg(picture))


def test_a_pictured_address_of_the_web_keeps_its_secrets(app: Application) -> None:
    raw = document(
        1,
        [],
        {"url": "https://me:secret@hooks.example.org/services/T0/KEY?token=abc", "method": "post"},
    )
    raw["nodes"][0]["type"] = "http"

    svg = write_svg(picture_of(app, raw))

    assert "hooks.example.org" in texts_of(svg)
    assert not re.search("secret|KEY|token", svg)


def test_what_is_unfinished_is_marked(app: Application) -> None:
    picture = picture_of(app, GRAPHS["dangling"])
    svg = write_svg(picture)

    assert [card.state for card in picture.cards] == ["ok", "ok", "missing"]
    assert [arrow.unfinished for arrow in picture.arrows] == [False, True]
    assert "No such node" in texts_of(svg)
    assert "top up" in texts_of(svg)


def test_the_edges_that_lead_back_are_marked_and_no_others(app: Application) -> None:
    picture = picture_of(app, GRAPHS["circle"])

    assert [arrow.unfinished for arrow in picture.arrows] == [False, False, True, False, True]


def test_what_waits_for_a_webhook_is_no_fault(app: Application) -> None:
    picture = picture_of(app, read_document(DATA / "diagrams" / "webhook_query.json"))

    assert [card.state for card in picture.cards] == ["ok", "waiting"]


def test_a_huge_diagram_shows_its_first_steps_and_says_so(app: Application) -> None:
    picture = picture_of(
        app, document(MOST_CARDS + 500, [(n, n + 1) for n in range(MOST_CARDS + 499)])
    )

    assert len(picture.cards) == MOST_CARDS
    assert picture.left_out == 500
    assert "and 500 more steps" in texts_of(write_svg(picture))


#: What people, or worse, may write into any field.
ATTACKS = [
    "<script>alert(1)</script>",
    '"><image href="file:///etc/passwd"/><rect x="',
    "' onload='alert(1)",
    "]]> <![CDATA[ <b> ]]>",
    "&xxe; &#60;script&#62; &amp;",
    '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>&e;',
    "<?xml-stylesheet href='http://example.org/x.css'?>",
    "\u202eright to left override\u202c \u2066isolate\u2069",
    "null \x00 bell \x07 escape \x1b[31m \x85 \ufffe \uffff",
    "javascript:alert(1)",
    "url(#x) expression(1)",
]


def with_text(text: str) -> dict[str, Any]:
    """Return a diagram that has *text* wherever it can have one."""
    side = {
        "chain": text,
        "assetId": text,
        "address": text,
        "amount": text,
        "symbol": text,
        "target": text,
    }
    forms: list[tuple[str, dict[str, Any]]] = [
        (
            "chain",
            {
                "chain": text,
                "asset": {"symbol": text, "name": text},
                "address": text,
                "amount": text,
            },
        ),
        *(
            (
                "action",
                {
                    "action": name,
                    "actionData": {"source": side, "target": side, "minAmountOut": text},
                },
            )
            for name in ("xTransfer", "swap", "Remark", text)
        ),
        (
            "chainQuery",
            {
                "selectedChain": text,
                "selectedPallet": text,
                "selectedMethod": {"name": text},
                "methodInput": text,
            },
        ),
        (
            "chainTx",
            {"selectedChain": text, "selectedMethod": {"name": text}, "params": {text: text}},
        ),
        ("http", {"url": text, "method": text}),
        ("webhook", {"webhookName": text, "uuid": text}),
        ("delay", {"seconds": text}),
        (text, {}),
    ]
    nodes = [
        {"id": f"{n}{text}", "type": kind, "formData": form} for n, (kind, form) in enumerate(forms)
    ]
    ids = [node["id"] for node in nodes] + [f"gone{text}"]
    edges = [{"source": a, "target": b, "label": text} for a, b in pairwise(ids)]
    return {"nodes": nodes, "edges": edges}


def check_harmless(svg: str) -> None:
    """Hold a picture against all that it may consist of."""
    assert "<!" not in svg
    assert "<?" not in svg
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff]", svg)
    for element in ElementTree.fromstring(svg).iter():
        assert element.tag.removeprefix(SVG) in ELEMENTS
        assert set(element.attrib) <= ATTRIBUTES
        assert "url(" not in "".join(
            value for name, value in element.attrib.items() if not name.startswith("data-")
        )


@pytest.mark.parametrize("text", ATTACKS, ids=range(len(ATTACKS)))
def test_what_people_write_stays_text(app: Application, text: str) -> None:
    svg = write_svg(picture_of(app, with_text(text)))

    check_harmless(svg)
    assert clean(text)[:5] in "\n".join(texts_of(svg))


@given(text=st.text(max_size=60))
@settings(max_examples=40, deadline=None)
def test_any_text_makes_a_harmless_picture(text: str) -> None:
    app = make_app(Path("/nowhere"))

    check_harmless(write_svg(picture_of(app, with_text(text or "x"))))


@given(text=st.text(max_size=80), width=st.integers(30, 300))
@settings(max_examples=200, deadline=None)
def test_a_text_is_cut_to_its_room(text: str, width: int) -> None:
    cut = fit(clean(text), width, 12.5)

    assert measure(cut, 12.5) <= width
    assert cut == clean(text) or cut.endswith("…")


@given(text=st.text(max_size=120), lines=st.integers(1, 4))
@settings(max_examples=200, deadline=None)
def test_a_wrapped_text_keeps_to_its_lines(text: str, lines: int) -> None:
    found = wrap(clean(text), 120, 11, lines)

    assert len(found) <= lines
    assert all(measure(line, 11) <= 120 for line in found)


@given(text=st.text(max_size=60))
def test_a_text_is_split_by_fonts_without_a_loss(text: str) -> None:
    assert "".join(piece for _, piece in runs(text)) == text


def test_letters_that_the_fonts_lack_become_boxes() -> None:
    assert drawable("DOT 漢字 😀") == "DOT □□ □"
    assert missing("DOT 漢字 漢 😀") == "漢字😀"
    assert missing("Żółć Ελλάδα Привет שלום مرحبا Հայ ქართ → ≥ ½ €") == ""


def test_marks_cannot_pile_up() -> None:
    assert clean("Z" + "\u0351" * 50 + "a") == "Z\u0351\u0351\u0351a"


def test_a_letter_keeps_its_marks_where_a_text_is_cut() -> None:
    text = "e\u0301" * 40

    cut = fit(text, 100, 12)

    assert cut[:-1] == "e\u0301" * (len(cut) // 2)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_every_text_can_be_read_on_its_ground() -> None:
    for theme in THEMES.values():
        for ink in (theme.text, theme.soft, theme.faint):
            assert contrast(ink, theme.card) >= 4.5, (theme.name, ink)
        assert contrast(theme.faint, theme.canvas) >= 4.5
        assert contrast(theme.problem, theme.problem_back) >= 4.5
        assert contrast(theme.waiting, theme.waiting_back) >= 4.5
        for color in COLORS.values():
            assert contrast(*color[theme.name]) >= 4.5
    for ground in CHAIN_COLORS.values():
        assert contrast(BADGE_TEXT_COLOR, ground) >= 4.5


def test_escaping_covers_what_xml_means() -> None:
    assert escape("""<a b="c" d='e'>&""") == "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;"


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in golden_pictures(make_app(Path(folder))).items():
            (PICTURES / f"{name}.svg").write_text(text)


if __name__ == "__main__":
    main()
