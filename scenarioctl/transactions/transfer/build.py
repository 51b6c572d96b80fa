"""From a transfer to the call that makes it: through the gate to a plan, and from the plan to its call and warnings."""

from dataclasses import replace
from typing import TYPE_CHECKING

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.amounts import to_whole
from scenarioctl.transactions.drafts import Draft
from scenarioctl.transactions.transfer.local_transfer import build_local_transfer
from scenarioctl.transactions.transfer.plan import Plan, make_plan
from scenarioctl.transactions.transfer.request import Transfer, check_request
from scenarioctl.transactions.transfer.routes import find_route
from scenarioctl.transactions.transfer.transfer_warnings import transfer_warnings
from scenarioctl.transactions.transfer.xcm_calls import build_call

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.runtime.table import RuntimeTable


def build_transfer(
    transfer: Transfer,
    table: "RuntimeTable",
    *,
    assets: "Assets",
    destination_table: "RuntimeTable | None" = None,
    last_hop_fee: int | None = None,
    beside: "tuple[Asset, int] | None" = None,
    fee_accepted: bool = False,
) -> Draft:
    """Return the call that makes *transfer*, on the runtime *table* of its source, without asking a chain.

    XCM is written in the highest version that both runtimes know, unless the transfer names one; without
    *destination_table* in the highest that the source knows.  *last_hop_fee* and *beside* are those of a `Plan`, and
    *fee_accepted* says that the destination takes its fee in the asset.  InvalidRequest says why a transfer cannot be made
    safely.  A transfer from a parachain to Ethereum needs its sender and what goes along.
    """
    check_request(transfer)
    if transfer.is_local:
        if transfer.xcm_version is not None:
            raise InvalidRequest(
                field="xcm_version",
                problem=f"{transfer.xcm_version} is only for transfers between two chains: leave it out within {transfer.source.name}",
            )
        return build_local_transfer(transfer, table)
    if transfer.remote_fee_asset is not None and beside is None:
        raise InvalidRequest(
            f"how much of remote_fee_asset {transfer.remote_fee_asset.label} pays on {transfer.destination.name} is not known, expected an amount"
        )
    settled = beside is not None or fee_accepted
    route = find_route(transfer, assets, fee_settled=settled)
    plan = make_plan(transfer, route, table, destination_table)
    return draft_plan(replace(plan, last_hop_fee=last_hop_fee, beside=beside, fee_settled=settled), assets)


def draft_plan(plan: Plan, assets: "Assets") -> Draft:
    """Return the call of *plan*; if no chain was asked for the fee of its last hop, half of the amount is set aside for it."""
    said: tuple[str, ...] = ()
    aside = plan.last_hop_fee
    if plan.route.needs_last_hop_fee and aside is None:
        aside, said = _half_of_amount(plan.transfer)
    warnings = (*said, *transfer_warnings(plan, assets), *plan.notes)
    call = build_call(replace(plan, last_hop_fee=aside))
    return Draft(call=call, warnings=warnings, notes=plan.notes, beside=plan.beside)


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
