"""Jobs in SQLite, and who runs them: plain functions over a connection, whose transactions are the caller's.

A lease is granted at a moment of CLOCK_MONOTONIC and lasts until another one.  That clock begins anew at a reboot, so
a lease whose moment of granting lies ahead is of an earlier boot, and has run out.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from sqlite3 import Connection

from scenarioctl.model.jobs import Claim, ClaimedJob, Job, JobChange, JobState
from scenarioctl.model.notifications import write_targets
from scenarioctl.stores import JobPage
from scenarioctl.stores.cursors import read_job_cursor, write_job_cursor
from scenarioctl.stores.job_texts import DAMAGED, SCENARIO_DAMAGED, write_schedule
from scenarioctl.stores.rows import read_job
from scenarioctl.stores.runs import Lines
from scenarioctl.stores.sqlite.database_file import one_moment
from scenarioctl.stores.validation import INTEGER_MAX, check_job, unknown
from scenarioctl.stores.waiting_drafts import WaitingDraft, WaitingDrafts

#: The columns of a job, in the order in which `read_job` takes them.
_COLUMNS = (
    "j.id, j.state, j.schedule, j.changed, j.due, j.planned, j.epoch, j.owner, j.step, j.runs, j.failures,"
    " j.last_started, j.last_finished, j.reason, j.notify"
)


def start(database: Connection, job: Job) -> bool:
    check_job(job)
    former = get(database, job.id)
    if former is not None and former.state is JobState.RUNNING:
        return False
    database.execute(
        "INSERT INTO jobs (id, state, due, planned, owner, epoch, begun, changed, runs, failures, step, reason, schedule,"
        " notify) VALUES (?, 'running', ?, ?, '', 1, 0, ?, 0, 0, '', '', ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET state = 'running', due = excluded.due, planned = excluded.planned,"
        " owner = '', epoch = epoch + 1, begun = 0, changed = excluded.changed, runs = 0, failures = 0, step = '',"
        " reason = '', schedule = excluded.schedule, notify = excluded.notify",
        (job.id, job.due, job.planned, job.changed, write_schedule(job.schedule), write_targets(job.notify)),
    )
    return True


def stop(database: Connection, id: str, *, now: int) -> bool:
    stopped = database.execute(
        "UPDATE jobs SET state = 'stopped', due = NULL, planned = NULL, changed = ? WHERE id = ? AND state = 'running'",
        (now, id),
    )
    if (
        not stopped.rowcount
        and not database.execute("SELECT 1 FROM scenarios WHERE id = ?", (id,)).fetchone()
    ):
        raise unknown(id)
    return bool(stopped.rowcount)


def change(
    database: Connection,
    id: str,
    change: Callable[[Job], JobChange | None],
    *,
    add_lines: Callable[[Connection, Lines], None],
) -> Job | None:
    job = get(database, id)
    wanted = change(job) if job is not None else None
    if wanted is None:
        return job
    changed = wanted.job
    check_job(changed)
    # A run in progress is still that of the claim; else a new due time has not been claimed yet.
    database.execute(
        "UPDATE jobs SET state = ?, schedule = ?, notify = ?, due = ?, planned = ?, changed = ?, reason = ?,"
        " begun = CASE WHEN owner = '' AND due IS NOT ? THEN 0 ELSE begun END WHERE id = ?",
        (
            *(changed.state.value, write_schedule(changed.schedule), write_targets(changed.notify)),
            *(changed.due, changed.planned, changed.changed, changed.reason, changed.due, id),
        ),
    )
    if wanted.lines:
        add_lines(database, Lines(job=id, texts=wanted.lines, written=wanted.written))
    return changed


def get(database: Connection, id: str) -> Job | None:
    row = database.execute(
        f"SELECT {_COLUMNS}, s.id FROM scenarios s LEFT JOIN jobs j ON j.id = s.id WHERE s.id = ?",  # noqa: S608
        (id,),
    ).fetchone()
    if row is None:
        raise unknown(id)
    return None if row[0] is None else read_job(row)


#: The condition of the index `jobs_failing`.
_FAILING = "j.state = 'running' AND j.failures > 0"


def list_page(
    database: Connection, *, limit: int, after: str, state: JobState | None, failing: bool
) -> JobPage:
    condition, values = ("j.state = ?", [str(state)]) if state is not None else ("1", [])
    if failing:
        condition, values = _FAILING, []
    behind, position = ("AND (j.changed, j.id) < (?, ?)", read_job_cursor(after)) if after else ("", [])
    with one_moment(database):
        rows = database.execute(
            f"SELECT {_COLUMNS} FROM jobs j WHERE {condition} {behind} ORDER BY j.changed DESC, j.id DESC LIMIT ?",  # noqa: S608
            (*values, *position, limit + 1),
        ).fetchall()
        (total,) = database.execute(f"SELECT count(*) FROM jobs j WHERE {condition}", values).fetchone()  # noqa: S608
    more = len(rows) > limit
    items = tuple(read_job(row) for row in rows[:limit])
    # As it is in the row, which may be damaged.
    following = write_job_cursor(id=rows[limit - 1][0], changed=rows[limit - 1][3]) if more else ""
    return JobPage(items=items, total=total, next=following)


def count_drafts(database: Connection, ids: Sequence[str], *, now: int) -> dict[str, int]:
    counts = database.execute(
        "SELECT job, count(*) FROM mempool INDEXED BY mempool_signable WHERE flag = '' AND expires > ?"
        " AND job IN (SELECT value FROM json_each(?)) GROUP BY job",
        (now, json.dumps(list(ids))),
    )
    return dict(counts.fetchall())


#: The newest draft of each job and node that was sent; one that can't be included any more counts as not sent.
_DONE = """
    done (job, node, seq) AS MATERIALIZED (
        SELECT t.job, m.node, max(t.draft) FROM sent_transactions t JOIN mempool m ON m.seq = t.draft AND m.job = t.job
            WHERE t.draft IS NOT NULL AND t.state <> 'expired' GROUP BY t.job, m.node
    )
"""
_NOT_DONE = "NOT EXISTS (SELECT 1 FROM done d WHERE d.job = m.job AND d.node = m.node AND d.seq >= m.seq)"
#: Each job that has drafts, by one step in the index, and its newest draft that waits, by another one.
_WAITING = f"""
    WITH RECURSIVE {_DONE}, drafted (job) AS (
        SELECT min(job) FROM mempool WHERE flag = '' AND expires IS NOT NULL
        UNION ALL
        SELECT (SELECT min(m.job) FROM mempool m WHERE m.flag = '' AND m.expires IS NOT NULL AND m.job > drafted.job)
            FROM drafted WHERE job IS NOT NULL
    )
    SELECT n.job, n.seq, n.expires FROM drafted JOIN mempool n ON n.seq = (
        SELECT seq FROM mempool m WHERE flag = '' AND expires > ? AND job = drafted.job AND {_NOT_DONE}
            ORDER BY expires DESC, seq DESC LIMIT 1
    ) ORDER BY n.expires, n.seq
"""  # noqa: S608 - of constants
_COUNT_WAITING = f"""
    WITH {_DONE} SELECT job, count(*) FROM mempool m WHERE flag = '' AND expires > ?
        AND job IN (SELECT value FROM json_each(?)) AND {_NOT_DONE} GROUP BY job
"""  # noqa: S608 - of constants


def waiting_drafts(database: Connection, *, now: int, soon: int, limit: int) -> WaitingDrafts:
    with one_moment(database):
        rows = database.execute(_WAITING, (now,)).fetchall()
        shown = json.dumps([job for job, _, _ in rows[:limit]])
        counts = dict(database.execute(_COUNT_WAITING, (now, shown)).fetchall())
    return WaitingDrafts(
        items=tuple(
            WaitingDraft(job=job, seq=seq, expires=expires, count=counts[job])
            for job, seq, expires in rows[:limit]
        ),
        total=len(rows),
        expiring=sum(expires <= soon for _, _, expires in rows),
    )


def count_by_state(database: Connection) -> dict[JobState, int]:
    counts = dict(database.execute("SELECT state, count(*) FROM jobs GROUP BY state"))
    return {state: counts.get(state.value, 0) for state in JobState}


def next_due(database: Connection) -> int | None:
    # The bound leaves out NULL, and damaged values that are not numbers.
    row = database.execute(
        "SELECT due FROM jobs INDEXED BY jobs_by_due WHERE state = 'running' AND owner = '' AND due <= ?"
        " ORDER BY due LIMIT 1",
        (INTEGER_MAX,),
    ).fetchone()
    return row[0] if row else None


#: Leases of others that have run out at a moment.
_EXPIRED = "FROM leases WHERE (deadline <= :moment OR granted > :moment) AND owner <> :owner"


def may_claim(database: Connection, claim: Claim, *, moment: int) -> bool:
    """Return whether a claim would find anything: workers ask often, and a claim writes."""
    return bool(
        database.execute(
            f"""
            SELECT EXISTS (
                SELECT 1 FROM jobs INDEXED BY jobs_by_due WHERE state = 'running' AND owner = '' AND due <= :now
            ) OR EXISTS (SELECT 1 {_EXPIRED})
            """,  # noqa: S608
            {"now": claim.now, "moment": moment, "owner": claim.owner},
        ).fetchone()[0]
    )


def claim_due(database: Connection, claim: Claim, *, moment: int) -> list[ClaimedJob]:
    # An owner whose lease has run out keeps its jobs if nobody took them: claiming them again would restart its runs.
    expired = database.execute(f"SELECT owner {_EXPIRED}", {"moment": moment, "owner": claim.owner})
    for (owner,) in expired.fetchall():
        free(database, owner)
    claimed: list[ClaimedJob] = []
    damaged: list[tuple[int, str, str]] = []
    # Without INDEXED BY, SQLite scans all jobs of the state instead of the index by due time.
    due = database.execute(
        f"SELECT {_COLUMNS}, j.begun, s.blob, s.summary FROM jobs j INDEXED BY jobs_by_due CROSS JOIN scenarios s ON s.id = j.id"  # noqa: S608
        " WHERE j.state = 'running' AND j.owner = '' AND j.due <= ? ORDER BY j.due, j.id",
        (claim.now,),
    )
    for row in due:
        job = read_job(row)
        begun, blob, summary = row[-3:]
        if job.state is not JobState.RUNNING:
            damaged.append((claim.now, DAMAGED, job.id))
            continue
        if not isinstance(blob, bytes) or not isinstance(summary, str):
            damaged.append((claim.now, SCENARIO_DAMAGED, job.id))
            continue
        claimed.append(
            ClaimedJob(job=job, blob=blob, summary=summary, interrupted=bool(begun), logged=begun == 2)
        )
        if len(claimed) >= claim.limit:
            break
    due.close()
    # A job that can't be read must neither stop the others nor stay due forever.
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
    _renew(database, claim.owner, moment=moment, lease=claim.lease)
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


def renew(database: Connection, owner: str, *, moment: int, lease: int) -> set[str]:
    rows = database.execute("SELECT id FROM jobs WHERE owner <> '' AND owner = ?", (owner,))
    held = {id for (id,) in rows}
    if held:
        _renew(database, owner, moment=moment, lease=lease)
    return held


def owners(database: Connection) -> set[str]:
    # There are a few owners; each is looked up once, without scanning its jobs.
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


def replan(database: Connection, *, now: int) -> int:
    moved = []
    ahead = database.execute(
        f"SELECT {_COLUMNS} FROM jobs j WHERE j.state = 'running' AND j.due > ?",  # noqa: S608
        (now,),
    )
    for row in ahead:
        job = read_job(row)
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


def _renew(database: Connection, owner: str, *, moment: int, lease: int) -> None:
    database.execute(
        "INSERT INTO leases (owner, granted, deadline) VALUES (?, ?, ?)"
        " ON CONFLICT (owner) DO UPDATE SET granted = excluded.granted, deadline = excluded.deadline",
        (owner, moment, moment + lease),
    )
