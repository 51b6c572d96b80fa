"""Figures of a running daemon, as Prometheus reads them.  Labels are of known sets: no client can add one."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

#: Seconds.
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120)
#: What no endpoint answered.
NOWHERE = "none"

CONTENT_TYPE = CONTENT_TYPE_LATEST


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A figure that is read when it is asked for."""

    name: str
    help: str
    #: Label values -> figure; () where there is no label.
    values: Mapping[tuple[str, ...], float]
    labels: tuple[str, ...] = ()
    #: `counter` where it only grows.
    kind: str = "gauge"


class Metrics:
    """The daemon's own registry, so that a test can have several."""

    def __init__(self, version: str) -> None:
        # When a counter was made is of no use to anybody, and would double their number.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "scenarioctl_requests",
            "Requests answered.",
            ("server", "endpoint", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "scenarioctl_request_seconds",
            "Seconds from the head of a request to its answer.",
            ("server", "endpoint"),
            registry=self.registry,
            buckets=_BUCKETS,
        )
        #: Requests that are worked on, and event streams that are open.
        self.under_way = 0
        self.streams = 0
        Gauge(
            "scenarioctl_requests_under_way", "Requests that are worked on.", registry=self.registry
        ).set_function(lambda: self.under_way)
        Gauge(
            "scenarioctl_event_streams", "Event streams that are open.", registry=self.registry
        ).set_function(lambda: self.streams)
        Gauge("scenarioctl_info", "The version that runs.", ("version",), registry=self.registry).labels(
            version
        ).set(1)
        self._counted: dict[tuple[str, str, int], Any] = {}
        self._timed: dict[tuple[str, str], Any] = {}
        #: Asked at each scrape; whoever knows a figure appends how to read it.
        self.sources: list[Callable[[], Awaitable[Iterable[Reading]]]] = []

    def count(self, server: str, endpoint: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        counter = self._counted.get((server, endpoint, status))
        if counter is None:
            counter = self._requests.labels(server, endpoint, str(status))
            self._counted[server, endpoint, status] = counter
        counter.inc()
        timer = self._timed.get((server, endpoint))
        if timer is None:
            timer = self._timed[server, endpoint] = self._seconds.labels(server, endpoint)
        timer.observe(seconds)

    async def write(self) -> bytes:
        """Return all figures in Prometheus' text format."""
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
