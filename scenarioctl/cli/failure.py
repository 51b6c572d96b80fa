"""How a command fails: one sentence on stderr, or JSON on stdout and stderr, and the exit code of
its error."""

import os
import re
import sys
from collections.abc import Mapping
from typing import NoReturn

import click

from scenarioctl.cli.commands import OPTION_SYNONYMS
from scenarioctl.cli.options import SpelledOption
from scenarioctl.cli.output import discard_output, dump_json, printable, say
from scenarioctl.errors import ScenarioctlError, closest, either, shorten
from scenarioctl.removed import removed_command

#: Options that take a protection away.
_NEVER_SUGGESTED = frozenset(
    [
        "--yes",
        "--force",
        "--exact-minimum",
        "--accept-loss",
        "--allow-death",
        "--blind",
        "--again",
        "--old-facts",
    ]
)

#: How click complains about words behind the last argument.
_EXTRA = re.compile(r"Got unexpected extra arguments? \((.*)\)", re.DOTALL)


def fail(error: Exception, *, as_json: bool, operation: str = "") -> NoReturn:
    """End the program with the sentence and the exit code of *error*, which *operation* met."""
    from scenarioctl.operations.results import OUTCOMES

    details: Mapping[str, object] = {}
    if isinstance(error, ScenarioctlError):
        code, sentence, details = error.code, str(error), error.details
        details = {**details, "advice": error.advice} if error.advice else details
        # What a user should know of what was done before.
        for note in getattr(error, "__notes__", ()):
            say(f"Warning: {note}")
    elif isinstance(error, OSError) and error.filename is None:
        # Not of a file: of what the answer is written to. What it still holds can be written
        # nowhere.
        code, sentence = "invalid_request", f"the answer cannot be written: {error.strerror}"
        discard_output(1)
    elif isinstance(error, click.ClickException):
        code, sentence = "invalid_request", usage_sentence(error)
    else:
        code, sentence = "bug", _explain_bug(error)
    sentence = printable(sentence)
    if as_json:
        said = dump_json({**_flag(operation), "error": sentence, "code": code, **details})
        if not (sys.stdout.isatty() and sys.stderr.isatty()):
            # A script that reads the answer from stdout may end here without showing it.
            say(said)
        try:
            sys.stdout.write(said + "\n")
            sys.stdout.flush()
        except OSError:
            discard_output(1)
    else:
        say(f"Error: {sentence}")
        if isinstance(error, click.UsageError) and error.ctx is not None:
            say(f"Try '{error.ctx.command_path} --help'.")
    sys.exit(OUTCOMES[code].exit)


def _flag(operation: str) -> dict[str, bool]:
    """Return what an endpoint's answer has beside an error: its documented `success`, false."""
    from scenarioctl.server.endpoints import ENDPOINTS

    return {each.flag: False for each in ENDPOINTS if each.flag and each.operation == operation}


def usage_sentence(error: click.ClickException) -> str:
    """Return click's own complaints about a line in the words of all others."""
    if isinstance(error, click.NoSuchOption):
        command = error.ctx.command_path.partition(" ")[2] if error.ctx is not None else ""
        if instead := removed_command(command, error.option_name):
            return instead
        # A slip of the finger must not become a confirmation.
        possible = [name for name in error.possibilities or () if name not in _NEVER_SUGGESTED]
        hyphens = error.option_name.replace("_", "-")
        own = {name for each in error.ctx.command.params for name in each.opts} if error.ctx else ()
        beside = error.ctx.command_path.split()[:2] if error.ctx else []
        known = OPTION_SYNONYMS.get(hyphens, ())
        meant = (
            [each for each in known if each in own]
            or [f"{beside[0]} {each}" for each in known if each.split()[0] in beside]
            or [hyphens] * (hyphens in possible)
            or closest(error.option_name, possible, cutoff=0.7)
        )
        close = f", did you mean {_shown(error.ctx, meant[0])}?" if meant else ""
        if (
            not meant
            and error.ctx is not None
            and (takers := _takers(error.ctx, error.option_name))
        ):
            close = f" here: {either(takers)} takes it"
        return f"there is no option {shorten(error.option_name)}{close}"
    if isinstance(error, click.BadOptionUsage) and "requires an argument" in error.message:
        return f"option {shorten(error.option_name)} needs a value"
    if (
        isinstance(error, click.MissingParameter)
        and error.param is not None
        and error.ctx is not None
    ):
        return f"{error.param.make_metavar(error.ctx)} is missing, expected: {_usage(error.ctx)}"
    extra = _EXTRA.fullmatch(error.message)
    if extra and isinstance(error, click.UsageError) and error.ctx is not None:
        return f"unexpected {shorten(extra[1])}, expected: {_usage(error.ctx)}"
    return error.format_message().rstrip(".")


def _shown(context: click.Context | None, spelling: str) -> str:
    """Return the spelling that the help shows of an option that is also spelled so."""
    for option in context.command.params if context is not None else ():
        if isinstance(option, SpelledOption) and spelling in option.unseen:
            return option.shown[0]
    return spelling


def _takers(context: click.Context, option: str) -> list[str]:
    """Return a few commands of the same group, or of this one, that take *option*."""
    here = context if isinstance(context.command, click.Group) else context.parent
    if here is None or not isinstance(here.command, click.Group) or option in _NEVER_SUGGESTED:
        return []
    commands = (
        (name, here.command.get_command(here, name)) for name in here.command.list_commands(here)
    )
    return [
        f"{here.command_path} {name}"
        for name, command in commands
        if command is not None
        and not command.hidden
        and any(option in each.opts for each in command.params)
    ][:4]


def _usage(context: click.Context) -> str:
    """Return the line that the command of *context* expects."""
    return " ".join((context.command_path, *context.command.collect_usage_pieces(context)))


def _explain_bug(error: Exception) -> str:
    if os.environ.get("SCENARIOCTL_DEBUG"):
        import traceback

        traceback.print_exception(error)
    # A note says what happened before; without one, nothing did.
    done = "; ".join(getattr(error, "__notes__", ())) or "nothing was sent or signed"
    return (
        f"this is a bug in scenarioctl, not in what you typed ({type(error).__name__}: "
        f"{shorten(str(error), 200)}); "
        f"{done}; SCENARIOCTL_DEBUG=1 shows the traceback for a report"
    )
