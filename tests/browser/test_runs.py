"""The runs of a job in a browser: one by one, the newest first, as many lines and drafts as there
are."""

from typing import Any

import pytest

from tests.browser.page import Daemon, Page
from tests.browser.reading import look
from tests.browser.scenarios import a_flow, a_remark, a_transfer, post

pytestmark = pytest.mark.acceptance


def summaries(page: Page) -> list[str]:
    found = page.browser.execute_script(
        "return [...document.querySelectorAll('.runs summary')]"
        ".filter(e => e.parentElement.parentElement.dataset.run).map(e => e.innerText)"
    )
    return [str(each) for each in found]


def opened(page: Page, scenario: str) -> None:
    page.open(f"/#/create/?diagramData={scenario}")
    page.wait_for("Run now")


def start(page: Page, every: str) -> None:
    """Start the job at an interval, which is under Advanced."""
    page.open_details("Schedule…")
    page.open_details("Advanced")
    page.fill("every", every)
    page.press("Start")


def test_runs_come_newest_first_and_the_newest_is_open(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    scenario = a_transfer(daemon)
    opened(page, scenario)
    page.wait_for("No runs yet.")

    page.press("Run now")
    page.wait_for("workload executed")
    page.press("Run now")
    page.wait(lambda: len(summaries(page)) == 2)

    assert [each.split(",")[0] for each in summaries(page)] == [
        "succeeded Run 2",
        "succeeded Run 1",
    ]
    assert all("1 draft" in each for each in summaries(page))
    page.wait(
        lambda: (
            len(page.browser.find_elements("css selector", ".runs details[open][open] .log")) == 1
        )
    )
    assert "Transfer on Polkadot, 1.5 DOT" in page.text()
    amount = page.find(".mempool .amount")
    assert (amount.text, amount.get_attribute("title")) == (
        "1.5 DOT",
        "15000000000 in the smallest unit",
    )
    sign = page.find(".mempool a.button")
    assert str(sign.get_attribute("href")).endswith(f"#/sign/?job={scenario}&draft=2")
    look(page)
    assert page.complaints() == []


def test_a_job_is_paused_resumed_rescheduled_and_stopped(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    scenario = a_remark(daemon)
    opened(page, scenario)
    start(page, "1h")
    page.wait_for("every 1h, next run in")
    page.wait(lambda: summaries(page))
    page.press("Pause")
    page.wait_for("paused on request")
    page.press("Resume")
    page.wait(lambda: "paused on request" not in page.text())
    page.open_details("Change schedule…")
    change = ".scheduling:not([hidden])"
    page.browser.execute_script(
        "document.querySelector(arguments[0] + ' details').open = true", change
    )
    page.fill("every", "2h", within=change)
    page.press("Change")
    page.wait_for("every 2h")
    # A paused one is stopped too.
    page.press("Pause")
    page.wait_for("paused on request")
    page.press("Stop")
    page.answer("Stop")
    page.wait_for("not running", "Schedule…")

    look(page)
    assert page.complaints() == []


def test_a_run_that_waits_says_for_what_and_goes_on_once_it_comes(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    uuid = "6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d"
    steps: list[dict[str, Any]] = [
        {"type": "Remark", "chain": "polkadot", "text": "x"},
        {"type": "webhook", "name": "payments", "uuid": uuid, "timeout": 7200},
    ]
    scenario = a_flow(daemon, {"steps": steps})
    opened(page, scenario)
    start(page, "12h")

    page.wait_for(f"step 2 waits for a POST to /webhook/{uuid} until in 1 hour")
    assert "next run" not in page.text_of("[aria-labelledby=job] .state")
    status = post(daemon, "/job/status", {"id": scenario})
    assert (status["step_number"], status["until"]) == (2, status["next"])

    post(daemon, f"/webhook/{uuid}", {"paid": 5})
    page.wait_for("workload executed")
    page.wait(lambda: len(summaries(page)) == 1)
