"""`doctor` tells what is fine and what is not, and never fails itself; `version` and `help` tell
what the options tell."""

import errno
import json
import time
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.chains import registry
from tests.canned import answers
from tests.conftest import Ended, Run
from tests.messages import says
from tests.node import Node

NOWHERE = "ws://127.0.0.1:1/"
#: Chains that are built in.
CHAINS = tuple(chain.name for chain in registry.CHAINS)
NOW = "0xf0c365c3cf59d671eb72da0e7a4113c49f1f0515f462cdcf84e0f1d6045dfcbb"


@pytest.fixture(autouse=True)
def _nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep a daemon of whoever runs the tests out of them."""
    monkeypatch.setenv("SCENARIOCTL_LISTEN", "127.0.0.1:1")


def configure(tmp_path: Path, text: str = "", **endpoints: str) -> str:
    """Write a config.toml in which a chain has the given endpoint, or none."""
    lines = [f'cache = "{tmp_path / "cache"}"', text]
    for name in CHAINS:
        lines += [
            f"[chains.{name}]",
            f"endpoints = {json.dumps([endpoints[name]] if name in endpoints else [])}",
        ]
    path = tmp_path / "config.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def read(ended: Ended) -> dict[str, dict[str, Any]]:
    """Return the checks by name, of an answer that tells its exit code too."""
    answer = json.loads(ended.out)
    checks = {each["name"]: each for each in answer["checks"]}
    assert len(checks) == len(answer["checks"])
    assert (
        answer["ok"]
        is (ended.code == 0)
        is all(each["ok"] is not False for each in checks.values())
    )
    assert ended.err == ""
    return checks


def clock_at(moment: float) -> dict[str, str]:
    return {NOW: "0x" + int(moment * 1000).to_bytes(8, "little").hex()}


def test_offline_no_node_is_asked_and_each_line_has_its_mark(
    scenarioctl: Run, tmp_path: Path
) -> None:
    with Node(answers("polkadot")) as node:
        config = configure(tmp_path, polkadot=node.url)
        ended = scenarioctl("--config", config, "--offline", "doctor")
        checks = read(scenarioctl("--config", config, "--offline", "doctor", "--json"))
        assert node.asked == []

    marks = {True: "✓", False: "✗", None: "!"}
    assert [line.split()[:2] for line in ended.out.splitlines()] == [
        [marks[each["ok"]], name] for name, each in checks.items()
    ]
    assert (ended.err, ended.code) == ("", 0)
    assert checks["chains"]["text"] == "not checked: offline"


@pytest.mark.parametrize(
    ("age", "ok", "word"), [(3, True, "s old"), (-600, False, "behind"), (3600, None, "s old")]
)
def test_a_chain_that_answers_tells_the_time(
    scenarioctl: Run, tmp_path: Path, age: int, ok: bool | None, word: str
) -> None:
    with Node(answers("polkadot", clock_at(time.time() - age))) as node:
        ended = scenarioctl("--config", configure(tmp_path, polkadot=node.url), "--json", "doctor")

    checks = read(ended)
    assert (checks["chains"]["ok"], checks["chains"]["text"]) == (True, "1 answer")
    assert checks["clock"]["ok"] is ok
    assert word in checks["clock"]["text"]
    assert ended.code == (2 if ok is False else 0)


def test_the_node_of_another_chain_is_none(scenarioctl: Run, tmp_path: Path) -> None:
    with Node(answers("assetHub")) as node:
        ended = scenarioctl("--config", configure(tmp_path, polkadot=node.url), "--json", "doctor")

    check = read(ended)["chains"]
    assert (check["ok"], ended.code) == (False, 5)
    assert check["text"] == says("1 of 1", "polkadot", "genesis")


def test_what_cannot_be_reached_ends_with_5_and_anything_else_with_2(
    scenarioctl: Run, tmp_path: Path
) -> None:
    config = configure(tmp_path, polkadot=NOWHERE)
    unreachable = scenarioctl("--config", config, "--json", "doctor")
    broken = tmp_path / "broken.db"
    broken.write_text("this is no store at all" * 1000, encoding="utf-8")
    both = scenarioctl("--config", config, "--store", str(broken), "--json", "doctor")

    assert (unreachable.code, both.code) == (5, 2)
    assert read(unreachable)["store"]["ok"] is True
    assert "--offline" in read(unreachable)["chains"]["advice"]
    assert read(both)["store"]["ok"] is False
    assert str(broken) in read(both)["store"]["text"]


def test_a_store_tells_its_version_and_whether_a_worker_runs_its_jobs(
    scenarioctl: Run, tmp_path: Path
) -> None:
    store = tmp_path / "kept.db"
    line = ("--offline", "--config", configure(tmp_path), "--store", str(store))
    absent = read(scenarioctl(*line, "--json", "doctor"))
    assert not store.exists()
    assert (
        scenarioctl(*line, "create", "remark", "--chain", "polkadot", "--text", "hello").code == 0
    )
    there = read(scenarioctl(*line, "--json", "doctor"))

    assert (absent["store"]["ok"], "worker" in absent) == (True, False)
    assert there["store"]["ok"] is True
    for said in (str(store), "SQLite", "tables of version"):
        assert said in there["store"]["text"]
    assert (there["worker"]["ok"], there["worker"]["advice"]) == (None, says("scenarioctl daemon"))


def test_a_secret_that_every_user_can_read_is_a_problem(scenarioctl: Run, tmp_path: Path) -> None:
    config = configure(
        tmp_path, 'token = "sctl_secret"\nnotify = ["https://hooks.example.org/key"]\n'
    )
    line = ("--config", config, "--offline", "--json", "doctor")
    Path(config).chmod(0o644)
    broken = read(scenarioctl(*line))["config"]
    Path(config).chmod(0o600)
    mended = read(scenarioctl(*line))["config"]

    assert (broken["ok"], broken["advice"]) == (False, f"chmod 600 {config}")
    assert broken["text"] == says("token, notify", "can read it", config=config)
    assert mended["ok"] is True


@pytest.mark.parametrize(
    ("text", "word"),
    [("ofline = true", "ofline"), ("[[[", "not TOML"), ('offline = "maybe"', "maybe")],
)
def test_a_wrong_config_is_told_and_the_rest_is_still_checked(
    scenarioctl: Run, tmp_path: Path, text: str, word: str
) -> None:
    ended = scenarioctl("--config", configure(tmp_path, text), "--json", "doctor")

    checks = read(ended)
    assert (checks["config"]["ok"], ended.code) == (False, 2)
    assert word in checks["config"]["text"]
    # What the file says of the network isn't known.
    assert "offline" in checks["chains"]["text"]
    assert checks["store"]["ok"] is True


@pytest.mark.parametrize("is_there", [True, False])
def test_a_store_that_cannot_be_written_is_found_by_trying(
    scenarioctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    """As root, or on a full disk, the permissions tell nothing."""
    store = tmp_path / "own.db"
    line = ("--offline", "--config", configure(tmp_path), "--store", str(store))
    if is_there:
        assert (
            scenarioctl(*line, "create", "remark", "--chain", "polkadot", "--text", "hello").code
            == 0
        )

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = sorted(tmp_path.iterdir())
    assert read(scenarioctl(*line, "--json", "doctor"))["store"]["ok"] is True
    assert sorted(tmp_path.iterdir()) == before
    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    ended = scenarioctl(*line, "--json", "doctor")

    check = read(ended)["store"]
    assert (check["ok"], ended.code) == (False, 2)
    assert (check["text"], check["advice"]) == (
        f"{store} cannot be written: No space left on device",
        "make its directory writable, or set store",
    )


def test_help_tells_what_the_options_tell(scenarioctl: Run) -> None:
    assert scenarioctl("help").out.startswith(scenarioctl("--help").out.rstrip("\n"))
    assert scenarioctl("help", "create", "scenario") == scenarioctl("create", "scenario", "--help")


def test_a_test_notification_is_sent_where_that_is_asked_for(
    scenarioctl: Run, tmp_path: Path
) -> None:
    line = ("--config", configure(tmp_path, 'notify = ["http://127.0.0.1:1/secret"]'), "doctor")

    assert "notify" not in read(scenarioctl(*line, "--offline", "--json"))
    found = read(scenarioctl(*line, "--notify", "--offline", "--json"))["notify"]
    assert (found["ok"], found["text"]) == (False, says("1 of 1", "http://127.0.0.1:1/…"))
    unset = ("--config", configure(tmp_path), "doctor", "--notify", "--offline", "--json")
    assert read(scenarioctl(*unset))["notify"]["text"] == says("0 delivered")
