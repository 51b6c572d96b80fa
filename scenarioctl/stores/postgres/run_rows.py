"""What runs leave behind, in PostgreSQL: plain functions over a connection, whose transactions are the caller's."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from scenarioctl.model.jobs import (
    NO_TRANSACTION,
    FinishedRun,
    KeptRun,
    LogLine,
    MempoolDraft,
    MempoolEntry,
    Retention,
)
from scenarioctl.model.notifications import NewNotification
from scenarioctl.stores import DEFAULT_RETENTION
from scenarioctl.stores.job_texts import Plan, next_plan, write_steps
from scenarioctl.stores.outbox import notifications_of, still_true
from scenarioctl.stores.postgres.connections import Connection
from scenarioctl.stores.postgres.deferrals import Deferrals
from scenarioctl.stores.postgres.locks import LOCK_NUMBERS_OF_RUNS
from scenarioctl.stores.postgres.retention import trim_bytes, trim_rows
from scenarioctl.stores.postgres.scenario_rows import exists
from scenarioctl.stores.postgres.schema import SCHEMA
from scenarioctl.stores.retention import DRAFTS, LINES, RUNS
from scenarioctl.stores.rows import ENTRY_COLUMNS, RUN_COLUMNS, read_entry, read_run
from scenarioctl.stores.texts import PORTION, clean, cut_line
from scenarioctl.stores.validation import INTEGER_MAX, unknown


@dataclass(frozen=True, kw_only=True)
class Lines:
    """Lines that a log gets between two runs, or during one."""

    job: str
    texts: Sequence[str]
    written: int
    retention: Retention


@dataclass(frozen=True, kw_only=True)
class Mark:
    """What a run waits for, and what it has logged so far."""

    epoch: int
    step: str
    lines: Lines
    #: The time that the run is for, if that is another one now.
    planned: int | None = None


async def mark_steps(connection: Connection, marks: Sequence[Mark]) -> list[bool]:
    """Note the steps of runs, each of another job, in the order of their jobs; return which runs are in progress."""
    rows = [
        (mark.lines.job, mark.epoch, clean(mark.step), bool(mark.lines.texts), mark.planned) for mark in marks
    ]
    marked = await connection.execute(
        "UPDATE jobs SET step = n.step, begun = CASE WHEN n.logged THEN 2 ELSE begun END,"
        # A stopped job has no planned time.
        " planned = CASE WHEN jobs.planned IS NOT NULL THEN coalesce(n.planned, jobs.planned) END"
        " FROM unnest(%s::text[], %s::bigint[], %s::text[], %s::boolean[], %s::bigint[])"
        " AS n (id, epoch, step, logged, planned)"
        " WHERE jobs.id = n.id AND jobs.epoch = n.epoch AND owner <> '' RETURNING jobs.id",
        _columns(rows),
    )
    known = {id for (id,) in await marked.fetchall()}
    await add_lines(
        connection, [mark.lines for mark in marks if mark.lines.texts and mark.lines.job in known]
    )
    return [mark.lines.job in known for mark in marks]


async def finish(
    connection: Connection, runs: Sequence[tuple[FinishedRun, Retention]], *, deferrals: Deferrals
) -> list[bool]:
    """Store what *runs* leave behind, each of another job, in the order of their jobs; return which are kept."""
    tallies = await _lock_scenarios(connection, [run.job for run, _ in runs if run.epoch is None])
    jobs = await _lock_jobs(connection, [run.job for run, _ in runs if run.epoch is not None])
    plans = []
    for run, _ in runs:
        if run.epoch is None or run.job not in jobs:
            continue
        *counts, state, epoch, owner, failures, schedule = jobs[run.job]
        if epoch == run.epoch and owner and run.owner in ("", owner):
            tallies[run.job] = counts
            plans.append((run, next_plan(run, state=state, failures=failures, schedule=schedule)))
    paused = {run.job for run, plan in plans if plan.pauses}
    if plans:
        await _plan_next(connection, plans, deferrals=deferrals)
    await connection.conclude()
    kept = [
        _KeptRun(
            run=run,
            retention=retention,
            tallies=tallies[run.job],
            notifications=notifications_of(run, pauses=run.job in paused),
        )
        for run, retention in runs
        if run.job in tallies
    ]
    if kept:
        # The lock of the numbers comes last: rows of jobs are waited for before.
        await _count(connection, kept)
        await _write(connection, kept)
    return [run.job in tallies for run, _ in runs]


@dataclass(frozen=True, kw_only=True)
class _KeptRun:
    run: FinishedRun
    retention: Retention
    #: How many lines, drafts and runs the job had before.
    tallies: Sequence[int]
    notifications: Sequence[NewNotification]


_TALLIES = "coalesce(t.lines, 0), coalesce(t.entries, 0), coalesce(t.runs, 0)"


async def _lock_scenarios(connection: Connection, ids: Sequence[str]) -> dict[str, Sequence[int]]:
    """Return how many lines, drafts and runs each has that is there still."""
    if not ids:
        return {}
    found = await connection.execute(
        f"SELECT s.id, {_TALLIES} FROM scenarios s LEFT JOIN tallies t ON t.job = s.id WHERE s.id = ANY(%s)"  # noqa: S608
        " ORDER BY s.id FOR KEY SHARE OF s",
        (list(ids),),
    )
    return {id: tallies for id, *tallies in await found.fetchall()}


async def _lock_jobs(connection: Connection, ids: Sequence[str]) -> dict[str, Sequence[Any]]:
    """Return how many lines, drafts and runs each job has, and what its next run depends on."""
    if not ids:
        return {}
    found = await connection.execute(
        f"SELECT j.id, {_TALLIES}, j.state, j.epoch, j.owner, j.failures, j.schedule::text"  # noqa: S608
        " FROM jobs j LEFT JOIN tallies t ON t.job = j.id WHERE j.id = ANY(%s) ORDER BY j.id FOR NO KEY UPDATE OF j",
        (list(ids),),
    )
    return {id: row for id, *row in await found.fetchall()}


async def _plan_next(
    connection: Connection, plans: Sequence[tuple[FinishedRun, Plan]], *, deferrals: Deferrals
) -> None:
    numbers = await deferrals.defer_soon(
        connection, [(run.job, plan.due) for run, plan in plans if plan.due is not None]
    )
    rows = [
        (
            *(run.job, plan.state, plan.due, plan.planned, numbers.get(run.job), plan.changed, plan.failures),
            *(int(run.ran), run.started if run.ran else None, run.finished if run.ran else None, plan.reason),
        )
        for run, plan in plans
    ]
    await connection.execute(
        """
        UPDATE jobs SET state = n.state, due = n.due, planned = n.planned, dispatch = n.dispatch,
            changed = coalesce(n.changed, jobs.changed), owner = '', step = '', begun = 0, failures = n.failures,
            runs = jobs.runs + n.ran, last_started = coalesce(n.started, last_started),
            last_finished = coalesce(n.finished, last_finished), reason = coalesce(n.reason, jobs.reason)
        FROM unnest(%s::text[], %s::text[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[],
                %s::bigint[], %s::bigint[], %s::bigint[], %s::text[])
            AS n (id, state, due, planned, dispatch, changed, failures, ran, started, finished, reason)
        WHERE jobs.id = n.id
        """,
        _columns(rows),
    )


def _columns(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


async def _count(connection: Connection, kept: Sequence[_KeptRun]) -> None:
    """Store that there were these runs."""
    await _count_up(
        connection,
        [(each.run.job, len(each.run.lines), len(each.run.drafts), int(each.run.ran)) for each in kept],
    )
    marks = [(each.run.job, uuid, event) for each in kept for uuid, event in each.run.used_events.items()]
    if marks:
        await connection.execute(
            "INSERT INTO webhook_marks AS m (job, uuid, event)"
            " SELECT * FROM unnest(%s::text[], %s::text[], %s::bigint[])"
            " ON CONFLICT (job, uuid) DO UPDATE SET event = greatest(m.event, excluded.event)",
            _columns(marks),
        )
    ran = [each for each in kept if each.run.ran]
    if ran:
        rows = [
            (
                *(run.job, run.epoch, run.planned, run.started, run.finished),
                *(len(run.lines), len(run.drafts), clean(run.failure), write_steps(run.steps)),
            )
            for run in (each.run for each in ran)
        ]
        await connection.execute(
            "INSERT INTO runs (job, epoch, planned, started, finished, lines, drafts, failure, steps)"
            " SELECT * FROM unnest(%s::text[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[],"
            " %s::integer[], %s::integer[], %s::text[], %s::text[])",
            _columns(rows),
        )
    for each in ran:
        # A few more than the limit do no harm, and trimming at every run costs time.
        limit, runs = each.retention.runs, each.tallies[2] + 1
        if 0 < limit < runs - limit // 16:
            await trim_rows(connection, RUNS, each.run.job, excess=runs - limit)


async def _write(connection: Connection, kept: Sequence[_KeptRun]) -> None:
    """Store the lines and drafts of runs."""
    lines = [[cut_line(line) for line in each.run.lines] for each in kept]
    redrafted = [
        each.run.job
        for each in kept
        if each.notifications and any(draft.is_transaction for draft in each.run.drafts)
    ]
    if redrafted:
        await _forget_expiring(connection, redrafted)
    await _insert(
        connection,
        [
            (each.run.job, each.run.finished, line)
            for each, some in zip(kept, lines, strict=True)
            for line in some
        ],
        [(each.run.job, draft) for each in kept for draft in each.run.drafts],
        [notification for each in kept for notification in each.notifications],
    )
    for each, some in zip(kept, lines, strict=True):
        drafts = [draft.tx for draft in each.run.drafts]
        retention = each.retention
        for table, added, count, limit, size in (
            (LINES, some, each.tallies[0], retention.log_lines, retention.log_bytes),
            (DRAFTS, drafts, each.tallies[1], retention.mempool_entries, retention.mempool_bytes),
        ):
            if limit:
                await trim_rows(connection, table, each.run.job, excess=count + len(added) - limit)
            await trim_bytes(connection, table, each.run.job, added=added, limit=size, rows=limit)


async def _count_up(connection: Connection, added: Sequence[tuple[str, int, int, int]]) -> None:
    """Count so many more lines, drafts and runs of each job."""
    await connection.execute(
        "INSERT INTO tallies AS t (job, lines, entries, runs)"
        " SELECT * FROM unnest(%s::text[], %s::bigint[], %s::bigint[], %s::bigint[]) ON CONFLICT (job) DO UPDATE"
        " SET lines = t.lines + excluded.lines, entries = t.entries + excluded.entries, runs = t.runs + excluded.runs",
        _columns(added),
    )


#: One message has the lock of the numbers with all that is written under it, so that no slow sender holds the lock.
_LINES = f"""
    WITH locked AS MATERIALIZED (SELECT {LOCK_NUMBERS_OF_RUNS}),
    lines AS (
        INSERT INTO log_lines (job, written, text)
            SELECT job, written, text FROM locked, unnest(%s::text[], %s::bigint[], %s::text[])
                WITH ORDINALITY AS each (job, written, text, place)
            ORDER BY place
    )
"""  # noqa: S608 - of a constant
_DRAFTS = """
    INSERT INTO mempool (job, chain, amount, tx_type, date, spec_version, expires, node, tx, human, flag)
        SELECT job, chain, amount, tx_type, date, spec_version, expires, node, tx, human, ''
        FROM locked, unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::bigint[], %s::bigint[], %s::bigint[],
            %s::text[], %s::text[], %s::text[])
            WITH ORDINALITY AS each (job, chain, amount, tx_type, date, spec_version, expires, node, tx, human, place)
        ORDER BY place
"""
_INSERT = _LINES + _DRAFTS
#: The columns of `_notification_rows`.
_NOTIFICATION = "id, job, event, created, format, url, drafts, reason"
#: Their types, for `unnest`.
_NOTIFICATION_TYPES = (
    "%s::text[], %s::text[], %s::text[], %s::bigint[], %s::text[], %s::text[], %s::text[], %s::text[]"
)
#: With notifications that name the drafts. A statement of a transaction that is concluded can't read those numbers first.
_INSERT_AND_NOTIFY = f"""
    {_LINES}, drafts AS ({_DRAFTS} RETURNING job, seq, spec_version, tx)
    INSERT INTO notifications ({_NOTIFICATION}, due, attempts, error)
        SELECT id, n.job, event, created, format, url, coalesce(n.drafts, (
                SELECT json_agg(seq ORDER BY seq)::text FROM drafts AS d
                WHERE d.job = n.job AND spec_version IS NOT NULL AND tx <> '{NO_TRANSACTION}'
            ), '[]'), reason, created, 0, ''
        FROM unnest({_NOTIFICATION_TYPES}) AS n ({_NOTIFICATION})
"""  # noqa: S608 - of constants
_LINE = 3
_DRAFT = ("chain", "amount", "tx_type", "date", "spec_version", "expires", "node", "tx", "human")


async def _insert(
    connection: Connection,
    lines: Sequence[tuple[str, int, str]],
    drafts: Sequence[tuple[str, MempoolDraft]] = (),
    notifications: Sequence[NewNotification] = (),
) -> None:
    """Write lines, each with its job and time, and drafts; their numbers grow in the order of the commits."""
    if lines or drafts or notifications:
        rows = [(job, *(_cleaned(getattr(draft, name)) for name in _DRAFT)) for job, draft in drafts]
        await connection.execute(
            _INSERT_AND_NOTIFY if notifications else _INSERT,
            [
                *(_columns(lines) if lines else [[]] * _LINE),
                *(_columns(rows) if rows else [[]] * (1 + len(_DRAFT))),
                *(_columns(_notification_rows(notifications)) if notifications else ()),
            ],
        )


def _cleaned(value: Any) -> Any:
    return clean(value) if isinstance(value, str) else value


async def add_lines(connection: Connection, added: Sequence[Lines]) -> None:
    """Add lines to logs, each of another job, in the order of their jobs."""
    await connection.conclude()
    if not added:
        return
    cut = [(lines, [cut_line(text) for text in lines.texts]) for lines in added]
    await _count_up(connection, [(lines.job, len(texts), 0, 0) for lines, texts in cut])
    await _insert(connection, [(lines.job, lines.written, text) for lines, texts in cut for text in texts])
    for lines, texts in cut:
        limit, rows = lines.retention.log_bytes, lines.retention.log_lines
        await trim_bytes(connection, LINES, lines.job, added=texts, limit=limit, rows=rows)


async def read_log(connection: Connection, id: str | None, *, after: int, limit: int) -> list[LogLine]:
    condition, values = ("", []) if id is None else ("job = %s AND", [id])
    found = await connection.execute(
        f"SELECT seq, job, written, text FROM log_lines WHERE {condition} seq > %s ORDER BY seq LIMIT %s",  # noqa: S608
        (*values, _bounded(after), min(limit, INTEGER_MAX) or None),
    )
    rows = await found.fetchall()
    if not rows and id is not None and not await exists(connection, id):
        raise unknown(id)
    return [LogLine(seq=seq, job=job, written=written, text=text) for seq, job, written, text in rows]


async def read_mempool(
    connection: Connection, id: str | None, *, after: int, limit: int
) -> list[MempoolEntry]:
    condition, values = ("", []) if id is None else ("job = %s AND", [id])
    source = f"SELECT {ENTRY_COLUMNS} FROM mempool WHERE {condition} seq > %s ORDER BY seq LIMIT %s"  # noqa: S608
    question: list[Any] = [*values, _bounded(after), min(limit, INTEGER_MAX) or None]
    if limit:
        # A draft may be as long as a transaction.
        source = (
            f"SELECT {ENTRY_COLUMNS} FROM (SELECT *, sum(octet_length(tx)) OVER (ORDER BY seq) - octet_length(tx) AS before"  # noqa: S608
            f" FROM ({source}) AS portion) AS each WHERE before < %s ORDER BY seq"
        )
        question.append(PORTION)
    rows = await (await connection.execute(source, question)).fetchall()
    if not rows and id is not None and not await exists(connection, id):
        raise unknown(id)
    return [read_entry(row) for row in rows]


async def find_tail(connection: Connection, id: str | None, *, lines: int, entries: int) -> tuple[int, int]:
    if id is not None and not await exists(connection, id):
        raise unknown(id)
    line = await _seq_before(connection, "log_lines", id, lines)
    return line, await _seq_before(connection, "mempool", id, entries)


async def find_end(connection: Connection) -> tuple[int, int]:
    found = await connection.execute(
        "SELECT sequencename, coalesce(last_value, 0) FROM pg_sequences WHERE schemaname = %s", (SCHEMA,)
    )
    numbers: dict[str, int] = dict(await found.fetchall())
    return numbers["log_lines_seq_seq"], numbers["mempool_seq_seq"]


async def _seq_before(connection: Connection, table: str, id: str | None, count: int) -> int:
    """Return the seq of the row before the newest *count*; 0 if there is none."""
    condition, values = ("", ()) if id is None else ("WHERE job = %s", (id,))
    found = await connection.execute(
        f"SELECT seq FROM {table} {condition} ORDER BY seq DESC LIMIT 1 OFFSET %s",  # noqa: S608
        (*values, count),
    )
    row = await found.fetchone()
    return row[0] if row else 0


async def last_runs(connection: Connection, id: str, *, limit: int, before: int = 0) -> list[KeptRun]:
    return (await runs_of_each(connection, [id], limit=limit, before=before)).get(id, [])


async def runs_of_each(
    connection: Connection, ids: Sequence[str], *, limit: int, before: int = 0
) -> dict[str, list[KeptRun]]:
    found = await connection.execute(
        f"SELECT run.* FROM unnest(%s::text[]) AS each (id), LATERAL (SELECT job, {RUN_COLUMNS} FROM runs"  # noqa: S608
        " WHERE job = each.id AND seq < %s ORDER BY seq DESC LIMIT %s) AS run",
        (list(ids), min(before, INTEGER_MAX) or INTEGER_MAX, limit),
    )
    runs: dict[str, list[KeptRun]] = {}
    for job, *row in await found.fetchall():
        runs.setdefault(job, []).append(read_run(tuple(row)))
    # In the order of the join, which nobody promises.
    return {job: sorted(some, key=lambda run: run.number, reverse=True) for job, some in runs.items()}


async def drafted_for(connection: Connection) -> list[tuple[str, int]]:
    # Each step seeks the next pair in the index, past all drafts of the previous pair.
    found = await connection.execute(
        """
        WITH RECURSIVE found AS (
            (SELECT chain, spec_version FROM mempool WHERE flag = '' AND spec_version IS NOT NULL
                ORDER BY chain, spec_version LIMIT 1)
            UNION ALL
            SELECT following.* FROM found, LATERAL (
                SELECT chain, spec_version FROM mempool WHERE flag = '' AND spec_version IS NOT NULL
                    AND (chain, spec_version) > (found.chain, found.spec_version)
                ORDER BY chain, spec_version LIMIT 1
            ) AS following
        )
        SELECT chain, spec_version FROM found
        """
    )
    return [(chain, version) for chain, version in await found.fetchall()]


async def read_drafts(
    connection: Connection, chain: str, spec_version: int, *, after: int, limit: int
) -> list[MempoolEntry]:
    found = await connection.execute(
        f"SELECT {ENTRY_COLUMNS} FROM mempool WHERE flag = '' AND spec_version IS NOT NULL AND chain = %s"  # noqa: S608
        " AND spec_version = %s AND seq > %s ORDER BY seq LIMIT %s",
        (chain, spec_version, after, limit),
    )
    entries = [read_entry(row) for row in await found.fetchall()]
    return [entry for entry in entries if entry.draft.tx != NO_TRANSACTION]


async def flag_drafts(
    connection: Connection,
    flags: "dict[int, str]",
    *,
    now: int,
    lines: "dict[str, list[str]]",
    notifications: Sequence[NewNotification],
) -> None:
    # Two processes may flag the same draft; the log says it once.
    changed = await connection.execute(
        "UPDATE mempool SET flag = each.flag FROM unnest(%s::bigint[], %s::text[]) AS each (seq, flag)"
        " WHERE mempool.seq = each.seq AND mempool.flag = '' RETURNING job, mempool.seq",
        (list(flags), [clean(why) for why in flags.values()]),
    )
    rows = await changed.fetchall()
    flagged, seqs = {job for job, _ in rows}, {seq for _, seq in rows}
    stored = await connection.execute(
        "SELECT id FROM scenarios WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE", (list(lines),)
    )
    await add_lines(
        connection,
        [
            Lines(job=job, texts=lines[job], written=now, retention=DEFAULT_RETENTION)
            for (job,) in await stored.fetchall()
            if (job in flagged or not flags) and lines[job]
        ],
    )
    await _notify(connection, still_true(notifications, seqs))


async def note(connection: Connection, job: str, line: str, *, now: int) -> None:
    """Add a line to the log of the job, if there is one."""
    found = await connection.execute("SELECT FROM jobs WHERE id = %s", (job,))
    if await found.fetchone() is not None:
        await add_lines(connection, [Lines(job=job, texts=[line], written=now, retention=DEFAULT_RETENTION)])


def _bounded(seq: int) -> int:
    return max(-1, min(seq, INTEGER_MAX))


def _notification_rows(notifications: Sequence[NewNotification]) -> list[tuple[Any, ...]]:
    """Return the values of notifications; `drafts` is NULL if they are those of a run."""
    return [
        (
            *(each.id, each.job, str(each.event), each.created, str(each.format), each.url),
            *(None if each.has_run_drafts else json.dumps(list(each.drafts)), clean(each.reason)),
        )
        for each in notifications
    ]


async def _notify(connection: Connection, notifications: Sequence[NewNotification]) -> None:
    """Store notifications that are not of a run."""
    if notifications:
        await connection.execute(
            f"INSERT INTO notifications ({_NOTIFICATION}, due, attempts, error)"  # noqa: S608
            f" SELECT {_NOTIFICATION}, created, 0, '' FROM unnest({_NOTIFICATION_TYPES}) AS n ({_NOTIFICATION})",
            [list(column) for column in zip(*_notification_rows(notifications), strict=True)],
        )


async def _forget_expiring(connection: Connection, jobs: Collection[str]) -> None:
    """Remove what was to be said of older drafts of the jobs, now that there are newer ones."""
    await connection.execute(
        "DELETE FROM notifications WHERE job = ANY(%s) AND event = 'draft_expiring' AND attempts = 0",
        (list(jobs),),
    )
