"""Options and arguments of commands, and what the shell completes for them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

from scenarioctl.errors import InvalidRequest, shorten

F = TypeVar("F", bound=Callable[..., Any])


class OneOption(click.Option):
    """An option with several spellings that means one thing: two different values are refused.

    Where money moves, the last of two contradicting words must not win in silence.
    """

    def __init__(self, names: Sequence[str], **attributes: Any) -> None:
        self.fallback = attributes.pop("default", None)
        self.is_needed = attributes.pop("required", False)
        #: Values that the shell offers; the operation judges what is given.
        self.choices: tuple[str, ...] = attributes.pop("choices", ())
        if self.choices:
            attributes["shell_complete"] = self._complete
        super().__init__(names, **{**attributes, "multiple": True})
        if self.is_needed and self.help:
            self.help += "  [required]"

    def _complete(self, context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:  # noqa: ARG002
        return [each for each in self.choices if each.startswith(incomplete)]

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        values = super().process_value(ctx, value)
        if not values:
            if self.is_needed and not ctx.resilient_parsing:
                raise InvalidRequest(f"{self.name} is missing, expected {'/'.join(self.opts)}")
            return self.fallback
        if any(other != values[0] for other in values):
            raise InvalidRequest(
                f"{self.name} is given twice, as {shorten(values[0])} and as "
                f"{shorten(next(other for other in values if other != values[0]))}: pass it once"
            )
        return values[0]


def complete_files(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:  # noqa: ARG001
    """Let the shell complete the names of files."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def complete_chains(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Complete the names of the chains that are built in."""
    from scenarioctl.chains.registry import CHAINS

    return [chain.name for chain in CHAINS if chain.name.lower().startswith(incomplete.lower())]


def complete_settings(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Complete the names of the settings."""
    from scenarioctl.config import SETTINGS

    return [each.name for each in SETTINGS if each.name.startswith(incomplete)]


def complete_scopes(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Complete a list of scopes, with commas between."""
    from scenarioctl.server.access import SCOPES

    before, comma, last = incomplete.rpartition(",")
    given = before.split(",")
    return [f"{before}{comma}{each}" for each in SCOPES if each.startswith(last) and each not in given]


def complete_relays(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Complete the names of the relay chains that are built in."""
    from scenarioctl.chains.registry import CHAINS

    relays = {chain.name for chain in CHAINS if chain.role == "relay"}
    return [name for name in complete_chains(context, parameter, incomplete) if name in relays]


#: Metavar -> what completes it.
COMPLETIONS: Mapping[str, Callable[[click.Context, click.Parameter, str], list[Any]]] = {
    "FILE": complete_files,
    "PATH|-|STRING": complete_files,
    "FILE|-": complete_files,
    "FILE.png": complete_files,
    "CHAIN": complete_chains,
    "CHAIN...": complete_chains,
    "[CHAIN]...": complete_chains,
    "RELAY": complete_relays,
}


def argument(name: str, *, metavar: str, **attributes: Any) -> Callable[[F], F]:
    """Return a click argument; its metavar tells what completes it."""
    return click.argument(name, metavar=metavar, shell_complete=COMPLETIONS.get(metavar), **attributes)


def option(*names: str, **attributes: Any) -> Callable[[F], F]:
    """Return a click option of which two different values are refused; `choices` or its metavar tell what completes it."""
    complete = COMPLETIONS.get(attributes.get("metavar", ""))
    if complete is not None:
        attributes.setdefault("shell_complete", complete)
    return click.option(*names, cls=OneOption, **attributes)


def together(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Return a decorator that adds several options in this order."""

    def add(function: F) -> F:
        for each in reversed(options):
            function = each(function)
        return function

    return add


class GlobalOptions:
    """`--json`, `--offline`, `--url`, …: accepted before and after the command, with one meaning."""

    OPTIONS = (
        click.Option(
            ["--json"], is_flag=True, default=None, help="Print the JSON that the HTTP endpoint answers."
        ),
        click.Option(
            ["--offline"],
            is_flag=True,
            default=None,
            help="Never connect to a node; use local runtime tables.",
        ),
        click.Option(
            ["--config"],
            metavar="FILE",
            shell_complete=complete_files,
            help="Read the settings from FILE instead of config.toml.",
        ),
        click.Option(
            ["--store"], metavar="FILE", shell_complete=complete_files, help="Use FILE as the scenario store."
        ),
        click.Option(
            ["--url"],
            metavar="URL",
            help="Send the command to the daemon at URL: http://…, https://…, unix:///…",
        ),
    )


#: Prints one value of a structured answer, bare, for scripts.
field_option = option("--field", metavar="NAME", help="Print only this field.")
