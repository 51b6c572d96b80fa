"""A test that fails by chance is named and doesn't fail the run; one that fails again does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

BY_CHANCE = """
def test_by_chance(request):
    seen = request.path.with_name("seen")
    first = not seen.exists()
    seen.touch()
    assert not first
"""
ALWAYS = "def test_always():\n    raise ValueError(6 * 7)\n"


@pytest.mark.parametrize(
    ("source", "workers", "code", "printed"),
    [
        (BY_CHANCE, "2", 0, ["flaky: test_it.py::test_by_chance"]),
        (
            BY_CHANCE + ALWAYS,
            "0",
            1,
            [
                "flaky: test_it.py::test_by_chance",
                "failed again: test_it.py::test_always",
                "ValueError: 42",
            ],
        ),
        ("import nothing_of_that_name", "2", 1, ["nothing_of_that_name"]),
        ("\n".join(f"def test_{n}(): raise ValueError" for n in range(11)), "0", 1, ["11 failed"]),
    ],
    ids=["by chance", "both", "not imported", "too many"],
)
@pytest.mark.one_python
@pytest.mark.processes
def test_what_failed_is_run_once_more(
    tmp_path: Path, source: str, workers: str, code: int, printed: list[str]
) -> None:
    (tmp_path / "test_it.py").write_text(source, encoding="utf-8")
    line = ["-c", "/dev/null", "--rootdir", str(tmp_path), "-p", "tests.second_run"]
    if workers != "0":
        line += ["-p", "xdist", "-n", workers]

    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *line, str(tmp_path)],
        cwd=ROOT,
        # Other plugins take seconds to import.
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert ended.returncode == code, ended.stdout
    assert [each for each in printed if each not in ended.stdout] == []
    assert "flaky: test_it.py::test_always" not in ended.stdout
