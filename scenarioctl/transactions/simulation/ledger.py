"""Who loses and who gets what on every chain, as the events of a simulation tell, and what the chains take as fees."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import absolute, junctions_of, write_location
from scenarioctl.chains.trust import is_beyond_bridge
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
from scenarioctl.transactions.xcm_programs import XCM_PALLETS

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.transactions.events import Event
    from scenarioctl.transactions.simulation.dry_run import DryRunResult
    from scenarioctl.transactions.simulation.runtime_api import Clients

#: Pallets' accounts that people know by another name.
_PALLET_ACCOUNTS = {
    b"py/trsry": "treasury",
    b"py/xcmch": "teleports' checking account",
    b"PotStake": "collators' pot",
    b"omnipool": "Omnipool",
}
#: Whose balance mirrors what is on other chains.
_MIRRORS = ("sovereign", "teleports'")


@dataclass(frozen=True, kw_only=True)
class AccountRole:
    """An account, and who it is."""

    account: bytes
    role: str = ""
    #: Of the chain's own: for fees, backing or trade.
    system: bool = False

    @property
    def is_mirror(self) -> bool:
        return self.system and self.role.startswith(_MIRRORS)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What one account loses or gets of one asset."""

    party: AccountRole
    change: BalanceChange
    #: As the network knows the asset; as its chain does if it has no location.
    identity: str


@dataclass(frozen=True, kw_only=True)
class HopLedger:
    """All of that on one chain."""

    hop: "DryRunResult"
    entries: Sequence[Entry]
    #: For executing programs and delivering messages.
    fees: Sequence[HopFee] = ()
    #: Why those are not known; empty if they are.
    fees_problem: str = ""

    def received(self) -> Iterator[Entry]:
        """Give what somebody gets whom the chain does not hold for itself."""
        return (each for each in self.entries if not each.party.system and each.change.value > 0)


@dataclass(frozen=True, kw_only=True)
class LedgerReader:
    """Reads the ledger of each hop of one transaction."""

    clients: "Clients"
    assets: "Assets"
    sender: bytes
    beneficiary: bytes | None
    #: Accounts that the transaction names.
    named: frozenset[bytes]
    #: Chains on which it names places that are no accounts.
    named_on: frozenset[str]
    #: XCM programs that it has executed on its own chain.
    programs: Sequence[Mapping[str, Any]] = ()
    #: What is credited on the last chain, if that is an asset that is not listed (`recognize_credit`).
    recognized: "Asset | None" = None

    async def read(self, hop: "DryRunResult") -> HopLedger:
        changes = [self._recognize(each) for each in read_balance_changes(hop.events, hop.chain, self.assets)]
        fees: list[HopFee] = []
        problem = ""
        if not hop.failure and not hop.unknown:
            try:
                fees = await self._fees(hop)
            except Inconclusive as error:
                problem = str(error)
        market = markets(hop.events, changes)
        entries = [
            Entry(
                party=self._party(change, hop.chain, market, fees),
                change=change,
                identity=identify(change.asset, hop.chain),
            )
            for change in changes
        ]
        return HopLedger(hop=hop, entries=entries, fees=fees, fees_problem=problem)

    async def _fees(self, hop: "DryRunResult") -> list[HopFee]:
        """Return what *hop* takes for executing programs and delivering messages."""
        found: list[HopFee] = []
        if hop.message is not None:
            client = self.clients(hop.chain)
            found += await execution_fees(client, hop.message, await query_weight(client, hop.message.data))
        for program in self.programs if hop.message is None else ():
            found += await program_fees(self.clients(hop.chain), program)
        for message in hop.sent:
            found += await delivery_fees(self.clients(hop.chain), message)
        return found

    def _recognize(self, change: BalanceChange) -> BalanceChange:
        known, asset = self.recognized, change.asset
        if known is None or (asset.chain, asset.kind, asset.id) != (known.chain, known.kind, known.id):
            return change
        return replace(change, asset=known)

    def _party(
        self, change: BalanceChange, chain: "Chain", market: Mapping[bytes, str], fees: Sequence[HopFee]
    ) -> AccountRole:
        account = change.account
        if account == self.sender:
            return AccountRole(account=account, role="the sender")
        if account == self.beneficiary:
            return AccountRole(account=account, role="the beneficiary")
        role = self._own_role(account, chain)
        if not role and account not in self.named:
            role = market.get(account, "")
            identity = identify(change.asset, chain)
            due = [fee for fee in fees if fee.identity == identity]
            taken = {sum(fee.amount for fee in due): "execution and delivery"}
            for what in ("execution", "delivery"):
                alike = [fee.amount for fee in due if fee.what == what]
                taken |= dict.fromkeys((*alike, sum(alike)), what)
            if not role and change.value > 0 and change.value in taken:
                role = f"gets the {taken[change.value]} fee"
        told = account in self.named or chain.name in self.named_on
        return AccountRole(account=account, role=role, system=bool(role) and not told)

    def _own_role(self, account: bytes, chain: "Chain") -> str:
        """Return what the chain has *account* for; empty where it is not one of the chain's own."""
        kind, rest = account[:4], account[4:]
        if kind == b"modl" and not any(rest[8:]):
            pallet = rest[:8]
            text = pallet.rstrip(b"\0").decode("ascii", "replace")
            return _PALLET_ACCOUNTS.get(pallet, f"account of the pallet {text}")
        if kind in (b"para", b"sibl") and not any(rest[4:]):
            number = int.from_bytes(rest[:4], "little")
            named = next(
                (
                    each.name
                    for each in self.assets.registry.all()
                    if each.relay == chain.relay and each.para_id == number
                ),
                f"parachain {number}",
            )
            return f"sovereign account of {named}"
        for other in self.assets.registry.all():
            if (
                not other.is_ethereum
                and is_beyond_bridge(other, chain, self.assets.registry)
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
            found[fields["filler"]] = "pool"
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
        if (
            event.pallet in XCM_PALLETS
            and event.name == "FeesPaid"
            and _is_account(event.fields["paying"], payer, chain)
        ):
            for item in event.fields["fees"]:
                place = write_location(item["id"])
                if place:
                    sums[absolute(place, chain.para_id)] += int(item["fun"]["Fungible"])
    return sums


def _is_account(location: Any, account: bytes, chain: "Chain") -> bool:
    name, field = chain.account_format.junction_name, chain.account_format.junction_field
    return any(
        isinstance(junction, Mapping) and junction.get(name, {}).get(field) == account
        for junction in junctions_of(location)
    )
