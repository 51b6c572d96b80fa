"""One event loop for all that a test awaits: what is opened on it can be asked again, and closed."""

import asyncio
import atexit
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_RUNNER = asyncio.Runner()
atexit.register(_RUNNER.close)


def finish(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return what *coroutine* returns."""
    return _RUNNER.run(coroutine)
