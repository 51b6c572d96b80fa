"""The outbox of a store: notifications that are not delivered yet.  A store keeps them with the runs that they tell of.

A notification is due at a time of the callers' wall clock.  A claim makes it due again later, so that it is repeated if who
claimed it ends before it has said what became of it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from scenarioctl.model.jobs import FinishedRun
from scenarioctl.model.notifications import NewNotification, NotificationEvent, QueuedNotification


@dataclass(frozen=True, kw_only=True)
class OutboxFigures:
    """How many notifications wait."""

    #: For their first attempt; those of drafts that expire later don't count.
    queued: int = 0
    #: For another attempt.
    retrying: int = 0
    #: Why the last attempt of one of them failed; empty if none did.
    error: str = ""


class Outbox(Protocol):
    """What every outbox does; `tests/test_outbox.py` shows it by example."""

    async def claim(
        self, *, now: int, until: int, limit: int, without: Collection[str] = ()
    ) -> list[QueuedNotification]:
        """Return up to *limit* notifications due by *now*, oldest first, which are then due again at *until*.

        None goes to a URL of *without*.  Of all callers, one gets a notification.
        """

    async def retry(self, notification: QueuedNotification, *, due: int, error: str) -> None:
        """Count a failed attempt, and let the notification be due again at *due*, unless another has claimed it since."""

    async def drop(self, notification: QueuedNotification) -> None:
        """Remove a notification: it is delivered, or given up."""

    async def prune(self, *, before: int, most: int) -> Mapping[str, int]:
        """Remove notifications created *before*, and the oldest of a job beyond *most*; return how many of each job."""

    async def figures(self) -> OutboxFigures:
        """Return how many notifications wait."""


def notifications_of(run: FinishedRun, *, pauses: bool) -> list[NewNotification]:
    """Return the notifications that are stored with *run*; *pauses*: the job is paused by it."""
    return [each for each in run.notifications if pauses or each.event is not NotificationEvent.JOB_PAUSED]


def still_true(notifications: Collection[NewNotification], flagged: Collection[int]) -> list[NewNotification]:
    """Return *notifications* without drafts that others have flagged, and without those that are left with none."""
    kept = [
        replace(each, drafts=tuple(seq for seq in each.drafts if seq in flagged)) for each in notifications
    ]
    return [each for each in kept if each.drafts]
