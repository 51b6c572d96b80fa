"""What whole diagrams give: ours in `tests/data/diagrams`, and real ones where `../shared` stands
beside the checkout."""

import json
from base64 import b64decode
from pathlib import Path
from zlib import decompress

import pytest

from scenarioctl.actions.drafts import draft_first
from scenarioctl.actions.problems import find_problems
from scenarioctl.actions.story import chains_of, summarise
from scenarioctl.application import Application
from scenarioctl.config import Settings
from scenarioctl.errors import ScenarioctlError
from scenarioctl.formats.documents import (
    pack,
    parse_json,
    read_import,
    read_share,
    unpack,
    write_share,
)
from scenarioctl.model.diagram import Diagram, read_diagram
from tests.conftest import DATA, SHARED
from tests.runner import finish

OURS = sorted((DATA / "diagrams").glob("*.json"))
REAL = sorted((SHARED / "data" / "diagrams").glob("*.json"))

NEEDS_QUOTE = (
    "a swap without a minimum received needs a quote from Hydration, which can't be asked offline. "
    "Give the minimum with `min_received`, or in the smallest unit with `min_amount_out`."
)
NO_TEXT = "the Remark has no text, expected it in actionData.source.target"
NO_DRAFT = "this scenario has no step that drafts a transaction"
WAITS = "methodInput waits for webhook data: {{ address }}"
NO_WEBHOOK = "the webhook has no form, expected a webhookName and a uuid"
NO_QUERY = "the query has no form, expected a chain, a pallet and a method"

BEAST = "BEAST (asset 10, symbol not verified)"

#: Of each diagram: its summary, its chains, its problems by node, and what drafting it gives.
EXPECTED: dict[str, tuple[str, str, dict[str, str], str]] = {
    "lnr8CfoQX": (
        "polkadot > xTransfer > assetHub",
        "assetHub polkadot",
        {},
        "XcmPallet.limited_teleport_assets 0 11 110000000000 polkadot assetHub",
    ),
    "hLhmE6m0j": (
        "hydraDx > swap > hydraDx",
        "hydraDx",
        {"action_ae869a": NEEDS_QUOTE},
        f"chain_unreachable: {NEEDS_QUOTE}",
    ),
    "dcMwilVsg": (
        "polkadot > Remark",
        "polkadot",
        {"action_e78015": NO_TEXT},
        f"invalid_request: {NO_TEXT}",
    ),
    "EU4_I95ge": (
        "webhook > query",
        "",
        {"webhook_12a6ad": NO_WEBHOOK, "chainQuery_90cad2": NO_QUERY},
        f"invalid_request: {NO_DRAFT}",
    ),
    "qSxt94jqC": (
        "webhook > query(polkadot)",
        "polkadot",
        {"chainQuery_2ce486": WAITS},
        f"invalid_request: {NO_DRAFT}",
    ),
    "remark_data": (
        "assetHub > Remark > assetHub > xTransfer > hydraDx",
        "assetHub hydraDx",
        {
            "action_4a407f": "source asset 100 and target asset 7 are not the same asset: "
            "WETH (asset 100, not the canonical WETH 2/GlobalConsensus(Ethereum:1)/"
            "AccountKey20(0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2)) on Polkadot Asset Hub, "
            "USDC (asset 7, not the canonical USDC 22) on Hydration"
        },
        "System.remark_with_event  0 0 assetHub assetHub",
    ),
    "webhooks": (
        "webhook > assetHub > xTransfer > hydraDx",
        "assetHub hydraDx",
        {
            "action_5e2b02": "source asset 10 and target asset 10 are not the same asset: "
            f"{BEAST} on Polkadot Asset Hub, USDT on Hydration"
        },
        "invalid_request: source asset 10 and target asset 10 are not the same asset: "
        f"{BEAST} on Polkadot Asset Hub, USDT on Hydration",
    ),
    "http_chain_xtransfer": (
        "http > polkadot > xTransfer > assetHub > xTransfer > polkadot",
        "assetHub polkadot",
        {
            "action_bdefdf": "source asset 0 and target asset 10 are not the same asset: "
            f"DOT on Polkadot, {BEAST} on Polkadot Asset Hub",
            "action_dd14c4": "source asset 10 and target asset 0 are not the same asset: "
            f"{BEAST} on Polkadot Asset Hub, DOT on Polkadot",
        },
        "invalid_request: node 'action_bdefdf': source asset 0 and target asset 10 are not "
        "the same asset: "
        f"DOT on Polkadot, {BEAST} on Polkadot Asset Hub",
    ),
    "transfer": (
        "polkadot > xTransfer > assetHub",
        "assetHub polkadot",
        {},
        "XcmPallet.limited_teleport_assets 0 1.5 15000000000 polkadot assetHub",
    ),
    "transfer_by_neighbours": (
        "assetHub > xTransfer > hydraDx",
        "assetHub hydraDx",
        {},
        "PolkadotXcm.transfer_assets_using_type_and_then 1984 20 20000000 assetHub hydraDx",
    ),
    "swap": (
        "hydraDx > swap > hydraDx",
        "hydraDx",
        {"action_c00002": NEEDS_QUOTE},
        f"chain_unreachable: {NEEDS_QUOTE}",
    ),
    "swap_with_minimum": (
        "hydraDx > swap > hydraDx",
        "hydraDx",
        {},
        "Omnipool.sell 5 2 20000000000 hydraDx hydraDx",
    ),
    "remark_without_text": (
        "polkadot > Remark",
        "polkadot",
        {"action_d00002": NO_TEXT},
        f"invalid_request: {NO_TEXT}",
    ),
    "remark_and_wrong_target": (
        "assetHub > Remark > assetHub > xTransfer > hydraDx",
        "assetHub hydraDx",
        {
            "action_e00004": "source asset 1984 and target asset 5 are not the same asset: "
            "USDt on Polkadot Asset Hub, DOT on Hydration"
        },
        "System.remark_with_event  0 0 assetHub assetHub",
    ),
    "webhook_query": (
        "webhook > query(polkadot)",
        "polkadot",
        {"chainQuery_f00002": WAITS},
        f"invalid_request: {NO_DRAFT}",
    ),
    "query_answer_in_body": (
        "webhook > query(polkadot) > http",
        "polkadot",
        {
            "chainQuery_i00002": WAITS,
            "http_i00003": "requestContent waits for an earlier step's data: {{ data.free }}",
        },
        f"invalid_request: {NO_DRAFT}",
    ),
    "calls_by_key": (
        "tx(polkadot) > tx(assetHub)",
        "assetHub polkadot",
        {},
        "System.remark  0 0 polkadot polkadot",
    ),
    "made_by_the_original_api": (
        "hydraDx > xTransfer > polkadot",
        "hydraDx polkadot",
        {},
        "PolkadotXcm.transfer_assets_using_type_and_then 5 2.5 25000000000 hydraDx polkadot",
    ),
    "unfinished": (
        "webhook > query > http > tx > delay",
        "",
        {
            "webhook_g00001": NO_WEBHOOK,
            "chainQuery_g00002": NO_QUERY,
            "action_g00003": "the action has no form, expected one of: xTransfer, swap, Remark",
            "http_g00004": "the http step has no form, expected a url and a method",
            "chainTx_g00005": (
                "the call has no form, expected a chain, a pallet, a method and its params"
            ),
            "delay_g00006": "the delay has no form, expected its seconds",
            "chain_g00007": "the chain has no form, expected the name of a chain",
        },
        (
            "invalid_request: the call has no form, expected a chain, a pallet, a method and "
            "its params"
        ),
    ),
    "other_steps": (
        "http > delay > tx(assetHub) > query(polkadot)",
        "assetHub polkadot",
        {
            "chainQuery_h00005": "unknown node type 'telegram', skipped in runs; "
            "expected one of: chain, payout, chainQuery, chainTx, condition, http, "
            "webhook, delay, action"
        },
        "System.remark  0 0 assetHub assetHub",
    ),
}


@pytest.fixture
def app(tmp_path: Path) -> Application:
    return Application(
        Settings(
            config=tmp_path / "c", store=str(tmp_path / "s"), cache=tmp_path / "r", offline=True
        )
    )


def open_sample(path: Path) -> Diagram:
    return read_diagram(parse_json(path.read_bytes(), field="diagram"))


def drafted(app: Application, diagram: Diagram) -> str:
    try:
        first = finish(draft_first(app, diagram))
    except ScenarioctlError as error:
        return f"{error.code}: {error}"
    call = first.transaction.call
    return (
        f"{call.pallet}.{call.method} {first.asset} {first.amount} {first.raw_amount} "
        f"{first.source_chain} {first.dest_chain}"
    )


def test_every_sample_of_ours_is_told_of() -> None:
    assert {path.stem for path in OURS} <= set(EXPECTED)


@pytest.mark.parametrize("path", [*OURS, *REAL], ids=lambda path: path.stem)
def test_a_sample_gives_what_is_decided(app: Application, path: Path) -> None:
    diagram = open_sample(path)
    summary, chains, faults, draft = EXPECTED[path.stem]

    assert summarise(diagram, app.registry) == summarise(diagram) == summary
    assert sorted(chains_of(diagram, app.registry)) == chains.split()
    assert {
        problem.node: problem.sentence for problem in finish(find_problems(app, diagram))
    } == faults
    assert drafted(app, diagram) == draft


@pytest.mark.parametrize("path", [*OURS, *REAL], ids=lambda path: path.stem)
def test_a_sample_comes_back_from_store_and_share_as_it_was(path: Path) -> None:
    document = json.loads(path.read_text())

    diagram = read_diagram(unpack(pack(open_sample(path).document)))

    assert diagram.document == document
    assert read_share(write_share(diagram.document)) == document
    assert read_import(path.read_bytes()) == document


def test_a_share_string_of_the_editor_is_written_back_with_the_same_text() -> None:
    for path in REAL:
        text = path.with_suffix(".share.txt").read_text()
        document = read_share(text)

        assert document == json.loads(path.read_text())
        # The compressor may be another one, what is compressed is the same to the byte.
        packed = [
            b64decode(share.strip().rstrip("=") + "===") for share in (write_share(document), text)
        ]
        assert decompress(packed[0]) == decompress(packed[1])


def test_only_the_waiting_step_is_said_to_wait(app: Application) -> None:
    found = finish(find_problems(app, open_sample(DATA / "diagrams" / "webhook_query.json")))

    assert [(problem.node, problem.waiting) for problem in found] == [("chainQuery_f00002", True)]
