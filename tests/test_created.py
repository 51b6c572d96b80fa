"""The line that says what was understood when a scenario was created, and the title of a
scenario."""

import json
from pathlib import Path

import pytest

from scenarioctl.actions.story import tell_scenario
from scenarioctl.model.diagram import read_diagram
from tests.conftest import BOB, BOB_HEX, Run
from tests.drawing import make_app
from tests.messages import says

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
            (*TRANSFER, "--to", "assetHub", "--destination-address", BOB, "--offline"),
            "1.5 DOT, Polkadot → Asset Hub, to 14E5nq…NcKVf3 (valid address)",
        ),
        (
            (
                *(
                    "create",
                    "scenario",
                    "--from",
                    "assetHub",
                    "--to",
                    "assetHub",
                    "--asset",
                    "1984",
                ),
                *("--amount", "7", "--destination-address", BOB),
            ),
            "7 USDt (1984, Tether USD) on Polkadot Asset Hub, to 14E5nq…NcKVf3 (valid address)",
        ),
        (
            (
                *("create", "scenario", "--from", "assetHub", "--to", "assetHub", "--asset", "ksm"),
                *("--amount", "7", "--destination-address", BOB),
            ),
            "7 KSM (KSM of Kusama) on Polkadot Asset Hub, to 14E5nq…NcKVf3 (valid address)",
        ),
        (
            (
                *(
                    "--offline",
                    "create",
                    "swap",
                    "--assetin",
                    "USDT",
                    "--assetout",
                    "USDC",
                    "--amount",
                    "5",
                ),
                *("--min-received", "4"),
            ),
            (
                "5 USDT (10, Tether USD of Asset Hub) → at least 4 USDC (22, USD Coin of Asset "
                "Hub) on Hydration"
            ),
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
    ids=[
        "address",
        "public key",
        "offline",
        "id",
        "symbol",
        "swap",
        "swap of symbols",
        "remark",
        "query",
    ],
)
def test_creating_says_what_was_understood(
    scenarioctl: Run, line: tuple[str, ...], understood: str
) -> None:
    ended = scenarioctl(*line)

    assert ended.code == 0
    assert ended.err.splitlines()[0] == f"Created {ended.out.strip()}: {understood}"


def test_a_look_alike_is_marked(tmp_path: Path) -> None:
    app = make_app(tmp_path)
    target = {"chain": "hydraDx", "assetId": None, "address": BOB}
    source = {"chain": "assetHub", "assetId": 50000534, "amount": "1", "symbol": "DOT"}
    form = {
        "action": "xTransfer",
        "actionData": {"actionType": "xTransfer", "source": source, "target": target},
    }
    diagram = read_diagram(
        {"nodes": [{"id": "a", "type": "action", "formData": form}], "edges": []}
    )

    story = tell_scenario(app, diagram)

    assert story.title == says("DOT", "50000534", "Asset Hub", "Hydration")


@pytest.mark.parametrize(
    ("action", "title"),
    [("xTransfer", "? · ?"), ("swap", "? → ? · ?"), ("Remark", "remark without text · ?")],
)
def test_a_title_says_that_a_chain_is_missing(tmp_path: Path, action: str, title: str) -> None:
    node = {"id": "a", "type": "action", "formData": {"action": action, "actionData": {}}}
    diagram = read_diagram({"nodes": [node], "edges": []})

    assert tell_scenario(make_app(tmp_path), diagram).title == title


def test_a_transfer_whose_cost_only_a_connection_tells_is_kept(scenarioctl: Run) -> None:
    line = (
        "create",
        "scenario",
        "--from",
        "assetHub",
        "--to",
        "assetHub_kusama",
        "--asset",
        "1/Here",
        "--amount",
        "5",
    )
    made = scenarioctl("--offline", *line, "--destination-address", BOB)

    assert made.code == 0
    created, undrafted = made.err.splitlines()
    assert created.startswith(f"Created {made.out.strip()}: 5 DOT, Polkadot Asset Hub → ")
    assert undrafted == says("not drafted yet", "assetHub_kusama", "DOT")
    assert scenarioctl("--offline", "info", made.out.strip()).code == 0
    drafted = scenarioctl("--offline", "scenario", "full", made.out.strip())
    assert (drafted.code, drafted.out) == (2, "")
    assert drafted.err.strip().removeprefix("Error: ") == says("only a connection")
    shown = scenarioctl("scenario", "show", made.out.strip(), "--field", "problems")
    assert json.loads(shown.out) == []
    pictured = scenarioctl("scenario", "preview", made.out.strip(), "--format", "svg")
    assert pictured.code == 0 and "! " not in pictured.out
