"""Whether a transaction does what its sender wants, proven before it is signed.

A check is a list of rules, each in a module of its own; here the transaction is tried, and what they find is collected.
The verdict rests on the beneficiary's credit on the last chain: `Complete` alone is also what a chain says where money is gone
without a trace.  What no chain could prove is `unknown`, never `ok`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scenarioctl.chains.addresses import format_account
from scenarioctl.model.checks import Check, Step, Stop
from scenarioctl.transactions.inner_calls import InnerCall, local_programs, walk_calls
from scenarioctl.transactions.keyless_accounts import accounts_of_address
from scenarioctl.transactions.simulation.branches import check_branches
from scenarioctl.transactions.simulation.competing_messages import check_competing_messages
from scenarioctl.transactions.simulation.conditional_calls import describe_fallbacks, pending_calls
from scenarioctl.transactions.simulation.conservation import check_conservation
from scenarioctl.transactions.simulation.costs import CostCheck
from scenarioctl.transactions.simulation.credits import CreditCheck
from scenarioctl.transactions.simulation.dry_run import DryRunResult, read_programs, trace_call
from scenarioctl.transactions.simulation.findings import Findings
from scenarioctl.transactions.simulation.granted_rights import check_granted_rights
from scenarioctl.transactions.simulation.inner_failures import check_inner_failures
from scenarioctl.transactions.simulation.keyless_receivers import check_keyless_receivers
from scenarioctl.transactions.simulation.ledger import LedgerReader
from scenarioctl.transactions.simulation.para_ids import check_para_ids_on_way
from scenarioctl.transactions.simulation.recipients import RecipientCheck
from scenarioctl.transactions.simulation.reserves import check_reserves
from scenarioctl.transactions.simulation.runtime_api import Clients
from scenarioctl.transactions.simulation.swap_credit import SwapCheck
from scenarioctl.transactions.simulation.trapped_assets import check_trapped_assets
from scenarioctl.transactions.simulation.understood_calls import check_understood_calls
from scenarioctl.transactions.simulation.unlisted_credits import recognize_credit
from scenarioctl.transactions.simulation.unsupported_instructions import check_unsupported_instructions
from scenarioctl.transactions.wording.calls import read_rights
from scenarioctl.transactions.xcm_programs import gives_to_places, named_accounts

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.calls import Call
    from scenarioctl.transactions.simulation.ledger import HopLedger
    from scenarioctl.transactions.transfer.request import Transfer
    from scenarioctl.transactions.wording.phrases import Reading
    from scenarioctl.transactions.xcm_programs import Instruction


@dataclass(frozen=True, kw_only=True)
class Consent:
    """What the signer has confirmed that the check would object to."""

    #: A receiver that nobody holds the key of, and a swap at any price.
    confirmed: bool = False
    #: That what arrives can't be spent at first.
    locked: bool = False


async def simulate_transfer(
    clients: Clients,
    assets: "Assets",
    *,
    transfer: "Transfer",
    call: "Call",
    sender: bytes,
    beside: "tuple[Asset, int] | None" = None,
    fee_asset: "Asset | None" = None,
    consent: Consent = Consent(),
) -> Check:
    """Return the verdict on *call*, which makes *transfer* for *sender*.

    *beside* is what leaves with it to pay the fee on the way: an asset of the source, and the raw amount.  *fee_asset* is
    what the transaction names to pay its own fee.
    """
    checker = Simulation(clients, assets, transfer.source, sender, call, fee_asset, transfer, consent)
    await checker.try_call()
    sent = [(transfer.asset, transfer.amount), *([beside] if beside else [])]
    await checker.check_costs(sent)
    await checker.credits.check_transfer(transfer, beside)
    await checker.check_all()
    return checker.check()


async def simulate_call(
    clients: Clients,
    assets: "Assets",
    *,
    chain: "Chain",
    call: "Call",
    sender: bytes,
    fee_asset: "Asset | None" = None,
    consent: Consent = Consent(),
) -> Check:
    """Return the verdict on any *call* by *sender*: each account that its messages name must be credited in the end.

    *fee_asset* is what the transaction names to pay its fee.
    """
    checker = Simulation(clients, assets, chain, sender, call, fee_asset, None, consent)
    await checker.try_call()
    await checker.check_costs()
    await checker.check_any_call()
    await checker.try_pending()
    return checker.check()


class Simulation:
    """One check as it goes along; what it finds is collected, and judged in the end."""

    hops: list[DryRunResult]
    #: Every call of the transaction, and every instruction of its programs and messages.
    calls: list[InnerCall]
    instructions: "list[Instruction]"
    ledgers: "list[HopLedger]"
    receivers: RecipientCheck
    credits: CreditCheck

    def __init__(
        self,
        clients: Clients,
        assets: "Assets",
        chain: "Chain",
        sender: bytes,
        call: "Call",
        fee_asset: "Asset | None" = None,
        transfer: "Transfer | None" = None,
        consent: Consent = Consent(),
    ) -> None:
        chain.account_format.check(sender, chain=chain.name, field="sender")
        self.clients = clients
        self.assets = assets
        self.chain = chain
        self.sender = sender
        self.call = call
        #: None if the call is not known to make one.
        self.transfer = transfer
        self.consent = consent
        self.findings = Findings()
        self.costs = CostCheck(self.findings, clients(chain), assets, sender, call, fee_asset)

    def check(self) -> Check:
        return Check(
            verdict=self.findings.verdict,
            reasons=self.findings.reasons,
            warnings=self.findings.told,
            steps=_merge_arrivals(self.findings.steps),
            computed=self.credits.computed,
            credited=self.credits.credited,
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
            weight=None if message is None else self.credits.weights.get(message.data),
            events=tuple(str(event) for event in hop.events),
        )

    async def try_call(self, *, pays: bool = True) -> None:
        """Follow the call to where it ends, and read what it and its programs do on the way.

        *pays* tells whether the sender pays the fee of the transaction.
        """
        charge = await self.costs.charge() if pays else None
        if self.costs.too_heavy:
            # Trying it would take the chain as long as it takes no block for.
            self.hops = [DryRunResult(chain=self.chain, failure=self.costs.too_heavy)]
        else:
            self.hops = await trace_call(
                self.clients, self.assets.registry, self.chain, self.call, self.sender, charge=charge
            )
        if self.transfer is None:
            # Of a transfer they are asked before it is built.
            await check_para_ids_on_way(self.findings, self.clients, self.hops, self.assets.registry)
        self._judge_hops()
        self.table = await self.clients(self.chain).table()
        self.calls = list(walk_calls(self.call, self.table))
        programs = local_programs(self.call, self.table)
        self.instructions = read_programs(programs, self.hops, self.assets.registry)
        recognized = None
        if self.transfer is not None:
            recognized = recognize_credit(self.hops, self.transfer, self.assets)
        named = {*named_accounts(self.call.args)}
        for hop in self.hops:
            named |= {*named_accounts(hop.message.program if hop.message is not None else [])}
        named |= {each for known in named if len(known) == 20 for each in accounts_of_address(known)}
        beneficiary = None if self.transfer is None else self.transfer.beneficiary
        reader = LedgerReader(
            clients=self.clients,
            assets=self.assets,
            sender=self.sender,
            beneficiary=beneficiary,
            named=frozenset(named),
            named_on=gives_to_places(self.instructions),
            programs=programs,
            recognized=recognized,
        )
        self.ledgers = [await reader.read(hop) for hop in self.hops]
        self.receivers = RecipientCheck(
            findings=self.findings,
            clients=self.clients,
            ledgers=self.ledgers,
            sender=self.sender,
            beneficiary=beneficiary,
            named=reader.named,
            named_on=reader.named_on,
            accepts_locked=self.consent.locked,
        )
        self.receivers.list_holdings()
        self.credits = CreditCheck(
            findings=self.findings,
            clients=self.clients,
            assets=self.assets,
            hops=self.hops,
            sender=self.sender,
            receivers=self.receivers,
            instructions=self.instructions,
            recognized=recognized,
        )

    def _judge_hops(self) -> None:
        for hop in self.hops:
            if hop.failure:
                self.findings.refusals.append(_say_failure(hop))
            elif hop.unknown:
                self.findings.unknowns.append(hop.unknown)
            elif hop.message is not None and hop.message.exported:
                self.findings.unknowns.append(_say_bridge(hop.message.origin, hop.chain))

    async def check_costs(self, sent: "Sequence[tuple[Asset, int]]" = ()) -> None:
        """Add what leaves and what it costs to the steps; *sent* is what a transfer is known to send."""
        for asset, amount in sent or self.receivers.sent():
            self.findings.add_step(self.chain, "leaves", asset, amount)
        await self.costs.check(self.ledgers[0], sent)

    async def check_all(self) -> None:
        """Judge all but what it costs and whether it arrives."""
        findings = self.findings
        reading = await self._read_rights()
        check_granted_rights(findings, reading, self.sender)
        check_understood_calls(findings, reading)
        check_inner_failures(findings, self.chain.name, self.hops[0].events, self.table)
        check_trapped_assets(findings, self.hops, self.assets, self.sender)
        check_reserves(findings, self.instructions, self.assets)
        await check_unsupported_instructions(findings, self.instructions, self.clients)
        confirmed = None if self.transfer is None else self.transfer.beneficiary
        check_keyless_receivers(
            findings,
            self.ledgers,
            self.instructions,
            self.assets,
            named=self.receivers.named,
            confirmed=confirmed,
            accepted=self.consent.confirmed,
        )
        check_branches(
            findings,
            self.ledgers,
            self.calls,
            self.instructions,
            own=frozenset((self.sender, *([] if confirmed is None else [confirmed]))),
        )
        self.receivers.check_strangers()
        self.receivers.warn_of_losses()
        await self.receivers.check_kept()
        await check_competing_messages(findings, self.ledgers, self.clients)
        if not findings.refusals:
            check_conservation(
                findings, self.ledgers, self.assets, calls=self.calls, instructions=self.instructions
            )

    async def _read_rights(self) -> "Reading":
        """Return what the call gives away, and what in it is not understood, on the chains that it goes to too."""
        away = {each.chain for each in self.instructions if each.name == "Transact"}
        chains = [hop.chain for hop in self.hops if not hop.unknown and hop.chain in away]
        tables = {chain.name: await self.clients(chain).table() for chain in chains}
        tables[self.chain.name] = self.table
        return read_rights(self.call, self.chain, self.assets, lambda chain: tables.get(chain.name))

    async def check_any_call(self) -> None:
        """Judge a call that is not known to be a transfer."""
        await self.credits.check_deposits()
        self.receivers.warn_of_shares()
        first = self.hops[0]
        if any(event.pallet == "Utility" for event in first.events):
            self.findings.warnings += describe_fallbacks(self.table, self.chain.name, first.events)
        await self.check_all()
        await SwapCheck(
            findings=self.findings,
            clients=self.clients,
            assets=self.assets,
            hop=first,
            calls=self.calls,
            sender=self.sender,
            credits=self.receivers.credits,
            confirmed=self.consent.confirmed,
        ).run()

    async def try_pending(self) -> None:
        """Try what a multisig does once all approve, as its account and as of now."""
        for pending in pending_calls(self.calls, self.table, self.hops[0].events):
            account = format_account(pending.account, self.chain.ss58_prefix)
            if pending.call is None:
                self.findings.unknowns.append(
                    f"only the hash is given of the call that the multisig account {account} would make"
                )
                continue
            later = Simulation(
                self.clients, self.assets, self.chain, pending.account, pending.call, consent=self.consent
            )
            await later.try_call(pays=False)
            await later.check_any_call()
            self._add_later(later, account)

    def _add_later(self, later: "Simulation", account: str) -> None:
        self.findings.warnings.append(
            f"the call of the multisig account {account} runs only after the last signatory approves it"
        )
        self.findings.add(later.findings, when=f"after all approvals, as the multisig account {account}")
        self.hops += later.hops
        self.receivers.leaves += later.receivers.leaves
        self.receivers.credits += later.receivers.credits


def _merge_arrivals(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return *steps* with all that arrives of one asset on one chain as one step."""
    merged: list[Step] = []
    for step in steps:
        for place, known in enumerate(merged):
            if step.what == "arrives" and (known.chain, known.what, known.amount.asset) == (
                step.chain,
                step.what,
                step.amount.asset,
            ):
                value = known.amount.value + step.amount.value
                merged[place] = replace(known, amount=replace(known.amount, value=value))
                break
        else:
            merged.append(step)
    return tuple(merged)


def _say_bridge(origin: "Chain", chain: "Chain") -> str:
    return f"the bridge between {origin.name} and {chain.name} can't be simulated: the message was tried on {chain.name} in the form in which it should arrive, minutes to hours after it is sent"


def _say_failure(hop: DryRunResult) -> str:
    if hop.message is None:
        return hop.failure
    return f"{hop.failure}; the assets sent would be trapped or lost there"
