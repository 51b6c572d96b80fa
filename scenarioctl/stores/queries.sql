-- Every statement that a store asks, by name.
--
-- `{lower case …}` is a word that a `Dialect` of `asking.py` fills, `{CAPITALS}` another statement or a part of one, and `:name`
-- a value.  A name that begins with _ is a part only.

-- Scenarios.  `chains`, `tags` and `webhooks` are sorted lists; triggers keep the scenarios of each, and their counts.

-- _SCENARIO --
SELECT id, blob, summary, name, chains, webhooks, tags, created, updated FROM scenarios

-- FIND_SCENARIO --
{_SCENARIO} WHERE id = :id

-- FIND_SCENARIOS --
{_SCENARIO} WHERE id {among ids, text}

-- _NAME --
SELECT id, name FROM scenarios

-- NAME_OF_SCENARIO --
{_NAME} WHERE id = :id

-- NEWEST_SCENARIO --
{_NAME} ORDER BY created DESC, seq DESC LIMIT 1

-- SCENARIOS_WITH_NAME --
{_NAME} WHERE name <> '' AND {sortable name} = {sortable :name} AND name = :name ORDER BY seq DESC LIMIT :limit

-- SCENARIOS_BEGINNING --
{_NAME} WHERE id >= :first AND id < :last AND NOT EXISTS (SELECT 1 FROM deleted_scenarios WHERE id = :first)
ORDER BY id LIMIT :limit

-- IDS_LIKE_NAME --
SELECT id FROM scenarios WHERE id = :name UNION ALL SELECT id FROM deleted_scenarios WHERE id = :name

-- SCENARIO_WITH_DIGEST --
SELECT id FROM scenarios WHERE digest = :digest ORDER BY seq LIMIT 1

-- WEBHOOKS_OF_SCENARIO --
SELECT webhooks FROM scenarios WHERE id = :id

-- LOCK_SCENARIO --
{WEBHOOKS_OF_SCENARIO} {for_change}

-- LOCK_SCENARIO_TO_DELETE --
{WEBHOOKS_OF_SCENARIO} {for_update}

-- LOCK_JOB_OF_SCENARIO --
SELECT state FROM jobs WHERE id = :id {for_update}

-- LOCK_DIGEST --
SELECT {lock 3, :key}

-- LOCK_WEBHOOK --
SELECT {lock 4, :key}

-- CHANGE_SCENARIO --
UPDATE scenarios SET summary = :summary, name = :name, chains = :chains, webhooks = :webhooks, tags = :tags,
    updated = :updated, size = :size, digest = :digest, blob = :blob
WHERE id = :id

-- FORGET_EVENTS --
DELETE FROM webhook_events WHERE uuid = :uuid AND NOT EXISTS (SELECT 1 {naming :uuid})

-- COUNT_SCENARIOS --
-- How many scenarios use a chain, the chain '' counting them all.  A server has several rows of each.
SELECT CAST(coalesce(sum(amount), 0) AS bigint) FROM scenario_counts WHERE chain = :chain

-- Transactions that were sent.

-- SENT_COLUMNS --
chain, hash, sent, signer, nonce, at_block, valid_until, state, searched, block, block_number, effects, says, name, revision

-- ADD_SENT --
-- Returns no row if the chain has one with the hash.
INSERT INTO sent_transactions ({SENT_COLUMNS})
VALUES (:chain, :hash, :sent, :signer, :nonce, :at_block, :valid_until, :state, :searched,
    :block, :block_number, :effects, :says, :name, :revision)
ON CONFLICT DO NOTHING RETURNING hash

-- TRIM_SENT --
DELETE FROM sent_transactions WHERE (chain, hash) IN (
    SELECT chain, hash FROM sent_transactions ORDER BY sent DESC, chain DESC, hash DESC LIMIT 1000000 OFFSET :most
)

-- FIND_SENT --
SELECT {SENT_COLUMNS} FROM sent_transactions WHERE chain = :chain AND hash = :hash

-- LIST_SENT --
-- With the number of all in the first column; `format` says which, and behind which.
SELECT (SELECT count(*) FROM sent_transactions WHERE {condition}), page.* FROM (SELECT 1) AS one LEFT JOIN (
    SELECT {SENT_COLUMNS} FROM sent_transactions WHERE {condition} {behind} ORDER BY sent DESC, chain DESC, hash DESC LIMIT :limit
) AS page ON 1 = 1

-- CHANGE_SENT --
UPDATE sent_transactions SET state = :state, searched = :searched, block = :block, block_number = :block_number,
    effects = :effects, revision = revision + 1
WHERE chain = :chain AND hash = :hash AND revision = :revision RETURNING hash

-- REMOVE_SENT --
DELETE FROM sent_transactions WHERE chain = :chain AND hash = :hash AND revision = :revision RETURNING hash

-- FOR_COLUMNS --
scenario, node, draft, call, part, certain, outcome

-- FORGET_SENT_FOR --
DELETE FROM sent_for WHERE chain = :chain AND hash = :hash

-- ADD_SENT_FOR --
INSERT INTO sent_for (chain, hash, {FOR_COLUMNS})
SELECT :chain, :hash, {FOR_COLUMNS} FROM {rows made_of, scenario text, node text, draft bigint, call text, part text,
    certain bigint, outcome text} WHERE true ON CONFLICT DO NOTHING

-- FIND_SENT_FOR --
SELECT chain, hash, {FOR_COLUMNS} FROM sent_for WHERE hash {among hashes, text} ORDER BY scenario, node, draft

-- _STANDS --
-- It may still do what it should, or has.
state <> 'expired' AND outcome NOT IN ('failed', 'skipped', 'canceled', 'replaced')

-- LAST_SENT --
-- Of each step or draft, as `format` says: one that stands, if there is one, and else the last.
SELECT {FOR_COLUMNS}, {SENT_COLUMNS} FROM (
    SELECT {FOR_COLUMNS}, {SENT_COLUMNS}, row_number() OVER (
        PARTITION BY {place} ORDER BY CASE WHEN {_STANDS} THEN 0 ELSE 1 END, sent DESC, chain DESC, hash DESC
    ) AS place
    FROM sent_transactions JOIN sent_for USING (chain, hash) WHERE {condition}
) AS ranked WHERE place = 1

-- Calls that were drafted.

-- DRAFTED_COLUMNS --
chain, call, scenario, node, draft, signer, part, drafted, nonce, at_block

-- NOTE_DRAFTED --
INSERT INTO drafted_calls ({DRAFTED_COLUMNS})
SELECT {DRAFTED_COLUMNS} FROM {rows noted, chain text, call text, scenario text, node text, draft bigint, signer text,
    part text, drafted bigint, nonce bigint, at_block bigint} WHERE true
ON CONFLICT (chain, call, scenario, node, draft, signer) DO UPDATE
SET part = excluded.part, drafted = excluded.drafted, nonce = excluded.nonce, at_block = excluded.at_block

-- TRIM_DRAFTED --
DELETE FROM drafted_calls WHERE drafted <= (SELECT drafted FROM drafted_calls ORDER BY drafted DESC LIMIT 1 OFFSET :most)

-- FIND_DRAFTED --
SELECT {DRAFTED_COLUMNS} FROM drafted_calls WHERE chain = :chain AND call {among calls, text}
UNION ALL SELECT chain, call, job, node, seq, '', '', date, NULL, NULL FROM mempool
WHERE chain = :chain AND call {among calls, text} AND call <> ''
ORDER BY drafted DESC, draft DESC, node

-- DRAFTED_OF_SCENARIO --
SELECT {DRAFTED_COLUMNS} FROM drafted_calls WHERE scenario = :scenario ORDER BY drafted DESC, draft DESC, node

-- Addresses with names.

-- LOCK_ADDRESSES --
SELECT {lock 5, 0}

-- LIST_ADDRESSES --
SELECT name, account, address, watched, layers, created FROM addresses

-- PUT_ADDRESS --
INSERT INTO addresses (name, account, address, watched, layers, created)
VALUES (:name, :account, :address, :watched, :layers, :created)
ON CONFLICT (name) DO UPDATE SET address = excluded.address, watched = excluded.watched, layers = excluded.layers

-- REMOVE_ADDRESS --
DELETE FROM addresses WHERE name = :name RETURNING name

-- Notifications that are not delivered yet.

-- _DUE --
FROM notifications WHERE due <= :now AND url {outside without, text}

-- IS_NOTIFICATION_DUE --
SELECT seq {_DUE} LIMIT 1

-- DUE_NOTIFICATIONS --
SELECT seq, id, job, event, created, attempts, url, drafts, reason {_DUE}
ORDER BY due, seq LIMIT :limit {for_update} {skip_locked}

-- CLAIM_NOTIFICATIONS --
UPDATE notifications SET due = :until WHERE seq {among seqs, bigint}

-- RETRY_NOTIFICATION --
UPDATE notifications SET due = :due, attempts = attempts + 1, error = :error WHERE seq = :seq AND due = :claimed

-- DROP_NOTIFICATION --
DELETE FROM notifications WHERE seq = :seq

-- HAS_NOTIFICATIONS_TO_PRUNE --
SELECT 1 WHERE EXISTS (SELECT 1 FROM notifications WHERE created < :before)
    OR EXISTS (SELECT 1 FROM notifications GROUP BY job HAVING count(*) > :most)

-- PRUNE_NOTIFICATIONS --
DELETE FROM notifications WHERE created < :before OR seq IN (
    SELECT seq FROM (
        SELECT seq, row_number() OVER (PARTITION BY job ORDER BY seq DESC) AS place FROM notifications
    ) AS placed WHERE place > :most
) RETURNING job

-- COUNT_NOTIFICATIONS --
SELECT count(*) FILTER (WHERE attempts = 0 AND event <> 'draft_expiring'), count(*) FILTER (WHERE attempts > 0),
    coalesce((SELECT error FROM notifications WHERE attempts > 0 ORDER BY due DESC LIMIT 1), '')
FROM notifications

-- Webhook events.

-- IS_WEBHOOK_NAMED --
SELECT 1 {naming :uuid} LIMIT 1

-- LOCK_WEBHOOK_SHARED --
SELECT {lock_shared 4, :key}

-- ADD_EVENT --
-- Ids grow in the order of the commits: the lock is taken last, by the statement that gives one out.
WITH locked AS MATERIALIZED (SELECT {lock 2, 0})
INSERT INTO webhook_events (uuid, received, content, key) SELECT :uuid, :now, :content, :key FROM locked
WHERE true ON CONFLICT DO NOTHING RETURNING id

-- EVENT_OF_KEY --
SELECT id, content FROM webhook_events WHERE uuid = :uuid AND key = :key

-- TRIM_EVENTS --
DELETE FROM webhook_events WHERE uuid = :uuid AND id <= (
    SELECT id FROM webhook_events WHERE uuid = :uuid ORDER BY id DESC LIMIT 1 OFFSET :most
)

-- _EVENT --
SELECT id, uuid, received, content FROM webhook_events

-- NEWEST_EVENT --
{_EVENT} WHERE uuid = :uuid AND id > :after
    AND id > coalesce((SELECT event FROM webhook_marks WHERE job = :job AND uuid = :uuid), 0)
ORDER BY id DESC LIMIT 1

-- EVENTS_OF_WEBHOOK --
{_EVENT} WHERE uuid = :uuid AND id > :after ORDER BY id LIMIT :limit

-- Rows that go by age and number; `[…]` is a column of a `KeptTable`, or its name.

-- OLD_ROWS --
SELECT [number], [owner] FROM [name] WHERE [written] < :before ORDER BY [written] LIMIT :most

-- REMOVE_ROWS --
DELETE FROM [name] WHERE [number] {among numbers, bigint} RETURNING [owner]

-- TRIM_ROWS --
DELETE FROM [name] WHERE [number] IN (SELECT [number] FROM [name] WHERE [owner] = :owner ORDER BY [number] LIMIT :excess)

-- CROWDED_JOBS --
SELECT job, [tally] FROM tallies WHERE [tally] > :limit ORDER BY job LIMIT 100 {for_update} {skip_locked}

-- COUNT_DOWN --
UPDATE tallies SET [tally] = [tally] - gone.amount FROM {rows gone, job text, amount bigint} WHERE tallies.job = gone.job

-- LOCK_TALLIES --
SELECT job FROM tallies WHERE job {among jobs, text} ORDER BY job {for_update}

-- HAS_SCENARIO --
SELECT 1 FROM scenarios WHERE id = :id

-- Reading.  Of one job, or of all.

-- _LINES --
SELECT seq, job, written, text FROM log_lines

-- READ_LOG --
{_LINES} WHERE seq > :after ORDER BY seq LIMIT :limit

-- READ_LOG_OF_JOB --
{_LINES} WHERE job = :job AND seq > :after ORDER BY seq LIMIT :limit

-- _DRAFTS --
SELECT seq, job, flag, chain, amount, tx_type, date, tx, spec_version, expires, node, human, uuid, beside, occurrence, call FROM mempool

-- READ_MEMPOOL --
{_DRAFTS} WHERE seq > :after ORDER BY seq LIMIT :limit

-- READ_MEMPOOL_OF_JOB --
{_DRAFTS} WHERE job = :job AND seq > :after ORDER BY seq LIMIT :limit

-- FIND_TAIL --
SELECT coalesce((SELECT seq FROM log_lines ORDER BY seq DESC LIMIT 1 OFFSET :lines), 0),
    coalesce((SELECT seq FROM mempool ORDER BY seq DESC LIMIT 1 OFFSET :entries), 0)

-- FIND_TAIL_OF_JOB --
SELECT coalesce((SELECT seq FROM log_lines WHERE job = :job ORDER BY seq DESC LIMIT 1 OFFSET :lines), 0),
    coalesce((SELECT seq FROM mempool WHERE job = :job ORDER BY seq DESC LIMIT 1 OFFSET :entries), 0)
FROM scenarios WHERE id = :job

-- FIND_END --
SELECT name, seq FROM {sequences}

-- IS_LOST --
-- Whether a number is of a row that was lost in a failover, or wasn't given out.
SELECT EXISTS (SELECT 1 FROM forks WHERE counter = :counter AND last < :number AND :number < first)
    OR :number > coalesce((SELECT seq FROM {sequences} WHERE name = :counter), 0)

-- _RUN --
runs.seq, runs.planned, runs.started, runs.finished, runs.drafts, runs.failure

-- LAST_RUNS --
SELECT {_RUN} FROM runs WHERE job = :job AND seq < :before ORDER BY seq DESC LIMIT :limit

-- STEPS_OF_RUN --
SELECT steps FROM runs WHERE job = :job AND seq = :number

-- RUNS_OF_EACH --
-- *others*: the number of runs, less one.
SELECT runs.job, {_RUN} FROM {rows each, id text} JOIN runs ON runs.job = each.id AND runs.seq >= coalesce(
    (SELECT seq FROM runs AS newest WHERE newest.job = each.id ORDER BY seq DESC LIMIT 1 OFFSET :others), 0
) ORDER BY runs.seq DESC

-- COUNT_RUNS --
-- With the newest of each job.
SELECT t.job, t.runs, {_RUN} FROM tallies AS t
LEFT JOIN runs ON runs.seq = (SELECT max(seq) FROM runs AS newest WHERE newest.job = t.job)
WHERE t.job {among jobs, text} AND t.runs > 0

-- UUIDS_OF_DRAFTS --
SELECT seq, uuid FROM mempool WHERE seq {among drafts, bigint}

-- _VALID --
flag = '' AND spec_version IS NOT NULL

-- NEXT_DRAFTED_FOR --
-- Seeks the next pair in the index, past all drafts of the previous pair.
SELECT chain, spec_version FROM mempool WHERE {_VALID} AND (chain, spec_version) > (:chain, :spec_version)
ORDER BY chain, spec_version LIMIT 1

-- READ_DRAFTS --
{_DRAFTS} WHERE {_VALID} AND chain = :chain AND spec_version = :spec_version AND seq > :after
ORDER BY seq LIMIT :limit

-- Flags.

-- FLAG_DRAFTS --
-- Two processes may flag the same draft; it is returned to one.
UPDATE mempool SET flag = flags.why FROM {rows flags, number bigint, why text}
WHERE mempool.seq = flags.number AND mempool.flag = '' RETURNING job, seq

-- LOCK_SCENARIOS --
SELECT id FROM scenarios WHERE id {among ids, text} ORDER BY id {for_key_share}

-- Steps and ends of runs, each of another job.

-- _TALLIES --
coalesce(t.lines, 0), coalesce(t.entries, 0), coalesce(t.runs, 0)

-- LOCK_SCENARIOS_TO_FINISH --
SELECT s.id, {_TALLIES} FROM scenarios AS s LEFT JOIN tallies AS t ON t.job = s.id WHERE s.id {among ids, text}
ORDER BY s.id {for_key_share s}

-- LOCK_JOBS_TO_FINISH --
SELECT j.id, {_TALLIES}, j.state, j.epoch, j.owner, j.failures, CAST(j.schedule AS text)
FROM jobs AS j LEFT JOIN tallies AS t ON t.job = j.id WHERE j.id {among ids, text} ORDER BY j.id {for_change j}

-- PLAN_NEXT --
UPDATE jobs SET state = plans.state, due = plans.due, planned = plans.planned,
    changed = coalesce(plans.changed, jobs.changed), owner = '', attempts = 0, failures = plans.failures,
    runs = jobs.runs + plans.ran, last_started = coalesce(plans.started, last_started),
    last_finished = coalesce(plans.finished, last_finished), reason = coalesce(plans.reason, jobs.reason),
    step = plans.step, waiting = plans.waiting, webhook = plans.webhook, saved = plans.saved
FROM {rows plans, job text, state text, due bigint, planned bigint, changed bigint, failures bigint, ran bigint,
    started bigint, finished bigint, reason text, step text, waiting bigint, webhook text, saved text}
WHERE jobs.id = plans.job

-- WAKE_AT_ONCE --
-- An event that came while the leg was in progress.
UPDATE jobs SET due = {now} WHERE id {among ids, text} AND webhook <> '' AND EXISTS (
    SELECT 1 FROM webhook_events AS e WHERE e.uuid = jobs.webhook AND e.id > coalesce(
        (SELECT event FROM webhook_marks AS m WHERE m.job = jobs.id AND m.uuid = jobs.webhook), 0
    )
) RETURNING due

-- COUNT_UP --
INSERT INTO tallies (job, lines, entries, runs)
SELECT job, lines, entries, runs FROM {rows added, job text, lines bigint, entries bigint, runs bigint} WHERE true
ON CONFLICT (job) DO UPDATE SET lines = tallies.lines + excluded.lines,
    entries = tallies.entries + excluded.entries, runs = tallies.runs + excluded.runs

-- MARK_EVENTS --
INSERT INTO webhook_marks (job, uuid, event)
SELECT job, uuid, event FROM {rows used, job text, uuid text, event bigint} WHERE true
ON CONFLICT (job, uuid) DO UPDATE SET event = {greatest webhook_marks.event, excluded.event}

-- _RUN_ROW --
job, epoch, occurrence, planned, started, finished, lines, drafts, failure, steps

-- ADD_RUNS --
-- A planned time has one run, whatever becomes of clocks.
INSERT INTO runs ({_RUN_ROW}) SELECT {_RUN_ROW} FROM {rows ended, job text, epoch bigint, occurrence bigint,
    planned bigint, started bigint, finished bigint, lines bigint, drafts bigint, failure text, steps text}
WHERE true {in_order} ON CONFLICT DO NOTHING

-- _NUMBERED --
-- Numbers of lines and drafts grow in the order of the commits.  The lock is taken last, in one message with all that is
-- numbered under it, so that no slow sender holds it.
WITH locked AS MATERIALIZED (SELECT {lock 1, 0})

-- ADD_LINES --
{_NUMBERED} INSERT INTO log_lines (job, written, text)
SELECT job, written, text FROM locked, {rows lines, job text, written bigint, text text} {in_order}

-- DRAFT_COLUMNS --
chain, amount, tx_type, date, spec_version, expires, node, tx, human, uuid, beside, call

-- ADD_DRAFTS --
{_NUMBERED} INSERT INTO mempool (job, occurrence, flag, {DRAFT_COLUMNS})
SELECT job, occurrence, '', {DRAFT_COLUMNS} FROM locked, {rows drafts, job text, occurrence bigint, chain text,
    amount text, tx_type text, date bigint, spec_version bigint, expires bigint, node text, tx text, human text,
    uuid text, beside text, call text} {in_order}

-- FORGET_EXPIRING --
DELETE FROM notifications WHERE job {among jobs, text} AND event = 'draft_expiring' AND attempts = 0

-- ADD_NOTIFICATIONS --
-- Those of drafts name them: the run has just left *count* of them.
INSERT INTO notifications (id, job, event, created, due, attempts, url, drafts, reason, error)
SELECT id, job, event, created, created, 0, url, coalesce((
        SELECT {numbers seq} FROM (
            SELECT seq FROM (
                SELECT seq, spec_version, tx FROM mempool WHERE job = :job ORDER BY seq DESC LIMIT :count
            ) AS newest WHERE spec_version IS NOT NULL AND tx <> '{NO_TRANSACTION}' ORDER BY seq
        ) AS drafted WHERE event IN ('draft_ready', 'draft_expiring')
    ), '[]'), reason, ''
FROM {rows added, id text, job text, event text, created bigint, url text, reason text}
{in_order}

-- Jobs, and who runs their legs.

-- NOW --
SELECT {now}

-- CHANGE_TOKEN --
SELECT {token}

-- JOB --
-- The columns of a job, in the order in which `read_job` takes them.
j.id, j.state, CAST(j.schedule AS text), j.changed, j.due, j.planned, j.epoch, j.owner, j.step, j.runs, j.failures, j.last_started, j.last_finished, j.reason, j.notify, j.waiting

-- FIND_JOB --
SELECT {JOB}, s.id FROM scenarios s LEFT JOIN jobs j ON j.id = s.id WHERE s.id = :id

-- LOCK_JOB --
SELECT {JOB}, j.saved FROM jobs j WHERE j.id = :id {for_update}

-- START_JOB --
-- Returns no row if another process has started it since its epoch was read.
INSERT INTO jobs AS j (id, state, due, planned, owner, epoch, attempts, changed, runs, failures, step, reason,
    schedule, notify, saved, webhook, waiting)
VALUES (:id, 'running', :due, :planned, '', 1, 0, :changed, 0, 0, '', '', :schedule, :notify, '', '', 0)
ON CONFLICT (id) DO UPDATE SET state = 'running', due = excluded.due, planned = excluded.planned,
    owner = '', epoch = j.epoch + 1, attempts = 0, changed = excluded.changed, runs = 0, failures = 0,
    step = '', reason = '', schedule = excluded.schedule, notify = excluded.notify,
    saved = '', webhook = '', waiting = 0
WHERE j.epoch = :epoch RETURNING id

-- CHANGE_JOB --
UPDATE jobs SET state = :state, schedule = :schedule, notify = :notify, due = :due, planned = :planned,
    changed = :changed, reason = :reason,
    attempts = CASE WHEN :moves = 1 THEN 0 ELSE attempts END,
    epoch = epoch + :ends,
    owner = CASE WHEN :ends = 1 THEN '' ELSE owner END,
    step = CASE WHEN :ends = 1 THEN '' ELSE step END,
    saved = CASE WHEN :ends = 1 THEN '' ELSE saved END,
    webhook = CASE WHEN :ends = 1 THEN '' ELSE webhook END,
    waiting = CASE WHEN :ends = 1 THEN 0 ELSE waiting END
WHERE id = :id

-- FAILING --
-- The condition of the index `jobs_failing`.
j.state = 'running' AND j.failures > 0

-- LIST_JOBS --
-- With the number of all in the first column; `format` says which, and behind which.
SELECT ({total}), page.* FROM (SELECT 1) AS one LEFT JOIN (
    SELECT {JOB} FROM jobs j WHERE {condition} {behind} ORDER BY j.changed DESC, j.id DESC LIMIT :limit
) AS page ON 1 = 1

-- COUNT_DRAFTS --
SELECT job, count(*) FROM mempool WHERE flag = '' AND expires > :now AND job {among ids, text} GROUP BY job

-- _DONE --
-- The newest draft of each job and node that was sent; one that failed, or can't be included any more, counts as not sent.
done (job, node, seq) AS MATERIALIZED (
    SELECT f.scenario, m.node, max(f.draft) FROM sent_for f JOIN sent_transactions t ON t.chain = f.chain AND t.hash = f.hash
    JOIN mempool m ON m.seq = f.draft AND m.job = f.scenario WHERE f.draft > 0 AND f.certain = 1 AND {_STANDS} GROUP BY f.scenario, m.node
)

-- _NOT_DONE --
NOT EXISTS (SELECT 1 FROM done d WHERE d.job = m.job AND d.node = m.node AND d.seq >= m.seq)

-- WAITING_DRAFTS --
-- Each job that has drafts, by one step in the index, and its newest draft that waits, by another one.
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

-- COUNT_WAITING_DRAFTS --
WITH {_DONE} SELECT job, count(*) FROM mempool m
WHERE flag = '' AND expires > :now AND job {among ids, text} AND {_NOT_DONE} GROUP BY job

-- COUNT_FAILING --
SELECT count(*) FROM jobs j WHERE {FAILING}

-- COUNT_OF_STATE --
-- NULL means all.
SELECT CAST(coalesce(sum(amount), 0) AS bigint) FROM job_counts WHERE CAST(:state AS text) IS NULL OR state = :state

-- COUNT_JOBS --
SELECT state, CAST(sum(amount) AS bigint) FROM job_counts GROUP BY state

-- _FREE --
-- A leg that nobody has begun.
state = 'running' AND owner = ''

-- NEXT_DUE --
SELECT due, {now} FROM jobs {by jobs_by_due} WHERE {_FREE} AND due <= :most ORDER BY due LIMIT 1

-- BEGIN_DUE --
-- Of an owner without a lease, others would take the legs at once.  What RETURNING returns has no order.
WITH due_legs AS MATERIALIZED (
    SELECT id FROM jobs {by jobs_by_due}
    WHERE {_FREE} AND due <= {now} AND EXISTS (SELECT 1 FROM leases WHERE leases.owner = :owner AND deadline > {lease_now})
    ORDER BY due LIMIT :limit {for_change} {skip_locked}
)
UPDATE jobs SET owner = :owner, epoch = epoch + 1, attempts = attempts + 1, step = '', waiting = 0,
    last_started = CASE WHEN saved = '' AND attempts = 0 THEN {now} ELSE last_started END
FROM due_legs WHERE jobs.id = due_legs.id
RETURNING jobs.id, jobs.state, CAST(jobs.schedule AS text), jobs.changed, jobs.due, jobs.planned, jobs.epoch, jobs.owner,
    jobs.step, jobs.runs, jobs.failures, jobs.last_started, jobs.last_finished, jobs.reason, jobs.notify, jobs.waiting, attempts, saved, {now},
    EXISTS (SELECT 1 FROM runs AS r WHERE r.job = jobs.id AND r.occurrence = jobs.planned),
    (SELECT blob FROM scenarios AS s WHERE s.id = jobs.id), (SELECT summary FROM scenarios AS s WHERE s.id = jobs.id)

-- PAUSE_DAMAGED --
UPDATE jobs SET state = 'paused', due = NULL, owner = '', reason = 'its row in the store is damaged' WHERE id = :id

-- RENEW_LEASE --
INSERT INTO leases (owner, granted, deadline, version, clock_offset)
VALUES (:owner, {lease_now}, {lease_now} + :lease, :version, :offset)
ON CONFLICT (owner) DO UPDATE SET granted = excluded.granted, deadline = excluded.deadline,
    version = excluded.version, clock_offset = excluded.clock_offset
RETURNING {now}

-- LIST_WORKERS --
-- A lease that was granted at a moment ahead of the clock is of an earlier boot of the machine.
SELECT l.owner, l.version, l.clock_offset, {now} - ({lease_now} - l.granted), l.deadline <= {lease_now},
    (SELECT count(*) FROM jobs j WHERE j.owner <> '' AND j.owner = l.owner)
FROM leases l WHERE l.granted > {lease_now} - :shown AND l.granted <= {lease_now} ORDER BY l.owner LIMIT :limit

-- JOBS_IN_PROGRESS --
SELECT owner, id FROM jobs WHERE owner <> '' ORDER BY owner, id LIMIT :limit

-- JOBS_OF_OWNER --
SELECT id, epoch FROM jobs WHERE owner <> '' AND owner = :owner

-- OWNERS --
SELECT DISTINCT owner FROM jobs WHERE owner <> ''

-- LAPSED_OWNERS --
-- A lease that was granted at a moment ahead of the clock is of an earlier boot of the machine.
{OWNERS} AND NOT EXISTS (
    SELECT 1 FROM leases l WHERE l.owner = jobs.owner AND l.deadline > {lease_now} AND l.granted <= {lease_now}
)

-- LIVE_OWNERS --
SELECT owner FROM leases WHERE deadline > {lease_now} AND granted <= {lease_now}

-- FIND_TROUBLE --
SELECT (SELECT count(*) FROM jobs WHERE owner <> '' AND NOT EXISTS (
        SELECT 1 FROM leases l WHERE l.owner = jobs.owner AND l.deadline > {lease_now} - :silent
    )),
    (SELECT count(*) FROM jobs WHERE {_FREE} AND due <= {now} - :late),
    EXISTS (SELECT 1 FROM jobs WHERE state = 'running')

-- REMOVE_LEASES --
-- And those that are not listed any more: their workers have gone without a leg that somebody would free.
DELETE FROM leases WHERE owner {among owners, text} OR granted < {lease_now} - :shown

-- FREE_LEGS --
UPDATE jobs SET owner = '', step = '' WHERE owner <> '' AND owner {among owners, text} RETURNING id

-- FREE_SOME_LEGS --
UPDATE jobs SET owner = '', step = '' FROM {rows legs, job text, number bigint}
WHERE jobs.id = legs.job AND jobs.epoch = legs.number AND owner <> '' AND owner {among owners, text} RETURNING id

-- WAKE --
UPDATE jobs SET due = {now} WHERE webhook = :uuid AND webhook <> '' AND {_FREE} RETURNING due

-- NOTE_SERVED --
INSERT INTO served (only_row, at, away) SELECT 1, {now}, 0 WHERE EXISTS (SELECT 1 FROM jobs WHERE webhook <> '')
ON CONFLICT (only_row) DO UPDATE SET at = {greatest served.at, excluded.at},
    away = served.away + CASE WHEN excluded.at - served.at > :gap THEN excluded.at - served.at ELSE 0 END

-- TIME_AWAY --
SELECT away + CASE WHEN {now} - at > :gap THEN {now} - at ELSE 0 END FROM served

-- JOBS_AHEAD --
-- The cast keeps SQLite from sorting all that are running for every page.
SELECT {JOB} FROM jobs j WHERE CAST(state AS text) = 'running' AND owner = '' AND saved = '' AND due > :now
    AND id > :after
ORDER BY id LIMIT :limit {for_update}
