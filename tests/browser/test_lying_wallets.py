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
from tests.test_check import ALICE

pytestmark = pytest.mark.acceptance

POLKADOT = Registry().find("polkadot")
TABLE = table_of("polkadot")
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
    "tip": "tip\t1000 DOT\t0 DOT",
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
        "return [...document.querySelectorAll('[role=alert] tbody tr')]"
        ".map(row => [...row.cells].map(cell => cell.textContent).join('\\t'))"
    )]  # fmt: skip


def assert_refused(page: Page, chain: LivingChain, words: str) -> None:
    page.wait_for(words)
    assert "Discard the signature" not in page.text()
    assert page.browser.execute_script("return localStorage.getItem('scenarioctl.signed')") is None
    assert chain.taken == []


def ask(page: Page, link: str) -> dict[str, Any]:
    """Return what a wallet is asked to sign that nobody has been asked before."""
    page.open("/#/import")
    page.browser.execute_script("localStorage.clear()")
    return to_the_wallet(page, link)


def test_a_payload_that_the_wallet_changes_is_not_what_the_page_compares_with(
    started: Started,
) -> None:
    page, daemon, _, chain = started
    link = f"scenario={a_transfer(daemon)}"
    for changes in (lies(TABLE, POLKADOT.genesis)["call"], *UNSEEN.values()):
        payload = ask(page, link)
        change(page, changes)
        # What a wallet is given stays as it is.
        assert payload_asked_for(page) == payload
        answer(page, signature=sign({**payload, **changes}, TABLE, POLKADOT)[0])

        assert_refused(page, chain, "What Talisman returned is refused, and nothing was sent")


def test_what_the_wallet_wrote_itself_is_compared_with_what_was_shown(started: Started) -> None:
    page, daemon, _, chain = started
    link = f"scenario={a_transfer(daemon)}"
    for lie, changes in lies(TABLE, POLKADOT.genesis).items():
        payload = ask(page, link)
        signature, whole = sign({**payload, **changes}, TABLE, POLKADOT)
        answer(page, signature=signature, signedTransaction=whole)

        if lie in NAMED:
            (row,) = rows(page)
            assert row.startswith(NAMED[lie])
        assert_refused(page, chain, "Nothing was sent.")

    ask(page, link)
    answer(page, signedTransaction="0x140400071468656c")
    assert_refused(page, chain, "is not a signed extrinsic of Polkadot")


def test_the_signature_of_another_account_is_refused(started: Started) -> None:
    page, daemon, _, chain = started
    link = f"scenario={a_transfer(daemon)}"
    for form in ("signature", "signedTransaction"):
        signature, whole = sign(ask(page, link), TABLE, POLKADOT, uri="//Bob")
        answer(page, **{form: signature if form == "signature" else whole})

        assert_refused(page, chain, f"is not one of {ALICE}")


def test_a_fee_asset_that_was_not_shown_is_named(started: Started) -> None:
    page, daemon, network, _ = started
    chain = LivingChain(network, "assetHub")
    scenario = post(daemon, "/api/create/remark", {"chain": "assetHub", "text": "hello"})["result"]
    connect(page, f"scenario={scenario}")
    page.click(".step button.danger")
    page.press("Sign with Talisman")
    changed = {**payload_asked_for(page), **LIES["fee asset"]}
    whole = sign(changed, table_of("assetHub"), Registry().find("assetHub"))[1]
    answer(page, signedTransaction=whole)

    assert rows(page) == [NAMED["fee asset"]]
    assert_refused(page, chain, "Nothing was sent.")
