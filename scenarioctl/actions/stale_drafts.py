"""Drafts of a mempool against the runtime that their chain has now."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest

if TYPE_CHECKING:
    from scenarioctl.application import Application

#: Drafts that are compared before other tasks of the event loop run.
_YIELD_EVERY = 50


async def current_spec_version(app: "Application", chain: str) -> int | None:
    """Return the version of the runtime that *chain* has now.

    None where nobody can tell: it cannot be reached, `--offline` forbids asking, or no such chain is configured any more.
    """
    try:
        version = await app.client(app.registry.find(chain)).version()
    except (ChainUnreachable, ChainRefused, InvalidRequest):
        return None
    number = version.get("specVersion")
    return number if isinstance(number, int) else None


async def judge_drafts(app: "Application", chain: str, spec_version: int, txs: Sequence[str]) -> list[str]:
    """Return, for each of *txs* drafted for that version of *chain*, why it must be drafted anew; "" where it need not.

    Nothing is said against drafts for the version that the chain has, or for a newer one: an endpoint may lag behind.
    ChainUnreachable where the chain does not tell its runtime.
    """
    import asyncio

    from scenarioctl.transactions.draft_compatibility import explain_incompatibility

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
