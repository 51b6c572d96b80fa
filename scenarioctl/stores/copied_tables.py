"""What is copied of a store: its tables, and the values of their rows, which are the same in every store.

To copy one more table, add it to `TABLES`.  `copied_rows.py` of each store says where its columns differ from these.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Any

from scenarioctl.errors import Conflict

Row = tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class Table:
    """What is copied of a table."""

    name: str
    key: tuple[str, ...]
    #: Names, in the order of a row's values, and types: a tuple holds sorted texts, a dict is the text of a JSON object.
    columns: Mapping[str, type | UnionType]
    #: The one that may be long.
    long: str
    #: Names the scenario.
    scenario: str = "job"
    #: What other columns get in the target.
    fixed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_numbered(self) -> bool:
        """Return whether the store gives each row a number."""
        return self.key in (("seq",), ("id",)) and self.columns[self.key[0]] is int

    def key_of(self, row: Row) -> Row:
        names = list(self.columns)
        return tuple(row[names.index(name)] for name in self.key)


#: Each after those that it refers to.
TABLES = (
    Table(
        name="scenarios",
        key=("seq",),
        columns={
            "seq": int,
            "id": str,
            "summary": str,
            "name": str,
            "created": int,
            "updated": int,
            "size": int,
            "chains": tuple,
            "webhooks": tuple,
            "tags": tuple,
            "digest": bytes | None,
            "blob": bytes,
        },
        long="blob",
        scenario="id",
    ),
    Table(
        name="jobs",
        key=("id",),
        columns={
            "id": str,
            "state": str,
            "due": int | None,
            "planned": int | None,
            "epoch": int,
            "changed": int,
            "runs": int,
            "failures": int,
            "last_started": int | None,
            "last_finished": int | None,
            "reason": str,
            "notify": str,
            "schedule": dict,
        },
        long="schedule",
        scenario="id",
        # Nobody runs it there.
        fixed={"owner": "", "begun": 0, "step": ""},
    ),
    Table(
        name="runs",
        key=("seq",),
        columns={
            "seq": int,
            "job": str,
            "epoch": int | None,
            "planned": int,
            "started": int,
            "finished": int,
            "lines": int,
            "drafts": int,
            "failure": str,
            "steps": str,
        },
        long="failure",
    ),
    Table(
        name="log_lines",
        key=("seq",),
        columns={"seq": int, "job": str, "written": int, "text": str},
        long="text",
    ),
    Table(
        name="mempool",
        key=("seq",),
        columns={
            "seq": int,
            "job": str,
            "chain": str,
            "amount": str,
            "tx_type": str,
            "date": int,
            "spec_version": int | None,
            "expires": int | None,
            "node": str,
            "flag": str,
            "tx": str,
            "human": str,
        },
        long="tx",
    ),
    Table(
        name="tallies",
        key=("job",),
        columns={"job": str, "lines": int, "entries": int, "runs": int},
        long="job",
    ),
    Table(
        name="webhook_events",
        key=("id",),
        columns={"id": int, "uuid": str, "received": int, "content": str},
        long="content",
        scenario="",
    ),
    Table(
        name="webhook_marks",
        key=("job", "uuid"),
        columns={"job": str, "uuid": str, "event": int},
        long="uuid",
    ),
    Table(
        name="notifications",
        key=("seq",),
        columns={
            "seq": int,
            "id": str,
            "job": str,
            "event": str,
            "created": int,
            "due": int,
            "attempts": int,
            "format": str,
            "url": str,
            "drafts": str,
            "reason": str,
            "error": str,
        },
        long="reason",
    ),
    Table(
        name="sent_transactions",
        key=("chain", "hash"),
        columns={
            "chain": str,
            "hash": str,
            "sent": int,
            "signer": str,
            "nonce": int | None,
            "at_block": int,
            "valid_until": int | None,
            "job": str,
            "draft": int | None,
            "scenario": str,
            "node": str,
            "state": str,
            "searched": int,
            "block": str,
            "block_number": int | None,
            "effects": str,
            "revision": int,
        },
        long="effects",
        scenario="",
    ),
)


class DamagedRow(Exception):
    """A row has a value in the column *args[0]* that not every store can keep."""


def refused_row(table: Table, reason: object) -> Conflict:
    return Conflict(
        f"the copy's table {table.name} refuses a row ({reason}): stop all other users of the stores during the copy"
    )


def checked(table: Table, row: Row) -> Row:
    """Return *row* with values that are the same in every store; DamagedRow if it has others."""
    values: list[Any] = []
    for (name, kind), value in zip(table.columns.items(), row, strict=True):
        if kind is dict:
            try:
                values.append(json.dumps(json.loads(value), sort_keys=True))
            except (ValueError, TypeError, RecursionError):
                raise DamagedRow(name) from None
        elif not isinstance(value, kind) or (isinstance(value, str) and "\0" in value):
            raise DamagedRow(name)
        else:
            values.append(value)
    return tuple(values)
