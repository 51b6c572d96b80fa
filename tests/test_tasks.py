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
