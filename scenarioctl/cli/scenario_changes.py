"""`scenarioctl scenario rename`, `tag`, `duplicate`, `edit` and `flow`."""

from functools import partial
from typing import Any

import click

from scenarioctl.cli.commands import Command
from scenarioctl.cli.execution import emit, perform, print_answer, tell
from scenarioctl.cli.input import IMPORT_LIMIT, read_text
from scenarioctl.cli.options import argument, option

_FLOW = "scenario_changes.scenario_flow"


@click.command(
    cls=Command,
    operation="scenario_changes.rename_scenario",
    example="scenarioctl scenario rename 3kf9Qz7aB 'Monthly rent'",
)
@argument("id", metavar="ID")
@argument("name", metavar="NAME")
def rename(**fields: Any) -> None:
    """Give a scenario a name, for lists and --search. An empty name removes it. The id is printed."""
    print_answer(perform(**fields), plain="id")


@click.command(
    cls=Command,
    operation="scenario_changes.tag_scenario",
    example="scenarioctl scenario tag 3kf9Qz7aB treasury monthly --remove draft",
)
@argument("id", metavar="ID")
@click.argument("tags", metavar="[TAG]...", nargs=-1)
@click.option("--remove", metavar="TAG", multiple=True, help="Remove this tag; may be repeated.")
def tag(**fields: Any) -> None:
    """Add tags to a scenario and remove some, for scenario list --tag. Its tags are printed, one per line."""
    answer = perform(**fields).answer
    emit(answer, partial(_print_lines, answer["tags"]))


def _print_lines(lines: list[str]) -> None:
    for line in lines:
        click.echo(line)


@click.command(
    cls=Command,
    operation="scenario_changes.duplicate_scenario",
    example="scenarioctl scenario duplicate 3kf9Qz7aB --name 'Rent of the second office'",
)
@argument("id", metavar="ID")
@option(
    "--name", metavar="NAME", help="Name of the copy (default: the name of the scenario, followed by (copy))."
)
def duplicate(**fields: Any) -> None:
    """Store a copy of a scenario, without its job, and print the id of the copy.

    Each webhook of the copy gets an address of its own.
    """
    print_answer(perform(**fields), plain="id")


@click.command(cls=Command, operation=_FLOW, example="scenarioctl scenario flow 3kf9Qz7aB > rent.toml")
@argument("id", metavar="ID")
@option(
    "--syntax",
    metavar="toml|json",
    choices=("toml", "json"),
    default="toml",
    help="Syntax of the file: toml (default) or json.",
)
@click.option("--or-diagram", is_flag=True, help="Print the diagram as JSON if a flow file cannot hold it.")
def flow(**fields: Any) -> None:
    """Print a scenario as a flow file, as scenario edit opens it."""
    print_flow(**fields)


def print_flow(**fields: Any) -> None:
    answer = perform(operation=_FLOW, **fields).answer
    emit(answer, partial(click.echo, answer["text"], nl=False))


@click.command(
    cls=Command,
    operation="scenario_changes.replace_scenario",
    example="scenarioctl scenario edit 3kf9Qz7aB --file rent.toml",
)
@argument("id", metavar="ID")
@option(
    "--file",
    "-f",
    metavar="FILE",
    help="Take the new version from a flow file or a diagram, without an editor; - reads stdin.",
)
@option(
    "--revision",
    metavar="REVISION",
    default="",
    help="Replace only this version, as scenario show --json names it.",
)
def edit(id: str, file: str | None, revision: str) -> None:
    """Change a scenario in your editor ($VISUAL or $EDITOR), and print its id.

    It opens as a flow file, or as the JSON of its diagram if a flow file can't hold it. If you save an error, the editor
    opens again and shows it. The id, the job, the log and the drafts stay; a running job uses the new version from its next
    run.
    """
    if file is not None:
        content = read_text(file, field="file", limit=IMPORT_LIMIT)
        print_answer(perform(id=id, content=content, revision=revision), plain="id")
        return
    from scenarioctl.cli.editor import check_terminal, edit_text

    written = perform(operation=_FLOW, id=id, or_diagram=True).answer
    check_terminal()
    about = [
        f"Scenario {id}. Save it to replace the scenario. If you change nothing, or empty the file, it stays as it is."
    ]
    if "reason" in written:
        about.append(f"This is its diagram, since a flow file cannot hold it: {written['reason']}")
    result = edit_text(
        written["text"],
        about=about,
        name=f"{id}.{'toml' if written['form'] == 'flow' else 'json'}",
        save=lambda content: perform(id=id, content=content, revision=revision or written["revision"]),
    )
    if result is None:
        tell("Nothing changed.")
        emit({"id": id, "revision": written["revision"], "changed": False}, partial(click.echo, id))
    else:
        print_answer(result, plain="id")
