"""Prometheus metrics of the daemon and of its store. All label values come from fixed sets, so that
no client can add one."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
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
        #: Functions that return further metrics at each scrape, and what they returned last.
        self.sources: list[Callable[[], Awaitable[Iterable[Metric]]]] = []
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
        """Return what the sources said last; the registry calls this."""
        return self._read

    async def write(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        self._read = [metric for source in self.sources for metric in await source()]
        return generate_latest(self.registry)


def gauge(name: str, help: str, value: float | Mapping[str, float], *, label: str = "") -> Metric:
    """Return a gauge, with the values of one *label* if there are several."""
    return _family(GaugeMetricFamily, name, help, value, label)


def counter(name: str, help: str, value: float | Mapping[str, float], *, label: str = "") -> Metric:
    """Return a counter, as `gauge`."""
    return _family(CounterMetricFamily, name, help, value, label)


def _family(
    family: type[CounterMetricFamily | GaugeMetricFamily],
    name: str,
    help: str,
    value: float | Mapping[str, float],
    label: str,
) -> Metric:
    if not isinstance(value, Mapping):
        return family(f"scenarioctl_{name}", help, value)
    metric = family(f"scenarioctl_{name}", help, labels=(label,))
    for each, number in sorted(value.items()):
        metric.add_metric((each,), number)
    return metric


class Working(Protocol):
    """The part of a worker that has metrics."""

    @property
    def running(self) -> int: ...

    @property
    def counts(self) -> "Counts": ...


def figures_of(
    app: Application, worker: Working | None
) -> Callable[[], Awaitable[Iterable[Metric]]]:
    """Return a source of metrics of the chains and the worker."""

    async def read() -> list[Metric]:
        help = "Whether the last attempt to reach a chain succeeded; only chains that were used."
        up = gauge("chain_up", help, app.chains_up(), label="chain")
        return [up, *(_worker_figures(worker) if worker is not None else ())]

    return read


def _worker_figures(worker: Working) -> Iterable[Metric]:
    counts = worker.counts
    yield gauge("runs_under_way", "Runs in progress, without those that wait.", worker.running)
    outcomes = {
        "executed": counts.executed,
        "failed": counts.failed,
        "lost": counts.lost,
        "left_out": counts.left_out,
        "bug": counts.bugs,
    }
    yield counter("runs", "Finished runs, by outcome.", outcomes, label="outcome")
    help = "Runs that another worker, or an earlier process, had begun and not finished."
    yield counter("runs_taken_over", help, counts.taken_over)
    yield counter("drafts", "Drafts made by runs, by type.", counts.drafts, label="type")
    yield counter("drafts_flagged", "Drafts outdated by a runtime upgrade.", counts.flagged)
    deliveries = {
        "delivered": counts.notifications_delivered,
        "failed": counts.notifications_failed,
        "given_up": counts.notifications_given_up,
    }
    help = "Attempts to deliver notifications, by outcome, and notifications that were given up."
    yield counter("notifications", help, deliveries, label="outcome")


#: Seconds that a scrape waits for the store: for newer figures, and for the first ones.
_PATIENCE, _AT_FIRST = 2.0, 8.0


class StoreMetrics:
    """What a scrape gets: the newest figures of the store that are known, and how old they are."""

    def __init__(self, app: Application) -> None:
        self._app = app
        #: The newest figures, and when they were read, in seconds of the monotonic clock.
        self._known: list[Metric] = []
        self._read_at = 0.0
        #: The task that reads newer ones.
        self._reading: asyncio.Task[None] | None = None
        self._began = 0.0
        self._is_up = True

    async def read(self) -> list[Metric]:
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._refresh(), name="figures of the store")
            self._began = time.monotonic()
        await asyncio.wait({self._reading}, timeout=_PATIENCE if self._known else _AT_FIRST)
        if self._reading.done():
            # A bug is shown.
            self._reading.result()
        is_silent = not self._reading.done() and time.monotonic() - self._began > _AT_FIRST
        is_up = self._is_up and not is_silent
        readings = [gauge("store_up", "Whether the store answers.", is_up)]
        if self._known:
            age = round(time.monotonic() - self._read_at, 3)
            help = "Seconds since the figures of the store were read: it may be too slow, or away."
            readings += [*self._known, gauge("store_figures_age_seconds", help, age)]
        return readings + _usage_figures(self._app.store.usage())

    def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()

    async def _refresh(self) -> None:
        try:
            known = [*await _store_figures(self._app), await _outbox_figures(self._app)]
        except ScenarioctlError as error:
            # One that is locked, or too slow for a statement, is there.
            self._is_up = isinstance(error, StoreBusy)
            return
        self._known, self._read_at, self._is_up = known, time.monotonic(), True


async def _store_figures(app: Application) -> list[Metric]:
    from scenarioctl.model.jobs import SECOND

    said = await app.store.statistics()
    states = {state.value: number for state, number in said.jobs.items()}
    late = 0.0 if said.next_due is None else max(0.0, (app.clock() - said.next_due) / SECOND)
    readings = [
        gauge("scenarios", "Scenarios in the store.", said.scenarios),
        gauge("jobs", "Jobs in the store, by state.", states, label="state"),
        gauge("runs_waiting", "Runs that wait for a webhook or a delay.", said.waiting),
        gauge(
            "jobs_due_seconds", "Seconds for which the longest waiting due job has waited.", late
        ),
        gauge(
            "workers",
            "Workers that are alive, of all processes; on a SQLite store, 1 if there is any.",
            said.workers,
        ),
    ]
    if said.connections is not None:
        help = "Connections of all clients to the store's server."
        readings += [
            gauge("store_server_connections", help, said.connections.open),
            gauge(
                "store_server_connections_max",
                "Connections that the store's server allows.",
                said.connections.limit,
            ),
        ]
    return readings


async def _outbox_figures(app: Application) -> Metric:
    waiting = await app.store.outbox().figures()
    help = (
        "Notifications that are not delivered yet: queued, or retrying after an attempt that "
        "failed."
    )
    states = {"queued": waiting.queued, "retrying": waiting.retrying}
    return gauge("notifications_waiting", help, states, label="state")


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
        counter(
            "store_errors",
            "Reads and writes of this process that failed because of the store.",
            usage.errors,
        ),
    ]
    if (pool := usage.pool) is not None:
        open = {"idle": pool.idle, "used": pool.used}
        help = "Connections of this process to the store's server, by state."
        readings += [
            gauge("store_pool_connections", help, open, label="state"),
            gauge(
                "store_pool_waiting",
                "Requests and runs of this process that wait for a connection.",
                pool.waiting,
            ),
            counter(
                "store_pool_wait_seconds",
                "Seconds that requests and runs have waited for a connection.",
                pool.wait_seconds,
            ),
        ]
    if usage.listening is not None:
        help = "Whether this process hears of changes by LISTEN; only after its first event stream."
        readings.append(gauge("store_listener_up", help, usage.listening))
    return readings
