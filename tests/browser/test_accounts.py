"""The accounts: a wallet's in one press, what they hold on the chains, and the address book."""

import json
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from tests.browser.editor import choose, type_in, value
from tests.browser.page import Daemon, Page, served
from tests.browser.reading import violations
from tests.browser.scenarios import a_transfer, post
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


def test_a_name_is_added_shown_everywhere_and_removed(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    page.open("/#/accounts")
    page.wait_for("You watch no account yet", "No names yet")
    page.fill("name", "Landlady")
    page.fill("address", KNOWN[42])
    page.press("Add")
    page.wait_for("Landlady added")
    assert violations(page) == []

    # The transfer has the same account spelled for Polkadot.
    a_transfer(daemon)
    page.open("/#/scenarios")
    page.wait_for("Landlady", KNOWN[0])

    page.open("/#/accounts")
    page.press("Remove")
    page.wait_for("Landlady removed", "No names yet")


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


def test_max_fills_in_what_the_watched_account_can_send(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    page.open("/#/new/transfer")
    choose(page, "assetid", "DOT")
    page.press("Max")
    page.wait_for("depends on the account that signs. Fill in the sender")
    post(daemon, "/api/address/add", {"name": "Alice", "address": ALICE_42, "watch": True})
    page.browser.refresh()
    # No node answers here, so the page is given what a connected daemon would say.
    page.browser.execute_script(
        "const before = window.fetch; window.fetch = (path, options) => { if (path !== "
        "'/api/tx/transfer')"
        " return before(path, options); window.asked = options.body;"
        " return Promise.resolve(new Response(JSON.stringify({ maximum: '3.984' }))); }"
    )
    choose(page, "assetid", "DOT")
    page.press("Max")
    page.wait_for("depends on the receiver")
    type_in(page, 0, "destination_address", KNOWN[0])
    page.press("Max")

    page.wait(lambda: value(page, 0, "amount") == "3.984")
    asked = json.loads(page.browser.execute_script("return window.asked"))
    assert (asked["amount"], asked["sender"], asked["destination_address"]) == (
        "max",
        ALICE_42,
        KNOWN[0],
    )
    assert (asked["source_chain"], asked["dest_chain"], asked["assetid"]) == (
        "polkadot",
        "assetHub",
        "DOT",
    )
    assert "as" not in asked
    page.open_details("More options")
    type_in(page, 0, "sender", "Bob")
    page.press("Max")
    page.wait(lambda: '"sender":"Bob"' in page.browser.execute_script("return window.asked"))

    post(
        daemon,
        "/api/address/add",
        {"name": "council", "threshold": 2, "signatories": [ALICE_42, KNOWN[0]]},
    )
    page.browser.refresh()
    page.browser.execute_script(
        "const before = window.fetch; window.fetch = (path, options) => { const { pathname "
        "} = new URL(path, location);"
        " const said = pathname === '/api/tx/transfer' ? { maximum: '2' } : pathname === "
        "'/api/balances' ? { balances:"
        " [{ asset: '0', transferable: { value: '20000000000', human: '2 DOT' } }] } : null;"
        " if (!said) return before(path, options); if (options?.body) window.asked = "
        "options.body; else window.read = path;"
        " return Promise.resolve(new Response(JSON.stringify(said))); }"
    )
    page.choose("[name=acting]", "council")
    choose(page, "assetid", "DOT")
    type_in(page, 0, "destination_address", KNOWN[0])
    page.press("Max")

    page.wait(lambda: value(page, 0, "amount") == "2")
    page.wait_for("council can send 2 DOT.")
    asked = json.loads(page.browser.execute_script("return window.asked"))
    signer = page.value_of("[name=signer]", "value")
    assert (asked["as"], asked["sender"]) == ("council", signer)
    assert "address=council" in page.browser.execute_script("return window.read")
