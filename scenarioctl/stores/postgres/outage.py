"""Whether the server answers: its loss and its return are each told once in the log of a daemon.

Whoever meets an error meanwhile may log it all the same: `server/logs.py` leaves out what only repeats that the store is away.
"""

import logging
import time

from scenarioctl.errors import ScenarioctlError, StoreUnavailable

log = logging.getLogger("scenarioctl.store")

#: Seconds after the return for which connections of before are found lost, one after the other.
_AFTERMATH = 15.0


class Outage:
    """Tells when the server goes away and comes back, once it has answered."""

    def __init__(self, name: str, *, tells: bool) -> None:
        """*tells*: a daemon has a log; a command shows its error itself."""
        self._name = name
        self._tells = tells
        self._has_answered = False
        #: When it was first and last found away, in seconds of the monotonic clock; None while it answers.
        self._since: float | None = None
        self._last = 0.0
        #: When it was back.
        self._back = float("-inf")
        #: How often it was found away since.
        self._failed = 0

    def note(self, error: ScenarioctlError) -> None:
        """Note an error of the store."""
        if not isinstance(error, StoreUnavailable) or not self._has_answered:
            return
        self._last = time.monotonic()
        if self._since is None:
            if self._last - self._back < _AFTERMATH:
                return
            self._since = self._last
            self._failed = 0
            if self._tells:
                # As text, so that it isn't left out.
                log.error("%s", str(error))
        self._failed += 1

    def answered(self, asked: float) -> None:
        """Note that the server has answered what was *asked* then; an answer to an earlier question says nothing of now."""
        self._has_answered = True
        if self._since is None or asked <= self._last:
            return
        self._back = time.monotonic()
        seconds, self._since = self._back - self._since, None
        if self._tells:
            log.warning(
                "store %s is available again after %.1f s; %d attempts to reach it failed meanwhile",
                *(self._name, seconds, self._failed),
            )
