"""`scenarioctl config`: the settings of this machine."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from scenarioctl.cli.base import Group, asked_for_json, draw_table, dump_json, open_application, wants_json
from scenarioctl.errors import Conflict


@click.group(cls=Group)
def config() -> None:
    """Show and change the settings."""


@config.command()
def show() -> None:
    """Show the settings in force, and where each comes from."""
    from scenarioctl.config import SETTINGS

    settings = open_application().settings
    values = {
        each.name: _hidden(getattr(settings, each.name))
        if each.kind == "secret"
        else getattr(settings, each.name)
        for each in SETTINGS
    }
    if asked_for_json():
        shown = {name: str(value) if isinstance(value, Path) else value for name, value in values.items()}
        click.echo(
            dump_json(
                {
                    **shown,
                    "config": str(settings.config),
                    "chains": sorted(settings.chains),
                    "tokens": sorted(settings.tokens),
                }
            )
        )
        return
    rows = [(name, _in_words(value), settings.origins[name]) for name, value in values.items()]
    rows += [(f"chains.{name}", "", "config.toml") for name in sorted(settings.chains)]
    rows += [(f"tokens.{name}", "", "config.toml") for name in sorted(settings.tokens)]
    draw_table(("setting", "value", "from"), rows)


def _hidden(secret: str) -> str:
    return "(set)" if secret else ""


def _in_words(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


@config.command()
def path() -> None:
    """Print the path of config.toml."""
    _print_path(_target())


@config.command()
def init() -> None:
    """Write a config.toml with every setting explained; print its path."""
    from scenarioctl.config import template, write_config

    target = _target()
    try:
        is_there = target.exists()
    except OSError:
        # Writing it will say why.
        is_there = False
    if is_there:
        raise Conflict(
            f"config {target} is there already: change it with scenarioctl config set, or remove it first"
        )
    write_config(target, template())
    _print_path(target)


@config.command("set")
@click.argument("key")
@click.argument("value")
def set_(key: str, value: str) -> None:
    """Write KEY = VALUE to config.toml: `store`, `offline`, `chains.rig.endpoints`, …

    VALUE is TOML where it reads as TOML (true, 42, ["ws://127.0.0.1:9944"]), else text.
    """
    from scenarioctl.config import set_value

    target = _target()
    set_value(target, key, value, judge=_judge)
    _print_path(target)


def _judge(written: Mapping[str, Any]) -> None:
    """Refuse chains that no command could work with, and their assets."""
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Registry

    registry = Registry(written.get("chains", {}))
    assets = Assets(registry)
    for each in registry.all():
        if registry.asset_tables(each):
            assets.native(each)


def _print_path(target: Path) -> None:
    # Not `asked_for_json`: it reads the file, which may be what is broken.
    flags = click.get_current_context().find_root().ensure_object(dict)
    as_json = wants_json([], flags)
    click.echo(dump_json({"config": str(target)}) if as_json else str(target))


def _target() -> Path:
    """Return the path of config.toml, without reading it: it may be what is broken."""
    import os

    from scenarioctl.config import config_path

    flags = click.get_current_context().find_root().ensure_object(dict)
    return config_path(flags.get("config"), os.environ)
