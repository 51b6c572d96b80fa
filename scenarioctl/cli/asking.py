"""Asking a person at a terminal for what a line leaves out, one value after the other; scripts are
never asked."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from scenarioctl.cli.completions import registry_of, settings_of, typed_chain
from scenarioctl.cli.options import is_needed
from scenarioctl.cli.output import printable, say
from scenarioctl.errors import ScenarioctlError

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset

#: Parameters of which one names the asset of an amount, or the chain of a receiver.
_ASSETS, _DESTINATIONS = ("assetid", "assetin"), ("dest_chain", "destchain", "chain")


def ask_for_missing(context: click.Context, arguments: Sequence[str]) -> list[str]:
    """Return *arguments* with a value for each parameter that is needed and left out, and say the
    whole line.

    A value that is wrong is told at once, and asked for again. Ctrl-C ends it all.
    """
    # What is mistyped is told before anything is asked.
    context.command.make_parser(context).parse_args(list(arguments))
    line, asked = list(arguments), False
    for parameter in context.command.params:
        typed = _read(context, line)
        if not is_needed(parameter) or typed.params.get(str(parameter.name)) not in (None, "", ()):
            continue
        value = _ask(typed, parameter)
        line += [parameter.opts[0], value] if isinstance(parameter, click.Option) else [value]
        asked = True
    if asked:
        say(
            printable(f"The same in one line: {shlex.join([*context.command_path.split(), *line])}")
        )
    return line


def _read(context: click.Context, line: Sequence[str]) -> click.Context:
    """Return what *line* has so far, where nothing that is missing is an error."""
    made = click.Context(
        context.command, parent=context.parent, info_name=context.info_name, resilient_parsing=True
    )
    with made.scope(cleanup=False):
        context.command.parse_args(made, list(line))
    return made


def _ask(typed: click.Context, parameter: click.Parameter) -> str:
    unit = (
        parameter.make_metavar(typed)
        if isinstance(parameter, click.Argument)
        else parameter.opts[0]
    )
    about = str(getattr(parameter, "help", "") or "").removesuffix("  [required]")
    # Its first sentence: the rest is for those who read the help.
    first = about.partition(". ")[0].partition(";")[0].removesuffix(".")

    def check(text: str) -> str:
        value = text.strip()
        if not value:
            raise click.UsageError(f"{unit} is missing")
        try:
            _check(typed, parameter, value)
        except ScenarioctlError as error:
            raise click.UsageError(printable(str(error))) from None
        return value

    with _completed(lambda text: [each.value for each in parameter.shell_complete(typed, text)]):
        answer: str = click.prompt(f"{first or unit} ({unit})" if first else unit, value_proc=check)
    return answer


@contextmanager
def _completed(find: Callable[[str], Sequence[str]]) -> Iterator[None]:
    """Have TAB complete what is typed, if this Python can."""
    try:
        import readline
    except ImportError:
        yield
        return
    found: list[str] = []

    def complete(text: str, state: int) -> str | None:
        if state == 0:
            found[:] = find(text)
        return found[state] if state < len(found) else None

    readline.set_completer_delims("")
    readline.set_completer(complete)
    readline.parse_and_bind("tab: complete")
    try:
        yield
    finally:
        readline.set_completer(None)


def _check(context: click.Context, parameter: click.Parameter, value: str) -> None:
    """Refuse a *value* that the operation would refuse, as far as it can be told alone."""
    if settings_of(context).url:
        # The daemon may know other chains.
        return
    registry, name = registry_of(context), str(parameter.name)
    if parameter.metavar in ("CHAIN", "RELAY"):
        registry.find(value)
    elif parameter.metavar == "ASSET":
        _asset(context, value, name)
    elif parameter.metavar == "ADDRESS":
        destination = _first(context.params, _DESTINATIONS)
        # What completes it are the names of the address book.
        if destination and value not in (
            each.value for each in parameter.shell_complete(context, value)
        ):
            registry.find(destination).account_format.parse(value, field=parameter.opts[0])
    elif parameter.metavar == "TOKENS" and value != "max":
        from scenarioctl.actions.fields import read_tokens

        asset = _asset(context, _first(context.params, _ASSETS), name)
        if asset is not None:
            read_tokens(value, asset, name)


def _asset(context: click.Context, value: str, name: str) -> "Asset | None":
    from scenarioctl.chains.assets import Assets

    registry, chain = registry_of(context), typed_chain(context)
    return (
        Assets(registry).find(registry.find(chain), value, field=name) if chain and value else None
    )


def _first(params: Mapping[str, Any], names: Sequence[str]) -> str:
    return next((params[each] for each in names if params.get(each)), "")
