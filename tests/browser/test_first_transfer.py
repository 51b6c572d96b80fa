"""The walk of a new user: from an empty store to a transfer in a block, counted in clicks and
keys."""

import pytest

from tests.browser.signing import Started, send, sign_in_wallet
from tests.browser.wallets import payload_asked_for
from tests.conftest import BOB

pytestmark = pytest.mark.acceptance

#: Clicks from the home to the transfer in a block, on the page and in the windows of the wallet.
MOST = 12
#: In the wallet: to allow the page, and to sign.
IN_WALLET = 2
#: Counts what a person does, and nothing that a script or a label adds.
COUNTING = (
    "window.done = {click: 0, keydown: 0};"
    "for (const kind of Object.keys(window.done)) addEventListener(kind, ({isTrusted}) => "
    "{ window.done[kind] += isTrusted; }, true);"
)


def test_a_new_user_sends_a_first_transfer_in_few_clicks(started: Started) -> None:
    page, _, _, chain = started
    with page.with_script(COUNTING):
        page.open("/")
        page.wait_for("No scenarios yet.")
        page.click("a.beginning[href='#/new/transfer']")
        page.click("[name=amount]")
        page.keys("1.5")
        page.click("[name=destination_address]")
        # Pasted, which is two more keys.
        page.browser.execute_cdp_cmd("Input.insertText", {"text": BOB})
        page.press("Create")
        page.wait_for("Sign and send")
        page.click(".next .primary")
        page.press("Connect Talisman")
        page.click(".choice")
        page.wait_for("Will succeed", "min left, until block")
        page.press("Sign with Talisman")
        signed = sign_in_wallet(page, payload_asked_for(page))
        send(page, chain, signed)
        page.wait_for("It was sent to Polkadot, and isn't in a block yet.")
        chain.include()
        page.wait_for("It is in block 1004 of Polkadot, not finalized yet.")
        chain.finalize()
        page.wait_for("It is in block 1004 of Polkadot, finalized.")

        done = page.browser.execute_script("return window.done")
    assert done == {"click": 9, "keydown": 3}
    assert done["click"] + IN_WALLET <= MOST
