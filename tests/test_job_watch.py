"""`job watch` and `job list`: all jobs, as they are and as they change."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.operations.job_changes import PauseJob, pause_job
from scenarioctl.operations.jobs import StartJob, start_job
from scenarioctl.operations.scenarios import DeleteScenario, delete_scenario
from scenarioctl.worker.worker import Worker
from tests.conftest import Run
from tests.messages import says
from tests.runner import finish
from tests.test_jobs import REMARK, diagram, remark
from tests.test_output import Terminal

BROKEN = {**REMARK, "id": "b", "formData": {"action": "remark"}}


class Jobs:
    """The store that the program has here, and what becomes of its jobs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.app = Application(
            load_settings({"offline": True, "store": path, "cache": path.parent}, {})
        )
        self.ids: list[str] = []

    def start(self, *nodes: dict[str, Any], **fields: Any) -> str:
        id = finish(diagram(self.app, *nodes) if nodes else remark(self.app))
        finish(start_job(self.app, StartJob(id=id, **fields)))
        return id

    def run_due(self) -> None:
        finish(Worker(self.app).run_next())


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    made = Jobs(tmp_path / "s.db")
    yield made
    finish(made.app.close())


def meanwhile(monkeypatch: pytest.MonkeyPatch, *events: Callable[[], object]) -> None:
    """Let one of *events* happen in each pause of the program, and then somebody press Ctrl-C."""
    left = [*events]

    def sleep(_: float) -> None:
        if not left:
            raise KeyboardInterrupt
        left.pop(0)()

    monkeypatch.setattr(time, "sleep", sleep)


def test_each_job_has_a_line_and_another_one_whenever_it_changes(
    scenarioctl: Run, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = jobs.start()
    second = jobs.start(BROKEN, every="1h")
    meanwhile(
        monkeypatch,
        jobs.run_due,
        lambda: None,
        lambda: finish(pause_job(jobs.app, PauseJob(id=first))),
        lambda: finish(delete_scenario(jobs.app, DeleteScenario(id=first))),
    )

    ended = scenarioctl("--store", str(jobs.path), "job", "watch")

    assert (ended.err, ended.code) == ("", 0)
    lines = [line.split("\t") for line in ended.out.splitlines()]
    moment = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
    expected = [
        (second, "running", "-", "-", moment, "0", "0", "-"),
        (first, "running", "-", "-", moment, "0", "0", "-"),
        (second, "running", moment, "failed", moment, "0", "1", ".*chain is missing.*"),
        (first, "running", moment, "executed", moment, "1", "0", "-"),
        (first, "paused", moment, "executed", "-", "1", "0", "paused on request"),
        (first, "gone"),
    ]
    assert len(lines) == len(expected)
    for line, wanted in zip(lines, expected, strict=True):
        assert len(line) == len(wanted)
        assert all(
            re.fullmatch(pattern, cell) for pattern, cell in zip(wanted, line, strict=True)
        ), line


def test_what_cannot_be_watched_is_refused(scenarioctl: Run, jobs: Jobs) -> None:
    store = ("--store", str(jobs.path))
    jobs.start()

    unknown = scenarioctl(*store, "job", "watch", "abcdefghi")

    assert (unknown.out, unknown.err, unknown.code) == ("", says("abcdefghi").printed, 3)


def test_a_status_on_a_terminal_says_since_when_a_job_is_paused(tmp_path: Path, jobs: Jobs) -> None:
    id = jobs.start()
    finish(pause_job(jobs.app, PauseJob(id=id)))
    job = finish(jobs.app.store.get_job(id))
    assert job is not None
    shown = Terminal(
        tmp_path, "--store", str(jobs.path), "job", "status", id, NO_COLOR="1", TZ="Asia/Kathmandu"
    )
    facts = dict(line.split(None, 1) for line in shown.read().splitlines())

    assert shown.end() == 0
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(job.changed // 10**9 + 5.75 * 3600))
    assert (facts["state"], facts["since"]) == ("paused", since)
    assert facts["reason"] == "paused on request"
