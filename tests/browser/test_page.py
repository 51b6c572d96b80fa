"""The page in headless Chromium: everything that a person does with it, and what must not happen to
them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.browser.editor import choose
from tests.browser.page import Daemon, Page, served
from tests.browser.reading import violations
from tests.browser.scenarios import ATTACK, a_remark, a_transfer, diagram_of, post
from tests.conftest import BOB

pytestmark = pytest.mark.acceptance


def test_the_documented_link_opens_the_scenario(page: Page, daemon: Daemon) -> None:
    scenario = a_transfer(daemon)

    page.open(f"/#/create/?diagramData={scenario}")

    page.open_details()
    page.wait_for("0xf804630905000100a10f")
    page.open_details("Diagram")
    page.wait(
        lambda: page.browser.execute_script(
            "const p = document.querySelector('.picture svg'); return p && "
            "p.getBoundingClientRect().width > 100"
        )
    )
    assert f"Teleports 1.5 DOT from Polkadot to Polkadot Asset Hub for {BOB}" in page.text()
    page.open_details("Name, tags and id")
    page.wait_for(scenario, "polkadot > xTransfer > assetHub")
    assert page.browser.title == "1.5 DOT · Polkadot → Asset Hub – scenarioctl"
    asked = page.browser.execute_script(
        "return performance.getEntriesByType('resource').map(each => each.name)"
    )
    assert [name for name in asked if not name.startswith((f"{page.url}/", "data:"))] == []
    assert page.complaints() == []


def test_a_swap_is_created_with_a_form(page: Page) -> None:
    page.open("/#/new/swap")
    choose(page, "assetin", "DOT")
    choose(page, "assetout", "10")
    page.fill("amount", "2.5")
    page.fill("min_received", "9")
    page.press("Create")

    page.wait_for("Sells 2.5 DOT for at least 9 USDT on Hydration")
    page.wait_for("Sign and send")
    assert "#/create/?diagramData=" in page.browser.current_url
    assert page.complaints() == []


def test_more_tabs_than_a_browser_has_connections_do_not_starve_each_other(
    page: Page, daemon: Daemon
) -> None:
    scenario = a_remark(daemon)
    first = page.browser.current_window_handle
    looked_at = ""
    try:
        for _ in range(8):
            page.browser.switch_to.new_window("tab")
            looked_at = looked_at or page.browser.current_window_handle
            page.browser.get(f"{page.url}/#/create/?diagramData={scenario}")
            page.wait_for("Sign and send")

        # One that is looked at again goes on where it was.
        page.browser.switch_to.window(looked_at)
        post(daemon, "/job/start", {"id": scenario, "every": "1h"})
        page.wait_for("workload executed")
        assert page.text().count("Starting worker") == 1
    finally:
        for handle in page.browser.window_handles:
            if handle != first:
                page.browser.switch_to.window(handle)
                page.browser.close()
        page.browser.switch_to.window(first)


def test_what_people_wrote_stays_text(page: Page, daemon: Daemon) -> None:
    imported = post(daemon, "/api/template/saveUrl", {"url": json.dumps(diagram_of(ATTACK))})[
        "shortUrl"
    ]
    remark = a_remark(daemon, ATTACK)
    post(daemon, "/job/start", {"id": remark, "every": "1s"})

    for path in (
        "/",
        f"/#/create/?diagramData={imported}",
        f"/#/create/?diagramData={remark}",
        f"/#{ATTACK}",
    ):
        page.open(path)
        page.wait(lambda: page.browser.find_elements("css selector", "main h1"))
        if path.endswith(remark):
            page.wait_for("workload executed")
            page.wait_for("onerror")
        assert page.browser.execute_script("return window.hit ?? null") is None, path
        assert page.browser.find_elements("css selector", "main script, main img[src=x]") == []
    post(daemon, "/job/stop", {"id": remark})
    assert page.complaints() == []


def test_a_daemon_that_is_gone_is_said_and_so_is_its_return(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    page.open("/#/new/remark")
    page.fill("text", "still here")
    daemon.stop()
    page.press("Create")
    page.wait_for("The daemon is not responding. This page tries again every second.")
    daemon.start()
    page.wait(lambda: "tries again every" not in page.text())
    page.press("Create")
    page.wait_for("Writes 'still here' to the history of Polkadot")


def test_a_token_is_asked_for_and_kept_in_memory_only(browser: Any, tmp_path: Path) -> None:
    from hashlib import sha256

    token = "sctl_for-this-test"
    digest = sha256(token.encode()).hexdigest()
    config = f'[tokens.page]\nsha256 = "{digest}"\nscopes = ["read", "create", "jobs"]\n'
    with served(browser, tmp_path, config=config) as (page, _):
        page.open("/")
        page.wait_for("Ask the person who runs the daemon for one.")
        page.fill("token", "wrong", within="dialog")
        page.press("Continue")
        page.wait_for("The token is not valid.")
        page.fill("token", token, within="dialog")
        page.press("Continue")
        page.wait_for("No scenarios yet")

        kept = browser.execute_script(
            "return JSON.stringify([{...localStorage}, {...sessionStorage}, "
            "document.cookie, location.href])"
        )
        assert token not in kept
        # What was signed is shown to whoever gives the same token.
        texts = ("source", "chain", "tx", "signed", "hash", "address")
        browser.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            "import('/web/signed.js').then(({ keep }) => done(keep('x', arguments[0])));",
            {name: "polkadot" if name == "chain" else "0x00" for name in texts} | {"says": "x"},
        )
        (key,) = browser.execute_script(
            "return Object.keys(localStorage).filter((key) => key.startsWith('scenarioctl.signed'))"
        )
        assert key.startswith("scenarioctl.signed.")
        assert token not in key
        browser.refresh()
        page.wait_for("This daemon requires a token")
        assert "Signed here" not in page.text()
        page.fill("token", token, within="dialog")
        page.press("Continue")
        page.wait_for("Signed here")


def wrong(page: Page) -> tuple[str, str]:
    """Return the name of the field with the focus, and what a screen reader says is wrong with
    it."""
    page.wait(lambda: page.browser.find_elements("css selector", "[aria-invalid=true]:focus"))
    box = page.browser.switch_to.active_element
    assert page.browser.find_elements("css selector", "[role=alert].problem") == []
    id = (box.get_attribute("aria-describedby") or "").split()[-1]
    return box.get_attribute("name") or "", page.text_of(f"#{id}")


def test_an_error_is_said_at_the_field_that_it_names(page: Page, daemon: Daemon) -> None:
    scenario = a_remark(daemon)
    page.open(f"/#/create/?diagramData={scenario}")
    page.open_details("Schedule…")
    page.open_details("Advanced")
    page.fill("every", "5x")
    page.press("Start")
    name, said = wrong(page)
    assert name == "every"
    assert said.startswith("Interval '5x' is not a duration, expected one like 90s")
    assert violations(page) == []

    page.fill("every", "")
    page.fill("cron", "* *")
    page.press("Start")
    page.wait_for("Cron line '* *' is not a cron line")
    assert wrong(page)[0] == "cron"
    assert len(page.browser.find_elements("css selector", "[aria-invalid]")) == 1
    page.open_details("Name, tags and id")
    page.fill("tags", "-x")
    page.press("Save")
    page.wait_for("Tags '-x' is not a tag")
    page.open(f"/#/sign/?scenario={scenario}")
    for address in ("", "nobody", "0x" + "00" * 32):
        page.fill("sender", address)
        page.press("Use this account")
        assert wrong(page)[0] == "sender"
    page.open("/#/import")
    page.press("Import")
    assert wrong(page)[0] == "url"
    page.fill("url", "zzz")
    page.press("Import")
    page.wait_for("Link, share string, JSON or flow file zzz can't be used")
    assert wrong(page)[0] == "url"
