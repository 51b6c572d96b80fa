"""`scenarioctl status`, `doctor` and `store`: what needs you, this installation, and the store
itself."""

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from scenarioctl.cli.commands import Command, Group
from scenarioctl.cli.drawing import print_drawn
from scenarioctl.cli.execution import emit, open_application, print_table, read_settings, run, tell
from scenarioctl.cli.options import argument, option
from scenarioctl.cli.output import list_some, printable
from scenarioctl.errors import ChainUnreachable, InvalidRequest, ScenarioctlError, StoreUnavailable
from scenarioctl.files import reason_of
from scenarioctl.operations.results import OUTCOMES

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.config import Settings


#: Seconds by which a chain's newest block may be ahead of this machine's clock, and may be old.
_AHEAD, _OLD = 10, 120


class HealthCheck(NamedTuple):
    """What one check found."""

    name: str
    #: None if it is only a warning, or unknown.
    ok: bool | None
    text: str
    #: What to do about it; empty if there is nothing to do.
    advice: str = ""
    #: Whether it is broken only because something can't be reached.
    unreachable: bool = False


@click.command(cls=Command, example="scenarioctl doctor\n  scenarioctl doctor --offline --json")
@click.option(
    "--notify",
    "notifies",
    is_flag=True,
    help="Also send a test notification to all targets of the setting notify.",
)
def doctor(notifies: bool) -> None:
    """Check this installation: settings, store, worker, facts, chains and clock.

    ✗ is broken, ! is a warning or unknown. The exit code is 0 if nothing is broken, 5 if only a
    chain or a store's server can't be reached, else 2. With --offline, no network is used.
    """
    checks = list(_checks(notifies))
    broken = [each for each in checks if each.ok is False]
    rows = [dict(zip(("name", "ok", "text", "advice"), each, strict=False)) for each in checks]
    emit({"ok": not broken, "checks": rows}, lambda: _draw(checks))
    if broken:
        kind = ChainUnreachable if all(each.unreachable for each in broken) else InvalidRequest
        click.get_current_context().exit(OUTCOMES[kind.code].exit)


def _draw(checks: list[HealthCheck]) -> None:
    place = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    marks = {True: "+✓"[place], False: "x✗"[place], None: "!"}
    for each in checks:
        stop = "" if each.text.endswith("?") else "."
        advice = f"{stop} {each.advice[:1].upper()}{each.advice[1:]}" if each.advice else ""
        click.echo(f"{marks[each.ok]} {each.name:6}  {printable(each.text + advice)}")


def _checks(notifies: bool) -> Iterator[HealthCheck]:
    try:
        app, broken = _open_without_errors()
    except (ScenarioctlError, OSError) as error:
        # A flag or a variable: what is meant is not known.
        yield HealthCheck("config", False, str(error), "correct it; nothing else was checked")
        return
    yield broken or check_config(app.settings)
    yield from check_store(app)
    yield check_facts(app)
    yield from check_chains(app)
    if notifies:
        yield check_notifications(app)


def _open_without_errors() -> "tuple[Application, HealthCheck | None]":
    """Return the application, and what is wrong with config.toml; without it then."""
    try:
        read_settings()
    except (ScenarioctlError, OSError) as error:
        # Whether it forbids to ask a node isn't known.
        read_settings(config=os.devnull, offline=True)
        advice = "correct it; the other checks are made without it, and offline"
        return open_application(), HealthCheck("config", False, str(error), advice)
    app = open_application()
    try:
        # Read now: a wrong [chains.NAME] is one in config.toml.
        _ = app.registry
    except ScenarioctlError as error:
        app.renew(replace(app.settings, chains={}))
        advice = "correct it; the other checks are made without the chains of config.toml"
        return app, HealthCheck("config", False, str(error), advice)
    return app, None


def check_config(settings: "Settings") -> HealthCheck:
    from scenarioctl.config import secrets_in
    from scenarioctl.files import is_open

    if not settings.config.exists():
        return HealthCheck("config", True, f"{settings.config} does not exist, the defaults apply")
    names = [name for name, origin in settings.origins.items() if origin == "config.toml"]
    written = {name: getattr(settings, name) for name in names}
    secrets = secrets_in({**written, "chains": settings.chains})
    if secrets and is_open(settings.config):
        text = f"{settings.config} has a secret ({', '.join(secrets)}), and every user can read it"
        return HealthCheck("config", False, text, f"chmod 600 {settings.config}")
    return HealthCheck("config", True, f"{settings.config}, {len(names)} settings")


def check_store(app: "Application") -> Iterator[HealthCheck]:
    from scenarioctl.config import is_server, without_password

    location = without_password(app.settings.store)
    if not is_server(app.settings.store):
        path = Path(app.settings.store)
        reason = _try_to_write(path)
        if reason:
            text = f"{location} cannot be written: {reason}"
            yield HealthCheck("store", False, text, "make its directory writable, or set store")
            return
        if not path.exists():
            yield HealthCheck("store", True, f"{location}, created with the first scenario")
            return
    elif app.settings.offline:
        yield HealthCheck("store", None, f"{location}, not checked: offline")
        return
    try:
        found = run(app.store.inspect(app.clock))
        has_worker = run(app.store.has_worker())
    except (ScenarioctlError, OSError) as error:
        is_away = isinstance(error, StoreUnavailable)
        yield HealthCheck("store", False, f"{location}: {error}", unreachable=is_away)
        return
    text = f"{location}, {found.engine}, tables of version {found.version}"
    yield HealthCheck("store", None if found.findings else True, text, "; ".join(found.findings))
    worker = HealthCheck("worker", None, "none runs the jobs", "to run them: scenarioctl daemon")
    yield HealthCheck("worker", True, "a worker runs the jobs") if has_worker else worker


def _try_to_write(path: Path) -> str:
    from tempfile import TemporaryFile

    folder = next(each for each in path.absolute().parents if each.exists())
    try:
        # Before the store is opened: SQLite loses its locks when another descriptor is closed.
        if path.exists():
            path.open("r+b").close()
        with TemporaryFile(dir=folder, buffering=0) as file:
            file.write(b"scenarioctl")
    except OSError as error:
        return reason_of(error)
    return ""


def check_facts(app: "Application") -> HealthCheck:
    from scenarioctl.transactions import fact_ages

    today = fact_ages.day_of(app.clock())
    if (oldest := fact_ages.find_oldest(app.registry.all(), app.registry)) is None:
        return HealthCheck("facts", None, "none here", "install scenarioctl again")
    fact, what = oldest[0], f"{oldest[0].what} of {oldest[1].title}"
    if fact.read > today:
        text = f"it is {today} by this clock, and the {what} was read on {fact.read}"
        return HealthCheck("facts", False, text, "set the clock, for example with NTP")
    is_old = today - fact.read > fact_ages.LIMIT
    text = f"the oldest, {what}, is {(today - fact.read).days} days old ({fact.read})"
    return HealthCheck("facts", not is_old or None, text, "upgrade scenarioctl" * is_old)


def check_chains(app: "Application") -> Iterator[HealthCheck]:
    """Check which chains answer, and compare this machine's clock with their newest block."""
    from scenarioctl.chains.probing import probe

    chains = [each for each in app.registry.all() if each.endpoints]
    if app.settings.offline:
        yield HealthCheck("chains", None, "not checked: offline")
        return
    probes = run(probe(chains))
    answering = {one.chain for one in probes if one.healthy}
    silent = {one.chain: one.reason for one in probes if one.chain not in answering}
    if not silent:
        yield HealthCheck("chains", True, f"{len(chains)} answer")
    else:
        reasons = list_some([f"{chain} ({reason})" for chain, reason in silent.items()], 3)
        text = f"{len(silent)} of {len(chains)} do not answer: {reasons}"
        advice = "check the network, or set chains.CHAIN.endpoints; --offline builds without them"
        yield HealthCheck("chains", False, text, advice, unreachable=True)
    ages = [one.age for one in probes if one.healthy and one.age is not None]
    if not ages:
        yield HealthCheck("clock", None, "unknown: no chain to compare it with")
    elif (age := min(ages)) < -_AHEAD:
        text = f"it is at least {-age:.0f} s behind the newest block of a chain"
        yield HealthCheck("clock", False, text, "set the clock, for example with NTP")
    else:
        text = f"the newest block of a chain is {max(age, 0):.0f} s old"
        yield HealthCheck("clock", True if age <= _OLD else None, text)


def check_notifications(app: "Application") -> HealthCheck:
    """Send a test notification to each target of the settings."""
    from scenarioctl.model.notifications import describe_target
    from scenarioctl.operations.notifications import send_test

    found = {describe_target(each): run(send_test(app, each)) for each in app.settings.notify}
    lost = "; ".join(f"{target}: {reason}" for target, reason in found.items() if reason)
    count = sum(map(bool, found.values()))
    text = f"{count} of {len(found)} not delivered: {lost}" if lost else f"{len(found)} delivered"
    return HealthCheck("notify", bool(found) and not lost, text, unreachable=bool(lost))


@click.command(
    cls=Command,
    operation="status.show_status",
    others=("stores.check_store",),
    example="scenarioctl status --field needs.count",
)
@click.option(
    "--store-only",
    is_flag=True,
    help="Show the store instead: its version, its workers, and what to do about them.",
)
def status(store_only: bool) -> None:
    print_drawn("stores.check_store" * store_only)


@click.group(cls=Group)
def store() -> None:
    """Create, back up, restore and copy the store."""


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
