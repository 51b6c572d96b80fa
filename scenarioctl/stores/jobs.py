"""Jobs, and who runs the next leg of each: operations over a store.

A run in progress is part of the row of its job.  While a leg is in progress, `owner` says whose,
and `epoch` is the number by which the end of the leg is accepted.  Between two legs `saved` has
what the next one goes on with, `due` when it begins at the latest, and `webhook` whose event lets
it begin at once.  What is due is judged by the store's clock alone.
"""

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from scenarioctl.model.jobs import (
    LEASE_SECONDS,
    SECOND,
    Job,
    JobChange,
    JobState,
    KnownWorker,
    Leg,
    RenewedLease,
)
from scenarioctl.stores import JobPage, statements
from scenarioctl.stores.asking import Operation, Ring, Row, Table, find
from scenarioctl.stores.rows import (
    JOB_WIDTH,
    read_cursor,
    read_job,
    write_cursor,
    write_schedule,
)
from scenarioctl.stores.runs import Lines, WaitingDraft, WaitingDrafts, add_lines
from scenarioctl.stores.validation import INTEGER_MAX, check_job, unknown

log = logging.getLogger("scenarioctl.store")

#: Nanoseconds after which a leg that is due is late, and one without a lease stalled.
_LATE = 10 * SECOND
_SILENT = round(3 * LEASE_SECONDS * SECOND)
#: Nanoseconds without a word of a server after which none took events meanwhile.
_GAP = 5 * SECOND
#: Jobs that one transaction plans, or lists.
_AT_ONCE = 500
#: Nanoseconds for which a silent worker is listed, and how many are.
_SHOWN = 3600 * SECOND
_WORKERS = 200


def now() -> Operation[int]:
    """Return the store's clock, by which jobs are due: nanoseconds since 1970."""
    row = yield from find(statements.NOW)
    return int(row[0]) if row else 0


def change_token() -> Operation[str]:
    """Return a text that changes with every write of any process; cheap, for callers that poll."""
    row = yield from find(statements.CHANGE_TOKEN)
    return str(row)


def get(id: str) -> Operation[Job | None]:
    row = yield from find(statements.FIND_JOB, id=id)
    if row is None:
        raise unknown(id)
    return None if row[0] is None else read_job(row)


def start(job: Job) -> Operation[bool]:
    """Start *job* with its schedule, due, planned and changed; False, and nothing changes, if it is
    running.

    The epoch grows and the counts restart at zero.  A run of an earlier start that is still in
    progress is not kept. NotFound if there is no such scenario.
    """
    check_job(job)
    yield statements.LOCK_JOB, {"id": job.id}
    former = yield from get(job.id)
    if former is not None and former.state is JobState.RUNNING:
        return False
    moment = yield from now()
    values = {
        "id": job.id,
        "due": job.due,
        "planned": job.planned,
        "changed": job.changed,
        "schedule": write_schedule(job.schedule),
        "notify": " ".join(job.notify),
        "epoch": 0 if former is None else former.epoch,
    }
    # Of two that start it at the same time, one does.
    started = yield from find(statements.START_JOB, **values)
    if started is None:
        return False
    if job.due is not None:
        yield Ring(job.due, moment)
    return True


def change(id: str, change: Callable[[Job], JobChange | None]) -> Operation[Job | None]:
    row = yield from find(statements.LOCK_JOB, id=id)
    if row is None:
        # None, or raises NotFound.
        return (yield from get(id))
    job, saved = read_job(row), row[JOB_WIDTH]
    wanted = change(job)
    if wanted is None:
        return job
    changed = wanted.job
    check_job(changed)
    ends = wanted.ends_run and bool(saved or job.owner)
    yield from _change(changed, former=job, ends=ends)
    if wanted.lines:
        yield from add_lines([Lines(job=id, texts=wanted.lines, written=wanted.written)])
    return replace(changed, epoch=job.epoch + 1, owner="", step="", waiting=0) if ends else changed


def _change(job: Job, *, former: Job, ends: bool) -> Operation[None]:
    """Store *job* in place of *former*; *ends*: its run in progress is over."""
    is_free = ends or not former.owner
    # A leg in progress plans the next one.  Else a new due time is another leg.
    moves = is_free and (ends or job.due != former.due)
    values = {
        "id": job.id,
        "state": job.state.value,
        "due": job.due,
        "planned": job.planned,
        "changed": job.changed,
        "reason": job.reason,
        "schedule": write_schedule(job.schedule),
        "notify": " ".join(job.notify),
        "moves": int(moves),
        "ends": int(ends),
    }
    yield statements.CHANGE_JOB, values
    if moves and job.due is not None:
        yield Ring(job.due, (yield from now()))


def list_page(
    *, limit: int, after: str, state: JobState | None, failing: bool
) -> Operation[JobPage]:
    condition = "j.state = :state" if state is not None else "1 = 1"
    total = statements.COUNT_OF_STATE
    if failing:
        condition, total = statements.FAILING, statements.COUNT_FAILING
    position = read_cursor(after, "changed") or (0, "")
    asked = statements.LIST_JOBS.format(
        total=total,
        condition=condition,
        behind="AND (j.changed, j.id) < (:changed, :id)" if after else "",
    )
    rows = yield (
        asked,
        {
            "state": state and state.value,
            "changed": position[0],
            "id": position[1],
            "limit": limit + 1,
        },
    )
    found = [row[1:] for row in rows if row[1] is not None]
    last = found[limit - 1] if len(found) > limit else None
    return JobPage(
        items=tuple(read_job(row) for row in found[:limit]),
        total=rows[0][0],
        next=write_cursor("changed", last[3], last[0]) if last else "",
    )


def count_drafts(ids: Sequence[str], *, now: int) -> Operation[dict[str, int]]:
    return dict((yield statements.COUNT_DRAFTS, {"ids": list(ids), "now": now}))


def waiting_drafts(*, now: int, soon: int, limit: int) -> Operation[WaitingDrafts]:
    """Return the newest draft of each job that waits for a signature *now*, up to *limit*: those
    first that expire first.

    A job counts as `expiring` if it will have none any more at *soon*.  Reads as many rows as there
    are jobs, however many drafts they have.
    """
    rows = yield statements.WAITING_DRAFTS, {"now": now}
    shown = [job for job, _, _ in rows[:limit]]
    counts: dict[str, int] = dict(
        (yield statements.COUNT_WAITING_DRAFTS, {"now": now, "ids": shown})
    )
    return WaitingDrafts(
        items=tuple(
            # Without a count, it was sent between the two questions.
            WaitingDraft(job=job, seq=seq, expires=expires, count=counts.get(job, 1))
            for job, seq, expires in rows[:limit]
        ),
        total=len(rows),
        expiring=sum(expires <= soon for _, _, expires in rows),
    )


def count_by_state() -> Operation[dict[JobState, int]]:
    counts: dict[str, int] = dict((yield statements.COUNT_JOBS, {}))
    return {state: counts.get(state.value, 0) for state in JobState}


def live_owners() -> Operation[list[str]]:
    """Return the workers that have a lease."""
    return [owner for (owner,) in (yield statements.LIVE_OWNERS, {})]


def find_trouble() -> Operation[Row]:
    """Return how many legs in progress have an owner without a lease for long, how many are late,
    so that a worker should have begun them, and whether a job is running."""
    row = yield from find(statements.FIND_TROUBLE, silent=_SILENT, late=_LATE)
    return row or (0, 0, 0)


def next_due() -> Operation[int | None]:
    ring = yield from next_ring()
    return ring.due if ring else None


def next_ring() -> Operation[Ring | None]:
    """Return when the next leg is due that nobody has begun; None if none is.  Reads one row."""
    # The bound leaves out NULL.
    row = yield from find(statements.NEXT_DUE, most=INTEGER_MAX)
    return Ring(*row) if row else None


def begin_due(limit: int, *, owner: str) -> Operation[list[Leg]]:
    """Give up to *limit* legs that are due and that nobody has begun to *owner*, each with a new
    epoch, those first that are due first; none unless it has a lease.

    Of several callers, one gets a leg.
    """
    begun = []
    for row in (yield statements.BEGIN_DUE, {"owner": owner, "limit": limit}):
        try:
            begun.append(_read_leg(row))
        except (TypeError, ValueError, KeyError):
            # It would keep all others from beginning.
            log.exception("job %s is paused: its row is damaged", row[0])
            yield statements.PAUSE_DAMAGED, {"id": row[0]}
    return sorted(begun, key=lambda leg: leg.job.due or 0)


def _read_leg(row: Row) -> Leg:
    job, (attempts, saved, moment, repeats, blob, summary) = read_job(row), row[JOB_WIDTH:]
    return Leg(
        job=job,
        blob=blob,
        summary=summary,
        now=moment,
        saved=saved,
        interrupted=attempts > 1,
        repeats=bool(repeats) and not saved,
    )


def renew(
    owner: str, *, lease: int, version: str = "", offset: int | None = None
) -> Operation[RenewedLease]:
    """Let the owner's legs be its own for *lease* nanoseconds from now; return which they are.

    *version* and *offset* are those of `KnownWorker`.
    """
    values = {"owner": owner, "lease": lease, "version": version, "offset": offset}
    ((moment,),) = yield statements.RENEW_LEASE, values
    jobs: dict[str, int] = dict((yield statements.JOBS_OF_OWNER, {"owner": owner}))
    return RenewedLease(jobs=jobs, now=moment)


def note_served() -> Operation[None]:
    """Note that a server takes events now, if a run waits for one."""
    yield statements.NOTE_SERVED, {"gap": _GAP}


def time_away() -> Operation[int]:
    """Return for how many nanoseconds no server has taken events; what counts is by how much that
    grows while a run waits."""
    row = yield from find(statements.TIME_AWAY, gap=_GAP)
    return int(row[0]) if row else 0


def list_workers() -> Operation[list[KnownWorker]]:
    """Return the workers that have a lease, or had one within an hour and have not ended by
    themselves."""
    rows = yield statements.LIST_WORKERS, {"shown": _SHOWN, "limit": _WORKERS}
    jobs: dict[str, list[str]] = {}
    for owner, id in (yield statements.JOBS_IN_PROGRESS, {"limit": _AT_ONCE}):
        jobs.setdefault(owner, []).append(id)
    return [
        KnownWorker(
            owner=owner,
            version=version,
            clock_offset=offset,
            seen=seen,
            is_silent=bool(is_silent),
            running=running,
            jobs=tuple(jobs.get(owner, ())),
        )
        for owner, version, offset, seen, is_silent, running in rows
    ]


def owners() -> Operation[set[str]]:
    """Return the owners of all legs in progress."""
    return {owner for (owner,) in (yield statements.OWNERS, {})}


def lapsed_owners() -> Operation[set[str]]:
    """Return those of them whose lease has run out, or that have none."""
    return {owner for (owner,) in (yield statements.LAPSED_OWNERS, {})}


def free(
    owners: Collection[str], *, legs: Collection[tuple[str, int]] | None = None
) -> Operation[int]:
    """Let others begin the legs in progress of *owners* again, or of those only some *legs*, by job
    and epoch; return how many.

    Without *legs*, the store keeps nothing more of the owners.
    """
    values: dict[str, Any] = {"owners": list(owners)}
    if legs is None:
        yield statements.REMOVE_LEASES, {**values, "shown": _SHOWN}
        freed = yield statements.FREE_LEGS, values
    else:
        freed = yield statements.FREE_SOME_LEGS, {**values, "legs": Table(list(legs))}
    if freed:
        moment = yield from now()
        yield Ring(moment, moment)
    return len(freed)


def replan(*, after: str) -> Operation[list[tuple[str, bool]]]:
    """Plan some of the jobs with an id above *after* that are due later than their schedule ever
    plans: the clock was set back.

    Return those that were looked at, and which have another time now; none at the end.
    """
    from scenarioctl.schedules import first_times

    moment = yield from now()
    rows = yield statements.JOBS_AHEAD, {"after": after, "now": moment + SECOND, "limit": _AT_ONCE}
    seen = []
    for row in rows:
        job = read_job(row)
        seen.append((job.id, False))
        if job.state is not JobState.RUNNING or job.due is None:
            continue
        schedule = job.schedule
        if schedule.cron:
            times = first_times(schedule, moment)
            due, planned = times.due, times.planned
        else:
            due = planned = moment + schedule.every
        if (job.planned or 0) > planned and job.due > due + schedule.jitter:
            moved = replace(job, due=due, planned=planned)
            yield from _change(moved, former=job, ends=False)
            seen[-1] = (job.id, True)
    return seen
