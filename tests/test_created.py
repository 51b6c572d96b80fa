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
#: An account that nobody is known to hold, with its checksum.
ON_ETHEREUM = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"


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


@pytest.mark.parametrize(
    ("to", "asset", "receiver", "words"),
    [
        (
            "ethereum",
            "1/Here",
            ON_ETHEREUM,
            ("not drafted yet", "assetHub", "delivery to Ethereum"),
        ),
        ("assetHub_kusama", "1/Here", BOB, ("not drafted yet", "assetHub_kusama", "DOT")),
    ],
)
def test_a_transfer_whose_cost_only_a_connection_tells_is_kept(
    scenarioctl: Run, to: str, asset: str, receiver: str, words: tuple[str, ...]
) -> None:
    line = (
        "create",
        "scenario",
        "--from",
        "assetHub",
        "--to",
        to,
        "--asset",
        asset,
        "--amount",
        "5",
    )
    made = scenarioctl("--offline", *line, "--destination-address", receiver)

    assert made.code == 0
    created, undrafted = made.err.splitlines()
    assert created.startswith(f"Created {made.out.strip()}: 5 DOT, Polkadot Asset Hub → ")
    assert undrafted == says(*words)
    assert scenarioctl("--offline", "info", made.out.strip()).code == 0
    drafted = scenarioctl("--offline", "scenario", "full", made.out.strip())
    assert (drafted.code, drafted.out) == (2, "")
    assert drafted.err.strip().removeprefix("Error: ") == says("only a connection")
    shown = scenarioctl("scenario", "show", made.out.strip(), "--field", "problems")
    assert json.loads(shown.out) == []
    pictured = scenarioctl("scenario", "preview", made.out.strip())
    assert pictured.code == 0 and "! " not in pictured.out


@pytest.mark.parametrize(
    ("source", "asset", "receiver", "words"),
    [
        # What doesn't go on becomes the sender's, whom no scenario names.
        ("hydraDx", "AAVE", ON_ETHEREUM, ("AAVE", "hydraDx", "tx transfer")),
        ("hydraDx", "DOT", ON_ETHEREUM, ("DOT", "hydraDx", "assetHub")),
        (
            "assetHub",
            "1/Here",
            "0x27ca963c279c93801941e1eb8799c23f407d68e7",
            ("beneficiary", "Snowbridge"),
        ),
    ],
)
def test_a_transfer_that_no_connection_opens_is_not_kept(
    scenarioctl: Run, source: str, asset: str, receiver: str, words: tuple[str, ...]
) -> None:
    line = (
        "create",
        "scenario",
        "--from",
        source,
        "--to",
        "ethereum",
        "--asset",
        asset,
        "--amount",
        "5",
    )
    refused = scenarioctl("--offline", *line, "--destination-address", receiver)

    assert (refused.code, refused.out) == (2, "")
    assert refused.err.strip().removeprefix("Error: ") == says(*words)
