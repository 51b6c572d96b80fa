"""Whether the server answers: its loss and its return are each told once in the log of a daemon.

Whoever meets an error meanwhile may log it all the same: `server/logs.py` leaves out what only repeats that the store is away.
"""

import logging
import time

from scenarioctl.errors import ScenarioctlError, StoreUnavailable

log = logging.getLogger("scenarioctl.store")

#: Seconds after which lost connections are an outage, if none has failed to open.
_PATIENCE = 1.0
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
        #: How often it was found away since, and whether the log has that.
        self._failed = 0
        self._told = False
        #: When it was back.
        self._back = float("-inf")

    def note(self, error: ScenarioctlError, *, on_connecting: bool = False) -> None:
        """Note an error of the store.

        *on_connecting*: it says why none answers. That a connection was lost doesn't, and may be all that happens.
        """
        if not isinstance(error, StoreUnavailable) or not self._has_answered:
            return
        now = self._last = time.monotonic()
        if self._since is None:
            if now - self._back < _AFTERMATH:
                return
            self._since, self._failed, self._told = now, 0, False
        self._failed += 1
        if self._tells and not self._told and (on_connecting or now - self._since > _PATIENCE):
            self._told = True
            # As text, so that it isn't left out.
            log.error("%s", str(error))

    def answered(self, asked: float) -> None:
        """Note that the server has answered what was *asked* then; an answer to an earlier question says nothing of now."""
        self._has_answered = True
        if self._since is None or asked <= self._last:
            return
        self._back = time.monotonic()
        seconds, self._since = self._back - self._since, None
        if self._tells:
            sentence = "is available again after" if self._told else "was not available for"
            attempts = "1 attempt" if self._failed == 1 else f"{self._failed} attempts"
            log.warning("store %s %s %.1f s; %s to reach it failed", self._name, sentence, seconds, attempts)
