"""Large bodies that are on their way: how much of them is in memory, and which is given up where that is too much."""

import math
import time
from collections.abc import Callable
from types import TracebackType

#: So many of the largest bodies may be in memory at once, in as many pieces as they come.
AT_ONCE = 4
#: Seconds in which a body is not judged by its speed while there are others that are.
HEAD_START = 2.0
#: Seconds after which a third of what came counts for the speed.
_FADING = 2.0


class Bodies:
    """The bodies that clients send.  None waits for another one: where they are too much, the slowest is given up."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        #: Bytes in memory.
        self.total = 0
        self.coming: set[Body] = set()

    def make_room(self, most: int) -> None:
        """Give up those that come slowest until the rest has at most *most* bytes."""
        now = self.clock()
        while self.total > most and self.coming:
            slowest = min(self.coming, key=lambda each: (now - each.began < HEAD_START, each.speed(now)))
            slowest.give_up()


class Body:
    """A large body, counted until it is answered: `with Body(bodies, most) as body:`."""

    def __init__(self, bodies: Bodies, most: int) -> None:
        self._bodies = bodies
        self._most = most
        self.began = self._seen = bodies.clock()
        self._size = 0
        self._speed = 0.0
        self.is_given_up = False

    def __enter__(self) -> "Body":
        self._bodies.coming.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.give_up()

    def grow(self, count: int) -> None:
        """Count bytes that have come; where there is no room for them, some body is given up, maybe this one."""
        now = self._bodies.clock()
        self._speed, self._seen = self.speed(now) + count / _FADING, now
        self._size += count
        self._bodies.total += count
        self._bodies.make_room(self._most)

    def speed(self, now: float) -> float:
        """Return the bytes per second that came of late."""
        return self._speed * math.exp((self._seen - now) / _FADING)

    def is_whole(self) -> None:
        """Be judged by speed no more."""
        self._bodies.coming.discard(self)

    def give_up(self) -> None:
        """Count its bytes no more."""
        self._bodies.coming.discard(self)
        self._bodies.total -= self._size
        self._size = 0
        self.is_given_up = True
