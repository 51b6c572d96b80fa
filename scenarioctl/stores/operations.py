"""What a store does, written once for every database.

An operation is a generator: it yields a statement and its values, is sent the rows that the database answers, and returns what
the caller of the store gets.  A driver runs it: `sqlite/store.py` over a connection of its thread that writes, or of one that
reads, `postgres/store.py` over a connection of a pool.  A driver may run an operation again from its start, in another transaction.

The statements stand together in `statements.py`, and name what differs between the databases in braces: `dialects.py`.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Ring:
    """Have the dispatch engine of a server ring for legs at their due times, if this transaction commits: job, number and due time.

    A store without an engine does nothing: its workers look.
    """

    legs: list[tuple[str, int, int]]


#: A statement of `statements.py` and its values by name, or what the dispatch engine is to do in the same transaction.
Asked = tuple[str, Mapping[str, Any]] | Ring
#: Returns T.  What `CONCLUDE` is yielded before is sent at the commit, and its rows come into their lists after it.
Operation = Generator[Asked, list[Row], T]

#: What follows is asked together with the commit, so that its locks are held for as long as the database needs, however slow or
#: frozen this process is.  An operation may return lists of rows that it was sent after this, and not look into them.
CONCLUDE: Asked = ("", {})


@dataclass(frozen=True, slots=True)
class Table:
    """Rows as one value of a statement, which has them as `{rows …}`; there is at least one."""

    rows: list[Row]


class Asking(Protocol):
    """A database that operations ask; each is made anew whenever it begins."""

    async def read(self, operation: Callable[[], Operation[T]], *, long: bool = False) -> T:
        """Return what *operation* reads.

        *long*: it may take more than a millisecond, or has several statements, which see the same state of a file.
        """

    async def write(
        self, operation: Callable[[], Operation[T]], *, alone: bool = False, tell: bool = False
    ) -> T:
        """Return what *operation* returns, once all that it writes, or nothing of it, is on the disk.

        *alone*: it is one statement, which needs no transaction.  *tell*: processes that follow jobs want to know.
        """


def find(statement: str, **values: Any) -> Operation[Row | None]:
    """Return the first row that *statement* has; None if there is none."""
    rows = yield statement, values
    return rows[0] if rows else None


def find_all(statement: str, **values: Any) -> Operation[list[Row]]:
    """Return all rows that *statement* has: for one that writes, those that it says it returns."""
    return (yield statement, values)


def lock_key(name: bytes) -> int:
    """Return the second key of a lock on what has this *name*; the first one says what it is.

    A transaction of a server takes it by `{lock …}` in a statement, and holds it until its end; a file has one writer at a
    time, and needs none.  Processes of other versions use the same keys.
    """
    return int.from_bytes(blake2b(name, digest_size=4).digest(), signed=True)
