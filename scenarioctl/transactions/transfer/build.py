"""From a transfer to the call that makes it."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import across, seen_from
from scenarioctl.chains.trust import trust_of
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.amounts import to_whole
from scenarioctl.transactions.drafts import Draft
from scenarioctl.transactions.transfer import xcm_calls
from scenarioctl.transactions.transfer.bridges import is_bridged
from scenarioctl.transactions.transfer.local_transfer import build_local_transfer
from scenarioctl.transactions.transfer.request import Transfer, check_request
from scenarioctl.transactions.transfer.routes import candidate_routes, find_route
from scenarioctl.transactions.transfer.transfer_warnings import transfer_warnings
from scenarioctl.transactions.transfer.ways import Route, location_on
from scenarioctl.transactions.transfer.xcm_calls import RemoteFee, TransferContext
from scenarioctl.transactions.transfer.xcm_versions import choose_xcm_version

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.runtime.table import RuntimeTable

#: The relay chain's asset as a parachain sees it.
_RELAY_ASSET = "1/Here"


def build_transfer(
    transfer: Transfer,
    table: "RuntimeTable",
    *,
    assets: "Assets",
    destination_table: "RuntimeTable | None" = None,
    last_hop_fee: int | None = None,
    native_fee: int = 0,
    remote_fee: int = 0,
    fee_accepted: bool = False,
    sufficient: bool = False,
) -> Draft:
    """Return the call that makes *transfer*, on the runtime *table* of its source.

    XCM is written in the highest version that both runtimes know, unless the transfer names one; without
    *destination_table* in the highest that the source knows.  *last_hop_fee* is the fee to set aside for the last hop
    of a route over another chain, raw; without it, half of the amount is set aside.  With *native_fee* so much of the
    relay chain's asset, raw, goes along and pays on the destination, with *remote_fee* so much of the asset that the
    transfer names for that; *fee_accepted* says that the destination takes its fee in the asset, *sufficient* that the
    asset keeps an account alive there by itself.  InvalidRequest says why a transfer cannot be made safely.  A transfer
    from a parachain to Ethereum needs its sender and a *native_fee*.
    """
    check_request(transfer)
    if transfer.is_local:
        if transfer.xcm_version is not None:
            raise InvalidRequest(
                field="xcm_version",
                problem=f"{transfer.xcm_version} is only for transfers between two chains: leave it out within {transfer.source.name}",
            )
        return build_local_transfer(transfer, table)
    if transfer.remote_fee_asset is not None and not remote_fee:
        raise InvalidRequest(
            f"how much of remote_fee_asset {transfer.remote_fee_asset.label} pays on {transfer.destination.name} is not known, expected an amount"
        )
    fee_settled = native_fee > 0 or remote_fee > 0 or fee_accepted
    route = find_route(transfer, assets, fee_settled=fee_settled)
    version = choose_xcm_version(transfer, table, destination_table)
    warnings: tuple[str, ...] = ()
    if route.needs_last_hop_fee and last_hop_fee is None:
        last_hop_fee, warnings = _half_of_amount(transfer)
    context = TransferContext(
        transfer=transfer,
        route=route,
        table=table,
        version=version,
        last_hop_fee=last_hop_fee or 0,
        remote_fee=_remote_fee(transfer, route, native_fee, remote_fee),
    )
    warnings += transfer_warnings(
        transfer,
        route,
        assets,
        destination_table,
        last_hop_fee=0 if warnings else last_hop_fee or 0,
        fee_settled=fee_settled,
        pays_beside=native_fee > 0 or remote_fee > 0,
        sufficient=sufficient,
        brings_native=native_fee > 0 or (remote_fee > 0 and _pays_in_native(transfer)),
    )
    return Draft(call=xcm_calls.build_call(context), warnings=warnings)


def build_candidates(
    transfer: Transfer,
    table: "RuntimeTable",
    *,
    assets: "Assets",
    destination_table: "RuntimeTable | None" = None,
    native_fee: int = 0,
    remote_fee: int = 0,
    last_hop_fee: int | None = None,
) -> tuple[Draft, ...]:
    """Return the calls that might make a transfer which `build_transfer` refuses, one for each way; none for most.

    *native_fee* and *remote_fee* go along as they do in `build_transfer`.  None of the calls is safe: some succeed on the
    source and lose the tokens.  Only a dry run of every hop that ends in the beneficiary's credit may open one.
    *last_hop_fee* is set aside, raw, where a way needs it; without it, half of the amount.
    """
    check_request(transfer)
    routes = candidate_routes(transfer, assets)
    if not routes:
        return ()
    version = choose_xcm_version(transfer, table, destination_table)
    aside = transfer.amount // 2 if last_hop_fee is None else last_hop_fee
    contexts = (
        TransferContext(
            transfer=transfer,
            route=route,
            table=table,
            version=version,
            last_hop_fee=aside if route.needs_last_hop_fee else 0,
            remote_fee=_remote_fee(transfer, route, native_fee, remote_fee),
        )
        for route in routes
    )
    return tuple(Draft(call=xcm_calls.build_candidate(context)) for context in contexts)


def last_hop_message(
    transfer: Transfer, table: "RuntimeTable", *, route: Route, destination_table: "RuntimeTable"
) -> dict[str, Any]:
    """Return the message of the last hop of a *route* over another chain as a VersionedXcm, to be weighed."""
    return xcm_calls.last_hop_message(_context(transfer, route, table, destination_table))


def native_fee_message(
    transfer: Transfer, table: "RuntimeTable", *, destination_table: "RuntimeTable | None" = None
) -> dict[str, Any]:
    """Return the message in which an asset arrives with the relay chain's asset beside it, to be weighed."""
    route = Route(first="DestinationReserve")
    return xcm_calls.remote_fee_message(_context(transfer, route, table, destination_table, native_fee=1))


def remote_fee_message(
    transfer: Transfer, route: Route, table: "RuntimeTable", *, destination_table: "RuntimeTable | None"
) -> dict[str, Any]:
    """Return the message in which an asset arrives with `transfer.remote_fee_asset` beside it, to be weighed."""
    context = _context(transfer, route, table, destination_table)
    return xcm_calls.remote_fee_message(replace(context, remote_fee=_remote_fee(transfer, route, 0, 1)))


def bridge_message(
    transfer: Transfer,
    table: "RuntimeTable",
    *,
    assets: "Assets",
    destination_table: "RuntimeTable | None",
    native_fee: int = 0,
) -> dict[str, Any]:
    """Return the message that the source of *transfer* sends over the bridge, as a VersionedXcm.

    With *native_fee* so much of the source's native asset, raw, goes along and pays on the destination.
    """
    route = find_route(transfer, assets, fee_settled=True)
    return xcm_calls.bridge_message(_context(transfer, route, table, destination_table, native_fee))


def hub_message(
    transfer: Transfer,
    table: "RuntimeTable",
    *,
    assets: "Assets",
    hub_table: "RuntimeTable",
    native_fee: int,
) -> dict[str, Any]:
    """Return the message that asks the Asset Hub to send the asset of *transfer* on to Ethereum, as a VersionedXcm."""
    route = find_route(transfer, assets, fee_settled=True)
    if route.via is None:
        raise RuntimeError("the transfer doesn't go over an Asset Hub")
    return xcm_calls.hub_message(_context(transfer, route, table, hub_table, native_fee), route.via)


def _context(
    transfer: Transfer,
    route: Route,
    table: "RuntimeTable",
    destination_table: "RuntimeTable | None",
    native_fee: int = 0,
) -> TransferContext:
    version = choose_xcm_version(transfer, table, destination_table)
    return TransferContext(
        transfer=transfer,
        route=route,
        table=table,
        version=version,
        remote_fee=native_remote_fee(transfer, route, native_fee) if native_fee else None,
    )


def _remote_fee(transfer: Transfer, route: Route, native_fee: int, remote_fee: int) -> RemoteFee | None:
    """Return what goes along: raw amounts of the relay chain's asset, or of the asset that the transfer names."""
    if transfer.remote_fee_asset is None:
        return native_remote_fee(transfer, route, native_fee) if native_fee else None
    alone = replace(transfer, asset=transfer.remote_fee_asset, remote_fee_asset=None)
    return RemoteFee(
        location=alone.asset.location,
        arriving=location_on(alone, transfer.destination),
        amount=remote_fee,
        transfer_type=route.first,
    )


def native_remote_fee(transfer: Transfer, route: Route, amount: int) -> RemoteFee:
    """Return so much of the relay chain's asset, raw, as it goes along to pay."""
    source, destination = transfer.source, transfer.destination
    # The Asset Hub is its reserve: for every parachain, and for the Asset Hub beyond the bridge.
    is_crossed = is_bridged(transfer) and not route.goes_home_over_hub
    return RemoteFee(
        location=_RELAY_ASSET,
        arriving=seen_from(across("", source.consensus, destination.consensus), destination.para_id),
        amount=amount,
        transfer_type="LocalReserve" if is_crossed else "DestinationReserve",
    )


def _pays_in_native(transfer: Transfer) -> bool:
    """Tell whether the destination's native asset goes along, which lets an account live there."""
    facts, asset = trust_of(transfer.destination), transfer.remote_fee_asset
    return (
        facts is not None
        and asset is not None
        and location_on(replace(transfer, asset=asset), transfer.destination) == facts.native
    )


def _half_of_amount(transfer: Transfer) -> tuple[int, tuple[str, ...]]:
    """Return what the last hop may cost.  Too little is TooExpensive there, more than arrives NotHoldingFees."""
    decimals = transfer.source.decimals if transfer.asset.decimals is None else transfer.asset.decimals
    symbol = transfer.asset.display_name
    ends = f"{transfer.source.name} to {transfer.destination.name}"
    if transfer.amount < 10**decimals:
        raise InvalidRequest(
            field="amount",
            problem=f"{to_whole(transfer.amount, decimals)} {symbol} is too small: {ends} needs at least 1 {symbol} if no chain is asked for the fee of the last hop",
        )
    fee = transfer.amount // 2
    return fee, (
        f"The transfer goes from {ends} through Asset Hub. Offline, half of the amount ({to_whole(fee, decimals)} {symbol}) is set aside for the fee of the last hop; what is left of it arrives too.",
    )
