"""What is shown beside an answer: what a transaction does, its check, and progress."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from scenarioctl.cli.commands import Command
from scenarioctl.cli.execution import (
    asked_for_json,
    is_verbose,
    open_application,
    perform,
    print_answer,
    read_settings,
    tell,
)
from scenarioctl.cli.output import describe_amount, printable, say

_STYLES = {"ok": "bold green", "refused": "bold red", "unknown": "bold yellow"}
#: What each line of a check is called on a terminal.
_WORDS = {
    "leaves": "leaves the sender",
    "transaction fee": "transaction fee",
    "deposit": "deposit, reserved",
    "delivery": "fee to deliver the message",
    "execution": "fee to execute the message",
    "receiver deposit": "deposit that the receiver pays",
    "computed arrival": "arrives (computed)",
    "arrives": "arrives (dry run)",
}


def plain_command(
    name: str, operation: str, *, prints: str, is_id: bool = False, **attributes: Any
) -> Command:
    """Return a command that prints one value of its answer; stderr says what its transaction does,
    and draws its check.

    *prints* and *is_id* are those of `print_answer`. Its help is what the request says of itself.
    """

    def answer(**fields: Any) -> None:
        print_one(perform(**fields), prints, is_id=is_id)

    return Command(name, operation=operation, callback=answer, **attributes)


def print_one(result: Any, plain: str, *, is_id: bool = False) -> None:
    """Print the value at *plain* of an answer; stderr says what its transaction does, and draws its
    check."""
    if "says" in result.answer:
        show_meaning(result.answer)
    show_check(result)
    print_answer(result, plain=plain, is_id=is_id)


def show_meaning(answer: Mapping[str, Any], *, printed: bool = False) -> None:
    """Say on stderr what the transaction of *answer* does, unless that is *printed* whole, or JSON,
    and no person looks.

    With --verbose, all payments of a batch are listed.
    """
    if asked_for_json() or (printed and not sys.stderr.isatty()):
        return
    tell(f"What it does: {answer['says']}")
    if is_verbose():
        for each in answer.get("payments", ()):
            say(printable(f"  {each['amount']} to {each['account']}"))


def show_check(result: Any) -> None:
    """Draw the check of a transaction beside it: on stderr, and only where a person looks."""
    if sys.stderr.isatty() and not asked_for_json():
        answer = result.answer
        own = [answer["check"]] if answer.get("check") else []
        for check in (*answer.get("checks", ()), *own):
            if "step" in check:
                say(printable(f"{check['step']}: {check['summary']}"))
            # The warnings stand on stderr already.
            draw_check({**check, "warnings": []}, err=True)


def draw_check(check: Mapping[str, Any], *, err: bool = False) -> None:
    """Draw what leaves, what each hop takes and what arrives, and the verdict; for terminals
    only."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    steps = Table("chain", "what", box=None, header_style="bold", pad_edge=False)
    steps.add_column("amount", justify="right")
    steps.add_column("smallest unit", justify="right")
    for step in check["steps"]:
        bound = "at most " if step.get("at_most") else ""
        amount = f"{bound}{step['human'] or step['asset']}"
        cells = (step["chain"], _WORDS[step["what"]], amount, step["value"])
        steps.add_row(*(Text(printable(cell)) for cell in cells))
    # What a chain's own accounts get, for fees or backing, stays in the JSON.
    credits = Table("chain", box=None, header_style="bold", pad_edge=False)
    # An account that is cut short could be anybody's.
    credits.add_column("credited account", overflow="fold", min_width=48)
    credits.add_column("amount", justify="right")
    credits.add_column("who")
    for credit in check["credits"]:
        if not credit["system"]:
            cells = (
                credit["chain"],
                credit["account"],
                describe_amount(credit),
                credit["role"] or "",
            )
            credits.add_row(*(Text(printable(cell)) for cell in cells))
    console = Console(stderr=err, soft_wrap=False)
    for table in (steps, credits):
        if table.row_count:
            console.print(table)
            console.print()
    console.print(Text(check["verdict"], style=_STYLES[check["verdict"]]))
    for line in (*check["reasons"], *(f"Warning: {warning}" for warning in check["warnings"])):
        console.print(Text(printable(line)))


@contextmanager
def shown_progress() -> Iterator[None]:
    """Show what handlers tell while the block runs; those of a daemon tell nothing."""
    if read_settings().url:
        yield
        return
    app = open_application()
    before = app.tell
    try:
        if not sys.stderr.isatty():
            app.tell = lambda words: say(printable(words))
            yield
            return
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn
        from rich.text import Text

        with Progress(
            SpinnerColumn(), TimeElapsedColumn(), console=Console(stderr=True), transient=True
        ) as progress:
            progress.add_task("")
            # Above the clock, and left standing: the hash in it is wanted when the wait is broken
            # off.
            app.tell = lambda words: progress.console.print(Text(printable(words)), soft_wrap=True)
            yield
    finally:
        app.tell = before
