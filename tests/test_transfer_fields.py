"""Fields of a transfer that every edge takes alike: the version of XCM, an asset by number, chains
of config.toml."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from tests.conftest import BOB, Run
from tests.messages import says
from tests.serving import Serving

BUILT = {
    "sourchain": "polkadot",
    "destchain": "assetHub",
    "assetid": "DOT",
    "amount": "20000000000",
    "destinationaddress": BOB,
}
STORED = {
    "source_chain": "assetHub",
    "dest_chain": "polkadot",
    "assetid": 0,
    "amount": 2,
    "destination_address": BOB,
}
NATIVE = "assetid 0 is DOT, the chain's native asset"
#: A versioned location as the destination of `limited_teleport_assets` begins.
VERSION_BYTES = {3: "6309030001", 4: "6309040001", 5: "6309050001"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with Serving(tmp_path_factory.mktemp("served"), offline=True) as serving:
        yield serving


def options(fields: dict[str, Any]) -> list[str]:
    return [f"--{name.replace('_', '-')}={value}" for name, value in fields.items()]


@pytest.mark.parametrize("version", [3, 4, 5])
def test_a_version_of_xcm_is_written_from_every_edge(
    scenarioctl: Run, served: Serving, tmp_path: Path, version: int
) -> None:
    flow = tmp_path / "flow.json"
    step = {**STORED, "source_chain": "polkadot", "dest_chain": "assetHub", "xcm_version": version}
    flow.write_text(json.dumps({"steps": [{"type": "xTransfer", **step}]}))

    built = scenarioctl(
        "--offline", "xcm", "asset-transfer", *options(BUILT), "--xcm-version", str(version)
    )
    created = [
        scenarioctl("create", "scenario", *options(step)),
        scenarioctl("create", "flow", str(flow)),
    ]
    answers = [
        built.out,
        *(
            scenarioctl("--offline", "scenario", "full", each.out.strip(), "--field", "tx").out
            for each in created
        ),
        served.post("/api/xcm/asset-transfer", {**BUILT, "xcm_version": version}).json()["txdata"]
        + "\n",
        served.post("/api/xcm/asset-transfer", {**BUILT, "xcm_version": str(version)}).json()[
            "txdata"
        ]
        + "\n",
    ]

    assert len(set(answers)) == 1
    assert VERSION_BYTES[version] in built.out


def test_a_transfer_in_whole_tokens_is_the_one_of_its_raw_amount_and_is_not_stored(
    scenarioctl: Run, served: Serving
) -> None:
    tokens = {**STORED, "source_chain": "polkadot", "dest_chain": "assetHub", "assetid": "DOT"}
    raw = scenarioctl("--offline", "xcm", "asset-transfer", *options(BUILT)).out
    said = "teleports 2 DOT from Polkadot to Polkadot Asset Hub for " + BOB

    for amount in ("2", "2 DOT", "20000000000raw", "20 000 000 000 raw"):
        built = scenarioctl("--offline", "tx", "transfer", *options({**tokens, "amount": amount}))
        assert (built.out, built.code) == (raw, 0)
        assert built.err == f"amount {amount} = 2 DOT (20000000000 raw)\nWhat it does: {said}\n"
    answer = served.post("/api/tx/transfer", tokens).json()
    assert (answer["tx"] + "\n", answer["says"]) == (raw, said)
    assert scenarioctl("scenario", "list").out == ""


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"source_chain": "nowhere"}, ("source_chain", "nowhere")),
        ({"dest_chain": "nowhere"}, ("dest_chain", "nowhere")),
        ({"destination_address": "nobody"}, ("destination_address", "nobody")),
        ({"amount": "1,500"}, ("amount", "1500 or 1.5")),
        ({"amount": "max"}, ("sender", "balance")),
        ({"assetid": 87654321, "amount": 2}, ("amount", "87654321", "15000000000raw")),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_transfer_in_whole_tokens_is_refused_by_its_own_names(
    served: Serving, fields: dict[str, Any], words: tuple[str, ...]
) -> None:
    answer = served.post("/api/tx/transfer", {**STORED, **fields})

    assert (answer.status, answer.json()["error"]) == (422, says(*words))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"xcm_version": 2}, ("xcm_version", "2", "3, 4 or 5")),
        ({"xcm_version": 5, "destchain": "polkadot"}, ("xcm_version", "5", "polkadot")),
    ],
    ids=["old", "within a chain"],
)
def test_a_version_that_cannot_be_written_is_refused(
    served: Serving, fields: dict[str, Any], words: tuple[str, ...]
) -> None:
    answer = served.post("/api/xcm/asset-transfer", {**BUILT, **fields})

    assert (answer.status, answer.json()["error"]) == (422, says(*words))


def test_a_native_asset_has_a_number_on_every_chain_and_answers_say_it(served: Serving) -> None:
    created = served.post("/api/create/scenario", STORED)
    scenario = created.json()["result"]
    named = served.post("/api/create/scenario", {**STORED, "assetid": "DOT"}).json()["result"]
    full = served.post("/api/scenario/info/full", {"id": scenario}).json()["result"]
    sent = {**BUILT, "sourchain": "assetHub", "destchain": "polkadot", "assetid": 0}
    built = served.post("/api/xcm/asset-transfer", sent)

    assert json.loads(unquote(created.headers["scenarioctl-notes"]))[1:] == [NATIVE]
    assert json.loads(unquote(built.headers["scenarioctl-notes"]))[1:] == [NATIVE]
    assert built.json()["txdata"] == full["tx"]
    assert served.post("/api/scenario/info/full", {"id": named}).json()["result"] == full
    assert full["asset"] == "0"


def test_an_asset_0_of_its_own_stays_that_asset(scenarioctl: Run) -> None:
    """On the Asset Hub of Kusama, 0 is somebody's token."""
    ends = {
        "sourchain": "assetHub_kusama",
        "destchain": "assetHub_kusama",
        "destinationaddress": BOB,
        "amount": "5000000000",
    }
    token = scenarioctl("--offline", "xcm", "asset-transfer", *options(ends), "--assetid", "0")
    native = scenarioctl("--offline", "xcm", "asset-transfer", *options(ends), "--assetid", "KSM")
    stored = {
        "source_chain": "assetHub_kusama",
        "dest_chain": "kusama",
        "destination_address": BOB,
        "amount": 2,
    }
    scenario = scenarioctl("create", "scenario", *options(stored), "--assetid", "KSM").out.strip()
    full = scenarioctl("--offline", "scenario", "full", scenario, "--field", "asset")

    assert token.code == native.code == 0
    assert token.out != native.out
    assert full.out == "KSM\n"


def test_a_receiver_has_the_account_format_of_its_chain(scenarioctl: Run, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(
        '[chains.keys]\nrole = "dex"\nrelay = "polkadot"\npara_id = 3333\nspec_name = '
        '"hydradx"\nsymbol = "KEY"\ndecimals = 18\naccount_bytes = 20\n'
    )
    account = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
    line = (
        *("--config", str(config), "--offline", "xcm", "asset-transfer", "--sourchain", "assetHub"),
        *("--destchain", "keys", "--assetid", "1984", "--amount", "5000000"),
    )

    sent = scenarioctl(*line, "--destinationaddress", account)
    mistyped = scenarioctl(*line, "--destinationaddress", account.replace("aA", "aa"))
    long = scenarioctl(*line, "--destinationaddress", BOB)

    assert sent.code == 0
    # DepositAsset's beneficiary: no parents, X1 of AccountKey20 without a network.
    assert f"00010300{account[2:].lower()}" in sent.out
    assert (mistyped.code, long.code) == (2, 2)
    assert mistyped.err == says("--to-address", "checksum")
    assert long.err == says("--to-address", BOB, "20 bytes")
