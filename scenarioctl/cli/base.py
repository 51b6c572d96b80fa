"""What all commands share: global options, running a handler, printing an answer, failing."""

import json
import os
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from scenarioctl.errors import InvalidRequest, NotFound, ScenarioctlError, TooLarge, shorten

if TYPE_CHECKING:
    import asyncio

    from scenarioctl.application import Application
    from scenarioctl.config import Settings

T = TypeVar("T")
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
                f"{shorten(next(other for other in values if other != values[0]))}: which one is meant?"
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


def argument(name: str, *, metavar: str, **attributes: Any) -> Callable[[F], F]:
    """Return a click argument; its metavar tells what completes it."""
    return click.argument(name, metavar=metavar, shell_complete=COMPLETIONS.get(metavar), **attributes)


#: Options that take a protection away.
_NEVER_SUGGESTED = frozenset(("--yes", "--force", "--exact-minimum"))
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


def option(*names: str, **attributes: Any) -> Callable[[F], F]:
    """Return a click option of which two different values are refused; `choices` or its metavar tell what completes it."""
    complete = COMPLETIONS.get(attributes.get("metavar", ""))
    if complete is not None:
        attributes.setdefault("shell_complete", complete)
    return click.option(*names, cls=OneOption, **attributes)


class GlobalOptions:
    """`--json`, `--offline`, `--url`, …: accepted before and after the command, with one meaning."""

    OPTIONS = (
        click.Option(["--json"], is_flag=True, default=None, help="Answer with the endpoint's JSON."),
        click.Option(["--offline"], is_flag=True, default=None, help="Never ask a node."),
        click.Option(
            ["--config"],
            metavar="FILE",
            shell_complete=complete_files,
            help="The settings, in place of the user's config.toml.",
        ),
        click.Option(["--store"], metavar="FILE", shell_complete=complete_files, help="The scenario store."),
        click.Option(
            ["--url"], metavar="URL", help="Let the daemon at URL do it: http://…, https://…, unix:///…"
        ),
    )


def take_global_options(context: click.Context) -> None:
    """Keep the global flags given to *context*'s command; one after the command wins over one before it."""
    kept = context.find_root().ensure_object(dict)
    for each in GlobalOptions.OPTIONS:
        value = context.params.pop(str(each.name), None)
        if value is not None:
            kept[each.name] = value


#: Prints one value of a structured answer, bare, for scripts.
field_option = option("--field", metavar="NAME", help="Print this field of the answer alone.")


class Command(click.Command):
    """A command that takes the global options too, and names the operation it is an edge of."""

    def __init__(self, *args: Any, operation: str = "", example: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        #: `module.handler` under scenarioctl.operations; empty for what works on this machine alone.
        self.operation = operation
        if example:
            self.epilog = f"\b\nExample:\n  {example}"
        self.params = [*self.params, *GlobalOptions.OPTIONS]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # For an error, which may be one of the line.
        ctx.find_root().ensure_object(dict)["operation"] = self.operation
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        take_global_options(ctx)
        if not self.operation and ctx.find_root().ensure_object(dict).get("url"):
            raise InvalidRequest(
                f"url does not go with {ctx.command_path.partition(' ')[2]}, which is about this machine: leave --url out"
            )
        ctx.meta["scenarioctl.field"] = ctx.params.pop("field", None)
        return super().invoke(ctx)


class Group(click.Group):
    """A group of commands; the group and each command take the global options."""

    command_class = Command

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # It runs alone too, to print its help; its usage line says what it is for.
        kwargs.setdefault("subcommand_metavar", "COMMAND [ARGS]...")
        kwargs["invoke_without_command"] = True
        super().__init__(*args, **kwargs)
        self.params = [*self.params, *GlobalOptions.OPTIONS]

    def invoke(self, ctx: click.Context) -> Any:
        take_global_options(ctx)
        result = super().invoke(ctx)
        if ctx.invoked_subcommand is None:
            self.invoke_alone(ctx)
        return result

    def invoke_alone(self, ctx: click.Context) -> None:
        """Answer a line that ends with the group: print its help, or say in JSON that a command is missing."""
        if wants_json((), ctx.find_root().ensure_object(dict)):
            raise click.UsageError(
                f"a command is missing, expected one of: {', '.join(self.list_commands(ctx))}", ctx
            )
        click.echo(ctx.get_help())

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            raise click.UsageError(f"there is no command {shorten(args[0])}, {suggest(args[0], known)}", ctx)
        return super().resolve_command(ctx, args)


def suggest(word: str, known: Sequence[str]) -> str:
    """Return what may have been meant by *word*."""
    from difflib import get_close_matches

    close = get_close_matches(word[:60], known, n=1)
    return f"did you mean {close[0]}?" if close else f"expected one of: {', '.join(known)}"


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


def perform(operation: str, request_type: str, *, waits: bool = False, **fields: Any) -> Any:
    """Run the operation `module.handler` with a request of *fields*, show its notes and warnings, return its result.

    With `--url` a daemon runs it; with *waits* it is given all the time it takes.
    """
    from importlib import import_module

    module_name, _, name = operation.partition(".")
    module = import_module(f"scenarioctl.operations.{module_name}")
    request = getattr(module, request_type)(**fields)
    settings = read_settings()
    result: Any
    if settings.url:
        from scenarioctl.cli.remote import ask

        result = ask(settings, operation, request, waits=waits)
    else:
        result = run(getattr(module, name)(open_application(), request))
    for note in result.notes:
        click.echo(printable(note), err=True)
    for warning in result.warnings:
        say(f"Warning: {printable(warning)}")
    return result


def asked_for_json() -> bool:
    return read_settings().json


def print_answer(result: Any, plain: str | None = None, draw: Callable[[], Any] | None = None) -> None:
    """Print a result on stdout.

    With `--json` the documented answer; else *plain* where the answer is one value; else a drawing on a
    terminal, and indented JSON everywhere else.
    """
    field = click.get_current_context().meta.get("scenarioctl.field")
    if field is not None:
        value = find_field(result.answer, field)
        click.echo(printable(value) if isinstance(value, str) else dump_json(value))
    elif asked_for_json():
        click.echo(dump_json(result.answer))
    elif plain is not None:
        click.echo(printable(plain))
    elif draw is not None and sys.stdout.isatty():
        draw()
    else:
        click.echo(dump_json(result.answer, indent=2))


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
        _forget(2)


#: The largest transaction that a chain takes is smaller than this, as hex.
TX_LIMIT = 16 * 1024 * 1024


def read_tx(tx: str) -> str:
    """Return a transaction's hex as the line gives it, or stdin for `-`."""
    return read_text(tx, field="tx", limit=TX_LIMIT).strip() if tx == "-" else tx


def read_text(path: str, *, field: str, limit: int) -> str:
    """Return the text of the file *path*, or of stdin for `-`."""
    if not path:
        raise InvalidRequest(f"{field} '' is empty, expected the path of a file, or - for stdin")
    try:
        if path == "-":
            data = sys.stdin.buffer.read(limit + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(limit + 1)
    except FileNotFoundError:
        raise NotFound(
            f"{field} {shorten(path, 200)} is not there, expected the path of a file, or - for stdin"
        ) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no path holds a NUL character"
        raise InvalidRequest(f"{field} {shorten(path, 200)} cannot be read: {reason}") from None
    if len(data) > limit:
        raise TooLarge(f"{field} {shorten(path, 200)} is larger than {limit} bytes, the limit for it")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRequest(
            f"{field} {shorten(path, 200)} is not UTF-8 text: byte {error.start} is wrong"
        ) from None


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


def draw_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Draw a table on a terminal; tab-separated lines without a header everywhere else."""
    if not sys.stdout.isatty():
        for row in rows:
            click.echo("\t".join(printable(cell) for cell in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        # Text, not str: what people put in a diagram is not markup.
        table.add_row(*(Text(printable(cell)) for cell in row))
    Console().print(table)


def draw_json(value: Any) -> None:
    """Draw nested data on a terminal."""
    from rich.console import Console
    from rich.highlighter import JSONHighlighter

    # Not Console.print_json: it would undo what dump_json escapes.
    Console().print(JSONHighlighter()(dump_json(value, indent=2)), soft_wrap=True)


def wants_json(arguments: Sequence[str], flags: Mapping[str, Any]) -> bool:
    """Tell whether JSON is wanted, even where the line could not be parsed or the settings not be read."""
    if "--json" in arguments or flags.get("json"):
        return True
    return os.environ.get("SCENARIOCTL_JSON", "").strip().lower() in {"1", "true", "yes", "on"}


def fail(error: Exception, *, as_json: bool, operation: str = "") -> NoReturn:
    """End the program with the sentence and the exit code of *error*, which *operation* met."""
    from scenarioctl.operations.outcomes import OUTCOMES

    details: Mapping[str, object] = {}
    if isinstance(error, ScenarioctlError):
        code, sentence, details = error.code, str(error), error.details
    elif isinstance(error, OSError) and error.filename is None:
        # Not of a file: of what the answer is written to. What it still holds can be written nowhere.
        code, sentence = "invalid_request", f"the answer cannot be written: {error.strerror}"
        _forget(1)
    elif isinstance(error, click.ClickException):
        code, sentence = "invalid_request", say_usage(error)
    else:
        code, sentence = "bug", _explain_bug(error)
    sentence = printable(sentence)
    if as_json:
        try:
            said = {**details, **_flag(operation), "error": sentence, "code": code}
            sys.stdout.write(dump_json(said) + "\n")
            sys.stdout.flush()
        except OSError:
            _forget(1)
    else:
        say(f"Error: {sentence}")
        if isinstance(error, click.UsageError) and error.ctx is not None:
            say(f"Try '{error.ctx.command_path} --help'.")
    sys.exit(OUTCOMES[code].exit)


def _flag(operation: str) -> dict[str, bool]:
    """Return what an endpoint's answer has beside an error: its documented `success`, false."""
    from scenarioctl.server.endpoints import ENDPOINTS

    return {each.flag: False for each in ENDPOINTS if each.flag and each.operation == operation}


def _forget(descriptor: int) -> None:
    """Keep Python from writing, at its end, what is still in the buffer of a broken stdout or stderr."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def say_usage(error: click.ClickException) -> str:
    """Return click's own complaints about a line in the words of all others."""
    if isinstance(error, click.NoSuchOption):
        # A slip of the finger must not become a confirmation.
        possible = [name for name in error.possibilities or () if name not in _NEVER_SUGGESTED]
        close = f", did you mean {possible[0]}?" if possible else ""
        return f"there is no option {shorten(error.option_name)}{close}"
    if isinstance(error, click.MissingParameter) and error.param is not None and error.ctx is not None:
        return f"{error.param.make_metavar(error.ctx)} is missing, expected: {error.ctx.get_usage()[7:]}"
    return error.format_message().rstrip(".")


def _explain_bug(error: Exception) -> str:
    if os.environ.get("SCENARIOCTL_DEBUG"):
        import traceback

        traceback.print_exception(error)
    # A note says what happened before; without one, nothing did.
    done = "; ".join(getattr(error, "__notes__", ())) or "nothing was sent or signed"
    return (
        f"this is a bug in scenarioctl, not in what you typed ({type(error).__name__}: {shorten(str(error), 200)}); "
        f"{done}; SCENARIOCTL_DEBUG=1 shows the traceback for a report"
    )
