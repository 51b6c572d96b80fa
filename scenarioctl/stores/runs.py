"""What runs leave behind, written and read, what follows from it for their jobs, and the drafts
that wait for a signature: operations over a store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from scenarioctl.model.jobs import (
    NO_TRANSACTION,
    FinishedRun,
    KeptRun,
    LogLine,
    MempoolDraft,
    MempoolEntry,
    Retention,
    StepResults,
)
from scenarioctl.model.notifications import NewNotification
from scenarioctl.stores import statements
from scenarioctl.stores.asking import (
    CONCLUDE,
    Operation,
    Ring,
    Row,
    Table,
    find,
    find_all,
    lock_key,
)
from scenarioctl.stores.events import notifications_of
from scenarioctl.stores.retention import DRAFTS, LINES, RUNS, trim_rows
from scenarioctl.stores.rows import (
    PORTION,
    Plan,
    clean,
    cut_line,
    next_plan,
    read_steps,
    write_steps,
)
from scenarioctl.stores.validation import INTEGER_MAX, unknown


@dataclass(frozen=True, kw_only=True)
class Lines:
    """Lines that a log gets between two runs."""

    job: str
    texts: Sequence[str]
    written: int


def add_lines(added: Sequence[Lines]) -> Operation[None]:
    """Add lines to logs, each of another job, in the order of their jobs."""
    cut = [(lines, [cut_line(text) for text in lines.texts]) for lines in added if lines.texts]
    yield CONCLUDE
    if not cut:
        return
    yield (
        statements.COUNT_UP,
        {"added": Table([(lines.job, len(texts), 0, 0) for lines, texts in cut])},
    )
    rows: list[Row] = [(lines.job, lines.written, text) for lines, texts in cut for text in texts]
    yield statements.ADD_LINES, {"lines": Table(rows)}


def flag_drafts(
    flags: Mapping[int, str],
    *,
    now: int,
    lines: Mapping[str, Sequence[str]],
) -> Operation[None]:
    """Flag drafts (seq -> reason), and add *lines* (job -> texts) to the logs, in one transaction.

    A draft keeps the flag that it has.  A job gets its lines only if one of its drafts is flagged
    now (or if there are no *flags*).
    """
    flagged: list[Row] = []
    if flags:
        rows: list[Row] = [(seq, clean(why)) for seq, why in flags.items()]
        flagged = yield statements.FLAG_DRAFTS, {"flags": Table(rows)}
    jobs = {job for job, _ in flagged}
    stored = yield statements.LOCK_SCENARIOS, {"ids": list(lines)}
    yield from add_lines(
        [
            Lines(job=job, texts=lines[job], written=now)
            for (job,) in stored
            if job in jobs or not flags
        ]
    )


@dataclass(frozen=True, kw_only=True)
class _Kept:
    """A run that is stored."""

    run: FinishedRun
    #: Lines as the log keeps them.
    lines: Sequence[str]
    #: How many lines, drafts and runs the job has too many, with those of this run.
    excess: Sequence[int]
    notifications: Sequence[NewNotification]


def finish(runs: Sequence[tuple[FinishedRun, Retention]]) -> Operation[list[bool]]:
    """Store what *runs* leave behind, each of another job, in the order of their jobs; return which
    are kept."""
    # Events wait, that would not find those that wait for them.
    for key in sorted(
        {
            lock_key(run.wait.webhook.encode())
            for run, _ in runs
            if run.wait is not None and run.wait.webhook
        }
    ):
        yield statements.LOCK_WEBHOOK, {"key": key}
    tallies = yield from _lock(
        statements.LOCK_SCENARIOS_TO_FINISH, [run.job for run, _ in runs if run.epoch is None]
    )
    jobs = yield from _lock(
        statements.LOCK_JOBS_TO_FINISH, [run.job for run, _ in runs if run.epoch is not None]
    )
    plans = []
    for run, _ in runs:
        if run.epoch is not None and run.job in jobs:
            *counts, state, epoch, owner, failures, schedule = jobs[run.job]
            if epoch == run.epoch and owner and run.owner in ("", owner):
                tallies[run.job] = counts
                plan = next_plan(run, state=state, failures=failures, schedule=schedule)
                plans.append((run, plan))
    yield from _plan_next(plans)
    yield CONCLUDE
    paused = {run.job for run, plan in plans if plan.pauses}
    kept = [
        _Kept(
            run=run,
            lines=[cut_line(line) for line in run.lines],
            excess=_excess(run, retention, tallies[run.job]),
            notifications=notifications_of(run, pauses=run.job in paused),
        )
        for run, retention in runs
        if run.job in tallies
    ]
    if kept:
        # Numbers are given out last: rows of jobs and tallies are waited for before.
        yield from _count(kept)
        yield from _write(kept)
    return [run.job in tallies for run, _ in runs]


def _lock(statement: str, ids: list[str]) -> Operation[dict[str, Sequence[Any]]]:
    """Return the rest of the row of each that is there still."""
    rows = (yield statement, {"ids": ids}) if ids else []
    return {id: rest for id, *rest in rows}


def _plan_next(plans: Sequence[tuple[FinishedRun, Plan]]) -> Operation[None]:
    if not plans:
        return
    rows: list[Row] = []
    for run, plan in plans:
        wait = run.wait if plan.waits else None
        rows.append(
            (
                *(
                    run.job,
                    plan.state,
                    plan.due,
                    plan.planned,
                    plan.changed,
                    plan.failures,
                    int(run.ran),
                ),
                *((run.started, run.finished) if run.ran else (None, None)),
                plan.reason,
                *(
                    (clean(wait.step), wait.number, wait.webhook, clean(wait.saved))
                    if wait
                    else ("", 0, "", "")
                ),
            )
        )
    yield statements.PLAN_NEXT, {"plans": Table(rows)}
    dues = [plan.due for _, plan in plans if plan.due is not None]
    waiting = [
        run.job for run, plan in plans if plan.waits and run.wait is not None and run.wait.webhook
    ]
    if waiting:
        dues += [due for (due,) in (yield statements.WAKE_AT_ONCE, {"ids": waiting})]
    if dues:
        yield Ring(min(dues), max(run.finished for run, _ in plans))


def _excess(run: FinishedRun, retention: Retention, tallies: Sequence[int]) -> tuple[int, int, int]:
    lines, drafts, runs = (
        tallies[0] + len(run.lines),
        tallies[1] + len(run.drafts),
        tallies[2] + run.ran,
    )
    # A few more than the limit do no harm, and trimming at every run costs time.
    is_full = runs > retention.runs + retention.runs // 16
    return (
        _beyond(lines, retention.log_lines),
        _beyond(drafts, retention.mempool_entries),
        _beyond(runs, retention.runs) if is_full else 0,
    )


def _beyond(count: int, limit: int) -> int:
    return max(0, count - limit) if limit else 0


def _count(kept: Sequence[_Kept]) -> Operation[None]:
    """Store that there were these runs: all that needs no number which others follow."""
    added: list[Row] = []
    for each in kept:
        run, (lines, drafts, runs) = each.run, each.excess
        added.append((run.job, len(run.lines) - lines, len(run.drafts) - drafts, run.ran - runs))
    yield statements.COUNT_UP, {"added": Table(added)}
    used: list[Row] = [
        (each.run.job, *event) for each in kept for event in each.run.used_events.items()
    ]
    if used:
        yield statements.MARK_EVENTS, {"used": Table(used)}
    ended: list[Row] = [
        (
            *(run.job, run.epoch, _occurrence(run)),
            *(run.planned, run.started, run.finished),
            *(run.former_lines + len(run.lines), run.former_drafts + len(run.drafts)),
            *(clean(run.failure), write_steps(run.steps)),
        )
        for run in (each.run for each in kept)
        if run.ran
    ]
    if ended:
        yield statements.ADD_RUNS, {"ended": Table(ended)}
    redrafted = [
        each.run.job
        for each in kept
        if each.notifications and any(draft.is_transaction for draft in each.run.drafts)
    ]
    if redrafted:
        yield statements.FORGET_EXPIRING, {"jobs": redrafted}
    for each in kept:
        yield from trim_rows(RUNS, each.run.job, excess=each.excess[2])


def _write(kept: Sequence[_Kept]) -> Operation[None]:
    """Store the lines and drafts of runs, and what is to be told of them."""
    drafts: list[Row] = [
        (
            *(each.run.job, _occurrence(each.run)),
            *(_cleaned(getattr(draft, name)) for name in statements.DRAFT_COLUMNS.split(", ")),
        )
        for each in kept
        for draft in each.run.drafts
    ]
    if drafts:
        yield statements.ADD_DRAFTS, {"drafts": Table(drafts)}
    lines: list[Row] = [
        (each.run.job, each.run.finished, line) for each in kept for line in each.lines
    ]
    if lines:
        yield statements.ADD_LINES, {"lines": Table(lines)}
    for each in kept:
        yield from _notify(each.notifications, each.run)
    # Read before the oldest are removed.
    for each in kept:
        yield from trim_rows(LINES, each.run.job, excess=each.excess[0])
        yield from trim_rows(DRAFTS, each.run.job, excess=each.excess[1])


def _notify(notifications: Sequence[NewNotification], run: FinishedRun) -> Operation[None]:
    """Store notifications; *run* has just left its drafts, which are the newest of its job."""
    rows: list[Row] = [
        (each.id, each.job, str(each.event), each.created, each.url, clean(each.reason))
        for each in notifications
    ]
    if rows:
        given = {"added": Table(rows), "job": run.job, "count": len(run.drafts)}
        yield statements.ADD_NOTIFICATIONS, given


def _occurrence(run: FinishedRun) -> int | None:
    return None if run.epoch is None else run.planned


def _cleaned(value: Any) -> Any:
    return clean(value) if isinstance(value, str) else value


@dataclass(frozen=True, kw_only=True)
class WaitingDraft:
    """The newest draft of a job that could be signed."""

    job: str
    seq: int
    expires: int
    #: How many drafts of the job wait, this one counted.
    count: int


@dataclass(frozen=True, kw_only=True)
class WaitingDrafts:
    """Drafts that somebody should sign.

    A draft waits while it is neither expired nor flagged, and until it, or a newer draft of the
    same job and node, is sent.
    """

    items: tuple[WaitingDraft, ...] = ()
    #: How many jobs have such a draft, and how many of them will soon have none.
    total: int = 0
    expiring: int = 0


#: The tables whose numbers clients resume from.
Counter: TypeAlias = Literal["log_lines", "mempool", "runs"]

#: Drafts that are read before it is seen how long they are.
_FEW = 10


def read_log(id: str | None, *, after: int, limit: int) -> Operation[list[LogLine]]:
    statement = statements.READ_LOG if id is None else statements.READ_LOG_OF_JOB
    rows = yield from _find_after(statement, id, after, limit)
    return [_read_line(row) for row in rows]


def read_mempool(id: str | None, *, after: int, limit: int) -> Operation[list[MempoolEntry]]:
    statement = statements.READ_MEMPOOL if id is None else statements.READ_MEMPOOL_OF_JOB
    found: list[MempoolEntry] = []
    room, some = PORTION, _FEW
    # A draft may be as long as a transaction.
    while not limit or (room > 0 and len(found) < limit):
        asked = min(some, limit - len(found)) if limit else 0
        rows = yield from _find_after(statement, id, found[-1].seq if found else after, asked)
        for entry in map(_read_entry, rows):
            if not limit or room > 0:
                found.append(entry)
                room -= len(entry.draft.tx)
        if len(rows) < asked or not limit:
            break
        some *= 4
    return found


def uuids_of_drafts(seqs: Sequence[int]) -> Operation[dict[int, str]]:
    return {
        seq: str(uuid) for seq, uuid in (yield statements.UUIDS_OF_DRAFTS, {"drafts": list(seqs)})
    }


def _find_after(statement: str, id: str | None, after: int, limit: int) -> Operation[list[Row]]:
    """Return up to *limit* rows (0: all), oldest first; NotFound for an unknown job."""
    bounds = {
        "after": max(-1, min(after, INTEGER_MAX)),
        "limit": min(limit, INTEGER_MAX) or INTEGER_MAX,
    }
    rows = yield statement, {"job": id, **bounds}
    if not rows and id is not None and (yield from find(statements.HAS_SCENARIO, id=id)) is None:
        raise unknown(id)
    return rows


def find_tail(id: str | None, *, lines: int, entries: int) -> Operation[tuple[int, int]]:
    statement = statements.FIND_TAIL if id is None else statements.FIND_TAIL_OF_JOB
    row = yield from find(statement, job=id, lines=lines, entries=entries)
    if row is None:
        raise unknown(str(id))
    return row[0], row[1]


def find_end() -> Operation[tuple[int, int]]:
    """Return the highest seq that any log line and any draft has been given, deleted ones
    included."""
    numbers: dict[str, int] = dict((yield from find_all(statements.FIND_END)))
    return numbers.get("log_lines", 0), numbers.get("mempool", 0)


def is_lost(counter: Counter, number: int) -> Operation[bool]:
    """Return whether *number* is of a row that the store has lost, in a failover or a restore to an
    earlier time."""
    row = yield from find(statements.IS_LOST, counter=counter, number=min(number, INTEGER_MAX))
    return bool(row and row[0])


def last_runs(id: str, *, limit: int, before: int) -> Operation[list[KeptRun]]:
    before = min(before, INTEGER_MAX) or INTEGER_MAX
    rows = yield statements.LAST_RUNS, {"job": id, "before": before, "limit": limit}
    return [_read_run(row) for row in rows]


def steps_of_run(id: str, number: int) -> Operation[StepResults]:
    """Return what became of the steps of a run; nothing if it isn't stored, or too large to be."""
    row = yield from find(statements.STEPS_OF_RUN, job=id, number=number)
    return read_steps(row[0]) if row else {}


def runs_of_each(ids: Sequence[str], *, limit: int) -> Operation[dict[str, list[KeptRun]]]:
    """Return the newest runs of each of these jobs, newest first.  Jobs without any are left
    out."""
    found: dict[str, list[KeptRun]] = {}
    if ids:
        rows = yield (
            statements.RUNS_OF_EACH,
            {"each": Table([(id,) for id in ids]), "others": limit - 1},
        )
        for job, *row in rows:
            found.setdefault(job, []).append(_read_run(tuple(row)))
    return found


def count_runs(ids: Sequence[str]) -> Operation[dict[str, tuple[int, KeptRun | None]]]:
    """Return how many runs each of these jobs has, and the newest, if it is kept still.  Jobs
    without any are left out."""
    rows = yield statements.COUNT_RUNS, {"jobs": list(ids)}
    return {
        job: (count, None if row[0] is None else _read_run(tuple(row))) for job, count, *row in rows
    }


def drafted_for() -> Operation[list[tuple[str, int]]]:
    """Return each chain and spec version that a draft without a flag was made for, once."""
    found: list[tuple[str, int]] = []
    chain, version = "", -1
    while row := (yield from find(statements.NEXT_DRAFTED_FOR, chain=chain, spec_version=version)):
        chain, version = row
        found.append((chain, version))
    return found


def read_drafts(
    chain: str, spec_version: int, *, after: int = 0, limit: int = 500
) -> Operation[list[MempoolEntry]]:
    """Return drafts for that runtime without a flag and with a seq above *after*."""
    rows = yield (
        statements.READ_DRAFTS,
        {"chain": chain, "spec_version": spec_version, "after": after, "limit": limit},
    )
    return [entry for entry in map(_read_entry, rows) if entry.draft.tx != NO_TRANSACTION]


def _read_line(row: Row) -> LogLine:
    seq, job, written, text = row
    return LogLine(seq=seq, job=job, written=written, text=text)


def _read_entry(row: Row) -> MempoolEntry:
    seq, job, flag, chain, amount, tx_type, date, tx, spec_version, expires, *rest = row
    node, human, uuid, beside, occurrence, call = rest
    draft = MempoolDraft(
        chain=chain,
        amount=amount,
        tx_type=tx_type,
        date=date,
        tx=tx,
        spec_version=spec_version,
        expires=expires,
        node=node,
        human=human,
        uuid=uuid,
        beside=beside,
        call=call,
    )
    return MempoolEntry(seq=seq, job=job, flag=flag, draft=draft, occurrence=occurrence)


def _read_run(row: Row) -> KeptRun:
    number, planned, started, finished, drafts, failure = row
    return KeptRun(
        number=number,
        planned=planned,
        started=started,
        finished=finished,
        drafts=drafts,
        failure=failure,
    )
