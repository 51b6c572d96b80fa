"""Whether the best block of a chain is as new as it should be."""

from typing import Literal

from scenarioctl.errors import InvalidRequest
from scenarioctl.runtime.storage_keys import read_timestamp
from scenarioctl.runtime.table import RuntimeTable

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
