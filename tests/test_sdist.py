"""The distributions hold what it takes to build, test, package and run the program, and nothing
else."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT

#: What running the tests, the tools and earlier builds leaves in their folders.
LEFTOVERS = (
    "build/lib/scenarioctl/removed.py",
    "tests/__pycache__/runner.cpython-311.pyc",
    "tests/clients/node_modules/pako/package.json",
)

pytestmark = [
    pytest.mark.one_python,
    pytest.mark.skipif(
        shutil.which("git") is None or not (ROOT / ".git").exists(), reason="not a checkout"
    ),
]


@pytest.fixture(scope="module")
def files() -> set[str]:
    """Return the names of the files of the checkout."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}


@pytest.fixture(scope="module")
def source(files: set[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the checkout, with leftovers."""
    source = tmp_path_factory.mktemp("checkout") / "source"
    for name in files:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    for name in LEFTOVERS:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).touch()
    return source


def build(source: Path, kind: str) -> Path:
    """Return the path of the distribution of *kind*, `sdist` or `wheel`, that *source* builds."""
    code = f"from setuptools.build_meta import build_{kind}; print(build_{kind}('dist'))"
    done = subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return source / "dist" / done.stdout.split()[-1]


def test_a_source_distribution_holds_every_file_of_the_checkout(
    files: set[str], source: Path
) -> None:
    with tarfile.open(build(source, "sdist")) as archive:
        held = {member.name.partition("/")[2] for member in archive if member.isfile()}

    assert held - files == {"PKG-INFO", "scenarioctl.egg-info/SOURCES.txt"}
    assert files - held == set()


def test_a_wheel_holds_the_package_and_what_shells_and_man_look_for(
    files: set[str], source: Path
) -> None:
    with zipfile.ZipFile(build(source, "wheel")) as archive:
        held = set(archive.namelist())

    package = {name for name in files if name.startswith("scenarioctl/")} | {
        f"scenarioctl/guides/{Path(name).name}" for name in files if Path(name).match("docs/*.md")
    }
    shared = {name for name in held if ".data/data/share/" in name}
    pages = {f"share/{name}" for name in files if name.startswith("man/")}
    assert {name.partition("/data/")[2] for name in shared} == pages | {
        "share/bash-completion/completions/scenarioctl",
        "share/zsh/site-functions/_scenarioctl",
        "share/fish/vendor_completions.d/scenarioctl.fish",
    }
    assert {name for name in held - shared if ".dist-info/" not in name} == package
