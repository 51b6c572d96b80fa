"""What a swap would bring, from the exchange chain as it is now."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from scenarioctl.actions.swap import STEP, SwapStep
from scenarioctl.application import Application
from scenarioctl.model.amounts import values_of
from scenarioctl.model.json_types import SHOWN, Column, Digits, Hex, Told
from scenarioctl.model.request_fields import Address
from scenarioctl.operations.results import Result

if TYPE_CHECKING:
    from scenarioctl.chains.confirmation import Clients
    from scenarioctl.transactions.swap.swap_call import Quote

__all__ = ["quote_swap"]


@dataclass(frozen=True, kw_only=True)
class QuoteSwap(SwapStep):
    """Ask the exchange parachain what a swap would bring now; nothing is built or stored."""

    #: Account that would swap. The quote is compared with its dry run.
    sender: Address = ""


class SwapQuote(Told):
    #: With its symbol, in whole tokens.
    sold: Annotated[str, SHOWN]
    received: Annotated[str, SHOWN]
    #: What is received at least, with the slippage of the request.
    at_least: Annotated[str, SHOWN]
    amount_in: "Digits"
    amount_out: "Digits"
    min_amount_out: "Digits"
    #: Whole tokens received for one sold; null if the decimals of an asset are unknown.
    price: Annotated[str | None, SHOWN]
    impact_percent: Annotated[str | None, Column("impact %")]
    #: Per cent, if the Omnipool alone makes the swap.
    asset_fee: Annotated[str | None, Column("asset fee %")]
    protocol_fee: Annotated[str | None, Column("protocol fee %")]
    #: Hops, as the runtime takes them.
    route: list[Any]
    block: Annotated[int, SHOWN]
    block_hash: "Hex"
    spec_version: int


async def quote_swap(app: Application, request: QuoteSwap) -> Result[SwapQuote]:
    from scenarioctl.actions.vocabulary import Reading
    from scenarioctl.chains.addresses import parse_account
    from scenarioctl.chains.confirmation import confirm, say_alone
    from scenarioctl.transactions.swap.omnipool_math import minimum_received
    from scenarioctl.transactions.swap.route_quote import fetch_quote
    from scenarioctl.transactions.swap.swap_call import percent
    from scenarioctl.transactions.swap.swap_limits import warn_of_slippage

    step = Reading(app, STEP.terms, values_of(request), "built")
    chain, asset_in, asset_out = (step[key] for key in ("chain", "assetin", "assetout"))
    (_, amount), slippage, (_, route) = step["amount"], step["slippage"], step["route"]
    sender = parse_account(request.sender, field="sender") if request.sender else None

    async def ask(clients: "Clients") -> "tuple[Quote, int]":
        client = clients(chain)
        quote = await fetch_quote(
            client,
            asset_in=asset_in,
            asset_out=asset_out,
            amount=amount,
            route=route,
            sender=sender,
        )
        return quote, (await client.table()).spec_version

    found = await confirm(app.pool, ask, say=lambda answered: answered[0].describe())
    quote, spec_version = found.agreed()
    least = minimum_received(quote.amount_out, slippage)
    omnipool = quote.omnipool
    answer: SwapQuote = {
        "sold": quote.asset_in.amount(quote.amount_in),
        "received": quote.asset_out.amount(quote.amount_out),
        "at_least": quote.asset_out.amount(least),
        "amount_in": str(quote.amount_in),
        "amount_out": str(quote.amount_out),
        "min_amount_out": str(least),
        "price": quote.price,
        "impact_percent": None if quote.impact is None else percent(quote.impact),
        "asset_fee": None if omnipool is None else percent(omnipool.asset_fee),
        "protocol_fee": None if omnipool is None else percent(omnipool.protocol_fee),
        "route": [hop.value for hop in quote.route],
        "block": quote.block,
        "block_hash": quote.block_hash,
        "spec_version": spec_version,
        "asked": found.asked,
    }
    warnings = (*quote.warnings, *warn_of_slippage(slippage, asset_out.amount(least)))
    return Result(answer=answer, notes=say_alone(found.alone), warnings=warnings)
