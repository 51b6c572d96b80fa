"""Assets that a program leaves in nobody's hands: what, where, and who can claim them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.locations import absolute, interior, junctions_of, write_location
from scenarioctl.model.checks import Amount
from scenarioctl.transactions.simulation.findings import Findings, amount_of, asset_at
from scenarioctl.transactions.xcm_programs import XCM_PALLETS, chain_at

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Chain, Registry
    from scenarioctl.transactions.events import Event
    from scenarioctl.transactions.simulation.dry_run import DryRunResult


def check_trapped_assets(
    findings: Findings, hops: Sequence["DryRunResult"], assets: "Assets", sender: bytes
) -> None:
    """Refuse what would trap assets on any chain."""
    for hop in hops:
        for event in hop.events:
            if event.pallet in XCM_PALLETS and event.name == "AssetsTrapped":
                what = describe_assets(assets, hop.chain, event.fields["assets"])
                claim = describe_claim(
                    assets.registry, hop.chain, event.pallet, event.fields["origin"], sender
                )
                findings.refusals.append(
                    f"{what} would be trapped on {hop.chain.name}: nobody would receive it. {claim}"
                )


def say_trapped(assets: "Assets", chain: "Chain", event: "Event", sender: bytes | None, block: int) -> str:
    """Return what *event*, in the block with the number *block*, says was trapped on *chain*, and who can claim it."""
    what = describe_assets(assets, chain, event.fields["assets"])
    claim = describe_claim(assets.registry, chain, event.pallet, event.fields["origin"], sender, block)
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
        asset = asset_at(assets, chain, absolute(place, chain.para_id)) if place else None
        value = fun["Fungible"]
        said.append(
            str(Amount(value=value, asset=place or "an asset") if asset is None else amount_of(asset, value))
        )
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
    place, account = split_origin(origin)
    if account is None:
        home = chain_at(registry, chain, write_location(origin)) if write_location(origin) else None
        name = home.name if home is not None else write_location(origin) or "its origin"
        return f"Only the chain {name} itself can claim it, with a message that contains ClaimAsset."
    who = "The sender" if account == sender else _say_account(account, chain)
    if place == "0/Here":
        call = f"{pallet}.claim_assets"
        command = f"scenarioctl xcm claim {chain.name} --trapped-in {'BLOCK' if block is None else block}"
        return f"{who} {'can' if is_tried else 'may be able to'} claim it there with {command} ({call})."
    home = chain_at(registry, chain, place) if place else None
    where = home.name if home is not None else place or "another chain"
    sending = "XcmPallet" if home is not None and home.role == "relay" else "PolkadotXcm"
    return f"{who} can claim it only from {where}, with a message that contains ClaimAsset: with {sending}.send, if {where} lets accounts send messages."


def split_origin(location: Any) -> tuple[str, bytes | None]:
    """Return where the chain of an account is, seen from the chain of the trap, and the account.

    The account is None for a location that is no account's.
    """
    *rest, last = junctions_of(location) or [None]
    name, fields = next(iter(last.items())) if isinstance(last, dict) else (str(last), {})
    if name not in ("AccountId32", "AccountKey20"):
        return "", None
    place = write_location({"parents": location["parents"], "interior": interior(rest)})
    return place, fields["id"] if name == "AccountId32" else fields["key"]


def _say_account(account: bytes, chain: "Chain") -> str:
    return format_account(account, chain.ss58_prefix) if len(account) == 32 else "0x" + account.hex()
