"""Every statement that a store asks, by name.  What the databases write differently is in braces: `operations.py: Dialect`."""

from functools import cache
from typing import TYPE_CHECKING

from scenarioctl.model.jobs import NO_TRANSACTION

if TYPE_CHECKING:
    from scenarioctl.stores.retention import KeptTable


@cache
def insert(table: str, columns: tuple[str, ...], rows: int, *, numbered: bool = False) -> str:
    """Return the statement that inserts rows, whose values are `:column_0` in the first and so on.

    *numbered*: they bring their numbers along.
    """
    values = ", ".join(f"({', '.join(f':{name}_{place}' for name in columns)})" for place in range(rows))
    return f"INSERT INTO {table} ({', '.join(columns)}) {'{numbered}' if numbered else ''} VALUES {values}"


# Scenarios.  `chains`, `tags` and `webhooks` are sorted lists; triggers keep the scenarios of each, and their counts.

_SCENARIO_COLUMNS = (
    *("id", "summary", "name", "chains", "webhooks", "tags", "created", "updated", "size", "digest", "blob"),
)


def add_scenarios(rows: int) -> str:
    """Return the statement that adds so many, and returns the ids of those whose id was free."""
    return f"{insert('scenarios', _SCENARIO_COLUMNS, rows)} ON CONFLICT (id) DO NOTHING RETURNING id"


FIND_SCENARIO = """
    SELECT id, blob, summary, name, chains, webhooks, tags, created, updated FROM scenarios WHERE id = :id
"""
FIND_SCENARIOS = FIND_SCENARIO.replace("= :id", "{among ids, text}")
SCENARIO_WITH_DIGEST = "SELECT id FROM scenarios WHERE digest = :digest ORDER BY seq LIMIT 1"
WEBHOOKS_OF_SCENARIO = "SELECT webhooks FROM scenarios WHERE id = :id"
LOCK_SCENARIO = f"{WEBHOOKS_OF_SCENARIO} {{for_change}}"
LOCK_SCENARIO_TO_DELETE = f"{WEBHOOKS_OF_SCENARIO} {{for_update}}"
LOCK_JOB_OF_SCENARIO = "SELECT state FROM jobs WHERE id = :id {for_update}"
LOCK_DIGEST = "SELECT {lock 3, :key}"
LOCK_WEBHOOK = "SELECT {lock 4, :key}"
CHANGE_SCENARIO = """
    UPDATE scenarios SET summary = :summary, name = :name, chains = :chains, webhooks = :webhooks, tags = :tags,
        updated = :updated, size = :size, digest = :digest, blob = :blob
    WHERE id = :id
"""
DELETE_SCENARIO = (
    "DELETE FROM scenarios WHERE id = :id",
    *(
        f"DELETE FROM {table} WHERE job = :id"
        for table in ("log_lines", "mempool", "runs", "tallies", "webhook_marks", "notifications")
    ),
)
FORGET_EVENTS = "DELETE FROM webhook_events WHERE uuid = :uuid AND NOT EXISTS (SELECT 1 {naming :uuid})"
#: How many scenarios use a chain, the chain '' counting them all.  A server has several rows of each.
COUNT_SCENARIOS = "SELECT CAST(coalesce(sum(amount), 0) AS bigint) FROM scenario_counts WHERE chain = :chain"
#: How many scenarios a list is about, as far as that matters for the way in which they are found; and how many there are.
COUNT_PICKED = f"""
    SELECT CASE WHEN :tag = '' THEN ({COUNT_SCENARIOS}) ELSE {{tag_count}} END, ({COUNT_SCENARIOS.replace(":chain", "''")})
"""

#: What a list is sorted by; the order of creation decides between equal rows.
_ORDERS = {
    "created": ("s.created", "s.seq"),
    "id": ("s.id",),
    "summary": ("{sortable s.summary}", "s.seq"),
}
#: The same order, by the columns of the index by chain.
_CHAIN_BY_CREATED = ("c.created", "c.scenario")
#: One chain's scenarios, found by the chain, and then sorted unless they come in that order...
_OF_A_CHAIN = "scenario_chains c {cross} JOIN scenarios s ON s.seq = c.scenario"
#: ...or, if there are so many that a page fills soon, selected from all scenarios in their order.
_ALL_OF_A_CHAIN = "scenarios s {cross} JOIN scenario_chains c ON c.scenario = s.seq"
#: Not LIKE alone, whose index finds what reaches from one text into the next.
_SEARCHED = """
    {like_search} ({has s.summary, :search} OR {has s.id, :search} OR s.name <> '' AND {has s.name, :search})
"""


@cache
def list_scenarios(
    *, chain: bool, tag: bool, search: bool, after: bool, sort: str, descending: bool, are_many: bool
) -> str:
    """Return the question for a page of the scenarios of a chain, with a tag, with a text, or all; each row begins with the total.

    *are_many*: there are so many with the tag, or else of the chain, that a page fills soon in the order of the list.
    """
    conditions = [
        *(["c.chain = :chain"] if chain else []),
        *(["{tagged_in_order}" if are_many else "{tagged}"] if tag else []),
        *([_SEARCHED] if search else []),
    ]
    source = _OF_A_CHAIN if chain else "scenarios s"
    total = COUNT_SCENARIOS
    if tag or search:
        total = f"SELECT count(*) FROM {source} WHERE {' AND '.join(conditions)}"
    order = _CHAIN_BY_CREATED if chain and sort == "created" else _ORDERS[sort]
    if after:
        key = ", ".join(
            column.replace(column.strip("{}").removeprefix("sortable "), f":after_{place}")
            for place, column in enumerate(order)
        )
        conditions.append(f"({', '.join(order)}) {'<' if descending else '>'} ({key})")
    if chain and not tag and are_many:
        source = _ALL_OF_A_CHAIN
    return f"""
        SELECT ({total}) AS total, page.* FROM (SELECT 1) AS one LEFT JOIN (
            SELECT s.id, s.summary, s.name, s.chains, s.tags, s.created, s.updated, s.size, s.seq
            FROM {source} WHERE {" AND ".join(conditions) or "true"}
            ORDER BY {", ".join(f"{column} DESC" if descending else column for column in order)} LIMIT :limit
        ) AS page ON true
    """


# Transactions that were sent.

SENT_COLUMNS = (
    "chain, hash, sent, signer, nonce, at_block, valid_until, job, draft, scenario, node, state, searched, block,"
    " block_number, effects, revision"
)
#: Returns no row if the chain has one with the hash.
ADD_SENT = f"""
    INSERT INTO sent_transactions ({SENT_COLUMNS})
    VALUES ({", ".join(f":{name}" for name in SENT_COLUMNS.split(", "))})
    ON CONFLICT DO NOTHING RETURNING hash
"""
TRIM_SENT = """
    DELETE FROM sent_transactions WHERE (chain, hash) IN (
        SELECT chain, hash FROM sent_transactions ORDER BY sent DESC, chain DESC, hash DESC LIMIT 1000000 OFFSET :most
    )
"""
FIND_SENT = f"SELECT {SENT_COLUMNS} FROM sent_transactions WHERE chain = :chain AND hash = :hash"
CHANGE_SENT = """
    UPDATE sent_transactions SET state = :state, searched = :searched, block = :block, block_number = :block_number,
        effects = :effects, revision = revision + 1
    WHERE chain = :chain AND hash = :hash AND revision = :revision RETURNING hash
"""
REMOVE_SENT = """
    DELETE FROM sent_transactions WHERE chain = :chain AND hash = :hash AND revision = :revision RETURNING hash
"""
SENT_OF_DRAFTS = f"""
    SELECT {SENT_COLUMNS} FROM sent_transactions WHERE draft {{among drafts, bigint}}
    ORDER BY state <> 'expired', sent, chain, hash
"""
SENT_OF_SCENARIOS = f"""
    SELECT {SENT_COLUMNS} FROM (
        SELECT {SENT_COLUMNS}, row_number() OVER (
            PARTITION BY scenario, node
            ORDER BY CASE WHEN state = 'expired' THEN 1 ELSE 0 END, sent DESC, chain DESC, hash DESC
        ) AS place
        FROM sent_transactions WHERE scenario {{among scenarios, text}} AND scenario <> ''
    ) AS ranked WHERE place = 1
"""

# Notifications that are not delivered yet.

_DUE = "FROM notifications WHERE due <= :now AND url {outside without, text}"
IS_NOTIFICATION_DUE = f"SELECT seq {_DUE} LIMIT 1"
DUE_NOTIFICATIONS = f"""
    SELECT seq, id, job, event, created, attempts, format, url, drafts, reason {_DUE}
    ORDER BY due, seq LIMIT :limit {{for_update}} {{skip_locked}}
"""
CLAIM_NOTIFICATIONS = "UPDATE notifications SET due = :until WHERE seq {among seqs, bigint}"
RETRY_NOTIFICATION = """
    UPDATE notifications SET due = :due, attempts = attempts + 1, error = :error WHERE seq = :seq AND due = :claimed
"""
DROP_NOTIFICATION = "DELETE FROM notifications WHERE seq = :seq"
HAS_NOTIFICATIONS_TO_PRUNE = """
    SELECT 1 WHERE EXISTS (SELECT 1 FROM notifications WHERE created < :before)
        OR EXISTS (SELECT 1 FROM notifications GROUP BY job HAVING count(*) > :most)
"""
PRUNE_NOTIFICATIONS = """
    DELETE FROM notifications WHERE created < :before OR seq IN (
        SELECT seq FROM (
            SELECT seq, row_number() OVER (PARTITION BY job ORDER BY seq DESC) AS place FROM notifications
        ) AS placed WHERE place > :most
    ) RETURNING job
"""
COUNT_NOTIFICATIONS = """
    SELECT count(*) FILTER (WHERE attempts = 0 AND event <> 'draft_expiring'), count(*) FILTER (WHERE attempts > 0),
        coalesce((SELECT error FROM notifications WHERE attempts > 0 ORDER BY due DESC LIMIT 1), '')
    FROM notifications
"""

# Webhook events.

IS_WEBHOOK_NAMED = "SELECT 1 {naming :uuid} LIMIT 1"
LOCK_WEBHOOK_SHARED = "SELECT {lock_shared 4, :key}"
LOCK_WEBHOOK = "SELECT {lock 4, :key}"
#: Ids grow in the order of the commits: the lock is taken last, by the statement that gives one out.
ADD_EVENT = """
    WITH locked AS MATERIALIZED (SELECT {lock 2, 0})
    INSERT INTO webhook_events (uuid, received, content) SELECT :uuid, :now, :content FROM locked RETURNING id
"""
TRIM_EVENTS = """
    DELETE FROM webhook_events WHERE uuid = :uuid AND id <= (
        SELECT id FROM webhook_events WHERE uuid = :uuid ORDER BY id DESC LIMIT 1 OFFSET :most
    )
"""
_EVENT = "SELECT id, uuid, received, content FROM webhook_events"
NEWEST_EVENT = f"""
    {_EVENT} WHERE uuid = :uuid AND id > :after
        AND id > coalesce((SELECT event FROM webhook_marks WHERE job = :job AND uuid = :uuid), 0)
    ORDER BY id DESC LIMIT 1
"""
EVENTS_OF_WEBHOOK = f"{_EVENT} WHERE uuid = :uuid AND id > :after ORDER BY id LIMIT :limit"
FIND_EVENT = f"{_EVENT} WHERE id = :id"

# Rows that go by age, number and bytes.


def old_rows(table: "KeptTable") -> str:
    return f"""
        SELECT {table.number}, {table.owner} FROM {table.name} WHERE {table.written} < :before
        ORDER BY {table.written} LIMIT :most
    """


def remove_rows(table: "KeptTable") -> str:
    return f"DELETE FROM {table.name} WHERE {table.number} {{among numbers, bigint}} RETURNING {table.owner}"


def trim_rows(table: "KeptTable") -> str:
    return f"""
        DELETE FROM {table.name} WHERE {table.number} IN (
            SELECT {table.number} FROM {table.name} WHERE {table.owner} = :owner ORDER BY {table.number} LIMIT :excess
        )
    """


def trim_bytes(table: "KeptTable") -> str:
    return f"""
        DELETE FROM {table.name} WHERE {table.owner} = :owner AND {table.number} <= (
            SELECT max({table.number}) FROM (
                SELECT {table.number}, row_number() OVER newest AS place,
                    sum({{bytes {table.text}}}) OVER newest AS size
                FROM {table.name} WHERE {table.owner} = :owner WINDOW newest AS (ORDER BY {table.number} DESC)
            ) AS each WHERE size > :room AND place > 1
        )
    """


LOCK_TALLIES = "SELECT job FROM tallies WHERE job {among jobs, text} ORDER BY job {for_update}"


def crowded_jobs(table: "KeptTable") -> str:
    return f"""
        SELECT job, {table.tally} FROM tallies WHERE {table.tally} > :limit ORDER BY job LIMIT 100
        {{for_update}} {{skip_locked}}
    """


def count_down(table: "KeptTable") -> str:
    return f"""
        UPDATE tallies SET {table.tally} = {table.tally} - gone.amount
        FROM {{rows gone, job text, amount bigint}} WHERE tallies.job = gone.job
    """


def count_rows(table: "KeptTable") -> str:
    return f"""
        UPDATE tallies SET {table.tally} = (SELECT count(*) FROM {table.name} WHERE {table.owner} = :owner)
        WHERE job = :owner
    """


# Copies of tables.


def count_table(table: str) -> str:
    return f"SELECT count(*) FROM {table}"


def measure_rows(table: str, key: tuple[str, ...], long: tuple[str, ...], *, after: bool) -> str:
    """Return the question how many of the next rows come before those behind so many bytes in their *long* columns."""
    weight = " + ".join(f"coalesce({{bytes {name}}}, 0)" for name in long)
    first = read_rows(table, key, (*key, f"{weight} AS weight"), after=after)
    return f"""
        SELECT count(*) FROM (
            SELECT sum(weight) OVER (ORDER BY {", ".join(key)}) - weight AS former FROM ({first}) AS first
        ) AS sized WHERE former < :size
    """


def read_rows(table: str, key: tuple[str, ...], columns: tuple[str, ...], *, after: bool) -> str:
    """Return the question for the next rows of a table, in the order of their key."""
    names = ", ".join(key)
    condition = (
        f"({names}) > ({', '.join(f':after_{place}' for place in range(len(key)))})" if after else "true"
    )
    return f"SELECT {', '.join(columns)} FROM {table} WHERE {condition} ORDER BY {names} LIMIT :rows"


def last_number(table: str, column: str) -> str:
    """Return the question for the highest number that was given to a row, and that of a row which is there."""
    return f"SELECT {{last_number {table}, {column}}}, max({column}) FROM {table}"


def raise_number(table: str, column: str) -> tuple[str, ...]:
    return f"{{forget_number {table}}}", f"{{set_number {table}, {column}}}"


HAS_SCENARIO = "SELECT 1 FROM scenarios WHERE id = :id"

# Reading.  Of one job, or of all.

_LINES = "SELECT seq, job, written, text FROM log_lines"
READ_LOG = f"{_LINES} WHERE seq > :after ORDER BY seq LIMIT :limit"
READ_LOG_OF_JOB = f"{_LINES} WHERE job = :job AND seq > :after ORDER BY seq LIMIT :limit"
_DRAFTS = "SELECT seq, job, flag, chain, amount, tx_type, date, tx, spec_version, expires, node, human, uuid, occurrence FROM mempool"
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
#: Whether a number is of a row that was lost in a failover, or wasn't given out.
IS_LOST = """
    SELECT EXISTS (SELECT 1 FROM forks WHERE counter = :counter AND last < :number AND :number < first)
        OR :number > coalesce((SELECT seq FROM {sequences} WHERE name = :counter), 0)
"""
_RUN = "runs.seq, runs.planned, runs.started, runs.finished, runs.drafts, runs.failure, runs.steps"
LAST_RUNS = f"SELECT {_RUN} FROM runs WHERE job = :job AND seq < :before ORDER BY seq DESC LIMIT :limit"
#: *others*: the number of runs, less one.
RUNS_OF_EACH = f"""
    SELECT runs.job, {_RUN} FROM {{rows each, id text}} JOIN runs ON runs.job = each.id AND runs.seq >= coalesce(
        (SELECT seq FROM runs AS newest WHERE newest.job = each.id ORDER BY seq DESC LIMIT 1 OFFSET :others), 0
    ) ORDER BY runs.seq DESC
"""
UUIDS_OF_DRAFTS = "SELECT seq, uuid FROM mempool WHERE seq {among drafts, bigint}"
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

MARK_LINES = """
    UPDATE jobs SET begun = 2, planned = coalesce(marks.planned, jobs.planned), noted = marks.before + marks.count
    FROM {rows marks, job text, epoch bigint, planned bigint, before bigint, count bigint}
    WHERE jobs.id = marks.job AND jobs.epoch = marks.epoch AND owner <> '' AND noted = marks.before RETURNING id
"""
_TALLIES = "coalesce(t.lines, 0), coalesce(t.entries, 0), coalesce(t.runs, 0)"
LOCK_SCENARIOS_TO_FINISH = f"""
    SELECT s.id, {_TALLIES} FROM scenarios AS s LEFT JOIN tallies AS t ON t.job = s.id WHERE s.id {{among ids, text}}
    ORDER BY s.id {{for_key_share s}}
"""
LOCK_JOBS_TO_FINISH = f"""
    SELECT j.id, {_TALLIES}, j.state, j.epoch, j.owner, j.failures, CAST(j.schedule AS text), j.noted
    FROM jobs AS j LEFT JOIN tallies AS t ON t.job = j.id WHERE j.id {{among ids, text}} ORDER BY j.id {{for_change j}}
"""
PLAN_NEXT = """
    UPDATE jobs SET state = plans.state, due = plans.due, planned = plans.planned, {fence}
        changed = coalesce(plans.changed, jobs.changed), owner = '', begun = 0, attempts = 0, failures = plans.failures,
        runs = jobs.runs + plans.ran, last_started = coalesce(plans.started, last_started),
        last_finished = coalesce(plans.finished, last_finished), reason = coalesce(plans.reason, jobs.reason),
        leg = jobs.leg + 1, rung = plans.rung,
        step = plans.step, waiting = plans.waiting, webhook = plans.webhook, saved = plans.saved
    FROM {rows plans, job text, state text, due bigint, planned bigint, changed bigint, failures bigint, ran bigint,
        started bigint, finished bigint, reason text, rung bigint, step text, waiting bigint, webhook text, saved text}
    WHERE jobs.id = plans.job RETURNING id, leg, jobs.due
"""
#: An event that came while the leg was in progress.
WAKE_AT_ONCE = """
    UPDATE jobs SET due = {now}, rung = {now} WHERE id {among ids, text} AND webhook <> '' AND EXISTS (
        SELECT 1 FROM webhook_events AS e WHERE e.uuid = jobs.webhook AND e.id > coalesce(
            (SELECT event FROM webhook_marks AS m WHERE m.job = jobs.id AND m.uuid = jobs.webhook), 0
        )
    ) RETURNING id, leg, due
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
_RUN_ROW = "job, epoch, occurrence, planned, started, finished, lines, drafts, failure, steps"
#: A planned time has one run, whatever becomes of clocks.
ADD_RUNS = f"""
    INSERT INTO runs ({_RUN_ROW}) SELECT {_RUN_ROW} FROM {{rows ended, job text, epoch bigint, occurrence bigint,
        planned bigint, started bigint, finished bigint, lines bigint, drafts bigint, failure text, steps text}}
    WHERE true {{in_order}} ON CONFLICT DO NOTHING
"""
#: Numbers of lines and drafts grow in the order of the commits.  The lock is taken last, in one message with all that is
#: numbered under it, so that no slow sender holds it.
_NUMBERED = "WITH locked AS MATERIALIZED (SELECT {lock 1, 0})"
ADD_LINES = f"""
    {_NUMBERED} INSERT INTO log_lines (job, written, text)
    SELECT job, written, text FROM locked, {{rows lines, job text, written bigint, text text}} {{in_order}}
"""
DRAFT_COLUMNS = "chain, amount, tx_type, date, spec_version, expires, node, tx, human, uuid"
ADD_DRAFTS = f"""
    {_NUMBERED} INSERT INTO mempool (job, occurrence, flag, {DRAFT_COLUMNS})
    SELECT job, occurrence, '', {DRAFT_COLUMNS} FROM locked, {{rows drafts, job text, occurrence bigint, chain text,
        amount text, tx_type text, date bigint, spec_version bigint, expires bigint, node text, tx text, human text,
        uuid text}} {{in_order}}
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


# Jobs, and who runs their legs.

NOW = "SELECT {now}"
#: The columns of a job, in the order in which `read_job` takes them.
JOB = (
    "j.id, j.state, CAST(j.schedule AS text), j.changed, j.due, j.planned, j.epoch, j.owner, j.step, j.runs, j.failures,"
    " j.last_started, j.last_finished, j.reason, j.notify, j.waiting"
)
FIND_JOB = f"SELECT {JOB}, s.id FROM scenarios s LEFT JOIN jobs j ON j.id = s.id WHERE s.id = :id"
LOCK_JOB = f"SELECT {JOB}, j.leg, j.saved FROM jobs j WHERE j.id = :id {{for_update}}"
#: Returns no row if another process has started it since its epoch was read.
START_JOB = """
    INSERT INTO jobs AS j (id, state, due, planned, owner, epoch, begun, attempts, changed, runs, failures, step, reason,
        schedule, notify, leg, rung, saved, webhook, waiting)
    VALUES (:id, 'running', :due, :planned, '', 1, 0, 0, :changed, 0, 0, '', '', :schedule, :notify, 1, :rung, '', '', 0)
    ON CONFLICT (id) DO UPDATE SET state = 'running', due = excluded.due, planned = excluded.planned, {fence}
        owner = '', epoch = j.epoch + 1, begun = 0, attempts = 0, changed = excluded.changed, runs = 0, failures = 0,
        step = '', reason = '', schedule = excluded.schedule, notify = excluded.notify, leg = j.leg + 1,
        rung = excluded.rung, saved = '', webhook = '', waiting = 0
    WHERE j.epoch = :epoch RETURNING leg
"""
CHANGE_JOB = """
    UPDATE jobs SET state = :state, schedule = :schedule, notify = :notify, due = :due, planned = :planned, {fence}
        changed = :changed, reason = :reason, leg = :leg,
        rung = CASE WHEN :moves = 1 THEN :rung ELSE rung END,
        begun = CASE WHEN :moves = 1 THEN 0 ELSE begun END,
        attempts = CASE WHEN :moves = 1 THEN 0 ELSE attempts END,
        epoch = epoch + :ends,
        owner = CASE WHEN :ends = 1 THEN '' ELSE owner END,
        step = CASE WHEN :ends = 1 THEN '' ELSE step END,
        saved = CASE WHEN :ends = 1 THEN '' ELSE saved END,
        webhook = CASE WHEN :ends = 1 THEN '' ELSE webhook END,
        waiting = CASE WHEN :ends = 1 THEN 0 ELSE waiting END
    WHERE id = :id
"""
#: The condition of the index `jobs_failing`.
FAILING = "j.state = 'running' AND j.failures > 0"
#: With the number of all in the first column; `format` says which, and behind which.
LIST_JOBS = f"""
    SELECT (SELECT count(*) FROM jobs j WHERE {{condition}}), page.* FROM (SELECT 1) AS one LEFT JOIN (
        SELECT {JOB} FROM jobs j WHERE {{condition}} {{behind}} ORDER BY j.changed DESC, j.id DESC LIMIT :limit
    ) AS page ON 1 = 1
"""
COUNT_DRAFTS = """
    SELECT job, count(*) FROM mempool WHERE flag = '' AND expires > :now AND job {among ids, text} GROUP BY job
"""
#: The newest draft of each job and node that was sent; one that can't be included any more counts as not sent.
_DONE = """
    done (job, node, seq) AS MATERIALIZED (
        SELECT t.job, m.node, max(t.draft) FROM sent_transactions t JOIN mempool m ON m.seq = t.draft AND m.job = t.job
        WHERE t.draft IS NOT NULL AND t.state <> 'expired' GROUP BY t.job, m.node
    )
"""
_NOT_DONE = "NOT EXISTS (SELECT 1 FROM done d WHERE d.job = m.job AND d.node = m.node AND d.seq >= m.seq)"
#: Each job that has drafts, by one step in the index, and its newest draft that waits, by another one.
WAITING_DRAFTS = f"""
    WITH RECURSIVE {_DONE}, drafted (job) AS (
        SELECT min(job) FROM mempool WHERE flag = '' AND expires IS NOT NULL
        UNION ALL
        SELECT (SELECT min(m.job) FROM mempool m WHERE m.flag = '' AND m.expires IS NOT NULL AND m.job > drafted.job)
        FROM drafted WHERE job IS NOT NULL
    )
    SELECT n.job, n.seq, n.expires FROM drafted JOIN mempool n ON n.seq = (
        SELECT seq FROM mempool m WHERE flag = '' AND expires > :now AND job = drafted.job AND {_NOT_DONE}
        ORDER BY expires DESC, seq DESC LIMIT 1
    ) ORDER BY n.expires, n.seq
"""
COUNT_WAITING_DRAFTS = f"""
    WITH {_DONE} SELECT job, count(*) FROM mempool m
    WHERE flag = '' AND expires > :now AND job {{among ids, text}} AND {_NOT_DONE} GROUP BY job
"""
COUNT_JOBS = "SELECT state, count(*) FROM jobs GROUP BY state"
#: A leg that nobody has begun.
_FREE = "state = 'running' AND owner = ''"
NEXT_DUE = f"SELECT due FROM jobs {{by jobs_by_due}} WHERE {_FREE} AND due <= :most ORDER BY due LIMIT 1"
FIND_DUE = f"""
    SELECT id, leg FROM jobs {{by jobs_by_due}} WHERE {_FREE} AND due <= {{now}} ORDER BY due, id LIMIT :limit
"""
BEGIN_LEG = f"""
    UPDATE jobs SET owner = :owner, epoch = epoch + 1, attempts = attempts + 1, step = '', waiting = 0, noted = 0, {{fence}}
        last_started = CASE WHEN saved = '' THEN {{now}} ELSE last_started END
    WHERE id = :id AND leg = :leg AND {_FREE} AND due <= {{now}}
    RETURNING {JOB.replace("j.", "jobs.")}, attempts, begun, saved, {{now}},
        EXISTS (SELECT 1 FROM runs AS r WHERE r.job = jobs.id AND r.occurrence = jobs.planned),
        (SELECT blob FROM scenarios AS s WHERE s.id = jobs.id), (SELECT summary FROM scenarios AS s WHERE s.id = jobs.id)
"""
PAUSE_DAMAGED = """
    UPDATE jobs SET state = 'paused', due = NULL, planned = NULL, owner = '', step = '', saved = '', webhook = '', waiting = 0,
        reason = :reason, changed = :now
    WHERE id = :id
"""
RENEW_LEASE = """
    INSERT INTO leases (owner, granted, deadline, version, clock_offset)
    VALUES (:owner, {lease_now}, {lease_now} + :lease, :version, :offset)
    ON CONFLICT (owner) DO UPDATE SET granted = excluded.granted, deadline = excluded.deadline,
        version = excluded.version, clock_offset = excluded.clock_offset
    RETURNING {now}
"""
#: A lease that was granted at a moment ahead of the clock is of an earlier boot of the machine.
LIST_WORKERS = """
    SELECT l.owner, l.version, l.clock_offset, {now} - ({lease_now} - l.granted), l.deadline <= {lease_now},
        (SELECT count(*) FROM jobs j WHERE j.owner <> '' AND j.owner = l.owner)
    FROM leases l WHERE l.granted > {lease_now} - :shown AND l.granted <= {lease_now} ORDER BY l.owner LIMIT :limit
"""
JOBS_IN_PROGRESS = "SELECT owner, id FROM jobs WHERE owner <> '' ORDER BY owner, id LIMIT :limit"
JOBS_OF_OWNER = "SELECT id FROM jobs WHERE owner <> '' AND owner = :owner"
OWNERS = "SELECT DISTINCT owner FROM jobs WHERE owner <> ''"
#: A lease that was granted at a moment ahead of the clock is of an earlier boot of the machine.
LAPSED_OWNERS = f"""
    {OWNERS} AND NOT EXISTS (
        SELECT 1 FROM leases l WHERE l.owner = jobs.owner AND l.deadline > {{lease_now}} AND l.granted <= {{lease_now}}
    )
"""
COUNT_STALLED = """
    SELECT count(*) FROM jobs WHERE owner <> '' AND NOT EXISTS (
        SELECT 1 FROM leases l WHERE l.owner = jobs.owner AND l.deadline > {lease_now} - :silent
    )
"""
COUNT_WORKERS = "SELECT count(*) FROM leases WHERE deadline > {lease_now} AND granted <= {lease_now}"
COUNT_WAITING = "SELECT count(*) FROM jobs {by jobs_that_wait} WHERE waiting > 0"
COUNT_LATE = f"SELECT count(*) FROM jobs WHERE {_FREE} AND due <= {{now}} - :late"
#: And those that are not listed any more: their workers have gone without a leg that somebody would free.
REMOVE_LEASES = "DELETE FROM leases WHERE owner {among owners, text} OR granted < {lease_now} - :shown"
_FREE_LEGS = """
    UPDATE jobs SET owner = '', step = '', leg = leg + 1, rung = :rung WHERE owner <> '' AND owner {among owners, text}
"""
FREE_LEGS = f"{_FREE_LEGS} RETURNING id, leg, due"
FREE_SOME_LEGS = f"{_FREE_LEGS} AND id {{among jobs, text}} RETURNING id, leg, due"
WAKE = f"""
    UPDATE jobs SET due = {{now}}, leg = leg + 1, rung = {{now}} WHERE webhook = :uuid AND webhook <> '' AND {_FREE}
    RETURNING id, leg, due
"""
_RING = """
    UPDATE jobs SET leg = leg + 1, rung = {{now}} WHERE id IN (
        SELECT id FROM jobs WHERE {} ORDER BY due LIMIT :limit {{for_change}} {{skip_locked}}
    ) RETURNING id, leg, due
"""
RING_DUE = _RING.format(f"{_FREE} AND due <= {{now}} + :soon AND rung = 0")
RING_AGAIN = _RING.format(f"{_FREE} AND due <= {{now}} - :late AND rung <= {{now}} - :silent AND rung > 0")
#: The cast keeps SQLite from sorting all that are running for every page.
JOBS_AHEAD = f"""
    SELECT {JOB}, j.leg FROM jobs j WHERE CAST(state AS text) = 'running' AND owner = '' AND saved = '' AND due > :now
        AND id > :after
    ORDER BY id LIMIT :limit {{for_update}}
"""
