"""Which endpoints of a chain answer, how fast, and how far they are."""

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue

from scenarioctl.chains.connection import OPENING, Connection
from scenarioctl.chains.registry import Chain
from scenarioctl.errors import ChainRefused, ScenarioctlError

#: An endpoint so many blocks behind the best of its chain is not healthy: some minutes.
FAR_BEHIND = 30


@dataclass(frozen=True, kw_only=True)
class Probe:
    """What one endpoint of a chain told when it was asked."""

    chain: str
    endpoint: str
    #: Seconds until the first answers.
    latency: float | None = None
    #: Number of the best block.
    block: int | None = None
    spec_name: str = ""
    spec_version: int | None = None
    #: Why it is not to be relied on; empty where it is.
    reason: str = ""

    @property
    def healthy(self) -> bool:
        return not self.reason


def probe(chains: Sequence[Chain], *, patience: float = OPENING) -> tuple[Probe, ...]:
    """Ask every endpoint of *chains* at once; those that have not answered after *patience* seconds are given up."""
    ended: SimpleQueue[Probe] = SimpleQueue()
    asked = [(chain, endpoint) for chain in chains for endpoint in chain.endpoints]

    def run(chain: Chain, endpoint: str) -> None:
        ended.put(_probe_one(chain, endpoint, patience))

    for chain, endpoint in asked:
        # A daemon: the process does not wait at its end for an endpoint that stalls.
        threading.Thread(target=run, args=(chain, endpoint), daemon=True).start()
    deadline = time.monotonic() + patience + 1
    answered: dict[tuple[str, str], Probe] = {}
    with suppress(Empty):
        while len(answered) < len(asked):
            one = ended.get(timeout=max(deadline - time.monotonic(), 0.001))
            answered[one.chain, one.endpoint] = one
    silent = f"did not answer in {patience:g} seconds"
    probes = [
        answered.get((chain.name, endpoint))
        or Probe(chain=chain.name, endpoint=endpoint, reason=f"{endpoint} {silent}")
        for chain, endpoint in asked
    ]
    return tuple(_compare(one, probes) for one in probes)


def _probe_one(chain: Chain, endpoint: str, patience: float) -> Probe:
    found = Probe(chain=chain.name, endpoint=endpoint)
    try:
        connection = Connection(chain, endpoint, opening=patience, answering=patience)
    except ScenarioctlError as error:
        return replace(found, reason=str(error))
    try:
        found = replace(
            found,
            latency=connection.latency,
            spec_name=str(connection.version.get("specName", "")),
            spec_version=connection.version.get("specVersion"),
        )
        header = connection.call("chain_getHeader")
        found = replace(found, block=int(header["number"], 16))
        # Not every node lets the public ask.
        with suppress(ChainRefused):
            health = connection.call("system_health")
            if isinstance(health, dict) and health.get("isSyncing") is True:
                found = replace(found, reason=f"{endpoint} is still syncing, it is at block {found.block}")
    except ScenarioctlError as error:
        found = replace(found, reason=str(error))
    except (TypeError, KeyError, ValueError):
        found = replace(found, reason=f"{endpoint} gave no head")
    finally:
        connection.close()
    return found


def _compare(one: Probe, all_of_them: Sequence[Probe]) -> Probe:
    """Return *one* with its reason, where the others of its chain are far ahead of it."""
    best = max((other.block or 0 for other in all_of_them if other.chain == one.chain), default=0)
    if one.reason or one.block is None or best - one.block < FAR_BEHIND:
        return one
    return replace(
        one, reason=f"{one.endpoint} is {best - one.block} blocks behind the others, at {one.block}"
    )
