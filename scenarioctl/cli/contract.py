"""`scenarioctl contract`."""

from typing import Any

import click

from scenarioctl.cli.commands import Group
from scenarioctl.cli.execution import perform, print_answer, read_text
from scenarioctl.cli.options import option
from scenarioctl.cli.output import draw_table

#: Contract metadata with the code blob in it stays below this.
ABI_LIMIT = 16 * 1024 * 1024


@click.group(cls=Group)
def contract() -> None:
    """Describe ink! smart contracts."""


@contract.command(operation="contracts.contract_info", arguments=("address",), without=("abiJson",))
@option(
    "--abi",
    "abi",
    metavar="FILE",
    required=True,
    help="The contract's JSON metadata (or .contract bundle); - reads stdin.",
)
def info(abi: str, **fields: Any) -> None:
    """List what a deployed contract can be called for: name, selector, whether it mutates, arguments."""
    from scenarioctl.formats.documents import parse_json

    metadata = parse_json(read_text(abi, field="abi", limit=ABI_LIMIT), field="abi")
    result = perform(abiJson=metadata, **fields)

    def draw() -> None:
        answer = result.answer
        draw_table(
            ("selector", "mutates", "function"),
            (
                (
                    each["selector"],
                    "yes" if each["mutates"] else "no",
                    f"{each['function_name']}({', '.join(each['args'])})",
                )
                for each in answer["description"]
            ),
        )
        known = {True: "yes", False: "no", None: "not known"}[answer["onchain"]]
        click.echo(f"a contract lives at the address: {known}")

    print_answer(result, draw=draw)
