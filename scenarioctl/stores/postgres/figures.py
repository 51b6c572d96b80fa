"""What `/metrics` asks of the server."""

import time
from collections.abc import Mapping

from scenarioctl.model.jobs import JobState
from scenarioctl.stores import jobs
from scenarioctl.stores.figures import ServerConnections
from scenarioctl.stores.operations import Asking
from scenarioctl.stores.postgres.connections import Connection

#: The share of the time that a process spends on counting jobs, at most.
_SHARE = 0.001
#: Seconds that a count may take at any time.
_SHORT = 0.02


class JobCounts:
    """How many jobs are in each state.

    Counting reads an entry of the index for each job, and many daemons ask.  The longer it takes, the longer its answer is used.
    """

    def __init__(self) -> None:
        self._counts: Mapping[JobState, int] = {}
        #: When to count again, in seconds of the monotonic clock.
        self._not_before = float("-inf")

    async def read(self, store: Asking) -> Mapping[JobState, int]:
        begun = time.monotonic()
        if begun >= self._not_before:
            self._counts = await store.read(jobs.count_by_state)
            took = time.monotonic() - begun
            self._not_before = begun + (took / _SHARE if took > _SHORT else 0)
        return self._counts


async def count_connections(connection: Connection) -> ServerConnections:
    # Every role may read these, unlike the rows of others in pg_stat_activity.
    found = await connection.execute(
        "SELECT sum(numbackends)::integer, current_setting('max_connections')::integer FROM pg_stat_database"
    )
    row = await found.fetchone()
    return ServerConnections(open=row[0], limit=row[1]) if row else ServerConnections(open=0, limit=0)
