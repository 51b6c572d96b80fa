"""`scenarioctl job`, which runs scenarios again and again, and `webhook`, the inbox of webhook
steps."""

import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import click

from scenarioctl.cli.commands import Group
from scenarioctl.cli.execution import (
    asked_for_data,
    asked_for_field,
    asked_for_json,
    perform,
    print_answer,
    print_table,
    read_text,
    tell,
    warn,
)
from scenarioctl.cli.job_output import (
    LOOK,
    Following,
    LogPrinter,
    Printed,
    print_drafts,
    watch,
)
from scenarioctl.cli.options import argument
from scenarioctl.cli.output import (
    brief_duration,
    brief_time,
    draw_facts,
    draw_table,
    dump_json,
    read_local,
    say,
    short_time,
)
from scenarioctl.cli.reports import plain_command
from scenarioctl.errors import InvalidRequest, ScenarioctlError, StaleCursor
from scenarioctl.model.jobs import RUN_FAILED


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
    standing = perform(**fields)

    def draw() -> None:
        facts = dict(standing.answer)
        runs = facts.pop("last_runs", [])
        # For pictures, which draw them by their nodes.
        facts.pop("last_steps", None)
        facts["until"] = short_time(facts.get("until"))
        facts["notify"] = ", ".join(facts["notify"])
        facts["planned"] = ", ".join(str(short_time(each)) for each in facts["planned"])
        for name in ("changed", "next", "last", "finished"):
            facts[name] = short_time(facts[name])
        if since := facts.pop("changed"):
            facts["state"] += f" since {since}"
        draw_facts(
            {
                name: value
                for name, value in facts.items()
                if value not in (None, "", 0, False, "0s")
            }
        )
        if runs:
            draw_table(
                ("last runs", "finished", "outcome"),
                (
                    (
                        short_time(run["started"]),
                        short_time(run["finished"]),
                        f"{run['outcome']}: {run['failure']}" if run["failure"] else run["outcome"],
                    )
                    for run in runs
                ),
            )

    print_answer(standing, draw=draw)
    if standing.answer.get("outcome") == "failed" and not asked_for_field():
        from scenarioctl.operations.results import LAST_RUN_FAILED

        click.get_current_context().exit(LAST_RUN_FAILED)


@job.command(
    "list",
    operation="jobs.list_jobs",
    arguments=("ids",),
    example="scenarioctl job list --state paused",
)
def list_(**fields: Any) -> None:
    """List the jobs, the most recently started, stopped, paused or resumed first.

    Columns: id, state, schedule, next run, runs, failures in a row, result and time of the last
    run, drafts that could be signed now, time of the last change of state.
    """
    page = perform(**fields).answer
    rows = (
        (
            row["id"],
            row["state"],
            row["schedule"],
            brief_time(row["next"]),
            row["runs"],
            row["failures"],
            row.get("outcome") or None,
            brief_time(row["finished"]),
            row["drafts"],
            brief_time(row["changed"]),
        )
        for row in page["jobs"]
    )
    columns = (
        "id",
        "state",
        "schedule",
        "next run",
        "runs",
        "failures",
        "result",
        "last run",
        "drafts",
        "since",
    )
    print_table(page, columns, rows)


job.add_command(watch)


def _list_runs(**fields: Any) -> None:
    page = perform(instead="job_runs.list_runs", **fields).answer
    rows = (
        (
            row["number"],
            short_time(row["started"]),
            brief_duration(row["seconds"]),
            row["outcome"],
            row["drafts"],
            row["failure"],
        )
        for row in page["runs"]
    )
    print_table(page, ("run", "started", "took", "result", "drafts", "failure"), rows)


def _list_steps(**fields: Any) -> None:
    answer = perform(instead="job_runs.list_steps", **fields).answer
    rows = (
        (
            row["number"],
            row["step"] or row["node"],
            row["outcome"] or "not reached",
            brief_duration(row["seconds"]) if row["seconds"] is not None else None,
            row["input"],
            _shown_output(row),
        )
        for row in answer["steps"]
    )
    print_table(answer, ("step", "type", "result", "took", "input", "output"), rows)


def _shown_output(row: Mapping[str, Any]) -> str:
    """Return what is stored of a step's output, and of how much it is the beginning."""
    cut = row["output_length"] > len(row["output"])
    return f"{row['output']}… ({row['output_length']} characters)" if cut else row["output"]


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
    if runs or steps:
        taken = ("id", "run") if steps else ("id", "after", "limit")
        given = [
            *(name for name in fields if name not in taken and fields[name]),
            *(["runs"] * (runs and steps)),
        ]
        if given or follow or times:
            other = given[0] if given else "follow" if follow else "times"
            raise InvalidRequest(
                field="steps" if steps else "runs",
                problem=(
                    f"cannot be combined with --{other}, which selects "
                    f"{'runs' if other == 'runs' else 'lines of the log'}: omit one of them"
                ),
            )
        (_list_steps if steps else _list_runs)(
            **{name: fields[name] for name in taken if fields[name] or name == "id"}
        )
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
    following, printed = Following(), Printed(name)
    # Lines are known by their times.
    with_times = fields.get("times", True)
    if name == "result":
        fields["times"] = True
    while True:
        try:
            answer = following.ask(partial(_answer, fields))
        except StaleCursor:
            if not printed.since:
                raise
            say(
                "reading again from the beginning: the store has lost rows, in a failover "
                "or a restore"
            )
            printed.repeats = True
            fields = {**fields, "after": "0", "since": printed.since}
            continue
        if answer is None:
            continue
        fresh, warnings = printed.take(answer)
        if not with_times:
            fresh.pop("times", None)
        if fresh[name]:
            show(fresh)
        for warning in warnings:
            warn(warning)
        fields = {**fields, "after": answer["next"], "tail": "", "since": ""}
        if not (answer[name] and fields["limit"]):
            time.sleep(LOOK)


def _answer(fields: dict[str, Any]) -> Any:
    return perform(**fields).answer


def _tells(line: str, error: str) -> bool:
    """Return whether *line* of a log says what the error says that follows it."""
    return line == error or line.startswith(f"{RUN_FAILED}: ")


#: Larger than any event that is taken: the setting webhook_limit says what is.
_CONTENT_LIMIT = 16 * 1024 * 1024


@click.group(cls=Group)
def webhook() -> None:
    """Post and list the events of webhook steps."""


@webhook.command(
    operation="webhooks.post_event",
    arguments=("uuid", "content"),
    example="""echo '{"amount": 5}' | """
    """scenarioctl webhook post 6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d -""",
)
@argument("content", metavar="FILE|-")
def post(uuid: str, content: str, idempotency_key: str) -> None:
    """Post an event, JSON in a file or on stdin (-), to the waiting scenarios; print its number."""
    from scenarioctl.formats.documents import parse_json

    value = parse_json(read_text(content, field="content", limit=_CONTENT_LIMIT), field="content")
    answer = perform(uuid=uuid, content=value, idempotency_key=idempotency_key)
    print_answer(answer, plain="id")


@webhook.command("list", operation="webhooks.list_events", arguments=("uuid",))
def list_events(**fields: Any) -> None:
    """List the stored events of a webhook, oldest first: number, date, content."""
    answer = perform(**fields).answer
    print_table(
        answer,
        ("event", "received", "content"),
        (
            (each["id"], short_time(each["received"]), dump_json(each["content"]))
            for each in answer["events"]
        ),
    )
