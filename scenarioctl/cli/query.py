"""`scenarioctl query`, `quote` and `chain contract`: what chains are asked."""

import json
import sys
from collections.abc import Mapping
from typing import Any

import click

from scenarioctl.cli.commands import Command
from scenarioctl.cli.execution import (
    asked_for_data,
    perform,
    print_answer,
    read_text,
    tell,
)
from scenarioctl.cli.options import option
from scenarioctl.cli.output import draw_facts, draw_json, draw_table


@click.command(
    cls=Command,
    operation="queries.query_chain",
    arguments=("chain", "pallet_name", "method_name", "params"),
    example="scenarioctl query polkadot System Account "
    "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3\n"
    "  scenarioctl query assetHub Assets Metadata --limit 20\n"
    "  scenarioctl query polkadot Balances ExistentialDeposit\n"
    "  scenarioctl query polkadot Core version",
)
def query(**fields: Any) -> None:
    """Read a chain: a storage item, a constant, or what a runtime API answers.

    PALLET may be a runtime API; names are matched without case, _ and -. PARAMs are numbers,
    addresses, 0x hex, text, or JSON for what has parts. A map is listed where keys are left out.
    Text and numbers are printed as they are, all else as JSON with every integer as text.
    """
    result = perform(**fields)
    text = result.answer["result"]
    shown = _drawable(text) if sys.stdout.isatty() and not asked_for_data() else None
    if shown is not None:
        draw_json(shown)
    else:
        print_answer(result, plain="result")
    if "human" in result.answer and sys.stdout.isatty() and not asked_for_data():
        tell(result.answer["human"])


def _drawable(text: str) -> Any:
    """Return the list or object that *text* is; None for a text that is none, whatever it begins
    with."""
    try:
        return json.loads(text) if text[:1] in ("{", "[") else None
    except ValueError:
        return None


@click.command(
    cls=Command,
    operation="swap_quotes.quote_swap",
    example="scenarioctl quote --sell DOT --buy HDX --amount 2\n"
    "  scenarioctl quote --sell DOT --buy HDX --amount 2 --field min_amount_out",
)
def quote(**fields: Any) -> None:
    """Ask the exchange chain what a swap would buy now.

    Nothing is built or stored: `create swap` asks again. Amounts are in the smallest unit, the
    price in whole tokens.
    """
    result = perform(**fields)
    print_answer(result, draw=lambda: _draw_quote(result.answer))


def _draw_quote(answer: Mapping[str, Any]) -> None:
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


#: Contract metadata with the code blob in it stays below this.
ABI_LIMIT = 16 * 1024 * 1024


@click.command(
    cls=Command, operation="queries.contract_info", arguments=("address",), without=("abiJson",)
)
@option(
    "--abi",
    "abi",
    metavar="FILE",
    required=True,
    help="The contract's JSON metadata (or .contract bundle); - reads stdin.",
)
def contract(abi: str, **fields: Any) -> None:
    """List the messages of an ink! contract: name, selector, whether it changes the contract,
    arguments."""
    from scenarioctl.formats.documents import parse_json

    metadata = parse_json(read_text(abi, field="abi", limit=ABI_LIMIT), field="abi")
    result = perform(abiJson=metadata, **fields)

    def draw() -> None:
        answer = result.answer
        draw_table(
            ("selector", "mutates", "function"),
            (
                (
                    each["selector"],
                    "yes" if each["mutates"] else "no",
                    f"{each['function_name']}({', '.join(each['args'])})",
                )
                for each in answer["description"]
            ),
        )
        known = {True: "yes", False: "no", None: "not known"}[answer["onchain"]]
        click.echo(f"a contract lives at the address: {known}")

    print_answer(result, draw=draw)
