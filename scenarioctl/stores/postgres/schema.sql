-- The tables of the PostgreSQL store, all in one schema with those of the dispatch engine, which are created before them.
--
-- Text sorts by code points (COLLATE "C"), as it does in the embedded store.

-- What the tables are: their version, the newest migration of the engine, and the timeline of the server that gives out numbers.
CREATE TABLE meta (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version integer NOT NULL,
    engine text NOT NULL,
    timeline bigint NOT NULL DEFAULT ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint
);

-- seq is the order of creation, where two were created at the same moment.
CREATE TABLE scenarios (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    created bigint NOT NULL,
    updated bigint NOT NULL,
    size bigint NOT NULL,
    id text COLLATE "C" NOT NULL UNIQUE,
    summary text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    chains text[] COLLATE "C" NOT NULL,
    webhooks text[] COLLATE "C" NOT NULL,
    tags text[] COLLATE "C" NOT NULL,
    digest bytea,
    blob bytea NOT NULL
);

CREATE INDEX scenarios_by_created ON scenarios (created, seq);

-- An entry of an index has at most 2700 bytes, and a character up to four.
CREATE INDEX scenarios_by_summary ON scenarios (left(summary, 600), seq);

CREATE INDEX scenarios_by_name ON scenarios (left(name, 600)) WHERE name <> '';

CREATE INDEX scenarios_by_digest ON scenarios (digest) WHERE digest IS NOT NULL;

CREATE INDEX scenarios_by_webhook ON scenarios USING gin (webhooks) WHERE webhooks <> '{}';

CREATE INDEX scenarios_by_tag ON scenarios USING gin (tags) WHERE tags <> '{}';

-- The scenarios of a chain in the order of creation.
CREATE TABLE scenario_chains (
    created bigint NOT NULL,
    scenario bigint NOT NULL,
    chain text COLLATE "C" NOT NULL,
    PRIMARY KEY (chain, created, scenario)
);

CREATE INDEX scenario_chains_by_scenario ON scenario_chains (scenario, chain);

-- How many scenarios use a chain, the chain '' counting them all.  Each is the sum of several rows, so that creations
-- side by side don't wait for one row.
CREATE TABLE scenario_counts (
    amount bigint NOT NULL,
    slot smallint NOT NULL,
    chain text COLLATE "C" NOT NULL,
    PRIMARY KEY (chain, slot)
) WITH (fillfactor = 50);

CREATE TABLE deleted_scenarios (
    id text COLLATE "C" PRIMARY KEY
);

-- An id is only ever that of one scenario, and no name of another one.
CREATE FUNCTION keep_ids() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM deleted_scenarios WHERE id = NEW.id) OR EXISTS (
        SELECT 1 FROM scenarios WHERE name <> '' AND left(name, 600) = NEW.id AND name = NEW.id
    ) THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER scenario_id_taken BEFORE INSERT ON scenarios FOR EACH ROW EXECUTE FUNCTION keep_ids();

-- Rows are written in one order, so that two statements side by side don't wait for each other.
CREATE FUNCTION count_scenarios() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    mine CONSTANT smallint := pg_backend_pid() % 16;
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO scenario_chains (chain, created, scenario)
            SELECT chain, created, seq FROM added, unnest(chains) AS chain;
        INSERT INTO scenario_counts AS c (chain, slot, amount)
            SELECT chain, mine, count(*) FROM (
                SELECT '' COLLATE "C" AS chain FROM added
                UNION ALL SELECT unnest(chains) FROM added
            ) AS each GROUP BY chain ORDER BY chain
            ON CONFLICT (chain, slot) DO UPDATE SET amount = c.amount + excluded.amount;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO deleted_scenarios SELECT id FROM removed;
        DELETE FROM scenario_chains WHERE scenario IN (SELECT seq FROM removed);
        INSERT INTO scenario_counts AS c (chain, slot, amount)
            SELECT chain, mine, -count(*) FROM (
                SELECT '' COLLATE "C" AS chain FROM removed
                UNION ALL SELECT unnest(chains) FROM removed
            ) AS each GROUP BY chain ORDER BY chain
            ON CONFLICT (chain, slot) DO UPDATE SET amount = c.amount + excluded.amount;
    ELSE
        DELETE FROM scenario_chains USING added, removed
            WHERE added.seq = removed.seq AND added.chains <> removed.chains AND scenario = added.seq;
        INSERT INTO scenario_chains (chain, created, scenario)
            SELECT chain, added.created, added.seq FROM added JOIN removed USING (seq), unnest(added.chains) AS chain
            WHERE added.chains <> removed.chains;
        INSERT INTO scenario_counts AS c (chain, slot, amount)
            SELECT chain, mine, sum(amount) FROM (
                SELECT unnest(chains) AS chain, 1 AS amount FROM added
                UNION ALL SELECT unnest(chains), -1 FROM removed
            ) AS each GROUP BY chain HAVING sum(amount) <> 0 ORDER BY chain
            ON CONFLICT (chain, slot) DO UPDATE SET amount = c.amount + excluded.amount;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER scenarios_added AFTER INSERT ON scenarios REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_scenarios();

CREATE TRIGGER scenarios_removed AFTER DELETE ON scenarios REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_scenarios();

CREATE TRIGGER scenarios_changed AFTER UPDATE ON scenarios REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_scenarios();

CREATE TABLE jobs (
    id text COLLATE "C" PRIMARY KEY REFERENCES scenarios (id) ON DELETE CASCADE,
    state text NOT NULL,
    due bigint,
    planned bigint,
    owner text NOT NULL,
    epoch bigint NOT NULL,
    attempts bigint NOT NULL,
    changed bigint NOT NULL,
    runs bigint NOT NULL,
    failures bigint NOT NULL,
    last_started bigint,
    last_finished bigint,
    -- What a run waits for between two legs, and what the next one goes on with.
    waiting bigint NOT NULL,
    webhook text COLLATE "C" NOT NULL,
    step text NOT NULL,
    reason text NOT NULL,
    schedule jsonb NOT NULL,
    notify text NOT NULL,
    saved text NOT NULL
) WITH (fillfactor = 70);

CREATE INDEX jobs_by_due ON jobs (due) WHERE state = 'running' AND owner = '';

CREATE INDEX jobs_by_owner ON jobs (owner) WHERE owner <> '';

CREATE INDEX jobs_by_changed ON jobs (changed, id);

CREATE INDEX jobs_by_state ON jobs (state, changed, id);

CREATE INDEX jobs_failing ON jobs (changed, id) WHERE state = 'running' AND failures > 0;

CREATE INDEX jobs_by_webhook ON jobs (webhook) WHERE webhook <> '';

-- How many jobs are in each state: each is the sum of several rows, as those of scenarios are.
CREATE TABLE job_counts (
    amount bigint NOT NULL,
    slot smallint NOT NULL,
    state text NOT NULL,
    PRIMARY KEY (state, slot)
) WITH (fillfactor = 50);

CREATE FUNCTION count_jobs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO scenarioctl.job_counts AS c (state, slot, amount)
        SELECT state, pg_backend_pid() % 16, number FROM (VALUES (NEW.state, 1), (OLD.state, -1)) AS each (state, number)
        WHERE state IS NOT NULL ORDER BY state
        ON CONFLICT (state, slot) DO UPDATE SET amount = c.amount + excluded.amount;
    RETURN NULL;
END
$$;

CREATE TRIGGER jobs_counted AFTER INSERT OR DELETE ON jobs FOR EACH ROW EXECUTE FUNCTION count_jobs();

CREATE TRIGGER jobs_changed AFTER UPDATE OF state ON jobs FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION count_jobs();

CREATE TABLE leases (
    granted bigint NOT NULL,
    deadline bigint NOT NULL,
    -- By how many nanoseconds its clock is ahead of the server's.
    clock_offset bigint,
    owner text COLLATE "C" PRIMARY KEY,
    version text NOT NULL
) WITH (fillfactor = 50);

-- When a server last took events, and for how many nanoseconds none did, as far as runs waited for one meanwhile.
CREATE TABLE served (
    only_row integer PRIMARY KEY,
    at bigint NOT NULL,
    away bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE runs (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job text COLLATE "C" NOT NULL,
    epoch bigint,
    occurrence bigint,
    planned bigint NOT NULL,
    started bigint NOT NULL,
    finished bigint NOT NULL,
    lines integer NOT NULL,
    drafts integer NOT NULL,
    failure text NOT NULL,
    steps text NOT NULL
);

CREATE INDEX runs_by_job ON runs (job, seq);

-- One run for each planned time of a job.
CREATE UNIQUE INDEX runs_by_occurrence ON runs (job, occurrence) WHERE occurrence IS NOT NULL;

-- seq is a cursor: it is given out under a lock that is held until the commit.
CREATE TABLE log_lines (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    written bigint NOT NULL,
    job text COLLATE "C" NOT NULL,
    text text NOT NULL
);

CREATE INDEX log_lines_by_job ON log_lines (job, seq);

CREATE INDEX log_lines_by_age ON log_lines (written);

CREATE TABLE mempool (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    date bigint NOT NULL,
    spec_version bigint,
    expires bigint,
    occurrence bigint,
    uuid text NOT NULL,
    job text COLLATE "C" NOT NULL,
    chain text COLLATE "C" NOT NULL,
    amount text NOT NULL,
    -- The same in whole tokens, which only the run knows that drafted it.
    human text NOT NULL,
    -- What it sends beside the amount.
    beside text NOT NULL,
    tx_type text NOT NULL,
    node text NOT NULL,
    -- As `drafted_calls` has it; empty if there is no transaction.
    call text COLLATE "C" NOT NULL DEFAULT '',
    flag text NOT NULL,
    tx text NOT NULL
);

CREATE INDEX mempool_by_job ON mempool (job, seq);

CREATE INDEX mempool_by_age ON mempool (date);

CREATE INDEX mempool_by_runtime ON mempool (chain, spec_version, seq) WHERE flag = '' AND spec_version IS NOT NULL;

-- The drafts of a job that could be signed are counted without reading their transactions.
CREATE INDEX mempool_signable ON mempool (job, expires) WHERE flag = '' AND expires IS NOT NULL;

CREATE INDEX mempool_by_call ON mempool (call) WHERE call <> '';

-- The number of rows of each job, so that a limit needs no counting.
CREATE TABLE tallies (
    lines bigint NOT NULL,
    entries bigint NOT NULL,
    runs bigint NOT NULL,
    job text COLLATE "C" PRIMARY KEY
) WITH (fillfactor = 70);

-- Text, since JSON of PostgreSQL has no NUL characters.
CREATE TABLE webhook_events (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    received bigint NOT NULL,
    uuid text COLLATE "C" NOT NULL,
    content text NOT NULL,
    key text COLLATE "C"
);

CREATE INDEX webhook_events_by_uuid ON webhook_events (uuid, id);

CREATE UNIQUE INDEX webhook_events_by_key ON webhook_events (uuid, key) WHERE key IS NOT NULL;

CREATE INDEX webhook_events_by_age ON webhook_events (received);

-- The newest event of the webhook that the job has used.
CREATE TABLE webhook_marks (
    event bigint NOT NULL,
    job text COLLATE "C" NOT NULL,
    uuid text COLLATE "C" NOT NULL,
    PRIMARY KEY (job, uuid)
);

-- What is not delivered yet.
CREATE TABLE notifications (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    created bigint NOT NULL,
    due bigint NOT NULL,
    attempts integer NOT NULL,
    id text NOT NULL,
    job text COLLATE "C" NOT NULL,
    event text NOT NULL,
    url text NOT NULL,
    -- A JSON list of numbers.
    drafts text NOT NULL,
    reason text NOT NULL,
    error text NOT NULL
);

CREATE INDEX notifications_by_due ON notifications (due);

CREATE INDEX notifications_by_job ON notifications (job);

-- What becomes of a transaction outlives the job that drafted it.
CREATE TABLE sent_transactions (
    sent bigint NOT NULL,
    nonce bigint,
    at_block bigint NOT NULL,
    valid_until bigint,
    searched bigint NOT NULL,
    block_number bigint,
    revision bigint NOT NULL,
    chain text COLLATE "C" NOT NULL,
    hash text COLLATE "C" NOT NULL,
    signer text NOT NULL,
    state text NOT NULL,
    block text NOT NULL,
    effects text NOT NULL,
    says text NOT NULL,
    name text NOT NULL,
    PRIMARY KEY (chain, hash)
);

CREATE INDEX sent_by_time ON sent_transactions (sent, chain, hash);

-- What each of them was made of: a step of a scenario, or all of its steps (no node); with the draft of its job, 0 for none.
CREATE TABLE sent_for (
    draft bigint NOT NULL,
    -- 0 if it may be made of something else that has the same call.
    certain bigint NOT NULL,
    chain text COLLATE "C" NOT NULL,
    hash text COLLATE "C" NOT NULL,
    scenario text COLLATE "C" NOT NULL,
    node text COLLATE "C" NOT NULL,
    call text COLLATE "C" NOT NULL,
    part text NOT NULL,
    outcome text NOT NULL,
    PRIMARY KEY (chain, hash, scenario, node, draft),
    FOREIGN KEY (chain, hash) REFERENCES sent_transactions (chain, hash) ON DELETE CASCADE
);

CREATE INDEX sent_for_scenario ON sent_for (scenario, node);

CREATE INDEX sent_for_draft ON sent_for (draft) WHERE draft > 0;

-- The calls that were handed out to be signed, and to whom, if that is known: what is sent is found by them.
CREATE TABLE drafted_calls (
    draft bigint NOT NULL,
    drafted bigint NOT NULL,
    -- No transaction of the signer below this nonce has it, nor has a block up to this one.
    nonce bigint,
    at_block bigint,
    chain text COLLATE "C" NOT NULL,
    -- blake2b-256 of the call, and behind a slash the account that makes it, if its signer acts for another one.
    call text COLLATE "C" NOT NULL,
    scenario text COLLATE "C" NOT NULL,
    node text COLLATE "C" NOT NULL,
    signer text COLLATE "C" NOT NULL,
    part text NOT NULL,
    PRIMARY KEY (chain, call, scenario, node, draft, signer)
);

CREATE INDEX drafted_by_scenario ON drafted_calls (scenario);

CREATE INDEX drafted_by_time ON drafted_calls (drafted);

-- Accounts with names, in 0x hex and as they were given; `layers` tells who acts for one.
CREATE TABLE addresses (
    created bigint NOT NULL,
    watched bigint NOT NULL,
    name text COLLATE "C" PRIMARY KEY,
    account text COLLATE "C" NOT NULL UNIQUE,
    address text NOT NULL,
    layers text NOT NULL
);

-- A promoted standby and a restored server may lack rows whose numbers clients know.  They begin a timeline of the WAL, and
-- with it numbers above all that the former ones gave out.  Numbers between `last` and `first` are of rows that are lost.
CREATE TABLE forks (
    first bigint NOT NULL,
    last bigint NOT NULL,
    counter text COLLATE "C" NOT NULL,
    PRIMARY KEY (counter, first)
);

-- With the rights of the owner, who alone sets sequences.  The lock of the numbers lets one transaction do it.  An empty store
-- has lost nothing.  The first number is the moment in microseconds since 1970: two standbys of one server may choose the same
-- timeline.  Fewer numbers than that are given out in any time; and they stay below 2^53 for two centuries.
CREATE FUNCTION follow_timeline() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = scenarioctl, pg_temp AS $$
DECLARE
    latest CONSTANT bigint := ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint;
    former bigint;
    base bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(1, 0);
    SELECT timeline INTO former FROM meta;
    IF former = latest THEN
        RETURN;
    END IF;
    -- A clock may be behind that of the former server.
    base := greatest((extract(epoch FROM clock_timestamp()) * 1000000)::bigint, 1000000000 + greatest(
        (SELECT last_value FROM scenarios_seq_seq),
        (SELECT last_value FROM runs_seq_seq),
        (SELECT last_value FROM log_lines_seq_seq),
        (SELECT last_value FROM mempool_seq_seq),
        (SELECT last_value FROM webhook_events_id_seq),
        (SELECT last_value FROM notifications_seq_seq)
    ));
    IF EXISTS (SELECT FROM scenarios) THEN
        INSERT INTO forks (counter, last, first) VALUES
        ('scenarios', (SELECT coalesce(max(seq), 0) FROM scenarios), base),
        ('runs', (SELECT coalesce(max(seq), 0) FROM runs), base),
        ('log_lines', (SELECT coalesce(max(seq), 0) FROM log_lines), base),
        ('mempool', (SELECT coalesce(max(seq), 0) FROM mempool), base),
        ('webhook_events', (SELECT coalesce(max(id), 0) FROM webhook_events), base),
        ('notifications', (SELECT coalesce(max(seq), 0) FROM notifications), base);
    END IF;
    PERFORM
        setval('scenarios_seq_seq', base),
        setval('runs_seq_seq', base),
        setval('log_lines_seq_seq', base),
        setval('mempool_seq_seq', base),
        setval('webhook_events_id_seq', base),
        setval('notifications_seq_seq', base);
    UPDATE meta SET timeline = latest;
END
$$;

CREATE FUNCTION check_timeline() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM scenarioctl.meta WHERE timeline = ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint) THEN
        PERFORM scenarioctl.follow_timeline();
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER scenarios_numbered BEFORE INSERT ON scenarios FOR EACH STATEMENT EXECUTE FUNCTION check_timeline();

CREATE TRIGGER runs_numbered BEFORE INSERT ON runs FOR EACH STATEMENT EXECUTE FUNCTION check_timeline();

CREATE TRIGGER log_lines_numbered BEFORE INSERT ON log_lines FOR EACH STATEMENT EXECUTE FUNCTION check_timeline();

CREATE TRIGGER mempool_numbered BEFORE INSERT ON mempool FOR EACH STATEMENT EXECUTE FUNCTION check_timeline();

CREATE TRIGGER webhook_events_numbered BEFORE INSERT ON webhook_events FOR EACH STATEMENT EXECUTE FUNCTION check_timeline();

CREATE TRIGGER notifications_numbered BEFORE INSERT ON notifications FOR EACH STATEMENT EXECUTE FUNCTION check_timeline();
