"""Receivers that lose what they get, since nobody holds their key: in hex as in a transfer that is built here."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.locations import junctions_of
from scenarioctl.transactions.keyless_accounts import describe_keyless
from scenarioctl.transactions.transfer.ethereum_receivers import describe_contract

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.transactions.simulation.findings import Findings
    from scenarioctl.transactions.simulation.ledger import HopLedger
    from scenarioctl.transactions.xcm_programs import Instruction


def check_keyless_receivers(
    findings: "Findings",
    ledgers: "Iterable[HopLedger]",
    instructions: Iterable["Instruction"],
    assets: "Assets",
    *,
    named: frozenset[bytes],
    confirmed: bytes | None,
    accepted: bool,
) -> None:
    """Refuse what is given to a receiver that loses it, of the accounts *named* in the transaction.

    *confirmed* is the receiver that the caller named; if nobody can hold its key, that was confirmed before.  *accepted* tells
    that the signer confirmed any such receiver.
    """
    for ledger in ledgers:
        chain = ledger.hop.chain
        for account in dict.fromkeys(entry.party.account for entry in ledger.received()):
            keyless = describe_keyless(account) if account in named and account != confirmed else ""
            if not keyless:
                continue
            said = f"the receiver {format_account(account, chain.ss58_prefix)} on {chain.name} is {keyless}, and nobody holds its key: what it gets is lost"
            if accepted:
                findings.losses.append(said)
            else:
                findings.refusals.append(f"{said}; to send it all the same, confirm it (--yes)")
    for instruction in instructions:
        ethereum = instruction.chain
        if ethereum is None or not ethereum.is_ethereum or instruction.name != "DepositAsset":
            continue
        receiver = _account_of(instruction.fields["beneficiary"])
        if receiver is None:
            continue
        described = describe_contract(receiver, ethereum, assets)
        keyless = "" if receiver == confirmed else describe_keyless(receiver)
        if not described and keyless:
            described = f"{keyless}, and nobody holds its key"
        if described:
            findings.refusals.append(
                f"the receiver {ethereum.account_format.format(receiver, 0)} is {described}: what it gets is lost"
            )


def _account_of(location: Any) -> bytes | None:
    match junctions_of(location):
        case [{"AccountKey20": {"key": bytes(key)}}] if not location["parents"]:
            return key
    return None
