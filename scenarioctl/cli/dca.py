"""`scenarioctl dca`: orders that Hydration makes again and again by itself."""

from collections.abc import Mapping
from typing import Any

import click

from scenarioctl.cli.commands import Group
from scenarioctl.cli.execution import perform, print_table
from scenarioctl.cli.output import describe_amount, short_time
from scenarioctl.cli.reports import plain_command


@click.group(cls=Group)
def dca() -> None:
    """Build, list and stop orders that Hydration makes again and again by itself (DCA), each within
    your limits."""


@dca.command(
    "list",
    operation="dca.list_orders",
    arguments=("address",),
    example="scenarioctl dca list 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3",
)
def list_orders(**fields: Any) -> None:
    """List the DCA orders of an account: what each sells, what was sold, what is left, and when the
    next one is due.

    Dates are estimates. An order that has ended is not stored any more.
    """
    answer = perform(**fields).answer
    print_table(
        answer,
        ("order", "each", "limit", "every", "spent", "left", "next about"),
        (
            (
                row["id"],
                f"{row['kind']}s {describe_amount(row['amount'])}",
                (
                    f"{'at least' if row['kind'] == 'sell' else 'at most'} "
                    f"{describe_amount(row['limit'])}"
                ),
                f"{row['period']} blocks",
                _spent(row),
                _known(row["remaining"]),
                short_time(row["estimated"]) or "unknown",
            )
            for row in answer["orders"]
        ),
    )


def _known(amount: Mapping[str, Any] | None) -> str:
    return "unknown" if amount is None else describe_amount(amount)


def _spent(row: Mapping[str, Any]) -> str:
    if row["total"] is None:
        return "no total: until stopped"
    return f"{_known(row['spent'])} of {describe_amount(row['total'])}"


dca.add_command(
    plain_command(
        "create",
        "dca.create_order",
        prints="tx",
        example="scenarioctl dca create --sell DOT --buy HDX --amount 10 --total 300 --every 1d "
        "--min-received 4000 \\\n"
        "    --sender 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3",
    )
)
dca.add_command(
    plain_command(
        "stop",
        "dca.stop_order",
        prints="tx",
        arguments=("order",),
        example=(
            "scenarioctl dca stop 8123 --sender 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3"
        ),
    )
)
