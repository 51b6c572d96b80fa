"""The guides: the messages that they explain are said, and the files in examples/ci do what
docs/scripts.md says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import ROOT

pytestmark = pytest.mark.processes

EXPLAINED = re.findall(
    r'^### "(.*)"$', (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8"), re.MULTILINE
)


def all_sentences() -> str:
    """Return the source of the program, without line breaks in texts."""
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "scenarioctl").rglob("*.py"))
    return re.sub(r'"\s+f?"', "", "\n".join(sources))


@pytest.mark.one_python
def test_every_message_that_is_explained_is_said() -> None:
    said = all_sentences()

    # The source has values between the parts, and begins some sentences elsewhere.
    unsaid = [
        message
        for message in EXPLAINED
        if not any(part.strip() in said for part in message.split("…") if len(part) > 8)
    ]

    assert unsaid == []
    assert len(EXPLAINED) > 15


def run_in(folder: Path, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={
            "PYTHONPATH": os.environ["PYTHONPATH"],
            "HOME": str(folder),
            "PATH": path,
            "LANG": "C.UTF-8",
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a folder with what docs/scripts.md tells to copy."""
    shutil.copytree(ROOT / "examples/ci", tmp_path, dirs_exist_ok=True)
    return tmp_path


def read_yaml(name: str) -> Any:
    return yaml.safe_load((ROOT / "examples/ci" / name).read_text(encoding="utf-8"))


WHAT_IT_DOES = [
    (
        "teleports 1.5 DOT from Polkadot to Polkadot Asset Hub for "
        "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3"
    ),
    "writes 'payroll' to the history of Polkadot Asset Hub",
]


@pytest.mark.one_python
def test_the_file_for_github_runs(repository: Path) -> None:
    job = read_yaml("github.yml")["jobs"]["review"]
    install, *steps = [step for step in job["steps"] if "run" in step]
    summary = repository / "summary.md"

    assert install["run"].startswith("pipx install git+https://")
    for step in steps:
        done = run_in(repository, step["run"], GITHUB_STEP_SUMMARY=str(summary), **job["env"])
        assert done.returncode == 0, done.stderr

    assert summary.read_text() == "### payroll\n\n" + "".join(
        f"- {line}\n" for line in WHAT_IT_DOES
    )
    assert sorted(path.name for path in (repository / "drafts").iterdir()) == [
        "payroll.hex",
        "payroll.svg",
        "payroll.txt",
    ]


@pytest.mark.one_python
def test_the_file_for_gitlab_runs(repository: Path) -> None:
    job = read_yaml("gitlab.yml")["review-flows"]

    assert all(line.startswith("pip install https://") for line in job["before_script"])
    done = run_in(repository, "set -eu\n" + "\n".join(job["script"]), **job["variables"])

    assert (done.returncode, done.stdout.splitlines()) == (0, WHAT_IT_DOES), done.stderr


@pytest.mark.one_python
def test_a_wrong_flow_file_fails_the_run(repository: Path) -> None:
    flow = repository / "flows/payroll.toml"
    flow.write_text(flow.read_text().replace('"1.5"', '"1.50000000001"'))

    done = run_in(repository, "./review-flows.sh", SCENARIOCTL_OFFLINE="1")

    assert done.returncode == 2
    assert "== flows/payroll.toml\nError: steps[0].amount" in done.stderr


@pytest.mark.one_python
def test_a_warning_fails_the_run_unless_it_is_known(repository: Path) -> None:
    flow = repository / "flows/payroll.toml"
    flow.write_text(
        flow.read_text()
        .replace('"polkadot"', '"assetHub"')
        .replace('dest_chain = "assetHub"', 'dest_chain = "hydraDx"')
    )

    strict = run_in(repository, "./review-flows.sh", SCENARIOCTL_OFFLINE="1")
    known = run_in(repository, "./review-flows.sh", SCENARIOCTL_OFFLINE="1", SCENARIOCTL_STRICT="0")

    assert (strict.returncode, known.returncode) == (7, 0), strict.stderr + known.stderr
