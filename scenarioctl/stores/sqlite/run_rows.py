"""What runs leave behind, in SQLite: plain functions over a connection, whose transactions are the caller's."""

import json
from collections.abc import Iterable, Sequence
from sqlite3 import Connection
from typing import Any

from scenarioctl.model.jobs import (
    NO_TRANSACTION,
    FinishedRun,
    KeptRun,
    LogLine,
    MempoolEntry,
    Retention,
)
from scenarioctl.model.notifications import NewNotification
from scenarioctl.stores import DEFAULT_RETENTION
from scenarioctl.stores.job_texts import next_plan, write_steps
from scenarioctl.stores.outbox import notifications_of, still_true
from scenarioctl.stores.retention import DRAFTS, LINES, RUNS
from scenarioctl.stores.rows import ENTRY_COLUMNS, RUN_COLUMNS, read_entry, read_run
from scenarioctl.stores.sqlite.database_file import one_moment
from scenarioctl.stores.sqlite.retention import trim_bytes, trim_rows
from scenarioctl.stores.sqlite.scenario_rows import exists
from scenarioctl.stores.texts import PORTION, clean, cut_line
from scenarioctl.stores.validation import INTEGER_MAX, unknown

#: Rows that one statement inserts: with each statement, the thread gives the interpreter up once.
_ROWS_AT_ONCE = 50

_ENTRY = f"{ENTRY_COLUMNS} FROM mempool"


def mark_step(
    database: Connection,
    id: str,
    *,
    epoch: int,
    step: str,
    lines: Sequence[str],
    now: int,
    planned: int | None,
    retention: Retention,
) -> bool:
    marked = database.execute(
        "UPDATE jobs SET step = ?, begun = CASE WHEN ? THEN 2 ELSE begun END,"
        # A stopped job has no planned time.
        " planned = CASE WHEN planned IS NOT NULL THEN coalesce(?, planned) END"
        " WHERE id = ? AND epoch = ? AND owner <> ''",
        (clean(step), bool(lines), planned, id, epoch),
    )
    if marked.rowcount and lines:
        add_lines(database, id, lines, now, retention)
    return bool(marked.rowcount)


def finish(database: Connection, run: FinishedRun, *, retention: Retention) -> bool:
    row = database.execute(
        "SELECT s.id, t.lines, t.entries, t.runs, j.state, j.epoch, j.owner, j.failures, j.schedule"
        " FROM scenarios s LEFT JOIN tallies t ON t.job = s.id LEFT JOIN jobs j ON j.id = s.id WHERE s.id = ?",
        (run.job,),
    ).fetchone()
    if row is None:
        return False
    _, lines, entries, runs, state, epoch, owner, failures, schedule = row
    if run.epoch is not None and (epoch != run.epoch or not owner or run.owner not in ("", owner)):
        return False
    _keep(database, run)
    # Read before the oldest are removed.
    drafts = _drafts_of(database, run) if run.notifications else []
    lines = trim_rows(
        database, LINES, run.job, count=(lines or 0) + len(run.lines), limit=retention.log_lines
    )
    lines -= trim_bytes(
        database, LINES, run.job, added=run.lines, limit=retention.log_bytes, rows=retention.log_lines
    )
    entries = trim_rows(
        database, DRAFTS, run.job, count=(entries or 0) + len(run.drafts), limit=retention.mempool_entries
    )
    entries -= trim_bytes(
        database,
        DRAFTS,
        run.job,
        added=[draft.tx for draft in run.drafts],
        limit=retention.mempool_bytes,
        rows=retention.mempool_entries,
    )
    runs = (runs or 0) + run.ran
    # A few more than the limit do no harm, and trimming at every run costs time.
    if runs > retention.runs + retention.runs // 16:
        runs = trim_rows(database, RUNS, run.job, count=runs, limit=retention.runs)
    database.execute(
        "INSERT INTO tallies (job, lines, entries, runs) VALUES (?, ?, ?, ?) ON CONFLICT (job) DO UPDATE"
        " SET lines = excluded.lines, entries = excluded.entries, runs = excluded.runs",
        (run.job, lines, entries, runs),
    )
    pauses = run.epoch is not None and _plan_next(
        database, run, state=state, failures=failures, schedule=schedule
    )
    if run.notifications:
        if drafts:
            _forget_expiring(database, run.job)
        _notify(database, notifications_of(run, pauses=pauses), run_drafts=drafts)
    return True


def _drafts_of(database: Connection, run: FinishedRun) -> list[int]:
    """Return the numbers of the transactions of *run*, whose drafts are the newest rows."""
    (last,) = database.execute("SELECT coalesce(max(seq), 0) FROM mempool").fetchone()
    first = last - len(run.drafts) + 1
    return [first + place for place, draft in enumerate(run.drafts) if draft.is_transaction]


def _plan_next(database: Connection, run: FinishedRun, *, state: str, failures: int, schedule: str) -> bool:
    """Plan the next run; return whether the job is paused instead."""
    plan = next_plan(run, state=state, failures=failures, schedule=schedule)
    database.execute(
        "UPDATE jobs SET state = ?, due = ?, planned = ?, changed = coalesce(?, changed), owner = '', step = '',"
        " begun = 0, failures = ?, runs = runs + ?, last_started = CASE WHEN ? THEN ? ELSE last_started END,"
        " last_finished = CASE WHEN ? THEN ? ELSE last_finished END, reason = CASE WHEN ? THEN ? ELSE reason END WHERE id = ?",
        (
            *(plan.state, plan.due, plan.planned, plan.changed, plan.failures, run.ran),
            *(run.ran, run.started, run.ran, run.finished),
            *(plan.reason is not None, plan.reason, run.job),
        ),
    )
    return plan.pauses


def read_log(database: Connection, id: str | None, *, after: int, limit: int) -> list[LogLine]:
    rows = _rows_after(database, "seq, job, written, text FROM log_lines", id, after=after, limit=limit)
    return [_read_line(row) for row in rows]


def find_tail(database: Connection, id: str | None, *, lines: int, entries: int) -> tuple[int, int]:
    if id is not None and not exists(database, id):
        raise unknown(id)
    return _seq_before(database, "FROM log_lines", id, lines), _seq_before(
        database, "FROM mempool", id, entries
    )


def find_end(database: Connection) -> tuple[int, int]:
    numbers: dict[str, int] = dict(database.execute("SELECT name, seq FROM sqlite_sequence").fetchall())
    return numbers.get("log_lines", 0), numbers.get("mempool", 0)


def _seq_before(database: Connection, source: str, id: str | None, count: int) -> int:
    """Return the seq of the row before the newest *count*; 0 if there is none."""
    condition, values = ("", ()) if id is None else ("WHERE job = ?", (id,))
    row = database.execute(
        f"SELECT seq {source} {condition} ORDER BY seq DESC LIMIT 1 OFFSET ?", (*values, count)
    ).fetchone()
    return row[0] if row else 0


def last_runs(database: Connection, id: str, *, limit: int, before: int = 0) -> list[KeptRun]:
    rows = database.execute(
        f"SELECT {RUN_COLUMNS} FROM runs WHERE job = ? AND seq < ? ORDER BY seq DESC LIMIT ?",  # noqa: S608
        (id, min(before, INTEGER_MAX) or INTEGER_MAX, limit),
    ).fetchall()
    return [
        read_run(row)
        for row in rows
        # A damaged row must not hide the others.
        if tuple(map(type, row)) == (int, int, int, int, int, str, str)
    ]


def runs_of_each(database: Connection, ids: Iterable[str], *, limit: int) -> dict[str, list[KeptRun]]:
    found = {id: last_runs(database, id, limit=limit) for id in ids}
    return {id: runs for id, runs in found.items() if runs}


def read_mempool(database: Connection, id: str | None, *, after: int, limit: int) -> list[MempoolEntry]:
    found = []
    room = PORTION
    # A draft may be as long as a transaction.
    for row in _rows_after(database, _ENTRY, id, after=after, limit=limit):
        found.append(read_entry(row))
        room -= len(found[-1].draft.tx)
        if limit and room <= 0:
            break
    return found


def drafted_for(database: Connection) -> list[tuple[str, int]]:
    # Each step seeks the next pair in the index, past all drafts of the previous pair.
    found: list[tuple[str, int]] = []
    following = (
        "SELECT chain, spec_version FROM mempool WHERE flag = '' AND spec_version IS NOT NULL"
        " AND (chain, spec_version) > (?, ?) ORDER BY chain, spec_version LIMIT 1"
    )
    with one_moment(database):
        while row := database.execute(following, found[-1] if found else ("", -1)).fetchone():
            found.append(row)
    return [(chain, version) for chain, version in found if type(version) is int]


def read_drafts(
    database: Connection, chain: str, spec_version: int, *, after: int, limit: int
) -> list[MempoolEntry]:
    rows = database.execute(
        f"SELECT {_ENTRY} WHERE flag = '' AND spec_version IS NOT NULL AND chain = ? AND spec_version = ?"
        " AND seq > ? ORDER BY seq LIMIT ?",
        (chain, spec_version, after, limit),
    )
    return [entry for entry in map(read_entry, rows) if entry.draft.tx != NO_TRANSACTION]


def flag_drafts(
    database: Connection,
    flags: dict[int, str],
    *,
    now: int,
    lines: dict[str, list[str]],
    notifications: Sequence[NewNotification],
) -> None:
    flagged: set[str] = set()
    seqs: set[int] = set()
    for seq, why in flags.items():
        # Two processes may flag the same draft; the log says it once.
        changed = database.execute(
            "UPDATE mempool SET flag = ? WHERE seq = ? AND flag = ''", (clean(why), seq)
        )
        if changed.rowcount:
            (job,) = database.execute("SELECT job FROM mempool WHERE seq = ?", (seq,)).fetchone()
            flagged.add(job)
            seqs.add(seq)
    for job, texts in lines.items():
        if (job in flagged or not flags) and exists(database, job):
            add_lines(database, job, texts, now, DEFAULT_RETENTION)
    _notify(database, still_true(notifications, seqs))


def note(database: Connection, job: str, line: str, *, now: int) -> None:
    """Add a line to the log of the job, if there is one."""
    if database.execute("SELECT 1 FROM jobs WHERE id = ?", (job,)).fetchone():
        add_lines(database, job, [line], now, DEFAULT_RETENTION)


def _keep(database: Connection, run: FinishedRun) -> None:
    _insert(
        database,
        "log_lines (job, written, text)",
        [(run.job, run.finished, cut_line(line)) for line in run.lines],
    )
    _insert(
        database,
        "mempool (job, chain, amount, tx_type, date, spec_version, expires, node, flag, tx, human)",
        [
            (
                run.job,
                clean(draft.chain),
                clean(draft.amount),
                draft.tx_type,
                draft.date,
                draft.spec_version,
                draft.expires,
                clean(draft.node),
                "",
                clean(draft.tx),
                clean(draft.human),
            )
            for draft in run.drafts
        ],
    )
    if run.ran:
        database.execute(
            "INSERT INTO runs (job, epoch, planned, started, finished, lines, drafts, failure, steps)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                run.job,
                run.epoch,
                run.planned,
                run.started,
                run.finished,
                len(run.lines),
                len(run.drafts),
                clean(run.failure),
                write_steps(run.steps),
            ),
        )
    if run.used_events:
        database.executemany(
            "INSERT INTO webhook_marks (job, uuid, event) VALUES (?, ?, ?)"
            " ON CONFLICT (job, uuid) DO UPDATE SET event = max(event, excluded.event)",
            [(run.job, uuid, event) for uuid, event in run.used_events.items()],
        )


def add_lines(database: Connection, job: str, texts: Sequence[str], now: int, retention: Retention) -> None:
    """Add lines to a log between two runs, or during one."""
    _insert(database, "log_lines (job, written, text)", [(job, now, cut_line(text)) for text in texts])
    database.execute(
        "INSERT INTO tallies (job, lines, entries, runs) VALUES (?, ?, 0, 0)"
        " ON CONFLICT (job) DO UPDATE SET lines = lines + excluded.lines",
        (job, len(texts)),
    )
    removed = trim_bytes(
        database, LINES, job, added=texts, limit=retention.log_bytes, rows=retention.log_lines
    )
    if removed:
        database.execute("UPDATE tallies SET lines = lines - ? WHERE job = ?", (removed, job))


def _insert(database: Connection, into: str, rows: Sequence[tuple[Any, ...]]) -> None:
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        some = rows[first : first + _ROWS_AT_ONCE]
        marks = ", ".join([f"({', '.join('?' * len(some[0]))})"] * len(some))
        database.execute(f"INSERT INTO {into} VALUES {marks}", [value for row in some for value in row])  # noqa: S608


def _rows_after(
    database: Connection, what: str, id: str | None, *, after: int, limit: int
) -> Iterable[tuple[Any, ...]]:
    condition, values = ("", []) if id is None else ("job = ? AND", [id])
    rows = database.execute(
        f"SELECT {what} WHERE {condition} seq > ? ORDER BY seq LIMIT ?",
        (*values, max(-1, min(after, INTEGER_MAX)), min(limit, INTEGER_MAX) or -1),
    )
    first = rows.fetchone()
    if first is not None:
        yield first
        yield from rows
    elif id is not None and not exists(database, id):
        raise unknown(id)


def _read_line(row: tuple[Any, ...]) -> LogLine:
    seq, job, written, text = row
    if type(written) is not int or type(text) is not str:
        written, text = 0, "This line is damaged in the store"
    return LogLine(seq=seq, job=job, written=written, text=text)


def _notify(
    database: Connection, notifications: Sequence[NewNotification], *, run_drafts: Sequence[int] = ()
) -> None:
    """Store notifications; *run_drafts* are the numbers of the transactions that a run drafted."""
    for each in notifications:
        drafts = run_drafts if each.has_run_drafts else each.drafts
        database.execute(
            "INSERT INTO notifications (id, job, event, created, due, attempts, format, url, drafts, reason, error)"
            " VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, ?, '')",
            (
                *(each.id, each.job, each.event, each.created, each.created),
                *(each.format, each.url, json.dumps(list(drafts)), clean(each.reason)),
            ),
        )


def _forget_expiring(database: Connection, job: str) -> None:
    """Remove what was to be said of older drafts of the job, now that there are newer ones."""
    database.execute(
        "DELETE FROM notifications WHERE job = ? AND event = 'draft_expiring' AND attempts = 0", (job,)
    )
