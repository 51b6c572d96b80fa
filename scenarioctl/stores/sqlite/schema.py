"""The tables of the embedded store, and what takes a file of an older version to them: `schema.sql`."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from scenarioctl.stores.statements import read_sections, split_statements

#: Marks the file as ours: "Scen".
APPLICATION_ID = 0x5363656E

#: The most JSON that a stored diagram unpacks to.
_DIAGRAM_BYTES = 16 * 1024 * 1024
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def _index_webhooks(database: Connection) -> None:
    """Note the webhooks of scenarios stored before version 2, in case no worker has run since."""
    rows = database.execute(
        "SELECT s.id, s.blob FROM scenarios_unindexed u JOIN scenarios s ON s.id = u.id"
    ).fetchall()
    database.executemany(
        "INSERT INTO scenario_webhooks (uuid, scenario) VALUES (?, ?) ON CONFLICT DO NOTHING",
        [(uuid, id) for id, blob in rows for uuid in _webhooks_in(blob)],
    )


def _webhooks_in(blob: Any) -> set[str]:
    """Return the UUIDs of the webhook steps in a stored diagram; none if it can't be read."""
    import lz4.frame

    try:
        text = lz4.frame.LZ4FrameDecompressor().decompress(blob, max_length=_DIAGRAM_BYTES)
        nodes = [node for node in json.loads(text)["nodes"] if node.get("type") == "webhook"]
        uuids = {str((node.get("formData") or {}).get("uuid")).lower() for node in nodes}
    except (RuntimeError, EOFError, ValueError, TypeError, KeyError, AttributeError):
        # A damaged scenario has no webhooks, and must not prevent opening the store.
        return set()
    return {uuid for uuid in uuids if _UUID.fullmatch(uuid)}


#: What a section needs beside its statements, before them.
_BEFORE: dict[str, tuple[Callable[[Connection], None], ...]] = {"leases of this boot": (_index_webhooks,)}
#: Each entry takes the file from the version of its position to the next; all that are missing run in one transaction.
MIGRATIONS: tuple[tuple[str | Callable[[Connection], None], ...], ...] = tuple(
    (*_BEFORE.get(title, ()), *split_statements(text))
    for title, text in read_sections(Path(__file__).with_name("schema.sql")).items()
)
