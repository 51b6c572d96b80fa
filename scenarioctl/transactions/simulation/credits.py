"""Whether what is sent arrives: the credit on the last chain, and what it should be."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.locations import absolute, write_location
from scenarioctl.model.checks import Amount, Step
from scenarioctl.transactions.simulation.arrival import (
    Arrival,
    carried_amount,
    compute_arrival,
    incoming_assets,
)
from scenarioctl.transactions.simulation.balance_changes import deposit_accounts, find_credit
from scenarioctl.transactions.simulation.fee_beside import FeeBesideCheck, judge_margin
from scenarioctl.transactions.simulation.findings import Findings, amount_of, asset_at
from scenarioctl.transactions.simulation.missing_credit import say_no_credit
from scenarioctl.transactions.simulation.runtime_api import Clients, Inconclusive
from scenarioctl.transactions.transfer.bridges import is_bridged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.transactions.simulation.dry_run import DryRunResult
    from scenarioctl.transactions.simulation.recipients import RecipientCheck
    from scenarioctl.transactions.transfer.request import Transfer
    from scenarioctl.transactions.xcm_programs import Instruction


@dataclass(kw_only=True)
class CreditCheck:
    """What arrives by one transaction."""

    findings: Findings
    clients: Clients
    assets: "Assets"
    hops: "Sequence[DryRunResult]"
    sender: bytes
    receivers: "RecipientCheck"
    instructions: "Sequence[Instruction]"
    #: What arrives, as the last chain credits it, if that is an asset that is not listed there.
    recognized: "Asset | None" = None
    arrival: Arrival | None = None
    weights: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    computed: Amount | None = None
    credited: Amount | None = None

    @property
    def failed(self) -> bool:
        return any(hop.failure or hop.unknown for hop in self.hops)

    async def check_transfer(self, transfer: "Transfer", beside: "tuple[Asset, int] | None" = None) -> None:
        """Judge the arrival of *transfer*, and of what goes *beside* it to pay the fee: an asset of the source, raw amount."""
        await self._check_arrival(transfer)
        # Over a bridge, what pays stays on the way.
        if beside is not None and not is_bridged(transfer):
            asset, amount = beside
            await FeeBesideCheck(
                findings=self.findings,
                clients=self.clients,
                assets=self.assets,
                hops=self.hops,
                transfer=transfer,
                asset=asset,
                amount=amount,
                arrival=self.arrival,
            ).run()

    async def _check_arrival(self, transfer: "Transfer") -> None:
        """Look for the beneficiary's credit on the last chain, and compute what it should be."""
        source, destination = transfer.source, transfer.destination
        same = source.name == destination.name
        asset = transfer.asset if same else self.assets.counterpart(transfer.asset, destination)
        asset = asset or self.recognized
        if asset is None:
            self.findings.unknowns.append(
                f"{transfer.asset.label} is not listed for {destination.name}, and nothing that is credited there is certain to be it: if {destination.name} has it, set its id and location in [[chains.{destination.name}.assets]]"
            )
            return
        if same:
            self.computed = amount_of(asset, transfer.amount)
        else:
            arrival = self.arrival = await self._compute()
            if self._is_carried(transfer, asset) and arrival is not None:
                self._expect(arrival, asset, destination)
        if self.failed:
            return
        last = self.hops[-1]
        if last.chain.name != destination.name:
            self.findings.refusals.append(
                f"the transfer ends on {last.chain.name} instead of {destination.name}"
            )
        elif same and transfer.beneficiary == self.sender:
            # Some pallets tell of a transfer even then, others of nothing.
            self.findings.refusals.append(
                f"the receiver is the sender: nothing would move on {source.name}, but the fee would be paid"
            )
        elif not self._take_credit(last, asset, find_credit(last.events, asset, transfer.beneficiary)):
            self.findings.refusals.append(
                await say_no_credit(self.clients(last.chain), asset, transfer.beneficiary, self.computed)
            )
        elif self.recognized is not None and self.computed != self.credited:
            told = f", but {self.computed} should arrive" if self.computed is not None else ""
            self.findings.unknowns.append(
                f"{destination.name} credits {self.credited} under an id that is not known here{told}: only the amount that is computed to the last unit shows that it is the asset that was sent"
            )

    def _is_carried(self, transfer: "Transfer", asset: "Asset") -> bool:
        """Refuse a call after which another amount goes on than *transfer* sends; *asset* is its asset on the destination."""
        carried = carried_amount(self.hops[0].sent, asset, transfer.destination)
        if carried is None:
            # That it ends elsewhere, or where nobody knows, is told for itself.
            return False
        should = f"{amount_of(transfer.asset, transfer.amount)} should leave {transfer.source.name}, but"
        if not carried:
            self.findings.unknowns.append(f"{should} none is seen in its message")
        elif carried != transfer.amount:
            self.findings.refusals.append(
                f"{should} its message carries {amount_of(transfer.asset, carried)}"
            )
        return carried == transfer.amount

    async def check_deposits(self) -> None:
        """Look for the credit of each account that a last message deposits to."""
        arrival = await self._compute() if any(hop.message for hop in self.hops) else None
        for hop in self.hops:
            message = hop.message
            if message is None or hop.sent or hop.failure or hop.unknown:
                continue
            accounts = list(dict.fromkeys(deposit_accounts(message)))
            credited = self.receivers.received_on(hop)
            if not accounts and not (credited and self._deposits_on(hop.chain)):
                self.findings.unknowns.append(
                    f"the message that ends on {hop.chain.name} deposits to no account whose credit could be checked"
                )
            brought = [asset_at(self.assets, hop.chain, identity) for identity, _ in incoming_assets(message)]
            known = [asset for asset in brought if asset is not None]
            if len(known) < len(brought):
                self.findings.unknowns.append(
                    f"a message brings an unlisted asset to {hop.chain.name}, so its credit could not be checked"
                )
            fees = message.first("BuyExecution")
            fee_place = "" if fees is None else write_location(fees["fees"]["id"])
            brings = dict(incoming_assets(message))
            for asset in known if len(known) > 1 else ():
                if asset.location == fee_place:
                    amount = brings[absolute(asset.location, hop.chain.para_id)]
                    judge_margin(self.findings, hop.chain, asset, amount, arrival)
            # What only pays the fee for others may be used up.
            for asset in sorted(known, key=lambda asset: asset.location != fee_place):
                if arrival is not None:
                    self._expect(arrival, asset, hop.chain)
                total = sum(each.change.value for each in credited if each.change.asset.id == asset.id)
                needed = asset.location != fee_place or len(known) == 1
                if not self._take_credit(hop, asset, total) and needed and accounts:
                    self.findings.refusals.append(
                        await say_no_credit(self.clients(hop.chain), asset, accounts[0], self.computed)
                    )
            got = {each.party.account for each in credited}
            for account in accounts if got else ():
                if account not in got:
                    who = format_account(account, hop.chain.ss58_prefix)
                    self.findings.refusals.append(
                        f"nothing is credited to {who} on {hop.chain.name}, although the message names that account"
                    )

    def _deposits_on(self, chain: "Chain") -> bool:
        """Tell whether a program deposits anything on *chain*, be it to an account of another kind."""
        return any(
            instruction.name in ("DepositAsset", "TransferAsset") and instruction.chain == chain
            for instruction in self.instructions
        )

    async def _compute(self) -> Arrival | None:
        """Return what the hops leave, and add what they take to the steps."""
        try:
            arrival = await compute_arrival(self.clients, self.hops)
        except Inconclusive as problem:
            self.findings.warnings.append(f"the arrival could not be computed: {problem}")
            return None
        self.weights.update(arrival.weights)
        for fee in arrival.fees:
            asset = asset_at(self.assets, fee.chain, fee.identity)
            amount = (
                Amount(value=fee.amount, asset=fee.place) if asset is None else amount_of(asset, fee.amount)
            )
            self.findings.steps.append(Step(chain=fee.chain.name, what=fee.what, amount=amount))
        return arrival

    def _expect(self, arrival: Arrival, asset: "Asset", chain: "Chain") -> None:
        if self.hops[-1].chain.name == chain.name:
            identity = absolute(asset.location, chain.para_id)
            self.computed = amount_of(asset, arrival.assets.get(identity, 0))
            self.findings.steps.append(Step(chain=chain.name, what="computed arrival", amount=self.computed))

    def _take_credit(self, hop: "DryRunResult", asset: "Asset", credit: int) -> bool:
        """Note what is credited in the end, and tell whether anything is."""
        if credit:
            self.credited = amount_of(asset, credit)
            self.findings.add_step(hop.chain, "arrives", asset, credit)
            if self.computed is not None and self.computed != self.credited:
                self.findings.warnings.append(
                    f"{self.computed} should arrive on {hop.chain.name} as computed, but its dry run credits {self.credited}"
                )
        return credit > 0
