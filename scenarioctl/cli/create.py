"""`scenarioctl create`, scenarios from options or from a flow file, and `template`."""

from typing import Any

import click

from scenarioctl.cli.commands import Group
from scenarioctl.cli.execution import perform, print_answer, read_text
from scenarioctl.cli.options import option
from scenarioctl.cli.reports import plain_command, show_check
from scenarioctl.errors import InvalidRequest

#: A flow file is written by hand; one larger than this is something else.
FLOW_LIMIT = 1024 * 1024


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


class CreateGroup(Group):
    """`create` is a group, and with `--file` a command."""

    def invoke_alone(self, ctx: click.Context) -> None:
        """Do nothing: the command itself has answered."""


@click.group(cls=CreateGroup, operation="creation.create_flow", subcommand_metavar="[COMMAND] [ARGS]...")
@option(
    "--file",
    "-f",
    "flow",
    metavar="FILE",
    help="A flow file of several steps (.toml or .json); - reads stdin.",
)
@syntax_option
@click.pass_context
def create(context: click.Context, flow: str | None, syntax: str, check: bool, sender: str) -> None:
    """Create a scenario; its id is printed.

    With --file, create one of several steps: docs/flow.md describes the file.
    """
    if context.invoked_subcommand is not None:
        if check or sender:
            raise InvalidRequest(
                f"{'check' if check else 'sender'} is given before {context.invoked_subcommand}, expected after it"
            )
        if flow is not None:
            raise InvalidRequest(
                field="--file",
                problem=f"cannot be combined with {context.invoked_subcommand}: omit one of them",
            )
        return
    if flow is None and not (syntax or check or sender):
        Group.invoke_alone(create, context)
        return
    if flow is None:
        raise click.UsageError(
            f"there is nothing to create, expected --file or one of: {', '.join(create.list_commands(context))}",
            context,
        )
    syntax = syntax_of(flow, syntax)
    text = read_text(flow, field="file", limit=FLOW_LIMIT)
    result = perform(flow=text, syntax=syntax, check=check, sender=sender)
    show_check(result)
    print_answer(result, plain="result", is_id=True)


create.add_command(
    plain_command(
        "scenario",
        "creation.create_scenario",
        prints="result",
        is_id=True,
        example="scenarioctl create scenario --from polkadot --to assetHub --amount 1.5 --asset DOT \\\n"
        "    --destination-address 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3",
    )
)


@create.command(
    operation="creation.create_swap",
    example="scenarioctl --offline create swap --assetin DOT --assetout HDX --amount 2 --min-received 900",
)
def swap(**fields: Any) -> None:
    """Create a swap scenario on the exchange parachain, and draft it.

    The id is printed; `--json` gives the unsigned transaction too.

    A minimum more than 50 % below the quote has to be confirmed with --yes; offline, one below a millionth of the tokens sold.
    """
    if not fields["yes"] and fields["min_received"] is None and fields["min_amount_out"] is None:
        # There is nothing to confirm, and an older daemon doesn't know the field.
        fields["yes"] = None
    result = perform(**fields)
    show_check(result)
    print_answer(result, plain="swap.scenarioid", is_id=True)


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
        example="scenarioctl create query --chain polkadot System Account 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3",
    )
)


@click.group(cls=Group)
def template() -> None:
    """Count stored scenarios."""


template.add_command(
    plain_command(
        "stats",
        "scenarios.count_templates",
        prints="Amount",
        arguments=("chain",),
        example="scenarioctl template stats hydraDx",
    )
)
