"""Every statement that a store asks, by name.  What the databases write differently is in braces: `dialects.py`."""

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
