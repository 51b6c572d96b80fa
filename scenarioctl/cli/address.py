"""`scenarioctl address`."""

from collections.abc import Mapping
from typing import Any

import click

from scenarioctl.cli.commands import Command
from scenarioctl.cli.execution import perform, print_answer
from scenarioctl.cli.output import draw_facts, draw_table


@click.command(
    cls=Command,
    operation="addresses.show_address",
    example="scenarioctl address 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3",
)
@click.argument("address", metavar="ADDRESS")
def address(address: str) -> None:
    """Show what an address tells: its public key, its kind, and how each known chain writes it.

    ADDRESS is an SS58 address of any network, or 0x hex of 32 or 20 bytes. No chain is asked. The bytes tell the accounts of pallets,
    parachains and Ethereum addresses; a multisig or a proxy looks like any other account.
    """
    result = perform(address=address)
    print_answer(result, draw=lambda: _draw(result.answer))


def _draw(answer: Mapping[str, Any]) -> None:
    draw_facts(
        {
            "account": answer["account"],
            "kind": answer["description"],
            "possible keys": "none: nobody can sign for it"
            if answer["keyless"]
            else ", ".join(answer["possible_keys"]),
        }
    )
    click.echo()
    draw_table(
        ("address", "prefix", "chains"),
        (
            (row["address"], row["prefix"], ", ".join(row["chains"]) or "any (generic)")
            for row in answer["addresses"]
        ),
    )
