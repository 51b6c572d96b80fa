"""`scenarioctl xcm`."""

from typing import Any

import click

from scenarioctl.cli.base import Group, option, perform, print_answer
from scenarioctl.cli.checking import check_option, show_check
from scenarioctl.cli.signing import transaction_options


@click.group(cls=Group)
def xcm() -> None:
    """Build unsigned cross-chain transfers."""


@xcm.command(
    operation="transfers.asset_transfer",
    example="scenarioctl --offline xcm asset-transfer --from polkadot --to assetHub --assetid DOT \\\n"
    "    --amount 15000000000 --destinationaddress 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3",
)
@option(
    "--sourchain",
    "--source-chain",
    "--from",
    "sourchain",
    metavar="CHAIN",
    required=True,
    help="Chain it leaves.",
)
@option(
    "--destchain",
    "--deschain",
    "--dest-chain",
    "--to",
    "destchain",
    metavar="CHAIN",
    required=True,
    help="Chain it reaches.",
)
@option(
    "--assetid",
    "--asset",
    "assetid",
    metavar="ASSET",
    required=True,
    help="Id or symbol on the source chain.",
)
@option("--amount", metavar="RAW", required=True, help="Amount in the smallest unit: 10000000000 is 1 DOT.")
@option(
    "--destinationaddress",
    "--destination-address",
    "destinationaddress",
    metavar="ADDRESS",
    required=True,
    help="Receiver: SS58 of any prefix, or 0x public key.",
)
@check_option
@transaction_options
def asset_transfer(**fields: Any) -> None:
    """Print the unsigned transaction that sends an asset to another chain."""
    result = perform("transfers.asset_transfer", "AssetTransfer", **fields)
    show_check(result)
    print_answer(result, plain=result.txdata)
