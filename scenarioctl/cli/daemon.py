"""`scenarioctl daemon`: the HTTP servers and the job worker."""

import os
import sys

import click

from scenarioctl.cli.commands import Command
from scenarioctl.cli.options import option
from scenarioctl.cli.output import say
from scenarioctl.errors import InvalidRequest, ScenarioctlError
from scenarioctl.model.amounts import read_choice

#: Role -> the option that says where its server listens.
_OWN = {"api": "--listen", "worker": "--worker-listen"}


@click.command(
    cls=Command,
    example=(
        "scenarioctl daemon --listen 127.0.0.1:8080 --listen unix:/run/user/1000/scenarioctl.sock"
    ),
)
@option(
    "--role",
    metavar="ROLE",
    choices=("all", "api", "worker"),
    default="all",
    help="What to run: api (the scenario API), worker (the jobs and their API) or all (default).",
)
@click.option(
    "--listen",
    multiple=True,
    metavar="ADDRESS",
    help="Where to serve the scenario API: HOST:PORT or unix:PATH. Repeat for several.",
)
@click.option(
    "--worker-listen",
    multiple=True,
    metavar="ADDRESS",
    help="Where to serve the worker's API.",
)
@click.option(
    "--force",
    is_flag=True,
    help=(
        "Listen beyond this machine without a token. Anyone who can connect can create, run "
        "and broadcast."
    ),
)
@click.option("--print-unit", is_flag=True, help="Print a systemd service unit and exit.")
@click.option("--print-socket-unit", is_flag=True, help="Print a systemd socket unit and exit.")
@click.option(
    "--print-template-unit",
    is_flag=True,
    help="Print a systemd template unit for several daemons of --role, each on a port, and exit.",
)
def daemon(
    role: str,
    listen: tuple[str, ...],
    worker_listen: tuple[str, ...],
    force: bool,
    print_unit: bool,
    print_socket_unit: bool,
    print_template_unit: bool,
) -> None:
    """Serve the scenario API and the job worker's, and run the jobs.

    SIGTERM and Ctrl-C stop it once requests and runs in progress have finished. SIGHUP reloads its
    settings.
    """
    read_choice(role, field="--role", choices=("all", "api", "worker"))
    for other, given, name in (
        ("api", worker_listen, "--worker-listen"),
        ("worker", listen, "--listen"),
    ):
        if role == other and given:
            raise InvalidRequest(
                field=name,
                problem=(
                    f"{given[0]} cannot be combined with --role {role}, which has no such "
                    f"server. Leave it out, or use {_OWN[role]}"
                ),
            )
    if print_unit or print_socket_unit or print_template_unit:
        if print_unit + print_socket_unit + print_template_unit > 1:
            raise InvalidRequest(
                "--print-unit, --print-socket-unit and --print-template-unit print a file "
                "each; pass one of them"
            )
        asked = _asked(role, listen, worker_listen, force=force)
        if print_socket_unit:
            _print_socket_unit(asked)
        elif print_template_unit:
            _print_template_unit(role, asked)
        else:
            _print_unit(asked)
        return
    from scenarioctl.config import load_settings
    from scenarioctl.server.daemon import run_daemon
    from scenarioctl.server.logs import ERROR, is_for_journal

    flags = dict(click.get_current_context().find_root().ensure_object(dict))
    flags |= {"listen": listen or None, "worker_listen": worker_listen or None}
    try:
        run_daemon(lambda: load_settings(flags), role=role, force=force, tell=say)
    except ScenarioctlError:
        if is_for_journal(sys.stderr, os.environ):
            # The prefix makes the error message that follows an error in the journal too.
            click.echo(ERROR, nl=False, err=True)
        raise


def _print_socket_unit(asked: tuple[str, ...]) -> None:
    from scenarioctl.server.systemd import socket_unit

    if asked:
        raise InvalidRequest(
            f"{asked[0]} cannot be combined with --print-socket-unit. Change ListenStream= "
            "in the printed unit"
        )
    click.echo(socket_unit(), nl=False)


def _print_template_unit(role: str, asked: tuple[str, ...]) -> None:
    from scenarioctl.server.systemd import TEMPLATES, interpreter, program, template_unit

    if role not in TEMPLATES:
        raise InvalidRequest(
            field="--print-template-unit",
            problem="needs a role",
            expected=f"one of: {', '.join(TEMPLATES)}",
        )
    more = asked[2:]
    if more:
        raise InvalidRequest(
            f"{more[0]} cannot be combined with --print-template-unit. Change ExecStart= "
            "in the printed unit"
        )
    click.echo(template_unit(*program(), role=role, python=interpreter()), nl=False)


def _print_unit(asked: tuple[str, ...]) -> None:
    from scenarioctl.server.systemd import interpreter, program, service_unit

    click.echo(service_unit(*program(), options=asked, python=interpreter()), nl=False)


def _asked(
    role: str, listen: tuple[str, ...], worker_listen: tuple[str, ...], *, force: bool
) -> tuple[str, ...]:
    """Return the options of this command for the unit's command line."""
    flags = click.get_current_context().find_root().ensure_object(dict)
    for name in ("config", "store"):
        if flags.get(name) is not None:
            raise InvalidRequest(
                field=f"--{name}",
                problem=(
                    "cannot be combined with the units, whose service has its own folders. "
                    "Leave it out"
                ),
            )
    words = ["--role", role] if role != "all" else []
    words += [word for address in listen for word in ("--listen", address)]
    words += [word for address in worker_listen for word in ("--worker-listen", address)]
    words += ["--force"] if force else []
    words += ["--offline"] if flags.get("offline") else []
    return tuple(words)
