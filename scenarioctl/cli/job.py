"""`scenarioctl job`, which runs scenarios again and again, and `webhook`, the inbox of webhook
steps."""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import click

from scenarioctl.cli.commands import Command, Group
from scenarioctl.cli.drawing import plain_command, print_drawn
from scenarioctl.cli.execution import (
    asked_for_data,
    asked_for_field,
    asked_for_json,
    emit,
    fields_for,
    perform,
    print_answer,
    print_table,
    read_text,
    tell,
    warn,
)
from scenarioctl.cli.options import argument, option
from scenarioctl.cli.output import brief_time, printable, read_local, say, short_time
from scenarioctl.errors import (
    DaemonUnreachable,
    InvalidRequest,
    NotReady,
    ScenarioctlError,
    StoreBusy,
)
from scenarioctl.model.jobs import EXECUTED, PAUSED, RUN_FAILED, SLEEPING

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


def watch(ids: tuple[str, ...], state: str) -> None:
    """Print a line for each job, and another one whenever it changes, until Ctrl-C: id, state, last
    run, result, next run, drafts, failures in a row, reason; with `--json` the job as JSON."""
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


@click.group(cls=Group)
def job() -> None:
    """Run scenarios on a schedule; show their logs and drafts.

    ID is the id of a scenario, its first 4 or more characters, its name, or @last, the scenario
    created last.
    """


job.add_command(
    plain_command(
        "start",
        "jobs.start_job",
        prints="result",
        arguments=("id",),
        example="scenarioctl job start 3kf9Qz7aB --every 10m --pause-after 5\n"
        "  scenarioctl job start 3kf9Qz7aB --cron '0 9 * * 1-5' --timezone Europe/Berlin",
    )
)
job.add_command(plain_command("stop", "jobs.stop_job", prints="result", arguments=("id",)))
job.add_command(plain_command("pause", "job_changes.pause_job", prints="result", arguments=("id",)))


@job.command(operation="job_changes.resume_job", arguments=("id",))
def resume(**fields: Any) -> None:
    """Resume a paused job. Runs that were due in the meantime are skipped."""
    result = perform(**fields)
    print_answer(result, plain="result")
    if result.answer["next"] and not asked_for_data():
        tell(f"Next run: {short_time(result.answer['next'])}")


@job.command(
    operation="jobs.run_job",
    arguments=("id",),
    example="scenarioctl job run 3kf9Qz7aB --timeout 2m",
)
def run(**fields: Any) -> None:
    """Run a scenario once, now, and wait for its end.

    Prints the run's log. If a step fails, the exit code is that of its error, and the error is
    printed once, on stderr; with
    --json the error has the log and the drafts too.
    """
    try:
        report = perform(waits=True, **fields).answer
    except ScenarioctlError as error:
        lines = error.details.get("result")
        if isinstance(lines, (list, tuple)) and not asked_for_json():
            LogPrinter()({"result": [line for line in lines if not _tells(str(line), str(error))]})
        raise
    LogPrinter()(report)


@job.command(
    operation="jobs.job_status",
    arguments=("id",),
    example="scenarioctl job status 3kf9Qz7aB --field state",
)
def status(**fields: Any) -> None:
    """Show a job: its schedule, next run, last runs and failures.

    The exit code is 7 if the last run failed, unless --field asks for one value.
    """
    answer = print_drawn(**fields)
    if answer.get("outcome") == "failed" and not asked_for_field():
        from scenarioctl.operations.results import LAST_RUN_FAILED

        click.get_current_context().exit(LAST_RUN_FAILED)


@job.command(
    "list",
    operation="jobs.list_jobs",
    arguments=("ids",),
    example="scenarioctl job list --state paused",
)
@click.option(
    "--watch",
    "watches",
    is_flag=True,
    help="Print a line for each job now, and whenever it changes, until Ctrl-C.",
)
def list_(watches: bool, **fields: Any) -> None:
    if watches:
        watch(fields["ids"], fields["state"])
    else:
        print_drawn(**fields)


@job.command(
    operation="jobs.job_log",
    others=("job_runs.list_runs", "job_runs.list_steps"),
    arguments=("id",),
    example="scenarioctl job logs 3kf9Qz7aB --follow",
)
@click.option(
    "-f", "--follow", is_flag=True, help="Print new lines as they are written, until Ctrl-C."
)
@click.option(
    "--runs",
    is_flag=True,
    help="List the finished runs instead, newest first. --run takes their numbers.",
)
@click.option(
    "--steps",
    is_flag=True,
    help=(
        "Show the steps of the newest run, or of that of --run, instead: how long each took, "
        "its input and output."
    ),
)
def logs(follow: bool, runs: bool, steps: bool, times: bool, **fields: Any) -> None:
    """Print the log of a job, oldest line first; on a terminal with the time of each line and a gap
    between runs."""
    for which, is_given in (("runs", runs), ("steps", steps)):
        if is_given:
            if follow or times or (runs and steps):
                other = "follow" if follow else "times" if times else "steps"
                raise InvalidRequest(
                    field=which, problem=f"cannot be combined with --{other}: omit one of them"
                )
            taken = fields_for(f"job_runs.list_{which}", which, fields)
            taken = {name: value for name, value in taken.items() if value != "" or name == "id"}
            print_drawn(f"job_runs.list_{which}", **taken)
            return
    fields["since"] = read_local(fields["since"])
    fields["times"] = times or asked_for_json() or sys.stdout.isatty()
    print_log = LogPrinter()
    if follow:
        _follow("result", print_log, **fields)
        return
    answer = perform(**fields).answer
    print_log(answer)
    if not asked_for_json() and str(len(answer["result"])) == fields["limit"]:
        tell(f"more with --after {answer['next']}")


@job.command(
    operation="jobs.job_mempool",
    arguments=("id",),
    example="scenarioctl job drafts 3kf9Qz7aB --tail 5",
)
@click.option(
    "-f", "--follow", is_flag=True, help="Print new drafts as they are made, until Ctrl-C."
)
def drafts(follow: bool, **fields: Any) -> None:
    """Print the drafts of a job, oldest first."""
    fields["since"] = read_local(fields["since"])
    if follow:
        _follow("mempool", partial(print_drafts, line_by_line=True), **fields)
        return
    answer = perform(**fields).answer
    print_drafts(answer)
    if not asked_for_json() and answer["mempool"] and "next" in answer:
        tell(f"read on with --after {answer['next']}")


def _follow(name: str, show: Callable[[Any], object], **fields: Any) -> None:
    """Print what is called *name* in the answers as they come; with `--json` each batch as an
    answer of its own."""
    fields["after"] = fields["after"] or "0"
    following = Following()
    while True:
        result = following.ask(partial(perform, **fields))
        if result is None:
            continue
        answer = result.answer
        if answer[name]:
            show(answer)
        fields |= {"after": answer["next"], "tail": "", "since": ""}
        if not (answer[name] and fields["limit"]):
            time.sleep(LOOK)


def _tells(line: str, error: str) -> bool:
    """Return whether *line* of a log says what the error says that follows it."""
    return line == error or line.startswith(f"{RUN_FAILED}: ")


#: Larger than any event that is taken: the setting webhook_limit says what is.
_CONTENT_LIMIT = 16 * 1024 * 1024


@click.command(
    cls=Command,
    operation="webhooks.list_events",
    others=("webhooks.post_event",),
    arguments=("uuid",),
    example="scenarioctl webhook 6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d\n"
    """  echo '{"amount": 5}' | """
    """scenarioctl webhook 6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d -""",
)
@argument("content", metavar="[FILE|-]", default="")
@option("--idempotency-key", metavar="KEY", default="", help="Store an event with this key once.")
def webhook(content: str, idempotency_key: str, **fields: Any) -> None:
    """List the stored events of a webhook, oldest first; or post an event, JSON in a file or on
    stdin (-), to the waiting scenarios, and print its number."""
    if not content:
        print_drawn(**fields)
        return
    from scenarioctl.formats.documents import parse_json

    value = parse_json(read_text(content, field="content", limit=_CONTENT_LIMIT), field="content")
    fields |= {"content": value, "idempotency_key": idempotency_key}
    print_answer(perform(instead="webhooks.post_event", **fields), plain="id")
