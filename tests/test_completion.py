"""What TAB offers where it depends on the store, the settings, the chain and the words before
it."""

from pathlib import Path

import pytest
from click.shell_completion import BashComplete, CompletionItem

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
def test_a_script_is_shown(scenarioctl: Run, shell: str) -> None:
    name = {"bash": "scenarioctl", "zsh": "_scenarioctl", "fish": "scenarioctl.fish"}[shell]

    assert ok(scenarioctl("completion", "show", shell)) == (ROOT / "completions" / name).read_text()
