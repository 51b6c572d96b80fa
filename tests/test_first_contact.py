"""What the program says to somebody who does not know it yet."""

import json
from pathlib import Path

import click
import pytest

from scenarioctl.cli.main import cli
from tests.conftest import Run
from tests.messages import says

_ROOT = click.Context(cli)
GROUPS = sorted(
    name
    for name in cli.list_commands(_ROOT)
    if isinstance(cli.get_command(_ROOT, name), click.Group)
)


@pytest.mark.parametrize("words", ["", *GROUPS])
def test_a_bare_group_prints_its_help(scenarioctl: Run, words: str) -> None:
    bare, asked = scenarioctl(*words.split()), scenarioctl(*words.split(), "--help")

    assert bare == asked
    assert (bare.code, bare.err) == (0, "")
    assert len(bare.out.splitlines()) > 10


@pytest.mark.parametrize("words", ["--offline", "--offline job", "create --url http://127.0.0.1:1"])
def test_a_group_with_global_options_alone_prints_its_help(scenarioctl: Run, words: str) -> None:
    ended = scenarioctl(*words.split())

    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("Usage: scenarioctl")


@pytest.mark.parametrize("words", ["--json", "job --json", "--json create"])
def test_a_bare_group_is_an_error_if_json_is_expected(scenarioctl: Run, words: str) -> None:
    ended = scenarioctl(*words.split())

    answer = json.loads(ended.out)
    assert (ended.code, answer["code"]) == (2, "invalid_request")
    assert answer["error"].startswith("a command is missing, expected one of: ")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("scenario list", 0),
        ("job list", 0),
        ("template stats polkadot", 0),
        ("info abc", 3),
        ("scenario show abc", 3),
        ("scenario full abc", 3),
        ("scenario preview abc", 3),
        ("scenario export abc", 3),
        ("job status abc", 3),
        ("job logs abc", 3),
        ("job mempool abc", 3),
        ("job run abc", 3),
        ("webhook list 6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d", 3),
        ("chain list", 0),
        ("config show", 0),
    ],
)
def test_a_command_that_reads_creates_no_store_and_no_folder(
    scenarioctl: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str, code: int
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    assert scenarioctl("--offline", *line.split()).code == code
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "line", ["store check", "status", "scenario list", "job list", "template stats polkadot"]
)
def test_a_named_store_that_does_not_exist_is_not_an_empty_one(
    scenarioctl: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str
) -> None:
    path = tmp_path / "scenario.db"
    flagged = scenarioctl("--offline", "--store", str(path), *line.split())
    monkeypatch.setenv("SCENARIOCTL_STORE", str(path))
    named = scenarioctl("--offline", *line.split())

    assert (flagged.code, flagged.out, flagged.err) == (3, "", says("store init", store=path))
    assert named == flagged
    assert list(tmp_path.iterdir()) == []
    assert scenarioctl("store", "init").code == 0
    assert scenarioctl("--offline", *line.split()).code == 0


def test_a_store_of_the_settings_that_does_not_exist_yet_is_empty(
    scenarioctl: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f"store = {json.dumps(str(tmp_path / 'scenarios.db'))}\n")
    monkeypatch.setenv("SCENARIOCTL_CONFIG", str(config))
    monkeypatch.delenv("SCENARIOCTL_STORE", raising=False)

    assert scenarioctl("--offline", "scenario", "list").code == 0
    assert list(tmp_path.iterdir()) == [config]
