"""Jobs in SQLite, and what their runs leave behind: plain functions over a connection, whose transactions are the caller's."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from sqlite3 import Connection
from types import NoneType
from typing import Any

from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.model.jobs import (
    NO_TRANSACTION,
    Claim,
    ClaimedJob,
    FinishedRun,
    Job,
    JobState,
    KeptRun,
    LogLine,
    MempoolDraft,
    MempoolEntry,
    Overlap,
    Retention,
    Schedule,
)
from scenarioctl.stores import JobPage, check_id
from scenarioctl.stores.sqlite.database_file import INTEGER_MAX, one_moment
from scenarioctl.stores.sqlite.scenario_rows import exists, unknown

#: What a job is read from; `_read_job` takes them in this order.
_COLUMNS = (
    "j.id, j.state, j.schedule, j.changed, j.due, j.planned, j.epoch, j.owner, j.step, j.runs, j.failures,"
    " j.last_started, j.last_finished, j.reason"
)
#: Rows that one statement inserts: each statement costs a turn of the threads.
_ROWS_AT_ONCE = 50
#: Rows that pruning removes before it lets others write.
_PRUNED_AT_ONCE = 2_000


def start(database: Connection, job: Job) -> bool:
    check_id(job.id)
    for field, moment in (("due", job.due), ("planned", job.planned), ("changed", job.changed)):
        if moment is not None and not 0 <= moment <= INTEGER_MAX:
            raise InvalidRequest(f"{field} {shorten(moment)} is not a time in nanoseconds since 1970")
    former = get(database, job.id)
    if former is not None and former.state is JobState.RUNNING:
        return False
    database.execute(
        "INSERT INTO jobs (id, state, due, planned, owner, epoch, begun, changed, runs, failures, step, reason, schedule)"
        " VALUES (?, 'running', ?, ?, '', 1, 0, ?, 0, 0, '', '', ?)"
        " ON CONFLICT (id) DO UPDATE SET state = 'running', due = excluded.due, planned = excluded.planned,"
        " owner = '', epoch = epoch + 1, begun = 0, changed = excluded.changed, runs = 0, failures = 0, step = '',"
        " reason = '', schedule = excluded.schedule",
        (job.id, job.due, job.planned, job.changed, json.dumps(asdict(job.schedule))),
    )
    return True


def stop(database: Connection, id: str, *, now: int) -> bool:
    stopped = database.execute(
        "UPDATE jobs SET state = 'stopped', due = NULL, planned = NULL, changed = ? WHERE id = ? AND state = 'running'",
        (now, id),
    )
    if not stopped.rowcount and not exists(database, id):
        raise unknown(id)
    return bool(stopped.rowcount)


def get(database: Connection, id: str) -> Job | None:
    row = database.execute(
        f"SELECT {_COLUMNS}, s.id FROM scenarios s LEFT JOIN jobs j ON j.id = s.id WHERE s.id = ?",  # noqa: S608
        (id,),
    ).fetchone()
    if row is None:
        raise unknown(id)
    return None if row[0] is None else _read_job(row)


def list_page(database: Connection, *, limit: int, after: str, state: JobState | None) -> JobPage:
    condition, values = ("j.state = ?", [str(state)]) if state is not None else ("1", [])
    with one_moment(database):
        rows = database.execute(
            f"SELECT {_COLUMNS} FROM jobs j WHERE {condition} AND j.id > ? ORDER BY j.id LIMIT ?",  # noqa: S608
            (*values, after, limit + 1),
        ).fetchall()
        (total,) = database.execute(f"SELECT count(*) FROM jobs j WHERE {condition}", values).fetchone()  # noqa: S608
    more = len(rows) > limit
    items = tuple(_read_job(row) for row in rows[:limit])
    return JobPage(items=items, total=total, next=items[-1].id if more else "")


def next_due(database: Connection) -> int | None:
    # Also leaves out what is NULL, or damaged and no number.
    row = database.execute(
        "SELECT due FROM jobs INDEXED BY jobs_by_due WHERE state = 'running' AND owner = '' AND due <= ?"
        " ORDER BY due LIMIT 1",
        (INTEGER_MAX,),
    ).fetchone()
    return row[0] if row else None


def may_claim(database: Connection, claim: Claim) -> bool:
    """Return whether a claim would find anything: a worker asks often, and writes only where there is need."""
    return (
        database.execute(
            "SELECT 1 WHERE EXISTS (SELECT 1 FROM jobs INDEXED BY jobs_by_due WHERE state = 'running' AND owner = '' AND due <= ?)"
            " OR EXISTS (SELECT 1 FROM leases WHERE deadline <= ? AND owner <> ?)",
            (claim.now, claim.moment, claim.owner),
        ).fetchone()
        is not None
    )


def claim_due(database: Connection, claim: Claim) -> list[ClaimedJob]:
    # Who was frozen alone still has what nobody else took: to claim it again would be to begin its runs anew.
    expired = database.execute(
        "SELECT owner FROM leases WHERE deadline <= ? AND owner <> ?", (claim.moment, claim.owner)
    )
    for (owner,) in expired.fetchall():
        free(database, owner)
    claimed: list[ClaimedJob] = []
    damaged: list[tuple[int, str, str]] = []
    # Left to itself, SQLite walks all jobs of the state in place of the index that has what is due in order.
    due = database.execute(
        f"SELECT {_COLUMNS}, j.begun, s.blob, s.summary FROM jobs j INDEXED BY jobs_by_due CROSS JOIN scenarios s ON s.id = j.id"  # noqa: S608
        " WHERE j.state = 'running' AND j.owner = '' AND j.due <= ? ORDER BY j.due, j.id",
        (claim.now,),
    )
    for row in due:
        job = _read_job(row)
        begun, blob, summary = row[-3:]
        if job.state is not JobState.RUNNING:
            damaged.append((claim.now, _DAMAGED, job.id))
            continue
        if not isinstance(blob, bytes) or not isinstance(summary, str):
            damaged.append((claim.now, _SCENARIO_DAMAGED, job.id))
            continue
        claimed.append(
            ClaimedJob(job=job, blob=blob, summary=summary, interrupted=bool(begun), logged=begun == 2)
        )
        if len(claimed) >= claim.limit:
            break
    due.close()
    # A job that cannot be read must neither stop the others nor be found due for ever.
    database.executemany(
        "UPDATE jobs SET state = 'paused', due = NULL, planned = NULL, changed = ?, reason = ? WHERE id = ?",
        damaged,
    )
    if not claimed:
        return []
    database.execute(
        "UPDATE jobs SET owner = ?, epoch = epoch + 1, begun = max(begun, 1), step = '', last_started = ?"
        " WHERE id IN (SELECT value FROM json_each(?))",
        (claim.owner, claim.now, json.dumps([one.job.id for one in claimed])),
    )
    _renew(database, claim.owner, claim.moment + claim.lease)
    return [
        ClaimedJob(
            job=replace(one.job, owner=claim.owner, epoch=one.job.epoch + 1, step="", last_started=claim.now),
            blob=one.blob,
            summary=one.summary,
            interrupted=one.interrupted,
            logged=one.logged,
        )
        for one in claimed
    ]


def holds(database: Connection, owner: str) -> bool:
    """Return whether the store knows *owner* at all."""
    return (
        database.execute(
            "SELECT 1 WHERE EXISTS (SELECT 1 FROM leases WHERE owner = ?)"
            " OR EXISTS (SELECT 1 FROM jobs WHERE owner <> '' AND owner = ?)",
            (owner, owner),
        ).fetchone()
        is not None
    )


def renew(database: Connection, owner: str, *, deadline: int) -> set[str]:
    rows = database.execute("SELECT id FROM jobs WHERE owner <> '' AND owner = ?", (owner,))
    held = {id for (id,) in rows}
    if held:
        _renew(database, owner, deadline)
    return held


def owners(database: Connection) -> set[str]:
    # A few processes, each looked up once: the jobs of each are not walked.
    found = database.execute(
        "SELECT owner FROM leases l WHERE EXISTS (SELECT 1 FROM jobs j WHERE j.owner <> '' AND j.owner = l.owner)"
    )
    return {owner for (owner,) in found}


def free(database: Connection, owner: str) -> int:
    database.execute("DELETE FROM leases WHERE owner = ?", (owner,))
    freed = database.execute(
        "UPDATE jobs SET owner = '', step = '' WHERE owner <> '' AND owner = ?", (owner,)
    )
    return freed.rowcount


def mark_step(
    database: Connection, id: str, *, epoch: int, step: str, lines: Sequence[str], now: int
) -> bool:
    marked = database.execute(
        "UPDATE jobs SET step = ?, begun = CASE WHEN ? THEN 2 ELSE begun END"
        " WHERE id = ? AND epoch = ? AND owner <> ''",
        (_clean(step), bool(lines), id, epoch),
    )
    if marked.rowcount and lines:
        _log(database, id, lines, now)
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
    lines = _trim(database, "log_lines", run.job, (lines or 0) + len(run.lines), retention.log_lines)
    entries = _trim(database, "mempool", run.job, (entries or 0) + len(run.drafts), retention.mempool_entries)
    if _are_long(run.lines, retention.log_bytes, retention.log_lines):
        lines -= _trim_long(database, "log_lines", "text", run.job, retention.log_bytes)
    drafts = [draft.tx for draft in run.drafts]
    if _are_long(drafts, retention.mempool_bytes, retention.mempool_entries):
        entries -= _trim_long(database, "mempool", "tx", run.job, retention.mempool_bytes)
    runs = (runs or 0) + run.ran
    # Nobody sees whether some more are kept of these.
    if runs > retention.runs + retention.runs // 16:
        runs = _trim(database, "runs", run.job, runs, retention.runs)
    database.execute(
        "INSERT INTO tallies (job, lines, entries, runs) VALUES (?, ?, ?, ?) ON CONFLICT (job) DO UPDATE"
        " SET lines = excluded.lines, entries = excluded.entries, runs = excluded.runs",
        (run.job, lines, entries, runs),
    )
    if run.epoch is not None:
        _plan_next(database, run, state=state, failures=failures, schedule=schedule)
    return True


def _plan_next(database: Connection, run: FinishedRun, *, state: str, failures: int, schedule: str) -> None:
    due, planned, changed, paused = run.due, run.next_planned, None, ""
    if run.ran:
        failures = failures + 1 if run.failure else 0
    if state != JobState.RUNNING:
        due, planned = None, None
    elif due is None or 0 < _pause_after(schedule) <= failures:
        state, due, planned, changed = JobState.PAUSED, None, None, run.finished
        paused = run.failure or "its schedule has no further time"
    database.execute(
        "UPDATE jobs SET state = ?, due = ?, planned = ?, changed = coalesce(?, changed), owner = '', step = '',"
        " begun = 0, failures = ?, runs = runs + ?, last_started = CASE WHEN ? THEN ? ELSE last_started END,"
        " last_finished = CASE WHEN ? THEN ? ELSE last_finished END, reason = CASE WHEN ? THEN ? ELSE reason END WHERE id = ?",
        (
            *(str(state), due, planned, changed, failures, run.ran),
            *(run.ran, run.started, run.ran, run.finished),
            *(run.ran or bool(paused), _clean(paused or run.failure), run.job),
        ),
    )


def replan(database: Connection, *, now: int) -> int:
    moved = []
    ahead = database.execute(
        f"SELECT {_COLUMNS} FROM jobs j WHERE j.state = 'running' AND j.due > ?",  # noqa: S608
        (now,),
    )
    for row in ahead:
        job = _read_job(row)
        every = job.schedule.every
        if job.state is not JobState.RUNNING or job.schedule.cron or not every or job.due is None:
            continue
        if job.due > now + every + job.schedule.jitter:
            moved.append((now + every, now + every, job.id))
    database.executemany("UPDATE jobs SET due = ?, planned = ?, begun = 0 WHERE id = ?", moved)
    return len(moved)


def plan(database: Connection, id: str, *, epoch: int, due: int, planned: int) -> bool:
    planned_anew = database.execute(
        "UPDATE jobs SET due = ?, planned = ?, begun = 0 WHERE id = ? AND epoch = ? AND state = 'running' AND owner = ''",
        (due, planned, id, epoch),
    )
    return bool(planned_anew.rowcount)


def read_log(database: Connection, id: str | None, *, after: int, limit: int) -> list[LogLine]:
    rows = _rows_after(database, "seq, job, written, text FROM log_lines", id, after=after, limit=limit)
    return [_read_line(row) for row in rows]


def find_tail(database: Connection, id: str | None, *, lines: int, entries: int) -> tuple[int, int]:
    if id is not None and not exists(database, id):
        raise unknown(id)
    return _seq_before(database, "FROM log_lines", id, lines), _seq_before(
        database, "FROM mempool", id, entries
    )


def _seq_before(database: Connection, source: str, id: str | None, count: int) -> int:
    """Return the seq of the row before the newest *count*; 0 where there is none."""
    condition, values = ("", ()) if id is None else ("WHERE job = ?", (id,))
    row = database.execute(
        f"SELECT seq {source} {condition} ORDER BY seq DESC LIMIT 1 OFFSET ?", (*values, count)
    ).fetchone()
    return row[0] if row else 0


def last_runs(database: Connection, id: str, *, limit: int) -> list[KeptRun]:
    rows = database.execute(
        "SELECT planned, started, finished, drafts, failure FROM runs WHERE job = ? ORDER BY seq DESC LIMIT ?",
        (id, limit),
    ).fetchall()
    return [
        KeptRun(planned=planned, started=started, finished=finished, drafts=drafts, failure=failure)
        for planned, started, finished, drafts, failure in rows
        # A damaged one is no reason to tell of none.
        if tuple(map(type, (planned, started, finished, drafts, failure))) == (int, int, int, int, str)
    ]


#: Bytes of a line of the log; a longer one is cut.
LONGEST_LINE = 4096
#: The share of its bytes, one in so many, that a job keeps free for short lines or drafts, whose bytes are not counted.
_SPARE = 8
#: Rows that are expected of a job if their number has no limit.
_EXPECTED_ROWS = 10_000
#: Characters of drafts that are read at once for who reads on from a place.
PORTION = 1024 * 1024

_ENTRY = "seq, job, flag, chain, amount, tx_type, date, tx, spec_version, expires, node FROM mempool"


def read_mempool(database: Connection, id: str | None, *, after: int, limit: int) -> list[MempoolEntry]:
    found = []
    room = PORTION
    # Each may be as long as a transaction.
    for row in _rows_after(database, _ENTRY, id, after=after, limit=limit):
        found.append(_read_entry(row))
        room -= len(found[-1].draft.tx)
        if limit and room <= 0:
            break
    return found


def drafted_for(database: Connection) -> list[tuple[str, int]]:
    # Each step goes to the next pair in the index, past all the drafts of the one before.
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
    return [entry for entry in map(_read_entry, rows) if entry.draft.tx != NO_TRANSACTION]


def flag_drafts(
    database: Connection, flags: dict[int, str], *, now: int, lines: dict[str, list[str]]
) -> None:
    flagged: set[str] = set()
    for seq, why in flags.items():
        # Two processes may have noticed; the log tells it once.
        changed = database.execute(
            "UPDATE mempool SET flag = ? WHERE seq = ? AND flag = ''", (_clean(why), seq)
        )
        if changed.rowcount:
            (job,) = database.execute("SELECT job FROM mempool WHERE seq = ?", (seq,)).fetchone()
            flagged.add(job)
    for job, texts in lines.items():
        if (job in flagged or not flags) and exists(database, job):
            _log(database, job, texts, now)


def prune_some(database: Connection, *, now: int, retention: Retention) -> int:
    """Remove some of what is too old or too much; 0 once nothing is."""
    removed = 0
    for table, moment, age, column, limit in (
        ("log_lines", "written", retention.log_age, "lines", retention.log_lines),
        ("mempool", "date", retention.mempool_age, "entries", retention.mempool_entries),
    ):
        removed += _prune_table(database, table, moment, now - age if age else -1, column)
        if limit:
            crowded = database.execute(
                f"SELECT job, {column} FROM tallies WHERE {column} > ? LIMIT 100",  # noqa: S608
                (limit,),
            ).fetchall()
            job: str
            count: int
            for job, count in crowded:
                excess = min(count - limit, _PRUNED_AT_ONCE)
                left = _trim(database, table, job, count, count - excess)
                database.execute(f"UPDATE tallies SET {column} = ? WHERE job = ?", (left, job))  # noqa: S608
                removed += excess
                if removed >= _PRUNED_AT_ONCE:
                    return removed
    return removed


def _prune_table(database: Connection, table: str, moment: str, before: int, column: str) -> int:
    if before < 0:
        return 0
    rows = database.execute(
        f"SELECT seq, job FROM {table} WHERE {moment} < ? LIMIT {_PRUNED_AT_ONCE}",  # noqa: S608
        (before,),
    ).fetchall()
    database.execute(
        f"DELETE FROM {table} WHERE seq IN (SELECT value FROM json_each(?))",  # noqa: S608
        (json.dumps([seq for seq, _ in rows]),),
    )
    database.executemany(
        f"UPDATE tallies SET {column} = {column} - ? WHERE job = ?",  # noqa: S608
        [(count, job) for job, count in Counter(job for _, job in rows).items()],
    )
    return len(rows)


def _keep(database: Connection, run: FinishedRun) -> None:
    _insert(
        database,
        "log_lines (job, written, text)",
        [(run.job, run.finished, _cut(line)) for line in run.lines],
    )
    _insert(
        database,
        "mempool (job, chain, amount, tx_type, date, spec_version, expires, node, flag, tx)",
        [
            (
                run.job,
                _clean(draft.chain),
                _clean(draft.amount),
                draft.tx_type,
                draft.date,
                draft.spec_version,
                draft.expires,
                _clean(draft.node),
                "",
                _clean(draft.tx),
            )
            for draft in run.drafts
        ],
    )
    if run.ran:
        database.execute(
            "INSERT INTO runs (job, epoch, planned, started, finished, lines, drafts, failure)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                run.job,
                run.epoch,
                run.planned,
                run.started,
                run.finished,
                len(run.lines),
                len(run.drafts),
                _clean(run.failure),
            ),
        )
    if run.used_events:
        database.executemany(
            "INSERT INTO webhook_marks (job, uuid, event) VALUES (?, ?, ?)"
            " ON CONFLICT (job, uuid) DO UPDATE SET event = max(event, excluded.event)",
            [(run.job, uuid, event) for uuid, event in run.used_events.items()],
        )


def _log(database: Connection, job: str, texts: Sequence[str], now: int) -> None:
    """Add to a log between two runs, or in the middle of one."""
    _insert(database, "log_lines (job, written, text)", [(job, now, _cut(text)) for text in texts])
    database.execute(
        "INSERT INTO tallies (job, lines, entries, runs) VALUES (?, ?, 0, 0)"
        " ON CONFLICT (job) DO UPDATE SET lines = lines + excluded.lines",
        (job, len(texts)),
    )
    usual = Retention()
    if _are_long(texts, usual.log_bytes, usual.log_lines):
        removed = _trim_long(database, "log_lines", "text", job, usual.log_bytes)
        database.execute("UPDATE tallies SET lines = lines - ? WHERE job = ?", (removed, job))


def _trim(database: Connection, table: str, job: str, count: int, limit: int) -> int:
    """Remove the oldest rows beyond *limit* of a job that has *count*; return how many it has then."""
    if not limit or count <= limit:
        return count
    database.execute(
        f"DELETE FROM {table} WHERE seq IN (SELECT seq FROM {table} WHERE job = ? ORDER BY seq LIMIT ?)",  # noqa: S608
        (job, count - limit),
    )
    return limit


def _are_long(texts: Sequence[str], most: int, rows: int) -> bool:
    """Tell whether *rows* texts of this average length would need more than the spare share of *most* bytes.

    Only then are the bytes of a whole job counted, which would take too long for every run.
    """
    size = sum(len(text.encode("utf-8", "replace")) for text in texts)
    return size * (rows or _EXPECTED_ROWS) > most // _SPARE * len(texts)


def _trim_long(database: Connection, table: str, text: str, job: str, most: int) -> int:
    """Remove the oldest rows of a job whose *text* doesn't fit into *most* bytes less the spare ones; return how many.

    The newest row is kept however long.
    """
    left = most - most // _SPARE
    sizes = database.execute(
        f"SELECT seq, length(CAST({text} AS BLOB)) FROM {table} WHERE job = ? ORDER BY seq DESC",  # noqa: S608
        (job,),
    )
    for place, (seq, size) in enumerate(sizes):
        left -= size
        if left < 0 and place:
            sizes.close()
            removed = database.execute(f"DELETE FROM {table} WHERE job = ? AND seq <= ?", (job, seq))  # noqa: S608
            return removed.rowcount
    return 0


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


def _read_entry(row: tuple[Any, ...]) -> MempoolEntry:
    seq, job, flag, chain, amount, tx_type, date, tx, spec_version, expires, node = row
    texts, times = (flag, chain, amount, tx_type, tx, node), (spec_version, expires)
    if {*map(type, texts)} != {str} or type(date) is not int or not {*map(type, times)} <= {int, NoneType}:
        draft = MempoolDraft(chain=str(chain), amount="0", tx_type=str(tx_type), date=0, tx=NO_TRANSACTION)
        return MempoolEntry(seq=seq, job=job, flag="this draft is damaged in the store", draft=draft)
    return MempoolEntry(
        seq=seq,
        job=job,
        flag=flag,
        draft=MempoolDraft(
            chain=chain,
            amount=amount,
            tx_type=tx_type,
            date=date,
            tx=tx,
            spec_version=spec_version,
            expires=expires,
            node=node,
        ),
    )


#: What is said of a job whose row holds what no version of this program writes.
_DAMAGED = "its row in the store is damaged, start the job again"
_SCENARIO_DAMAGED = "its scenario is damaged in the store, delete it and create it again"


#: Of each column but state and schedule, in the order of `_COLUMNS`.
_KINDS: tuple[tuple[type, ...], ...] = (
    (str,),
    (int,),
    (int, NoneType),
    (int, NoneType),
    (int,),
    (str,),
    (str,),
    (int,),
    (int,),
)
_KINDS += ((int, NoneType), (int, NoneType), (str,))


def _read_job(row: tuple[Any, ...]) -> Job:
    """Return the job of a row; a paused one, which says why, where the row is damaged."""
    id, state, schedule, *rest = row[:14]
    sound = all(type(value) in kinds for value, kinds in zip((id, *rest), _KINDS, strict=True))
    changed, due, planned, epoch, owner, step, runs, failures, started, finished, reason = rest
    try:
        if sound:
            return Job(
                id=id,
                state=JobState(state),
                schedule=_read_schedule(schedule),
                changed=changed,
                due=due,
                planned=planned,
                epoch=epoch,
                owner=owner,
                step=step,
                runs=runs,
                failures=failures,
                last_started=started,
                last_finished=finished,
                reason=reason,
            )
    except (ValueError, TypeError, RecursionError):
        pass
    return Job(
        id=str(id),
        state=JobState.PAUSED,
        schedule=Schedule(),
        changed=changed if isinstance(changed, int) else 0,
        epoch=epoch if isinstance(epoch, int) else 0,
        reason=_DAMAGED,
    )


_SCHEDULE_KINDS = {name: type(value) for name, value in asdict(Schedule()).items()}


@lru_cache(maxsize=1024)
def _read_schedule(text: str) -> Schedule:
    """Return the schedule that *text* holds; ValueError or TypeError where it holds none."""
    written = json.loads(text)
    if not isinstance(written, dict):
        raise TypeError
    fields = {**written, "overlap": Overlap(written.get("overlap", Overlap.SKIP))}
    if any(type(value) is not _SCHEDULE_KINDS.get(name) for name, value in fields.items()):
        raise TypeError
    return Schedule(**fields)


def _pause_after(schedule: str) -> int:
    try:
        return _read_schedule(schedule).pause_after
    except (ValueError, TypeError, RecursionError):
        return 0


def _renew(database: Connection, owner: str, deadline: int) -> None:
    database.execute(
        "INSERT INTO leases (owner, deadline) VALUES (?, ?)"
        " ON CONFLICT (owner) DO UPDATE SET deadline = max(deadline, excluded.deadline)",
        (owner, deadline),
    )


def _clean(text: str) -> str:
    """Return *text* with what UTF-8 cannot hold replaced: a run must not be lost for an odd answer of a server."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _cut(line: str) -> str:
    """Return *line* as the log keeps it: clean, and with `…` at its end if it had to be cut."""
    data = line.encode("utf-8", "replace")
    if len(data) <= LONGEST_LINE:
        return data.decode()
    return data[: LONGEST_LINE - len("…".encode())].decode("utf-8", "ignore") + "…"
