"""What a swap would bring in the next block: the Omnipool by its own arithmetic, other pools by the chain's dry run.

The fees of the Omnipool are recalculated when a trade runs, so a quote is for the block after the head it was read
at; for the first trade of that block it is exact.  All that is read is read at one block.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from scenarioctl.errors import ChainRefused, InvalidRequest
from scenarioctl.transactions.swap.omnipool_state import OmnipoolState
from scenarioctl.transactions.swap.quote import Quote, QuoteLeg, percent
from scenarioctl.transactions.swap.route import RouteHop, check_route, format_route
from scenarioctl.transactions.swap.router_dry_run import GIVE_MINIMUM, RouterDryRun

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.client import Client

#: A dry run and what is expected of it may differ by this part, beside what the fees of the Omnipool change.
TOLERANCE = Fraction(3, 1000)
#: The price of other pools before the trade is read at this part of the amount.
_SMALL_PART = 1000


class NotQuotable(InvalidRequest):
    """A route that can be quoted by its sender only; nothing speaks against the trade."""


async def fetch_quote(
    client: "Client",
    *,
    asset_in: "Asset",
    asset_out: "Asset",
    amount: int,
    route: Sequence[RouteHop] | None = None,
    sender: bytes | None = None,
) -> Quote:
    """Return what *amount* raw units of *asset_in* would bring on the exchange chain of *client*.

    Without a *route* it is the one that the chain itself has for the pair, else one hop in the Omnipool.  With a
    *sender* the quote is held against a dry run by that account.  InvalidRequest where the pool takes no such
    amount, ChainRefused where the chain lets nobody trade so now.
    """
    pair = int(asset_in.id), int(asset_out.id)
    if route:
        check_route(tuple(route), *pair)
    table = await client.table()
    at = await client.call("chain_getBlockHash")
    omnipool = OmnipoolState(client, table, at, (asset_in, asset_out))
    router = RouterDryRun(client, table, at)
    hops = await omnipool.open(pair, tuple(route or ()))
    room = TOLERANCE + omnipool.fee_change(hops)
    legs = await _quote_legs(omnipool, router, hops, amount, sender)
    quote = Quote(
        asset_in=asset_in,
        asset_out=asset_out,
        amount_in=amount,
        amount_out=legs[-1].amount_out,
        legs=tuple(legs),
        block=omnipool.block,
        block_hash=at,
        warnings=_warnings(asset_out, tuple(legs), room),
    )
    return quote if sender is None else await _compare_with_dry_run(router, quote, room, sender)


async def fetch_room(
    client: "Client", asset_in: "Asset", asset_out: "Asset", route: tuple[RouteHop, ...]
) -> Fraction:
    """Return by which part the next block may change what a dry run trades over *route*, or the chain's.

    InvalidRequest or ChainRefused where there is no such way.
    """
    at = await client.call("chain_getBlockHash")
    omnipool = OmnipoolState(client, await client.table(), at, (asset_in, asset_out))
    hops = await omnipool.open((int(asset_in.id), int(asset_out.id)), route)
    return TOLERANCE + omnipool.fee_change(hops)


async def _quote_legs(
    omnipool: OmnipoolState,
    router: RouterDryRun,
    hops: tuple[RouteHop, ...],
    amount: int,
    sender: bytes | None,
) -> list[QuoteLeg]:
    """Return the legs of *hops* for *amount*."""
    legs: list[QuoteLeg] = []
    for in_omnipool, group in groupby(hops, key=lambda hop: hop.pool == "Omnipool"):
        if in_omnipool:
            for hop in group:
                legs.append(omnipool.sell(hop, legs[-1].amount_out if legs else amount))
        else:
            legs = await _quote_other_pools(omnipool, router, legs, tuple(group), amount, sender)
    return legs


async def _quote_other_pools(
    omnipool: OmnipoolState,
    router: RouterDryRun,
    before: list[QuoteLeg],
    hops: tuple[RouteHop, ...],
    amount: int,
    sender: bytes | None,
) -> list[QuoteLeg]:
    """Return the legs *before* and one more: what the chain's own dry run of *hops* brings.

    A dry run can give a contract's token to nobody.  Hops that begin with one are dry-run from the beginning of the
    route, or by the *sender*, who has it.
    """
    if await router.is_contract(hops[0].asset_in):
        hops, before = (*(hop for leg in before for hop in leg.hops), *hops), []
        if sender is None and await router.is_contract(hops[0].asset_in):
            raise NotQuotable(
                f"{omnipool.label(hops[0].asset_in)} is a contract's token, so the route {format_route(hops)} can be quoted only "
                "for an account that holds it (sender)",
                advice=f": {GIVE_MINIMUM}",
            )
    else:
        sender = None
    given = before[-1].amount_out if before else amount
    received = await router.sell(hops, given, sender)
    if not received:
        raise InvalidRequest(
            field="amount",
            problem=f"is too small: {format_route(hops)} would give nothing for {omnipool.amount(hops[0].asset_in, given)}",
        )
    impact = None
    if small := given // _SMALL_PART:
        # If this fails, the impact is unknown and the quote is good: some pools take no small amounts.
        with suppress(ChainRefused):
            few = await router.sell(hops, small, sender)
            impact = max(1 - Fraction(received * small, given * few), Fraction(0)) if few else None
    return [*before, QuoteLeg(hops=hops, amount_in=given, amount_out=received, impact=impact)]


async def _compare_with_dry_run(router: RouterDryRun, quote: Quote, room: Fraction, sender: bytes) -> Quote:
    """Return *quote* if a dry run by *sender* is off by *room* at most; with a warning if there is no dry run.

    A dry run has the fees of the block that it runs on, not of the next.
    """
    try:
        received = await router.sell(quote.route, quote.amount_in, sender)
    except ChainRefused as error:
        warning = f"the quote was not checked with a dry run by the sender: {error}"
        return replace(quote, warnings=(*quote.warnings, warning))
    difference = abs(Fraction(received, quote.amount_out) - 1)
    if difference > room:
        asset = quote.asset_out
        raise ChainRefused(
            f"a dry run of the swap gives {asset.amount(received)}, but {asset.amount(quote.amount_out)} "
            f"was expected, a difference of {percent(difference)} %, more than {percent(room)} %: try again",
            advice=f", or {GIVE_MINIMUM}",
        )
    return quote


def _warnings(asset_out: "Asset", legs: tuple[QuoteLeg, ...], room: Fraction) -> tuple[str, ...]:
    found = []
    deposit = asset_out.existential_deposit
    if deposit is not None and legs[-1].amount_out < deposit:
        found.append(
            f"{asset_out.amount(legs[-1].amount_out)} is below the existential deposit of {asset_out.amount(deposit)}: "
            "an account that holds none yet cannot receive it"
        )
    hops = [hop.pool == "Omnipool" for leg in legs for hop in leg.hops]
    if any(one and other for one, other in pairwise(hops)):
        found.append(
            "the route goes through the Omnipool twice in a row: one trade would do, and cost one fee"
        )
    if any(leg.asset_fee is None and "Omnipool" in {hop.pool for hop in leg.hops} for leg in legs):
        found.append(
            f"the quote is from a dry run with the fees of the block before, and can be off by {percent(room)} %"
        )
    if any(leg.impact is None for leg in legs):
        found.append("the price impact of the trade is unknown, so it is not limited")
    return tuple(found)
