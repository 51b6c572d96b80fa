"""How `scenarioctl job` shows jobs, their logs and drafts, and follows them."""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

import click

from scenarioctl.cli.commands import Command
from scenarioctl.cli.execution import (
    asked_for_json,
    emit,
    perform,
    print_table,
    warn,
)
from scenarioctl.cli.output import brief_time, printable, say, short_time
from scenarioctl.errors import DaemonUnreachable, NotReady, StoreBusy
from scenarioctl.model.jobs import EXECUTED, PAUSED, SLEEPING

T = TypeVar("T")

#: Seconds between two looks.
LOOK = 0.5
#: So many seconds a daemon or a store that was lost meanwhile is tried again: a daemon may be
#: started anew.
PATIENCE = 300.0


class Following:
    """Asks again, for a while, what was answered before."""

    def __init__(self) -> None:
        self._seen = False
        self._lost: float | None = None

    def ask(self, question: Callable[[], T]) -> T | Any:
        """Return the answer; None, after a pause, if there is none now."""
        try:
            answer = question()
        except (DaemonUnreachable, NotReady, StoreBusy) as error:
            now = time.monotonic()
            if not self._seen or (self._lost is not None and now - self._lost > PATIENCE):
                raise
            if self._lost is None:
                self._lost = now
                say(f"lost, trying again for {PATIENCE:g} seconds: {printable(str(error))}")
            time.sleep(LOOK)
            return None
        if self._lost is not None:
            self._lost = None
            say("following again")
        self._seen = True
        return answer


#: Rows that are remembered, the newest.
_KNOWN = 20_000


class Printed:
    """The rows that were printed of `result` or `mempool` in the answers."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._known: dict[object, None] = {}
        #: When the first of them was written; empty if there is none.
        self.since = ""
        self._occurrences: dict[tuple[str, str], str] = {}
        #: Whether rows come again that were printed.
        self.repeats = False

    def take(self, answer: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """Return *answer* with the rows that were not printed yet, and warnings of drafts that
        repeat lost ones."""
        rows = answer[self._name]
        # Lines are known by their times.
        times = answer["times"] if self._name == "result" else None
        keys: list[object] = (
            [row["uuid"] for row in rows] if times is None else [*zip(times, rows, strict=True)]
        )
        fresh = [at for at, key in enumerate(keys) if not (self.repeats and key in self._known)]
        if rows and not self.since:
            self.since = rows[0]["Date"] if times is None else times[0]
        self._known |= dict.fromkeys(keys)
        for key in list(islice(self._known, max(0, len(self._known) - _KNOWN))):
            del self._known[key]
        left = {**answer, self._name: [rows[at] for at in fresh]}
        if times is None:
            return left, self._repeated(left[self._name])
        return {**left, "times": [times[at] for at in fresh]} if "times" in answer else left, []

    def _repeated(self, drafts: Sequence[Mapping[str, Any]]) -> list[str]:
        found = []
        for draft in drafts:
            if {"occurrence", "node", "uuid"} <= draft.keys():
                first = self._occurrences.setdefault(
                    (draft["node"], draft["occurrence"]), draft["uuid"]
                )
                if first != draft["uuid"]:
                    found.append(
                        f"draft {draft['seq']} is for the occurrence "
                        f"{draft['occurrence']}, which was drafted before"
                        f" as {first}: sign one of them"
                    )
        return found


class LogPrinter:
    """Prints lines as they are; with times in front, if they were asked for, and then a blank line
    between two runs."""

    def __init__(self) -> None:
        #: The line printed before, and when it was written.
        self._last = ("", "")

    def __call__(self, answer: Mapping[str, Any]) -> None:
        emit(answer, lambda: self._print(answer))

    def _print(self, answer: Mapping[str, Any]) -> None:
        times = answer.get("times")
        for number, line in enumerate(answer["result"]):
            if not times:
                click.echo(printable(line))
                continue
            if self._is_between_runs(times[number]):
                click.echo()
            click.echo(f"{short_time(times[number])}  {printable(line)}")
            self._last = (line, times[number])

    def _is_between_runs(self, written: str) -> bool:
        """Return whether a run ended with the last line, and one that was *written* now is of the
        next."""
        line, before = self._last
        # What follows on the end of the steps is written with it.
        return (
            line == SLEEPING or line.startswith(PAUSED) or (line == EXECUTED and written != before)
        )


def _say_state(draft: Mapping[str, Any]) -> str:
    """Return what became of a draft: of one that was sent, how far its transaction has come."""
    if "sent" not in draft:
        return str(draft.get("state", ""))
    sent = draft["sent"]
    if sent["block_number"] is not None:
        state = "failed" if sent["success"] is False else sent["state"]
        return f"{state} {sent['block_number']}"
    return "may have been sent" if sent["state"] == "uncertain" else str(sent["state"])


def print_drafts(answer: Mapping[str, Any], *, line_by_line: bool = False) -> None:
    """Print drafts as a table, and warn about the outdated ones; on a terminal with local times.

    *line_by_line*: as lines without a header, for more are to follow.
    """
    on_terminal = sys.stdout.isatty()
    rows = [
        (
            short_time(each["Date"]) if on_terminal else each["Date"],
            each["txType"],
            each["chain"],
            _say_amount(each) if on_terminal else each["amount"],
            _say_state(each) if on_terminal else each.get("state", ""),
            each["tx"],
            each.get("seq", ""),
        )
        for each in answer["mempool"]
    ]

    def lines() -> None:
        for row in rows:
            click.echo(("  " if on_terminal else "\t").join(printable(cell) for cell in row))

    if line_by_line:
        emit(answer, lines)
    else:
        print_table(
            answer, ("date", "type", "chain", "amount", "state", "transaction", "seq"), rows
        )
    if not asked_for_json():
        for each in answer["mempool"]:
            if "flag" in each:
                warn(f"{each['Date']}: {each['flag']}")


def _say_amount(entry: Mapping[str, Any]) -> str:
    return " + ".join(filter(None, (entry.get("human", entry["amount"]), entry.get("beside"))))


Row = Mapping[str, Any]

#: Seconds between two looks...
_PAUSE = 1.0
#: ...or so many times as long as a look takes, so that it costs little however many jobs there are.
_SHARE = 20.0
#: Jobs that one request asks for.
_PAGE = 1000


@click.command(
    cls=Command,
    operation="jobs.list_jobs",
    arguments=("ids",),
    without=("limit", "after"),
    example="scenarioctl job watch --state paused",
)
def watch(ids: tuple[str, ...], state: str) -> None:
    """Show all jobs, or those with these ids, as they change, until Ctrl-C.

    Each job has a line, and another one whenever it changes: id, state, last run, result, next
    run, drafts that could be signed now, failures in a row, reason. With --json each line is the
    job as JSON.
    """
    following = Following()

    def look() -> tuple[list[Row] | None, float]:
        """Return the jobs, and when to look again."""
        began = time.monotonic()
        rows = following.ask(lambda: _read_all(ids, state))
        now = time.monotonic()
        return rows, now + max(_PAUSE, _SHARE * (now - began))

    try:
        before: dict[str, Row] = {}
        while True:
            rows, again = look()
            if rows is not None:
                before = _print_changes(rows, before)
                time.sleep(max(0.0, again - time.monotonic()))
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


def _print_changes(rows: Sequence[Row], before: Mapping[str, Row]) -> dict[str, Row]:
    """Print the jobs that differ from those *before*, a line each, and return all by their ids."""
    now = {row["id"]: row for row in rows}
    for id in before.keys() - now.keys():
        _print_line({"id": id, "state": "gone"})
    for id, row in now.items():
        if row != before.get(id):
            _print_line(row)
    return now


def _print_line(row: Row) -> None:
    emit(row, lambda: click.echo("\t".join(_cells(row))))


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
