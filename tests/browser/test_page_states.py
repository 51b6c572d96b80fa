"""What the page shows in each of its states: no stray values, long logs, outages, drafts made anew,
fingers."""

import json
import re
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from scenarioctl import web
from tests.browser.page import Daemon, Page, served
from tests.browser.reading import look
from tests.browser.scenarios import UUID, a_flow, a_remark, a_transfer, diagram_of, imported, post
from tests.browser.wallets import stubbed
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

        assert page.text_of("h1") == "Home"
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
        (f"/#/create/?diagramData={transfer}", "Sign and send"),
        (f"/#/create/?diagramData={remark}", "workload executed"),
        (f"/#/create/?diagramData={warned}", "Sign and send"),
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
    page.wait_for("Sign and send")
    daemon.stop()
    page.press("Refresh")
    page.wait_for("Your input is kept")
    page.browser.execute_script("scrollTo(0, document.body.scrollHeight)")
    top, bottom = page.browser.execute_script(
        "const box = document.getElementById('gone').getBoundingClientRect(); return "
        "[box.top, box.bottom]"
    )
    assert top >= 0
    assert bottom > top
    page.wait_for("Try again")
    assert "Sign and send" not in page.text()

    daemon.start()
    page.wait_for("Sign and send")
    page.wait(lambda: "not responding" not in page.text())


@pytest.mark.parametrize(
    "view", ["home", "scenarios", "new", "edit", "import", "sign", "tx", "nowhere"]
)
def test_an_outage_of_the_daemon_or_its_store_is_said_in_every_view(
    own: tuple[Page, Daemon], view: str
) -> None:
    page, daemon = own
    scenario = a_remark(daemon)
    links = {
        "home": "",
        "new": "new/transfer",
        "edit": f"edit/{scenario}",
        "sign": f"sign/?scenario={scenario}",
    }
    page.open(f"/#/{links.get(view, view)}")
    page.find("main h1")
    banner = page.find("#gone")
    # A busy machine may have been taken for one that is gone.
    page.wait(lambda: banner.text == "")
    # It is alive, and silent.
    daemon.freeze()
    page.wait(lambda: banner.text.startswith("The daemon is not responding."))
    daemon.thaw()
    page.wait(lambda: banner.text == "")

    store = daemon.folder / "scenarios.db"
    away = store.rename(daemon.folder / "away.db")
    page.wait(lambda: banner.text.startswith("The daemon can't use its store at the moment."))
    away.rename(store)
    page.wait(lambda: banner.text == "")
    daemon.stop()
    page.wait(lambda: banner.text.startswith("The daemon is not responding."))


def test_an_outage_is_said_within_two_seconds() -> None:
    api = (Path(web.__file__).parent / "api.js").read_text()

    beat, patience = (
        int(re.findall(rf"const {name} = (\d+);", api)[0]) for name in ("BEAT", "PATIENCE")
    )
    assert beat + patience < 2000


def test_a_failed_request_is_sent_again_by_a_button(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    a_remark(daemon)
    page.open("/#/scenarios")
    page.wait_for("1 scenario")
    page.browser.execute_script(
        "const real = fetch; window.asked = 0; window.fetch = (target, options) => {"
        " if (!target.startsWith('/api/scenarios')) return real(target, options);"
        " window.asked += 1;"
        " return window.asked > 1 ? real(target, options)"
        ' : Promise.resolve(new Response(\'{"error": "the store is busy"}\', {status: 503})) }'
    )
    page.find("#search").send_keys("R")
    page.wait_for("the store is busy")
    # It is not repeated by itself.
    page.wait(
        lambda: (
            page.browser.execute_script(
                "return performance.getEntriesByName(location.origin + '/readyz').length"
            )
            > 2
        )
    )
    assert page.browser.execute_script("return window.asked") == 1
    page.press("Try again")

    page.wait(lambda: not page.browser.find_elements("css selector", "main .problem"))
    assert page.browser.execute_script("return window.asked") == 2


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


@pytest.mark.parametrize(
    "link", ["/#/create/?diagramData=%E0%A4%A", "/#/edit/%zz", "/#/duplicate/%zz"]
)
def test_a_link_that_is_no_text_is_refused_in_a_sentence(page: Page, link: str) -> None:
    page.open(link)

    page.wait_for("This link is damaged: ")


def test_the_skip_link_keeps_the_scenario(page: Page, daemon: Daemon) -> None:
    page.open(f"/#/create/?diagramData={a_remark(daemon)}")
    page.wait_for("Sign and send")
    before = page.browser.current_url

    page.browser.execute_script("document.querySelector('.skip').click()")

    assert page.browser.current_url == before
    assert page.browser.switch_to.active_element.get_attribute("id") == "main"
    page.browser.refresh()
    page.wait_for("Sign and send")


def test_a_finger_scrolls_the_page_over_the_diagram(page: Page, daemon: Daemon) -> None:
    browser = page.browser
    with page.screen(390, 700, touch=True):
        page.open(f"/#/create/?diagramData={a_transfer(daemon)}")
        page.wait_for("Sign and send")
        page.find(".picture .node")
        x, y = browser.execute_script(
            "const box = document.querySelector('.picture').getBoundingClientRect();"
            "return [box.left + box.width / 2, box.top + box.height / 2]"
        )
        touch = [{"x": x, "y": y}]
        browser.execute_cdp_cmd(
            "Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": touch}
        )
        for moved in range(10, 160, 10):
            touch = [{"x": x, "y": y - moved}]
            browser.execute_cdp_cmd(
                "Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": touch}
            )
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        page.wait(lambda: browser.execute_script("return scrollY") > 50)


def test_configured_chains_can_be_chosen(browser: Any, tmp_path: Path) -> None:
    config = (
        '[chains.mychain]\nrole = "relay"\nsymbol = "UNIT"\ndecimals = 12\nendpoints = '
        '["ws://127.0.0.1:1"]\n'
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
    question = page.answer("Cancel")
    page.wait_for("nobody holds its key")
    page.press("Create")
    page.answer("Create anyway")

    page.wait_for("Teleports 2 DOT from Polkadot to Polkadot Asset Hub")
    assert question.startswith("Create it anyway?\nReceiver '0x0000")
    assert "nobody holds its key" in question


@pytest.mark.parametrize(
    ("view", "sentence", "links"),
    [
        ("scenarios", "No scenarios yet.", ["#/new/transfer", "#/new/swap", "#/import"]),
        ("history", "Nothing was sent from here yet.", ["#/new/transfer", "#/scenarios"]),
    ],
)
def test_an_empty_list_begins_something(
    own: tuple[Page, Daemon], view: str, sentence: str, links: list[str]
) -> None:
    page, _ = own
    page.open(f"/#/{view}")
    page.wait_for(sentence)

    found = page.browser.find_elements("css selector", ".empty a.button")
    assert [str(each.get_attribute("href")).removeprefix(page.url + "/") for each in found] == links
    assert "primary" in str(found[0].get_attribute("class"))
    # There is nothing to search in.
    assert not any(
        each.is_displayed() for each in page.browser.find_elements("css selector", "main form")
    )


def test_what_was_sent_comes_before_the_filters_on_a_phone(page: Page) -> None:
    sent: dict[str, Any] = {"transactions": [], "csv": None, "total": 3, "next": None}
    with (
        page.screen(390),
        stubbed(page, f"if (target.includes('/api/tx/list')) return {json.dumps(sent)};"),
    ):
        page.open("/#/history")
        page.wait_for("3 transactions")
        assert not page.find("main [name=account]").is_displayed()

        page.open("/#/history?chain=polkadot")
        page.wait_for("3 transactions")
        assert page.find("main [name=account]").is_displayed()


def test_a_diagram_without_steps_asks_for_one(page: Page, daemon: Daemon) -> None:
    page.open(f"/#/create/?diagramData={imported(daemon, {'nodes': [], 'edges': []})}")
    page.wait(lambda: page.text_of(".next .primary") == "Add a step")

    page.wait_for("This diagram has no steps yet.", "not running")
    assert not page.browser.find_elements("css selector", ".picture")
    assert "Unsigned transaction" not in page.text()
    assert "no step that drafts a transaction" not in page.text()


def test_what_a_run_fills_in_is_no_error(page: Page, daemon: Daemon) -> None:
    hook = {"type": "webhook", "name": "notes", "uuid": UUID}
    flow = {"steps": [hook, {"type": "Remark", "chain": "polkadot", "text": "{{ note }}"}]}
    page.open(f"/#/create/?diagramData={a_flow(daemon, flow)}")

    page.wait_for("Waiting for data", "A run drafts it once the data has come.", "not running")
    assert not page.browser.find_elements("css selector", "main .problem")


def test_of_several_transactions_what_a_run_fills_in_is_no_error(
    page: Page, daemon: Daemon
) -> None:
    hook = {"type": "webhook", "id": "hook", "name": "notes", "uuid": UUID}
    texts = ("ready", "{{ hook.note }}")
    remarks = [{"type": "Remark", "chain": "polkadot", "text": text} for text in texts]
    page.open(f"/#/create/?diagramData={a_flow(daemon, {'steps': [hook, *remarks]})}")

    # As somebody wrote it, with its small letter.
    page.wait_for("Writes 'ready'", "A run drafts it once the data has come.")
    assert page.find(".step-text").text.startswith("'{{ webhook_")
    assert not page.browser.find_elements("css selector", "main .problem")


def test_what_takes_a_while_has_a_skeleton(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    post(daemon, "/api/address/add", {"name": "Bob", "address": BOB, "watch": True})
    with stubbed(page, "if (target.includes('/api/balances')) await new Promise(() => {});"):
        page.open("/#/accounts")
        page.wait_for("Asking the chains…")

        bar = (
            "return parseFloat(getComputedStyle(document.querySelector('.waits'), "
            "'::after').height)"
        )
        assert page.browser.execute_script(bar) > 40


def test_a_scenario_that_is_gone_leads_home(page: Page) -> None:
    page.open("/#/create/?diagramData=nosuchone")
    page.wait_for("is not in the store")

    assert [
        each.text for each in page.browser.find_elements("css selector", "main .actions > *")
    ] == ["Go home"]


def test_a_scenario_is_shown_by_its_name(page: Page, daemon: Daemon) -> None:
    flow = {
        "name": "Rent of March",
        "steps": [{"type": "Remark", "chain": "polkadot", "text": "paid"}],
    }
    scenario = a_flow(daemon, flow)

    page.open("/#/scenarios")
    page.find("#search").send_keys("rent of")
    page.wait(lambda: len(page.browser.find_elements("css selector", "tbody tr")) == 1)
    assert 'remark "paid" · Polkadot' in page.text_of("tbody tr")
    page.open(f"/#/create/?diagramData={scenario}")
    page.wait_for("Sign and send")
    assert page.text_of("main h1") == "Rent of March"
