"""Receivers that lose what they get, since nobody holds their key: in hex as in a transfer that is built here."""

from typing import TYPE_CHECKING

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.locations import split_account
from scenarioctl.transactions.keyless_accounts import describe_keyless
from scenarioctl.transactions.transfer.bridges import describe_contract

if TYPE_CHECKING:
    from scenarioctl.transactions.simulation.trial import Trial


def check_keyless_receivers(trial: "Trial") -> None:
    """Refuse what is given to a receiver that loses it, of the accounts that the transaction names.

    If nobody can hold the key of the receiver that the caller named, that was confirmed before.
    """
    findings, confirmed = trial.findings, trial.beneficiary
    for ledger in trial.ledgers:
        chain = ledger.hop.chain
        for entry in ledger.received():
            account, keyless = entry.account, describe_keyless(entry.account)
            # A program may name it by its place.
            is_place = chain.name in trial.named_on and entry.role.startswith("sovereign")
            if keyless and (is_place or account in trial.named) and account != confirmed:
                said = f"the receiver {format_account(account, chain.ss58_prefix)} on {chain.name} is {keyless}, and nobody holds its key: what it gets is lost"
                if trial.confirmed:
                    findings.losses.append(said)
                else:
                    findings.refusals.append(f"{said}; to send it all the same, confirm it (--yes)")
    for instruction in trial.instructions:
        ethereum = instruction.chain
        if ethereum is None or not ethereum.is_ethereum or instruction.name != "DepositAsset":
            continue
        place, receiver = split_account(instruction.fields["beneficiary"])
        if place != "0/Here" or receiver is None or len(receiver) != ethereum.account_format.length:
            continue
        described = describe_contract(receiver, ethereum, trial.assets)
        keyless = "" if receiver == confirmed else describe_keyless(receiver)
        if not described and keyless:
            described = f"{keyless}, and nobody holds its key"
        if described:
            findings.refusals.append(
                f"the receiver {format_account(receiver, 0)} is {described}: what it gets is lost"
            )
