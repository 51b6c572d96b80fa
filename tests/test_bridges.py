"""The bridge between Polkadot and Kusama: what crosses it, what is asked before, and what a check
says of it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.chains import trust
from scenarioctl.chains.locations import absolute, across, read_location, seen_from
from scenarioctl.chains.registry import Registry
from scenarioctl.chains.trust import accepts_reserve
from scenarioctl.errors import InvalidRequest
from scenarioctl.transactions.submission.arrivals import expect_arrivals
from scenarioctl.transactions.submission.inclusion import SentMessage
from scenarioctl.transactions.transfer.build import build_transfer
from scenarioctl.transactions.transfer.plan import shape_location
from scenarioctl.transactions.transfer.request import Transfer, sovereign_account_beyond
from scenarioctl.transactions.transfer.routes import can_send, find_route
from scenarioctl.transactions.transfer.ways import routes_from
from tests.conftest import BOB, BOB_HEX, Run
from tests.messages import says
from tests.network import FOREIGN_ASSET, FakeChain, FakeNetwork
from tests.runtimes import ASSETS, REGISTRY, bundled
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

HUBS = ("assetHub", "assetHub_kusama")
KSM = 10**12
BOB_KEY = bytes.fromhex(BOB_HEX[2:])
#: 1 KSM from the Asset Hub of Kusama to that of Polkadot, made with polkadot.js, and sent on
#: asset-hub-kusama 2000002.
SENT = (
    "0x1f0d050202090200a10f0504010000070010a5d4e8010501000105040d01020400010100d43593c715fd"
    "d31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d00"
)
ETHEREUM = {"GlobalConsensus": {"Ethereum": {"chain_id": 1}}}
AAVE_CONTRACT = "0x7fc66500c84a76ad7e9c93437bfc5ac33e2ddae9"
AAVE_KEY = {"AccountKey20": {"network": None, "key": bytes.fromhex(AAVE_CONTRACT[2:])}}
AAVE = {"parents": 2, "interior": {"X2": [ETHEREUM, AAVE_KEY]}}
POLKADOT = {"parents": 2, "interior": {"X1": [{"GlobalConsensus": "Polkadot"}]}}
KUSAMA = {"parents": 2, "interior": {"X1": [{"GlobalConsensus": "Kusama"}]}}
HERE = {"parents": 1, "interior": "Here"}


def transfer(
    source: str, destination: str, asset_id: str, amount: int = KSM, to: bytes = BOB_KEY
) -> Transfer:
    chain = REGISTRY.find(source)
    return Transfer(
        source=chain,
        destination=REGISTRY.find(destination),
        asset=ASSETS.find(chain, asset_id),
        amount=amount,
        beneficiary=to,
    )


def test_the_call_that_a_real_runtime_sent_over_the_bridge_is_built() -> None:
    table = bundled("assetHub_kusama")
    wanted = transfer("assetHub_kusama", "assetHub", "KSM", to=ALICE_KEY)

    draft = build_transfer(wanted, table, assets=ASSETS, fee_accepted=True)

    assert "0x" + table.encode_call(draft.call).hex() == SENT


def test_offline_the_fee_beyond_the_bridge_is_said_to_be_unknown() -> None:
    # 0.0001 KSM: over the existential deposit, and less than the fee.
    wanted = transfer("assetHub", "assetHub_kusama", "2/GlobalConsensus(Kusama)", 10**8)

    draft = build_transfer(wanted, bundled("assetHub"), assets=ASSETS)

    assert "What Kusama Asset Hub takes" in draft.warnings[1]
    assert "trapped" in draft.warnings[1]


@pytest.mark.parametrize(("fee", "warned"), [(0, True), (10**9, False)])
def test_a_new_account_may_be_unable_to_hold_a_bridged_asset(fee: int, warned: bool) -> None:
    wanted = transfer("hydraDx", "assetHub", "2/GlobalConsensus(Ethereum:1)", 10**18)

    beside = (ASSETS.find(wanted.source, 5), fee) if fee else None
    draft = build_transfer(wanted, bundled("hydraDx"), assets=ASSETS, beside=beside)

    assert (
        any("holds no DOT on Polkadot Asset Hub" in warning for warning in draft.warnings) == warned
    )


#: The assets with rows, as seen from outside both networks.
BRIDGED_ASSETS = sorted(
    across(absolute(asset, 1000), "Polkadot", "")[3:]
    for destination, asset in routes_from("assetHub")
    if destination == "assetHub_kusama"
)


def test_each_of_the_28_assets_has_a_row_each_way() -> None:
    back = [
        asset for destination, asset in routes_from("assetHub_kusama") if destination == "assetHub"
    ]

    assert len(BRIDGED_ASSETS) == 28
    assert (
        sorted(across(absolute(asset, 1000), "Kusama", "")[3:] for asset in back) == BRIDGED_ASSETS
    )


@pytest.mark.parametrize("outside", BRIDGED_ASSETS)
def test_each_bridged_asset_crosses_both_ways_by_one_reserve(outside: str) -> None:
    found = []
    for source, destination in (HUBS, HUBS[::-1]):
        chain = REGISTRY.find(source)
        held = ASSETS.at(chain, seen_from(across(f"../{outside}", "", chain.consensus), 1000))
        assert held is not None
        wanted = Transfer(
            source=chain,
            destination=REGISTRY.find(destination),
            asset=held,
            amount=1,
            beneficiary=BOB_KEY,
        )
        found.append(find_route(wanted, ASSETS, fee_settled=True).first)

    out = ["LocalReserve", "DestinationReserve"]
    assert found == (out[::-1] if "Kusama" in outside else out)


@pytest.mark.parametrize(
    ("network", "row"), [(network, row) for network, rows in trust._BRIDGED.items() for row in rows]
)
def test_without_a_trust_fact_its_assets_cross_neither_way(
    monkeypatch: pytest.MonkeyPatch, network: str, row: trust.Accepted
) -> None:
    def crossing() -> set[tuple[str, str]]:
        return {
            (source, asset.id)
            for source, destination in (HUBS, HUBS[::-1])
            for asset in ASSETS.all(REGISTRY.find(source))
            if can_send(asset, REGISTRY.find(destination), ASSETS)
        }

    before = crossing()
    others = tuple(other for other in trust._BRIDGED[network] if other is not row)
    monkeypatch.setattr(trust, "_BRIDGED", {**trust._BRIDGED, network: others})
    lost = before - crossing()

    # Nothing that has only its network's name before it is issued on Kusama's Asset Hub and
    # crosses.
    expected = {"2/GlobalConsensus(Kusama)/*": set()}.get(
        row.asset, {"assetHub", "assetHub_kusama"}
    )
    assert {source for source, _ in lost} == expected


#: Calls of other SDKs for what goes home to Kusama: who made them, XCM version, amount, receiver.
OTHERS = (
    (
        "Galactic's SDK, transfer_assets",
        (
            "0x1f0b040202090300a10f0400010100d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a"
            "5684e7a56da27d04040201090300070010a5d4e80000000000"
        ),
        4,
        10**12,
        "d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d",
    ),
    (
        "ParaSpell, type-and-then",
        (
            "0x1f0d050202090300a10f050402010903000b005039278c04020502010903020508130100000b22f1"
            "35248c04000d01020400010100246044e82dcb430908830f90e8c668b02544004d66eab58af5124b95"
            "3ef57d3700"
        ),
        5,
        5 * 10**12,
        "246044e82dcb430908830f90e8c668b02544004d66eab58af5124b953ef57d37",
    ),
)


@pytest.mark.parametrize(
    ("maker", "call", "version", "amount", "to"), OTHERS, ids=[row[0] for row in OTHERS]
)
def test_the_call_means_what_the_calls_of_other_sdks_mean(
    maker: str, call: str, version: int, amount: int, to: str
) -> None:
    """Same destination, asset, amount, reserve, fee asset and receiver."""
    table = bundled("assetHub")
    wanted = transfer(
        "assetHub", "assetHub_kusama", "2/GlobalConsensus(Kusama)", amount, bytes.fromhex(to)
    )

    draft = build_transfer(replace(wanted, xcm_version=version), table, assets=ASSETS)

    theirs, ours = table.decode_call(bytes.fromhex(call[2:])).args, draft.call.args
    assert (theirs["dest"], theirs["assets"]) == (ours["dest"], ours["assets"])
    ((_, program),) = theirs.get("custom_xcm_on_dest", {"": []}).items()
    ((_, (deposit,)),) = ours["custom_xcm_on_dest"].items()
    if program:
        for name in ("assets_transfer_type", "fees_transfer_type", "remote_fees_id"):
            assert theirs[name] == ours[name]
        # Theirs also buys execution, which the runtime has done before.
        assert program[-1] == deposit
    else:
        ((_, receiver),) = theirs["beneficiary"].items()
        assert receiver == deposit["DepositAsset"]["beneficiary"]
        assert theirs["fee_asset_item"] == 0 and len(ours["assets"][f"V{version}"]) == 1


@pytest.mark.parametrize(
    ("source", "destination", "asset_id"),
    [
        ("polkadot", "kusama", "DOT"),
        ("hydraDx", "assetHub_kusama", "1000771"),
        ("assetHub", "kusama", "2/GlobalConsensus(Kusama)"),
        ("assetHub", "assetHub_paseo", "DOT"),
        # Only one source says that it crosses: the Asset Hubs have to say that they have it.
        ("assetHub", "assetHub_kusama", "1984"),
        # Kusama's own: another asset than what came from Polkadot, and it would be trapped there.
        ("assetHub_kusama", "assetHub", "1984"),
        # None says it.
        ("assetHub_kusama", "assetHub", "8"),
        # Only connected: what the other side takes in it has to be asked for.
        ("assetHub", "assetHub_kusama", "DOT"),
        ("assetHub", "assetHub_kusama", "2/GlobalConsensus(Ethereum:1)"),
    ],
)
def test_what_does_not_cross_is_refused(source: str, destination: str, asset_id: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        build_transfer(transfer(source, destination, asset_id), bundled(source), assets=ASSETS)

    assert str(refused.value) == says(source, destination)


def test_an_asset_hub_of_ones_own_is_not_beyond_the_bridge() -> None:
    """Messages go to the Asset Hub that the network has, not to another one in the registry."""
    hub = {"role": "asset_hub", "relay": "kusama", "para_id": 1001, "symbol": "KSM", "decimals": 12}
    registry = Registry({"second": hub})

    assert not accepts_reserve(
        registry.find("assetHub"), "../GlobalConsensus(Kusama)", registry.find("second"), registry
    )
    assert accepts_reserve(
        registry.find("assetHub"),
        "../GlobalConsensus(Kusama)",
        registry.find("assetHub_kusama"),
        registry,
    )


def test_the_same_location_in_another_network_is_another_asset() -> None:
    """Asset 8 of one Asset Hub has the location of asset 8 of the other one."""
    ours, theirs = (ASSETS.find(REGISTRY.find(name), "8") for name in HUBS)

    assert not ASSETS.same_asset(ours, theirs)
    assert ASSETS.counterpart(ours, REGISTRY.find("assetHub_kusama")) is None
    assert not can_send(ours, REGISTRY.find("assetHub_kusama"), ASSETS)


def test_an_asset_is_found_beyond_the_bridge() -> None:
    hub, other = (REGISTRY.find(name) for name in HUBS)
    found = ASSETS.counterpart(ASSETS.find(hub, "DOT"), other)

    assert found is not None and found.location == "2/GlobalConsensus(Polkadot)"
    assert ASSETS.same_asset(ASSETS.native(hub), found)


@pytest.mark.parametrize(
    ("seen", "network", "other", "expected"),
    [
        ("", "Kusama", "Polkadot", "../GlobalConsensus(Kusama)"),
        ("../GlobalConsensus(Kusama)", "Polkadot", "Kusama", ""),
        (("Parachain(1000)/"
"PalletInstance(50)"), "Polkadot", "Kusama", ("../GlobalConsensus(Polkadot)/"
"Parachain(1000)/PalletInstance(50)")),
        ("../GlobalConsensus(Polkadot)/Parachain(1000)", "Kusama", "Polkadot", "Parachain(1000)"),
        ("../GlobalConsensus(Ethereum:1)", "Kusama", "Polkadot", "../GlobalConsensus(Ethereum:1)"),
        ("Parachain(7)", "Kusama", "Kusama", "Parachain(7)"),
    ],
)  # fmt: skip
def test_a_location_is_seen_from_another_network(
    seen: str, network: str, other: str, expected: str
) -> None:
    assert across(seen, network, other) == expected
    assert across(expected, other, network) == seen


def test_the_account_of_an_asset_hub_beyond_the_bridge_is_the_one_that_a_runtime_credits() -> None:
    # Seen on asset-hub-kusama 2000002 (the rig, 2026-11-23): it got the KSM that went to the Asset
    # Hub of Polkadot.
    seen = "94af7756a0eab8081f648284c3eb5c0d99057f01508b3f9556c5db85f30a4e45"

    assert sovereign_account_beyond(REGISTRY.find("assetHub")).hex() == seen


# Connected


def program(incoming: str, place: Any, amount: int = KSM) -> list[Any]:
    paid = asset(place, amount)
    return [
        {incoming: [paid]},
        "ClearOrigin",
        {"BuyExecution": {"fees": paid, "weight_limit": "Unlimited"}},
        {"DepositAsset": {"assets": {"Wild": {"AllCounted": 1}}, "beneficiary": location(BOB_KEY)}},
        {"SetTopic": b"\7" * 32},
    ]


def exported(network: Any, program: list[Any]) -> tuple[Any, Any]:
    """Return what goes to the Bridge Hub."""
    destination = {"X1": [{"Parachain": 1000}]}
    export = {"network": network, "destination": destination, "xcm": program}
    unpaid = {"UnpaidExecution": {"weight_limit": "Unlimited", "check_origin": None}}
    message = {"V5": [unpaid, {"ExportMessage": export}, {"SetTopic": b"\7" * 32}]}
    return {"parents": 1, "interior": {"X1": [{"Parachain": 1002}]}}, message


#: A transfer of WUD from Polkadot's Asset Hub, as polkadot.js makes it.
TO_ETHEREUM = (
    "0x1f0d05020109070405040002043205a6e901000007341cdcdf0201050002043205a6e90100"
    "0105040d010204000103008ba1f109551bd432803012645ac136ddd64dba7200"
)
DELIVERY, EXECUTION, FEE = 400_000_000, 414_400_000, 160_000_000


def configure(hub: FakeChain, place: Any, *reserves: str) -> None:
    value = [
        {"reserve": shape_location(read_location(text), 5), "teleportable": False}
        for text in reserves
    ]
    hub.store("ForeignAssets", "Reserves", place, value=value)


@pytest.fixture
def network(tmp_path: Path) -> Iterator[FakeNetwork]:
    """KSM goes home from the Asset Hub of Polkadot to that of Kusama."""
    with FakeNetwork(tmp_path, HUBS) as network:
        hub, other = (network.chains[name] for name in HUBS)
        minted = {"Balances": {"Minted": {"who": BOB_KEY, "amount": KSM - EXECUTION}}}
        hub.api.update(
            DryRunApi_dry_run_call=call_effects(exported("Kusama", program("WithdrawAsset", HERE))),
            TransactionPaymentApi_query_info=info(FEE),
            XcmPaymentApi_query_delivery_fees={"Ok": {"V5": [asset(HERE, DELIVERY)]}},
            TrustedQueryApi_is_trusted_reserve={"Ok": True},
        )
        hub.store("System", "Account", ALICE_KEY, value=account(5 * 10**10))
        for place in (KUSAMA, AAVE):
            hub.store("ForeignAssets", "Asset", place, value=FOREIGN_ASSET)
            hub.store("ForeignAssets", "Account", place, ALICE_KEY, value=held(10 * KSM))
        configure(hub, KUSAMA, "2/GlobalConsensus(Kusama)/Parachain(1000)")
        configure(hub, AAVE, "2/GlobalConsensus(Ethereum:1)")
        configure(other, AAVE, "2/GlobalConsensus(Polkadot)/Parachain(1000)")
        configure(other, POLKADOT, "2/GlobalConsensus(Polkadot)/Parachain(1000)")
        other.api.update(
            DryRunApi_dry_run_xcm=message_effects(minted),
            XcmPaymentApi_query_xcm_weight={"Ok": {"ref_time": 600, "proof_size": 8000}},
            XcmPaymentApi_query_weight_to_asset_fee={"Ok": EXECUTION},
            XcmPaymentApi_query_acceptable_payment_assets={"Ok": [{"V5": HERE}]},
            TrustedQueryApi_is_trusted_reserve={"Ok": True},
        )
        yield network


#: Of a foreign asset on the Asset Hub.


def held(balance: int) -> dict[str, Any]:
    return {"balance": balance, "status": "Liquid", "reason": "Consumer", "extra": None}


Try = Callable[..., dict[str, Any]]


@pytest.fixture
def check(network: FakeNetwork, scenarioctl: Run) -> Try:
    def run(*words: str, to: str = "assetHub_kusama") -> dict[str, Any]:
        ended = scenarioctl(
            *("--json", "--config", str(network.config), "tx", "check", "--sender", ALICE),
            *("--from", "assetHub", "--to", to, *words, "--destinationaddress", BOB),
        )
        answer: dict[str, Any] = json.loads(ended.out or ended.err)
        return {**answer, "exit": ended.code}

    return run


HOME = ("--asset", "2/GlobalConsensus(Kusama)", "--amount", f"{KSM}raw")


def test_a_check_follows_the_message_beyond_the_bridge_and_never_says_ok(
    network: FakeNetwork, check: Try
) -> None:
    answer = check(*HOME)

    assert (answer["verdict"], answer["exit"]) == ("unknown", 5)
    assert answer["reasons"] == [says("Polkadot Asset Hub", "Kusama Asset Hub")]
    assert [(step["chain"], step["what"], step["human"]) for step in answer["steps"]] == [
        ("assetHub", "leaves", "1 KSM"),
        ("assetHub", "transaction fee", "0.016 DOT"),
        ("assetHub", "delivery", "0.04 DOT"),
        ("assetHub_kusama", "execution", "0.0004144 KSM"),
        ("assetHub_kusama", "computed arrival", "0.9995856 KSM"),
        ("assetHub_kusama", "arrives", "0.9995856 KSM"),
    ]
    hub, other = (network.chains[name] for name in HUBS)
    _, arguments = next(each for each in other.asked if each[0] == "DryRunApi_dry_run_xcm")
    origin_type, message_type = (
        field.type_id for field in other.table.api_method("DryRunApi", "dry_run_xcm").inputs
    )
    origin, at = other.table.decode_at(origin_type, arguments, 0)
    message, _ = other.table.decode_at(message_type, arguments, at)
    assert origin == {"V5": {"parents": 1, "interior": {"X1": [{"Parachain": 1002}]}}}
    assert message["V5"][:3] == [
        {"DescendOrigin": {"X1": [{"PalletInstance": 53}]}},
        {"UniversalOrigin": {"GlobalConsensus": "Polkadot"}},
        {"DescendOrigin": {"X1": [{"Parachain": 1000}]}},
    ]
    assert message["V5"][3:] == program("WithdrawAsset", HERE)
    # Delivery costs what the message to the other side costs, not the one to the Bridge Hub.
    asked = [data for name, data in hub.asked if name == "XcmPaymentApi_query_delivery_fees"]
    place_type, sent_type, _ = (
        field.type_id
        for field in hub.table.api_method("XcmPaymentApi", "query_delivery_fees").inputs
    )
    place, at = hub.table.decode_at(place_type, asked[-1], 0)
    sent, _ = hub.table.decode_at(sent_type, asked[-1], at)
    beyond = {"X2": [{"GlobalConsensus": "Kusama"}, {"Parachain": 1000}]}
    assert (place, sent) == (
        {"V5": {"parents": 2, "interior": beyond}},
        {"V5": program("WithdrawAsset", HERE)},
    )


def test_a_message_that_fails_beyond_the_bridge_is_refused(
    network: FakeNetwork, check: Try
) -> None:
    failed = {
        "used": {"ref_time": 1, "proof_size": 1},
        "error": {"index": 5, "error": "TooExpensive"},
    }
    network.chains["assetHub_kusama"].api["DryRunApi_dry_run_xcm"] = message_effects(
        outcome={"Incomplete": failed}
    )

    answer = check(*HOME)

    assert (answer["verdict"], answer["exit"]) == ("refused", 6)


def test_an_asset_sent_in_the_wrong_form_is_refused(network: FakeNetwork, check: Try) -> None:
    wrong = exported("Kusama", program("ReserveAssetDeposited", HERE))
    network.chains["assetHub"].api["DryRunApi_dry_run_call"] = call_effects(wrong)

    answer = check(*HOME)

    assert answer["verdict"] == "refused"
    assert says("ReserveAssetDeposited", "Kusama Asset Hub") in answer["reasons"]


def test_an_asset_withdrawn_where_it_is_not_backed_is_refused(
    network: FakeNetwork, check: Try
) -> None:
    """Asset Hub backs DOT: sent home to Kusama, it would be taken from what others hold there."""
    wrong = exported("Kusama", program("WithdrawAsset", POLKADOT, 10**10))
    hub, other = (network.chains[name] for name in HUBS)
    hub.api["DryRunApi_dry_run_call"] = call_effects(wrong)
    other.api["XcmPaymentApi_query_acceptable_payment_assets"] = {
        "Ok": [{"V5": HERE}, {"V5": POLKADOT}]
    }
    other.api["XcmPaymentApi_query_weight_to_asset_fee"] = {"Ok": 10**7}
    other.store("ForeignAssets", "Asset", POLKADOT, value=FOREIGN_ASSET)

    answer = check("--asset", "DOT", "--amount", f"{10**10}raw")

    assert answer["verdict"] == "refused"
    assert says("WithdrawAsset", "DOT", "Kusama Asset Hub") in answer["reasons"]


def test_what_is_left_below_the_existential_deposit_is_refused(
    network: FakeNetwork, scenarioctl: Run
) -> None:
    little = (*HOME[:3], str(EXECUTION + 1))
    refused = build(network, scenarioctl, *little)
    accepted = build(network, scenarioctl, *little, "--accept-loss")
    network.chains["assetHub_kusama"].store("System", "Account", BOB_KEY, value=account(KSM))
    held = build(network, scenarioctl, *little)

    assert (refused.code, accepted.code, held.code) == (2, 0, 0)
    assert refused.err == says("existential deposit", "Kusama Asset Hub", "Send at least").printed
    assert says("existential deposit", "can't receive it") in accepted.err.splitlines()
    assert "existential deposit" not in held.err


def build(network: FakeNetwork, scenarioctl: Run, *words: str) -> Any:
    return scenarioctl(
        *("--config", str(network.config), "xcm", "asset-transfer", "--from", "assetHub"),
        *(
            "--to",
            "assetHub_kusama",
            "--destinationaddress",
            BOB,
            *words,
        ),
    )


def test_what_the_way_costs_is_told(network: FakeNetwork, scenarioctl: Run) -> None:
    ended = build(network, scenarioctl, *HOME)

    assert ended.code == 0
    warnings = [line for line in ended.err.splitlines() if line.startswith("Warning: ")]
    assert warnings == [
        says("minutes to hours"),
        says("0.0004144 KSM", "Kusama Asset Hub"),
        says("0.04 DOT", "Polkadot Asset Hub"),
    ]


@pytest.mark.parametrize(
    ("words", "change", "held_words"),
    [
        (
            HOME,
            ("assetHub", "TrustedQueryApi_is_trusted_reserve", {"Ok": False}),
            ("assetHub_kusama",),
        ),
        (
            ("--asset", "DOT", "--amount", "10000000000raw"),
            ("assetHub_kusama", "TrustedQueryApi_is_trusted_reserve", {"Ok": False}),
            ("assetHub_kusama",),
        ),
        (
            ("--asset", "DOT", "--amount", "10000000000raw"),
            (
                "assetHub_kusama",
                "XcmPaymentApi_query_acceptable_payment_assets",
                {"Ok": [{"V5": HERE}]},
            ),
            ("DOT",),
        ),
        (
            HOME,
            ("assetHub_kusama", "XcmPaymentApi_query_weight_to_asset_fee", {"Ok": KSM}),
            ("amount",),
        ),
        (
            HOME,
            ("assetHub_kusama", "XcmPaymentApi_query_xcm_weight", {"Err": "Unimplemented"}),
            ("KSM",),
        ),
    ],
    ids=["home not trusted", "not trusted", "takes no fees in it", "too small", "fee not told"],
)
def test_what_the_chains_do_not_allow_now_is_refused(
    network: FakeNetwork,
    scenarioctl: Run,
    words: tuple[str, ...],
    change: tuple[str, str, Any],
    held_words: tuple[str, ...],
) -> None:
    chain, name, value = change
    network.chains[chain].api[name] = value

    ended = build(network, scenarioctl, *words)

    assert ended.code != 0
    assert ended.err.strip().removeprefix("Error: ") == says(*held_words)


def test_a_little_of_the_native_asset_pays_for_an_asset_that_pays_no_fees_there(
    network: FakeNetwork, check: Try
) -> None:
    """AAVE and DOT leave together, and DOT buys the execution beyond the bridge."""
    other = network.chains["assetHub_kusama"]
    other.api["XcmPaymentApi_query_acceptable_payment_assets"] = {
        "Ok": [{"V5": HERE}, {"V5": POLKADOT}]
    }
    other.api["XcmPaymentApi_query_weight_to_asset_fee"] = {"Ok": 10**7}
    other.store("ForeignAssets", "Asset", POLKADOT, value={**FOREIGN_ASSET, "min_balance": 10**7})
    fee = 3 * 10**7

    answer = check(
        "--asset",
        f"2/GlobalConsensus(Ethereum:1)/AccountKey20({AAVE_CONTRACT})",
        "--amount",
        "5raw",
    )

    table = network.chains["assetHub"].table
    call = table.decode_call(bytes.fromhex(answer["txdata"][2:])[3:])
    arguments = call.args
    assert arguments["assets"]["V5"] == [asset(HERE, fee), asset(AAVE, 5)]
    assert arguments["assets_transfer_type"] == arguments["fees_transfer_type"] == "LocalReserve"
    assert arguments["remote_fees_id"] == {"V5": HERE}
    assert [
        (step["what"], step["human"]) for step in answer["steps"] if step["chain"] == "assetHub"
    ][:2] == [
        ("leaves", "0.000000000000000005 AAVE"),
        ("leaves", "0.003 DOT"),
    ]


@pytest.mark.parametrize(
    ("accepted", "held", "words"),
    [
        ([HERE], 10**12, ("AAVE", "DOT beside it could not pay")),
        ([HERE, POLKADOT], 10**7, ("0.003 DOT", "0.001 DOT")),
    ],
    ids=["pays no fees either", "too little of it"],
)  # fmt: skip
def test_nothing_is_checked_that_the_native_asset_could_not_pay_for(
    network: FakeNetwork, scenarioctl: Run, accepted: list[Any], held: int, words: tuple[str, ...]
) -> None:
    other = network.chains["assetHub_kusama"]
    other.api["XcmPaymentApi_query_acceptable_payment_assets"] = {
        "Ok": [{"V5": each} for each in accepted]
    }
    other.api["XcmPaymentApi_query_weight_to_asset_fee"] = {"Ok": 10**7}
    other.store("ForeignAssets", "Asset", POLKADOT, value={**FOREIGN_ASSET, "min_balance": 10**7})
    network.chains["assetHub"].store("System", "Account", ALICE_KEY, value=account(held))

    ended = scenarioctl(
        *("--config", str(network.config), "tx", "check", "--sender", ALICE, "--from", "assetHub"),
        *("--to", "assetHub_kusama", "--asset",
            f"2/GlobalConsensus(Ethereum:1)/AccountKey20({AAVE_CONTRACT})"),
        *("--amount", "5raw", "--destinationaddress", BOB),
    )  # fmt: skip

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.strip().removeprefix("Error: ") == says(*words)


def test_without_the_other_side_nothing_is_sent_that_it_must_price(
    network: FakeNetwork, scenarioctl: Run
) -> None:
    hub = network.chains["assetHub"]
    network.write(
        {
            "assetHub": {"endpoints": [hub.node.url]},
            "assetHub_kusama": {"endpoints": ["ws://127.0.0.1:1/"]},
        }
    )

    ended = build(network, scenarioctl, "--asset", "DOT", "--amount", "10000000000raw")

    assert ended.code != 0 and not ended.out


def test_the_status_of_a_transaction_says_that_its_message_crosses_the_bridge() -> None:
    place = "2/GlobalConsensus(Kusama)/Parachain(1000)"

    (arrival,) = expect_arrivals(
        [SentMessage(chain="", place=place, id="0x" + "07" * 32)], is_followed=True
    )

    assert (arrival["chain"], arrival["state"], arrival["settled"]) == (place, "unknown", True)
    assert arrival["reason"] == says("minutes to hours", place)


@pytest.mark.parametrize(
    ("place", "extra"),
    [
        (1003, ()),
        (1002, ({"Transact": {
            "origin_kind": "Xcm", "fallback_max_weight": None, "call": {"encoded": b""},
        }},)),
    ],
    ids=["not a Bridge Hub", "more than a router writes"],
)  # fmt: skip
def test_only_what_a_router_writes_to_a_bridge_hub_is_followed_beyond_it(
    network: FakeNetwork, check: Try, place: int, extra: tuple[Any, ...]
) -> None:
    _, message = exported("Kusama", program("WithdrawAsset", HERE))
    where = {"parents": 1, "interior": {"X1": [{"Parachain": place}]}}
    sent = (where, {"V5": [*message["V5"], *extra]})
    network.chains["assetHub"].api["DryRunApi_dry_run_call"] = call_effects(sent)

    answer = check(*HOME)

    assert answer["verdict"] == "unknown"
    assert "assetHub_kusama" not in {stop["chain"] for stop in answer["stops"]}


@pytest.mark.parametrize("beyond", [{"ByGenesis": bytes(32)}, {"Ethereum": {"chain_id": 1}}])
def test_what_goes_over_a_bridge_to_a_network_that_is_not_known_is_unknown(
    network: FakeNetwork, check: Try, beyond: dict[str, Any]
) -> None:
    sent = exported(beyond, program("WithdrawAsset", HERE))
    sent[1]["V5"][1]["ExportMessage"]["destination"] = "Here"
    network.chains["assetHub"].api["DryRunApi_dry_run_call"] = call_effects(sent)

    answer = check(*HOME)

    assert answer["verdict"] == "unknown"


@pytest.mark.parametrize("asked", ["assetHub", "assetHub_kusama"])
def test_another_reserve_on_either_asset_hub_is_refused(
    network: FakeNetwork, check: Try, asked: str
) -> None:
    configure(network.chains[asked], AAVE, "1/Parachain(2034)")

    answer = check(
        "--asset",
        f"2/GlobalConsensus(Ethereum:1)/AccountKey20({AAVE_CONTRACT})",
        "--amount",
        "5raw",
    )

    assert answer["error"] == says("AAVE", "its reserve on", asked, "has 1/Parachain(2034)")


def test_a_call_over_the_bridge_names_the_chain_beyond_it(scenarioctl: Run) -> None:
    ended = scenarioctl("--offline", "--json", "tx", "decode", "--chain", "assetHub_kusama", SENT)

    assert json.loads(ended.out)["says"] == says(
        "over the bridge to Polkadot Asset Hub", "1 KSM", ALICE
    )


def test_a_call_to_ethereum_is_told_in_words(scenarioctl: Run) -> None:
    ended = scenarioctl("--offline", "--json", "tx", "decode", "--chain", "assetHub", TO_ETHEREUM)

    assert json.loads(ended.out)["says"] == says(
        "to Ethereum", "WUD", "0x8ba1f109551bD432803012645Ac136ddd64DBA72"
    )


def test_a_chain_is_shown_with_its_routes_over_the_bridge(scenarioctl: Run) -> None:
    shown = json.loads(scenarioctl("--json", "chain", "show", "assetHub").out)

    for way in ("routes_out", "routes_in"):
        counts = {row["chain"]: len(row["assets"]) for row in shown[way]}
        assert counts["assetHub_kusama"] == 28
        assert "kusama" not in counts


USDC, USDT = (
    read_location(
        f"2/GlobalConsensus(Polkadot)/Parachain(1000)/PalletInstance(50)/GeneralIndex({id})"
    )
    for id in (1337, 1984)
)
#: What the Asset Hub of Kusama takes of it.
USDC_FEE = 20_000


@pytest.fixture
def usdc(network: FakeNetwork, scenarioctl: Run) -> Callable[[], Any]:
    """USDC goes from the Asset Hub of Polkadot to that of Kusama, as only one registry has it."""
    hub, other = (network.chains[name] for name in HUBS)
    balance = {"balance": 10**9, "status": "Liquid", "reason": "Consumer", "extra": None}
    hub.store("Assets", "Account", 1337, ALICE_KEY, value=balance)
    other.store("ForeignAssets", "Asset", USDC, value=FOREIGN_ASSET)
    named = {
        "deposit": 0,
        "name": b"USD Coin",
        "symbol": b"USDC",
        "decimals": 6,
        "is_frozen": False,
    }
    other.store("ForeignAssets", "Metadata", USDC, value=named)
    configure(other, USDC, "2/GlobalConsensus(Polkadot)/Parachain(1000)")
    issued = {
        "ForeignAssets": {
            "Issued": {"asset_id": USDC, "owner": BOB_KEY, "amount": 10**6 - USDC_FEE}
        }
    }
    other.api.update(
        DryRunApi_dry_run_xcm=message_effects(issued),
        XcmPaymentApi_query_acceptable_payment_assets={"Ok": [{"V5": USDC}]},
        XcmPaymentApi_query_weight_to_asset_fee={"Ok": USDC_FEE},
    )
    return lambda: build(network, scenarioctl, "--asset", "1337", "--amount", "1000000raw")


def test_what_one_registry_has_crosses_if_the_other_asset_hub_has_it_too(
    network: FakeNetwork, usdc: Callable[[], Any]
) -> None:
    ended = usdc()

    assert ended.code == 0, ended.err
    call = bundled("assetHub").decode_call(bytes.fromhex(ended.out.strip()[2:])[3:])
    assert call.args["assets_transfer_type"] == "LocalReserve"
    other = network.chains["assetHub_kusama"]
    ((_, data),) = [each for each in other.asked if each[0] == "DryRunApi_dry_run_xcm"]
    _, message_type = (
        each.type_id for each in other.table.api_method("DryRunApi", "dry_run_xcm").inputs
    )
    _, at = other.table.decode_at(
        other.table.api_method("DryRunApi", "dry_run_xcm").inputs[0].type_id, data, 0
    )
    message, _ = other.table.decode_at(message_type, data, at)
    assert message["V5"][:-1] == [
        *message["V5"][:3],
        *program("ReserveAssetDeposited", USDC, 10**6)[:-1],
    ]


def test_a_symbol_that_is_a_look_alikes_there_is_compared_as_the_source_has_it(
    network: FakeNetwork, scenarioctl: Run, usdc: Callable[[], Any]
) -> None:
    """The Asset Hub of Kusama has a USDt of its own."""
    hub, other = (network.chains[name] for name in HUBS)
    hub.store("Assets", "Account", 1984, ALICE_KEY, value=held(10**9))
    other.store("ForeignAssets", "Asset", USDT, value=FOREIGN_ASSET)
    configure(other, USDT, "2/GlobalConsensus(Polkadot)/Parachain(1000)")
    issued = {
        "ForeignAssets": {
            "Issued": {"asset_id": USDT, "owner": BOB_KEY, "amount": 10**6 - USDC_FEE}
        }
    }
    other.api.update(
        DryRunApi_dry_run_xcm=message_effects(issued),
        XcmPaymentApi_query_acceptable_payment_assets={"Ok": [{"V5": USDT}]},
    )
    codes = []
    for symbol in (b"USDt", b"USDC"):
        named = {
            "deposit": 0,
            "name": b"Tether",
            "symbol": symbol,
            "decimals": 6,
            "is_frozen": False,
        }
        other.store("ForeignAssets", "Metadata", USDT, value=named)
        codes.append(build(network, scenarioctl, "--asset", "1984", "--amount", "1000000raw").code)

    assert codes == [0, 2]


def _named(symbol: bytes, decimals: int) -> Callable[[FakeChain], None]:
    value = {"deposit": 0, "name": b"", "symbol": symbol, "decimals": decimals, "is_frozen": False}
    return lambda other: other.store("ForeignAssets", "Metadata", USDC, value=value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda other: other.store(
                "ForeignAssets", "Asset", USDC, value={**FOREIGN_ASSET, "status": "Frozen"}
            ),
            ("Kusama Asset Hub", "ForeignAssets.Asset"),
        ),
        (_named(b"USDT", 6), ("USDT", "USDC")),
        (_named(b"USDC", 18), ("18", "USDC", "6")),
        (
            lambda other: configure(other, USDC, "1/Parachain(2000)"),
            ("reserve", "1/Parachain(2000)"),
        ),
        (
            lambda other: other.api.update(DryRunApi_dry_run_xcm=message_effects()),
            ("Kusama Asset Hub", "credit", "receiver"),
        ),
        (
            lambda other: other.api.update(DryRunApi_dry_run_xcm={"Err": "Unimplemented"}),
            ("Kusama Asset Hub", "Unimplemented"),
        ),
    ],
    ids=["frozen", "another symbol", "other decimals", "another reserve", "no credit", "not tried"],
)
def test_what_one_registry_has_is_refused_if_the_other_asset_hub_has_not(
    network: FakeNetwork,
    usdc: Callable[[], Any],
    change: Callable[[FakeChain], None],
    words: tuple[str, ...],
) -> None:
    change(network.chains["assetHub_kusama"])

    ended = usdc()

    assert ended.code != 0 and not ended.out
    assert ended.said == says("Error: ", "USDC", *words)
