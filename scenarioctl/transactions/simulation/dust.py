"""What a chain takes of an account because it is too little to be held, and an account that is closed by that."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from scenarioctl.chains.addresses import format_account
from scenarioctl.transactions.simulation.balance_changes import read_dust
from scenarioctl.transactions.simulation.balances import existential_deposit, free_balance
from scenarioctl.transactions.simulation.findings import Findings, amount_of

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.chains.client import Client
    from scenarioctl.transactions.simulation.ledger import HopLedger

#: Assets of an Asset Hub: its events tell what is sent, and nothing of what goes with it.
_UNTOLD = ("assets", "foreign")


async def check_dust(
    findings: Findings, ledger: "HopLedger", client: "Client", assets: "Assets", sender: bytes
) -> set[str]:
    """Say who loses dust on the first chain; return the assets of which the sender does.

    Inconclusive if the chain doesn't tell a balance.
    """
    lost: set[str] = set()
    chain = client.chain
    async for account, asset, dust in _dust(ledger, client, assets):
        deposit = amount_of(asset, await existential_deposit(client, asset))
        amount = amount_of(asset, dust)
        who = "the sender" if account == sender else format_account(account, chain.ss58_prefix)
        said = f"{who} loses {amount} on {chain.name}: the remaining balance is less than the existential deposit of {deposit}"
        if account == sender:
            lost.add(asset.id)
            findings.lose(chain, "dust", amount, said)
        else:
            findings.losses.append(said)
    closed = any(
        str(event) == "System.KilledAccount" and event.fields.get("account") == sender
        for event in ledger.hop.events
    )
    if closed:
        findings.losses.append(
            f"the transaction closes the sender's account on {chain.name}, and its nonce restarts at 0: anyone can send the immortal transactions again that it signed before"
        )
    return lost


async def _dust(
    ledger: "HopLedger", client: "Client", assets: "Assets"
) -> "AsyncIterator[tuple[bytes, Asset, int]]":
    for change in read_dust(ledger.hop.events, client.chain, assets):
        yield change.account, change.asset, change.value
    for entry in ledger.entries:
        change = entry.change
        if change.value < 0 and change.asset.kind in _UNTOLD and not entry.party.system:
            left = await free_balance(client, change.asset, change.account) + change.value
            if 0 < left < await existential_deposit(client, change.asset):
                yield change.account, change.asset, left
