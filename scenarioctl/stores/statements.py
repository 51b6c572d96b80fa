"""Every statement that a store asks, by name.  What the databases write differently is in braces: `dialects.py`."""

from functools import cache
from typing import TYPE_CHECKING

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
