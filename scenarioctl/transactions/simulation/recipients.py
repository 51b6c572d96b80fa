"""Who gets what: nobody whom the transaction doesn't name, nobody less than it says, and nobody who
loses what they get."""

from typing import TYPE_CHECKING

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.locations import split_account
from scenarioctl.model.checks import Holding, Step
from scenarioctl.transactions.keyless_accounts import describe_keyless
from scenarioctl.transactions.simulation.findings import amount_of
from scenarioctl.transactions.simulation.ledger import bound_amount, paid_for_delivery
from scenarioctl.transactions.simulation.runtime_api import (
    Inconclusive,
    read_storage,
    read_table,
)

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.transactions.simulation.dry_run import DryRunResult
    from scenarioctl.transactions.simulation.ledger import LedgerEntry
    from scenarioctl.transactions.simulation.trial import Trial


def list_holdings(trial: "Trial") -> None:
    """Name every account that loses or gets something; what leaves the sender is a step, if no
    transfer says it."""
    findings = trial.findings
    for ledger in trial.ledgers:
        hop = ledger.hop
        delivery = (
            paid_for_delivery(hop.events, trial.sender, hop.chain) if hop.message is None else {}
        )
        for entry in ledger.entries:
            value = entry.value
            is_sender = entry.account == trial.sender
            if value < 0 and is_sender:
                value += delivery.get(entry.identity, 0)
            if value < 0 and not entry.system:
                left = _holding(hop, entry, -value)
                findings.leaves.append(left)
                if is_sender and hop.message is None and trial.transfer is None:
                    findings.steps.append(Step(chain=left.chain, what="leaves", amount=left.amount))
            if value > 0:
                findings.credits.append(_holding(hop, entry, value))


def check_strangers(trial: "Trial") -> None:
    """Object to what goes to somebody whom nobody named: of a transfer, to anybody but its
    beneficiary."""
    for ledger in trial.ledgers:
        chain = ledger.hop.chain
        losing = {entry.identity for entry in ledger.entries if entry.value < 0}
        for entry in ledger.received():
            account = entry.account
            if account in (trial.sender, trial.beneficiary):
                continue
            said = (
                f"{_amount(entry)} would go to {format_account(account, chain.ss58_prefix)} on "
                f"{chain.title}, an account that the"
            )
            if trial.transfer is not None:
                trial.findings.refusals.append(f"{said} transfer does not name")
            elif (
                account not in trial.named
                and not (entry.role and chain.name in trial.named_on)
                # What is made for somebody, like a reward, costs nobody anything.
                and (ledger.hop.message is not None or entry.identity in losing)
            ):
                trial.findings.unknowns.append(f"{said} transaction does not name")


def warn_of_losses(trial: "Trial") -> None:
    """Say what leaves others than the sender."""
    for holding in trial.findings.leaves:
        where = trial.assets.registry.title_of(holding.chain)
        if holding.role == "the beneficiary":
            told = f"leaves the beneficiary {holding.account} on {where}"
        elif holding.role != "the sender":
            told = f"leaves {holding.account} on {where}, which is not the sender"
        else:
            continue
        trial.findings.losses.append(f"{holding.amount} {told}")


async def check_kept(trial: "Trial") -> None:
    """Say what the sender can no longer spend, and refuse what a receiver can't spend."""
    for ledger in trial.ledgers:
        chain = ledger.hop.chain
        for entry in ledger.entries:
            if not entry.kept or entry.system:
                continue
            if entry.account not in (trial.sender, trial.beneficiary) and not trial.names(
                entry.account, chain
            ):
                # Like who collects a pool's fees; `check_strangers` tells of it.
                continue
            is_sender = entry.account == trial.sender
            if entry.value > 0:
                await _check_arrived(trial, ledger.hop, entry)
            # What the sender's call sets aside is a step of its own.
            elif not is_sender or entry.locked > max(entry.held, 0):
                amount = amount_of(entry.asset, entry.kept)
                whose = (
                    "the sender" if is_sender else format_account(entry.account, chain.ss58_prefix)
                )
                said = f"{amount} of {whose} is locked on {chain.title}"
                trial.findings.lose(chain, "locked", amount, said)


def warn_of_bound(trial: "Trial") -> None:
    """Tell of amounts of the sender that no balance shows: a runtime may lock them in silence."""
    for ledger in trial.ledgers:
        chain = ledger.hop.chain
        own = [entry for entry in ledger.entries if entry.account == trial.sender]
        shown = {
            amount
            for each in own
            for amount in (abs(each.value), each.taken, each.held, each.locked)
        }
        for event in ledger.hop.events:
            amount = bound_amount(event, trial.sender)
            if amount and amount not in shown:
                told = amount_of(trial.assets.native(chain), amount)
                trial.findings.losses.append(
                    f"{event} tells of {told} of the sender on {chain.title}, and no "
                    "balance changes by it: it may be locked there"
                )


async def _check_arrived(trial: "Trial", hop: "DryRunResult", entry: "LedgerEntry") -> None:
    kept = min(entry.kept, entry.value)
    free, locked = (amount_of(entry.asset, value) for value in (entry.value - kept, kept))
    until = await _locked_until(trial, hop, entry.asset)
    who = format_account(entry.account, hop.chain.ss58_prefix)
    sentence = (
        f"{who} can spend only {free} of the {_amount(entry)} that arrives on "
        f"{hop.chain.title}: {locked} is locked {until}"
    )
    if trial.accepts_locked:
        trial.findings.lose(hop.chain, "locked", locked, sentence)
    else:
        trial.findings.refusals.append(
            f"{sentence}; to send it all the same, accept it (--accept-locked)"
        )


async def _locked_until(trial: "Trial", hop: "DryRunResult", asset: "Asset") -> str:
    """Return until when a deposit limit keeps *asset*; Hydration locks all that goes beyond one."""
    for event in hop.events:
        if (
            str(event) == "CircuitBreaker.AssetLockdown"
            and str(event.fields["asset_id"]) == asset.id
        ):
            return f"until block {event.fields['until']}, because it exceeds the deposit limit"
    if asset.id.isdigit():
        try:
            client = trial.clients(hop.chain)
            state = await read_storage(
                client, "CircuitBreaker", "AssetLockdownState", int(asset.id)
            )
        except Inconclusive:
            state = None
        if state is not None and "Locked" in state:
            return f"until block {state['Locked']}, because the deposit limit was exceeded before"
    return "there"


def _amount(entry: "LedgerEntry") -> object:
    return amount_of(entry.asset, entry.value)


def _holding(hop: "DryRunResult", entry: "LedgerEntry", value: int) -> Holding:
    return Holding(
        chain=hop.chain.name,
        account=format_account(entry.account, hop.chain.ss58_prefix),
        amount=amount_of(entry.asset, value),
        role=entry.role,
        system=entry.system,
    )


async def check_keyless_receivers(trial: "Trial") -> None:
    """Refuse what is given to a receiver that loses it, of the accounts that the transaction names.

    If nobody is known to hold the key of the receiver that the caller named, that was confirmed
    before.
    """
    findings, transfer = trial.findings, trial.transfer
    confirmed = (
        transfer.beneficiary
        if transfer and describe_keyless(transfer.beneficiary, transfer.destination)
        else None
    )
    for ledger in trial.ledgers:
        chain = ledger.hop.chain
        for entry in ledger.received():
            table = await read_table(trial.clients(chain))
            account, keyless = entry.account, describe_keyless(entry.account, chain, table)
            # A program may name it by its place.
            is_place = chain.name in trial.named_on and entry.role.startswith("sovereign")
            if keyless and (is_place or account in trial.named) and account != confirmed:
                said = (
                    f"the receiver {format_account(account, chain.ss58_prefix)} on "
                    f"{chain.title} is {keyless}"
                )
                if trial.confirmed:
                    findings.losses.append(said)
                else:
                    findings.refusals.append(f"{said}; to send it all the same, confirm it (--yes)")
    for instruction in trial.instructions:
        destination = instruction.chain
        if destination is None or instruction.name != "DepositAsset":
            continue
        place, receiver = split_account(instruction.fields["beneficiary"])
        if place != "0/Here" or receiver is None:
            continue
        length = destination.account_format.length
        if length < len(receiver):
            # Some turn it into an account that nobody has the key of.
            findings.refusals.append(
                f"the receiver {format_account(receiver, 0)} is an account of "
                f"{len(receiver)} bytes, and those of {destination.title} have {length}: "
                "what it gets is lost"
            )
