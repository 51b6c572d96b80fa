"""Transactions made as a multisig: chosen in the editor, signed only by a signatory, and approved
by the others."""

import json
import urllib.request
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver

from tests.browser.editor import saved, stored, type_in
from tests.browser.page import PATIENCE, Daemon, Page, served
from tests.browser.reading import violations
from tests.browser.scenarios import post
from tests.browser.signing import Started, connect, send, sign_in_wallet
from tests.browser.wallets import (
    ALICE_42,
    BOB_42,
    LivingChain,
    alice,
    answer,
    injected,
    payload_asked_for,
    signature_of,
    wallet,
)
from tests.canned import ALICE_KEY, BOB_KEY
from tests.conftest import BOB
from tests.network import FakeNetwork
from tests.test_check import ALICE, DOT, account, fill

pytestmark = pytest.mark.acceptance

CHARLIE = "5FLSigC9HGRKVhB9FiEo4Y3koPsNmBmLJbpXg2mp1hXcS59Y"
DAVE = "5DAAnrj7VHTznn2AWBemMuyBwZWs6FNFjdyVXUeYum3PTXFy"


#: The call of `a_remark_of`.
REMARK = bytes.fromhex("0007" + "14" + b"hello".hex())


def book(daemon: Daemon) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"{daemon.url}/api/addresses", timeout=PATIENCE) as found:
        return json.load(found)["addresses"]  # type: ignore[no-any-return]


def a_council(daemon: Daemon, *signatories: str, threshold: int = 2) -> None:
    """Put a multisig into the address book, with Bob."""
    post(daemon, "/api/address/add", {"name": "Bob", "address": BOB_42})
    members = list(signatories or (ALICE_42, BOB_42, CHARLIE))
    post(
        daemon,
        "/api/address/add",
        {"name": "council", "threshold": threshold, "signatories": members},
    )


def a_remark_of(daemon: Daemon, signer: str = BOB_42) -> str:
    fields = {"chain": "polkadot", "text": "hello", "as": "council", "sender": signer}
    return str(post(daemon, "/api/create/remark", fields)["result"])


@pytest.fixture
def council(browser: webdriver.Chrome, tmp_path: Path) -> Iterator[Started]:
    """A page whose browser has Talisman with two signatories and somebody else, on a chain that
    takes transactions."""
    second = {"address": BOB_42, "name": "Second", "type": "sr25519"}
    other = {"address": DAVE, "name": "Trip", "type": "sr25519"}
    home = tmp_path / "daemon"
    home.mkdir()
    with FakeNetwork(tmp_path) as network:
        fill(network)
        network.chains["polkadot"].store("System", "Account", BOB_KEY, value=account(5 * DOT))
        with (
            served(browser, home, config=network.config.read_text(), offline=False) as (
                page,
                daemon,
            ),
            injected(page, wallet("talisman", alice(), second, other)),
        ):
            a_council(daemon)
            yield page, daemon, network, LivingChain(network)


def test_the_editor_makes_a_scenario_as_a_multisig_and_as_nobody_again(
    own: tuple[Page, Daemon],
) -> None:
    page, daemon = own
    page.open("/#/new/remark")
    page.find(".step-card")
    assert not page.browser.find_elements("name", "acting")

    a_council(daemon)
    page.browser.refresh()
    page.choose("[name=acting]", "council")
    page.choose("[name=signer]", f"0x{BOB_KEY.hex()}")
    type_in(page, 0, "text", "hello")
    assert violations(page) == []
    page.press("Create")
    scenario = saved(page)
    page.wait_for("Made as", "council", "2 of ", "Bob")
    kept = stored(daemon, scenario)["as"]
    assert (kept["name"], kept["signer"], kept["layers"][0]["threshold"]) == (
        "council",
        f"0x{BOB_KEY.hex()}",
        2,
    )

    page.open(f"/#/edit/{scenario}")
    page.choose("[name=acting]", "")
    page.press("Save")
    assert saved(page) == scenario
    page.wait(lambda: "as" not in stored(daemon, scenario))


def test_a_signatory_signs_and_somebody_else_is_told_why_not(council: Started) -> None:
    page, daemon, _, chain = council
    # It was made for Bob to sign.
    page.open(f"/#/sign/?scenario={a_remark_of(daemon)}")
    page.press("Connect Talisman")
    page.wait_for("1 account can't sign here")
    choice, _ = page.browser.find_elements("css selector", ".choice")
    assert choice.text.startswith(f"Savings {ALICE}")
    page.open_details("1 account can't sign here")
    page.wait_for("is no signatory of council (2 of ")
    page.click(".choice")
    page.wait_for(
        "It opens an operation of council: 1 more of its signatories must approve it",
        "a deposit of",
    )
    page.wait_for("min left, until block")
    page.press("Sign with Talisman")
    payload = payload_asked_for(page)

    send(page, chain, sign_in_wallet(page, payload))
    # Alice signs with the two others beside her.
    assert payload["address"] == ALICE
    assert ALICE_KEY.hex() not in payload["method"]
    assert BOB_KEY.hex() in payload["method"]


def opened(
    started: Started, *approvals: bytes, height: int, index: int = 1, call: bytes = REMARK
) -> str:
    """Let an operation of the council wait on Polkadot; return the hash of its call."""
    _, daemon, network, _ = started
    relay = network.chains["polkadot"]
    hashed = blake2b(call, digest_size=32).digest()
    row = {
        "when": {"height": height, "index": index},
        "deposit": 2 * 10**10,
        "depositor": approvals[0],
        "approvals": list(approvals),
    }
    account = next(each["account"] for each in book(daemon) if each["name"] == "council")
    relay.store("Multisig", "Multisigs", bytes.fromhex(account[2:]), hashed, value=row)
    return "0x" + hashed.hex()


def test_what_one_signatory_opened_another_runs(council: Started) -> None:
    page, daemon, _, chain = council
    scenario = a_remark_of(daemon, ALICE_42)
    connect(page, f"scenario={scenario}")
    page.wait_for("min left, until block")
    page.press("Sign with Talisman")
    send(page, chain, sign_in_wallet(page, payload_asked_for(page)))
    page.wait(lambda: "#/tx/?" in page.browser.current_url)
    chain.include()
    opened(council, ALICE_KEY, height=chain.best)

    # For whom the scenario was made, nothing is left to sign.
    page.open(f"/#/sign/?scenario={scenario}")
    page.wait_for("has approved this operation of council already")
    page.click("a[href='#/multisig/council']")
    page.wait_for(
        "'hello' to the history of Polkadot",
        "Approved, 1 of 2",
        "Has not approved",
        "Bob",
        "You have approved it. 1 more must.",
    )
    assert [
        each.text for each in page.browser.find_elements("css selector", "article a.button")
    ] == ["Cancel"]
    # What couldn't be asked is unknown.
    page.wait_for("Unknown: ", "Kusama")
    assert violations(page) == []
    page.press("Change account")
    page.press("Connect Talisman")
    page.wait_for("1 account can't sign here")
    page.find(".choice:not([disabled])")
    page.browser.find_elements("css selector", ".choice")[1].click()
    page.click("article a.primary")
    page.wait_for(
        "With it enough of council have approved, and the call runs.", "min left, until block"
    )
    page.press("Sign with Talisman")
    payload = payload_asked_for(page)
    answer(page, signature=signature_of(payload, "//Bob"))
    page.wait_for("Discard the signature")
    page.press("Send")
    page.wait(lambda: len(chain.taken) == 2)

    assert payload["address"] == BOB
    assert REMARK.hex() in payload["method"]


def test_a_call_that_nobody_knows_is_approved_only_once_it_is_pasted(council: Started) -> None:
    page, _, _, chain = council
    opened(council, BOB_KEY, height=chain.best)
    page.open("/#/multisig/council")
    page.press("Connect Talisman")
    page.click(".choice")
    page.wait_for("Nobody knows what this does")
    assert not page.browser.find_elements("css selector", "article a.button")
    page.fill("calls", "0x00070c686579")
    page.press("Read the call")
    page.wait_for("This is another call than the one that is open.")
    page.fill("calls", f"0x{REMARK.hex()}")
    page.press("Read the call")

    page.wait_for("'hello' to the history of Polkadot")
    page.click("article a.primary")
    page.wait_for(
        "With it enough of council have approved, and the call runs.", "min left, until block"
    )
