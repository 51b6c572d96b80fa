"""Settings, in order of precedence: flags, `SCENARIOCTL_*`, config.toml, defaults.

To add a setting, add a row to SETTINGS and a field to Settings.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scenarioctl.errors import InvalidRequest, shorten, suggest

APPLICATION = "scenarioctl"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One setting: its name, kind, default and help."""

    name: str
    kind: str
    default: str
    help: str
    #: Also a flag, before or after any command.
    everywhere: bool = False
    #: The smallest number.
    least: int = 0
    #: Allowed texts; empty: any.
    choices: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        return f"SCENARIOCTL_{self.name.upper()}"


SETTINGS = (
    Setting(name="store", kind="store", default="", help="the scenario store, a file", everywhere=True),
    Setting(name="cache", kind="path", default="", help="where runtime tables of connected chains are kept"),
    Setting(name="offline", kind="switch", default="false", help="never ask a node", everywhere=True),
    Setting(
        name="json", kind="switch", default="false", help="answer with the endpoint's JSON", everywhere=True
    ),
    Setting(
        name="url",
        kind="text",
        default="",
        help="the daemon that carries the commands out, in place of this machine",
        everywhere=True,
    ),
    Setting(name="token", kind="secret", default="", help="the bearer token that a daemon at `url` wants"),
    Setting(
        name="listen",
        kind="list",
        default='["127.0.0.1:8080"]',
        help="where the daemon serves the scenario API: HOST:PORT or unix:PATH",
    ),
    Setting(
        name="worker_listen",
        kind="list",
        default='["127.0.0.1:8081"]',
        help="where the daemon serves the job worker's API",
    ),
    Setting(
        name="hosts",
        kind="list",
        default="[]",
        help="names beside loopback by which clients may call the daemon (the Host header)",
    ),
    Setting(
        name="cors",
        kind="list",
        default="[]",
        help="web pages of other origins that may call the daemon (CORS)",
    ),
    Setting(
        name="body_limit",
        kind="number",
        default="33554432",
        least=1024,
        help="bytes of the largest request body",
    ),
    Setting(
        name="rate",
        kind="number",
        default="0",
        help="requests per second that one client may send; 0: without limit",
    ),
    Setting(
        name="requests",
        kind="number",
        default="256",
        least=1,
        help="requests that are worked on at once; others wait",
    ),
    Setting(
        name="connections",
        kind="number",
        default="2048",
        least=1,
        help="connections that are open at once; further ones are closed",
    ),
    Setting(
        name="client_connections",
        kind="number",
        default="1024",
        help="how many of them one client may have (an address, a user of a Unix socket); 0: all",
    ),
    Setting(
        name="request_seconds",
        kind="number",
        default="30",
        least=1,
        help="seconds that a client may take to send its request",
    ),
    Setting(
        name="webhook_rate",
        kind="number",
        default="20",
        help="events per second that one webhook takes; 0: without limit",
    ),
    Setting(
        name="webhook_limit",
        kind="number",
        default="1048576",
        least=1,
        help="bytes of the largest webhook event",
    ),
    Setting(
        name="webhook_events",
        kind="number",
        default="100",
        least=1,
        help="events that are kept for each webhook",
    ),
    Setting(
        name="webhook_days", kind="number", default="7", least=1, help="days that a webhook's event is kept"
    ),
    Setting(
        name="run_seconds",
        kind="number",
        default="3600",
        help="seconds that a run may take if its job has no timeout, without its waits for webhooks and delays; 0: without limit",
    ),
    Setting(
        name="log_lines", kind="number", default="10000", help="log lines that are kept of each job; 0: all"
    ),
    Setting(name="log_days", kind="number", default="0", help="days that log lines are kept; 0: for ever"),
    Setting(
        name="mempool_entries", kind="number", default="1000", help="drafts that are kept of each job; 0: all"
    ),
    Setting(name="mempool_days", kind="number", default="0", help="days that drafts are kept; 0: for ever"),
    Setting(
        name="draft_hours",
        kind="number",
        default="24",
        least=1,
        help="hours after which a draft counts as expired",
    ),
    Setting(
        name="private_targets",
        kind="list",
        default="[]",
        help="hosts and networks of one's own that http steps may reach, like 10.1.2.0/24",
    ),
    Setting(
        name="log_level",
        kind="text",
        default="info",
        help="what the daemon logs: debug, info, warning or error",
        choices=("debug", "info", "warning", "error"),
    ),
)


#: Examples of settings without a default.
EXAMPLES = {
    "url": '"http://127.0.0.1:8080"',
    "token": '"sctl_…"',
    "hosts": '["daemon.example.org"]',
    "cors": '["https://app.example.org"]',
    "private_targets": '["10.1.2.0/24"]',
}


#: Other tables of config.toml.
_TABLES = ("chains", "tokens")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings in force."""

    config: Path
    #: The path of a file, or a URL, which may hold a password.
    store: str = field(repr=False)
    cache: Path
    offline: bool = False
    json: bool = False
    url: str = ""
    token: str = field(default="", repr=False)
    listen: tuple[str, ...] = ("127.0.0.1:8080",)
    worker_listen: tuple[str, ...] = ("127.0.0.1:8081",)
    hosts: tuple[str, ...] = ()
    cors: tuple[str, ...] = ()
    body_limit: int = 32 * 1024 * 1024
    rate: int = 0
    requests: int = 256
    connections: int = 2048
    client_connections: int = 1024
    request_seconds: int = 30
    webhook_rate: int = 20
    webhook_limit: int = 1024 * 1024
    webhook_events: int = 100
    webhook_days: int = 7
    run_seconds: int = 3600
    log_lines: int = 10_000
    log_days: int = 0
    mempool_entries: int = 1_000
    mempool_days: int = 0
    draft_hours: int = 24
    private_targets: tuple[str, ...] = ()
    log_level: str = "info"
    #: `[tokens.NAME]` of config.toml: who may call the daemon, and for what; `server/access.py` judges them.
    tokens: Mapping[str, Any] = field(default_factory=dict, repr=False)
    #: `[chains.NAME]` of config.toml, as read; `chains/registry.py` judges them.
    chains: Mapping[str, Any] = field(default_factory=dict)
    #: Setting name -> "flag", "SCENARIOCTL_…", "config.toml" or "default".
    origins: Mapping[str, str] = field(default_factory=dict)


def load_settings(flags: Mapping[str, Any], environment: Mapping[str, str] | None = None) -> Settings:
    """Return the settings in force; *flags* are those of the command line, None if not given."""
    environment = os.environ if environment is None else environment
    config = config_path(flags.get("config"), environment)
    written = read_config(config, required=bool(flags.get("config") or environment.get("SCENARIOCTL_CONFIG")))
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for setting in SETTINGS:
        given, origin = _first_given(setting, flags, environment, written)
        if origin != "default":
            values[setting.name] = read_value(setting, given, origin)
        origins[setting.name] = origin
    if "store" not in values:
        values["store"] = str(user_directory("data") / "scenarios.db")
    if "cache" not in values:
        values["cache"] = user_directory("cache")
    return Settings(
        **values,
        config=config,
        tokens=written.get("tokens", {}),
        chains=written.get("chains", {}),
        origins=origins,
    )


def config_path(flag: str | None, environment: Mapping[str, str]) -> Path:
    """Return the path of config.toml, which may not exist."""
    given = flag or environment.get("SCENARIOCTL_CONFIG")
    if given and "\0" in given:
        raise InvalidRequest(f"config {shorten(given)} contains a NUL character, which no path can")
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
    """Return the content of config.toml; empty if it does not exist and is not *required*."""
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
    known = [*(setting.name for setting in SETTINGS), *_TABLES]
    for key in written:
        if key not in known:
            raise InvalidRequest(
                f"config {path} has the unknown key {shorten(key)}, {suggest_setting(key, known)}"
            )
    for table in _TABLES:
        if not isinstance(written.get(table, {}), dict):
            raise InvalidRequest(f"config {path}: {table} is not a table, expected [{table}.NAME]")
    return written


def suggest_setting(key: str, known: Sequence[str]) -> str:
    """Return a hint to the setting that *key* may mean."""
    return suggest(
        key.replace("-", "_"),
        known,
        otherwise="scenarioctl config show lists all settings",
        cutoff=0.7,
    )


def parse_config(text: bytes, path: Path) -> dict[str, Any]:
    """Return the TOML document *text*."""
    from scenarioctl.model.toml import parse_toml

    try:
        return parse_toml(text.decode("utf-8"), field=f"config {path}")
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"config {path} is not UTF-8 text: byte {error.start} is wrong") from None
    except RecursionError:
        raise InvalidRequest(f"config {path} nests too deep") from None
    except ValueError as error:
        # Not only TOMLDecodeError: a number too long for Python is a plain ValueError.
        raise InvalidRequest(f"config {path} is not TOML: {error}") from None


def read_value(setting: Setting, value: object, origin: str) -> Any:
    """Return *value* converted to the setting's kind."""
    if setting.kind == "switch":
        if isinstance(value, bool):
            return value
        text = str(value).strip().lower()
        if text in {"1", "true", "yes", "on"}:
            return True
        if text in {"0", "false", "no", "off"}:
            return False
        raise InvalidRequest(
            f"{setting.name} {shorten(value)} ({origin}) is not a switch, expected true or false"
        )
    if setting.kind == "number":
        return _read_number(setting, value, origin)
    if setting.kind == "list":
        return _read_list(setting, value, origin)
    if setting.kind in ("text", "secret"):
        if setting.choices and (not isinstance(value, str) or value.strip().lower() not in setting.choices):
            raise InvalidRequest(
                f"{setting.name} {shorten(value)} ({origin}) is unknown, expected one of: {', '.join(setting.choices)}"
            )
        if isinstance(value, str) and value.isprintable():
            return value.strip().lower() if setting.choices else value
        shown = "…" if setting.kind == "secret" else shorten(value)
        raise InvalidRequest(f"{setting.name} {shown} ({origin}) is not one line of text")
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise InvalidRequest(
            f"{setting.name} {shorten(value)} ({origin}) is not a path, expected one like /path/to/{setting.name}"
        )
    if "://" in os.fspath(value) and setting.kind == "store":
        return os.fspath(value)
    if "://" in os.fspath(value):
        # Path() would drop a slash.  Don't show the rest of the URL, which may contain a password.
        scheme = os.fspath(value).partition("://")[0]
        raise InvalidRequest(
            f"{setting.name} {shorten(scheme + '://…')} ({origin}) is a URL, expected a path like /path/to/{setting.name}"
        )
    if "\0" in os.fspath(value):
        raise InvalidRequest(
            f"{setting.name} {shorten(value)} ({origin}) contains a NUL character, which no path can"
        )
    path = Path(value).expanduser()
    return str(path) if setting.kind == "store" else path


def without_password(store: str) -> str:
    """Return *store* as it may be shown: of a URL, neither the password nor the query, which may hold one too."""
    scheme, separator, rest = store.partition("://")
    if not separator:
        return store
    user, at, host = rest.partition("?")[0].rpartition("@")
    user, colon, _ = user.partition(":")
    return f"{scheme}://{user}{':…' if colon else ''}{at}{host}"


def _read_number(setting: Setting, value: object, origin: str) -> int:
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not (
        isinstance(text, str) and text.strip().isascii() and text.strip().isdigit() and len(text.strip()) < 16
    ):
        raise InvalidRequest(
            f"{setting.name} {shorten(value)} ({origin}) is not a whole number, expected one like {_example(setting)}"
        )
    if int(text) < setting.least:
        raise InvalidRequest(
            f"{setting.name} {shorten(value)} ({origin}) is too small, expected at least {setting.least}"
        )
    return int(text)


def _example(setting: Setting) -> str:
    return setting.default if setting.default != "0" else "100"


def _read_list(setting: Setting, value: object, origin: str) -> tuple[str, ...]:
    if isinstance(value, str):
        # In a variable or a flag: separated by commas.
        value = [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, (list, tuple)) and all(isinstance(part, str) and part for part in value):
        return tuple(value)
    example = setting.default if setting.default != "[]" else EXAMPLES[setting.name]
    raise InvalidRequest(
        f"{setting.name} {shorten(value)} ({origin}) is not a list of texts, expected one like {example}"
    )


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
