"""`scenarioctl store`: the store itself."""

from collections.abc import Mapping
from typing import Any

import click

from scenarioctl.cli.commands import Group
from scenarioctl.cli.execution import asked_for_json, open_application, perform, print_answer, run
from scenarioctl.cli.options import option
from scenarioctl.cli.output import draw_facts, dump_json, printable, say


@click.group(cls=Group)
def store() -> None:
    """Create and check the store."""


@store.command(example="scenarioctl store init")
@option("--grant", metavar="ROLE", help="Let this role of the server read and write, but not change tables.")
def init(grant: str | None) -> None:
    """Create the tables of the store.

    On a PostgreSQL server, all tables are in the schema `scenarioctl`, with those of the dispatch engine. If they are
    there already, they stay as they are.
    """
    from scenarioctl.config import without_password
    from scenarioctl.stores import create_store

    settings = open_application().settings
    created = run(create_store(settings.store, grant=grant or ""))
    location = without_password(settings.store)
    if asked_for_json():
        click.echo(dump_json({"store": location, "created": created}))
        return
    click.echo(location)
    if not created:
        say("The tables are there already.")


@store.command(operation="stores.check_store", example="scenarioctl store check")
def check() -> None:
    """Print the store's version and what an operator should do about it."""
    result = perform()
    print_answer(result, draw=lambda: _draw(result.answer))


def _draw(answer: Mapping[str, Any]) -> None:
    skew = answer["clock_skew"]
    facts = {
        "store": answer["store"],
        "engine": answer["engine"],
        "version of the tables": f"{answer['version']} of {answer['newest']}",
        "extensions": ", ".join(answer["extensions"]),
        "clock skew": "" if skew is None else f"{skew:.3f} s",
        "dead rows": answer["dead_rows"],
        "stalled runs": answer["stalled_runs"],
    }
    draw_facts({name: value for name, value in facts.items() if value != ""})
    for finding in answer["findings"]:
        say(f"{printable(finding)}.")
