"""The diagram on the page: moved, zoomed, its cards clicked, and nothing in it that could run."""

import re
import time
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.browser.page import Daemon, Page, connected
from tests.browser.scenarios import UUID, a_flow, a_remark, a_transfer, post
from tests.browser.signing import paste_address
from tests.browser.wallets import stubbed

pytestmark = pytest.mark.acceptance


def open_picture(page: Page, scenario: str) -> None:
    page.open(f"/#/create/?diagramData={scenario}")
    page.wait(lambda: page.browser.find_elements("css selector", ".picture .node"))
    # What comes above the diagram and below it, once it has come, moves nothing under a pointer any
    # more.
    page.find(".next .button")


def remarks(daemon: Daemon, count: int) -> str:
    steps = [
        {"type": "Remark", "chain": "polkadot", "text": f"number {number}"}
        for number in range(count)
    ]
    return a_flow(daemon, {"steps": steps})


def click_card_then_step(page: Page, daemon: Daemon) -> str:
    """Click the second of three cards, then the last step; return the step that the card marked."""
    open_picture(page, remarks(daemon, 3))
    drawn = page.browser.find_elements("css selector", ".picture .node")
    ActionChains(page.browser).move_to_element(drawn[1]).click().perform()
    marked = page.text_of(".step[aria-current]")
    page.browser.find_elements("css selector", ".step:not([aria-current])")[-1].click()
    return marked


def place(page: Page) -> tuple[float, float, float]:
    """Return where the diagram is, and its scale."""
    style = page.value_of(".picture .stage", "style")
    x, y, scale = re.findall(r"-?[\d.]+(?:e-\d+)?", style)
    return float(x), float(y), float(scale)


def cards(page: Page) -> list[str]:
    return list(
        page.browser.execute_script(
            "return [...document.querySelectorAll('.picture .node > title')].map(each => "
            "each.textContent)"
        )
    )


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


def test_it_is_moved_and_zoomed_with_keys(page: Page, daemon: Daemon) -> None:
    open_picture(page, a_transfer(daemon))
    begun = place(page)
    page.browser.execute_script("document.querySelector('.picture').focus()")

    page.keys("++")
    zoomed = place(page)
    page.keys(Keys.ARROW_LEFT)
    moved = place(page)
    page.keys("0")

    assert zoomed[2] == pytest.approx(1.5625 * begun[2], rel=1e-4)
    assert moved[0] == pytest.approx(zoomed[0] + 40)
    assert place(page) == begun


def test_a_small_one_is_not_blown_up(page: Page, daemon: Daemon) -> None:
    open_picture(page, a_remark(daemon))

    assert place(page)[2] <= 1.4
    assert page.find(".picture").size["height"] < 400


def test_a_click_on_a_card_selects_its_step_and_a_step_its_card(page: Page, daemon: Daemon) -> None:
    marked = click_card_then_step(page, daemon)
    selected = page.browser.find_elements("css selector", ".picture .node.selected")

    assert "number 1" in marked
    assert len(selected) == 1
    assert "number 2" in str(selected[0].get_attribute("textContent"))


def test_a_press_on_the_small_map_selects_nothing(page: Page, daemon: Daemon) -> None:
    click_card_then_step(page, daemon)
    page.browser.execute_script(
        "for (const kind of ['pointerdown', 'pointerup']) document.querySelector('.minimap svg')"
        ".dispatchEvent(new PointerEvent(kind, {bubbles: true, pointerId: 1}))"
    )

    (selected,) = page.browser.find_elements("css selector", ".picture .node.selected")
    assert "number 2" in str(selected.get_attribute("textContent"))


def test_a_drag_selects_nothing(page: Page, daemon: Daemon) -> None:
    open_picture(page, a_transfer(daemon))
    (card,) = page.browser.find_elements("css selector", ".picture .node")

    ActionChains(page.browser).click_and_hold(card).move_by_offset(50, 0).release().perform()

    assert page.browser.find_elements("css selector", ".selected, .step[aria-current]") == []


def test_a_transfer_is_one_card_or_three_as_one_likes(page: Page, daemon: Daemon) -> None:
    scenario = a_transfer(daemon)
    open_picture(page, scenario)
    compact = cards(page)

    page.press("Show chains")
    page.wait(lambda: len(cards(page)) == 3)
    open_picture(page, scenario)

    assert compact == ["Transfer"]
    assert len(cards(page)) == 3
    assert page.value_of("button[aria-pressed]", "aria-pressed") == "true"


def test_a_drawing_that_comes_late_does_not_replace_a_newer_one(page: Page, daemon: Daemon) -> None:
    slow = (
        "if (target.includes('compact=false')) await new Promise((settle) => "
        "setTimeout(settle, 1000));"
    )
    with stubbed(page, slow):
        open_picture(page, a_transfer(daemon))
        page.press("Show chains")
        page.press("Show chains")
        time.sleep(2)

        assert cards(page) == ["Transfer"]


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


def test_a_step_that_waits_is_marked(page: Page, daemon: Daemon) -> None:
    steps: list[dict[str, Any]] = [
        {"type": "webhook", "name": "one", "uuid": UUID},
        {"type": "webhook", "name": "two", "uuid": "7f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d"},
    ]
    id = a_flow(daemon, {"steps": steps})
    post(daemon, "/job/start", {"id": id, "every": "1h"})
    open_picture(page, id)

    page.wait(lambda: page.browser.find_elements("css selector", ".outcome.waiting"))

    marked = page.browser.execute_script(
        "return [...document.querySelectorAll('.outcome.waiting')].map((each) => "
        "each.closest('.node').textContent)"
    )
    assert len(marked) == 1
    assert "one" in marked[0]


def test_the_amount_that_arrived_in_the_simulation_is_on_the_card(
    browser: Any, tmp_path: Path
) -> None:
    with connected(browser, tmp_path) as (page, running, _):
        scenario = a_transfer(running)
        paste_address(page, f"scenario={scenario}")
        page.wait_for("Will succeed")
        browser.execute_script(f"location.hash = '#/create/?diagramData={scenario}'")

        arrival = page.value_of(".picture .arrival", "textContent")
    assert re.fullmatch(r"1\.4\d+ DOT arrive", arrival)


def test_nothing_that_runs_or_loads_gets_in(page: Page, daemon: Daemon) -> None:
    attack = """
        <svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" onload="window.hit=1" width="10" height="10">
          <script>window.hit=1</script><style>*{display:none}</style>
          <foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><img src="x" onerror="window.hit=1"/></body></foreignObject>
          <image href="http://127.0.0.1:1/x"/><use href="#a"/><a href="javascript:window.hit=1"><text>x</text></a>
          <animate onbegin="window.hit=1" attributeName="x" dur="1s"/>
          <g class="node" data-node="a" style="color:red" onclick="window.hit=1"><rect id="b" fill="red"/><text>kept</text></g>
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


def test_of_500_steps_the_text_comes_first_and_the_picture_begins_readable(
    page: Page, daemon: Daemon
) -> None:
    scenario = remarks(daemon, 500)
    # A look after each task that changes the page, however long it takes.
    seen_first = """
        window.seen = {};
        let looks = 0;
        new MutationObserver(() => {
          looks += 1;
          if (document.querySelector(".step")) window.seen.text ??= looks;
          if (document.querySelector(".picture .node")) window.seen.picture ??= looks;
        }).observe(document, {subtree: true, childList: true});
        """
    with page.with_script(seen_first):
        open_picture(page, scenario)
        page.wait(lambda: len(page.browser.find_elements("css selector", ".picture .node")) >= 500)
    seen = page.browser.execute_script("return window.seen")

    assert seen["text"] < seen["picture"]
    assert place(page)[2] >= 0.6
    assert page.find(".minimap").is_displayed()

    before = place(page)
    ActionChains(page.browser).move_to_element(page.find(".minimap")).click().perform()
    assert place(page)[:2] != before[:2]
    page.press("Fit")
    assert not page.find(".minimap").is_displayed()
