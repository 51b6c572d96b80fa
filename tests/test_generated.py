"""What is made from the commands is current, and nothing else lies beside it."""

from pathlib import Path

import pytest

from tests.conftest import ROOT
from tools.generate import existing, generate


@pytest.fixture(scope="module")
def files() -> dict[Path, str]:
    """Return the text of each generated file.  It takes a second, which no run without these tests
    should spend."""
    return dict(generate())


def test_generated_files_are_current(files: dict[Path, str]) -> None:
    for path, text in files.items():
        assert path.read_text() == text, f"{path.relative_to(ROOT)} is stale; run: make generate"


def test_the_folders_hold_nothing_else(files: dict[Path, str]) -> None:
    assert sorted(existing()) == sorted(
        path for path in files if path.suffix not in (".md", ".json")
    )


def test_every_shell_and_every_command_has_its_file(files: dict[Path, str]) -> None:
    names = {path.name for path in files}

    assert {"scenarioctl", "_scenarioctl", "scenarioctl.fish", "routes.md"} <= names
    assert {"scenarioctl.1", "scenarioctl-create.1", "scenarioctl-tx-transfer.1"} <= names
