"""What runs leave behind, in PostgreSQL: plain functions over a connection, whose transactions are the caller's."""

from collections.abc import Sequence
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
from scenarioctl.stores import DEFAULT_RETENTION
from scenarioctl.stores.job_texts import next_plan
from scenarioctl.stores.postgres.connections import Connection
from scenarioctl.stores.postgres.deferrals import Deferrals
from scenarioctl.stores.postgres.locks import LOCK_NUMBERS_OF_RUNS
from scenarioctl.stores.postgres.retention import prune, trim_bytes, trim_rows
from scenarioctl.stores.postgres.scenario_rows import exists
from scenarioctl.stores.retention import DRAFTS, LINES, RUNS
from scenarioctl.stores.rows import ENTRY_COLUMNS, read_entry
from scenarioctl.stores.texts import PORTION, clean, cut_line
from scenarioctl.stores.validation import INTEGER_MAX, unknown


async def mark_step(
    connection: Connection,
    id: str,
    *,
    epoch: int,
    step: str,
    lines: Sequence[str],
    now: int,
    retention: Retention,
) -> bool:
    marked = await connection.execute(
        "UPDATE jobs SET step = %s, begun = CASE WHEN %s THEN 2 ELSE begun END"
        " WHERE id = %s AND epoch = %s AND owner <> '' RETURNING id",
        (clean(step), bool(lines), id, epoch),
    )
    if await marked.fetchone() is None:
        return False
    if lines:
        await _log(connection, {id: lines}, now, retention)
    return True


async def finish(
    connection: Connection, runs: Sequence[tuple[FinishedRun, Retention]], *, deferrals: Deferrals
) -> list[bool]:
    """Store what *runs* leave behind, each of another job, in the order of their jobs; return which are kept."""
    tallies = [await _plan(connection, run, deferrals=deferrals) for run, _ in runs]
    kept = [
        (run, retention, counts)
        for (run, retention), counts in zip(runs, tallies, strict=True)
        if counts is not None
    ]
    await connection.conclude()
    # The lock of the numbers comes last: rows of jobs are waited for before.
    for run, retention, counts in kept:
        await _count(connection, run, retention, counts)
    for run, retention, counts in kept:
        await _write(connection, run, retention, counts)
    return [counts is not None for counts in tallies]


async def _plan(connection: Connection, run: FinishedRun, *, deferrals: Deferrals) -> Sequence[int] | None:
    """Plan the next run; return how many lines, drafts and runs the job has.  None, and nothing changes, if it is another's."""
    if run.epoch is None:
        found = await connection.execute(
            "SELECT coalesce(t.lines, 0), coalesce(t.entries, 0), coalesce(t.runs, 0) FROM scenarios s"
            " LEFT JOIN tallies t ON t.job = s.id WHERE s.id = %s FOR KEY SHARE OF s",
            (run.job,),
        )
        return await found.fetchone()
    found = await connection.execute(
        "SELECT coalesce(t.lines, 0), coalesce(t.entries, 0), coalesce(t.runs, 0), j.state, j.epoch, j.owner,"
        " j.failures, j.schedule::text FROM jobs j LEFT JOIN tallies t ON t.job = j.id WHERE j.id = %s"
        " FOR NO KEY UPDATE OF j",
        (run.job,),
    )
    row = await found.fetchone()
    if row is None:
        return None
    *tallies, state, epoch, owner, failures, schedule = row
    if epoch != run.epoch or not owner or run.owner not in ("", owner):
        return None
    await _plan_next(connection, run, state=state, failures=failures, schedule=schedule, deferrals=deferrals)
    return tallies


async def _plan_next(
    connection: Connection,
    run: FinishedRun,
    *,
    state: str,
    failures: int,
    schedule: str,
    deferrals: Deferrals,
) -> None:
    plan = next_plan(run, state=state, failures=failures, schedule=schedule)
    number = None if plan.due is None else await deferrals.defer(connection, run.job, plan.due)
    ran = run.ran
    await connection.execute(
        "UPDATE jobs SET state = %s, due = %s, planned = %s, dispatch = %s, changed = coalesce(%s, changed), owner = '',"
        " step = '', begun = 0, failures = %s, runs = runs + %s, last_started = coalesce(%s, last_started),"
        " last_finished = coalesce(%s, last_finished), reason = coalesce(%s, reason) WHERE id = %s",
        (
            *(plan.state, plan.due, plan.planned, number, plan.changed, plan.failures, int(ran)),
            *(run.started if ran else None, run.finished if ran else None, plan.reason, run.job),
        ),
    )


async def _count(
    connection: Connection, run: FinishedRun, retention: Retention, tallies: Sequence[int]
) -> None:
    """Store that there was *run*, in a job that had so many lines, drafts and runs."""
    await _count_up(connection, run.job, lines=len(run.lines), entries=len(run.drafts), runs=int(run.ran))
    if run.used_events:
        await connection.execute(
            "INSERT INTO webhook_marks AS m (job, uuid, event) SELECT %s, * FROM unnest(%s::text[], %s::bigint[])"
            " ON CONFLICT (job, uuid) DO UPDATE SET event = greatest(m.event, excluded.event)",
            (run.job, list(run.used_events), list(run.used_events.values())),
        )
    if not run.ran:
        return
    await connection.execute(
        "INSERT INTO runs (job, epoch, planned, started, finished, lines, drafts, failure)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
        (
            *(run.job, run.epoch, run.planned, run.started, run.finished),
            *(len(run.lines), len(run.drafts), clean(run.failure)),
        ),
    )
    # A few more than the limit do no harm, and trimming at every run costs time.
    runs = tallies[2] + 1
    if 0 < retention.runs < runs - retention.runs // 16:
        await trim_rows(connection, RUNS, run.job, excess=runs - retention.runs)


async def _write(
    connection: Connection, run: FinishedRun, retention: Retention, tallies: Sequence[int]
) -> None:
    """Store the lines and drafts of *run*, in a job that had so many."""
    lines = [cut_line(line) for line in run.lines]
    await _insert(connection, run.job, lines, run.finished, run.drafts)
    drafts = [draft.tx for draft in run.drafts]
    for table, added, count, limit, size in (
        (LINES, lines, tallies[0], retention.log_lines, retention.log_bytes),
        (DRAFTS, drafts, tallies[1], retention.mempool_entries, retention.mempool_bytes),
    ):
        if limit:
            await trim_rows(connection, table, run.job, excess=count + len(added) - limit)
        await trim_bytes(connection, table, run.job, added=added, limit=size, rows=limit)


async def _count_up(connection: Connection, job: str, *, lines: int, entries: int = 0, runs: int = 0) -> None:
    await connection.execute(
        "INSERT INTO tallies AS t (job, lines, entries, runs) VALUES (%s, %s, %s, %s) ON CONFLICT (job) DO UPDATE"
        " SET lines = t.lines + excluded.lines, entries = t.entries + excluded.entries, runs = t.runs + excluded.runs",
        (job, lines, entries, runs),
    )


#: One message has the lock of the numbers with all that is written under it, so that no slow sender holds the lock.
_INSERT = f"""
    WITH locked AS MATERIALIZED (SELECT {LOCK_NUMBERS_OF_RUNS}),
    lines AS (
        INSERT INTO log_lines (job, written, text)
            SELECT %(job)s, %(written)s, text FROM locked, unnest(%(lines)s::text[]) WITH ORDINALITY AS each (text, place)
            ORDER BY place
    )
    INSERT INTO mempool (job, chain, amount, tx_type, date, spec_version, expires, node, tx, flag)
        SELECT %(job)s, chain, amount, tx_type, date, spec_version, expires, node, tx, ''
        FROM locked, unnest(%(chain)s::text[], %(amount)s::text[], %(tx_type)s::text[], %(date)s::bigint[],
            %(spec_version)s::bigint[], %(expires)s::bigint[], %(node)s::text[], %(tx)s::text[])
            WITH ORDINALITY AS each (chain, amount, tx_type, date, spec_version, expires, node, tx, place)
        ORDER BY place
"""  # noqa: S608 - of constants


async def _insert(
    connection: Connection, job: str, lines: Sequence[str], written: int, drafts: Sequence[MempoolDraft] = ()
) -> None:
    """Write lines and drafts, whose numbers grow in the order of the commits."""
    if lines or drafts:
        columns = ("chain", "amount", "tx_type", "date", "spec_version", "expires", "node", "tx")
        values = {name: [_cleaned(getattr(draft, name)) for draft in drafts] for name in columns}
        await connection.execute(_INSERT, {"job": job, "written": written, "lines": list(lines), **values})


def _cleaned(value: Any) -> Any:
    return clean(value) if isinstance(value, str) else value


async def _log(
    connection: Connection, lines: "dict[str, Sequence[str]]", now: int, retention: Retention
) -> None:
    """Add lines to logs between two runs, or during one."""
    cut = {job: [cut_line(text) for text in texts] for job, texts in sorted(lines.items())}
    await connection.conclude()
    for job, texts in cut.items():
        await _count_up(connection, job, lines=len(texts))
    for job, texts in cut.items():
        await _insert(connection, job, texts, now)
        await trim_bytes(
            connection, LINES, job, added=texts, limit=retention.log_bytes, rows=retention.log_lines
        )


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


async def _seq_before(connection: Connection, table: str, id: str | None, count: int) -> int:
    """Return the seq of the row before the newest *count*; 0 if there is none."""
    condition, values = ("", ()) if id is None else ("WHERE job = %s", (id,))
    found = await connection.execute(
        f"SELECT seq FROM {table} {condition} ORDER BY seq DESC LIMIT 1 OFFSET %s",  # noqa: S608
        (*values, count),
    )
    row = await found.fetchone()
    return row[0] if row else 0


async def last_runs(connection: Connection, id: str, *, limit: int) -> list[KeptRun]:
    found = await connection.execute(
        "SELECT planned, started, finished, drafts, failure FROM runs WHERE job = %s ORDER BY seq DESC LIMIT %s",
        (id, limit),
    )
    return [
        KeptRun(planned=planned, started=started, finished=finished, drafts=drafts, failure=failure)
        for planned, started, finished, drafts, failure in await found.fetchall()
    ]


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
    connection: Connection, flags: "dict[int, str]", *, now: int, lines: "dict[str, list[str]]"
) -> None:
    # Two processes may flag the same draft; the log says it once.
    changed = await connection.execute(
        "UPDATE mempool SET flag = each.flag FROM unnest(%s::bigint[], %s::text[]) AS each (seq, flag)"
        " WHERE mempool.seq = each.seq AND mempool.flag = '' RETURNING job",
        (list(flags), [clean(why) for why in flags.values()]),
    )
    flagged = {job for (job,) in await changed.fetchall()}
    stored = await connection.execute(
        "SELECT id FROM scenarios WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE", (list(lines),)
    )
    wanted = {
        job: lines[job] for (job,) in await stored.fetchall() if (job in flagged or not flags) and lines[job]
    }
    if wanted:
        await _log(connection, dict(wanted), now, DEFAULT_RETENTION)


async def prune_some(connection: Connection, *, now: int, retention: Retention) -> int:
    """Remove some rows that are too old or too many; return how many, 0 at the end."""
    return await prune(
        connection, LINES, now=now, age=retention.log_age, limit=retention.log_lines
    ) or await prune(connection, DRAFTS, now=now, age=retention.mempool_age, limit=retention.mempool_entries)


def _bounded(seq: int) -> int:
    return max(-1, min(seq, INTEGER_MAX))
