"""Cursors whose rows the store has lost: of a server that failed with commits that its standby
lacks, or before a restore."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from scenarioctl.application import Application
from scenarioctl.errors import StaleCursor
from scenarioctl.stores.rows import TIMELINE_BITS

if TYPE_CHECKING:
    from scenarioctl.stores.runs import Counter


class NumberedRow(Protocol):
    """A row that the store gave a number, which is a cursor."""

    @property
    def seq(self) -> int: ...


async def check_cursor(
    app: Application,
    counter: "Counter",
    after: int,
    rows: Sequence[NumberedRow],
    *,
    given: object = None,
) -> None:
    """Raise StaleCursor for the cursor *after* if its row is lost; *rows* follow behind it, and
    *given* is what the client has sent.

    A cursor with rows of its own timeline behind it needs no question to the store.
    """
    if after and not (rows and rows[0].seq >> TIMELINE_BITS == after >> TIMELINE_BITS):
        await refuse_lost(app, counter, after, given=given)


async def refuse_lost(
    app: Application, counter: "Counter", number: int, *, given: object = None
) -> None:
    """Raise StaleCursor for a cursor whose row is lost: its client may have read rows that nobody
    else knows."""
    if await app.store.is_lost(counter, number):
        raise StaleCursor(
            f"after {given or number} is of a row that the store doesn't have: it lost the "
            "row in a failover or a restore, or never"
            " had it. Leave after out to read from the beginning, and compare drafts by their uuid"
        )
