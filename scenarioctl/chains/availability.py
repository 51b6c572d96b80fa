"""How a chain answers: whether its best block is as new as it should be, and how it answered in the
last 24 hours."""

import time
from collections.abc import Callable
from typing import Literal, TypeAlias

from scenarioctl.errors import InvalidRequest
from scenarioctl.runtime.storage_keys import read_timestamp
from scenarioctl.runtime.table import RuntimeTable

Answered: TypeAlias = Literal["answered", "slow", "away"]

#: Seconds of a part of the history, and parts that are kept: 24 hours.
PART, PARTS = 1800, 48
#: Seconds after which an answer is slow.
SLOW = 2.0
#: A head is late if it is older than so many blocks, and than so many seconds.
_LATE_BLOCKS, _LATE_SECONDS = 5, 60.0
#: Seconds by which clocks may differ: a head that is further ahead tells nothing of its age.
_SKEW = 30.0
#: Constants that tell how many milliseconds a block takes, with a factor, and the seconds if none
#: does.
_BLOCK_TIMES = (
    ("Babe", "ExpectedBlockTime", 1),
    ("Aura", "SlotDuration", 1),
    ("Timestamp", "MinimumPeriod", 2),
)
_BLOCK_SECONDS = 12.0


def block_seconds(table: RuntimeTable | None) -> float:
    """Return how long a block of this runtime takes, in seconds; 12 if it doesn't say."""
    if table is None:
        return _BLOCK_SECONDS
    for pallet, name, factor in _BLOCK_TIMES:
        try:
            milliseconds = table.constant(pallet, name)
        except InvalidRequest:
            continue
        if isinstance(milliseconds, int) and milliseconds > 0:
            return milliseconds * factor / 1000
    return _BLOCK_SECONDS


def read_block_time(answer: object) -> int | None:
    """Return the time of a block in nanoseconds since 1970, of what a node answers for
    `TIMESTAMP_NOW`; None if there is none that can be a date."""
    milliseconds = read_timestamp(answer)
    return None if milliseconds is None or milliseconds >= 10**14 else milliseconds * 1_000_000


def judge_head(age: float | None, block: float) -> Literal["fresh", "late", "unknown"]:
    """Return how a head of that *age* is on a chain whose blocks take *block* seconds; `unknown`
    without a believable age."""
    if age is None or age < -_SKEW:
        return "unknown"
    return "late" if age > max(_LATE_BLOCKS * block, _LATE_SECONDS) else "fresh"


class History:
    """How a chain answered in the last 24 hours, each time when it was asked; in memory only."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """*clock* returns seconds since 1970."""
        self._clock = clock
        #: Number of the part since 1970 -> how often each answer came.
        self._parts: dict[int, dict[Answered, int]] = {}

    def note(self, answered: Answered) -> None:
        part = int(self._clock() // PART)
        counts = self._parts.setdefault(part, {})
        counts[answered] = counts.get(answered, 0) + 1
        for old in [each for each in self._parts if each <= part - PARTS]:
            del self._parts[old]

    def note_answer(self, seconds: float) -> None:
        """Note that an answer came after so many *seconds*."""
        self.note("slow" if seconds > SLOW else "answered")

    def read(self) -> tuple[float | None, list[Answered | None]]:
        """Return when the first part begins, None if there is none, and of each part since then how
        the chain answered.

        A part in which it was both there and away is `slow`; one in which nobody asked is None.
        """
        now = int(self._clock() // PART)
        first = min((part for part in self._parts if part > now - PARTS), default=None)
        if first is None:
            return None, []
        return first * PART, [self._judge(part) for part in range(first, now + 1)]

    def _judge(self, part: int) -> Answered | None:
        found = self._parts.get(part, {}).keys()
        return next(iter(found)) if len(found) == 1 else "slow" if found else None
