"""A store over a database that operations ask: what every such store does, once.

The operations of each noun are in the module of its name, and their statements in `statements.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

from scenarioctl.model.jobs import Retention, WebhookEvent
from scenarioctl.stores import events
from scenarioctl.stores.operations import Operation, T
from scenarioctl.stores.outbox import Outbox
from scenarioctl.stores.retention import DRAFTS, EVENTS, LINES, prune
from scenarioctl.stores.sent import SentTransactions
from scenarioctl.stores.validation import check_text


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

    # -- webhooks

    async def put_event(self, uuid: str, content: Any, *, now: int, retention: Retention) -> WebhookEvent:
        # Refused before it waits for its turn to write: anybody may post to any name.
        await self.check_webhook(uuid)
        put = partial(events.put, uuid, content, now=now, retention=retention)
        ((id,),) = await self.write(put, tell=True)
        return WebhookEvent(id=id, uuid=uuid, received=now, content=content)

    async def newest_event(self, uuid: str, *, job: str, after: int | None = None) -> WebhookEvent | None:
        if "\0" in check_text(uuid, field="webhook"):
            # No text of the store has it.
            return None
        return await self.read(partial(events.newest, uuid, job=job, after=after or 0))

    async def check_webhook(self, uuid: str) -> None:
        check_text(uuid, field="webhook")
        await self.read(partial(events.check_named, uuid))

    async def list_events(self, uuid: str) -> list[WebhookEvent]:
        check_text(uuid, field="webhook")
        return await self.read(partial(events.list_all, uuid), long=True)

    async def get_event(self, id: int) -> WebhookEvent:
        return await self.read(partial(events.get, id))

    # -- the store itself

    async def prune(self, *, now: int, retention: Retention) -> int:
        removed = 0
        for table, age, limit in (
            (LINES, retention.log_age, retention.log_lines),
            (DRAFTS, retention.mempool_age, retention.mempool_entries),
            (EVENTS, retention.webhook_age, 0),
        ):
            # Little by little, so that others come to write in between.
            while some := await self.write(partial(prune, table, now=now, age=age, limit=limit)):
                removed += some
        return removed
