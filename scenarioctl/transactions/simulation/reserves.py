"""Which chain backs an asset, and whether a chain is the parachain that config.toml says.

Since early 2026 an Asset Hub accepts foreign assets from the reserves in its storage
`ForeignAssets.Reserves` alone, asset by asset, and the owner of an asset can change them.
"""

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import absolute, across, place_of, read_location, write_location
from scenarioctl.chains.trust import (
    foreign_reserve,
    is_judged_by_runtime,
    refused_because,
    trust_of,
)
from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest
from scenarioctl.runtime.scale import Refusal, decode_compact
from scenarioctl.transactions.simulation.runtime_api import (
    Clients,
    Inconclusive,
    asset_at,
    query_runtime_api_result,
    read_storage,
)
from scenarioctl.transactions.transfer.plan import (
    choose_xcm_version,
    location_of_type,
    shape_location,
)
from scenarioctl.transactions.transfer.request import Transfer, bridge_type, is_bridged, refusal
from scenarioctl.transactions.transfer.ways import Route, location_on
from scenarioctl.transactions.xcm_instructions import find_chain, kind_of, onward_assets, para_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scenarioctl.chains.registry import Chain, Registry
    from scenarioctl.transactions.simulation.trial import Trial


#: Bytes of the parent's hash, with which a header begins.  The compact number of the block follows.
_PARENT = 32


async def check_para_ids(clients: Clients, chains: "Iterable[Chain]", registry: "Registry") -> None:
    """Refuse a way over *chains* if one that its runtime alone judges is another one than its relay
    chain knows by its para id.

    Inconclusive if a chain doesn't tell.
    """
    for chain in chains:
        if is_judged_by_runtime(chain):
            await _check_para_id(clients, chain, registry)


async def check_para_ids_on_way(trial: "Trial") -> None:
    """Refuse messages between chains if one without complete trust facts is not the parachain that
    it says."""
    findings, hops = trial.findings, trial.hops
    ends = [
        chain
        for hop in hops
        if hop.message is not None
        for chain in (hop.message.origin, hop.message.destination)
        if chain is not None
    ]
    unanswered = {hop.chain.name for hop in hops if hop.unknown}
    for chain in {each.name: each for each in ends}.values():
        facts = trust_of(chain)
        if facts is not None and not facts.partial:
            continue
        if not chain.genesis:
            findings.unknowns.append(
                f"no genesis of {chain.title} is known, so another chain could answer for "
                f"it; set genesis in [chains.{chain.name}]"
            )
            continue
        try:
            await _check_para_id(trial.clients, chain, trial.assets.registry)
        except InvalidRequest as problem:
            findings.refusals.append(str(problem))
        except Inconclusive as problem:
            # What leaves its hop open is said already.
            if chain.name not in unanswered:
                findings.unknowns.append(
                    f"whether the nodes of {chain.title} are those of the parachain "
                    f"{chain.para_id} could not be asked for ({problem})"
                )


async def _check_para_id(clients: Clients, chain: "Chain", registry: "Registry") -> None:
    told = await read_storage(clients(chain), "ParachainInfo", "ParachainId")
    if told != chain.para_id:
        raise InvalidRequest(
            field=f"chains.{chain.name}.para_id",
            problem=(
                f"{chain.para_id} is wrong: its nodes say {told}, and messages would go to "
                "another chain"
            ),
        )
    relay = registry.relay_of(chain)
    if relay is None:
        raise Inconclusive(f"the registry has no relay chain of {chain.title}")
    head = await read_storage(clients(relay), "Paras", "Heads", chain.para_id)
    if head is None:
        raise InvalidRequest(
            field=f"chains.{chain.name}.para_id",
            problem=f"{chain.para_id} is wrong: {relay.title} has no parachain with that id",
        )
    try:
        number, _ = decode_compact(head, _PARENT)
        block = await clients(chain).call("chain_getBlockHash", number)
    except (Refusal, ChainUnreachable, ChainRefused) as error:
        raise Inconclusive(
            f"the block of {chain.title} that {relay.title} has could not be found: {error}"
        ) from None
    if block is None:
        raise Inconclusive(
            f"the nodes of {chain.title} don't have its block {number} yet, which {relay.title} has"
        )
    if block != f"0x{blake2b(head, digest_size=32).hexdigest()}":
        raise InvalidRequest(
            field=f"chains.{chain.name}",
            problem=(
                f"is not the parachain {chain.para_id} of {relay.title}: its block {number} is "
                "another one, and messages would go to another chain"
            ),
        )


def check_reserves(trial: "Trial") -> None:
    """Refuse what would go through over a chain that does not back the asset, whatever else a
    program holds."""
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
            # What a wild filter sends on stands in the message that it sends; of what did not run
            # there is none.
            if onward.assets is None and instruction.on_error:
                trial.findings.unknowns.append(
                    f"an error handler on {chain.title} sends assets to another chain, and "
                    "no dry run reaches it"
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
    if destination is None or identity is None or hub is None:
        where = (
            "a destination that is not in the registry"
            if destination is None
            else destination.title
        )
        findings.unknowns.append(
            f"{origin.title} sends an asset to {where}, and it is unknown which chain "
            "backs that asset"
        )
        return
    asset = asset_at(trial.assets, destination, identity)
    relay = registry.relay_of(destination)
    label = asset.display_name if asset is not None else identity or (relay or origin).symbol
    teleported = name == "ReceiveTeleportedAsset"
    refused = refused_because(destination, identity, origin, registry, teleported=teleported)
    if refused:
        findings.refusals.append(
            f"{label} must not go from {origin.title} to {destination.title}: {refused}"
        )
        return
    if origin.relay != destination.relay:
        _check_bridged(trial, name, identity, origin, destination, label)
        return
    backing = _backing(identity, hub)
    if teleported:
        if identity == "":
            # The relay chain and its system parachains take the relay's asset as a teleport.
            trusted = all(
                each == hub or each.role in ("relay", "system") for each in (origin, destination)
            )
        else:
            # What came over a bridge is never teleported among the chains that it came to.
            trusted = backing in (
                para_name(origin),
                para_name(destination),
            ) and not identity.startswith("../")
        if not trusted:
            findings.refusals.append(
                f"{label} would be teleported from {origin.title} to {destination.title}, "
                "but neither of them backs it"
            )
        return
    claimed = origin if name == "ReserveAssetDeposited" else destination
    if backing is None:
        findings.unknowns.append(
            f"{label} leaves {origin.title}, but it is unknown which chain backs it"
        )
    elif backing != para_name(claimed):
        keeper = find_chain(registry, origin, backing)
        findings.refusals.append(
            f"{label} would go from {origin.title} to {destination.title} with "
            f"{claimed.title} as its reserve, but "
            f"{keeper.title if keeper is not None else backing} backs it: no chain refuses "
            "this, and the backing would end up in the wrong place"
        )


def _check_bridged(
    trial: "Trial", name: str, identity: str, origin: "Chain", destination: "Chain", label: str
) -> None:
    """Judge what crosses a bridge; *identity* is seen from the relay chain of *destination*."""
    at_home = across(identity, destination.consensus, origin.consensus)
    crossing = bridge_type(origin, destination, at_home, trial.assets.registry)
    if crossing is None:
        trial.findings.unknowns.append(
            f"{label} leaves {origin.title} over a bridge, but it is unknown which chain backs it"
        )
        return
    is_backed_by_origin = crossing == "LocalReserve"
    if name == "ReceiveTeleportedAsset" or is_backed_by_origin != (name == "ReserveAssetDeposited"):
        keeper = origin if is_backed_by_origin else destination
        trial.findings.refusals.append(
            f"{label} would go over a bridge from {origin.title} to {destination.title} in "
            f"a form ({name}) that is wrong for an asset that {keeper.title} backs: it "
            "would be lost"
        )


def _backing(identity: str, hub: "Chain") -> str | None:
    """Return the chain that backs an asset, `Parachain(1000)`; None where that is not known."""
    # In November 2025 the reserve of the relay's asset moved to the Asset Hub.
    if identity == "" or foreign_reserve(hub, identity):
        return para_name(hub)
    first = identity.partition("/")[0]
    return first if first.startswith("Parachain(") else None


async def check_configured_reserves(
    clients: Clients, transfer: Transfer, registry: "Registry"
) -> None:
    """Refuse a transfer if an Asset Hub of its networks has another reserve for the asset than the
    trust facts say.

    Only assets from beyond a bridge are asked for; others pass.  ChainUnreachable if an Asset Hub
    can't be asked.
    """
    hubs = {
        hub.name: hub
        for hub in map(registry.asset_hub, (transfer.source, transfer.destination))
        if hub is not None
    }
    for hub in hubs.values():
        location = location_on(transfer, hub)
        if location.startswith("2/"):
            await _check_backing(clients, transfer, hub, location)


async def check_trusted_reserve(clients: Clients, transfer: Transfer, route: Route) -> None:
    """Refuse a transfer by *route* if its source says that it takes the asset from another reserve.

    A dry run doesn't tell: a parachain sends an asset back to any chain.  Only a source whose trust
    facts don't say it is asked, and passes if its runtime has no TrustedQueryApi.  Inconclusive if
    it doesn't tell.
    """
    source, keeper = transfer.source, route.via or transfer.destination
    if route.first != "DestinationReserve" or not is_judged_by_runtime(source):
        return
    if "TrustedQueryApi" not in (await clients(source).table()).apis:
        return
    if not await trusts(clients, transfer, trusting=source, keeper=keeper):
        raise refusal(
            transfer,
            (
                f"its reserve is {keeper.title}, and {source.title} doesn't accept it from "
                "there (TrustedQueryApi)"
            ),
        )


async def require_reserve(
    clients: Clients, transfer: Transfer, *, trusting: "Chain", keeper: "Chain"
) -> None:
    """Refuse a transfer if *trusting* doesn't take *keeper* as the reserve of the asset now;
    Inconclusive if it doesn't tell."""
    if not await trusts(clients, transfer, trusting=trusting, keeper=keeper):
        raise refusal(
            transfer,
            (
                f"{trusting.title} doesn't trust {keeper.title} as the reserve of it now, so "
                "it would be lost"
            ),
        )


async def trusts(
    clients: Clients,
    transfer: Transfer,
    *,
    trusting: "Chain",
    keeper: "Chain",
    teleported: bool = False,
) -> bool:
    """Tell whether the runtime of *trusting* takes *keeper* as the reserve of the asset now, or as
    where it is *teleported* from.

    Inconclusive if it doesn't tell.
    """
    client = clients(trusting)
    version = choose_xcm_version(transfer, await client.table(), None)
    place, other = (
        shape_location(read_location(text), version)
        for text in (location_on(transfer, trusting), place_of(keeper, trusting))
    )
    asset = {
        "id": {"Concrete": place} if version == 3 else place,
        "fun": {"Fungible": transfer.amount},
    }
    arguments = ({f"V{version}": asset}, {f"V{version}": other})
    method = "is_trusted_teleporter" if teleported else "is_trusted_reserve"
    return bool(await query_runtime_api_result(client, "TrustedQueryApi", method, *arguments))


async def _check_backing(clients: Clients, transfer: Transfer, hub: "Chain", location: str) -> None:
    name = transfer.asset.display_name
    client = clients(hub)
    try:
        table = await client.table()
        if "Reserves" not in table.storage_entries("ForeignAssets"):
            # Runtimes before 2026 have one fixed rule for all assets: that of the trust facts.
            return
        key_type = table.storage_entry("ForeignAssets", "Reserves").key_types[0]
        key = location_of_type(table, key_type, location)
        entries = await read_storage(client, "ForeignAssets", "Reserves", key)
    except (Inconclusive, ChainUnreachable, ChainRefused) as problem:
        raise ChainUnreachable(
            f"the reserve of {name} on {hub.title} could not be asked for ({problem})",
            advice="" if is_bridged(transfer) else "`offline` trusts the list of routes.",
        ) from None
    told = [(write_location(entry["reserve"]), bool(entry["teleportable"])) for entry in entries]
    expected = foreign_reserve(hub, absolute(location, hub.para_id))
    if told == [(expected, False)]:
        return
    named = ", ".join(
        f"{place or 'a location that is not known here'}{' by teleport' if teleports else ''}"
        for place, teleports in told
    )
    raise refusal(
        transfer,
        (
            f"its reserve on {hub.title} should be {expected or 'known'}, but {hub.title} has "
            f"{named or 'none'} for it now (ForeignAssets.Reserves)"
        ),
    )
