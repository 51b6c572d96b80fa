"""`scenarioctl balance`."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

import click

from scenarioctl.cli.commands import Command
from scenarioctl.cli.execution import perform, print_table
from scenarioctl.cli.options import argument
from scenarioctl.cli.output import say
from scenarioctl.errors import ChainUnreachable
from scenarioctl.model.amounts import to_whole
from scenarioctl.operations.outcomes import OUTCOMES

_FIGURES = ("free", "reserved", "frozen", "transferable")


@click.command(
    cls=Command,
    operation="balances.read_balances",
    example="scenarioctl balance 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3\n"
    "  scenarioctl balance 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3 assetHub hydraDx --json",
)
@click.argument("address", metavar="ADDRESS")
@argument("chains", metavar="[CHAIN]...", nargs=-1)
@click.option("--zero", is_flag=True, help="Also list the assets of which the account holds nothing.")
def balance(**fields: Any) -> None:
    """Read what an account holds of every known asset: free, reserved, frozen and transferable.

    Without CHAIN, all known chains but the built-in test networks are asked. `transferable` is what the runtime lets the account send, if it
    may be closed by that. What could not be read is `unknown`; if a whole chain could not, the exit code is 5.
    """
    answer = perform(**fields).answer
    print_table(answer, ("chain", "asset", *_FIGURES, "note"), _lines(answer))
    lost = [row["chain"] for row in answer["chains"] if row["error"]]
    if lost:
        say(f"Could not be read: {', '.join(lost)}")
        click.get_current_context().exit(OUTCOMES[ChainUnreachable.code].exit)


def _lines(answer: Mapping[str, Any]) -> Iterable[tuple[object, ...]]:
    for chain in answer["chains"]:
        if chain["error"]:
            yield chain["chain"], None, *["unknown"] * len(_FIGURES), chain["error"]
            continue
        rows = [row for row in answer["balances"] if row["chain"] == chain["chain"]]
        yield from (_line(row) for row in rows if row["free"] is not None)
        yield from _unknown([row for row in rows if row["free"] is None])


def _line(row: Mapping[str, Any]) -> tuple[object, ...]:
    figures = (_figure(row[name], row["decimals"]) for name in _FIGURES)
    return row["chain"], row["name"], *figures, row["reason"]


def _figure(amount: Mapping[str, Any] | None, decimals: int | None) -> str:
    if amount is None:
        return "unknown"
    return f"{amount['value']} raw" if decimals is None else to_whole(int(amount["value"]), decimals)


def _unknown(rows: list[Mapping[str, Any]]) -> Iterable[tuple[object, ...]]:
    """Yield one line for the assets that are unknown for one reason."""
    for reason, some in groupby(rows, lambda row: row["reason"]):
        names = [row["name"] for row in some]
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if names[3:] else "")
        yield rows[0]["chain"], shown, *["unknown"] * len(_FIGURES), reason
