"""Where a setting comes from: flags, then `SCENARIOCTL_*`, then config.toml, then the default.

To add a setting, add a row to SETTINGS and a field to Settings.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scenarioctl.errors import InvalidRequest, shorten

APPLICATION = "scenarioctl"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One row of the table: how a setting is spelled, read and explained."""

    name: str
    kind: str
    default: str
    help: str

    @property
    def variable(self) -> str:
        return f"SCENARIOCTL_{self.name.upper()}"


SETTINGS = (
    Setting(name="store", kind="path", default="", help="the scenario store, a file"),
    Setting(name="cache", kind="path", default="", help="where runtime tables of connected chains are kept"),
    Setting(name="offline", kind="switch", default="false", help="never ask a node"),
    Setting(name="json", kind="switch", default="false", help="answer with the endpoint's JSON"),
)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings in force."""

    config: Path
    store: Path
    cache: Path
    offline: bool = False
    json: bool = False
    #: `[chains.NAME]` of config.toml, as read; `chains/registry.py` judges them.
    chains: Mapping[str, Any] = field(default_factory=dict)
    #: Setting name -> "flag", "SCENARIOCTL_…", "config.toml" or "default".
    origins: Mapping[str, str] = field(default_factory=dict)


def load_settings(flags: Mapping[str, Any], environment: Mapping[str, str] | None = None) -> Settings:
    """Return the settings in force, given what the command line said (None where it was silent)."""
    environment = os.environ if environment is None else environment
    config = config_path(flags.get("config"), environment)
    written = read_config(config, required=bool(flags.get("config") or environment.get("SCENARIOCTL_CONFIG")))
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for setting in SETTINGS:
        given, origin = _first_given(setting, flags, environment, written)
        values[setting.name] = read_value(setting, given, origin) if origin != "default" else given
        origins[setting.name] = origin
    return Settings(
        config=config,
        store=values["store"] or user_directory("data") / "scenarios.db",
        cache=values["cache"] or user_directory("cache"),
        offline=values["offline"] or False,
        json=values["json"] or False,
        chains=written.get("chains", {}),
        origins=origins,
    )


def config_path(flag: str | None, environment: Mapping[str, str]) -> Path:
    """Return the path of config.toml, whether there is one or not."""
    given = flag or environment.get("SCENARIOCTL_CONFIG")
    return Path(given).expanduser() if given else user_directory("config") / "config.toml"


def user_directory(kind: str) -> Path:
    """Return this user's `config`, `data` or `cache` directory for scenarioctl."""
    import platformdirs

    find = {
        "config": platformdirs.user_config_path,
        "data": platformdirs.user_data_path,
        "cache": platformdirs.user_cache_path,
    }[kind]
    return find(APPLICATION)


def read_config(path: Path, *, required: bool = False) -> dict[str, Any]:
    """Return what config.toml says; nothing where there is none and none was asked for."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        if required:
            raise InvalidRequest(
                f"config {shorten(str(path), 200)} is not there, create it with: scenarioctl config init"
            ) from None
        return {}
    except OSError as error:
        raise InvalidRequest(f"config {shorten(str(path), 200)} cannot be read: {error.strerror}") from None
    written = parse_config(text, path)
    known = {setting.name for setting in SETTINGS} | {"chains"}
    for key in written:
        if key not in known:
            raise InvalidRequest(
                f"config {path} has the unknown key {shorten(key)}, expected one of: {', '.join(sorted(known))}"
            )
    if not isinstance(written.get("chains", {}), dict):
        raise InvalidRequest(f"config {path}: chains is not a table, expected [chains.NAME]")
    return written


def parse_config(text: bytes, path: Path) -> dict[str, Any]:
    """Return the TOML document *text*."""
    import tomllib

    try:
        return tomllib.loads(text.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidRequest(f"config {path} is not TOML: {error}") from None


def read_value(setting: Setting, value: object, origin: str) -> Any:
    """Return *value* as the setting's kind wants it."""
    if setting.kind == "switch":
        if isinstance(value, bool):
            return value
        text = str(value).strip().lower()
        if text in {"1", "true", "yes", "on"}:
            return True
        if text in {"0", "false", "no", "off"}:
            return False
        raise InvalidRequest(f"{setting.name} {shorten(value)} ({origin}) is not a switch, expected true or false")
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise InvalidRequest(f"{setting.name} {shorten(value)} ({origin}) is not a path")
    if "\0" in os.fspath(value):
        raise InvalidRequest(f"{setting.name} {shorten(value)} ({origin}) holds a NUL character, no path does")
    return Path(value).expanduser()


def _first_given(
    setting: Setting, flags: Mapping[str, Any], environment: Mapping[str, str], written: Mapping[str, Any]
) -> tuple[Any, str]:
    if flags.get(setting.name) is not None:
        return flags[setting.name], "flag"
    if environment.get(setting.variable):
        return environment[setting.variable], setting.variable
    if setting.name in written:
        return written[setting.name], "config.toml"
    return None, "default"
