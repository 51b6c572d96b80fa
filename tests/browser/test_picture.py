"""The diagram on the page: moved, zoomed, its cards clicked, and nothing in it that could run."""

import re
from typing import Any

import pytest
from selenium.webdriver.common.action_chains import ActionChains

from tests.browser.page import Daemon, Page
from tests.browser.scenarios import a_flow, a_transfer

pytestmark = pytest.mark.acceptance


def open_picture(page: Page, scenario: str) -> None:
    page.open(f"/#/create/?diagramData={scenario}")
    # That of a single step is folded.
    page.wait(lambda: page.browser.find_elements("css selector", ".picture"))
    page.browser.execute_script(
        "document.querySelector('details.diagram')?.setAttribute('open', '')"
    )
    page.wait(lambda: page.browser.find_elements("css selector", ".picture .node"))
    # What comes above the diagram and below it, once it has come, moves nothing under a pointer any
    # more.
    page.find(".next .button")


def place(page: Page) -> tuple[float, float, float]:
    """Return where the diagram is, and its scale."""
    style = page.value_of(".picture .stage", "style")
    x, y, scale = re.findall(r"-?[\d.]+(?:e-\d+)?", style)
    return float(x), float(y), float(scale)


def test_it_is_dragged_and_zoomed_with_a_pointer(page: Page, daemon: Daemon) -> None:
    open_picture(page, a_transfer(daemon))
    frame = page.find(".picture")
    begun = place(page)

    ActionChains(page.browser).move_to_element(frame).click_and_hold().move_by_offset(
        60, -20
    ).release().perform()
    dragged = place(page)
    ActionChains(page.browser).move_to_element(frame).move_by_offset(30, 0).perform()
    moved_on = place(page)
    page.press("Fit")
    fitted = place(page)
    page.browser.execute_script(
        (
            "arguments[0].dispatchEvent(new WheelEvent('wheel', {deltaY: -300, ctrlKey: true, "
            "cancelable: true}))"
        ),
        frame,
    )

    assert dragged == moved_on == (begun[0] + 60, begun[1] - 20, begun[2])
    assert fitted == begun
    assert place(page)[2] == pytest.approx(2.71828 * fitted[2], rel=1e-4)


def outcomes(page: Page) -> dict[str, str]:
    """Return what the cards say of the last run, by their title."""
    return dict(
        page.browser.execute_script(
            "return [...document.querySelectorAll('.picture .node')].map((node) => ["
            "node.querySelector('title').textContent, "
            "node.querySelector('.outcome')?.textContent ?? ''])"
        )
    )


def test_the_last_run_is_on_the_cards(page: Page, daemon: Daemon) -> None:
    steps: list[dict[str, Any]] = [
        {"type": "Remark", "chain": "polkadot", "text": "first"},
        {"type": "http", "method": "GET", "url": "http://127.0.0.1:9/never"},
        {"type": "delay", "seconds": 1},
    ]
    open_picture(page, a_flow(daemon, {"steps": steps}))
    before = set(outcomes(page).values())

    page.press("Run now")

    assert before == {""}
    told = {
        "Remark": "Drafted in the last run",
        "GET request": "Failed in the last run",
        "Delay": "Skipped in the last run",
    }
    page.wait(lambda: outcomes(page) == told)


def test_nothing_that_runs_or_loads_gets_in(page: Page, daemon: Daemon) -> None:
    attack = """
        <svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
            onload="window.hit=1" width="10" height="10">
          <script>window.hit=1</script><style>*{display:none}</style>
          <foreignObject><body xmlns="http://www.w3.org/1999/xhtml">
            <img src="x" onerror="window.hit=1"/></body></foreignObject>
          <image href="http://127.0.0.1:1/x"/><use href="#a"/>
          <a href="javascript:window.hit=1"><text>x</text></a>
          <animate onbegin="window.hit=1" attributeName="x" dur="1s"/>
          <g class="node" data-node="a" style="color:red" onclick="window.hit=1">
            <rect id="b" fill="red"/><text>kept</text></g>
        </svg>"""
    open_picture(page, a_transfer(daemon))

    made = page.browser.execute_async_script(
        """
        const done = arguments[arguments.length - 1];
        import("/web/svg.js").then(async ({ inlineSvg }) => {
          const svg = await inlineSvg(arguments[0]);
          document.body.append(svg);
          const all = [svg, ...svg.querySelectorAll("*")];
          let refused = "";
          try { await inlineSvg("<html/>"); } catch (error) { refused = error.message; }
          setTimeout(() => done([
            all.map((each) => each.localName),
            all.flatMap((each) => [...each.attributes].map(({ name }) => name)),
            window.hit === undefined, svg.textContent.trim(), refused,
          ]), 100);
        });
        """,
        attack,
    )

    elements, attributes, unharmed, text, refused = made
    assert elements == ["svg", "g", "rect", "text"]
    assert attributes == ["width", "height", "class", "data-node", "fill"]
    assert (unharmed, text, refused) == (True, "kept", "The picture is not an SVG")
