"""One event loop for all that a test awaits: what is opened on it can be asked again, and
closed."""

import asyncio
import atexit
from collections.abc import AsyncIterator, Coroutine, Sequence
from typing import Any, TypeVar

from scenarioctl.chains.connection import NodeConnection, Request
from scenarioctl.chains.registry import Registry

T = TypeVar("T")

_RUNNER = asyncio.Runner()
# Not `Runner.close`: it would start a thread, which Python 3.12 doesn't at exit.
atexit.register(lambda: _RUNNER.get_loop().close())


def finish(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return what *coroutine* returns."""
    return _RUNNER.run(coroutine)


class BlockingConnection:
    """A connection to an endpoint of whatever chain, for a test that awaits nothing."""

    def __init__(self, url: str, **chain: Any) -> None:
        plain = {"role": "parachain", "symbol": "UNIT", "decimals": 12, "endpoints": [url], **chain}
        self._connection = finish(
            NodeConnection.open(Registry({"probe": plain}).find("probe"), url)
        )

    def call(self, method: str, *params: Any) -> Any:
        return self.call_many([(method, params)])[0]

    def call_many(self, requests: Sequence[Request]) -> list[Any]:
        return finish(self._connection.call_many(requests))

    def notices(self, method: str, count: int, *, ended_by: str) -> list[Any]:
        """Return the first *count* notices of a subscription."""

        async def read() -> list[Any]:
            told: AsyncIterator[Any] = self._connection.subscribe(method, ended_by=ended_by)
            heard = [await anext(told) for _ in range(count)]
            await told.aclose()  # type: ignore[attr-defined]
            return heard

        return finish(read())

    def close(self) -> None:
        finish(self._connection.close())
