"""What a dry run takes from each account and gives to each, as the events tell, and which accounts a message names."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import ACCOUNT_FORMATS
from scenarioctl.chains.assets import Asset
from scenarioctl.chains.locations import junctions_of, write_location
from scenarioctl.transactions.events import Event
from scenarioctl.transactions.simulation.dry_run import XcmMessage

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Chain

#: (pallet, event) -> the fields that name the asset ("" for the native one), who is debited ("" for nobody), who is
#: credited, and how much.  What an account holds counts whole here, whether it can spend it or not: see `KEPT_EVENTS`.
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
    **{
        (f"{pallet}Holder", name): ("asset_id", *fields)
        for pallet in ("Assets", "ForeignAssets", "PoolAssets")
        for name, fields in {
            "BurnedHeld": ("who", "", "amount"),
            "TransferOnHold": ("source", "dest", "amount"),
            "TransferAndHold": ("source", "dest", "transferred"),
        }.items()
    },
    ("Currencies", "Deposited"): ("currency_id", "", "who", "amount"),
    ("Currencies", "Transferred"): ("currency_id", "from", "to", "amount"),
    ("Currencies", "Withdrawn"): ("currency_id", "who", "", "amount"),
}
#: Events after which their account can spend so much less, or more: what keeps it, and the sign.  What is `locked` overlaps with
#: what is `held`.
KEPT_EVENTS = {
    **dict.fromkeys(("Reserved", "Held"), ("held", 1)),
    **dict.fromkeys(("Unreserved", "Released", "BurnedHeld"), ("held", -1)),
    **dict.fromkeys(("Locked", "Frozen"), ("locked", 1)),
    **dict.fromkeys(("Unlocked", "Thawed"), ("locked", -1)),
}
#: Events that move what is held: the fields of whose it was, if that was held, of whose it is, and how much.
_HELD_TRANSFERS = {
    "ReserveRepatriated": ("from", "to", "amount"),
    "TransferOnHold": ("source", "dest", "amount"),
    "TransferAndHold": ("", "dest", "transferred"),
}
#: Events of these pallets that name an account and an amount, and move nothing or repeat what another one tells.
_SILENT = frozenset(("Endowed", "LockSet", "ApprovedTransfer", "TransferredApproved", "BalanceUpdated"))
#: A pallet -> the kind of asset that it moves; Hydration's Currencies moves those of a contract.
_KINDS = {
    "Balances": "native",
    **{
        f"{pallet}{part}": kind
        for pallet, kind in (("Assets", "assets"), ("ForeignAssets", "foreign"), ("PoolAssets", "pool"))
        for part in ("", "Holder", "Freezer")
    },
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
    #: How much more of it is held or locked than before.
    held: int = 0
    locked: int = 0

    @property
    def kept(self) -> int:
        """How much of what comes can't be spent."""
        return max(self.held, self.locked, 0)


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
    kept: dict[tuple[bytes, str], Counter[str]] = defaultdict(Counter)
    for event, label, account, amount, keeper in _read_kept(events):
        asset = _find_asset(event.pallet, label, chain, assets)
        key = f"{asset.kind}/{asset.id}"
        named[key] = asset
        kept[account, key][keeper] += amount
        sums[account, key] += 0
    return [
        BalanceChange(
            account=account,
            asset=named[key],
            value=value,
            held=kept[account, key]["held"],
            locked=kept[account, key]["locked"],
        )
        for (account, key), value in sums.items()
        if value or any(kept[account, key].values())
    ]


def read_dust(
    events: Sequence[Event], chain: "Chain", assets: "Assets", *, destroyed: bool = False
) -> list[BalanceChange]:
    """Return what the chain takes of accounts because it is too little to be held; with *destroyed*, what nobody gets."""
    return [
        replace(change, value=-change.value)
        for event in events
        if event.name == "DustLost" and not (destroyed and _is_told_twice(event, events))
        for change in read_balance_changes([event], chain, assets)
    ]


def _read_kept(events: Sequence[Event]) -> Iterator[tuple[Event, Any, bytes, int, str]]:
    """Give what each event lets an account no longer spend, or spend again: the asset's label, who, how much, what keeps it."""
    for event in events:
        fields = event.fields
        if event.pallet not in _KINDS or not isinstance(fields, Mapping):
            continue
        label = fields.get("asset_id", fields.get("currency_id", ""))
        if event.name in KEPT_EVENTS and "amount" in fields:
            keeper, sign = KEPT_EVENTS[event.name]
            yield event, label, fields["who"], sign * fields["amount"], keeper
        elif event.name in _HELD_TRANSFERS:
            source, target, amount = _HELD_TRANSFERS[event.name]
            if source:
                yield event, label, fields[source], -fields[amount], "held"
            if fields.get("destination_status", fields.get("status")) != "Free":
                yield event, label, fields[target], fields[amount], "held"


def unread_events(events: Sequence[Event]) -> list[Event]:
    """Return the events by which a pallet of assets moves something in a way that is not known here."""
    return [
        event
        for event in events
        if event.pallet in _KINDS
        and (event.pallet, event.name) not in BALANCE_EVENTS
        and event.name not in _SILENT
        and event.name not in KEPT_EVENTS
        and isinstance(event.fields, Mapping)
        and any(isinstance(value, bytes) and len(value) in ACCOUNT_FORMATS for value in event.fields.values())
        and any(name in event.fields for name in ("amount", "balance", "free", "reserved", "value"))
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
        if names is None or not isinstance(fields, Mapping) or _is_told_twice(event, events):
            continue
        label = fields[names[0]] if names[0] else ""
        # Currencies repeats what Balances and Tokens report, and stands alone for what a contract holds.
        if event.pallet == "Currencies" and (label == 0 or label in tokens):
            continue
        debited = fields[names[1]] if names[1] else None
        credited = fields[names[2]] if names[2] else None
        yield event, label, debited, credited, fields[names[3]]


def _is_told_twice(event: Event, events: Sequence[Event]) -> bool:
    """Tell whether *event* is of dust that goes to somebody, as an event of its own tells."""
    if (event.pallet, event.name) != ("Tokens", "DustLost"):
        return False
    dust = event.fields
    return any(
        str(other) == "Tokens.Transfer"
        and (other.fields["currency_id"], other.fields["from"], other.fields["amount"])
        == (dust["currency_id"], dust["who"], dust["amount"])
        for other in events
    )


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
