"""Running an operation: settings and application of this command, its event loop, and its answer on stdout."""

import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import reduce
from operator import getitem
from typing import TYPE_CHECKING, Any, TypeVar

import click

from scenarioctl.cli.output import draw_table, dump_json, find_field, printable, say

if TYPE_CHECKING:
    import asyncio

    from scenarioctl.application import Application
    from scenarioctl.config import Settings

T = TypeVar("T")


def read_settings() -> "Settings":
    """Return the settings of this run, read once, with the flags given anywhere on the line."""
    root = click.get_current_context().find_root()
    settings: Settings | None = root.meta.get("scenarioctl.settings")
    if settings is None:
        from scenarioctl.config import load_settings

        flags = root.ensure_object(dict)
        settings = root.meta["scenarioctl.settings"] = load_settings(flags)
        # For an error, which is printed where there is no context any more.
        flags["json"] = settings.json
    return settings


def open_application() -> "Application":
    """Return the application of this run, made with the flags given anywhere on the line."""
    from scenarioctl.application import Application

    root = click.get_current_context().find_root()
    app: Application | None = root.meta.get("scenarioctl.application")
    if app is None:
        app = root.meta["scenarioctl.application"] = Application(read_settings())
        runner = _open_runner()
        # Callbacks run in the reverse order: the loop that it lived on is closed after it.
        root.call_on_close(lambda: runner.run(app.close()))
    return app


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return what *coroutine* returns, run on the event loop of this command; Ctrl-C cancels it."""
    try:
        return _open_runner().run(coroutine)
    except KeyboardInterrupt as stop:
        # Notes on the cancellation say what a user should know of what was interrupted.
        for note in getattr(stop.__context__, "__notes__", ()):
            stop.add_note(note)
        raise


def _open_runner() -> "asyncio.Runner":
    import asyncio

    root = click.get_current_context().find_root()
    runner: asyncio.Runner | None = root.meta.get("scenarioctl.runner")
    if runner is None:
        runner = root.meta["scenarioctl.runner"] = asyncio.Runner()
        root.call_on_close(runner.close)
    return runner


def perform(*, waits: bool = False, **fields: Any) -> Any:
    """Run the command's operation with a request of *fields*, show its notes and warnings, and return its result.

    With `--url` a daemon runs it; with *waits* it is given all the time it takes.
    """
    from importlib import import_module
    from typing import get_type_hints

    command: Any = click.get_current_context().command
    module, _, name = command.operation.partition(".")
    handler = getattr(import_module(f"scenarioctl.operations.{module}"), name)
    request = get_type_hints(handler)["request"](**fields)
    settings = read_settings()
    result: Any
    if settings.url:
        from scenarioctl.cli.remote import ask

        result = ask(settings, command.operation, request, waits=waits)
    else:
        result = run(handler(open_application(), request))
    for note in result.notes:
        click.echo(printable(note), err=True)
    for warning in result.warnings:
        say(f"Warning: {printable(warning)}")
    return result


def asked_for_json() -> bool:
    return read_settings().json


def print_answer(result: Any, plain: str | None = None, draw: Callable[[], Any] | None = None) -> None:
    """Print a result on stdout.

    With `--json` the documented answer; else the value at *plain*, like `swap.scenarioid`; else a drawing on a
    terminal, and indented JSON everywhere else.
    """
    field = click.get_current_context().meta.get("scenarioctl.field")
    if field is not None:
        value = find_field(result.answer, field)
        click.echo(printable(value) if isinstance(value, str) else dump_json(value))
    elif asked_for_json():
        click.echo(dump_json(result.answer))
    elif plain is not None:
        click.echo(printable(reduce(getitem, plain.split("."), result.answer)))
    elif draw is not None and sys.stdout.isatty():
        draw()
    else:
        click.echo(dump_json(result.answer, indent=2))


def print_table(answer: Mapping[str, Any], columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print an answer as a table, or with `--json` as it is; say on stderr how to get the next page."""
    if asked_for_json():
        click.echo(dump_json(answer))
        return
    draw_table(columns, rows)
    if answer.get("total") and answer["next"]:
        say(f"{answer['total']} in all; more with --after {answer['next']}")
