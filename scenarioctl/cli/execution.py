"""Running an operation: settings and application of this command, its event loop, and its answer on
stdout."""

import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial, reduce
from operator import getitem
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from scenarioctl.cli.commands import wants_json
from scenarioctl.cli.options import read_operation, spell_fields
from scenarioctl.cli.output import draw_table, dump_json, find_values, printable, say
from scenarioctl.errors import InvalidRequest, NotFound, TooLarge
from scenarioctl.files import read_file, reason_of

if TYPE_CHECKING:
    import asyncio

    from scenarioctl.application import Application
    from scenarioctl.config import Settings

#: The largest transaction that a chain takes is smaller than this, as hex.
TX_LIMIT = 16 * 1024 * 1024
#: A share string of the largest diagram that can be stored.
IMPORT_LIMIT = 32 * 1024 * 1024


def read_text(path: str, *, field: str, limit: int) -> str:
    """Return the text of the file *path*, or of stdin for `-`."""
    data = read_bytes(path, field=field, limit=limit)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRequest(
            field=field,
            value=path,
            limit=200,
            problem=f"is not UTF-8 text: byte {error.start} is wrong",
        ) from None


def read_bytes(path: str, *, field: str, limit: int) -> bytes:
    """Return what is in the file *path* or @*path*, or comes from stdin for `-`."""
    path = path.removeprefix("@")
    if not path:
        raise InvalidRequest(
            field=field, value="", problem="is empty", expected="the path of a file, or - for stdin"
        )
    try:
        if path == "-":
            data = sys.stdin.buffer.read(limit + 1)
        else:
            data = read_file(Path(path), limit=limit)
    except FileNotFoundError:
        raise NotFound(
            field=field,
            value=path,
            limit=200,
            problem="does not exist",
            expected="the path of a file, or - for stdin",
        ) from None
    except (OSError, ValueError) as error:
        raise InvalidRequest(
            field=field, value=path, limit=200, problem=f"cannot be read: {reason_of(error)}"
        ) from None
    if len(data) > limit:
        raise TooLarge(
            field=field,
            value=path,
            limit=200,
            problem=f"is larger than {limit} bytes, the limit for it",
        )
    return data


#: Units of long values: `-` stands for stdin, @FILE for the text of a file, and @@ for text that
#: begins with @.
_LONG = frozenset(
    ("0xHEX", "ARG", "ASSET", "HEX", "HOPS", "PARAM", "PAYLOAD", "TEXT"),
)


def read_long(given: Any, *, field: str, unit: str) -> Any:
    """Return a long value of the line; of a payload its JSON, and of calls each line of a file."""
    if isinstance(given, tuple):
        found = [read_long(each, field=field, unit=unit) for each in given]
        return tuple(line for each in found for line in (each.split() if unit == "HEX" else [each]))
    if unit == "PAYLOAD" and given is not None:
        from scenarioctl.formats.documents import parse_json

        return parse_json(read_text(given, field=field, limit=TX_LIMIT), field=field)
    if not isinstance(given, str) or not (given == "-" or given.startswith("@")):
        return given
    if given.startswith("@@"):
        return given[1:]
    try:
        text = read_text(given, field=field, limit=TX_LIMIT)
    except NotFound as error:
        raise NotFound(f"{error}; write @@ for text that begins with @") from None
    return text.strip() if unit in ("0xHEX", "HEX") else text.rstrip("\r\n")


#: Operations that wait for nothing where they ask neither a node nor the store: they need no event
#: loop, and asyncio is a quarter of the time of such a command.
_AT_ONCE = ("builds.asset_transfer", "builds.transfer_tokens")

T = TypeVar("T")


def read_settings(**instead: Any) -> "Settings":
    """Return the settings of this run, read once, with the flags given anywhere on the line, and
    others *instead*."""
    root = click.get_current_context().find_root()
    settings: Settings | None = root.meta.get("scenarioctl.settings")
    if settings is None:
        from scenarioctl.config import load_settings

        flags = root.ensure_object(dict)
        settings = root.meta["scenarioctl.settings"] = load_settings({**flags, **instead})
        # For an error and for the exit code, which are seen to where there is no context any more.
        flags["json"], flags["strict"] = settings.json, settings.strict
    return settings


def open_application() -> "Application":
    """Return the application of this run, made with the flags given anywhere on the line."""
    from scenarioctl.application import Application

    root = click.get_current_context().find_root()
    app: Application | None = root.meta.get("scenarioctl.application")
    if app is None:
        app = root.meta["scenarioctl.application"] = Application(read_settings())
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
        root.call_on_close(partial(_close, root, runner))
    return runner


def _close(root: click.Context, runner: "asyncio.Runner") -> None:
    """Close the application, which opens nothing without the event loop, and that after it."""
    app: Application | None = root.meta.get("scenarioctl.application")
    if app is not None:
        runner.run(app.close())
    runner.close()


def _run_at_once(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return what *coroutine* returns, which waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        returned: T = end.value
        return returned
    raise AssertionError("it waits")


def perform(*, waits: bool = False, operation: str = "", instead: str = "", **fields: Any) -> Any:
    """Run the command's operation with a request of *fields*; show its notes and warnings, and
    return its result.

    Run *operation* beside it, or another one *instead*: then an error has what the answers of that
    one have.

    With `--url` a daemon runs it; with *waits* it is given all the time it takes.  With `--strict`,
    raise Warned instead of returning a result with warnings; an operation that creates or sends
    something does so before it acts.
    """
    from scenarioctl.operations import find_handler

    command: Any = click.get_current_context().command
    if instead:
        _flags()["operation"] = instead
    operation = operation or instead or command.operation
    handler, kind = find_handler(operation)
    known = _known_ids()
    for each in read_operation(operation)["fields"]:
        name, unit = each["name"], each["unit"]
        if name in fields and unit in _LONG:
            fields[name] = read_long(fields[name], field=name, unit=unit)
        elif known and name in fields and each.get("is_stored"):
            # A second question of the command is about the same scenario, whatever `@last` is by
            # then.
            given = fields[name]
            many = isinstance(given, tuple)
            fields[name] = (
                tuple(known.get(text, text) for text in given) if many else known.get(given, given)
            )
    settings = read_settings()
    judges = "strict" in kind.__dataclass_fields__
    if judges:
        fields["strict"] = settings.strict
    request = kind(**fields)
    started = perf_counter()
    result: Any
    if settings.url:
        from scenarioctl.cli.remote import ask

        result = ask(settings, operation, request, waits=waits)
    else:
        from scenarioctl.model.request_fields import naming_fields
        from scenarioctl.operations.stored_names import needs_store

        at_once = operation in _AT_ONCE and settings.offline and not needs_store(request)
        with naming_fields(kind, fields):
            result = (_run_at_once if at_once else run)(_run_whole(handler, request))
    if _flags().get("verbose"):
        from scenarioctl.config import without_password

        answered = (
            f"the daemon at {without_password(settings.url)}"
            if settings.url
            else f"store {without_password(settings.store)}"
        )
        say(printable(f"{operation} took {perf_counter() - started:.3f} s, {answered}"))
    known.update(result.ids)
    for note in result.notes:
        tell(note)
    if judges:
        for warning in result.warnings:
            warn(warning)
    else:
        warn_or_refuse(result.warnings)
    return result


def perform_instead(operation: str, option: str, **fields: Any) -> Any:
    """Run *operation* instead of the command's, as *option* wants, with those of *fields* that it
    takes."""
    return perform(instead=operation, **fields_for(operation, option, fields))


def fields_for(operation: str, option: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of *fields* that *operation* takes; refuse *option* with another one that the
    line has."""
    taken = {each["name"] for each in read_operation(operation)["fields"]}
    context = click.get_current_context()
    for name in fields.keys() - taken:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise InvalidRequest(
                field=option,
                problem=f"cannot be combined with `{name}`: omit one of them",
            )
    return {name: value for name, value in fields.items() if name in taken}


async def _run_whole(handler: Any, request: Any) -> Any:
    from scenarioctl.operations import stored_names

    return await (await stored_names.perform(open_application(), handler, request)).whole()


def id_of(text: str) -> str:
    """Return the id of the scenario that *text* names, which this command has asked about."""
    return _known_ids().get(text, text)


def _known_ids() -> dict[str, str]:
    """Return the ids of the scenarios that this command names otherwise, as far as it knows
    them."""
    ids: dict[str, str] = (
        click.get_current_context().find_root().meta.setdefault("scenarioctl.ids", {})
    )
    return ids


def tell(note: str) -> None:
    """Print a note on stderr, unless `--quiet` forbids it."""
    if not _flags().get("quiet"):
        say(printable(spell_fields(note)))


def warn_or_refuse(warnings: Iterable[str]) -> None:
    """Print warnings of what was only looked at or built; with `--strict` raise Warned instead."""
    if read_settings().strict:
        from scenarioctl.operations.results import refuse_warnings

        refuse_warnings(warnings)
    for warning in warnings:
        warn(warning)


def warn(warning: str) -> None:
    """Print a warning on stderr, once; with `--json` as JSON.  With `--strict`, the command ends
    with its exit code."""
    flags = _flags()
    said: list[str] = flags.setdefault("warnings", [])
    if warning not in said:
        said.append(warning)
        say(
            dump_json({"warning": warning})
            if wants_json((), flags)
            else f"Warning: {printable(spell_fields(warning))}"
        )


def _flags() -> dict[str, Any]:
    """Return what is kept for the whole line: the global options, and what was said."""
    flags: dict[str, Any] = click.get_current_context().find_root().ensure_object(dict)
    return flags


def confirms() -> bool:
    """Return whether a person is there to be asked before something is removed; scripts know what
    they do."""
    return sys.stdin.isatty() and sys.stderr.isatty() and not wants_json((), _flags())


def is_verbose() -> bool:
    """Return whether details are wanted."""
    return bool(_flags().get("verbose"))


def asked_for_json() -> bool:
    return read_settings().json


def asked_for_field() -> bool:
    return _flags().get("field") is not None


def asked_for_data() -> bool:
    """Return whether JSON or one field of it is wanted, and no drawing."""
    return asked_for_json() or asked_for_field()


def print_answer(
    result: Any,
    plain: str | None = None,
    draw: Callable[[], Any] | None = None,
    *,
    is_id: bool = False,
) -> None:
    """Print a result on stdout.

    With `--json` the documented answer; else the value at *plain*, like `swap.scenarioid`; else a
    drawing on a terminal, and indented JSON everywhere else.  *is_id*: what is at *plain* is the id
    of a scenario.
    """

    def otherwise() -> None:
        if plain is not None:
            click.echo(printable(reduce(getitem, plain.split("."), result.answer)))
        elif draw is not None and sys.stdout.isatty():
            draw()
        else:
            click.echo(dump_json(result.answer, indent=2))

    emit(result.answer, otherwise, id_at=plain if is_id else None)


def print_table(
    answer: Mapping[str, Any], columns: Sequence[str], rows: Iterable[Sequence[object]]
) -> None:
    """Print an answer as a table, or with `--json` as it is."""
    emit(answer, lambda: draw_table(columns, rows))


def emit(
    answer: Mapping[str, Any], otherwise: Callable[[], object], *, id_at: str | None = None
) -> None:
    """Print the field that `--field` names, or with `--json` the answer; else do what prints it
    *otherwise*.

    JSON has the id of the scenario under `id`, whatever the interface calls it (*id_at*), and the
    warnings.
    """
    path = _flags().get("field")
    if path is not None:
        for value in find_values(_with_id(answer, id_at), path):
            click.echo(printable(value) if isinstance(value, str) else dump_json(value))
    elif wants_json((), _flags()):
        # Not `asked_for_json`: it reads config.toml, which may be what is broken, and what the
        # command is about.
        warnings = _flags().get("warnings")
        more = {"warnings": warnings} if warnings and "warnings" not in answer else {}
        click.echo(dump_json({**_with_id(answer, id_at), **more}))
    else:
        otherwise()


def _with_id(answer: Mapping[str, Any], id_at: str | None) -> Mapping[str, Any]:
    """Return *answer* with the `id` of the scenario that was created or named."""
    if "id" in answer:
        return answer
    params = click.get_current_context().params
    named = params.get("id") or params.get("scenario_id")
    if not named and id_at is not None:
        named = reduce(getitem, id_at.split("."), answer)
    return {**answer, "id": id_of(named)} if named else answer
