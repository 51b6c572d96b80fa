"""What a worker does again and again beside its runs: how often, how many, and what must not end it
if it fails; and whether drafts may still be signed after a runtime upgrade of their chain."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from scenarioctl.application import Application
from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest, ScenarioctlError
from scenarioctl.model.jobs import LEASE_SECONDS, MempoolDraft
from scenarioctl.model.json_types import timestamp
from scenarioctl.retries import delay_after


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How often a worker does what, in seconds."""

    #: A claim lasts this long unless it is renewed; then other workers may take the jobs of a
    #: frozen one.
    lease: float = LEASE_SECONDS
    renew: float = 3.0
    #: How often a worker renews it that has no legs and shares them with nobody.
    seen: float = 60.0
    #: Jobs that other processes start are noticed within this time.
    poll: float = 0.5
    #: How often leases of dead workers are looked for.
    owners: float = 3.0
    #: A stop waits this long for runs in progress.
    grace: float = 10.0
    #: How often drafts are compared with the runtime of their chain.
    draft_checks: float = 30.0
    #: Notifications that are tried again, or that other workers left behind, are sent within this
    #: time.
    notifications: float = 5.0
    prune: float = 300.0
    #: When it is first looked at them, and pruned, after the start, for workers that never run for
    #: long.
    first_prune: float = 20.0
    #: The pause after an error of the store, doubled up to `patience`.
    retry: float = 0.2
    patience: float = 15.0


@dataclass(kw_only=True)
class Counts:
    """What a worker has done since it started, for `/metrics`."""

    executed: int = 0
    failed: int = 0
    #: Runs that were not kept, since their job had another owner by then.
    lost: int = 0
    left_out: int = 0
    #: Runs that were begun before, by a worker that did not end them.
    taken_over: int = 0
    bugs: int = 0
    flagged: int = 0
    notifications_delivered: int = 0
    #: Attempts that failed.
    notifications_failed: int = 0
    notifications_given_up: int = 0
    drafts: dict[str, int] = field(default_factory=dict)


log = logging.getLogger("scenarioctl.worker")


async def repeat(
    chore: Callable[[], Awaitable[None]],
    seconds: float,
    *,
    sleep: Callable[[float], Awaitable[None]],
    first: float | None = None,
) -> None:
    """Do *chore* every so many seconds, for the first time after *first*."""
    await sleep(seconds if first is None else first)
    while True:
        await guard(chore, "a chore of the worker failed")
        await sleep(seconds)


async def guard(action: Callable[[], Awaitable[None]], trouble: str) -> None:
    """Do what is tried again later if it fails; *trouble* says in the log what has failed then."""
    try:
        await action()
    except ScenarioctlError as error:
        log.error("%s: %s", trouble, error)  # noqa: TRY400 - nothing to trace, the sentence says it
    except Exception:
        log.exception(trouble)


@dataclass(kw_only=True)
class Attempts:
    """Attempts at the store: each that fails is logged as *trouble*, and delays the next one."""

    trouble: str
    pace: Pace
    level: int = logging.ERROR
    #: Failures in a row.
    failures: int = 0

    def failed(self, error: BaseException | str) -> float:
        """Return the seconds until the next attempt."""
        self.failures += 1
        delay = delay_after(self.failures, first=self.pace.retry, longest=self.pace.patience)
        log.log(self.level, "%s; retrying in %.1f s: %s", self.trouble, delay, error)
        return delay


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
