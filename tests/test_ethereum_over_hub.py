"""Transfers from Hydration to Ethereum over the Asset Hub: what is built, what is asked before, and
what a check says of it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarioctl.chains.locations import read_location
from scenarioctl.errors import InvalidRequest
from scenarioctl.runtime import table as runtime_tables
from scenarioctl.transactions.transfer.bridges import export_request
from scenarioctl.transactions.transfer.build import build_transfer
from scenarioctl.transactions.transfer.plan import make_plan
from scenarioctl.transactions.transfer.route_rows import routes_from
from scenarioctl.transactions.transfer.routes import find_route
from scenarioctl.transactions.transfer.xcm_calls import hub_message
from tests.conftest import Run
from tests.messages import says
from tests.network import FOREIGN_ASSET, FakeNetwork
from tests.runtimes import ASSETS, REGISTRY, bundled
from tests.test_balances import registered
from tests.test_bridges import AAVE, AAVE_CONTRACT, AAVE_KEY, ETHEREUM, HERE, configure, held
from tests.test_check import ALICE, ALICE_KEY, account, asset, call_effects, info, message_effects
from tests.test_ethereum_transfer import (
    DELIVERY,
    ETHER,
    FAILED,
    HUB,
    KEY,
    ONE,
    QUEUED,
    RECEIVER,
    bridge_hub_table,
    transfer,
)

DEX = REGISTRY.find("hydraDx")
DOT_THERE = ASSETS.find(DEX, 5)
ROWS = {
    location: row
    for (chain, location), row in routes_from("hydraDx").items()
    if chain == "ethereum"
}
EXECUTION, DEPOSIT = 50_000_000, 100_000_000
FEE = DELIVERY + EXECUTION + (DELIVERY + EXECUTION) // 10 + DEPOSIT
ALICE_THERE = {
    "parents": 0,
    "interior": {"X1": [{"AccountId32": {"network": None, "id": ALICE_KEY}}]},
}
RECEIVER_THERE = {
    "parents": 0,
    "interior": {"X1": [{"AccountKey20": {"network": None, "key": KEY}}]},
}


def test_each_row_is_listed_by_two_on_hydration_and_goes_over_the_asset_hub() -> None:
    assert len(ROWS) == 19
    for place, row in ROWS.items():
        sent = ASSETS.at(DEX, place)
        assert sent is not None
        token = ASSETS.counterpart(sent, ETHER)
        assert token is not None
        assert (token.symbol.lower(), token.decimals) == (sent.symbol.lower(), sent.decimals)
        assert len(row.sources) >= 2
        assert row.way == "DestinationReserve, assetHub, DestinationReserve"
        assert place == "2/GlobalConsensus(Ethereum:1)" or place.endswith(
            f"AccountKey20({token.id})"
        )


def home(place: Any, on_ethereum: Any) -> list[Any]:
    """Return the program with which the Asset Hub sends the asset at *place* home."""
    deposit = {
        "DepositAsset": {"assets": {"Wild": {"AllCounted": 1}}, "beneficiary": RECEIVER_THERE}
    }
    buy = {"BuyExecution": {"fees": asset(on_ethereum, 1), "weight_limit": "Unlimited"}}
    return [
        {
            "SetAppendix": [
                {"DepositAsset": {"assets": {"Wild": "All"}, "beneficiary": ALICE_THERE}}
            ]
        },
        {
            "InitiateReserveWithdraw": {
                "assets": {"Wild": {"AllOf": {"id": place, "fun": "Fungible"}}},
                "reserve": {"parents": 2, "interior": {"X1": [ETHEREUM]}},
                "xcm": [buy, deposit],
            }
        },
    ]


@pytest.mark.parametrize("location", ROWS)
@given(amount=st.integers(1, 2**128 - 1), fee=st.integers(1, 2**128 - 1))
def test_a_call_says_what_it_was_built_from(location: str, amount: int, fee: int) -> None:
    table = bundled("hydraDx")
    wanted = replace(transfer(location, amount, "hydraDx"), sender=ALICE_KEY)

    draft = build_transfer(wanted, table, assets=ASSETS, beside=(DOT_THERE, fee))

    call = table.decode_call(table.encode_call(draft.call))
    (version,) = call.args["dest"]
    inside = location.removeprefix("2/GlobalConsensus(Ethereum:1)").lstrip("/") or "Here"
    program = home(read_location(location), read_location(f"0/{inside}"))
    assert (call.pallet, call.method) == ("PolkadotXcm", "transfer_assets_using_type_and_then")
    assert call.args == {
        "dest": {version: read_location("1/Parachain(1000)")},
        "assets": {version: [asset(HERE, fee), asset(read_location(location), amount)]},
        "assets_transfer_type": "DestinationReserve",
        "remote_fees_id": {version: HERE},
        "fees_transfer_type": "DestinationReserve",
        "custom_xcm_on_dest": {version: program},
        "weight_limit": "Unlimited",
    }


@pytest.mark.parametrize(
    ("asset_id", "words"),
    [
        ("HDX", ("HDX", "only assets of Ethereum")),
        ("5", ("DOT", "Polkadot Asset Hub first")),
        ("42", ("EURC", "registries")),
    ],
)
def test_only_assets_of_ethereum_that_two_list_go_in_one_signature(
    asset_id: str, words: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        find_route(transfer(asset_id, source="hydraDx"), ASSETS, fee_settled=True)

    assert str(refused.value) == says(*words)


def tokens(amount: int) -> dict[str, int]:
    return {"free": amount, "reserved": 0, "frozen": 0}


def sent_to_hub(amount: int = ONE) -> list[Any]:
    wanted = replace(transfer("AAVE", amount, "hydraDx"), sender=ALICE_KEY)
    route = find_route(wanted, ASSETS, fee_settled=True)
    assert route.via is not None
    plan = make_plan(wanted, route, bundled("hydraDx"), bundled("assetHub"))
    program: list[Any] = hub_message(replace(plan, beside=(DOT_THERE, FEE)), route.via)["V5"]
    return program


def sent_to_ethereum(amount: int = ONE) -> list[Any]:
    place = {"parents": 0, "interior": {"X1": [AAVE_KEY]}}
    inner = home(AAVE, place)[1]["InitiateReserveWithdraw"]["xcm"]
    return [
        {"WithdrawAsset": [asset(place, amount)]},
        "ClearOrigin",
        *inner,
        {"SetTopic": b"\7" * 32},
    ]


def to_bridge_hub(amount: int = ONE) -> tuple[Any, Any]:
    place = {"parents": 1, "interior": {"X1": [{"Parachain": 1002}]}}
    return place, {"V5": export_request(sent_to_ethereum(amount), HUB, ETHER)}


def left(amount: int = FEE - DELIVERY - EXECUTION) -> dict[str, Any]:
    return {"Balances": {"Minted": {"who": ALICE_KEY, "amount": amount}}}


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeNetwork]:
    """AAVE goes home from Hydration to Ethereum."""
    monkeypatch.setitem(runtime_tables.BUNDLED, "bridgeHub", "bridge-hub-polkadot")
    monkeypatch.setitem(runtime_tables._loaded, "bridgeHub", bridge_hub_table())
    with FakeNetwork(tmp_path, ("hydraDx", "assetHub", "bridgeHub")) as network:
        dex, hub, bridge = network.chains.values()
        place = {"parents": 1, "interior": {"X1": [{"Parachain": 1000}]}}
        dex.api.update(
            DryRunApi_dry_run_call=call_effects((place, {"V5": sent_to_hub()})),
            TransactionPaymentApi_query_info=info(10**12),
            XcmPaymentApi_query_delivery_fees={"Ok": {"V5": []}},
        )
        dex.store("System", "Account", ALICE_KEY, value=account(10**15))
        dex.store("Tokens", "Accounts", ALICE_KEY, 5, value=tokens(5 * 10**10))
        dex.store("Tokens", "Accounts", ALICE_KEY, 1000624, value=tokens(10 * ONE))
        for number, least in ((5, 17_540_000), (1000624, 59 * 10**12)):
            dex.store("AssetRegistry", "Assets", number, value=registered(least))
        hub.api.update(
            DryRunApi_dry_run_xcm=message_effects(left(), forwarded=(to_bridge_hub(),)),
            TrustedQueryApi_is_trusted_reserve={"Ok": True},
            XcmPaymentApi_query_delivery_fees={"Ok": {"V5": [asset(HERE, DELIVERY)]}},
            XcmPaymentApi_query_xcm_weight={"Ok": {"ref_time": 5, "proof_size": 5}},
            XcmPaymentApi_query_weight_to_asset_fee={"Ok": EXECUTION},
        )
        hub.store("ForeignAssets", "Asset", AAVE, value=FOREIGN_ASSET)
        configure(hub, AAVE, "2/GlobalConsensus(Ethereum:1)")
        bridge.api["DryRunApi_dry_run_xcm"] = message_effects(QUEUED)
        yield network


Try = Callable[..., Any]


@pytest.fixture
def build(network: FakeNetwork, scenarioctl: Run) -> Try:
    def run(
        *words: str,
        asset: str = "AAVE",
        amount: object = ONE,
        to: str = RECEIVER,
        sender: str = ALICE,
    ) -> Any:
        return scenarioctl(
            *("--config", str(network.config), "xcm", "asset-transfer", "--from", "hydraDx"),
            *(
                "--to",
                "ethereum",
                "--asset",
                asset,
                "--amount",
                str(amount),
                "--destinationaddress",
                to,
            ),
            *("--sender", sender) * bool(sender),
            *("--output-format", "call", *words),
        )

    return run


def test_what_goes_along_what_it_pays_and_whose_the_rest_is_is_told(build: Try) -> None:
    ended = build()

    assert ended.code == 0
    assert [line for line in ended.err.splitlines() if line.startswith("Warning: ")] == [
        says("from Polkadot to Ethereum", "minutes to hours"),
        says("1.6985 DOT", "1 AAVE", "1.53 DOT", "0.005 DOT", RECEIVER, ALICE),
        says("1 AAVE", "DOT", ALICE, "Polkadot Asset Hub"),
        says("1 AAVE", "0x7Fc66500c84A76Ad7e9c93437bFc5Ac33E2DDaE9"),
    ]
    table = bundled("hydraDx")
    call = table.decode_call(bytes.fromhex(ended.out.strip()[2:]))
    assert call.args["assets"] == {"V5": [asset(HERE, FEE), asset(AAVE, ONE)]}


def test_the_message_is_tried_on_the_asset_hub_and_what_it_sends_at_the_bridge_hub(
    network: FakeNetwork, build: Try
) -> None:
    assert build().code == 0

    _, hub, bridge = network.chains.values()
    origin, message = _tried(hub)
    assert origin == {"V5": {"parents": 1, "interior": {"X1": [{"Parachain": 2034}]}}}
    assert message == {
        "V5": [
            {"WithdrawAsset": [asset(HERE, FEE), asset(AAVE, ONE)]},
            "ClearOrigin",
            {"BuyExecution": {"fees": asset(HERE, FEE), "weight_limit": "Unlimited"}},
            *home(AAVE, {"parents": 0, "interior": {"X1": [AAVE_KEY]}}),
            {"SetTopic": bytes(32)},
        ]
    }
    assert _tried(bridge) == ({"V5": read_location("1/Parachain(1000)")}, to_bridge_hub()[1])


def _tried(chain: Any) -> tuple[Any, Any]:
    """Return the origin and the message that *chain* was asked to try."""
    ((_, data),) = [each for each in chain.asked if each[0] == "DryRunApi_dry_run_xcm"]
    inputs = chain.table.api_method("DryRunApi", "dry_run_xcm").inputs
    origin, at = chain.table.decode_at(inputs[0].type_id, data, 0)
    return origin, chain.table.decode_at(inputs[1].type_id, data, at)[0]


def test_the_price_is_asked_for_the_message_that_goes_to_ethereum(
    network: FakeNetwork, build: Try
) -> None:
    assert build().code == 0

    hub = network.chains["assetHub"]
    data = next(data for name, data in hub.asked if name == "XcmPaymentApi_query_delivery_fees")
    inputs = hub.table.api_method("XcmPaymentApi", "query_delivery_fees").inputs
    place, at = hub.table.decode_at(inputs[0].type_id, data, 0)
    message, _ = hub.table.decode_at(inputs[1].type_id, data, at)
    assert place == {"V5": {"parents": 2, "interior": {"X1": [ETHEREUM]}}}
    assert message == {"V5": [*sent_to_ethereum()[:-1], {"SetTopic": bytes(32)}]}


def test_without_its_sender_nothing_is_built(build: Try) -> None:
    ended = build(sender="")

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.strip().removeprefix("Error: ") == says("AAVE", "sender", "Polkadot Asset Hub")


def test_a_relayer_is_paid_from_the_asset_hub_only(build: Try) -> None:
    ended = build("--relayer-fee", "0.001")

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.strip().removeprefix("Error: ") == says(
        "AAVE", "relayer_fee", "Polkadot Asset Hub"
    )


def test_offline_nothing_is_built(scenarioctl: Run) -> None:
    ended = scenarioctl(
        *(
            "--offline",
            "xcm",
            "asset-transfer",
            "--from",
            "hydraDx",
            "--to",
            "ethereum",
            "--asset",
            "AAVE",
        ),
        *("--amount", f"{ONE}raw", "--sender", ALICE, "--destinationaddress", RECEIVER),
    )

    assert ended.code != 0 and not ended.out
    assert ended.err.strip() == says("Error: ", "AAVE", "Polkadot Asset Hub", "without --offline")


def test_no_scenario_keeps_it_since_none_names_its_sender(scenarioctl: Run) -> None:
    ended = scenarioctl(
        *(
            "--offline",
            "create",
            "scenario",
            "--from",
            "hydraDx",
            "--to",
            "ethereum",
            "--asset",
            "AAVE",
        ),
        *("--amount", "1", "--destination-address", RECEIVER),
    )

    assert (ended.code, ended.out) == (2, "")
    assert ended.said == says("Error: ", "AAVE", "Polkadot Asset Hub", "without --offline")


def test_a_sender_that_is_an_ethereum_address_has_no_key_on_the_asset_hub(build: Try) -> None:
    ended = build(sender="0x" + (b"ETH\0" + KEY + bytes(8)).hex())

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.strip().removeprefix("Error: ") == says(
        "sender", "Ethereum address", "Polkadot Asset Hub"
    )


def api(chain: str, name: str, value: Any) -> Callable[[FakeNetwork], None]:
    return lambda network: network.chains[chain].api.update({name: value})


def stored(chain: str, *entry: Any, value: Any) -> Callable[[FakeNetwork], None]:
    return lambda network: network.chains[chain].store(*entry, value=value)


PARTLY = message_effects(left(), forwarded=(to_bridge_hub(ONE - 1),))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (api("assetHub", "TrustedQueryApi_is_trusted_reserve", {"Ok": False}), ("AAVE", "trust")),
        (
            api("assetHub", "XcmPaymentApi_query_delivery_fees", {"Err": "Unroutable"}),
            ("Unroutable",),
        ),
        (
            api(
                "assetHub",
                "XcmPaymentApi_query_delivery_fees",
                {"Ok": {"V5": [asset(HERE, 2**128 - 1)]}},
            ),
            ("closed",),
        ),
        (
            api("assetHub", "DryRunApi_dry_run_xcm", message_effects(outcome=FAILED)),
            ("Unroutable",),
        ),
        (api("assetHub", "DryRunApi_dry_run_xcm", message_effects(left())), ("send all",)),
        (api("assetHub", "DryRunApi_dry_run_xcm", PARTLY), ("send all",)),
        (api("assetHub", "DryRunApi_dry_run_xcm", {"Err": "Unimplemented"}), ("assetHub",)),
        (
            api("bridgeHub", "DryRunApi_dry_run_xcm", message_effects(outcome=FAILED)),
            ("bridgeHub", "lost"),
        ),
        (api("bridgeHub", "DryRunApi_dry_run_xcm", message_effects()), ("bridgeHub", "queue")),
        (
            lambda network: configure(network.chains["assetHub"], AAVE, "1/Parachain(2034)"),
            ("reserve",),
        ),
        (
            stored(
                "assetHub",
                "ForeignAssets",
                "Asset",
                AAVE,
                value={**FOREIGN_ASSET, "status": "Frozen"},
            ),
            ("frozen",),
        ),
        (
            stored(
                *("assetHub", "ForeignAssets", "Account", AAVE, ALICE_KEY),
                value={**held(5), "status": "Blocked"},
            ),
            ("blocked",),
        ),
        (
            stored(
                "assetHub",
                "ForeignAssets",
                "Asset",
                AAVE,
                value={**FOREIGN_ASSET, "min_balance": 2 * ONE},
            ),
            ("too small", "2 AAVE"),
        ),
        (
            stored("hydraDx", "Tokens", "Accounts", ALICE_KEY, 5, value=tokens(FEE - 1)),
            ("1.6985 DOT",),
        ),
        (
            stored("hydraDx", "Tokens", "Accounts", ALICE_KEY, 1000624, value=tokens(ONE - 1)),
            ("1 AAVE",),
        ),
    ],
    ids=[
        *(
            "not trusted",
            "halted",
            "closed",
            "fails on the Asset Hub",
            "not sent on",
            "sent on in part",
        ),
        *(
            "not tried",
            "fails on the Bridge Hub",
            "not queued",
            "another reserve",
            "frozen",
            "blocked",
        ),
        *("less than the minimum", "too little DOT", "too little AAVE"),
    ],
)
def test_what_could_not_go_all_the_way_is_refused(
    network: FakeNetwork, build: Try, change: Callable[[FakeNetwork], None], words: tuple[str, ...]
) -> None:
    change(network)

    ended = build()

    assert ended.code != 0 and not ended.out
    assert ended.err.strip().removeprefix("Error: ") == says(*words)


def test_an_asset_that_the_asset_hub_does_not_have_is_refused(
    network: FakeNetwork, build: Try
) -> None:
    hub = network.chains["assetHub"]
    hub.storage = {key: value for key, value in hub.storage.items() if not _is_details(hub, key)}

    ended = build()

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.strip() == says("AAVE", "lost")


def _is_details(hub: Any, key: str) -> bool:
    from scenarioctl.runtime.storage_keys import storage_key

    return storage_key(hub.table, "ForeignAssets", "Asset", (AAVE,)).hex == key


@pytest.mark.parametrize(
    ("to", "words"),
    [
        (AAVE_CONTRACT, ("AAVE", "contract")),
        ("0x27ca963c279c93801941e1eb8799c23f407d68e7", ("Snowbridge", "contract")),
        ("0x8ba1f109551bD432803012645Ac136ddd64DBA73", ("checksum",)),
    ],
)
def test_a_receiver_that_could_lose_it_is_refused(
    build: Try, to: str, words: tuple[str, ...]
) -> None:
    ended = build(to=to)

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.strip().removeprefix("Error: ") == says(*words)


def test_a_maximum_is_all_of_it(network: FakeNetwork, build: Try) -> None:
    place = {"parents": 1, "interior": {"X1": [{"Parachain": 1000}]}}
    network.chains["hydraDx"].api["DryRunApi_dry_run_call"] = call_effects(
        (place, {"V5": sent_to_hub(10 * ONE)})
    )
    network.chains["assetHub"].api["DryRunApi_dry_run_xcm"] = message_effects(
        left(), forwarded=(to_bridge_hub(10 * ONE),)
    )

    ended = build("--allow-death", amount="max")

    assert ended.code == 0
    assert "amount max is 10 AAVE; the sender" in ended.err


@pytest.fixture
def check(network: FakeNetwork, scenarioctl: Run) -> Try:
    def run(to: str = RECEIVER) -> dict[str, Any]:
        ended = scenarioctl(
            *(
                "--json",
                "--config",
                str(network.config),
                "tx",
                "check",
                "--sender",
                ALICE,
                "--from",
            ),
            *("hydraDx", "--to", "ethereum", "--asset", "AAVE", "--amount", f"{ONE}raw"),
            *("--destinationaddress", to),
        )
        answer: dict[str, Any] = json.loads(ended.out or ended.err)
        return {**answer, "exit": ended.code}

    return run


def test_a_check_goes_as_far_as_the_bridge_hub_and_never_says_ok(check: Try) -> None:
    answer = check()

    assert (answer["verdict"], answer["exit"]) == ("unknown", 5)
    assert answer["reasons"] == [says("Bridge Hub", "Ethereum")]
    assert [(stop["chain"], stop["outcome"]) for stop in answer["stops"]] == [
        ("hydraDx", "ok"),
        ("assetHub", "ok"),
        ("ethereum", "unknown"),
    ]
    assert [(step["chain"], step["what"], step["human"]) for step in answer["steps"]] == [
        ("hydraDx", "leaves", "1 AAVE"),
        ("hydraDx", "leaves", "1.6985 DOT"),
        ("hydraDx", "transaction fee", "1 HDX"),
        ("assetHub", "execution", "0.005 DOT"),
        ("assetHub", "delivery", "1.53 DOT"),
        ("ethereum", "computed arrival", "1 AAVE"),
    ]


def test_a_check_asks_no_chain_about_a_contract_that_would_lose_it(
    network: FakeNetwork, check: Try
) -> None:
    answer = check(to=AAVE_CONTRACT)

    assert answer["exit"] == 2
    assert answer["error"] == says("beneficiary", "AAVE", "lost")
    assert not any(chain.asked for chain in network.chains.values())


def test_a_check_refuses_what_the_asset_hub_would_not_send_on(
    network: FakeNetwork, scenarioctl: Run, build: Try
) -> None:
    call = build().out.strip()
    network.chains["assetHub"].api["DryRunApi_dry_run_xcm"] = message_effects(
        left(), outcome=FAILED
    )

    ended = scenarioctl(
        *("--json", "--config", str(network.config), "tx", "check", "--sender", ALICE),
        *("--chain", "hydraDx", call),
    )

    answer = json.loads(ended.out or ended.err)
    assert (answer["verdict"], ended.code) == ("refused", 6)
    assert answer["reasons"][0] == says("Polkadot Asset Hub", "Unroutable")


def test_the_call_is_told_in_words(scenarioctl: Run, build: Try) -> None:
    ended = scenarioctl(
        "--offline", "--json", "tx", "decode", "--chain", "hydraDx", build().out.strip()
    )

    assert json.loads(ended.out)["says"] == says(
        "1 AAVE", "1.6985 DOT", "Polkadot Asset Hub", "Ethereum", RECEIVER, ALICE
    )
