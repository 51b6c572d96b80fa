"""Settings: where they come from, and how config.toml is written."""

import json
import tomllib
from dataclasses import fields
from hashlib import sha256
from pathlib import Path

import pytest
from platformdirs import PlatformDirs

from scenarioctl.chains.registry import KEYS
from scenarioctl.config import (
    SETTINGS,
    Settings,
    has_password,
    load_settings,
    parse_config,
    read_value,
    secrets_in,
    user_directory,
    without_password,
)
from scenarioctl.config_file import set_value, template
from scenarioctl.errors import InvalidRequest
from tests.conftest import Ended, Run
from tests.messages import Says, raises, says


def accept(_: object) -> None:
    """Judge of a document that finds nothing wrong."""


def test_a_flag_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('store = "/from/file.db"\noffline = true\n')
    environment = {"SCENARIOCTL_STORE": "/from/environment.db"}

    settings = load_settings({"config": str(config), "store": "/from/flag.db"}, environment)
    without_flag = load_settings({"config": str(config)}, environment)
    without_both = load_settings({"config": str(config)}, {})

    assert (settings.store, settings.origins["store"]) == ("/from/flag.db", "flag")
    assert (without_flag.store, without_flag.origins["store"]) == (
        "/from/environment.db",
        "SCENARIOCTL_STORE",
    )
    assert (without_both.store, without_both.origins["store"]) == ("/from/file.db", "config.toml")
    assert (without_both.offline, without_both.origins["offline"]) == (True, "config.toml")
    assert (without_both.json, without_both.origins["json"]) == (False, "default")


def test_a_missing_config_is_an_error_only_where_it_was_named(tmp_path: Path) -> None:
    missing = tmp_path / "none.toml"

    with pytest.raises(InvalidRequest) as refused:
        load_settings({"config": str(missing)}, {})
    settings = load_settings({}, {"HOME": str(tmp_path), "SCENARIOCTL_STORE": "s.db"})

    assert str(refused.value) == says("config", path=missing)
    assert settings.store == "s.db"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("store = ", says("config", "{path}", "TOML")),
        ("stor = 1", says("config", "{path}", "stor")),
        ("chains = 1", says("config", "{path}")),
        ("offline = 'maybe'", says("offline", "maybe", "config.toml")),
        ("connections = 0", says("connections", "0", "config.toml")),
        ("rate = 12345678901234567890", says("rate", "12345678901234567890", "config.toml")),
        ("listen = 8080", says("listen", "8080", "config.toml")),
        ("cors = [1]", says("cors", "1", "config.toml")),
        ("log_level = 'loud'", says("log_level", "loud", "config.toml")),
        ("token = 12345", says("token", "config.toml")),
        ("store = ''", says("store", "config.toml")),
    ],
)
def test_a_config_that_will_not_do_is_named_with_its_path(
    tmp_path: Path, text: str, sentence: Says
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(text)

    with raises(InvalidRequest, sentence.where(path=config)):
        load_settings({"config": str(config)}, {})


def test_the_template_sets_nothing_and_names_every_setting() -> None:
    assert parse_config(template().encode(), Path("config.toml")) == {}
    for name in (*(setting.name for setting in SETTINGS), "[chains.rig]", "[tokens.ops]"):
        assert f"# {name}" in template()


def test_every_default_can_be_written_into_the_file() -> None:
    for setting in SETTINGS:
        if setting.default is not None and not setting.sample:
            written = tomllib.loads(f"value = {setting.example}")["value"]
            assert read_value(setting, written, "config.toml") == setting.default, setting.name


def test_each_kind_of_setting_is_read_from_a_variable_too() -> None:
    settings = load_settings(
        {},
        {
            "SCENARIOCTL_STORE": "s.db",
            "SCENARIOCTL_LISTEN": "127.0.0.1:1, unix:/run/x",
            "SCENARIOCTL_RATE": "7",
            "SCENARIOCTL_LOG_LEVEL": "Debug",
            "SCENARIOCTL_TOKEN": "sctl_secret",
        },
    )

    assert settings.listen == ("127.0.0.1:1", "unix:/run/x")
    assert (settings.rate, settings.log_level, settings.token) == (7, "debug", "sctl_secret")
    assert settings.origins["rate"] == "SCENARIOCTL_RATE"
    assert "sctl_secret" not in repr(settings)


def test_set_keeps_comments_and_order(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('# mine\nstore = "/a.db"  # old\n\n[chains.rig]\nrole = "relay" # why\n')

    set_value(config, "offline", "true", judge=accept, chain_keys=KEYS)
    set_value(config, "store", "/b.db", judge=accept, chain_keys=KEYS)
    set_value(config, "chains.rig.para_id", "1000", judge=accept, chain_keys=KEYS)
    set_value(
        config, "chains.other.endpoints", '["ws://127.0.0.1:1"]', judge=accept, chain_keys=KEYS
    )

    assert config.read_text() == (
        '# mine\nstore = "/b.db"  # old\noffline = true\n\n[chains.rig]\nrole = "relay" # '
        "why\npara_id = 1000\n\n"
        '[chains.other]\nendpoints = ["ws://127.0.0.1:1"]\n'
    )


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("stor", "1", says("key", "stor")),
        ("tokens.ops.scopes", "[]", says("key", "tokens.ops.scopes", "NAME")),
        ("rate", "-1", says("rate", "-1")),
        ("chains.rig", "1", says("key", "chains.rig")),
        ("offline", "maybe", says("offline", "maybe")),
        ("store", "", says("store", "config")),
    ],
)
def test_set_refuses_and_writes_nothing(
    tmp_path: Path, key: str, value: str, sentence: Says
) -> None:
    config = tmp_path / "config.toml"

    with raises(InvalidRequest, sentence):
        set_value(config, key, value, judge=accept, chain_keys=KEYS)
    assert not config.exists()


def test_lists_numbers_and_secrets_are_set_and_shown_but_no_secret(
    scenarioctl: Run, tmp_path: Path
) -> None:
    flags = ("--config", str(tmp_path / "config.toml"))
    for key, value in (
        ("listen", "127.0.0.1:9090,unix:/run/api.sock"),
        ("cors", '["https://app.example.org"]'),
        ("rate", "50"),
        ("log_level", "DEBUG"),
        ("token", "sctl_secret"),
    ):
        ended = scenarioctl(*flags, "config", "set", key, value)
        assert (ended.out, ended.err, ended.code) == (f"{tmp_path}/config.toml\n", "", 0)

    shown = scenarioctl(*flags, "config", "show")
    as_json = json.loads(scenarioctl(*flags, "config", "show", "--json").out)

    rows = {row[0]: tuple(row[1:]) for row in (line.split("\t") for line in shown.out.splitlines())}
    assert rows["listen"] == ("127.0.0.1:9090, unix:/run/api.sock", "config.toml")
    assert rows["rate"] == ("50", "config.toml")
    assert rows["log_level"] == ("debug", "config.toml")
    assert rows["token"] == ("(set)", "config.toml")
    assert rows["worker_listen"] == ("127.0.0.1:8081", "default")
    assert (as_json["cors"], as_json["rate"], as_json["token"]) == (
        ["https://app.example.org"],
        50,
        "(set)",
    )
    assert "sctl_secret" not in shown.out + json.dumps(as_json)


RELOAD = (
    "A running daemon applies this when it reloads its settings: systemctl reload, or SIGHUP.\n"
)


def test_a_token_is_printed_once_and_kept_as_its_hash(scenarioctl: Run, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("# mine\nrate = 5\n")

    made = scenarioctl("--config", str(config), "config", "token", "ops", "--scopes", "jobs,read")
    shown = scenarioctl("--config", str(config), "config", "show")

    token = made.out.strip()
    assert (made.err, made.code) == (RELOAD, 0)
    assert token.startswith("sctl_")
    assert len(token) == 48
    assert config.read_text() == (
        f'# mine\nrate = 5\n\n[tokens.ops]\nsha256 = "{sha256(token.encode()).hexdigest()}"\n'
        'scopes = ["read", "jobs"]\n'
    )
    assert "tokens.ops\tread, jobs\tconfig.toml\n" in shown.out
    assert sha256(token.encode()).hexdigest() not in shown.out


def test_a_tokens_name_and_scopes_are_judged(scenarioctl: Run, tmp_path: Path) -> None:
    config = str(tmp_path / "config.toml")
    scenarioctl("--config", config, "config", "token", "ops")

    twice = scenarioctl("--config", config, "config", "token", "ops")
    odd = scenarioctl("--config", config, "config", "token", "my ops")
    unknown = scenarioctl("--config", config, "config", "token", "other", "--scopes", "read,write")

    assert (twice.code, twice.err) == (
        4,
        says("token", "ops", "--remove").printed,
    )
    assert (odd.code, odd.err) == (
        2,
        says("token", "my ops").printed,
    )
    assert (unknown.code, unknown.err) == (
        2,
        says("scopes", "write").printed,
    )


#: Every secret that config.toml can have; docs/security.md names them.
SECRETS = {
    "token": "sctl_secret",
    "notify": "https://hooks.example.org/T0/B0/key",
    "notify_secret": "whsec_cmVwbGFjZSBtZSB3aXRoIHlvdXIgb3duIHNlY3JldA==",
}


@pytest.mark.parametrize("key", SECRETS)
def test_a_secret_closes_a_config_that_everybody_could_read_and_says_so(
    scenarioctl: Run, tmp_path: Path, key: str
) -> None:
    config = tmp_path / "config.toml"
    config.write_text("rate = 1\n")
    config.chmod(0o644)

    ended = scenarioctl("--config", str(config), "config", "set", key, SECRETS[key])
    again = scenarioctl("--config", str(config), "config", "set", "rate", "2")

    assert ended.err == says(key, "mode 600", config=config).within("{}\n")
    assert (ended.code, config.stat().st_mode & 0o777) == (0, 0o600)
    assert (again.err, again.code) == ("", 0)


def test_the_list_of_secrets_has_every_setting_that_is_not_shown() -> None:
    hidden = {each.name for each in fields(Settings) if each.metadata and not each.repr}

    assert hidden == {*SECRETS, "store"}
    assert set(secrets_in(dict.fromkeys(hidden, "postgresql://me:secret@db/scenarios"))) == hidden
    assert secrets_in({"store": "/scenarios.db", "token": ""}) == []


@pytest.mark.parametrize(
    ("store", "shown"),
    [
        ("/home/me/p:a@b.db", "/home/me/p:a@b.db"),
        ("postgresql://host/db", "postgresql://host/db"),
        ("postgresql://me@host/db", "postgresql://me@host/db"),
        ("postgresql://me:secret@host:5432/db?sslmode=require", "postgresql://me:…@host:5432/db"),
        ("postgresql://me:se/cr@et@host/db", "postgresql://me:…@host/db"),
        ("postgresql:///db?host=/run&password=secret", "postgresql:///db"),
    ],
)
def test_the_password_of_a_store_is_never_shown(
    scenarioctl: Run, monkeypatch: pytest.MonkeyPatch, store: str, shown: str
) -> None:
    monkeypatch.setenv("SCENARIOCTL_STORE", store)
    settings = load_settings({}, {"SCENARIOCTL_STORE": store})
    assert settings.store == store
    assert without_password(store) == shown
    assert "secret" not in repr(settings).replace("notify_secret", "")

    ended = scenarioctl("--json", "config", "show")
    assert json.loads(ended.out)["store"] == shown
    refused = scenarioctl("--offline", "scenario", "list")
    if shown != store:
        assert refused.code in (2, 5)
        assert refused.out == ""
        assert "secret" not in refused.err


@pytest.mark.parametrize(
    ("store", "has_one"),
    [
        ("postgresql://me:secret@host/db", True),
        ("postgres://me:se/cr@et@host/db", True),
        ("postgresql:///db?host=/run&password=secret", True),
        ("postgresql:///db?host=/run&pass%77ord=secret", True),
        ("postgresql://host/db?sslpassword=secret", True),
        ("postgresql://me@host:5432/db?passfile=/run/secret", False),
        ("postgresql://me:@host/db", False),
        ("/home/me/p:a@b.db", False),
    ],
)
def test_a_password_on_the_command_line_is_noticed(store: str, has_one: bool) -> None:
    assert has_password(store) is has_one


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("url", "http://me:s3cr3t@127.0.0.1:9"),
        ("public_url", "https://me:s3cr3t@scenarios.example.org"),
        ("public_url", "ftp://me:s3cr3t@scenarios.example.org"),
        ("cors", '["https://me:s3cr3t@app.example.org"]'),
        ("chains.polkadot.endpoints", '["ws://me:s3cr3t@127.0.0.1:9/?key=s3cr3t"]'),
        ("chains.polkadot.endpoints", '["http://me:s3cr3t@127.0.0.1:9"]'),
    ],
)
def test_a_password_in_a_url_is_never_printed_and_its_file_is_closed(
    scenarioctl: Run, tmp_path: Path, key: str, value: str
) -> None:
    config = tmp_path / "config.toml"
    config.write_text("rate = 1\n")
    config.chmod(0o644)
    read = ("--config", str(config))

    said = [scenarioctl(*read, "config", "set", key, value)]
    if not said[0].code:
        assert config.stat().st_mode & 0o777 == 0o600
    else:
        value = value if value.startswith("[") else f'"{value}"'
        config.write_text(f"{key} = {value}\n")
    said += [
        scenarioctl(*read, *line)
        for line in (
            ("config", "show"),
            ("--json", "config", "show"),
            ("--json", "--offline", "doctor"),
            ("chain", "show", "polkadot"),
            ("--verbose", "scenario", "list"),
            *(
                (("--json", "query", "polkadot", "System", "Number"),)
                if key.startswith("chains.")
                else ()
            ),
        )
    ]

    assert not [each for each in said if "s3cr3t" in each.out + each.err]


def test_a_chain_is_set_whole_and_then_key_by_key(scenarioctl: Run, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    genesis = "0x" + "45" * 32
    whole = "{role = 'dex', relay = 'kusama', para_id = 2000, symbol = 'UNIT', decimals = 12}"
    wanted = {
        "genesis": (genesis, genesis),
        "testnet": ("false", False),
        "aliases": ("rig2, rig3", ["rig2", "rig3"]),
        "symbol": ("100", "100"),
        "endpoints": ("ws://127.0.0.1:1", ["ws://127.0.0.1:1"]),
    }

    def set_key(key: str, value: str) -> Ended:
        return scenarioctl("--config", str(config), "config", "set", f"chains.rig{key}", value)

    lacking = set_key(".symbol", "UNIT")
    assert (lacking.code, lacking.err, config.exists()) == (2, says("chains.rig", "role"), False)
    assert (set_key("", whole).code, set_key("", whole).err) == (0, "")
    for key, (typed, _) in wanted.items():
        ended = set_key(f".{key}", typed)
        assert (ended.code, ended.out, ended.err) == (0, f"{config}\n", "")
    before = config.read_text()

    assert (set_key(".role", "king").code, config.read_text()) == (2, before)
    table = tomllib.loads(before)["chains"]["rig"]
    assert {key: table[key] for key in wanted} == {key: value for key, (_, value) in wanted.items()}
    assert (table["role"], table["decimals"]) == ("dex", 12)


@pytest.mark.parametrize("home", ["", " ", "/somewhere"])
def test_directories_are_those_of_platformdirs(monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    for kind in ("config", "data", "cache"):
        monkeypatch.setenv(f"XDG_{kind.upper()}_HOME", home)

        found = getattr(PlatformDirs("scenarioctl"), f"user_{kind}_path")
        assert user_directory(kind) == found
