"""What the signer of a transfer to another chain should know.

`fees.json` has roughly what the chains on a route take out of the amount, for a transfer that is built offline, and says where
the figures are from; `tools/measure_fees.py` measures them anew.
"""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from scenarioctl.chains.trust import ExecutionFees, trust_of
from scenarioctl.files import read_document
from scenarioctl.transactions.native_balance import known_deposit
from scenarioctl.transactions.transfer.bridges import is_bridged
from scenarioctl.transactions.transfer.request import Transfer, below_least
from scenarioctl.transactions.transfer.ways import Route, came_over_bridge, pays_with_itself

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.runtime.table import RuntimeTable

FEES = Path(__file__).with_name("fees.json")
#: From this number on, Hydration registers what anybody brings (`SequentialIdOffset` in its runtime).  Such an asset may keep
#: no account alive, and then Hydration takes a deposit of whoever gets it first.
_BROUGHT_BY_ANYBODY = 1_000_000


def transfer_warnings(
    transfer: Transfer,
    route: Route,
    assets: "Assets",
    destination_table: "RuntimeTable | None",
    *,
    last_hop_fee: int,
    fee_settled: bool,
    pays_beside: bool,
    brings_native: bool,
    sufficient: bool,
) -> tuple[str, ...]:
    """Return one sentence each.

    *last_hop_fee* is measured, raw, and 0 if it is not.  With *pays_beside* another asset goes along and pays, with
    *brings_native* the destination's native one; *sufficient* says that the asset keeps an account alive there by itself.
    """
    arriving = assets.counterpart(transfer.asset, transfer.destination)
    warnings = []
    if arriving is None:
        warnings.append(
            f"{transfer.destination.name} is not known to list asset {transfer.asset.label} of {transfer.source.name}. If it doesn't, the transfer is trapped there."
        )
    else:
        warnings += _small_amount(
            transfer, route, assets, arriving, destination_table, last_hop_fee, pays_beside
        )
        # The native asset beside it lets the receiver's account live; over the bridge that is a foreign one too.
        needs_native = arriving.kind == "foreign" or (
            arriving.kind == "assets" and transfer.remote_fee_asset is not None
        )
        if needs_native and not sufficient and (not brings_native or is_bridged(transfer)):
            destination = transfer.destination
            warnings.append(
                f"An account that holds no {destination.symbol} on {destination.name} may be unable to receive {transfer.asset.display_name}. The transfer is trapped there then."
            )
        # What another asset pays for was asked for its deposit.
        if not pays_beside and _may_take_deposit(transfer, arriving):
            destination = transfer.destination
            warnings.append(
                f"A receiver who holds no {arriving.display_name} on {destination.name} yet may have to pay a deposit of 1.1 {destination.symbol} there. If they can't, the transfer is trapped there."
            )
    return (*warnings, *_fee_warnings(transfer, fee_settled=fee_settled))


def _may_take_deposit(transfer: Transfer, arriving: "Asset") -> bool:
    facts = trust_of(transfer.destination)
    return (
        facts is not None
        and facts.kind == "hydration"
        and arriving.kind == "tokens"
        and int(arriving.id) >= _BROUGHT_BY_ANYBODY
    )


def _small_amount(
    transfer: Transfer,
    route: Route,
    assets: "Assets",
    arriving: "Asset",
    destination_table: "RuntimeTable | None",
    last_hop_fee: int,
    pays_beside: bool,
) -> list[str]:
    """Warn of an amount that may not reach the existential deposit, less fees that only a chain can tell exactly.

    BelowLeast if it doesn't reach it, less fees that were measured.  With *pays_beside* no fee is taken of it.
    """
    deposit = known_deposit(arriving, destination_table)
    if deposit is None:
        return []
    relay = assets.registry.relay_of(transfer.source)
    expected = None if relay is None else expected_fees(relay.symbol, route.fees_as)
    if pays_beside:
        expected = 0, 0
    kept = 0 if transfer.receiver_holds else deposit
    # Where nobody measured the fees, they are guessed to be less than the deposit.
    fees = deposit if expected is None else expected[0] + max(expected[1], last_hop_fee)
    least = fees + max(kept, 1)
    if transfer.amount >= least:
        return []
    held = f"the existential deposit of {arriving.amount(deposit)} on {transfer.destination.name}"
    # A contract may hold any amount.
    is_sure = arriving.kind != "erc20" and (expected is not None or transfer.amount < kept)
    if is_sure and not transfer.accept_loss:
        why = f"the fees on the way to {transfer.destination.name} are more"
        if kept:
            after = "" if transfer.amount < kept else "after fees, "
            why = f"{after}it is below {held}, and what arrives would be lost"
        raise below_least(transfer, least, why)
    if not kept:
        return [f"The fees on the way to {transfer.destination.name} can be more than the amount."]
    what = "The amount is" if transfer.amount < kept else "After fees, the amount can be"
    return [f"{what} below {held}. What arrives can be lost without a trace."]


def _fee_warnings(transfer: Transfer, *, fee_settled: bool) -> list[str]:
    source, destination = transfer.source, transfer.destination
    warnings = []
    if is_bridged(transfer):
        warnings.append(
            f"The message crosses the bridge from {source.network} to {destination.network}. It arrives after minutes to hours."
        )
        if not fee_settled:
            warnings.append(
                f"What {destination.name} takes of the amount for executing the message was not asked for. If the amount is less, the transfer is trapped there."
            )
    if source.role in ("asset_hub", "system") and not (is_bridged(transfer) and fee_settled):
        much = "about 0.1 DOT" if source.symbol == "DOT" else f"a little {source.symbol}"
        warnings.append(
            f"{source.name} charges for delivery in {source.symbol}. Keep {much} there in addition to the amount, or the transfer fails (FeesNotMet)."
        )
    if not fee_settled and pays_with_itself(transfer):
        name = transfer.asset.display_name
        warnings.append(
            f"{destination.name} takes its fee in {name}. If it doesn't accept {name} for fees any more, the transfer is trapped there."
        )
    facts = trust_of(destination)
    priced = facts is not None and facts.execution_fees is ExecutionFees.PRICED
    if priced and not fee_settled and not transfer.is_local and came_over_bridge(transfer):
        name = transfer.asset.display_name
        warnings.append(
            f"{destination.name} takes its fee in {name}. If it has no price for {name} now, the transfer is trapped there."
        )
    return warnings


def expected_fees(symbol: str, route: str) -> tuple[int, int] | None:
    """Return what the chain between and the last chain take, raw, under the relay chain of *symbol*.

    *route* is `Route.fees_as`.  None if the fees were not measured.
    """
    row = _read().get(symbol, {}).get(route)
    return None if row is None else (row["between"], row["last"])


@cache
def _read() -> dict[str, dict[str, dict[str, int]]]:
    raw: dict[str, dict[str, dict[str, int]]] = read_document(FEES)["raw"]
    return raw
