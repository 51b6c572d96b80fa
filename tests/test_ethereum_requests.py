"""Transfers to Ethereum as they are asked for: the largest amount, versions of XCM, scenarios."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.formats.diagram_builder import ACTION_BOX, DiagramBuilder
from tests.conftest import Run
from tests.network import FakeNetwork
from tests.test_check import ALICE, ALICE_KEY, account
from tests.test_ethereum_transfer import RECEIVER, Try, build, network

__all__ = ["build", "network"]


@pytest.mark.parametrize("version", [3, 4, 5])
def test_every_version_of_xcm_is_asked_for_and_built(build: Try, version: int) -> None:
    ended = build("--xcm-version", str(version))

    assert ended.code == 0
    assert "1.53 DOT" in ended.err


@pytest.mark.parametrize(("held", "sent"), [(5 * 10**10, "3.444"), (25 * 10**9, "0.944")])
def test_a_maximum_leaves_what_delivery_takes(
    network: FakeNetwork, scenarioctl: Run, held: int, sent: str
) -> None:
    """1.53 DOT for delivery, 0.016 for the transaction and 0.01 to stay alive, also where delivery
    is more than half."""
    network.chains["assetHub"].store("System", "Account", ALICE_KEY, value=account(held))

    ended = scenarioctl(
        *(
            "--config",
            str(network.config),
            "xcm",
            "asset-transfer",
            "--from",
            "assetHub",
            "--to",
            "ethereum",
        ),
        *("--asset", "DOT", "--amount", "max", "--sender", ALICE, "--destinationaddress", RECEIVER),
        *("--output-format", "call"),
    )

    assert ended.code == 0
    assert f"amount max is {sent} DOT, after 1.546 DOT for fees; 0.01 DOT stays" in ended.err


def test_two_transfers_in_a_scenario_each_say_what_delivery_takes(
    network: FakeNetwork, scenarioctl: Run, tmp_path: Path
) -> None:
    """Creating a scenario asks no chain; its drafts ask for all."""
    run = partial(
        scenarioctl, "--config", str(network.config), "--store", str(tmp_path / "store.db")
    )
    step = (
        "--from",
        "assetHub",
        "--to",
        "ethereum",
        "--asset",
        "DOT",
        "--destination-address",
        RECEIVER,
    )
    created = run("create", "scenario", *step, "--amount", "1")
    assert created.code == 0
    drafted = run("scenario", "full", created.out.strip())
    assert drafted.code == 0
    assert f"for delivery of 1 DOT to {RECEIVER} on Ethereum" in drafted.err
    file = tmp_path / "diagram.json"
    file.write_text(json.dumps(two_transfers("1", "2")))
    id = run("scenario", "import", str(file)).out.strip()

    ended = run("scenario", "batch", id)

    assert ended.code == 0
    for amount in ("1 DOT", "2 DOT"):
        assert f"for delivery of {amount} to {RECEIVER} on Ethereum" in ended.err
    checked = run("scenario", "batch", id, "--check", "--sender", ALICE)
    assert checked.code == 5 and not checked.out
    assert run("--offline", "scenario", "batch", id).code == 2


def two_transfers(*amounts: str) -> dict[str, Any]:
    """Return a diagram that sends DOT to Ethereum so often."""
    builder, last = DiagramBuilder(), ""
    for amount in amounts:
        source = {"chain": "assetHub", "assetId": "DOT", "amount": amount}
        sides = {"source": source, "target": {"chain": "ethereum", "address": RECEIVER}}
        box = builder.add(ACTION_BOX, {"action": "xTransfer", "actionData": sides})
        if last:
            builder.connect(last, box)
        last = box
    return builder.document()
