"""What the page shows in each of its states: no stray values, long logs, outages, drafts made anew, fingers."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from selenium.webdriver.support import expected_conditions

from scenarioctl.model.jobs import Retention
from scenarioctl.stores import open_store
from tests.browser.conftest import Daemon, Page, connected
from tests.browser.test_page import a_remark, a_transfer, diagram_of, post
from tests.conftest import BOB
from tests.runner import finish as act
from tests.test_check import ALICE
from tests.test_store_jobs import JOB, claim, ended, finish

pytestmark = pytest.mark.acceptance

#: What a value that was printed as it is looks like.
STRAY = re.compile(r"\[object|\bundefined\b|\bNaN\b|^\s*(?:false|true|null)\s*$", re.MULTILINE)


def look(page: Page) -> None:
    """Hold that the page shows no stray value."""
    text = page.text()
    assert not STRAY.search(text), text


def test_no_view_shows_a_value_that_is_no_text(page: Page, daemon: Daemon) -> None:
    transfer, remark = a_transfer(daemon), a_remark(daemon)
    warned = post(
        daemon,
        "/api/create/scenario",
        {
            "source_chain": "polkadot",
            "dest_chain": "hydraDx",
            "destination_address": BOB,
            "amount": 5,
            "assetid": 0,
        },
    )["result"]
    broken = post(daemon, "/api/template/saveUrl", {"url": json.dumps(diagram_of("x"))})["shortUrl"]
    empty = post(daemon, "/api/template/saveUrl", {"url": '{"nodes": [], "edges": []}'})["shortUrl"]
    post(daemon, "/job/start", {"id": remark, "every": "1s"})
    views = (
        ("/", "scenarios"),
        ("/#/new/transfer", "Receiver"),
        ("/#/new/swap", "You sell"),
        ("/#/new/remark", "Text"),
        ("/#/import", "Import a diagram"),
        ("/#/nowhere", "Page not found"),
        (f"/#/create/?diagramData={transfer}", "Copy hex"),
        (f"/#/create/?diagramData={remark}", "workload executed"),
        (f"/#/create/?diagramData={warned}", "Copy hex"),
        (f"/#/create/?diagramData={broken}", "Share or delete"),
        (f"/#/create/?diagramData={empty}", "Share or delete"),
        ("/#/create/?diagramData=nosuchone", "Something went wrong"),
    )

    for path, ready in views:
        page.open(path)
        page.wait_for(ready)
        look(page)
        if path.endswith(warned):
            assert len(page.browser.find_elements("css selector", "p.notice")) > 0
        if path.endswith((transfer, remark)):
            # A check that cannot be made, and a payload.
            page.fill("sender", ALICE, within="[aria-labelledby=check]")
            page.press("Simulate")
            page.wait_for("offline")
            page.fill("nonce", "7", within="[aria-labelledby=payload]")
            page.press("Prepare for signing")
            page.wait_for("Scan with Polkadot Vault.")
            look(page)
    post(daemon, "/job/stop", {"id": remark})


def test_verdicts_show_nothing_but_text(browser: Any, tmp_path: Path) -> None:
    with connected(browser, tmp_path) as (page, daemon, network):
        page.open(f"/#/create/?diagramData={a_transfer(daemon)}")
        page.fill("sender", ALICE, within="[aria-labelledby=check]")
        page.press("Simulate")
        page.wait_for("Simulation passed")
        look(page)
        network.chains["polkadot"].api["DryRunApi_dry_run_call"] = {"Err": "Unimplemented"}
        page.press("Simulate")
        page.wait_for("Result unknown")
        look(page)


def test_a_long_log_opens_with_its_newest_lines(browser: Any, tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    page = Page(browser, daemon.url)
    try:
        scenario = a_remark(daemon)
        daemon.stop()
        store = open_store(tmp_path / "scenarios.db")
        act(store.start_job(replace(JOB, id=scenario)))
        (claimed,) = [each for each in claim(store) if each.job.id == scenario]
        lines = tuple(f"line {number}" for number in range(10_000))
        assert finish(store, ended(claimed, lines=lines), Retention(log_lines=20_000))
        act(store.close())
        daemon.start()
        browser.execute_cdp_cmd(
            "Page.addScriptToEvaluateOnNewDocument",
            {
                "source": "window.tasks = []; new PerformanceObserver(list => "
                "window.tasks.push(...list.getEntries().map(task => task.duration))).observe({type: 'longtask'})"
            },
        )

        page.open(f"/#/create/?diagramData={scenario}")
        page.wait_for("line 9999")
        page.wait_for("The newest 500 lines.")

        shown = browser.execute_script(
            "return [...document.querySelectorAll('.log li')].map(e => e.innerText)"
        )
        assert len(shown) == 500
        # The daemon's worker may have added a few.
        assert "line 95" in shown[0]
        # All of it took ten seconds in one go; a busy machine may take a while for a part.
        assert max(browser.execute_script("return window.tasks"), default=0) < 1000
        assert page.complaints() == []
    finally:
        browser.get("about:blank")
        daemon.stop()


def test_an_outage_is_seen_everywhere_and_leaves_nothing_behind(browser: Any, tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    page = Page(browser, daemon.url)
    try:
        page.open(f"/#/create/?diagramData={a_remark(daemon)}")
        page.wait_for("Copy hex")
        page.fill("sender", ALICE, within="[aria-labelledby=check]")
        page.browser.execute_script("scrollTo(0, document.body.scrollHeight)")
        daemon.stop()
        page.press("Simulate")
        page.wait_for("Your input is kept")
        page.browser.execute_script("scrollTo(0, document.body.scrollHeight)")
        top, bottom = page.browser.execute_script(
            "const box = document.getElementById('gone').getBoundingClientRect(); return [box.top, box.bottom]"
        )
        assert top >= 0
        assert bottom > top
        # Drafting fails too.
        page.press("Refresh")
        page.wait_for("Try again")

        daemon.start()
        page.wait_for("Copy hex")
        page.wait(lambda: "not responding" not in page.text())
        assert page.find("[aria-labelledby=check] [name=sender]").get_attribute("value") == ALICE
    finally:
        browser.get("about:blank")
        daemon.stop()


def test_a_view_that_an_outage_kept_from_opening_opens_by_itself(browser: Any, tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    page = Page(browser, daemon.url)
    try:
        scenario = a_remark(daemon, "seen after the outage")
        page.open("/#/import")
        page.wait_for("Import a diagram")
        daemon.stop()
        page.browser.execute_script(f"location.hash = '#/create/?diagramData={quote(scenario)}'")
        page.wait_for("Something went wrong")
        daemon.start()
        page.wait_for("seen after the outage")
    finally:
        browser.get("about:blank")
        daemon.stop()


def test_the_skip_link_keeps_the_scenario(page: Page, daemon: Daemon) -> None:
    page.open(f"/#/create/?diagramData={a_remark(daemon)}")
    page.wait_for("Copy hex")
    before = page.browser.current_url

    page.browser.execute_script("document.querySelector('.skip').click()")

    assert page.browser.current_url == before
    assert page.browser.switch_to.active_element.get_attribute("id") == "main"
    page.browser.refresh()
    page.wait_for("Copy hex")


def test_a_draft_made_anew_keeps_what_was_typed_and_found_out(browser: Any, tmp_path: Path) -> None:
    with connected(browser, tmp_path) as (page, daemon, _):
        page.open(f"/#/create/?diagramData={a_transfer(daemon)}")
        page.fill("sender", ALICE, within="[aria-labelledby=check]")
        page.press("Simulate")
        page.wait_for("Simulation passed")
        page.press("Refresh")
        page.wait(lambda: page.browser.find_elements("css selector", ".says"))

        page.wait_for("Simulation passed")
        assert page.find("[aria-labelledby=check] [name=sender]").get_attribute("value") == ALICE


def test_a_verdict_goes_when_the_transaction_changes(page: Page, daemon: Daemon) -> None:
    page.open(f"/#/create/?diagramData={a_remark(daemon)}")
    page.wait_for("Sign elsewhere")
    card = "[aria-labelledby=payload]"
    page.fill("sender", BOB, within=card)
    page.fill("nonce", "7", within=card)
    page.press("Prepare for signing")
    page.wait_for("Scan with Polkadot Vault.")

    # As a swap does, whose quote is another each time.
    page.browser.execute_script(
        "const real = fetch; window.fetch = async (target, options) => {"
        "  if (!String(target).includes('info/full')) return real(target, options);"
        "  const body = await (await real(target, options)).json();"
        "  body.result.tx = '0x240400071448656c6c6f';"
        "  return new Response(JSON.stringify(body), {status: 200});"
        "}"
    )
    page.press("Refresh")

    page.wait_for("The transaction has changed. Prepare it for signing again.")
    assert page.browser.find_elements("css selector", ".qr") == []


def test_a_finger_scrolls_the_page_over_the_diagram(page: Page, daemon: Daemon) -> None:
    browser = page.browser
    size = {"width": 390, "height": 700, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    try:
        page.open(f"/#/create/?diagramData={a_transfer(daemon)}")
        page.wait_for("Copy hex")
        x, y = browser.execute_script(
            "const box = document.querySelector('.picture').getBoundingClientRect();"
            "return [box.left + box.width / 2, box.top + box.height / 2]"
        )
        touch = [{"x": x, "y": y}]
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": touch})
        for moved in range(10, 160, 10):
            touch = [{"x": x, "y": y - moved}]
            browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": touch})
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        page.wait(lambda: browser.execute_script("return scrollY") > 50)
    finally:
        browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_configured_chains_can_be_chosen(browser: Any, tmp_path: Path) -> None:
    daemon = Daemon(
        tmp_path,
        config='[chains.mychain]\nrole = "relay"\nsymbol = "UNIT"\ndecimals = 12\nendpoints = ["ws://127.0.0.1:1"]\n',
    )
    page = Page(browser, daemon.url)
    try:
        for path in ("/", "/#/new/transfer", "/#/new/remark"):
            page.open(path)
            page.find("select")
            names = browser.execute_script(
                "return [...document.querySelector('main select').options].map(each => each.value)"
            )
            assert {"polkadot", "hydraDx", "mychain"} <= set(names), path
    finally:
        browser.get("about:blank")
        daemon.stop()


def test_a_receiver_without_a_key_is_confirmed(page: Page) -> None:
    page.open("/#/new/transfer")
    page.fill("assetid", "DOT")
    page.fill("amount", "2")
    page.fill("destination_address", "0x" + "00" * 32)
    page.press("Create")
    page.wait(lambda: expected_conditions.alert_is_present()(page.browser))
    question = page.browser.switch_to.alert.text
    page.browser.switch_to.alert.dismiss()
    page.wait_for("nobody holds its key")
    page.press("Create")
    page.wait(lambda: expected_conditions.alert_is_present()(page.browser))
    page.browser.switch_to.alert.accept()

    page.wait_for("polkadot > xTransfer > assetHub")
    assert "nobody holds its key" in question


def test_a_scenario_is_shown_by_its_name(page: Page, daemon: Daemon) -> None:
    flow = {"name": "Rent of March", "steps": [{"type": "Remark", "chain": "polkadot", "text": "paid"}]}
    scenario = post(daemon, "/api/create/flow", {"flow": flow, "syntax": "json"})["result"]

    page.open("/")
    page.find("#search").send_keys("rent of")
    page.wait(lambda: len(page.browser.find_elements("css selector", "tbody tr")) == 1)
    assert "Rent of March\npolkadot > Remark" in page.text()
    page.open(f"/#/create/?diagramData={scenario}")
    page.wait_for("Copy hex")
    assert page.find("main h1").text == "Rent of March"
