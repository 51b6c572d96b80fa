"""`doctor` tells what is fine and what is not, and never fails itself; `version` and `help` tell
what the options tell."""

import errno
import json
import platform
import time
from pathlib import Path
from typing import Any

import pytest

from scenarioctl import __version__
from scenarioctl.chains import registry
from scenarioctl.cli import doctor as health_checks
from scenarioctl.server.access import new_token
from tests.canned import answers
from tests.conftest import ROOT, Ended, Run
from tests.drawing import make_app
from tests.messages import says
from tests.node import Node
from tests.serving import Serving

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
        ended = scenarioctl("--config", config, "--offline", "--verbose", "doctor")
        checks = read(scenarioctl("--config", config, "--offline", "doctor", "--json"))
        assert node.asked == []

    lines = ended.out.splitlines()
    assert (len(lines), ended.err, ended.code) == (len(checks), "", 0)
    marks = {True: "✓", False: "✗", None: "!"}
    assert [line.split()[0] for line in lines] == [marks[each["ok"]] for each in checks.values()]
    assert (
        checks["polkadot"]["text"]
        == "runtime table 2000000 (bundled); endpoints not checked: offline"
    )
    assert checks["clock"]["ok"] is None
    assert checks["python"]["ok"] is True
    assert platform.python_version() in checks["python"]["text"]
    assert "aiohttp " in checks["python"]["text"]


def test_chains_with_the_same_fault_are_one_line_and_so_is_all_that_is_fine(
    scenarioctl: Run, tmp_path: Path
) -> None:
    with Node(answers("polkadot", clock_at(time.time()))) as node:
        config = configure(tmp_path, polkadot=node.url, assetHub=NOWHERE, kusama=NOWHERE)
        offline = scenarioctl("--config", config, "--offline", "doctor").out.splitlines()
        online = scenarioctl("--config", config, "doctor").out.splitlines()

    count = len(CHAINS)
    assert [line for line in offline if " chains " in line] == [
        f"! {count} chains   endpoints not checked: offline (polkadot, assetHub, hydraDx "
        f"and {count - 3} more). To build offline where there is no"
        " runtime table: scenarioctl chain refresh CHAIN"
    ]
    marks = [line[:2] for line in offline]
    assert (marks.count("✓ "), marks.index("✓ ")) == (1, len(marks) - 1)
    shown = "\n".join(online)
    assert says_once(
        shown, "✗ 2 chains ", "no endpoint answers (assetHub, kusama). Check the network"
    )
    assert says_once(shown, f"! {count - 3} chains ", "no endpoints (hydraDx, ")
    assert "python" in online[-1]
    assert online[-1].endswith("1 chain")


def says_once(text: str, *words: str) -> bool:
    """Return whether one line of *text* has all *words*."""
    return len([line for line in text.splitlines() if all(word in line for word in words)]) == 1


@pytest.mark.parametrize(
    ("age", "ok", "word"),
    [(3, True, "s old"), (-600, False, "behind"), (3600, None, "stands still")],
)
def test_a_chain_that_answers_tells_its_height_and_the_time(
    scenarioctl: Run, tmp_path: Path, age: int, ok: bool | None, word: str
) -> None:
    with Node(answers("polkadot", clock_at(time.time() - age))) as node:
        ended = scenarioctl("--config", configure(tmp_path, polkadot=node.url), "--json", "doctor")

    checks = read(ended)
    assert checks["polkadot"]["ok"] is True
    for said in (
        "1 of 1 endpoints answer",
        "block 20",
        "genesis as expected",
        "runs polkadot 2000000",
        "current",
    ):
        assert said in checks["polkadot"]["text"]
    assert checks["clock"]["ok"] is ok
    assert word in checks["clock"]["text"] + checks["clock"]["advice"]
    assert ended.code == (2 if ok is False else 0)


def test_a_table_that_is_not_the_chains_is_a_warning(scenarioctl: Run, tmp_path: Path) -> None:
    newer = {"specName": "polkadot", "specVersion": 2000001}
    with Node(answers("polkadot", state_getRuntimeVersion=newer)) as node:
        ended = scenarioctl("--config", configure(tmp_path, polkadot=node.url), "--json", "doctor")

    check = read(ended)["polkadot"]
    assert (check["ok"], ended.code) == (None, 0)
    assert "stale" in check["text"]
    assert "scenarioctl chain refresh polkadot" in check["advice"]


def test_the_node_of_another_chain_is_none(scenarioctl: Run, tmp_path: Path) -> None:
    with Node(answers("assetHub")) as node:
        ended = scenarioctl("--config", configure(tmp_path, polkadot=node.url), "--json", "doctor")

    assert (read(ended)["polkadot"]["ok"], ended.code) == (False, 5)
    assert "genesis" in read(ended)["polkadot"]["text"]


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
    assert "--offline" in read(unreachable)["polkadot"]["advice"]
    assert read(both)["store"]["ok"] is False
    assert str(broken) in read(both)["store"]["text"]


def test_a_store_tells_its_version_and_size(scenarioctl: Run, tmp_path: Path) -> None:
    store = tmp_path / "kept.db"
    line = ("--offline", "--config", configure(tmp_path), "--store", str(store))
    absent = read(scenarioctl(*line, "--json", "doctor"))["store"]
    assert not store.exists()
    assert (
        scenarioctl(*line, "create", "remark", "--chain", "polkadot", "--text", "hello").code == 0
    )
    there = read(scenarioctl(*line, "--json", "doctor"))["store"]

    assert (absent["ok"], absent["text"]) == (
        True,
        f"{store} (--store), created with the first scenario",
    )
    assert there["ok"] is True
    for said in (str(store), "SQLite", "tables of version", "MiB", "writable"):
        assert said in there["text"]


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
    assert {"python", "completion", "man page"} < set(checks)
    # What the file says of the network isn't known.
    assert "offline" in checks["polkadot"]["text"]
    assert checks["store"]["ok"] is True


def test_what_to_do_follows_a_question_as_a_sentence(scenarioctl: Run, tmp_path: Path) -> None:
    told = scenarioctl("--config", configure(tmp_path, 'stoer = "x"'), "doctor").out

    assert "did you mean store? Correct it;" in told


def test_a_wrong_chain_is_told_and_the_rest_of_the_config_is_used(
    scenarioctl: Run, tmp_path: Path
) -> None:
    store = tmp_path / "own.db"
    config = tmp_path / "config.toml"
    config.write_text(
        f'offline = true\nstore = "{store}"\n[chains.rig]\nrole = "king"\nsymbol = '
        '"UNIT"\ndecimals = 12\n'
    )

    checks = read(scenarioctl("--config", str(config), "--json", "doctor"))

    assert checks["config"]["ok"] is False
    assert "king" in checks["config"]["text"]
    assert str(store) in checks["store"]["text"]
    assert {"polkadot", "daemon", "clock"} < set(checks)


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
        f"{store} (--store) cannot be written: No space left on device",
        f"make {tmp_path} writable, or set store",
    )


def test_a_daemon_tells_its_version_and_whether_the_token_is_good(
    scenarioctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, digest = new_token()
    tokens = {"ops": {"sha256": digest, "scopes": ["read"]}}
    line = ("--config", configure(tmp_path), "--offline", "--json", "doctor")
    with Serving(tmp_path, tokens=tokens) as served:
        monkeypatch.setenv("SCENARIOCTL_URL", f"http://127.0.0.1:{served.api}")
        without = scenarioctl(*line)
        monkeypatch.setenv("SCENARIOCTL_TOKEN", "sctl_wrong")
        wrong = scenarioctl(*line)
        monkeypatch.setenv("SCENARIOCTL_TOKEN", token)
        good = scenarioctl(*line)
    gone = scenarioctl(*line)

    assert [each.code for each in (without, wrong, good, gone)] == [2, 2, 0, 5]
    assert "it needs a token" in read(without)["daemon"]["text"]
    assert "the token is refused" in read(wrong)["daemon"]["text"]
    for said in (__version__, "role all", "the token is accepted"):
        assert said in read(good)["daemon"]["text"]
    # It is the same clock.
    assert read(good)["clock"]["ok"] is None
    assert read(gone)["daemon"]["ok"] is False


def test_a_daemon_where_one_listens_by_default_is_found_and_sent_no_token(
    scenarioctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = ("--config", configure(tmp_path), "--offline", "--json", "doctor")
    assert read(scenarioctl(*line))["daemon"]["ok"] is None
    with Serving(tmp_path) as served:
        monkeypatch.setenv("SCENARIOCTL_LISTEN", f"127.0.0.1:{served.api}")
        # One that could not be sent: it has a space.
        monkeypatch.setenv("SCENARIOCTL_TOKEN", "not a token")
        check = read(scenarioctl(*line))["daemon"]

    assert check["ok"] is True


@pytest.mark.parametrize(
    ("shell", "place"),
    [
        ("bash", "bash-completion/completions/scenarioctl"),
        ("zsh", "zsh/site-functions/_scenarioctl"),
        ("fish", "fish/vendor_completions.d/scenarioctl.fish"),
    ],
)
def test_completions_are_found_where_the_shell_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: str, place: str
) -> None:
    monkeypatch.setenv("SHELL", f"/bin/{shell}")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_DIRS", str(tmp_path / "none"))
    monkeypatch.setenv("FPATH", str(tmp_path / "zsh/site-functions"))
    before = health_checks.check_completion()
    (tmp_path / place).parent.mkdir(parents=True)
    (tmp_path / place).write_text((ROOT / "completions" / Path(place).name).read_text())

    assert before.ok is None
    assert before.advice == f"to install it: scenarioctl completion install {shell}"
    assert health_checks.check_completion() == health_checks.HealthCheck(
        "completion", True, f"{shell} finds {tmp_path / place}"
    )


def test_a_man_page_is_found_beside_a_directory_of_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    before = health_checks.check_man_page()
    page = tmp_path / "share/man/man1/scenarioctl.1"
    page.parent.mkdir(parents=True)
    page.write_text("")

    assert (before.ok, health_checks.check_man_page().ok) == (None, True)


def test_a_package_that_is_missing_or_too_old_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = [
        "click>=99.1",
        "no-such-package>=1",
        "rich>=1.0",
        'absent-one>=3; extra == "postgres"',
    ]
    monkeypatch.setattr("importlib.metadata.requires", lambda _name: needed)
    python, postgres = health_checks.check_python(), health_checks.check_postgres()

    assert (python.ok, postgres.ok) == (False, None)
    missing = python.text.partition("missing or too old: ")[2]
    assert missing.startswith("click ")
    assert missing.endswith("(needs 99.1), no-such-package")
    assert "absent-one" in postgres.text


def test_version_and_help_tell_what_the_options_tell(scenarioctl: Run) -> None:
    assert scenarioctl("version") == scenarioctl("--version")
    assert scenarioctl("help").out.startswith(scenarioctl("--help").out.rstrip("\n"))
    assert scenarioctl("help", "create", "scenario") == scenarioctl("create", "scenario", "--help")
    assert json.loads(scenarioctl("version", "--json").out) == {
        "version": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
    }


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (("creat",), ("creat", "create")),
        (("tx", "dekode"), ("dekode", "decode")),
        (("scenario", "info", "x"), ("info", "x")),
    ],
    ids=" ".join,
)
def test_help_for_no_command_tells_what_may_be_meant(
    scenarioctl: Run, line: tuple[str, ...], words: tuple[str, ...]
) -> None:
    ended = scenarioctl("help", *line)

    assert (ended.out, ended.code) == ("", 2)
    assert ended.err.splitlines()[0] == says(*words).within("Error: {}")


@pytest.mark.parametrize(
    ("ahead", "ok", "word"), [(0, True, "agrees"), (60, None, "ahead of"), (-60, None, "behind")]
)
def test_without_a_chain_the_clock_of_a_daemon_elsewhere_is_compared(
    tmp_path: Path, ahead: float, ok: bool | None, word: str
) -> None:
    checked = health_checks.check_clock(make_app(tmp_path), None, time.time() - ahead)

    assert checked.ok is ok
    assert word in checked.text
