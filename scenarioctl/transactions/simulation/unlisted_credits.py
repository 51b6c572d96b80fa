"""Which credit on the destination is an asset that is not listed there: the events name it by an id that is not known here."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from scenarioctl.chains.locations import absolute
from scenarioctl.transactions.simulation.arrival import incoming_assets
from scenarioctl.transactions.simulation.balance_changes import read_balance_changes
from scenarioctl.transactions.transfer.ways import location_on
from scenarioctl.transactions.xcm_instructions import brought_items, kind_of

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.transactions.simulation.dry_run import DryRunResult
    from scenarioctl.transactions.transfer.request import Transfer


def recognize_credit(
    hops: Sequence["DryRunResult"], transfer: "Transfer", assets: "Assets"
) -> "Asset | None":
    """Return the asset as the destination of *transfer* credits it to the beneficiary, if it lists no such asset here.

    The last message has to bring that asset alone, and to do nothing but pay and deposit: then what the beneficiary is
    credited with is that asset.  None if there is more than one credit, or if it is listed as another asset.
    """
    last, destination = hops[-1], transfer.destination
    message = last.message
    if message is None or last.chain != destination or last.sent or last.failure or last.unknown:
        return None
    if not transfer.asset.location or assets.counterpart(transfer.asset, destination) is not None:
        return None
    location = location_on(transfer, destination)
    if not all(kind_of(name).computed for name, _ in message.instructions):
        return None
    brought = {*incoming_assets(message)}
    if len(list(brought_items(message.instructions))) != 1 or brought != {
        absolute(location, destination.para_id)
    }:
        return None
    credited = [
        move.asset
        for move in read_balance_changes(last.events, destination, assets)
        if move.account == transfer.beneficiary and move.value > 0
    ]
    # Currencies repeats what another pallet reports.
    found = [asset for asset in credited if asset.kind != "erc20"] or credited
    if len(found) != 1 or not _may_be(found[0], transfer.asset, location):
        return None
    (asset,) = found
    if asset.decimals is not None:
        return replace(asset, location=location)
    # Raw amounts are the same on every chain, and so are decimals.
    return replace(
        asset, location=location, symbol=transfer.asset.own_symbol, decimals=transfer.asset.decimals
    )


def _may_be(credited: "Asset", sent: "Asset", location: str) -> bool:
    """Tell whether what is *credited* may be what was *sent*, which the destination sees at *location*."""
    if credited.location or credited.kind in ("native", "foreign"):
        return credited.location == location
    if credited.decimals is None:
        return True
    # It is listed without its location.
    return (
        bool(sent.own_symbol)
        and credited.own_symbol.casefold() == sent.own_symbol.casefold()
        and credited.decimals == sent.decimals
    )
