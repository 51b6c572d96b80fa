"""Transfers to Ethereum that bring Ether for a relayer: Snowbridge's second protocol."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarioctl.chains.locations import read_location
from scenarioctl.runtime import table as runtime_tables
from scenarioctl.runtime.storage_keys import twox
from scenarioctl.transactions.transfer.bridges import export_request
from scenarioctl.transactions.transfer.plan import Plan, make_plan
from scenarioctl.transactions.transfer.request import Transfer
from scenarioctl.transactions.transfer.routes import find_route
from scenarioctl.transactions.transfer.ways import TransferType
from scenarioctl.transactions.transfer.xcm_calls import relayed_call, relayed_message
from tests.conftest import Run
from tests.messages import Says, says
from tests.network import FOREIGN_ASSET, FakeNetwork
from tests.runtimes import ASSETS, bundled
from tests.test_bridges import AAVE, AAVE_CONTRACT, HERE, configure, held
from tests.test_check import ALICE, ALICE_KEY, account, asset, call_effects, info, message_effects
from tests.test_ethereum_transfer import (
    DELIVERY,
    ETHER,
    FEE,
    HUB,
    KEY,
    ONE,
    PLACE,
    RECEIVER,
    ROWS,
    Try,
    bridge_hub_table,
    build,
    questions,
    to_bridge_hub,
)

__all__ = ["build"]

ETH = "2/GlobalConsensus(Ethereum:1)"
ETH_PLACE = read_location(ETH)
#: 0.0003 ETH.
RELAYER = 3 * 10**14
EXECUTION = 400_000_000
WEIGHT = {"ref_time": 1000, "proof_size": 400}
#: What the Asset Hub takes, a third more, and the existential deposit.
LIMIT = -(-(DELIVERY + EXECUTION) * 133 // 100) + 100_000_000
BASE_FEE_KEY = "0x" + twox(b":BridgeHubEthereumBaseFeeV2:", 2).hex()
QUEUE = "EthereumOutboundQueueV2"
V2 = ("--relayer-fee", "0.0003", "--sender", ALICE)


def context(asset_id: str, amount: int = ONE, fee: int = RELAYER) -> Plan:
    transfer = Transfer(
        source=HUB,
        destination=ETHER,
        asset=ASSETS.find(HUB, asset_id),
        amount=amount,
        beneficiary=KEY,
        relayer_fee=fee,
        sender=ALICE_KEY,
    )
    route = find_route(transfer, ASSETS, fee_settled=True)
    return make_plan(transfer, route, bundled("assetHub"))


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeNetwork]:
    """AAVE goes home from the Asset Hub to Ethereum, and brings Ether."""
    monkeypatch.setitem(runtime_tables.BUNDLED, "bridgeHub", "bridge-hub-polkadot")
    monkeypatch.setitem(runtime_tables._loaded, "bridgeHub", bridge_hub_table(QUEUE))
    with FakeNetwork(tmp_path, ("assetHub", "bridgeHub")) as network:
        hub, bridge = network.chains.values()
        sent = relayed_message(context(PLACE))["V5"]
        hub.api.update(
            DryRunApi_dry_run_call=call_effects(to_bridge_hub(sent)),
            TransactionPaymentApi_query_info=info(FEE),
            XcmPaymentApi_query_delivery_fees={"Ok": {"V5": [asset(HERE, DELIVERY)]}},
            XcmPaymentApi_query_xcm_weight={"Ok": WEIGHT},
            XcmPaymentApi_query_weight_to_asset_fee={"Ok": EXECUTION},
            TrustedQueryApi_is_trusted_reserve={"Ok": True},
        )
        hub.store("System", "Account", ALICE_KEY, value=account(5 * 10**10))
        for place, held_amount in ((AAVE, 10 * ONE), (ETH_PLACE, ONE)):
            hub.store("ForeignAssets", "Asset", place, value=FOREIGN_ASSET)
            hub.store("ForeignAssets", "Account", place, ALICE_KEY, value=held(held_amount))
            configure(hub, place, ETH)
        hub.storage[BASE_FEE_KEY] = "0x" + (15 * 10**9).to_bytes(16, "little").hex()
        bridge.api["DryRunApi_dry_run_xcm"] = message_effects({QUEUE: "MessageQueued"})
        yield network


@pytest.fixture
def check(network: FakeNetwork, scenarioctl: Run) -> Try:
    def run(*words: str, asset: str = PLACE, amount: int = ONE) -> dict[str, Any]:
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
            *("--destinationaddress", RECEIVER, *words),
        )
        answer: dict[str, Any] = json.loads(ended.out or ended.err)
        return {**answer, "exit": ended.code}

    return run


@pytest.mark.parametrize("location", ROWS)
@given(amount=st.integers(1, 2**126), fee=st.integers(1, 2**126), limit=st.integers(1, 2**126))
def test_a_program_reads_as_it_was_written(
    location: str, amount: int, fee: int, limit: int
) -> None:
    table = bundled("assetHub")
    wanted = context(location, amount, fee)

    call = relayed_call(wanted, limit, WEIGHT)

    assert table.decode_call(table.encode_call(call)) == call
    withdrawn, pays, _, sent = call.args["message"]["V5"]
    total = sum(item["fun"]["Fungible"] for item in withdrawn["WithdrawAsset"])
    assert total == amount + fee + limit
    assert pays["PayFees"]["asset"] == asset(HERE, limit)
    assert sent["InitiateTransfer"]["preserve_origin"]


def test_the_message_has_the_form_that_the_bridge_hub_reads() -> None:
    """As in snowbridge's converter of its second protocol."""
    message = relayed_message(context("DOT", 5))["V5"]

    ether = asset({"parents": 0, "interior": "Here"}, RELAYER)
    polkadot = {"GlobalConsensus": "Polkadot"}
    sender = {"AccountId32": {"network": "Polkadot", "id": ALICE_KEY}}
    receiver = {"AccountKey20": {"network": None, "key": KEY}}
    assert message == [
        {"WithdrawAsset": [ether]},
        {"PayFees": {"asset": ether}},
        {"ReserveAssetDeposited": [asset({"parents": 1, "interior": {"X1": [polkadot]}}, 5)]},
        {
            "AliasOrigin": {
                "parents": 1,
                "interior": {"X3": [polkadot, {"Parachain": 1000}, sender]},
            }
        },
        {
            "DepositAsset": {
                "assets": {"Wild": {"AllCounted": 3}},
                "beneficiary": {"parents": 0, "interior": {"X1": [receiver]}},
            }
        },
        {"SetTopic": bytes(32)},
    ]


def test_every_part_of_the_way_is_quoted(network: FakeNetwork, build: Try) -> None:
    ended = build(*V2)

    assert ended.code == 0
    warnings = [line for line in ended.err.splitlines() if line.startswith("Warning: ")]
    assert warnings == [
        says("from Polkadot to Ethereum", "minutes to hours"),
        says(
            "(V2)",
            "0.04 DOT for execution",
            "1.53 DOT for delivery",
            "1.5 DOT of it",
            RECEIVER,
            "2.0981 DOT",
        ),
        says("0.0003 ETH", "1350000 gas", "0.222 gwei"),
        says("waits", "add_tip"),
        says("1 AAVE", "Ethereum"),
    ]
    table = bundled("assetHub")
    call = table.decode_call(bytes.fromhex(ended.out.strip()[2:]))
    # A quarter more than the runtime weighs it at.
    assert call == relayed_call(context(PLACE), LIMIT, {"ref_time": 1250, "proof_size": 500})


def test_both_chains_are_asked_about_the_same_message(network: FakeNetwork, build: Try) -> None:
    assert build(*V2).code == 0

    hub, bridge = network.chains.values()
    sent = relayed_message(context(PLACE))
    assert questions(hub, "XcmPaymentApi", "query_delivery_fees")[0][:2] == [
        {"V5": ETH_PLACE},
        sent,
    ]
    ((_, message),) = questions(bridge, "DryRunApi", "dry_run_xcm")
    assert message == {"V5": export_request(sent["V5"], HUB, ETHER)}


def test_without_a_relayer_fee_the_first_protocol_is_used_and_told(build: Try) -> None:
    ended = build("--sender", ALICE)

    assert ended.code == 0
    assert says("(V1)", "--relayer-fee", "relayer_fee", "(V2)") in ended.err.splitlines()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--relayer-fee", "0.0003"), ("sender", "relayer_fee")),
        (("--relayer-fee", "0", "--sender", ALICE), ("relayer_fee", "zero")),
        (
            ("--relayer-fee", "1 DOT", "--sender", ALICE),
            ("relayer_fee", "1 DOT", "ETH", "like 1.5"),
        ),
        (("--relayer-fee", "0.1e-18", "--sender", ALICE), ("relayer_fee", "18")),
        ((*V2, "--xcm-version", "4"), ("xcm_version 4", "relayer_fee", "5")),
        (("--offline", *V2), ("connection", "delivery to Ethereum")),
    ],
)
def test_a_relayer_fee_that_means_nothing_is_refused(
    network: FakeNetwork, build: Try, words: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    ended = build(*words)

    assert ended.code == 2 and not ended.out
    assert ended.err.strip().removeprefix("Error: ") == says(*expected)
    assert not network.chains["assetHub"].asked


@pytest.mark.parametrize(
    ("to", "amount", "expected"),
    [
        ("ethereum", "max", ("max", "relayer_fee")),
        ("hydraDx", "1", ("relayer_fee", "ethereum", "hydraDx")),
    ],
)
def test_a_relayer_fee_is_for_a_number_to_ethereum(
    network: FakeNetwork, scenarioctl: Run, to: str, amount: str, expected: tuple[str, ...]
) -> None:
    ended = scenarioctl(
        *(
            "--config",
            str(network.config),
            "xcm",
            "asset-transfer",
            "--from",
            "assetHub",
            "--to",
            to,
        ),
        *(
            "--asset",
            "DOT",
            "--amount",
            amount,
            "--destinationaddress",
            RECEIVER if to == "ethereum" else ALICE,
        ),
        *V2,
    )

    assert (ended.code, ended.err.strip()) == (2, says("Error: ", *expected))


def test_a_transaction_has_its_relayer_fee_already(scenarioctl: Run, network: FakeNetwork) -> None:
    ended = scenarioctl(
        *("--config", str(network.config), "tx", "check", "--chain", "assetHub", "--sender", ALICE),
        *("--relayer-fee", "0.1", "0x00071468656c6c6f"),
    )

    assert (ended.code, ended.err.strip()) == (2, says("Error: ", "tx", "relayer_fee"))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        (
            "XcmPaymentApi_query_delivery_fees",
            {"Ok": {"V5": [asset(HERE, 2**128 - 1)]}},
            ("closed", "V2"),
        ),
        ("XcmPaymentApi_query_delivery_fees", {"Err": "Unroutable"}, ("Unroutable",)),
        (
            "XcmPaymentApi_query_xcm_weight",
            {"Err": "WeightNotComputable"},
            ("WeightNotComputable",),
        ),
        ("XcmPaymentApi_query_weight_to_asset_fee", {"Err": "AssetNotFound"}, ("AssetNotFound",)),
        ("TrustedQueryApi_is_trusted_reserve", {"Ok": False}, ("AAVE", "trust")),
    ],
    ids=["fee without end", "not routed", "not weighed", "not priced", "not trusted"],
)
def test_what_the_asset_hub_does_not_take_is_refused(
    network: FakeNetwork, build: Try, name: str, value: Any, words: tuple[str, ...]
) -> None:
    network.chains["assetHub"].api[name] = value

    ended = build(*V2)

    assert ended.code != 0 and not ended.out
    assert ended.err.strip().removeprefix("Error: ") == says(*words)


def test_a_halted_bridge_is_refused(network: FakeNetwork, build: Try) -> None:
    network.chains["assetHub"].store(
        "SnowbridgeSystemFrontend", "ExportOperatingMode", value="Halted"
    )

    ended = build(*V2)

    assert (ended.code, ended.err.strip()) == (2, says("closed", "ExportOperatingMode", "Halted"))


def test_what_the_bridge_hub_drops_is_refused(network: FakeNetwork, build: Try) -> None:
    network.chains["bridgeHub"].api["DryRunApi_dry_run_xcm"] = message_effects()

    ended = build(*V2)

    assert (ended.code, ended.err.strip()) == (2, says("Polkadot Bridge Hub", "queue"))


@pytest.mark.parametrize("contract", [AAVE_CONTRACT, "0x27ca963c279c93801941e1eb8799c23f407d68e7"])
def test_contracts_that_pass_on_nothing_are_refused(build: Try, contract: str) -> None:
    ended = build(*V2, to=contract)

    assert (ended.code, ended.err.strip()) == (2, says("beneficiary", "lost"))


@pytest.mark.parametrize(
    ("sent", "amount", "dot", "ether", "words"),
    [
        (PLACE, ONE, LIMIT - 1, ONE, (" DOT leaves", "fees there")),
        (PLACE, ONE, LIMIT, RELAYER - 1, ("0.0003 ETH leaves", "relayer")),
        ("DOT", 10**10, LIMIT + 10**10 - 1, ONE, (" DOT leaves", "fees there")),
        (ETH, ONE, LIMIT, ONE + RELAYER - 1, ("1.0003 ETH leaves", "0.0003 ETH", "relayer")),
    ],
    ids=["DOT for fees", "Ether for the relayer", "DOT beside DOT", "Ether beside Ether"],
)
def test_the_sender_has_to_hold_every_fee(
    network: FakeNetwork,
    build: Try,
    sent: str,
    amount: int,
    dot: int,
    ether: int,
    words: tuple[str, ...],
) -> None:
    hub = network.chains["assetHub"]

    def hold(more: int) -> None:
        hub.store("System", "Account", ALICE_KEY, value=account(dot + more))
        hub.store("ForeignAssets", "Account", ETH_PLACE, ALICE_KEY, value=held(ether + more))

    hold(0)
    ended = build(*V2, asset=sent, amount=amount)
    assert (ended.code, ended.err.strip()) == (2, says(*words))
    hold(1)
    assert build(*V2, asset=sent, amount=amount).code == 0


def test_a_check_goes_as_far_as_the_bridge_hub_and_never_says_ok(check: Try) -> None:
    answer = check("--relayer-fee", "0.0003")

    assert (answer["verdict"], answer["exit"]) == ("unknown", 5)
    assert answer["reasons"] == [says("Bridge Hub", "Ethereum")]
    assert [(step["chain"], step["what"], step["human"]) for step in answer["steps"]] == [
        ("assetHub", "leaves", "1 AAVE"),
        ("assetHub", "leaves", "0.0003 ETH"),
        ("assetHub", "transaction fee", "0.016 DOT"),
        ("assetHub", "execution", "0.04 DOT"),
        ("assetHub", "delivery", "1.53 DOT"),
        ("ethereum", "relayer", "0.0003 ETH"),
        ("ethereum", "computed arrival", "1 AAVE"),
    ]


def test_a_check_of_ether_tells_the_relayers_from_what_arrives(
    network: FakeNetwork, check: Try
) -> None:
    sent = relayed_message(context(ETH, ONE // 2))["V5"]
    network.chains["assetHub"].api["DryRunApi_dry_run_call"] = call_effects(to_bridge_hub(sent))

    answer = check("--relayer-fee", "0.0003", asset=ETH, amount=ONE // 2)

    assert answer["verdict"] == "unknown"
    assert [(step["what"], step["human"]) for step in answer["steps"][-2:]] == [
        ("relayer", "0.0003 ETH"),
        ("computed arrival", "0.5 ETH"),
    ]


def test_the_bytes_are_checked_like_the_transfer(
    network: FakeNetwork, scenarioctl: Run, build: Try
) -> None:
    ended = scenarioctl(
        *("--json", "--config", str(network.config), "tx", "check", "--sender", ALICE),
        *("--chain", "assetHub", build(*V2).out.strip()),
    )

    answer = json.loads(ended.out)
    assert (answer["verdict"], ended.code) == ("unknown", 5)
    assert answer["reasons"] == [says("Bridge Hub", "Ethereum")]


def burned(place: Any, amount: int) -> dict[str, Any]:
    return {"ForeignAssets": {"Burned": {"asset_id": place, "owner": ALICE_KEY, "balance": amount}}}


@pytest.mark.parametrize(
    ("ether", "lost"), [(RELAYER, []), (3 * RELAYER, [says("0.0006 ETH", "Polkadot Asset Hub")])]
)
def test_a_check_adds_up_what_leaves(
    network: FakeNetwork, scenarioctl: Run, build: Try, ether: int, lost: list[Says]
) -> None:
    """The Ether goes with the message; more of it would go nowhere."""
    call = build(*V2).out.strip()
    events = (
        {"Balances": {"Burned": {"who": ALICE_KEY, "amount": LIMIT}}},
        burned(ETH_PLACE, ether),
        burned(AAVE, ONE),
        {"Balances": {"Minted": {"who": ALICE_KEY, "amount": LIMIT - DELIVERY - EXECUTION}}},
    )
    sent = relayed_message(context(PLACE))["V5"]
    network.chains["assetHub"].api["DryRunApi_dry_run_call"] = call_effects(
        to_bridge_hub(sent), events=events
    )

    ended = scenarioctl(
        *(
            "--json",
            "--config",
            str(network.config),
            "tx",
            "check",
            "--sender",
            ALICE,
            "--chain",
            "assetHub",
            call,
        )
    )

    answer = json.loads(ended.out)
    assert (answer["verdict"], answer["reasons"]) == (
        "unknown",
        [says("Bridge Hub", "Ethereum"), *lost],
    )


@pytest.mark.parametrize("location", ["DOT", "31337", ETH, "2/GlobalConsensus(Kusama)"])
def test_a_check_knows_who_backs_what_the_program_sends(
    network: FakeNetwork, scenarioctl: Run, location: str
) -> None:
    hub = network.chains["assetHub"]
    configure(
        hub, read_location("2/GlobalConsensus(Kusama)"), "2/GlobalConsensus(Kusama)/Parachain(1000)"
    )
    sent = relayed_message(context(location, 10**9))["V5"]
    hub.api["DryRunApi_dry_run_call"] = call_effects(to_bridge_hub(sent))
    wanted = context(location, 10**9)

    def verdict(tried: Plan) -> str:
        data = tried.table.encode_call(relayed_call(tried, LIMIT, WEIGHT))
        words = ("tx", "check", "--sender", ALICE, "--chain", "assetHub", "0x" + data.hex())
        return str(
            json.loads(scenarioctl("--json", "--config", str(network.config), *words).out)[
                "verdict"
            ]
        )

    assert verdict(wanted) == "unknown"
    # In the other form, as if the other side backed it.
    other: TransferType = (
        "DestinationReserve" if wanted.route.first == "LocalReserve" else "LocalReserve"
    )
    assert verdict(replace(wanted, route=replace(wanted.route, first=other))) == "refused"


def test_the_program_is_told_in_words(scenarioctl: Run, build: Try) -> None:
    ended = scenarioctl(
        "--offline", "--json", "tx", "decode", "--chain", "assetHub", build(*V2).out.strip()
    )

    assert json.loads(ended.out)["says"] == says(
        "1 AAVE", "0.0003 ETH", "Ethereum", RECEIVER, ALICE
    )
