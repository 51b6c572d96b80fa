"""`scenarioctl scenario` and its short form `info`."""

from typing import Any

import click

from scenarioctl.cli.base import (
    Command,
    Group,
    argument,
    asked_for_json,
    draw_facts,
    draw_table,
    dump_json,
    field_option,
    option,
    perform,
    print_answer,
    printable,
    read_text,
    say,
)
from scenarioctl.cli.checking import check_option, show_check
from scenarioctl.cli.fields import yes_option
from scenarioctl.cli.preview import preview
from scenarioctl.cli.signing import transaction_options
from scenarioctl.errors import InvalidRequest, shorten

#: A share string of the largest diagram that can be stored.
IMPORT_LIMIT = 32 * 1024 * 1024


@click.group(cls=Group)
def scenario() -> None:
    """Look at stored scenarios; import, export, delete them."""


@scenario.command(
    "list",
    operation="scenarios.list_scenarios",
    example="scenarioctl scenario list --chain hydraDx --search swap --limit 20",
)
@option("--limit", metavar="N", default=50, help="At most this many (default 50, at most 1000).")
@option("--after", metavar="CURSOR", default="", help="Go on after the page that gave this cursor.")
@option("--chain", metavar="CHAIN", default="", help="Only scenarios in which this chain appears.")
@option("--search", metavar="TEXT", default="", help="Only those whose summary or id holds this text.")
@option(
    "--sort",
    metavar="KEY",
    choices=("created", "id", "summary"),
    default="created",
    help="created (default), id or summary.",
)
@click.option("--descending", is_flag=True, help="Newest, or last in the alphabet, first.")
def list_(**fields: Any) -> None:
    """List the stored scenarios: id, date, summary."""
    page = perform("scenarios.list_scenarios", "ListScenarios", **fields).answer()
    if asked_for_json():
        click.echo(dump_json(page))
        return
    draw_table(
        ("id", "created", "summary"),
        [(row["id"], row["created"][:19] + "Z", row["summary"]) for row in page["scenarios"]],
    )
    if page["next"]:
        say(f"{page['total']} in all; more with --after {page['next']}")


@scenario.command(operation="scenarios.show_scenario")
@click.argument("scenario_id", metavar="ID")
@field_option
def show(scenario_id: str) -> None:
    """Show a scenario's steps, and what is wrong with them."""
    view = perform("scenarios.show_scenario", "ShowScenario", id=scenario_id)

    def draw() -> None:
        answer = view.answer()
        draw_facts({name: answer[name] for name in ("id", "summary", "created")})
        click.echo()
        draw_table(("step", "kind", "what"), [(n["id"], n["type"], n["text"]) for n in answer["nodes"]])
        for problem in answer["problems"]:
            what = "Filled in by a run," if problem.get("waiting") else "Problem"
            click.echo(f"\n{what} in {printable(problem['node'] or 'the diagram')}: {problem['problem']}")

    print_answer(view, draw=draw)


@click.command("info", cls=Command, operation="scenarios.scenario_info", example="scenarioctl info 3kf9Qz7aB")
@click.argument("scenario_id", metavar="ID")
def info(scenario_id: str) -> None:
    """Summarise a scenario in one line."""
    result = perform("scenarios.scenario_info", "ScenarioInfo", id=scenario_id)
    print_answer(result, plain=result.answer()["result"])


scenario.add_command(info)
scenario.add_command(preview)


@scenario.command(
    operation="scenarios.full_scenario_info", example="scenarioctl --offline scenario full 3kf9Qz7aB"
)
@click.argument("scenario_id", metavar="ID")
@yes_option
@check_option
@transaction_options
@field_option
def full(scenario_id: str, **fields: Any) -> None:
    """Describe the first step that drafts a transaction, and draft it."""
    result = perform("scenarios.full_scenario_info", "FullScenarioInfo", id=scenario_id, **fields)
    show_check(result)
    print_answer(result, draw=lambda: draw_facts(result.answer()["result"]))


@scenario.command(
    "import", operation="scenarios.import_scenario", example="scenarioctl scenario import diagram.json"
)
@argument("source", metavar="PATH|-|STRING")
def import_(source: str) -> None:
    """Store a diagram of the web editor, and print its id.

    The source is a file or stdin (-) with the editor's share string or the diagram's JSON, or a share
    string or link itself.
    """
    result = perform("scenarios.import_scenario", "ImportScenario", url=_read_source(source))
    print_answer(result, plain=result.answer()["shortUrl"])


def _read_source(source: str) -> str:
    """Return the text that *source* names, or *source* itself where it can only be a share string."""
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
    operation="scenarios.export_scenario", example="scenarioctl scenario export 3kf9Qz7aB --as json"
)
@click.argument("scenario_id", metavar="ID")
@option(
    "--as",
    "form",
    metavar="FORM",
    choices=("share", "json"),
    default="share",
    help="share (default; for the web editor) or json.",
)
def export(scenario_id: str, form: str) -> None:
    """Print a scenario as the editor's share string, or as JSON."""
    if form not in {"share", "json"}:
        raise InvalidRequest(f"as {shorten(form)} is not a form, expected share or json")
    result = perform("scenarios.export_scenario", "ExportScenario", id=scenario_id)
    share = result.answer()["longUrl"]
    if form == "json":
        from scenarioctl.formats.share import read_share

        click.echo(dump_json(read_share(share, field="longUrl"), indent=2))
    else:
        print_answer(result, plain=share)


@scenario.command(operation="scenarios.delete_scenario")
@click.argument("scenario_id", metavar="ID")
def delete(scenario_id: str) -> None:
    """Remove a scenario from the store."""
    result = perform("scenarios.delete_scenario", "DeleteScenario", id=scenario_id)
    print_answer(result, plain=scenario_id)
