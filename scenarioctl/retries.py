"""How long to wait before a failed attempt is repeated."""

import random


def delay_after(
    failures: int, *, first: float, longest: float, factor: float = 2.0, jitter: bool = False
) -> float:
    """Return the delay after so many *failures* in a row: *first*, then *factor* times as long for
    each further one.

    It is at most *longest*, in whose unit it is.  *jitter*: give or take a quarter, so that what
    failed together is not repeated together.
    """
    delay = min(first * factor ** min(failures - 1, 64), longest)
    return delay * random.uniform(0.75, 1.25) if jitter else delay  # noqa: S311
