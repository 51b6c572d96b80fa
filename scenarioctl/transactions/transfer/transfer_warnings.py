"""What the signer of a transfer to another chain should know.

`fees.json` has roughly what the chains on a route take out of the amount, for a transfer that is
built offline, and says where the figures are from; `tools/measure_fees.py` measures them anew.
"""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from scenarioctl.chains.trust import ExecutionFees, trust_of
from scenarioctl.files import read_document
from scenarioctl.transactions.native_balance import known_deposit
from scenarioctl.transactions.transfer.bridges import is_bridged
from scenarioctl.transactions.transfer.plan import Plan
from scenarioctl.transactions.transfer.request import Transfer, below_least
from scenarioctl.transactions.transfer.ways import came_over_bridge, pays_with_itself

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets

FEES = Path(__file__).with_name("fees.json")
#: From this number on, Hydration registers what anybody brings (`SequentialIdOffset` in its
#: runtime).  Such an asset may keep no account alive, and then Hydration takes a deposit of whoever
#: gets it first.
_BROUGHT_BY_ANYBODY = 1_000_000


def transfer_warnings(plan: Plan, assets: "Assets") -> tuple[str, ...]:
    """Return one sentence each; BelowLeast if less arrives than an account can hold."""
    transfer = plan.transfer
    arriving = assets.counterpart(transfer.asset, transfer.destination)
    warnings = []
    if arriving is None:
        warnings.append(
            f"{transfer.destination.title} is not known to list asset "
            f"{transfer.asset.label} of {transfer.source.title}. If it doesn't, the "
            "transfer is trapped there."
        )
    else:
        warnings += _small_amount(plan, assets, arriving)
        # The native asset beside it lets the receiver's account live; over the bridge that is a
        # foreign one too.
        needs_native = arriving.kind == "foreign" or (
            arriving.kind == "assets" and transfer.remote_fee_asset is not None
        )
        if (
            needs_native
            and not plan.sufficient
            and (not _brings_native(plan) or is_bridged(transfer))
        ):
            destination = transfer.destination
            warnings.append(
                f"An account that holds no {destination.symbol} on {destination.title} may "
                f"be unable to receive {transfer.asset.display_name}. The transfer is "
                "trapped there then."
            )
        # What another asset pays for was asked for its deposit.
        if plan.beside is None and _may_take_deposit(transfer, arriving):
            destination = transfer.destination
            warnings.append(
                f"A receiver who holds no {arriving.display_name} on {destination.title} "
                f"yet may have to pay a deposit of 1.1 {destination.symbol} there. If they "
                "can't, the transfer is trapped there."
            )
    return (*warnings, *_fee_warnings(transfer, fee_settled=plan.fee_settled))


def _brings_native(plan: Plan) -> bool:
    """Tell whether the destination's native asset goes along, which lets an account live there."""
    facts, pays = trust_of(plan.transfer.destination), plan.remote_fee
    return facts is not None and pays is not None and pays.arriving == facts.native


def _may_take_deposit(transfer: Transfer, arriving: "Asset") -> bool:
    facts = trust_of(transfer.destination)
    return (
        facts is not None
        and facts.kind == "hydration"
        and arriving.kind == "tokens"
        and int(arriving.id) >= _BROUGHT_BY_ANYBODY
    )


def _small_amount(plan: Plan, assets: "Assets", arriving: "Asset") -> list[str]:
    """Warn of an amount that may not reach the existential deposit, less fees that only a chain can
    tell exactly.

    BelowLeast if it doesn't reach it, less fees that were measured.
    """
    transfer = plan.transfer
    deposit = known_deposit(arriving, plan.destination_table)
    if deposit is None:
        return []
    relay = assets.registry.relay_of(transfer.source)
    expected = None if relay is None else expected_fees(relay.symbol, plan.route.fees_as)
    if plan.beside is not None:
        # No fee is taken of the amount.
        expected = 0, 0
    kept = 0 if transfer.receiver_holds else deposit
    # Where nobody measured the fees, they are guessed to be less than the deposit.
    fees = deposit if expected is None else expected[0] + max(expected[1], plan.last_hop_fee or 0)
    least = fees + max(kept, 1)
    if transfer.amount >= least:
        return []
    held = f"the existential deposit of {arriving.amount(deposit)} on {transfer.destination.title}"
    # A contract may hold any amount.
    is_sure = arriving.kind != "erc20" and (expected is not None or transfer.amount < kept)
    if is_sure and not transfer.accept_loss:
        why = f"the fees on the way to {transfer.destination.title} are more"
        if kept:
            after = "" if transfer.amount < kept else "after fees, "
            why = f"{after}it is below {held}, and what arrives would be lost"
        raise below_least(transfer, least, why)
    if not kept:
        return [f"The fees on the way to {transfer.destination.title} can be more than the amount."]
    what = "The amount is" if transfer.amount < kept else "After fees, the amount can be"
    return [f"{what} below {held}. What arrives can be lost without a trace."]


def _fee_warnings(transfer: Transfer, *, fee_settled: bool) -> list[str]:
    source, destination = transfer.source, transfer.destination
    warnings = []
    if is_bridged(transfer):
        warnings.append(
            f"The message crosses the bridge from {source.consensus} to "
            f"{destination.consensus}. It arrives after minutes to hours."
        )
        if not fee_settled:
            warnings.append(
                f"What {destination.title} takes of the amount for executing the message "
                "was not asked for. If the amount is less, the transfer is trapped there."
            )
    if source.role in ("asset_hub", "system") and not (is_bridged(transfer) and fee_settled):
        much = "about 0.1 DOT" if source.symbol == "DOT" else f"a little {source.symbol}"
        warnings.append(
            f"{source.title} charges for delivery in {source.symbol}. Keep {much} there in "
            "addition to the amount, or the transfer fails (FeesNotMet)."
        )
    if not fee_settled and pays_with_itself(transfer):
        name = transfer.asset.display_name
        warnings.append(
            f"{destination.title} takes its fee in {name}. If it doesn't accept {name} for "
            "fees any more, the transfer is trapped there."
        )
    facts = trust_of(destination)
    priced = facts is not None and facts.execution_fees is ExecutionFees.PRICED
    if priced and not fee_settled and not transfer.is_local and came_over_bridge(transfer):
        name = transfer.asset.display_name
        warnings.append(
            f"{destination.title} takes its fee in {name}. If it has no price for {name} "
            "now, the transfer is trapped there."
        )
    return warnings


def expected_fees(symbol: str, route: str) -> tuple[int, int] | None:
    """Return what the chain between and the last chain take, raw, under the relay chain of
    *symbol*.

    *route* is `Route.fees_as`.  None if the fees were not measured.
    """
    row = _read().get(symbol, {}).get(route)
    return None if row is None else (row["between"], row["last"])


@cache
def _read() -> dict[str, dict[str, dict[str, int]]]:
    raw: dict[str, dict[str, dict[str, int]]] = read_document(FEES)["raw"]
    return raw
