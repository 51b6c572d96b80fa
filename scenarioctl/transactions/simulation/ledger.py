"""Who loses and who gets what on every chain, as the events of a simulation tell, and what the chains take as fees."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import absolute, split_account, write_location
from scenarioctl.chains.trust import is_beyond_bridge
from scenarioctl.transactions.keyless_accounts import kind_of
from scenarioctl.transactions.simulation.balance_changes import BalanceChange, read_balance_changes
from scenarioctl.transactions.simulation.runtime_api import Inconclusive
from scenarioctl.transactions.simulation.xcm_fees import (
    HopFee,
    delivery_fees,
    execution_fees,
    program_fees,
    query_weight,
)
from scenarioctl.transactions.transfer.bridges import sovereign_account_beyond
from scenarioctl.transactions.xcm_instructions import read_instruction

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain, Registry
    from scenarioctl.transactions.events import Event
    from scenarioctl.transactions.simulation.dry_run import DryRunResult
    from scenarioctl.transactions.simulation.trial import Trial

#: Pallets' accounts that people know by another name.
_PALLET_ACCOUNTS = {
    "py/trsry": "treasury",
    "py/xcmch": "teleports' checking account",
    "PotStake": "collators' pot",
    "omnipool": "Omnipool",
}
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
class HopLedger:
    """All of that on one chain."""

    hop: "DryRunResult"
    entries: Sequence[LedgerEntry]
    #: For executing programs and delivering messages.
    fees: Sequence[HopFee] = ()
    #: Why those are not known; empty if they are.
    fees_problem: str = ""
    #: What the message weighs there: reference time and proof size.  None without one, or if that is not known.
    weight: Any = None

    def received(self) -> Iterator[LedgerEntry]:
        """Give what somebody gets whom the chain does not hold for itself."""
        return (each for each in self.entries if not each.system and each.value > 0)

    def credit(self, account: bytes, asset: "Asset") -> tuple[int, int]:
        """Return how much of *asset* the chain credits to *account*, raw, and how much it takes of it again."""
        identity = identify(asset, self.hop.chain)
        found = [each for each in self.entries if (each.account, each.identity) == (account, identity)]
        taken = sum(each.taken for each in found)
        return sum(each.value for each in found) + taken, taken


async def read_ledger(trial: "Trial", hop: "DryRunResult") -> HopLedger:
    """Return the ledger of *hop*, a chain of *trial*."""
    changes = [
        _recognize(each, trial.recognized)
        for each in read_balance_changes(hop.events, hop.chain, trial.assets)
    ]
    found = HopLedger(hop=hop, entries=())
    try:
        found = await _with_fees(trial, found)
    except Inconclusive as error:
        found = replace(found, fees_problem=str(error))
    market = markets(hop.events, changes)
    persons = {trial.beneficiary: "the beneficiary", trial.sender: "the sender"}
    entries = []
    for change in changes:
        identity, person = identify(change.asset, hop.chain), persons.get(change.account, "")
        role = "" if person else _role(trial, change, identity, found, market)
        system = bool(role) and not trial.names(change.account, hop.chain)
        entries.append(LedgerEntry(**vars(change), identity=identity, role=person or role, system=system))
    return replace(found, entries=entries)


async def _with_fees(trial: "Trial", ledger: HopLedger) -> HopLedger:
    """Return *ledger* with what its chain takes for executing programs and delivering messages."""
    hop, message = ledger.hop, ledger.hop.message
    if hop.chain.is_ethereum:
        return ledger
    client = trial.clients(hop.chain)
    fees: list[HopFee] = []
    weight = None
    if message is None:
        for program in () if hop.failure else trial.programs:
            fees += await program_fees(client, program)
    elif message.destination is not None:
        weight = await query_weight(client, message.data)
        fees += await execution_fees(client, message, weight)
    for onward in hop.sent:
        fees += await delivery_fees(client, onward)
    return replace(ledger, fees=fees, weight=weight)


def _recognize(change: BalanceChange, known: "Asset | None") -> BalanceChange:
    asset = change.asset
    if known is None or (asset.chain, asset.kind, asset.id) != (known.chain, known.kind, known.id):
        return change
    return replace(change, asset=known)


def _role(
    trial: "Trial", change: BalanceChange, identity: str, ledger: HopLedger, market: Mapping[bytes, str]
) -> str:
    """Return what the chain of *ledger* has an account for; empty where it is not one of the chain's own."""
    account = change.account
    role = _own_role(account, ledger.hop.chain, trial.assets.registry)
    if role or account in trial.named:
        return role
    due = [fee for fee in ledger.fees if fee.identity == identity]
    taken = {sum(fee.amount for fee in due): "execution and delivery"}
    for what in ("execution", "delivery"):
        alike = [fee.amount for fee in due if fee.what == what]
        taken |= dict.fromkeys((*alike, sum(alike)), what)
    is_fee = change.value > 0 and change.value in taken
    return market.get(account) or (f"gets the {taken[change.value]} fee" if is_fee else "")


def _own_role(account: bytes, chain: "Chain", registry: "Registry") -> str:
    """Return which account of the chain's own, by its bytes, *account* is; empty if it is none."""
    kind = kind_of(account)
    if kind.name == "pallet" and not any(account[12:]):
        return _PALLET_ACCOUNTS.get(kind.id, f"account of the pallet {kind.id}")
    if kind.name == "parachain":
        known = registry.parachain(chain, int(kind.id))
        return f"sovereign account of {f'parachain {kind.id}' if known is None else known.name}"
    for other in registry.all():
        if (
            not other.is_ethereum
            and is_beyond_bridge(other, chain, registry)
            and account == sovereign_account_beyond(other)
        ):
            return f"sovereign account of {other.name}"
    return ""


def identify(asset: "Asset", chain: "Chain") -> str:
    """Return an asset as the network knows it; as its chain does if it has no location."""
    return absolute(asset.location, chain.para_id) if asset.location else f"{chain.name}: {asset.id}"


def markets(events: "Sequence[Event]", changes: Sequence[BalanceChange]) -> dict[bytes, str]:
    """Return the accounts that give one asset for another in a trade, and what they are called.

    Hydration names them.  An Asset Hub tells the amounts of a trade only: the account that gets and gives exactly these is
    its pool.
    """
    found: dict[bytes, str] = {}
    traded: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for event in events:
        fields = event.fields
        if event.pallet == "Broadcast" and isinstance(fields, Mapping) and "filler" in fields:
            is_offer = read_instruction(fields.get("filler_type"))[0] == "OTC"
            found[fields["filler"]] = "maker of the offer" if is_offer else "pool"
        elif event.pallet == "AssetConversion" and event.name.startswith("Swap"):
            for (paid, much), (given, more) in zip(fields["path"], fields["path"][1:], strict=False):
                sums = traded[write_location(paid), write_location(given)]
                sums[0] += much
                sums[1] += more
    values: dict[bytes, set[int]] = defaultdict(set)
    for change in changes:
        values[change.account].add(change.value)
    for much, more in traded.values():
        found |= {account: "pool" for account, moved in values.items() if {much, -more} <= moved}
    return found


def paid_for_delivery(events: "Sequence[Event]", payer: bytes, chain: "Chain") -> dict[str, int]:
    """Return what *payer* paid for delivering messages, as the events tell, by the identity of the asset."""
    sums: dict[str, int] = defaultdict(int)
    for event in events:
        if event.is_of_xcm("FeesPaid") and split_account(event.fields["paying"])[1] == payer:
            for item in event.fields["fees"]:
                place = write_location(item["id"])
                if place:
                    sums[absolute(place, chain.para_id)] += int(item["fun"]["Fungible"])
    return sums
