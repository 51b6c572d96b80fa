"""`scenarioctl quote`."""

from collections.abc import Mapping
from typing import Any

import click

from scenarioctl.cli.commands import Command
from scenarioctl.cli.execution import perform, print_answer
from scenarioctl.cli.output import draw_facts


@click.command(
    cls=Command,
    operation="swap_quotes.quote_swap",
    example="scenarioctl quote --assetin DOT --assetout HDX --amount 2\n"
    "  scenarioctl quote --assetin DOT --assetout HDX --amount 2 --field min_amount_out",
)
def quote(**fields: Any) -> None:
    """Ask the exchange chain what a swap would buy now.

    Nothing is built or stored: `create swap` asks again. Amounts are in the smallest unit, the price in whole tokens.
    """
    result = perform(**fields)
    print_answer(result, draw=lambda: _draw(result.answer))


def _draw(answer: Mapping[str, Any]) -> None:
    from scenarioctl.transactions.swap.swap_call import format_route, parse_route

    impact = answer["impact_percent"]
    facts = {
        "sold": answer["sold"],
        "received": answer["received"],
        "at least": answer["at_least"],
        "price": answer["price"] or "unknown",
        "impact": "unknown" if impact is None else f"{impact} %",
    }
    if answer["asset_fee"] is not None:
        facts["asset fee"] = f"{answer['asset_fee']} %"
        facts["protocol fee"] = f"{answer['protocol_fee']} %"
    route = parse_route(answer["route"], field="route")
    draw_facts({**facts, "route": format_route(route), "block": answer["block"] + 1})
