"""The source distribution holds what it takes to build, test and package the program, and nothing else."""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.conftest import ROOT

#: What running the tests and the tools leaves in their folders.
LEFTOVERS = ("tests/__pycache__/runner.cpython-311.pyc", "tests/clients/node_modules/pako/package.json")


@pytest.mark.one_python
@pytest.mark.skipif(shutil.which("git") is None or not (ROOT / ".git").exists(), reason="not a checkout")
def test_a_source_distribution_holds_every_file_of_the_checkout(tmp_path: Path) -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}
    source = tmp_path / "source"
    for name in files:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    for name in LEFTOVERS:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).touch()

    build = "from hatchling.build import build_sdist; print(build_sdist('dist'))"
    done = subprocess.run([sys.executable, "-c", build], cwd=source, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    with tarfile.open(source / "dist" / done.stdout.split()[-1]) as archive:
        held = {member.name.partition("/")[2] for member in archive if member.isfile()}
    assert held - files == {"PKG-INFO"}
    assert files - held == set()
