"""Assets that bear the symbol of another: no sentence, card or amount takes one for the other."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import scenarioctl
from scenarioctl.actions.story import tell_step
from scenarioctl.application import Application
from scenarioctl.chains.assets import Asset
from scenarioctl.chains.locations import read_location
from scenarioctl.chains.registry import Chain
from scenarioctl.model.calls import Call
from scenarioctl.model.diagram import Diagram, read_diagram
from scenarioctl.render.picture import read_picture
from scenarioctl.render.svg import write_svg
from scenarioctl.transactions.explain import describe_call
from scenarioctl.transactions.simulation.runtime_api import amount_of
from scenarioctl.transactions.wording.calls import tell_call
from tests.drawing import make_app
from tests.runtimes import ASSETS, BOB, BOB_ADDRESS, REGISTRY, bundled

CHAINS = ("assetHub", "hydraDx", "assetHub_kusama")
PACKAGE = Path(scenarioctl.__file__).parent
#: Where a symbol is written into a diagram, which is data, or read from one.
DATA = (
    *("actions/chain.py", "actions/condition.py", "actions/transfer.py", "actions/swap.py"),
    *("actions/story.py", "chains/assets.py"),
    # Answers with the id beside the symbol, and whether it is canonical.
    "operations/assets.py",
    "operations/chains.py",
)


@pytest.fixture
def app(tmp_path: Path) -> Application:
    return make_app(tmp_path)


def families(chain: Chain) -> Iterator[tuple[Asset, ...]]:
    """Give the assets of *chain* that share a symbol and their decimals, and so could read
    alike."""
    found: dict[tuple[str, int | None], list[Asset]] = {}
    for asset in ASSETS.all(chain):
        found.setdefault((asset.symbol.casefold(), asset.decimals), []).append(asset)
    return (tuple(family) for family in found.values() if len(family) > 1)


def transfer_of(chain: Chain, asset: Asset) -> Call:
    if asset.kind == "native":
        return Call(
            pallet="Balances",
            method="transfer_keep_alive",
            args={"dest": {"Id": BOB}, "value": 10**12},
        )
    if chain.role == "dex":
        return Call(
            pallet="Tokens",
            method="transfer_keep_alive",
            args={"dest": BOB, "currency_id": int(asset.id), "amount": 10**12},
        )
    foreign = asset.kind == "foreign"
    return Call(
        pallet="ForeignAssets" if foreign else "Assets",
        method="transfer_keep_alive",
        args={
            "id": read_location(asset.location) if foreign else int(asset.id),
            "target": {"Id": BOB},
            "amount": 10**12,
        },
    )


def diagram_of(chain: Chain, asset: Asset) -> Diagram:
    """Return a transfer as the web editor writes it: only the number tells the assets apart."""
    side = {
        "chain": chain.name,
        "assetId": asset.id,
        "symbol": asset.symbol,
        "address": BOB_ADDRESS,
    }
    nodes: list[dict[str, Any]] = [
        {
            "id": "from",
            "type": "chain",
            "formData": {
                "chain": chain.name,
                "asset": side,
                "amount": "1.5",
                "address": BOB_ADDRESS,
            },
        },
        {
            "id": "send",
            "type": "action",
            "formData": {
                "action": "xTransfer",
                "actionData": {
                    "actionType": "xTransfer",
                    "source": {**side, "amount": "1.5"},
                    "target": side,
                },
            },
        },
        {
            "id": "swap",
            "type": "action",
            "formData": {
                "action": "swap",
                "actionData": {
                    "actionType": "swap",
                    "source": {**side, "amount": "1.5"},
                    "target": side,
                },
            },
        },
    ]
    edges = [
        {"id": "a", "source": "from", "target": "send"},
        {"id": "b", "source": "send", "target": "swap"},
    ]
    return read_diagram({"nodes": nodes, "edges": edges})


def told(app: Application, chain: Chain, asset: Asset) -> dict[str, str]:
    """Return everything that is said of one amount of *asset*, by where it is said."""
    table = bundled(chain.name)
    call = transfer_of(chain, asset)
    diagram = diagram_of(chain, asset)
    source, send, swap = diagram.nodes
    described = describe_call(table, chain, call, ASSETS)["args"]
    return {
        "decode says": tell_call(call, chain, ASSETS, lambda other: bundled(other.name)).sentence,
        "decode": str(described.get("value") or described),
        "check": str(amount_of(asset, 10**12)),
        "check, as JSON": str(amount_of(asset, 10**12).answer()),
        "quote": asset.amount(10**12),
        "scenario show": tell_step(app, diagram, source).sentence,
        "scenario show, transfer": tell_step(app, diagram, send).sentence,
        "scenario show, swap": tell_step(app, diagram, swap).sentence,
        "card": " | ".join(tell_step(app, diagram, source).card.texts()),
        "card, transfer": " | ".join(tell_step(app, diagram, send).card.texts()),
        "card, swap": " | ".join(tell_step(app, diagram, swap).card.texts()),
        "flow": tell_step(app, diagram, send).gives,
        "flow onward": tell_step(app, diagram, send).gets,
    }


@pytest.mark.parametrize("name", CHAINS)
def test_nothing_that_is_said_of_an_asset_is_said_of_another(app: Application, name: str) -> None:
    chain = REGISTRY.find(name)
    seen = 0
    for family in families(chain):
        said = [told(app, chain, asset) for asset in family]
        for where in said[0]:
            assert len({each[where].casefold() for each in said}) == len(family), (
                where,
                family[0].symbol,
            )
        seen += len(family)

    assert seen > 5


@pytest.mark.parametrize("name", CHAINS)
def test_every_mark_is_said_in_full_wherever_the_symbol_is(app: Application, name: str) -> None:
    chain = REGISTRY.find(name)
    for family in families(chain):
        for asset in family:
            if not asset.mark or asset.decimals is None:
                continue
            said = told(app, chain, asset)
            for where in (
                *("decode says", "decode", "check", "quote", "scenario show"),
                "scenario show, swap",
            ):
                assert asset.display_name in said[where], where
            for where in ("card", "card, transfer", "card, swap"):
                assert f"{asset.symbol} (asset {asset.id})" in said[where]
                assert asset.mark in said[where].split(" | ")


def test_no_width_cuts_a_mark_off_a_picture(app: Application) -> None:
    chain = REGISTRY.find("assetHub")
    diagram = diagram_of(chain, ASSETS.find(chain, 50000534))

    picture = read_picture(app, diagram, (), summary="")

    svg = write_svg(picture)
    # The one that is sent, twice; and both sides of the swap.
    assert svg.count(">50000534<") == svg.count(">not the native DOT<") == 4


@pytest.mark.parametrize(
    ("asset_id", "symbol", "said"),
    [
        (1000, "DOT", "1.5 DOT"),
        ("DOT", "USDT", "1.5 DOT"),
        (1984, "USDT", "1.5 USDT"),
        (1984, None, "1.5 1984"),
        (None, "PINK", "1.5 PINK (asset 23, symbol not verified)"),
        (87654321, "DOT", "1.5 DOT (asset 87654321, symbol not verified)"),
        (1984, "DOT", "1.5 DOT (asset 1984)"),
        ("{{ hook.id }}", "DOT", "1.5 DOT"),
    ],
)
def test_a_symbol_that_a_diagram_claims_is_held_against_its_id(
    app: Application, asset_id: object, symbol: str | None, said: str
) -> None:
    form = {"chain": "assetHub", "asset": {"assetId": asset_id, "symbol": symbol}, "amount": "1.5"}
    diagram = read_diagram({"nodes": [{"id": "a", "type": "chain", "formData": form}], "edges": []})

    assert tell_step(app, diagram, diagram.nodes[0]).sentence == f"assetHub, {said}"


def test_symbols_of_assets_are_printed_by_one_function() -> None:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        where = path.relative_to(PACKAGE).as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr == "symbol" and where not in DATA:
                owner = ast.unparse(node.value)
                # A chain's symbol is that of its native asset, which is never in doubt.
                if "asset" in owner or owner in ("arriving", "other", "counterpart"):
                    found.append(f"{where}: {ast.unparse(node)}")

    assert found == []
