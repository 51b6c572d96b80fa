"""Transactions that were sent, in memory."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from scenarioctl.model.sent import SentState, SentTransaction
from scenarioctl.stores.memory_state import MemoryState
from scenarioctl.stores.sent import MOST


@dataclass(frozen=True)
class MemorySent:
    """The SentTransactions over *state*."""

    state: MemoryState
    changed: Callable[[], None]

    async def add(self, transaction: SentTransaction) -> SentTransaction | None:
        key = (transaction.chain, transaction.hash)
        former = self.state.sent.get(key)
        if former is not None:
            return former
        self.state.sent[key] = transaction
        by_age = sorted(self.state.sent.values(), key=lambda each: (each.sent, each.chain, each.hash))
        for each in by_age[:-MOST]:
            del self.state.sent[each.chain, each.hash]
        self.changed()
        return None

    async def get(self, chain: str, hash: str) -> SentTransaction | None:
        return self.state.sent.get((chain, hash))

    async def change(self, transaction: SentTransaction) -> bool:
        key = (transaction.chain, transaction.hash)
        former = self.state.sent.get(key)
        if former is None or former.revision != transaction.revision:
            return False
        self.state.sent[key] = replace(
            former,
            state=transaction.state,
            searched=transaction.searched,
            block=transaction.block,
            block_number=transaction.block_number,
            effects=transaction.effects,
            revision=former.revision + 1,
        )
        self.changed()
        return True

    async def remove(self, transaction: SentTransaction) -> bool:
        key = (transaction.chain, transaction.hash)
        former = self.state.sent.get(key)
        if former is None or former.revision != transaction.revision:
            return False
        del self.state.sent[key]
        self.changed()
        return True

    async def of_drafts(self, drafts: Collection[int]) -> Mapping[int, SentTransaction]:
        wanted = set(drafts)
        return {
            each.draft: each
            for each in self._newest_last()
            if each.draft is not None and each.draft in wanted
        }

    async def of_scenarios(self, scenarios: Collection[str]) -> Mapping[tuple[str, str], SentTransaction]:
        wanted = set(scenarios) - {""}
        return {(each.scenario, each.node): each for each in self._newest_last() if each.scenario in wanted}

    def _newest_last(self) -> list[SentTransaction]:
        """Return all, those before the others that have expired."""
        return sorted(
            self.state.sent.values(),
            key=lambda each: (each.state is not SentState.EXPIRED, each.sent, each.chain, each.hash),
        )
