"""What goes along with a transfer to pay on the destination: whether it is enough, and what the
receiver keeps of it."""

from collections.abc import Mapping
from typing import Any

import pytest

from scenarioctl.model.calls import UnsignedTransaction
from scenarioctl.model.checks import Check
from tests.conftest import BOB, Run
from tests.messages import says
from tests.network import FOREIGN_ASSET, FakeNetwork
from tests.test_check import (
    ALICE_KEY,
    BOB_KEY,
    DEX_TO_HUB,
    DOT,
    HUB_TO_DEX,
    NATIVE_UP,
    asset,
    call_effects,
    location,
    message_effects,
)
from tests.test_connected import WEIGHT_FEE, draft, network, registered, tokens
from tests.test_remote_fee import AMOUNT, WUD_ON_DEX, WUD_ON_HUB

__all__ = ["network"]

TREASURY = b"modlpy/trsry" + bytes(20)
WUD = 1000085
#: Of DOT on Hydration.
LEAST = 17_540_000
#: What a second of computing costs on Hydration in DOT and in HDX; and the deposit in HDX, as in
#: its runtime.
SECOND_IN_DOT, SECOND_IN_HDX = WEIGHT_FEE, 4 * 10**12
DEPOSIT_IN_HDX = 1_100_000_000_000
DEPOSIT = -(-DEPOSIT_IN_HDX * SECOND_IN_DOT // SECOND_IN_HDX)


def steps(check: Check, chain: str) -> list[tuple[str, int]]:
    return [(step.what, step.amount.value) for step in check.steps if step.chain == chain]


def program(brought: str, *assets: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "V5": [
            {brought: list(assets)},
            "ClearOrigin",
            {"BuyExecution": {"fees": assets[0], "weight_limit": "Unlimited"}},
            {
                "DepositAsset": {
                    "assets": {"Wild": {"AllCounted": 2}},
                    "beneficiary": location(BOB_KEY),
                }
            },
            {"SetTopic": b"\7" * 32},
        ]
    }


class TestReceiversOfHydration:
    """It takes a deposit of those who get an asset that keeps no account alive."""

    @pytest.fixture(autouse=True)
    def has_an_asset_that_is_not_sufficient(self, network: FakeNetwork) -> None:
        hub, dex = network.chains["assetHub"], network.chains["hydraDx"]
        held = {"balance": 2 * AMOUNT, "status": "Liquid", "reason": "Consumer", "extra": None}
        hub.store("Assets", "Asset", 31337, value={**FOREIGN_ASSET, "min_balance": 10**7})
        hub.store("Assets", "Account", 31337, ALICE_KEY, value=held)
        row = {**registered(2 * 10**14), "asset_type": "External", "is_sufficient": False}
        dex.store("AssetRegistry", "Assets", WUD, value=row)
        dex.store("AssetRegistry", "Assets", 5, value=registered(LEAST))
        dex.store("AssetRegistry", "AssetLocations", 5, value={"parents": 1, "interior": "Here"})
        dex.store("MultiTransactionPayment", "AcceptedCurrencies", 5, value=10**15)
        dex.api["TransactionPaymentApi_query_weight_to_fee"] = SECOND_IN_HDX

    def send(self, network: FakeNetwork, *, taken: int, currency: int = 5) -> UnsignedTransaction:
        """Draft a transfer of WUD that carries DOT enough, of which the receiver loses *taken*."""
        fee = 2 * WEIGHT_FEE + LEAST + 2 * DEPOSIT
        rest = fee - WEIGHT_FEE
        message = program("ReserveAssetDeposited", asset(NATIVE_UP, fee), asset(WUD_ON_DEX, AMOUNT))
        network.chains["assetHub"].api["DryRunApi_dry_run_call"] = call_effects(
            (HUB_TO_DEX, message)
        )
        deposit = {"from": BOB_KEY, "to": TREASURY, "amount": taken}
        native = {"Balances": {"Transfer": deposit}}
        network.chains["hydraDx"].api["DryRunApi_dry_run_xcm"] = message_effects(
            {"Tokens": {"Deposited": {"currency_id": 5, "who": BOB_KEY, "amount": rest}}},
            {"Tokens": {"Transfer": {"currency_id": currency, **deposit}}} if currency else native,
            {"Tokens": {"Deposited": {"currency_id": WUD, "who": BOB_KEY, "amount": AMOUNT}}},
        )
        return draft(
            network, "assetHub", "hydraDx", "31337", AMOUNT, ALICE_KEY, remote_fee_asset="DOT"
        )

    def test_twice_the_deposit_goes_along_too(self, network: FakeNetwork) -> None:
        transaction = draft(network, "assetHub", "hydraDx", "31337", AMOUNT, remote_fee_asset="DOT")

        _, pays = transaction.call.args["assets"]["V5"]
        assert pays == asset(NATIVE_UP, 2 * WEIGHT_FEE + LEAST + 2 * DEPOSIT)
        assert transaction.warnings[-1] == says(
            "holds no WUD", "Hydration", "deposit", "0.00011 DOT", "pay fees"
        )

    @pytest.mark.parametrize("held", ["free", "reserved"])
    def test_a_receiver_who_holds_some_pays_none(self, network: FakeNetwork, held: str) -> None:
        network.chains["hydraDx"].store(
            "Tokens", "Accounts", BOB_KEY, WUD, value={**tokens(0), held: 1}
        )

        transaction = draft(network, "assetHub", "hydraDx", "31337", AMOUNT, remote_fee_asset="DOT")

        _, pays = transaction.call.args["assets"]["V5"]
        assert pays == asset(NATIVE_UP, 2 * WEIGHT_FEE + LEAST)
        assert not any("deposit" in warning for warning in transaction.warnings)

    def test_a_deposit_that_takes_nearly_all_that_is_left_is_told(
        self, network: FakeNetwork
    ) -> None:
        transaction = self.send(network, taken=WEIGHT_FEE + LEAST)

        check = transaction.check
        assert check is not None
        assert check.warnings == (says("0.0004 DOT now", "deposit of 0.002154 DOT", "trapped"),)

    def test_a_deposit_out_of_what_the_receiver_has_is_told(self, network: FakeNetwork) -> None:
        transaction = self.send(network, taken=DEPOSIT_IN_HDX, currency=0)

        check = transaction.check
        assert check is not None
        assert check.verdict == "ok"
        assert check.warnings == (says("1.1 HDX leaves the beneficiary", "Hydration"),)


@pytest.mark.parametrize(("name", "may"), [("AAVE", True), ("DOT", False)])
def test_offline_it_is_a_warning_for_what_anybody_registers(
    scenarioctl: Run, name: str, may: bool
) -> None:
    # The Ether of Ethereum, not that of another bridge.
    asset_id = "2/GlobalConsensus(Ethereum:1)" if name == "ETH" else name
    words = (
        *("--from", "assetHub", "--to", "hydraDx", "--assetid", asset_id, "--amount", str(10**18)),
    )

    ended = scenarioctl("--offline", "xcm", "asset-transfer", *words, "--destinationaddress", BOB)

    told = [line for line in ended.err.splitlines() if "deposit of 1.1 HDX" in line]
    assert ended.code == 0
    assert told == ([says("AAVE", "Hydration", "trapped")] if may else [])


class TestCarried:
    """WUD goes from Hydration to the Asset Hub with DOT beside it."""

    FEE = 2 * WEIGHT_FEE + DOT // 100

    def check(self, network: FakeNetwork, *, carried: int, execution: int = WEIGHT_FEE) -> Check:
        """Return the check of a transfer whose message carries so much DOT, where *execution* is
        the price of the moment."""
        hub, dex = network.chains["assetHub"], network.chains["hydraDx"]
        dex.store("Tokens", "Accounts", ALICE_KEY, 5, value=tokens(10**10))
        dex.store("Tokens", "Accounts", ALICE_KEY, WUD, value=tokens(2 * AMOUNT))
        dex.store("AssetRegistry", "Assets", WUD, value=registered(10_000))
        dex.store("AssetRegistry", "Assets", 5, value=registered(LEAST))
        brought = [asset(NATIVE_UP, carried)] if carried else []
        message = program("WithdrawAsset", *brought, asset(WUD_ON_HUB, AMOUNT))
        dex.api["DryRunApi_dry_run_call"] = call_effects((DEX_TO_HUB, message))
        left = max(carried - execution, 0)
        hub.api["DryRunApi_dry_run_xcm"] = message_effects(
            {"Assets": {"Issued": {"asset_id": 31337, "owner": BOB_KEY, "amount": AMOUNT}}},
            *([{"Balances": {"Minted": {"who": BOB_KEY, "amount": left}}}] if left else []),
        )
        prices = [WEIGHT_FEE]
        hub.api["XcmPaymentApi_query_weight_to_asset_fee"] = lambda _: {
            "Ok": prices.pop() if prices else execution
        }
        transaction = draft(
            network, "hydraDx", "assetHub", str(WUD), AMOUNT, ALICE_KEY, remote_fee_asset="DOT"
        )
        assert transaction.check is not None
        return transaction.check

    def test_a_message_without_what_pays_is_not_proven(self, network: FakeNetwork) -> None:
        check = self.check(network, carried=0)

        assert check.verdict in ("unknown", "refused")
        assert any(reason == says("0.0108 DOT should leave Hydration") for reason in check.reasons)

    @pytest.mark.parametrize("part", [0.5, 2])
    def test_a_message_with_another_amount_of_it_is_refused(
        self, network: FakeNetwork, part: float
    ) -> None:
        check = self.check(network, carried=int(self.FEE * part))

        assert check.verdict == "refused"
        assert check.reasons == (says("0.0108 DOT should leave Hydration", "carries"),)

    def test_a_fee_that_takes_nearly_all_of_it_is_told(self, network: FakeNetwork) -> None:
        check = self.check(network, carried=self.FEE, execution=self.FEE - DOT // 1000)

        assert check.verdict == "ok"
        assert check.warnings == (says("0.0108 DOT goes along", "0.0098 DOT now", "trapped"),)

    def test_a_fee_above_it_is_not_called_ok(self, network: FakeNetwork) -> None:
        check = self.check(network, carried=self.FEE, execution=2 * self.FEE)

        assert check.verdict == "unknown"
        assert check.reasons[0] == says("0.0108 DOT goes along", "0.0216 DOT now")
