"""From a transfer to the call that makes it, and what its signer should know.

`fees.json` has roughly what the chains on a route take out of the amount, for a transfer that is
built offline, and says where the figures are from; `tools/measure_fees.py` measures them anew.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.trust import ExecutionFees, trust_of
from scenarioctl.errors import InvalidRequest
from scenarioctl.files import read_document
from scenarioctl.model.amounts import to_whole
from scenarioctl.model.calls import Call
from scenarioctl.transactions.extrinsic import Draft
from scenarioctl.transactions.transfer.plan import Plan, build_call, location_of_type, make_plan
from scenarioctl.transactions.transfer.request import (
    Transfer,
    below_least,
    check_request,
    is_bridged,
)
from scenarioctl.transactions.transfer.routes import find_route
from scenarioctl.transactions.transfer.ways import UNLISTED, came_over_bridge, pays_with_itself

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable


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
    deposit = arriving.known_deposit(plan.destination_table)
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
    row = read_document(FEES)["raw"].get(symbol, {}).get(route)
    return None if row is None else (row["between"], row["last"])


#: An asset's kind -> the call that moves it without killing the sender's account, and the names of
#: its arguments: (pallet, method, id, receiver, amount).
_CALLS: Mapping[str, tuple[str, str, str, str, str]] = {
    "native": ("Balances", "transfer_keep_alive", "", "dest", "value"),
    "assets": ("Assets", "transfer_keep_alive", "id", "target", "amount"),
    "foreign": ("ForeignAssets", "transfer_keep_alive", "id", "target", "amount"),
    "tokens": ("Tokens", "transfer_keep_alive", "currency_id", "dest", "amount"),
    # Balances that a contract keeps: no pallet of theirs has a keep-alive form.
    "erc20": ("Currencies", "transfer", "currency_id", "dest", "amount"),
}
#: An asset's kind -> the method that may kill the sender's account.
_CLOSING = {"native": "transfer_allow_death"}


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
    """Return the call that makes *transfer*, on the runtime *table* of its source, without asking a
    chain.

    XCM is written in the highest version that both runtimes know, unless the transfer names one;
    without
    *destination_table* in the highest that the source knows.  *last_hop_fee* and *beside* are those
    of a `Plan`, and
    *fee_accepted* says that the destination takes its fee in the asset.  InvalidRequest says why a
    transfer cannot be made safely.
    """
    check_request(transfer)
    if transfer.is_local:
        if transfer.xcm_version is not None:
            raise InvalidRequest(
                field="xcm_version",
                problem=(
                    f"{transfer.xcm_version} is only for transfers between two chains: leave "
                    f"it out within {transfer.source.title}"
                ),
            )
        call = _local_form(transfer, table)(transfer.beneficiary, transfer.amount)
        return Draft(call=call, warnings=_local_warnings(transfer, table))
    if transfer.remote_fee_asset is not None and beside is None:
        raise InvalidRequest(
            f"how much of remote_fee_asset {transfer.remote_fee_asset.label} pays on "
            f"{transfer.destination.title} is not known, expected an amount"
        )
    settled = beside is not None or fee_accepted
    route = find_route(transfer, assets, fee_settled=settled)
    plan = make_plan(transfer, route, table, destination_table)
    return draft_plan(
        replace(plan, last_hop_fee=last_hop_fee, beside=beside, fee_settled=settled), assets
    )


def draft_plan(plan: Plan, assets: "Assets") -> Draft:
    """Return the call of *plan*; if no chain was asked for the fee of its last hop, half of the
    amount is set aside for it."""
    said: tuple[str, ...] = ()
    aside = plan.last_hop_fee
    if plan.route.needs_last_hop_fee and aside is None:
        aside, said = _half_of_amount(plan.transfer)
    warnings = (*said, *transfer_warnings(plan, assets), *plan.notes)
    call = build_call(replace(plan, last_hop_fee=aside))
    return Draft(call=call, warnings=warnings, notes=plan.notes, beside=plan.beside)


def _half_of_amount(transfer: Transfer) -> tuple[int, tuple[str, ...]]:
    """Return what the last hop may cost.  Too little is TooExpensive there, more than arrives
    NotHoldingFees."""
    decimals = (
        transfer.source.decimals if transfer.asset.decimals is None else transfer.asset.decimals
    )
    symbol = transfer.asset.display_name
    ends = f"{transfer.source.title} to {transfer.destination.title}"
    if transfer.amount < 10**decimals:
        raise InvalidRequest(
            field="amount",
            problem=(
                f"{to_whole(transfer.amount, decimals)} {symbol} is too small: {ends} needs at "
                f"least 1 {symbol} if no chain is asked for the fee of the last hop"
            ),
        )
    fee = transfer.amount // 2
    return fee, (
        (
            f"The transfer goes from {ends} through Asset Hub. Offline, half of the amount "
            f"({to_whole(fee, decimals)} {symbol}) is set aside for the fee of the last hop; "
            "what is left of it arrives too."
        ),
    )


def build_payments(
    chain: "Chain", payments: Iterable[tuple["Asset", bytes, int]], table: "RuntimeTable"
) -> list[Call]:
    """Return the call of each payment within *chain*: so much of an asset, raw, to an account. What
    is too little to arrive isn't refused."""
    forms: dict[Asset, Callable[[bytes, int], Call]] = {}
    calls = []
    for asset, account, amount in payments:
        if asset not in forms:
            transfer = Transfer(
                source=chain,
                destination=chain,
                asset=asset,
                amount=amount,
                beneficiary=account,
                accept_loss=True,
            )
            check_request(transfer)
            forms[asset] = _local_form(transfer, table)
        calls.append(forms[asset](account, amount))
    return calls


def _local_form(transfer: Transfer, table: "RuntimeTable") -> Callable[[bytes, int], Call]:
    """Return what makes the call of a transfer like this one, from the account that receives it and
    the raw amount."""
    asset, chain = transfer.asset, transfer.source
    if asset.kind == UNLISTED:
        raise InvalidRequest(
            field="assetid",
            problem=(
                f"{asset.id} is not listed for {chain.title}, so no call within {chain.title} "
                f"can name it. Set it in [[chains.{asset.chain}.assets]]"
            ),
        )
    pallet, method, id_name, receiver_name, amount_name = _CALLS[asset.kind]
    if transfer.allow_death:
        method = _CLOSING.get(asset.kind, "transfer")
    if not table.has_call(pallet, method):
        raise InvalidRequest(
            f"{asset.display_name} cannot be sent within {chain.title}: the runtime "
            f"{table.spec_name} {table.spec_version} has no {pallet}.{method}"
        )
    named: dict[str, Any] = {}
    if asset.kind == "foreign":
        id_type = _argument_type(table, pallet, method, id_name)
        named[id_name] = location_of_type(table, id_type, asset.location)
    elif id_name:
        named[id_name] = int(asset.id)
    wrap = _account_wrapper(table, pallet, method, receiver_name)
    return lambda account, amount: Call(
        pallet=pallet,
        method=method,
        args={receiver_name: wrap(account), amount_name: amount, **named},
    )


def account_argument(
    table: "RuntimeTable", pallet: str, method: str, name: str, account: bytes
) -> Any:
    """Return *account* as the call wants it: a MultiAddress, or (on Hydration) the bare account."""
    return _account_wrapper(table, pallet, method, name)(account)


def _account_wrapper(
    table: "RuntimeTable", pallet: str, method: str, name: str
) -> Callable[[bytes], Any]:
    variants = table.types.variants(_argument_type(table, pallet, method, name))
    return (lambda account: {"Id": account}) if "Id" in variants else (lambda account: account)


def _argument_type(table: "RuntimeTable", pallet: str, method: str, name: str) -> int:
    for field in table.call_fields(pallet, method):
        if field.name == name:
            return field.type_id
    raise InvalidRequest(
        f"{pallet}.{method} of {table.spec_name} {table.spec_version} has no argument {name}"
    )


def _local_warnings(transfer: Transfer, table: "RuntimeTable") -> tuple[str, ...]:
    asset, chain = transfer.asset, transfer.source
    warnings = [f"{chain.title} may be closing: {chain.doubt}."] if chain.doubt else []
    if asset.kind == "erc20":
        warnings.append(
            f"Currencies.transfer sends {asset.display_name}, and can close the sender's "
            f"account. Keep some {chain.symbol} for fees."
        )
    deposit = asset.known_deposit(table)
    if deposit is not None and transfer.amount < deposit and not transfer.receiver_holds:
        # A contract may hold any amount.
        if not transfer.accept_loss and asset.kind != "erc20":
            why = (
                f"an account on {chain.title} that holds less than the existential deposit of "
                f"{asset.amount(deposit)} can't receive it"
            )
            raise below_least(transfer, deposit, why)
        warnings.append(
            f"The amount is below the existential deposit of {asset.amount(deposit)} on "
            f"{chain.title}. An account that holds none yet can't receive it."
        )
    return tuple(warnings)
