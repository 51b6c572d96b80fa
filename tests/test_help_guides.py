"""`scenarioctl help` lists the guides and shows them, from a checkout and from the package that
setuptools builds."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from scenarioctl.cli import about as guides_module
from scenarioctl.cli.about import guides
from scenarioctl.cli.main import cli
from tests.conftest import ROOT, Run


def test_help_lists_every_guide(scenarioctl: Run) -> None:
    listed = scenarioctl("help").out.partition("Guides (scenarioctl help GUIDE):\n")[2]

    names = {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert set(listed.replace(",", " ").split()) == names
    assert {"flow", "jobs", "routes"} <= names


def test_help_shows_a_guide_without_addresses_of_files(scenarioctl: Run) -> None:
    shown = scenarioctl("help", "swaps")

    assert shown.code == 0
    assert shown.out.startswith("# Swaps\n")
    assert ".md)" not in shown.out
    assert "(scenarioctl help flow)" in scenarioctl("help", "jobs").out


def test_the_guide_with_the_name_of_a_command_follows_its_help(scenarioctl: Run) -> None:
    shown = scenarioctl("help", "daemon").out

    assert shown.startswith(scenarioctl("daemon", "--help").out.rstrip("\n"))
    assert "# The daemon\n" in shown
    assert scenarioctl("help", "job", "start") == scenarioctl("job", "start", "--help")


def test_a_misspelt_guide_leads_to_it(scenarioctl: Run) -> None:
    ended = scenarioctl("help", "swasp")

    assert (ended.out, ended.code) == ("", 2)
    assert ended.err.startswith(
        "Error: there is no guide 'swasp', did you mean scenarioctl help swaps?\n"
    )


def test_the_built_package_holds_the_guides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [
        sys.executable,
        "-c",
        "import setuptools; setuptools.setup()",
        "build",
        "--build-base",
        str(tmp_path),
    ]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = tmp_path.glob("lib*/scenarioctl")

    monkeypatch.setattr(guides_module, "__file__", str(built / "cli" / "guides.py"))

    assert {path.parent for path in guides().values()} == {built / "guides"}
    assert set(guides()) == {path.stem for path in (ROOT / "docs").glob("*.md")}


def test_no_guide_hides_a_command() -> None:
    assert isinstance(cli, click.Group)
    commands = set(cli.list_commands(click.Context(cli)))

    assert commands & set(guides()) == {"daemon"}
