"""Settings, in order of precedence: flags, `SCENARIOCTL_*`, config.toml, defaults.

To add a setting, add a field with a help to Settings.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from scenarioctl.errors import InvalidRequest, shorten, suggest
from scenarioctl.files import read_file
from scenarioctl.model.amounts import read_digits

APPLICATION = "scenarioctl"

#: Type of a field -> kind of the setting.
_KINDS: Mapping[Any, str] = {
    bool: "switch",
    int: "number",
    str: "text",
    Path: "path",
    tuple[str, ...]: "list",
}


def _setting(default: Any, *, hidden: bool = False, **about: Any) -> Any:
    """Return a field of Settings that users can set; *about* are fields of Setting, *default* may
    be a function."""
    filled = {"default_factory": default} if callable(default) else {"default": default}
    return field(**filled, repr=not hidden, metadata=about)


_XDG = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "data": ("XDG_DATA_HOME", ".local/share"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
}


def user_directory(kind: str) -> Path:
    """Return this user's `config`, `data` or `cache` directory for scenarioctl."""
    if os.uname().sysname == "Linux":
        # As platformdirs finds it, whose import is a tenth of a short command's time.
        variable, otherwise = _XDG[kind]
        return Path(os.environ.get(variable, "").strip() or Path.home() / otherwise, APPLICATION)
    from platformdirs import PlatformDirs

    return Path(getattr(PlatformDirs(APPLICATION), f"user_{kind}_path"))


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings in force."""

    config: Path
    #: The path of a file, or a URL, which may hold a password.
    store: str = _setting(
        lambda: str(user_directory("data") / "scenarios.db"),
        hidden=True,
        kind="store",
        help="the scenario store: a file, or a server like postgresql://USER@HOST/DATABASE",
        everywhere=True,
    )
    store_pool: int = _setting(10, least=1, help="connections of a daemon to the store's server")
    store_statement_seconds: int = _setting(
        30, help="timeout of a statement of the store's server, in seconds; 0: no limit"
    )
    cache: Path = field(
        default_factory=lambda: user_directory("cache"),
        metadata={"help": "the directory for runtime tables read from chains"},
    )
    offline: bool = _setting(False, help="never connect to a node", everywhere=True)
    old_facts: bool = _setting(
        False, help="build offline from facts that are older than a year", everywhere=True
    )
    json: bool = _setting(
        False, help="print the JSON that the HTTP endpoint answers", everywhere=True
    )
    strict: bool = _setting(
        False, help="treat warnings as errors, with exit code 7", everywhere=True
    )
    url: str = _setting(
        "",
        help="run the commands on the daemon at this URL",
        everywhere=True,
        sample='"http://127.0.0.1:8080"',
    )
    token: str = _setting(
        "",
        hidden=True,
        kind="secret",
        help="the bearer token for the daemon at `url`",
        sample='"sctl_…"',
    )
    listen: tuple[str, ...] = _setting(
        ("127.0.0.1:8080",), help="where the daemon serves the scenario API: HOST:PORT or unix:PATH"
    )
    worker_listen: tuple[str, ...] = _setting(
        ("127.0.0.1:8081",), help="where the daemon serves the worker's API"
    )
    hosts: tuple[str, ...] = _setting(
        (),
        help="names, other than loopback, that clients may send in the Host header",
        sample='["daemon.example.org"]',
    )
    cors: tuple[str, ...] = _setting(
        (),
        help="other origins whose web pages may call the daemon, by CORS",
        sample='["https://app.example.org"]',
    )
    body_limit: int = _setting(32 * 1024 * 1024, least=1024, help="largest request body, in bytes")
    rate: int = _setting(0, help="requests per second from one client; 0: no limit")
    connections: int = _setting(2048, least=1, help="open connections; further ones are closed")
    client_connections: int = _setting(
        1024,
        help=(
            "open connections of one client, which is an address or a user of a Unix socket; "
            "0: no limit"
        ),
    )
    request_seconds: int = _setting(30, least=1, help="seconds for a client to send its request")
    webhook_rate: int = _setting(20, help="events per second for one webhook; 0: no limit")
    webhook_limit: int = _setting(1024 * 1024, least=1, help="largest webhook event, in bytes")
    webhook_events: int = _setting(100, least=1, help="events kept for each webhook")
    webhook_days: int = _setting(7, least=1, help="days that a webhook's events are kept")
    run_seconds: int = _setting(
        3600,
        help=(
            "timeout of a run whose job has none, in seconds, without its waits for webhooks "
            "and delays; 0: no limit"
        ),
    )
    log_lines: int = _setting(10_000, help="log lines kept for each job; 0: all")
    log_days: int = _setting(0, help="days that log lines are kept; 0: forever")
    mempool_entries: int = _setting(1_000, help="drafts kept for each job; 0: all")
    mempool_days: int = _setting(0, help="days that drafts are kept; 0: forever")
    draft_hours: int = _setting(24, least=1, help="hours until a draft expires")
    private_targets: tuple[str, ...] = _setting(
        (),
        help="private hosts and networks that http steps and notifications may reach",
        sample='["10.1.2.0/24"]',
    )
    notify: tuple[str, ...] = _setting(
        (),
        hidden=True,
        kind="targets",
        help="URLs that notifications of all jobs are sent to",
        sample='["https://hooks.example.org/jobs"]',
    )
    notify_secret: str = _setting(
        "",
        hidden=True,
        kind="signing secret",
        help="the secret that signs notifications: whsec_ and the base64 of 24 to 64 bytes",
        sample='"whsec_cmVwbGFjZSBtZSB3aXRoIHlvdXIgb3duIHNlY3JldA=="',
    )
    public_url: str = _setting(
        "",
        kind="address",
        help="where people reach the daemon's page, for the links in notifications",
        sample='"https://scenarios.example.org"',
    )
    log_level: str = _setting(
        "info",
        help="what the daemon logs: debug, info, warning or error",
        choices=("debug", "info", "warning", "error"),
    )
    #: `[tokens.NAME]` of config.toml: who may call the daemon, and for what; `server/access.py`
    #: judges them.
    tokens: Mapping[str, Any] = field(default_factory=dict, repr=False)
    #: `[chains.NAME]` of config.toml, as read; `chains/registry.py` judges them.
    chains: Mapping[str, Any] = field(default_factory=dict, repr=False)
    #: Setting name -> "flag", "SCENARIOCTL_…", "config.toml" or "default".
    origins: Mapping[str, str] = field(default_factory=dict)

    @property
    def online_advice(self) -> str:
        """Return how to do without `offline`, as a sentence."""
        origin = self.origins.get("offline", "flag")
        return "Omit `offline`." if origin == "flag" else f"{origin} sets it: pass `no_offline`."


class Setting(NamedTuple):
    """What users are told of a setting, and how its value is read."""

    name: str
    kind: str
    #: None if it depends on the user.
    default: Any
    help: str
    #: Also a flag, before or after any command.
    everywhere: bool = False
    #: The smallest number.
    least: int = 0
    #: Allowed texts; empty: any.
    choices: tuple[str, ...] = ()
    #: An example, as TOML, if the default is none.
    sample: str = ""

    @property
    def variable(self) -> str:
        return f"SCENARIOCTL_{self.name.upper()}"

    @property
    def example(self) -> str:
        """Return a value in TOML."""
        return self.sample or json.dumps(
            f"/path/to/{self.name}" if self.default is None else self.default
        )


SETTINGS = tuple(
    Setting(
        name=each.name,
        default=None if each.default is MISSING else each.default,
        **{"kind": _KINDS.get(each.type, ""), **each.metadata},
    )
    for each in fields(Settings)
    if each.metadata
)

#: Kinds of settings that are secrets.  A URL of a store is one if it has a password.
SECRET_KINDS = ("secret", "signing secret", "targets")

#: Bytes of config.toml.
_CONFIG_LIMIT = 4 * 1024 * 1024

#: Other tables of config.toml.
_TABLES = ("chains", "tokens")


def load_settings(
    flags: Mapping[str, Any], environment: Mapping[str, str] | None = None
) -> Settings:
    """Return the settings in force; *flags* are those of the command line, None if not given."""
    environment = os.environ if environment is None else environment
    config = config_path(flags.get("config"), environment)
    written = read_config(
        config, required=bool(flags.get("config") or environment.get("SCENARIOCTL_CONFIG"))
    )
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for setting in SETTINGS:
        given, origin = _first_given(setting, flags, environment, written)
        if origin != "default":
            values[setting.name] = read_value(setting, given, origin)
        origins[setting.name] = origin
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


def read_config(path: Path, *, required: bool = False) -> dict[str, Any]:
    """Return the content of config.toml; empty if it does not exist and is not *required*."""
    try:
        text = read_file(path, limit=_CONFIG_LIMIT)
    except FileNotFoundError:
        if required:
            raise InvalidRequest(
                f"config {shorten(str(path), 200)} does not exist. Create it with "
                "scenarioctl config init"
            ) from None
        return {}
    except OSError as error:
        raise InvalidRequest(
            f"config {shorten(str(path), 200)} cannot be read: {error.strerror}"
        ) from None
    if len(text) > _CONFIG_LIMIT:
        raise InvalidRequest(
            f"config {shorten(str(path), 200)} is larger than {_CONFIG_LIMIT} bytes"
        )
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
        raise InvalidRequest(
            f"config {path} is not UTF-8 text: byte {error.start} is wrong"
        ) from None
    except RecursionError:
        raise InvalidRequest(f"config {path} nests too deep") from None
    except ValueError as error:
        # Not only TOMLDecodeError: a number too long for Python is a plain ValueError.
        raise InvalidRequest(f"config {path} is not TOML: {error}") from None


def read_value(setting: Setting, value: object, origin: str) -> Any:
    """Return *value* converted to the setting's kind."""
    return _READERS[setting.kind](setting, value, origin)


def _refused(setting: Setting, value: object, origin: str, reason: str) -> InvalidRequest:
    text = without_password(value) if isinstance(value, str) else value
    shown = "…" if setting.kind in SECRET_KINDS else shorten(text)
    return InvalidRequest(field=setting.name, problem=f"{shown} ({origin}) {reason}")


def _read_switch(setting: Setting, value: object, origin: str) -> bool:
    text = str(value).strip().lower()
    if text in {"1", "true", "yes", "on"}:
        return True
    if text in {"0", "false", "no", "off"}:
        return False
    raise _refused(setting, value, origin, "is not a switch, expected true or false")


def _read_text(setting: Setting, value: object, origin: str) -> str:
    text = value if isinstance(value, str) and value.isprintable() else None
    if setting.choices:
        text = (text or "").strip().lower()
        if text not in setting.choices:
            raise _refused(setting, value, origin, f"is unknown, {suggest(text, setting.choices)}")
    if text is None:
        raise _refused(setting, value, origin, "is not one line of text")
    return text


def _read_path(setting: Setting, value: object, origin: str) -> Path:
    text = os.fspath(value) if isinstance(value, (str, os.PathLike)) else ""
    if not text:
        raise _refused(
            setting, value, origin, f"is not a path, expected one like /path/to/{setting.name}"
        )
    if "://" in text:
        # Path() would drop a slash.  Don't show the rest of the URL, which may contain a password.
        scheme = text.partition("://")[0]
        raise _refused(
            setting,
            f"{scheme}://…",
            origin,
            f"is a URL, expected a path like /path/to/{setting.name}",
        )
    if "\0" in text:
        raise _refused(setting, value, origin, "contains a NUL character, which no path can")
    return Path(text).expanduser()


def _read_store(setting: Setting, value: object, origin: str) -> str:
    if origin == "flag" and isinstance(value, str):
        refuse_password(value, "--store", instead="the URL into SCENARIOCTL_STORE or config.toml")
    return (
        value
        if isinstance(value, str) and "://" in value
        else str(_read_path(setting, value, origin))
    )


def is_server(location: str) -> bool:
    """Return whether the store at *location* is a PostgreSQL server."""
    return location.startswith(("postgresql://", "postgres://"))


def without_password(location: str) -> str:
    """Return *location*, a path or any URL, as it may be shown: of a URL, neither the password nor
    the query, which may hold one too."""
    scheme, separator, rest = location.partition("://")
    if not separator:
        return location
    user, at, host = rest.partition("?")[0].rpartition("@")
    user, colon, _ = user.partition(":")
    return f"{scheme}://{user}{':…' if colon else ''}{at}{host}"


def refuse_password(location: str, field: str, *, instead: str) -> None:
    """Refuse a store on the command line whose URL has a password; *instead* says where it belongs,
    beside ~/.pgpass."""
    if is_server(location) and has_password(location):
        raise InvalidRequest(
            field=field,
            value=without_password(location),
            limit=200,
            problem=(
                "has a password, which other users can read in the list of processes. Put the "
                f"password into ~/.pgpass, or {instead}"
            ),
        )


def has_password(location: str) -> bool:
    """Return whether *location* is a URL with a password in it."""
    from urllib.parse import unquote

    address, _, query = location.partition("://")[2].partition("?")
    keys = {unquote(pair.partition("=")[0]) for pair in query.split("&")}
    return bool(address.rpartition("@")[0].partition(":")[2]) or not keys.isdisjoint(
        ("password", "sslpassword")
    )


def secrets_in(values: Mapping[str, Any]) -> list[str]:
    """Return the names of the settings in *values*, `chains` among them, that only their owner may
    read."""
    kinds = {each.name: each.kind for each in SETTINGS}
    return [
        name
        for name, value in values.items()
        if value and (kinds.get(name) in SECRET_KINDS or any(map(has_password, _texts_in(value))))
    ]


def _texts_in(value: object) -> Iterator[str]:
    """Yield the texts in a value of config.toml."""
    parts = value.values() if isinstance(value, Mapping) else value
    if isinstance(value, str):
        yield value
    elif isinstance(parts, Iterable):
        for each in parts:
            yield from _texts_in(each)


def _read_number(setting: Setting, value: object, origin: str) -> int:
    text = (
        "" if isinstance(value, bool) or not isinstance(value, (int, str)) else str(value).strip()
    )
    number = read_digits(text, longest=15)
    if number is None:
        example = setting.default or 100
        raise _refused(
            setting, value, origin, f"is not a whole number, expected one like {example}"
        )
    if number < setting.least:
        raise _refused(setting, value, origin, f"is too small, expected at least {setting.least}")
    return number


def _read_list(setting: Setting, value: object, origin: str) -> tuple[str, ...]:
    if isinstance(value, str):
        # In a variable or a flag: separated by commas.
        value = [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, (list, tuple)) and all(isinstance(part, str) and part for part in value):
        return tuple(value)
    raise _refused(
        setting, value, origin, f"is not a list of texts, expected one like {setting.example}"
    )


def _read_notify(setting: Setting, value: object, origin: str) -> tuple[str, ...]:
    from scenarioctl.model.notifications import read_targets

    return read_targets(value, field=f"{setting.name} ({origin})")


def _read_signing_secret(_setting: Setting, value: object, _origin: str) -> str:
    from scenarioctl.model.notifications import read_secret

    text = value.strip() if isinstance(value, str) else "?"
    if text:
        read_secret(text)
    return text


def _read_address(setting: Setting, value: object, origin: str) -> str:
    from urllib.parse import urlsplit

    text = _read_text(setting, value, origin).strip()
    try:
        parts = urlsplit(text)
        is_sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_sound = False
    if text and (not is_sound or parts.query or parts.fragment or " " in text):
        raise _refused(
            setting,
            value,
            origin,
            f"is not the address of a page, expected one like {setting.example}",
        )
    return text


_READERS: Mapping[str, Callable[[Setting, object, str], Any]] = {
    "switch": _read_switch,
    "number": _read_number,
    "list": _read_list,
    "text": _read_text,
    "secret": _read_text,
    "path": _read_path,
    "store": _read_store,
    "targets": _read_notify,
    "signing secret": _read_signing_secret,
    "address": _read_address,
}


def _first_given(
    setting: Setting,
    flags: Mapping[str, Any],
    environment: Mapping[str, str],
    written: Mapping[str, Any],
) -> tuple[Any, str]:
    if flags.get(setting.name) is not None:
        return flags[setting.name], "flag"
    if environment.get(setting.variable):
        return environment[setting.variable], setting.variable
    if setting.name in written:
        return written[setting.name], "config.toml"
    return None, "default"
