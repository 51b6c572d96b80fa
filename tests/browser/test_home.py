"""The home in a browser: what needs somebody appears and goes by itself, and old news are seen to
be old."""

import re

import pytest

from tests.browser.page import Daemon, Page
from tests.browser.reading import look
from tests.browser.scenarios import a_remark, a_transfer, post

pytestmark = pytest.mark.acceptance


def counted(page: Page) -> int:
    """Return the number in the tab's title."""
    found = re.match(r"\((\d+)\) Home", page.browser.title)
    return int(found[1]) if found else 0


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
