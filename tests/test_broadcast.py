"""Broadcasting: what is not a signed transaction of its chain is never sent, what is one is sent
once."""

import json
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarioctl.chains.client import Client
from scenarioctl.chains.connection import NodeConnection, Timeouts
from scenarioctl.chains.registry import Registry
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.operations.broadcasts import describe_inclusion
from scenarioctl.runtime.scale import encode_compact
from scenarioctl.runtime.storage_keys import storage_key
from scenarioctl.transactions.extrinsic import bare_extrinsic, encode_era, extrinsic_hash
from scenarioctl.transactions.signing.payload import SigningOptions, signing_payload
from scenarioctl.transactions.signing.signatures import encode_signed_extrinsic
from scenarioctl.transactions.submission.inclusion import read_inclusion
from scenarioctl.transactions.submission.validation import check_is_signed, decode_for_chain
from tests import refusals
from tests.blocks import block_hash, block_of
from tests.conftest import DATA, Ended, Run
from tests.messages import Says, says
from tests.node import Feed, Gone, Node, Refusal, Silent
from tests.runner import finish
from tests.runtimes import ASSETS, REGISTRY, bundled, unhex
from tests.signing import dev_key, ecdsa_signature, ed25519_key, sign

TABLE = bundled("polkadot")
CHAIN = Registry().find("polkadot")
GENESIS = unhex(CHAIN.genesis)
KUSAMA_GENESIS = unhex(Registry().find("kusama").genesis)
ALICE = "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5"
REMARK = Call(pallet="System", method="remark", args={"remark": b"hello"})
LONG = Call(pallet="System", method="remark", args={"remark": b"x" * 300})
#: The best block, and the account's next nonce, of the node.
NUMBER, NONCE = 1000, 5
VERSION = {"specName": "polkadot", "specVersion": TABLE.spec_version}


def options(**changes: Any) -> SigningOptions:
    given: dict[str, Any] = {
        "nonce": NONCE,
        "genesis_hash": GENESIS,
        "block_hash": GENESIS,
    } | changes
    return SigningOptions(**given)


def hash_of_block(number: int) -> str:
    held = ("0x00", GOOD) if number == NUMBER + 1 else ("0x00",)
    return CHAIN.genesis if number == 0 else block_hash(number, held)


def mortal(born: int, period: int = 64) -> SigningOptions:
    return options(era=encode_era(period, born), block_hash=unhex(hash_of_block(born)))


def signed(call: Call = REMARK, given: SigningOptions | None = None, **how: Any) -> str:
    return "0x" + sign(TABLE, call, given or options(), **how).hex()


GOOD = signed()
#: The block after the best one, which will have it.
BLOCK = hash_of_block(NUMBER + 1)
HASH = "0x" + blake2b(unhex(GOOD), digest_size=32).hexdigest()


def account(nonce: int) -> str:
    key = storage_key(TABLE, "System", "Account", (dev_key().public_key,))
    value = TABLE.decode(key.entry.value_type, key.entry.default)
    return "0x" + TABLE.encode(key.entry.value_type, {**value, "nonce": nonce}).hex()


EVENTS = storage_key(TABLE, "System", "Events", ())


def events(*found: tuple[int, Any]) -> str:
    records = [
        {"phase": {"ApplyExtrinsic": index}, "event": event, "topics": []} for index, event in found
    ]
    return "0x" + TABLE.encode(EVENTS.entry.value_type, records).hex()


INFO = {"weight": {"ref_time": 10, "proof_size": 0}, "class": "Normal", "pays_fee": "Yes"}
SUCCESS = {"System": {"ExtrinsicSuccess": {"dispatch_info": INFO}}}
PAID = {
    "TransactionPayment": {
        "TransactionFeePaid": {"who": dev_key().public_key, "actual_fee": 161154943, "tip": 0}
    }
}


def failed(error: Any) -> Any:
    return {"System": {"ExtrinsicFailed": {"dispatch_error": error, "dispatch_info": INFO}}}


def answers(*, found: str = "", **changes: Any) -> dict[str, Any]:
    """Return those of a node at block NUMBER that takes GOOD and puts it second into block
    BLOCK."""

    def storage(key: str, *_: Any) -> str:
        return (
            (found or events((0, SUCCESS), (1, PAID), (1, SUCCESS)))
            if key == EVENTS.hex
            else account(NONCE)
        )

    return {
        "chain_getBlockHash": lambda number=NUMBER: hash_of_block(number),
        "state_getRuntimeVersion": lambda *_: VERSION,
        "chain_getHeader": {"number": hex(NUMBER)},
        "state_getStorage": storage,
        "system_properties": {"tokenSymbol": "DOT", "tokenDecimals": 10, "ss58Format": 0},
        "author_submitExtrinsic": HASH,
        "author_submitAndWatchExtrinsic": Feed(["ready", {"inBlock": BLOCK}, {"finalized": BLOCK}]),
        "chain_getBlock": block_of(BLOCK, ("0x00", GOOD)),
        **changes,
    }


Send = Callable[..., Ended]


@pytest.fixture
def send(scenarioctl: Run, tmp_path: Path) -> Send:
    """Broadcast to polkadot at a node: `send(node, tx, "--wait", "in-block")`."""

    def run(node: Node, tx: str, *more: str, **how: Any) -> Ended:
        config = tmp_path / "config.toml"
        config.write_text(f'[chains.polkadot]\nendpoints = ["{node.url}"]\n')
        return scenarioctl("--config", str(config), "broadcast", "polkadot", tx, *more, **how)

    return run


def error_of(ended: Ended) -> str:
    return ended.err.splitlines()[-1].removeprefix("Error: ")


def sent(node: Node) -> int:
    return sum(method.startswith("author_submit") for method in node.asked)


# What is sent


def test_a_signed_transaction_is_sent_once_and_answered_with_its_hash(send: Send) -> None:
    with Node(answers()) as node:
        ended = send(node, GOOD, "--json")

    assert (ended.code, ended.err) == (0, "")
    assert json.loads(ended.out) == {"status": "broadcasted", "hash": HASH}
    assert node.asked == [
        *("chain_getBlockHash", "state_getRuntimeVersion", "chain_getHeader", "state_getStorage"),
        "author_submitExtrinsic",
    ]


def by_ed25519() -> str:
    data = TABLE.encode_call(LONG)
    payload = signing_payload(TABLE, data, options())
    key = ed25519_key()
    made = key.sign(payload.bytes_to_sign)
    return (
        "0x"
        + encode_signed_extrinsic(
            TABLE, data, payload.extra, account=key.public_key, scheme="ed25519", signature=made
        ).hex()
    )


def by_ecdsa() -> str:
    data = TABLE.encode_call(REMARK)
    payload = signing_payload(TABLE, data, options())
    signer, made = ecdsa_signature(payload.bytes_to_sign)
    return (
        "0x"
        + encode_signed_extrinsic(
            TABLE, data, payload.extra, account=signer, scheme="ecdsa", signature=made
        ).hex()
    )


def digest() -> bytes:
    from scenarioctl.runtime.metadata_hash import metadata_digest

    return metadata_digest(TABLE, ss58_prefix=0, decimals=10, symbol="DOT")


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: signed(LONG), id="a hashed payload"),
        pytest.param(lambda: signed(given=mortal(960)), id="a mortal era"),
        pytest.param(lambda: signed(given=mortal(NUMBER)), id="an era of this block"),
        pytest.param(
            lambda: signed(given=mortal(NUMBER - 62)), id="an era that ends with the next block"
        ),
        pytest.param(lambda: signed(given=options(tip=10**12)), id="a tip"),
        pytest.param(
            lambda: signed(given=options(mode=1, metadata_hash=digest())), id="a metadata hash"
        ),
        pytest.param(by_ed25519, id="ed25519"),
        pytest.param(by_ecdsa, id="ecdsa"),
    ],
)
def test_every_good_signature_is_found_good(send: Send, make: Callable[[], str]) -> None:
    tx = make()
    expected = "0x" + blake2b(unhex(tx), digest_size=32).hexdigest()

    with Node(answers(author_submitExtrinsic=expected)) as node:
        ended = send(node, tx)

    assert ended == Ended(out=f"{expected}\n", err="", code=0)


def test_a_metadata_hash_is_computed_with_the_symbol_that_the_node_tells_too(send: Send) -> None:
    from scenarioctl.runtime.metadata_hash import metadata_digest

    other = metadata_digest(TABLE, ss58_prefix=0, decimals=12, symbol="UNIT")
    tx = signed(given=options(mode=1, metadata_hash=other))
    given = answers(
        system_properties={"tokenSymbol": ["UNIT"], "tokenDecimals": [12]},
        author_submitExtrinsic="0x" + blake2b(unhex(tx), digest_size=32).hexdigest(),
    )

    with Node(given) as node:
        ended = send(node, tx)

    assert (ended.code, ended.err) == (0, "")


def test_a_nonce_that_is_ahead_is_sent_with_a_warning(send: Send) -> None:
    tx = signed(given=options(nonce=NONCE + 3))
    with Node(
        answers(author_submitExtrinsic="0x" + blake2b(unhex(tx), digest_size=32).hexdigest())
    ) as node:
        ended = send(node, tx)

    assert (ended.code, ended.err) == (0, says("8", ALICE, "5", "7"))


def test_a_node_that_calls_it_otherwise_is_warned_of(send: Send) -> None:
    with Node(answers(author_submitExtrinsic="0x" + "11" * 32)) as node:
        ended = send(node, GOOD)

    assert (ended.code, ended.out) == (0, f"{HASH}\n")
    assert ended.err == says("11" * 32, url=node.url, hash=HASH)


def test_one_that_waits_in_the_pool_already_is_broadcasted(send: Send) -> None:
    def known(_: str) -> str:
        raise Refusal(1013, "Transaction Already Imported", "0xab")

    with Node(answers(author_submitExtrinsic=known)) as node:
        ended = send(node, GOOD)

    assert (ended.code, ended.out) == (0, f"{HASH}\n")
    assert ended.err == says("Warning", "Polkadot")


def test_an_era_whose_block_the_node_forgot_is_left_to_the_chain(send: Send) -> None:
    tx = signed(given=mortal(960))
    forgetful = answers(
        chain_getBlockHash=lambda number=NUMBER: CHAIN.genesis if number == 0 else None,
        author_submitExtrinsic="0x" + blake2b(unhex(tx), digest_size=32).hexdigest(),
    )

    with Node(forgetful) as node:
        ended = send(node, tx)

    assert (ended.code, ended.err) == (0, says("signature", "Polkadot"))


# What is not sent


@settings(max_examples=300, deadline=None)
@given(
    place=st.integers(0, len(unhex(GOOD)) - 1), byte=st.integers(1, 255), cut=st.integers(0, 111)
)
def test_a_damaged_transaction_is_refused_or_read_and_never_a_bug(
    place: int, byte: int, cut: int
) -> None:
    data = bytearray(unhex(GOOD))
    data[place] ^= byte
    length = encode_compact(cut)

    for damaged in (bytes(data), bytes(data[:cut]) or b"\0", length + bytes(data[2 : 2 + cut])):
        with suppress(InvalidRequest):
            check_is_signed(CHAIN, TABLE, damaged)
            decode_for_chain(CHAIN, TABLE, damaged)


PAYLOAD = signing_payload(TABLE, TABLE.encode_call(REMARK), options())
LONG_PAYLOAD = signing_payload(TABLE, TABLE.encode_call(LONG), options())


def general() -> str:
    body = bytes((0x45, 0)) + PAYLOAD.extra + PAYLOAD.call_data
    return "0x" + (encode_compact(len(body)) + body).hex()


def row(name: str, tx: str, error: str) -> Any:
    return pytest.param(tx, error, id=name)


def short(tx: str) -> str:
    return tx if len(tx) <= 60 else tx[:59] + "…"


FORMS = [
    row("no hex", "hello", says('tx', 'hello')),
    row(
        "call data",
        "0x" + PAYLOAD.call_data.hex(),
        says('tx', '0x00001468656c6c6f', 'System.remark'),
    ),
    row(
        "an unsigned extrinsic",
        "0x" + bare_extrinsic(PAYLOAD.call_data).hex(),
        says('tx', '0x240400001468656c6c6f', 'System.remark'),
    ),
    row(
        "a general extrinsic",
        general(),
        says('tx', short(general()), '5'),
    ),
    row(
        "a signing payload",
        "0x" + PAYLOAD.payload.hex(),
        says('tx', 'System.remark', hex=short('0x' + PAYLOAD.payload.hex())),
    ),
    row(
        "one that was cut",
        GOOD[:-2],
        says('tx', '111', '110', good=short(GOOD)),
    ),
    row("one with more behind it", GOOD + "00", says('tx', '111', good=short(GOOD))),
    row(
        "one without its length",
        "0x" + GOOD[6:],
        says('tx', good=short('0x' + GOOD[6:])),
    ),
    row(
        "a call that is none",
        "0x" + (encode_compact(103) + unhex(GOOD)[2:105]).hex().replace("00001468656c6c6f", ""),
        says('tx', '0x9d018400d43593c715fdd31c61141abd04a99fd6822c8558854ccde39', '2000000'),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("tx", "error"), FORMS)
def test_what_is_no_signed_extrinsic_is_refused_before_the_chain_is_asked(
    scenarioctl: Run, tx: str, error: str
) -> None:
    ended = scenarioctl("--offline", "--json", "broadcast", "polkadot", tx)

    assert refusals.refused(json.loads(ended.out)) == {"error": error, "code": "invalid_request"}
    assert ended.code == 2


def refused(name: str, make: Callable[[], str], error: str, code: str = "invalid_request") -> Any:
    return pytest.param(make, error, code, id=name)


def kusamas(given: SigningOptions) -> str:
    return "0x" + sign(bundled("kusama"), REMARK, given).hex()


ANEW = "make a new payload and sign that"
BAD = (
    f"tx has a wrong signature: {ALICE} did not sign this transaction for Polkadot with "
    "polkadot 2000000 (perhaps "
    f"another chain, runtime version, nonce, era, tip or call, or another key): {ANEW}"
)
USED = (
    f"nonce 4 of {ALICE} is already used, the next one is 5: this transaction, or another "
    "one with this nonce, is in a "
    "block of Polkadot; nothing was sent"
)

JUDGED = [
    refused("another key", lambda: signed().replace(GOOD[10:74], dev_key("//Bob").public_key.hex(),
        1), BAD.replace(ALICE, "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3")),
    refused("another message", lambda: signed(message=b"hello"), BAD),
    refused("another tip", lambda: signed(message=signing_payload(TABLE, PAYLOAD.call_data, options(
        tip=1)).bytes_to_sign), BAD),
    refused("a signature of zeros", lambda: GOOD[:76] + "00" * 64 + GOOD[204:], BAD),
    refused("another metadata hash", lambda: signed(given=options(mode=1,
        metadata_hash=b"\1" * 32)), BAD),
    refused("kusama's genesis", lambda: signed(given=options(genesis_hash=KUSAMA_GENESIS,
        block_hash=KUSAMA_GENESIS)), says('tx', 'polkadot')),
    refused("kusama's runtime too", lambda: kusamas(options(genesis_hash=KUSAMA_GENESIS,
        block_hash=KUSAMA_GENESIS)), says('tx', 'polkadot')),
    refused("another scheme", lambda: signed(scheme="ed25519"), says('tx', 'ed25519', 'sr25519',
        'scheme')),
    refused("a message in <Bytes>", lambda: signed(
        message=b"<Bytes>" + PAYLOAD.payload + b"</Bytes>"), says('tx', 'transaction')),
    refused("a long payload not hashed", lambda: signed(LONG, message=LONG_PAYLOAD.payload), says(
        'tx', 'blake2b-256', 'bytes_to_sign', payload=len(LONG_PAYLOAD.payload))),
    refused("an era that ended long ago", lambda: signed(given=mortal(850)), says('tx', '64', '850',
        '913', '1000')),
    refused("an era that ended with this block", lambda: signed(given=mortal(937)), says('tx', '64',
        '937', '1000')),
    refused("a used nonce", lambda: signed(given=options(nonce=NONCE - 1)), USED, "conflict"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "error", "code"), JUDGED)
def test_what_the_chain_would_refuse_is_not_sent(
    send: Send, make: Callable[[], str], error: str, code: str
) -> None:
    with Node(answers()) as node:
        ended = send(node, make(), "--json")

    assert refusals.refused(json.loads(ended.out)) == {"error": error, "code": code}
    assert ended.code == {"invalid_request": 2, "conflict": 4}[code]
    assert sent(node) == 0


def test_one_for_another_runtime_is_told_from_one_for_another_chain(send: Send) -> None:
    version = {"specName": "polkadot", "specVersion": 1006000}
    opaque = (DATA / "metadata" / "polkadot-1006000.v15.scale").read_bytes()
    text = "0x01" + (encode_compact(len(opaque)) + opaque).hex()
    given = answers(
        state_getRuntimeVersion=lambda *_: version,
        state_call=lambda _, asked: text if asked == "0x0f000000" else "0x00",
    )

    with Node(given) as node:
        ended = send(node, GOOD)

    assert (ended.code, error_of(ended)) == (2, says("tx", "2000000", "1006000"))
    assert sent(node) == 0


WAITING = [
    (("--timeout", "5"), says('timeout', '5')),
    (("--wait", "in-block", "--timeout", "0"), says('timeout', '0')),
]  # fmt: skip


@pytest.mark.parametrize(("given", "error"), WAITING)
def test_waiting_is_judged_before_anything_is_sent(
    send: Send, given: tuple[str, ...], error: Any
) -> None:
    with Node(answers()) as node:
        ended = send(node, GOOD, *given)

    assert (ended.code, error_of(ended)) == (2, error)
    assert node.asked == []


# What the chain says against it


def said(number: int, message: str, data: Any, meaning: str) -> Any:
    words = (
        message
        if data is None
        else f"{message}: {data if isinstance(data, str) else json.dumps(data)}"
    )
    return pytest.param(
        number,
        message,
        data,
        f"Polkadot refused the transaction, {meaning} (the node said {words!r}, {number})",
        id=f"{number} {data or message}"[:60],
    )


INVALID = "Invalid Transaction"
REFUSALS = [
    said(1010, INVALID, "Inability to pay some fees (e.g. account balance too low)",
        "its sender cannot pay the fee, or must keep the existential deposit"),
    said(1010, INVALID, "Transaction is outdated", "its nonce is already used"),
    said(1010, INVALID, "Transaction has a bad signature",
        f"its signature does not match this chain, its runtime or the transaction: {ANEW}"),
    said(1010, INVALID, "Custom error: 7",
        "a rule of its runtime forbids it, and only that number says which"),
    said(1010, '{"invalid":{"payment":null}}', None,
        "its sender cannot pay the fee, or must keep the existential deposit"),
    said(1010, INVALID, {"custom": 7},
        "a rule of its runtime forbids it, and only that number says which"),
    said(1011, "Unknown Transaction Validity",
        "Could not lookup information required to validate the transaction",
        "the runtime cannot look up what it needs to validate it"),
    said(1012, "Transaction is temporarily banned", None,
        "it was recently found invalid, and the node does not look at it again for about half an "
        "hour"),
    said(1014, "Priority is too low: (12 vs 13)",
        "The transaction has too low priority to replace another transaction already in the pool.",
        "the pool holds another transaction with this sender and nonce, and this one has no "
        "higher tip: raise the tip by more than 10 %, or wait"),
    said(1016, "Immediately Dropped",
        "The transaction couldn't enter the pool because of the limit",
        "the pool is full and dropped it at once: send it again later, or with a tip"),
    said(-32601, "Method not found", None,
        "the node accepts no transactions: use another endpoint"),
    said(-32000, "busy", None, "for a reason that only the node's message gives"),
]  # fmt: skip


@pytest.mark.parametrize(("number", "message", "data", "sentence"), REFUSALS)
@pytest.mark.parametrize("wait", [(), ("--wait", "in-block")], ids=["sent", "followed"])
def test_what_the_chain_says_against_it_is_explained(
    send: Send, number: int, message: str, data: Any, sentence: str, wait: tuple[str, ...]
) -> None:
    def refuse(_: str) -> str:
        raise Refusal(number, message, data)

    given = answers(author_submitExtrinsic=refuse, author_submitAndWatchExtrinsic=refuse)

    with Node(given) as node:
        ended = send(node, GOOD, "--json", *wait)

    assert json.loads(ended.out) == {"hash": HASH, "error": sentence, "code": "chain_refused"}
    assert ended.code == 6
    assert sent(node) == 1


# Faults


def gone(*_: Any) -> str:
    raise Gone


@pytest.mark.parametrize(
    ("wait", "method"),
    [((), "author_submitExtrinsic"), (("--wait", "in-block"), "author_submitAndWatchExtrinsic")],
    ids=["sent", "followed"],
)
def test_a_lost_answer_says_that_it_may_have_been_sent(
    send: Send, wait: tuple[str, ...], method: str
) -> None:
    given: dict[str, Any] = {method: gone}
    with Node(answers(**given)) as node:
        ended = send(node, GOOD, "--json", *wait)

    assert ended.code == 5
    assert json.loads(ended.out) == {
        "hash": HASH,
        "error": says(method, hash=HASH, url=node.url),
        "code": "chain_unreachable",
    }
    assert sent(node) == 1


def test_a_node_that_stalls_when_it_is_sent_to_is_not_sent_to_again(
    send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scenarioctl.chains.pool.TIMEOUTS", Timeouts(answering=2.0))

    def stall(_: str) -> str:
        raise Silent

    with Node(answers(author_submitExtrinsic=stall)) as node:
        ended = send(node, GOOD)

    assert ended.code == 5
    assert error_of(ended) == says("author_submitExtrinsic", hash=HASH, url=node.url)
    assert sent(node) == 1


def test_a_bug_after_it_was_sent_does_not_say_that_nothing_was(
    send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "scenarioctl.transactions.submission.inclusion.read_inclusion", {}.__getitem__
    )

    with Node(answers()) as node:
        ended = send(node, GOOD, "--wait", "in-block")

    assert ended.code == 1
    assert f"; the transaction {HASH} may have been sent; SCENARIOCTL_DEBUG=1 shows" in error_of(
        ended
    )


def test_an_interruption_says_that_it_may_have_been_sent(
    send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(
        "scenarioctl.chains.connection.NodeConnection._result", interrupt_after(5, interrupt)
    )

    with Node(answers()) as node:
        ended = send(node, GOOD)

    assert (ended.code, ended.out) == (130, "")
    assert ended.err.strip() == says("transaction", hash=HASH)
    assert sent(node) == 1


def interrupt_after(count: int, interrupt: Callable[..., Any]) -> Callable[..., Any]:
    """Return the reading of answers that is interrupted at the answer number *count*."""
    read = NodeConnection._result
    left = [count]

    def result(connection: NodeConnection, answer: dict[str, Any], method: str) -> Any:
        left[0] -= 1
        return read(connection, answer, method) if left[0] else interrupt()

    return result


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        pytest.param(
            {"chain_getHeader": None},
            "Polkadot gave no head: null",
            id="no head",
        ),
        pytest.param(
            {"state_getStorage": "0x00"},
            "Polkadot did not answer with a AccountInfo",
            id="no account",
        ),
    ],
)  # fmt: skip
def test_a_node_that_fails_before_it_is_sent_to_is_sent_nothing(
    send: Send, changes: dict[str, Any], error: str
) -> None:
    with Node(answers(**changes)) as node:
        ended = send(node, GOOD)

    assert (ended.code, ended.out) == (5, "")
    assert error_of(ended).startswith(error)
    assert error_of(ended).endswith("; nothing was sent")
    assert sent(node) == 0


def test_a_node_that_gives_no_block_hash_is_sent_nothing(send: Send) -> None:
    strange = answers(chain_getBlockHash=lambda number=NUMBER: "0x12" if number else CHAIN.genesis)

    with Node(strange) as node:
        ended = send(node, signed(given=mortal(960)))

    assert (ended.code, error_of(ended)) == (5, says("0x12", "Polkadot"))
    assert sent(node) == 0


# Waiting for what becomes of it


INCLUDED = {
    "status": "broadcasted",
    "hash": HASH,
    "block": BLOCK,
    "block_number": NUMBER + 1,
    "extrinsic_index": 1,
    "success": True,
    "fee": "161154943",
    "fee_human": "0.0161154943 DOT",
    "left": [],
    "asked": 1,
    "events": [
        {
            "TransactionPayment": {
                "TransactionFeePaid": {"who": ALICE, "actual_fee": "161154943", "tip": "0"}
            }
        },
        {
            "System": {
                "ExtrinsicSuccess": {
                    "dispatch_info": {
                        "weight": {"ref_time": "10", "proof_size": "0"},
                        "class": "Normal",
                        "pays_fee": "Yes",
                    }
                }
            }
        },
    ],
}


@pytest.mark.parametrize(
    ("state", "steps"),
    [
        ("in-block", ["waiting in the pool", f"in block {BLOCK}"]),
        ("finalized", ["waiting in the pool", f"in block {BLOCK}", f"finalized in block {BLOCK}"]),
    ],
)
def test_it_is_followed_into_its_block(send: Send, state: str, steps: list[str]) -> None:
    with Node(answers()) as node:
        ended = send(node, GOOD, "--wait", state, "--json")

    assert ended.code == 0
    assert json.loads(ended.out) == INCLUDED
    assert ended.err.splitlines() == [f"sending {HASH} to Polkadot", *steps]
    assert sent(node) == 1


def test_every_state_on_the_way_is_told(send: Send) -> None:
    other = "0x" + "cc" * 32
    feed = Feed(
        [
            "future",
            "ready",
            {"broadcast": ["a", "b"]},
            {"inBlock": other},
            {"retracted": other},
            {"inBlock": BLOCK},
            {"finalized": BLOCK},
        ]
    )

    with Node(answers(author_submitAndWatchExtrinsic=feed)) as node:
        ended = send(node, GOOD, "--wait", "finalized", "--field", "block")

    assert ended == Ended(
        out=f"{BLOCK}\n",
        err=f"sending {HASH} to Polkadot\n"
        "waiting for earlier transactions of its sender\n"
        "waiting in the pool\n"
        "passed on to 2 other nodes\n"
        f"in block {other}\n"
        f"block {other} was abandoned, waiting for another\n"
        f"in block {BLOCK}\n"
        f"finalized in block {BLOCK}\n",
        code=0,
    )


MODULE = {"Module": {"index": 5, "error": b"\x02\0\0\0"}}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MODULE, "Balances.InsufficientBalance"),
        ({"Token": "FundsUnavailable"}, "Token.FundsUnavailable"),
        ({"Module": {"index": 5, "error": b"\xff\0\0\0"}}, "Balances: error ff000000"),
        ({"Module": {"index": 254, "error": b"\x01\0\0\0"}}, "pallet 254: error 01000000"),
    ],
)
def test_one_that_fails_in_its_block_ends_with_the_reason(
    send: Send, error: Any, words: str
) -> None:
    with Node(answers(found=events((1, PAID), (1, failed(error))))) as node:
        ended = send(node, GOOD, "--wait", "in-block", "--json")

    answer = json.loads(ended.out)
    assert ended.code == 6
    assert (answer["success"], answer["block_number"], answer["fee"]) == (False, 1001, "161154943")
    assert (answer["code"], answer["error"]) == ("chain_refused", says("1001", words, hash=HASH))


def test_what_fails_inside_a_call_that_succeeds_is_warned_of(send: Send) -> None:
    inner = [
        {"Utility": {"BatchInterrupted": {"index": 1, "error": MODULE}}},
        {"Proxy": {"ProxyExecuted": {"result": {"Err": "BadOrigin"}}}},
        {"Proxy": {"ProxyExecuted": {"result": {"Ok": None}}}},
        {"XcmPallet": {"Attempted": {"outcome": {"Error": {"error": "Barrier", "index": 0}}}}},
    ]
    found = events(*((1, event) for event in [*inner, SUCCESS]))

    with Node(answers(found=found)) as node:
        ended = send(node, GOOD, "--wait", "in-block")

    assert ended.code == 0
    warnings = [line for line in ended.err.splitlines() if line.startswith("Warning")]
    assert warnings[:2] == [
        "Warning: Utility.BatchInterrupted: Balances.InsufficientBalance",
        "Warning: Proxy.ProxyExecuted: BadOrigin",
    ]
    assert warnings[2].startswith(
        "Warning: XcmPallet.Attempted: the message was not executed completely ("
    )
    assert len(warnings) == 3


STATES = [
    ({"usurped": "0xdd"}, 6, says('0xdd', hash=HASH)),
    ("dropped", 6, says('transaction', hash=HASH)),
    ("invalid", 6, says('transaction', hash=HASH)),
    ({"invalid": {"stale": None}}, 6, says('transaction', hash=HASH)),
    ({"finalityTimeout": BLOCK}, 5, says("finality", block=BLOCK, hash=HASH)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("state", "code", "error"),
    STATES,
    ids=["usurped", "dropped", "invalid", "stale", "not final in time"],
)
def test_how_it_ends_without_a_block_is_said(
    send: Send, state: Any, code: int, error: Says
) -> None:
    with Node(answers(author_submitAndWatchExtrinsic=Feed(["ready", state]))) as node:
        ended = send(node, GOOD, "--wait", "finalized", "--json")

    answer = json.loads(ended.out)
    assert (ended.code, answer["error"], answer["hash"]) == (code, error, HASH)


def test_one_that_is_in_no_block_in_time_may_still_be(send: Send) -> None:
    with Node(answers(author_submitAndWatchExtrinsic=Feed(["ready"]))) as node:
        ended = send(node, GOOD, "--wait", "in-block", "--timeout", "1")

    assert ended.code == 5
    assert error_of(ended) == says("1", hash=HASH)


def test_one_that_is_not_final_in_time_names_its_block(send: Send) -> None:
    feed = Feed(["ready", {"inBlock": BLOCK}])

    with Node(answers(author_submitAndWatchExtrinsic=feed)) as node:
        ended = send(node, GOOD, "--wait", "finalized", "--timeout", "3", "--json")

    answer = json.loads(ended.out)
    assert (ended.code, answer["block"]) == (5, BLOCK)
    assert answer["error"] == says("3", block=BLOCK, hash=HASH)


@pytest.mark.parametrize("state", ["in-block", "finalized"])
def test_a_connection_lost_while_waiting_is_opened_again_and_the_blocks_are_searched(
    send: Send, state: str
) -> None:
    name = "chain_subscribeFinalizedHeads" if state == "finalized" else "chain_subscribeNewHeads"
    heads: dict[str, Any] = {name: Feed([{"number": hex(NUMBER + 1)}])}
    given = answers(author_submitAndWatchExtrinsic=Feed(["ready", Gone]), **heads)

    with Node(given) as node:
        ended = send(node, GOOD, "--wait", state, "--json")

    found = hash_of_block(NUMBER + 1)
    assert ended.code == 0
    assert json.loads(ended.out) == {**INCLUDED, "block": found}
    lost, *_, seen = [
        line for line in ended.err.splitlines() if "connection" in line or found in line
    ]
    assert lost == f"lost the connection to {node.url}, searching the blocks"
    assert seen == f"{'in' if state == 'in-block' else 'finalized in'} block {found}"
    assert sent(node) == 1


def refuse_heads(*_: Any) -> None:
    raise Refusal(-32000, "no heads")


@pytest.mark.parametrize(
    ("heads", "words"),
    [
        (Feed([{"number": hex(NUMBER)}]), ("was sent but was in no block", "3")),
        (refuse_heads, ("was sent", "then the connection was lost", "no heads")),
    ],
    ids=["in no block", "lost again"],
)
def test_what_is_found_in_no_block_after_the_connection_was_lost_may_still_come(
    send: Send, heads: Any, words: tuple[str, ...]
) -> None:
    given = answers(
        author_submitAndWatchExtrinsic=Feed(["ready", Gone]), chain_subscribeNewHeads=heads
    )

    with Node(given) as node:
        timeout = "60" if heads is refuse_heads else "3"
        ended = send(node, GOOD, "--wait", "in-block", "--timeout", timeout, "--json")

    answer = json.loads(ended.out)
    assert (ended.code, answer["hash"]) == (5, HASH)
    url = {"url": node.url} if heads is refuse_heads else {}
    assert answer["error"] == says(*words, hash=HASH, **url)


NOT_READ = (
    f"the transaction {HASH} is in block {BLOCK} of Polkadot, but its effects could not be read"
)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"chain_getBlock": block_of(BLOCK, ["0x00"])},
            "{url} returned other transactions for block 1001 of Polkadot than the block has",
        ),
        (
            {"chain_getBlock": block_of(hash_of_block(NUMBER), ["0x00", GOOD])},
            f"{{url}} returned another block's header for block {BLOCK} of Polkadot",
        ),
        ({"found": "0x0499"}, "{url} returned unreadable events: '0x0499'"),
    ],
)
def test_a_block_that_cannot_be_read_is_named(
    send: Send, changes: dict[str, Any], why: str
) -> None:
    with Node(answers(**changes)) as node:
        ended = send(node, GOOD, "--wait", "in-block", "--json")

    answer = json.loads(ended.out)
    assert (ended.code, answer["status"], answer["block"]) == (5, "broadcasted", BLOCK)
    assert answer["error"] == f"{NOT_READ} ({why.format(url=node.url)})"


TRAPPED = {
    "hash": b"\1" * 32,
    "origin": {
        "parents": 0,
        "interior": {"X1": [{"AccountId32": {"network": None, "id": dev_key().public_key}}]},
    },
    "assets": {"V5": [{"id": {"parents": 0, "interior": "Here"}, "fun": {"Fungible": 25 * 10**9}}]},
}


def test_what_is_trapped_is_warned_of_with_how_to_claim_it(send: Send, tmp_path: Path) -> None:
    found = events((0, {"XcmPallet": {"AssetsTrapped": TRAPPED}}), (1, SUCCESS))
    ours = events((1, {"XcmPallet": {"AssetsTrapped": TRAPPED}}), (1, SUCCESS))

    with Node(answers(found=found)) as node:
        another = send(node, GOOD, "--wait", "in-block")
    with Node(answers(found=ours)) as node:
        ended = send(node, GOOD, "--wait", "in-block", "--store", str(tmp_path / "other.db"))

    assert "trapped" not in another.err
    assert ended.code == 0
    assert [line for line in ended.err.splitlines() if line.startswith("Warning")] == [
        says("2.5", "DOT", "XcmPallet.claim_assets")
    ]


class _Block:
    """A node's client for one block that holds one extrinsic and these events."""

    endpoint = "ws://node"
    block = block_hash(5, ["0x00"])
    read_number = Client.read_number
    check_header = Client.check_header

    def __init__(self, chain: str, found: list[Any]) -> None:
        self.chain = REGISTRY.find(chain)
        self._table = bundled(chain)
        self._key = storage_key(self._table, "System", "Events", ())
        records = [
            {"phase": {"ApplyExtrinsic": 0}, "event": event, "topics": []} for event in found
        ]
        self._events = "0x" + self._table.encode(self._key.entry.value_type, records).hex()

    async def table_at(self, _: str) -> Any:
        return self._table

    async def call_many(self, _: Any) -> list[Any]:
        return [block_of(self.block, ["0x00"]), self._events]


WHO = b"\1" * 32


@pytest.mark.parametrize(
    ("chain", "event", "paid"),
    [
        (
            "assetHub",
            {
                "AssetTxPayment": {
                    "AssetTxFeePaid": {
                        "who": WHO,
                        "actual_fee": 12345,
                        "tip": 0,
                        "asset_id": {
                            "parents": 0,
                            "interior": {"X2": [{"PalletInstance": 50}, {"GeneralIndex": 1984}]},
                        },
                    }
                }
            },
            {"value": "12345", "asset": "USDt", "human": "0.012345 USDt"},
        ),
        (
            "hydraDx",
            {
                "MultiTransactionPayment": {
                    "FeeWithdrawn": {
                        "account_id": WHO,
                        "asset_id": 23,
                        "native_fee_amount": 7,
                        "non_native_fee_amount": 1500000,
                        "destination_account_id": WHO,
                    }
                }
            },
            {
                "value": "1500000",
                "asset": "USDT (asset 23, not the canonical USDT 10)",
                "human": "1.5 USDT (asset 23, not the canonical USDT 10)",
            },
        ),
    ],
)
def test_a_fee_that_was_paid_in_another_asset_is_told(chain: str, event: Any, paid: Any) -> None:
    client: Any = _Block(chain, [event, SUCCESS])

    inclusion = finish(read_inclusion(client, client.block, extrinsic_hash(b"\0"), assets=ASSETS))

    assert describe_inclusion(inclusion, REGISTRY.find("polkadot")).get("fee_paid_in") == paid
    assert inclusion.inner == ()
    # Its call can't be read.
    assert [each.state for each in inclusion.outcomes] == ["unknown"]


def _withdraws(currency: int, amount: int) -> list[Any]:
    withdrawn = {"currency_id": currency, "who": WHO, "amount": amount}
    return [{"Tokens": {"Withdrawn": withdrawn}}, {"Currencies": {"Withdrawn": withdrawn}}]


def _deposits(
    currency: int, amount: int, who: bytes = b"modlpy/trsry".ljust(32, b"\0")
) -> list[Any]:
    deposited = {"currency_id": currency, "who": who, "amount": amount}
    return [{"Tokens": {"Deposited": deposited}}, {"Currencies": {"Deposited": deposited}}]


_HDX_FEE = {
    "TransactionPayment": {
        "TransactionFeePaid": {"who": WHO, "actual_fee": 1_690_000_000_000, "tip": 0}
    }
}
_UPGRADED = {"Balances": {"Upgraded": {"who": WHO}}}
#: What a swap moves between the withdrawal of the fee and its end.
_SWAPPED = [
    {
        "Tokens": {
            "Transfer": {"currency_id": 5, "from": WHO, "to": b"\2" * 32, "amount": 2 * 10**10}
        }
    },
    *_deposits(1, 150950555, b"\2" * 32),
]


@pytest.mark.parametrize(
    ("found", "fee", "paid"),
    [
        pytest.param(
            [*_withdraws(5, 17804286), *_SWAPPED, *_deposits(5, 17804286)],
            1_690_000_000_000,
            {"value": "17804286", "asset": "DOT", "human": "0.0017804286 DOT"},
            id="in DOT",
        ),
        pytest.param(
            [
                _UPGRADED,
                *_withdraws(5, 20000000),
                *_SWAPPED,
                *_deposits(5, 5000000, WHO),
                *_deposits(5, 15000000),
            ],
            1_690_000_000_000,
            {"value": "15000000", "asset": "DOT", "human": "0.0015 DOT"},
            id="in DOT, with a refund",
        ),
        pytest.param(
            [
                {"Balances": {"Withdraw": {"who": WHO, "amount": 1_690_000_000_000}}},
                *_SWAPPED,
                {"Balances": {"Deposit": {"who": b"\3" * 32, "amount": 1_690_000_000_000}}},
            ],
            1_690_000_000_000,
            None,
            id="in HDX",
        ),
        pytest.param([*_SWAPPED, *_deposits(5, 15000000)], None, None, id="not withdrawn"),
        pytest.param(
            [*_withdraws(5, 7), *_deposits(5, 8)], None, None, id="more given than withdrawn"
        ),
    ],
)
def test_the_currency_of_a_fee_is_read_from_what_was_withdrawn(
    found: list[Any], fee: int | None, paid: Any
) -> None:
    client: Any = _Block("hydraDx", [*found, _HDX_FEE, SUCCESS])

    inclusion = finish(read_inclusion(client, client.block, extrinsic_hash(b"\0"), assets=ASSETS))

    assert inclusion.fee == fee
    assert describe_inclusion(inclusion, REGISTRY.find("polkadot")).get("fee_paid_in") == paid
