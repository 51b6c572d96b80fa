"""Tricks on a treasury: each is refused in one sentence, or told."""

import json
from typing import Any

import pytest

from scenarioctl.chains.addresses import format_account
from tests.conftest import Run
from tests.messages import says
from tests.test_acting import ALICE, BOB, CHARLIE, TRANSFER, VAULT, book, polkadot

__all__ = ["book"]

#: Alice as Kusama writes her, and as a key.
ALICE_ELSEWHERE = "HNZata7iMYWmk5RvZRTiAsSDhV8366zq2YGb3tLH5Upf74F"
ALICE_KEY = "0xd43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d"
ETHEREUM = "0x" + "11" * 20
MANY = ",".join(format_account(bytes([1, number] * 16), 0) for number in range(101))


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (("new", "--multisig", "2", f"Alice,{ALICE_ELSEWHERE},Bob"), 2, ("signatories", "twice")),
        (("new", "--multisig", "2", f"Alice,{ALICE_KEY}"), 2, ("signatories", "twice")),
        (("new", "--multisig", "2", f"Alice,{ETHEREUM}"), 2, ("signatories", "one length")),
        (("new", "--multisig", "1e0", "Alice,Bob"), 2, ("multisig", "1e0")),
        (("new", "--multisig", "-1", "Alice,Bob"), 2, ("multisig", "-1")),
        (("new", "--multisig", "2.0", "Alice,Bob"), 2, ("multisig", "2.0")),
        (("new", "--multisig", "1000000000", "Alice,Bob"), 2, ("threshold", "1000000000")),
        (("new", "--multisig", "2", MANY), 2, ("signatories", "101 accounts")),
        (("new", "--multisig", "2", "Alice,Аlice"), 2, ("signatories", "Аlice")),
        (("council", "--multisig", "1", f"Alice,Bob,{CHARLIE}"), 4, ("council", "remove it first")),
        (("counсil", "--multisig", "2", f"Alice,{CHARLIE}"), 4, ("council", "confused")),
        (("Alice", "--proxy-of", VAULT), 4, ("Alice", "remove it first")),
        (("other", "--proxy-of", VAULT), 4, ("treasury", "has the name")),
        ((ALICE, "--proxy-of", VAULT), 2, ("name", "looks like an address")),
        (("new", "--proxy-of", VAULT, "--through", "new"), 2, ("through", "new")),
        ((f"{ALICE[:20]} {ALICE[20:]}", "--proxy-of", VAULT), 2, ("name", "in between")),
        ((f"{ALICE[:20]}-{ALICE[20:]}", "--proxy-of", VAULT), 2, ("name", "in between")),
        ((f"{ALICE[:6]}…{ALICE[-6:]}", "--proxy-of", VAULT), 2, ("name", "looks like an address")),
        (
            (f"{ALICE[:5]}...{ALICE[-5:]}", "--proxy-of", VAULT),
            2,
            ("name", "looks like an address"),
        ),
        (("new", "--proxy-of", VAULT[:-2]), 2, ("proxy_of", "31 bytes")),
        (("new", "--proxy-of", "0x" + "66" * 32, "--type", "An\ny"), 2, ("type", "NonTransfer")),
        (("new", "--proxy-of", "0x" + "66" * 32, "--type", "x" * 100), 2, ("type", "NonTransfer")),
    ],
)
def test_an_account_that_misleads_is_not_added(
    book: Run, line: tuple[str, ...], code: int, words: tuple[str, ...]
) -> None:
    ended = book("address", "add", *line)

    assert (ended.code, ended.err) == (code, says(*words))


def test_a_diagram_that_calls_another_account_the_treasury_tells_whose_money_moves(
    book: Run, tmp_path: Any
) -> None:
    id = book("create", "transfer", *TRANSFER, "--as", "treasury", "--sender", "Alice").out.strip()
    diagram = json.loads(book("scenario", "export", id, "--as", "json").out)
    theirs = "0x" + "66" * 31 + "01"
    diagram["actingAs"] = {"name": "treasury", "layers": [{"proxy_of": theirs, "type": "Any"}]}
    (tmp_path / "sent.json").write_text(json.dumps(diagram))
    imported = book("scenario", "import", str(tmp_path / "sent.json")).out.strip()

    built = book("--offline", "--json", "scenario", "build", imported)

    answer = json.loads(built.out)["result"]
    account = format_account(bytes.fromhex(theirs[2:]), 0)
    assert answer["says"].startswith(f"as {account}, through a proxy of the type Any: ")


def test_a_name_that_means_another_account_later_changes_no_scenario(book: Run) -> None:
    id = book("create", "transfer", *TRANSFER, "--as", "treasury", "--sender", "Alice").out.strip()
    before = book("--offline", "scenario", "build", id).out
    book("address", "remove", "treasury")
    book("address", "add", "treasury", "--proxy-of", "0x" + "66" * 31 + "01")

    assert book("--offline", "scenario", "build", id).out == before


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        (("--as", "council", "--sender", VAULT), 2, ("sender", "no signatory")),
        (("--as", "council", "--sender", ETHEREUM), 2, ("sender",)),
        (("--as", "treasury, council", "--sender", "Alice"), 3, ("as", "treasury, council")),
        (("--as", ALICE, "--sender", "Alice"), 2, ("as", "signs for itself")),
        (("--as", VAULT), 2, ("sender", "missing")),
    ],
)
def test_who_may_not_act_makes_nothing(
    book: Run, more: tuple[str, ...], code: int, words: tuple[str, ...]
) -> None:
    ended = book("--offline", "tx", "transfer", *TRANSFER, *more)

    assert (ended.code, ended.out, ended.err) == (code, "", says(*words))


@pytest.mark.parametrize("action", ["approve", "execute", "cancel"])
def test_who_is_no_signatory_is_told_so_before_a_chain_is_asked(book: Run, action: str) -> None:
    line = (
        "multisig",
        action,
        "council",
        "0x" + "11" * 32,
        "--chain",
        "assetHub",
        "--sender",
        VAULT,
    )
    ended = book("--offline", *line)

    assert (ended.code, ended.err) == (2, says("sender", "no signatory"))


def test_a_type_that_no_runtime_knows_is_refused_by_the_chain_that_it_is_for(book: Run) -> None:
    book("address", "add", "odd", "--proxy-of", "0x" + "77" * 31 + "01", "--type", "Anything")

    ended = book("--offline", "tx", "transfer", *TRANSFER, "--as", "odd")

    assert (ended.code, ended.err) == (2, says("type", "Anything", "NonTransfer"))


def test_the_signer_of_a_payload_is_one_who_may_sign(book: Run) -> None:
    note = book("--offline", "tx", "call", "assetHub", "System", "remark", "hi").out.strip()
    line = (
        *("--offline", "tx", "payload", note, "--chain", "assetHub", "--as", "council"),
        *("--nonce", "0"),
    )

    mine, theirs = (book(*line, "--sender", who) for who in ("Bob", VAULT))

    assert mine.code == 0
    assert (theirs.code, theirs.err) == (2, says("sender", polkadot(BOB)))
