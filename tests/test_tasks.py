"""Tasks of people who know the help alone: each is done by one line of words that the help shows,
at the first try."""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import BOB, DATA, Run

TASKS = tomllib.loads((DATA / "tasks.toml").read_text())["task"]


def unseen(scenarioctl: Run, line: list[str]) -> list[str]:
    """Return the words of *line* that no help shows on the way to its command: names of commands,
    and options."""
    path: list[str] = []
    missing: list[str] = []
    help = scenarioctl("--help").out
    while "\nCommands:\n" in help:
        word = line[len(path)]
        if not re.search(rf"^  {re.escape(word)} ", help, re.MULTILINE):
            missing.append(word)
        path.append(word)
        help = scenarioctl(*path, "--help").out
    options = [each.partition("=")[0] for each in line if each.startswith("--")]
    everywhere = scenarioctl("--help").out
    return missing + [
        each for each in options if f"{each} " not in help and f"{each} " not in everywhere
    ]


def test_forty_tasks_are_done_by_lines_that_the_help_shows(
    scenarioctl: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    faults: list[Any] = []
    for task in TASKS:
        typed, _, file = task["line"].format(bob=BOB, folder=tmp_path).partition(" > ")
        line = shlex.split(typed)
        shown = unseen(scenarioctl, line)
        ended = scenarioctl("--offline", *line)
        if file:
            Path(file).write_text(ended.out)
        expected = task.get("code", 0), task.get("out", ""), task.get("err", "")
        code, out, err = expected
        if (
            shown
            or ended.code != code
            or not re.search(out, ended.out, re.MULTILINE)
            or not re.search(err, ended.err, re.MULTILINE)
        ):
            faults.append((task["want"], line, shown, ended))

    assert not faults, "\n".join(map(str, faults))
    assert len(TASKS) >= 40


#: What a person typed first for each of 47 tasks, before any help was read; behind `->` the words
#: that the answer leads to, where it isn't done.
FIRST_WORDS = """
create transfer --from polkadot --to assetHub --asset DOT --amount 1.5 --to-address {bob} --name a
create swap --sell DOT --buy HDX --amount 2 --min-received 900
create remark -c polkadot --text hi
create query --chain polkadot System.Account {bob}
scenario list
scenario show a
scenario build a
scenario full a
scenario preview a --format svg
scenario edit a --name office
scenario edit office --tag treasury
scenario export office --as flow
info office
tx transfer --from polkadot --to assetHub --asset DOT --amount 1.5 --to-address {bob}
tx call polkadot Balances.transfer_keep_alive {bob} 1
tx call polkadot balances transferKeepAlive {bob} 1
tx call --chain polkadot System.remark 0xTaylor
tx batch polkadot 0x00001468656c6c6f 0x00000c627965
tx decode -c polkadot 0x240400001468656c6c6f
tx payload office --sender {bob} --nonce 0
query polkadot Balances.ExistentialDeposit
query -c polkadot balances existentialdeposit
chain list
chain show hydration
chain pallets polkadot Balances.burn
template stats polkadot
asset list hydraDx
asset show assetHub USDT
address show {bob}
address add bob {bob}
tx call polkadot Balances.transfer_keep_alive bob 1
address list
job start office --every 1d
job start office --cron @weekly
job list
job status office
job stop office
completion show bash
help jobs
config set offline true
encode -> tx call
simulate office -> tx check
payroll salaries.csv -> create payout
rebalance -> create flow
job reschedule office --every 1h -> job start
scenario rename office b -> scenario edit
daemon --port 8080 -> --listen
"""


def test_the_first_words_for_a_task_do_it_or_lead_to_what_does(
    scenarioctl: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    lines = FIRST_WORDS.format(bob=BOB).strip().splitlines()
    done = 0
    for line in lines:
        typed, arrow, instead = line.partition(" -> ")
        ended = scenarioctl("--offline", *shlex.split(typed))
        assert (ended.code, instead in ended.err) == (2 if arrow else 0, True), (line, ended)
        done += not arrow

    assert (len(lines), done) == (47, 40)
