"""Write config.toml, and edit it without losing its comments."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from scenarioctl.config import SETTINGS, read_config, read_value, secrets_in, suggest_setting
from scenarioctl.errors import InvalidRequest, TooLarge, shorten
from scenarioctl.files import atomic_write, is_open


def template() -> str:
    """Return a config.toml that explains every setting and sets none."""
    lines = ["# Settings of scenarioctl. Flags and SCENARIOCTL_* variables win over this file.", ""]
    for setting in SETTINGS:
        flag = f"--{setting.name}, " if setting.everywhere else ""
        lines += [f"# {setting.help[0].upper()}{setting.help[1:]} ({flag}{setting.variable})."]
        lines += [f"# {setting.name} = {setting.example}", ""]
    lines += [
        "# A chain of your own, or other endpoints for a chain that is built in:",
        "# [chains.rig]",
        '# role = "asset_hub"          # relay, asset_hub, system, dex, contracts or parachain',
        '# relay = "kusama"            # the chain its messages go through',
        "# para_id = 1000",
        (
            '# genesis = "0x…"             # 64 hex digits; an endpoint that serves another '
            "chain is refused"
        ),
        "# ss58_prefix = 2",
        '# symbol = "KSM"',
        "# decimals = 12",
        '# endpoints = ["ws://127.0.0.1:9945"]',
        "# [[chains.rig.assets]]",
        '# id = "1984"',
        '# symbol = "USDT"',
        "# decimals = 6",
        "",
        (
            "# Who may call the daemon, and for what: read, create, broadcast, jobs. It keeps "
            "hashes of tokens; each is"
        ),
        "# made, and shown once, by: scenarioctl config token NAME --scopes read,create",
        "# [tokens.ops]",
        '# sha256 = "…"',
        '# scopes = ["read", "create"]',
        "",
    ]
    return "\n".join(lines)


def write_config(path: Path, text: str, *, is_secret: bool = False) -> None:
    """Write config.toml whole or not at all; only its owner can read a new one, or one that
    *is_secret*."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, text.encode(), mode=0o600, is_secret=is_secret)
    except OSError as error:
        reason = (
            "a file is where its folder should be"
            if isinstance(error, FileExistsError)
            else error.strerror
        )
        raise InvalidRequest(
            f"config {shorten(str(path), 200)} cannot be written: {reason}"
        ) from None


def set_value(
    path: Path,
    key: str,
    value: str,
    *,
    judge: Callable[[Mapping[str, Any]], object],
    chain_keys: Mapping[str, str],
) -> list[str]:
    """Set *key* to *value* in config.toml, keeping the rest of the file with its comments.

    *chain_keys* says in words of what kind each setting of a chain is. *judge* gets the whole new
    document and raises if it is invalid.  Return what `write_value` returns.
    """
    names = key.split(".")
    settings = {setting.name: setting for setting in SETTINGS}
    if names[0] == "chains":
        parsed = _parse_value(value)
        kind = chain_keys.get(names[-1]) if len(names) == 3 else None
        if kind == "a text" and not isinstance(parsed, str):
            # Like a hash, which TOML reads as a number.
            parsed = value
        elif kind == "a list of texts" and isinstance(parsed, str):
            # Separated by commas, as a setting that is a list.
            parsed = [each.strip() for each in parsed.split(",")]
        # A whole chain at once.
        whole = len(names) == 2 and isinstance(parsed, dict)
        if (len(names) != 3 and not whole) or not all(names):
            raise InvalidRequest(
                field="key",
                value=key,
                problem="is not a setting of a chain",
                expected=(
                    "chains.NAME.SETTING, or chains.NAME and a table like {role = 'relay', "
                    "symbol = 'UNIT', decimals = 12}"
                ),
            )
    elif key in settings:
        kind = settings[key].kind
        is_list = kind in ("list", "keys", "targets")
        parsed = _parse_value(value) if is_list or kind in ("switch", "number") else value
        if is_list and not isinstance(parsed, list):
            # Separated by commas, as in a variable.
            parsed = value
        read = read_value(settings[key], parsed, "config set")
        parsed = list(read) if is_list else read if kind in ("switch", "number") else value
    elif names[0] == "tokens":
        raise InvalidRequest(
            field="key",
            value=key,
            problem="is a token's, which is made and removed with: scenarioctl config token NAME",
        )
    else:
        raise InvalidRequest(
            field="key",
            value=key,
            problem=f"is not a setting, {suggest_setting(key, [*settings, 'chains.NAME.SETTING'])}",
        )
    return write_value(path, names, parsed, judge=judge)


def write_value(
    path: Path, names: Sequence[str], value: Any, *, judge: Callable[[Mapping[str, Any]], object]
) -> list[str]:
    """Set the key *names* of config.toml to *value*, or remove it if that is None, keeping the rest
    of the file.

    Return the names of the secrets for which the file was closed to others, who could read it
    before.
    """
    document = read_config(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        text = ""
    table = document
    for name in names[:-1]:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise InvalidRequest(
                field="key",
                value=".".join(names),
                problem=f"cannot be set, {name} is not a table in {path}",
            )
    if value is None:
        table.pop(names[-1], None)
    else:
        table[names[-1]] = value
    judge(document)
    secrets = secrets_in(document)
    closed_for = secrets if is_open(path) else []
    write_config(path, _edit(text, names, value, document), is_secret=bool(secrets))
    return closed_for


def _parse_value(value: str) -> Any:
    from scenarioctl.model.toml import parse_toml

    try:
        return parse_toml(f"value = {value}", field="value")["value"]
    except (ValueError, RecursionError, InvalidRequest, TooLarge):
        return value


def _edit(text: str, names: Sequence[str], value: Any, document: dict[str, Any]) -> str:
    """Return *text* with one value or table changed; the whole *document* written anew if that
    fails."""
    import tomli_w
    import tomlkit
    from tomlkit.exceptions import ParseError

    if value is None:
        # Comments behind the table belong to the next one.
        header = re.escape(f"[{'.'.join(names)}]")
        edited = re.sub(rf"(?m)^{header}[^\n]*\n(?:[^\[#\n][^\n]*\n?)*", "", text)
    else:
        whole = tomlkit.parse(_beside_example(text, names[0]) if len(names) == 1 else text)
        table: Any = whole
        for name in names[:-1]:
            table = table.setdefault(name, tomlkit.table(is_super_table=True))
        table[names[-1]] = value
        edited = tomlkit.dumps(whole)
    with suppress(ParseError):
        if _filled(tomlkit.parse(edited).unwrap()) == _filled(document):
            return edited.rstrip() + "\n"
    return tomli_w.dumps(document)


def _filled(document: Mapping[str, Any]) -> dict[str, Any]:
    return {key: each for key, each in document.items() if each != {}}


def _beside_example(text: str, key: str) -> str:
    """Return *text* with a place for a new *key* behind its example, if that is before all
    tables."""
    if re.search(rf"(?m)^\s*{key}\s*=", text):
        return text
    head, table, tail = text.partition("\n[")
    head = re.sub(rf"(?m)^# {key} = .*$", lambda found: f"{found[0]}\n{key} = 0", head, count=1)
    return head + table + tail
