"""Every transfer that the trust facts allow has a row in routes.json, or stands below with the
reason why it has none."""

from collections.abc import Iterator

import pytest

from scenarioctl.chains.assets import Assets
from scenarioctl.chains.registry import Registry
from scenarioctl.chains.trust import TRUST, matches
from scenarioctl.errors import InvalidRequest
from scenarioctl.transactions.transfer import routes
from scenarioctl.transactions.transfer.request import Transfer
from scenarioctl.transactions.transfer.route_rows import find_row, routes_from
from scenarioctl.transactions.transfer.routes import check_route
from scenarioctl.transactions.transfer.ways import resolve

REGISTRY = Registry()
ASSETS = Assets(REGISTRY)
_SUSDAT = "2/GlobalConsensus(Ethereum:1)/AccountKey20(0xd166337499e176bbc38a1fbd113ab144e5bd2df7)"
_UNPROVEN = "no such transfer has been proven to arrive"
_HUBS = {"assetHub", "assetHub_kusama"}
#: Source, destination and location on the source, where a `*` at the end stands for anything -> the
#: reason, as the refusal says it.
WITHOUT_ROW = {
    # One registry lists it on one side of the two each.
    ("assetHub", "hydraDx", _SUSDAT): _UNPROVEN,
    ("hydraDx", "assetHub", _SUSDAT): _UNPROVEN,
}


def allowed(*, over_bridge: bool = False) -> Iterator[Transfer]:
    """Give a transfer of each asset that is listed on two chains, where the facts allow a way.

    With *over_bridge* only those over an Asset Hub and the bridge to it, which have the rows of
    their two hops; else the others.
    """
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
                if ASSETS.counterpart(asset, destination) is None or route is None:
                    continue
                if over_bridge == route.crosses:
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


def hops(transfer: Transfer) -> tuple[tuple[str, str, str], ...]:
    """Return both hops of *transfer* as rows name them."""
    route = resolve(transfer, REGISTRY)
    assert route is not None and route.via is not None
    held = ASSETS.counterpart(transfer.asset, route.via)
    assert held is not None
    first = (transfer.source.name, route.via.name, transfer.asset.location)
    return first, (route.via.name, transfer.destination.name, held.location)


def is_open(transfer: Transfer) -> bool:
    try:
        check_route(transfer, ASSETS)
    except InvalidRequest:
        return False
    return True


OVER_BRIDGE = {named(transfer): transfer for transfer in allowed(over_bridge=True)}


def test_what_goes_over_an_asset_hub_and_the_bridge_has_a_row_for_each_hop() -> None:
    opened = set()
    for name, transfer in OVER_BRIDGE.items():
        rows = [find_row(*hop) for hop in hops(transfer)]
        crossing = next(
            row for row, hop in zip(rows, hops(transfer), strict=True) if set(hop[:2]) == _HUBS
        )
        if all(rows) and crossing is not None and crossing.opens != "check":
            opened.add(name)

    assert {name for name, transfer in OVER_BRIDGE.items() if is_open(transfer)} == opened
    assert len(opened) == 60
    assert ("hydraDx", "assetHub_kusama", "2/GlobalConsensus(Kusama)") in opened
    assert ("assetHub_kusama", "hydraDx", "2/GlobalConsensus(Polkadot)") in opened


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize(
    "name",
    [
        ("hydraDx", "assetHub_kusama", "1/Here"),
        ("assetHub_kusama", "hydraDx", "1/Here"),
        ("polkadot", "assetHub_kusama", "0/Here"),
    ],
    ids="-".join,
)
def test_without_the_row_of_a_hop_it_is_closed(
    monkeypatch: pytest.MonkeyPatch, name: tuple[str, str, str], number: int
) -> None:
    transfer = OVER_BRIDGE[name]
    missing = hops(transfer)[number]
    assert is_open(transfer)

    monkeypatch.setattr(routes, "find_row", lambda *hop: None if hop == missing else find_row(*hop))

    assert not is_open(transfer)
