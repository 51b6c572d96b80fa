"""Who gets what on every chain, and whether it adds up: nothing may be lost, or go to somebody whom nobody names."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.locations import absolute, across, junctions_of, seen_from, write_location
from scenarioctl.chains.trust import is_beyond_bridge
from scenarioctl.model.checks import Amount, Holding
from scenarioctl.transactions.simulation.arrival import incoming_assets
from scenarioctl.transactions.simulation.balance_changes import BalanceChange, read_balance_changes
from scenarioctl.transactions.simulation.balances import existential_deposit
from scenarioctl.transactions.simulation.findings import Findings, amount_of, asset_at
from scenarioctl.transactions.simulation.runtime_api import Inconclusive
from scenarioctl.transactions.simulation.xcm_fees import (
    delivery_fees,
    execution_fees,
    program_fees,
    query_weight,
)
from scenarioctl.transactions.transfer.bridges import sovereign_account_beyond
from scenarioctl.transactions.xcm_programs import XCM_PALLETS, local_messages

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.calls import Call
    from scenarioctl.transactions.events import Event
    from scenarioctl.transactions.simulation.dry_run import DryRunResult
    from scenarioctl.transactions.simulation.runtime_api import Clients

#: Pallets' accounts that people know by another name.
_PALLET_ACCOUNTS = {
    b"py/trsry": "treasury",
    b"py/xcmch": "teleports' checking account",
    b"PotStake": "collators' pot",
}
#: Whose balance mirrors what is on other chains.
_MIRRORS = ("sovereign", "teleports'")
#: Of what comes, so much may be missing beside the fees: a hundredth, which is also what a price moves meanwhile.
_TOLERANCE = 100
#: Without the fees at hand, so much: a tenth.
_ROUGH = 10


@dataclass(frozen=True, kw_only=True)
class AccountRole:
    """An account, and who it is."""

    account: bytes
    role: str = ""
    #: Of the chain's own, for fees or backing.
    system: bool = False


@dataclass(kw_only=True)
class RecipientCheck:
    """The accounts of one transaction: the sender, the beneficiary if it has one, and those that it names."""

    findings: Findings
    clients: "Clients"
    assets: "Assets"
    hops: Sequence["DryRunResult"]
    sender: bytes
    beneficiary: bytes | None
    #: Accounts that the transaction names.
    named: frozenset[bytes]
    #: Chains on which it names places that are no accounts.
    named_on: frozenset[str]
    #: What is credited on the last chain, where that is an asset that is not listed (`recognize_credit`).
    recognized: "Asset | None" = None
    leaves: list[Holding] = field(default_factory=list)
    credits: list[Holding] = field(default_factory=list)
    #: What somebody gets, whom the chain does not hold for itself.
    received: "list[tuple[DryRunResult, AccountRole, BalanceChange]]" = field(default_factory=list)
    _moves: dict[int, list[tuple[AccountRole, BalanceChange]]] = field(default_factory=dict)

    async def read(self) -> None:
        """Name every account that loses or gets something."""
        for number, hop in enumerate(self.hops):
            moves = await self._read_hop(hop)
            self._moves[number] = moves
            delivery = _paid_fees(hop.events, self.sender, hop.chain)
            for party, move in moves:
                value = move.value
                if value < 0 and party.account == self.sender and hop.message is None:
                    value += delivery.get(_identity(move.asset, hop.chain), 0)
                if value < 0 and not party.system:
                    self.leaves.append(self._holding(hop, party, move.asset, -value))
                if value > 0:
                    self.credits.append(self._holding(hop, party, move.asset, value))
                    if not party.system:
                        self.received.append((hop, party, move))

    def sent(self) -> list[tuple["Asset", int]]:
        """Return what leaves the sender on their own chain, the delivery of messages apart."""
        first = self.hops[0]
        delivery = _paid_fees(first.events, self.sender, first.chain)
        found = []
        for party, move in self._moves[0]:
            value = -move.value - delivery.get(_identity(move.asset, first.chain), 0)
            if party.account == self.sender and value > 0:
                found.append((move.asset, value))
        return found

    def received_on(self, hop: "DryRunResult") -> list[tuple[AccountRole, BalanceChange]]:
        """Return what somebody gets by *hop*, whom the chain does not hold for itself."""
        return [(party, move) for at, party, move in self.received if at is hop]

    def check_others(self, fees: Mapping[tuple[str, str], int]) -> None:
        """Refuse a transfer that gives something to somebody beside its beneficiary; *fees* are by chain and asset."""
        for hop, party, move in self.received:
            if party.account in (self.sender, self.beneficiary):
                continue
            if move.value > fees.get((hop.chain.name, _identity(move.asset, hop.chain)), 0):
                self.findings.refusals.append(
                    f"{amount_of(move.asset, move.value)} would go to {_say(party, hop.chain)} on {hop.chain.name}, an account that the transfer does not name"
                )

    def warn_of_shares(self) -> None:
        """Say who shares what one message brings."""
        for hop in self.hops:
            shares = self.received_on(hop)
            if hop.message is not None and len({party.account for party, _ in shares}) > 1:
                said = ", ".join(
                    f"{amount_of(move.asset, move.value)} to {_say(party, hop.chain)}"
                    for party, move in shares
                )
                self.findings.warnings.append(
                    f"several accounts share the assets that reach {hop.chain.name}: {said}"
                )

    def warn_of_losses(self) -> None:
        """Say what leaves others than the sender."""
        for holding in self.leaves:
            if holding.role == "the beneficiary":
                told = f"leaves the beneficiary {holding.account} on {holding.chain}"
            elif holding.role != "the sender":
                told = f"leaves {holding.account} on {holding.chain}, which is not the sender"
            else:
                continue
            self.findings.warnings.append(f"{holding.amount} {told}")

    async def check_sums(self, call: "Call | None") -> None:
        """Hold what comes to each chain against what goes to accounts, to other chains and for fees there.

        Of the first chain that is what leaves accounts; only with *call*, whose programs it executes.
        """
        for number, hop in enumerate(self.hops):
            if hop.failure or hop.unknown or (hop.message is None and call is None):
                continue
            parties = self._moves[number]
            given = _given(hop, parties)
            native = self.assets.native(hop.chain)
            coming = _debited(hop, parties, native) if hop.message is None else _brought(hop)
            missing = {
                identity: value - given.get(identity, 0)
                for identity, value in coming.items()
                if value - given.get(identity, 0) > value // _TOLERANCE
            }
            if missing:
                await self._judge_missing(hop, missing, coming, call)

    async def _judge_missing(
        self, hop: "DryRunResult", missing: Mapping[str, int], coming: Mapping[str, int], call: "Call | None"
    ) -> None:
        try:
            fees = await self._fees(hop, call)
        except Inconclusive as problem:
            for identity, value in missing.items():
                if value > coming[identity] // _ROUGH:
                    self.findings.unknowns.append(
                        f"{self._say_amount(hop.chain, identity, value)} that reaches {hop.chain.name} is credited to nobody, and the fees taken from it could not be computed: {problem}"
                    )
            return
        for identity, value in missing.items():
            lost = value - fees.get(identity, 0)
            if lost <= coming[identity] // _TOLERANCE or (
                # What is left of an asset that only pays the fee for others may be too little to hold.
                hop.message is not None
                and identity in fees
                and len(coming) > 1
                and lost <= await self._least(hop.chain, identity)
            ):
                continue
            amount = self._say_amount(hop.chain, identity, lost)
            if hop.message is not None and self._may_be_credited(hop, identity):
                self.findings.unknowns.append(say_unlisted(hop.chain))
            elif hop.message is not None or (call is not None and any(local_messages(call))):
                self.findings.refusals.append(
                    f"{amount} that {'reaches' if hop.message is not None else 'leaves accounts on'} {hop.chain.name} is credited to nobody: it would be lost"
                )
            else:
                self.findings.unknowns.append(
                    f"{amount} leaves accounts on {hop.chain.name}, but no account is seen to receive it"
                )

    def _may_be_credited(self, hop: "DryRunResult", identity: str) -> bool:
        """Tell whether somebody gets what may be the asset *identity*, by an id that is not known here."""
        return asset_at(self.assets, hop.chain, identity) is None and any(
            not move.asset.location for _, move in self.received_on(hop)
        )

    async def _least(self, chain: "Chain", identity: str) -> int:
        asset = asset_at(self.assets, chain, identity)
        return 0 if asset is None else await existential_deposit(self.clients(chain), asset)

    async def _fees(self, hop: "DryRunResult", call: "Call | None") -> dict[str, int]:
        """Return what *hop* takes for executing programs and delivering messages."""
        client = self.clients(hop.chain)
        found = []
        if hop.message is not None:
            found += await execution_fees(client, hop.message, await query_weight(client, hop.message.data))
        elif call is not None:
            for versioned in local_messages(call):
                found += await program_fees(client, versioned)
        for message in hop.sent:
            found += await delivery_fees(client, message)
        sums: dict[str, int] = defaultdict(int)
        for fee in found:
            sums[fee.identity] += fee.amount
        return sums

    async def _read_hop(self, hop: "DryRunResult") -> list[tuple[AccountRole, BalanceChange]]:
        moves = [self._recognize(move) for move in read_balance_changes(hop.events, hop.chain, self.assets)]
        parties = [(self._party(move.account, hop.chain), move) for move in moves]
        if not hop.sent or not any(self._may_be_fee(party, move) for party, move in parties):
            return parties
        try:
            fees = [
                fee.amount
                for message in hop.sent
                for fee in await delivery_fees(self.clients(hop.chain), message)
            ]
        except Inconclusive:
            # Then who gets the fee is named as anybody else.
            return parties
        told = {*fees, sum(fees)}
        return [
            (AccountRole(account=party.account, role="gets the delivery fee", system=True), move)
            if self._may_be_fee(party, move) and move.value in told
            else (party, move)
            for party, move in parties
        ]

    def _recognize(self, move: BalanceChange) -> BalanceChange:
        known, asset = self.recognized, move.asset
        if known is None or (asset.chain, asset.kind, asset.id) != (known.chain, known.kind, known.id):
            return move
        return replace(move, asset=known)

    def _may_be_fee(self, party: AccountRole, move: BalanceChange) -> bool:
        return not party.system and not party.role and move.value > 0 and party.account not in self.named

    def _party(self, account: bytes, chain: "Chain") -> AccountRole:
        if account == self.sender:
            return AccountRole(account=account, role="the sender")
        if account == self.beneficiary:
            return AccountRole(account=account, role="the beneficiary")
        role = self._own_role(account, chain)
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

    def _holding(self, hop: "DryRunResult", party: AccountRole, asset: "Asset", value: int) -> Holding:
        return Holding(
            chain=hop.chain.name,
            account=format_account(party.account, hop.chain.ss58_prefix),
            amount=amount_of(asset, value),
            role=party.role,
            system=party.system,
        )

    def _say_amount(self, chain: "Chain", identity: str, value: int) -> str:
        asset = asset_at(self.assets, chain, identity)
        if asset is None:
            # The relay chain's own asset has no name but its place.
            return str(Amount(value=value, asset=identity or seen_from(identity, chain.para_id)))
        return str(amount_of(asset, value))


def say_unlisted(chain: "Chain") -> str:
    return f"a message brings an unlisted asset to {chain.name}, so its credit could not be checked"


def _say(party: AccountRole, chain: "Chain") -> str:
    return format_account(party.account, chain.ss58_prefix)


def _identity(asset: "Asset", chain: "Chain") -> str:
    """Return an asset as the network knows it; as its chain does where it has no location."""
    return absolute(asset.location, chain.para_id) if asset.location else f"{chain.name}: {asset.id}"


def _brought(hop: "DryRunResult") -> dict[str, int]:
    sums: dict[str, int] = defaultdict(int)
    for identity, amount in () if hop.message is None else incoming_assets(hop.message):
        sums[identity] += amount
    return sums


def _debited(
    hop: "DryRunResult", parties: Sequence[tuple[AccountRole, BalanceChange]], native: "Asset"
) -> dict[str, int]:
    sums: dict[str, int] = defaultdict(int)
    for party, move in parties:
        if not party.system and move.value < 0:
            sums[_identity(move.asset, hop.chain)] -= move.value
    for event in hop.events:
        # What is left below the existential deposit goes with its account, and is told elsewhere.
        if event.name == "DustLost" and event.pallet == "Balances":
            sums[_identity(native, hop.chain)] -= event.fields["amount"]
    return sums


def _given(hop: "DryRunResult", parties: Sequence[tuple[AccountRole, BalanceChange]]) -> dict[str, int]:
    """Return what goes to accounts and to other chains; backing that stays for what goes on counts once."""
    onward: dict[str, int] = defaultdict(int)
    mirrored: dict[str, int] = defaultdict(int)
    sums: dict[str, int] = defaultdict(int)
    for message in hop.sent:
        # Beyond a bridge, a message names an asset as seen from there.
        network = hop.chain.consensus if message.destination is None else message.destination.consensus
        for identity, amount in incoming_assets(message):
            onward[across(identity, network, hop.chain.consensus)] += amount
    for party, move in parties:
        if move.value > 0:
            mirror = party.system and party.role.startswith(_MIRRORS)
            (mirrored if mirror else sums)[_identity(move.asset, hop.chain)] += move.value
    for identity in {*onward, *mirrored}:
        sums[identity] += max(onward[identity], mirrored[identity])
    return sums


def _paid_fees(events: Sequence["Event"], payer: bytes, chain: "Chain") -> dict[str, int]:
    """Return what *payer* paid for delivering messages, as the events tell."""
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
