"""Prometheus metrics of the daemon. All label values come from fixed sets, so that no client can add one."""

import asyncio
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol

from prometheus_client import CollectorRegistry, Metric, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import generate_latest

from scenarioctl.application import Application
from scenarioctl.errors import ScenarioctlError

if TYPE_CHECKING:
    from scenarioctl.stores.figures import Usage
    from scenarioctl.worker.counts import Counts

#: Seconds that the store may take to answer.
_STORE = 2.0
#: Upper bounds of histogram buckets, in seconds.
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120)
_BOUNDS = (*map(str, _BUCKETS), "+Inf")
#: Endpoint label of requests that match no endpoint.
NOWHERE = "none"

#: The version that all scrapers understand.
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A metric that is read at each scrape."""

    name: str
    help: str
    #: Label values -> value; the key is () without labels.
    values: Mapping[tuple[str, ...], float]
    labels: tuple[str, ...] = ()
    #: `counter` if it only grows, else `gauge`.
    kind: str = "gauge"


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
        #: Server, endpoint -> total seconds, then requests by bucket.
        self._timed: dict[tuple[str, str], list[float]] = {}
        #: Functions that return further readings at each scrape.
        self.sources: list[Callable[[], Awaitable[Iterable[Reading]]]] = []
        self.registry.register(self)
        # Memory, CPU time and open files, if the system provides them.
        ProcessCollector(registry=self.registry)

    def count(self, server: str, endpoint: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        key = (server, endpoint, status)
        self._counted[key] = self._counted.get(key, 0) + 1
        timed = self._timed.get(key[:2])
        if timed is None:
            timed = self._timed[key[:2]] = [0.0] * (len(_BUCKETS) + 2)
        timed[0] += seconds
        timed[bisect_left(_BUCKETS, seconds) + 1] += 1

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
        for key, (total, *buckets) in sorted(self._timed.items()):
            seconds.add_metric(key, list(zip(_BOUNDS, accumulate(buckets), strict=True)), total)
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
                name = reading.name + ("_total" if reading.kind == "counter" else "")
                lines += [f"# HELP {name} {reading.help}", f"# TYPE {name} {reading.kind}"]
                lines += [
                    f"{name}{_labels(reading.labels, values)} {_number(value)}"
                    for values, value in sorted(reading.values.items())
                ]
        return generate_latest(self.registry) + "".join(line + "\n" for line in lines).encode()


class Working(Protocol):
    """The part of a worker that has metrics."""

    @property
    def running(self) -> int: ...

    @property
    def counts(self) -> "Counts": ...


def figures_of(app: Application, worker: Working | None) -> Callable[[], Awaitable[Iterable[Reading]]]:
    """Return a source of metrics of the store, the chains and the worker."""

    async def read() -> list[Reading]:
        readings = [
            Reading(
                name="scenarioctl_chain_up",
                help="Whether the last attempt to reach a chain succeeded; only chains that were used.",
                labels=("chain",),
                values={(name,): float(up) for name, up in app.chains_up().items()},
            )
        ]
        try:
            async with asyncio.timeout(_STORE):
                readings += await _store_figures(app)
                readings.append(await _outbox_figures(app))
        except (TimeoutError, ScenarioctlError):
            readings.append(_plain("scenarioctl_store_up", "Whether the store answers.", 0))
        readings += _usage_figures(app.store.usage())
        if worker is not None:
            readings += _worker_figures(worker)
        return readings

    return read


async def _store_figures(app: Application) -> list[Reading]:
    from scenarioctl.model.jobs import SECOND

    said = await app.store.statistics()
    states: dict[tuple[str, ...], float] = {
        (state.value,): float(number) for state, number in said.jobs.items()
    }
    late = 0.0 if said.next_due is None else max(0.0, (app.clock() - said.next_due) / SECOND)
    readings = [
        _plain("scenarioctl_store_up", "Whether the store answers.", 1),
        _plain("scenarioctl_scenarios", "Scenarios in the store.", said.scenarios),
        Reading(
            name="scenarioctl_jobs", help="Jobs in the store, by state.", labels=("state",), values=states
        ),
        _plain("scenarioctl_runs_waiting", "Runs that wait for a webhook or a delay.", said.waiting),
        _plain(
            "scenarioctl_jobs_due_seconds", "Seconds for which the longest waiting due job has waited.", late
        ),
        _plain(
            "scenarioctl_workers",
            "Workers that are alive, of all processes; on a SQLite store, 1 if there is any.",
            said.workers,
        ),
    ]
    if said.connections is not None:
        readings += [
            _plain(
                "scenarioctl_store_server_connections",
                "Connections of all clients to the store's server.",
                said.connections.open,
            ),
            _plain(
                "scenarioctl_store_server_connections_max",
                "Connections that the store's server allows.",
                said.connections.limit,
            ),
        ]
    return readings


async def _outbox_figures(app: Application) -> Reading:
    waiting = await app.store.outbox().figures()
    return Reading(
        name="scenarioctl_notifications_waiting",
        help="Notifications that are not delivered yet: queued, or retrying after an attempt that failed.",
        labels=("state",),
        values={("queued",): float(waiting.queued), ("retrying",): float(waiting.retrying)},
    )


def _usage_figures(usage: "Usage") -> list[Reading]:
    readings = [
        _plain(
            "scenarioctl_store_writes", "Writes of this process to the store.", usage.writes, kind="counter"
        ),
        _plain(
            "scenarioctl_store_errors",
            "Reads and writes of this process that failed because of the store.",
            usage.errors,
            kind="counter",
        ),
    ]
    if (pool := usage.pool) is not None:
        readings += [
            Reading(
                name="scenarioctl_store_pool_connections",
                help="Connections of this process to the store's server, by state.",
                labels=("state",),
                values={("idle",): float(pool.idle), ("used",): float(pool.used)},
            ),
            _plain(
                "scenarioctl_store_pool_connections_max",
                "Connections that this process may open: the setting store_pool.",
                pool.limit,
            ),
            _plain(
                "scenarioctl_store_pool_waiting",
                "Requests and runs of this process that wait for a connection.",
                pool.waiting,
            ),
            _plain(
                "scenarioctl_store_pool_wait_seconds",
                "Seconds that requests and runs have waited for a connection.",
                pool.wait_seconds,
                kind="counter",
            ),
        ]
    if usage.listening is not None:
        readings.append(
            _plain(
                "scenarioctl_store_listener_up",
                "Whether this process hears of changes by LISTEN; only after its first event stream.",
                usage.listening,
            )
        )
    return readings


def _worker_figures(worker: Working) -> list[Reading]:
    counts = worker.counts
    outcomes = {
        "executed": counts.executed,
        "failed": counts.failed,
        "lost": counts.lost,
        "left_out": counts.left_out,
        "bug": counts.bugs,
    }
    return [
        _plain("scenarioctl_runs_under_way", "Runs in progress, without those that wait.", worker.running),
        Reading(
            name="scenarioctl_runs",
            help="Finished runs, by outcome.",
            kind="counter",
            labels=("outcome",),
            values={(name,): float(number) for name, number in outcomes.items()},
        ),
        _plain(
            "scenarioctl_runs_taken_over",
            "Runs that another worker, or an earlier process, had begun and not finished.",
            counts.taken_over,
            kind="counter",
        ),
        Reading(
            name="scenarioctl_drafts",
            help="Drafts made by runs, by type.",
            kind="counter",
            labels=("type",),
            values={(name,): float(number) for name, number in counts.drafts.items()},
        ),
        _plain(
            "scenarioctl_drafts_flagged",
            "Drafts outdated by a runtime upgrade.",
            counts.flagged,
            kind="counter",
        ),
        Reading(
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
        _plain(
            "scenarioctl_worker_store_errors",
            "Store errors in the worker.",
            counts.store_errors,
            kind="counter",
        ),
    ]


def _plain(name: str, help: str, value: float, *, kind: str = "gauge") -> Reading:
    return Reading(name=name, help=help, values={(): float(value)}, kind=kind)


def _labels(names: tuple[str, ...], values: tuple[str, ...]) -> str:
    if not names:
        return ""
    quoted = (
        f'{name}="{value.replace(chr(92), chr(92) * 2).replace(chr(34), chr(92) + chr(34)).replace(chr(10), chr(92) + "n")}"'
        for name, value in zip(names, values, strict=True)
    )
    return "{" + ",".join(quoted) + "}"


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
