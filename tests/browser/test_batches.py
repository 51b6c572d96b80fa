"""All transactions of a scenario signed as one, and marked as sent once that one is in a block."""

import re

import pytest

from tests.browser.page import RECENTLY, Daemon
from tests.browser.scenarios import a_flow
from tests.browser.signing import Started, send, sign_in_wallet
from tests.browser.wallets import payload_asked_for
from tests.network import table_of
from tests.test_broadcast import PAID, SUCCESS, failed
from tests.test_check import DOT
from tests.test_scenario_batches import allow_transfers, transfer

pytestmark = pytest.mark.acceptance

#: The page of a scenario.
SCENARIO = "/#/create/?diagramData={}"


def two_transfers(daemon: Daemon) -> str:
    return a_flow(daemon, {"name": "payroll", "steps": [transfer("2"), transfer("1.5")]})


def sign_all(started: Started, scenario: str) -> str:
    """Sign all transactions of *scenario* as one and send it, from its page on; return what was
    sent."""
    page, _, _, chain = started
    page.open(SCENARIO.format(scenario))
    page.wait_for("One signature for all 2: the chain does all of them, or none.")
    page.click("a[href$='batch=all']")
    page.press("Connect Talisman")
    page.click(".choice")
    page.wait_for("Will succeed")
    page.wait_for("min left, until block")
    page.press("Sign with Talisman")
    payload = payload_asked_for(page)
    send(page, chain, sign_in_wallet(page, payload))
    return str(payload["method"])


def test_all_are_signed_as_one_and_marked_as_sent(started: Started) -> None:
    page, daemon, network, chain = started
    allow_transfers(network, 50 * DOT)
    scenario = two_transfers(daemon)

    call = table_of("polkadot").decode_call(bytes.fromhex(sign_all(started, scenario)[2:]))
    assert (call.pallet, call.method, len(call.args["calls"])) == ("Utility", "batch_all", 2)
    page.wait(lambda: "#/tx/?chain=polkadot&hash=0x" in page.browser.current_url)
    page.open(SCENARIO.format(scenario))
    page.wait_for_match(f"Sent {RECENTLY} in one transaction with the others: ")
    done = {"Utility": "ItemCompleted"}
    chain.include(PAID, done, done, {"Utility": "BatchCompleted"}, SUCCESS)
    page.open(SCENARIO.format(scenario))
    page.wait_for(
        "in block 1004 of Polkadot, not finalized yet. See what became of it. If you sign "
        "it again, you pay again."
    )

    page.wait(lambda: page.text_of(".next .primary") == "See what became of it")
    told = re.findall(
        f"Sent {RECENTLY} in one transaction with the others: in block 1004", page.text()
    )
    assert len(told) == 2
    # Somebody who is about to sign one of them, or all of them again, is told so.
    page.click(".transactions a.button")
    page.wait_for(
        "in block 1004 of Polkadot, not finalized yet. See what became of it. If you sign "
        "it again, you pay again."
    )
    page.open(f"/#/sign/?scenario={scenario}&batch=all")
    page.wait_for("If you sign it again, you pay again.")


def test_a_batch_that_failed_marks_nothing_as_sent(started: Started) -> None:
    page, daemon, network, chain = started
    allow_transfers(network, 50 * DOT)
    scenario = two_transfers(daemon)
    sign_all(started, scenario)
    chain.include(PAID, failed({"Token": "FundsUnavailable"}))
    page.open(SCENARIO.format(scenario))

    page.wait_for(
        "in block 1004 of Polkadot, not finalized yet, where it failed, and its fee is spent."
    )
    page.wait(lambda: "you pay again" not in page.text())
