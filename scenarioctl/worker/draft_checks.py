"""Whether drafts may still be signed after a runtime upgrade of their chain."""

import asyncio
import logging
from functools import partial

from scenarioctl.application import Application
from scenarioctl.model.jobs import MempoolDraft
from scenarioctl.model.json_types import timestamp
from scenarioctl.worker.chores import Counts, guard

log = logging.getLogger("scenarioctl.worker")


class DraftChecks:
    """Flags drafts that a runtime upgrade has outdated."""

    def __init__(self, app: Application, counts: Counts) -> None:
        self._app = app
        self._counts = counts
        #: Chain -> newest runtime that a draft was made for.
        self._newest: dict[str, int] = {}
        #: Chain, version of drafts, version they were compared with -> seq of the last draft that
        #: was compared.
        self._judged: dict[tuple[str, int, int], int] = {}
        self._lock = asyncio.Lock()
        #: A check that a draft for a new runtime has started.
        self.task: asyncio.Task[None] | None = None

    async def check(self) -> None:
        """Compare drafts with the current runtime of their chain, and flag those that must not be
        signed."""
        if self._app.settings.offline:
            return
        async with self._lock:
            pairs = await self._app.store.drafted_for()
            for chain in sorted({chain for chain, _ in pairs}):
                versions = [version for name, version in pairs if name == chain]
                await guard(
                    partial(self._check_chain, chain, versions),
                    f"drafts for {chain} were not compared with its runtime",
                )

    async def _check_chain(self, chain: str, versions: list[int]) -> None:
        from scenarioctl.actions.drafting import current_spec_version, judge_drafts

        async with self._app.session() as session:
            current = await current_spec_version(session, chain)
            if current is None:
                return
            for version in versions:
                if version >= current:
                    continue
                key = (chain, version, current)
                while True:
                    entries = await self._app.store.read_drafts(
                        chain, version, after=self._judged.get(key, 0)
                    )
                    if not entries:
                        break
                    reasons = await judge_drafts(
                        session, chain, version, [each.draft.tx for each in entries]
                    )
                    flags, lines = {}, dict[str, list[str]]()
                    for entry, reason in zip(entries, reasons, strict=True):
                        if reason:
                            flags[entry.seq] = reason
                            lines.setdefault(entry.job, []).append(
                                f"The {entry.draft.tx_type} draft of "
                                f"{timestamp(entry.draft.date)} must not be "
                                f"signed any more: {reason}"
                            )
                    if flags:
                        await self._app.store.flag_drafts(flags, now=self._app.clock(), lines=lines)
                        self._counts.flagged += len(flags)
                        log.warning(
                            "%s has version %d now: %d drafts were flagged",
                            chain,
                            current,
                            len(flags),
                        )
                    self._judged[key] = entries[-1].seq

    def notice(self, draft: MempoolDraft) -> None:
        """Count a draft; if it is the first of a new runtime, compare the older ones now."""
        self._counts.drafts[draft.tx_type] = self._counts.drafts.get(draft.tx_type, 0) + 1
        version = draft.spec_version
        if version is None:
            return
        known = self._newest.get(draft.chain)
        if known is None or version > known:
            self._newest[draft.chain] = version
            if known is not None and not self._lock.locked():
                self.task = asyncio.create_task(
                    guard(self.check, "drafts were not compared with their runtimes")
                )
