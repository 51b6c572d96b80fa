"""What was signed is sent once, and followed; nothing that was signed is lost on the way."""

import json
import time

import pytest

from tests.browser.page import RECENTLY, Daemon, Page
from tests.browser.scenarios import a_transfer, post
from tests.browser.signing import Started, send, sign_in_wallet, status, to_the_wallet
from tests.browser.wallets import answer, extrinsic_of, signature_of, stubbed
from tests.test_broadcast import PAID, failed

pytestmark = pytest.mark.acceptance

#: Scripts for `stubbed`: the answer to a broadcast is lost; the status is not known before
#: `window.answering`.
LOST = "if (target.includes('Broadcast') && !window.answering) return 'gone';"
NOT_SENT = (
    "if (target.includes('/api/tx/status')) return window.answering ? "
    f"{json.dumps(status())} : 'gone';"
)


def signed_once(page: Page, daemon: Daemon) -> str:
    """Sign a transfer with the wallet; return what was signed."""
    payload = to_the_wallet(page, f"scenario={a_transfer(daemon)}")
    return sign_in_wallet(page, payload)


def ask_for_status(page: Page) -> None:
    """Press the button for it until the page says that nothing was sent; the page also asks by
    itself, once the daemon answers."""

    def told() -> bool:
        page.browser.execute_script(
            "[...document.querySelectorAll('button')].find(each => each.checkVisibility()"
            " && each.textContent === 'Ask for its status')?.click()"
        )
        return "It was not sent: neither the daemon nor the chain knows it." in page.text()

    page.wait(told)


def test_a_reload_comes_back_to_what_was_signed_and_two_presses_send_once(started: Started) -> None:
    page, daemon, _, chain = started
    signed = signed_once(page, daemon)
    page.browser.refresh()
    page.wait_for("Discard the signature")
    page.browser.execute_script(
        "const button = [...document.querySelectorAll('button')].find(each => "
        "each.textContent === 'Send'); button.click(); button.click()"
    )
    page.wait(lambda: chain.taken)
    time.sleep(0.5)

    assert chain.taken == [signed]


def test_a_signature_is_kept_while_the_node_is_gone(started: Started) -> None:
    page, daemon, _, chain = started
    gone = {"status": 503, "body": {"error": "no node", "code": "chain_unreachable"}}
    script = f"if (target.includes('assemble') && !window.back) return {json.dumps(gone)};"
    with stubbed(page, script):
        payload = to_the_wallet(page, f"scenario={a_transfer(daemon)}")
        signature = signature_of(payload)
        answer(page, signature=signature)
        page.wait_for("Your signature is kept.")
        page.browser.refresh()
        page.wait_for("Your signature is kept.")
        page.browser.execute_script("window.back = true")
        send(page, chain, extrinsic_of(payload, signature))


def test_what_may_have_been_sent_is_asked_for_before_it_is_sent_again(started: Started) -> None:
    page, daemon, _, chain = started
    with stubbed(page, LOST + NOT_SENT):
        signed = signed_once(page, daemon)
        page.press("Send")
        page.wait_for(
            "This transaction may have been sent. Ask for its status before you send it again."
        )
        send = page.find(".step button.primary")
        assert not send.is_enabled()

        # A reload asks by itself, and still knows that it may have been sent.
        page.browser.refresh()
        page.wait_for("This transaction may have been sent.")
        assert not page.find(".step button.primary").is_enabled()
        page.browser.execute_script("window.answering = true")
        ask_for_status(page)
        page.press("Send")
        page.wait(lambda: chain.taken)

    assert chain.taken == [signed]


def test_a_transaction_that_the_chain_refuses_was_not_sent(started: Started) -> None:
    page, daemon, _, chain = started
    signed_once(page, daemon)
    body = {
        "error": "Polkadot refused it: the fee can't be paid; nothing was sent",
        "code": "refused",
    }
    page.browser.execute_script(
        "const real = fetch; window.fetch = async (target, options) => "
        "String(target).includes('Broadcast')"
        f" ? new Response({json.dumps(json.dumps(body))}, {{status: 422}}) : real(target, options)"
    )
    page.press("Send")

    page.wait_for("the fee can't be paid; nothing was sent")
    assert page.find(".step button.primary").is_enabled()
    page.press("Discard the signature")
    page.answer("Keep it")
    assert chain.taken == []


def test_a_transaction_is_followed_into_its_block_over_a_restart_of_the_daemon(
    started: Started,
) -> None:
    page, daemon, _, chain = started
    signed_once(page, daemon)
    page.press("Send")
    page.wait_for("It was sent to Polkadot, and isn't in a block yet.")
    page.find("a[href^='#/create/?diagramData=']")
    assert page.browser.execute_script("return localStorage.getItem('scenarioctl.signed')") == "{}"
    chain.include()
    page.wait_for("It is in block 1004 of Polkadot, not finalized yet.")
    page.wait_for("0.0161154 DOT")
    page.wait_for("2 events")

    daemon.stop()
    page.wait_for("The daemon is not responding.")
    chain.finalize()
    daemon.start()
    page.wait_for("It is in block 1004 of Polkadot, finalized.")
    page.browser.refresh()
    page.wait_for("It is in block 1004 of Polkadot, finalized.")
    page.wait_for("From Polkadot")


def test_a_transaction_that_fails_in_its_block_says_so(started: Started) -> None:
    page, daemon, _, chain = started
    signed_once(page, daemon)
    page.press("Send")
    page.wait(lambda: chain.taken)
    chain.include(PAID, failed({"Token": "FundsUnavailable"}))
    page.wait_for("It failed in its block, and its fee is spent:")
    page.wait_for("Token.FundsUnavailable")


def test_an_answer_of_the_node_that_is_lost_leaves_it_uncertain_and_the_bytes_here(
    started: Started,
) -> None:
    page, daemon, _, chain = started
    signed = signed_once(page, daemon)
    with chain.losing_answers():
        page.press("Send")
        page.wait_for("It may have been sent")
        assert "#/tx/" in page.browser.current_url
        page.browser.refresh()
        page.wait_for("This browser still has the signed bytes.")
    page.press("Send it again")
    page.wait_for("It was sent to Polkadot, and isn't in a block yet.")

    assert chain.taken == [signed]
    assert "Send it again" not in page.text()


def test_a_scenario_that_was_sent_is_not_forgotten(started: Started) -> None:
    page, daemon, _, chain = started
    scenario = a_transfer(daemon)
    signed = sign_in_wallet(page, to_the_wallet(page, f"scenario={scenario}"))
    send(page, chain, signed)
    page.wait_for("It was sent to Polkadot, and isn't in a block yet.")
    chain.include()
    page.wait_for("It is in block 1004 of Polkadot")
    chain.finalize()
    page.wait_for("It is in block 1004 of Polkadot, finalized.")

    told = rf"Sent {RECENTLY}: in block 1004, finalized\. See what became of it\."
    page.open("/#/")
    page.wait_for_match(told)
    page.open(f"/#/create/?diagramData={scenario}")
    page.wait_for_match(rf"{told} If you sign it again, you pay again\.")
    page.click("main a[href^='#/sign/']")
    page.wait_for("1. Account")
    page.wait_for_match(rf"{told} If you sign it again, you pay again\.")
    page.click("main a[href^='#/tx/?chain=polkadot&hash=0x']")
    page.wait_for("It is in block 1004 of Polkadot, finalized.")


def test_a_draft_of_a_job_is_signed_and_sent(started: Started) -> None:
    page, daemon, _, chain = started
    scenario = a_transfer(daemon)
    post(daemon, "/job/start", {"id": scenario, "every": "1h"})
    page.wait(lambda: post(daemon, "/scenario/tx", {"id": scenario})["mempool"])
    (row,) = post(daemon, "/scenario/tx", {"id": scenario})["mempool"]
    payload = to_the_wallet(page, f"job={scenario}&draft={row['seq']}")
    signed = sign_in_wallet(page, payload)

    send(page, chain, signed)
    # The job shows which draft was sent, by its hash.
    page.open(f"/#/create/?diagramData={scenario}")
    page.find("a[href^='#/tx/?chain=polkadot&hash=0x']")
    # Somebody who comes back to it is told so, before it is paid again.
    page.open(f"/#/sign/?job={scenario}&draft={row['seq']}")
    page.wait_for(
        "This draft was signed and sent before. See what became of it. If you sign it "
        "again, you pay again."
    )
    page.find("main a[href^='#/tx/?chain=polkadot&hash=0x']")
    page.open(f"/#/sign/?job={scenario}&draft=999")
    page.wait_for("Draft 999 is not among the drafts of this job any more.")
