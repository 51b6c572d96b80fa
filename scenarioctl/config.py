"""Where a setting comes from: flags, then `SCENARIOCTL_*`, then config.toml, then the default.

To add a setting, add a row to SETTINGS and a field to Settings.
"""

import os
from collections.abc import Callable, Mapping
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
    if given and "\0" in given:
        raise InvalidRequest(f"config {shorten(given)} holds a NUL character, no path does")
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
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"config {path} is not UTF-8 text: byte {error.start} is wrong") from None
    except RecursionError:
        raise InvalidRequest(f"config {path} nests too deep") from None
    except ValueError as error:
        # Not only TOMLDecodeError: a number too long for Python is a plain ValueError.
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
        raise InvalidRequest(
            f"{setting.name} {shorten(value)} ({origin}) is not a switch, expected true or false"
        )
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise InvalidRequest(
            f"{setting.name} {shorten(value)} ({origin}) is not a path, expected one like /path/to/{setting.name}"
        )
    if "://" in os.fspath(value):
        # A path would swallow one of the slashes; the rest of a URL may hold a password.
        scheme = os.fspath(value).partition("://")[0]
        raise InvalidRequest(
            f"{setting.name} {shorten(scheme + '://…')} ({origin}) is a URL, expected a path like /path/to/{setting.name}"
        )
    if "\0" in os.fspath(value):
        raise InvalidRequest(
            f"{setting.name} {shorten(value)} ({origin}) holds a NUL character, no path does"
        )
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


def template() -> str:
    """Return a config.toml in which every setting is explained and none is set."""
    lines = ["# Settings of scenarioctl. Flags and SCENARIOCTL_* variables win over this file.", ""]
    for setting in SETTINGS:
        example = setting.default or f'"/path/to/{setting.name}"'
        lines += [f"# {setting.help[0].upper()}{setting.help[1:]} (--{setting.name}, {setting.variable})."]
        lines += [f"# {setting.name} = {example}", ""]
    lines += [
        "# A chain of your own, or other endpoints for a chain that is built in:",
        "# [chains.rig]",
        '# role = "asset_hub"          # relay, asset_hub, dex, contracts or parachain',
        '# relay = "kusama"            # the chain its messages go through',
        "# para_id = 1000",
        '# genesis = "0x…"             # 64 hex digits; an endpoint that serves another chain is refused',
        "# ss58_prefix = 2",
        '# symbol = "KSM"',
        "# decimals = 12",
        '# endpoints = ["ws://127.0.0.1:9945"]',
        "# [[chains.rig.assets]]",
        '# id = "1984"',
        '# symbol = "USDT"',
        "# decimals = 6",
        "",
    ]
    return "\n".join(lines)


def write_config(path: Path, text: str) -> None:
    """Write config.toml whole or not at all."""
    import tempfile

    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", dir=path.parent, prefix=".config-", delete=False, encoding="utf-8"
        ) as file:
            temporary = Path(file.name)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        reason = (
            "a file is where its folder should be" if isinstance(error, FileExistsError) else error.strerror
        )
        raise InvalidRequest(f"config {shorten(str(path), 200)} cannot be written: {reason}") from None


def set_value(path: Path, key: str, value: str, *, judge: Callable[[Mapping[str, Any]], object]) -> None:
    """Write *key* = *value* to config.toml, keeping the rest of the file, comments too.

    *judge* sees the whole new document and raises where it would not do.
    """
    names = key.split(".")
    settings = {setting.name: setting for setting in SETTINGS}
    if names[0] == "chains":
        parsed = _parse_value(value)
        # A whole chain at once: one key after the other, it would be refused for what is still missing.
        whole = len(names) == 2 and isinstance(parsed, dict)
        if (len(names) != 3 and not whole) or not all(names):
            raise InvalidRequest(
                f"key {shorten(key)} is not a setting of a chain, expected chains.NAME.SETTING, or chains.NAME "
                "and a table like {role = 'relay', symbol = 'UNIT', decimals = 12}"
            )
    elif key in settings:
        parsed = _parse_value(value) if settings[key].kind == "switch" else value
        read_value(settings[key], parsed, "config set")
        parsed = read_value(settings[key], parsed, "config set") if settings[key].kind == "switch" else value
    else:
        raise InvalidRequest(
            f"key {shorten(key)} is not a setting, expected one of: {', '.join(settings)}, chains.NAME.SETTING"
        )
    document = read_config(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        text = ""
    table = document
    for name in names[:-1]:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise InvalidRequest(f"key {shorten(key)} cannot be set, {name} is not a table in {path}")
    table[names[-1]] = parsed
    judge(document)
    write_config(path, _edit(text, names, parsed, document))


def _parse_value(value: str) -> Any:
    import tomllib

    try:
        return tomllib.loads(f"value = {value}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return value


def _edit(text: str, names: list[str], value: Any, document: Mapping[str, Any]) -> str:
    """Return *text* with one line changed or added; where that would not give *document*, write it anew."""
    import tomllib

    import tomli_w

    line = tomli_w.dumps({names[-1]: value}).rstrip("\n")
    header = f"[{'.'.join(names[:-1])}]" if len(names) > 1 else ""
    lines = text.splitlines()
    starts = [number for number, each in enumerate(lines) if each.lstrip().startswith("[")]
    if header:
        first = next((number for number in starts if lines[number].strip() == header), None)
        if first is None:
            lines += ["", header] if lines else [header]
            first = len(lines) - 1
        first += 1
    else:
        first = 0
    last = next((number for number in starts if number >= first), len(lines))
    for number in range(first, last):
        if lines[number].partition("=")[0].strip() == names[-1]:
            lines[number] = line
            break
    else:
        while last > first and not lines[last - 1].strip():
            last -= 1
        lines.insert(last, line)
    edited = "\n".join(lines) + "\n"
    try:
        if tomllib.loads(edited) == document:
            return edited
    except tomllib.TOMLDecodeError:
        pass
    return tomli_w.dumps(document)
