"""A payout on the page: what became of each of its lines, the sums, and the next of its
transactions to sign."""

import pytest
from selenium.webdriver.common.by import By

from tests.browser.page import Daemon, Page
from tests.browser.reading import violations
from tests.browser.scenarios import post
from tests.browser.signing import Started, connect, send, sign_in_wallet
from tests.browser.wallets import payload_asked_for
from tests.conftest import BOB
from tests.test_check import ALICE, BOB_KEY, DOT, account

pytestmark = pytest.mark.acceptance


def a_payout(daemon: Daemon, *lines: str, portion: int = 1) -> str:
    fields = {
        "lines": "\n".join(["account,amount,memo", *lines, ""]),
        "chain": "polkadot",
        "asset": "DOT",
        "portion": portion,
        "yes": True,
    }
    return str(post(daemon, "/api/create/payout", fields)["result"])


def rows(page: Page) -> list[list[str]]:
    found = page.browser.find_elements(By.CSS_SELECTOR, "[aria-labelledby=payments] tbody tr")
    return [[cell.text for cell in row.find_elements(By.CSS_SELECTOR, "td")] for row in found]


def test_a_line_that_was_sent_says_so_and_the_next_transaction_is_signed(started: Started) -> None:
    page, daemon, network, chain = started
    network.chains["polkadot"].store("System", "Account", BOB_KEY, value=account(5 * DOT))
    payout = a_payout(daemon, f"{BOB},1.5,May", f"{ALICE},1,June")
    page.open(f"/#/create/?diagramData={payout}")
    page.wait_for("sent: 2 payments, 2.5 DOT")
    assert [row[:3] for row in rows(page)] == [
        ["2", BOB, "1.5 DOT\nPolkadot, May"],
        ["3", ALICE, "1 DOT\nPolkadot, June"],
    ]
    assert violations(page) == []
    with page.screen(390, 800):
        assert page.browser.execute_script("return document.documentElement.scrollWidth") <= 390

    first = post(daemon, "/api/scenario/show", {"id": payout})["nodes"][0]["id"]
    connect(page, f"scenario={payout}&node={first}")
    page.wait_for("min left, until block")
    page.press("Sign with Talisman")
    send(page, chain, sign_in_wallet(page, payload_asked_for(page)))
    page.wait(lambda: "#/tx/?" in page.browser.current_url)
    page.open(f"/#/create/?diagramData={payout}")

    page.wait_for("sent: 1 payment, 1.5 DOT", "not known to be sent: 1 payment, 1 DOT")
    assert [row[3] for row in rows(page)] == ["sent", "not known to be sent"]
    page.wait(lambda: page.browser.find_elements("css selector", ".next a.primary[href*='node=']"))
    assert first not in page.value_of(".next a.primary", "href")
