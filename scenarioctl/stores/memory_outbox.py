"""Notifications in memory that are not delivered yet."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from scenarioctl.model.notifications import NewNotification, NotificationEvent, QueuedNotification
from scenarioctl.stores.memory_state import MemoryState, QueuedInMemory
from scenarioctl.stores.outbox import OutboxFigures
from scenarioctl.stores.texts import clean


@dataclass(frozen=True)
class MemoryOutbox:
    """The Outbox over *state*."""

    state: MemoryState

    async def claim(
        self, *, now: int, until: int, limit: int, without: Collection[str] = ()
    ) -> list[QueuedNotification]:
        waiting = [each.notification for each in self.state.notifications.values()]
        due = [each for each in waiting if each.due <= now and each.url not in without]
        due.sort(key=lambda each: (each.due, each.seq))
        claimed = [replace(each, due=until) for each in due[:limit]]
        for each in claimed:
            self.state.notifications[each.seq].notification = each
        return claimed

    async def retry(self, notification: QueuedNotification, *, due: int, error: str) -> None:
        found = self.state.notifications.get(notification.seq)
        if found is not None and found.notification.due == notification.due:
            before = found.notification
            found.notification = replace(before, due=due, attempts=before.attempts + 1)
            found.error = clean(error)

    async def drop(self, notification: QueuedNotification) -> None:
        self.state.notifications.pop(notification.seq, None)

    async def prune(self, *, before: int, most: int) -> Mapping[str, int]:
        removed: Counter[str] = Counter()
        seen: Counter[str] = Counter()
        for seq, each in sorted(self.state.notifications.items(), reverse=True):
            job = each.notification.job
            seen[job] += 1
            if each.notification.created < before or seen[job] > most:
                del self.state.notifications[seq]
                removed[job] += 1
        return removed

    async def figures(self) -> OutboxFigures:
        waiting = self.state.notifications.values()
        failed = [each for each in waiting if each.notification.attempts]
        failed.sort(key=lambda each: each.notification.due)
        return OutboxFigures(
            queued=sum(
                not each.notification.attempts
                and each.notification.event is not NotificationEvent.DRAFT_EXPIRING
                for each in waiting
            ),
            retrying=len(failed),
            error=failed[-1].error if failed else "",
        )

    def put(self, notifications: Sequence[NewNotification], *, run_drafts: Sequence[int] = ()) -> None:
        for each in notifications:
            self.state.last_notification += 1
            queued = QueuedNotification(
                **{
                    **vars(each),
                    "reason": clean(each.reason),
                    "drafts": tuple(run_drafts if each.has_run_drafts else each.drafts),
                },
                seq=self.state.last_notification,
                due=each.created,
            )
            self.state.notifications[queued.seq] = QueuedInMemory(queued)

    def forget(self, job: str, *, expiring: bool = False) -> None:
        """Remove the notifications of the job; *expiring*: only what was to be said of its older drafts."""
        for seq, each in list(self.state.notifications.items()):
            notification = each.notification
            is_later = notification.event is NotificationEvent.DRAFT_EXPIRING and not notification.attempts
            if notification.job == job and (is_later or not expiring):
                del self.state.notifications[seq]
