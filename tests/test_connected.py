"""Transfers whose form depends on what the chains say: the last hop's fee, what pays on the Asset
Hub, what may open."""

import json
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.chains.locations import read_location
from scenarioctl.config import load_settings
from scenarioctl.errors import ChainUnreachable, InvalidRequest
from scenarioctl.model.calls import UnsignedTransaction
from scenarioctl.transactions.connected_transfer import TransferBuilder
from scenarioctl.transactions.transfer.plan import shape_location
from scenarioctl.transactions.transfer.request import Transfer
from tests.conftest import BOB, Run
from tests.messages import says
from tests.network import FOREIGN_ASSET, FakeNetwork, call_tried, table_of
from tests.node import Refusal
from tests.runner import finish
from tests.test_check import (
    ALICE,
    ALICE_KEY,
    BOB_KEY,
    DEX_TO_HUB,
    DOT,
    NATIVE_UP,
    USDT_ON_HUB,
    account,
    asset,
    call_effects,
    incomplete,
    info,
    location,
    message_effects,
)


def place(text: str) -> Any:
    return shape_location(read_location(text), 5)


USDT_ON_DEX = {
    "parents": 1,
    "interior": {"X3": [{"Parachain": 1000}, {"PalletInstance": 50}, {"GeneralIndex": 1984}]},
}
BILL_ON_HUB = {
    "parents": 0,
    "interior": {"X2": [{"PalletInstance": 50}, {"GeneralIndex": 50000075}]},
}
HDX_ON_HUB = {"parents": 1, "interior": {"X2": [{"Parachain": 2034}, {"GeneralIndex": 0}]}}
WEIGHT_FEE = 4_000_000


@pytest.fixture
def network(network: FakeNetwork) -> FakeNetwork:
    for chain in network.chains.values():
        chain.api.update(
            XcmPaymentApi_query_xcm_weight={"Ok": {"ref_time": 600, "proof_size": 8000}},
            XcmPaymentApi_query_weight_to_asset_fee={"Ok": WEIGHT_FEE},
            XcmPaymentApi_query_delivery_fees={"Ok": {"V5": []}},
            XcmPaymentApi_query_acceptable_payment_assets={"Ok": [{"V5": NATIVE_UP}]},
            TransactionPaymentApi_query_info=info(1000),
        )
        chain.store("System", "Account", ALICE_KEY, value=account(10**16))
    return network


def draft(
    network: FakeNetwork,
    source: str,
    destination: str,
    asset_id: str,
    amount: int,
    sender: bytes | None = None,
    remote_fee_asset: str = "",
) -> UnsignedTransaction:
    from scenarioctl.actions.drafting import draft_transfer
    from scenarioctl.transactions.transfer.request import Transfer

    app = Application(load_settings({"config": str(network.config)}, {}))
    chain = app.registry.find(source)
    try:
        return finish(
            draft_transfer(
                app,
                Transfer(
                    source=chain,
                    destination=app.registry.find(destination),
                    asset=app.assets.find(chain, asset_id),
                    amount=amount,
                    beneficiary=BOB_KEY,
                    remote_fee_asset=app.assets.find(chain, remote_fee_asset)
                    if remote_fee_asset
                    else None,
                ),
                sender=sender,
            )
        )
    finally:
        finish(app.close())


class TestLastHopFee:
    @pytest.mark.parametrize(
        ("source", "destination", "asset_id", "incoming", "place"),
        [("polkadot", "hydraDx", "DOT", "ReserveAssetDeposited", NATIVE_UP)],
    )
    def test_twice_what_its_message_would_take_is_set_aside(
        self,
        network: FakeNetwork,
        source: str,
        destination: str,
        asset_id: str,
        incoming: str,
        place: Any,
    ) -> None:
        transaction = draft(network, source, destination, asset_id, 3 * DOT)

        onward = next(iter(transaction.call.args["custom_xcm_on_dest"]["V5"][0].values()))
        fee = onward["xcm"][0]["BuyExecution"]["fees"]
        assert fee == asset(place, 2 * WEIGHT_FEE)
        assert transaction.warnings == ()
        last = network.chains[destination]
        weighed = dict(last.asked)["XcmPaymentApi_query_xcm_weight"]
        type_id = last.table.api_method("XcmPaymentApi", "query_xcm_weight").inputs[0].type_id
        assert [
            next(iter(item)) if isinstance(item, dict) else item
            for item in last.table.decode(type_id, weighed)["V5"]
        ] == [incoming, "ClearOrigin", "BuyExecution", "DepositAsset", "SetTopic"]

    def test_an_amount_that_the_fee_would_eat_is_refused(self, network: FakeNetwork) -> None:
        with pytest.raises(InvalidRequest) as refused:
            draft(network, "polkadot", "hydraDx", "DOT", 2 * WEIGHT_FEE)

        assert str(refused.value) == says("amount", "0.0008", "DOT", "Hydration")

    def test_a_chain_that_does_not_tell_it_is_named(self, network: FakeNetwork) -> None:
        network.chains["hydraDx"].api["XcmPaymentApi_query_weight_to_asset_fee"] = {
            "Err": "AssetNotFound"
        }

        with pytest.raises(ChainUnreachable) as refused:
            draft(network, "polkadot", "hydraDx", "DOT", DOT)

        assert str(refused.value) == says(
            "Hydration", "XcmPaymentApi_query_weight_to_asset_fee", "AssetNotFound", "offline"
        )

    def test_other_routes_ask_no_other_chain(self, network: FakeNetwork) -> None:
        draft(network, "polkadot", "assetHub", "DOT", DOT)

        assert [name for name, chain in network.chains.items() if chain.node.asked] == ["polkadot"]


class TestFeeOnTheAssetHub:
    def test_an_asset_that_pays_goes_alone_and_without_a_warning(
        self, network: FakeNetwork
    ) -> None:
        network.chains["assetHub"].api["XcmPaymentApi_query_acceptable_payment_assets"] = {
            "Ok": [{"V5": NATIVE_UP}, {"V5": USDT_ON_HUB}]
        }

        transaction = draft(network, "hydraDx", "assetHub", "10", 10**8)

        assert transaction.call.args["assets"] == {"V5": [asset(USDT_ON_DEX, 10**8)]}
        assert transaction.warnings == ()

    def test_an_asset_that_does_not_pay_is_refused_with_the_remedy(
        self, network: FakeNetwork
    ) -> None:
        with pytest.raises(InvalidRequest) as refused:
            draft(network, "hydraDx", "assetHub", "10", 10**8)

        assert str(refused.value) == says(
            *("USDT", "Hydration", "Polkadot Asset Hub", "check", "sender"),
            "remote_fee_asset",
        )

    def test_where_it_cannot_be_asked_the_plain_form_comes_with_its_warning(
        self, network: FakeNetwork
    ) -> None:
        network.cut("assetHub")

        transaction = draft(network, "hydraDx", "assetHub", "10", 10**8)

        assert transaction.call.args["assets"] == {"V5": [asset(USDT_ON_DEX, 10**8)]}
        assert transaction.warnings == (
            says("Polkadot Asset Hub takes its fee", "USDT", "trapped"),
        )

    def test_a_little_native_beside_it_pays_and_the_rest_of_it_arrives_too(
        self, network: FakeNetwork
    ) -> None:
        self.accept_two_assets(network)
        network.chains["hydraDx"].store("Tokens", "Accounts", ALICE_KEY, 5, value=tokens(10**10))
        network.chains["hydraDx"].store("Tokens", "Accounts", ALICE_KEY, 10, value=tokens(10**9))
        network.chains["hydraDx"].store("AssetRegistry", "Assets", 10, value=registered(10_000))
        network.chains["hydraDx"].store("AssetRegistry", "Assets", 5, value=registered(17_540_000))

        transaction = draft(network, "hydraDx", "assetHub", "10", 10**8, ALICE_KEY)

        fee = 2 * WEIGHT_FEE + DOT // 100
        args = table_of("hydraDx").decode_call(transaction.call_data).args
        assert args["assets"] == {"V5": [asset(NATIVE_UP, fee), asset(USDT_ON_DEX, 10**8)]}
        assert args["remote_fees_id"] == {"V5": NATIVE_UP}
        check = transaction.check
        assert check is not None
        assert (check.verdict, check.reasons, check.warnings) == ("ok", (), ())
        assert check.computed == check.credited
        assert check.computed is not None
        assert check.computed.human == "100 USDt"
        assert transaction.warnings == (says("0.0108", "DOT", "Polkadot Asset Hub", "USDT"),)

    def test_a_sender_without_the_native_asset_is_told_what_is_missing(
        self, network: FakeNetwork
    ) -> None:
        with pytest.raises(InvalidRequest) as refused:
            draft(network, "hydraDx", "assetHub", "10", 10**8, ALICE_KEY)

        assert str(refused.value) == says(
            "USDT", "Hydration", "Polkadot Asset Hub", "0.0108", "DOT"
        )

    @staticmethod
    def accept_two_assets(network: FakeNetwork) -> None:
        fee = 2 * WEIGHT_FEE + DOT // 100
        brought = [asset(USDT_ON_HUB, 10**8), asset(NATIVE_UP, fee)]
        message = {
            "V5": [
                {"WithdrawAsset": brought},
                "ClearOrigin",
                {"BuyExecution": {"fees": asset(NATIVE_UP, fee), "weight_limit": "Unlimited"}},
                {
                    "DepositAsset": {
                        "assets": {"Wild": {"AllCounted": 2}},
                        "beneficiary": location(BOB_KEY),
                    }
                },
                {"SetTopic": b"\7" * 32},
            ]
        }
        network.chains["hydraDx"].api["DryRunApi_dry_run_call"] = call_effects(
            (DEX_TO_HUB, message)
        )
        network.chains["assetHub"].api["DryRunApi_dry_run_xcm"] = message_effects(
            {"Assets": {"Issued": {"asset_id": 1984, "owner": BOB_KEY, "amount": 10**8}}},
            {"Balances": {"Minted": {"who": BOB_KEY, "amount": fee - WEIGHT_FEE}}},
        )


class TestRoutesThatOnlyADryRunOpens:
    AMOUNT = 10**15
    WANTED = (
        *("--from", "hydraDx", "--to", "assetHub", "--assetid", "HDX", "--amount", f"{AMOUNT}raw"),
    )

    def answers(
        self, network: FakeNetwork, *, teleports: bool, teleport: Any, reserve: Any
    ) -> None:
        """Let Hydration and the Asset Hub answer to the two ways in which HDX might go, of which
        the Asset Hub takes one."""

        def dry_run(arguments: bytes) -> Any:
            call = call_tried(network.chains["hydraDx"].table, arguments)
            kind = call.args["assets_transfer_type"]
            incoming = "ReceiveTeleportedAsset" if kind == "Teleport" else "ReserveAssetDeposited"
            return call_effects((DEX_TO_HUB, self.message(incoming)))

        def dry_run_message(arguments: bytes) -> Any:
            table = network.chains["assetHub"].table
            location_type, message_type = table.api_method("DryRunApi", "dry_run_xcm").inputs
            _, start = table.decode_at(location_type.type_id, arguments, 0)
            message = table.decode_at(message_type.type_id, arguments, start)[0]["V5"]
            return teleport if "ReceiveTeleportedAsset" in message[0] else reserve

        network.chains["hydraDx"].api["DryRunApi_dry_run_call"] = dry_run
        network.chains["assetHub"].api |= {
            "DryRunApi_dry_run_xcm": dry_run_message,
            "TrustedQueryApi_is_trusted_teleporter": {"Ok": teleports},
        }

    def message(self, incoming: str) -> dict[str, Any]:
        fees = asset(HDX_ON_HUB, self.AMOUNT)
        return {
            "V5": [
                {incoming: [fees]},
                "ClearOrigin",
                {"BuyExecution": {"fees": fees, "weight_limit": "Unlimited"}},
                {
                    "DepositAsset": {
                        "assets": {"Wild": {"AllCounted": 1}},
                        "beneficiary": location(BOB_KEY),
                    }
                },
                {"SetTopic": b"\7" * 32},
            ]
        }

    def credited(self) -> dict[str, Any]:
        issued = {"asset_id": HDX_ON_HUB, "owner": BOB_KEY, "amount": self.AMOUNT - WEIGHT_FEE}
        return message_effects({"ForeignAssets": {"Issued": issued}})

    def test_without_a_check_they_stay_refused(self, network: FakeNetwork) -> None:
        self.answers(network, teleports=True, teleport=self.credited(), reserve=self.credited())

        with pytest.raises(InvalidRequest) as refused:
            draft(network, "hydraDx", "assetHub", "0", self.AMOUNT)

        assert "be lost on arrival (UntrustedReserveLocation)" in str(refused.value)

    @pytest.mark.parametrize(("teleports", "way"), [(True, "Teleport"), (False, "LocalReserve")])
    def test_the_way_that_the_asset_hub_takes_is_handed_out(
        self, network: FakeNetwork, teleports: bool, way: str
    ) -> None:
        """The dry run alone would take both."""
        self.answers(
            network, teleports=teleports, teleport=self.credited(), reserve=self.credited()
        )

        transaction = draft(network, "hydraDx", "assetHub", "0", self.AMOUNT, ALICE_KEY)

        assert transaction.check is not None
        assert (transaction.check.verdict, transaction.check.reasons) == ("ok", ())
        assert transaction.call.args["assets_transfer_type"] == way

    @pytest.mark.parametrize("verdict", ["ok", "refused", "unknown"])
    def test_nobody_gets_bytes_that_no_check_has_proven(
        self, network: FakeNetwork, scenarioctl: Run, verdict: str
    ) -> None:
        credit = message_effects() if verdict == "refused" else self.credited()
        self.answers(network, teleports=True, teleport=credit, reserve=message_effects())
        if verdict == "unknown":
            network.chains["assetHub"].api["DryRunApi_dry_run_xcm"] = {"Err": "Unimplemented"}

        ended = scenarioctl(
            *("--json", "--config", str(network.config), "tx", "check", *self.WANTED),
            *("--destinationaddress", BOB, "--sender", ALICE),
        )

        answer = json.loads(ended.out)
        assert answer["verdict"] == verdict
        assert ("txdata" in answer) == (verdict == "ok")


class TestWhatGoesAlongWithoutBeingNamed:
    """BILL from Hydration to the Asset Hub, by check: alone it would be trapped, with DOT beside it
    it arrives."""

    AMOUNT = 10**15
    FEE = 2 * WEIGHT_FEE + DOT // 100

    @pytest.fixture(autouse=True)
    def takes_dot(self, network: FakeNetwork) -> None:
        dex, hub = network.chains["hydraDx"], network.chains["assetHub"]
        dex.store("AssetRegistry", "Assets", 5, value=registered(17_540_000))
        dex.store("AssetRegistry", "Assets", 1000762, value=registered(1))
        dex.store("Tokens", "Accounts", ALICE_KEY, 1000762, value=tokens(10**16))
        dex.store("Tokens", "Accounts", ALICE_KEY, 5, value=tokens(10**10))
        dex.api["DryRunApi_dry_run_call"] = self.sends
        hub.api["DryRunApi_dry_run_xcm"] = self.takes
        hub.store("Assets", "Asset", 50000075, value={**FOREIGN_ASSET, "min_balance": 10**12})

    def sends(self, arguments: bytes) -> Any:
        call = call_tried(table_of("hydraDx"), arguments)
        amounts = [item["fun"]["Fungible"] for item in call.args["assets"]["V5"]]
        places = [NATIVE_UP, BILL_ON_HUB] if len(amounts) == 2 else [BILL_ON_HUB]
        # What an Asset Hub holds itself comes before what lives above it.
        brought = [asset(*item) for item in zip(places, amounts, strict=True)][::-1]
        message = {
            "V5": [
                {"WithdrawAsset": brought},
                "ClearOrigin",
                {"BuyExecution": {"fees": brought[-1], "weight_limit": "Unlimited"}},
                {
                    "DepositAsset": {
                        "assets": {"Wild": {"AllCounted": len(amounts)}},
                        "beneficiary": location(BOB_KEY),
                    }
                },
                {"SetTopic": b"\7" * 32},
            ]
        }
        return call_effects((DEX_TO_HUB, message))

    def takes(self, arguments: bytes) -> Any:
        table = table_of("assetHub")
        location_type, message_type = table.api_method("DryRunApi", "dry_run_xcm").inputs
        _, start = table.decode_at(location_type.type_id, arguments, 0)
        message = table.decode_at(message_type.type_id, arguments, start)[0]["V5"]
        if len(message[0]["WithdrawAsset"]) == 1:
            return message_effects(outcome=incomplete("TooExpensive"))
        return message_effects(
            {"Assets": {"Issued": {"asset_id": 50000075, "owner": BOB_KEY, "amount": self.AMOUNT}}},
            {"Balances": {"Minted": {"who": BOB_KEY, "amount": self.FEE - WEIGHT_FEE}}},
        )

    def test_it_is_told_with_what_leaves_and_what_arrives(self, network: FakeNetwork) -> None:
        transaction = draft(network, "hydraDx", "assetHub", "1000762", self.AMOUNT, ALICE_KEY)

        check = transaction.check
        assert check is not None
        assert (check.verdict, check.reasons) == ("ok", ())
        assert transaction.warnings == (says("0.0108 DOT", "Polkadot Asset Hub", "receiver"),)
        leaving = [step.amount.value for step in check.steps if step.what == "leaves"]
        assert leaving == [self.AMOUNT, self.FEE]

    def test_a_sender_who_lacks_it_is_told(self, network: FakeNetwork) -> None:
        network.chains["hydraDx"].store("Tokens", "Accounts", ALICE_KEY, 5, value=tokens(10**7))

        transaction = draft(network, "hydraDx", "assetHub", "1000762", self.AMOUNT, ALICE_KEY)

        check = transaction.check
        assert check is not None
        assert check.verdict == "refused"
        assert len(transaction.call.args["assets"]["V5"]) == 1
        assert check.reasons[-1] == says("with DOT beside it", "0.0108 DOT", "Hydration")

    def test_where_its_price_is_not_told_the_verdict_is_unknown(self, network: FakeNetwork) -> None:
        network.chains["assetHub"].api["XcmPaymentApi_query_weight_to_asset_fee"] = {
            "Err": "AssetNotFound"
        }

        transaction = draft(network, "hydraDx", "assetHub", "1000762", self.AMOUNT, ALICE_KEY)

        check = transaction.check
        assert check is not None
        assert check.verdict == "unknown"
        assert check.reasons[-1] == says(
            "with DOT beside it", "Polkadot Asset Hub", "AssetNotFound"
        )


def test_a_builder_checks_the_request_itself() -> None:
    """What asks for the largest amount gives it others than the one that was checked."""
    app = Application(load_settings({}, {}))
    relay = app.registry.find("polkadot")
    builder = TransferBuilder(
        clients=app.client,
        assets=app.assets,
        transfer=Transfer(
            source=relay,
            destination=app.registry.find("assetHub"),
            asset=app.assets.native(relay),
            amount=0,
            beneficiary=BOB_KEY,
        ),
        table=table_of("polkadot"),
        known_destination=None,
    )

    with pytest.raises(InvalidRequest) as refused:
        finish(builder.build())

    assert str(refused.value) == says("amount 0", "from 1 to")


def tokens(free: int) -> dict[str, int]:
    return {"free": free, "reserved": 0, "frozen": 0}


def registered(existential_deposit: int) -> dict[str, Any]:
    """Return an asset as Hydration's registry keeps it."""
    return {
        "name": b"it",
        "asset_type": "Token",
        "existential_deposit": existential_deposit,
        "symbol": b"IT",
        "decimals": 10,
        "xcm_rate_limit": None,
        "is_sufficient": True,
    }


class TestConfiguredReserve:
    """Asset Hub accepts a foreign asset from the reserves in `ForeignAssets.Reserves` alone."""

    ETHER = "2/GlobalConsensus(Ethereum:1)"
    WAYS = (("assetHub", "hydraDx", ETHER), ("hydraDx", "assetHub", "34"))

    def configure(self, network: FakeNetwork, *entries: tuple[str, bool]) -> None:
        network.chains["assetHub"].api["XcmPaymentApi_query_acceptable_payment_assets"] = {
            "Ok": [{"V5": NATIVE_UP}, {"V5": place(self.ETHER)}]
        }
        value = [
            {"reserve": place(where), "teleportable": teleports} for where, teleports in entries
        ]
        network.chains["assetHub"].store(
            "ForeignAssets", "Reserves", place(self.ETHER), value=value
        )

    @pytest.mark.parametrize("ends", WAYS)
    def test_with_the_reserve_of_its_facts_it_is_built(
        self, network: FakeNetwork, ends: tuple[str, str, str]
    ) -> None:
        self.configure(network, (self.ETHER, False))

        transaction = draft(network, *ends, 10**18)

        kind = "LocalReserve" if ends[0] == "assetHub" else "DestinationReserve"
        arguments = transaction.call.args
        assert transaction.call.method == "transfer_assets_using_type_and_then"
        assert arguments["assets_transfer_type"] == arguments["fees_transfer_type"] == kind
        assert arguments["assets"] == {"V5": [asset(place(self.ETHER), 10**18)]}

    @pytest.mark.parametrize("sender", [None, ALICE_KEY], ids=["unchecked", "checked"])
    @pytest.mark.parametrize("ends", WAYS, ids=["there", "back"])
    @pytest.mark.parametrize(
        ("entries", "told"),
        [
            ((), "none"),
            ((("1/Parachain(2034)", False),), "1/Parachain(2034)"),
            (((ETHER, True),), f"{ETHER} by teleport"),
            (((ETHER, False), ("1/Parachain(2034)", True)), "1/Parachain(2034) by teleport"),
        ],
    )
    def test_with_any_other_it_is_refused(
        self,
        network: FakeNetwork,
        entries: tuple[tuple[str, bool], ...],
        told: str,
        ends: tuple[str, str, str],
        sender: bytes | None,
    ) -> None:
        self.configure(network, *entries)

        with pytest.raises(InvalidRequest) as refused:
            draft(network, *ends, 10**18, sender)

        assert str(refused.value) == says("ETH", *ends[:2], "should be", self.ETHER, told)

    @pytest.mark.parametrize("ends", WAYS)
    def test_a_hub_that_does_not_answer_is_not_trusted(
        self, network: FakeNetwork, ends: tuple[str, str, str]
    ) -> None:
        def refuse(*_: Any) -> Any:
            raise Refusal(-32000, "busy")

        network.chains["assetHub"].node.answers["state_getStorage"] = refuse

        with pytest.raises(ChainUnreachable) as refused:
            draft(network, *ends, 10**18)

        assert "the reserve of ETH on Polkadot Asset Hub could not be asked for" in str(
            refused.value
        )
        assert "busy" in str(refused.value)
