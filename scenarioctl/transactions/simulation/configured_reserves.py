"""Whether Asset Hubs still have the reserve of an asset from beyond a bridge that its routes were made for.

Since early 2026 an Asset Hub accepts foreign assets from the reserves in its storage `ForeignAssets.Reserves` alone, asset by
asset, and the owner of an asset can change them.  A transfer over a reserve that is none any more is not refused by any
runtime.
"""

from typing import TYPE_CHECKING

from scenarioctl.chains.locations import absolute, place_of, read_location, write_location
from scenarioctl.chains.trust import foreign_reserve, is_judged_by_runtime
from scenarioctl.errors import ChainRefused, ChainUnreachable
from scenarioctl.transactions.simulation.runtime_api import (
    Clients,
    Inconclusive,
    query_runtime_api_result,
    read_storage,
)
from scenarioctl.transactions.transfer.bridges import is_bridged
from scenarioctl.transactions.transfer.request import Transfer, refusal
from scenarioctl.transactions.transfer.ways import Route, location_on
from scenarioctl.transactions.transfer.xcm_versions import (
    choose_xcm_version,
    location_of_type,
    shape_location,
)

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain, Registry


async def check_configured_reserves(clients: Clients, transfer: Transfer, registry: "Registry") -> None:
    """Refuse a transfer if an Asset Hub of its networks has another reserve for the asset than the trust facts say.

    Only assets from beyond a bridge are asked for; others pass.  ChainUnreachable if an Asset Hub can't be asked.
    """
    hubs = {
        hub.name: hub
        for hub in map(registry.asset_hub, (transfer.source, transfer.destination))
        if hub is not None
    }
    for hub in hubs.values():
        location = location_on(transfer, hub)
        if location.startswith("2/"):
            await _check(clients, transfer, hub, location)


async def check_trusted_reserve(clients: Clients, transfer: Transfer, route: Route) -> None:
    """Refuse a transfer by *route* if its source says that it takes the asset from another reserve.

    A dry run doesn't tell: a parachain sends an asset back to any chain.  Only a source whose trust facts don't say it is
    asked, and passes if its runtime has no TrustedQueryApi.  Inconclusive if it doesn't tell.
    """
    source, keeper = transfer.source, route.via or transfer.destination
    if route.first != "DestinationReserve" or not is_judged_by_runtime(source):
        return
    if "TrustedQueryApi" not in (await clients(source).table()).apis:
        return
    if not await trusts(clients, transfer, trusting=source, keeper=keeper):
        raise refusal(
            transfer,
            f"its reserve is {keeper.name}, and {source.name} doesn't accept it from there (TrustedQueryApi)",
        )


async def require_reserve(
    clients: Clients, transfer: Transfer, *, trusting: "Chain", keeper: "Chain"
) -> None:
    """Refuse a transfer if *trusting* doesn't take *keeper* as the reserve of the asset now; Inconclusive if it doesn't tell."""
    if not await trusts(clients, transfer, trusting=trusting, keeper=keeper):
        name = keeper.title if keeper.is_ethereum else keeper.name
        raise refusal(
            transfer, f"{trusting.name} doesn't trust {name} as the reserve of it now, so it would be lost"
        )


async def trusts(
    clients: Clients, transfer: Transfer, *, trusting: "Chain", keeper: "Chain", teleported: bool = False
) -> bool:
    """Tell whether the runtime of *trusting* takes *keeper* as the reserve of the asset now, or as where it is *teleported* from.

    Inconclusive if it doesn't tell.
    """
    client = clients(trusting)
    version = choose_xcm_version(transfer, await client.table(), None)
    place, other = (
        shape_location(read_location(text), version)
        for text in (location_on(transfer, trusting), place_of(keeper, trusting))
    )
    asset = {"id": {"Concrete": place} if version == 3 else place, "fun": {"Fungible": transfer.amount}}
    arguments = ({f"V{version}": asset}, {f"V{version}": other})
    method = "is_trusted_teleporter" if teleported else "is_trusted_reserve"
    return bool(await query_runtime_api_result(client, "TrustedQueryApi", method, *arguments))


async def _check(clients: Clients, transfer: Transfer, hub: "Chain", location: str) -> None:
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
            f"the reserve of {name} on {hub.name} could not be asked for ({problem})",
            advice="" if is_bridged(transfer) else "; --offline trusts the list of routes",
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
        f"its reserve on {hub.name} should be {expected or 'known'}, but {hub.name} has {named or 'none'} for it now (ForeignAssets.Reserves)",
    )
