"""`scenarioctl xcm` and `hrmp`."""

from typing import Any

import click

from scenarioctl.cli.check_report import check_option, show_check, show_meaning
from scenarioctl.cli.commands import Group
from scenarioctl.cli.execution import perform, print_answer, print_table
from scenarioctl.cli.options import (
    RAW,
    accept_locked_option,
    accept_loss_option,
    argument,
    option,
    relayer_fee_option,
    remote_fee_asset_option,
    transaction_options,
    transfer_options,
    xcm_version_option,
    yes_option,
)
from scenarioctl.cli.output import draw_table


@click.group(cls=Group)
def xcm() -> None:
    """Build unsigned cross-chain transfers, and claim trapped assets."""


@xcm.command(
    operation="transfers.asset_transfer",
    example="scenarioctl --offline xcm asset-transfer --from polkadot --to assetHub --assetid DOT \\\n"
    "    --amount 15000000000 --destinationaddress 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3",
)
@transfer_options("sourchain", "destchain", "destinationaddress", amount=RAW)
@yes_option
@accept_locked_option
@accept_loss_option
@xcm_version_option
@relayer_fee_option
@remote_fee_asset_option
@check_option
@transaction_options
def asset_transfer(**fields: Any) -> None:
    """Print the unsigned transaction that sends an asset to another chain."""
    result = perform(**fields)
    show_check(result)
    print_answer(result, plain="txdata")


@xcm.command(
    operation="asset_traps.find_trapped_assets",
    example="scenarioctl xcm trapped assetHub --address 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3\n"
    "  scenarioctl xcm trapped assetHub --block 9000000 --blocks 200",
)
@argument("chain", metavar="CHAIN")
@option(
    "--address",
    metavar="ADDRESS",
    default="",
    help="Only what this account can claim: SS58 with any prefix, or 0x hex.",
)
@option("--block", metavar="BLOCK", default="", help="Last block to search, a hash or a number.")
@option(
    "--blocks",
    metavar="N",
    default="",
    help="Search so many blocks, up to 1000. Default: only --block; without it the newest 64.",
)
def trapped(**fields: Any) -> None:
    """List the assets that were trapped on a chain, and who can claim them.

    They are found in the events of its blocks. The state of the chain tells whether they are still in the trap, and a
    dry run whether their account can claim them.
    """
    answer = perform(**fields).answer
    rows = (
        (trap["block_number"], trap["count"], trap["assets"], trap["hash"], trap["summary"])
        for trap in answer["traps"]
    )
    print_table(answer, ("block", "count", "assets", "hash", "claim"), rows)


@xcm.command(
    operation="asset_traps.claim_assets",
    example="scenarioctl xcm claim assetHub --trapped-in 9000000 --check \\\n"
    "    --sender 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3",
)
@argument("chain", metavar="CHAIN")
@option(
    "--trapped-in",
    metavar="BLOCK",
    required=True,
    help="Block in which the assets were trapped, a hash or a number.",
)
@option(
    "--hash",
    metavar="0xHASH",
    default="",
    help="Hash of the assets, if several of the sender were trapped in that block.",
)
@option(
    "--beneficiary",
    metavar="ADDRESS",
    default="",
    help="Who receives them. Default: the account that claims.",
)
@yes_option
@check_option
@transaction_options
def claim(**fields: Any) -> None:
    """Build the unsigned transaction that claims trapped assets.

    The account from which they were trapped has to sign it. All that was trapped together is claimed together.
    """
    result = perform(**fields)
    show_meaning(result)
    show_check(result)
    print_answer(result, plain="tx")


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
