"""`scenarioctl status` and `store`: what needs you, and the store itself."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from scenarioctl.cli.commands import Command, Group
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
from scenarioctl.cli.output import (
    bold,
    brief_time,
    draw_facts,
    draw_table,
    head_age,
    printable,
    say,
)

#: Jobs in progress that a line of the terminal names.
_NAMED = 3
#: Newest runs that a line of the terminal shows.
_SHOWN = 10
_MARKS = {"executed": "+", "failed": "x"}


@click.command(
    cls=Command, operation="status.show_status", example="scenarioctl status --field needs.count"
)
def status() -> None:
    """Show what needs you, and how the chains, the worker and the jobs are.

    In the column of the last runs, the newest stands last: + for a run that succeeded, x for one
    that failed.
    """
    standing = perform()
    print_answer(standing, draw=lambda: draw_status(standing.answer))


def draw_status(answer: Mapping[str, Any]) -> None:
    """Print what `status` answers, as facts and tables."""
    needs = answer["needs"]
    facts = {
        "version": answer["version"],
        "worker": "running" if answer["worker"] else "not running",
        "scenarios": answer["scenarios"],
        "jobs": answer["jobs_total"],
        "needs you": needs["count"],
    }
    draw_facts(facts)
    _part(
        "chains",
        ("chain", "state", "best block", "its time", "age"),
        [
            (
                each["name"],
                _state(each),
                each["block"],
                brief_time(each["block_time"]),
                head_age(each),
            )
            for each in answer["chains"]
        ],
    )
    draw_workers(answer["workers"])
    _part(
        "to sign",
        ("scenario", "what", "chain", "amount", "expires", "draft"),
        [
            (
                each["id"],
                each["name"] or each["title"],
                each["chain"],
                each.get("human", each["amount"]),
                brief_time(each["expires"]),
                each["draft"],
            )
            for each in needs["sign"]
        ],
    )
    for name in ("paused", "failing"):
        _part(
            name,
            ("scenario", "what", "since", "failures", "reason"),
            [
                (
                    each["id"],
                    each["name"] or each["title"],
                    brief_time(each["since"]),
                    each["failures"],
                    each["reason"],
                )
                for each in needs[name]
            ],
        )
    _part(
        "jobs",
        ("scenario", "what", "state", "schedule", "next run", "drafts", "last runs"),
        [
            (
                each["id"],
                each["name"] or each["title"],
                each["state"],
                each["schedule"],
                brief_time(each["next"]),
                each["drafts"],
                "".join(_MARKS[run["outcome"]] for run in reversed(each["runs"][:_SHOWN])) or None,
            )
            for each in answer["jobs"]
        ],
    )


def draw_workers(workers: Sequence[Mapping[str, Any]]) -> None:
    """Print a row for each worker."""
    _part(
        "workers",
        ("host", "process", "version", "clock", "last seen", "runs", "jobs"),
        [
            (
                each["host"],
                each["process"],
                each["version"],
                None if each["clock_offset"] is None else f"{each['clock_offset']:+.3f} s",
                brief_time(each["last_seen"]) + " (silent)" * each["silent"],
                each["running"],
                " ".join(each["jobs"][:_NAMED]) + " …" * (each["running"] > _NAMED),
            )
            for each in workers
        ],
    )


def _part(title: str, columns: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    if rows:
        click.echo(f"\n{bold(title)}")
        draw_table(columns, rows)


def _state(chain: Mapping[str, Any]) -> str:
    return f"{chain['state']}: {chain['reason']}" if chain["reason"] else str(chain["state"])


@click.group(cls=Group)
def store() -> None:
    """Create, check, back up, restore and copy the store."""


@store.command(example="scenarioctl store init")
@option(
    "--grant",
    metavar="ROLE",
    help="Let this role of the server read and write, but not change tables.",
)
def init(grant: str | None) -> None:
    """Create the tables of the store.

    On a PostgreSQL server, all tables are in the schema `scenarioctl`, with those of the dispatch
    engine. If they are there already, they stay as they are.
    """
    from scenarioctl.config import without_password
    from scenarioctl.stores import create_store

    settings = open_application().settings
    created = run(create_store(settings.store, grant=grant or ""))
    location = without_password(settings.store)
    emit({"store": location, "created": created}, lambda: click.echo(location))
    if not created:
        tell("The tables are there already.")


@store.command(example="scenarioctl store backup scenarios.backup.db")
@argument("file", metavar="FILE")
def backup(file: str) -> None:
    """Copy the store to a new file, while daemons and commands use it.

    FILE has everything as it is at one moment, and is verified before it appears. For a store on a
    PostgreSQL server, use pg_dump.
    """
    from scenarioctl.stores import back_up_store

    location = read_settings().store
    size = back_up_store(location, file)
    emit({"store": location, "file": file, "bytes": size}, lambda: click.echo(printable(file)))
    tell("Verified: the copy is complete.")


@store.command(example="scenarioctl --store restored.db store restore scenarios.backup.db")
@argument("file", metavar="FILE")
def restore(file: str) -> None:
    """Create the store from a backup.

    FILE is verified first. Stop all daemons of the previous store, and move its files away. Jobs
    that ran at the time of the backup are stopped: they would draft again what was signed since.
    For a store on a PostgreSQL server, use pg_restore.
    """
    import time

    from scenarioctl.stores import restore_store

    location = read_settings().store
    done = run(restore_store(location, file, now=time.time_ns()))
    answer = {
        "store": location,
        "file": file,
        "bytes": done.bytes,
        "stopped": list(done.stopped),
    }
    emit(answer, lambda: click.echo(printable(location)))
    for id in done.stopped:
        tell(
            f"Stopped job {id}. Before you start it, find out which of its later drafts were sent."
        )


@store.command(
    example=(
        "scenarioctl store copy scenarios.db postgresql://owner@db.example.org/scenarioctl "
        "--stop-jobs"
    )
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

    FROM and TO are paths or postgresql:// URLs. Log lines, drafts and events keep their numbers.

    Stop all daemons of both stores first. During the copy, others can read FROM and not write to
    it. The copy's jobs are stopped: start them with `scenarioctl job start`.
    """
    import time

    from scenarioctl.config import refuse_password, without_password
    from scenarioctl.stores.copying import copy_store

    for name, location in (("FROM", source), ("TO", target)):
        refuse_password(
            location, name, instead="into the file of a service (postgresql://?service=NAME)"
        )
    stopped, copied = run(copy_store(source, target, stop=stop_jobs, now=time.time_ns()))
    for id in stopped:
        tell(f"Stopped job {id}.")
    names = {"source": without_password(source), "target": without_password(target)}
    rows = [{"table": table, "rows": count} for table, count in copied.items()]
    answer = {**names, "stopped": stopped, "tables": rows}
    print_table(answer, ("table", "rows"), (list(row.values()) for row in rows))


@store.command(operation="stores.check_store", example="scenarioctl store check")
def check() -> None:
    """Print the store's version, its workers, and what an operator should do about them."""
    result = perform()
    print_answer(result, draw=lambda: _draw_store(result.answer))


def _draw_store(answer: Mapping[str, Any]) -> None:
    skew = answer["clock_skew"]
    facts = {
        "store": answer["store"],
        "engine": answer["engine"],
        "version of the tables": answer["version"],
        "clock skew": "" if skew is None else f"{skew:.3f} s",
        "stalled runs": answer["stalled_runs"],
    }
    draw_facts({name: value for name, value in facts.items() if value != ""})
    draw_workers(answer["workers"])
    for finding in answer["findings"]:
        say(f"{printable(finding)}.")
