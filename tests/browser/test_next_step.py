"""The scenario page offers one primary button, which fits the state of the scenario, and it comes
first on a phone."""

from typing import Any

import pytest

from tests.browser.page import Daemon, Page
from tests.browser.scenarios import UUID, a_flow, a_remark, a_transfer, diagram_of, imported, post

pytestmark = pytest.mark.acceptance

SCENARIO = "/#/create/?diagramData={}"


def remarks(daemon: Daemon, count: int) -> str:
    steps = [
        {"type": "Remark", "chain": "polkadot", "text": f"number {number}"}
        for number in range(count)
    ]
    return a_flow(daemon, {"steps": steps})


def primary(page: Page, scenario: str, label: str) -> Any:
    """Open *scenario*, wait for a primary button with that *label*, and return it; it is the only
    one."""
    page.open(SCENARIO.format(scenario))
    page.wait(lambda: page.text_of(".next .primary") == label)
    return page.find(".next .primary")


def test_a_transfer_is_signed_and_its_bytes_are_details(page: Page, daemon: Daemon) -> None:
    button = primary(page, a_transfer(daemon), "Sign and send")

    assert "0xf8" not in page.text()
    assert "xTransfer >" not in page.text()
    button.click()
    page.wait_for("1. Account")


def test_on_a_phone_the_header_is_one_row_and_the_button_comes_first(
    page: Page, daemon: Daemon
) -> None:
    with page.screen(390):
        button = primary(page, a_transfer(daemon), "Sign and send")
        picture = page.find(".picture")

        assert button.location["y"] < 250
        assert button.location["y"] < picture.location["y"]
        assert page.find(".top").size["height"] < 60


def test_problems_are_fixed_in_the_editor(page: Page, daemon: Daemon) -> None:
    primary(page, imported(daemon, diagram_of("odd")), "Fix 3 problems").click()

    page.wait(lambda: "#/edit/" in page.browser.current_url)


def test_steps_that_need_a_run_are_started_as_a_job(page: Page, daemon: Daemon) -> None:
    hook = {"type": "webhook", "name": "notes", "uuid": UUID}
    flow = {"steps": [hook, {"type": "Remark", "chain": "polkadot", "text": "{{ note }}"}]}
    primary(page, a_flow(daemon, flow), "Start job").click()

    assert page.browser.switch_to.active_element.get_attribute("name") == "every"


def test_a_paused_job_is_resumed(page: Page, daemon: Daemon) -> None:
    scenario = a_remark(daemon)
    post(daemon, "/job/start", {"id": scenario, "every": "1h"})
    post(daemon, "/job/pause", {"id": scenario})
    primary(page, scenario, "Resume job").click()

    page.wait(lambda: post(daemon, "/job/status", {"id": scenario})["state"] == "running")
    page.wait(lambda: page.browser.find_element("css selector", ".next").text.find("Resume") < 0)


def test_a_running_job_has_its_newest_draft_signed(page: Page, daemon: Daemon) -> None:
    scenario = a_remark(daemon)
    post(daemon, "/job/start", {"id": scenario, "every": "1h"})
    page.wait(lambda: post(daemon, "/scenario/tx", {"id": scenario})["mempool"])
    (row,) = post(daemon, "/scenario/tx", {"id": scenario})["mempool"]
    button = primary(page, scenario, "Sign the newest draft")

    assert f"#/sign/?job={scenario}&draft={row['seq']}" in button.get_attribute("href")


def test_500_steps_are_one_line_and_drawn_in_parts(page: Page, daemon: Daemon) -> None:
    count = """
        window.most = 0;
        new MutationObserver((changes) => {
          const parts = changes.flatMap(({addedNodes}) => [...addedNodes]).filter(({classList}) => classList?.contains("node") || classList?.contains("edge"));
          window.most = Math.max(window.most, parts.length);
        }).observe(document, {subtree: true, childList: true});
        """
    with page.with_script(count):
        page.open(SCENARIO.format(remarks(daemon, 500)))
        page.wait(lambda: len(page.browser.find_elements("css selector", ".steps li")) == 500)
        page.wait(lambda: len(page.browser.find_elements("css selector", ".picture .node")) >= 500)
        page.wait_for("Show 480 more")

    assert page.text_of("main h1") == "500 steps"
    assert page.find(".does").size["height"] < 40
    assert 0 < page.browser.execute_script("return window.most") <= 80
    assert len(page.browser.find_elements("css selector", ".transactions > li")) == 20
    page.press("Show 480 more")
    page.wait(lambda: len(page.browser.find_elements("css selector", ".transactions > li")) == 500)
