"""What a signature covers besides the call: asked of a connected chain, judged where it is
given."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.operations.payload import TransactionPayload, transaction_payload
from scenarioctl.runtime.metadata_hash import has_digest
from scenarioctl.runtime.scale import encode_compact
from scenarioctl.runtime.storage_keys import storage_key
from scenarioctl.runtime.table import RuntimeTable
from scenarioctl.transactions.extrinsic import encode_era
from tests.blocks import block_hash, header_of
from tests.conftest import BOB, BOB_HEX, DATA, Run
from tests.messages import Says, says
from tests.node import Node
from tests.refusals import refused
from tests.runner import finish
from tests.runtimes import bundled, metadata_table
from tests.test_bad_input import EXITS, Line, payload

REMARK = "0x00071468656c6c6f"
GENESIS = "0x91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3"
#: Of the bundled runtime: `tools/golden/wallets.mjs` has it too.
DIGEST = "0xdb1612c205801adc246bfbc31745f577f0996b85e5fdd05e56d23aabc83c25f9"
KEY = storage_key(bundled("polkadot"), "System", "Account", (bytes.fromhex(BOB_HEX[2:]),)).hex

Ask = Callable[..., Any]


def hash_of(number: int) -> str:
    return GENESIS if number == 0 else block_hash(number)


def account(nonce: int) -> str:
    return "0x" + nonce.to_bytes(4, "little").hex() + "01000000" * 3 + "00" * 64


def chain_of(*, best: int, finalized: int, **changes: Any) -> dict[str, Any]:
    """Return the answers of a node of Polkadot at this height."""

    def header(block: str = "") -> Any:
        return header_of(block or block_hash(best))

    return {
        "chain_getBlockHash": lambda number: hash_of(number) if number <= best else None,
        "state_getRuntimeVersion": {"specName": "polkadot", "specVersion": 2000000},
        "chain_getFinalizedHead": hash_of(finalized),
        "chain_getHeader": header,
        "state_getStorage": lambda key: {KEY: account(7)}.get(key),
        **changes,
    }


@pytest.fixture
def ask(scenarioctl: Run, tmp_path: Path) -> Iterator[Ask]:
    """Run `tx payload` for Bob against a node with these answers."""

    def run(
        answers: dict[str, Any], *options: str, chain: str = "polkadot", **configured: Any
    ) -> Any:
        with Node(answers) as node:
            config = tmp_path / "config.toml"
            table = {"endpoints": [node.url], **configured}
            config.write_text(
                tomli_w.dumps({"chains": {chain: table}, "cache": str(tmp_path / "cache")})
            )
            ended = scenarioctl(
                *("--config", str(config), "tx", "payload", REMARK),
                *("--chain", chain, "--sender", BOB, *options, "--json"),
            )
        answer = json.loads(ended.out)
        asked.append(node.asked)
        return answer.get("signer_payload", (answer, ended.code))

    asked: list[list[str]] = []
    run.asked = asked  # type: ignore[attr-defined]
    yield run


def covered(signer: Any) -> dict[str, Any]:
    names = (
        *("nonce", "era", "blockNumber", "blockHash", "genesisHash", "mode", "metadataHash", "tip"),
    )
    return {name: signer[name] for name in names}


def test_all_that_is_not_given_is_asked_of_the_chain(ask: Ask) -> None:
    signer = ask(chain_of(best=1003, finalized=1000))

    assert covered(signer) == {
        "nonce": "0x00000007",
        "era": "0x" + encode_era(64, 1000).hex(),
        "blockNumber": "0x000003e8",
        "blockHash": hash_of(1000),
        "genesisHash": GENESIS,
        "mode": 1,
        "metadataHash": DIGEST,
        "tip": "0x" + "0" * 32,
    }
    # What opening asks, then two round trips.
    assert ask.asked == [  # type: ignore[attr-defined]
        [
            *("chain_getBlockHash", "state_getRuntimeVersion"),
            *("state_getStorage", "chain_getHeader", "chain_getFinalizedHead"),
            "chain_getHeader",
        ]
    ]


def test_an_account_that_the_chain_does_not_know_has_sent_nothing(ask: Ask) -> None:
    signer = ask(chain_of(best=5, finalized=5, state_getStorage=None))

    assert signer["nonce"] == "0x00000000"


def test_what_is_given_is_taken(ask: Ask) -> None:
    options = (
        *("--nonce", "9", "--era", "128", "--block", "500", "--tip", "3", "--metadata-hash", "off"),
    )

    signer = ask(chain_of(best=627, finalized=620), *options)

    assert covered(signer) == {
        "nonce": "0x00000009",
        "era": "0x" + encode_era(128, 500).hex(),
        "blockNumber": "0x000001f4",
        "blockHash": hash_of(500),
        "genesisHash": GENESIS,
        "mode": 0,
        "metadataHash": None,
        "tip": f"0x{3:032x}",
    }


def test_an_immortal_era_starts_at_the_genesis_block_of_a_connected_chain_too(ask: Ask) -> None:
    signer = ask(chain_of(best=1003, finalized=1000), "--era", "immortal")

    assert (signer["era"], signer["blockNumber"], signer["blockHash"]) == (
        "0x00",
        "0x00000000",
        GENESIS,
    )


def test_where_finality_is_far_behind_an_era_starts_from_the_best_block(ask: Ask) -> None:
    near = ask(chain_of(best=1032, finalized=1000))
    far = ask(chain_of(best=1033, finalized=1000))

    assert (near["blockNumber"], near["blockHash"]) == ("0x000003e8", hash_of(1000))
    assert (far["blockNumber"], far["blockHash"]) == ("0x00000409", hash_of(1033))
    assert far["era"] == "0x" + encode_era(64, 1033).hex()


def test_the_block_of_a_long_era_is_the_one_that_it_can_name(ask: Ask) -> None:
    # An era of 65536 blocks counts in steps of 16.
    signer = ask(chain_of(best=100009, finalized=100009), "--era", "65536")

    assert (signer["blockNumber"], signer["blockHash"]) == (f"0x{100000:08x}", hash_of(100000))


def test_an_era_in_hex_starts_from_its_last_turn(ask: Ask) -> None:
    # Period 64, phase 36.
    signer = ask(chain_of(best=1000, finalized=1000), "--era", "0x4502")

    assert (signer["era"], signer["blockNumber"], signer["blockHash"]) == (
        "0x4502",
        "0x000003e4",
        hash_of(996),
    )


def test_a_block_hash_that_is_the_chains_is_taken(ask: Ask) -> None:
    options = ("--era", "64", "--block", "500", "--block-hash", hash_of(500))

    assert ask(chain_of(best=510, finalized=510), *options)["blockHash"] == hash_of(500)


def test_a_genesis_hash_that_is_not_in_the_registry_is_asked_for(ask: Ask) -> None:
    version = {"specName": "polkadot", "specVersion": 1006000}
    answers = chain_of(best=1000, finalized=1000, state_getRuntimeVersion=version)
    answers["state_call"] = lambda _, wanted: (
        opaque_metadata() if wanted == "0x0f000000" else "0x00"
    )

    signer = ask(answers, chain="mine", role="parachain", symbol="DOT", decimals=10)

    assert signer["genesisHash"] == GENESIS
    assert (
        signer["metadataHash"]
        == "0x705b5a5ebe3dbf785a8602430f7d72cb0cd72b021e64d64b40e0bb75af43e1f2"
    )


def opaque_metadata() -> str:
    metadata = (DATA / "metadata" / "polkadot-1006000.v15.scale").read_bytes()
    return "0x01" + (encode_compact(len(metadata)) + metadata).hex()


def test_metadata_that_tells_no_digest_leaves_it_off_unless_it_is_asked_for(ask: Ask) -> None:
    metadata = "0x" + (DATA / "metadata" / "polkadot-1002005.v14.scale").read_bytes().hex()
    version = {"specName": "polkadot", "specVersion": 1002005}
    answers = chain_of(
        best=1000,
        finalized=1000,
        state_getRuntimeVersion=version,
        state_call="0x00",
        state_getMetadata=metadata,
    )

    signer = ask(answers)

    assert (signer["mode"], signer["metadataHash"]) == (0, None)
    assert ask(answers, "--metadata-hash", "auto") == (
        {
            "error": says("metadata_hash", "1002005", "14"),
            "code": "invalid_request",
            "field": "metadata_hash",
            "value": "auto",
            "expected": "15 or newer",
        },
        2,
    )


#: What the node answers, what is given, and what is said.
REFUSED: dict[str, tuple[dict[str, Any], Line, Says]] = {
    "the genesis of another chain": (
        {},
        ("--genesis", "0x" + "11" * 32),
        says("genesis", "0x" + "11" * 32),
    ),
    "a block that is yet to come": ({}, ("--block", "1001"), says("block", "1001")),
    "the hash of another block": (
        {},
        ("--block", "950", "--block-hash", hash_of(951)),
        says("block_hash", "950", hash_of=hash_of(951)),
    ),
    "an era that is over": (
        {},
        ("--era", "128", "--block", "872"),
        says("block", "872", "128", "1000"),
    ),
    "an era from a block that is forgotten": (
        {"chain_getHeader": {"number": hex(100_000)}},
        ("--era", "65536", "--block", "95904"),
        says("block", "95904", "65536", "100000"),
    ),
    "a node without a head": ({"chain_getHeader": None}, (), says("Polkadot", "gave")),
    "a head without a hash": (
        {"chain_getFinalizedHead": "0x1234", "chain_getHeader": {"number": "0x3e8"}},
        (),
        says("Polkadot", "0x1234"),
    ),
}


@pytest.mark.parametrize(("changes", "options", "error"), REFUSED.values(), ids=REFUSED)
def test_what_the_chain_contradicts_is_refused(
    ask: Ask, changes: dict[str, Any], options: Line, error: Says
) -> None:
    code = "invalid_request" if options else "chain_unreachable"

    answer = ask(chain_of(best=1000, finalized=1000, **changes), *options)

    said, exit_code = answer
    assert (refused(said), exit_code) == ({"error": error, "code": code}, EXITS[code])


def test_the_digest_of_a_runtime_at_hand_needs_no_chain(scenarioctl: Run) -> None:
    answer = json.loads(scenarioctl(*payload(metadata_hash="auto")).out)

    assert answer["signer_payload"]["metadataHash"] == DIGEST
    assert answer["signer_payload"]["mode"] == 1
    assert answer["parts"]["extra"]["CheckMetadataHash"] == "0x01"
    assert answer["parts"]["additional"]["CheckMetadataHash"] == "0x01" + DIGEST[2:]


@pytest.mark.parametrize("said", [None, "off"])
def test_offline_a_signature_commits_to_no_metadata_unless_it_is_asked_for(
    scenarioctl: Run, said: str | None
) -> None:
    answer = json.loads(scenarioctl(*payload(metadata_hash=said)).out)

    assert (answer["signer_payload"]["mode"], answer["signer_payload"]["metadataHash"]) == (0, None)


def test_a_runtime_without_the_extension_signs_no_digest() -> None:
    table = metadata_table("polkadot-1006000.v15.scale")
    extrinsic = {**table._header["extrinsic"], "extensions": []}

    without = RuntimeTable({**table._header, "extrinsic": extrinsic}, table.types, [], [])

    assert (has_digest(table), has_digest(without)) == (True, False)


IMMORTAL_WARNING = (
    "the signature is immortal: anyone who has it can send it at any time, and again if "
    "the account is ever "
    "emptied and used again; for one that expires, pass era, or offline block and block_hash"
)
OFFLINE = (
    *("--offline", "tx", "payload", REMARK, "--chain", "polkadot", "--sender", BOB, "--nonce", "7"),
)


def test_an_immortal_payload_is_never_made_in_silence(scenarioctl: Run) -> None:
    chosen = scenarioctl(*OFFLINE, "--era", "immortal")
    warned = scenarioctl(*OFFLINE)

    assert warned.err.count(IMMORTAL_WARNING) == 1
    assert (chosen.out, chosen.err) == (warned.out, warned.err)


@pytest.mark.parametrize(("nonce", "words"), [(6, ("6", "7")), (7, None), (9, ("9", "7"))])
def test_a_nonce_that_is_not_the_next_one_is_a_warning(
    tmp_path: Path, nonce: int, words: tuple[str, ...] | None
) -> None:
    with Node(chain_of(best=1003, finalized=1000)) as node:
        config = tmp_path / "config.toml"
        chains = {"polkadot": {"endpoints": [node.url]}}
        config.write_text(tomli_w.dumps({"chains": chains, "cache": str(tmp_path / "cache")}))
        app = Application(load_settings({"config": str(config)}, {}))
        request = TransactionPayload(tx=REMARK, chain="polkadot", sender=BOB, nonce=nonce, tip=1)
        result = finish(transaction_payload(app, request))
        finish(app.close())

    tip, *others = result.warnings
    assert tip == says("tip", "0.0000000001 DOT")
    assert others == ([] if words is None else [says("nonce", *words)])


def test_a_block_and_its_hash_make_an_offline_payload_mortal(scenarioctl: Run) -> None:
    block = ("--block", "500", "--block-hash", hash_of(500))

    mortal, asked = scenarioctl(*OFFLINE, *block), scenarioctl(*OFFLINE, *block, "--era", "64")

    assert mortal.out == asked.out
    assert mortal.code == 0
    assert IMMORTAL_WARNING not in mortal.err
