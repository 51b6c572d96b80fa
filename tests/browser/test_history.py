"""The history, the page of a sent transaction with all that is known of it, and signatures that
wait."""

import json
from typing import Any

import pytest

from tests.browser.page import Page
from tests.browser.reading import violations
from tests.browser.scenarios import a_transfer, post
from tests.browser.signing import Started, send, sign_in_wallet, status, to_the_wallet
from tests.browser.wallets import stubbed
from tests.conftest import BOB
from tests.test_check import ALICE

pytestmark = pytest.mark.acceptance

HASH = "0x" + "ab" * 32


def amount(value: int, human: str, **more: Any) -> dict[str, Any]:
    return {"value": str(value), "asset": human.split()[1], "human": human, **more}


def got(human: str, chain: str, account: str) -> dict[str, Any]:
    return amount(1, human, chain=chain, account=account, role=None, system=False)


ARRIVED = status(
    state="finalized",
    summary="It is in block 20 of Polkadot, finalized.",
    block="0x" + "bb" * 32,
    block_number=20,
    success=True,
    settled=True,
    signer=ALICE,
    says="sends 1 DOT to Asset Hub",
    explorer=f"https://polkadot.subscan.io/extrinsic/{HASH}",
    left=[amount(10_460_000_000, "1.046 DOT")],
    moved=[amount(10_000_000_000, "1 DOT")],
    costs=[
        amount(160_000_000, "0.016 DOT", what="transaction fee"),
        amount(300_000_000, "0.03 DOT", what="delivery"),
        amount(200_000_000, "0.02 DOT", what="execution"),
    ],
    cost=[amount(660_000_000, "0.066 DOT")],
    arrivals=[
        {
            "chain": "assetHub",
            "state": "arrived",
            "block_number": 77,
            "reason": "",
            "received": [got("0.98 DOT", "assetHub", BOB)],
        }
    ],
)


def shown(page: Page, answer: dict[str, Any], *words: str) -> None:
    with stubbed(page, f"if (target.includes('/api/tx/status')) return {json.dumps(answer)};"):
        page.open(f"/#/tx/?chain=polkadot&hash={HASH}")
        page.wait_for(*words)


def test_a_sent_transaction_shows_amount_accounts_hops_costs_and_its_explorer(page: Page) -> None:
    shown(page, ARRIVED, "Sent transaction", "From Polkadot", "To Polkadot Asset Hub")

    assert page.text_of(".moved") == "1 DOT"
    assert [each.text for each in page.browser.find_elements("css selector", ".arrivals li")] == [
        "Polkadot: left the signer: 1.046 DOT",
        "Polkadot Asset Hub: arrived in block 77: 0.98 DOT",
    ]
    assert page.text_of(".costs").split("\n") == ["Transaction fee", "0.016 DOT", "Delivery",
        "0.03 DOT", "Execution on the way", "0.02 DOT", "Total", "0.066 DOT"]  # fmt: skip
    link = page.find("a[href^='https://polkadot.subscan.io/extrinsic/0x']")
    assert link.get_attribute("rel") == "noopener noreferrer"
    shown(page, {**ARRIVED, "explorer": "javascript:alert(1)"}, "Sent transaction", "1 DOT")
    assert "Show it at" not in page.text()
    for width in (390, 1280):
        with page.screen(width, 800):
            assert (
                page.browser.execute_script("return document.documentElement.scrollWidth") <= width
            )
            assert violations(page) == []


def test_what_was_sent_is_in_the_history(started: Started) -> None:
    page, daemon, _, chain = started
    scenario = a_transfer(daemon)
    post(daemon, "/api/scenario/replace", {"id": scenario, "name": "Rent of May"})
    page.open(f"/#/create/?diagramData={scenario}")
    page.wait_for("Rent of May", "Share or delete")
    assert "Sent transactions" not in page.text()
    send(page, chain, sign_in_wallet(page, to_the_wallet(page, f"scenario={scenario}")))
    page.wait_for("It was sent to Polkadot, and isn't in a block yet.")

    page.open("/#/history")
    page.wait_for(
        "1 transaction",
        "Today",
        "Sent Rent of May",
        "in no block when last looked at",
        ALICE,
    )
    page.browser.execute_script(
        "URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = "
        "text; }); return 'blob:none'; };"
        "HTMLAnchorElement.prototype.click = function () { window.savedAs = this.download; }"
    )
    page.press("Download CSV")
    page.wait(lambda: page.browser.execute_script("return window.saved"))
    heading, line = page.browser.execute_script("return window.saved").splitlines()
    assert heading.startswith("time,account,asset,amount,fee,")
    assert "Rent of May,sent,polkadot" in line
    assert page.browser.execute_script("return window.savedAs") == "transactions.csv"

    page.open_details("Filter")
    page.fill("account", BOB)
    page.wait_for("No transaction matches.")
    page.fill("account", "nobody")
    page.wait_for("Account 'nobody'")
    page.open(f"/#/create/?diagramData={scenario}")
    page.click(f"main a[href='#/history?scenario={scenario}']")
    page.wait_for("1 transaction", "Show all")
    page.click(".history a[href^='#/tx/?chain=polkadot&hash=0x']")
    page.wait_for("Sent transaction", "It was sent to Polkadot")


def test_a_signature_that_waits_is_shown_on_home(started: Started) -> None:
    page, daemon, _, chain = started
    signed = sign_in_wallet(page, to_the_wallet(page, f"scenario={a_transfer(daemon)}"))

    # Also in another tab, which may be closed since.
    page.browser.switch_to.new_window("tab")
    page.open("/#/")
    page.wait_for(
        "Signed here, not sent", "Not sent Teleports 1.5 DOT from Polkadot to Polkadot Asset Hub"
    )
    page.browser.close()
    page.browser.switch_to.window(page.browser.window_handles[0])
    page.open("/#/")
    page.click("a[data-key^='signed 0x']")
    page.wait_for("Discard the signature")
    send(page, chain, signed)
    page.wait_for("It was sent to Polkadot, and isn't in a block yet.")
    page.open("/#/")
    page.wait_for("Nothing needs you.")
    assert "Signed here" not in page.text()
