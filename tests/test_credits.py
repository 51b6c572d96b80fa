"""What events say of accounts: who loses what, who gets it, and nothing of it twice."""

from typing import Any

import pytest

from scenarioctl.chains.assets import Assets
from scenarioctl.chains.registry import Registry
from scenarioctl.transactions.blocks import Event
from scenarioctl.transactions.simulation.ledger import read_balance_changes

ALICE, BOB, CAROL = (bytes([number]) * 32 for number in (1, 2, 3))
REGISTRY = Registry()
ASSETS = Assets(REGISTRY)


def event(pallet: str, name: str, **fields: Any) -> Event:
    return Event(pallet=pallet, name=name, fields=fields)


def moves(chain: str, *events: Event) -> dict[tuple[bytes, str], int]:
    found = read_balance_changes(events, REGISTRY.find(chain), ASSETS)
    return {(move.account, move.asset.id): move.value for move in found}


@pytest.mark.parametrize(
    ("chain", "events", "expected"),
    [
        pytest.param(
            "polkadot",
            [
                event("Balances", "Burned", who=ALICE, amount=10),
                event("Balances", "Minted", who=ALICE, amount=4),
            ],
            {(ALICE, "0"): -6},
            id="a part that comes back",
        ),
        pytest.param(
            "polkadot",
            [
                event("Balances", "Minted", who=BOB, amount=4),
                event("Balances", "Deposit", who=BOB, amount=4),
            ],
            {(BOB, "0"): 4},
            id="one payment that two kinds of events report",
        ),
        pytest.param(
            "polkadot",
            [
                event("Balances", "Minted", who=BOB, amount=4),
                event("Balances", "Minted", who=BOB, amount=4),
            ],
            {(BOB, "0"): 8},
            id="two payments of the same amount",
        ),
        pytest.param(
            "assetHub",
            [
                event("Assets", "Burned", asset_id=1984, owner=ALICE, balance=5),
                event("Balances", "Withdraw", who=ALICE, amount=3),
                event(
                    "Assets", "Transferred", asset_id=77, **{"from": ALICE, "to": CAROL}, amount=1
                ),
            ],
            {(ALICE, "1984"): -5, (ALICE, "DOT"): -3, (ALICE, "77"): -1, (CAROL, "77"): 1},
            id="assets that are listed, and one that is not",
        ),
        pytest.param(
            "hydraDx",
            [
                event("Tokens", "Deposited", currency_id=5, who=BOB, amount=9),
                event("Currencies", "Deposited", currency_id=5, who=BOB, amount=9),
                event("Balances", "Transfer", **{"from": ALICE, "to": BOB}, amount=2),
                event(
                    "Currencies",
                    "Transferred",
                    currency_id=0,
                    **{"from": ALICE, "to": BOB},
                    amount=2,
                ),
            ],
            {(BOB, "5"): 9, (ALICE, "0"): -2, (BOB, "0"): 2},
            id="what Currencies repeats",
        ),
        pytest.param(
            "hydraDx",
            [
                event(
                    "Tokens", "Slashed", currency_id=5, who=ALICE, free_amount=3, reserved_amount=4
                )
            ],
            {(ALICE, "5"): -7},
            id="what is slashed of free and reserved",
        ),
        pytest.param(
            "hydraDx",
            [
                event(
                    "Currencies",
                    "Transferred",
                    currency_id=222,
                    **{"from": ALICE, "to": BOB},
                    amount=6,
                )
            ],
            {(ALICE, "222"): -6, (BOB, "222"): 6},
            id="what a contract holds",
        ),
    ],
)
def test_each_account_has_one_sum_for_each_asset(
    chain: str, events: list[Event], expected: dict[tuple[bytes, str], int]
) -> None:
    assert moves(chain, *events) == expected
