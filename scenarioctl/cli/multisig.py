"""`scenarioctl multisig`: the operations that multisigs have open."""

from typing import Any

import click

from scenarioctl.cli.commands import Group
from scenarioctl.cli.execution import perform, print_table
from scenarioctl.cli.output import printable, say
from scenarioctl.cli.reports import plain_command
from scenarioctl.errors import ChainUnreachable
from scenarioctl.operations.results import OUTCOMES

_HASH = "0x4a9b4ff12cbb43676b59933bd60af84b93fbd5e01c9be1c2c5392a4b8b39abdd"


@click.group(cls=Group)
def multisig() -> None:
    """List the operations that a multisig has open; approve, run and cancel them.

    NAME is a multisig of the address book (`address add council --multisig 2 Alice,Bob,Charlie`),
    or an account for which one acts. To open an operation, make any transaction with `--as NAME`.
    """


@multisig.command(
    "list",
    operation="multisigs.list_operations",
    arguments=("acting", "chains"),
    example="scenarioctl multisig list council assetHub",
)
def list_operations(**fields: Any) -> None:
    answer = perform(**fields).answer
    print_table(
        answer,
        ("chain", "hash", "approved", "missing", "deposit", "blocks ago", "what it does"),
        (
            (
                row["chain"],
                row["call_hash"],
                f"{len(row['approved'])} of {row['threshold']}",
                ", ".join(row["missing"]),
                row["deposit"]["human"] or row["deposit"]["value"],
                row["age"],
                printable(row["says"] or f"unknown: {row['unknown']}"),
            )
            for row in answer["operations"]
        ),
    )
    for each in answer["unread"]:
        say(f"Could not be read: {each['chain']}: {printable(each['error'])}")
    if answer["unread"]:
        click.get_current_context().exit(OUTCOMES[ChainUnreachable.code].exit)


for _name, _operation in (
    ("approve", "approve_operation"),
    ("execute", "execute_operation"),
    ("cancel", "cancel_operation"),
):
    multisig.add_command(
        plain_command(
            _name,
            f"multisigs.{_operation}",
            prints="tx",
            arguments=("acting", "call_hash"),
            example=f"scenarioctl multisig {_name} council {_HASH} --chain assetHub \\\n"
            "    --sender 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5",
        )
    )
