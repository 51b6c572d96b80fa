"""`scenarioctl hrmp`."""

from typing import Any

import click

from scenarioctl.cli.commands import Group
from scenarioctl.cli.execution import perform, print_answer
from scenarioctl.cli.options import argument, option
from scenarioctl.cli.output import draw_table


@click.group(cls=Group)
def hrmp() -> None:
    """Show the HRMP channels between parachains."""


@hrmp.command(operation="channels.open_channels", example="scenarioctl hrmp openchannels polkadot 2034")
@argument("relay", metavar="RELAY")
@click.argument("paraid", metavar="PARAID")
@option(
    "--direction",
    metavar="WAY",
    choices=("ingress", "egress", "both"),
    default="both",
    help="ingress (senders to PARAID), egress (its receivers), or both (default).",
)
def openchannels(**fields: Any) -> None:
    """List the parachains with open channels to or from PARAID."""
    result = perform(**fields)

    def draw() -> None:
        answer = result.answer
        draw_table(
            (f"channels of {answer['sourcechain']}",), [(number,) for number in answer["open_hrmp_channels"]]
        )

    print_answer(result, draw=draw)
