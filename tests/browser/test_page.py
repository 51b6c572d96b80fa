"""The page in headless Chromium: everything that a person does with it, and what must not happen to
them."""

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from selenium.webdriver.common.keys import Keys

from scenarioctl import web
from tests.browser.editor import choose
from tests.browser.page import Daemon, Page, served
from tests.browser.reading import AXE, barriers, needs_axe, violations
from tests.browser.scenarios import ATTACK, UUID, a_flow, a_remark, a_transfer, diagram_of, post
from tests.browser.wallets import stubbed
from tests.conftest import BOB

pytestmark = pytest.mark.acceptance


def test_the_documented_link_opens_the_scenario(page: Page, daemon: Daemon) -> None:
    scenario = a_transfer(daemon)

    page.open(f"/#/create/?diagramData={scenario}")

    page.open_details()
    page.wait_for("0xf804630905000100a10f")
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
    assert page.complaints() == []


def test_what_a_run_fills_in_is_told_apart_from_what_is_wrong(page: Page, daemon: Daemon) -> None:
    steps = [
        {"type": "webhook", "name": "notes", "uuid": UUID},
        {"type": "Remark", "chain": "polkadot", "text": "{{ note }}"},
    ]
    scenario = a_flow(daemon, {"steps": steps})
    shown = post(daemon, "/api/scenario/show", {"id": scenario})

    page.open(f"/#/create/?diagramData={scenario}")
    page.wait_for("Waiting for data")

    [problem] = shown["problems"]
    assert (problem["problem"], problem["waiting"]) == (
        "source.target waits for webhook data: {{ note }}",
        True,
    )
    assert problem["node"] == shown["nodes"][-1]["id"]
    # The chain of a step is no step of its own.
    assert f"Step 2: {problem['problem']}" in page.text()
    assert "1 problem" not in page.text()


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


def test_a_wrong_field_is_said_beside_the_form_and_nothing_typed_is_lost(page: Page) -> None:
    page.open("/#/new/transfer")
    choose(page, "assetid", "DOT")
    page.fill("amount", "a lot")
    page.fill("destination_address", BOB)
    page.press("Create")

    page.wait_for("Amount 'a lot' is not a number")
    assert page.value_of("[name=destination_address]", "value") == BOB


def test_a_transfer_and_a_remark_are_created_with_forms(page: Page) -> None:
    page.open("/#/new/transfer")
    choose(page, "assetid", "DOT")
    page.fill("amount", "2")
    page.fill("destination_address", BOB)
    page.press("Create")
    page.wait_for("Teleports 2 DOT from Polkadot to Polkadot Asset Hub")

    page.open("/#/new/remark")
    page.fill("text", "written by a page")
    page.press("Create")
    page.wait_for("Writes 'written by a page' to the history of Polkadot")


def test_a_job_is_started_watched_and_stopped(page: Page, daemon: Daemon) -> None:
    page.open(f"/#/create/?diagramData={a_remark(daemon)}")
    page.fill("every", "1s")
    page.press("Start")

    page.wait_for("Starting worker")
    page.wait_for("workload executed")
    page.wait(lambda: len(page.browser.find_elements("css selector", ".mempool li")) >= 2)
    page.press("Stop")
    page.wait_for("not running")
    assert page.complaints() == []


def test_a_job_is_started_within_bounds(page: Page, daemon: Daemon) -> None:
    page.open(f"/#/create/?diagramData={a_remark(daemon)}")
    page.fill("max_amount", "10 KSM")
    page.press("Start")
    page.wait_for("is no symbol of an asset of Polkadot")

    page.fill("max_amount", "10 DOT")
    page.fill("max_per_day", "50 DOT")
    page.press("Start")

    page.wait_for("every 12h, at most 10 DOT per draft and 50 DOT in 24 h")
    page.press("Stop")
    page.wait_for("not running")


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


def test_a_diagram_is_imported_by_typing_pasting_and_dropping(page: Page) -> None:
    share = base64.b64encode(zlib.compress(json.dumps(diagram_of("plain")).encode())).decode()

    page.open("/#/import")
    page.fill("url", share)
    page.press("Import")
    page.wait(lambda: "diagramData=" in page.browser.current_url)

    page.open("/")
    page.wait_for("Scenarios")
    page.paste(share)
    page.wait(lambda: "diagramData=" in page.browser.current_url)

    page.open("/")
    page.wait_for("Scenarios")
    page.drop(json.dumps(diagram_of("dropped")), "diagram.json")
    page.wait(lambda: "diagramData=" in page.browser.current_url)
    page.wait_for("dropped")
    assert page.complaints() == []


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


def test_the_list_is_searched(page: Page, daemon: Daemon) -> None:
    ends = {"source_chain": "polkadot", "dest_chain": "assetHub", "destination_address": BOB}
    pays = {"type": "xTransfer", **ends, "assetid": "DOT", "amount": "2.75"}
    notes = {"type": "Remark", "chain": "polkadot", "text": "for the treasury"}
    for name, step in (("Zebra pays", pays), ("Zebra notes", notes)):
        a_flow(daemon, {"name": name, "steps": [step]})
    page.open("/#/scenarios")
    page.wait_for("Zebra pays")
    search = page.find("#search")
    for words in ("pays", "xtransfer", "2.75 dot", "asset hub", BOB, "Treasury"):
        search.clear()
        search.send_keys("no such thing")
        page.wait_for("No matching scenarios.")
        search.clear()
        search.send_keys(f"zebra {words}")
        page.wait_for("1 scenario\n", "Zebra notes" if words == "Treasury" else "Zebra pays")
    assert page.complaints() == []


def test_what_is_copied_is_the_transaction(page: Page, daemon: Daemon) -> None:
    browser = page.browser
    scenario = a_transfer(daemon)
    wanted = post(daemon, "/api/scenario/info/full", {"id": scenario})["result"]["tx"]
    browser.execute_cdp_cmd(
        "Browser.grantPermissions",
        {"origin": page.url, "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]},
    )
    page.open(f"/#/create/?diagramData={scenario}")
    page.open_details()
    page.press("Copy hex")
    page.wait_for("Copied")

    copied = browser.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    assert copied == wanted


def test_what_can_not_be_copied_is_said(page: Page, daemon: Daemon) -> None:
    refused = (
        "if (target.includes('/getUrl/')) return {status: 503, body: {error: 'the store is busy'}};"
    )
    with stubbed(page, refused):
        page.open(f"/#/create/?diagramData={a_remark(daemon)}")
        page.press("Copy share string")
        page.wait(lambda: page.find("#said").text == "the store is busy")


def test_the_page_asks_nobody_but_the_daemon(page: Page, daemon: Daemon) -> None:
    page.open(f"/#/create/?diagramData={a_transfer(daemon)}")
    page.wait_for("Sign and send")

    asked = page.browser.execute_script(
        "return performance.getEntriesByType('resource').map(each => each.name)"
    )
    assert len(asked) > 10
    assert [name for name in asked if not name.startswith((f"{page.url}/", "data:"))] == []


def test_a_dropped_link_is_imported_and_other_text_is_refused_in_a_sentence(page: Page) -> None:
    share = base64.b64encode(zlib.compress(json.dumps(diagram_of("linked")).encode())).decode()
    page.open("/")
    page.wait_for("Scenarios")

    page.drop("a shopping list")
    page.wait_for("'a shopping list'")
    assert "diagramData" not in page.browser.current_url

    page.drop(f"https://example.org/#/create/?diagramData={quote(share, safe='')}")
    page.wait(lambda: "diagramData=" in page.browser.current_url)
    page.wait_for("webhook linked")


def test_on_a_phone_the_list_says_what_a_scenario_does_in_words(page: Page, daemon: Daemon) -> None:
    a_transfer(daemon)
    with page.screen(360, 800):
        page.open("/#/scenarios")
        page.wait_for("1.5 DOT · Polkadot → Asset Hub")
        widths = page.browser.execute_script(
            "return [...document.querySelectorAll('tbody tr:first-child th, tbody "
            "tr:first-child td')].filter(cell => cell.innerText).map(cell => "
            "cell.clientWidth)"
        )
        hidden = page.browser.execute_script(
            "const list = document.querySelector('nav > ul'); return list.scrollWidth - "
            "list.clientWidth"
        )

    # It once was letter below letter, beside a date that did not wrap.
    assert min(widths) > 90
    assert hidden == 0


def test_many_steps_leave_room_for_what_stands_below(page: Page, daemon: Daemon) -> None:
    nodes = [{"id": f"n{n}", "type": "delay", "formData": {"seconds": n + 1}} for n in range(40)]
    edges = [{"source": f"n{n}", "target": f"n{n + 1}"} for n in range(39)]
    scenario = post(
        daemon, "/api/template/saveUrl", {"url": json.dumps({"nodes": nodes, "edges": edges})}
    )
    page.open(f"/#/create/?diagramData={scenario['shortUrl']}")
    page.wait_for("40 steps")
    page.wait(lambda: len(page.browser.find_elements("css selector", ".steps li")) == 40)

    heights = page.browser.execute_script(
        "return ['h1', '[aria-label=Steps]'].map(each => document.querySelector(`main "
        "${each}`).clientHeight)"
    )
    assert heights[0] < 110
    assert heights[1] < 400


def test_a_remark_is_made_without_a_pointer(page: Page, daemon: Daemon) -> None:
    """From the page's top to a copied transaction, with the keys alone."""

    page.open("/")
    page.wait_for("Scenarios")
    page.tab_to("New")
    page.keys(Keys.ENTER)
    page.tab_to("Remark")
    page.keys(Keys.ENTER)
    page.wait_for("New remark")
    assert not page.find(".menu ul").is_displayed()
    page.tab_to("Text")
    page.keys("typed without a mouse")
    page.tab_to("Create")
    page.keys(Keys.ENTER)
    page.wait_for("Writes 'typed without a mouse' to the history of Polkadot")
    page.tab_to("Details")
    page.keys(Keys.ENTER)
    page.wait_for("Copy hex")
    page.tab_to("Copy hex")
    page.keys(Keys.ENTER)
    page.wait_for("Copied")
    page.tab_to("Every")
    page.keys("1h")
    page.tab_to("Start")
    page.keys(Keys.ENTER)
    page.wait_for("workload executed")
    assert page.complaints() == []


def test_the_page_is_used_by_keyboard(page: Page, daemon: Daemon) -> None:
    page.open(f"/#/create/?diagramData={a_transfer(daemon)}")
    page.find(".picture")
    page.keys(Keys.TAB)

    assert page.browser.switch_to.active_element.text == "Skip to the content"

    page.keys(Keys.ENTER)

    assert page.browser.switch_to.active_element.get_attribute("id") == "main"


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
        browser.refresh()
        page.wait_for("This daemon requires a token")


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 375])
def test_axe_finds_no_violations(page: Page, daemon: Daemon, scheme: str, width: int) -> None:
    transfer, remark = a_transfer(daemon), a_remark(daemon)
    broken = post(daemon, "/api/template/saveUrl", {"url": json.dumps(diagram_of("unfinished"))})[
        "shortUrl"
    ]
    post(daemon, "/job/start", {"id": remark, "every": "1s"})
    found: dict[str, Any] = {}
    with page.color_scheme(scheme), page.screen(width):
        for path, ready in (
            ("/", "Sign and send"),
            ("/#/scenarios", "scenarios"),
            ("/#/new/transfer", "Receiver"),
            ("/#/new/swap", "You sell"),
            ("/#/new/remark", "Text"),
            ("/#/import", "Link, share string"),
            ("/#/nowhere", "Page not found"),
            (f"/#/create/?diagramData={transfer}", "Sign and send"),
            (f"/#/create/?diagramData={remark}", "workload executed"),
            (f"/#/create/?diagramData={broken}", "Share or delete"),
            ("/#/create/?diagramData=nosuchone", "Something went wrong"),
        ):
            page.open(path)
            page.wait_for(ready)
            if each := barriers(page):
                found[path] = each
    post(daemon, "/job/stop", {"id": remark})

    assert found == {}


def test_a_question_is_answered_by_keyboard_and_keeps_the_focus(page: Page, daemon: Daemon) -> None:
    scenario = a_remark(daemon)
    page.open(f"/#/create/?diagramData={scenario}")
    page.wait_for("Sign and send")
    page.browser.execute_script("arguments[0].focus()", page.find("#taking ~ * button.danger"))
    for refusal in (Keys.ESCAPE, Keys.ENTER):
        page.keys(Keys.ENTER)
        page.find("dialog[open]")
        assert page.browser.switch_to.active_element.text == "Cancel"
        page.keys(refusal)
        page.wait(lambda: not page.browser.find_elements("css selector", "dialog"))
        assert page.browser.switch_to.active_element.text == "Delete scenario"

    page.keys(Keys.ENTER)
    asked = page.answer("Delete")
    page.wait_for(f"Deleted {scenario}")
    assert asked.startswith("Delete this scenario?\nIts job, log and drafts are deleted too.")


def test_a_question_goes_with_its_view(page: Page, daemon: Daemon) -> None:
    page.open(f"/#/create/?diagramData={a_remark(daemon)}")
    page.press("Delete scenario")
    page.find("dialog[open]")
    page.browser.execute_script("location.hash = '#/import'")

    page.wait(lambda: not page.browser.find_elements("css selector", "dialog"))


def test_the_browser_itself_asks_nothing() -> None:
    for module in Path(web.__file__).parent.glob("*.js"):
        if module.name != "qr.js":
            assert re.findall(r"\b(?:confirm|alert|prompt)\(", module.read_text()) == [], (
                module.name
            )


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
    page.fill("every", "5x")
    page.press("Start")
    name, said = wrong(page)
    assert name == "every"
    assert said.startswith("Every '5x' is not a duration, expected one like 90s")
    if AXE.exists():
        assert violations(page) == []

    page.fill("every", "")
    page.fill("cron", "* *")
    page.press("Start")
    page.wait_for("Cron '* *' is not a cron line")
    assert wrong(page)[0] == "cron"
    assert len(page.browser.find_elements("css selector", "[aria-invalid]")) == 1
    page.click(".title summary")
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
    page.wait_for("Diagram 'zzz' contains no zlib stream")
    assert wrong(page)[0] == "url"
