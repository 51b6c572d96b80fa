"""`scenarioctl config`: the settings of this machine."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from scenarioctl.cli.commands import Group
from scenarioctl.cli.execution import emit, open_application, print_table, tell
from scenarioctl.cli.options import complete_scopes, complete_settings, option
from scenarioctl.errors import Conflict, InvalidRequest, NotFound, closest


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
    from scenarioctl.server.listening import parse_address

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
