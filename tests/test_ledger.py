"""Who is who on a chain: pools are found by what they trade, fees by their amounts."""

from typing import Any

import pytest

from scenarioctl.chains.assets import Asset, Assets
from scenarioctl.chains.registry import Registry
from scenarioctl.transactions.blocks import Event
from scenarioctl.transactions.simulation.fees import FeeCharge, FeeCurrency
from scenarioctl.transactions.simulation.ledger import BalanceChange, read_balance_changes
from scenarioctl.transactions.simulation.trial import markets
from tests.check_rules import trial
from tests.test_check import ALICE_KEY, BOB_KEY, NATIVE_UP, USDT_ON_HUB

ASSETS = Assets(Registry())
HUB, DEX = Registry().find("assetHub"), Registry().find("hydraDx")
DOT, USDT = ASSETS.native(HUB), ASSETS.find(HUB, "1984")
POOL = bytes(range(32))


def change(account: bytes, asset: Asset, value: int) -> BalanceChange:
    return BalanceChange(account=account, asset=asset, value=value)


def swap(paid: int, given: int, name: str = "SwapCreditExecuted") -> Event:
    path = [(USDT_ON_HUB, paid), (NATIVE_UP, given)]
    return Event(
        pallet="AssetConversion",
        name=name,
        fields={"amount_in": paid, "amount_out": given, "path": path},
    )


@pytest.mark.parametrize("name", ["SwapCreditExecuted", "SwapExecuted"])
def test_a_pool_gets_and_gives_exactly_what_the_trades_tell(name: str) -> None:
    pool = [change(POOL, USDT, 300), change(POOL, DOT, -30)]

    assert markets([swap(100, 10, name), swap(200, 20, name)], pool) == {POOL: "pool"}
    assert markets([swap(300, 31, name)], pool) == {}
    assert markets([swap(299, 30, name)], pool) == {}
    assert markets([], pool) == {}


@pytest.mark.parametrize(
    ("name", "gave", "role"),
    [("Added", 1, "pool"), ("Added", -1, ""), ("Removed", -1, "pool"), ("Removed", 1, "")],
)
def test_a_pool_gets_and_gives_the_liquidity_that_an_event_tells(
    name: str, gave: int, role: str
) -> None:
    fields = {"pool_id": ("KSM", "USDT"), "lp_token": 0, "lp_token_burned": 5}
    amounts = {"amount1": 100, "amount2": 10}
    ending = "_provided" if name == "Added" else ""
    fields |= {f"{each}{ending}": amount for each, amount in amounts.items()}
    pool = [change(POOL, USDT, gave * 100), change(POOL, DOT, gave * 10)]

    found = markets([Event(pallet="AssetConversion", name=f"Liquidity{name}", fields=fields)], pool)

    assert found.get(POOL, "") == role


@pytest.mark.parametrize(
    ("kind", "role"), [({"XYK": 7}, "pool"), ("LBP", "pool"), ({"OTC": 7}, "maker of the offer")]
)
def test_a_trade_of_hydration_names_its_pool_or_who_offered_it(kind: Any, role: str) -> None:
    fields = {"swapper": ALICE_KEY, "filler": POOL, "filler_type": kind}

    assert markets([Event(pallet="Broadcast", name="Swapped3", fields=fields)], []) == {POOL: role}
    assert markets([Event(pallet="Other", name="Swapped3", fields=fields)], []) == {}


@pytest.mark.parametrize(
    ("name", "fields", "kept"),
    [
        (
            "ReserveRepatriated",
            {"from": ALICE_KEY, "to": BOB_KEY, "destination_status": "Free"},
            {ALICE_KEY: (-7, -7, 0), BOB_KEY: (7, 0, 0)},
        )
    ],
)
def test_events_tell_what_can_be_spent(name: str, fields: Any, kept: Any) -> None:
    event = Event(pallet="Balances", name=name, fields={**fields, "amount": 7})

    found = {
        each.account: (each.value, each.held, each.locked)
        for each in read_balance_changes([event], HUB, ASSETS)
    }

    assert found == kept


def test_dust_that_goes_to_the_treasury_leaves_its_account_once() -> None:
    """Hydration tells of it twice: as a transfer, and as dust."""
    lost = {"currency_id": 10, "who": BOB_KEY, "amount": 5000}
    given = {"currency_id": 10, "from": BOB_KEY, "to": POOL, "amount": 5000}
    events = [
        Event(pallet="Tokens", name="Transfer", fields=given),
        Event(pallet="Tokens", name="DustLost", fields=lost),
    ]

    found = {each.account: each.value for each in read_balance_changes(events, DEX, ASSETS)}
    alone = {each.account: each.value for each in read_balance_changes(events[1:], DEX, ASSETS)}

    assert found == {BOB_KEY: -5000, POOL: 5000}
    assert alone == {BOB_KEY: -5000}


@pytest.mark.parametrize(
    ("account", "asset", "taken"), [(ALICE_KEY, USDT, 7), (BOB_KEY, USDT, 0), (ALICE_KEY, DOT, 0)]
)
def test_the_fee_takes_its_asset_from_who_pays_it_alone(
    account: bytes, asset: Asset, taken: int
) -> None:
    charge = FeeCharge(
        sender=ALICE_KEY, currency=FeeCurrency(asset=USDT), amount=7, native_amount=9, info={}
    )

    assert trial(charge=charge).fee_of(account, asset) == taken
    assert trial().fee_of(account, asset) == 0
