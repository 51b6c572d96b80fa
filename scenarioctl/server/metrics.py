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
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import generate_latest

from scenarioctl.application import Application
from scenarioctl.errors import ScenarioctlError, StoreBusy
from scenarioctl.model.jobs import SECOND

if TYPE_CHECKING:
    from scenarioctl.stores.figures import Usage
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
        help = "Whether the last attempt to reach a chain succeeded; only chains that were used."
        self._read = [
            *await _store_figures(app),
            *_usage_figures(app.store.usage()),
            _gauge("chain_up", help, app.chains_up(), label="chain"),
            *(_worker_figures(worker) if worker is not None else ()),
        ]
        return generate_latest(self.registry)


def _gauge(name: str, help: str, value: float | Mapping[str, float], *, label: str = "") -> Metric:
    """Return a gauge, with the values of one *label* if there are several."""
    return _fill(GaugeMetricFamily(f"scenarioctl_{name}", help, labels=label and [label]), value)


def _counter(
    name: str, help: str, value: float | Mapping[str, float], *, label: str = ""
) -> Metric:
    """Return a counter, as `_gauge`."""
    return _fill(CounterMetricFamily(f"scenarioctl_{name}", help, labels=label and [label]), value)


def _fill(
    metric: CounterMetricFamily | GaugeMetricFamily, value: float | Mapping[str, float]
) -> Metric:
    for each, number in sorted(value.items()) if isinstance(value, Mapping) else (("", value),):
        metric.add_metric([each] if each else [], number)
    return metric


class Working(Protocol):
    """The part of a worker that has metrics."""

    @property
    def running(self) -> int: ...

    @property
    def counts(self) -> "Counts": ...


def _worker_figures(worker: Working) -> Iterable[Metric]:
    counts = worker.counts
    yield _gauge("runs_under_way", "Runs in progress, without those that wait.", worker.running)
    outcomes = {
        "executed": counts.executed,
        "failed": counts.failed,
        "lost": counts.lost,
        "left_out": counts.left_out,
        "bug": counts.bugs,
    }
    yield _counter("runs", "Finished runs, by outcome.", outcomes, label="outcome")
    help = "Runs that another worker, or an earlier process, had begun and not finished."
    yield _counter("runs_taken_over", help, counts.taken_over)
    yield _counter("drafts", "Drafts made by runs, by type.", counts.drafts, label="type")
    yield _counter("drafts_flagged", "Drafts outdated by a runtime upgrade.", counts.flagged)
    deliveries = {
        "delivered": counts.notifications_delivered,
        "failed": counts.notifications_failed,
        "given_up": counts.notifications_given_up,
    }
    help = "Attempts to deliver notifications, by outcome, and notifications that were given up."
    yield _counter("notifications", help, deliveries, label="outcome")


#: Seconds that a scrape waits for the store.
_PATIENCE = 8.0


async def _store_figures(app: Application) -> Iterable[Metric]:
    """Return what the store says of itself, and whether it answers."""
    help = "Whether the store answers."
    try:
        async with asyncio.timeout(_PATIENCE):
            said, waiting = await app.store.statistics(), await app.store.outbox().figures()
    except (ScenarioctlError, TimeoutError) as error:
        # One that is locked is there.
        return [_gauge("store_up", help, isinstance(error, StoreBusy))]
    late = 0.0 if said.next_due is None else max(0.0, (app.clock() - said.next_due) / SECOND)
    states = {state.value: number for state, number in said.jobs.items()}
    queues = {"queued": waiting.queued, "retrying": waiting.retrying}
    figures = [
        _gauge("store_up", help, 1),
        _gauge("scenarios", "Scenarios in the store.", said.scenarios),
        _gauge("jobs", "Jobs in the store, by state.", states, label="state"),
        _gauge("runs_waiting", "Runs that wait for a webhook or a delay.", said.waiting),
        _gauge(
            "jobs_due_seconds", "Seconds for which the longest waiting due job has waited.", late
        ),
        _gauge(
            "workers",
            "Workers that are alive, of all processes; on a SQLite store, 1 if there is any.",
            said.workers,
        ),
        _gauge(
            "notifications_waiting",
            "Notifications that are not delivered yet: queued, or retrying after a failure.",
            queues,
            label="state",
        ),
    ]
    if (server := said.connections) is not None:
        help = "Connections of all clients to the store's server."
        figures.append(_gauge("store_server_connections", help, server.open))
        help = "Connections that the store's server allows."
        figures.append(_gauge("store_server_connections_max", help, server.limit))
    return figures


def _usage_figures(usage: "Usage") -> list[Metric]:
    readings: list[Metric] = [
        HistogramMetricFamily(
            "scenarioctl_store_seconds",
            (
                "Seconds of the reads and writes of this process that the store answered, from "
                "when it was asked."
            ),
            usage.seconds.buckets(),
            usage.seconds.total,
        ),
        _counter(
            "store_errors",
            "Reads and writes of this process that failed because of the store.",
            usage.errors,
        ),
    ]
    if (pool := usage.pool) is not None:
        open = {"idle": pool.idle, "used": pool.used}
        help = "Connections of this process to the store's server, by state."
        readings += [
            _gauge("store_pool_connections", help, open, label="state"),
            _gauge(
                "store_pool_waiting",
                "Requests and runs of this process that wait for a connection.",
                pool.waiting,
            ),
            _counter(
                "store_pool_wait_seconds",
                "Seconds that requests and runs have waited for a connection.",
                pool.wait_seconds,
            ),
        ]
    if usage.listening is not None:
        help = "Whether this process hears of changes by LISTEN; only after its first event stream."
        readings.append(_gauge("store_listener_up", help, usage.listening))
    return readings
