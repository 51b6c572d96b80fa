"""The line that says what was understood when a scenario was created, and the title of a
scenario."""

from pathlib import Path

import pytest

from scenarioctl.actions.story import tell_scenario
from scenarioctl.model.diagram import read_diagram
from tests.conftest import BOB, BOB_HEX, Run
from tests.drawing import make_app

TRANSFER = (
    "create",
    "scenario",
    "--from",
    "polkadot",
    "--to",
    "assetHub",
    "--asset",
    "DOT",
    "--amount",
    "1.5",
)
WITHIN = ("create", "scenario", "--from", "assetHub", "--to", "assetHub")
SWAP = ("--offline", "create", "swap", "--assetin", "DOT", "--assetout", "HDX", "--amount", "2")


@pytest.mark.parametrize(
    ("line", "understood"),
    [
        (
            (*TRANSFER, "--destination-address", BOB),
            "1.5 DOT, Polkadot → Asset Hub, to 14E5nq…NcKVf3 (valid address)",
        ),
        (
            (*TRANSFER, "--destination-address", BOB_HEX),
            "1.5 DOT, Polkadot → Asset Hub, to 0x8eaf…f26a48 (no checksum in this address)",
        ),
        (
            (*WITHIN, "--asset", "1984", "--amount", "7", "--destination-address", BOB),
            "7 USDt (1984, Tether USD) on Polkadot Asset Hub, to 14E5nq…NcKVf3 (valid address)",
        ),
        (
            (*SWAP, "--min-amount-out", "900000000000000", "--route", "5>omnipool>0"),
            "2 DOT → at least 900 HDX on Hydration",
        ),
        (
            ("create", "remark", "--chain", "polkadot", "--text", "paid in full"),
            'remark "paid in full" on Polkadot',
        ),
        (
            ("create", "query", "--chain", "polkadot", "System", "Account", BOB),
            "query System.Account on Polkadot",
        ),
    ],
    ids=["address", "public key", "id", "swap", "remark", "query"],
)
def test_creating_says_what_was_understood(
    scenarioctl: Run, line: tuple[str, ...], understood: str
) -> None:
    ended = scenarioctl(*line)

    assert ended.code == 0
    assert ended.err.splitlines()[0] == f"Created {ended.out.strip()}: {understood}"


@pytest.mark.parametrize(
    ("action", "title"),
    [("xTransfer", "? · ?"), ("swap", "? → ? · ?"), ("Remark", "remark without text · ?")],
)
def test_a_title_says_that_a_chain_is_missing(tmp_path: Path, action: str, title: str) -> None:
    node = {"id": "a", "type": "action", "formData": {"action": action, "actionData": {}}}
    diagram = read_diagram({"nodes": [node], "edges": []})

    assert tell_scenario(make_app(tmp_path), diagram).title == title
