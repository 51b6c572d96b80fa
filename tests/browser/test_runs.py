"""The runs of a job in a browser: one by one, the newest first, as many lines and drafts as there
are."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.model.jobs import (
    SECOND,
    FinishedRun,
    Retention,
    StepOutcome,
    StepResult,
)
from scenarioctl.stores import open_store
from tests.browser.page import Daemon, Page
from tests.browser.reading import barriers, look
from tests.browser.scenarios import a_flow, a_remark, a_transfer, post
from tests.runner import finish as act
from tests.test_store_jobs import DRAFT

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


def leave(
    folder: Path,
    scenario: str,
    *runs: tuple[int, int],
    steps: Mapping[str, StepResult] | None = None,
) -> None:
    """Store runs with so many lines and drafts."""
    store = open_store(folder / "scenarios.db")
    now = 1_763_666_958_000_000_000
    limit = Retention(log_lines=50_000, mempool_entries=5_000)
    for number, (lines, drafts) in enumerate(runs):
        began = now + number * 60 * SECOND
        run = FinishedRun(
            job=scenario,
            epoch=None,
            planned=began,
            started=began,
            finished=began + 2 * SECOND,
            lines=tuple(f"line {number}.{each}" for each in range(lines)),
            drafts=tuple(replace(DRAFT, date=began + SECOND + each) for each in range(drafts)),
            steps=steps or {},
        )
        assert act(store.finish_run(run, retention=limit))
    act(store.close())


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
    assert "xTransfer polkadot, 1.5 DOT" in page.text()
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
    page.fill("every", "1h")
    page.press("Start")
    page.wait_for("every 1h, next run in")
    page.wait(lambda: summaries(page))
    page.press("Pause")
    page.wait_for("paused on request")
    page.press("Resume")
    page.wait(lambda: "paused on request" not in page.text())
    page.click("[aria-labelledby=job] summary")
    page.fill("every", "2h", within="[aria-labelledby=job] details")
    page.press("Change")
    page.wait_for("every 2h")
    # A paused one is stopped too.
    page.press("Pause")
    page.wait_for("paused on request")
    page.press("Stop")
    page.wait_for("not running")

    assert page.find("[name=every]").is_displayed()
    look(page)
    assert page.complaints() == []


def test_a_run_shows_its_steps_and_is_compared_with_another(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    steps: list[dict[str, Any]] = [
        {"type": "Remark", "chain": "polkadot", "text": "x"},
        {"type": "delay", "seconds": 0.01},
        {"type": "Remark", "chain": "polkadot", "text": "y"},
    ]
    scenario = a_flow(daemon, {"steps": steps})
    page.open(f"/#/create/?diagramData={scenario}")
    page.press("Run now")
    page.wait(lambda: len(summaries(page)) == 1)
    page.wait_for(
        "1. Remark",
        "2. delay",
        "3. Remark",
        "'x' on Polkadot",
        "Drafted polkadot > Remark > polkadot",
    )
    page.press("Run again")
    page.wait(lambda: len(summaries(page)) == 2)
    nodes = post(daemon, "/api/scenario/show", {"id": scenario})["nodes"]
    one, other = (node["id"] for node in nodes if node["step"] == "Remark")
    done, failed = (
        StepResult(outcome=each, seconds=1.5, input="GET /", output="o" * 1000, length=3000)
        for each in (StepOutcome.DONE, StepOutcome.FAILED)
    )
    leave(daemon.folder, scenario, (1, 0), steps={one: done, other: failed})
    post(daemon, "/job/run", {"id": scenario})
    page.wait(lambda: len(summaries(page)) == 4)

    click = "document.querySelector(arguments[0]).click()"
    page.browser.execute_script(click, "li[data-run='3'] summary")
    page.wait_for("not reached")
    page.browser.execute_script(click, "li[data-run='3'] .run-steps summary")
    page.wait_for("Output, 3000 characters", "The first 1000 are stored.")
    page.choose("li[data-run='3'] .compare select", "1")
    page.wait_for("3 of 3 steps differ.")
    heads = [
        each.text.split(",")[0]
        for each in page.browser.find_elements("css selector", ".runs thead th")
    ]
    assert heads == ["Run 1", "Run 3"]
    differing = [
        each.text for each in page.browser.find_elements("css selector", ".runs tr.differs th")
    ]
    assert [each.split(" (")[0].split("\n")[0] for each in differing] == [
        "Drafts",
        "1. Remark",
        "2. delay",
        "3. Remark",
    ]
    assert barriers(page) == []
    with page.screen(390, touch=True):
        assert barriers(page) == []
    look(page)


def test_a_run_that_waits_says_for_what_and_until_when(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    uuid = "6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d"
    steps: list[dict[str, Any]] = [
        {"type": "Remark", "chain": "polkadot", "text": "x"},
        {"type": "webhook", "name": "payments", "uuid": uuid, "timeout": 7200},
    ]
    scenario = a_flow(daemon, {"steps": steps})
    opened(page, scenario)
    page.press("Start")

    page.wait_for(f"step 2 waits for a POST to /webhook/{uuid} until in 1 hour")
    assert "next run" not in page.text_of("[aria-labelledby=job] .state")
    status = post(daemon, "/job/status", {"id": scenario})
    assert (status["step_number"], status["until"]) == (2, status["next"])
