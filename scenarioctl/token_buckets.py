"""Rate limits by token buckets."""

#: Keys that are tracked; if there are more, those that have been idle are dropped.
TRACKED = 10_000
#: What seconds since 1970 lose as floating-point numbers, in tokens.
_ROUNDING = 1e-3


class TokenBuckets:
    """One bucket per key: a key may do so many things a second, and as many at once."""

    def __init__(self) -> None:
        #: Key -> tokens that were left, and when, in seconds.
        self._left: dict[str, tuple[float, float]] = {}

    def __len__(self) -> int:
        return len(self._left)

    def take(self, key: str, rate: int, now: float, *, count: int = 1) -> float:
        """Return the seconds that *key* has to wait, or 0 and take *count* tokens.

        *rate* is in tokens per second, 0 for no limit; *now* is in seconds.  A clock that was set
        back counts as no time, one that jumped ahead as a second.
        """
        if not rate:
            return 0.0
        tokens, since = self._left.get(key, (float(rate), now))
        tokens = min(float(rate), tokens + min(max(now - since, 0.0), 1.0) * rate)
        if tokens < 1 - _ROUNDING:
            self._left[key] = (tokens, now)
            return (1 - tokens) / rate
        if key not in self._left and len(self._left) >= TRACKED:
            self._drop_idle(now)
        self._left[key] = (tokens - count, now)
        return 0.0

    def _drop_idle(self, now: float) -> None:
        # After an idle second a bucket is full, like that of a new key.
        busy = {key: left for key, left in self._left.items() if abs(now - left[1]) < 1}
        self._left = busy if len(busy) < len(self._left) else {}
