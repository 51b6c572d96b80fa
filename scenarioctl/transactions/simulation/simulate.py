"""Whether a transaction does what its sender wants: what is tried, and the rules that prove it.

A check is a list of rules, each in a module of its own; here the transaction is tried, and what
they find is collected. The verdict rests on the beneficiary's credit on the last chain: `Complete`
alone is also what a chain says where money is gone without a trace.  What no chain could prove is
`unknown`, never `ok`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.locations import located_accounts
from scenarioctl.model.checks import Check, Step, Stop
from scenarioctl.transactions.inner_calls import (
    local_programs,
    may_hold,
    named_accounts,
    walk_calls,
)
from scenarioctl.transactions.keyless_accounts import accounts_of_address
from scenarioctl.transactions.simulation.branches import (
    check_branches,
    check_competing_messages,
    check_granted_rights,
    check_removed_proxies,
    check_unsupported_instructions,
    describe_fallbacks,
    pending_calls,
)
from scenarioctl.transactions.simulation.conservation import (
    check_conservation,
    check_inner_failures,
    check_kept,
    check_keyless_receivers,
    check_strangers,
    list_holdings,
    warn_of_bound,
    warn_of_losses,
)
from scenarioctl.transactions.simulation.costs import CostCheck
from scenarioctl.transactions.simulation.credits import (
    check_deposits,
    check_transfer,
    recognize_credit,
)
from scenarioctl.transactions.simulation.dry_run import DryRunResult, read_programs, trace_call
from scenarioctl.transactions.simulation.ledger import HopLedger
from scenarioctl.transactions.simulation.reserves import check_para_ids_on_way, check_reserves
from scenarioctl.transactions.simulation.runtime_api import Findings
from scenarioctl.transactions.simulation.swap_credit import check_swaps, try_trades
from scenarioctl.transactions.simulation.trapped_assets import check_trapped_assets
from scenarioctl.transactions.simulation.trial import Trial, read_ledger
from scenarioctl.transactions.xcm_instructions import gives_to_places

if TYPE_CHECKING:
    from scenarioctl.transactions.simulation.fees import FeeCharge


async def simulate(trial: Trial) -> Check:
    """Return the verdict on the call of *trial*, which is tried here.

    If it isn't known to make a transfer, each account that its messages name must be credited in
    the end.
    """
    costs = CostCheck(trial)
    await _try(trial, costs)
    transfer = trial.transfer
    if transfer is None:
        await costs.check()
        await _check_any_call(trial)
        await _try_pending(trial)
    else:
        sent = [(transfer.asset, transfer.amount), *([trial.beside] if trial.beside else [])]
        for asset, amount in sent:
            trial.findings.add_step(trial.chain, "leaves", asset, amount)
        await costs.check(sent)
        await check_transfer(trial, transfer)
        await _check_all(trial)
    findings = trial.findings
    return Check(
        verdict=findings.verdict,
        reasons=findings.reasons,
        warnings=findings.told,
        steps=_merge_arrivals(findings.steps),
        computed=findings.computed,
        credited=findings.credited,
        leaves=tuple(findings.leaves),
        credits=tuple(findings.credits),
        stops=tuple(map(_stop, trial.ledgers)),
    )


async def run(trial: Trial, charge: "FeeCharge | None" = None, *, too_heavy: str = "") -> None:
    """Follow the call to where it ends, and read what it and its programs do on the way.

    *charge* is the fee that is taken before it.  A call that is *too_heavy* isn't tried: that
    would take the chain as long as it takes no block for.
    """
    registry = trial.assets.registry
    table = await trial.table()
    trial.charge = charge
    trial.calls = list(walk_calls(trial.call, table, trial.sender))
    makers = (each.account for each in trial.calls if each.runs and may_hold(each.call))
    trial.watched = tuple(dict.fromkeys(filter(None, makers)))
    if too_heavy:
        trial.hops = [DryRunResult(chain=trial.chain, failure=too_heavy)]
    else:
        trial.hops = await try_trades(
            lambda call: trace_call(
                trial.clients,
                registry,
                trial.chain,
                call,
                trial.sender,
                charge=charge,
                watched=trial.watched,
            ),
            trial.call,
            trial.calls,
            table,
        )
    trial.programs = local_programs(trial.call, table)
    trial.instructions = read_programs(trial.programs, trial.hops, registry)
    if trial.transfer is not None:
        trial.recognized = recognize_credit(trial.hops, trial.transfer, trial.assets)
    programs = [hop.message.program for hop in trial.hops if hop.message is not None]
    named = {*named_accounts(trial.call, table), *located_accounts(programs)}
    named |= {each for known in named if len(known) == 20 for each in accounts_of_address(known)}
    trial.named = frozenset(named)
    trial.named_on = gives_to_places(trial.instructions)
    trial.ledgers = [await read_ledger(trial, hop) for hop in trial.hops]


async def _try(trial: Trial, costs: CostCheck | None = None) -> None:
    """Try the call with what its sender pays for it, and say where that failed."""
    findings = trial.findings
    charge = None if costs is None else await costs.charge()
    await run(trial, charge, too_heavy="" if costs is None else costs.too_heavy)
    if trial.transfer is None:
        # Of a transfer they are asked before it is built.
        await check_para_ids_on_way(trial)
    for hop in trial.hops:
        if hop.failure:
            lost = (
                "; the assets sent would be trapped or lost there"
                if hop.message is not None
                else ""
            )
            findings.refusals.append(f"{hop.failure}{lost}")
        elif hop.unknown:
            findings.unknowns.append(hop.unknown)
        elif hop.message is not None and hop.message.exported:
            findings.unknowns.append(
                f"the bridge between {hop.message.origin.title} and {hop.chain.title} "
                f"can't be simulated: the message was tried on {hop.chain.title} in the "
                "form in which it should arrive, minutes to hours after it is sent"
            )
    list_holdings(trial)


async def _check_all(trial: Trial) -> None:
    """Judge all but what it costs and whether it arrives."""
    await check_granted_rights(trial)
    await check_removed_proxies(trial)
    await check_inner_failures(trial)
    check_trapped_assets(trial)
    check_reserves(trial)
    await check_unsupported_instructions(trial)
    await check_keyless_receivers(trial)
    await check_branches(trial)
    check_strangers(trial)
    warn_of_losses(trial)
    await check_kept(trial)
    warn_of_bound(trial)
    await check_competing_messages(trial)
    if not trial.findings.refusals:
        check_conservation(trial)


async def _check_any_call(trial: Trial) -> None:
    """Judge a call that is not known to be a transfer."""
    await check_deposits(trial)
    await describe_fallbacks(trial)
    await _check_all(trial)
    await check_swaps(trial)


async def _try_pending(trial: Trial) -> None:
    """Try what a multisig does once all approve, as its account and as of now."""
    findings = trial.findings
    async for multisig, call in pending_calls(trial):
        account = format_account(multisig, trial.chain.ss58_prefix)
        if call is None:
            findings.unknowns.append(
                f"only the hash is given of the call that the multisig account {account} would make"
            )
            continue
        later = replace(trial, sender=multisig, call=call, findings=Findings(), pending=True)
        await _try(later)
        await _check_any_call(later)
        await _try_pending(later)
        findings.warnings.append(
            f"the call of the multisig account {account} runs only after the last "
            "signatory approves it"
        )
        findings.add(later.findings, when=f"after all approvals, as the multisig account {account}")
        trial.ledgers += later.ledgers


def _stop(ledger: "HopLedger") -> Stop:
    hop, message, weight = ledger.hop, ledger.hop.message, ledger.weight
    return Stop(
        chain=hop.chain.name,
        tried="call" if message is None else "message",
        outcome="failed" if hop.failure else "unknown" if hop.unknown else "ok",
        reason=hop.failure or hop.unknown,
        message="" if message is None else "0x" + message.data.hex(),
        weight=None if weight is None else (weight["ref_time"], weight["proof_size"]),
        events=tuple(str(event) for event in hop.events),
    )


def _merge_arrivals(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return *steps* with all that arrives of one asset on one chain as one step."""
    merged: dict[object, Step] = {}
    for number, step in enumerate(steps):
        key = (step.chain, step.amount.asset) if step.what == "arrives" else number
        before = merged[key].amount.value if key in merged else 0
        merged[key] = replace(step, amount=replace(step.amount, value=before + step.amount.value))
    return tuple(merged.values())
