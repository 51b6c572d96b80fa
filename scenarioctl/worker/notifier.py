"""Which notifications are to be sent.  Delivers those in the outbox of the store, beside the runs:
no run ever waits for a receiver."""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial

from scenarioctl.application import Application
from scenarioctl.errors import NotFound, RequestFailed, ScenarioctlError
from scenarioctl.model.jobs import SECOND, FinishedRun, MempoolDraft
from scenarioctl.model.notifications import (
    NewNotification,
    NotificationEvent,
    QueuedNotification,
    describe_target,
    new_id,
)
from scenarioctl.operations.notifications import NotificationText, build_request, page_of
from scenarioctl.retries import delay_after
from scenarioctl.worker.chores import Counts, guard

#: How long before its end a draft expires soon: this share of its time, at most so long.
_EXPIRING_SHARE = 4
_EXPIRING_SOON = 2 * 3600 * SECOND
#: The most characters of a reason.
_LONGEST_REASON = 500


def notices_of_run(run: FinishedRun, targets: Sequence[str]) -> tuple[NewNotification, ...]:
    """Return the notifications of *run* to each of *targets*, once for each URL."""
    return tuple(
        NewNotification(
            id=new_id(),
            event=event,
            job=run.job,
            created=created,
            url=url,
            reason=reason[:_LONGEST_REASON],
        )
        for event, created, reason in _events_of(run)
        for url in dict.fromkeys(targets)
    )


def _events_of(run: FinishedRun) -> Iterator[tuple[NotificationEvent, int, str]]:
    """Yield what may be reported of *run*, when, and why."""
    ready = [draft for draft in run.drafts if draft.is_transaction]
    if ready:
        yield NotificationEvent.DRAFT_READY, run.finished, ""
    if run.ran and run.failure:
        yield NotificationEvent.RUN_FAILED, run.finished, run.failure
    if run.due is None:
        # The store drops it unless the job was running until now.
        yield (
            NotificationEvent.JOB_PAUSED,
            run.finished,
            run.failure or "its schedule has no further time",
        )
    ends = [moment for draft in ready if (moment := _expires_soon(draft)) is not None]
    if ends:
        yield NotificationEvent.DRAFT_EXPIRING, min(ends), ""


def _expires_soon(draft: MempoolDraft) -> int | None:
    """Return from when on *draft* expires soon; None if it doesn't expire."""
    if draft.expires is None:
        return None
    return draft.expires - min(_EXPIRING_SOON, (draft.expires - draft.date) // _EXPIRING_SHARE)


log = logging.getLogger("scenarioctl.worker")

#: Deliveries at once, and to one URL: a receiver that hangs doesn't keep the others waiting.
AT_ONCE = 16
AT_ONCE_TO_URL = 4
#: A notification whose worker has ended is sent again after this time, in nanoseconds. A delivery
#: takes less.
CLAIM = 60 * SECOND
#: Before the second attempt, and the longest pause between two; each is three times as long as the
#: one before.
FIRST_PAUSE = 5 * SECOND
LONGEST_PAUSE = 3600 * SECOND
#: A notification that can't be delivered for so long is given up.
GIVE_UP_AFTER = 24 * 3600 * SECOND
#: The most notifications of a job that wait.
MOST_OF_JOB = 1_000
#: The most drafts that are looked through for newer ones.
_NEWER_DRAFTS = 1_000
#: Seconds that a stop waits for deliveries.
_GRACE = 3.0


class Notifier:
    """Sends what is due in the outbox of `app.store`; several may serve one store."""

    def __init__(self, app: Application, counts: Counts) -> None:
        self._app = app
        self._counts = counts
        #: Deliveries in progress, and their URLs.
        self._deliveries: dict[asyncio.Task[None], str] = {}
        self._lock = asyncio.Lock()
        #: Looks for what is due, outside of the chore.
        self._looking: asyncio.Task[None] | None = None
        #: Something was added to the outbox since it began.
        self._again = False

    def wake(self) -> None:
        """Look now for what is due: something was added to the outbox, or a delivery has ended."""
        self._again = True
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look_again(), name="look for notifications")

    async def _look_again(self) -> None:
        while self._again:
            self._again = False
            await guard(self.look, "notifications were not looked for")

    async def look(self) -> None:
        """Begin to deliver what is due, as far as there is room.

        What the runs of this worker add is not waited for: they wake it.
        """
        try:
            await self._begin_due()
        except ScenarioctlError as error:
            # The dispatch says that the store is away, and this is tried again in a moment.
            log.debug("notifications were not looked for: %s", error)

    async def _begin_due(self) -> None:
        async with self._lock:
            while (room := AT_ONCE - len(self._deliveries)) > 0:
                now = self._app.clock()
                counts = Counter(self._deliveries.values())
                # All that are claimed may be for one URL.
                most = max(
                    (count for count in counts.values() if count < AT_ONCE_TO_URL), default=0
                )
                claimed = await self._app.store.outbox().claim(
                    now=now,
                    until=now + CLAIM,
                    limit=min(room, AT_ONCE_TO_URL - most),
                    without=[url for url, count in counts.items() if count >= AT_ONCE_TO_URL],
                )
                for each in claimed:
                    self._begin(each)
                if not claimed:
                    return

    async def prune(self) -> None:
        """Remove notifications beyond the bounds of the outbox."""
        before = self._app.clock() - 2 * GIVE_UP_AFTER
        removed = await self._app.store.outbox().prune(before=before, most=MOST_OF_JOB)
        for job, count in removed.items():
            self._counts.notifications_given_up += count
            await self._tell(
                job, f"{count} notifications were given up: too many wait, or for too long"
            )

    def tasks(self) -> list[asyncio.Task[None]]:
        """Return the tasks of all deliveries, and the one that looks for more."""
        return [*self._deliveries, *([self._looking] if self._looking is not None else [])]

    async def let_end(self) -> None:
        """Wait, within the grace, for deliveries in progress; others are left to the next
        worker."""
        with suppress(TimeoutError):
            # Who has the lock claims: no delivery begins that the stop would cut off.
            async with asyncio.timeout(_GRACE), self._lock:
                if self._deliveries:
                    await asyncio.wait(self._deliveries)

    def _begin(self, notification: QueuedNotification) -> None:
        deliver = partial(self._deliver, notification)
        task = asyncio.create_task(
            guard(deliver, f"a notification of job {notification.job} was not delivered"),
            name=f"notify job {notification.job}",
        )
        self._deliveries[task] = notification.url
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._deliveries[task]
        if not task.cancelled():
            self.wake()

    async def _deliver(self, notification: QueuedNotification) -> None:
        app, outbox = self._app, self._app.store.outbox()
        message = await self._compose(notification)
        if message is None:
            await outbox.drop(notification)
            return
        request = build_request(
            message,
            url=notification.url,
            secret=app.settings.notify_secret,
            now=app.clock(),
        )
        try:
            await app.notifying.send(request, sleep=app.sleep)
        except RequestFailed as failed:
            await self._retry(notification, str(failed))
        else:
            await outbox.drop(notification)
            self._counts.notifications_delivered += 1

    async def _retry(self, notification: QueuedNotification, reason: str) -> None:
        """Note a failed attempt, and give the notification up if it has failed for too long."""
        now, attempts = self._app.clock(), notification.attempts
        target = describe_target(notification.url)
        if now - notification.created >= GIVE_UP_AFTER:
            tries = "1 attempt" if not attempts else f"{attempts + 1} attempts"
            await self._tell(
                notification.job,
                (
                    f"The notification {notification.event} to {target} was given up after "
                    f"{tries}: {reason}"
                ),
            )
            await self._app.store.outbox().drop(notification)
            self._counts.notifications_given_up += 1
            return
        pause = round(
            delay_after(
                attempts + 1, first=FIRST_PAUSE, longest=LONGEST_PAUSE, factor=3, jitter=True
            )
        )
        await self._app.store.outbox().retry(notification, due=now + pause, error=reason)
        self._counts.notifications_failed += 1
        log.log(
            logging.DEBUG if attempts else logging.WARNING,
            "the notification %s of job %s to %s failed; retrying in %.0f s: %s",
            *(notification.event, notification.job, target, pause / SECOND, reason),
        )

    async def _tell(self, job: str, line: str) -> None:
        """Add a line to the log of the daemon and to that of the job."""
        log.warning("job %s: %s", job, line)
        await self._app.store.flag_drafts({}, now=self._app.clock(), lines={job: [line]})

    async def _compose(self, notification: QueuedNotification) -> NotificationText | None:
        """Return what a notification says; None if it is not true any more."""
        app = self._app
        drafts, expires = notification.drafts, None
        try:
            scenario = await app.store.get_scenario(notification.job)
            if notification.event is NotificationEvent.DRAFT_EXPIRING:
                drafts, expires = await self._expiring(notification)
                if not drafts:
                    return None
        except NotFound:
            return None
        uuids = await app.store.uuids_of_drafts(drafts)
        return NotificationText(
            id=notification.id,
            event=notification.event,
            created=notification.created,
            job=notification.job,
            name=scenario.name,
            summary=scenario.summary,
            drafts=drafts,
            uuids=tuple(map(uuids.get, drafts)),
            expires=expires,
            reason=notification.reason,
            link=page_of(app.settings.public_url, notification.job),
        )

    async def _expiring(
        self, notification: QueuedNotification
    ) -> tuple[tuple[int, ...], int | None]:
        """Return which drafts of a notification are still to be signed, and when the first of them
        expires."""
        if not notification.drafts:
            return (), None
        entries = await self._app.store.read_mempool(
            notification.job, after=min(notification.drafts) - 1, limit=_NEWER_DRAFTS
        )
        newest = {entry.draft.node: entry.seq for entry in entries if entry.draft.is_transaction}
        now = self._app.clock()
        left = [
            (entry.seq, entry.draft.expires)
            for entry in entries
            if entry.seq in notification.drafts
            and not entry.flag
            and newest.get(entry.draft.node) == entry.seq
            and entry.draft.expires is not None
            and entry.draft.expires > now
        ]
        return tuple(seq for seq, _ in left), min((expires for _, expires in left), default=None)
