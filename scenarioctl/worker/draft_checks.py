"""Whether drafts may still be signed after a runtime upgrade of their chain."""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

from scenarioctl.application import Application
from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest
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


#: Drafts that are compared before other tasks of the event loop run.
_YIELD_EVERY = 50


async def current_spec_version(app: Application, chain: str) -> int | None:
    """Return the version of the runtime that *chain* has now.

    None where nobody can tell: it cannot be reached, `--offline` forbids asking, or no such chain
    is configured any more.
    """
    try:
        version = await app.client(app.registry.find(chain)).version()
    except (ChainUnreachable, ChainRefused, InvalidRequest):
        return None
    number = version.get("specVersion")
    return number if isinstance(number, int) else None


async def judge_drafts(
    app: Application, chain: str, spec_version: int, txs: Sequence[str]
) -> list[str]:
    """Return, for each of *txs* drafted for that version of *chain*, why it must be drafted anew;
    "" where it need not.

    Nothing is said against drafts for the version that the chain has, or for a newer one: an
    endpoint may lag behind. ChainUnreachable where the chain does not tell its runtime.
    """
    from scenarioctl.transactions.extrinsic import explain_incompatibility

    found = app.registry.find(chain)
    new = await app.client(found).table()
    if new.spec_version <= spec_version:
        return [""] * len(txs)
    old = app.older_runtime(found, spec_version)
    reasons: list[str] = []
    for number, tx in enumerate(txs, start=1):
        reasons.append(explain_incompatibility(old, new, tx, spec_version=spec_version))
        if number % _YIELD_EVERY == 0:
            await asyncio.sleep(0)
    return reasons
