"""A store over a database that operations ask: what every such store does, once.

The operations of each noun are in the module of its name, and their statements in `statements.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

from scenarioctl.stores.operations import Operation, T
from scenarioctl.stores.outbox import Outbox
from scenarioctl.stores.sent import SentTransactions


class SqlStore(ABC):
    """What is above the driver of a database."""

    @abstractmethod
    async def read(self, operation: Callable[[], Operation[T]], *, long: bool = False) -> T:
        """Do as `operations.Asking` says."""

    @abstractmethod
    async def write(
        self, operation: Callable[[], Operation[T]], *, alone: bool = False, tell: bool = False
    ) -> T:
        """Do as `operations.Asking` says."""

    def outbox(self) -> Outbox:
        return Outbox(self)

    def sent(self) -> SentTransactions:
        return SentTransactions(self)
