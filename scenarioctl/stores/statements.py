"""Every statement that a store asks, by name.  What the databases write differently is in braces: `dialects.py`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scenarioctl.stores.retention import KeptTable

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
EVENTS_OF_WEBHOOK = f"{_EVENT} WHERE uuid = :uuid ORDER BY id"
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
