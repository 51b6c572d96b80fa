"""Every transfer that the trust facts allow has a row in routes.json, or stands below with the
reason why it has none."""

from collections.abc import Iterator

import pytest

from scenarioctl.chains.assets import Assets
from scenarioctl.chains.registry import Registry
from scenarioctl.chains.trust import TRUST, matches
from scenarioctl.errors import InvalidRequest
from scenarioctl.transactions.transfer.request import Transfer
from scenarioctl.transactions.transfer.routes import check_route
from scenarioctl.transactions.transfer.ways import find_row, resolve, routes_from

REGISTRY = Registry()
ASSETS = Assets(REGISTRY)
_SUSDAT = "2/GlobalConsensus(Ethereum:1)/AccountKey20(0xd166337499e176bbc38a1fbd113ab144e5bd2df7)"
_UNPROVEN = "no such transfer has been proven to arrive"
#: Source, destination and location on the source, where a `*` at the end stands for anything -> the
#: reason, as the refusal says it.
WITHOUT_ROW = {
    # One registry lists it on one side of the two each.
    ("assetHub", "hydraDx", _SUSDAT): _UNPROVEN,
    ("hydraDx", "assetHub", _SUSDAT): _UNPROVEN,
}


def allowed() -> Iterator[Transfer]:
    """Give a transfer of each asset that is listed on two chains, where the facts allow a way."""
    for source in REGISTRY.all():
        for destination in REGISTRY.all():
            if source == destination or source.name not in TRUST or destination.name not in TRUST:
                continue
            for asset in ASSETS.all(source):
                beneficiary = bytes(range(1, 1 + destination.account_format.length))
                transfer = Transfer(
                    source=source,
                    destination=destination,
                    asset=asset,
                    amount=10**15,
                    beneficiary=beneficiary,
                )
                route = resolve(transfer, REGISTRY)
                if ASSETS.counterpart(asset, destination) is not None and route is not None:
                    yield transfer


def named(transfer: Transfer) -> tuple[str, str, str]:
    return transfer.source.name, transfer.destination.name, transfer.asset.location


ALLOWED = {named(transfer): transfer for transfer in allowed()}
MISSING = [
    transfer
    for (source, destination, location), transfer in ALLOWED.items()
    if find_row(source, destination, location) is None
]


def entry_for(transfer: Transfer) -> tuple[str, str, str] | None:
    """Return the entry of WITHOUT_ROW that is about *transfer*."""
    source, destination, location = named(transfer)
    for entry in WITHOUT_ROW:
        if entry[:2] == (source, destination) and matches(entry[2], location):
            return entry
    return None


def test_what_the_facts_allow_has_a_row_or_a_reason() -> None:
    assert [named(transfer) for transfer in MISSING if entry_for(transfer) is None] == []


def test_no_reason_stands_for_nothing() -> None:
    assert set(WITHOUT_ROW) - {entry_for(transfer) for transfer in MISSING} == set()


def test_every_row_is_a_transfer_that_the_facts_allow() -> None:
    rows = [
        (source.name, destination, location)
        for source in REGISTRY.all()
        for destination, location in routes_from(source.name)
    ]

    assert len(rows) > 150
    assert set(rows) - set(ALLOWED) == set()


@pytest.mark.parametrize("transfer", MISSING, ids=lambda transfer: "-".join(named(transfer)))
def test_what_has_no_row_is_not_built(transfer: Transfer) -> None:
    with pytest.raises(InvalidRequest) as refused:
        check_route(transfer, ASSETS)

    entry = entry_for(transfer)
    assert entry is not None
    assert WITHOUT_ROW[entry] in str(refused.value)
