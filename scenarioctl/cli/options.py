"""Options and arguments of commands, and what the shell completes for them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
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
            attributes["shell_complete"] = _completing(lambda: self.choices)
        super().__init__(names, **{**attributes, "multiple": True})
        if self.is_needed and self.help:
            self.help += "  [required]"

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


Complete = Callable[[click.Context, click.Parameter, str], list[Any]]


def complete_files(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:  # noqa: ARG001
    """Let the shell complete the names of files."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def _completing(find: Callable[[], Iterable[str]]) -> Complete:
    """Return what completes a value to those that *find* returns, which the shell has to ask for."""

    def complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[Any]:
        return [each for each in find() if each.lower().startswith(incomplete.lower())]

    return complete


def _finding(name: str) -> Complete:
    """Return what completes a value by the function *name* of `cli/completions.py`, which nothing else loads."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
        from scenarioctl.cli import completions

        return completions.offered(getattr(completions, name))(context, parameter, incomplete)

    return complete


def _settings() -> list[str]:
    from scenarioctl.config import SETTINGS

    return [each.name for each in SETTINGS]


#: What a target of notifications begins with.
complete_targets = _completing(lambda: ("https://", "slack+https://", "mattermost+https://", "ntfy+https://"))
complete_settings = _completing(_settings)
complete_jobs = _finding("job_ids")
complete_calls = _finding("calls")
complete_call_pallets = _finding("call_pallets")


def complete_scopes(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Complete a list of scopes, with commas between."""
    from scenarioctl.server.access import SCOPES

    before, comma, last = incomplete.rpartition(",")
    given = before.split(",")
    return [f"{before}{comma}{each}" for each in SCOPES if each.startswith(last) and each not in given]


#: Metavar -> what completes it.
COMPLETIONS: Mapping[str, Complete] = {
    **dict.fromkeys(("FILE", "PATH|-|STRING", "FILE|-", "FILE.png"), complete_files),
    **dict.fromkeys(("CHAIN", "[CHAIN]", "CHAIN...", "[CHAIN]..."), _finding("chains")),
    **dict.fromkeys(("ID", "ID...", "[HEX|-|SCENARIO]"), _finding("scenario_ids")),
    "RELAY": _finding("relays"),
    "ASSET": _finding("assets"),
    "PALLET": _finding("pallets"),
    "[PALLET[.ITEM]]": _finding("items"),
    "METHOD": _finding("readable_methods"),
    "ZONE": _finding("time_zones"),
    "PATH": _finding("fields"),
}


def argument(name: str, *, metavar: str, **attributes: Any) -> Callable[[F], F]:
    """Return a click argument; its metavar tells what completes it."""
    attributes.setdefault("shell_complete", COMPLETIONS.get(metavar))
    return click.argument(name, metavar=metavar, **attributes)


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


#: Accepted before and after the command, with one meaning.
GLOBAL_OPTIONS = (
    click.Option(
        ["--json"], is_flag=True, default=None, help="Print the JSON that the HTTP endpoint answers."
    ),
    OneOption(
        ["--field"],
        metavar="PATH",
        shell_complete=COMPLETIONS["PATH"],
        help="Print only this field of the answer, like id or scenarios.0.id; * is each.",
    ),
    OneOption(
        ["--output", "-o", "output_file"],
        metavar="FILE",
        shell_complete=complete_files,
        help="Write the answer to FILE, whole or not at all, instead of stdout.",
    ),
    click.Option(
        ["--quiet", "-q"], is_flag=True, default=None, help="Print no notes, only warnings and errors."
    ),
    click.Option(
        ["--verbose", "-v"], is_flag=True, default=None, help="Say which store, daemon and nodes are asked."
    ),
    click.Option(
        ["--strict"],
        is_flag=True,
        default=None,
        help="Treat warnings as errors, with exit code 7.",
    ),
    click.Option(
        ["--offline/--no-offline"],
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
