"""Assets that end in nobody's hands: left by a program, with who can claim them, or too little to
be held."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.locations import absolute, split_account, write_location
from scenarioctl.model.checks import Amount, Step
from scenarioctl.transactions.simulation.ledger import BalanceChange, read_dust
from scenarioctl.transactions.simulation.runtime_api import (
    amount_at,
    amount_of,
    existential_deposit,
    free_balance,
)
from scenarioctl.transactions.xcm_instructions import chain_at

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Chain, Registry
    from scenarioctl.transactions.blocks import Event
    from scenarioctl.transactions.simulation.trial import Trial


def check_trapped_assets(trial: "Trial") -> None:
    """Refuse what would trap assets on any chain."""
    for hop in trial.hops:
        for event in hop.events:
            if event.is_of_xcm("AssetsTrapped"):
                trial.findings.refusals.append(
                    say_trapped(trial.assets, hop.chain, event, trial.sender)
                )
                for amount in _amounts_of(trial.assets, hop.chain, event.fields["assets"]):
                    if isinstance(amount, Amount):
                        trial.findings.steps.append(
                            Step(chain=hop.chain.name, what="trapped", amount=amount)
                        )


def say_trapped(
    assets: "Assets", chain: "Chain", event: "Event", sender: bytes | None, block: int | None = None
) -> str:
    """Return what *event* says was trapped on *chain*, and who can claim it; without the number of
    its *block*, that it would be."""
    what = describe_assets(assets, chain, event.fields["assets"])
    claim = describe_claim(
        assets.registry, chain, event.pallet, event.fields["origin"], sender, block
    )
    if block is None:
        return f"{what} would be trapped on {chain.title}: nobody would receive it. {claim}"
    return f"{what} trapped on {chain.title}: nobody received it. {claim}"


def describe_assets(assets: "Assets", chain: "Chain", versioned: Any) -> str:
    """Return a VersionedAssets as *chain* has it, in words."""
    return " and ".join(map(str, _amounts_of(assets, chain, versioned))) or "an asset"


def _amounts_of(assets: "Assets", chain: "Chain", versioned: Any) -> "list[Amount | str]":
    """Return the amounts in a VersionedAssets as *chain* has them; what can't be counted, in
    words."""
    found: list[Amount | str] = []
    for item in next(iter(versioned.values())):
        place = write_location(item["id"])
        fun = item["fun"]
        if not isinstance(fun, dict) or "Fungible" not in fun:
            found.append(f"an item of {place or 'a collection'}")
            continue
        amount = Amount(value=fun["Fungible"], asset="an asset")
        if place:
            amount = amount_at(assets, chain, absolute(place, chain.para_id), amount.value)
        found.append(amount)
    return found


def describe_claim(
    registry: "Registry",
    chain: "Chain",
    pallet: str,
    origin: Any,
    sender: bytes | None,
    block: int | None = None,
) -> str:
    """Return who can claim what was trapped on *chain*, and how: *block* is the number of the block
    in which it was."""
    place, account = split_account(origin)
    if account is None:
        home = chain_at(registry, chain, write_location(origin)) if write_location(origin) else None
        name = home.title if home is not None else write_location(origin) or "its origin"
        return (
            f"Only the chain {name} itself can claim it, with a message that contains ClaimAsset."
        )
    who = "The sender" if account == sender else format_account(account, chain.ss58_prefix)
    if place == "0/Here":
        call = f"{pallet}.claim_assets"
        command = f"`tx claim {chain.name}` with `trapped_in` {'BLOCK' if block is None else block}"
        return f"{who} may be able to claim it there with {command} ({call})."
    home = chain_at(registry, chain, place) if place else None
    where = home.title if home is not None else place or "another chain"
    sending = "XcmPallet" if home is not None and home.role == "relay" else "PolkadotXcm"
    return (
        f"{who} can claim it only from {where}, with a message that contains ClaimAsset: with "
        f"{sending}.send, if {where} lets accounts send messages."
    )


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
        who = (
            "the sender" if account == trial.sender else format_account(account, chain.ss58_prefix)
        )
        said = (
            f"{who} loses {amount} on {chain.title}: the remaining balance is less than the "
            f"existential deposit of {deposit}"
        )
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
            f"the transaction closes the sender's account on {chain.title}, and its nonce "
            "restarts at 0: anyone can send the immortal transactions again that it "
            "signed before"
        )
    return lost


async def _dust(trial: "Trial") -> AsyncIterator[BalanceChange]:
    client, ledger = trial.clients(trial.chain), trial.ledgers[0]
    for change in read_dust(ledger.hop.events, trial.chain, trial.assets):
        yield change
    for entry in ledger.entries:
        if entry.value < 0 and entry.asset.kind in _UNTOLD and not entry.system:
            left = await free_balance(client, entry.asset, entry.account) + entry.value
            left -= trial.fee_of(entry.account, entry.asset)
            if 0 < left < await existential_deposit(client, entry.asset):
                yield replace(entry, value=left)
