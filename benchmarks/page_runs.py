"""What the page takes while runs stream in, and to show a log of 10 000 lines: DOM nodes, heap, CPU
time of tasks.

python -m benchmarks.page_runs [SECONDS]
"""

import asyncio
import json
import sys
import tempfile
import time
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import websocket

from scenarioctl.model.jobs import FinishedRun, Retention
from scenarioctl.stores import open_store
from tests.browser.page import Daemon, Page, open_browser
from tests.browser.scenarios import a_remark
from tests.test_store_jobs import DRAFT

#: What a run leaves behind, seconds between two, and seconds between two samples.
LINES, DRAFTS, PAUSE, SAMPLE = 200, 20, 1.0, 30.0
LIMIT = Retention(log_lines=50_000, mempool_entries=5_000)
#: Most milliseconds of CPU time of a task, and most nodes and bytes at the end, in multiples of
#: those after the first sample.
TASK_GOAL, GROWTH_GOAL = 100, 1.5


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600.0
    with tempfile.TemporaryDirectory() as place, open_browser(Path(place) / "chromium") as browser:
        daemon = Daemon(Path(place))
        page, tasks = Page(browser, daemon.url), Tasks(browser)
        try:
            stream(page, daemon, tasks, seconds)
            long_log(page, daemon, tasks)
        finally:
            daemon.stop()


class Tasks:
    """The tasks of the pages of a browser, traced from now on: the time of a task has what others
    did meanwhile."""

    def __init__(self, browser: Any) -> None:
        address = browser.capabilities["goog:chromeOptions"]["debuggerAddress"]
        with urllib.request.urlopen(f"http://{address}/json/version") as answer:
            url = json.load(answer)["webSocketDebuggerUrl"]
        self._socket = websocket.create_connection(url, suppress_origin=True, timeout=60)
        self._start()

    def _send(self, method: str, **parameters: object) -> None:
        self._socket.send(json.dumps({"id": 1, "method": method, "params": parameters}))
        while json.loads(self._socket.recv()).get("id") != 1:
            pass

    def _start(self) -> None:
        config = {
            "includedCategories": ["disabled-by-default-devtools.timeline"],
            "excludedCategories": ["*"],
        }
        self._send("Tracing.start", transferMode="ReportEvents", traceConfig=config)

    def take(self) -> list[tuple[float, float]]:
        """Return the milliseconds of each task since the last call: of CPU time, and from its begin
        to its end."""
        self._send("Tracing.end")
        events: list[dict[str, Any]] = []
        while (told := json.loads(self._socket.recv())).get("method") != "Tracing.tracingComplete":
            if told.get("method") == "Tracing.dataCollected":
                events += told["params"]["value"]
        assert not told["params"]["dataLossOccurred"]
        self._start()
        pages = {
            (each["pid"], each["tid"])
            for each in events
            if each["name"] == "thread_name" and each["args"]["name"] == "CrRendererMain"
        }
        return [
            (each.get("tdur", 0) / 1000, each["dur"] / 1000)
            for each in events
            if each["name"] == "RunTask" and "dur" in each and (each["pid"], each["tid"]) in pages
        ]


def leave(folder: Path, scenario: str, *, lines: int, drafts: int) -> None:
    """Store a run that has just ended."""
    now = time.time_ns()
    run = FinishedRun(
        job=scenario, epoch=None, planned=now, started=now, finished=now,
        lines=tuple(f"{now}, line {each}" for each in range(lines)),
        drafts=tuple(replace(DRAFT, date=now + each) for each in range(drafts)),
    )  # fmt: skip

    async def keep() -> None:
        store = open_store(folder / "scenarios.db")
        await store.finish_run(run, retention=LIMIT)
        await store.close()

    asyncio.run(keep())


def stream(page: Page, daemon: Daemon, tasks: Tasks, seconds: float) -> None:
    """Let runs end, one each second, beside a page that shows them."""
    scenario = a_remark(daemon)
    page.open(f"/#/create/?diagramData={scenario}")
    page.wait_for("No runs yet.")
    began = due = time.monotonic()
    samples: list[tuple[int, int]] = []
    print(f"runs of {LINES} lines and {DRAFTS} drafts, one each {PAUSE:g} s", flush=True)
    heading = (
        f"{'seconds':>8} {'nodes':>8} {'heap kB':>8} {'CPU ms':>8} {'longest task':>12} "
        f"{'begin to end':>12}"
    )
    print(heading, flush=True)
    tasks.take()
    while (passed := time.monotonic() - began) < seconds:
        leave(daemon.folder, scenario, lines=LINES, drafts=DRAFTS)
        if passed >= (len(samples) + 1) * SAMPLE:
            samples.append(sample(page, tasks, passed))
        due += PAUSE
        time.sleep(max(0.0, due - time.monotonic()))
    samples.append(sample(page, tasks, time.monotonic() - began))
    for name, first, last in zip(("nodes", "heap"), samples[0], samples[-1], strict=True):
        verdict = "met" if last <= GROWTH_GOAL * first else "missed"
        print(
            f"{name}: {last / first:.2f} times the first sample, goal {GROWTH_GOAL}: {verdict}",
            flush=True,
        )


def sample(page: Page, tasks: Tasks, passed: float) -> tuple[int, int]:
    """Print and return the nodes, also detached ones, and the bytes of the heap; print the CPU time
    of tasks."""
    browser: Any = page.browser
    taken = tasks.take()
    browser.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
    nodes = browser.execute_cdp_cmd("Memory.getDOMCounters", {})["nodes"]
    browser.execute_cdp_cmd("Performance.enable", {})
    metrics = browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    heap = next(int(each["value"]) for each in metrics if each["name"] == "JSHeapUsedSize")
    total, longest = sum(cpu for cpu, _ in taken), max(cpu for cpu, _ in taken)
    # Without the garbage that was collected for this.
    tasks.take()
    print(
        (
            f"{passed:8.0f} {nodes:8} {heap // 1000:8} {total:8.0f} {longest:12.0f} "
            f"{max(wall for _, wall in taken):12.0f}"
        ),
        flush=True,
    )
    return nodes, heap


def long_log(page: Page, daemon: Daemon, tasks: Tasks) -> None:
    """Open a log of 10 000 lines, all of it."""
    scenario = a_remark(daemon)
    leave(daemon.folder, scenario, lines=10_000, drafts=0)
    page.open(f"/#/create/?diagramData={scenario}")
    page.wait_for("Show older lines", "line 9999")
    page.press("Show older lines")
    count = "return document.querySelectorAll('.log .chunk > ol > li').length"
    page.wait(lambda: page.browser.execute_script(count) == 10_000)
    page.browser.execute_script("document.querySelector('.log .chunk').scrollIntoView()")
    longest, _ = max(tasks.take())
    verdict = "met" if longest < TASK_GOAL else "missed"
    print(
        f"10 000 lines: the longest task takes {longest:.0f} ms of CPU time, goal "
        f"{TASK_GOAL}: {verdict}"
    )


if __name__ == "__main__":
    main()
