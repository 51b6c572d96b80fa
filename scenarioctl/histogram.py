"""How often which durations came, by buckets: what a histogram of Prometheus is made of."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate


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

    @property
    def count(self) -> int:
        return sum(self._counts)

    def buckets(self) -> list[tuple[str, int]]:
        """Return the upper bound of each bucket, and how many durations are not above it."""
        return list(zip([*map(str, self._bounds), "+Inf"], accumulate(self._counts), strict=True))
