"""Wallets that lie: they change what they are given, sign something else, or return another
transaction. Nothing of it is sent."""

from typing import Any

import pytest

from scenarioctl.chains.registry import Registry
from tests.browser.page import Page
from tests.browser.scenarios import a_transfer, post
from tests.browser.signing import Started, connect, to_the_wallet
from tests.browser.wallets import LivingChain, answer, payload_asked_for
from tests.lying_wallets import LIES, UNSEEN, lies, sign
from tests.network import table_of

pytestmark = pytest.mark.acceptance

POLKADOT = Registry().find("polkadot")
TABLE = table_of("polkadot")
CHANGES = {**lies(TABLE, POLKADOT.genesis), **UNSEEN}
#: A lie -> the part of the transaction that the page names, as it was signed and as it was shown.
NAMED = {
    "call": (
        "call\ttransfers 500 DOT to 14Gjs1TD93gnwEBfDMHoCgsuf1s2TVKUP6Z1qKmAZnZ8cW5q on "
        "Polkadot\tteleports 1.5 DOT from Polkadot to Polkadot Asset Hub"
    ),
    "signer": (
        "signer\t14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3\t15oF4uVJwmo4TdGW7VfQxNLavjCX"
        "viqxT9S1MgbjMNHr6Sp5"
    ),
    "nonce": "nonce\t9\t3",
    "era": "era\timmortal\t64 blocks",
    "tip": "tip\t1000 DOT\tnone",
    "metadata hash": "metadata hash\tnot signed\tsigned",
    "fee asset": "fee asset\tUSDt\tDOT",
}


def change(page: Page, changes: dict[str, Any]) -> None:
    """Have the wallet change the payload that the page gave it, as far as it can."""
    page.browser.execute_script(
        (
            "for (const [name, value] of Object.entries(arguments[0])) "
            "Reflect.set(window.asked[0].payload, name, value)"
        ),
        changes,
    )


def rows(page: Page) -> list[str]:
    """Return the rows of the table that says what was signed, and what was shown."""
    page.wait_for("Talisman signed something else than this page showed. Nothing was sent.")
    return [str(text) for text in page.browser.execute_script(
        "return [...document.querySelectorAll('[role=alert] tbody tr')].map(row => [...row.cells].map(cell => cell.textContent).join('\\t'))"
    )]  # fmt: skip


def assert_refused(page: Page, chain: LivingChain, words: str) -> None:
    page.wait_for(words)
    assert "Discard the signature" not in page.text()
    assert page.browser.execute_script("return localStorage.getItem('scenarioctl.signed')") is None
    assert chain.taken == []


@pytest.mark.parametrize("lie", CHANGES)
def test_a_payload_that_the_wallet_changes_is_not_what_the_page_compares_with(
    started: Started, lie: str
) -> None:
    page, daemon, _, chain = started
    payload = to_the_wallet(page, f"scenario={a_transfer(daemon)}")
    changed = {**payload, **CHANGES[lie]}
    change(page, CHANGES[lie])
    answer(page, signature=sign(changed, TABLE, POLKADOT)[0])

    assert_refused(page, chain, "What Talisman returned is refused, and nothing was sent")


def test_what_a_wallet_is_given_can_not_be_changed(started: Started) -> None:
    page, daemon, _, _ = started
    payload = to_the_wallet(page, f"scenario={a_transfer(daemon)}")
    change(page, {"method": "0x00"})
    page.browser.execute_script("Reflect.set(window.asked[0].payload.signedExtensions, 0, 'None')")

    assert payload_asked_for(page) == payload


@pytest.mark.parametrize("lie", lies(TABLE, POLKADOT.genesis))
def test_what_the_wallet_wrote_itself_is_compared_with_what_was_shown(
    started: Started, lie: str
) -> None:
    page, daemon, _, chain = started
    payload = to_the_wallet(page, f"scenario={a_transfer(daemon)}")
    signature, whole = sign({**payload, **CHANGES[lie]}, TABLE, POLKADOT)
    answer(page, signature=signature, signedTransaction=whole)

    if lie in NAMED:
        (row,) = rows(page)
        assert row.startswith(NAMED[lie])
    assert_refused(page, chain, "Nothing was sent.")


def test_a_fee_asset_that_was_not_shown_is_named(started: Started) -> None:
    page, daemon, network, _ = started
    chain = LivingChain(network, "assetHub")
    scenario = post(daemon, "/api/create/remark", {"chain": "assetHub", "text": "hello"})["result"]
    connect(page, f"scenario={scenario}")
    page.click(".step button.danger")
    page.press("Sign with Talisman")
    payload = payload_asked_for(page)
    changed = {**payload, **LIES["fee asset"]}
    answer(
        page, signedTransaction=sign(changed, table_of("assetHub"), Registry().find("assetHub"))[1]
    )

    assert rows(page) == [NAMED["fee asset"]]
    assert_refused(page, chain, "Nothing was sent.")


@pytest.mark.parametrize("form", ["signature", "signedTransaction"])
def test_the_signature_of_another_account_is_refused(started: Started, form: str) -> None:
    page, daemon, _, chain = started
    payload = to_the_wallet(page, f"scenario={a_transfer(daemon)}")
    signature, whole = sign(payload, TABLE, POLKADOT, uri="//Bob")
    answer(page, **{form: signature if form == "signature" else whole})

    assert_refused(page, chain, "is not one of 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5")


def test_what_is_no_signed_transaction_is_refused(started: Started) -> None:
    page, daemon, _, chain = started
    to_the_wallet(page, f"scenario={a_transfer(daemon)}")
    answer(page, signedTransaction="0x140400071468656c")

    assert_refused(page, chain, "is not a signed extrinsic of Polkadot")
