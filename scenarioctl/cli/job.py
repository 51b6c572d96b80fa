"""`scenarioctl job`: run a scenario again and again, and look at what becomes of it."""

from typing import Any

import click

from scenarioctl.cli.commands import Group
from scenarioctl.cli.execution import asked_for_json, perform, print_answer
from scenarioctl.cli.options import field_option, option
from scenarioctl.cli.output import draw_facts, draw_table, dump_json, printable, say
from scenarioctl.errors import DaemonUnreachable, NotReady, ScenarioctlError, StoreBusy
from scenarioctl.model.jobs import RUN_FAILED

#: Seconds between two looks of `job logs --follow`.
_LOOK = 0.5
#: So many seconds a daemon or a store that was lost meanwhile is tried again: a daemon may be started anew.
PATIENCE = 300.0


@click.group(cls=Group)
def job() -> None:
    """Run scenarios on a schedule; show their logs and drafts."""


@job.command(
    operation="jobs.start_job", example="scenarioctl job start 3kf9Qz7aB --every 10m --pause-after 5"
)
@click.argument("scenario_id", metavar="ID")
@option(
    "--every",
    metavar="DURATION",
    default="",
    help="Time between two runs, like 90s, 10m or 12h (default 12h).",
)
@option(
    "--cron",
    metavar="LINE",
    default="",
    help="Instead of --every: minute, hour, day of month, month and day of week, like '*/5 9-17 * * mon-fri'.",
)
@option(
    "--timezone",
    metavar="ZONE",
    default="",
    help="Time zone of --cron, like Europe/Berlin (default UTC).",
)
@option("--jitter", metavar="DURATION", default="", help="Delay each run by a random time up to this.")
@option(
    "--overlap",
    metavar="POLICY",
    choices=("skip", "queue"),
    default="",
    help="If a run is still in progress when the next is due: skip it (default) or queue one.",
)
@option(
    "--catchup",
    metavar="DURATION",
    default="",
    help="After downtime, skip runs that are later than this (default 1m).",
)
@option(
    "--pause-after",
    metavar="N",
    default="",
    help="Pause after this many failed runs in a row (default never).",
)
@option(
    "--timeout",
    metavar="DURATION",
    default="",
    help="End a run that takes longer (default: run_seconds, 1h).",
)
def start(scenario_id: str, **fields: Any) -> None:
    """Run a scenario on a schedule: first at once, or at the next time of --cron."""
    told = perform("jobs.start_job", "StartJob", id=scenario_id, **fields)
    print_answer(told, plain=told.answer["result"])


@job.command(operation="jobs.stop_job")
@click.argument("scenario_id", metavar="ID")
def stop(scenario_id: str) -> None:
    """Stop a job. A run in progress is allowed to finish."""
    told = perform("jobs.stop_job", "StopJob", id=scenario_id)
    print_answer(told, plain=told.answer["result"])


@job.command(operation="jobs.run_job", example="scenarioctl job run 3kf9Qz7aB --timeout 2m")
@click.argument("scenario_id", metavar="ID")
@option(
    "--timeout",
    metavar="DURATION",
    default="",
    help="End the run if it takes longer (default: run_seconds, 1h).",
)
def run(scenario_id: str, timeout: str) -> None:
    """Run a scenario once, now, and wait for its end.

    Prints the run's log. If a step fails, the exit code is that of its error, and the error is printed once, on stderr; with
    --json the error has the log and the drafts too.
    """
    try:
        report = perform("jobs.run_job", "RunJob", waits=True, id=scenario_id, timeout=timeout).answer
    except ScenarioctlError as error:
        lines = error.details.get("result")
        if isinstance(lines, (list, tuple)) and not asked_for_json():
            _print_lines(line for line in lines if not _tells(str(line), str(error)))
        raise
    if asked_for_json():
        click.echo(dump_json(report))
        return
    _print_lines(report["result"])


@job.command(operation="jobs.job_status", example="scenarioctl job status 3kf9Qz7aB --field state")
@click.argument("scenario_id", metavar="ID")
@field_option
def status(scenario_id: str) -> None:
    """Show a job: its schedule, next run, last runs and failures.

    The exit code is 7 if the last run failed, unless --field asks for one value.
    """
    standing = perform("jobs.job_status", "JobStatus", id=scenario_id)

    def draw() -> None:
        facts = standing.answer
        runs = facts.pop("last_runs", [])
        draw_facts({name: value for name, value in facts.items() if value not in (None, "", 0, False, "0s")})
        if runs:
            draw_table(
                ("last runs", "finished", "outcome"),
                [
                    (
                        _short(run["started"]),
                        _short(run["finished"]),
                        f"{run['outcome']}: {run['failure']}" if run["failure"] else run["outcome"],
                    )
                    for run in runs
                ],
            )

    print_answer(standing, draw=draw)
    context = click.get_current_context()
    if standing.answer.get("outcome") == "failed" and context.meta.get("scenarioctl.field") is None:
        from scenarioctl.operations.outcomes import LAST_RUN_FAILED

        context.exit(LAST_RUN_FAILED)


@job.command("list", operation="jobs.list_jobs", example="scenarioctl job list --state paused")
@option("--limit", metavar="N", default=50, help="At most this many (default 50, at most 1000).")
@option("--after", metavar="CURSOR", default="", help="Continue after the page that returned this cursor.")
@option(
    "--state",
    metavar="STATE",
    choices=("running", "stopped", "paused"),
    default="",
    help="Only those that are running, stopped or paused.",
)
def list_(**fields: Any) -> None:
    """List the jobs: id, state, schedule, next run, runs, failures in a row, how the last run ended."""
    page = perform("jobs.list_jobs", "ListJobs", **fields).answer
    if asked_for_json():
        click.echo(dump_json(page))
        return
    draw_table(
        ("id", "state", "schedule", "next run", "runs", "failures", "last run"),
        [
            (
                *(
                    row["id"],
                    row["state"],
                    row["schedule"],
                    _short(row["next"]),
                    row["runs"],
                    row["failures"],
                ),
                row.get("outcome") or "-",
            )
            for row in page["jobs"]
        ],
    )
    if page["next"]:
        say(f"{page['total']} in all; more with --after {page['next']}")


@job.command(operation="jobs.job_log", example="scenarioctl job logs 3kf9Qz7aB --follow")
@click.argument("scenario_id", metavar="ID")
@click.option("-f", "--follow", is_flag=True, help="Print new lines as they are written, until Ctrl-C.")
@option(
    "--after",
    metavar="SEQ",
    default="",
    help="Only what follows `next` of an earlier answer (0 starts over).",
)
@option("--limit", metavar="N", default="", help="At most this many lines (default all).")
def logs(scenario_id: str, follow: bool, after: str, limit: str) -> None:
    """Print the log of a job, oldest line first."""
    if follow:
        _follow(scenario_id, after or "0", limit)
        return
    answer = perform("jobs.job_log", "JobLog", id=scenario_id, after=after, limit=limit).answer
    if asked_for_json():
        click.echo(dump_json(answer))
        return
    _print_lines(answer["result"])
    if limit and str(len(answer["result"])) == limit:
        say(f"more with --after {answer['next']}")


@job.command(operation="jobs.job_mempool", example="scenarioctl job mempool 3kf9Qz7aB --json")
@click.argument("scenario_id", metavar="ID")
@option(
    "--after",
    metavar="SEQ",
    default="",
    help="Only what follows `next` of an earlier answer (0 starts over), about 1 MiB at a time.",
)
@option("--limit", metavar="N", default="", help="At most this many drafts (default all, after SEQ 1000).")
def mempool(scenario_id: str, after: str, limit: str) -> None:
    """Print the drafts of a job, oldest first."""
    answer = perform("jobs.job_mempool", "JobMempool", id=scenario_id, after=after, limit=limit).answer
    if asked_for_json():
        click.echo(dump_json(answer))
        return
    draw_table(
        ("date", "type", "chain", "amount", "state", "transaction"),
        [
            (each["Date"], each["txType"], each["chain"], each["amount"], each.get("state", ""), each["tx"])
            for each in answer["mempool"]
        ],
    )
    for each in answer["mempool"]:
        if "flag" in each:
            say(f"Warning: {printable(each['Date'])}: {printable(each['flag'])}")
    if answer["mempool"] and "next" in answer:
        say(f"read on with --after {answer['next']}")


def _follow(scenario_id: str, after: str, limit: str) -> None:
    """Print lines as they come; with `--json` each batch as an answer of its own."""
    import time

    seen = False
    lost: float | None = None
    while True:
        try:
            answer = perform("jobs.job_log", "JobLog", id=scenario_id, after=after, limit=limit).answer
        except (DaemonUnreachable, NotReady, StoreBusy) as error:
            now = time.monotonic()
            if not seen or (lost is not None and now - lost > PATIENCE):
                raise
            if lost is None:
                lost = now
                say(f"lost, trying again for {PATIENCE:g} seconds: {printable(str(error))}")
            time.sleep(_LOOK)
            continue
        if lost is not None:
            lost = None
            say("following again")
        seen = True
        lines = answer["result"]
        if lines and asked_for_json():
            click.echo(dump_json(answer))
        elif lines:
            _print_lines(lines)
        after = answer["next"]
        if not (lines and limit):
            time.sleep(_LOOK)


def _tells(line: str, error: str) -> bool:
    """Return whether *line* of a log says what the error says that follows it."""
    return line == error or line.startswith(f"{RUN_FAILED}: ")


def _print_lines(lines: Any) -> None:
    for line in lines:
        click.echo(printable(line))


def _short(moment: str | None) -> str:
    return f"{moment[:19]}Z" if moment else "-"
