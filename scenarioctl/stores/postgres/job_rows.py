"""Jobs in PostgreSQL: plain functions over a connection, whose transactions are the caller's.

Whenever a job gets a due time, a run is deferred to the dispatch engine in the same transaction, and its number noted in
`dispatch`.  A worker that the engine gives that run to begins it (`begin`), if the number is still the job's.
"""

from collections.abc import Awaitable, Callable, Sequence

from scenarioctl.model.jobs import LEASE_SECONDS, ClaimedJob, Job, JobChange, JobState
from scenarioctl.model.notifications import write_targets
from scenarioctl.stores import JobPage
from scenarioctl.stores.cursors import read_job_cursor, write_job_cursor
from scenarioctl.stores.job_texts import DAMAGED, write_schedule
from scenarioctl.stores.postgres.connections import Connection
from scenarioctl.stores.postgres.deferrals import SOON, Deferrals
from scenarioctl.stores.rows import JOB_WIDTH, read_job
from scenarioctl.stores.runs import Lines
from scenarioctl.stores.validation import INTEGER_MAX, check_job, unknown
from scenarioctl.stores.waiting_drafts import WaitingDraft, WaitingDrafts

#: The columns of a job, in the order in which `read_job` takes them.
_COLUMNS = (
    "j.id, j.state, j.schedule::text, j.changed, j.due, j.planned, j.epoch, j.owner, j.step, j.runs, j.failures,"
    " j.last_started, j.last_finished, j.reason, j.notify"
)
#: Jobs that one transaction plans anew.
PLANNED_AT_ONCE = 200
#: The server's clock, in the nanoseconds of due times.
_NOW = "(extract(epoch FROM now()) * 1000000000)::bigint"
#: Nanoseconds after its due time at which a run that the engine doesn't know is lost.
_LATE = 10 * 1_000_000_000


class StartedElsewhere(Exception):
    """Another process has started the job in the same moment: this transaction must not commit."""


async def start(connection: Connection, job: Job, *, deferrals: Deferrals) -> bool:
    check_job(job)
    scenario = await connection.execute("SELECT FROM scenarios WHERE id = %s FOR KEY SHARE", (job.id,))
    if await scenario.fetchone() is None:
        raise unknown(job.id)
    row = await (
        await connection.execute(
            f"SELECT {_COLUMNS}, j.dispatch FROM jobs j WHERE id = %s FOR UPDATE",  # noqa: S608
            (job.id,),
        )
    ).fetchone()
    if row is not None:
        if read_job(row).state is JobState.RUNNING:
            return False
        if row[JOB_WIDTH] is not None:
            await deferrals.cancel(connection, row[JOB_WIDTH])
    number = None if job.due is None else await deferrals.defer(connection, job.id, job.due)
    values = (
        job.due,
        job.planned,
        number,
        job.changed,
        write_schedule(job.schedule),
        write_targets(job.notify),
    )
    if row is None:
        started = await connection.execute(
            "INSERT INTO jobs (id, state, due, planned, dispatch, owner, epoch, begun, changed, runs, failures, step,"
            " reason, schedule, notify) VALUES (%s, 'running', %s, %s, %s, '', 1, 0, %s, 0, 0, '', '', %s, %s)"
            " ON CONFLICT (id) DO NOTHING RETURNING id",
            (job.id, *values),
        )
        if await started.fetchone() is None:
            raise StartedElsewhere
    else:
        await connection.execute(
            "UPDATE jobs SET state = 'running', due = %s, planned = %s, dispatch = %s, owner = '', epoch = epoch + 1,"
            " begun = 0, changed = %s, runs = 0, failures = 0, step = '', reason = '', schedule = %s, notify = %s"
            " WHERE id = %s",
            (*values, job.id),
        )
    return True


async def stop(connection: Connection, id: str, *, now: int, deferrals: Deferrals) -> bool:
    found = await connection.execute("SELECT state, dispatch FROM jobs WHERE id = %s FOR UPDATE", (id,))
    row = await found.fetchone()
    if row is None or row[0] != "running":
        exists = await connection.execute("SELECT FROM scenarios WHERE id = %s", (id,))
        if await exists.fetchone() is None:
            raise unknown(id)
        return False
    # A run in progress keeps its number: the engine may give it to another worker.
    if row[1] is not None and await deferrals.cancel(connection, row[1]):
        await connection.execute("UPDATE jobs SET dispatch = NULL WHERE id = %s", (id,))
    await connection.execute(
        "UPDATE jobs SET state = 'stopped', due = NULL, planned = NULL, changed = %s WHERE id = %s", (now, id)
    )
    return True


async def change(
    connection: Connection,
    id: str,
    change: Callable[[Job], JobChange | None],
    *,
    deferrals: Deferrals,
    add_lines: Callable[[Connection, Lines], Awaitable[None]],
) -> Job | None:
    found = await connection.execute(
        f"SELECT {_COLUMNS}, j.dispatch FROM jobs j WHERE id = %s FOR NO KEY UPDATE",  # noqa: S608
        (id,),
    )
    row = await found.fetchone()
    if row is None:
        # None, or raises NotFound.
        return await get(connection, id)
    job, number = read_job(row), row[JOB_WIDTH]
    wanted = change(job)
    if wanted is None:
        return job
    changed = wanted.job
    check_job(changed)
    # A run in progress keeps its number: the engine may give it to another worker.
    if not job.owner and changed.due != job.due:
        if number is not None:
            # If a worker has just fetched it, it can't begin any more.
            await deferrals.cancel(connection, number)
        number = None if changed.due is None else await deferrals.defer(connection, id, changed.due)
    await connection.execute(
        "UPDATE jobs SET state = %s, schedule = %s, notify = %s, due = %s, planned = %s, changed = %s, reason = %s,"
        " dispatch = %s,"
        " begun = CASE WHEN owner = '' AND due IS DISTINCT FROM %s THEN 0 ELSE begun END WHERE id = %s",
        (
            *(changed.state.value, write_schedule(changed.schedule), write_targets(changed.notify)),
            *(changed.due, changed.planned, changed.changed, changed.reason, number, changed.due, id),
        ),
    )
    if wanted.lines:
        await add_lines(connection, Lines(job=id, texts=wanted.lines, written=wanted.written))
    return changed


async def get(connection: Connection, id: str) -> Job | None:
    found = await connection.execute(
        f"SELECT {_COLUMNS}, s.id FROM scenarios s LEFT JOIN jobs j ON j.id = s.id WHERE s.id = %s",  # noqa: S608
        (id,),
    )
    row = await found.fetchone()
    if row is None:
        raise unknown(id)
    return None if row[0] is None else read_job(row)


#: The condition of the index `jobs_failing`.
_FAILING = "j.state = 'running' AND j.failures > 0"


async def list_page(
    connection: Connection, *, limit: int, after: str, state: JobState | None, failing: bool
) -> JobPage:
    condition, values = ("j.state = %s", [str(state)]) if state is not None else ("true", [])
    if failing:
        condition, values = _FAILING, []
    behind, position = ("AND (j.changed, j.id) < (%s, %s)", read_job_cursor(after)) if after else ("", [])
    # One statement sees one state of the store.
    found = await connection.execute(
        f"SELECT (SELECT count(*) FROM jobs j WHERE {condition}), page.* FROM (SELECT) one LEFT JOIN LATERAL"  # noqa: S608
        f" (SELECT {_COLUMNS} FROM jobs j WHERE {condition} {behind} ORDER BY j.changed DESC, j.id DESC LIMIT %s)"
        " page ON true",
        (*values, *values, *position, limit + 1),
    )
    rows = await found.fetchall()
    jobs = [read_job(row[1:]) for row in rows if row[1] is not None]
    items = tuple(jobs[:limit])
    following = write_job_cursor(id=items[-1].id, changed=items[-1].changed) if len(jobs) > limit else ""
    return JobPage(items=items, total=rows[0][0], next=following)


async def count_drafts(connection: Connection, ids: Sequence[str], *, now: int) -> dict[str, int]:
    found = await connection.execute(
        "SELECT job, count(*) FROM mempool WHERE flag = '' AND expires > %s AND job = ANY(%s) GROUP BY job",
        (now, list(ids)),
    )
    return dict(await found.fetchall())


#: The newest draft of each job and node that was sent; one that can't be included any more counts as not sent.
_DONE = """
    done AS MATERIALIZED (
        SELECT t.job, m.node, max(t.draft) AS seq FROM sent_transactions t JOIN mempool m ON m.seq = t.draft AND m.job = t.job
            WHERE t.draft IS NOT NULL AND t.state <> 'expired' GROUP BY t.job, m.node
    )
"""
_NOT_DONE = "NOT EXISTS (SELECT FROM done d WHERE d.job = m.job AND d.node = m.node AND d.seq >= m.seq)"
#: Each job that has drafts, by one step in the index, and its newest draft that waits, by another one.
_WAITING = f"""
    WITH RECURSIVE {_DONE}, drafted AS (
        SELECT min(job) AS job FROM mempool WHERE flag = '' AND expires IS NOT NULL
        UNION ALL
        SELECT (SELECT min(m.job) FROM mempool m WHERE m.flag = '' AND m.expires IS NOT NULL AND m.job > drafted.job)
            FROM drafted WHERE job IS NOT NULL
    )
    SELECT drafted.job, newest.seq, newest.expires FROM drafted, LATERAL (
        SELECT seq, expires FROM mempool m WHERE flag = '' AND expires > %s AND job = drafted.job AND {_NOT_DONE}
            ORDER BY expires DESC, seq DESC LIMIT 1
    ) AS newest ORDER BY newest.expires, newest.seq
"""  # noqa: S608 - of constants
_COUNT_WAITING = f"""
    WITH {_DONE} SELECT job, count(*) FROM mempool m WHERE flag = '' AND expires > %s AND job = ANY(%s) AND {_NOT_DONE}
        GROUP BY job
"""  # noqa: S608 - of constants


async def waiting_drafts(connection: Connection, *, now: int, soon: int, limit: int) -> WaitingDrafts:
    rows = await (await connection.execute(_WAITING, (now,))).fetchall()
    shown = [job for job, _, _ in rows[:limit]]
    counts = dict(await (await connection.execute(_COUNT_WAITING, (now, shown))).fetchall())
    return WaitingDrafts(
        items=tuple(
            # Without a count, it was sent between the two questions.
            WaitingDraft(job=job, seq=seq, expires=expires, count=counts.get(job, 1))
            for job, seq, expires in rows[:limit]
        ),
        total=len(rows),
        expiring=sum(expires <= soon for _, _, expires in rows),
    )


async def count_by_state(connection: Connection) -> dict[JobState, int]:
    found = await connection.execute("SELECT state, count(*) FROM jobs GROUP BY state")
    counts: dict[str, int] = dict(await found.fetchall())
    return {state: counts.get(state.value, 0) for state in JobState}


async def next_due(connection: Connection) -> int | None:
    found = await connection.execute(
        "SELECT due FROM jobs WHERE state = 'running' AND owner = '' AND due IS NOT NULL ORDER BY due LIMIT 1"
    )
    row = await found.fetchone()
    return row[0] if row else None


async def begin(connection: Connection, id: str, *, dispatch: int, owner: str, now: int) -> ClaimedJob | None:
    found = await connection.execute(
        "UPDATE jobs j SET owner = %s, epoch = epoch + 1, begun = greatest(before.begun, 1), step = '',"  # noqa: S608
        " last_started = %s FROM scenarios s, (SELECT id, begun FROM jobs WHERE id = %s FOR NO KEY UPDATE) AS before"
        " WHERE j.id = before.id AND s.id = j.id AND j.dispatch = %s AND j.state = 'running'"
        f" RETURNING {_COLUMNS}, before.begun, s.blob, s.summary",
        (owner, now, id, dispatch),
        binary=True,
    )
    row = await found.fetchone()
    if row is None:
        return None
    begun, blob, summary = row[JOB_WIDTH:]
    job = read_job(row)
    if job.state is not JobState.RUNNING:
        return None
    return ClaimedJob(job=job, blob=blob, summary=summary, interrupted=bool(begun), logged=begun == 2)


async def let_go(connection: Connection, id: str, *, dispatch: int, now: int) -> None:
    """Note that nobody runs a job whose run was handed out and not begun: it is stopped, or its row damaged."""
    found = await connection.execute(
        f"SELECT {_COLUMNS} FROM jobs j WHERE id = %s AND dispatch = %s FOR NO KEY UPDATE",  # noqa: S608
        (id, dispatch),
    )
    row = await found.fetchone()
    if row is None or read_job(row).state is JobState.RUNNING:
        return
    # What can't be read must not stay due forever.
    await connection.execute(
        "UPDATE jobs SET owner = '', step = '', dispatch = NULL, due = NULL,"
        " planned = CASE state WHEN 'paused' THEN planned END,"
        " reason = CASE state WHEN 'running' THEN %s ELSE reason END,"
        " changed = CASE state WHEN 'running' THEN %s ELSE changed END,"
        " state = CASE state WHEN 'running' THEN 'paused' ELSE state END WHERE id = %s",
        (DAMAGED, now, id),
    )


async def of_owner(connection: Connection, owner: str) -> set[str]:
    found = await connection.execute("SELECT id FROM jobs WHERE owner <> '' AND owner = %s", (owner,))
    return {id for (id,) in await found.fetchall()}


async def redispatch(
    connection: Connection, runs: Sequence[tuple[str, int]], *, deferrals: Deferrals
) -> set[str]:
    # Sorted, so that two workers that do the same don't wait for each other.
    found = await connection.execute(
        f"SELECT id, CASE WHEN state = 'running' AND due <= {_NOW} + %s THEN due END FROM jobs"  # noqa: S608
        " JOIN unnest(%s::text[], %s::bigint[]) AS run (id, number) USING (id) WHERE dispatch = number"
        " ORDER BY id FOR NO KEY UPDATE OF jobs",
        (SOON, [id for id, _ in runs], [number for _, number in runs]),
    )
    dues: dict[str, int | None] = dict(await found.fetchall())
    again = [(id, due) for id, due in dues.items() if due is not None]
    numbers = await deferrals.defer_all(connection, again) if again else []
    if dues:
        await connection.execute(
            "UPDATE jobs SET owner = '', step = '', dispatch = run.number"
            " FROM unnest(%s::text[]) AS released (id)"
            " LEFT JOIN unnest(%s::text[], %s::bigint[]) AS run (id, number) USING (id) WHERE jobs.id = released.id",
            (list(dues), [id for id, _ in again], numbers),
        )
    return set(dues)


async def defer_some(connection: Connection, *, deferrals: Deferrals) -> int:
    """Defer runs that are due soon; return how many, 0 at the end."""
    found = await connection.execute(
        "SELECT id, due FROM jobs WHERE state = 'running' AND dispatch IS NULL"  # noqa: S608
        f" AND due <= {_NOW} + %s ORDER BY due LIMIT %s FOR NO KEY UPDATE SKIP LOCKED",
        (SOON, PLANNED_AT_ONCE),
    )
    rows = await found.fetchall()
    if rows:
        numbers = await deferrals.defer_all(connection, rows)
        await connection.execute(
            "UPDATE jobs SET dispatch = run.number FROM unnest(%s::text[], %s::bigint[]) AS run (id, number)"
            " WHERE jobs.id = run.id",
            ([id for id, _ in rows], numbers),
        )
    return len(rows)


async def find_lost(connection: Connection) -> list[tuple[str, int]]:
    """Return jobs that are late, with their number, which the engine does not know any more."""
    found = await connection.execute(
        f"""
        SELECT late.id, late.dispatch FROM (
            SELECT id, dispatch FROM jobs
            WHERE state = 'running' AND owner = '' AND dispatch IS NOT NULL AND due <= {_NOW} - %(late)s
            UNION ALL
            SELECT id, dispatch FROM jobs WHERE owner <> '' AND dispatch IS NOT NULL AND due <= {_NOW} - %(late)s
        ) AS late LEFT JOIN procrastinate_jobs AS p ON p.id = late.dispatch AND p.status IN ('todo', 'doing')
        WHERE p.id IS NULL LIMIT %(limit)s
        """,  # noqa: S608
        {"late": _LATE, "limit": PLANNED_AT_ONCE},
    )
    return await found.fetchall()


async def release(connection: Connection, owner: str) -> int:
    released = await connection.execute(
        "UPDATE jobs SET owner = '', step = '' WHERE owner <> '' AND owner = %s RETURNING id", (owner,)
    )
    return len(await released.fetchall())


async def count_workers(connection: Connection) -> int:
    """Return how many workers have told within a lease that they are alive."""
    found = await connection.execute(
        "SELECT count(*) FROM procrastinate_workers WHERE last_heartbeat > now() - make_interval(secs => %s)",
        (LEASE_SECONDS,),
    )
    row = await found.fetchone()
    return row[0] if row else 0


async def replan_some(connection: Connection, *, now: int, after: str, deferrals: Deferrals) -> list[str]:
    """Plan some of the jobs with an id above *after* that are due too late; return their ids, none at the end."""
    found = await connection.execute(
        """
        SELECT id, dispatch, every FROM (
            SELECT id, dispatch, due,
                CASE WHEN jsonb_typeof(schedule -> 'every') = 'number' THEN (schedule ->> 'every')::numeric END AS every,
                CASE WHEN jsonb_typeof(schedule -> 'jitter') = 'number' THEN (schedule ->> 'jitter')::numeric END AS jitter
            FROM jobs
            WHERE state = 'running' AND owner = '' AND due > %(now)s AND id > %(after)s AND schedule ->> 'cron' = ''
        ) AS job
        WHERE every > 0 AND due > %(now)s + every + jitter AND every < %(most)s
        ORDER BY id LIMIT %(limit)s
        """,
        {"now": now, "after": after, "most": INTEGER_MAX - now, "limit": PLANNED_AT_ONCE},
    )
    rows = await found.fetchall()
    for id, dispatch, every in rows:
        due = now + int(every)
        await _plan_again(connection, id, due=due, planned=due, former=dispatch, deferrals=deferrals)
    return [id for id, _, _ in rows]


async def plan(
    connection: Connection, id: str, *, epoch: int, due: int, planned: int, deferrals: Deferrals
) -> bool:
    found = await connection.execute(
        "SELECT dispatch FROM jobs WHERE id = %s AND epoch = %s AND state = 'running' AND owner = '' FOR UPDATE",
        (id, epoch),
    )
    row = await found.fetchone()
    if row is None:
        return False
    await _plan_again(connection, id, due=due, planned=planned, former=row[0], deferrals=deferrals)
    return True


async def _plan_again(
    connection: Connection, id: str, *, due: int, planned: int, former: int | None, deferrals: Deferrals
) -> None:
    if former is not None:
        await deferrals.cancel(connection, former)
    number = await deferrals.defer(connection, id, due)
    await connection.execute(
        "UPDATE jobs SET due = %s, planned = %s, dispatch = %s, begun = 0 WHERE id = %s",
        (due, planned, number, id),
    )
