"""`scenarioctl create`: scenarios from options or from a flow file."""

import os
from typing import Any

import click

from scenarioctl.cli.commands import Group
from scenarioctl.cli.execution import perform, read_text
from scenarioctl.cli.options import argument, option
from scenarioctl.cli.reports import plain_command, print_one

#: A flow file is written by hand; one larger than this is something else.
FLOW_LIMIT = 1024 * 1024
#: Ten thousand lines with long memos are shorter.
PAYOUT_LIMIT = 4 * 1024 * 1024


#: With no default: the file's name tells it.
syntax_option = option(
    "--syntax",
    metavar="toml|json",
    choices=("toml", "json"),
    default="",
    help="Syntax of the flow, toml or json, if the file name doesn't tell.",
)


def syntax_of(path: str, given: str) -> str:
    """Return the syntax that is *given*, else that of the file's name."""
    return given or ("json" if path.lower().endswith(".json") else "toml")


def is_file(word: str) -> bool:
    """Return whether *word* names a flow file, or stdin, and no scenario."""
    return word == "-" or "." in word or os.sep in word


class CreateGroup(Group):
    """`create FILE` is `create flow FILE`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if is_file(args[0]):
            args = ["flow", *args]
        return super().resolve_command(ctx, args)


@click.group(cls=CreateGroup, subcommand_metavar="COMMAND|FILE [ARGS]...")
def create() -> None:
    """Create a scenario; its id is printed.

    With FILE, create one of several steps from a flow file: `scenarioctl help flow` describes it.
    """


@create.command(
    operation="creation.create_flow", without=("flow",), example="scenarioctl create flow rent.toml"
)
@argument("path", metavar="FILE|-")
@syntax_option
def flow(path: str, syntax: str, **fields: Any) -> None:
    """Create a scenario of several steps from a flow file (.toml or .json); - reads stdin."""
    text = read_text(path, field="file", limit=FLOW_LIMIT)
    print_one(perform(flow=text, syntax=syntax_of(path, syntax), **fields), "result", is_id=True)


@create.command(
    operation="payouts.create_payout",
    without=("lines",),
    example="scenarioctl create payout salaries.csv --chain assetHub --asset USDT --memos",
)
@argument("csv_file", metavar="FILE.csv|-")
def payout(csv_file: str, **fields: Any) -> None:
    """Create a payout: pay each line of a CSV file, in as few transactions as the chains take; -
    reads stdin.

    The columns are account and amount, and if you like asset, memo and chain; the first line names
    them. Nothing is created until all lines are right.
    """
    text = read_text(csv_file, field="file", limit=PAYOUT_LIMIT)
    print_one(perform(lines=text, **fields), "result", is_id=True)


create.add_command(
    plain_command(
        "transfer",
        "creation.create_scenario",
        prints="result",
        is_id=True,
        example="scenarioctl create transfer --from polkadot --to assetHub --amount 1.5 --asset "
        "DOT \\\n"
        "    --to-address 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3",
    )
)


@create.command(
    operation="creation.create_swap",
    example="scenarioctl --offline create swap --sell DOT --buy HDX --amount 2 --min-received 900",
)
def swap(**fields: Any) -> None:
    """Create a swap scenario on the exchange parachain, and draft it.

    The id is printed; `--json` gives the unsigned transaction too.

    A minimum more than 50 % below the quote has to be confirmed with --yes; offline, one below a
    millionth of the tokens sold.
    """
    print_one(perform(**fields), "swap.scenarioid", is_id=True)


create.add_command(
    plain_command(
        "remark",
        "creation.create_remark",
        prints="result",
        is_id=True,
        example="scenarioctl create remark --chain polkadot --text 'paid in full'",
    )
)
create.add_command(
    plain_command(
        "query",
        "creation.create_query",
        prints="result",
        is_id=True,
        arguments=("pallet_name", "method_name", "params"),
        example=(
            "scenarioctl create query --chain polkadot System Account "
            "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3"
        ),
    )
)
