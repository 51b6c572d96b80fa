"""Exponential backoff between attempts to reach a chain."""

import random
import time
from collections.abc import Callable
from math import ceil

from scenarioctl.errors import ChainUnreachable
from scenarioctl.retries import delay_after

#: Shortest and longest delay between two attempts, in seconds.
_SHORTEST, _LONGEST = 0.5, 30.0


class Backoff:
    """Delays attempts to reach a chain after a failure, and lets one client at a time try."""

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, chance: Callable[[], float] = random.random
    ) -> None:
        """*clock* returns seconds; *chance* returns 0 to 1, for jitter."""
        self._clock = clock
        self._chance = chance
        self._failures = 0
        self._reason = ""
        self._next = 0.0
        self._trying = False

    def check(self) -> None:
        """Raise ChainUnreachable with the last reason if it is too early for another attempt."""
        if not self._failures:
            return
        wait = self._next - self._clock()
        if wait > 0:
            raise ChainUnreachable(f"{self._reason}, tried again in {ceil(wait)} s")
        if self._trying:
            raise ChainUnreachable(f"{self._reason}, being tried again now")

    @property
    def is_resting(self) -> bool:
        """Whether the last attempt failed."""
        return self._failures > 0

    def begin(self) -> None:
        """Start an attempt; raises like `check`."""
        self.check()
        self._trying = True

    def succeeded(self) -> None:
        self._failures, self._trying = 0, False

    def failed(self, reason: str) -> None:
        self._trying = False
        self._reason = reason
        if self._failures and self._clock() < self._next:
            # Several began before the first of them failed: that is one failure.
            return
        self._failures += 1
        wait = delay_after(self._failures, first=_SHORTEST, longest=_LONGEST)
        self._next = self._clock() + wait * (0.75 + self._chance() / 4)

    def gave_up(self) -> None:
        """End an attempt that neither succeeded nor failed, like a canceled one."""
        self._trying = False
