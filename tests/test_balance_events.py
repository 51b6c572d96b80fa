"""What each event of the pallets of assets does to the accounts that it names; their fields are
those of the bundled runtimes."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from scenarioctl.transactions.blocks import Event
from scenarioctl.transactions.simulation.ledger import read_balance_changes, unread_events
from tests.runtimes import ASSETS, REGISTRY, bundled
from tests.test_check import ALICE_KEY, BOB_KEY, USDT_ON_HUB

#: By how many times the amount an account has more, has more of it held, and has more of it locked.
Effect = tuple[int, int, int]
GETS, LOSES = (1, 0, 0), (-1, 0, 0)
MOVES = LOSES, GETS
HELD, FREED = (0, 1, 0), (0, -1, 0)
#: What is held of the one is held of the other; or only of the other.
ON_HOLD, TO_HOLD = ((-1, -1, 0), (1, 1, 0)), (LOSES, (1, 1, 0))
_HOLDER: Mapping[str, tuple[Effect, ...]] = {
    "Held": (HELD,),
    "Released": (FREED,),
    "BurnedHeld": ((-1, -1, 0),),
    "TransferOnHold": ON_HOLD,
    "TransferAndHold": TO_HOLD,
}
_LOCKS: Mapping[str, tuple[Effect, ...]] = {
    "Locked": ((0, 0, 1),),
    "Unlocked": ((0, 0, -1),),
    "Reserved": (HELD,),
    "Unreserved": (FREED,),
    "ReserveRepatriated": ON_HOLD,
}
_FREEZER: Mapping[str, tuple[Effect, ...]] = {"Frozen": ((0, 0, 1),), "Thawed": ((0, 0, -1),)}
_COUNTED: Mapping[str, tuple[Effect, ...]] = {
    "Issued": (GETS,),
    "Deposited": (GETS,),
    "Transferred": MOVES,
    "Burned": (LOSES,),
    "Withdrawn": (LOSES,),
}
#: Pallet -> event -> what it does to the accounts in its fields, in their order.
EVENTS: Mapping[str, Mapping[str, tuple[Effect, ...]]] = {
    "Balances": {
        **dict.fromkeys(("Minted", "Deposit", "Restored"), (GETS,)),
        **dict.fromkeys(("Burned", "Withdraw", "Slashed", "Suspended", "DustLost"), (LOSES,)),
        "Transfer": MOVES,
        **_HOLDER,
        **_LOCKS,
        **_FREEZER,
    },
    **dict.fromkeys(("Assets", "ForeignAssets", "PoolAssets"), _COUNTED),
    **dict.fromkeys(("AssetsHolder", "ForeignAssetsHolder", "PoolAssetsHolder"), _HOLDER),
    **dict.fromkeys(("AssetsFreezer", "ForeignAssetsFreezer", "PoolAssetsFreezer"), _FREEZER),
    "Tokens": {
        "Deposited": (GETS,),
        **dict.fromkeys(("Withdrawn", "Slashed", "DustLost"), (LOSES,)),
        "Transfer": MOVES,
        **_LOCKS,
    },
    "Currencies": {"Deposited": (GETS,), "Withdrawn": (LOSES,), "Transferred": MOVES},
}
#: What names an account and an amount, and moves nothing or only repeats what another event tells.
SILENT = frozenset(
    ("Endowed", "LockSet", "ApprovedTransfer", "TransferredApproved", "BalanceUpdated")
)
AMOUNT = 7
_LABELS = {
    "ForeignAssets": USDT_ON_HUB,
    "ForeignAssetsHolder": USDT_ON_HUB,
    "ForeignAssetsFreezer": USDT_ON_HUB,
}


def events_of(chain: str) -> Iterator[Event]:
    """Give each event of the pallets of assets of *chain*, from Alice to Bob, of 7 units."""
    table = bundled(chain)
    types = table.types
    record = types[types[table.storage_entry("System", "Events").value_type][3]]
    pallets = types[next(type_id for name, type_id, _ in record[3] if name == "event")][3]
    for pallet, _, ((_, inner, *_rest), *_) in pallets:
        if pallet not in EVENTS:
            continue
        for name, _, described in types[inner][3]:
            accounts = iter((ALICE_KEY, BOB_KEY, bytes(32)))
            fields: dict[str, Any] = {}
            for field, type_id, *_ in described:
                path, _, kind, what = types[type_id]
                if path.endswith("AccountId32"):
                    fields[field] = next(accounts)
                elif field in ("asset_id", "currency_id"):
                    fields[field] = _LABELS.get(pallet, 5)
                elif kind == "primitive" and what[1:].isdigit():
                    fields[field] = 0 if field == "reserved_amount" else AMOUNT
                else:
                    fields[field] = "Reserved"
            yield Event(pallet=pallet, name=name, fields=fields)


ALL = {
    (chain, event.pallet, event.name): event
    for chain in ("polkadot", "assetHub", "hydraDx")
    for event in events_of(chain)
}
KNOWN = [
    (pallet, name, effects) for pallet, events in EVENTS.items() for name, effects in events.items()
]


@pytest.mark.parametrize(
    ("pallet", "name", "effects"), KNOWN, ids=[f"{pallet}.{name}" for pallet, name, _ in KNOWN]
)
def test_an_event_changes_what_its_accounts_hold(
    pallet: str, name: str, effects: tuple[Effect, ...]
) -> None:
    found = {chain: event for (chain, *key), event in ALL.items() if tuple(key) == (pallet, name)}
    if pallet.endswith(("Holder", "Freezer")):
        # No bundled runtime has these; their events are those of Balances, with the asset.
        alike = ALL["assetHub", "Balances", name]
        fields = {**alike.fields, "asset_id": _LABELS.get(pallet, 5)}
        found.setdefault("assetHub", Event(pallet=pallet, name=name, fields=fields))
    assert found, "no bundled runtime has this event"
    for chain, event in found.items():
        changes = read_balance_changes([event], REGISTRY.find(chain), ASSETS)

        assert {
            change.account: (change.value, change.held, change.locked) for change in changes
        } == {
            account: tuple(AMOUNT * times for times in effect)
            for account, effect in zip((ALICE_KEY, BOB_KEY), effects, strict=False)
        }
        assert unread_events([event]) == []


def test_an_event_that_is_not_known_is_noticed_if_it_could_move_something() -> None:
    noticed = set()
    for (chain, pallet, name), event in ALL.items():
        if name in EVENTS[pallet]:
            continue
        assert read_balance_changes([event], REGISTRY.find(chain), ASSETS) == []
        moves = ALICE_KEY in event.fields.values() and AMOUNT in event.fields.values()
        assert bool(unread_events([event])) == (moves and name not in SILENT), event
        noticed |= {f"{pallet}.{name}" for event in unread_events([event])}
    assert noticed == {"Balances.BalanceSet", "Tokens.BalanceSet"}
