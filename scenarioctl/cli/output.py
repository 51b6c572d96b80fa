"""What is printed: answers on stdout, everything else on stderr, and nothing that a terminal would obey."""

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from scenarioctl.errors import InvalidRequest, shorten


def find_field(answer: Mapping[str, Any], name: str) -> Any:
    """Return the value of *name* in an answer, or in the object that the answer wraps."""
    inner = next((value for value in answer.values() if isinstance(value, Mapping)), {})
    for level in (answer, inner):
        if name in level:
            return level[name]
    known = ", ".join([*answer, *inner])
    raise InvalidRequest(f"field {shorten(name)} is not in the answer, expected one of: {known}")


def dump_json(value: Any, indent: int | None = None) -> str:
    """Return *value* as JSON in which every letter is readable, and none is a command to a terminal."""
    text = json.dumps(value, ensure_ascii=not _takes_utf8(sys.stdout), indent=indent)
    if text.isascii():
        return text
    return "".join(
        letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1] for letter in text
    )


def printable(value: object) -> str:
    """Return *value* as one line without control characters, which a terminal would obey."""
    text = str(value)
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def short_time(moment: str | None) -> str | None:
    """Return a moment of an answer without fractions of a second."""
    return moment and f"{moment[:19]}Z"


def describe_amount(amount: Mapping[str, Any]) -> str:
    """Return an AmountAnswer in words: in whole tokens if the asset's decimals are known."""
    return amount["human"] or f"{amount['value']} of the smallest unit of {amount['asset']}"


def _takes_utf8(stream: Any) -> bool:
    return (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"


def prepare_output() -> None:
    """Let a terminal or a pipe that cannot spell a letter show its escape: it is no reason to fail."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # Closed by whoever started the program (`>&-`): nobody is there to read it.
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - open as long as the program
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def say(text: str) -> None:
    """Write a line to stderr, where there is one."""
    try:
        click.echo(text, err=True)
    except OSError:
        discard_output(2)


def discard_output(descriptor: int) -> None:
    """Keep Python from writing, at its end, what is still in the buffer of a broken stdout or stderr."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def draw_facts(facts: Mapping[str, object]) -> None:
    """Draw names and values in two columns; for terminals only."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column()
    # Whole, on as many lines as it takes: of a hash, nothing may be left out.
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(Text(name, style="bold"), Text(printable(value)))
    Console(soft_wrap=False).print(table)


def draw_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Draw a table on a terminal; tab-separated lines without a header everywhere else.  None is shown as `-`."""
    lines = ([printable("-" if cell is None else cell) for cell in row] for row in rows)
    if not sys.stdout.isatty():
        for line in lines:
            click.echo("\t".join(line))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for line in lines:
        # Text, not str: what people put in a diagram is not markup.
        table.add_row(*map(Text, line))
    Console().print(table)


def draw_json(value: Any) -> None:
    """Draw nested data on a terminal."""
    from rich.console import Console
    from rich.highlighter import JSONHighlighter

    # Not Console.print_json: it would undo what dump_json escapes.
    Console().print(JSONHighlighter()(dump_json(value, indent=2)), soft_wrap=True)
