"""Receivers that nobody holds the key of are refused unless the caller confirms them, wherever a
transfer comes from."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.transactions.keyless_accounts import describe_keyless
from tests.conftest import BOB, BOB_HEX, Run
from tests.messages import Says, says
from tests.serving import Serving

TREASURY = "0x" + b"modlpy/trsry".ljust(32, b"\0").hex()
CONFIRM = "confirm it with --yes (yes) if you mean it"
ROUTE = ("--from", "polkadot", "--to", "assetHub", "--asset", "DOT")
STEP = {
    "type": "xTransfer",
    "source_chain": "polkadot",
    "dest_chain": "assetHub",
    "amount": "2",
    "assetid": "DOT",
    "destination_address": TREASURY,
}


def refusal(field: str, confirm: str = CONFIRM) -> Any:
    return Says([field, TREASURY, "py/trsry", confirm])


@pytest.mark.parametrize(
    ("account", "kind"),
    [
        (bytes(32), says("32", "00")),
        (b"\xff" * 32, says("account", "32")),
        (b"modlpy/trsry".ljust(32, b"\0"), says("account", "py/trsry")),
        # A pallet's second account: its number stands behind the name.
        (b"modlpy/nopls\x07".ljust(32, b"\0"), says("account", "py/nopls")),
        (b"para" + (2034).to_bytes(4, "little") + bytes(24), says("sovereign", "2034")),
        (b"sibl" + (1000).to_bytes(4, "little") + bytes(24), says("sovereign", "1000")),
        (b"Parent".ljust(32, b"\0"), says("sovereign", "account")),
        (b"\x12" * 19 + b"\x13" + bytes(12), says("Ethereum", "address")),
        (bytes(12) + b"\x12" * 19 + b"\x13", says("Ethereum", "address")),
        # A precompile, and where tokens are burnt.
        (bytes(19) + b"\x01", says("zeros")),
        (bytes(18) + b"\xde\xad", says("zeros")),
        (bytes(17) + b"\x01\xde\xad", ""),
        (bytes.fromhex(BOB_HEX[2:]), ""),
        # An account of Hydration that the key of an Ethereum address holds.
        (b"ETH\0" + b"\x12" * 20 + bytes(8), ""),
        # An account of Asset Hub that the key of an Ethereum address holds.
        (b"\x12" * 19 + b"\x13" + b"\xee" * 12, ""),
        (b"para" + b"\x12" * 28, ""),
    ],
)
def test_an_account_without_a_holder_is_known_by_its_bytes(account: bytes, kind: str) -> None:
    assert describe_keyless(account) == kind


@pytest.mark.parametrize(
    "line",
    [
        ("create", "scenario", *ROUTE, "--amount", "2", "--destination-address"),
        ("xcm", "asset-transfer", *ROUTE, "--amount", "20000000000raw", "--destinationaddress"),
        (
            "tx",
            "check",
            "--sender",
            BOB,
            *ROUTE,
            "--amount",
            "20000000000raw",
            "--destinationaddress",
        ),
    ],
    ids=["create", "xcm", "check"],
)
def test_a_command_refuses_it_until_it_is_confirmed(
    scenarioctl: Run, line: tuple[str, ...]
) -> None:
    refused = scenarioctl("--offline", *line, TREASURY)
    confirmed = scenarioctl("--offline", *line, TREASURY, "--yes")

    assert (refused.code, refused.out, refused.err) == (2, "", refusal("--to-address").printed)
    # A check asks the chains, which is as far as it comes offline.
    assert (confirmed.code, "nobody" in confirmed.err) == (5 if line[0] == "tx" else 0, False)


def test_a_scenario_keeps_the_confirmation_of_its_receiver_for_its_job(
    scenarioctl: Run, tmp_path: Path
) -> None:
    scenario = scenarioctl(
        "create", "scenario", *ROUTE, "--amount", "2", "--destination-address", TREASURY, "--yes"
    ).out.strip()
    run = scenarioctl("--offline", "job", "run", scenario, "--json")
    shared = json.loads(scenarioctl("scenario", "export", scenario, "--as", "json").out)
    data = next(node for node in shared["nodes"] if node["type"] == "action")["formData"][
        "actionData"
    ]
    data["target"]["address"] = "0x" + "00" * 32
    edited = tmp_path / "edited.json"
    edited.write_text(json.dumps(shared))
    other = scenarioctl("scenario", "import", str(edited)).out.strip()
    drafted = scenarioctl("--offline", "scenario", "full", other)

    assert run.code == 0
    assert data["confirmedReceiver"] == TREASURY
    # Another receiver than the one that was confirmed.
    assert drafted.code == 2
    assert "target.address '0x0000" in drafted.err


def test_a_stored_scenario_is_confirmed_for_one_answer(scenarioctl: Run, tmp_path: Path) -> None:
    made = scenarioctl(
        "create", "scenario", *ROUTE, "--amount", "2", "--destination-address", BOB
    ).out.strip()
    shared = json.loads(scenarioctl("scenario", "export", made, "--as", "json").out)
    document = tmp_path / "diagram.json"
    document.write_text(json.dumps(shared).replace(BOB, TREASURY))
    scenario = scenarioctl("scenario", "import", str(document)).out.strip()

    refused = scenarioctl("--offline", "scenario", "full", scenario)
    confirmed = scenarioctl("--offline", "scenario", "full", scenario, "--yes", "--field", "tx")
    run = scenarioctl("--offline", "job", "run", scenario)

    keeps = "create the scenario with --yes (yes) if you mean it"
    assert (refused.code, refused.err) == (2, refusal("target.address", keeps).printed)
    assert (confirmed.code, TREASURY[2:] in confirmed.out) == (0, True)
    assert run.code == 2
    # A run advises nothing that a job cannot do.
    assert f"target.address '{TREASURY}'" in run.err
    assert keeps not in run.err


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        (STEP, refusal("steps[0].destination_address")),
        (
            {**STEP, "destination_address": "{{ address }}", "yes": True},
            says("steps[0].yes", "steps[0].destination_address"),
        ),
        ({**STEP, "yes": 1}, says("steps[0].yes", "1")),
    ],
    ids=["not confirmed", "a placeholder", "no truth value"],
)
def test_a_flow_confirms_by_a_key(
    scenarioctl: Run, tmp_path: Path, step: dict[str, Any], sentence: Any
) -> None:
    flow = tmp_path / "flow.json"
    flow.write_text(json.dumps({"steps": [step]}))
    refused = scenarioctl("create", "flow", str(flow))
    flow.write_text(json.dumps({"steps": [{**STEP, "yes": True}]}))
    confirmed = scenarioctl("create", "flow", str(flow))

    assert (refused.code, refused.err) == (2, sentence.printed)
    assert confirmed.code == 0


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with Serving(tmp_path_factory.mktemp("served"), offline=True) as serving:
        yield serving
