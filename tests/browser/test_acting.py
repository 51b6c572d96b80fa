"""Transactions made as a multisig: chosen in the editor, signed only by a signatory, and approved by the others."""

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver

from scenarioctl.chains.registry import Registry
from tests.browser.editor import saved, stored, type_in
from tests.browser.page import Daemon, Page, served
from tests.browser.reading import violations
from tests.browser.scenarios import post
from tests.browser.signing import Started, send, sign_in_wallet
from tests.browser.wallets import (
    ALICE_42,
    BOB_42,
    LivingChain,
    alice,
    injected,
    payload_asked_for,
    wallet,
)
from tests.canned import ALICE_KEY, BOB_KEY
from tests.network import FakeNetwork
from tests.test_check import ALICE, DOT, account, fill

pytestmark = pytest.mark.acceptance

CHARLIE = "5FLSigC9HGRKVhB9FiEo4Y3koPsNmBmLJbpXg2mp1hXcS59Y"
DAVE = "5DAAnrj7VHTznn2AWBemMuyBwZWs6FNFjdyVXUeYum3PTXFy"


#: The call of `a_remark_of`.
REMARK = bytes.fromhex("0007" + "14" + b"hello".hex())


def book(daemon: Daemon) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"{daemon.url}/api/addresses", timeout=20) as found:
        return json.load(found)["addresses"]  # type: ignore[no-any-return]


def a_council(daemon: Daemon, *signatories: str, threshold: int = 2) -> None:
    """Put a multisig into the address book, with Bob."""
    post(daemon, "/api/address/add", {"name": "Bob", "address": BOB_42})
    members = list(signatories or (ALICE_42, BOB_42, CHARLIE))
    post(daemon, "/api/address/add", {"name": "council", "threshold": threshold, "signatories": members})


def a_remark_of(daemon: Daemon, signer: str = BOB_42) -> str:
    fields = {"chain": "polkadot", "text": "hello", "as": "council", "sender": signer}
    return str(post(daemon, "/api/create/remark", fields)["result"])


@pytest.fixture
def council(browser: webdriver.Chrome, tmp_path: Path) -> Iterator[Started]:
    """A page whose browser has Talisman with two signatories and somebody else, on a chain that takes transactions."""
    second = {"address": BOB_42, "name": "Second", "type": "sr25519"}
    other = {"address": DAVE, "name": "Trip", "type": "sr25519"}
    home = tmp_path / "daemon"
    home.mkdir()
    with FakeNetwork(tmp_path) as network:
        fill(network)
        network.chains["polkadot"].store("System", "Account", BOB_KEY, value=account(5 * DOT))
        # All others are where nobody listens.
        found = {chain.name: "ws://127.0.0.1:1/" for chain in Registry().all() if chain.endpoints}
        found |= {name: chain.node.url for name, chain in network.chains.items()}
        network.write({name: {"endpoints": [url], "trusted": True} for name, url in found.items()})
        with (
            served(browser, home, config=network.config.read_text(), offline=False) as (page, daemon),
            injected(page, wallet("talisman", alice(), second, other)),
        ):
            a_council(daemon)
            yield page, daemon, network, LivingChain(network)


def test_the_editor_makes_a_scenario_as_a_multisig_and_as_nobody_again(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    page.open("/#/new/remark")
    page.find(".step-card")
    assert not page.browser.find_elements("name", "acting")

    a_council(daemon)
    page.browser.refresh()
    page.choose(page.find("[name=acting]"), "council")
    page.choose(page.find("[name=signer]"), f"0x{BOB_KEY.hex()}")
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
    page.choose(page.find("[name=acting]"), "")
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
    assert choice.text.startswith(f"Savings\n{ALICE}")
    page.open_details("1 account can't sign here")
    page.wait_for("is no signatory of council (2 of ")
    page.find(".choice").click()
    page.wait_for(
        "It opens an operation of council: 1 more of its signatories must approve it", "a deposit of"
    )
    page.wait_for("min left, until block")
    page.press("Sign with Talisman")
    payload = payload_asked_for(page)

    send(page, chain, sign_in_wallet(page, payload))
    # Alice signs with the two others beside her.
    assert payload["address"] == ALICE
    assert ALICE_KEY.hex() not in payload["method"]
    assert BOB_KEY.hex() in payload["method"]


def test_a_flow_file_that_names_who_acts_is_opened_with_them(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    a_council(daemon)
    page.open("/#/import")
    page.find("main h1")
    page.drop(json.dumps({"as": "council", "steps": [{"type": "Remark", "chain": "polkadot"}]}))
    page.wait(lambda: page.browser.find_elements("css selector", "[name=signer]"))
    type_in(page, 0, "text", "hello")
    page.press("Create")

    assert stored(daemon, saved(page))["as"]["name"] == "council"


def test_a_pasted_address_of_somebody_else_is_refused_at_its_field(council: Started) -> None:
    page, daemon, _, _ = council
    page.open(f"/#/sign/?scenario={a_remark_of(daemon)}")
    page.fill("sender", DAVE)
    page.press("Use this account")

    page.wait_for("is no signatory of council")
    assert page.find("[name=sender]").get_attribute("aria-invalid") == "true"
