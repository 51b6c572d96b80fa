"""The home in a browser: what needs somebody appears and goes by itself, and old news are seen to
be old."""

import os
import re
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from scenarioctl import __version__
from scenarioctl.model.notifications import OperationKey
from scenarioctl.stores import open_store
from scenarioctl.stores.multisig_readings import MultisigReading, WaitingOperation
from tests.browser.page import PATIENCE, Daemon, Page, connected
from tests.browser.reading import barriers, look, needs_axe
from tests.browser.scenarios import UNREACHABLE, a_flow, a_remark, a_transfer, post
from tests.browser.wallets import ALICE_42, BOB_42
from tests.canned import BOB_KEY
from tests.node import Gone
from tests.runner import finish

pytestmark = pytest.mark.acceptance

#: Bytes of the page's files that the home loads, decoded.
WEIGHT = 90 * 1024


def counted(page: Page) -> int:
    """Return the number in the tab's title."""
    found = re.match(r"\((\d+)\) Home", page.browser.title)
    return int(found[1]) if found else 0


def test_an_empty_store_offers_four_choices(own: tuple[Page, Daemon]) -> None:
    page, _ = own
    page.open("/")
    page.wait_for("No scenarios yet.")

    titles = [each.text for each in page.browser.find_elements("css selector", ".beginning b")]
    assert titles == ["Transfer", "Swap", "Import", "Sample scenario"]
    links = [
        each.get_attribute("href")
        for each in page.browser.find_elements("css selector", "a.beginning")
    ]
    assert [str(each).partition("#")[2] for each in links] == [
        "/new/transfer",
        "/new/swap",
        "/import",
    ]
    assert "Needs you" not in page.text()
    assert re.search(r"Facts about chains of 20\d\d-\d\d-\d\d, from the package", page.text())
    look(page)
    page.click("button.beginning")
    page.wait_for("Run now")
    assert page.text_of("main h1") == "Sample"
    assert page.complaints() == []


def test_needs_appear_and_go_without_a_reload(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    transfer = a_transfer(daemon)
    page.open("/")
    page.wait_for("Nothing needs you")
    assert (counted(page), page.browser.title) == (0, "Home – scenarioctl")

    post(daemon, "/job/run", {"id": transfer})
    page.wait_for("1 thing needs you")
    link = page.find("a[href^='#/sign/']")
    assert str(link.get_attribute("href")).endswith(f"#/sign/?job={transfer}&draft=1")
    page.wait_for("1.5 DOT on Polkadot, expires in 23 hours")
    assert counted(page) == 1

    post(daemon, "/job/start", {"id": transfer, "every": "12h"})
    post(daemon, "/job/pause", {"id": transfer})
    page.wait_for("2 things need you")
    page.wait_for("paused on request")
    assert counted(page) == 2
    page.press("Resume")
    page.wait_for("1 thing needs you")
    page.wait(lambda: "paused on request" not in page.text())
    look(page)

    post(daemon, "/job/stop", {"id": transfer})
    post(daemon, "/api/scenario/delete", {"id": transfer})
    page.wait_for("No scenarios yet.")
    assert counted(page) == 0
    assert page.complaints() == []


def test_a_failing_job_is_said_with_its_bars_and_why(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    scenario = a_flow(daemon, {"name": "Ask", "steps": [UNREACHABLE]})
    page.open("/")
    page.wait_for("No job yet.")
    post(daemon, "/job/start", {"id": scenario, "every": "1h"})

    page.wait_for("Failed")
    page.wait_for("127.0.0.1:9")
    told = "Last run: 0 succeeded, 1 failed, the newest failed"
    page.wait(lambda: page.value_of("svg.bars", "aria-label") == told)
    assert len(page.browser.find_elements("css selector", "svg.bars rect.failed")) == 1
    assert page.text_of("table.list .when time") in ("in 59 minutes", "in 1 hour")


def test_what_has_the_focus_keeps_it_when_news_come(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    scenario = a_remark(daemon)
    post(daemon, "/job/run", {"id": scenario})
    page.open("/")
    page.wait_for("1 thing needs you")
    page.browser.execute_script("document.querySelector('.need a.button').focus()")

    post(daemon, "/job/run", {"id": a_remark(daemon, "another")})
    page.wait_for("2 things need you")

    focused = page.browser.execute_script("return document.activeElement.getAttribute('data-key')")
    assert focused == f"sign {scenario}"


def test_old_news_are_seen_to_be_old_and_new_ones_come_by_themselves(
    own: tuple[Page, Daemon],
) -> None:
    page, daemon = own
    a_remark(daemon)
    # A clock that can be moved: nobody waits for half a minute.
    clock = "{ const real = Date.now; window.ahead = 0; Date.now = () => real() + window.ahead; }"
    with page.with_script(clock):
        page.open("/")
        page.wait_for("Worker running")
        daemon.stop()
        page.wait_for("The daemon is not responding.")
        page.browser.execute_script("window.ahead = 40000")
        page.wait_for("No news since")
        before = page.text_of(".stale .notice")
        page.wait(lambda: page.text_of(".stale .notice") != before)

        daemon.start()

        page.wait(lambda: "No news since" not in page.text())
        page.wait(lambda: "The daemon is not responding." not in page.text())
        assert not page.browser.find_elements("css selector", ".stale")
        post(daemon, "/job/run", {"id": a_remark(daemon, "later")})
        page.wait_for("1 thing needs you")


def test_chains_are_shown_with_their_newest_blocks(browser: Any, tmp_path: Path) -> None:
    with connected(browser, tmp_path) as (page, daemon, network):

        def last_block(ago: int) -> None:
            network.chains["polkadot"].store(
                "Timestamp", "Now", value=(int(time.time()) - ago) * 1000
            )

        post(daemon, "/api/create/remark", {"chain": "polkadot", "text": "x"})
        page.open("/")
        page.wait_for("Polkadot block 100")
        last_block(5)
        first = page.wait_for_match(r"Polkadot block 100, (\d+ s ago)")[1]
        # It grows, although no block comes.
        page.wait(lambda: page.text_of(".strip [data-since]") != first)

        chip = ".strip li:has([data-key='chain polkadot'])"
        assert page.value_of(chip, "class") == "right"
        page.click(f"{chip} summary")
        page.wait_for(
            "Answers: ws://127.0.0.1:",
            "The half hours of the last 24 hours: ",
            " answered, 4",
            " not asked.",
        )

        # A node that answers is not enough: the chain has to go on.
        last_block(600)
        page.wait_for_match("no new block since 100, 1[01] minutes ago")
        page.wait_for("A new block is expected every 6 seconds.")
        assert page.value_of(chip, "class") == "doubt"
        assert barriers(page) == []
        with page.screen(390, touch=True):
            assert barriers(page) == []

        def leave(*_: object) -> None:
            raise Gone(True)

        network.chains["polkadot"].node.answers["chain_getHeader"] = leave
        page.wait_for("Polkadot unreachable")
        # Two parts, if a half hour ends meanwhile.
        page.wait(lambda: re.search(r"half hours of the last 24 hours: .*away", page.text()))
        # What was open stays open, and the summary doesn't repeat the reason.
        assert page.text_of(f"{chip} summary") == "Polkadot unreachable"
        assert page.value_of(chip, "class") == "wrong"
        look(page)


def test_what_waits_for_an_approval_appears_and_links_to_its_multisig(
    own: tuple[Page, Daemon],
) -> None:
    page, daemon = own
    post(daemon, "/api/address/add", {"name": "Bob", "address": BOB_42, "watch": True})
    members = [ALICE_42, BOB_42]
    council = post(
        daemon, "/api/address/add", {"name": "the council", "threshold": 2, "signatories": members}
    )
    page.open("/")
    page.wait_for(
        "No job needs you.", "Whether a multisig waits for your approval is unknown on", "Kusama"
    )

    key = OperationKey("polkadot", str(council["account"]), "0x" + "22" * 32, 7, 1)
    own_account = f"0x{BOB_KEY.hex()}"
    waiting = WaitingOperation(
        key=key, says="transfers <b>1 DOT</b>", approved=1, threshold=2, accounts=(own_account,)
    )
    reading = MultisigReading(
        account=key.account, chain=key.chain, block=9, read=time.time_ns(), operations=(waiting,)
    )

    store = open_store(daemon.folder / "scenarios.db")
    finish(store.multisig_readings().put(reading, {}))
    finish(store.close())
    page.wait_for("1 operation waits for an approval", "Transfers <b>1 DOT</b>")
    page.wait_for("the council on Polkadot: 1 of 2 have approved, Bob hasn’t")
    assert counted(page) == 1
    look(page)
    page.click("a[href='#/multisig/the%20council']")
    page.wait_for("Waiting approvals of the council")


def test_the_home_asks_once_and_listens(page: Page, daemon: Daemon) -> None:
    a_remark(daemon)
    page.open("/")
    page.wait_for("Worker running")
    page.wait_for(f"{os.uname().nodename} {__version__}, 0 runs")
    time.sleep(2)

    asked = page.browser.execute_script(
        "return performance.getEntriesByType('resource').map(each => new URL(each.name).pathname)"
    )
    assert [each for each in asked if not each.startswith(("/web/", "/readyz"))] == []
    assert (
        page.browser.execute_script("return performance.getEntriesByType('resource').length") < 25
    )


def loaded(page: Page) -> list[Any]:
    found = page.browser.execute_script(
        "return performance.getEntriesByType('resource').map("
        "each => [new URL(each.name).pathname, each.decodedBodySize, each.startTime, "
        "each.responseEnd])"
    )
    assert isinstance(found, list)
    return found


def test_the_home_is_small_and_loads_in_one_round(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    page.open("/")
    page.wait_for("No scenarios yet.")
    files = [each for each in loaded(page) if each[0].startswith("/web/")]
    index = urllib.request.urlopen(daemon.url + "/", timeout=PATIENCE).read()

    weight = len(index) + sum(each[1] for each in files)
    assert weight <= WEIGHT, sorted((each[1], each[0]) for each in files)
    # What main.js imports is asked for before main.js has come.
    named = set(re.findall(r'(?:href|src)="(/web/[^"]+)"', index.decode()))
    assert {each[0] for each in files} <= named


def test_a_slow_network_shows_a_skeleton_at_once(own: tuple[Page, Daemon]) -> None:
    page, _ = own
    # The stream's first event never comes.
    with page.blocked("*/api/status/events"):
        page.open("/")
        page.wait(lambda: len(page.browser.find_elements("css selector", ".home .skeleton")) == 3)
        assert [each.text for each in page.browser.find_elements("css selector", "main h2")] == [
            "Needs you",
            "Jobs",
            "Scenarios",
        ]
        assert page.value_of(".home", "aria-busy") == "true"
    page.wait_for("No scenarios yet.")


def test_before_the_scripts_have_come_there_is_a_skeleton(own: tuple[Page, Daemon]) -> None:
    page, _ = own
    with page.blocked("*/web/home.js"):
        page.open("/")
        assert "Loading…" in page.text()
        assert page.find("main .skeleton").is_displayed()


def test_the_keys_alone_get_to_what_needs_somebody(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    scenario = a_remark(daemon)
    post(daemon, "/job/run", {"id": scenario})
    page.open("/")
    page.wait_for("1 thing needs you")
    for _ in range(30):
        page.keys(Keys.TAB)
        name = page.browser.execute_script(
            "return document.activeElement.getAttribute('aria-label') ?? ''"
        )
        if name.startswith("Sign and send"):
            break
    page.keys(Keys.ENTER)

    page.wait(lambda: f"#/sign/?job={scenario}&draft=1" in page.browser.current_url)


def test_the_list_has_titles_receivers_tags_and_last_runs(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    transfer = a_transfer(daemon)
    post(daemon, "/api/scenario/rename", {"id": transfer, "name": "Pay the rent"})
    post(daemon, "/api/scenario/tag", {"id": transfer, "tags": ["monthly"]})
    post(daemon, "/job/run", {"id": transfer})
    for path in ("/", "/#/scenarios"):
        page.open(path)
        page.wait_for("Pay the rent")
        page.wait_for("succeeded")
        text = page.text()
        for each in ("1.5 DOT · Polkadot → Asset Hub", transfer, "monthly"):
            assert each in text, path
        drawn = "return document.querySelector('.receiver img')?.naturalWidth"
        page.wait(lambda drawn=drawn: page.browser.execute_script(drawn))  # type: ignore[misc]
        look(page)
    assert page.complaints() == []


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_no_violations(own: tuple[Page, Daemon], scheme: str, width: int) -> None:
    page, daemon = own
    with page.color_scheme(scheme), page.screen(width):
        page.open("/")
        page.wait_for("No scenarios yet.")
        assert barriers(page) == []
        transfer, paused = a_transfer(daemon), a_remark(daemon)
        failing = a_flow(daemon, {"steps": [UNREACHABLE]})
        for id in (transfer, paused, failing):
            post(daemon, "/job/start", {"id": id})
        post(daemon, "/job/pause", {"id": paused})
        for words in ("paused on request", "127.0.0.1:9", "1.5 DOT on Polkadot"):
            page.wait_for(words)
        assert barriers(page) == []
        page.browser.execute_script("document.querySelector('.home').classList.add('stale')")
        assert barriers(page) == []
