"""What is made from the commands is current, and nothing else lies beside it."""

from pathlib import Path

import pytest

from tests.conftest import ROOT
from tools.generate import existing, generate

FILES = dict(generate())


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_generated_file_is_current(path: Path) -> None:
    assert path.read_text() == FILES[path], "run: make generate"


def test_the_folders_hold_nothing_else() -> None:
    assert sorted(existing()) == sorted(path for path in FILES if path.suffix not in (".md", ".py"))


def test_every_shell_and_every_command_has_its_file() -> None:
    names = {path.name for path in FILES}

    assert {"scenarioctl.bash", "scenarioctl.zsh", "scenarioctl.fish", "commands.md"} <= names
    assert {"scenarioctl.1", "scenarioctl-create.1", "scenarioctl-xcm-asset-transfer.1"} <= names
