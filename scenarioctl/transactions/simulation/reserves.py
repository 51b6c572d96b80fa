"""Which chain backs an asset, and whether a program names that one: no runtime does that for us."""

from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import absolute, across, write_location
from scenarioctl.chains.trust import foreign_reserve
from scenarioctl.transactions.simulation.findings import asset_at
from scenarioctl.transactions.transfer.bridges import bridge_type
from scenarioctl.transactions.xcm_instructions import kind_of
from scenarioctl.transactions.xcm_programs import find_chain, onward_assets, para_name

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.transactions.simulation.trial import Trial


def check_reserves(trial: "Trial") -> None:
    """Refuse what would go through over a chain that does not back the asset, whatever else a program holds."""
    for instruction in trial.instructions:
        name, chain, origin = instruction.name, instruction.chain, instruction.origin
        # That a message goes to no chain of the registry is told where it is followed.
        if chain is None:
            continue
        # An account that withdraws its own assets says nothing of who backs them.
        is_own = name == "WithdrawAsset" and not instruction.as_chain
        if origin is not None and kind_of(name).brings and not is_own:
            for item in instruction.fields:
                _check(trial, name, _identity(item, chain), origin, chain)
        for onward in onward_assets(trial.assets.registry, instruction):
            # What a wild filter sends on stands in the message that it sends; of what did not run there is none.
            if onward.assets is None and instruction.on_error:
                trial.findings.unknowns.append(
                    f"an error handler on {chain.name} sends assets to another chain, and no dry run reaches it"
                )
            for item in onward.assets or ():
                identity, there = _identity(item, chain), onward.destination
                if identity is not None and there is not None:
                    identity = across(identity, chain.consensus, there.consensus)
                _check(trial, onward.arrives_as, identity, chain, there)


def _identity(item: Any, chain: "Chain") -> str | None:
    place = write_location(item["id"])
    return absolute(place, chain.para_id) if place else None


def _check(
    trial: "Trial", name: str, identity: str | None, origin: "Chain", destination: "Chain | None"
) -> None:
    """Judge assets that come from *origin* to *destination* by the instruction *name*.

    *identity* is seen from the relay chain of *destination*.
    """
    findings, registry = trial.findings, trial.assets.registry
    hub = None if destination is None else registry.asset_hub(destination)
    is_known = identity is not None and (
        hub is not None or (destination is not None and destination.is_ethereum)
    )
    if destination is None or identity is None or not is_known:
        where = "a destination that is not in the registry" if destination is None else destination.name
        findings.unknowns.append(
            f"{origin.name} sends an asset to {where}, and it is unknown which chain backs that asset"
        )
        return
    asset = asset_at(trial.assets, destination, identity)
    label = asset.display_name if asset is not None else identity or "the relay chain's asset"
    if hub is None or origin.relay != destination.relay:
        _check_bridged(trial, name, identity, origin, destination, label)
        return
    backing = _backing(identity, hub)
    if name == "ReceiveTeleportedAsset":
        if identity == "":
            # The relay chain and its system parachains take the relay's asset as a teleport.
            trusted = all(each == hub or each.role in ("relay", "system") for each in (origin, destination))
        else:
            # What came over a bridge is never teleported among the chains that it came to.
            trusted = backing in (para_name(origin), para_name(destination)) and not identity.startswith(
                "../"
            )
        if not trusted:
            findings.refusals.append(
                f"{label} would be teleported from {origin.name} to {destination.name}, but neither of them backs it"
            )
        return
    claimed = origin if name == "ReserveAssetDeposited" else destination
    if backing is None:
        findings.unknowns.append(f"{label} leaves {origin.name}, but it is unknown which chain backs it")
    elif backing != para_name(claimed):
        keeper = find_chain(registry, origin, backing)
        findings.refusals.append(
            f"{label} would go from {origin.name} to {destination.name} with {claimed.name} as its reserve, but {keeper.name if keeper is not None else backing} backs it: no chain refuses this, and the backing would end up in the wrong place"
        )


def _check_bridged(
    trial: "Trial", name: str, identity: str, origin: "Chain", destination: "Chain", label: str
) -> None:
    """Judge what crosses a bridge; *identity* is seen from the relay chain of *destination*."""
    at_home = across(identity, destination.consensus, origin.consensus)
    crossing = bridge_type(origin, destination, at_home, trial.assets.registry)
    if crossing is None:
        trial.findings.unknowns.append(
            f"{label} leaves {origin.name} over a bridge, but it is unknown which chain backs it"
        )
        return
    is_backed_by_origin = crossing == "LocalReserve"
    if name == "ReceiveTeleportedAsset" or is_backed_by_origin != (name == "ReserveAssetDeposited"):
        keeper = origin if is_backed_by_origin else destination
        trial.findings.refusals.append(
            f"{label} would go over a bridge from {origin.name} to {destination.name} in a form ({name}) that is wrong for an asset that {keeper.name} backs: it would be lost"
        )


def _backing(identity: str, hub: "Chain") -> str | None:
    """Return the chain that backs an asset, `Parachain(1000)`; None where that is not known."""
    # In November 2025 the reserve of the relay's asset moved to the Asset Hub.
    if identity == "" or foreign_reserve(hub, identity):
        return para_name(hub)
    first = identity.partition("/")[0]
    return first if first.startswith("Parachain(") else None
