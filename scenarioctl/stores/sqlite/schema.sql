-- The tables of the embedded store.  A semicolon and an empty line separate two statements.

-- All but the diagram comes before the diagram: SQLite reads a row from its start, and follows overflow pages only as far
-- as it needs.  `chains`, `tags` and `webhooks` are sorted JSON lists.
--
-- Ids are random: in a tree sorted by id, each new scenario would change another page, and the log would get that page
-- whole.  Sorted by number, all trees but one grow at their ends, and creating a scenario writes a third as much.
CREATE TABLE scenarios (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    summary TEXT NOT NULL,
    name TEXT NOT NULL,
    chains TEXT NOT NULL,
    tags TEXT NOT NULL,
    webhooks TEXT NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    size INTEGER NOT NULL,
    digest BLOB,
    blob BLOB NOT NULL
) STRICT;

CREATE INDEX scenarios_by_created ON scenarios (created, seq);

CREATE INDEX scenarios_by_summary ON scenarios (summary, seq);

CREATE INDEX scenarios_by_name ON scenarios (name) WHERE name <> '';

CREATE INDEX scenarios_by_digest ON scenarios (digest) WHERE digest IS NOT NULL;

-- The scenarios of each chain, tag and webhook.  No REFERENCES: people who delete rows by hand mostly have foreign keys
-- off, and numbers are used again.
CREATE TABLE scenario_chains (
    chain TEXT NOT NULL,
    created INTEGER NOT NULL,
    scenario INTEGER NOT NULL,
    PRIMARY KEY (chain, created, scenario)
) WITHOUT ROWID, STRICT;

CREATE UNIQUE INDEX scenario_chains_by_scenario ON scenario_chains (scenario, chain);

CREATE TABLE scenario_tags (
    tag TEXT NOT NULL,
    scenario INTEGER NOT NULL,
    PRIMARY KEY (tag, scenario)
) WITHOUT ROWID, STRICT;

CREATE INDEX scenario_tags_by_scenario ON scenario_tags (scenario);

CREATE TABLE scenario_webhooks (
    uuid TEXT NOT NULL,
    scenario INTEGER NOT NULL,
    PRIMARY KEY (uuid, scenario)
) WITHOUT ROWID, STRICT;

CREATE INDEX scenario_webhooks_by_scenario ON scenario_webhooks (scenario);

-- Counting 100 000 index entries takes milliseconds, reading one row does not.  The chain '' counts them all.
CREATE TABLE scenario_counts (
    chain TEXT NOT NULL PRIMARY KEY,
    amount INTEGER NOT NULL
) WITHOUT ROWID, STRICT;

CREATE TRIGGER scenario_added AFTER INSERT ON scenarios BEGIN
    INSERT INTO scenario_counts VALUES ('', 1) ON CONFLICT (chain) DO UPDATE SET amount = amount + 1;
    INSERT INTO scenario_chains (chain, created, scenario) SELECT value, new.created, new.seq FROM json_each(new.chains);
    INSERT INTO scenario_tags (tag, scenario) SELECT value, new.seq FROM json_each(new.tags);
    INSERT INTO scenario_webhooks (uuid, scenario) SELECT value, new.seq FROM json_each(new.webhooks);
END;

CREATE TRIGGER scenario_chains_changed AFTER UPDATE OF chains ON scenarios WHEN new.chains <> old.chains BEGIN
    DELETE FROM scenario_chains WHERE scenario = new.seq;
    INSERT INTO scenario_chains (chain, created, scenario) SELECT value, new.created, new.seq FROM json_each(new.chains);
END;

CREATE TRIGGER scenario_tags_changed AFTER UPDATE OF tags ON scenarios WHEN new.tags <> old.tags BEGIN
    DELETE FROM scenario_tags WHERE scenario = new.seq;
    INSERT INTO scenario_tags (tag, scenario) SELECT value, new.seq FROM json_each(new.tags);
END;

CREATE TRIGGER scenario_webhooks_changed AFTER UPDATE OF webhooks ON scenarios WHEN new.webhooks <> old.webhooks BEGIN
    DELETE FROM scenario_webhooks WHERE scenario = new.seq;
    INSERT INTO scenario_webhooks (uuid, scenario) SELECT value, new.seq FROM json_each(new.webhooks);
END;

CREATE TRIGGER scenario_removed AFTER DELETE ON scenarios BEGIN
    UPDATE scenario_counts SET amount = amount - 1 WHERE chain = '';
    DELETE FROM scenario_chains WHERE scenario = old.seq;
    DELETE FROM scenario_tags WHERE scenario = old.seq;
    DELETE FROM scenario_webhooks WHERE scenario = old.seq;
    INSERT INTO deleted_scenarios VALUES (old.id);
END;

-- An id is only ever that of one scenario, and no name of another one.
CREATE TABLE deleted_scenarios (
    id TEXT NOT NULL PRIMARY KEY
) WITHOUT ROWID, STRICT;

CREATE TRIGGER scenario_id_taken BEFORE INSERT ON scenarios WHEN
    EXISTS (SELECT 1 FROM deleted_scenarios WHERE id = new.id)
    OR EXISTS (SELECT 1 FROM scenarios WHERE name <> '' AND name = new.id)
BEGIN
    SELECT RAISE(IGNORE);
END;

CREATE TRIGGER scenario_chain_added AFTER INSERT ON scenario_chains BEGIN
    INSERT INTO scenario_counts VALUES (new.chain, 1) ON CONFLICT (chain) DO UPDATE SET amount = amount + 1;
END;

CREATE TRIGGER scenario_chain_removed AFTER DELETE ON scenario_chains BEGIN
    UPDATE scenario_counts SET amount = amount - 1 WHERE chain = old.chain;
    DELETE FROM scenario_counts WHERE chain = old.chain AND amount = 0;
END;

CREATE TABLE jobs (
    id TEXT NOT NULL PRIMARY KEY REFERENCES scenarios (id) ON DELETE CASCADE,
    state TEXT NOT NULL,
    due INTEGER,
    planned INTEGER,
    owner TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    runs INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    last_started INTEGER,
    last_finished INTEGER,
    -- What a run waits for between two legs, and what the next one goes on with.
    waiting INTEGER NOT NULL,
    webhook TEXT NOT NULL,
    step TEXT NOT NULL,
    reason TEXT NOT NULL,
    schedule TEXT NOT NULL,
    notify TEXT NOT NULL,
    saved TEXT NOT NULL
) WITHOUT ROWID, STRICT;

-- Only jobs that may be claimed: a claim doesn't scan jobs that are running or stopped.
CREATE INDEX jobs_by_due ON jobs (due) WHERE state = 'running' AND owner = '';

CREATE INDEX jobs_by_owner ON jobs (owner) WHERE owner <> '';

CREATE INDEX jobs_by_changed ON jobs (changed, id);

CREATE INDEX jobs_by_state ON jobs (state, changed, id);

CREATE INDEX jobs_failing ON jobs (changed, id) WHERE state = 'running' AND failures > 0;

CREATE INDEX jobs_by_webhook ON jobs (webhook) WHERE webhook <> '';

-- How many jobs are in each state.
CREATE TABLE job_counts (
    state TEXT NOT NULL PRIMARY KEY,
    amount INTEGER NOT NULL
) WITHOUT ROWID, STRICT;

CREATE TRIGGER job_added AFTER INSERT ON jobs BEGIN
    INSERT INTO job_counts VALUES (new.state, 1) ON CONFLICT (state) DO UPDATE SET amount = amount + 1;
END;

CREATE TRIGGER job_changed AFTER UPDATE OF state ON jobs WHEN new.state <> old.state BEGIN
    UPDATE job_counts SET amount = amount - 1 WHERE state = old.state;
    INSERT INTO job_counts VALUES (new.state, 1) ON CONFLICT (state) DO UPDATE SET amount = amount + 1;
END;

CREATE TRIGGER job_removed AFTER DELETE ON jobs BEGIN
    UPDATE job_counts SET amount = amount - 1 WHERE state = old.state;
END;

-- One row per worker, not per job: one write renews a thousand claims.
CREATE TABLE leases (
    owner TEXT NOT NULL PRIMARY KEY,
    -- When the lease was granted: a moment ahead of the clock is of an earlier boot.
    granted INTEGER NOT NULL,
    deadline INTEGER NOT NULL,
    version TEXT NOT NULL,
    -- By how many nanoseconds its clock is ahead of the store's.
    clock_offset INTEGER
) WITHOUT ROWID, STRICT;

-- When a server last took events, and for how many nanoseconds none did, as far as runs waited for one meanwhile.
CREATE TABLE served (
    only_row INTEGER NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL,
    away INTEGER NOT NULL
) STRICT;

-- AUTOINCREMENT: seq is a cursor, so the number of a deleted row must not be used again.
CREATE TABLE runs (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    job TEXT NOT NULL REFERENCES scenarios (id) ON DELETE CASCADE,
    epoch INTEGER,
    occurrence INTEGER,
    planned INTEGER NOT NULL,
    started INTEGER NOT NULL,
    finished INTEGER NOT NULL,
    lines INTEGER NOT NULL,
    drafts INTEGER NOT NULL,
    failure TEXT NOT NULL,
    steps TEXT NOT NULL
) STRICT;

CREATE INDEX runs_by_job ON runs (job);

-- One run for each planned time of a job.
CREATE UNIQUE INDEX runs_by_occurrence ON runs (job, occurrence) WHERE occurrence IS NOT NULL;

CREATE TABLE log_lines (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    job TEXT NOT NULL REFERENCES scenarios (id) ON DELETE CASCADE,
    written INTEGER NOT NULL,
    text TEXT NOT NULL
) STRICT;

-- Every index ends with the rowid, which is seq.
CREATE INDEX log_lines_by_job ON log_lines (job);

CREATE INDEX log_lines_by_age ON log_lines (written);

CREATE TABLE mempool (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid TEXT NOT NULL,
    job TEXT NOT NULL REFERENCES scenarios (id) ON DELETE CASCADE,
    occurrence INTEGER,
    chain TEXT NOT NULL,
    amount TEXT NOT NULL,
    -- The same in whole tokens, which only the run knows that drafted it.
    human TEXT NOT NULL,
    -- What it sends beside the amount.
    beside TEXT NOT NULL,
    tx_type TEXT NOT NULL,
    date INTEGER NOT NULL,
    spec_version INTEGER,
    expires INTEGER,
    node TEXT NOT NULL,
    -- As `drafted_calls` has it; empty if there is no transaction.
    call TEXT NOT NULL DEFAULT '',
    flag TEXT NOT NULL,
    tx TEXT NOT NULL
) STRICT;

CREATE INDEX mempool_by_job ON mempool (job);

CREATE INDEX mempool_by_age ON mempool (date);

CREATE INDEX mempool_by_runtime ON mempool (chain, spec_version) WHERE flag = '' AND spec_version IS NOT NULL;

-- The drafts of a job that could be signed are counted without reading their transactions.
CREATE INDEX mempool_signable ON mempool (job, expires) WHERE flag = '' AND expires IS NOT NULL;

CREATE INDEX mempool_by_call ON mempool (call) WHERE call <> '';

-- The number of rows of each job, so that a limit needs no counting.
CREATE TABLE tallies (
    job TEXT NOT NULL PRIMARY KEY REFERENCES scenarios (id) ON DELETE CASCADE,
    lines INTEGER NOT NULL,
    entries INTEGER NOT NULL,
    runs INTEGER NOT NULL
) WITHOUT ROWID, STRICT;

CREATE TABLE webhook_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid TEXT NOT NULL,
    received INTEGER NOT NULL,
    content TEXT NOT NULL,
    key TEXT
) STRICT;

CREATE INDEX webhook_events_by_uuid ON webhook_events (uuid);

CREATE UNIQUE INDEX webhook_events_by_key ON webhook_events (uuid, key) WHERE key IS NOT NULL;

CREATE INDEX webhook_events_by_age ON webhook_events (received);

-- The newest event of the webhook that the job has used.
CREATE TABLE webhook_marks (
    job TEXT NOT NULL REFERENCES scenarios (id) ON DELETE CASCADE,
    uuid TEXT NOT NULL,
    event INTEGER NOT NULL,
    PRIMARY KEY (job, uuid)
) WITHOUT ROWID, STRICT;

-- What is not delivered yet.
CREATE TABLE notifications (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    job TEXT NOT NULL,
    event TEXT NOT NULL,
    created INTEGER NOT NULL,
    due INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    url TEXT NOT NULL,
    drafts TEXT NOT NULL,
    reason TEXT NOT NULL,
    error TEXT NOT NULL
) STRICT;

CREATE INDEX notifications_by_due ON notifications (due);

CREATE INDEX notifications_by_job ON notifications (job);

-- What becomes of a transaction outlives the job that drafted it.
CREATE TABLE sent_transactions (
    chain TEXT NOT NULL,
    hash TEXT NOT NULL,
    sent INTEGER NOT NULL,
    signer TEXT NOT NULL,
    nonce INTEGER,
    at_block INTEGER NOT NULL,
    valid_until INTEGER,
    state TEXT NOT NULL,
    searched INTEGER NOT NULL,
    block TEXT NOT NULL,
    block_number INTEGER,
    effects TEXT NOT NULL,
    says TEXT NOT NULL,
    name TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (chain, hash)
) STRICT;

CREATE INDEX sent_by_time ON sent_transactions (sent, chain, hash);

-- What each of them was made of: a step of a scenario, or all of its steps (no node); with the draft of its job, 0 for none.
CREATE TABLE sent_for (
    chain TEXT NOT NULL,
    hash TEXT NOT NULL,
    scenario TEXT NOT NULL,
    node TEXT NOT NULL,
    draft INTEGER NOT NULL,
    call TEXT NOT NULL,
    part TEXT NOT NULL,
    -- 0 if it may be made of something else that has the same call.
    certain INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    PRIMARY KEY (chain, hash, scenario, node, draft),
    FOREIGN KEY (chain, hash) REFERENCES sent_transactions (chain, hash) ON DELETE CASCADE
) WITHOUT ROWID, STRICT;

CREATE INDEX sent_for_scenario ON sent_for (scenario, node);

CREATE INDEX sent_for_draft ON sent_for (draft) WHERE draft > 0;

-- The calls that were handed out to be signed, and to whom, if that is known: what is sent is found by them.
CREATE TABLE drafted_calls (
    chain TEXT NOT NULL,
    -- blake2b-256 of the call, and behind a slash the account that makes it, if its signer acts for another one.
    call TEXT NOT NULL,
    scenario TEXT NOT NULL,
    node TEXT NOT NULL,
    draft INTEGER NOT NULL,
    signer TEXT NOT NULL,
    part TEXT NOT NULL,
    drafted INTEGER NOT NULL,
    -- No transaction of the signer below this nonce has it, nor has a block up to this one.
    nonce INTEGER,
    at_block INTEGER,
    PRIMARY KEY (chain, call, scenario, node, draft, signer)
) WITHOUT ROWID, STRICT;

CREATE INDEX drafted_by_scenario ON drafted_calls (scenario);

CREATE INDEX drafted_by_time ON drafted_calls (drafted);

-- Accounts with names, in 0x hex and as they were given; `layers` tells who acts for one.
CREATE TABLE addresses (
    name TEXT PRIMARY KEY,
    account TEXT NOT NULL UNIQUE,
    address TEXT NOT NULL,
    watched INTEGER NOT NULL,
    layers TEXT NOT NULL,
    created INTEGER NOT NULL
) WITHOUT ROWID, STRICT;

-- Of rows that were copied from a server: a file has no timelines.
CREATE TABLE forks (
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    counter TEXT NOT NULL,
    PRIMARY KEY (counter, first)
) WITHOUT ROWID, STRICT;
