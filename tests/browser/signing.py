"""The way to a signature on the page, up to what the daemon says of a transaction that was sent."""

from typing import Any

from tests.browser.page import Daemon, Page
from tests.browser.wallets import LivingChain, answer, extrinsic_of, payload_asked_for, signature_of
from tests.network import FakeNetwork
from tests.test_check import ALICE

#: What the fixture `started` gives.
Started = tuple[Page, Daemon, FakeNetwork, LivingChain]


def connect(page: Page, link: str) -> None:
    """Choose the first account of Talisman for the transaction of *link*."""
    page.open(f"/#/sign/?{link}")
    page.press("Connect Talisman")
    page.click(".choice")


def paste_address(page: Page, link: str, address: str = ALICE) -> None:
    """Choose an account that no wallet has for the transaction of *link*."""
    page.open(f"/#/sign/?{link}")
    page.fill("sender", address)
    page.press("Use this account")


def to_the_wallet(page: Page, link: str) -> dict[str, Any]:
    """Choose the first account for the transaction of *link*, and have the wallet asked; return
    what it is asked."""
    connect(page, link)
    page.wait_for("min left, until block")
    page.press("Sign with Talisman")
    return payload_asked_for(page)


def sign_in_wallet(page: Page, payload: dict[str, Any]) -> str:
    """Have the wallet sign *payload*; return the extrinsic that the page then has to send."""
    signature = signature_of(payload)
    answer(page, signature=signature)
    page.wait_for("Discard the signature")
    return extrinsic_of(payload, signature)


def send(page: Page, chain: LivingChain, signed: str) -> None:
    """Send what was signed: not before now, and as it is."""
    assert chain.taken == []
    page.press("Send")
    page.wait(lambda: chain.taken)
    assert chain.taken == [signed]


def paste_signature(page: Page, signature: str, *, place: str = "other-signer") -> None:
    """Paste a signature where *place* has the heading."""
    page.fill("signature", signature, within=f"[aria-labelledby={place}]")
    page.click(f"[aria-labelledby={place}] form button[type=submit]")


def status(**more: Any) -> dict[str, Any]:
    """Return an answer of /api/tx/status."""
    return {
        "chain": "polkadot",
        "hash": "0x" + "ab" * 32,
        "state": "unknown",
        "summary": "It wasn't sent from here, and it isn't in the newest blocks of Polkadot.",
        "sent": None,
        "says": "",
        "scenario": "",
        "block_time": None,
        "explorer": None,
        "left": None,
        "moved": [],
        "received": None,
        "costs": [],
        "cost": [],
        "signer": "",
        "nonce": None,
        "block": None,
        "block_number": None,
        "extrinsic_index": None,
        "success": None,
        "fee": None,
        "fee_human": "",
        "fee_paid_in": None,
        "events": [],
        "error": "",
        "notes": [],
        "created": [],
        "valid_until_block": None,
        "searched_block": None,
        "job": "",
        "draft": None,
        "arrivals": [],
        "settled": False,
        "warnings": [],
        **more,
    }
