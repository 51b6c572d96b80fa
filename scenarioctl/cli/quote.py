"""`scenarioctl quote`."""

from typing import Any

import click

from scenarioctl.cli.base import Command, draw_facts, field_option, option, perform, print_answer
from scenarioctl.cli.fields import swap_options


@click.command(
    cls=Command,
    operation="quotes.quote_swap",
    example="scenarioctl quote --assetin DOT --assetout HDX --amount 2\n"
    "  scenarioctl quote --assetin DOT --assetout HDX --amount 2 --field min_amount_out",
)
@swap_options
@option(
    "--sender",
    metavar="ADDRESS",
    default="",
    help="Account that would swap: the quote is held against a dry run of theirs.",
)
@field_option
def quote(**fields: Any) -> None:
    """Ask the exchange parachain what a swap would bring now.

    Nothing is built or stored: `create swap` asks anew. Amounts are in the smallest unit, the price in whole tokens.
    """
    result = perform("quotes.quote_swap", "QuoteSwap", **fields)
    print_answer(result, draw=lambda: _draw(result))


def _draw(result: Any) -> None:
    from scenarioctl.transactions.quoting import percent, say_route, worded

    quote = result.quote
    facts = {
        "sold": worded(quote.asset_in, quote.amount_in),
        "received": worded(quote.asset_out, quote.amount_out),
        "at least": worded(quote.asset_out, result.min_amount_out),
        "price": quote.price or "unknown",
        "impact": "unknown" if quote.impact is None else f"{percent(quote.impact)} %",
    }
    if quote.omnipool is not None:
        facts["asset fee"] = f"{percent(quote.omnipool.asset_fee)} %"
        facts["protocol fee"] = f"{percent(quote.omnipool.protocol_fee)} %"
    draw_facts({**facts, "route": say_route(quote.route), "block": quote.block + 1})
