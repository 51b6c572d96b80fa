"""How old the bundled facts about a chain are, and a warning for those that may no longer hold.

An endpoint that answers confirms its chain's identity and says which runtime it has.  What the chain accepts from others,
its routes, its assets and what they cost are confirmed by nothing that `chain check` asks.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from scenarioctl.chains.fact_rows import read_fact
from scenarioctl.chains.registry import CHAINS, READ
from scenarioctl.files import read_document
from scenarioctl.runtime import table as runtime_table

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain, Registry

#: A fact that was read longer ago may no longer hold.
LIMIT = timedelta(days=90)
MANIFEST = Path(runtime_table.__file__).with_name("bundled") / "manifest.json"


@dataclass(frozen=True, kw_only=True)
class DatedFact:
    """Something that is bundled about a chain."""

    what: str
    #: The day on which it was read at its source; of several the first.
    read: date
    #: Whether an endpoint that answers confirms it, or shows that it is wrong.
    told_by_endpoints: bool = False


def day_of(nanoseconds: int) -> date:
    """Return the day of a moment since the epoch, in UTC."""
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC).date()


def dated_facts(chain: "Chain", registry: "Registry") -> Iterator[DatedFact]:
    """Give the bundled facts about *chain*; none about a chain of config.toml."""
    bundled = read_document(MANIFEST).get(chain.name)
    if bundled is not None:
        yield DatedFact(
            what="runtime table", read=date.fromisoformat(bundled["read"]), told_by_endpoints=True
        )
    relay = registry.relay_of(chain)
    yield from _other_facts(chain.name, "" if relay is None else relay.symbol)


@cache
def _other_facts(chain: str, relay_symbol: str) -> tuple[DatedFact, ...]:
    return tuple(_read_other_facts(chain, relay_symbol))


def _read_other_facts(chain: str, relay_symbol: str) -> Iterator[DatedFact]:
    from scenarioctl.chains import asset_rows
    from scenarioctl.chains.trust import TRUST
    from scenarioctl.transactions.transfer import transfer_warnings
    from scenarioctl.transactions.transfer.route_rows import routes_from

    if chain not in {each.name for each in CHAINS}:
        return
    yield DatedFact(what="endpoints", read=date.fromisoformat(READ), told_by_endpoints=True)
    if chain in TRUST:
        yield DatedFact(what="trust facts", read=date.fromisoformat(TRUST[chain].read))
    if any(asset_rows.read_rows(chain)):
        yield DatedFact(what="assets", read=date.fromisoformat(read_fact("assets", "read")))
    # Rows are of one source chain: those to this chain are named where their source is checked.
    routes = [row.read for row in routes_from(chain).values()]
    if routes:
        yield DatedFact(what="routes", read=date.fromisoformat(min(routes)))
    fees = read_document(transfer_warnings.FEES)
    if routes and relay_symbol in fees["raw"]:
        yield DatedFact(what="fees", read=date.fromisoformat(fees["read"]))


def warn_of_old_facts(
    chains: Iterable["Chain"],
    registry: "Registry",
    *,
    connected: Iterable[str],
    today: date,
) -> list[str]:
    """Return a warning for chains with the same facts that are older than LIMIT and that nothing confirms.

    *connected* names the chains of which an endpoint answered.
    """
    answered = set(connected)
    chains_by_facts: dict[tuple[DatedFact, ...], list[str]] = {}
    for chain in chains:
        old = tuple(
            fact
            for fact in dated_facts(chain, registry)
            if today - fact.read > LIMIT and not (fact.told_by_endpoints and chain.name in answered)
        )
        if old:
            chains_by_facts.setdefault(old, []).append(chain.title)
    return [
        f"What scenarioctl knows of {', '.join(names)} is up to {(today - min(fact.read for fact in facts)).days} days old,"
        f" and no endpoint confirms it: {', '.join(f'{fact.what} ({fact.read})' for fact in facts)}. Upgrade scenarioctl."
        for facts, names in chains_by_facts.items()
    ]
