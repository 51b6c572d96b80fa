"""`scenarioctl job watch`: the jobs as they change, as a table that is redrawn or as a line for each change."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from scenarioctl.cli.commands import Command
from scenarioctl.cli.execution import asked_for_data, emit, perform, refuse_output_file
from scenarioctl.cli.following import Following
from scenarioctl.cli.output import brief_time, printable, wants_styles

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

Row = Mapping[str, Any]

#: Seconds between two looks...
_PAUSE = 1.0
#: ...or so many times as long as a look takes, so that it costs little however many jobs there are.
_SHARE = 20.0
#: Jobs that one request asks for.
_PAGE = 1000
_COLUMNS = ("id", "state", "last run", "result", "next run", "drafts", "failures", "reason")
#: Lines of the screen that have no job: the counts, the names of the columns, how many jobs have no room, the cursor.
_AROUND = 4


@click.command(
    cls=Command,
    operation="jobs.list_jobs",
    arguments=("ids",),
    without=("limit", "after"),
    example="scenarioctl job watch --state paused",
)
def watch(ids: tuple[str, ...], state: str) -> None:
    """Show all jobs, or those with these ids, as they change, until Ctrl-C.

    On a terminal a table is redrawn; elsewhere each job has a line, and another one whenever it changes: id, state, last run,
    result, next run, drafts that could be signed now, failures in a row, reason. With --json each line is the job as JSON.
    """
    refuse_output_file("job watch")
    draws = sys.stdout.isatty() and not asked_for_data()
    following = Following()

    def look() -> tuple[list[Row] | None, float]:
        """Return the jobs, and when to look again."""
        began = time.monotonic()
        rows = following.ask(lambda: _read_all(ids, state))
        now = time.monotonic()
        return rows, now + max(_PAUSE, _SHARE * (now - began))

    try:
        # Refused before the screen is touched.
        rows, again = look()
        with _screen() if draws else _lines() as show:
            while True:
                if rows is not None:
                    show(rows)
                    time.sleep(max(0.0, again - time.monotonic()))
                rows, again = look()
    except KeyboardInterrupt:
        # The way to end it.
        return


def _read_all(ids: tuple[str, ...], state: str) -> list[Row]:
    rows: dict[str, Row] = {}
    after = ""
    while True:
        page = perform(ids=ids, state=state, limit=_PAGE, after=after).answer
        # One that changed meanwhile may be on two pages.
        rows |= {row["id"]: row for row in page["jobs"]}
        after = page["next"] or ""
        if not after:
            return list(rows.values())


@contextmanager
def _lines() -> Iterator[Any]:
    """Show jobs that have changed, a line each."""
    before: dict[str, Row] = {}

    def show(rows: Sequence[Row]) -> None:
        nonlocal before
        now = {row["id"]: row for row in rows}
        for id in before.keys() - now.keys():
            _print_line({"id": id, "state": "gone"})
        for id, row in now.items():
            if row != before.get(id):
                _print_line(row)
        before = now

    yield show


def _print_line(row: Row) -> None:
    emit(row, lambda: click.echo("\t".join(_cells(row))))


@contextmanager
def _screen() -> Iterator[Any]:
    """Show all jobs in a table that is redrawn in place."""
    from rich.console import Console
    from rich.live import Live

    screen = Console()
    with Live(console=screen, auto_refresh=False, redirect_stdout=False, redirect_stderr=True) as live:
        drawn: tuple[Sequence[Row], int, int] | None = None

        def show(rows: Sequence[Row]) -> None:
            nonlocal drawn
            if drawn != (drawn := (rows, *screen.size)):
                _draw(live, rows, room=max(1, screen.height - _AROUND))

        yield show


def _draw(live: "Live", rows: Sequence[Row], *, room: int) -> None:
    from rich.console import Group
    from rich.text import Text

    shown = list(rows)
    if len(rows) > room:
        # What happened last.
        shown = sorted(rows, key=_last_event, reverse=True)[:room]
    parts: list[Any] = [Text(_summary(rows)), _table(shown)]
    if len(rows) > room:
        parts.append(Text(f"{len(rows) - room} more: name some, choose a --state, or enlarge the window"))
    live.update(Group(*parts), refresh=True)


def _table(rows: Sequence[Row]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    styled = wants_styles()
    table = Table(box=None, header_style="bold" if styled else "", pad_edge=False)
    for column in _COLUMNS:
        # One line for each job, however long the reason is.
        table.add_column(column, no_wrap=True, overflow="ellipsis", ratio=1 if column == "reason" else None)
    for row in rows:
        is_bad = row["state"] == "paused" or row["outcome"] == "failed"
        style = "red" if styled and is_bad else ""
        table.add_row(*(Text(cell, style=style) for cell in _cells(row)))
    return table


def _cells(row: Row) -> list[str]:
    if row["state"] == "gone":
        return [row["id"], "gone"]
    result = row["outcome"]
    if row["executing"]:
        result = f"in progress: {row['step']}" if row["step"] else "in progress"
    cells = (
        *(row["id"], row["state"], brief_time(row["finished"]), result, brief_time(row["next"])),
        *(row["drafts"], row["failures"], row["reason"]),
    )
    return [printable("-" if cell in (None, "") else cell) for cell in cells]


def _last_event(row: Row) -> tuple[bool, str]:
    return bool(row["executing"]), max(row[name] or "" for name in ("changed", "last", "finished"))


def _summary(rows: Sequence[Row]) -> str:
    states = [row["state"] for row in rows]
    counts = [f"{states.count(state)} {state}" for state in ("running", "paused", "stopped")]
    busy = sum(bool(row["executing"]) for row in rows)
    failed = sum(row["outcome"] == "failed" for row in rows)
    drafts = sum(row["drafts"] for row in rows)
    jobs = "1 job" if len(rows) == 1 else f"{len(rows)} jobs"
    return f"{jobs}: {', '.join(counts)}; {busy} in progress, {failed} failed last, {drafts} drafts to sign"
