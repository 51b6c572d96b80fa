"""The source distribution holds all that an installation needs."""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.conftest import ROOT


@pytest.mark.skipif(shutil.which("git") is None or not (ROOT / ".git").exists(), reason="not a checkout")
def test_a_source_distribution_holds_what_its_installation_copies(tmp_path: Path) -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    source = tmp_path / "source"
    for name in files:
        # Tests and their data are large, and no part of it.
        if not name.startswith(("tests/", "benchmarks/")):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, source / name)

    build = "from setuptools.build_meta import build_sdist; print(build_sdist('dist'))"
    done = subprocess.run([sys.executable, "-c", build], cwd=source, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    with tarfile.open(source / "dist" / done.stdout.split()[-1]) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    needed = {
        name
        for name in files
        if name.startswith(("scenarioctl/", "completions/", "man/"))
        or name in ("setup.py", "setup.cfg", "pyproject.toml", "README.md", "LICENSE")
    }
    assert needed - held == set()
