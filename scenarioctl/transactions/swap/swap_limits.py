"""The limits of a swap: the minimum received, and the route that it was quoted for."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from scenarioctl.errors import ChainRefused, InvalidRequest
from scenarioctl.model.amounts import to_text, to_whole
from scenarioctl.transactions.swap.omnipool_math import minimum_received
from scenarioctl.transactions.swap.route_quote import NotQuotable, fetch_quote

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.client import Client
    from scenarioctl.transactions.swap.swap_call import Quote, RouteHop

#: Per cent from which a slippage gives most of the money away.
_WIDE_SLIPPAGE = 50
#: Per cent below the quote from which a minimum has to be confirmed.
FAR_BELOW = 50
#: A minimum in whole tokens below this part of the amount sold is taken for raw units that were
#: meant as tokens.
_ABSURD = Fraction(1, 10**6)


@dataclass(frozen=True, kw_only=True)
class SwapLimits:
    """What a caller sets for a swap."""

    #: Raw amount of the asset received: a floor under what each quote gives.
    minimum: int | None = None
    #: The minimum is taken as it stands, whatever the quote.
    exact: bool = False
    #: Per cent below the quote.
    slippage: Decimal
    #: Per cent that the swap's size may worsen its own price.
    max_impact: Decimal


@dataclass(frozen=True, kw_only=True)
class PricedSwap:
    """The least to accept and the way to go, with what is to be said of them."""

    min_amount_out: int
    #: None: one hop in the Omnipool.
    route: "tuple[RouteHop, ...] | None"
    warnings: tuple[str, ...] = ()
    #: What is wrong with a minimum that may have been typed in another unit than was meant.
    doubts: tuple[str, ...] = ()
    #: The quote and the minimum in words.
    notes: tuple[str, ...] = ()


async def price_swap(
    client: "Client",
    *,
    asset_in: "Asset",
    asset_out: "Asset",
    amount: int,
    bounds: SwapLimits,
    route: "tuple[RouteHop, ...] | None",
    sender: bytes | None = None,
) -> PricedSwap:
    """Return the larger of a fresh quote less the slippage and the minimum given, and the way that
    was quoted.

    InvalidRequest if the swap's size worsens its price by more than the limit, or if the quote is
    below the minimum. An exact minimum stands also above a quote, or where the chain gives none;
    then that is a warning.
    """
    try:
        quote = await fetch_quote(
            client,
            asset_in=asset_in,
            asset_out=asset_out,
            amount=amount,
            route=route,
            sender=sender,
        )
    except (ChainRefused, NotQuotable) as error:
        # A trade that the pools are sure to refuse is refused here too, whatever the minimum.
        if bounds.minimum is None or not bounds.exact:
            raise
        least = asset_out.amount(bounds.minimum)
        return PricedSwap(
            min_amount_out=bounds.minimum,
            route=route,
            warnings=(
                (
                    f"there is no quote ({error}): the exact minimum of {least} is used, and "
                    "max_impact is not checked"
                ),
            ),
        )
    quote.check_impact(bounds.max_impact)
    if bounds.minimum is not None and bounds.exact:
        return _exact_terms(quote, bounds, bounds.minimum)
    return _quoted_terms(quote, bounds)


def price_swap_offline(
    *,
    asset_in: "Asset",
    asset_out: "Asset",
    amount: int,
    minimum: int,
    route: "tuple[RouteHop, ...] | None",
) -> PricedSwap:
    """Return the terms of a swap that no chain is asked about: the minimum given."""
    least = asset_out.amount(minimum)
    doubts: tuple[str, ...] = ()
    if asset_in.decimals is not None and asset_out.decimals is not None:
        tokens = Fraction(minimum, 10**asset_out.decimals)
        if tokens < _ABSURD * Fraction(amount, 10**asset_in.decimals):
            doubts = (
                f"the minimum of {least} is less than a millionth of the "
                f"{asset_in.amount(amount)} sold; "
                f"min_amount_out is in the smallest unit: 1 {asset_out.display_name} is "
                f"{10**asset_out.decimals}",
            )
    return PricedSwap(
        min_amount_out=minimum,
        route=route,
        warnings=doubts,
        doubts=doubts,
        notes=(f"at least {least}, the minimum given; offline it is not compared with a quote",),
    )


def warn_of_slippage(slippage: Decimal, least: str) -> tuple[str, ...]:
    """Return the warning of a slippage that gives most of the money away; none for others."""
    if slippage <= _WIDE_SLIPPAGE:
        return ()
    return (f"a slippage of {to_text(slippage)} % accepts as little as {least}",)


def _quoted_terms(quote: "Quote", bounds: SwapLimits) -> PricedSwap:
    floor = bounds.minimum or 0
    if quote.amount_out < floor:
        raise InvalidRequest(
            field="min_amount_out",
            problem=(
                f"{quote.asset_out.amount(floor)} is more than the swap would buy now, "
                f"{quote.asset_out.amount(quote.amount_out)}: the swap would fail on chain"
            ),
            advice="Lower the minimum, or use it as it is with `exact_minimum`.",
        )
    computed = minimum_received(quote.amount_out, bounds.slippage)
    least = quote.asset_out.amount(max(floor, computed))
    if floor > computed:
        below = f"the minimum given, {percent_below(floor, quote.amount_out)} % below the quote"
        return PricedSwap(
            min_amount_out=floor,
            route=quote.route,
            warnings=quote.warnings,
            doubts=_doubt(quote, floor, f"the minimum of {least}"),
            notes=(f"{quote.describe()}; at least {least}, {below}",),
        )
    note = f"{quote.describe()}; at least {least} with a slippage of {to_text(bounds.slippage)} %"
    if floor:
        note += f", above the minimum given of {quote.asset_out.amount(floor)}"
    return PricedSwap(
        min_amount_out=computed,
        route=quote.route,
        warnings=(*quote.warnings, *warn_of_slippage(bounds.slippage, least)),
        # As a floor it does no harm, but it is hardly what was meant.
        doubts=_doubt(quote, floor, f"the minimum of {quote.asset_out.amount(floor)}")
        if floor
        else (),
        notes=(note,),
    )


def _exact_terms(quote: "Quote", bounds: SwapLimits, minimum: int) -> PricedSwap:
    least = quote.asset_out.amount(minimum)
    note = f"{quote.describe()}; at least {least}, exactly as given"
    warnings = quote.warnings
    doubts = _doubt(quote, minimum, f"the exact minimum of {least}")
    if quote.amount_out < minimum:
        warnings += (
            f"the swap would buy {quote.asset_out.amount(quote.amount_out)} now, less than "
            "the exact minimum of "
            f"{least}: until the price is better, it fails and you still pay the fee",
        )
    elif minimum < minimum_received(quote.amount_out, bounds.slippage):
        warnings += (
            (
                f"the exact minimum of {least} is {percent_below(minimum, quote.amount_out)} % "
                "below the quote"
            ),
        )
    else:
        note += f", {percent_below(minimum, quote.amount_out)} % below the quote"
    return PricedSwap(
        min_amount_out=minimum, route=quote.route, warnings=warnings, doubts=doubts, notes=(note,)
    )


def _doubt(quote: "Quote", minimum: int, named: str) -> tuple[str, ...]:
    """Return what to confirm of a *minimum* that is far below the quote; nothing of another one."""
    if not is_far_below(minimum, quote.amount_out):
        return ()
    return (f"{named} is {percent_below(minimum, quote.amount_out)} % below the quote",)


def is_far_below(least: int, price: int) -> bool:
    """Tell whether *least* leaves so much of *price* that it has to be confirmed."""
    return least * 100 < price * (100 - FAR_BELOW)


def percent_below(minimum: int, quoted: int) -> str:
    """Return how far *minimum* is below what is *quoted*, in per cent, rounded down such that 100
    is never said of more than 0."""
    part = 1 - Fraction(minimum, quoted)
    return to_whole(part.numerator * 10**6 // part.denominator, 4)
