"""Transfers from the Asset Hub to Ethereum: what is built, what is asked before, and what a check
says of it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.chains.addresses import format_ethereum_account
from scenarioctl.chains.locations import read_location
from scenarioctl.errors import InvalidRequest
from scenarioctl.runtime import table as runtime_tables
from scenarioctl.runtime.table import RuntimeTable
from scenarioctl.transactions.transfer.bridges import export_request
from scenarioctl.transactions.transfer.build import build_transfer
from scenarioctl.transactions.transfer.plan import make_plan
from scenarioctl.transactions.transfer.request import Transfer
from scenarioctl.transactions.transfer.route_rows import routes_from
from scenarioctl.transactions.transfer.routes import can_send, find_route
from scenarioctl.transactions.transfer.xcm_calls import arriving_message
from tests.conftest import Run
from tests.messages import says
from tests.network import FOREIGN_ASSET, FakeChain, FakeNetwork
from tests.runtimes import ASSETS, REGISTRY, bundled
from tests.test_bridges import AAVE, AAVE_CONTRACT, AAVE_KEY, ETHEREUM, HERE, configure, held
from tests.test_check import (
    ALICE,
    ALICE_KEY,
    account,
    asset,
    call_effects,
    info,
    location,
    message_effects,
)

HUB, ETHER = REGISTRY.find("assetHub"), REGISTRY.find("ethereum")
RECEIVER = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"
KEY = bytes.fromhex(RECEIVER[2:])
ONE = 10**18
#: Of AAVE as Asset Hub sees it.
PLACE = f"2/GlobalConsensus(Ethereum:1)/AccountKey20({AAVE_CONTRACT})"
ROWS = {
    location: row
    for (chain, location), row in routes_from("assetHub").items()
    if chain == "ethereum"
}


def transfer(asset_id: str, amount: int = ONE, source: str = "assetHub") -> Transfer:
    chain = REGISTRY.find(source)
    return Transfer(
        source=chain,
        destination=ETHER,
        asset=ASSETS.find(chain, asset_id),
        amount=amount,
        beneficiary=KEY,
    )


def test_each_row_is_listed_by_two_and_names_one_token() -> None:
    assert len(ROWS) == 37
    tokens = set()
    for place, row in ROWS.items():
        sent = ASSETS.at(HUB, place)
        assert sent is not None
        token = ASSETS.counterpart(sent, ETHER)
        assert token is not None
        tokens.add(token.id)
        assert (token.symbol, token.decimals) == (sent.symbol, sent.decimals)
        # What one package doesn't list on the Asset Hub, its state has to tell.
        assert (row.opens, *row.sources) in (
            ("always", "paraspell", "snowbridge"),
            ("state", "snowbridge"),
        )
        assert row.way == ("DestinationReserve" if "Ethereum" in place else "LocalReserve")
        if "AccountKey20" in place:
            assert place.endswith(f"AccountKey20({token.id})")
    assert len(tokens) == len(ROWS)


@pytest.mark.parametrize(
    ("asset_id", "first", "seen"),
    [
        (PLACE, "WithdrawAsset", f"0/AccountKey20({AAVE_CONTRACT})"),
        ("2/GlobalConsensus(Ethereum:1)", "WithdrawAsset", "0/Here"),
        ("DOT", "ReserveAssetDeposited", "1/GlobalConsensus(Polkadot)"),
        (
            "31337",
            "ReserveAssetDeposited",
            "1/GlobalConsensus(Polkadot)/Parachain(1000)/PalletInstance(50)/GeneralIndex(31337)",
        ),
    ],
)
def test_the_message_has_the_form_that_the_bridge_hub_reads(
    asset_id: str, first: str, seen: str
) -> None:
    """As in snowbridge's converter of its first protocol: any other instruction is Unroutable
    there."""
    wanted = transfer(asset_id, 5)
    route = find_route(wanted, ASSETS, fee_settled=True)
    message = arriving_message(make_plan(wanted, route, bundled("assetHub")))

    sent = {"id": read_location(seen), "fun": {"Fungible": 5}}
    receiver = {"AccountKey20": {"network": None, "key": KEY}}
    assert message["V5"] == [
        {first: [sent]},
        "ClearOrigin",
        {"BuyExecution": {"fees": sent, "weight_limit": "Unlimited"}},
        {
            "DepositAsset": {
                "assets": {"Wild": {"AllCounted": 1}},
                "beneficiary": {"parents": 0, "interior": {"X1": [receiver]}},
            }
        },
        {"SetTopic": bytes(32)},
    ]


@pytest.mark.parametrize("location", ROWS)
def test_a_call_says_what_it_was_built_from(location: str) -> None:
    table = bundled("assetHub")
    wanted = transfer(location, 12345)

    draft = build_transfer(wanted, table, assets=ASSETS, fee_accepted=True)

    arguments = table.decode_call(table.encode_call(draft.call)).args
    assert arguments["dest"] == {"V5": {"parents": 2, "interior": {"X1": [ETHEREUM]}}}
    assert arguments["assets"] == {
        "V5": [{"id": read_location(location), "fun": {"Fungible": 12345}}]
    }
    assert arguments["remote_fees_id"] == {"V5": read_location(location)}
    assert {arguments["assets_transfer_type"], arguments["fees_transfer_type"]} == {
        ROWS[location].way
    }


@pytest.mark.parametrize(
    ("source", "asset_id"),
    [
        ("assetHub", PLACE),
        ("assetHub", "DOT"),
        ("hydraDx", "AAVE"),
        ("polkadot", "DOT"),
        ("assetHub_kusama", "KSM"),
    ],
)
def test_offline_nothing_is_sent_to_ethereum(source: str, asset_id: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        build_transfer(transfer(asset_id, source=source), bundled(source), assets=ASSETS)

    assert str(refused.value) == says(source, "Ethereum")


def test_an_asset_that_goes_no_further_is_not_sent_to_the_asset_hub_first() -> None:
    with pytest.raises(InvalidRequest) as refused:
        find_route(transfer("BNC", source="bifrost"), ASSETS, fee_settled=True)

    assert str(refused.value) == says("BNC", "only from Polkadot Asset Hub")
    assert "first" not in str(refused.value)


def test_an_asset_that_ethereum_has_no_token_for_is_refused() -> None:
    with pytest.raises(InvalidRequest) as refused:
        find_route(transfer("1984"), ASSETS, fee_settled=True)

    assert str(refused.value) == says("USDt", "registries")


def test_nothing_is_sent_from_ethereum() -> None:
    wanted = replace(
        transfer("DOT"),
        source=ETHER,
        destination=HUB,
        asset=ASSETS.native(ETHER),
        beneficiary=bytes(32),
    )

    with pytest.raises(InvalidRequest) as refused:
        find_route(wanted, ASSETS, fee_settled=True)

    assert str(refused.value) == says("ETH", "app.snowbridge.network")
    assert not any(
        can_send(token, chain, ASSETS) for token in ASSETS.all(ETHER) for chain in REGISTRY.all()
    )


def test_only_the_asset_hub_of_polkadot_and_hydration_send_to_ethereum() -> None:
    sending = {
        chain.name
        for chain in REGISTRY.all()
        if any(can_send(each, ETHER, ASSETS) for each in ASSETS.all(chain))
    }

    assert sending == {"assetHub", "hydraDx"}


# Connected


def bridge_hub_table(pallet: str = "EthereumOutboundQueue") -> RuntimeTable:
    """Return the Asset Hub's table with the event by which a Bridge Hub says that it queued a
    message."""
    file = Path(runtime_tables.__file__).parent / "bundled" / "assetHub.json"
    table = RuntimeTable.load(file.read_bytes())
    table.spec_name = "bridge-hub-polkadot"
    types: Any = table.types
    events = next(row for row in types if str(row[0]).endswith("::RuntimeEvent"))
    frontend = next(row for row in events[3] if row[0] == "SnowbridgeSystemFrontend")
    frontend[0] = pallet
    inner = types[frontend[2][0][1]]
    inner[3] = [["MessageQueued", 0, []]]
    return table


DELIVERY, FEE = 15_300_000_000, 160_000_000
QUEUED = {"EthereumOutboundQueue": "MessageQueued"}


def program(first: str = "WithdrawAsset", amount: int = ONE, to: bytes = KEY) -> list[Any]:
    place = {"parents": 0, "interior": {"X1": [AAVE_KEY]}}
    paid = asset(place, amount)
    receiver = {"AccountKey20": {"network": None, "key": to}}
    beneficiary = {"parents": 0, "interior": {"X1": [receiver]}}
    return [
        {first: [paid]},
        "ClearOrigin",
        {"BuyExecution": {"fees": paid, "weight_limit": "Unlimited"}},
        {"DepositAsset": {"assets": {"Wild": {"AllCounted": 1}}, "beneficiary": beneficiary}},
        {"SetTopic": b"\7" * 32},
    ]


def to_bridge_hub(sent: list[Any]) -> tuple[Any, Any]:
    return {"parents": 1, "interior": {"X1": [{"Parachain": 1002}]}}, {
        "V5": export_request(sent, HUB, ETHER)
    }


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeNetwork]:
    """AAVE goes home from the Asset Hub to Ethereum."""
    monkeypatch.setitem(runtime_tables.BUNDLED, "bridgeHub", "bridge-hub-polkadot")
    monkeypatch.setitem(runtime_tables._loaded, "bridgeHub", bridge_hub_table())
    with FakeNetwork(tmp_path, ("assetHub", "bridgeHub")) as network:
        hub, bridge = network.chains.values()
        hub.api.update(
            DryRunApi_dry_run_call=call_effects(to_bridge_hub(program())),
            TransactionPaymentApi_query_info=info(FEE),
            XcmPaymentApi_query_delivery_fees={"Ok": {"V5": [asset(HERE, DELIVERY)]}},
            TrustedQueryApi_is_trusted_reserve={"Ok": True},
        )
        hub.store("System", "Account", ALICE_KEY, value=account(5 * 10**10))
        hub.store("ForeignAssets", "Asset", AAVE, value=FOREIGN_ASSET)
        hub.store("ForeignAssets", "Account", AAVE, ALICE_KEY, value=held(10 * ONE))
        configure(hub, AAVE, "2/GlobalConsensus(Ethereum:1)")
        bridge.api["DryRunApi_dry_run_xcm"] = message_effects(QUEUED)
        yield network


def questions(chain: FakeChain, api: str, method: str) -> list[list[Any]]:
    """Return the arguments with which a runtime API of *chain* was called, each time."""
    inputs = chain.table.api_method(api, method).inputs
    found = []
    for name, data in chain.asked:
        if name == f"{api}_{method}":
            at, arguments = 0, []
            for field in inputs:
                value, at = chain.table.decode_at(field.type_id, data, at)
                arguments.append(value)
            found.append(arguments)
    return found


Try = Callable[..., Any]


@pytest.fixture
def build(network: FakeNetwork, scenarioctl: Run) -> Try:
    def run(*words: str, asset: str = PLACE, amount: int = ONE, to: str = RECEIVER) -> Any:
        return scenarioctl(
            *("--config", str(network.config), "xcm", "asset-transfer", "--from", "assetHub"),
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
            *("--output-format", "call", *words),
        )

    return run


@pytest.fixture
def check(network: FakeNetwork, scenarioctl: Run) -> Try:
    def run(
        *words: str, asset: str = PLACE, amount: int = ONE, to: str = RECEIVER
    ) -> dict[str, Any]:
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
            *("assetHub", "--to", "ethereum", "--asset", asset, "--amount", f"{amount}raw"),
            *("--destinationaddress", to, *words),
        )
        answer: dict[str, Any] = json.loads(ended.out or ended.err)
        return {**answer, "exit": ended.code}

    return run


def test_what_the_way_to_ethereum_costs_and_what_arrives_is_told(
    network: FakeNetwork, build: Try
) -> None:
    ended = build()

    assert ended.code == 0
    warnings = [line for line in ended.err.splitlines() if line.startswith("Warning: ")]
    assert warnings == [
        says("from Polkadot to Ethereum", "minutes to hours"),
        says("1.53 DOT", "1 AAVE", "Polkadot Asset Hub", RECEIVER),
        says("(V1)", "--relayer-fee", "(V2)"),
        says("1 AAVE", format_ethereum_account(bytes.fromhex(AAVE_CONTRACT[2:]))),
    ]
    hub, bridge = network.chains.values()
    place, sent, _ = questions(hub, "XcmPaymentApi", "query_delivery_fees")[0]
    expected = [*program()[:-1], {"SetTopic": bytes(32)}]
    assert place == {"V5": {"parents": 2, "interior": {"X1": [ETHEREUM]}}}
    assert sent == {"V5": expected}
    # The Bridge Hub is asked for the same.
    ((origin, message),) = questions(bridge, "DryRunApi", "dry_run_xcm")
    assert origin == {"V5": {"parents": 1, "interior": {"X1": [{"Parachain": 1000}]}}}
    assert message == {"V5": export_request(expected, HUB, ETHER)}
    assert message["V5"][1]["ExportMessage"]["network"] == {"Ethereum": {"chain_id": 1}}


FAILED = {
    "Incomplete": {
        "used": {"ref_time": 1, "proof_size": 1},
        "error": {"index": 1, "error": "Unroutable"},
    }
}


@pytest.mark.parametrize(
    ("chain", "name", "value", "words"),
    [
        ("assetHub", "TrustedQueryApi_is_trusted_reserve", {"Ok": False}, ("AAVE", "trust")),
        ("assetHub", "XcmPaymentApi_query_delivery_fees", {"Err": "Unroutable"}, ("Unroutable",)),
        (
            "assetHub",
            "XcmPaymentApi_query_delivery_fees",
            {"Ok": {"V5": [asset(HERE, 2**128 - 1)]}},
            ("closed",),
        ),
        ("assetHub", "XcmPaymentApi_query_delivery_fees", {"Ok": {"V5": []}}, ("DOT",)),
        ("assetHub", ("XcmPaymentApi_query_"
"delivery_fees"), {"Ok": {"V5": [asset(AAVE, 5)]}}, ("DOT",)),
        ("bridgeHub", "DryRunApi_dry_run_xcm", message_effects(outcome=FAILED), ("bridgeHub",)),
        ("bridgeHub", "DryRunApi_dry_run_xcm", message_effects(), ("bridgeHub", "queue")),
        ("bridgeHub", "DryRunApi_dry_run_xcm", {"Err": "Unimplemented"}, ("bridgeHub",)),
    ],
    ids=["not trusted", "halted", "fee without end", "no fee", "fee in another asset", "not exported", "not queued", "not told"],
)  # fmt: skip
def test_what_the_chains_do_not_forward_now_is_refused(
    network: FakeNetwork, build: Try, chain: str, name: str, value: Any, words: tuple[str, ...]
) -> None:
    network.chains[chain].api[name] = value

    ended = build()

    assert ended.code != 0 and not ended.out
    assert ended.err.strip().removeprefix("Error: ") == says(*words)


def test_without_the_bridge_hub_nothing_is_built(network: FakeNetwork, build: Try) -> None:
    network.write(
        {
            "assetHub": {"endpoints": [network.chains["assetHub"].node.url]},
            "bridgeHub": {"endpoints": ["ws://127.0.0.1:1/"]},
        }
    )

    ended = build()

    assert ended.code == 5 and not ended.out


PAXG_CONTRACT = "0x45804880de22913dafe09f4980848ece6ecbaf78"
PAXG = f"2/GlobalConsensus(Ethereum:1)/AccountKey20({PAXG_CONTRACT})"


def named(symbol: str, decimals: int) -> dict[str, Any]:
    text = symbol.encode()
    return {"deposit": 0, "name": text, "symbol": text, "decimals": decimals, "is_frozen": False}


@pytest.mark.parametrize(
    ("asset", "metadata", "words"),
    [
        (FOREIGN_ASSET, None, ()),
        (FOREIGN_ASSET, named("PAXG", 18), ()),
        (None, None, ("PAXG", "doesn't have it")),
        ({**FOREIGN_ASSET, "status": "Destroying"}, None, ("PAXG", "doesn't have it")),
        (FOREIGN_ASSET, named("PAXG", 6), ("PAXG with 6 decimals", "PAXG with 18")),
        (FOREIGN_ASSET, named("GOLD", 18), ("GOLD with 18 decimals", "PAXG with 18")),
        (FOREIGN_ASSET, named("", 6), ("without a symbol with 6 decimals", "PAXG with 18")),
    ],
    ids=["no names", "the same names", "no asset", "destroyed", "other decimals", "another symbol", "only other decimals"],
)  # fmt: skip
def test_a_token_that_one_registry_lists_has_to_be_in_the_state(
    network: FakeNetwork, build: Try, asset: Any, metadata: Any, words: tuple[str, ...]
) -> None:
    hub, place = network.chains["assetHub"], read_location(PAXG)
    configure(hub, place, "2/GlobalConsensus(Ethereum:1)")
    if asset is not None:
        hub.store("ForeignAssets", "Asset", place, value=asset)
    if metadata is not None:
        hub.store("ForeignAssets", "Metadata", place, value=metadata)

    ended = build(asset=PAXG)

    assert ended.code == (2 if words else 0)
    assert bool(ended.out) != bool(words)
    if words:
        assert ended.err.strip() == says(*words)


def test_another_reserve_of_an_asset_of_ethereum_is_refused(
    network: FakeNetwork, build: Try
) -> None:
    configure(network.chains["assetHub"], AAVE, "1/Parachain(2034)")

    ended = build()

    assert ended.err.strip() == says(
        "AAVE", "its reserve on Polkadot Asset Hub should be", "has 1/Parachain(2034)"
    )


@pytest.mark.parametrize(
    ("to", "words"),
    [
        ("0x8ba1f109551bd432803012645Ac136ddd64DBA72", ("checksum",)),
        (ALICE, ("20 bytes",)),
        ("0x" + "00" * 20, ("nobody", "--yes")),
        (AAVE_CONTRACT, ("AAVE", "contract")),
        ("0x27ca963c279c93801941e1eb8799c23f407d68e7", ("Snowbridge", "contract")),
    ],
)
def test_an_account_that_could_lose_the_tokens_is_refused(
    build: Try, to: str, words: tuple[str, ...]
) -> None:
    ended = build(to=to)

    assert ended.code != 0 and not ended.out
    assert ended.err.strip().removeprefix("Error: ") == says(*words)


def test_a_check_asks_no_chain_about_a_contract_that_would_lose_it(
    network: FakeNetwork, check: Try
) -> None:
    answer = check(to=AAVE_CONTRACT)

    assert answer["exit"] == 2
    assert answer["error"] == says("beneficiary", "AAVE", "lost")
    assert not any(chain.asked for chain in network.chains.values())


def test_no_scenario_is_created_that_sends_to_a_contract(scenarioctl: Run) -> None:
    ended = scenarioctl(
        *(
            "--offline",
            "create",
            "scenario",
            "--from",
            "assetHub",
            "--to",
            "ethereum",
            "--asset",
            PLACE,
        ),
        *("--amount", "1", "--destination-address", AAVE_CONTRACT),
    )

    assert (ended.code, ended.out) == (2, "")
    assert ended.said == says("Error: ", "AAVE", "lost")


def test_an_account_in_lower_case_is_taken(build: Try) -> None:
    assert build(to=RECEIVER.lower()).out == build().out != ""


def test_a_sender_needs_the_fee_beside_the_amount(network: FakeNetwork, check: Try) -> None:
    """5 DOT are there, of which 1.53 go for delivery."""
    answer = check(asset="DOT", amount=4 * 10**10)

    assert answer["error"] == says("5.53 DOT", "1.53 DOT")
    # For an asset of Ethereum, the fee alone.
    network.chains["assetHub"].store("System", "Account", ALICE_KEY, value=account(10**10))
    assert check()["error"] == says("1.53 DOT leaves", "1.53 DOT")


def test_a_check_goes_as_far_as_the_bridge_hub_and_never_says_ok(check: Try) -> None:
    answer = check()

    assert (answer["verdict"], answer["exit"]) == ("unknown", 5)
    assert answer["reasons"] == [says("Bridge Hub", "Ethereum")]
    assert [(step["chain"], step["what"], step["human"]) for step in answer["steps"]] == [
        ("assetHub", "leaves", "1 AAVE"),
        ("assetHub", "transaction fee", "0.016 DOT"),
        ("assetHub", "delivery", "1.53 DOT"),
        ("ethereum", "computed arrival", "1 AAVE"),
    ]
    assert [(stop["chain"], stop["outcome"]) for stop in answer["stops"]] == [
        ("assetHub", "ok"),
        ("ethereum", "unknown"),
    ]


def test_a_check_refuses_what_the_bridge_hub_drops(
    network: FakeNetwork, scenarioctl: Run, build: Try
) -> None:
    call = build().out.strip()
    network.chains["bridgeHub"].api["DryRunApi_dry_run_xcm"] = message_effects(outcome=FAILED)

    ended = scenarioctl(
        *("--json", "--config", str(network.config), "tx", "check", "--sender", ALICE),
        *("--chain", "assetHub", call),
    )

    answer = json.loads(ended.out or ended.err)
    assert (answer["verdict"], ended.code) == ("refused", 6)
    assert answer["reasons"][0] == says("Polkadot Bridge Hub", "lost")


@pytest.mark.parametrize(
    ("to", "words"),
    [
        (AAVE_CONTRACT, ("AAVE", "contract", "lost")),
        ("0x27ca963c279c93801941e1eb8799c23f407d68e7", ("Snowbridge", "contract", "lost")),
        ("0x" + "00" * 20, ("nobody holds its key", "lost")),
        ("0x" + "00" * 18 + "dead", ("nobody holds its key", "lost")),
    ],
)
def test_a_check_of_any_call_finds_a_receiver_that_loses_what_it_gets(
    network: FakeNetwork, scenarioctl: Run, build: Try, to: str, words: tuple[str, ...]
) -> None:
    call = build().out.strip()
    account = bytes.fromhex(to[2:])
    sent = to_bridge_hub(program(to=account))
    network.chains["assetHub"].api["DryRunApi_dry_run_call"] = call_effects(sent)

    ended = scenarioctl(
        *("--json", "--config", str(network.config), "tx", "check", "--sender", ALICE),
        *("--chain", "assetHub", call),
    )

    answer = json.loads(ended.out or ended.err)
    assert (answer["verdict"], ended.code) == ("refused", 6)
    assert answer["reasons"] == [says(format_ethereum_account(account), *words)]


def test_a_check_takes_a_receiver_without_a_key_that_was_confirmed(
    network: FakeNetwork, check: Try
) -> None:
    zero = bytes(20)
    sent = to_bridge_hub(program(to=zero))
    network.chains["assetHub"].api["DryRunApi_dry_run_call"] = call_effects(sent)

    answer = check("--yes", to=f"0x{zero.hex()}")

    assert (answer["verdict"], answer["reasons"]) == ("unknown", [says("Bridge Hub", "Ethereum")])


def test_a_message_of_the_second_protocol_is_not_refused(
    network: FakeNetwork, check: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other tools make such messages; here they are checked as far as the Bridge Hub."""
    pallet = "EthereumOutboundQueueV2"
    table = bridge_hub_table(pallet)
    monkeypatch.setitem(runtime_tables._loaded, "bridgeHub", table)
    bridge = network.chains["bridgeHub"]
    bridge.table = table
    bridge.api["DryRunApi_dry_run_xcm"] = message_effects({pallet: "MessageQueued"})
    aliased = [*program()[:2], {"AliasOrigin": location(ALICE_KEY)}, *program()[2:]]
    network.chains["assetHub"].api["DryRunApi_dry_run_call"] = call_effects(to_bridge_hub(aliased))

    answer = check()

    assert answer["verdict"] == "unknown"
    assert answer["reasons"] == [says("Bridge Hub", "Ethereum")]


def test_a_check_refuses_the_wrong_form(network: FakeNetwork, check: Try) -> None:
    """As if the Asset Hub backed AAVE: on Ethereum it would be minted, and the rest kept for
    ever."""
    wrong = to_bridge_hub(program("ReserveAssetDeposited"))
    network.chains["assetHub"].api["DryRunApi_dry_run_call"] = call_effects(wrong)

    answer = check()

    assert answer["verdict"] == "refused"
    assert says("ReserveAssetDeposited", "Ethereum") in answer["reasons"]


def test_a_call_to_ethereum_is_told_in_words(scenarioctl: Run, build: Try) -> None:
    ended = scenarioctl(
        "--offline", "--json", "tx", "decode", "--chain", "assetHub", build().out.strip()
    )

    assert json.loads(ended.out)["says"] == says("over the bridge to Ethereum", "1 AAVE", RECEIVER)
