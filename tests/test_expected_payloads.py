"""A wallet that signs something else than it was given: the difference is named, and nothing is
assembled or sent."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.chains.registry import Registry
from scenarioctl.config import Settings
from scenarioctl.errors import InvalidRequest
from scenarioctl.operations.signed_transactions import require_expected
from scenarioctl.transactions.signing.signatures import encode_signed_extrinsic
from tests.conftest import Run
from tests.lying_wallets import ASSET_HUB, BLOCK_HASH, BOB, CALL, LIES, UNSEEN, lies, pays, sign
from tests.messages import says
from tests.node import Node
from tests.serving import Serving
from tests.signing import (
    ALITH,
    ALITH_KEY,
    dev_key,
    ecdsa_signature,
    ed25519_key,
    ethereum_signature,
)
from tests.test_broadcast import TABLE, answers, hash_of_block, sent
from tests.test_ethereum_accounts import MYTHOS, table_with_ethereum_accounts, to_sign

ALICE = "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5"
CHAIN = Registry().find("assetHub")
#: A lie -> the words that name it.
WORDS = {
    "call": ("500 DOT", "1 DOT"),
    "receiver": ("14Gjs1TD93gnwEBfDMHoCgsuf1s2TVKUP6Z1qKmAZnZ8cW5q", BOB),
    "signer": (BOB, ALICE),
    "nonce": ("nonce", "9", "5"),
    "era": ("era", "immortal", "64"),
    "tip": ("tip", "1000 DOT", "0 DOT"),
    "metadata hash": ("metadata hash",),
    "nonce and tip": ("nonce", "9", "5", "tip", "1 DOT", "0 DOT"),
    "fee asset": ("fee asset", "USDt", "DOT"),
}


def words_of(lie: str) -> Any:
    return says("doesn't match the payload", *WORDS[lie])


@pytest.fixture
def asked(scenarioctl: Run) -> dict[str, Any]:
    """Return the answer of tx payload that a wallet is given."""
    made = scenarioctl(
        "--offline", "--json", "tx", "payload", CALL, "--chain", "assetHub", "--sender", ALICE,
            "--nonce", "5",
        "--block", "100", "--block-hash", BLOCK_HASH, "--metadata-hash", "auto",
    )  # fmt: skip
    return dict(json.loads(made.out))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with Serving(tmp_path_factory.mktemp("served"), offline=True) as serving:
        yield serving


def test_what_a_wallet_wrote_itself_is_taken_if_it_is_the_payload(
    scenarioctl: Run, asked: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "payload.json").write_text(json.dumps(asked))
    _, whole = sign(asked["signer_payload"], ASSET_HUB, CHAIN)
    (tmp_path / "signed").write_text(whole + "\n")

    ended = scenarioctl(
        "--offline", "tx", "assemble", "--payload", str(tmp_path / "payload.json"),
        "--signed-transaction", "-", stdin=tmp_path / "signed",
    )  # fmt: skip

    assert (ended.out, ended.err, ended.code) == (f"{whole}\n", "", 0)


@pytest.mark.parametrize("lie", LIES)
def test_what_a_wallet_wrote_otherwise_is_named_on_the_command_line(
    scenarioctl: Run, asked: dict[str, Any], tmp_path: Path, lie: str
) -> None:
    (tmp_path / "payload.json").write_text(json.dumps(asked))
    _, whole = sign({**asked["signer_payload"], **LIES[lie]}, ASSET_HUB, CHAIN)

    ended = scenarioctl(
        "--offline",
        "tx",
        "assemble",
        "--payload",
        str(tmp_path / "payload.json"),
        "--signed-transaction",
        whole,
    )

    assert (ended.out, ended.said, ended.code) == ("", words_of(lie), 2)


@pytest.mark.parametrize("lie", UNSEEN)
def test_what_only_the_signature_tells_is_refused(
    served: Serving, asked: dict[str, Any], lie: str
) -> None:
    signature, whole = sign({**asked["signer_payload"], **UNSEEN[lie]}, ASSET_HUB, CHAIN)

    for given in ({"signature": signature}, {"signed_transaction": whole}):
        reply = served.post("/api/tx/assemble", {"payload": asked, **given})

        assert reply.status == 422
        assert "tx" not in reply.json()


@pytest.mark.parametrize("form", ["signature", "signed_transaction"])
def test_the_signature_of_another_account_is_refused(
    served: Serving, asked: dict[str, Any], form: str
) -> None:
    signature, whole = sign(asked["signer_payload"], ASSET_HUB, CHAIN, uri="//Bob")
    given = signature if form == "signature" else whole

    reply = served.post("/api/tx/assemble", {"payload": asked, form: given})

    assert reply.status == 422
    shown = signature if form == "signature" else f"0x{signature[4:]}"
    assert reply.json()["error"] == says("signature", ALICE, signature=f"{shown[:59]}…")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, ("signature", "signed_transaction")),
        ({"signature": "0x00", "signed_transaction": "0x00"}, ("signature", "signed_transaction")),
        ({"signed_transaction": "0x00", "scheme": "ed25519"}, ("scheme", "ed25519")),
        ({"signed_transaction": "hello"}, ("signed_transaction", "hello")),
        ({"signed_transaction": "0x140400071468656c"}, ("signed_transaction", "assetHub")),
    ],
)
def test_fields_that_do_not_belong_together_are_refused(
    served: Serving, asked: dict[str, Any], given: dict[str, str], words: tuple[str, ...]
) -> None:
    reply = served.post("/api/tx/assemble", {"payload": asked, **given})

    assert (reply.status, reply.json()["error"]) == (422, says(*words))


# Every kind of signature


def signed_by(kind: str, message: bytes) -> tuple[bytes, bytes]:
    """Return an account and its signature of *message*."""
    if kind == "sr25519":
        return dev_key().public_key, dev_key().sign(message)
    if kind == "ed25519":
        return ed25519_key().public_key, ed25519_key().sign(message)
    return (
        ecdsa_signature(message)
        if kind == "ecdsa"
        else (ALITH, ethereum_signature(ALITH_KEY, message))
    )


@pytest.mark.parametrize("kind", ["sr25519", "ed25519", "ecdsa", "ethereum"])
@pytest.mark.parametrize("is_right", [True, False])
def test_the_signature_of_a_whole_transaction_is_verified(
    tmp_path: Path, kind: str, is_right: bool
) -> None:
    table, chain = (
        (table_with_ethereum_accounts(), MYTHOS)
        if kind == "ethereum"
        else (TABLE, Registry().find("polkadot"))
    )
    wanted = to_sign(table)
    account, signature = signed_by(kind, wanted.payload if is_right else wanted.payload + b"!")
    wanted = replace(wanted, account=account)
    data = encode_signed_extrinsic(
        table, wanted.call_data, wanted.extra, account=account, scheme=kind, signature=signature
    )

    app = Application(Settings(config=tmp_path / "config.toml", store="", cache=tmp_path))
    if is_right:
        assert require_expected(app, chain, table, data, wanted, field="tx") == kind
        return
    with pytest.raises(InvalidRequest, match="tx doesn't match the payload"):
        require_expected(app, chain, table, data, wanted, field="tx")


# Broadcast


POLKADOT_LIES = lies(TABLE, Registry().find("polkadot").genesis)


@pytest.fixture
def payload(scenarioctl: Run) -> dict[str, Any]:
    """Return what a wallet is given for a transaction that the node of `test_broadcast` takes."""
    made = scenarioctl(
        "--offline", "--json", "tx", "payload", pays(TABLE, 1, BOB), "--chain", "polkadot",
            "--sender", ALICE,
        "--nonce", "5", "--block", "960", "--block-hash", hash_of_block(960), "--metadata-hash",
            "auto",
    )  # fmt: skip
    return dict(json.loads(made.out))


@pytest.mark.parametrize("form", ["answer of tx payload", "SignerPayloadJSON"])
def test_what_was_expected_is_sent(
    scenarioctl: Run, payload: dict[str, Any], tmp_path: Path, form: str
) -> None:
    given = payload if form == "answer of tx payload" else payload["signer_payload"]
    (tmp_path / "payload.json").write_text(json.dumps(given))
    _, whole = sign(payload["signer_payload"], TABLE, Registry().find("polkadot"))
    with Node(answers()) as node:
        (tmp_path / "config.toml").write_text(f'[chains.polkadot]\nendpoints = ["{node.url}"]\n')
        ended = scenarioctl(
            "--config", str(tmp_path / "config.toml"), "broadcast", "polkadot", whole, "--expect",
                "-",
            stdin=tmp_path / "payload.json",
        )  # fmt: skip

        assert (ended.code, sent(node)) == (0, 1)


@pytest.mark.parametrize("lie", POLKADOT_LIES)
def test_what_was_not_expected_is_not_sent(
    scenarioctl: Run, payload: dict[str, Any], tmp_path: Path, lie: str
) -> None:
    (tmp_path / "payload.json").write_text(json.dumps(payload))
    _, whole = sign(
        {**payload["signer_payload"], **POLKADOT_LIES[lie]}, TABLE, Registry().find("polkadot")
    )
    with Node(answers()) as node:
        (tmp_path / "config.toml").write_text(f'[chains.polkadot]\nendpoints = ["{node.url}"]\n')
        ended = scenarioctl(
            "--config", str(tmp_path / "config.toml"), "broadcast", "polkadot", whole,
            "--expect", str(tmp_path / "payload.json"),
        )  # fmt: skip

        assert (ended.said, ended.code, sent(node)) == (words_of(lie), 2, 0)
