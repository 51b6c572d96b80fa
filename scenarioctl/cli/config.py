"""`scenarioctl config` and `daemon`: the settings of this machine, and the servers and the job
worker that run by them."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from scenarioctl.cli.commands import Command, Group
from scenarioctl.cli.execution import emit, open_application, print_table, tell
from scenarioctl.cli.options import complete_scopes, complete_settings, option
from scenarioctl.cli.output import say
from scenarioctl.errors import Conflict, InvalidRequest, NotFound, ScenarioctlError, closest
from scenarioctl.model.amounts import read_choice


@click.group(cls=Group)
def config() -> None:
    """Show and change the settings."""


@config.command()
def show() -> None:
    """Show the settings in effect and where each comes from."""
    from scenarioctl.config import SECRET_KINDS, SETTINGS
    from scenarioctl.model.notifications import describe_target

    settings = open_application().settings
    kinds = {each.name: each.kind for each in SETTINGS}
    values = {each.name: _shown(getattr(settings, each.name)) for each in SETTINGS}
    values |= {
        name: "(set)" if values[name] else "" for name in values if kinds[name] in SECRET_KINDS
    } | {"notify": tuple(describe_target(each) for each in settings.notify)}
    chains, tokens = sorted(settings.chains), sorted(settings.tokens)
    print_table(
        {**values, "config": str(settings.config), "chains": chains, "tokens": tokens},
        ("setting", "value", "from"),
        (
            *((name, _in_words(value), settings.origins[name]) for name, value in values.items()),
            *((f"chains.{name}", "", "config.toml") for name in chains),
            *((f"tokens.{name}", _scopes(settings.tokens[name]), "config.toml") for name in tokens),
        ),
    )


def _scopes(table: Any) -> str:
    """Return what a token is good for, and nothing of its hash."""
    scopes = table.get("scopes") if isinstance(table, Mapping) else None
    return ", ".join(str(scope) for scope in scopes) if isinstance(scopes, list) else ""


def _shown(value: Any) -> Any:
    """Return the value of a setting as it may be shown."""
    from scenarioctl.config import without_password

    if isinstance(value, tuple):
        return tuple(map(without_password, value))
    return without_password(str(value)) if isinstance(value, (str, Path)) else value


def _in_words(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


@config.command(hidden=True)
def init() -> None:
    """Write a config.toml with every setting explained; print its path."""
    from scenarioctl.config_file import template, write_config

    target = _target()
    try:
        is_there = target.exists()
    except OSError:
        # Writing it will say why.
        is_there = False
    if is_there:
        raise Conflict(
            f"config {target} already exists. Change it with scenarioctl config set, or "
            "remove it first"
        )
    write_config(target, template())
    _print_path(target)


@config.command("set")
@click.argument("key", shell_complete=complete_settings)
@click.argument("value")
def set_(key: str, value: str) -> None:
    """Write KEY = VALUE to config.toml: `store`, `offline`, `chains.rig.endpoints`, …

    VALUE is TOML where it reads as TOML (true, 42, ["ws://127.0.0.1:9944"]), else text.
    """
    from scenarioctl.chains.registry import KEYS
    from scenarioctl.config import refuse_password
    from scenarioctl.config_file import set_value

    target = _target()
    if key.startswith("chains."):
        _refuse_other_name(target, key)
    if key == "store":
        refuse_password(value, key, instead="write the URL into config.toml with an editor")
    _tell_of_secrets(target, set_value(target, key, value, judge=_judge, chain_keys=KEYS))
    _print_path(target)


def _refuse_other_name(target: Path, key: str) -> None:
    """Refuse a key of a chain that has another name, or that is misspelt; a new one is fine."""
    from scenarioctl.chains.registry import Registry
    from scenarioctl.config import read_config

    _, name, *rest = key.split(".", 2)
    names = {alias: each.name for each in Registry().all() for alias in (each.name, *each.aliases)}
    near = (
        [] if name in read_config(target).get("chains", {}) else closest(name, names, cutoff=0.85)
    )
    meant = names.get(name) or next((names[each] for each in near), name)
    if meant != name:
        right = ".".join(("chains", meant, *rest))
        raise InvalidRequest(
            field="key", value=key, problem=f"names no chain, did you mean {right}?"
        )


@config.command(example="scenarioctl config token ops --scopes read,create")
@click.argument("name")
@option(
    "--scopes",
    metavar="LIST",
    shell_complete=complete_scopes,
    help="What it permits, separated by commas: read, create, broadcast, jobs (default read).",
)
@click.option("--remove", is_flag=True, help="Remove the token NAME.")
def token(name: str, scopes: str | None, remove: bool) -> None:
    """Create an access token for the daemon and print it, once.

    config.toml keeps its hash alone.  Once there is a token, the daemon wants one from everybody.
    """
    from scenarioctl.config import read_config
    from scenarioctl.config_file import write_value
    from scenarioctl.server.access import new_token, read_scopes

    target = _target()
    known = read_config(target).get("tokens", {})
    names = ("tokens", name)
    if remove:
        if name not in known:
            raise NotFound(field="token", value=name, problem=f"is not in {target}")
        _tell_of_secrets(target, write_value(target, names, None, judge=_judge))
        _print_path(target)
        _tell_of_reload()
        return
    if name in known:
        raise Conflict(
            field="token",
            value=name,
            problem="already exists. Choose another name, or remove it with --remove",
        )
    good_for = read_scopes([part.strip() for part in (scopes or "read").split(",")], field="scopes")
    made, digest = new_token()
    written = {"sha256": digest, "scopes": good_for}
    _tell_of_secrets(target, write_value(target, names, written, judge=_judge))
    answer = {"token": made, "name": name, "scopes": good_for, "config": str(target)}
    emit(answer, lambda: click.echo(made))
    _tell_of_reload()


def _tell_of_secrets(target: Path, closed_for: list[str]) -> None:
    if closed_for:
        tell(
            f"Every user of this machine could read {target}, which has a secret "
            f"({', '.join(closed_for)})."
            " Now only its owner can (mode 600)."
        )


def _tell_of_reload() -> None:
    tell("A running daemon applies this when it reloads its settings: systemctl reload, or SIGHUP.")


def _judge(written: Mapping[str, Any]) -> None:
    """Refuse chains that no command could work with, and their assets; and rules that no daemon
    could."""
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Registry
    from scenarioctl.cli.remote import parse_url
    from scenarioctl.outgoing.guard import Guard
    from scenarioctl.server.access import read_hosts, read_origins, read_tokens
    from scenarioctl.server.process import parse_address

    registry = Registry(written.get("chains", {}))
    assets = Assets(registry)
    for each in registry.all():
        if registry.asset_tables(each):
            assets.native(each)
    tokens = read_tokens(written.get("tokens", {}))
    read_hosts(_listed(written, "hosts"))
    read_origins(_listed(written, "cors"), tokens)
    for field in ("listen", "worker_listen"):
        for address in _listed(written, field):
            parse_address(address, field=field)
    Guard(_listed(written, "private_targets"))
    if written.get("url"):
        parse_url(written["url"])


def _listed(written: Mapping[str, Any], name: str) -> tuple[str, ...]:
    from scenarioctl.config import SETTINGS, read_value

    if name not in written:
        return ()
    setting = next(each for each in SETTINGS if each.name == name)
    read: tuple[str, ...] = read_value(setting, written[name], "config.toml")
    return read


def _print_path(target: Path) -> None:
    emit({"config": str(target)}, lambda: click.echo(str(target)))


def _target() -> Path:
    """Return the path of config.toml, without reading it: it may be what is broken."""
    import os

    from scenarioctl.config import config_path

    flags = click.get_current_context().find_root().ensure_object(dict)
    return config_path(flags.get("config"), os.environ)


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
    from scenarioctl.server.process import ERROR, is_for_journal

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
    from scenarioctl.server.process import socket_unit

    if asked:
        raise InvalidRequest(
            f"{asked[0]} cannot be combined with --print-socket-unit. Change ListenStream= "
            "in the printed unit"
        )
    click.echo(socket_unit(), nl=False)


def _print_template_unit(role: str, asked: tuple[str, ...]) -> None:
    from scenarioctl.server.process import TEMPLATES, interpreter, program, template_unit

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
    from scenarioctl.server.process import interpreter, program, service_unit

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
