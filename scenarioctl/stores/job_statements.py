"""Statements about what runs leave behind: as `statements.py`."""

from scenarioctl.model.jobs import NO_TRANSACTION

HAS_SCENARIO = "SELECT 1 FROM scenarios WHERE id = :id"
HAS_JOB = "SELECT 1 FROM jobs WHERE id = :id"

# Reading.  Of one job, or of all.

_LINES = "SELECT seq, job, written, text FROM log_lines"
READ_LOG = f"{_LINES} WHERE seq > :after ORDER BY seq LIMIT :limit"
READ_LOG_OF_JOB = f"{_LINES} WHERE job = :job AND seq > :after ORDER BY seq LIMIT :limit"
_DRAFTS = (
    "SELECT seq, job, flag, chain, amount, tx_type, date, tx, spec_version, expires, node, human FROM mempool"
)
READ_MEMPOOL = f"{_DRAFTS} WHERE seq > :after ORDER BY seq LIMIT :limit"
READ_MEMPOOL_OF_JOB = f"{_DRAFTS} WHERE job = :job AND seq > :after ORDER BY seq LIMIT :limit"
FIND_TAIL = """
    SELECT coalesce((SELECT seq FROM log_lines ORDER BY seq DESC LIMIT 1 OFFSET :lines), 0),
        coalesce((SELECT seq FROM mempool ORDER BY seq DESC LIMIT 1 OFFSET :entries), 0)
"""
FIND_TAIL_OF_JOB = """
    SELECT coalesce((SELECT seq FROM log_lines WHERE job = :job ORDER BY seq DESC LIMIT 1 OFFSET :lines), 0),
        coalesce((SELECT seq FROM mempool WHERE job = :job ORDER BY seq DESC LIMIT 1 OFFSET :entries), 0)
    FROM scenarios WHERE id = :job
"""
FIND_END = "SELECT name, seq FROM {sequences}"
_RUN = "runs.seq, runs.planned, runs.started, runs.finished, runs.drafts, runs.failure, runs.steps"
LAST_RUNS = f"SELECT {_RUN} FROM runs WHERE job = :job AND seq < :before ORDER BY seq DESC LIMIT :limit"
#: *others*: the number of runs, less one.
RUNS_OF_EACH = f"""
    SELECT runs.job, {_RUN} FROM {{rows each, id text}} JOIN runs ON runs.job = each.id AND runs.seq >= coalesce(
        (SELECT seq FROM runs AS newest WHERE newest.job = each.id ORDER BY seq DESC LIMIT 1 OFFSET :others), 0
    ) ORDER BY runs.seq DESC
"""
_VALID = "flag = '' AND spec_version IS NOT NULL"
#: Seeks the next pair in the index, past all drafts of the previous pair.
NEXT_DRAFTED_FOR = f"""
    SELECT chain, spec_version FROM mempool WHERE {_VALID} AND (chain, spec_version) > (:chain, :spec_version)
    ORDER BY chain, spec_version LIMIT 1
"""
READ_DRAFTS = f"""
    {_DRAFTS} WHERE {_VALID} AND chain = :chain AND spec_version = :spec_version AND seq > :after
    ORDER BY seq LIMIT :limit
"""

# Flags.

#: Two processes may flag the same draft; it is returned to one.
FLAG_DRAFTS = """
    UPDATE mempool SET flag = flags.why FROM {rows flags, number bigint, why text}
    WHERE mempool.seq = flags.number AND mempool.flag = '' RETURNING job, seq
"""
LOCK_SCENARIOS = "SELECT id FROM scenarios WHERE id {among ids, text} ORDER BY id {for_key_share}"

# Steps and ends of runs, each of another job.

MARK_STEPS = """
    UPDATE jobs SET step = marks.waits_for, begun = CASE WHEN marks.logged = 1 THEN 2 ELSE begun END,
        -- A stopped job has no planned time.
        planned = CASE WHEN jobs.planned IS NOT NULL THEN coalesce(marks.planned, jobs.planned) END
    FROM {rows marks, job text, epoch bigint, waits_for text, logged bigint, planned bigint}
    WHERE jobs.id = marks.job AND jobs.epoch = marks.epoch AND owner <> '' RETURNING id
"""
_TALLIES = "coalesce(t.lines, 0), coalesce(t.entries, 0), coalesce(t.runs, 0)"
LOCK_SCENARIOS_TO_FINISH = f"""
    SELECT s.id, {_TALLIES} FROM scenarios AS s LEFT JOIN tallies AS t ON t.job = s.id WHERE s.id {{among ids, text}}
    ORDER BY s.id {{for_key_share s}}
"""
LOCK_JOBS_TO_FINISH = f"""
    SELECT j.id, {_TALLIES}, j.state, j.epoch, j.owner, j.failures, CAST(j.schedule AS text)
    FROM jobs AS j LEFT JOIN tallies AS t ON t.job = j.id WHERE j.id {{among ids, text}} ORDER BY j.id {{for_change j}}
"""
PLAN_NEXT = """
    UPDATE jobs SET state = plans.state, due = plans.due, planned = plans.planned, {dispatch plans.number}
        changed = coalesce(plans.changed, jobs.changed), owner = '', step = '', begun = 0, failures = plans.failures,
        runs = jobs.runs + plans.ran, last_started = coalesce(plans.started, last_started),
        last_finished = coalesce(plans.finished, last_finished), reason = coalesce(plans.reason, jobs.reason)
    FROM {rows plans, job text, state text, due bigint, planned bigint, number bigint, changed bigint, failures bigint,
        ran bigint, started bigint, finished bigint, reason text}
    WHERE jobs.id = plans.job
"""
COUNT_UP = """
    INSERT INTO tallies (job, lines, entries, runs)
    SELECT job, lines, entries, runs FROM {rows added, job text, lines bigint, entries bigint, runs bigint} WHERE true
    ON CONFLICT (job) DO UPDATE SET lines = tallies.lines + excluded.lines,
        entries = tallies.entries + excluded.entries, runs = tallies.runs + excluded.runs
"""
MARK_EVENTS = """
    INSERT INTO webhook_marks (job, uuid, event)
    SELECT job, uuid, event FROM {rows used, job text, uuid text, event bigint} WHERE true
    ON CONFLICT (job, uuid) DO UPDATE SET event = {greatest webhook_marks.event, excluded.event}
"""
_RUN_ROW = "job, epoch, planned, started, finished, lines, drafts, failure, steps"
ADD_RUNS = f"""
    INSERT INTO runs ({_RUN_ROW}) SELECT {_RUN_ROW} FROM {{rows ended, job text, epoch bigint, planned bigint,
        started bigint, finished bigint, lines bigint, drafts bigint, failure text, steps text}} {{in_order}}
"""
#: Numbers of lines and drafts grow in the order of the commits.  The lock is taken last, in one message with all that is
#: numbered under it, so that no slow sender holds it.
_NUMBERED = "WITH locked AS MATERIALIZED (SELECT {lock 1, 0})"
ADD_LINES = f"""
    {_NUMBERED} INSERT INTO log_lines (job, written, text)
    SELECT job, written, text FROM locked, {{rows lines, job text, written bigint, text text}} {{in_order}}
"""
DRAFT_COLUMNS = "chain, amount, tx_type, date, spec_version, expires, node, tx, human"
ADD_DRAFTS = f"""
    {_NUMBERED} INSERT INTO mempool (job, flag, {DRAFT_COLUMNS})
    SELECT job, '', {DRAFT_COLUMNS} FROM locked, {{rows drafts, job text, chain text, amount text, tx_type text, date bigint,
        spec_version bigint, expires bigint, node text, tx text, human text}} {{in_order}}
"""
FORGET_EXPIRING = """
    DELETE FROM notifications WHERE job {among jobs, text} AND event = 'draft_expiring' AND attempts = 0
"""
#: Where there are no drafts: those of a run that has just left *count* of them.
ADD_NOTIFICATIONS = f"""
    INSERT INTO notifications (id, job, event, created, due, attempts, format, url, drafts, reason, error)
    SELECT id, job, event, created, created, 0, format, url, coalesce(drafts, (
            SELECT {{numbers seq}} FROM (
                SELECT seq FROM (
                    SELECT seq, spec_version, tx FROM mempool WHERE job = :job ORDER BY seq DESC LIMIT :count
                ) AS newest WHERE spec_version IS NOT NULL AND tx <> '{NO_TRANSACTION}' ORDER BY seq
            ) AS drafted
        ), '[]'), reason, ''
    FROM {{rows added, id text, job text, event text, created bigint, format text, url text, drafts text, reason text}}
    {{in_order}}
"""
