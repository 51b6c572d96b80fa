"""Prometheus metrics of the daemon. All label values come from fixed sets, so that no client can add one."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

from prometheus_client import CollectorRegistry, Metric, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import generate_latest

from scenarioctl.application import Application
from scenarioctl.histogram import Histogram

if TYPE_CHECKING:
    from scenarioctl.worker.counts import Counts

#: Upper bounds of histogram buckets, in seconds.
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120)
_OFFSET = "Seconds by which the clock of this machine is ahead of the store's, at least."
#: Endpoint label of requests that match no endpoint.
NOWHERE = "none"

#: The version that all scrapers understand.
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counts requests, and writes all metrics at a scrape.

    It has its own registry, so that tests can have several. Requests are counted in plain dictionaries, which `collect`
    turns into metrics.
    """

    def __init__(self, version: str) -> None:
        self.registry = CollectorRegistry()
        self._version = version
        #: Requests in progress, and open event streams.
        self.under_way = 0
        self.streams = 0
        #: Server, endpoint, status -> requests.
        self._counted: dict[tuple[str, str, int], int] = {}
        #: Server, endpoint -> seconds.
        self._timed: dict[tuple[str, str], Histogram] = {}
        #: Functions that return further metrics at each scrape, and what they returned last.
        self.sources: list[Callable[[], Awaitable[Iterable[Metric]]]] = []
        self._read: list[Metric] = []
        self.registry.register(self)
        # Memory, CPU time and open files, if the system provides them.
        ProcessCollector(registry=self.registry)

    def count(self, server: str, endpoint: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        key = (server, endpoint, status)
        self._counted[key] = self._counted.get(key, 0) + 1
        timed = self._timed.get(key[:2])
        if timed is None:
            timed = self._timed[key[:2]] = Histogram(_BUCKETS)
        timed.add(seconds)

    def collect(self) -> Iterable[Metric]:
        """Return the counts as metrics; the registry calls this."""
        requests = CounterMetricFamily(
            "scenarioctl_requests", "Requests answered.", labels=("server", "endpoint", "status")
        )
        for (server, endpoint, status), number in sorted(self._counted.items()):
            requests.add_metric((server, endpoint, str(status)), number)
        yield requests
        seconds = HistogramMetricFamily(
            "scenarioctl_request_seconds",
            "Seconds from the header of a request to its response.",
            labels=("server", "endpoint"),
        )
        for key in sorted(self._timed):
            seconds.add_metric(key, self._timed[key].buckets(), self._timed[key].total)
        yield seconds
        yield GaugeMetricFamily("scenarioctl_requests_under_way", "Requests in progress.", self.under_way)
        yield GaugeMetricFamily("scenarioctl_event_streams", "Open event streams.", self.streams)
        info = GaugeMetricFamily("scenarioctl_info", "The running version.", labels=("version",))
        info.add_metric((self._version,), 1)
        yield info
        yield from self._read

    async def write(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        self._read = [metric for source in self.sources for metric in await source()]
        return generate_latest(self.registry)


def by_label(
    family: type[CounterMetricFamily | GaugeMetricFamily],
    name: str,
    help: str,
    label: str,
    values: Mapping[str, float],
) -> Metric:
    """Return a metric with one label, and its values by that."""
    metric = family(name, help, labels=(label,))
    for each, value in sorted(values.items()):
        metric.add_metric((each,), value)
    return metric


class Working(Protocol):
    """The part of a worker that has metrics."""

    @property
    def running(self) -> int: ...

    @property
    def counts(self) -> "Counts": ...

    @property
    def clock_offset(self) -> float | None: ...


def figures_of(app: Application, worker: Working | None) -> Callable[[], Awaitable[Iterable[Metric]]]:
    """Return a source of metrics of the chains and the worker."""

    async def read() -> list[Metric]:
        help = "Whether the last attempt to reach a chain succeeded; only chains that were used."
        up = by_label(GaugeMetricFamily, "scenarioctl_chain_up", help, "chain", app.chains_up())
        return [up, *(_worker_figures(worker) if worker is not None else ())]

    return read


def _worker_figures(worker: Working) -> Iterable[Metric]:
    counts = worker.counts
    if worker.clock_offset is not None:
        yield GaugeMetricFamily("scenarioctl_worker_clock_offset_seconds", _OFFSET, worker.clock_offset)
    yield GaugeMetricFamily(
        "scenarioctl_runs_under_way", "Runs in progress, without those that wait.", worker.running
    )
    outcomes = {
        "executed": counts.executed,
        "failed": counts.failed,
        "lost": counts.lost,
        "left_out": counts.left_out,
        "bug": counts.bugs,
    }
    yield by_label(CounterMetricFamily, "scenarioctl_runs", "Finished runs, by outcome.", "outcome", outcomes)
    yield CounterMetricFamily(
        "scenarioctl_runs_taken_over",
        "Runs that another worker, or an earlier process, had begun and not finished.",
        counts.taken_over,
    )
    yield by_label(
        CounterMetricFamily, "scenarioctl_drafts", "Drafts made by runs, by type.", "type", counts.drafts
    )
    yield CounterMetricFamily(
        "scenarioctl_drafts_flagged", "Drafts outdated by a runtime upgrade.", counts.flagged
    )
    deliveries = {
        "delivered": counts.notifications_delivered,
        "failed": counts.notifications_failed,
        "given_up": counts.notifications_given_up,
    }
    help = "Attempts to deliver notifications, by outcome, and notifications that were given up."
    yield by_label(CounterMetricFamily, "scenarioctl_notifications", help, "outcome", deliveries)
    yield CounterMetricFamily(
        "scenarioctl_worker_store_errors", "Store errors in the worker.", counts.store_errors
    )
