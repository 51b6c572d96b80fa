"""Assets that a program leaves in nobody's hands: what, where, and who can claim them."""

from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.locations import absolute, split_account, write_location
from scenarioctl.model.checks import Amount
from scenarioctl.transactions.simulation.findings import amount_at
from scenarioctl.transactions.xcm_instructions import chain_at

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Chain, Registry
    from scenarioctl.transactions.events import Event
    from scenarioctl.transactions.simulation.trial import Trial


def check_trapped_assets(trial: "Trial") -> None:
    """Refuse what would trap assets on any chain."""
    for hop in trial.hops:
        for event in hop.events:
            if event.is_of_xcm("AssetsTrapped"):
                trial.findings.refusals.append(say_trapped(trial.assets, hop.chain, event, trial.sender))


def say_trapped(
    assets: "Assets", chain: "Chain", event: "Event", sender: bytes | None, block: int | None = None
) -> str:
    """Return what *event* says was trapped on *chain*, and who can claim it; without the number of its *block*, that it would be."""
    what = describe_assets(assets, chain, event.fields["assets"])
    claim = describe_claim(assets.registry, chain, event.pallet, event.fields["origin"], sender, block)
    if block is None:
        return f"{what} would be trapped on {chain.name}: nobody would receive it. {claim}"
    return f"{what} trapped on {chain.name}: nobody received it. {claim}"


def describe_assets(assets: "Assets", chain: "Chain", versioned: Any) -> str:
    """Return a VersionedAssets as *chain* has it, in words."""
    said = []
    for item in next(iter(versioned.values())):
        place = write_location(item["id"])
        fun = item["fun"]
        if not isinstance(fun, dict) or "Fungible" not in fun:
            said.append(f"an item of {place or 'a collection'}")
            continue
        amount = Amount(value=fun["Fungible"], asset="an asset")
        if place:
            amount = amount_at(assets, chain, absolute(place, chain.para_id), amount.value)
        said.append(str(amount))
    return " and ".join(said) or "an asset"


def describe_claim(
    registry: "Registry",
    chain: "Chain",
    pallet: str,
    origin: Any,
    sender: bytes | None,
    block: int | None = None,
    *,
    is_tried: bool = False,
) -> str:
    """Return who can claim what was trapped on *chain*, and how: *block* is the number of the block in which it was.

    *is_tried* tells that a dry run of the claim succeeded there.
    """
    place, account = split_account(origin)
    if account is None:
        home = chain_at(registry, chain, write_location(origin)) if write_location(origin) else None
        name = home.name if home is not None else write_location(origin) or "its origin"
        return f"Only the chain {name} itself can claim it, with a message that contains ClaimAsset."
    who = "The sender" if account == sender else format_account(account, chain.ss58_prefix)
    if place == "0/Here":
        call = f"{pallet}.claim_assets"
        command = f"scenarioctl xcm claim {chain.name} --trapped-in {'BLOCK' if block is None else block}"
        return f"{who} {'can' if is_tried else 'may be able to'} claim it there with {command} ({call})."
    home = chain_at(registry, chain, place) if place else None
    where = home.name if home is not None else place or "another chain"
    sending = "XcmPallet" if home is not None and home.role == "relay" else "PolkadotXcm"
    return f"{who} can claim it only from {where}, with a message that contains ClaimAsset: with {sending}.send, if {where} lets accounts send messages."
