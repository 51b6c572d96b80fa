"""`scenarioctl status`: what needs you, and how all of it is."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from scenarioctl.cli.commands import Command
from scenarioctl.cli.execution import perform, print_answer
from scenarioctl.cli.output import bold, brief_time, draw_facts, draw_table

#: Jobs in progress that a line of the terminal names.
_NAMED = 3
#: Newest runs that a line of the terminal shows.
_SHOWN = 10
_MARKS = {"executed": "+", "failed": "x"}


@click.command(cls=Command, operation="status.show_status", example="scenarioctl status --field needs.count")
def status() -> None:
    """Show what needs you, and how the chains, the worker and the jobs are.

    In the column of the last runs, the newest stands last: + for a run that succeeded, x for one that failed.
    """
    standing = perform()
    print_answer(standing, draw=lambda: _draw(standing.answer))


def _draw(answer: Mapping[str, Any]) -> None:
    needs = answer["needs"]
    draw_facts(
        {
            "version": answer["version"],
            "worker": "running" if answer["worker"] else "not running",
            "scenarios": answer["scenarios"],
            "jobs": answer["jobs_total"],
            "needs you": needs["count"],
        }
    )
    _part(
        "chains",
        ("chain", "state", "best block", "its time"),
        [
            (each["name"], _state(each), each["block"], brief_time(each["block_time"]))
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
