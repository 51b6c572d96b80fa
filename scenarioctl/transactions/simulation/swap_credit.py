"""Trades of a call: what they bring in the next block, and whether their limits protect the one who
signs.

A dry run trades with the fees of the block that it runs on.  A sale by one trade in the Omnipool is
quoted for the next block, to the last unit; of other trades the check says what they bring now, and
at least.  An order at a price of its own is held against a quote.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.assets import Asset
from scenarioctl.chains.locations import write_location
from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest
from scenarioctl.transactions.inner_calls import InnerCall
from scenarioctl.transactions.simulation.runtime_api import Inconclusive, read_storage
from scenarioctl.transactions.swap.route_quote import TOLERANCE, fetch_quote, fetch_room
from scenarioctl.transactions.swap.swap_call import RouteHop, parse_route, percent
from scenarioctl.transactions.swap.swap_limits import FAR_BELOW, is_far_below, percent_below
from scenarioctl.transactions.trades import (
    FILLS,
    ORDERS,
    Trade,
    accepts_nothing,
    read_order,
    read_trade,
    traded_amounts,
    warn_of_slippage,
    without_limits,
)
from scenarioctl.transactions.wording.calls import tell_call

if TYPE_CHECKING:
    from scenarioctl.model.calls import Call
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.blocks import Event
    from scenarioctl.transactions.simulation.dry_run import DryRunResult
    from scenarioctl.transactions.simulation.trial import Trial
    from scenarioctl.transactions.swap.swap_call import Quote

#: Pools whose fees or weights change from block to block, also if nobody trades.
_MOVING = frozenset(("Omnipool", "Stableswap", "LBP", "HSM"))
#: The most by which other fees in the next block change a trade: the Omnipool takes up to 5.25 %
#: (DynamicFees of Hydration).
_FEES = Fraction(6, 100)


async def try_trades(
    trace: "Callable[[Call], Awaitable[list[DryRunResult]]]",
    call: "Call",
    calls: Sequence[InnerCall],
    table: "RuntimeTable",
) -> "list[DryRunResult]":
    """Return what *trace* tells of *call*, which holds *calls*.

    If limits of trades fail by no more than fees, which the next block may lower, it is what the
    call does without limits.
    """
    hops = await trace(call)
    trades = [trade for trade in _running(calls) if not trade.unprotected]
    if hops[0].unknown or None not in traded_amounts(trades, hops[0].events):
        return hops
    free = await trace(without_limits(call, table))
    found = list(traded_amounts(trades, free[0].events))
    if free[0].failure or not _moves(free[0].events):
        return hops
    if any(
        now is None or _is_broken(trade, now, 1 + _FEES)
        for trade, now in zip(trades, found, strict=True)
    ):
        return hops
    return free


def _running(calls: Sequence[InnerCall]) -> list[Trade]:
    return [
        trade for found in calls if found.runs and (trade := read_trade(found.call)) is not None
    ]


def _moves(events: "Sequence[Event]") -> bool:
    return any(event.pallet in _MOVING for event in events)


def _is_broken(trade: Trade, now: int, room: Fraction) -> bool:
    """Tell whether a trade that brings *now*, or pays it, misses its limit also with this
    *room*."""
    return trade.limit * room < now if trade.buys else trade.limit > now * room


async def check_swaps(trial: "Trial") -> None:
    """Judge the trades of the call: what each brings, and what limits its price."""
    hop = trial.hops[0]
    if hop.failure:
        return
    trades = _running(trial.calls)
    for trade, now in zip(trades, traded_amounts(trades, hop.events), strict=True):
        await _check_trade(trial, trade, now)
    for found in trial.calls:
        if not found.runs and (later := read_trade(found.call)) is not None:
            await _doubt(trial, later, None)
        await _check_order(trial, found.call)
    for each in trial.instructions:
        if each.name == "ExchangeAsset" and accepts_nothing(each.fields["want"]):
            _refuse(trial, "a program exchanges assets at any price (ExchangeAsset)")


async def _check_trade(trial: "Trial", trade: Trade, now: int | None) -> None:
    alone = trade.call is trial.calls[0].call
    quote = None
    if alone and not trade.buys and trade.call.pallet in ("Omnipool", "Router"):
        quote = await _quote(trial, trade)
    exact = quote.amount_out if quote is not None and quote.omnipool is not None else None
    await _doubt(trial, trade, now if exact is None else exact)
    if now is None:
        trial.findings.unknowns.append(
            f"{await _say(trial, trade.call)}: the dry run doesn't show the trade, so its "
            "limit can't be compared with the price"
        )
        return
    asset = _asset(trial, trade.variable)
    chain, verb = trial.chain, "pays" if trade.buys else "buys"
    if not trade.unprotected:
        most = "at most" if trade.buys else "at least"
        trial.findings.add_step(chain, f"{verb} {most}", asset, trade.limit)
    if exact is None:
        trial.findings.add_step(chain, f"{verb} about", asset, now)
        if _moves(trial.hops[0].events) and await _may_break(trial, trade, now):
            trial.findings.unknowns.append(
                f"{await _say(trial, trade.call)}, and it {verb} {asset.amount(now)} now: "
                "with the fees of the next block it may fail, and you still pay the fee"
            )
        return
    trial.findings.add_step(chain, verb, asset, exact)
    _correct(trial, asset, exact - now)
    if exact < trade.limit:
        trial.findings.refusals.append(
            f"the swap buys {asset.amount(exact)} in the next block, less than its minimum "
            f"of {asset.amount(trade.limit)}: it would fail, and you would still pay the "
            "fee"
        )


async def _check_order(trial: "Trial", call: "Call") -> None:
    """Judge what trades at a price that is set in it; each trade of a DCA may have a limit near the
    price before it."""
    stored = None
    if (call.pallet, call.method) in FILLS:
        with suppress(Inconclusive):
            client = trial.clients(trial.chain)
            stored = await read_storage(client, "OTC", "Orders", call.args["order_id"])
    elif (call.pallet, call.method) not in ORDERS:
        return
    trial.findings.warnings.extend(warn_of_slippage(call))
    slippage = call.args["schedule"]["slippage"] if call.pallet == "DCA" else None
    order = read_order(call, stored)
    if slippage is not None and slippage <= FAR_BELOW * 10_000:
        if order is not None and order.unprotected:
            trial.findings.warnings.append(
                f"{await _say(trial, call)}: its slippage limits each trade to "
                f"{percent(slippage)} % below the price of the block before, whatever that "
                "price is"
            )
        return
    quote = None if order is None or order.buys else await _quote(trial, order)
    if order is None or (quote is None and not order.unprotected):
        trial.findings.unknowns.append(
            f"{await _say(trial, call)}: what a swap would bring now isn't known, so this "
            "price can't be judged"
        )
    else:
        await _doubt(trial, order, None if quote is None else quote.amount_out)


async def _doubt(trial: "Trial", trade: Trade, now: int | None) -> None:
    """Refuse a limit that protects nothing, or most of the money not, until it is confirmed."""
    said = await _say(trial, trade.call)
    asset = _asset(trial, trade.variable)
    if now and trade.unprotected:
        said += (
            f", instead of the {asset.amount(now)} that it would "
            f"{'pay' if trade.buys else 'buy'} now"
        )
    elif now and trade.buys and is_far_below(now, trade.limit):
        said += f", {trade.limit // now} times the {asset.amount(now)} that it would pay now"
    elif now and not trade.buys and is_far_below(trade.limit, now):
        said += (
            f", {percent_below(trade.limit, now)} % below the {asset.amount(now)} that a swap "
            "would buy now"
        )
    elif not trade.unprotected:
        return
    _refuse(trial, said)


def _refuse(trial: "Trial", said: str) -> None:
    """Refuse what has to be confirmed; once it is, warn of it."""
    if trial.confirmed:
        trial.findings.warnings.append(said)
    else:
        trial.findings.refusals.append(f"{said}; pass `yes` if you mean it")


async def _quote(trial: "Trial", trade: Trade) -> "Quote | None":
    """Return what a sale brings in the next block; None if that isn't known."""
    if trade.amount is None:
        return None
    try:
        return await fetch_quote(
            trial.clients(trial.chain),
            asset_in=_asset(trial, trade.asset_in),
            asset_out=_asset(trial, trade.asset_out),
            amount=trade.amount,
            route=_route(trade),
        )
    except (ChainRefused, ChainUnreachable, InvalidRequest):
        return None


async def _may_break(trial: "Trial", trade: Trade, now: int) -> bool:
    """Tell whether a trade that brings *now*, or pays it, may miss its limit with the fees of the
    next block."""
    if not _is_broken(trade, now, 1 - _FEES):
        return False
    room = TOLERANCE
    if trade.call.pallet in ("Omnipool", "Router"):
        assets = _asset(trial, trade.asset_in), _asset(trial, trade.asset_out)
        try:
            room = await fetch_room(trial.clients(trial.chain), *assets, _route(trade))
        except (ChainRefused, ChainUnreachable, InvalidRequest):
            room = _FEES
    return _is_broken(trade, now, 1 - room)


def _route(trade: Trade) -> tuple[RouteHop, ...]:
    """Return the hops that *trade* names; none if the chain knows them."""
    if trade.call.pallet == "Omnipool":
        return (RouteHop(pool="Omnipool", asset_in=trade.asset_in, asset_out=trade.asset_out),)
    return parse_route(list(trade.route), field="route") if trade.route else ()


def _correct(trial: "Trial", asset: Asset, difference: int) -> None:
    """Let the sender get *difference* more than the dry run gave."""
    sender = format_account(trial.sender, trial.chain.ss58_prefix)
    for place, holding in enumerate(trial.findings.credits):
        if (holding.chain, holding.account) != (trial.chain.name, sender):
            continue
        if holding.amount.asset == asset.display_name:
            amount = replace(holding.amount, value=holding.amount.value + difference)
            trial.findings.credits[place] = replace(holding, amount=amount)


def _asset(trial: "Trial", identity: Any) -> Asset:
    found = trial.assets.named(trial.chain, identity)
    if found is not None:
        return found
    number = str(identity) if isinstance(identity, int) else write_location(identity)
    return Asset(chain=trial.chain.name, id=number, symbol="", decimals=None, kind="tokens")


async def _say(trial: "Trial", call: "Call") -> str:
    chain, table = trial.chain, await trial.table()
    return tell_call(
        call, chain, trial.assets, lambda named: table if named == chain else None
    ).sentence
