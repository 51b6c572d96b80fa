"""What goes along with a transfer to pay on the destination: whether it is enough, and what is left of it for the beneficiary."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scenarioctl.chains.locations import absolute
from scenarioctl.transactions.simulation.arrival import Arrival, carried_amount
from scenarioctl.transactions.simulation.balance_changes import find_credit, find_debit
from scenarioctl.transactions.simulation.findings import Findings, amount_of
from scenarioctl.transactions.simulation.missing_credit import say_no_credit

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.transactions.simulation.dry_run import DryRunResult
    from scenarioctl.transactions.simulation.runtime_api import Clients
    from scenarioctl.transactions.transfer.request import Transfer


@dataclass(frozen=True, kw_only=True)
class FeeBesideCheck:
    """The check of *amount* of *asset*, which the source of *transfer* holds, and which leaves with it."""

    findings: Findings
    clients: "Clients"
    assets: "Assets"
    hops: "Sequence[DryRunResult]"
    transfer: "Transfer"
    asset: "Asset"
    amount: int
    #: None if it could not be computed.
    arrival: Arrival | None

    async def run(self) -> None:
        """Judge it, and add what is taken and what is left of it to the steps."""
        arriving = self.assets.counterpart(self.asset, self.transfer.destination)
        if arriving is None:
            return
        self._check_carried(arriving)
        last = self.hops[-1]
        ends_there = last.chain.name == self.transfer.destination.name
        if ends_there and not any(hop.failure or hop.unknown for hop in self.hops):
            deposit = find_debit(last.events, arriving, self.transfer.beneficiary)
            judge_margin(self.findings, last.chain, arriving, self.amount, self.arrival, deposit)
            await self._check_rest(last, arriving)

    def _check_carried(self, arriving: "Asset") -> None:
        carried = carried_amount(self.hops[0].sent, arriving, self.transfer.destination)
        if carried is not None and carried != self.amount:
            source = self.transfer.source.name
            told = f"carries {self.asset.amount(carried)}" if carried else "is not seen to carry any"
            reasons = self.findings.refusals if carried else self.findings.unknowns
            reasons.append(
                f"{self.asset.amount(self.amount)} should leave {source} to pay the fee, but its message {told}"
            )

    async def _check_rest(self, last: "DryRunResult", arriving: "Asset") -> None:
        chain, beneficiary = last.chain, self.transfer.beneficiary
        credit = find_credit(last.events, arriving, beneficiary)
        if self.arrival is None and not credit:
            self.findings.unknowns.append(
                f"no {arriving.display_name} is credited to the beneficiary on {chain.name}, and whether any should be left could not be computed"
            )
        rest = credit if self.arrival is None else self.arrival.assets.get(self._identity(arriving), 0)
        # The chain may take a deposit of the beneficiary out of what it just credited.
        taken = find_debit(last.events, arriving, beneficiary)
        if taken:
            self.findings.add_step(chain, "receiver deposit", arriving, taken)
        if self.arrival is not None:
            self.findings.add_step(chain, "computed arrival", arriving, max(rest - taken, 0))
        if credit > taken:
            self.findings.add_step(chain, "arrives", arriving, credit - taken)
        computed = amount_of(arriving, rest)
        if rest and not credit:
            self.findings.refusals.append(
                await say_no_credit(self.clients(chain), arriving, beneficiary, computed)
            )
        elif credit != rest:
            self.findings.warnings.append(
                f"{computed} should arrive on {chain.name} as computed, but its dry run credits {amount_of(arriving, credit)}"
            )

    def _identity(self, arriving: "Asset") -> str:
        return absolute(arriving.location, self.transfer.destination.para_id)


def judge_margin(
    findings: Findings,
    chain: "Chain",
    asset: "Asset",
    amount: int,
    arrival: Arrival | None,
    deposit: int = 0,
) -> None:
    """Say if the fee on *chain*, and the receiver's *deposit*, would be more than the *amount* of *asset* that pays once they rise a little.

    Then all of the transfer is trapped.
    """
    identity = absolute(asset.location, chain.para_id)
    taken = sum(
        fee.amount
        for fee in (arrival.fees if arrival is not None else ())
        if (fee.chain.name, fee.identity) == (chain.name, identity)
    )
    sentence = f"{asset.amount(amount)} goes along to pay the fee on {chain.name}, which is {asset.amount(taken)} now"
    if taken > amount:
        findings.unknowns.append(f"{sentence}: that is more, although nothing fails there")
    elif (taken + deposit) * 4 > amount * 3:
        beside = f", and the receiver's deposit of {asset.amount(deposit)}" if deposit else ""
        findings.warnings.append(
            f"{sentence}{beside}. If {chain.name} takes more than goes along, the transfer is trapped there."
        )
