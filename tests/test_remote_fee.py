"""An asset that goes along with a transfer, and pays for execution on the destination."""

import itertools
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarioctl.chains.assets import Asset
from scenarioctl.chains.locations import location_order, read_location
from scenarioctl.errors import ChainUnreachable, InvalidRequest
from scenarioctl.transactions.transfer.build import build_transfer
from scenarioctl.transactions.transfer.plan import (
    arriving_message,
    build_candidate,
    make_plan,
    shape_location,
)
from scenarioctl.transactions.transfer.request import Transfer
from scenarioctl.transactions.transfer.routes import candidate_routes, check_route
from scenarioctl.transactions.transfer.ways import resolve
from tests.conftest import BOB as BOB_ADDRESS
from tests.conftest import Run
from tests.messages import says
from tests.network import FOREIGN_ASSET, FakeNetwork
from tests.runtimes import ASSETS, BOB, REGISTRY, bundled
from tests.test_check import (
    ALICE_KEY,
    BOB_KEY,
    DEX_TO_HUB,
    DOT,
    NATIVE_UP,
    USDT_ON_HUB,
    asset,
    call_effects,
    location,
    message_effects,
)
from tests.test_connected import WEIGHT_FEE, draft, network, registered, tokens

__all__ = ["network"]

WUD_ON_HUB = shape_location(read_location("0/PalletInstance(50)/GeneralIndex(31337)"), 5)
WUD_ON_DEX = shape_location(
    read_location("1/Parachain(1000)/PalletInstance(50)/GeneralIndex(31337)"), 5
)
AMOUNT = 10**16


def wanted(source: str, destination: str, asset: object, pays: object) -> Transfer:
    chain, to = REGISTRY.find(source), REGISTRY.find(destination)
    return Transfer(
        source=chain,
        destination=to,
        asset=ASSETS.find(chain, asset),
        amount=AMOUNT,
        beneficiary=BOB[: to.account_format.length],
        remote_fee_asset=ASSETS.find(chain, pays),
    )


@pytest.mark.parametrize(
    ("source", "destination", "asset", "pays", "words"),
    [
        ("hydraDx", "assetHub", 1000085, 0, ("remote_fee_asset HDX", "UntrustedReserveLocation")),
        (
            "hydraDx",
            "assetHub",
            10,
            1000085,
            ("remote_fee_asset 1000085", "not known to accept fees", "trap"),
        ),
        (
            "assetHub",
            "hydraDx",
            1984,
            31337,
            ("remote_fee_asset 31337", "not known to accept fees", "trap"),
        ),
        ("assetHub", "hydraDx", 31337, 50000075, ("remote_fee_asset 50000075", "only paraspell")),
        ("assetHub", "hydraDx", 31337, 4294967295, ("remote_fee_asset 4294967295", "hydraDx")),
        ("hydraDx", "assetHub", 1000085, 1000085, ("remote_fee_asset 1000085", "is sent")),
        ("hydraDx", "hydraDx", 5, 10, ("remote_fee_asset 10", "within Hydration")),
        ("hydraDx", "polkadot", 5, 10, ("remote_fee_asset 10", "Polkadot holds only DOT")),
        ("polkadot", "hydraDx", "DOT", "DOT", ("remote_fee_asset DOT", "is sent")),
        ("assetHub", "people", "DOT", 1984, ("remote_fee_asset 1984", "people")),
        ("assetHub", "assetHub_kusama", "DOT", 1984, ("remote_fee_asset 1984", "bridge")),
        ("assetHub", "mythos", "1/Parachain(3369)", "DOT", ("MYTH", "teleport")),
        ("assetHub", "unique", "DOT", 1984, ("Unique Network accepts", "only without")),
        ("assetHub", "energyWebX", "DOT", 1984, ("Energy Web X accepts", "only without")),
    ],
)
def test_what_cannot_pay_there_is_refused(
    source: str, destination: str, asset: object, pays: object, words: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        check_route(wanted(source, destination, asset, pays), ASSETS)

    assert str(refused.value) == says(*words)


def test_an_asset_of_another_chain_is_refused() -> None:
    other = ASSETS.find(REGISTRY.find("hydraDx"), 10)

    with pytest.raises(InvalidRequest) as refused:
        check_route(
            replace(wanted("assetHub", "hydraDx", 31337, 1984), remote_fee_asset=other), ASSETS
        )

    assert str(refused.value) == says("remote_fee_asset 10", "Polkadot Asset Hub")


def test_it_is_not_built_without_an_amount() -> None:
    with pytest.raises(InvalidRequest) as refused:
        build_transfer(
            wanted("assetHub", "hydraDx", 31337, 1984), bundled("assetHub"), assets=ASSETS
        )

    assert str(refused.value) == says("remote_fee_asset 1984", "Hydration", "amount")


def test_what_is_weighed_deposits_both() -> None:
    """What a deposit weighs depends on how many assets it says that there are."""
    asked, table = wanted("hydraDx", "assetHub", 1000085, 5), bundled("hydraDx")
    found = resolve(asked, REGISTRY)
    assert found is not None
    pays = asked.remote_fee_asset
    assert pays is not None
    plan = replace(make_plan(asked, found, table), beside=(pays, 1))
    named = arriving_message(plan)
    native = arriving_message(replace(plan, transfer=replace(asked, remote_fee_asset=None)))

    (program,) = named.values()
    deposit = next(item["DepositAsset"] for item in program if "DepositAsset" in item)
    assert deposit["assets"] == {"Wild": {"AllCounted": 2}}
    # DOT pays in both, so that both are the same message.
    assert native == named


def test_what_goes_another_way_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from scenarioctl.transactions.transfer import routes

    asked = wanted("assetHub", "hydraDx", 31337, 1984)
    found = resolve(asked, REGISTRY)
    assert found is not None

    def other_way(transfer: Transfer, registry: Any) -> Any:
        return found if transfer.remote_fee_asset is None else replace(found, first="Teleport")

    monkeypatch.setattr(routes, "resolve", other_way)
    with pytest.raises(InvalidRequest) as refused:
        check_route(asked, ASSETS)

    assert str(refused.value) == says("remote_fee_asset 1984", "LocalReserve", "Teleport", "WUD")


def test_the_check_opens_an_asset_that_only_one_source_lists() -> None:
    """BILL: its row opens by a check, and what pays for it has a row that opens always."""
    asked = wanted("assetHub", "hydraDx", 50000075, 1984)

    (route,) = candidate_routes(asked, ASSETS)
    pays = ASSETS.find(asked.source, 1984)
    opened = build_candidate(
        replace(make_plan(asked, route, bundled("assetHub")), beside=(pays, 20_000))
    )

    assert [item["fun"]["Fungible"] for item in opened.args["assets"]["V5"]] == [20_000, AMOUNT]


@pytest.mark.parametrize(
    ("source", "destination", "asset", "pays"),
    [
        # Not listed there, takes no fees there, and another reserve.
        ("assetHub", "hydraDx", 50000075, 4294967295),
        ("assetHub", "hydraDx", 50000075, 31337),
        # Of these, nobody but the runtimes knows the way.
        ("assetHub", "bifrost", "DOT", 1984),
        ("assetHub", "mythos", "1/Parachain(3369)", "DOT"),
    ],
)  # fmt: skip
def test_no_check_opens_a_route_of_what_pays(
    source: str, destination: str, asset: object, pays: object
) -> None:
    asked = wanted(source, destination, asset, pays)
    assert candidate_routes(replace(asked, remote_fee_asset=None), ASSETS)

    assert candidate_routes(asked, ASSETS) == ()


def test_locations_are_in_the_order_of_xcm() -> None:
    key = "0x" + "11" * 20
    ordered = [
        *("0/Here", "0/PalletInstance(2)", "0/PalletInstance(50)", "0/GeneralIndex(0)"),
        *("0/GeneralKey(0x09)", "0/GeneralKey(0x0001)", "0/PalletInstance(50)/GeneralIndex(255)"),
        *("0/PalletInstance(50)/GeneralIndex(256)", "0/PalletInstance(50)/GeneralIndex(31337)"),
        *("1/Here", "1/Parachain(1000)", "1/Parachain(2034)", f"1/AccountKey20({key})"),
        "1/Parachain(1000)/PalletInstance(50)/GeneralIndex(1984)",
        "2/GlobalConsensus(Polkadot)",
        "2/GlobalConsensus(Kusama)",
        "2/GlobalConsensus(Ethereum:1)",
        "2/GlobalConsensus(Ethereum:11155111)",
        f"2/GlobalConsensus(Ethereum:1)/AccountKey20({key})",
    ]

    for one, other in itertools.combinations(ordered, 2):
        assert location_order(one) < location_order(other), (one, other)


def payable(source: str, destination: str) -> list[Asset]:
    """Return the assets of *source* that may go to *destination* with another one beside them, or
    as that one."""
    chain, to = REGISTRY.find(source), REGISTRY.find(destination)
    found = []
    for each in ASSETS.all(chain):
        try:
            check_route(
                Transfer(source=chain, destination=to, asset=each, amount=1, beneficiary=BOB),
                ASSETS,
            )
        except InvalidRequest:
            continue
        found.append(each)
    return found


SENDABLE = {ends: payable(*ends) for ends in (("assetHub", "hydraDx"), ("hydraDx", "assetHub"))}


@given(
    data=st.data(),
    ends=st.sampled_from(sorted(SENDABLE)),
    amount=st.integers(1, 2**128 - 1),
    fee=st.integers(1, 2**128 - 1),
    version=st.sampled_from((3, 4, 5)),
)
def test_both_assets_leave_in_order_and_are_deposited_together(
    data: Any, ends: tuple[str, str], amount: int, fee: int, version: int
) -> None:
    sent, pays = (data.draw(st.sampled_from(SENDABLE[ends])) for _ in range(2))
    asked = replace(
        wanted(*ends, sent.id, pays.id), amount=amount, xcm_version=version, accept_loss=True
    )
    try:
        call = build_transfer(asked, bundled(ends[0]), assets=ASSETS, beside=(pays, fee)).call
    except InvalidRequest:
        arriving = ASSETS.counterpart(pays, asked.destination)
        assert sent == pays or (arriving is not None and arriving.pays_fees is False)
        return

    table = bundled(ends[0])
    read = table.decode_call(table.encode_call(call)).args

    assets = read["assets"][f"V{version}"]
    amounts = {json.dumps(_place(item), default=str): item["fun"]["Fungible"] for item in assets}
    fees = _place({"id": read["remote_fees_id"][f"V{version}"]})
    assert sorted(amounts.values()) == sorted((amount, fee))
    assert amounts[json.dumps(fees, default=str)] == fee
    assert read["assets_transfer_type"] == read["fees_transfer_type"]
    (deposit,) = read["custom_xcm_on_dest"][f"V{version}"]
    assert deposit["DepositAsset"]["assets"] == {"Wild": {"AllCounted": 2}}
    order = [
        (place["parents"], place["interior"] != "Here" and len(next(iter(place["interior"]))))
        for place in map(_place, assets)
    ]
    assert order == sorted(order)


def test_what_pays_is_asked_for_its_reserve_too(network: FakeNetwork) -> None:
    """Ether came over a bridge: the Asset Hub says what its reserve is now."""
    with pytest.raises(InvalidRequest) as refused:
        draft(
            network,
            "assetHub",
            "hydraDx",
            "31337",
            AMOUNT,
            remote_fee_asset="2/GlobalConsensus(Ethereum:1)",
        )

    assert str(refused.value) == says("ETH", "Polkadot Asset Hub", "ForeignAssets")


def _place(item: Mapping[str, Any]) -> Any:
    found = item["id"]
    return found.get("Concrete", found)


class TestConnected:
    FEE = 2 * WEIGHT_FEE + DOT // 100

    def arrives(
        self,
        network: FakeNetwork,
        *credits: Mapping[str, Any],
        amount: int = AMOUNT,
        also: Any = (),
    ) -> None:
        """Let *amount* of WUD go from Hydration to the Asset Hub with DOT beside it, and *credits*
        come of it.

        The message has *also* these instructions.
        """
        dex = network.chains["hydraDx"]
        dex.store("Tokens", "Accounts", ALICE_KEY, 5, value=tokens(10**10))
        dex.store("Tokens", "Accounts", ALICE_KEY, 1000085, value=tokens(2 * AMOUNT))
        dex.store("AssetRegistry", "Assets", 1000085, value=registered(10_000))
        dex.store("AssetRegistry", "Assets", 5, value=registered(17_540_000))
        message = {
            "V5": [
                {"WithdrawAsset": [asset(WUD_ON_HUB, amount), asset(NATIVE_UP, self.FEE)]},
                "ClearOrigin",
                {"BuyExecution": {"fees": asset(NATIVE_UP, self.FEE), "weight_limit": "Unlimited"}},
                *also,
                {
                    "DepositAsset": {
                        "assets": {"Wild": {"AllCounted": 2}},
                        "beneficiary": location(BOB_KEY),
                    }
                },
                {"SetTopic": b"\7" * 32},
            ]
        }
        dex.api["DryRunApi_dry_run_call"] = call_effects((DEX_TO_HUB, message))
        network.chains["assetHub"].api["DryRunApi_dry_run_xcm"] = message_effects(*credits)

    WUD: Mapping[str, Any] = {
        "Assets": {"Issued": {"asset_id": 31337, "owner": BOB_KEY, "amount": AMOUNT}}
    }

    def rest(self, amount: int) -> Mapping[str, Any]:
        return {"Balances": {"Minted": {"who": BOB_KEY, "amount": amount}}}

    def test_the_destination_is_asked_how_much_goes_along(self, network: FakeNetwork) -> None:
        transaction = draft(
            network, "hydraDx", "assetHub", "1000085", AMOUNT, remote_fee_asset="DOT"
        )

        assert transaction.call.args["assets"] == {
            "V5": [asset(NATIVE_UP, self.FEE), asset(WUD_ON_DEX, AMOUNT)]
        }
        assert transaction.call.args["remote_fees_id"] == {"V5": NATIVE_UP}
        hub = network.chains["assetHub"]
        weighed = dict(hub.asked)["XcmPaymentApi_query_xcm_weight"]
        type_id = hub.table.api_method("XcmPaymentApi", "query_xcm_weight").inputs[0].type_id
        first, *_ = hub.table.decode(type_id, weighed)["V5"]
        assert [item["id"] for item in first["WithdrawAsset"]] == [WUD_ON_HUB, NATIVE_UP]
        assert transaction.warnings == (says("0.0108 DOT", "Polkadot Asset Hub", "receiver's"),)

    def test_a_check_finds_the_credit_of_both(self, network: FakeNetwork) -> None:
        self.arrives(network, self.WUD, self.rest(self.FEE - WEIGHT_FEE))

        transaction = draft(
            network, "hydraDx", "assetHub", "1000085", AMOUNT, ALICE_KEY, remote_fee_asset="DOT"
        )

        check = transaction.check
        assert check is not None
        assert (check.verdict, check.reasons, check.warnings) == ("ok", (), ())
        assert check.computed == check.credited
        assert [
            (step.what, str(step.amount)) for step in check.steps if step.chain == "assetHub"
        ] == [
            ("execution", "0.0004 DOT"),
            ("computed arrival", "1000000 WUD (asset 31337, symbol not verified)"),
            ("arrives", "1000000 WUD (asset 31337, symbol not verified)"),
            ("computed arrival", "0.0104 DOT"),
            ("arrives", "0.0104 DOT"),
        ]
        assert transaction.warnings == (says("0.0108 DOT", "Polkadot Asset Hub", "receiver's"),)

    @pytest.mark.parametrize(
        ("rest", "verdict", "words"),
        [(0, "refused", ("DOT", "no")), (77, "unknown", ("DOT", "assetHub", "nobody"))],
    )
    def test_a_check_objects_if_what_is_left_does_not_arrive(
        self, network: FakeNetwork, rest: int, verdict: str, words: tuple[str, ...]
    ) -> None:
        self.arrives(network, self.WUD, *([self.rest(rest)] if rest else []))

        transaction = draft(
            network, "hydraDx", "assetHub", "1000085", AMOUNT, ALICE_KEY, remote_fee_asset="DOT"
        )

        assert transaction.check is not None
        assert transaction.check.verdict == verdict
        assert transaction.check.reasons == (says(*words),)

    def test_a_sender_without_it_is_told_how_much_it_takes(self, network: FakeNetwork) -> None:
        with pytest.raises(InvalidRequest) as refused:
            draft(
                network, "hydraDx", "assetHub", "1000085", AMOUNT, ALICE_KEY, remote_fee_asset="DOT"
            )

        assert str(refused.value) == says("remote_fee_asset 5", "0.0108 DOT", "0 DOT", "Hydration")

    def test_an_asset_in_which_it_takes_no_fees_now_is_refused(self, network: FakeNetwork) -> None:
        with pytest.raises(InvalidRequest) as refused:
            draft(network, "hydraDx", "assetHub", "1000085", AMOUNT, remote_fee_asset="10")

        assert str(refused.value) == says(
            "remote_fee_asset 10", "Polkadot Asset Hub takes no fees", "trapped"
        )

    def test_where_it_cannot_be_asked_nothing_is_built(self, network: FakeNetwork) -> None:
        network.chains["assetHub"].api["XcmPaymentApi_query_weight_to_asset_fee"] = {
            "Err": "AssetNotFound"
        }

        with pytest.raises(ChainUnreachable) as refused:
            draft(network, "hydraDx", "assetHub", "1000085", AMOUNT, remote_fee_asset="DOT")

        assert str(refused.value) == says(
            "remote_fee_asset 5", "Polkadot Asset Hub", "AssetNotFound"
        )

    def test_a_new_account_may_hold_only_what_pays(self, network: FakeNetwork) -> None:
        """USDT alone keeps an account alive, but lets it hold no asset like WUD."""
        hub = network.chains["assetHub"]
        hub.api["XcmPaymentApi_query_acceptable_payment_assets"] = {"Ok": [{"V5": USDT_ON_HUB}]}
        known = {**FOREIGN_ASSET, "min_balance": 10_000, "is_sufficient": True}
        hub.store("Assets", "Asset", 1984, value=known)

        transaction = draft(
            network, "hydraDx", "assetHub", "1000085", AMOUNT, remote_fee_asset="10"
        )

        assert transaction.warnings == (
            says("no DOT", "Polkadot Asset Hub", "WUD", "trapped"),
            says("8.01 USDT", "Polkadot Asset Hub", "receiver's"),
        )

    @pytest.mark.parametrize("amount", [1, 10**8])
    def test_nothing_is_taken_of_what_another_asset_pays_for(
        self, network: FakeNetwork, amount: int
    ) -> None:
        """WUD keeps no account alive: below its deposit it is lost, above it all of it arrives."""
        if amount == 1:
            with pytest.raises(InvalidRequest) as refused:
                draft(network, "hydraDx", "assetHub", "1000085", amount, remote_fee_asset="DOT")
            assert str(refused.value) == says("existential deposit", "Send at least")
            return

        transaction = draft(
            network, "hydraDx", "assetHub", "1000085", amount, remote_fee_asset="DOT"
        )

        assert len(transaction.warnings) == 1


class TestScenarios:
    FIELDS = ("--from", "assetHub", "--to", "hydraDx", "--asset", "31337", "--amount", "1000000")

    def test_a_scenario_keeps_it_and_a_draft_asks(self, scenarioctl: Run) -> None:
        created = scenarioctl(
            "--offline", "create", "scenario", *self.FIELDS, "--destination-address", BOB_ADDRESS,
            "--remote-fee-asset", "1984",
        )  # fmt: skip
        assert created.code == 0
        id = created.out.strip()

        shown = scenarioctl("scenario", "show", id)
        listed = json.loads(scenarioctl("--json", "scenario", "list").out)
        flow = scenarioctl("scenario", "export", id, "--as", "flow")
        drafted = scenarioctl("--offline", "scenario", "full", id)

        assert "with a little USDt" in created.err
        assert "with a little USDt that pays the fee there" in shown.out + shown.err
        assert "with a little USDt" in listed["scenarios"][0]["title"]
        assert 'remote_fee_asset = "1984"' in flow.out
        assert drafted.code == 5
        assert drafted.err.strip() == says("Error: ", "USDt", "Hydration", "offline")
