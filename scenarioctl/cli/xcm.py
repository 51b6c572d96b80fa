"""`scenarioctl xcm`."""

from typing import Any

import click

from scenarioctl.cli.check_report import check_option, show_check
from scenarioctl.cli.commands import Group
from scenarioctl.cli.execution import perform, print_answer
from scenarioctl.cli.shared_options import (
    RAW,
    transaction_options,
    transfer_options,
    xcm_version_option,
    yes_option,
)


@click.group(cls=Group)
def xcm() -> None:
    """Build unsigned cross-chain transfers."""


@xcm.command(
    operation="transfers.asset_transfer",
    example="scenarioctl --offline xcm asset-transfer --from polkadot --to assetHub --assetid DOT \\\n"
    "    --amount 15000000000 --destinationaddress 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3",
)
@transfer_options("sourchain", "destchain", "destinationaddress", amount=RAW)
@yes_option
@xcm_version_option
@check_option
@transaction_options
def asset_transfer(**fields: Any) -> None:
    """Print the unsigned transaction that sends an asset to another chain."""
    result = perform(**fields)
    show_check(result)
    print_answer(result, plain="txdata")
