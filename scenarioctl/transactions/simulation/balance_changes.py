"""What a dry run takes from each account and gives to each, as the events tell, and which accounts a message names."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.assets import Asset
from scenarioctl.chains.locations import junctions_of, write_location
from scenarioctl.transactions.events import Event
from scenarioctl.transactions.simulation.dry_run import XcmMessage

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Chain

#: (pallet, event) -> the fields that name the asset ("" for the native one), who is debited ("" for nobody), who is
#: credited, and how much.
BALANCE_EVENTS: Mapping[tuple[str, str], tuple[str, str, str, str]] = {
    ("Balances", "Minted"): ("", "", "who", "amount"),
    ("Balances", "Deposit"): ("", "", "who", "amount"),
    ("Balances", "Restored"): ("", "", "who", "amount"),
    ("Balances", "Transfer"): ("", "from", "to", "amount"),
    ("Balances", "ReserveRepatriated"): ("", "from", "to", "amount"),
    ("Balances", "TransferOnHold"): ("", "source", "dest", "amount"),
    ("Balances", "TransferAndHold"): ("", "source", "dest", "transferred"),
    ("Balances", "Burned"): ("", "who", "", "amount"),
    ("Balances", "BurnedHeld"): ("", "who", "", "amount"),
    ("Balances", "Withdraw"): ("", "who", "", "amount"),
    ("Balances", "Slashed"): ("", "who", "", "amount"),
    ("Balances", "Suspended"): ("", "who", "", "amount"),
    ("Balances", "DustLost"): ("", "account", "", "amount"),
    **{
        (pallet, name): ("asset_id", *fields)
        for pallet in ("Assets", "ForeignAssets", "PoolAssets")
        for name, fields in {
            "Issued": ("", "owner", "amount"),
            "Deposited": ("", "who", "amount"),
            "Transferred": ("from", "to", "amount"),
            "Burned": ("owner", "", "balance"),
            "Withdrawn": ("who", "", "amount"),
        }.items()
    },
    ("Tokens", "Deposited"): ("currency_id", "", "who", "amount"),
    ("Tokens", "Transfer"): ("currency_id", "from", "to", "amount"),
    ("Tokens", "ReserveRepatriated"): ("currency_id", "from", "to", "amount"),
    ("Tokens", "Withdrawn"): ("currency_id", "who", "", "amount"),
    ("Tokens", "Slashed"): ("currency_id", "who", "", "free_amount"),
    ("Tokens", "DustLost"): ("currency_id", "who", "", "amount"),
    ("Currencies", "Deposited"): ("currency_id", "", "who", "amount"),
    ("Currencies", "Transferred"): ("currency_id", "from", "to", "amount"),
    ("Currencies", "Withdrawn"): ("currency_id", "who", "", "amount"),
}
#: A pallet -> the kind of asset that it moves; Hydration's Currencies moves those of a contract.
_KINDS = {
    "Balances": "native",
    "Assets": "assets",
    "ForeignAssets": "foreign",
    "PoolAssets": "pool",
    "Tokens": "tokens",
    "Currencies": "erc20",
}
#: Events that may report one payment twice, by the same amount.
_ALIKE = frozenset(("Minted", "Deposit", "Issued", "Deposited"))


@dataclass(frozen=True, kw_only=True)
class BalanceChange:
    """So much of one asset that an account gets, or loses."""

    account: bytes
    asset: Asset
    #: Smallest units, negative where it is lost.
    value: int


def read_balance_changes(events: Sequence[Event], chain: "Chain", assets: "Assets") -> list[BalanceChange]:
    """Return what *events* of *chain* give to and take from each account, one sum for each of its assets."""
    sums: dict[tuple[bytes, str], int] = defaultdict(int)
    named: dict[str, Asset] = {}
    twins: dict[tuple[bytes, str], dict[str, Counter[int]]] = defaultdict(dict)
    for event, label, debited, credited, amount in _read(events):
        asset = _find_asset(event.pallet, label, chain, assets)
        key = f"{asset.kind}/{asset.id}"
        named[key] = asset
        if debited is not None:
            sums[debited, key] -= amount
        if credited is None:
            continue
        alike = event.name in _ALIKE
        sums[credited, key] += 0 if alike else amount
        if alike:
            twins[credited, key].setdefault(event.name, Counter())[amount] += 1
    for who, kinds in twins.items():
        sums[who] += _count_once(kinds)
    return [
        BalanceChange(account=account, asset=named[key], value=value)
        for (account, key), value in sums.items()
        if value
    ]


def _count_once(kinds: Mapping[str, "Counter[int]"]) -> int:
    """Return the sum of what two kinds of events report, the same amount once."""
    together: Counter[int] = Counter()
    for amounts in kinds.values():
        together |= amounts
    return sum(amount * times for amount, times in together.items())


def find_credit(events: Sequence[Event], asset: "Asset", account: bytes) -> int:
    """Return how much of *asset* the events credit to *account*, raw; 0 where they do not."""
    kinds: dict[str, Counter[int]] = {}
    total = 0
    for event, label, _, credited, amount in _read(events):
        if credited != account or _KINDS[event.pallet] != asset.kind or not _is_asset(label, asset):
            continue
        if event.name in _ALIKE:
            kinds.setdefault(event.name, Counter())[amount] += 1
        else:
            total += amount
    return total + _count_once(kinds)


def find_debit(events: Sequence[Event], asset: "Asset", account: bytes) -> int:
    """Return how much of *asset* the events take from *account*, raw."""
    return sum(
        amount
        for event, label, debited, _, amount in _read(events)
        if debited == account and _KINDS[event.pallet] == asset.kind and _is_asset(label, asset)
    )


def _read(events: Sequence[Event]) -> Iterator[tuple[Event, Any, bytes | None, bytes | None, int]]:
    """Give each event that moves something: the asset's label, who loses it, who gets it, and how much."""
    tokens = [
        event.fields["currency_id"]
        for event in events
        if event.pallet == "Tokens" and isinstance(event.fields, Mapping) and "currency_id" in event.fields
    ]
    for event in events:
        names = BALANCE_EVENTS.get((event.pallet, event.name))
        fields = event.fields
        if names is None or not isinstance(fields, Mapping):
            continue
        label = fields[names[0]] if names[0] else ""
        # Currencies repeats what Balances and Tokens report, and stands alone for what a contract holds.
        if event.pallet == "Currencies" and (label == 0 or label in tokens):
            continue
        debited = fields[names[1]] if names[1] else None
        credited = fields[names[2]] if names[2] else None
        yield event, label, debited, credited, fields[names[3]]


def _find_asset(pallet: str, label: Any, chain: "Chain", assets: "Assets") -> Asset:
    """Return the asset that an event names; one that is listed nowhere has no decimals."""
    kind = _KINDS[pallet]
    if kind == "native":
        return assets.native(chain)
    place = write_location(label) if kind == "foreign" else ""
    found = None
    if kind == "foreign":
        found = assets.at(chain, place)
    elif kind != "pool":
        found = assets.listed(chain, label)
        if found is None and kind == "assets" and label and chain.role == "asset_hub":
            found = assets.find(chain, label)
    if found is not None:
        return found
    name = f"pool share {label}" if kind == "pool" else place or str(label)
    return Asset(chain=chain.name, id=name, symbol="", decimals=None, kind=kind, location=place)


def _is_asset(label: Any, asset: Asset) -> bool:
    if asset.kind == "native":
        return isinstance(label, str) and not label
    if asset.kind == "foreign":
        return bool(write_location(label) == asset.location)
    return str(label) == asset.id


def deposit_accounts(message: XcmMessage) -> list[bytes]:
    """Return the accounts of 32 bytes that *message* deposits to on the chain that it goes to."""
    accounts: list[bytes] = []
    for name, fields in message.instructions:
        if name == "DepositAsset":
            location = fields["beneficiary"]
            match junctions_of(location):
                case [{"AccountId32": account}] if not location["parents"]:
                    accounts.append(account["id"])
    return accounts
