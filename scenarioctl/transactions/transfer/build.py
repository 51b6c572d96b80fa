"""From a transfer to the call that makes it."""

from typing import TYPE_CHECKING, Any

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.amounts import to_whole
from scenarioctl.transactions.drafts import Draft
from scenarioctl.transactions.transfer import xcm_calls
from scenarioctl.transactions.transfer.local_transfer import build_local_transfer
from scenarioctl.transactions.transfer.request import Transfer, check_request
from scenarioctl.transactions.transfer.routes import Route, candidate_routes, find_route, pays_with_itself
from scenarioctl.transactions.transfer.transfer_warnings import transfer_warnings
from scenarioctl.transactions.transfer.xcm_calls import TransferContext
from scenarioctl.transactions.transfer.xcm_versions import choose_xcm_version

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.runtime.table import RuntimeTable


def build_transfer(
    transfer: Transfer,
    table: "RuntimeTable",
    *,
    assets: "Assets",
    destination_table: "RuntimeTable | None" = None,
    last_hop_fee: int | None = None,
    native_fee: int = 0,
    fee_accepted: bool = False,
) -> Draft:
    """Return the call that makes *transfer*, on the runtime *table* of its source.

    XCM is written in the highest version that both runtimes know, unless the transfer names one; without
    *destination_table* in the highest that the source knows.  *last_hop_fee* is the fee to set aside for the last hop
    of a route over another chain, raw; without it, half of the amount is set aside.  With *native_fee* so much of the
    relay chain's asset, raw, goes along and pays on the destination; *fee_accepted* says that the destination takes its
    fee in the asset.  InvalidRequest says why a transfer cannot be made safely.  A transfer from a parachain to Ethereum needs
    its sender and a *native_fee*.
    """
    check_request(transfer)
    if transfer.is_local:
        if transfer.xcm_version is not None:
            raise InvalidRequest(
                f"xcm_version {transfer.xcm_version} is only for transfers between two chains: leave it out within {transfer.source.name}"
            )
        return build_local_transfer(transfer, table)
    fee_settled = native_fee > 0 or fee_accepted
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
        native_fee=native_fee,
    )
    warnings += transfer_warnings(
        transfer,
        route,
        assets,
        destination_table,
        last_hop_fee=0 if warnings else last_hop_fee or 0,
        fee_settled=fee_settled,
        native_fee=native_fee,
    )
    return Draft(call=xcm_calls.build_call(context), warnings=warnings)


def build_candidates(
    transfer: Transfer,
    table: "RuntimeTable",
    *,
    assets: "Assets",
    destination_table: "RuntimeTable | None" = None,
    native_fee: int = 0,
) -> tuple[Draft, ...]:
    """Return the calls that might make a transfer which `build_transfer` refuses; none for most.

    None of them is safe: some succeed on the source and lose the tokens.  Only a dry run of every hop that ends in
    the beneficiary's credit may open one.
    """
    check_request(transfer)
    routes = candidate_routes(transfer, assets)
    if not routes:
        return ()
    version = choose_xcm_version(transfer, table, destination_table)
    fees = (0, native_fee) if native_fee and pays_with_itself(transfer) else (0,)
    contexts = (
        TransferContext(transfer=transfer, route=route, table=table, version=version, native_fee=fee)
        for route in routes
        for fee in fees
    )
    return tuple(Draft(call=xcm_calls.build_candidate(context)) for context in contexts)


def last_hop_message(
    transfer: Transfer, table: "RuntimeTable", *, assets: "Assets", destination_table: "RuntimeTable"
) -> dict[str, Any]:
    """Return the message of the last hop of a route over another chain as a VersionedXcm, to be weighed."""
    route = find_route(transfer, assets, fee_settled=False)
    return xcm_calls.last_hop_message(_context(transfer, route, table, destination_table))


def native_fee_message(
    transfer: Transfer, table: "RuntimeTable", *, destination_table: "RuntimeTable | None" = None
) -> dict[str, Any]:
    """Return the message in which an asset arrives with the relay chain's asset beside it, to be weighed."""
    route = Route(first="DestinationReserve")
    return xcm_calls.native_fee_message(_context(transfer, route, table, destination_table, native_fee=1))


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
        transfer=transfer, route=route, table=table, version=version, native_fee=native_fee
    )


def _half_of_amount(transfer: Transfer) -> tuple[int, tuple[str, ...]]:
    """Return what the last hop may cost.  Too little is TooExpensive there, more than arrives NotHoldingFees."""
    decimals = transfer.source.decimals if transfer.asset.decimals is None else transfer.asset.decimals
    symbol = transfer.asset.display_name
    ends = f"{transfer.source.name} to {transfer.destination.name}"
    if transfer.amount < 10**decimals:
        raise InvalidRequest(
            f"amount {to_whole(transfer.amount, decimals)} {symbol} is too small: {ends} needs at least 1 {symbol} if no chain is asked for the fee of the last hop"
        )
    fee = transfer.amount // 2
    return fee, (
        f"The transfer goes from {ends} through Asset Hub. Offline, half of the amount ({to_whole(fee, decimals)} {symbol}) is set aside for the fee of the last hop; what is left of it arrives too.",
    )
