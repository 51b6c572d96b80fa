"""`scenarioctl scenario`: the stored scenarios."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from scenarioctl.cli.commands import Command, Group
from scenarioctl.cli.create import preview
from scenarioctl.cli.drawing import (
    drawn_command,
    plain_command,
    print_drawn,
    print_one,
    show_meaning,
)
from scenarioctl.cli.execution import (
    IMPORT_LIMIT,
    asked_for_data,
    asked_for_json,
    confirms,
    emit,
    id_of,
    perform,
    print_answer,
    read_text,
    tell,
    warn_or_refuse,
)
from scenarioctl.cli.options import argument, option
from scenarioctl.cli.output import (
    draw_facts,
    dump_json,
    printable,
    say,
)
from scenarioctl.errors import (
    BadJson,
    Conflict,
    InvalidRequest,
    NotFound,
    ScenarioctlError,
    TooLarge,
)
from scenarioctl.model.amounts import read_choice

if TYPE_CHECKING:
    from scenarioctl.formats.documents import BagpipesScenario


_FLOW = "scenario_changes.scenario_flow"


@click.command(
    cls=Command,
    operation="scenario_changes.replace_scenario",
    arguments=("id",),
    without=("content",),
    example="scenarioctl scenario edit 3kf9Qz7aB --file rent.toml\n"
    "  scenarioctl scenario edit 3kf9Qz7aB --name 'Monthly rent' --tag treasury",
)
@option(
    "--file",
    "-f",
    metavar="FILE",
    help="Take the new version from a flow file or a diagram, without an editor; - reads stdin.",
)
def edit(id: str, file: str | None, **fields: Any) -> None:
    """Change a scenario in your editor ($VISUAL or $EDITOR), or its name and tags; print its id.

    It opens as a flow file, or as the JSON of its diagram if a flow file can't hold it. If you save
    an error, it is shown, and you can go on editing. The id, the job, the log and the drafts stay;
    a running job uses the new version from its next run.
    """
    if file is not None or fields["name"] is not None or fields["tags"]:
        if file is not None:
            fields["content"] = read_text(file, field="file", limit=IMPORT_LIMIT)
        print_answer(perform(id=id, **fields), plain="id")
        return
    written = perform(operation=_FLOW, id=id, or_diagram=True).answer
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidRequest(
            "the editor needs a terminal on stdin and stdout. Pass the new version with "
            "--file FILE, or --file - for stdin."
        )
    if "reason" in written:
        tell(f"This is its diagram, since a flow file cannot hold it: {written['reason']}")
    text, extension = written["text"], ".toml" if written["form"] == "flow" else ".json"
    while (edited := _edited(text, extension)) is not None:
        text = edited
        try:
            answer = perform(
                id=id, content=text, revision=fields["revision"] or written["revision"]
            )
        except ScenarioctlError as error:
            say(f"Error: {printable(error)}")
            if not click.confirm("Go on editing?", default=True, err=True):
                raise
        else:
            print_answer(answer, plain="id")
            return
    tell("Nothing changed.")
    emit({"id": id, "revision": written["revision"], "changed": False}, partial(click.echo, id))


def _edited(text: str, extension: str) -> str | None:
    """Return what the person's editor leaves of *text*; None if that is the same or empty."""
    try:
        edited = click.edit(text, extension=extension)
    except ValueError as error:
        raise InvalidRequest(f"the editor's command or text cannot be read: {error}") from None
    return edited if edited is not None and edited.strip() not in ("", text.strip()) else None


@click.group(cls=Group)
def scenario() -> None:
    """List, show, build, change, import, export and delete scenarios.

    ID is the id of a scenario, its first 4 or more characters, its name, or @last, the scenario
    created last.
    """


scenario.add_command(
    drawn_command(
        "list",
        "scenarios.list_scenarios",
        example="scenarioctl scenario list --chain hydraDx --search swap --limit 20",
    )
)


@scenario.command(
    operation="scenarios.show_scenario",
    others=("payouts.list_payments",),
    arguments=("id",),
    example="scenarioctl scenario show 3kf9Qz7aB\n"
    "  scenarioctl scenario show 3kf9Qz7aB --payments --csv > paid.csv",
)
@click.option(
    "--payments",
    is_flag=True,
    help="List the payments of a payout instead, and what became of each: their chains are asked.",
)
@click.option("--csv", is_flag=True, help="With --payments: as CSV, with memo, chain and block.")
def show(payments: bool, csv: bool, **fields: Any) -> None:
    """Show the steps of a scenario, their problems, and what of it was sent."""
    if csv and not payments:
        raise InvalidRequest(field="csv", problem="is only for --payments")
    if payments:
        print_drawn("payouts.list_payments", csv=csv, **fields)
    else:
        print_drawn(**fields)


info = plain_command(
    "info",
    "scenarios.scenario_info",
    prints="result",
    arguments=("id",),
    hidden=True,
)
for each in (info, preview, edit):
    scenario.add_command(each)


@scenario.command(
    operation="scenarios.full_scenario_info",
    others=("builds.batch_scenario",),
    arguments=("id",),
    example="scenarioctl --offline scenario build 3kf9Qz7aB\n"
    "  scenarioctl --offline scenario build 3kf9Qz7aB --step 1 > tx.hex",
)
@click.option(
    "--all", "every", is_flag=True, help="Build the transactions of all steps, one per line."
)
@click.option(
    "--batch",
    "together",
    is_flag=True,
    help=(
        "Join the transactions of all steps in one, with one signature: everything happens, or "
        "nothing."
    ),
)
def build(every: bool, together: bool, **fields: Any) -> None:
    """Build the unsigned transaction of a scenario; stderr says what it does, and stdout has its
    hex alone.

    If the scenario has several, it builds the first one, or that of --step.
    """
    given = [
        name
        for name, is_given in (("step", fields["step"]), ("all", every), ("batch", together))
        if is_given
    ]
    if len(given) > 1:
        raise InvalidRequest(
            field=given[0], problem=f"cannot be combined with --{given[1]}: omit one of them"
        )
    if together:
        del fields["step"]
        print_one(perform(instead="builds.batch_scenario", **fields), "tx")
        return
    result = perform(**fields)
    answer = result.answer["result"]
    others = answer.get("transactions", [])
    for each in others[: None if every else 1] or [answer]:
        if "says" in each:
            show_meaning(each)
    if not asked_for_json():
        if sys.stdout.isatty():
            tell(f"See fees and what arrives: scenarioctl tx check {fields['id']} --sender ADDRESS")
        if len(others) > 1 and not every:
            tell(
                f"{len(others)} transactions in all: --all builds each of them, --step N "
                "one, and --batch joins them if one transaction can hold them."
            )
    if every and not asked_for_data():
        _print_all(others or [answer])
    else:
        print_answer(result, plain="result.tx")


def _print_all(transactions: Sequence[Mapping[str, Any]]) -> None:
    """Print the transactions of all steps; fail with the first error if a step could not draft."""
    # Those of the first one are told already.
    warnings = [
        f"{each['node']}: {text}" for each in transactions[1:] for text in each.get("warnings", ())
    ]
    warn_or_refuse(warnings)
    drafted = [each for each in transactions if "error" not in each]
    if sys.stdout.isatty():
        for number, each in enumerate(drafted):
            if number:
                click.echo()
            draw_facts({name: value for name, value in each.items() if name != "warnings"})
    else:
        for each in drafted:
            click.echo(each["tx"])
    failed = [each for each in transactions if "error" in each]
    if failed:
        from scenarioctl.operations.results import OUTCOMES

        for each in failed:
            say(f"Error: {printable(each['node'])}: {printable(each['error'])}")
        click.get_current_context().exit(OUTCOMES[failed[0]["code"]].exit)


@scenario.command(
    "import",
    operation="scenarios.import_scenario",
    without=("url",),
    example="scenarioctl scenario import diagram.json",
)
@argument("source", metavar="PATH|-|STRING")
def import_(source: str, **fields: Any) -> None:
    """Store a diagram of the web editor, and print its id.

    The source is a file or stdin (-) with the editor's share string or the diagram's JSON, or a
    share string or link itself. A diagram that is stored already keeps its id.

    The file in which the original API keeps scenarios (urls2.json) is brought in with its ids.
    """
    from scenarioctl.formats.documents import read_bagpipes_store

    text = _read_source(source)
    entries = read_bagpipes_store(text, limit=IMPORT_LIMIT)
    if entries is None:
        result = perform(url=text, **fields)
        print_answer(result, plain="shortUrl", is_id=True)
        return
    if fields["id"]:
        raise InvalidRequest(
            field="id",
            value=fields["id"],
            problem="cannot be combined with a file of several scenarios: omit it",
        )
    _import_all(entries)


def _given(value: object, field: str, expected: str) -> str:
    if isinstance(value, str) and value:
        return value
    raise InvalidRequest(field=field, problem="is missing", expected=expected)


def _import_all(entries: "tuple[BagpipesScenario, ...]") -> None:
    """Store each scenario of the original API's file under its id; one that is refused keeps no
    other one out."""
    from scenarioctl.operations.results import OUTCOMES

    imported, refused = [], []
    for number, entry in enumerate(entries, start=1):
        name = entry.id if isinstance(entry.id, str) else entry.place
        say(f"{number} of {len(entries)}: {printable(name)[:80]}")
        try:
            result = perform(
                url=_given(entry.share, f"{entry.place}.longUrl", "a share string"),
                id=_given(entry.id, f"{entry.place}.shortUrl", "the id of a scenario"),
            )
        except (InvalidRequest, BadJson, Conflict, TooLarge) as error:
            # What is wrong with one entry; a store or a daemon that fails ends it all.
            say(f"Refused: {printable(str(error))}")
            refused.append({"id": entry.id, "error": str(error), "code": error.code})
        else:
            imported.append(entry.id)
            if not asked_for_json():
                print_answer(result, plain="shortUrl", is_id=True)
    if asked_for_json():
        click.echo(dump_json({"imported": imported, "refused": refused}))
        click.get_current_context().exit(OUTCOMES[InvalidRequest.code].exit if refused else 0)
    if refused:
        raise InvalidRequest(
            f"{len(refused)} of {len(entries)} scenarios were refused; the others are in the store"
        )


def _read_source(source: str) -> str:
    """Return the text that *source* names, or *source* itself where it can only be a share
    string."""
    from pathlib import Path

    if source == "-":
        return read_text(source, field="source", limit=IMPORT_LIMIT)
    try:
        is_path = Path(source).exists()
    except (OSError, ValueError):
        is_path = False
    # A share string is long and holds no dot; a short or dotted word is a path that was mistyped.
    if is_path or len(source) < 32 or source.endswith((".json", ".txt")):
        return read_text(source, field="source", limit=IMPORT_LIMIT)
    return source


@scenario.command(
    operation="scenarios.export_scenario",
    others=(_FLOW,),
    arguments=("id",),
    example="scenarioctl scenario export 3kf9Qz7aB --as json",
)
@option(
    "--as",
    "form",
    metavar="FORM",
    choices=("share", "json", "flow"),
    default="share",
    help=(
        "Format: share (default; for the web editor), json, or flow (a flow file, as scenario "
        "edit opens it)."
    ),
)
@option("--syntax", default="toml", hidden=True)
@click.option("--or-diagram", is_flag=True, hidden=True)
def export(form: str, syntax: str, or_diagram: bool, **fields: Any) -> None:
    """Print a scenario as the editor's share string, as JSON, or as a flow file."""
    read_choice(form, field="as", choices=("share", "json", "flow"))
    if form == "flow":
        written = perform(instead=_FLOW, syntax=syntax, or_diagram=or_diagram, **fields).answer
        emit(written, partial(click.echo, written["text"], nl=False))
        return
    result = perform(form=form, **fields)
    if form == "json":
        click.echo(dump_json(result.answer["diagram"], indent=2))
    else:
        print_answer(result, plain="longUrl")


@scenario.command(
    operation="scenarios.delete_scenario",
    without=("id",),
    example="scenarioctl scenario delete --yes lnr8CfoQX hLhmE6m0j",
)
@argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("--yes", "-y", is_flag=True, help="Don't ask: required without a terminal.")
def delete(ids: tuple[str, ...], yes: bool) -> None:
    """Remove scenarios from the store, with their jobs, logs and drafts.

    On a terminal you are asked first. Without one, and with --json, --yes is required. Each id is
    printed once its scenario is removed. Those that can't be removed are reported, and the others
    are removed.
    """
    if not yes and not confirms():
        raise InvalidRequest(
            field="--yes",
            problem=(
                "is missing: without a terminal, and with --json, nobody can be asked before "
                "scenarios are deleted"
            ),
        )
    ids = tuple(dict.fromkeys(ids))
    refused: list[ScenarioctlError] = []
    # Before any is deleted: `@last` would be another one then. What deletes takes ids alone.
    found = tuple(dict.fromkeys(_find(ids, refused)))
    if found and not yes:
        named = [printable(_describe(id)) for id in found]
        if named[1:]:
            say("\n".join(named))
        what = f"{len(found)} scenarios" if named[1:] else named[0]
        click.confirm(f"Delete {what}, with log and drafts?", abort=True, err=True)
    for id in found:
        try:
            result = perform(id=id)
        except (InvalidRequest, NotFound, Conflict) as error:
            refused.append(error)
            continue
        emit({**result.answer, "id": id}, partial(click.echo, printable(id)))
    if refused and len(ids) == 1:
        raise refused[0]
    for each in refused:
        say(f"Refused: {printable(str(each))}")
    if refused:
        raise type(refused[0])(f"{len(refused)} of {len(ids)} scenarios could not be deleted")


def _find(ids: Iterable[str], refused: list[ScenarioctlError]) -> Iterator[str]:
    """Yield the id of each scenario; add to *refused* why others are not found."""
    for id in ids:
        try:
            perform(operation="scenarios.scenario_info", id=id)
        except (InvalidRequest, NotFound) as error:
            refused.append(error)
            continue
        yield id_of(id)


def _describe(id: str) -> str:
    """Return an id with the name and the title of its scenario, and whether its job is running, as
    far as that can be read."""
    what = id
    with suppress(ScenarioctlError):
        shown = perform(operation="scenarios.show_scenario", id=id).answer
        what += f" ({': '.join(filter(None, (shown.get('name'), shown['title'])))})"
        if perform(operation="jobs.job_status", id=id).answer["state"] == "running":
            what += ", whose job is running"
    return what
