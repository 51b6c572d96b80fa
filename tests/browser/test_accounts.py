"""The accounts: a wallet's in one press, what they hold on the chains, and the address book."""

from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from tests.browser.page import Daemon, Page, served
from tests.browser.reading import violations
from tests.browser.scenarios import post
from tests.browser.wallets import ALICE_42, alice, injected, wallet
from tests.network import FakeNetwork
from tests.runtimes import BOB
from tests.test_addresses import KNOWN
from tests.test_balances import account, network  # noqa: F401

pytestmark = pytest.mark.acceptance

DOT = 10**10


def rows(page: Page) -> list[list[str]]:
    """Return the texts of the table of balances."""
    page.wait(lambda: page.browser.find_elements(By.CSS_SELECTOR, ".holder table"))
    found = page.browser.execute_script(
        "return [...document.querySelectorAll('.holder tbody tr')].map(row => "
        "[...row.cells].map(cell => cell.innerText))"
    )
    return [[" ".join(cell.split()) for cell in row] for row in found]


def test_the_accounts_of_a_wallet_are_watched_with_one_press(
    browser: webdriver.Chrome,
    tmp_path: Path,
    network: FakeNetwork,  # noqa: F811
) -> None:
    network.chains["polkadot"].store(
        "System", "Account", BOB, value=account(7 * DOT, 2 * DOT, 4 * DOT)
    )
    home = tmp_path / "daemon"
    home.mkdir()
    accounts = [alice(address=KNOWN[42]), alice(name="The same", address=KNOWN[2])]
    with (
        served(browser, home, config=network.config.read_text(), offline=False) as (page, _),
        injected(page, wallet("talisman", *accounts)),
    ):
        page.open("/#/accounts")
        page.press("Add accounts of Talisman")

        page.wait_for("Savings", "Not added", "has the name 'Savings'")
        assert rows(page) == [["Polkadot", "DOT", "5 DOT", "4 DOT Reserved 2 DOT, frozen 4 DOT"]]
        page.wait_for("Nothing on", "Unknown: Kusama")
        assert violations(page) == []


def kind(page: Page, wanted: str) -> None:
    page.choose("[name=kind]", wanted)


def test_a_multisig_and_an_account_with_proxies_are_added_and_keep_who_acts(
    own: tuple[Page, Daemon],
) -> None:
    page, daemon = own
    post(daemon, "/api/address/add", {"name": "Bob", "address": KNOWN[42]})
    page.open("/#/accounts")
    page.fill("name", "council")
    kind(page, "multisig")
    page.fill("threshold", "3")
    first, second = page.browser.find_elements(By.NAME, "signatories")
    first.send_keys("Bob")
    second.send_keys("Alic")
    page.press("Add")
    # What the daemon names is said at its field.
    page.wait(lambda: second.get_attribute("aria-invalid") or first.get_attribute("aria-invalid"))
    second.clear()
    second.send_keys(ALICE_42)
    page.press("Add")
    page.wait_for("can't be reached by 2 signatories")
    page.fill("threshold", "2")
    page.press("Add")
    page.wait_for("council added", "2 of ", "Bob")
    page.fill("name", "treasury")
    kind(page, "proxied")
    page.press("Add")
    page.wait_for("Address is missing, expected")
    page.fill("proxy_of", f"0x{'5c' * 31}01")
    page.fill("type", "Any")
    page.fill("through", "council")
    page.press("Add")
    page.wait_for("treasury added", "A proxy of the type Any, through 2 of ")
    assert violations(page) == []

    # To watch an account changes nothing of who acts for it.
    page.click("[aria-label='Watch council']")
    page.wait_for("council is watched", "Stop watching", "2 of ")

    page.click("[aria-label='Remove treasury']")
    assert "Who acts for it is forgotten too" in page.answer("Cancel")
    page.click("[aria-label='Remove treasury']")
    page.answer("Remove")
    page.wait_for("treasury removed")
