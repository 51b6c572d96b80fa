"""`scenarioctl call` and `scenarioctl batch`."""

from typing import Any

import click

from scenarioctl.cli.check_report import check_option, show_check, show_meaning
from scenarioctl.cli.commands import Command
from scenarioctl.cli.execution import perform, print_answer
from scenarioctl.cli.input import TX_LIMIT, read_text
from scenarioctl.cli.options import argument, complete_call_pallets, complete_calls, option
from scenarioctl.cli.shared_options import transaction_options
from scenarioctl.errors import NotFound


@click.command(
    cls=Command,
    operation="calls.build_call",
    example="scenarioctl --offline call polkadot System remark hello\n"
    "  scenarioctl --offline call hydraDx omnipool sell 5 0 20000000000 900000000000000\n"
    "  scenarioctl --offline call polkadot Utility as_derivative 3 @call.hex",
)
@argument("chain", metavar="CHAIN")
@argument("pallet", metavar="PALLET", shell_complete=complete_call_pallets)
@argument("method", metavar="METHOD", shell_complete=complete_calls)
@click.argument("args", metavar="[ARG]...", nargs=-1)
@check_option
@transaction_options
def call(args: tuple[str, ...], **fields: Any) -> None:
    """Build the unsigned transaction of any call of a chain.

    ARGs are the call's arguments in their order: whole numbers (in the smallest unit), addresses, 0x hex, text, the name
    of a variant, null or '' for an option without a value, JSON for what has parts, and 0x hex for a call inside the call.
    @FILE stands for the text of a file, @- for stdin, @@ for text that begins with @. Put -- before negative numbers.
    Names are matched without case, _ and -.
    """
    result = perform(args=tuple(_read_argument(arg) for arg in args), **fields)
    show_meaning(result)
    show_check(result)
    print_answer(result, plain="tx")


@click.command(
    cls=Command,
    operation="calls.batch_calls",
    example="scenarioctl --offline batch polkadot 0x00001468656c6c6f 0x00000c627965\n"
    "  scenarioctl --offline batch assetHub @calls.txt --kind force-batch",
)
@argument("chain", metavar="CHAIN")
@click.argument("calls", metavar="[HEX|@FILE|-]...", nargs=-1)
@option(
    "--kind",
    metavar="KIND",
    choices=("batch-all", "batch", "force-batch"),
    default="batch-all",
    help="batch-all (default: all or nothing), batch (ends at the first call that fails) or force-batch (goes on after it).",
)
@check_option
@transaction_options
def batch(calls: tuple[str, ...], **fields: Any) -> None:
    """Join several calls in one unsigned transaction.

    HEX is call data or an unsigned extrinsic. @FILE is a file with one of them to a line, - is stdin.
    """
    found = [line for each in calls for line in _read_lines(each)]
    result = perform(calls=tuple(found), **fields)
    show_meaning(result)
    show_check(result)
    print_answer(result, plain="tx")


def _read_argument(text: str) -> str:
    if not text.startswith("@"):
        return text
    if text.startswith("@@"):
        return text[1:]
    try:
        return read_text(text[1:], field="argument", limit=TX_LIMIT).rstrip("\r\n")
    except NotFound as error:
        raise NotFound(f"{error}; write @@ for text that begins with @") from None


def _read_lines(text: str) -> list[str]:
    if text != "-" and not text.startswith("@"):
        return [text]
    lines = read_text(text.removeprefix("@"), field="calls", limit=TX_LIMIT).splitlines()
    return [line.strip() for line in lines if line.strip()]
