"""What follows from the trust facts is as before; any single one that is removed, added or changed
shows in it, as `make soak` tries."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from scenarioctl.chains import trust
from scenarioctl.chains.trust import (
    TRUST,
    Accepted,
    ExecutionFees,
    ForeignReserve,
    Sender,
    TrustFacts,
)
from tests.trust_reach import PATH, reach, reach_of, receivers

pytestmark = pytest.mark.one_python

BEFORE = json.loads(PATH.read_text())
BRIDGED = trust._BRIDGED


def test_what_follows_from_the_facts_is_as_before() -> None:
    assert reach() == BEFORE


def shows(*changed: str) -> bool:
    """Tell whether what follows is not as before.  It begins with the chains *changed*, where most
    changes show."""
    return any(
        reach_of(receiver) != [line for line in BEFORE if line.startswith(f"{receiver.name} ")]
        for receiver in sorted(receivers(), key=lambda receiver: receiver.name not in changed)
    )


def changed_rows(rows: tuple[Accepted, ...]) -> Iterator[tuple[str, tuple[Accepted, ...]]]:
    """Give *rows* with one of them removed or changed, or with one more."""
    for index, row in enumerate(rows):
        others = (*rows[:index], *rows[index + 1 :])
        yield f"without {row.asset} from {row.sender.name}", others
        yield (
            f"{row.asset} not at that location",
            (*others, row._replace(asset=f"{row.asset}/GeneralIndex(1)")),
        )
        for sender in Sender:
            if sender is not row.sender:
                yield f"{row.asset} from {sender.name}", (*others, row._replace(sender=sender))
        decided = "" if row.decided_by else "Some.Storage"
        yield f"{row.asset} decided by {decided}", (*others, row._replace(decided_by=decided))
    for sender in Sender:
        yield f"everything from {sender.name}", (*rows, Accepted(asset="*", sender=sender))


def mutants(facts: TrustFacts) -> Iterator[tuple[str, TrustFacts]]:
    for rows in changed_rows(facts.reserves):
        yield f"reserves: {rows[0]}", facts._replace(reserves=rows[1])
    for rows in changed_rows(facts.teleports):
        yield f"teleports: {rows[0]}", facts._replace(teleports=rows[1])
    kept = facts.foreign_reserves
    for index, row in enumerate(kept):
        others = (*kept[:index], *kept[index + 1 :])
        yield f"foreign reserves: without {row.asset}", facts._replace(foreign_reserves=others)
        moved = row._replace(reserve="1/Parachain(2034)")
        yield (
            f"foreign reserves: {row.asset} moved",
            facts._replace(foreign_reserves=(moved, *others)),
        )
    more = ForeignReserve(asset="*", reserve="2/GlobalConsensus(Ethereum:1)")
    yield "foreign reserves: everything", facts._replace(foreign_reserves=(*kept, more))
    yield "partial", facts._replace(partial=not facts.partial)
    yield "sends teleports", facts._replace(sends_teleports=not facts.sends_teleports)
    for fees in ExecutionFees:
        if fees is not facts.execution_fees:
            yield f"fees: {fees.name}", facts._replace(execution_fees=fees)
    for field in ("kind", "native"):
        changed: dict[str, Any] = {field: f"{getattr(facts, field)}/GeneralIndex(7)"}
        yield field, facts._replace(**changed)


def says_nothing(chain: str, name: str) -> bool:
    """Tell whether a change adds nothing: a bridge joins few chains."""
    return chain not in ("assetHub", "assetHub_kusama") and name.endswith("from BEYOND_BRIDGE")


@pytest.mark.soak
@pytest.mark.parametrize("chain", TRUST)
def test_every_change_of_a_fact_shows(monkeypatch: pytest.MonkeyPatch, chain: str) -> None:
    unseen = []
    for name, facts in mutants(TRUST[chain]):
        monkeypatch.setattr(trust, "TRUST", {**TRUST, chain: facts})
        if not shows(chain):
            unseen.append(name)

    assert [name for name in unseen if not says_nothing(chain, name)] == []


@pytest.mark.soak
@pytest.mark.parametrize("network", BRIDGED)
def test_every_change_of_what_crosses_a_bridge_shows(
    monkeypatch: pytest.MonkeyPatch, network: str
) -> None:
    unseen = []
    for name, rows in changed_rows(BRIDGED[network]):
        monkeypatch.setattr(trust, "_BRIDGED", {**BRIDGED, network: rows})
        if not shows("assetHub", "assetHub_kusama"):
            unseen.append(name)

    assert unseen == []
