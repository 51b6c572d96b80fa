"""What TAB offers where it depends on the store, the settings, the chain and the words before
it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import BashComplete, CompletionItem

from scenarioctl.cli import about
from scenarioctl.cli.about import SHELLS
from scenarioctl.cli.main import cli
from tests.conftest import ROOT, Run
from tests.test_cli import CREATE, CREATE_REMARK, ok


def tab(line: str) -> list[CompletionItem]:
    before, _, incomplete = line.rpartition(" ")
    return BashComplete(cli, {}, "scenarioctl", "_SCENARIOCTL_COMPLETE").get_completions(
        before.split(), incomplete
    )


def values(line: str) -> list[str]:
    return [each.value for each in tab(line)]


# Ids


@pytest.mark.parametrize(
    "line",
    [
        "info ",
        "scenario show ",
        "scenario full ",
        "scenario preview ",
        "scenario export ",
        "tx payload ",
        "scenario delete abcdefghi ",
        "job start ",
        "job run ",
    ],
)
def test_scenarios_are_offered_with_their_summary_the_newest_first(
    scenarioctl: Run, line: str
) -> None:
    transfer = ok(scenarioctl(*CREATE)).strip()
    remark = ok(scenarioctl(*CREATE_REMARK)).strip()

    assert [(each.value, each.help) for each in tab(line)] == [
        (remark, "polkadot > Remark"),
        (transfer, "polkadot > xTransfer > assetHub"),
    ]
    assert values(line + remark[:5]) == [remark]


def test_a_store_that_cannot_be_read_offers_nothing_and_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("this is not a database")
    (tmp_path / "c.toml").write_text("store = 7")

    assert values(f"--store {tmp_path}/none info ") == []
    assert values(f"--store {tmp_path}/text info ") == []
    assert values(f"--store {tmp_path} info ") == []
    assert values(f"--config {tmp_path}/c.toml info ") == []
    assert sorted(each.name for each in tmp_path.iterdir()) == ["c.toml", "text"]
    assert (tmp_path / "text").read_text() == "this is not a database"


# Chains, assets


def test_chains_of_the_configuration_are_offered(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text('[chains.rig]\nrole = "relay"\nsymbol = "UNIT"\ndecimals = 12\n')

    assert values(f"--config {config} template stats ri") == ["rig"]
    assert [each.help for each in tab(f"--config {config} hrmp openchannels ri")] == ["UNIT"]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("create scenario --from polkadot --asset D", ["DOT"]),
        ("create scenario --from assetHub --asset USD", ["USDC", "USDt"]),
        ("xcm asset-transfer --sourchain assethub --assetid 198", ["1984"]),
        ("create swap --assetin HD", ["HDX"]),
        ("create swap --chain hydraDx --assetout hd", ["HDX"]),
        ("create scenario --asset D", []),
        ("create scenario --from nowhere --asset D", []),
        ("asset show hydraDx HD", ["HDX"]),
    ],
)
def test_values_are_offered_by_the_words_before_them(line: str, offered: list[str]) -> None:
    found = values(line)

    assert [each for each in found if each in offered] == offered
    assert offered or not found


# The scripts


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_shown_and_installed(
    scenarioctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    place = {
        "bash": ".local/share/bash-completion/completions/scenarioctl",
        "zsh": ".local/share/zsh/site-functions/_scenarioctl",
        "fish": ".config/fish/completions/scenarioctl.fish",
    }[shell]
    script = (ROOT / "completions" / Path(place).name).read_text()

    assert ok(scenarioctl("completion", "show", shell)) == script
    named, guessed = (
        scenarioctl("completion", "install", shell),
        scenarioctl("completion", "install", "-q"),
    )

    assert (named.out, named.code) == (f"{tmp_path / place}\n", 0)
    assert (guessed.out, guessed.err, guessed.code) == (f"{tmp_path / place}\n", "", 0)
    assert (tmp_path / place).read_text() == script


def test_without_its_package_bash_loads_the_script_from_bashrc(
    scenarioctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(about, "_LOADERS", ())
    startup = tmp_path / ".bashrc"
    startup.write_text("# mine\n")

    path = scenarioctl("completion", "install", "bash").out.strip()
    ok(scenarioctl("completion", "install", "bash"))
    asked = "complete -p scenarioctl; type -t _scenarioctl_completion"
    loaded = subprocess.run(
        ["bash", "--rcfile", str(startup), "-ic", asked],
        capture_output=True,
        text=True,
        env={"HOME": str(tmp_path)},
    )

    assert startup.read_text() == f"# mine\n. {path}\n"
    assert loaded.stdout.splitlines()[-1] == "function"


def test_fish_finds_what_was_installed(
    tmp_path: Path, scenarioctl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    fish = next(
        (f"{folder}/fish" for folder in os.get_exec_path() if Path(folder, "fish").exists()), None
    )
    if fish is None:
        pytest.skip("there is no fish")
    monkeypatch.setenv("HOME", str(tmp_path))
    ok(scenarioctl("completion", "install", "fish"))
    program = Path(sys.executable).parent

    done = subprocess.run(
        [fish, "-c", "complete -C 'scenarioctl scenario exp' | string split -f 1 \\t"],
        capture_output=True,
        text=True,
        env={"HOME": str(tmp_path), "PATH": f"{program}:/usr/bin:/bin", "LANG": "C.UTF-8"},
    )

    assert done.stdout.split() == ["export"]
