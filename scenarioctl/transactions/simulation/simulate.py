"""Whether a transaction does what its sender wants, proven before it is signed.

The verdict rests on the beneficiary's credit on the last chain: `Complete` alone is also what a chain says where money
is gone without a trace.  What no chain could prove is `unknown`, never `ok`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.locations import absolute, write_location
from scenarioctl.model.checks import Amount, Check, Step, Stop
from scenarioctl.transactions.simulation.arrival import (
    Arrival,
    carried_amount,
    compute_arrival,
    incoming_assets,
)
from scenarioctl.transactions.simulation.balance_changes import deposit_accounts, find_credit
from scenarioctl.transactions.simulation.conditional_calls import describe_fallbacks, pending_calls
from scenarioctl.transactions.simulation.costs import CostCheck
from scenarioctl.transactions.simulation.dry_run import DryRunResult, read_programs, trace_call
from scenarioctl.transactions.simulation.fee_beside import FeeBesideCheck, judge_margin
from scenarioctl.transactions.simulation.findings import Findings, amount_of, asset_at
from scenarioctl.transactions.simulation.lost_receivers import check_lost_receivers
from scenarioctl.transactions.simulation.missing_credit import say_no_credit
from scenarioctl.transactions.simulation.para_ids import check_para_ids_on_way
from scenarioctl.transactions.simulation.recipients import RecipientCheck, say_unlisted
from scenarioctl.transactions.simulation.reserves import check_reserves
from scenarioctl.transactions.simulation.runtime_api import Clients, Inconclusive
from scenarioctl.transactions.simulation.trapped_assets import check_trapped_assets
from scenarioctl.transactions.simulation.unlisted_credits import recognize_credit
from scenarioctl.transactions.simulation.unsupported_instructions import check_unsupported_instructions
from scenarioctl.transactions.transfer.bridges import is_bridged
from scenarioctl.transactions.xcm_programs import gives_to_places, named_accounts

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.calls import Call
    from scenarioctl.transactions.transfer.request import Transfer
    from scenarioctl.transactions.xcm_programs import Instruction

#: Events by which a call that succeeds tells that a call inside it did not.
_FAILURES = frozenset(("Utility.BatchInterrupted", "Utility.BatchCompletedWithErrors", "Utility.ItemFailed"))


async def simulate_transfer(
    clients: Clients,
    assets: "Assets",
    *,
    transfer: "Transfer",
    call: "Call",
    sender: bytes,
    beside: "tuple[Asset, int] | None" = None,
    fee_asset: "Asset | None" = None,
) -> Check:
    """Return the verdict on *call*, which makes *transfer* for *sender*.

    *beside* is what leaves with it to pay the fee on the way: an asset of the source, and the raw amount.  *fee_asset* is
    what the transaction names to pay its own fee.
    """
    checker = Simulation(clients, assets, transfer.source, sender, call, fee_asset)
    await checker.try_call(transfer)
    sent = [(transfer.asset, transfer.amount), *([beside] if beside else [])]
    await checker.check_costs(sent)
    await checker.check_arrival(transfer)
    if beside is not None and not is_bridged(transfer):
        # Over a bridge, what pays stays on the way.
        asset, amount = beside
        await FeeBesideCheck(
            findings=checker.findings,
            clients=clients,
            assets=assets,
            hops=checker.hops,
            transfer=transfer,
            asset=asset,
            amount=amount,
            arrival=checker.arrival,
        ).run()
    checker.check_receiver()
    checker.receivers.warn_of_losses()
    await checker.check_sums(None)
    return checker.check()


async def simulate_call(
    clients: Clients,
    assets: "Assets",
    *,
    chain: "Chain",
    call: "Call",
    sender: bytes,
    fee_asset: "Asset | None" = None,
) -> Check:
    """Return the verdict on any *call* by *sender*: each account that its messages name must be credited in the end.

    *fee_asset* is what the transaction names to pay its fee.
    """
    checker = Simulation(clients, assets, chain, sender, call, fee_asset)
    await checker.try_call()
    await checker.check_costs()
    await checker.check_receivers()
    await checker.try_pending()
    return checker.check()


class Simulation:
    """One check as it goes along; what it finds is collected, and judged in the end."""

    hops: list[DryRunResult]
    instructions: "list[Instruction]"
    receivers: RecipientCheck

    def __init__(
        self,
        clients: Clients,
        assets: "Assets",
        chain: "Chain",
        sender: bytes,
        call: "Call",
        fee_asset: "Asset | None" = None,
    ) -> None:
        chain.account_format.check(sender, chain=chain.name, field="sender")
        self.clients = clients
        self.assets = assets
        self.chain = chain
        self.sender = sender
        self.call = call
        self.weights: dict[bytes, tuple[int, int]] = {}
        #: What each asset loses to fees on each chain of the way, by the asset as the network knows it.
        self.fees: dict[tuple[str, str], int] = {}
        self.findings = Findings()
        self.costs = CostCheck(self.findings, clients(chain), assets, sender, call, fee_asset)
        self.arrival: Arrival | None = None
        #: What arrives, as the last chain credits it, where that is an asset that is not listed there.
        self.recognized: Asset | None = None
        self.computed: Amount | None = None
        self.credited: Amount | None = None

    @property
    def failed(self) -> bool:
        return any(hop.failure or hop.unknown for hop in self.hops)

    def check(self) -> Check:
        return Check(
            verdict=self.findings.verdict,
            reasons=self.findings.reasons,
            warnings=tuple(dict.fromkeys(self.findings.warnings)),
            steps=tuple(self.findings.steps),
            computed=self.computed,
            credited=self.credited,
            leaves=tuple(self.receivers.leaves),
            credits=tuple(self.receivers.credits),
            stops=tuple(self._stop(hop) for hop in self.hops),
        )

    def _stop(self, hop: DryRunResult) -> Stop:
        message = hop.message
        return Stop(
            chain=hop.chain.name,
            tried="call" if message is None else "message",
            outcome="failed" if hop.failure else "unknown" if hop.unknown else "ok",
            reason=hop.failure or hop.unknown,
            message="" if message is None else "0x" + message.data.hex(),
            weight=None if message is None else self.weights.get(message.data),
            events=tuple(str(event) for event in hop.events),
        )

    async def try_call(self, transfer: "Transfer | None" = None, *, pays: bool = True) -> None:
        """Follow the call to where it ends, and judge what it and its programs do on the way.

        *transfer* is what it makes, if it is known to make one.  *pays* tells whether the sender pays the fee of the
        transaction.
        """
        charge = await self.costs.charge() if pays else None
        if self.costs.too_heavy:
            # Trying it would take the chain as long as it takes no block for.
            self.hops = [DryRunResult(chain=self.chain, failure=self.costs.too_heavy)]
        else:
            self.hops = await trace_call(
                self.clients, self.assets.registry, self.chain, self.call, self.sender, charge=charge
            )
        if transfer is None:
            # Of a transfer they are asked before it is built.
            await check_para_ids_on_way(self.findings, self.clients, self.hops, self.assets.registry)
        for hop in self.hops:
            if hop.failure:
                self.findings.refusals.append(_say_failure(hop))
            elif hop.unknown:
                self.findings.unknowns.append(hop.unknown)
            elif hop.message is not None and hop.message.exported:
                self.findings.unknowns.append(_say_bridge(hop.message.origin, hop.chain))
        failure = _inner_failure(self.hops[0])
        if failure:
            self.findings.refusals.append(failure)
        check_trapped_assets(self.findings, self.hops, self.assets, self.sender)
        instructions = self.instructions = read_programs(self.call, self.hops, self.assets.registry)
        check_reserves(self.findings, instructions, self.assets)
        await check_unsupported_instructions(self.findings, instructions, self.clients)
        check_lost_receivers(
            self.findings,
            instructions,
            self.assets,
            confirmed=None if transfer is None else transfer.beneficiary,
        )
        if transfer is not None:
            self.recognized = recognize_credit(self.hops, transfer, self.assets)
        named = {*named_accounts(self.call.args)}
        for hop in self.hops:
            named |= {*named_accounts(hop.message.program if hop.message is not None else [])}
        self.receivers = RecipientCheck(
            findings=self.findings,
            clients=self.clients,
            assets=self.assets,
            hops=self.hops,
            sender=self.sender,
            beneficiary=None if transfer is None else transfer.beneficiary,
            named=frozenset(named),
            named_on=gives_to_places(instructions),
            recognized=self.recognized,
        )
        await self.receivers.read()

    async def check_costs(self, sent: "Sequence[tuple[Asset, int]]" = ()) -> None:
        """Add what leaves and what it costs to the steps; *sent* is what a transfer is known to send."""
        for asset, amount in sent or self.receivers.sent():
            self.findings.add_step(self.chain, "leaves", asset, amount)
        await self.costs.check(self.hops[0], sent)

    async def check_receivers(self) -> None:
        """Judge who gets what by any call, and say what runs of calls with a condition."""
        await self.check_deposits()
        self.receivers.warn_of_shares()
        self.receivers.warn_of_losses()
        first = self.hops[0]
        if any(event.pallet == "Utility" for event in first.events):
            table = await self.clients(self.chain).table()
            self.findings.warnings += describe_fallbacks(table, self.chain.name, first.events)
        await self.check_sums(self.call)

    async def try_pending(self) -> None:
        """Try what a multisig does once all approve, as its account and as of now."""
        first = self.hops[0]
        if not any(event.pallet == "Multisig" for event in first.events):
            return
        table = await self.clients(self.chain).table()
        for pending in pending_calls(self.call, table, first.events):
            account = format_account(pending.account, self.chain.ss58_prefix)
            if pending.call is None:
                self.findings.unknowns.append(
                    f"only the hash is given of the call that the multisig account {account} would make"
                )
                continue
            later = Simulation(self.clients, self.assets, self.chain, pending.account, pending.call)
            await later.try_call(pays=False)
            await later.check_receivers()
            self._add_later(later, account)

    def _add_later(self, later: "Simulation", account: str) -> None:
        when = f"after all approvals, as the multisig account {account}"
        self.findings.refusals += [f"{when}: {reason}" for reason in later.findings.refusals]
        self.findings.unknowns += [f"{when}: {reason}" for reason in later.findings.unknowns]
        self.findings.warnings += [
            f"the call of the multisig account {account} runs only after the last signatory approves it",
            *(f"{when}: {warning}" for warning in later.findings.warnings),
        ]
        self.hops += later.hops
        self.receivers.leaves += later.receivers.leaves
        self.receivers.credits += later.receivers.credits

    def check_receiver(self) -> None:
        """Refuse a transfer whose beneficiary gets far less than computed, or that others get a part of."""
        self.receivers.check_others(self.fees)
        computed, credited = self.computed, self.credited
        if computed is not None and credited is not None and credited.value * 100 < computed.value * 99:
            self.findings.refusals.append(
                f"{computed} should arrive, but only {credited} is credited to the beneficiary"
            )

    async def check_sums(self, call: "Call | None") -> None:
        """Hold what comes to each chain against what goes on from there, where nothing is refused yet."""
        if not self.findings.refusals:
            await self.receivers.check_sums(call)

    # Arrival

    async def check_arrival(self, transfer: "Transfer") -> None:
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
                self.findings.unknowns.append(say_unlisted(hop.chain))
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
                total = sum(move.value for _, move in credited if move.asset.id == asset.id)
                needed = asset.location != fee_place or len(known) == 1
                if not self._take_credit(hop, asset, total) and needed and accounts:
                    self.findings.refusals.append(
                        await say_no_credit(self.clients(hop.chain), asset, accounts[0], self.computed)
                    )
            got = {party.account for party, _ in credited}
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
        self.weights = dict(arrival.weights)
        for fee in arrival.fees:
            place = (fee.chain.name, fee.identity)
            self.fees[place] = self.fees.get(place, 0) + fee.amount
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

    def _take_credit(self, hop: DryRunResult, asset: "Asset", credit: int) -> bool:
        """Note what is credited in the end, and tell whether anything is."""
        if credit:
            self.credited = amount_of(asset, credit)
            self.findings.add_step(hop.chain, "arrives", asset, credit)
            if self.computed is not None and self.computed != self.credited:
                self.findings.warnings.append(
                    f"{self.computed} should arrive on {hop.chain.name} as computed, but its dry run credits {self.credited}"
                )
        return credit > 0


def _say_bridge(origin: "Chain", chain: "Chain") -> str:
    return f"the bridge between {origin.name} and {chain.name} can't be simulated: the message was tried on {chain.name} in the form in which it should arrive, minutes to hours after it is sent"


def _say_failure(hop: DryRunResult) -> str:
    if hop.message is None:
        return hop.failure
    return f"{hop.failure}; the assets sent would be trapped or lost there"


def _inner_failure(hop: DryRunResult) -> str:
    """Return what failed inside a call that succeeded as a whole; empty where nothing did."""
    for event in hop.events:
        fields = event.fields
        result = fields.get("result") if isinstance(fields, Mapping) else None
        outcome = fields.get("outcome") if isinstance(fields, Mapping) else None
        if (
            str(event) in _FAILURES
            or (isinstance(result, Mapping) and "Err" in result)
            or (event.name == "Attempted" and isinstance(outcome, Mapping) and "Complete" not in outcome)
        ):
            return f"{hop.chain.name} accepts the call, but a part of it fails ({event})"
    return ""
