"""Prometheus metrics of the daemon. All label values come from fixed sets, so that no client can add one."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Protocol

from prometheus_client import CollectorRegistry, Metric, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import generate_latest

from scenarioctl.application import Application
from scenarioctl.histogram import Histogram
from scenarioctl.server.readings import MetricReading, plain

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
        #: Functions that return further readings at each scrape.
        self.sources: list[Callable[[], Awaitable[Iterable[MetricReading]]]] = []
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

    async def write(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        lines: list[str] = []
        for source in self.sources:
            for reading in await source():
                lines += reading.lines()
        return generate_latest(self.registry) + "".join(line + "\n" for line in lines).encode()


class Working(Protocol):
    """The part of a worker that has metrics."""

    @property
    def running(self) -> int: ...

    @property
    def counts(self) -> "Counts": ...

    @property
    def clock_offset(self) -> float | None: ...


def figures_of(app: Application, worker: Working | None) -> Callable[[], Awaitable[Iterable[MetricReading]]]:
    """Return a source of metrics of the chains and the worker."""

    async def read() -> list[MetricReading]:
        readings = [
            MetricReading(
                name="scenarioctl_chain_up",
                help="Whether the last attempt to reach a chain succeeded; only chains that were used.",
                labels=("chain",),
                values={(name,): float(up) for name, up in app.chains_up().items()},
            )
        ]
        if worker is not None:
            readings += _worker_figures(worker)
        return readings

    return read


def _worker_figures(worker: Working) -> list[MetricReading]:
    counts = worker.counts
    outcomes = {
        "executed": counts.executed,
        "failed": counts.failed,
        "lost": counts.lost,
        "left_out": counts.left_out,
        "bug": counts.bugs,
    }
    offset = worker.clock_offset
    known = [] if offset is None else [plain("scenarioctl_worker_clock_offset_seconds", _OFFSET, offset)]
    return [
        *known,
        plain("scenarioctl_runs_under_way", "Runs in progress, without those that wait.", worker.running),
        MetricReading(
            name="scenarioctl_runs",
            help="Finished runs, by outcome.",
            kind="counter",
            labels=("outcome",),
            values={(name,): float(number) for name, number in outcomes.items()},
        ),
        plain(
            "scenarioctl_runs_taken_over",
            "Runs that another worker, or an earlier process, had begun and not finished.",
            counts.taken_over,
            kind="counter",
        ),
        MetricReading(
            name="scenarioctl_drafts",
            help="Drafts made by runs, by type.",
            kind="counter",
            labels=("type",),
            values={(name,): float(number) for name, number in counts.drafts.items()},
        ),
        plain(
            "scenarioctl_drafts_flagged",
            "Drafts outdated by a runtime upgrade.",
            counts.flagged,
            kind="counter",
        ),
        MetricReading(
            name="scenarioctl_notifications",
            help="Attempts to deliver notifications, by outcome, and notifications that were given up.",
            kind="counter",
            labels=("outcome",),
            values={
                ("delivered",): float(counts.notifications_delivered),
                ("failed",): float(counts.notifications_failed),
                ("given_up",): float(counts.notifications_given_up),
            },
        ),
        plain(
            "scenarioctl_worker_store_errors",
            "Store errors in the worker.",
            counts.store_errors,
            kind="counter",
        ),
    ]
