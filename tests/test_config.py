"""Settings: where they come from, and how config.toml is written."""

from pathlib import Path

import pytest

from scenarioctl.config import load_settings, parse_config, set_value, template
from scenarioctl.errors import InvalidRequest


def accept(_: object) -> None:
    """Judge of a document that finds nothing wrong."""


def test_a_flag_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('store = "/from/file.db"\noffline = true\n')
    environment = {"SCENARIOCTL_STORE": "/from/environment.db"}

    settings = load_settings({"config": str(config), "store": "/from/flag.db"}, environment)
    without_flag = load_settings({"config": str(config)}, environment)
    without_both = load_settings({"config": str(config)}, {})

    assert (settings.store, settings.origins["store"]) == (Path("/from/flag.db"), "flag")
    assert (without_flag.store, without_flag.origins["store"]) == (
        Path("/from/environment.db"),
        "SCENARIOCTL_STORE",
    )
    assert (without_both.store, without_both.origins["store"]) == (Path("/from/file.db"), "config.toml")
    assert (without_both.offline, without_both.origins["offline"]) == (True, "config.toml")
    assert (without_both.json, without_both.origins["json"]) == (False, "default")


def test_a_missing_config_is_an_error_only_where_it_was_named(tmp_path: Path) -> None:
    missing = tmp_path / "none.toml"

    with pytest.raises(InvalidRequest) as refused:
        load_settings({"config": str(missing)}, {})
    settings = load_settings({}, {"HOME": str(tmp_path), "SCENARIOCTL_STORE": "s.db"})

    assert (
        str(refused.value) == f"config {str(missing)!r} is not there, create it with: scenarioctl config init"
    )
    assert settings.store == Path("s.db")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("store = ", "config {path} is not TOML: Invalid value (at end of document)"),
        (
            "stor = 1",
            "config {path} has the unknown key 'stor', expected one of: cache, chains, json, offline, store",
        ),
        ("chains = 1", "config {path}: chains is not a table, expected [chains.NAME]"),
        ("offline = 'maybe'", "offline 'maybe' (config.toml) is not a switch, expected true or false"),
        ("store = 1", "store 1 (config.toml) is not a path, expected one like /path/to/store"),
        ("store = ''", "store '' (config.toml) is not a path, expected one like /path/to/store"),
    ],
)
def test_a_config_that_will_not_do_is_named_with_its_path(tmp_path: Path, text: str, sentence: str) -> None:
    config = tmp_path / "config.toml"
    config.write_text(text)

    with pytest.raises(InvalidRequest) as refused:
        load_settings({"config": str(config)}, {})

    assert str(refused.value) == sentence.format(path=config)


def test_the_template_sets_nothing_and_names_every_setting() -> None:
    assert parse_config(template().encode(), Path("config.toml")) == {}
    for name in ("store", "cache", "offline", "json", "[chains.rig]"):
        assert f"# {name}" in template()


def test_set_keeps_comments_and_order(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('# mine\nstore = "/a.db"  # old\n\n[chains.rig]\nrole = "relay" # why\n')

    set_value(config, "offline", "true", judge=accept)
    set_value(config, "store", "/b.db", judge=accept)
    set_value(config, "chains.rig.para_id", "1000", judge=accept)
    set_value(config, "chains.other.endpoints", '["ws://127.0.0.1:1"]', judge=accept)

    assert config.read_text() == (
        '# mine\nstore = "/b.db"\noffline = true\n\n[chains.rig]\nrole = "relay" # why\npara_id = 1000\n\n'
        '[chains.other]\nendpoints = [\n    "ws://127.0.0.1:1",\n]\n'
    )


def test_set_writes_the_file_anew_where_one_line_would_not_do(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('chains = {rig = {role = "relay"}}\n')

    set_value(config, "chains.rig.symbol", "KSM", judge=accept)

    assert parse_config(config.read_bytes(), config) == {
        "chains": {"rig": {"role": "relay", "symbol": "KSM"}}
    }


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        (
            "stor",
            "1",
            "key 'stor' is not a setting, expected one of: store, cache, offline, json, chains.NAME.SETTING",
        ),
        (
            "chains.rig",
            "1",
            "key 'chains.rig' is not a setting of a chain, expected chains.NAME.SETTING, or chains.NAME and a table like {role = 'relay', symbol = 'UNIT', decimals = 12}",
        ),
        ("offline", "maybe", "offline 'maybe' (config set) is not a switch, expected true or false"),
        ("store", "", "store '' (config set) is not a path, expected one like /path/to/store"),
    ],
)
def test_set_refuses_and_writes_nothing(tmp_path: Path, key: str, value: str, sentence: str) -> None:
    config = tmp_path / "config.toml"

    with pytest.raises(InvalidRequest) as refused:
        set_value(config, key, value, judge=accept)

    assert str(refused.value) == sentence
    assert not config.exists()


def test_what_the_judge_refuses_is_not_written(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("offline = true\n")

    def refuse(_: object) -> None:
        raise InvalidRequest("no")

    with pytest.raises(InvalidRequest):
        set_value(config, "store", "/a.db", judge=refuse)

    assert config.read_text() == "offline = true\n"
