"""A test that fails by chance is named and doesn't fail the run; one that fails again does."""

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


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize(
    ("source", "code", "printed"),
    [
        (BY_CHANCE, 0, ["flaky: test_it.py::test_by_chance"]),
        (ALWAYS, 1, ["failed again: test_it.py::test_always", "ValueError: 42"]),
        (BY_CHANCE + ALWAYS, 1, ["flaky: test_it.py::test_by_chance", "failed again: test_it.py"]),
        ("import nothing_of_that_name", 2, ["nothing_of_that_name"]),
        ("\n".join(f"def test_{n}(): raise ValueError" for n in range(11)), 1, ["11 failed"]),
    ],
    ids=["by chance", "always", "both", "not imported", "too many"],
)
@pytest.mark.one_python
def test_what_failed_is_run_once_more(
    tmp_path: Path, workers: str, source: str, code: int, printed: list[str]
) -> None:
    (tmp_path / "test_it.py").write_text(source, encoding="utf-8")
    line = ["-c", "/dev/null", "--rootdir", str(tmp_path), "-n", workers, "-p", "tests.second_run"]

    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *line, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    # With workers, a file that can't be imported ends the run like a test that fails.
    assert (ended.returncode or 0) in {code, 1 if code else 0}, ended.stdout
    assert [each for each in printed if each not in ended.stdout] == []
    assert "flaky: test_it.py::test_always" not in ended.stdout
