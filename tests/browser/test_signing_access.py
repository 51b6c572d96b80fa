"""Signing for everybody: by keyboard, on a phone, in the dark, with a screen reader; and no view
shows a stray value."""

import json
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser.reading import barriers_everywhere, look
from tests.browser.scenarios import a_transfer
from tests.browser.signing import Started, status
from tests.browser.wallets import (
    ETHEREUM,
    alice,
    answer,
    injected,
    payload_asked_for,
    signature_of,
    stubbed,
    wallet,
)
from tests.conftest import BOB
from tests.test_check import ALICE

pytestmark = pytest.mark.acceptance


def test_axe_finds_no_violations_in_any_step(started: Started) -> None:
    page, daemon, _, _ = started
    found: dict[str, Any] = {}

    def judge(step: str) -> None:
        look(page)
        if each := barriers_everywhere(page):
            found[step] = each

    with injected(page, wallet("talisman", alice(), ETHEREUM)):
        page.open(f"/#/sign/?scenario={a_transfer(daemon)}")
        page.press("Connect Talisman")
        page.wait_for("5 DOT transferable")
        judge("account")
        page.click(".choice")
        page.wait_for("min left, until block")
        page.browser.execute_script(
            "document.querySelectorAll('.step details').forEach(e => e.open = true)"
        )
        page.wait_for("Scan with Polkadot Vault")
        judge("sign")
        page.press("Sign with Talisman")
        payload = payload_asked_for(page)
        judge("waiting for the wallet")
        answer(page, signature=signature_of(payload))
        page.wait_for("Discard the signature")
        judge("send")
    done = status(
        state="finalized",
        success=False,
        error="Balances.InsufficientBalance",
        settled=True,
        signer=ALICE,
        events=[{"System": "ExtrinsicFailed"}],
        arrivals=[
            {
                "chain": "assetHub",
                "state": "unknown",
                "block_number": None,
                "reason": "not seen",
            }
        ],
    )
    with stubbed(page, f"if (target.includes('/api/tx/status')) return {json.dumps(done)};"):
        page.open(f"/#/tx/?chain=polkadot&hash=0x{'ab' * 32}")
        page.wait_for("It failed in its block")
        judge("sent")

    assert found == {}


def test_a_transfer_goes_from_its_form_to_finality_with_the_keys_alone(started: Started) -> None:
    page, _, _, chain = started
    page.open("/")
    page.wait_for("No scenarios yet.")
    page.keys(Keys.TAB)
    assert page.browser.switch_to.active_element.text == "Skip to the content"
    page.tab_to("New")
    page.keys(Keys.ENTER)
    page.tab_to("Transfer")
    page.keys(Keys.ENTER)
    page.wait_for("New transfer")
    page.tab_to("Amount")
    page.keys("1.5")
    page.tab_to("Receiver")
    page.keys(BOB)
    page.tab_to("Create")
    page.keys(Keys.ENTER)
    page.wait_for("Sign and send")
    page.tab_to("Sign and send")
    page.keys(Keys.ENTER)
    page.wait_for("Connect Talisman")
    page.tab_to("Connect Talisman")
    page.keys(Keys.ENTER)
    page.wait_for("5 DOT transferable")
    # The first account has the focus already.
    page.keys(Keys.ENTER)
    page.wait_for("min left, until block")
    assert page.browser.switch_to.active_element.get_attribute("id") == "step-simulate"
    page.tab_to("Sign with Talisman")
    page.keys(Keys.ENTER)
    answer(page, signature=signature_of(payload_asked_for(page)))
    page.wait_for("Discard the signature")
    assert page.browser.switch_to.active_element.get_attribute("id") == "step-send"
    page.tab_to("Send")
    page.keys(Keys.ENTER)
    page.wait(lambda: chain.taken)
    chain.include()
    chain.finalize()
    page.wait_for("It is in block 1004 of Polkadot, finalized.")

    assert len(chain.taken) == 1
