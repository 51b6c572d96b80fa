"""What a swap would bring, from the exchange chain as it is now."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from scenarioctl.application import Application
from scenarioctl.model.amounts import values_of
from scenarioctl.model.json_types import Digits, Hex, Told
from scenarioctl.model.request_fields import Address, Percent, Tokens, Value
from scenarioctl.operations.results import Result

if TYPE_CHECKING:
    from scenarioctl.chains.confirmation import Clients
    from scenarioctl.transactions.swap.swap_call import Quote

__all__ = ["quote_swap"]


@dataclass(frozen=True, kw_only=True)
class SwapFields:
    """What is sold, what for, how much and by which way."""

    #: Id, symbol or location of the asset sold.
    assetin: Annotated[str | int, Value("ASSET", option="--sell", spellings=("--assetin",))]
    #: Id, symbol or location of the asset received.
    assetout: Annotated[str | int, Value("ASSET", option="--buy", spellings=("--assetout",))]
    #: Whole tokens sold, like 1.5 or '1.5 DOT'; 15000000000raw is in the smallest unit.
    amount: Tokens
    #: How far below the quote the minimum lies, in per cent (default 1).
    slippage: Percent | None = None
    #: Pools to go through: `5>omnipool>102>stableswap:102>10`, or a JSON list.
    route: Annotated[Any, Value("HOPS")] = None
    #: The exchange parachain (default hydraDx).
    chain: Annotated[str, Value("CHAIN", rare=True)] = "hydraDx"


@dataclass(frozen=True, kw_only=True)
class QuoteSwap(SwapFields):
    """Ask the exchange parachain what a swap would bring now; nothing is built or stored."""

    #: Account that would swap. The quote is compared with its dry run.
    sender: Address = ""


class SwapQuote(Told):
    #: With its symbol, in whole tokens.
    sold: str
    received: str
    #: What is received at least, with the slippage of the request.
    at_least: str
    amount_in: "Digits"
    amount_out: "Digits"
    min_amount_out: "Digits"
    #: Whole tokens received for one sold; null if the decimals of an asset are unknown.
    price: str | None
    impact_percent: str | None
    #: Per cent, if the Omnipool alone makes the swap.
    asset_fee: str | None
    protocol_fee: str | None
    #: Hops, as the runtime takes them.
    route: list[Any]
    block: int
    block_hash: "Hex"
    spec_version: int


async def quote_swap(app: Application, request: QuoteSwap) -> Result[SwapQuote]:
    from scenarioctl.actions.fields import Fields
    from scenarioctl.actions.swap import check_exchange, check_pair, read_route, read_slippage
    from scenarioctl.chains.addresses import parse_account
    from scenarioctl.chains.confirmation import confirm, say_alone
    from scenarioctl.transactions.swap.omnipool_math import minimum_received
    from scenarioctl.transactions.swap.route_quote import fetch_quote
    from scenarioctl.transactions.swap.swap_call import percent
    from scenarioctl.transactions.swap.swap_limits import warn_of_slippage

    fields = Fields(values_of(request))
    chain = fields.chain(app, "chain")
    check_exchange(app, chain, "chain")
    asset_in, asset_out = fields.asset(app, chain, "assetin"), fields.asset(app, chain, "assetout")
    check_pair(asset_in, asset_out, "assetout")
    _, amount = fields.amount("amount", asset_in)
    slippage = read_slippage(request.slippage, "slippage")
    route = read_route(request.route, "route")
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
