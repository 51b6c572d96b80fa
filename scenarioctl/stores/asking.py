"""What a store does, written once for every database.

An operation is a generator: it yields a statement and its values, is sent the rows that the
database answers, and returns what the caller of the store gets.  A driver runs it:
`sqlite/store.py` over a connection of its thread that writes, or of one that reads,
`postgres/store.py` over a connection of a pool.  A driver may run an operation again from its
start, in another transaction.

The statements stand together in `queries.sql`.  A statement names what differs between the
databases in braces, with arguments behind commas: `{rows each, id text, due bigint}`, which a
`Dialect` fills.  Its values are `:names`.
"""

import re
from collections.abc import Callable, Coroutine, Generator, Mapping
from dataclasses import dataclass
from functools import cache, partial, wraps
from hashlib import blake2b
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

T = TypeVar("T")
P = ParamSpec("P")

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Ring:
    """Have a worker look at *due* for what is due, once this transaction has committed; both times
    are the store's."""

    due: int
    moment: int

    @property
    def is_soon(self) -> bool:
        """Return whether it is worth a bell: workers look by themselves for what is due later."""
        return self.due <= self.moment + 10_000_000_000


#: A statement of `queries.sql` and its values by name, or a time at which workers should look.
Asked = tuple[str, Mapping[str, Any]] | Ring
#: Returns T.  What `CONCLUDE` is yielded before is sent at the commit, and its rows come into their
#: lists after it.
Operation = Generator[Asked, list[Row], T]

#: What follows is asked together with the commit, so that its locks are held for as long as the
#: database needs, however slow or frozen this process is.  An operation may return lists of rows
#: that it was sent after this, and not look into them.
CONCLUDE: Asked = ("", {})


@dataclass(frozen=True, slots=True)
class Table:
    """Rows as one value of a statement, which has them as `{rows …}`; there is at least one."""

    rows: list[Row]


class Asking(Protocol):
    """A database that operations ask; each is made anew whenever it begins."""

    async def read(self, operation: Callable[[], Operation[T]], *, long: bool = False) -> T:
        """Return what *operation* reads.

        *long*: it may take more than a millisecond, or has several statements, which see the same
        state of a file.
        """

    async def write(self, operation: Callable[[], Operation[T]], *, alone: bool = False) -> T:
        """Return what *operation* returns, once all that it writes, or nothing of it, is on the
        disk.

        *alone*: it is one statement, which needs no transaction.
        """


def find(statement: str, **values: Any) -> Operation[Row | None]:
    """Return the first row that *statement* has; None if there is none."""
    rows = yield statement, values
    return rows[0] if rows else None


def find_all(statement: str, **values: Any) -> Operation[list[Row]]:
    """Return all rows that *statement* has: for one that writes, those that it says it returns."""
    return (yield statement, values)


def reads(
    operation: Callable[P, Operation[T]], *, long: bool = False
) -> Callable[Concatenate[Asking, P], Coroutine[Any, Any, T]]:
    """Return the method of a store that reads as *operation* says."""

    @wraps(operation)
    async def read(store: Asking, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await store.read(partial(operation, *args, **kwargs), long=long)

    return read


def writes(
    operation: Callable[P, Operation[T]],
) -> Callable[Concatenate[Asking, P], Coroutine[Any, Any, T]]:
    """Return the method of a store that writes as *operation* says."""

    @wraps(operation)
    async def write(store: Asking, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await store.write(partial(operation, *args, **kwargs))

    return write


def lock_key(name: bytes) -> int:
    """Return the second key of a lock on what has this *name*; the first one says what it is.

    A transaction of a server takes it by `{lock …}` in a statement, and holds it until its end; a
    file has one writer at a time, and needs none.
    """
    return int.from_bytes(blake2b(name, digest_size=4).digest(), signed=True)


#: Words with the number of the argument in their place.
_Word = str | Callable[..., str]

_PLACE = re.compile(r"\{(\w+)([^{}]*)\}")
_NAME = re.compile(r"(?<!:):([a-z_]\w*)")


@dataclass(frozen=True, eq=False)
class Dialect:
    """The SQL of one database."""

    words: Mapping[str, _Word]
    #: How a value is named: `:{}`.
    value: str

    def __post_init__(self) -> None:
        # Each statement is one of a few hundred constants, or a list in one of a few orders.
        object.__setattr__(self, "render", cache(self.render))

    def render(self, statement: str) -> str:
        """Return *statement* as the database takes it."""
        written = _PLACE.sub(
            self._word, statement.replace("%", "%%") if "%" in self.value else statement
        )
        return _NAME.sub(lambda found: self.value.format(found[1]), written.strip())

    def _word(self, found: "re.Match[str]") -> str:
        word = self.words[found[1]]
        given = [argument.strip() for argument in found[2].split(",")] if found[2] else []
        return word.format(*given) if isinstance(word, str) else word(*given)


def _sqlite_rows(name: str, *columns: str) -> str:
    picked = ", ".join(
        f"json_extract(value, '$[{place}]') AS {column.split()[0]}"
        for place, column in enumerate(columns)
    )
    return f"(SELECT {picked}, key AS place FROM json_each(:{name})) AS {name}"


def _postgres_rows(name: str, *columns: str) -> str:
    names = ", ".join(column.split()[0] for column in columns)
    arrays = ", ".join(
        f":{name}_{place}::{column.split()[1]}[]" for place, column in enumerate(columns)
    )
    return f"unnest({arrays}) WITH ORDINALITY AS {name} ({names}, place)"


def _locking(lock: str) -> _Word:
    """Return a word for the lock of rows that a SELECT finds, of all its tables or of the one that
    is named."""
    return lambda table="": f"{lock} OF {table}" if table else lock


#: A question of its own: a condition with a volatile function uses no index.
_CLOCK = "(SELECT (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint)"

#: Each word has the same arguments in both.
SQLITE = Dialect(
    {
        # Of a list: `{among ids, text}`.
        "among": "IN (SELECT value FROM json_each(:{0}))",
        "outside": "NOT IN (SELECT value FROM json_each(:{0}))",
        # A `Table`: its name, and its columns with their types.  `place` is the number of the row.
        "rows": _sqlite_rows,
        # Behind a SELECT of them.
        "in_order": "",
        # Of two values that are not NULL.
        "greatest": "max({0}, {1})",
        # As a list in JSON, in the order of their rows.
        "numbers": "json_group_array({0})",
        # The number that each table has given out last.
        "sequences": "sqlite_sequence",
        # What names a webhook.
        "naming": "FROM scenario_webhooks WHERE uuid = {0}",
        # What has a tag.
        "tagged": "s.seq IN (SELECT scenario FROM scenario_tags WHERE tag = :tag)",
        # A join that reads its left side first.
        "cross": "CROSS",
        # Not LIKE, which needs escaping and can take forever.
        "has": "instr(lower({0}), lower({1})) > 0",
        "sortable": "{0}",
        # Numbers of rows are given out by the database, unless rows bring theirs along.
        "numbered": "",
        "last_number": "(SELECT seq FROM sqlite_sequence WHERE name = '{0}')",
        # Its table has no keys.
        "forget_number": "DELETE FROM sqlite_sequence WHERE name = '{0}'",
        "set_number": "INSERT INTO sqlite_sequence (name, seq) VALUES ('{0}', :last)",
        # Changes with every write of any other process.
        "token": "data_version FROM pragma_data_version",
        # The clock of the store, in nanoseconds since 1970, and that of leases: values that the
        # driver adds.
        "now": ":store_now",
        "lease_now": ":lease_now",
        # An index that the planner wouldn't choose.
        "by": "INDEXED BY {0}",
        # One process writes at a time.
        "lock": "NULL",
        "lock_shared": "NULL",
        "for_update": "",
        "for_change": "",
        "for_key_share": "",
        "skip_locked": "",
    },
    ":{}",
)
POSTGRES = Dialect(
    {
        "among": "= ANY(:{0}::{1}[])",
        "outside": "<> ALL(:{0}::{1}[])",
        "rows": _postgres_rows,
        "in_order": "ORDER BY place",
        "greatest": "greatest({0}, {1})",
        "numbers": "json_agg({0} ORDER BY {0})::text",
        "sequences": "(SELECT left(sequencename::text, -8) AS name, "
        "coalesce(last_value, 0) AS seq FROM "
        "pg_sequences"
        " WHERE schemaname = current_schema() AND sequencename LIKE '%%_seq_seq') AS sequences",
        "naming": "FROM scenarios WHERE webhooks <> '{{}}' AND webhooks @> ARRAY[{0}::text]",
        # The first condition is that of the index.
        "tagged": "s.tags <> '{{}}' AND s.tags @> ARRAY[:tag::text]",
        "cross": "",
        "has": "strpos(lower({0}), lower({1})) > 0",
        # An entry of an index has a limit.
        "sortable": "left({0}, 600)",
        "numbered": "OVERRIDING SYSTEM VALUE",
        "last_number": "pg_sequence_last_value(pg_get_serial_sequence('{0}', '{1}')::regclass)",
        "forget_number": "SELECT",
        "set_number": "SELECT setval(pg_get_serial_sequence('{0}', '{1}')::regclass, :last)",
        # Until the end of the transaction.  Two numbers: what is locked, and which of these.
        "lock": "pg_advisory_xact_lock({0}, {1})",
        "lock_shared": "pg_advisory_xact_lock_shared({0}, {1})",
        "token": "pg_current_snapshot()",
        "now": _CLOCK,
        "lease_now": _CLOCK,
        "by": "",
        "for_update": _locking("FOR UPDATE"),
        # Of a row that others refer to.
        "for_change": _locking("FOR NO KEY UPDATE"),
        "for_key_share": _locking("FOR KEY SHARE"),
        "skip_locked": "SKIP LOCKED",
    },
    "%({})s",
)
