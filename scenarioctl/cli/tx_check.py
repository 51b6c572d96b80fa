"""`scenarioctl tx check`."""

from typing import Any

import click

from scenarioctl.cli.check_report import draw_check
from scenarioctl.cli.commands import Command
from scenarioctl.cli.execution import perform, print_answer
from scenarioctl.cli.input import read_tx
from scenarioctl.cli.options import field_option, option
from scenarioctl.cli.shared_options import RAW, transfer_options, xcm_version_option, yes_option


@click.command(
    "check",
    cls=Command,
    operation="transaction_checks.check_transaction",
    example="scenarioctl tx check --from polkadot --to assetHub --assetid DOT --amount 15000000000 \\\n"
    "    --destinationaddress 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3 \\\n"
    "    --sender 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5",
)
@click.argument("tx", metavar="[HEX|-]", default="")
@option("--chain", metavar="CHAIN", default="", help="Chain of HEX.")
@option("--sender", metavar="ADDRESS", required=True, help="Account that will sign: SS58 or 0x public key.")
@transfer_options("sourchain", "destchain", "destinationaddress", amount=RAW, needed=False)
@yes_option
@xcm_version_option
@field_option
def check(tx: str, **fields: Any) -> None:
    """Simulate a transaction on every chain it touches, before it is signed.

    Pass HEX (an unsigned extrinsic or call data) with --chain, or a transfer. The exit code is 6 if the verdict is
    refused, and 5 if it is unknown.
    """
    from scenarioctl.operations.outcomes import OUTCOMES

    result = perform(tx=read_tx(tx), **fields)
    print_answer(result, draw=lambda: draw_check(result.answer))
    verdict = result.answer["verdict"]
    if verdict != "ok":
        code = "chain_refused" if verdict == "refused" else "chain_unreachable"
        click.get_current_context().exit(OUTCOMES[code].exit)
