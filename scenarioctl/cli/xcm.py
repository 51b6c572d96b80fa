"""`scenarioctl xcm` and `hrmp`."""

from typing import Any

import click

from scenarioctl.cli.commands import Group
from scenarioctl.cli.execution import perform, print_answer
from scenarioctl.cli.output import draw_table
from scenarioctl.cli.reports import plain_command


@click.group(cls=Group)
def xcm() -> None:
    """Build unsigned cross-chain transfers, and claim trapped assets."""


xcm.add_command(
    plain_command(
        "asset-transfer",
        "transfers.asset_transfer",
        prints="txdata",
        example="scenarioctl --offline xcm asset-transfer --from polkadot --to assetHub --asset "
        "DOT \\\n"
        "    --amount 15000000000 --to-address 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3",
    )
)


xcm.add_command(
    plain_command(
        "claim",
        "asset_traps.claim_assets",
        prints="tx",
        arguments=("chain",),
        example="scenarioctl xcm claim assetHub --trapped-in 9000000 \\\n"
        "    --sender 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3",
    )
)


@click.group(cls=Group)
def hrmp() -> None:
    """Show the HRMP channels between parachains."""


@hrmp.command(
    operation="chains.open_channels",
    arguments=("relay", "paraid"),
    example="scenarioctl hrmp openchannels polkadot 2034",
)
def openchannels(**fields: Any) -> None:
    """List the parachains with open channels to or from PARAID."""
    result = perform(**fields)

    def draw() -> None:
        answer = result.answer
        draw_table(
            (f"channels of {answer['sourcechain']}",),
            [(number,) for number in answer["open_hrmp_channels"]],
        )

    print_answer(result, draw=draw)
