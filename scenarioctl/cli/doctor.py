"""`scenarioctl doctor`: whether all that the program needs is here, and what to do where it isn't."""

import sys
from collections.abc import Iterator

import click

from scenarioctl.cli.commands import Command
from scenarioctl.cli.execution import emit, open_application, read_settings
from scenarioctl.cli.health_checks import (
    HealthCheck,
    check_clock,
    check_completion,
    check_config,
    check_daemon,
    check_man_page,
    check_notifications,
    check_postgres,
    check_python,
    check_store,
    look_at_chains,
)
from scenarioctl.cli.output import printable
from scenarioctl.errors import ChainUnreachable, InvalidRequest, ScenarioctlError
from scenarioctl.operations.outcomes import OUTCOMES

_MARKS = {True: "✓", False: "✗", None: "!"}


@click.command(cls=Command, example="scenarioctl doctor\n  scenarioctl doctor --offline --json")
def doctor() -> None:
    """Check this installation: settings, store, chains, daemon, shell and clock.

    ✓ is fine, ✗ is broken, ! is a warning or unknown. The exit code is 0 if nothing is broken, 5 if only a chain, a daemon or a
    store's server can't be reached, else 2. With --offline, nothing is asked over a network.
    """
    checks = list(_checks())
    broken = [each for each in checks if each.ok is False]
    answer = {
        "ok": not broken,
        "checks": [
            {"name": each.name, "ok": each.ok, "text": each.text, "advice": each.advice} for each in checks
        ],
    }
    emit(answer, lambda: _draw(checks))
    if broken:
        # What can't be reached may be back in a moment; anything else needs a person, so it counts more.
        kind = ChainUnreachable if all(each.unreachable for each in broken) else InvalidRequest
        click.get_current_context().exit(OUTCOMES[kind.code].exit)


def _checks() -> Iterator[HealthCheck]:
    yield check_python()
    yield check_postgres()
    try:
        settings = read_settings()
        app = open_application()
        # Read now: a wrong [chains.NAME] is one in config.toml.
        _ = app.registry
    except (ScenarioctlError, OSError) as error:
        yield HealthCheck(
            "config", False, str(error), "correct it; all that depends on the settings was not checked"
        )
    else:
        yield check_config(settings)
        yield check_store(app)
        notifications = check_notifications(app)
        if notifications is not None:
            yield notifications
        moment = None
        try:
            chains, moment = look_at_chains(app)
            yield from chains
        except (ScenarioctlError, OSError) as error:
            yield HealthCheck("chains", False, str(error))
        daemon, date = check_daemon(settings)
        yield daemon
        yield check_clock(app, moment, date)
    yield check_completion()
    yield check_man_page()


def _draw(checks: list[HealthCheck]) -> None:
    width = max(len(each.name) for each in checks)
    letters = _MARKS if _spells_marks() else {True: "ok", False: "x ", None: "! "}
    for each in checks:
        advice = f". {each.advice[:1].upper()}{each.advice[1:]}" if each.advice else ""
        click.echo(f"{letters[each.ok]} {each.name:{width}}  {printable(each.text + advice)}")


def _spells_marks() -> bool:
    try:
        "".join(_MARKS.values()).encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True
