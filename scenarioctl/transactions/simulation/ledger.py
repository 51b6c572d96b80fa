"""Who loses and who gets what on every chain, as the events of a simulation tell, and what the
chains take as fees.

Events say what each account is credited and debited, and what of that it can't spend.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import ACCOUNT_FORMATS
from scenarioctl.chains.assets import Asset
from scenarioctl.chains.locations import absolute, split_account, write_location
from scenarioctl.transactions.blocks import Event

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.transactions.simulation.dry_run import DryRunResult


#: An event of one account -> by how many times its amount that changes what the account holds,
#: whether it can spend that or not; what of that is held; and what is locked, which overlaps with
#: what is held.
ACCOUNT_EVENTS: Mapping[str, tuple[int, int, int]] = {
    **dict.fromkeys(("Minted", "Deposit", "Restored", "Issued", "Deposited"), (1, 0, 0)),
    **dict.fromkeys(
        ("Burned", "Withdraw", "Withdrawn", "Slashed", "Suspended", "DustLost"), (-1, 0, 0)
    ),
    "BurnedHeld": (-1, -1, 0),
    **dict.fromkeys(("Reserved", "Held"), (0, 1, 0)),
    **dict.fromkeys(("Unreserved", "Released"), (0, -1, 0)),
    **dict.fromkeys(("Locked", "Frozen"), (0, 0, 1)),
    **dict.fromkeys(("Unlocked", "Thawed"), (0, 0, -1)),
}
#: An event that moves something from one account to another -> whether that was held, and whether
#: it is held afterwards, unless its status is free.
TRANSFER_EVENTS: Mapping[str, tuple[bool, bool]] = {
    **dict.fromkeys(("Transfer", "Transferred"), (False, False)),
    **dict.fromkeys(("ReserveRepatriated", "TransferOnHold"), (True, True)),
    "TransferAndHold": (False, True),
}
#: How events name the account, both accounts of a transfer, and the amount or its parts.
_WHO, _FROM, _TO = ("who", "owner", "account"), ("from", "source"), ("to", "dest")
_AMOUNTS = ("amount", "balance", "transferred", "free_amount", "reserved_amount")
#: How other pallets call what they keep of an account, like what is staked.
_BOUND = ("amount", "bonded", "locked")
#: Events of these pallets that name an account and an amount, and move nothing or repeat what
#: another one tells.
_SILENT = frozenset(
    ("Endowed", "LockSet", "ApprovedTransfer", "TransferredApproved", "BalanceUpdated")
)
#: A pallet -> the kind of asset that it moves; Hydration's Currencies moves those of a contract.
_KINDS = {
    "Balances": "native",
    **{
        f"{pallet}{part}": kind
        for pallet, kind in (
            ("Assets", "assets"),
            ("ForeignAssets", "foreign"),
            ("PoolAssets", "pool"),
        )
        for part in ("", "Holder", "Freezer")
    },
    "Tokens": "tokens",
    "Currencies": "erc20",
}
_FIELDS = ("value", "held", "locked", "taken")
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
    #: How much it loses of it, whatever it gets beside that.
    taken: int = 0

    @property
    def kept(self) -> int:
        """How much of what comes can't be spent."""
        return max(self.held, self.locked, 0)

    @property
    def locked_beside(self) -> int:
        """How much more is locked than is held, which counts towards that."""
        return min(self.locked, max(self.locked - max(self.held, 0), 0))


def read_balance_changes(
    events: Sequence[Event], chain: "Chain", assets: "Assets"
) -> list[BalanceChange]:
    """Return what *events* of *chain* give to and take from each account, one sum for each of its
    assets."""
    sums: dict[tuple[bytes, str], Counter[str]] = defaultdict(Counter)
    named: dict[str, Asset] = {}
    twins: dict[tuple[bytes, str], dict[str, Counter[int]]] = defaultdict(dict)
    for event in _told_once(events):
        for account, value, held, locked in _effects(event):
            asset = _find_asset(event.pallet, _label(event), chain, assets)
            key = f"{asset.kind}/{asset.id}"
            named[key] = asset
            found = sums[account, key]
            if event.name in _ALIKE:
                twins[account, key].setdefault(event.name, Counter())[value] += 1
            else:
                found["value"] += value
            found["held"] += held
            found["locked"] += locked
            found["taken"] -= min(value, 0)
    for who, kinds in twins.items():
        sums[who]["value"] += _count_once(kinds)
    return [
        BalanceChange(account=account, asset=named[key], **{name: found[name] for name in _FIELDS})
        for (account, key), found in sums.items()
        if any(found.values())
    ]


def read_transfers(
    events: Sequence[Event], chain: "Chain", assets: "Assets"
) -> Iterator[tuple[bytes, bytes, Asset, int]]:
    """Give what *events* of *chain* move from one account to another: both, the asset, and how much
    of it."""
    for event in _told_once(events):
        effects = _effects(event)
        if len(effects) > 1:
            (source, *_), (target, value, *_) = effects
            yield source, target, _find_asset(event.pallet, _label(event), chain, assets), value


def read_dust(
    events: Sequence[Event], chain: "Chain", assets: "Assets", *, destroyed: bool = False
) -> list[BalanceChange]:
    """Return what the chain takes of accounts because it is too little to be held; with
    *destroyed*, what nobody gets."""
    return [
        replace(change, value=-change.value)
        for event in events
        if event.name == "DustLost" and not (destroyed and _is_told_twice(event, events))
        for change in read_balance_changes([event], chain, assets)
    ]


def unread_events(events: Sequence[Event]) -> list[Event]:
    """Return the events by which a pallet of assets moves something in a way that is not known
    here."""
    return [
        event
        for event in events
        if event.pallet in _KINDS
        and event.name not in _SILENT
        and isinstance(event.fields, Mapping)
        and any(
            isinstance(value, bytes) and len(value) in ACCOUNT_FORMATS
            for value in event.fields.values()
        )
        and not event.fields.keys().isdisjoint((*_AMOUNTS, "free", "reserved", "value"))
        and not _effects(event)
    ]


def bound_amount(event: Event, account: bytes) -> int:
    """Return how much of the native asset *event*, of a pallet of no assets, binds of *account*,
    raw; 0 if it doesn't say."""
    fields = event.fields
    if event.pallet in _KINDS or not isinstance(fields, Mapping) or account not in fields.values():
        return 0
    return next((fields[name] for name in _BOUND if isinstance(fields.get(name), int)), 0)


def _effects(event: Event) -> list[tuple[bytes, int, int, int]]:
    """Return what *event* does to each account: what it gets, and what of that is held or locked;
    nothing if that isn't known."""
    fields = event.fields
    if event.pallet not in _KINDS or not isinstance(fields, Mapping):
        return []
    amount = sum(fields[name] for name in _AMOUNTS if name in fields)
    who, source, target = (
        next((fields[name] for name in names if name in fields), None)
        for names in (_WHO, _FROM, _TO)
    )
    if event.name in ACCOUNT_EVENTS and who is not None:
        value, held, locked = (factor * amount for factor in ACCOUNT_EVENTS[event.name])
        return [(who, value, held, locked)]
    if event.name in TRANSFER_EVENTS and source is not None and target is not None:
        was_held, is_held = TRANSFER_EVENTS[event.name]
        is_held = is_held and fields.get("destination_status", fields.get("status")) != "Free"
        return [(source, -amount, -amount * was_held, 0), (target, amount, amount * is_held, 0)]
    return []


def _label(event: Event) -> Any:
    """Return how *event* names its asset; "" for the native one."""
    fields = event.fields if isinstance(event.fields, Mapping) else {}
    return fields.get("asset_id", fields.get("currency_id", ""))


def _count_once(kinds: Mapping[str, "Counter[int]"]) -> int:
    """Return the sum of what two kinds of events report, the same amount once."""
    together: Counter[int] = Counter()
    for amounts in kinds.values():
        together |= amounts
    return sum(amount * times for amount, times in together.items())


def _told_once(events: Sequence[Event]) -> list[Event]:
    """Return *events* without those that only repeat what others tell."""
    tokens = [_label(event) for event in events if event.pallet == "Tokens"]
    # Currencies repeats what Balances and Tokens report, and stands alone for what a contract
    # holds.
    return [
        event
        for event in events
        if not (event.pallet == "Currencies" and _label(event) in (0, *tokens))
        and not _is_told_twice(event, events)
    ]


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


#: Whose balance mirrors what is on other chains.
_MIRRORS = ("sovereign", "teleports'")


@dataclass(frozen=True, kw_only=True)
class LedgerEntry(BalanceChange):
    """What one account loses or gets of one asset, and who it is."""

    #: As the network knows the asset; as its chain does if it has no location.
    identity: str
    role: str = ""
    #: Of the chain's own: for fees, backing or trade.
    system: bool = False

    @property
    def is_mirror(self) -> bool:
        return self.role.startswith(_MIRRORS)


@dataclass(frozen=True, kw_only=True)
class HopFee:
    """What one hop takes."""

    chain: "Chain"
    #: `execution` or `delivery`.
    what: str
    #: The asset, as the network knows it: seen from the relay chain.
    identity: str
    amount: int


@dataclass(frozen=True, kw_only=True)
class HopLedger:
    """All of that on one chain."""

    hop: "DryRunResult"
    entries: Sequence[LedgerEntry]
    #: For executing programs and delivering messages.
    fees: Sequence[HopFee] = ()
    #: Why those are not known; empty if they are.
    fees_problem: str = ""
    #: What the message weighs there: reference time and proof size.  None without one, or if that
    #: is not known.
    weight: Any = None

    def received(self) -> Iterator[LedgerEntry]:
        """Give what somebody gets whom the chain does not hold for itself."""
        return (each for each in self.entries if not each.system and each.value > 0)

    def credit(self, account: bytes, asset: "Asset") -> tuple[int, int]:
        """Return how much of *asset* the chain credits to *account*, raw, and how much it takes of
        it again."""
        identity = identify(asset, self.hop.chain)
        found = [
            each for each in self.entries if (each.account, each.identity) == (account, identity)
        ]
        taken = sum(each.taken for each in found)
        return sum(each.value for each in found) + taken, taken


def identify(asset: "Asset", chain: "Chain") -> str:
    """Return an asset as the network knows it; as its chain does if it has no location."""
    return (
        absolute(asset.location, chain.para_id) if asset.location else f"{chain.title}: {asset.id}"
    )


def paid_for_delivery(events: "Sequence[Event]", payer: bytes, chain: "Chain") -> dict[str, int]:
    """Return what *payer* paid for delivering messages, as the events tell, by the identity of the
    asset."""
    sums: dict[str, int] = defaultdict(int)
    for event in events:
        if event.is_of_xcm("FeesPaid") and split_account(event.fields["paying"])[1] == payer:
            for item in event.fields["fees"]:
                place = write_location(item["id"])
                if place:
                    sums[absolute(place, chain.para_id)] += int(item["fun"]["Fungible"])
    return sums
