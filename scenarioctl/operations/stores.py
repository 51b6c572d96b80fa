"""The store itself, and the workers that serve it: what an operator should know of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, TypedDict

from scenarioctl.application import Application
from scenarioctl.config import without_password
from scenarioctl.model.jobs import CLOCK_SKEW, SECOND
from scenarioctl.model.json_types import SHOWN, Column, ScenarioId, Timestamp, timestamp
from scenarioctl.operations.results import Result

__all__ = ["check_store"]

#: Jobs in progress that a row names.
_NAMED = 20


class WorkerRow(TypedDict):
    #: The name of its machine.
    host: Annotated[str, SHOWN]
    #: The number of its process there; null if it is unknown.
    process: Annotated[int | None, SHOWN]
    #: Empty if it is too old to tell.
    version: Annotated[str, SHOWN]
    #: Seconds by which its clock is ahead of the store's, at least; null if it is unknown.
    clock_offset: Annotated[float | None, SHOWN]
    #: When it last renewed its lease.
    last_seen: Annotated[Timestamp, SHOWN]
    #: Its lease has run out: it was killed, hangs, or can't reach the store.
    silent: Annotated[bool, SHOWN]
    #: Runs in progress, without those that wait.
    running: Annotated[int, Column("runs")]
    #: The jobs of up to 20 of them.
    jobs: Annotated[list[ScenarioId], SHOWN]


async def describe_workers(app: Application) -> list[WorkerRow]:
    """Return the workers of all processes; one that was silent for an hour is left out."""
    return [
        {
            "host": each.host,
            "process": each.process,
            "version": each.version,
            "clock_offset": None
            if each.clock_offset is None
            else round(each.clock_offset / SECOND, 3),
            # To the second: the clocks of a server, of which it is made, are read one after the
            # other.
            "last_seen": timestamp(each.seen // SECOND * SECOND),
            "silent": each.is_silent,
            "running": each.running,
            "jobs": list(each.jobs[:_NAMED]),
        }
        for each in await app.store.list_workers()
    ]


def find_clocks(workers: Sequence[WorkerRow]) -> list[str]:
    """Return a finding for each worker whose clock differs from the store's."""
    return [
        f"The clock of the worker on {each['host']} (process {each['process']}) is "
        f"{abs(offset):.1f} s"
        f" {'ahead of' if offset > 0 else 'behind'} the store's. Synchronize it with NTP"
        for each in workers
        if not each["silent"] and abs(offset := each["clock_offset"] or 0.0) >= CLOCK_SKEW
    ]


@dataclass(frozen=True, kw_only=True)
class CheckStore:
    """Check the store: its version, its server, its workers, and what an operator should do about
    them."""


class StoreCheck(TypedDict):
    #: The path or the URL, without a password.
    store: Annotated[str, SHOWN]
    #: Like `PostgreSQL 15.14` or `SQLite 3.46.1`.
    engine: Annotated[str, SHOWN]
    #: The version of the tables.
    version: Annotated[int, Column("version of the tables")]
    #: Seconds by which the server's clock is ahead of this machine's; null without a server.
    clock_skew: Annotated[float | None, SHOWN]
    #: Runs whose worker has gone.
    stalled_runs: Annotated[int, SHOWN]
    workers: Annotated[list[WorkerRow], SHOWN]
    #: What is wrong, and what to do about it, in a sentence each.
    findings: Annotated[list[str], SHOWN]


async def check_store(app: Application, request: CheckStore) -> Result[StoreCheck]:  # noqa: ARG001
    found = await app.existing_store.inspect(app.clock)
    workers = await describe_workers(app)
    return Result(
        answer={
            "store": without_password(app.settings.store),
            "engine": found.engine,
            "version": found.version,
            "clock_skew": found.clock_skew,
            "stalled_runs": found.stalled_runs,
            "workers": workers,
            "findings": [*found.findings, *find_clocks(workers)],
        }
    )
