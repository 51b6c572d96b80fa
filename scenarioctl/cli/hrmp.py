"""`scenarioctl hrmp`."""

from typing import Any

import click

from scenarioctl.cli.commands import Group
from scenarioctl.cli.execution import perform, print_answer
from scenarioctl.cli.options import argument, field_option, option
from scenarioctl.cli.output import draw_table


@click.group(cls=Group)
def hrmp() -> None:
    """Look at the channels between parachains."""


@hrmp.command(operation="channels.open_channels", example="scenarioctl hrmp openchannels polkadot 2034")
@argument("relay", metavar="RELAY")
@click.argument("paraid", metavar="PARAID")
@option(
    "--direction",
    metavar="WAY",
    choices=("ingress", "egress", "both"),
    default="both",
    help="ingress (who sends to PARAID), egress (whom it sends to), or both (default).",
)
@field_option
def openchannels(**fields: Any) -> None:
    """List the parachains that have channels open with PARAID."""
    result = perform("channels.open_channels", "OpenChannels", **fields)

    def draw() -> None:
        answer = result.answer
        draw_table(
            (f"channels of {answer['sourcechain']}",), [(number,) for number in answer["open_hrmp_channels"]]
        )

    print_answer(result, draw=draw)
