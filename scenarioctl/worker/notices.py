"""Which notifications are to be sent of a run, and of drafts that are flagged."""

from collections.abc import Iterator, Sequence

from scenarioctl.model.jobs import SECOND, FinishedRun, MempoolDraft
from scenarioctl.model.notifications import NewNotification, NotificationEvent, NotificationTarget, new_id

#: How long before its end a draft expires soon: this share of its time, at most so long.
_EXPIRING_SHARE = 4
_EXPIRING_SOON = 2 * 3600 * SECOND
#: The most characters of a reason.
_LONGEST_REASON = 500


def notices_of_run(run: FinishedRun, targets: Sequence[NotificationTarget]) -> tuple[NewNotification, ...]:
    """Return the notifications of *run* that *targets* want."""
    return tuple(
        notice
        for event, created, reason in _events_of(run)
        for notice in notices(event, run.job, targets, created=created, reason=reason)
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
        yield NotificationEvent.JOB_PAUSED, run.finished, run.failure or "its schedule has no further time"
    ends = [moment for draft in ready if (moment := _expires_soon(draft)) is not None]
    if ends:
        yield NotificationEvent.DRAFT_EXPIRING, min(ends), ""


def _expires_soon(draft: MempoolDraft) -> int | None:
    """Return from when on *draft* expires soon; None if it doesn't expire."""
    if draft.expires is None:
        return None
    return draft.expires - min(_EXPIRING_SOON, (draft.expires - draft.date) // _EXPIRING_SHARE)


def notices(
    event: NotificationEvent,
    job: str,
    targets: Sequence[NotificationTarget],
    *,
    created: int,
    reason: str,
    drafts: tuple[int, ...] = (),
) -> list[NewNotification]:
    """Return a notification of *event* for each of *targets* that wants it, once for each URL and format."""
    wanted = dict.fromkeys((target.url, target.format) for target in targets if target.wants(event))
    return [
        NewNotification(
            id=new_id(),
            event=event,
            job=job,
            created=created,
            url=url,
            format=format,
            reason=reason[:_LONGEST_REASON],
            drafts=drafts,
        )
        for url, format in wanted
    ]
