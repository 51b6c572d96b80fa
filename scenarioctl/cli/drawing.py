"""Answers on a terminal and on a pipe, drawn as their types say (`model/json_types.py: Column`),
and what is shown beside them."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import (
    Annotated,
    Any,
    NamedTuple,
    NotRequired,
    Required,
    TextIO,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import click
from click.core import ParameterSource

from scenarioctl.cli.commands import Command
from scenarioctl.cli.execution import (
    asked_for_data,
    asked_for_json,
    emit,
    is_verbose,
    open_application,
    perform,
    print_answer,
    read_settings,
    tell,
)
from scenarioctl.cli.options import spell_fields
from scenarioctl.cli.output import (
    bold,
    brief_duration,
    brief_time,
    draw_facts,
    draw_table,
    dump_json,
    is_terminal,
    printable,
    say,
    short_time,
)
from scenarioctl.errors import ChainUnreachable
from scenarioctl.model.json_types import CheckAnswer, Column
from scenarioctl.operations import answer_type

#: Rows of a page that is read for a pipe.
_PAGE = 1000


class Shown(NamedTuple):
    """A field that is shown."""

    label: str
    #: Of its value, or of those in the list that it is.
    kind: Any
    column: Column
    is_list: bool


@cache
def columns_of(kind: Any) -> Mapping[str, Shown]:
    """Return the fields of an answer that are shown: its id first, and what may be
    missing last."""
    found: dict[str, Shown] = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        inner, column = hint, None
        while get_origin(inner) in (Annotated, NotRequired, Required):
            if get_origin(inner) is Annotated:
                column = next((one for one in inner.__metadata__ if isinstance(one, Column)), None)
            inner = get_args(inner)[0]
        if column is not None:
            parts = [each for each in get_args(inner) or (inner,) if each is not type(None)]
            many = next((each for each in (inner, *parts) if get_origin(each) is list), None)
            single = get_args(many)[0] if many else parts[0]
            label = column.label or name.replace("_", " ")
            found[name] = Shown(label, single, column, many is not None)
    late = kind.__optional_keys__
    return dict(sorted(found.items(), key=lambda item: (item[0] != "id", item[0] in late)))


def list_in(kind: Any) -> tuple[str, Shown] | None:
    """Return the one list that an answer is, with its name; None if it is something else."""
    shown = [*columns_of(kind).items()] if is_typeddict(kind) else []
    return shown[0] if len(shown) == 1 and shown[0][1].is_list else None


def labels_of(kind: Any) -> list[str]:
    """Return the names of the columns of a list."""
    rows = list_in(kind)
    if rows is None or not is_typeddict(rows[1].kind):
        return [rows[1].label] if rows else []
    return [each.label for each in columns_of(rows[1].kind).values() if not each.column.detail]


def _cell(value: Any, shown: Shown, tell_time: Callable[[str], str | None] = brief_time) -> Any:
    """Return a value in one line; None for nothing."""
    if value in (None, "") or value == []:
        return "unknown" if shown.column.form == "unknown" else None
    if shown.column.form == "count":
        return len(value)
    if isinstance(value, list):
        return ", ".join(str(_cell(each, shown, tell_time)) for each in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if shown.column.form == "seconds":
        return brief_duration(max(0.0, value))
    if getattr(shown.kind, "__name__", "") == "Timestamp":
        return tell_time(value)
    if is_typeddict(shown.kind):
        if "human" in value:
            amount = value["human"] or f"{value['value']}raw"
            return f"{amount} for {value['account']}" if "account" in value else amount
        cells = (_cell(value.get(name), each) for name, each in columns_of(shown.kind).items())
        return " ".join(str(cell) for cell in cells if cell is not None)
    return dump_json(value) if isinstance(value, Mapping) else value


def _value(row: Mapping[str, Any], name: str) -> Any:
    """Return a value of a row: of an amount in words the raw one, if its decimals are unknown."""
    return row.get(name) or (f"{row['value']}raw" if name == "human" else row.get(name))


def draw_rows(shown: Shown, rows: Sequence[Any], stream: TextIO | None = None) -> None:
    """Draw a list; on a terminal without the columns in which no row has a value."""
    columns = {"": shown}
    if is_typeddict(shown.kind):
        own = columns_of(shown.kind).items()
        columns = {name: each for name, each in own if not each.column.detail}
        cells = [[_cell(_value(row, name), each) for row in rows] for name, each in columns.items()]
    else:
        cells = [[*rows]]
    drawn = [
        (each.label, column)
        for each, column in zip(columns.values(), cells, strict=True)
        if not is_terminal(stream) or any(cell is not None for cell in column)
    ]
    draw_table([label for label, _ in drawn], zip(*(column for _, column in drawn), strict=True))


def draw_answer(answer: Mapping[str, Any], kind: Any, stream: TextIO | None = None) -> None:
    """Draw what an answer says as a card, then its lists."""
    facts: dict[str, object] = {}
    lists: list[tuple[Shown, Sequence[Any]]] = []

    def collect(answer: Mapping[str, Any], kind: Any) -> None:
        for name, each in columns_of(kind).items():
            value = answer.get(name)
            if each.column.form == "part":
                collect(answer[name], each.kind)
            elif each.is_list and is_typeddict(each.kind) and len(columns_of(each.kind)) > 1:
                lists.append((each, value or ()))
            elif (cell := _cell(value, each, short_time)) is not None:
                facts[each.label] = cell

    collect(answer, kind)
    if facts:
        draw_facts(facts, stream)
    for shown, rows in lists:
        if rows:
            click.echo(f"\n{bold(shown.label, stream)}", file=stream)
            draw_rows(shown, rows, stream)


def print_drawn(operation: str = "", **fields: Any) -> Mapping[str, Any]:
    """Run the command's operation, or another one instead, and print its answer, as its type says;
    return it.

    Of a list, a pipe gets all rows, unless the line says which.
    """
    answer: Mapping[str, Any] = {}
    context = click.get_current_context()
    kind = answer_type(operation or context.command.operation)  # type: ignore[attr-defined]
    if (found := list_in(kind)) is None:
        result = perform(instead=operation, **fields)
        print_answer(result, draw=lambda: draw_answer(result.answer, kind))
        return result.answer  # type: ignore[no-any-return]
    name, shown = found
    asked = [context.get_parameter_source(each) for each in ("limit", "after")]
    every = not (sys.stdout.isatty() or asked_for_data()) and "limit" in fields
    every = every and not {ParameterSource.COMMANDLINE} & {*asked}
    for answer in _pages({**fields, "limit": _PAGE} if every else fields, operation, every=every):
        emit(answer, partial(_draw_page, answer, answer[name], shown))
    return answer


def _pages(fields: dict[str, Any], operation: str, *, every: bool) -> Iterator[Any]:
    page = perform(instead=operation, **fields).answer
    yield page
    while every and page["next"]:
        page = perform(instead=operation, **{**fields, "after": page["next"]}).answer
        yield page


def _draw_page(page: Mapping[str, Any], rows: Sequence[Any], shown: Shown) -> None:
    if page.get("csv") is not None:
        click.echo(page["csv"], nl=False)
    else:
        draw_rows(shown, rows)
    if page.get("next") and sys.stdout.isatty():
        left = (
            f"{page['total'] - len(rows)} of {page['total']} are" if "total" in page else "More is"
        )
        tell(f"{left} not on this page: see them with --limit N or --after {page['next']}")


def end_unread(chains: Iterable[Mapping[str, Any]]) -> None:
    """Say which *chains* could not be read; the exit code tells it too."""
    lost = [each for each in chains if each["error"]]
    for each in lost:
        say(printable(f"{each['chain']} could not be read: {each['error']}"))
    if lost:
        from scenarioctl.operations.results import OUTCOMES

        click.get_current_context().exit(OUTCOMES[ChainUnreachable.code].exit)


def drawn_command(name: str, operation: str, **attributes: Any) -> Command:
    """Return a command that prints its answer as the answer's type says; its help is what the
    request says of itself."""
    return Command(name, operation=operation, callback=print_drawn, **attributes)


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
            draw_check({**check, "warnings": []}, sys.stderr)


def draw_check(check: Mapping[str, Any], stream: TextIO | None = None) -> None:
    """Draw what leaves, what each hop takes and what arrives, and the verdict; for terminals
    only."""
    # What a chain's own accounts get, for fees or backing, stays in the JSON.
    credits = [each for each in check["credits"] if not each["system"]]
    draw_answer({**check, "credits": credits}, CheckAnswer, stream)
    say_all = (check["verdict"], *check["reasons"], *(f"Warning: {w}" for w in check["warnings"]))
    for number, line in enumerate(say_all):
        text = printable(spell_fields(line))
        click.echo(text if number else bold(text, stream), file=stream)


@contextmanager
def shown_progress() -> Iterator[None]:
    """Show what handlers tell while the block runs; those of a daemon tell nothing."""
    if read_settings().url:
        yield
        return
    app = open_application()
    before, app.tell = app.tell, lambda words: say(printable(words))
    try:
        yield
    finally:
        app.tell = before
