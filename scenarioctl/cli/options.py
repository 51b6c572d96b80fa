"""Options and arguments of commands, and what the shell completes for them; those of a request are
made from its fields."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from scenarioctl.errors import InvalidRequest, shorten

if TYPE_CHECKING:
    from scenarioctl.model.request_fields import FieldRow

F = TypeVar("F", bound=Callable[..., Any])


class SpelledOption(click.Option):
    """An option with spellings of the HTTP interface, which are taken and shown nowhere."""

    def __init__(
        self, names: Sequence[str], *, unseen: Sequence[str] = (), **attributes: Any
    ) -> None:
        self.unseen = unseen
        super().__init__([*names, *unseen], **attributes)

    @property
    def shown(self) -> list[str]:
        """The spellings that the help shows."""
        return [each for each in self.opts if each not in self.unseen]

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        taken, self.opts = self.opts, self.shown
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = taken


class OneOption(SpelledOption):
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
                raise InvalidRequest(field=self.name, problem="is missing", expected=self.shown[0])
            return self.fallback
        if any(other != values[0] for other in values):
            raise InvalidRequest(
                field=self.name,
                problem=(
                    f"is given twice, as {shorten(values[0])} and as "
                    f"{shorten(next(other for other in values if other != values[0]))}: pass "
                    "it once"
                ),
            )
        return values[0]


def is_needed(parameter: click.Parameter) -> bool:
    """Return whether a line must have a value for *parameter*."""
    return bool(getattr(parameter, "is_needed", parameter.required))


Complete = Callable[[click.Context, click.Parameter, str], list[Any]]


def complete_files(
    context: click.Context,  # noqa: ARG001
    parameter: click.Parameter,  # noqa: ARG001
    incomplete: str,
) -> list[Any]:
    """Let the shell complete the names of files."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def _completing(find: Callable[[], Iterable[str]]) -> Complete:
    """Return what completes a value to those that *find* returns, which the shell has to ask
    for."""

    def complete(
        _context: click.Context, _parameter: click.Parameter, incomplete: str
    ) -> list[Any]:
        return [each for each in find() if each.lower().startswith(incomplete.lower())]

    return complete


def finding(name: str) -> Complete:
    """Return what completes a value by the function *name* of `cli/completions.py`, which nothing
    else loads."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
        from scenarioctl.cli import completions

        return completions.offered(getattr(completions, name))(context, parameter, incomplete)

    return complete


def _settings() -> list[str]:
    from scenarioctl.config import SETTINGS

    return [each.name for each in SETTINGS]


complete_settings = _completing(_settings)


def complete_scopes(
    context: click.Context,  # noqa: ARG001
    parameter: click.Parameter,  # noqa: ARG001
    incomplete: str,
) -> list[str]:
    """Complete a list of scopes, with commas between."""
    from scenarioctl.server.access import SCOPES

    before, comma, last = incomplete.rpartition(",")
    given = before.split(",")
    return [
        f"{before}{comma}{each}" for each in SCOPES if each.startswith(last) and each not in given
    ]


#: Unit -> what completes a value.
COMPLETIONS: Mapping[str, Complete] = {
    **dict.fromkeys(
        ("FILE", "FILE|-", "FILE|URL", "FILE.csv|-", "FILE.png", "PATH|-|STRING", "PAYLOAD"),
        complete_files,
    ),
    "CHAIN": finding("chains"),
    "RELAY": finding("relays"),
    "ID": finding("scenario_ids"),
    **dict.fromkeys(("HEX|-|SCENARIO", "ID|FILE|-"), finding("scenario_ids")),
    "JOB": finding("job_ids"),
    "ADDRESS": finding("addresses"),
    "ASSET": finding("assets"),
    "PATH": finding("fields"),
}
#: Unit -> what stands for a value of it on a command line, which also reads files and stdin.
_METAVARS = {"HEX": "HEX|-", "PAYLOAD": "FILE"}


def argument(name: str, *, metavar: str, **attributes: Any) -> Callable[[F], F]:
    """Return a click argument; its metavar tells what completes it."""
    unit = metavar.removesuffix("...")
    unit = unit[1:-1] if unit.startswith("[") else unit
    attributes.setdefault("shell_complete", COMPLETIONS.get(unit))
    return click.argument(name, metavar=metavar, **attributes)


def option(*names: str, **attributes: Any) -> Callable[[F], F]:
    """Return a click option of which two different values are refused; `choices` or its metavar
    tell what completes it."""
    complete = COMPLETIONS.get(attributes.get("metavar", ""))
    if complete is not None:
        attributes.setdefault("shell_complete", complete)
    return click.option(*names, cls=OneOption, **attributes)


@cache
def _operations() -> dict[str, Any]:
    table: dict[str, Any] = json.loads((Path(__file__).parent / "operations.json").read_bytes())
    return table


def read_operation(operation: str) -> Mapping[str, Any]:
    """Return what a request is for (`about`), its `fields`, each a `FieldRow`, and the `paths` into
    the answer."""
    row: Mapping[str, Any] = _operations()[operation]
    return row


def spell(fields: Iterable["FieldRow"], arguments: Sequence[str]) -> Mapping[str, str]:
    """Return how a command line spells each of the *fields*."""
    return {
        each["name"]: each["unit"]
        if each["name"] in arguments
        else each.get("option") or f"--{each['name'].replace('_', '-')}"
        for each in fields
    }


def spell_fields(text: str) -> str:
    """Return a sentence in which the fields in backticks are options of the command that runs."""
    context = click.get_current_context(silent=True)
    spelled = {
        name.lstrip("-").replace("-", "_"): off or getattr(each, "shown", each.opts)[0]
        for each in (context.command.params if context else ())
        if isinstance(each, click.Option)
        for name, off in (
            *((name, "") for name in (str(each.name), *each.opts)),
            *((name, name) for name in each.secondary_opts),
        )
    }
    return re.sub("`([a-z_]+)`", lambda found: spelled.get(found[1], found[0]), text)


def describe(text: str, spelled: Mapping[str, str]) -> str:
    """Return the description of a field or a request for a command line: other fields are named as
    it spells them."""
    pieces = text.split("`")
    pieces[1::2] = [spelled.get(piece, piece) for piece in pieces[1::2]]
    return "".join(pieces)


def request_parameters(
    fields: Iterable["FieldRow"],
    *,
    arguments: Sequence[str],
    without: Sequence[str],
    own: Iterable[click.Parameter],
) -> list[click.Parameter]:
    """Return the parameters of a command for the *fields* of its request, but those in *without*.

    Those in *arguments* are arguments, in this order. A parameter of the command's *own* with the
    name of a field stands in its place. What few need is hidden.
    """
    by_name = {each["name"]: each for each in fields}
    given = {str(each.name): each for each in own}
    spelled = spell(by_name.values(), arguments)
    found = [given.pop(name) if name in given else _argument(by_name[name]) for name in arguments]
    for name, each in by_name.items():
        if name not in arguments and name not in without:
            shown = _option(each, spelled)
            shown.hidden = each.get("rare", False)
            found.append(given.pop(name, shown))
    return [*found, *given.values()]


def _argument(field: "FieldRow") -> click.Argument:
    unit, is_list = _METAVARS.get(field["unit"], field["unit"]), field.get("list", False)
    is_required = "default" not in field
    return click.Argument(
        [field["name"]],
        metavar=(unit if is_required else f"[{unit}]") + "..." * is_list,
        # `Pallet.name` has it.
        required=is_required and unit != "METHOD" and not is_list,
        nargs=-1 if is_list else 1,
        shell_complete=COMPLETIONS.get(field.get("complete") or field["unit"]),
        **({} if is_required or is_list else {"default": field["default"]}),
    )


def _option(field: "FieldRow", spelled: Mapping[str, str]) -> click.Option:
    name, unit, off = field["name"], field["unit"], field.get("off")
    text = describe(field["help"], spelled) + (" - reads stdin." if unit == "PAYLOAD" else "")
    if field.get("flag"):
        # Without a default, the absence of both says neither yes nor no.
        choice: dict[str, Any] = {"default": None} if off else {}
        return click.Option(
            [f"{spelled[name]}/{off}" if off else spelled[name], name],
            is_flag=True,
            help=text,
            **choice,
        )
    shown = spelled[name]
    unseen = field.get("spellings", ())
    metavar, complete = _METAVARS.get(unit, unit), COMPLETIONS.get(field.get("complete") or unit)
    if field.get("repeats"):
        default = () if field.get("list") else field["default"]
        return SpelledOption(
            [shown, name],
            unseen=unseen,
            metavar=metavar,
            help=text,
            multiple=True,
            shell_complete=complete,
            callback=lambda _context, _parameter, values: list(values) or default,
        )
    return OneOption(
        [shown, *(["-c"] if shown == "--chain" else []), name],
        unseen=unseen,
        metavar=metavar,
        help=text,
        choices=tuple(field.get("choices") or field.get("offers") or ()),
        shell_complete=complete,
        **({"default": field["default"]} if "default" in field else {"required": True}),
    )


#: Accepted before and after the command, with one meaning.
GLOBAL_OPTIONS = (
    click.Option(
        ["--json"],
        is_flag=True,
        default=None,
        help="Print the JSON that the HTTP endpoint answers.",
    ),
    OneOption(
        ["--field"],
        metavar="PATH",
        shell_complete=COMPLETIONS["PATH"],
        help="Print only this field of the answer, like id or scenarios.0.id; * is each.",
    ),
    click.Option(
        ["--quiet", "-q"],
        is_flag=True,
        default=None,
        help="Print no notes, only warnings and errors.",
    ),
    click.Option(
        ["--verbose", "-v"],
        is_flag=True,
        default=None,
        help="Say which store, daemon and nodes are asked.",
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
        ["--old-facts"],
        is_flag=True,
        default=None,
        help="Build offline from facts that are older than a year.",
    ),
    click.Option(
        ["--config"],
        metavar="FILE",
        shell_complete=complete_files,
        help="Read the settings from FILE instead of config.toml.",
    ),
    click.Option(
        ["--store"],
        metavar="FILE",
        shell_complete=complete_files,
        help="Use FILE as the scenario store.",
    ),
    click.Option(
        ["--url"],
        metavar="URL",
        help="Send the command to the daemon at URL: http://…, https://…, unix:///…",
    ),
)
