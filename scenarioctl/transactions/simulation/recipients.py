"""Who gets what: nobody whom the transaction doesn't name, and nobody less than it says."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scenarioctl.chains.addresses import format_account
from scenarioctl.model.checks import Holding
from scenarioctl.transactions.simulation.findings import Findings, amount_of
from scenarioctl.transactions.simulation.ledger import paid_for_delivery
from scenarioctl.transactions.simulation.runtime_api import Inconclusive, read_storage

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain
    from scenarioctl.transactions.simulation.dry_run import DryRunResult
    from scenarioctl.transactions.simulation.ledger import AccountRole, Entry, HopLedger
    from scenarioctl.transactions.simulation.runtime_api import Clients


@dataclass(kw_only=True)
class RecipientCheck:
    """The accounts of one transaction."""

    findings: Findings
    clients: "Clients"
    ledgers: "Sequence[HopLedger]"
    sender: bytes
    beneficiary: bytes | None
    #: Accounts that the transaction names.
    named: frozenset[bytes]
    named_on: frozenset[str]
    #: Whether the signer knows that what arrives can't be spent at first.
    accepts_locked: bool = False
    leaves: list[Holding] = field(default_factory=list)
    credits: list[Holding] = field(default_factory=list)

    def list_holdings(self) -> None:
        """Name every account that loses or gets something."""
        for ledger in self.ledgers:
            hop = ledger.hop
            delivery = paid_for_delivery(hop.events, self.sender, hop.chain)
            for entry in ledger.entries:
                value = entry.change.value
                if value < 0 and entry.party.account == self.sender and hop.message is None:
                    value += delivery.get(entry.identity, 0)
                if value < 0 and not entry.party.system:
                    self.leaves.append(_holding(hop, entry, -value))
                if value > 0:
                    self.credits.append(_holding(hop, entry, value))

    def sent(self) -> "list[tuple[Asset, int]]":
        """Return what leaves the sender on their own chain, the delivery of messages apart."""
        first = self.ledgers[0]
        delivery = paid_for_delivery(first.hop.events, self.sender, first.hop.chain)
        return [
            (entry.change.asset, value)
            for entry in first.entries
            if entry.party.account == self.sender
            and (value := -entry.change.value - delivery.get(entry.identity, 0)) > 0
        ]

    def received_on(self, hop: "DryRunResult") -> "list[Entry]":
        """Return what somebody gets by *hop*, whom the chain does not hold for itself."""
        return [entry for ledger in self.ledgers if ledger.hop is hop for entry in ledger.received()]

    def check_strangers(self) -> None:
        """Object to what goes to somebody whom nobody named: of a transfer, to anybody but its beneficiary."""
        for ledger in self.ledgers:
            losing = {entry.identity for entry in ledger.entries if entry.change.value < 0}
            for entry in ledger.received():
                account = entry.party.account
                if account in (self.sender, self.beneficiary):
                    continue
                said = f"{_amount(entry)} would go to {_say(entry.party, ledger.hop.chain)} on {ledger.hop.chain.name}, an account that the"
                if self.beneficiary is not None:
                    self.findings.refusals.append(f"{said} transfer does not name")
                elif (
                    account not in self.named
                    and ledger.hop.chain.name not in self.named_on
                    # What is made for somebody, like a reward, costs nobody anything.
                    and (ledger.hop.message is not None or entry.identity in losing)
                ):
                    self.findings.unknowns.append(f"{said} transaction does not name")

    def warn_of_shares(self) -> None:
        """Say who shares what one message brings."""
        for ledger in self.ledgers:
            shares = list(ledger.received())
            if ledger.hop.message is not None and len({each.party.account for each in shares}) > 1:
                said = ", ".join(
                    f"{_amount(each)} to {_say(each.party, ledger.hop.chain)}" for each in shares
                )
                self.findings.warnings.append(
                    f"several accounts share the assets that reach {ledger.hop.chain.name}: {said}"
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
            self.findings.losses.append(f"{holding.amount} {told}")

    async def check_kept(self) -> None:
        """Say what the sender can no longer spend, and refuse what a receiver can't spend."""
        for ledger in self.ledgers:
            for entry in ledger.entries:
                kept = entry.change.kept
                if not kept or entry.party.system:
                    continue
                amount = amount_of(entry.change.asset, kept)
                chain = ledger.hop.chain
                if entry.party.account == self.sender and entry.change.value <= 0:
                    if entry.change.locked > max(entry.change.held, 0):
                        self.findings.lose(
                            chain, "locked", amount, f"{amount} of the sender is locked on {chain.name}"
                        )
                    continue
                await self._check_arrived(ledger, entry)

    async def _check_arrived(self, ledger: "HopLedger", entry: "Entry") -> None:
        chain, change = ledger.hop.chain, entry.change
        kept = min(change.kept, change.value) if change.value > 0 else change.kept
        free = amount_of(change.asset, max(change.value - kept, 0))
        until = await self._locked_until(ledger.hop, change.asset)
        sentence = f"{_say(entry.party, chain)} can spend only {free} of the {_amount(entry)} that arrives on {chain.name}: {amount_of(change.asset, kept)} is locked {until}"
        if self.accepts_locked:
            self.findings.lose(chain, "locked", amount_of(change.asset, kept), sentence)
        else:
            self.findings.refusals.append(f"{sentence}; to send it all the same, accept it (--accept-locked)")

    async def _locked_until(self, hop: "DryRunResult", asset: "Asset") -> str:
        """Return until when a deposit limit keeps *asset*; Hydration locks all that goes beyond one."""
        for event in hop.events:
            if str(event) == "CircuitBreaker.AssetLockdown" and str(event.fields["asset_id"]) == asset.id:
                return f"until block {event.fields['until']}, because it exceeds the deposit limit"
        if asset.id.isdigit():
            try:
                state = await read_storage(
                    self.clients(hop.chain), "CircuitBreaker", "AssetLockdownState", int(asset.id)
                )
            except Inconclusive:
                state = None
            if state is not None and "Locked" in state:
                return f"until block {state['Locked']}, because the deposit limit was exceeded before"
        return "there"


def _say(party: "AccountRole", chain: "Chain") -> str:
    return format_account(party.account, chain.ss58_prefix)


def _amount(entry: "Entry") -> object:
    return amount_of(entry.change.asset, entry.change.value)


def _holding(hop: "DryRunResult", entry: "Entry", value: int) -> Holding:
    return Holding(
        chain=hop.chain.name,
        account=format_account(entry.party.account, hop.chain.ss58_prefix),
        amount=amount_of(entry.change.asset, value),
        role=entry.party.role,
        system=entry.party.system,
    )
