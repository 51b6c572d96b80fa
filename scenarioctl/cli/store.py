"""`scenarioctl store`: the store itself."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from scenarioctl.cli.commands import Group
from scenarioctl.cli.execution import (
    emit,
    open_application,
    perform,
    print_answer,
    print_table,
    read_settings,
    run,
    tell,
)
from scenarioctl.cli.options import argument, option
from scenarioctl.cli.output import draw_facts, printable, say
from scenarioctl.cli.status import draw_workers

if TYPE_CHECKING:
    from scenarioctl.stores.copying import CopiedTable


@click.group(cls=Group)
def store() -> None:
    """Create, check, copy and migrate the store."""


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
    emit({"store": location, "created": created}, lambda: click.echo(location))
    if not created:
        tell("The tables are there already.")


@store.command(
    example="scenarioctl store copy scenarios.db postgresql://owner@db.example.org/scenarioctl --stop-jobs"
)
@argument("source", metavar="FROM")
@argument("target", metavar="TO")
@option(
    "--stop-jobs",
    is_flag=True,
    help="Stop running jobs of the source first. Without it, running jobs prevent the copy.",
)
def copy(source: str, target: str, stop_jobs: bool) -> None:
    """Copy everything in a store to another, empty one.

    FROM and TO are paths or postgresql:// URLs. Log lines, drafts and events keep their numbers. At the end, all rows of both
    stores are compared.

    Stop all daemons of both stores first. During the copy, others can read FROM and not write to it. The copy's jobs are
    stopped: start them with `scenarioctl job start`.

    If the copy is interrupted, run the command again: it compares what is there, and continues.
    """
    from scenarioctl.config import refuse_password, without_password

    for name, location in (("FROM", source), ("TO", target)):
        refuse_password(location, name, instead="into the file of a service (postgresql://?service=NAME)")
    stopped, tables = run(_copy(source, target, stop_jobs=stop_jobs))
    rows = [
        {"table": each.name, "rows": each.rows, "copied": each.copied, "hash": each.digest} for each in tables
    ]
    names = {"source": without_password(source), "target": without_password(target)}
    answer = {**names, "stopped": stopped, "tables": rows}
    print_table(answer, ("table", "rows", "copied now", "hash"), (list(row.values()) for row in rows))
    total = sum(each.rows for each in tables)
    tell(f"Verified: both stores have the same {total} rows.")


async def _copy(source: str, target: str, *, stop_jobs: bool) -> "tuple[list[str], list[CopiedTable]]":
    import time

    from scenarioctl.cli.progress import shown_bar
    from scenarioctl.stores.copying import StoreCopy

    async with StoreCopy.open(source, target) as copy:
        stopped = await copy.stop_jobs(stop=stop_jobs, now=time.time_ns())
        # At once: when an interrupted copy is continued, these jobs are not running any more.
        for id in stopped:
            tell(f"Stopped job {id}.")
        with shown_bar() as progress:
            return stopped, await copy.perform(progress)


@store.command(example="scenarioctl store migrate")
@option(
    "--contract",
    is_flag=True,
    help="Also remove what only older daemons need. Pass it when none of them runs any more.",
)
def migrate(contract: bool) -> None:
    """Bring the tables of the store to the version of this program.

    Daemons of older versions can run meanwhile. What they still need is removed only with `--contract`. The tables of a SQLite
    file are also migrated by any other command that opens it.
    """
    from scenarioctl.config import without_password
    from scenarioctl.stores import migrate_store

    location = read_settings().store
    done = run(migrate_store(location, contract=contract))
    answer = {
        "store": without_password(location),
        "version": done.version,
        "newest": done.newest,
        "applied": list(done.applied),
        "waiting": list(done.waiting),
        "usable": done.is_usable,
    }
    emit(answer, lambda: click.echo("".join(f"{name}\n" for name in done.applied), nl=False))
    if not done.applied and not done.waiting:
        tell(f"Nothing to do: the tables have version {done.version}.")
    if done.waiting:
        names = ", ".join(done.waiting)
        if done.is_usable:
            tell(
                f"Waiting: {names}. When no older daemon runs any more, run: scenarioctl store migrate --contract"
            )
        else:
            say(
                f"Waiting: {names}. This version cannot run without them, and older daemons cannot run with them. Stop all"
                " daemons, then run: scenarioctl store migrate --contract"
            )


@store.command(operation="stores.check_store", example="scenarioctl store check")
def check() -> None:
    """Print the store's version, its workers, and what an operator should do about them."""
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
    draw_workers(answer["workers"])
    for finding in answer["findings"]:
        say(f"{printable(finding)}.")
