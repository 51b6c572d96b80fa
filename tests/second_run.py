"""Runs what failed once more, alone, at the end of a run: `pytest -p tests.second_run`.

A test that then passes is printed as `flaky:` and doesn't fail the run; mend it before anything
else. One that fails again fails the run, and nothing is tried a third time.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

#: More failures than this are no accident: they are not tried again.
MOST = 10
#: Seconds that one test may take alone.
LONGEST = 600


def pytest_configure(config: pytest.Config) -> None:
    # A worker of xdist reports to the run that started it.
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(SecondRun(), "second_run")


class SecondRun:
    """Collects the tests that failed, and runs each again in a process of its own."""

    def __init__(self) -> None:
        self.failed: list[str] = []
        self.again: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Let the run pass if all of its tests have, now or alone."""
        # A file that can't be imported ends a run with another status.
        tried = session.exitstatus == pytest.ExitCode.TESTS_FAILED and len(self.failed) <= MOST
        if tried and self.failed:
            self.again = {test: run_alone(test, session.config.rootpath) for test in self.failed}
            if not any(self.again.values()):
                session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for test, printed in self.again.items():
            if printed:
                terminalreporter.section(f"failed again: {test}", red=True)
                terminalreporter.write_line(printed)
            else:
                terminalreporter.write_line(f"flaky: {test}")


def run_alone(test: str, root: Path) -> str:
    """Return what was printed by *test*, in a process of its own, if it failed there."""
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", test],
            cwd=root,
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired:
        return f"it took more than {LONGEST} s"
    return ended.stdout + ended.stderr if ended.returncode else ""
