"""The page in headless Chromium: everything that a person does with it, and what must not happen to them."""

import base64
import json
import os
import urllib.error
import urllib.request
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.browser.conftest import Daemon, Page, connected
from tests.conftest import BOB
from tests.test_check import ALICE

pytestmark = pytest.mark.acceptance

#: Where tests/clients/run has put the packages of npm.
AXE = Path(os.environ.get("SCENARIOCTL_CLIENTS", "/nowhere"), "node_modules/axe-core/axe.min.js")

#: What would run, were it ever taken for markup or for code.
ATTACK = (
    '<img src=x onerror="window.hit=1">"\'><script>window.hit=1</script>${constructor}javascript:window.hit=1'
)


def post(daemon: Daemon, path: str, fields: dict[str, Any]) -> Any:
    request = urllib.request.Request(
        daemon.url + path, json.dumps(fields).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise AssertionError(error.read().decode()) from None


def a_remark(daemon: Daemon, text: str = "hello") -> str:
    return str(post(daemon, "/api/create/remark", {"chain": "polkadot", "text": text})["result"])


def a_transfer(daemon: Daemon) -> str:
    fields = {
        "source_chain": "polkadot",
        "dest_chain": "assetHub",
        "destination_address": BOB,
        "amount": 1.5,
        "assetid": 0,
    }
    return str(post(daemon, "/api/create/scenario", fields)["result"])


def diagram_of(text: str) -> dict[str, Any]:
    """Return a diagram that holds *text* in every place where an editor puts what a person wrote."""
    return {
        "nodes": [
            {"id": f"chain {text}", "type": "chain", "formData": {"chain": text, "asset": {"name": text, "symbol": text}, "address": text, "amount": text}},
            {"id": "remark", "type": "action", "formData": {"action": "Remark", "actionData": {"source": {"chain": "polkadot", "target": text}}}},
            {"id": "hook", "type": "webhook", "formData": {"webhookName": text, "uuid": "6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d"}},
            {"id": "web", "type": "http", "formData": {"url": f"https://example.org/{text}", "method": text}},
            {"id": "odd", "type": text, "formData": {"label": text}},
        ],
        "edges": [
            {"id": "a", "source": "remark", "target": "hook", "label": text},
            {"id": "b", "source": "hook", "target": "web"},
        ],
    }  # fmt: skip


def test_the_documented_link_opens_the_scenario(page: Page, daemon: Daemon) -> None:
    scenario = a_transfer(daemon)

    page.open(f"/#/create/?diagramData={scenario}")

    page.wait_for("polkadot > xTransfer > assetHub")
    page.wait_for("0xf804630905000100a10f")
    page.wait(
        lambda: page.browser.execute_script(
            "const i = document.querySelector('.picture img'); return i && i.complete && i.naturalWidth > 200"
        )
    )
    assert f"1.5 DOT from polkadot to assetHub, for {BOB}" in page.text()
    assert page.browser.title == "polkadot > xTransfer > assetHub – scenarioctl"
    assert page.complaints() == []


def test_what_a_run_fills_in_is_told_apart_from_what_is_wrong(page: Page, daemon: Daemon) -> None:
    uuid = "6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d"
    steps = [
        {"type": "webhook", "name": "notes", "uuid": uuid},
        {"type": "Remark", "chain": "polkadot", "text": "{{ note }}"},
    ]
    created = post(daemon, "/api/create/flow", {"flow": {"steps": steps}, "syntax": "json"})
    shown = post(daemon, "/api/scenario/show", {"id": created["result"]})

    page.open(f"/#/create/?diagramData={created['result']}")
    page.wait_for("Waiting for data")

    [problem] = shown["problems"]
    assert (problem["problem"], problem["waiting"]) == (
        "source.target waits for webhook data: {{ note }}",
        True,
    )
    assert f"{problem['node']}: {problem['problem']}" in page.text()
    assert "1 problem" not in page.text()


def test_a_swap_is_created_with_a_form(page: Page) -> None:
    page.open("/#/new/swap")
    page.fill("assetin", "5")
    page.fill("assetout", "10")
    page.fill("amount", "2.5")
    page.fill("min_received", "9")
    page.press("Create")

    page.wait_for("hydraDx > swap")
    page.wait_for("Copy hex")
    assert "#/create/?diagramData=" in page.browser.current_url
    assert page.complaints() == []


def test_a_wrong_field_is_said_beside_the_form_and_nothing_typed_is_lost(page: Page) -> None:
    page.open("/#/new/transfer")
    page.fill("assetid", "DOT")
    page.fill("amount", "a lot")
    page.fill("destination_address", BOB)
    page.press("Create")

    page.wait_for("amount 'a lot' is not a number")
    assert page.find("[name=destination_address]").get_attribute("value") == BOB


def test_a_transfer_and_a_remark_are_created_with_forms(page: Page) -> None:
    page.open("/#/new/transfer")
    page.fill("assetid", "DOT")
    page.fill("amount", "2")
    page.fill("destination_address", BOB)
    page.press("Create")
    page.wait_for("polkadot > xTransfer > assetHub")

    page.open("/#/new/remark")
    page.fill("text", "written by a page")
    page.press("Create")
    page.wait_for("polkadot > Remark")


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


def test_more_tabs_than_a_browser_has_connections_do_not_starve_each_other(
    page: Page, daemon: Daemon
) -> None:
    scenario = a_remark(daemon)
    first = page.browser.current_window_handle
    try:
        for _ in range(8):
            page.browser.switch_to.new_window("tab")
            page.browser.get(f"{page.url}/#/create/?diagramData={scenario}")
            page.wait_for("Copy hex")

        # One that is looked at again goes on where it was.
        page.browser.switch_to.window(page.browser.window_handles[1])
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
    page.browser.execute_script(
        "const t = new DataTransfer(); t.setData('text', arguments[0]);"
        "document.body.dispatchEvent(new ClipboardEvent('paste', {clipboardData: t, bubbles: true}))",
        share,
    )
    page.wait(lambda: "diagramData=" in page.browser.current_url)

    page.open("/")
    page.wait_for("Scenarios")
    page.browser.execute_script(
        "const t = new DataTransfer(); t.items.add(new File([arguments[0]], 'diagram.json'));"
        "document.body.dispatchEvent(new DragEvent('drop', {dataTransfer: t, bubbles: true}))",
        json.dumps(diagram_of("dropped")),
    )
    page.wait(lambda: "diagramData=" in page.browser.current_url)
    page.wait_for("dropped")
    assert page.complaints() == []


def test_what_people_wrote_stays_text(page: Page, daemon: Daemon) -> None:
    imported = post(daemon, "/api/template/saveUrl", {"url": json.dumps(diagram_of(ATTACK))})["shortUrl"]
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
    a_transfer(daemon)
    page.open("/")
    page.wait_for("polkadot > xTransfer > assetHub")
    search = page.find("#search")
    search.send_keys("no such thing")
    page.wait_for("No matching scenarios.")
    search.clear()
    search.send_keys("xtransfer")

    page.wait(lambda: page.browser.find_elements("css selector", "tbody tr"))
    assert page.complaints() == []


def test_the_payload_and_its_vault_code_are_made_for_a_sender(page: Page, daemon: Daemon) -> None:
    page.open(f"/#/create/?diagramData={a_remark(daemon)}")
    page.wait_for("Sign elsewhere")
    card = "[aria-labelledby=payload]"
    page.fill("sender", BOB, within=card)
    page.fill("nonce", "7", within=card)
    page.press("Prepare for signing")

    page.wait_for("Scan with Polkadot Vault.")
    assert page.browser.execute_script("return document.querySelector('.qr').naturalWidth") > 50
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
    page.press("Copy hex")
    page.wait_for("Copied")

    copied = browser.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    assert copied == wanted


def test_a_transaction_is_tried_on_its_chains_for_who_signs_it(browser: Any, tmp_path: Path) -> None:
    with connected(browser, tmp_path) as (page, daemon, network):
        page.open(f"/#/create/?diagramData={a_transfer(daemon)}")
        page.fill("sender", ALICE, within="[aria-labelledby=check]")
        page.press("Simulate")
        page.wait_for("Simulation passed")

        rows = page.browser.find_elements("css selector", "[aria-labelledby=check] tbody tr")
        assert [row.text for row in rows[:5]] == [
            "polkadot transaction fee 0.016 DOT",
            "polkadot delivery 0.03 DOT",
            "assetHub execution 0.002 DOT",
            "assetHub computed arrival 1.498 DOT",
            "assetHub arrives 1.498 DOT",
        ]
        assert [row.text for row in rows[5:]] == [f"assetHub {BOB} 1.498 DOT"]
        # The other form need not be told again.
        sender = page.find("[aria-labelledby=payload] [name=sender]")
        assert sender.get_attribute("value") == ALICE
        network.chains["polkadot"].api["DryRunApi_dry_run_call"] = {"Err": "Unimplemented"}
        page.press("Simulate")
        page.wait_for("Result unknown")
        assert page.complaints() == []


def test_the_page_asks_nobody_but_the_daemon(page: Page, daemon: Daemon) -> None:
    page.open(f"/#/create/?diagramData={a_transfer(daemon)}")
    page.wait_for("Copy hex")

    asked = page.browser.execute_script(
        "return performance.getEntriesByType('resource').map(each => each.name)"
    )
    assert len(asked) > 10
    assert [name for name in asked if not name.startswith((f"{page.url}/", "data:"))] == []


def test_the_diagram_is_dragged_and_zoomed_with_a_pointer(page: Page, daemon: Daemon) -> None:
    page.open(f"/#/create/?diagramData={a_transfer(daemon)}")
    page.wait_for("Copy hex")
    frame, image = page.find(".picture"), page.find(".picture img")

    ActionChains(page.browser).move_to_element(frame).click_and_hold().move_by_offset(
        60, -20
    ).release().perform()
    dragged = image.get_attribute("style")
    ActionChains(page.browser).move_to_element(frame).move_by_offset(30, 0).perform()
    moved_on = image.get_attribute("style")
    page.press("Fit")
    page.browser.execute_script(
        "arguments[0].dispatchEvent(new WheelEvent('wheel', {deltaY: -300, ctrlKey: true, cancelable: true}))",
        frame,
    )
    zoomed = image.get_attribute("style")

    assert dragged == moved_on == "transform: translate(60px, -20px) scale(1);"
    assert zoomed is not None and "scale(2.71828)" in zoomed


def test_a_dropped_link_is_imported_and_other_text_is_refused_in_a_sentence(page: Page) -> None:
    def drop(text: str) -> None:
        page.browser.execute_script(
            "const t = new DataTransfer(); t.setData('text', arguments[0]);"
            "document.body.dispatchEvent(new DragEvent('drop', {dataTransfer: t, bubbles: true}))",
            text,
        )

    share = base64.b64encode(zlib.compress(json.dumps(diagram_of("linked")).encode())).decode()
    page.open("/")
    page.wait_for("Scenarios")

    drop("a shopping list")
    page.wait_for("'a shopping list'")
    assert "diagramData" not in page.browser.current_url

    drop(f"https://example.org/#/create/?diagramData={quote(share, safe='')}")
    page.wait(lambda: "diagramData=" in page.browser.current_url)
    page.wait_for("linked > Remark > webhook > http")


def test_on_a_phone_the_list_says_what_a_scenario_does_in_words(page: Page, daemon: Daemon) -> None:
    a_transfer(daemon)
    size = {"width": 360, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        page.open("/")
        page.wait_for("polkadot > xTransfer > assetHub")
        widths = page.browser.execute_script(
            "return [...document.querySelectorAll('thead th')].map(cell => cell.clientWidth)"
        )
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    # It once was letter below letter, beside a date that did not wrap.
    assert min(widths) > 90


def test_many_steps_leave_room_for_what_stands_below(page: Page, daemon: Daemon) -> None:
    nodes = [{"id": f"n{n}", "type": "delay", "formData": {"seconds": n + 1}} for n in range(40)]
    edges = [{"source": f"n{n}", "target": f"n{n + 1}"} for n in range(39)]
    scenario = post(daemon, "/api/template/saveUrl", {"url": json.dumps({"nodes": nodes, "edges": edges})})
    page.open(f"/#/create/?diagramData={scenario['shortUrl']}")
    page.wait_for("Unsigned transaction")

    heights = page.browser.execute_script(
        "return ['h1', '[aria-label=Steps]'].map(each => document.querySelector(`main ${each}`).clientHeight)"
    )
    assert heights[0] < 110
    assert heights[1] < 400


def test_a_small_diagram_is_not_blown_up(page: Page, daemon: Daemon) -> None:
    page.open(f"/#/create/?diagramData={a_remark(daemon)}")
    page.wait_for("Copy hex")
    page.wait(
        lambda: page.browser.execute_script(
            "const i = document.querySelector('.picture img');"
            "return i.clientHeight > 100 && i.clientHeight <= Math.max(180, 1.4 * i.naturalHeight)"
        )
    )


def test_a_remark_is_made_without_a_pointer(page: Page, daemon: Daemon) -> None:
    """From the page's top to a copied transaction, with the keys alone."""

    def press(*keys: str) -> None:
        ActionChains(page.browser).send_keys(*keys).perform()

    def go_to(name: str) -> None:
        for _ in range(60):
            press(Keys.TAB)
            at = page.browser.switch_to.active_element
            if name in (at.text, at.accessible_name):
                return
        raise AssertionError(f"{name} is not reached")

    page.open("/")
    page.wait_for("Scenarios")
    go_to("Remark")
    press(Keys.ENTER)
    page.wait_for("New remark")
    go_to("Text")
    press("typed without a mouse")
    go_to("Create")
    press(Keys.ENTER)
    page.wait_for("Writes 'typed without a mouse' to the history of polkadot")
    go_to("Copy hex")
    press(Keys.ENTER)
    page.wait_for("Copied")
    go_to("Every")
    press("1h")
    go_to("Start")
    press(Keys.ENTER)
    page.wait_for("workload executed")
    assert page.complaints() == []


def test_the_page_is_used_by_keyboard(page: Page, daemon: Daemon) -> None:
    page.open(f"/#/create/?diagramData={a_transfer(daemon)}")
    picture = page.find(".picture")
    ActionChains(page.browser).send_keys(Keys.TAB).perform()

    assert page.browser.switch_to.active_element.text == "Skip to the content"

    ActionChains(page.browser).send_keys(Keys.ENTER).perform()

    assert page.browser.switch_to.active_element.get_attribute("id") == "main"

    page.browser.execute_script("arguments[0].focus()", picture)
    ActionChains(page.browser).send_keys("++", Keys.ARROW_LEFT).perform()
    moved = page.find(".picture img").get_attribute("style")
    ActionChains(page.browser).send_keys("0").perform()

    assert moved is not None and "scale(1.5625)" in moved
    assert "scale(1)" in str(page.find(".picture img").get_attribute("style"))


def test_a_daemon_that_is_gone_is_said_and_so_is_its_return(browser: Any, tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    page = Page(browser, daemon.url)
    try:
        page.open("/#/new/remark")
        page.fill("text", "still here")
        daemon.stop()
        page.press("Create")
        page.wait_for("The daemon is not responding. Trying again every 2 seconds.")
        daemon.start()
        page.wait(lambda: "Trying again every" not in page.text())
        page.press("Create")
        page.wait_for("polkadot > Remark")
    finally:
        browser.get("about:blank")
        daemon.stop()


def test_a_token_is_asked_for_and_kept_in_memory_only(browser: Any, tmp_path: Path) -> None:
    from hashlib import sha256

    token = "sctl_for-this-test"
    digest = sha256(token.encode()).hexdigest()
    daemon = Daemon(
        tmp_path, config=f'[tokens.page]\nsha256 = "{digest}"\nscopes = ["read", "create", "jobs"]\n'
    )
    page = Page(browser, daemon.url)
    try:
        page.open("/")
        page.wait_for("Its operator creates one with scenarioctl config token NAME.")
        page.fill("token", "wrong", within="dialog")
        page.press("Continue")
        page.wait_for("The token is not valid.")
        page.fill("token", token, within="dialog")
        page.press("Continue")
        page.wait_for("No scenarios yet")

        kept = browser.execute_script(
            "return JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href])"
        )
        assert token not in kept
        browser.refresh()
        page.wait_for("This daemon requires a token")
    finally:
        browser.get("about:blank")
        daemon.stop()


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed, tests/clients/run does it")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 375])
def test_axe_finds_no_violations(page: Page, daemon: Daemon, scheme: str, width: int) -> None:
    transfer, remark = a_transfer(daemon), a_remark(daemon)
    broken = post(daemon, "/api/template/saveUrl", {"url": json.dumps(diagram_of("unfinished"))})["shortUrl"]
    post(daemon, "/job/start", {"id": remark, "every": "1s"})
    browser = page.browser
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 812, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    found: dict[str, Any] = {}
    try:
        for path, ready in (
            ("/", "scenarios"),
            ("/#/new/transfer", "Receiver"),
            ("/#/new/swap", "You sell"),
            ("/#/new/remark", "Text"),
            ("/#/import", "Import a diagram"),
            ("/#/nowhere", "Page not found"),
            (f"/#/create/?diagramData={transfer}", "Copy hex"),
            (f"/#/create/?diagramData={remark}", "workload executed"),
            (f"/#/create/?diagramData={broken}", "Share or delete"),
            ("/#/create/?diagramData=nosuchone", "Something went wrong"),
        ):
            page.open(path)
            page.wait_for(ready)
            browser.execute_script(AXE.read_text())
            violations = browser.execute_async_script(
                "const done = arguments[arguments.length - 1];"
                "axe.run().then(r => done(r.violations.map(v => [v.id, v.nodes.map(n => n.html + ' | ' + n.failureSummary)])))"
            )
            wide = browser.execute_script("return document.documentElement.scrollWidth - innerWidth")
            if violations or wide > 0:
                found[path] = (violations, wide)
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        post(daemon, "/job/stop", {"id": remark})

    assert found == {}
