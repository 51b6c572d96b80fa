"""Metrics of the store: what it tells of itself, and what this process counts."""

import asyncio
import time
from typing import TYPE_CHECKING

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

from scenarioctl.application import Application
from scenarioctl.errors import ScenarioctlError, StoreBusy
from scenarioctl.server.metrics import by_label

if TYPE_CHECKING:
    from scenarioctl.stores.figures import Usage

#: Seconds that a scrape waits for the store: for newer figures, and for the first ones.
_PATIENCE, _AT_FIRST = 2.0, 8.0
#: Seconds after which a store that has answered nothing is away.
_SILENCE = 10.0


class StoreMetrics:
    """What a scrape gets: the newest figures of the store that are known, and how old they are."""

    def __init__(self, app: Application) -> None:
        self._app = app
        #: The newest figures, and when they were read, in seconds of the monotonic clock.
        self._known: list[Metric] = []
        self._read_at = 0.0
        #: The task that reads newer ones, and since when.
        self._reading: asyncio.Task[None] | None = None
        self._begun = 0.0
        self._is_up = True
        #: How many questions the store had answered at the last scrape, and when that number last grew.
        self._answers = 0
        self._answered_at = 0.0

    async def read(self) -> list[Metric]:
        if self._reading is None or self._reading.done():
            self._begun = time.monotonic()
            self._reading = asyncio.create_task(self._refresh(), name="figures of the store")
        await asyncio.wait({self._reading}, timeout=_PATIENCE if self._known else _AT_FIRST)
        if self._reading.done():
            # A bug is shown.
            self._reading.result()
        usage = self._app.store.usage()
        readings: list[Metric] = [
            GaugeMetricFamily("scenarioctl_store_up", "Whether the store answers.", self._answers_now(usage))
        ]
        if self._known:
            age = time.monotonic() - self._read_at
            help = "Seconds since the figures of the store were read: it may be too slow, or away."
            readings += [
                *self._known,
                GaugeMetricFamily("scenarioctl_store_figures_age_seconds", help, round(age, 3)),
            ]
        return readings + _usage_figures(usage)

    def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()

    def _answers_now(self, usage: "Usage") -> bool:
        """Return whether the store is there: a slow one is, and so is one that answers others meanwhile."""
        now = time.monotonic()
        if usage.seconds.count > self._answers:
            self._answers, self._answered_at = usage.seconds.count, now
        if self._reading is not None and not self._reading.done():
            return now - max(self._begun, self._answered_at) < _SILENCE
        return self._is_up

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
    readings: list[Metric] = [
        GaugeMetricFamily("scenarioctl_scenarios", "Scenarios in the store.", said.scenarios),
        by_label(GaugeMetricFamily, "scenarioctl_jobs", "Jobs in the store, by state.", "state", states),
        GaugeMetricFamily(
            "scenarioctl_runs_waiting", "Runs that wait for a webhook or a delay.", said.waiting
        ),
        GaugeMetricFamily(
            "scenarioctl_jobs_due_seconds", "Seconds for which the longest waiting due job has waited.", late
        ),
        GaugeMetricFamily(
            "scenarioctl_workers",
            "Workers that are alive, of all processes; on a SQLite store, 1 if there is any.",
            said.workers,
        ),
    ]
    if said.connections is not None:
        readings += [
            GaugeMetricFamily(
                "scenarioctl_store_server_connections",
                "Connections of all clients to the store's server.",
                said.connections.open,
            ),
            GaugeMetricFamily(
                "scenarioctl_store_server_connections_max",
                "Connections that the store's server allows.",
                said.connections.limit,
            ),
        ]
    return readings


async def _outbox_figures(app: Application) -> Metric:
    waiting = await app.store.outbox().figures()
    help = "Notifications that are not delivered yet: queued, or retrying after an attempt that failed."
    states = {"queued": waiting.queued, "retrying": waiting.retrying}
    return by_label(GaugeMetricFamily, "scenarioctl_notifications_waiting", help, "state", states)


def _usage_figures(usage: "Usage") -> list[Metric]:
    readings: list[Metric] = [
        HistogramMetricFamily(
            "scenarioctl_store_seconds",
            "Seconds of the reads and writes of this process that the store answered, from when it was asked.",
            usage.seconds.buckets(),
            usage.seconds.total,
        ),
        CounterMetricFamily("scenarioctl_store_writes", "Writes of this process to the store.", usage.writes),
        CounterMetricFamily(
            "scenarioctl_store_errors",
            "Reads and writes of this process that failed because of the store.",
            usage.errors,
        ),
    ]
    if (pool := usage.pool) is not None:
        readings += [
            by_label(
                GaugeMetricFamily,
                "scenarioctl_store_pool_connections",
                "Connections of this process to the store's server, by state.",
                "state",
                {"idle": pool.idle, "used": pool.used},
            ),
            GaugeMetricFamily(
                "scenarioctl_store_pool_connections_max",
                "Connections that this process may open: the setting store_pool.",
                pool.limit,
            ),
            GaugeMetricFamily(
                "scenarioctl_store_pool_waiting",
                "Requests and runs of this process that wait for a connection.",
                pool.waiting,
            ),
            CounterMetricFamily(
                "scenarioctl_store_pool_wait_seconds",
                "Seconds that requests and runs have waited for a connection.",
                pool.wait_seconds,
            ),
        ]
    if usage.listening is not None:
        readings.append(
            GaugeMetricFamily(
                "scenarioctl_store_listener_up",
                "Whether this process hears of changes by LISTEN; only after its first event stream.",
                usage.listening,
            )
        )
    return readings
