"""How `scenarioctl job` prints logs and drafts."""

import sys
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import click

from scenarioctl.cli.execution import asked_for_json, emit, print_table, warn
from scenarioctl.cli.output import printable, short_time
from scenarioctl.model.jobs import EXECUTED, PAUSED, SLEEPING

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
        """Return *answer* with the rows that were not printed yet, and warnings of drafts that repeat lost ones."""
        rows = answer[self._name]
        # Lines are known by their times, which a daemon of an older version may leave out.
        times = answer.get("times", [""] * len(rows)) if self._name == "result" else None
        keys: list[object] = (
            [row.get("uuid") or row["seq"] for row in rows]
            if times is None
            else [*zip(times, rows, strict=True)]
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
                first = self._occurrences.setdefault((draft["node"], draft["occurrence"]), draft["uuid"])
                if first != draft["uuid"]:
                    found.append(
                        f"draft {draft['seq']} is for the occurrence {draft['occurrence']}, which was drafted before"
                        f" as {first}: sign one of them"
                    )
        return found


def read_local(since: str) -> str:
    """Return a moment without a zone as one of this machine's zone, which a daemon may not be in; else *since* as it is."""
    if "-" not in since:
        return since
    from datetime import datetime

    try:
        moment = datetime.fromisoformat(since.strip())
        return since if moment.tzinfo is not None else moment.astimezone().isoformat()
    except (ValueError, OverflowError):
        # The operation says what it expects.
        return since


class LogPrinter:
    """Prints lines as they are; with times in front, if they were asked for, and then a blank line between two runs."""

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
        """Return whether a run ended with the last line, and one that was *written* now is of the next."""
        line, before = self._last
        # What follows on the end of the steps is written with it.
        return line == SLEEPING or line.startswith(PAUSED) or (line == EXECUTED and written != before)


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

    *line_by_line*: as lines without a header, for more are to follow, and a pager must not stop them.
    """
    on_terminal = sys.stdout.isatty()
    rows = [
        (
            short_time(each["Date"]) if on_terminal else each["Date"],
            each["txType"],
            each["chain"],
            each.get("human", each["amount"]) if on_terminal else each["amount"],
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
        print_table(answer, ("date", "type", "chain", "amount", "state", "transaction", "seq"), rows)
    if not asked_for_json():
        for each in answer["mempool"]:
            if "flag" in each:
                warn(f"{each['Date']}: {each['flag']}")
