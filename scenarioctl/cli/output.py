"""What is printed: answers on stdout, everything else on stderr, and nothing that a terminal would
obey."""

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import Any, TextIO

import click

from scenarioctl.errors import InvalidRequest, shorten, suggest


def find_values(answer: Mapping[str, Any], path: str) -> list[Any]:
    """Return the value at *path*, like `result.0.date`; `*` stands for each value of a list or
    object.

    The first name may also be one in the object that the answer wraps. A text on the way may be
    JSON.
    """
    first = path.partition(".")[0]
    inner = next((value for value in answer.values() if isinstance(value, Mapping)), {})
    level = answer if first in answer or first == "*" else {**answer, **inner}
    return _find(level, path.split("."), path)


def _find(value: Any, names: Sequence[str], path: str) -> list[Any]:
    if not names:
        return [value]
    name, rest = names[0], names[1:]
    if isinstance(value, str) and value[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    if isinstance(value, Mapping):
        if name == "*":
            return [found for each in value.values() for found in _find(each, rest, path)]
        if name in value:
            return _find(value[name], rest, path)
        expected = suggest(name, list(value)) if value else "it is empty"
    elif isinstance(value, Sequence) and not isinstance(value, str):
        if name == "*":
            return [found for each in value for found in _find(each, rest, path)]
        if name.removeprefix("-").isdecimal() and -len(value) <= int(name[:10]) < len(value):
            return _find(value[int(name)], rest, path)
        expected = (
            f"expected * or 0{f' to {len(value) - 1}' if value[1:] else ''}"
            if value
            else "the list is empty"
        )
    else:
        expected = f"{shorten(name)} is looked for in a single value: {shorten(value)}"
    raise InvalidRequest(field="field", value=path, problem=f"is not in the answer, {expected}")


def dump_json(value: Any, indent: int | None = None) -> str:
    """Return *value* as JSON in which every letter is readable, and none is a command to a
    terminal."""
    text = json.dumps(value, ensure_ascii=not _takes_utf8(sys.stdout), indent=indent)
    if text.isascii():
        return text
    return "".join(
        letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1]
        for letter in text
    )


def printable(value: object) -> str:
    """Return *value* as one line without control characters, which a terminal would obey."""
    text = str(value)
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text
    )


def short_time(moment: str | None) -> str | None:
    """Return a moment of an answer without fractions of a second: on a terminal in local time, else
    in UTC."""
    if not moment or not sys.stdout.isatty():
        return moment and f"{moment[:19]}Z"
    from datetime import datetime

    return f"{datetime.fromisoformat(f'{moment[:19]}+00:00').astimezone():%Y-%m-%d %H:%M:%S}"


def brief_time(moment: str | None) -> str | None:
    """Return a moment as `short_time` does, but on a terminal only what is needed near today."""
    local = short_time(moment)
    if not local or not sys.stdout.isatty():
        return local
    from datetime import datetime

    time = datetime.fromisoformat(local)
    today = datetime.now().astimezone()
    if time.date() == today.date():
        return f"{time:%H:%M:%S}"
    return f"{time:%b %d %H:%M}" if time.year == today.year else f"{time:%Y-%m-%d}"


def read_local(since: str) -> str:
    """Return a moment without a zone as one of this machine's zone, which a daemon may not be in;
    else *since* as it is."""
    if "-" not in since:
        return since
    from datetime import datetime

    try:
        moment = datetime.fromisoformat(since.strip())
        return since if moment.tzinfo is not None else moment.astimezone().isoformat()
    except (ValueError, OverflowError):
        # The operation says what it expects.
        return since


def brief_duration(seconds: float) -> str:
    """Return a duration in its one or two largest units: `0.4s`, `12s`, `3m 20s`, `2h 5m`."""
    if seconds < 10:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    for size, unit, smaller, smaller_unit in ((3600, "h", 60, "m"), (60, "m", 1, "s")):
        if whole >= size:
            return f"{whole // size}{unit} {whole % size // smaller}{smaller_unit}"
    return f"{whole}s"


def _takes_utf8(stream: Any) -> bool:
    return (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"


def prepare_output() -> None:
    """Let a terminal or a pipe that cannot spell a letter show its escape: it is no reason to
    fail."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # Closed by whoever started the program (`>&-`): nobody is there to read it.
            # It stays open as long as the program.
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def say(text: str) -> None:
    """Write a line to stderr, where there is one."""
    try:
        click.echo(text, err=True)
    except OSError:
        discard_output(2)


def discard_output(descriptor: int) -> None:
    """Keep Python from writing, at its end, what is still in the buffer of a broken stdout or
    stderr."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def draw_facts(facts: Mapping[str, object], stream: TextIO | None = None) -> None:
    """Print names and values in two columns.  A value is never broken into lines, so that it can be
    copied whole."""
    click.echo(_spell_facts(facts, stream), file=stream, nl=False)


def _spell_facts(facts: Mapping[str, object], stream: TextIO | None) -> str:
    width = max(map(len, facts), default=0)
    text = ""
    for name, value in facts.items():
        shown = ("yes" if value else "no") if isinstance(value, bool) else printable(value)
        text += f"{bold(name, stream)}{' ' * (width - len(name))}{_GAP}{shown}\n"
    return text


def bold(text: str, stream: TextIO | None = None) -> str:
    """Return *text* as bold on a terminal that wants colors (https://no-color.org)."""
    wants = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return click.style(text, bold=True) if wants and is_terminal(stream) else text


def is_terminal(stream: TextIO | None = None) -> bool:
    """Return whether a person reads what is drawn on *stream*, stdout if it isn't named."""
    return (stream or sys.stdout).isatty()


def draw_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], stream: TextIO | None = None
) -> None:
    """Draw a table on a terminal; tab-separated lines without a header everywhere else.  None is
    shown as `-`.

    On a terminal, hex is shortened in its middle. A table that is too wide for the screen is shown
    row by row.
    """
    lines = ([printable("-" if cell is None else cell) for cell in row] for row in rows)
    if not is_terminal(stream):
        for line in lines:
            click.echo("\t".join(line), file=stream)
        return
    from shutil import get_terminal_size

    room = get_terminal_size().columns
    click.echo(_lay_out(columns, list(lines), room, stream), file=stream, nl=False, color=True)


#: Between two columns.
_GAP = "  "
#: What a line of a cell may end with: words, and steps of a location.
_WORDS = re.compile(r"[^ /]+[ /]*|[ /]+")


def _lay_out(
    columns: Sequence[str], lines: Sequence[Sequence[str]], room: int, stream: TextIO | None
) -> str:
    """Return a table as wide as *room*; where that would break words, the names and values of each
    row instead."""
    from rich.cells import cell_len

    rows = [tuple(columns), *(tuple(map(_shown_hex, line)) for line in lines)]
    by_column = list(zip(*rows, strict=True))
    widths = [max(map(cell_len, cells)) for cells in by_column]
    least = [
        max(cell_len(word.rstrip()) for cell in cells for word in _WORDS.findall(cell) or ("",))
        for cells in by_column
    ]
    room -= len(_GAP) * (len(columns) - 1)
    if sum(least) > room:
        records = (
            [(name, cell) for name, cell in zip(columns, line, strict=True) if cell != "-"]
            for line in lines
        )
        return "\n".join(_spell_facts(dict(record), stream) for record in records)
    while sum(widths) > room:
        # Of those that can be narrower, the widest.
        _, widest = max((width, at) for at, width in enumerate(widths) if width > least[at])
        widths[widest] -= 1
    text = ""
    for row in rows:
        cells = [_wrap(cell, width) for cell, width in zip(row, widths, strict=True)]
        for pieces in zip_longest(*cells, fillvalue=""):
            padded = [
                piece + " " * (width - cell_len(piece))
                for piece, width in zip(pieces, widths, strict=True)
            ]
            line = _GAP.join(bold(each, stream) if row is rows[0] else each for each in padded)
            text += line.rstrip() + "\n"
    return text


def _wrap(cell: str, width: int) -> list[str]:
    """Return the lines of a cell whose longest word has that *width* or less."""
    from rich.cells import cell_len

    lines = [""]
    for word in _WORDS.findall(cell):
        if lines[-1] and cell_len((lines[-1] + word).rstrip()) > width:
            lines.append("")
        lines[-1] += word
    return [line.rstrip() for line in lines]


def list_some(names: Sequence[str], most: int) -> str:
    """Return the first *most* of *names*, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


#: As many characters of a longer text are shown at each end where it is shortened.
_ENDS = 10


def abbreviate(text: str) -> str:
    """Return *text* as a reader can tell it from others: of a long one, its beginning and its
    end."""
    return text if len(text) <= 2 + 2 * _ENDS + 1 else f"{text[: 2 + _ENDS]}…{text[-_ENDS:]}"


def _shown_hex(cell: str) -> str:
    return re.sub("0x[0-9a-fA-F]+", lambda found: abbreviate(found[0]), cell)


def draw_json(value: Any) -> None:
    """Print nested data."""
    text = dump_json(value, indent=2)
    if bold(text) == text:
        click.echo(text)
        return
    from rich.console import Console
    from rich.highlighter import JSONHighlighter

    # Not Console.print_json: it would undo what dump_json escapes.
    Console().print(JSONHighlighter()(text), soft_wrap=True)
