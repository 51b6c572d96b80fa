"""Prometheus metrics of the daemon and of its store. All label values come from fixed sets, so that
no client can add one."""

import asyncio
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Protocol

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Metric,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client import Histogram as Timings
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import generate_latest

from scenarioctl.application import Application
from scenarioctl.errors import ScenarioctlError, StoreBusy
from scenarioctl.model.jobs import SECOND

if TYPE_CHECKING:
    from scenarioctl.worker.chores import Counts


# They would double the number of lines.
disable_created_metrics()  # type: ignore[no-untyped-call]

#: Upper bounds of histogram buckets, in seconds.
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120)
#: Endpoint label of requests that match no endpoint.
NOWHERE = "none"

#: The version that all scrapers understand.
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counts requests, and writes all metrics at a scrape; it has its own registry, so that tests
    can have several."""

    def __init__(self, version: str) -> None:
        self.registry = CollectorRegistry()
        #: Requests in progress, and open event streams.
        self.under_way = 0
        self.streams = 0
        self._requests = Counter(
            "scenarioctl_requests",
            "Requests answered.",
            ("server", "endpoint", "status"),
            registry=self.registry,
        )
        self._seconds = Timings(
            "scenarioctl_request_seconds",
            "Seconds from the header of a request to its response.",
            ("server", "endpoint"),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        # To look them up each time takes longer than to count.
        self._of = cache(self._labeled)
        running = Gauge(
            "scenarioctl_info", "The running version.", ("version",), registry=self.registry
        )
        running.labels(version).set(1)
        #: What the last scrape read.
        self._read: list[Metric] = []
        self.registry.register(self)
        # Memory, CPU time and open files, if the system provides them.
        ProcessCollector(registry=self.registry)

    def count(self, server: str, endpoint: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        requests, timed = self._of(server, endpoint, status)
        requests.inc()
        timed.observe(seconds)

    def _labeled(self, server: str, endpoint: str, status: int) -> tuple[Counter, Timings]:
        return self._requests.labels(server, endpoint, status), self._seconds.labels(
            server, endpoint
        )

    def collect(self) -> Iterable[Metric]:
        """Return what the last scrape read; the registry calls this."""
        return self._read

    async def write(self, app: Application, worker: "Working | None") -> bytes:
        """Return all metrics in Prometheus' text format, those of *app* and *worker* too."""
        figures = await _of_store(app)
        figures |= {
            "store_errors_total": app.store.errors,
            "store_pool_waiting": app.store.waiting,
            "chain_up": app.chains_up(),
        }
        if worker is not None:
            figures |= _of_worker(worker)
        self._read = [_metric(name, value) for name, value in figures.items() if value is not None]
        return generate_latest(self.registry)


#: The value of a metric, or of each value of its label; None if it has none.
Figure = float | Mapping[str, float] | None
#: Metric -> its label, if it has one, and what it says.
_HELP = {
    "store_up": ("", "Whether the store answers."),
    "scenarios": ("", "Scenarios in the store."),
    "jobs": ("state", "Jobs in the store, by state."),
    "jobs_due_seconds": ("", "Seconds for which the longest waiting due job has waited."),
    "workers": ("", "Workers that are alive, of all processes."),
    "notifications_waiting": (
        "state",
        "Notifications that are not delivered yet: queued, or retrying after a failure.",
    ),
    "store_errors_total": (
        "",
        "Reads and writes of this process that failed because of the store.",
    ),
    "store_pool_waiting": ("", "Requests and runs of this process that wait for a connection."),
    "chain_up": (
        "chain",
        "Whether the last attempt to reach a chain succeeded; only chains that were used.",
    ),
    "runs_under_way": ("", "Runs in progress, without those that wait."),
    "runs_total": ("outcome", "Finished runs, by outcome."),
    "runs_taken_over_total": (
        "",
        "Runs that another worker, or an earlier process, had begun and not finished.",
    ),
    "drafts_total": ("type", "Drafts made by runs, by type."),
    "drafts_flagged_total": ("", "Drafts outdated by a runtime upgrade."),
    "notifications_total": (
        "outcome",
        "Attempts to deliver notifications, by outcome, and notifications that were given up.",
    ),
}


def _metric(name: str, value: float | Mapping[str, float]) -> Metric:
    label, help = _HELP[name]
    family = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
    metric = family(f"scenarioctl_{name}", help, labels=[label] if label else [])
    for each, number in sorted(value.items()) if isinstance(value, Mapping) else [("", value)]:
        metric.add_metric([each] if label else [], number)
    return metric


class Working(Protocol):
    """The part of a worker that has metrics."""

    @property
    def running(self) -> int: ...

    @property
    def counts(self) -> "Counts": ...


def _of_worker(worker: Working) -> dict[str, Figure]:
    counts = worker.counts
    return {
        "runs_under_way": worker.running,
        "runs_total": {
            "executed": counts.executed,
            "failed": counts.failed,
            "lost": counts.lost,
            "left_out": counts.left_out,
            "bug": counts.bugs,
        },
        "runs_taken_over_total": counts.taken_over,
        "drafts_total": counts.drafts,
        "drafts_flagged_total": counts.flagged,
        "notifications_total": {
            "delivered": counts.notifications_delivered,
            "failed": counts.notifications_failed,
            "given_up": counts.notifications_given_up,
        },
    }


#: Seconds that a scrape waits for the store.
_PATIENCE = 8.0


async def _of_store(app: Application) -> dict[str, Figure]:
    """Return what the store says of itself, and whether it answers."""
    try:
        async with asyncio.timeout(_PATIENCE):
            said, waiting = await app.store.statistics(), await app.store.outbox().figures()
    except (ScenarioctlError, TimeoutError) as error:
        # One that is locked is there.
        return {"store_up": isinstance(error, StoreBusy)}
    late = 0.0 if said.next_due is None else max(0.0, (app.clock() - said.next_due) / SECOND)
    return {
        "store_up": 1,
        "scenarios": said.scenarios,
        "jobs": {state.value: number for state, number in said.jobs.items()},
        "jobs_due_seconds": late,
        "workers": said.workers,
        "notifications_waiting": {"queued": waiting.queued, "retrying": waiting.retrying},
    }
