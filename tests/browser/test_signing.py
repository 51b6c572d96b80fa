"""From a draft to a sent transaction, with wallets that really sign: what reaches the chain is what
was shown."""

import json
import time
from typing import Any

import pytest

from tests.browser.page import Page
from tests.browser.scenarios import a_flow, a_transfer, post
from tests.browser.signing import (
    Started,
    connect,
    paste_address,
    paste_signature,
    send,
    sign_in_wallet,
    to_the_wallet,
)
from tests.browser.wallets import (
    LivingChain,
    answer,
    extrinsic_of,
    payload_asked_for,
    refuse,
    signature_of,
    stubbed,
)
from tests.conftest import BOB
from tests.test_check import ALICE
from tests.test_fee_asset import pay_fees_in_usdt

pytestmark = pytest.mark.acceptance


def summary(page: Page) -> dict[str, str]:
    """Return all that the simulation says."""
    page.browser.execute_script("document.querySelector('.step details:has(.summary)').open = true")
    rows = page.browser.execute_script(
        "return [...document.querySelectorAll('.summary > div')].map(row => "
        "[row.children[0].innerText, row.children[1].innerText])"
    )
    return {name: " ".join(value.split()) for name, value in rows}


def test_the_simulation_says_what_goes_what_comes_and_what_it_costs(started: Started) -> None:
    page, daemon, _, _ = started
    paste_address(page, f"scenario={a_transfer(daemon)}")
    page.wait_for("Will succeed")

    assert summary(page) == {
        "What it does": f"Teleports 1.5 DOT from Polkadot to Polkadot Asset Hub for {BOB}",
        "They receive": f"1.498 DOT on Polkadot Asset Hub {BOB}",
        "Total fees": "0.048 DOT",
        "What could go wrong": (
            "The simulation found nothing. Until it is in a block, the state of the chains can "
            "change."
        ),
    }
    assert "computed arrival" not in page.text()
    page.open_details("Each hop")
    rows = [row.text for row in page.browser.find_elements("css selector", ".step tbody tr")]
    assert rows == [
        "Polkadot Transaction fee 0.016 DOT",
        "Polkadot Delivery 0.03 DOT",
        "Polkadot Asset Hub Execution 0.002 DOT",
        "Polkadot Asset Hub Computed arrival 1.498 DOT",
        "Polkadot Asset Hub Arrives 1.498 DOT",
    ]


def test_a_transaction_that_will_fail_is_signed_only_by_who_insists(started: Started) -> None:
    page, daemon, network, _ = started
    network.chains["polkadot"].storage.clear()
    connect(page, f"scenario={a_transfer(daemon)}")
    page.wait_for("Will fail")
    page.wait_for("The simulation did not pass.")
    assert "Sign with Talisman" not in page.text()
    # What somebody risks who insists, with the amounts.
    page.wait_for(
        "You risk what it moves: it teleports 1.5 DOT from Polkadot to Polkadot Asset Hub",
        "You lose the fee of 0.016 DOT even if it fails in its block.",
        "The simulation says: the sender can spend 0 DOT on Polkadot",
    )
    assert "They receive" not in summary(page)
    page.press("Sign although it will fail")
    page.press("Sign with Talisman")
    answer(page, signature=signature_of(payload_asked_for(page)))

    # The last step remembers it.
    page.wait_for("4. Send", "Send although it will fail", "Will fail")


def test_what_comes_after_a_condition_is_not_signed_under_green(started: Started) -> None:
    page, daemon, _, _ = started
    remark = {"type": "Remark", "chain": "polkadot", "text": "x"}
    scenario = a_flow(daemon, {"steps": [{"type": "condition", "when": "1 > 2"}, remark]})
    connect(page, f"scenario={scenario}")

    page.wait_for("Would succeed, but its condition wasn't checked", "which only a run checks")
    assert not page.browser.find_elements("css selector", ".verdict.ok")
    page.press("Sign although its condition wasn't checked")
    page.wait_for("Sign with Talisman")


def test_what_could_not_be_simulated_is_never_called_good(started: Started) -> None:
    page, daemon, network, _ = started
    network.chains["polkadot"].api["DryRunApi_dry_run_call"] = {"Err": "Unimplemented"}
    connect(page, f"scenario={a_transfer(daemon)}")
    page.wait_for("Couldn't be simulated")
    page.find(".verdict.unknown")
    page.wait_for(
        "Sign although the outcome is unknown",
        "You lose the fee of 0.016 DOT even if it fails in its block.",
    )
    assert summary(page) == {
        "What it does": f"Teleports 1.5 DOT from Polkadot to Polkadot Asset Hub for {BOB}",
        "They would receive": "Unknown",
        "Total fees": "At least 0.016 DOT. The rest is unknown.",
        "What could go wrong": "A chain did not answer what the simulation asked. Details",
    }

    assert "Sign with Talisman" not in page.text()


def moved(what: str, chain: str, human: str) -> dict[str, str]:
    return {"chain": chain, "what": what, "value": "1", "asset": human.split()[1], "human": human}


#: What a check says, what the page then says of it, and its button.
LOSSES: list[tuple[dict[str, Any], list[str], str]] = [
    (
        {
            "verdict": "refused",
            "reasons": ["the receiver gets nothing"],
            "steps": [
                moved("leaves", "polkadot", "1.5 DOT"),
                moved("destroyed", "assetHub", "0.5 DOT"),
            ],
        },
        [
            "You risk 1.5 DOT on Polkadot, which leaves your account.",
            "You lose 0.5 DOT on Polkadot Asset Hub, which is destroyed.",
            "You lose its fee even if it fails in its block.",
            "The simulation says: the receiver gets nothing",
        ],
        "Sign although 1.5 DOT could be lost",
    ),
    (
        {
            "verdict": "unknown",
            "reasons": ["a price is missing"],
            "steps": [moved("deposit", "polkadot", "0.2 DOT")],
            "leaves": [
                moved("", "polkadot", "1.5 DOT")
                | {"account": ALICE, "system": False, "role": "the multisig"}
            ],
        },
        [
            "You risk 1.5 DOT on Polkadot, which leaves the multisig's account once all approve.",
            "0.2 DOT as a deposit",
        ],
        "Sign although it is unknown what becomes of 1.5 DOT",
    ),
    (
        {"verdict": "ok", "steps": [moved("destroyed", "assetHub", "100 USDT")]},
        ["Will succeed, but 100 USDT would be lost"],
        "Sign although 100 USDT would be lost",
    ),
]


def test_what_is_lost_or_risked_is_said_before_somebody_signs(started: Started) -> None:
    page, daemon, _, _ = started
    link = f"scenario={a_transfer(daemon)}"
    nothing: dict[str, list[Any]] = {
        name: [] for name in ("reasons", "warnings", "leaves", "credits", "stops")
    }
    for told, words, button in LOSSES:
        check: dict[str, Any] = {**nothing, "arrival": {"computed": None, "credited": None}, **told}
        answered = (
            "if (target.includes('/api/tx/check')) return "
            f"{{...{json.dumps(check)}, txdata: JSON.parse(options.body).tx}};"
        )
        with stubbed(page, answered):
            page.open("/#/import")
            page.browser.execute_script("localStorage.clear()")
            connect(page, link)
            page.wait_for(*words)
            assert "Sign with Talisman" not in page.text()
            page.press(button)
            page.wait_for("Sign with Talisman")


def test_a_transaction_that_changed_is_simulated_and_prepared_again(started: Started) -> None:
    page, daemon, _, _ = started
    connect(page, f"scenario={a_transfer(daemon)}")
    page.wait_for("min left, until block")
    page.press("Refresh")
    page.wait_for("Nothing has changed.")
    page.press("Sign with Talisman")
    old = payload_asked_for(page)

    # As a swap does, whose quote is another each time.
    other = post(daemon, "/api/create/remark", {"chain": "polkadot", "text": "another one"})[
        "result"
    ]
    tx = post(daemon, "/api/scenario/info/full", {"id": other})["result"]["tx"]
    page.browser.execute_script(
        "const real = fetch; window.fetch = async (target, options) => {"
        "  if (!String(target).includes('info/full')) return real(target, options);"
        "  const body = await (await real(target, options)).json();"
        "  body.result.tx = arguments[0];".replace("arguments[0]", json.dumps(tx))
        + "  return new Response(JSON.stringify(body), {status: 200});"
        "}"
    )
    page.press("Refresh")
    page.wait_for("The transaction has changed. It is simulated again.")
    page.wait_for("another one")
    # The signature of the old one comes too late.
    answer(page, signature=signature_of(old))
    time.sleep(0.5)

    assert "Signed by" not in page.text()
    assert page.browser.execute_script("return localStorage.getItem('scenarioctl.signed')") is None


def test_somebody_who_says_no_in_the_wallet_can_say_yes_later(started: Started) -> None:
    page, daemon, _, chain = started
    to_the_wallet(page, f"scenario={a_transfer(daemon)}")
    refuse(page, "Cancelled")
    page.wait_for("Talisman did not sign (Cancelled). Nothing was sent.")
    page.press("Sign with Talisman")
    answer(page, signature=signature_of(payload_asked_for(page)))

    page.wait_for("4. Send")
    page.wait_for("Discard the signature")
    assert chain.taken == []


def test_the_time_to_sign_and_to_send_counts_down_by_blocks(started: Started) -> None:
    page, daemon, _, chain = started
    # A clock that can be moved, so that the chain is asked again.
    clock = "{ const real = Date.now; window.ahead = 0; Date.now = () => real() + window.ahead; }"
    with page.with_script(clock):
        connect(page, f"scenario={a_transfer(daemon)}")
        page.wait_for("6 min left, until block 1063 of Polkadot.")
        assert page.value_of("[role=timer]", "aria-live") == "off"
        chain.best += 25
        page.browser.execute_script("window.ahead += 40000")
        page.wait_for("3 min left")
        chain.best += 25
        page.browser.execute_script("window.ahead += 40000")
        page.wait_for(" s left")
        before = page.text_of("[role=timer] strong")
        page.wait(lambda: page.text_of("[role=timer] strong") != before)

        page.press("Sign with Talisman")
        sign_in_wallet(page, payload_asked_for(page))
        page.wait_for("4. Send")
        page.wait_for(" s left, until block 1063 of Polkadot.")
        chain.hours_passed = 1
        page.browser.execute_script("window.ahead += 120000")
        page.wait_for("This signature has expired. Nothing was sent.")
        assert [
            each.text
            for each in page.browser.find_elements("css selector", "main .primary")
            if each.is_displayed()
        ] == ["Make a new one"]
        chain.hours_passed = 0
        page.press("Make a new one")
        page.wait_for("Sign with Talisman")
    assert chain.taken == []


def test_nonce_tip_and_mortality_are_chosen_under_advanced(started: Started) -> None:
    page, daemon, _, _ = started
    connect(page, f"scenario={a_transfer(daemon)}")
    page.wait_for("min left, until block")
    page.browser.execute_script(
        "document.querySelector('.advanced').closest('details').open = true"
    )
    page.fill("nonce", "9")
    page.fill("tip", "0,5")
    page.browser.execute_script("document.querySelector('[name=era]').value = '256'")
    page.press("Prepare again with these")
    page.wait_for("25 min left, until block 1255 of Polkadot.")
    page.press("Sign with Talisman")
    payload = payload_asked_for(page)

    assert (int(payload["nonce"], 16), int(payload["tip"], 16)) == (9, 5_000_000_000)
    page.browser.execute_script("document.querySelector('[name=tip]').value = 'much'")
    page.press("Prepare again with these")
    page.wait_for(
        "“much” is not an amount: write a number like 0.5, with at most 10 decimal places."
    )
    page.browser.execute_script("document.querySelector('[name=tip]').value = '1000'")
    page.press("Prepare again with these")
    page.wait_for("The tip of 1000 DOT is more than the account can send: 5 DOT.")


def choose_fee_asset(page: Page, asset: str) -> None:
    page.wait(
        lambda: page.browser.execute_script(
            "return document.querySelector('[name=fee_asset]') !== null"
        )
    )
    page.browser.execute_script(
        "const choice = document.querySelector('[name=fee_asset]'); "
        "choice.closest('details').open = true;"
        "choice.value = arguments[0]; choice.dispatchEvent(new Event('change'));",
        asset,
    )


def test_the_asset_that_pays_the_fee_is_chosen_and_simulated(started: Started) -> None:
    page, daemon, network, _ = started
    pay_fees_in_usdt(network)
    LivingChain(network, "assetHub")
    scenario = post(daemon, "/api/create/remark", {"chain": "assetHub", "text": "hello"})["result"]
    connect(page, f"scenario={scenario}")
    page.wait_for("Will fail")
    choose_fee_asset(page, "1984")
    page.wait_for("0.00824 USDt")
    page.wait_for("Will succeed")
    page.wait_for("min left, until block")
    page.press("Sign with Talisman")

    assert payload_asked_for(page)["assetId"] == "0x010002043205011f"


def test_a_payload_of_another_call_is_shown_to_no_wallet(started: Started) -> None:
    page, daemon, _, _ = started
    swapped = (
        "if (target.includes('/api/tx/payload')) {"
        "  const body = await (await real(target, options)).json();"
        "  body.signer_payload.method = '0x00071468656c6c6f';"
        "  return body;"
        "}"
    )
    with stubbed(page, swapped):
        connect(page, f"scenario={a_transfer(daemon)}")
        page.wait_for(
            "The transaction has changed since it was simulated. Refresh it, and simulate it again."
        )

        assert "Sign with Talisman" not in page.text()


def test_another_signer_takes_the_payload_and_its_signature_is_pasted(started: Started) -> None:
    page, daemon, _, chain = started
    paste_address(page, f"scenario={a_transfer(daemon)}")
    page.wait_for("Download payload.json")
    href = page.browser.execute_script(
        "return decodeURIComponent(document.querySelector('a[download]').href.split(',')"
        ".slice(1).join(','))"
    )
    payload = json.loads(href)
    paste_signature(page, "hello")
    page.wait_for("This is not a signature: it has 64 to 66 bytes in hex.")
    paste_signature(page, signature_of(payload, "//Bob"))
    page.wait_for(f"is not one of {ALICE} for this payload")
    good = signature_of(payload)
    paste_signature(page, good.removeprefix("0x"))
    page.wait_for("Discard the signature")

    send(page, chain, extrinsic_of(payload, good))
