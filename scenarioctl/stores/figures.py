"""What `/metrics` says of a store: what a process counts itself, and what it asks the store for."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from scenarioctl.errors import ScenarioctlError, StoreBusy, StoreFailed, StoreUnavailable
from scenarioctl.model.jobs import JobState


class Histogram:
    """Durations in seconds."""

    def __init__(self, bounds: Sequence[float]) -> None:
        """*bounds* are the upper ones of the buckets, ascending."""
        self.total = 0.0
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)

    def add(self, seconds: float) -> None:
        self.total += seconds
        self._counts[bisect_left(self._bounds, seconds)] += 1

    def buckets(self) -> list[tuple[str, int]]:
        """Return the upper bound of each bucket, and how many durations are not above it."""
        return list(zip([*map(str, self._bounds), "+Inf"], accumulate(self._counts), strict=True))


#: Upper bounds of buckets, in seconds: memory, a disk, a network, a store that is slow.
SECONDS = (0.001, 0.005, 0.025, 0.1, 0.25, 1, 5)


@dataclass(frozen=True, kw_only=True)
class ServerConnections:
    """The connections of all clients to a server."""

    open: int
    #: The most that the server allows.
    limit: int


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """Figures of a store, the same for every process."""

    scenarios: int
    #: How many jobs are in each state.
    jobs: Mapping[JobState, int]
    #: How many runs wait for a webhook or a delay.
    waiting: int
    #: When the next leg is due that nobody has begun; None if none is.
    next_due: int | None
    #: Workers that are alive; on a store that can't count them, 1 if there is any.
    workers: int
    #: None if the store is a file.
    connections: ServerConnections | None = None


@dataclass(frozen=True, kw_only=True)
class PoolUsage:
    """The connections that this process shares between requests and runs."""

    used: int
    idle: int
    #: Requests and runs that wait for a connection now.
    waiting: int
    #: Seconds that all of them together have waited.
    wait_seconds: float


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What this process has done with a store since it opened it."""

    #: Of the reads and writes that the store answered: without the wait for a connection of the
    #: pool.
    seconds: Histogram
    #: Reads and writes that failed because of the store: it was away, busy, full, or damaged.
    errors: int
    #: None if the store is a file.
    pool: PoolUsage | None = None
    #: Whether it hears of other processes' writes at once; None if it doesn't try to.
    listening: bool | None = None


class Failures:
    """Reads and writes of this process that failed because of the store."""

    def __init__(self, name: str) -> None:
        """*name* is what sentences call the store: its address, without a password."""
        self.count = 0
        self._named = f"store {name}"

    def note(self, error: ScenarioctlError) -> None:
        """Count *error*, unless it is that of the request; logs of jobs, which quote its statement,
        don't tell the address."""
        if isinstance(error, (StoreBusy, StoreFailed, StoreUnavailable)):
            self.count += 1
            error.statement = str(error).replace(self._named, "the store")
