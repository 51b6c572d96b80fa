"""The history, the page of a sent transaction with all that is known of it, and signatures that
wait."""

import json
from typing import Any

import pytest

from tests.browser.page import Page
from tests.browser.reading import AXE, violations
from tests.browser.scenarios import a_transfer, post
from tests.browser.signing import Started, send, sign_in_wallet, status, to_the_wallet
from tests.browser.wallets import stubbed
from tests.conftest import BOB
from tests.test_addresses import KNOWN
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
    assert [str(each.get_attribute("src")).rsplit("/", 1)[1] for each in page.browser.find_elements(
        "css selector", ".ends img")] == [f"{each}.svg" for each in (ALICE, BOB)]  # fmt: skip
    assert [each.text for each in page.browser.find_elements("css selector", ".arrivals li")] == [
        "Polkadot: left the signer: 1.046 DOT",
        "Polkadot Asset Hub: arrived in block 77: 0.98 DOT",
    ]
    assert page.text_of(".costs").split("\n") == ["Transaction fee", "0.016 DOT", "Delivery",
        "0.03 DOT", "Execution on the way", "0.02 DOT", "Total", "0.066 DOT"]  # fmt: skip
    link = page.find("a[href^='https://polkadot.subscan.io/extrinsic/0x']")
    assert link.get_attribute("rel") == "noopener noreferrer"
    for width in (390, 1280):
        with page.screen(width, 800):
            assert (
                page.browser.execute_script("return document.documentElement.scrollWidth") <= width
            )
            assert not AXE.exists() or violations(page) == []


def test_a_total_without_what_the_way_kept_is_none(page: Page) -> None:
    unread = {**ARRIVED["arrivals"][0], "received": []}

    shown(page, {**ARRIVED, "arrivals": [unread], "costs": ARRIVED["costs"][:2], "cost": [amount(1,
        "0.046 DOT")]}, "Total so far", "What the way kept isn't known.")  # fmt: skip


def test_a_swap_says_what_was_received(page: Page) -> None:
    swap = {**ARRIVED, "arrivals": [], "received": [got("6.12 USDT", "polkadot", ALICE)]}

    shown(page, swap, "Received: 6.12 USDT")
    assert page.browser.find_elements("css selector", ".arrivals") == []


def test_an_account_that_was_made_is_shown(page: Page) -> None:
    made = {"address": BOB, "proxy": ALICE, "type": "Any", "index": 0, "at": "20-1"}

    shown(
        page,
        {**ARRIVED, "created": [made]},
        "New account",
        BOB,
        f"{ALICE} is its proxy, of the type Any.",
    )


@pytest.mark.parametrize("link", [None, "http://x.org/1", "javascript:alert(1)"])
def test_without_an_https_link_there_is_no_explorer(page: Page, link: str | None) -> None:
    shown(page, {**ARRIVED, "explorer": link}, "Sent transaction", "1 DOT")

    assert "Show it at" not in page.text()


def test_what_was_sent_is_in_the_history(started: Started) -> None:
    page, daemon, _, chain = started
    scenario = a_transfer(daemon)
    post(daemon, "/api/scenario/rename", {"id": scenario, "name": "Rent of May"})
    page.open(f"/#/create/?diagramData={scenario}")
    page.wait_for("Rent of May", "Share or delete")
    assert "Sent transactions" not in page.text()
    send(page, chain, sign_in_wallet(page, to_the_wallet(page, f"scenario={scenario}")))
    page.wait_for("It was sent to Polkadot, and isn't in a block yet.")

    page.open("/#/history")
    page.wait_for(
        "1 transaction",
        f"in no block when last looked at · from {ALICE[:6]}…{ALICE[-6:]} · Rent of May",
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

    page.fill("search", "rent of june")
    page.wait_for("No transaction matches.")
    page.fill("search", "may 1.5 dot")
    page.wait_for("1 transaction")
    page.fill("account", BOB)
    page.wait_for("No transaction matches.")
    page.fill("account", "nobody")
    page.wait_for("account 'nobody'")
    page.open(f"/#/create/?diagramData={scenario}")
    page.click(f"main a[href='#/history?scenario={scenario}']")
    page.wait_for("1 transaction", "Show all")
    page.click(".history a[href^='#/tx/?chain=polkadot&hash=0x']")
    page.wait_for("Sent transaction", "It was sent to Polkadot")


def test_the_history_says_who_paid_and_what_came_to_them_on_other_chains(page: Page) -> None:
    # On Hydration, the same account has another spelling.
    arrived = [got("0.98 DOT", "hydraDx", KNOWN[63]), got("1 DOT", "hydraDx", ALICE)]
    sent = {
        **dict.fromkeys(("scenario", "name", "block_time"), ""),
        "chain": "polkadot",
        "hash": HASH,
        "says": "sends 1 DOT to Hydration",
        "success": True,
        "outcome": "in block 20, finalized",
        "sent": "2026-11-22T10:00:00.000000Z",
        "account": KNOWN[0],
        "moved": ARRIVED["moved"],
        "received": arrived,
        "cost": ARRIVED["cost"],
    }
    answer: dict[str, Any] = {"transactions": [sent], "csv": None, "total": 1, "next": None}
    with stubbed(page, f"if (target.includes('/api/tx/list')) return {json.dumps(answer)};"):
        page.open("/#/history")
        page.wait_for(
            "in block 20, finalized · from 14E5nq…NcKVf3", "−1 DOT", "+0.98 DOT, cost 0.066 DOT"
        )


def test_an_empty_history_says_what_to_do(page: Page) -> None:
    nothing: dict[str, Any] = {"transactions": [], "csv": None, "total": 0, "next": None}
    with stubbed(page, f"if (target.includes('/api/tx/list')) return {json.dumps(nothing)};"):
        page.open("/#/history")
        page.wait_for("Nothing was sent from here yet.")


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


def test_a_signature_that_is_too_late_is_made_anew(started: Started) -> None:
    page, daemon, _, chain = started
    sign_in_wallet(page, to_the_wallet(page, f"scenario={a_transfer(daemon)}"))
    chain.best += 100

    page.open("/#/")
    page.wait_for("Signed here, not sent", "Expired Teleports 1.5 DOT", "Make a new one")
