"""What is asked again and again until Ctrl-C: a daemon or a store that is away meanwhile is waited for."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

from scenarioctl.cli.output import printable, say
from scenarioctl.errors import DaemonUnreachable, NotReady, StoreBusy

T = TypeVar("T")

#: Seconds between two looks.
LOOK = 0.5
#: So many seconds a daemon or a store that was lost meanwhile is tried again: a daemon may be started anew.
PATIENCE = 300.0


class Following:
    """Asks again, for a while, what was answered before."""

    def __init__(self) -> None:
        self._seen = False
        self._lost: float | None = None

    def ask(self, question: Callable[[], T]) -> T | Any:
        """Return the answer; None, after a pause, if there is none now."""
        try:
            answer = question()
        except (DaemonUnreachable, NotReady, StoreBusy) as error:
            now = time.monotonic()
            if not self._seen or (self._lost is not None and now - self._lost > PATIENCE):
                raise
            if self._lost is None:
                self._lost = now
                say(f"lost, trying again for {PATIENCE:g} seconds: {printable(str(error))}")
            time.sleep(LOOK)
            return None
        if self._lost is not None:
            self._lost = None
            say("following again")
        self._seen = True
        return answer
