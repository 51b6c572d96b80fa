"""The home in a browser: what needs somebody appears and goes by itself, and old news are seen to
be old."""

import re
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.browser.page import PATIENCE, Daemon, Page, connected
from tests.browser.reading import barriers, look
from tests.browser.scenarios import a_remark, a_transfer, post
from tests.node import Gone

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
