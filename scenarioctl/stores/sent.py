"""The transactions of a store that were sent: what is known of each, so that none is sent twice or forgotten."""

from collections.abc import Collection, Mapping
from typing import Protocol

from scenarioctl.model.sent import SentTransaction

#: A store keeps so many; the oldest go.
MOST = 10_000


class SentTransactions(Protocol):
    """What every store does; `tests/test_sent.py` shows it by example."""

    async def add(self, transaction: SentTransaction) -> SentTransaction | None:
        """Store *transaction*; a crash after this returns does not lose it.  The oldest beyond MOST are removed.

        If the chain has one with this hash already, nothing changes, and that one is returned.
        """

    async def get(self, chain: str, hash: str) -> SentTransaction | None:
        """Return the transaction; None if it is not stored."""

    async def change(self, transaction: SentTransaction) -> bool:
        """Store what is known of *transaction* by now: state, searched, block and effects; its revision grows.

        False, and nothing changes, if it has another revision than *transaction*, or is gone.
        """

    async def remove(self, transaction: SentTransaction) -> bool:
        """Remove *transaction*; False, and nothing changes, if it has another revision, or is gone."""

    async def of_drafts(self, drafts: Collection[int]) -> Mapping[int, SentTransaction]:
        """Return the transaction that was sent last for each of these drafts, by its seq, where there is one.

        One that has expired is returned only if all of the draft's have: another one may be in a block.
        """

    async def of_scenarios(self, scenarios: Collection[str]) -> Mapping[tuple[str, str], SentTransaction]:
        """Return the transaction that was sent last for each scenario of these and each of its nodes, by both.

        One that has expired is returned only if all of that node have: another one may be in a block.
        """
