"""How old the bundled facts about a chain are: what is built offline from old ones warns of their
age, and nothing is built from those that are older than a year."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from scenarioctl.chains import asset_rows
from scenarioctl.chains.registry import CHAINS
from scenarioctl.chains.trust import TRUST
from scenarioctl.errors import InvalidRequest
from scenarioctl.files import read_document, read_line
from scenarioctl.runtime import table as runtime_table

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain, Registry

#: A fact that was read longer ago may no longer hold, and nothing is built offline from one that is
#: older than OLDEST.
LIMIT = timedelta(days=90)
OLDEST = timedelta(days=365)
MANIFEST = Path(runtime_table.__file__).with_name("bundled") / "manifest.json"


class DatedFact(NamedTuple):
    """Something that is bundled about a chain."""

    what: str
    #: The day on which it was read at its source; of several the first.
    read: date


def day_of(nanoseconds: int) -> date:
    """Return the day of a moment since the epoch, in UTC."""
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC).date()


def dated_facts(
    chain: "Chain", registry: "Registry", table_read: date | None = None
) -> Iterator[DatedFact]:
    """Give the bundled facts about *chain*; none about a chain of config.toml.

    *table_read* is the day on which the runtime table was read that is used instead of the bundled
    one.
    """
    table = find_table_fact(chain.name, table_read)
    if table is not None:
        yield table
    relay = registry.relay_of(chain)
    yield from _other_facts(chain.name, "" if relay is None else relay.symbol)


def find_table_fact(chain: str, table_read: date | None = None) -> DatedFact | None:
    """Return the fact of `dated_facts` that is the runtime table; None if none is bundled for
    *chain*, nor was read."""
    if table_read is None:
        bundled = read_document(MANIFEST).get(chain)
        table_read = date.fromisoformat(bundled["read"]) if bundled is not None else None
    return None if table_read is None else DatedFact(what="runtime table", read=table_read)


@cache
def _other_facts(chain: str, relay_symbol: str) -> tuple[DatedFact, ...]:
    from scenarioctl.transactions.transfer.build import FEES
    from scenarioctl.transactions.transfer.ways import routes_from

    if chain not in {each.name for each in CHAINS}:
        return ()
    read: dict[str, str] = {}
    if chain in TRUST:
        read["trust facts"] = TRUST[chain].read
    if any(asset_rows.read_rows(chain)):
        read["assets"] = read_line(asset_rows.FILE, "read")
    # Rows are of one source chain: those to this chain are named where their source is checked.
    if routes := [row.read for row in routes_from(chain).values()]:
        read["routes"] = min(routes)
        fees = read_document(FEES)
        if relay_symbol in fees["raw"]:
            read["fees"] = fees["read"]
    return tuple(DatedFact(what=what, read=date.fromisoformat(day)) for what, day in read.items())


def find_oldest(
    chains: Iterable["Chain"],
    registry: "Registry",
    tables: Mapping[str, date | None] = MappingProxyType({}),
) -> tuple[DatedFact, "Chain"] | None:
    """Return the oldest fact with which transactions between *chains* are built offline, and its
    chain; None without facts."""
    found = [
        (fact, chain)
        for chain in chains
        for fact in dated_facts(chain, registry, tables.get(chain.name))
    ]
    return min(found, key=lambda each: each[0].read, default=None)


def judge_old_facts(
    oldest: tuple[DatedFact, "Chain"] | None, *, today: date, allowed: bool
) -> tuple[str, ...]:
    """Return a warning for what is built offline with a fact older than LIMIT; InvalidRequest if it
    is older than OLDEST and not *allowed*."""
    if oldest is None or today - oldest[0].read <= LIMIT:
        return ()
    fact, chain = oldest
    age = today - fact.read
    said = (
        f"the {fact.what} of {chain.title}, which scenarioctl read {age.days} days ago "
        f"({fact.read})"
    )
    if age > OLDEST and not allowed:
        raise InvalidRequest(
            field="old_facts",
            problem=(
                f"is off, and offline this needs {said}: connect, upgrade scenarioctl, or pass "
                "`old_facts`"
            ),
        )
    return (f"This was built offline with {said}. Connect, or upgrade scenarioctl.",)
