"""What a chain takes of an account because it is too little to be held, and an account that is closed by that."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING

from scenarioctl.chains.addresses import format_account
from scenarioctl.transactions.simulation.balances import existential_deposit, free_balance
from scenarioctl.transactions.simulation.findings import amount_of
from scenarioctl.transactions.simulation.ledger import BalanceChange, read_dust

if TYPE_CHECKING:
    from scenarioctl.transactions.simulation.trial import Trial

#: Assets of an Asset Hub: its events tell what is sent, and nothing of what goes with it.
_UNTOLD = ("assets", "foreign")


async def check_dust(trial: "Trial") -> set[str]:
    """Say who loses dust on the first chain; return the assets of which the sender does.

    Inconclusive if the chain doesn't tell a balance.
    """
    lost: set[str] = set()
    chain, findings = trial.chain, trial.findings
    async for change in _dust(trial):
        asset, account = change.asset, change.account
        deposit = amount_of(asset, await existential_deposit(trial.clients(chain), asset))
        amount = amount_of(asset, change.value)
        who = "the sender" if account == trial.sender else format_account(account, chain.ss58_prefix)
        said = f"{who} loses {amount} on {chain.name}: the remaining balance is less than the existential deposit of {deposit}"
        if account == trial.sender:
            lost.add(asset.id)
            findings.lose(chain, "dust", amount, said)
        else:
            findings.losses.append(said)
    closed = any(
        str(event) == "System.KilledAccount" and event.fields.get("account") == trial.sender
        for event in trial.hops[0].events
    )
    if closed:
        findings.losses.append(
            f"the transaction closes the sender's account on {chain.name}, and its nonce restarts at 0: anyone can send the immortal transactions again that it signed before"
        )
    return lost


async def _dust(trial: "Trial") -> AsyncIterator[BalanceChange]:
    client, ledger = trial.clients(trial.chain), trial.ledgers[0]
    for change in read_dust(ledger.hop.events, trial.chain, trial.assets):
        yield change
    for entry in ledger.entries:
        if entry.value < 0 and entry.asset.kind in _UNTOLD and not entry.system:
            left = await free_balance(client, entry.asset, entry.account) + entry.value
            if 0 < left < await existential_deposit(client, entry.asset):
                yield replace(entry, value=left)
