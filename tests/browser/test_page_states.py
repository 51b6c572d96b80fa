"""What the page shows in each of its states: no stray values, long logs, outages, drafts made anew, fingers."""

import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.browser.page import Daemon, Page, served
from tests.browser.reading import look
from tests.browser.scenarios import a_flow, a_remark, a_transfer, diagram_of, post
from tests.conftest import BOB

pytestmark = pytest.mark.acceptance


def test_a_view_that_loads_slowly_does_not_hide_a_newer_one(page: Page) -> None:
    page.open("/")
    page.wait_for("No scenarios yet")
    page.browser.set_network_conditions(latency=1000, throughput=500 * 1024)
    try:
        page.browser.execute_script(
            "location.hash = '#/import'; setTimeout(() => { location.hash = '#/' }, 20)"
        )
        time.sleep(1.5)

        assert page.find("h1").text == "Home"
        assert not page.browser.find_elements("css selector", "section.skeleton")
    finally:
        page.browser.delete_network_conditions()


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
        ("/", "Sign and send"),
        ("/#/scenarios", "scenarios"),
        ("/#/new/transfer", "Receiver"),
        ("/#/new/swap", "You sell"),
        ("/#/new/remark", "Text"),
        ("/#/import", "Link, share string"),
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
    post(daemon, "/job/stop", {"id": remark})


def test_an_outage_is_seen_everywhere_and_leaves_nothing_behind(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    page.open(f"/#/create/?diagramData={a_remark(daemon)}")
    page.wait_for("Copy hex")
    daemon.stop()
    page.press("Refresh")
    page.wait_for("Your input is kept")
    page.browser.execute_script("scrollTo(0, document.body.scrollHeight)")
    top, bottom = page.browser.execute_script(
        "const box = document.getElementById('gone').getBoundingClientRect(); return [box.top, box.bottom]"
    )
    assert top >= 0
    assert bottom > top
    page.wait_for("Try again")

    daemon.start()
    page.wait_for("Copy hex")
    page.wait(lambda: "not responding" not in page.text())


def test_a_view_that_an_outage_kept_from_opening_opens_by_itself(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    scenario = a_remark(daemon, "seen after the outage")
    page.open("/#/import")
    page.wait_for("Link, share string")
    daemon.stop()
    page.browser.execute_script(f"location.hash = '#/create/?diagramData={quote(scenario)}'")
    page.wait_for("Something went wrong")
    daemon.start()
    page.wait_for("seen after the outage")


@pytest.mark.parametrize("link", ["/#/create/?diagramData=%E0%A4%A", "/#/edit/%zz", "/#/duplicate/%zz"])
def test_a_link_that_is_no_text_is_refused_in_a_sentence(page: Page, link: str) -> None:
    page.open(link)

    page.wait_for("This link is damaged: ")


def test_the_skip_link_keeps_the_scenario(page: Page, daemon: Daemon) -> None:
    page.open(f"/#/create/?diagramData={a_remark(daemon)}")
    page.wait_for("Copy hex")
    before = page.browser.current_url

    page.browser.execute_script("document.querySelector('.skip').click()")

    assert page.browser.current_url == before
    assert page.browser.switch_to.active_element.get_attribute("id") == "main"
    page.browser.refresh()
    page.wait_for("Copy hex")


def test_a_finger_scrolls_the_page_over_the_diagram(page: Page, daemon: Daemon) -> None:
    browser = page.browser
    with page.screen(390, 700, touch=True):
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


def test_configured_chains_can_be_chosen(browser: Any, tmp_path: Path) -> None:
    config = (
        '[chains.mychain]\nrole = "relay"\nsymbol = "UNIT"\ndecimals = 12\nendpoints = ["ws://127.0.0.1:1"]\n'
    )
    with served(browser, tmp_path, config=config) as (page, _):
        for path in ("/#/scenarios", "/#/new/transfer", "/#/new/remark"):
            page.open(path)
            page.find("select")
            names = browser.execute_script(
                "return [...document.querySelector('main select').options].map(each => each.value)"
            )
            assert {"polkadot", "hydraDx", "mychain"} <= set(names), path


def test_a_receiver_without_a_key_is_confirmed(page: Page) -> None:
    page.open("/#/new/transfer")
    page.fill("amount", "2")
    page.fill("destination_address", "0x" + "00" * 32)
    page.press("Create")
    alert = page.alert()
    question = alert.text
    alert.dismiss()
    page.wait_for("nobody holds its key")
    page.press("Create")
    page.alert().accept()

    page.wait_for("polkadot > xTransfer > assetHub")
    assert "nobody holds its key" in question


def test_a_scenario_is_shown_by_its_name(page: Page, daemon: Daemon) -> None:
    flow = {"name": "Rent of March", "steps": [{"type": "Remark", "chain": "polkadot", "text": "paid"}]}
    scenario = a_flow(daemon, flow)

    page.open("/#/scenarios")
    page.find("#search").send_keys("rent of")
    page.wait(lambda: len(page.browser.find_elements("css selector", "tbody tr")) == 1)
    assert 'remark "paid" · Polkadot' in page.find("tbody tr").text
    page.open(f"/#/create/?diagramData={scenario}")
    page.wait_for("Copy hex")
    assert page.find("main h1").text == "Rent of March"
