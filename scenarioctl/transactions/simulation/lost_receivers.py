"""Receivers on Ethereum that lose what they get: contracts of tokens and of the bridge, and addresses that nobody has."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import junctions_of
from scenarioctl.transactions.keyless_accounts import describe_keyless
from scenarioctl.transactions.transfer.ethereum_receivers import describe_contract

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.transactions.simulation.findings import Findings
    from scenarioctl.transactions.xcm_programs import Instruction


def check_lost_receivers(
    findings: "Findings", instructions: Iterable["Instruction"], assets: "Assets", *, confirmed: bytes | None
) -> None:
    """Refuse what a program gives on Ethereum to a receiver that loses it.

    *confirmed* is the receiver that the caller named; if nobody can hold its key, that was confirmed before.
    """
    for instruction in instructions:
        ethereum = instruction.chain
        if ethereum is None or not ethereum.is_ethereum or instruction.name != "DepositAsset":
            continue
        account = _account_of(instruction.fields["beneficiary"])
        if account is None:
            continue
        described = describe_contract(account, ethereum, assets)
        keyless = "" if account == confirmed else describe_keyless(account)
        if not described and keyless:
            described = f"{keyless}, and nobody holds its key"
        if described:
            findings.refusals.append(
                f"the receiver {ethereum.account_format.format(account, 0)} is {described}: what it gets is lost"
            )


def _account_of(location: Any) -> bytes | None:
    match junctions_of(location):
        case [{"AccountKey20": {"key": bytes(key)}}] if not location["parents"]:
            return key
    return None
