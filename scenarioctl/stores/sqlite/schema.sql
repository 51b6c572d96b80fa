-- The tables of the embedded store: each section takes the file from the version of its position to the next.
--
-- To change what is kept, append one; never edit a section that has been released.

-- chains --
-- The columns of lists come before the blob: SQLite reads a row from its start, and follows overflow pages only
-- as far as it needs.
CREATE TABLE scenarios (
    id TEXT NOT NULL PRIMARY KEY,
    summary TEXT NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    size INTEGER NOT NULL,
    blob BLOB NOT NULL
);

CREATE INDEX scenarios_by_created ON scenarios (created, id, summary);

CREATE INDEX scenarios_by_summary ON scenarios (summary, id);

CREATE TABLE scenario_chains (
    chain TEXT NOT NULL,
    scenario TEXT NOT NULL REFERENCES scenarios (id) ON DELETE CASCADE,
    created INTEGER NOT NULL,
    PRIMARY KEY (chain, scenario)
) WITHOUT ROWID;

CREATE INDEX scenario_chains_by_scenario ON scenario_chains (scenario);

CREATE INDEX scenario_chains_by_created ON scenario_chains (chain, created, scenario);

-- Counting 100 000 index entries takes milliseconds, reading one row does not.  The chain '' counts them all.
CREATE TABLE scenario_counts (
    chain TEXT NOT NULL PRIMARY KEY,
    amount INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TRIGGER scenario_added AFTER INSERT ON scenarios BEGIN
    INSERT INTO scenario_counts VALUES ('', 1) ON CONFLICT (chain) DO UPDATE SET amount = amount + 1;
END;

CREATE TRIGGER scenario_removed AFTER DELETE ON scenarios BEGIN
    UPDATE scenario_counts SET amount = amount - 1 WHERE chain = '';
END;

CREATE TRIGGER scenario_chain_added AFTER INSERT ON scenario_chains BEGIN
    INSERT INTO scenario_counts VALUES (new.chain, 1) ON CONFLICT (chain) DO UPDATE SET amount = amount + 1;
END;

CREATE TRIGGER scenario_chain_removed AFTER DELETE ON scenario_chains BEGIN
    UPDATE scenario_counts SET amount = amount - 1 WHERE chain = old.chain;
    DELETE FROM scenario_counts WHERE chain = old.chain AND amount = 0;
END;

-- jobs --
-- Indexed both ways: scenarios of a webhook, and webhooks of a scenario.
CREATE TABLE scenario_webhooks (
    uuid TEXT NOT NULL,
    scenario TEXT NOT NULL REFERENCES scenarios (id) ON DELETE CASCADE,
    PRIMARY KEY (uuid, scenario)
) WITHOUT ROWID;

CREATE INDEX scenario_webhooks_by_scenario ON scenario_webhooks (scenario);

-- Scenarios from before this version, whose webhooks are still to be read from their blobs.
CREATE TABLE scenarios_unindexed (
    id TEXT NOT NULL PRIMARY KEY REFERENCES scenarios (id) ON DELETE CASCADE
) WITHOUT ROWID;

INSERT INTO scenarios_unindexed SELECT id FROM scenarios;

CREATE TABLE jobs (
    id TEXT NOT NULL PRIMARY KEY REFERENCES scenarios (id) ON DELETE CASCADE,
    state TEXT NOT NULL,
    due INTEGER,
    planned INTEGER,
    owner TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    -- 1 once it was claimed for this due time, 2 once lines of such a run are in the log.
    begun INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    runs INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    last_started INTEGER,
    last_finished INTEGER,
    step TEXT NOT NULL,
    reason TEXT NOT NULL,
    schedule TEXT NOT NULL
) WITHOUT ROWID;

-- Only jobs that may be claimed: a claim doesn't scan jobs that are running or stopped.
CREATE INDEX jobs_by_due ON jobs (due) WHERE state = 'running' AND owner = '';

CREATE INDEX jobs_by_owner ON jobs (owner) WHERE owner <> '';

CREATE INDEX jobs_by_state ON jobs (state);

-- One row per worker, not per job: one write renews a thousand claims.
CREATE TABLE leases (
    owner TEXT NOT NULL PRIMARY KEY,
    deadline INTEGER NOT NULL
) WITHOUT ROWID;

-- AUTOINCREMENT: seq is a cursor, so the number of a deleted row must not be used again.
CREATE TABLE runs (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    job TEXT NOT NULL REFERENCES scenarios (id) ON DELETE CASCADE,
    epoch INTEGER,
    planned INTEGER NOT NULL,
    started INTEGER NOT NULL,
    finished INTEGER NOT NULL,
    lines INTEGER NOT NULL,
    drafts INTEGER NOT NULL,
    failure TEXT NOT NULL
);

CREATE INDEX runs_by_job ON runs (job);

CREATE TABLE log_lines (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    job TEXT NOT NULL REFERENCES scenarios (id) ON DELETE CASCADE,
    written INTEGER NOT NULL,
    text TEXT NOT NULL
);

-- Every index ends with the rowid, which is seq.
CREATE INDEX log_lines_by_job ON log_lines (job);

CREATE INDEX log_lines_by_age ON log_lines (written);

CREATE TABLE mempool (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    job TEXT NOT NULL REFERENCES scenarios (id) ON DELETE CASCADE,
    chain TEXT NOT NULL,
    amount TEXT NOT NULL,
    tx_type TEXT NOT NULL,
    date INTEGER NOT NULL,
    spec_version INTEGER,
    expires INTEGER,
    node TEXT NOT NULL,
    flag TEXT NOT NULL,
    tx TEXT NOT NULL
);

CREATE INDEX mempool_by_job ON mempool (job);

CREATE INDEX mempool_by_age ON mempool (date);

CREATE INDEX mempool_by_runtime ON mempool (chain, spec_version) WHERE flag = '' AND spec_version IS NOT NULL;

-- The number of rows of each job, so that a limit needs no counting.
CREATE TABLE tallies (
    job TEXT NOT NULL PRIMARY KEY REFERENCES scenarios (id) ON DELETE CASCADE,
    lines INTEGER NOT NULL,
    entries INTEGER NOT NULL,
    runs INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE webhook_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid TEXT NOT NULL,
    received INTEGER NOT NULL,
    content TEXT NOT NULL
);

CREATE INDEX webhook_events_by_uuid ON webhook_events (uuid);

CREATE INDEX webhook_events_by_age ON webhook_events (received);

-- The newest event of the webhook that the job has used.
CREATE TABLE webhook_marks (
    job TEXT NOT NULL REFERENCES scenarios (id) ON DELETE CASCADE,
    uuid TEXT NOT NULL,
    event INTEGER NOT NULL,
    PRIMARY KEY (job, uuid)
) WITHOUT ROWID;

-- in order of creation --
-- Ids are random: in a tree sorted by id, each new scenario changes another page, and the log gets that page whole.
-- Sorted by number, all trees but one grow at their ends, and creating a scenario writes a third as much.
CREATE TABLE numbered (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    summary TEXT NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    size INTEGER NOT NULL,
    blob BLOB NOT NULL
);

INSERT INTO numbered (id, summary, created, updated, size, blob)
    SELECT id, summary, created, updated, size, blob FROM scenarios ORDER BY created, id;

-- No REFERENCES: people who delete rows by hand mostly have foreign keys off, and numbers are used again.  A new name,
-- so that an older program that has the file open doesn't find the table.
CREATE TABLE chains_of_scenarios (
    chain TEXT NOT NULL,
    created INTEGER NOT NULL,
    scenario INTEGER NOT NULL,
    PRIMARY KEY (chain, created, scenario)
) WITHOUT ROWID;

INSERT INTO chains_of_scenarios (chain, created, scenario)
    SELECT c.chain, c.created, n.seq FROM scenario_chains c JOIN numbered n ON n.id = c.scenario
    ORDER BY c.chain, c.created, n.seq;

-- Their triggers and indexes go with them.
DROP TABLE scenario_chains;

DROP TABLE scenarios;

ALTER TABLE numbered RENAME TO scenarios;

-- Both indexes have the searched columns, so that a search reads no blobs.
CREATE INDEX scenarios_by_created ON scenarios (created, seq, id, summary);

CREATE INDEX scenarios_by_summary ON scenarios (summary, seq, id);

CREATE UNIQUE INDEX chains_of_scenarios_by_scenario ON chains_of_scenarios (scenario, chain);

-- Counted again, in case somebody has changed rows by hand.
DELETE FROM scenario_counts;

INSERT INTO scenario_counts SELECT '', count(*) FROM scenarios WHERE EXISTS (SELECT 1 FROM scenarios);

INSERT INTO scenario_counts SELECT chain, count(*) FROM chains_of_scenarios GROUP BY chain;

CREATE TRIGGER scenario_added AFTER INSERT ON scenarios BEGIN
    INSERT INTO scenario_counts VALUES ('', 1) ON CONFLICT (chain) DO UPDATE SET amount = amount + 1;
END;

CREATE TRIGGER scenario_removed AFTER DELETE ON scenarios BEGIN
    UPDATE scenario_counts SET amount = amount - 1 WHERE chain = '';
    DELETE FROM chains_of_scenarios WHERE scenario = old.seq;
END;

CREATE TRIGGER chain_added AFTER INSERT ON chains_of_scenarios BEGIN
    INSERT INTO scenario_counts VALUES (new.chain, 1) ON CONFLICT (chain) DO UPDATE SET amount = amount + 1;
END;

CREATE TRIGGER chain_removed AFTER DELETE ON chains_of_scenarios BEGIN
    UPDATE scenario_counts SET amount = amount - 1 WHERE chain = old.chain;
    DELETE FROM scenario_counts WHERE chain = old.chain AND amount = 0;
END;

-- by content --
-- After the blob: it is only looked up in its index, never read from a row.
ALTER TABLE scenarios ADD COLUMN digest BLOB;

CREATE INDEX scenarios_by_digest ON scenarios (digest) WHERE digest IS NOT NULL;

-- Few scenarios have a name.  As a column it would come after the blob, and a list would read every blob.
CREATE TABLE scenario_names (
    scenario INTEGER PRIMARY KEY,
    name TEXT NOT NULL
);

CREATE TRIGGER scenario_name_removed AFTER DELETE ON scenarios BEGIN
    DELETE FROM scenario_names WHERE scenario = old.seq;
END;

-- leases of this boot --
DROP TABLE scenarios_unindexed;

-- When the lease was granted: a moment ahead of the clock is of an earlier boot.
ALTER TABLE leases ADD COLUMN granted INTEGER NOT NULL DEFAULT 0;

-- Until now, each lease lasted ten seconds.
UPDATE leases SET granted = max(0, deadline - 10000000000);

-- tags --
-- Beside the scenarios, like names: few have tags, and a column would come after the blob.
CREATE TABLE scenario_tags (
    tag TEXT NOT NULL,
    scenario INTEGER NOT NULL,
    PRIMARY KEY (tag, scenario)
) WITHOUT ROWID;

CREATE UNIQUE INDEX scenario_tags_by_scenario ON scenario_tags (scenario, tag);

CREATE TRIGGER scenario_tags_removed AFTER DELETE ON scenarios BEGIN
    DELETE FROM scenario_tags WHERE scenario = old.seq;
END;

-- notifications --
ALTER TABLE jobs ADD COLUMN notify TEXT NOT NULL DEFAULT '';

-- What is not delivered yet.
CREATE TABLE notifications (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    job TEXT NOT NULL REFERENCES scenarios (id) ON DELETE CASCADE,
    event TEXT NOT NULL,
    created INTEGER NOT NULL,
    due INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    format TEXT NOT NULL,
    url TEXT NOT NULL,
    drafts TEXT NOT NULL,
    reason TEXT NOT NULL,
    error TEXT NOT NULL
);

CREATE INDEX notifications_by_due ON notifications (due);

CREATE INDEX notifications_by_job ON notifications (job);

-- listed jobs --
CREATE INDEX jobs_by_changed ON jobs (changed, id);

DROP INDEX jobs_by_state;

CREATE INDEX jobs_by_state ON jobs (state, changed, id);

-- The drafts of a job that could be signed are counted without reading their transactions.
CREATE INDEX mempool_signable ON mempool (job, expires) WHERE flag = '' AND expires IS NOT NULL;

-- for home --
CREATE INDEX jobs_failing ON jobs (changed, id) WHERE state = 'running' AND failures > 0;

-- An amount in whole tokens, which only the run knows that drafted it.
ALTER TABLE mempool ADD COLUMN human TEXT NOT NULL DEFAULT '';

-- sent transactions --
-- What becomes of a transaction outlives the job that drafted it.
CREATE TABLE sent_transactions (
    chain TEXT NOT NULL,
    hash TEXT NOT NULL,
    sent INTEGER NOT NULL,
    signer TEXT NOT NULL,
    nonce INTEGER,
    at_block INTEGER NOT NULL,
    valid_until INTEGER,
    job TEXT NOT NULL,
    draft INTEGER,
    state TEXT NOT NULL,
    searched INTEGER NOT NULL,
    block TEXT NOT NULL,
    block_number INTEGER,
    effects TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (chain, hash)
);

CREATE INDEX sent_by_time ON sent_transactions (sent, chain, hash);

CREATE INDEX sent_by_draft ON sent_transactions (draft) WHERE draft IS NOT NULL;

-- steps of runs --
ALTER TABLE runs ADD COLUMN steps TEXT NOT NULL DEFAULT '';

-- sent of scenarios --
ALTER TABLE sent_transactions ADD COLUMN scenario TEXT NOT NULL DEFAULT '';

ALTER TABLE sent_transactions ADD COLUMN node TEXT NOT NULL DEFAULT '';

-- A job has the id of its scenario; which step it drafted isn't known any more if the draft is gone.
UPDATE sent_transactions SET scenario = job, node = coalesce(
    (SELECT node FROM mempool WHERE mempool.seq = draft AND mempool.job = sent_transactions.job), ''
) WHERE job <> '';

CREATE INDEX sent_by_scenario ON sent_transactions (scenario, node) WHERE scenario <> '';

-- in columns --
-- All but the diagram comes before the diagram.  `chains`, `tags` and `webhooks` are sorted JSON lists.
CREATE TABLE complete (
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
);

INSERT INTO complete (seq, id, summary, name, chains, tags, webhooks, created, updated, size, digest, blob)
        SELECT seq, id, summary, coalesce((SELECT CAST(name AS TEXT) FROM scenario_names WHERE scenario = seq), ''),

    coalesce((
        SELECT json_group_array(word) FROM (SELECT CAST(chain AS TEXT) AS word FROM chains_of_scenarios WHERE scenario = seq ORDER BY 1)
    ), '[]')
,

    coalesce((
        SELECT json_group_array(word) FROM (SELECT CAST(tag AS TEXT) AS word FROM scenario_tags WHERE scenario = seq ORDER BY 1)
    ), '[]')
,

    coalesce((
        SELECT json_group_array(word) FROM (SELECT CAST(uuid AS TEXT) AS word FROM scenario_webhooks WHERE scenario = s.id ORDER BY 1)
    ), '[]')
,
            created, updated, size, digest, blob
        FROM scenarios s ORDER BY seq;

-- Their triggers and indexes go with them.
DROP TABLE scenarios;

DROP TABLE chains_of_scenarios;

DROP TABLE scenario_names;

DROP TABLE scenario_tags;

DROP TABLE scenario_webhooks;

ALTER TABLE complete RENAME TO scenarios;

-- Both indexes have the searched columns, so that a search reads no diagrams.
CREATE INDEX scenarios_by_created ON scenarios (created, seq, id, summary, name);

CREATE INDEX scenarios_by_summary ON scenarios (summary, seq, id, name);

CREATE INDEX scenarios_by_digest ON scenarios (digest) WHERE digest IS NOT NULL;

-- The scenarios of each chain, tag and webhook.  STRICT: a program of version 2 that has the file open, and had a table of
-- this name, writes ids where numbers belong.
CREATE TABLE scenario_chains (
    chain TEXT NOT NULL,
    created INTEGER NOT NULL,
    scenario INTEGER NOT NULL,
    PRIMARY KEY (chain, created, scenario)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX scenario_chains_by_scenario ON scenario_chains (scenario, chain);

CREATE TABLE scenario_tags (
    tag TEXT NOT NULL,
    scenario INTEGER NOT NULL,
    PRIMARY KEY (tag, scenario)
) STRICT, WITHOUT ROWID;

CREATE INDEX scenario_tags_by_scenario ON scenario_tags (scenario);

CREATE TABLE scenario_webhooks (
    uuid TEXT NOT NULL,
    scenario INTEGER NOT NULL,
    PRIMARY KEY (uuid, scenario)
) STRICT, WITHOUT ROWID;

CREATE INDEX scenario_webhooks_by_scenario ON scenario_webhooks (scenario);

INSERT INTO scenario_chains (chain, created, scenario)
    SELECT value, s.created, seq FROM scenarios s, json_each(chains) WHERE typeof(s.created) = 'integer' ORDER BY 1, 2, 3;

INSERT INTO scenario_tags (tag, scenario) SELECT value, seq FROM scenarios, json_each(tags);

INSERT INTO scenario_webhooks (uuid, scenario) SELECT value, seq FROM scenarios, json_each(webhooks);

-- Counted again, in case somebody has changed rows by hand.
DELETE FROM scenario_counts;

INSERT INTO scenario_counts SELECT '', count(*) FROM scenarios WHERE EXISTS (SELECT 1 FROM scenarios);

INSERT INTO scenario_counts SELECT chain, count(*) FROM scenario_chains GROUP BY chain;

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
END;

CREATE TRIGGER scenario_chain_added AFTER INSERT ON scenario_chains BEGIN
    INSERT INTO scenario_counts VALUES (new.chain, 1) ON CONFLICT (chain) DO UPDATE SET amount = amount + 1;
END;

CREATE TRIGGER scenario_chain_removed AFTER DELETE ON scenario_chains BEGIN
    UPDATE scenario_counts SET amount = amount - 1 WHERE chain = old.chain;
    DELETE FROM scenario_counts WHERE chain = old.chain AND amount = 0;
END;

-- legs --
-- Counts what is planned, so that a leg is begun by its number.
ALTER TABLE jobs ADD COLUMN leg INTEGER NOT NULL DEFAULT 0;

-- When a bell was rung for it.
ALTER TABLE jobs ADD COLUMN rung INTEGER NOT NULL DEFAULT 0;

ALTER TABLE jobs ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;

-- A run that was in progress says that it was interrupted.
UPDATE jobs SET attempts = 1 WHERE begun > 0;

-- What a run waits for between two legs, and what the next one goes on with.
ALTER TABLE jobs ADD COLUMN waiting INTEGER NOT NULL DEFAULT 0;

ALTER TABLE jobs ADD COLUMN webhook TEXT NOT NULL DEFAULT '';

ALTER TABLE jobs ADD COLUMN saved TEXT NOT NULL DEFAULT '';

CREATE INDEX jobs_by_webhook ON jobs (webhook) WHERE webhook <> '';

CREATE INDEX jobs_that_wait ON jobs (id) WHERE waiting > 0;

-- One run for each planned time of a job.
ALTER TABLE runs ADD COLUMN occurrence INTEGER;

CREATE UNIQUE INDEX runs_by_occurrence ON runs (job, occurrence) WHERE occurrence IS NOT NULL;

-- listed workers --
ALTER TABLE leases ADD COLUMN version TEXT NOT NULL DEFAULT '';

-- By how many nanoseconds its clock is ahead of the store's.
ALTER TABLE leases ADD COLUMN clock_offset INTEGER;

-- How many lines of its leg the log of a job has.
ALTER TABLE jobs ADD COLUMN noted INTEGER NOT NULL DEFAULT 0;

-- drafts by name --
ALTER TABLE mempool ADD COLUMN uuid TEXT NOT NULL DEFAULT '';

ALTER TABLE mempool ADD COLUMN occurrence INTEGER;

UPDATE mempool SET uuid = lower(
    hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-'
    || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))
);

-- forks --
-- Of rows that were copied from a server: a file has no timelines.
CREATE TABLE forks (
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    counter TEXT NOT NULL,
    PRIMARY KEY (counter, first)
) WITHOUT ROWID;

-- scenarios by name --
CREATE INDEX scenarios_by_name ON scenarios (name) WHERE name <> '';

-- told of sent --
ALTER TABLE sent_transactions ADD COLUMN says TEXT NOT NULL DEFAULT '';

ALTER TABLE sent_transactions ADD COLUMN name TEXT NOT NULL DEFAULT '';

-- addresses --
-- Accounts with names, in 0x hex and as they were given.
CREATE TABLE addresses (
    name TEXT PRIMARY KEY,
    account TEXT NOT NULL UNIQUE,
    address TEXT NOT NULL,
    watched INTEGER NOT NULL,
    created INTEGER NOT NULL
) WITHOUT ROWID;

-- who acts for an address --
ALTER TABLE addresses ADD COLUMN layers TEXT NOT NULL DEFAULT '';

-- words of scenarios --
-- What a search finds, of the scenario as it was at `updated`; NULL until that is told.  Beside the scenarios, so that a search
-- reads no diagrams.
CREATE TABLE scenario_words (
    scenario INTEGER PRIMARY KEY,
    updated INTEGER NOT NULL,
    words TEXT
);

INSERT INTO scenario_words (scenario, updated) SELECT seq, updated FROM scenarios;

CREATE INDEX scenarios_without_words ON scenario_words (scenario) WHERE words IS NULL;

CREATE TRIGGER scenario_words_missing AFTER INSERT ON scenarios BEGIN
    INSERT OR REPLACE INTO scenario_words (scenario, updated) VALUES (new.seq, new.updated);
END;

CREATE TRIGGER scenario_words_outdated AFTER UPDATE ON scenarios BEGIN
    UPDATE scenario_words SET updated = new.updated, words = NULL WHERE scenario = new.seq;
END;

CREATE TRIGGER scenario_words_removed AFTER DELETE ON scenarios BEGIN
    DELETE FROM scenario_words WHERE scenario = old.seq;
END;

-- Without the columns that were searched.
DROP INDEX scenarios_by_created;

DROP INDEX scenarios_by_summary;

CREATE INDEX scenarios_by_created ON scenarios (created, seq);

CREATE INDEX scenarios_by_summary ON scenarios (summary, seq);

-- words of sent --
-- The same of transactions, and the `revision` that it is of.
ALTER TABLE sent_transactions ADD COLUMN words TEXT NOT NULL DEFAULT '';

ALTER TABLE sent_transactions ADD COLUMN worded INTEGER NOT NULL DEFAULT -1;

CREATE INDEX sent_without_words ON sent_transactions (sent) WHERE worded <> revision;

-- readings of multisigs --
-- What was last read of a multisig on a chain: `block` is the block's number, `operations` those that wait for an account of one's own.
CREATE TABLE multisig_readings (
    account TEXT NOT NULL,
    chain TEXT NOT NULL,
    block INTEGER NOT NULL,
    read INTEGER NOT NULL,
    operations TEXT NOT NULL,
    PRIMARY KEY (account, chain)
) WITHOUT ROWID;

-- No REFERENCES: a notification of an operation belongs to no job.
CREATE TABLE all_notifications (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    job TEXT NOT NULL,
    event TEXT NOT NULL,
    created INTEGER NOT NULL,
    due INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    format TEXT NOT NULL,
    url TEXT NOT NULL,
    drafts TEXT NOT NULL,
    reason TEXT NOT NULL,
    error TEXT NOT NULL,
    operation TEXT NOT NULL DEFAULT ''
);

INSERT INTO all_notifications (seq, id, job, event, created, due, attempts, format, url, drafts, reason, error)
    SELECT seq, id, job, event, created, due, attempts, format, url, drafts, reason, error FROM notifications ORDER BY seq;

-- Numbers are never given twice.
INSERT INTO sqlite_sequence (name, seq)
    SELECT 'all_notifications', seq FROM sqlite_sequence s WHERE name = 'notifications'
    AND NOT EXISTS (SELECT 1 FROM notifications);

UPDATE sqlite_sequence SET seq = (SELECT seq FROM sqlite_sequence WHERE name = 'notifications') WHERE name = 'all_notifications';

DROP TABLE notifications;

ALTER TABLE all_notifications RENAME TO notifications;

CREATE INDEX notifications_by_due ON notifications (due);

CREATE INDEX notifications_by_job ON notifications (job);

-- bounds of jobs --
-- What drafts of jobs with a bound per day move: whole tokens, of the run and the node that drafts.
CREATE TABLE spending (
    job TEXT NOT NULL REFERENCES scenarios (id) ON DELETE CASCADE,
    run TEXT NOT NULL,
    node TEXT NOT NULL,
    asset TEXT NOT NULL,
    moment INTEGER NOT NULL,
    amount TEXT NOT NULL,
    PRIMARY KEY (job, run, node, asset)
) WITHOUT ROWID;

-- what drafts send beside --
ALTER TABLE mempool ADD COLUMN beside TEXT NOT NULL DEFAULT '';
