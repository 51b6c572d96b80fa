"""Trust facts, and the routes that follow from them: each fact decides about something."""

import json
from dataclasses import replace
from typing import Any

import pytest

from scenarioctl.chains import trust
from scenarioctl.chains.assets import Assets
from scenarioctl.chains.locations import absolute
from scenarioctl.chains.registry import CHAINS, Chain, Registry
from scenarioctl.chains.trust import (
    TRUST,
    TRUST_BY_PLACE,
    Accepted,
    Sender,
    TrustFacts,
    accepts_reserve,
    accepts_teleport,
    refused_because,
)
from scenarioctl.errors import InvalidRequest
from scenarioctl.transactions.transfer import routes, ways
from scenarioctl.transactions.transfer.build import build_transfer
from scenarioctl.transactions.transfer.request import Transfer, is_bridged
from scenarioctl.transactions.transfer.routes import find_route
from scenarioctl.transactions.transfer.ways import (
    PROOFS,
    ROWS_BY_KIND,
    AssetRoute,
    Route,
    identity_of,
    resolve,
    routes_from,
    sources,
)
from tests.messages import raises, says
from tests.runtimes import ASSETS, BOB, REGISTRY, bundled
from tests.transfer_rows import PATH, transfer_rows

DOT, USDT, HDX, ETH = (
    "",
    "Parachain(1000)/PalletInstance(50)/GeneralIndex(1984)",
    "Parachain(2034)/GeneralIndex(0)",
    "../GlobalConsensus(Ethereum:1)",
)
#: (receiver, asset seen from the relay chain, sender) that the runtimes' sources accept, of all
#: pairs below.
RESERVES = {
    ("hydraDx", DOT, "assetHub"),
    ("hydraDx", USDT, "assetHub"),
    ("hydraDx", ETH, "assetHub"),
    ("hydraDx", "Parachain(1000)", "assetHub"),
}
_SYSTEM = ("polkadot", "assetHub", "people")
TELEPORTS = {
    (receiver, DOT, sender) for receiver in _SYSTEM for sender in _SYSTEM if receiver != sender
}


def transfer(
    source: str, destination: str, asset: object, registry: Registry = REGISTRY
) -> Transfer:
    chain = registry.find(source)
    assets = ASSETS if registry is REGISTRY else Assets(registry)
    return Transfer(
        source=chain,
        destination=registry.find(destination),
        asset=assets.find(chain, asset),
        amount=5 * 10**12,
        beneficiary=BOB,
    )


def accepted(accepts: Any) -> set[tuple[str, str, str]]:
    chains = [
        REGISTRY.find(name)
        for name in ("polkadot", "assetHub", "hydraDx", "people", "rigcontracts")
    ]
    return {
        (receiver.name, asset, sender.name)
        for receiver in chains
        for asset in (DOT, USDT, HDX, ETH, "Parachain(20341)/GeneralIndex(0)", "Parachain(1000)")
        for sender in chains
        if sender is not receiver and accepts(receiver, asset, sender, REGISTRY)
    }


def test_a_chain_accepts_what_its_runtime_does_and_nothing_else() -> None:
    assert accepted(accepts_reserve) == RESERVES
    assert accepted(accepts_teleport) == TELEPORTS


def test_networks_with_the_same_runtimes_have_the_same_facts() -> None:
    for name in ("kusama", "paseo"):
        assert TRUST[name]._replace(source="") == TRUST["polkadot"]._replace(source="")
        # What comes over a bridge differs from network to network.
        hub = TRUST[f"assetHub_{name}"]._replace(
            foreign_reserves=TRUST["assetHub"].foreign_reserves
        )
        assert hub._replace(source="") == TRUST["assetHub"]._replace(source="")


def test_every_fact_says_where_it_was_read() -> None:
    chains = {
        chain.name for chain in CHAINS if chain.role in ("relay", "asset_hub", "system", "dex")
    }

    assert chains <= set(TRUST) == {chain.name for chain in CHAINS}
    assert all(facts.source and facts.read for facts in (*TRUST.values(), *TRUST_BY_PLACE.values()))


@pytest.mark.parametrize("name", TRUST)
def test_the_native_asset_is_listed_where_its_runtime_has_it(name: str) -> None:
    assert ASSETS.native(REGISTRY.find(name)).location == TRUST[name].native


#: The rows of chains, by the chains; those that are not built in are declared.
DECLARED = Registry(
    {
        f"own{para_id}": {
            "role": "parachain",
            "relay": "polkadot",
            "para_id": para_id,
            "genesis": "0x" + "22" * 32,
            "symbol": "OWN",
            "decimals": 12,
        }
        for _, para_id in TRUST_BY_PLACE
    }
)
REFUSED = [
    (chain, row)
    for chain in DECLARED.all()
    for facts in [trust.trust_of(chain)]
    for row in (() if facts is None else facts.refused)
]


@pytest.mark.parametrize(
    ("chain", "row"),
    REFUSED,
    ids=[f"{chain.name} {row.asset} {row.sender.name}" for chain, row in REFUSED],
)
def test_what_would_be_lost_on_a_chain_is_refused_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, chain: Chain, row: trust.Refused
) -> None:
    senders = {Sender.RELAY: chain.relay, Sender.OWNER: "hydraDx"}
    hub = DECLARED.asset_hub(chain)
    assert hub is not None
    sender = DECLARED.find(senders.get(row.sender, hub.name))
    one = {"*": "1/Here", "1/Parachain(*": "1/Parachain(2034)"}.get(
        row.asset, row.asset.replace("*", "Here")
    )
    identity = absolute(one, chain.para_id)

    def reason() -> str:
        return refused_because(chain, identity, sender, DECLARED, teleported=row.form == "teleport")

    assert reason() and "{" not in reason()
    monkeypatch.setattr(trust, "trust_of", lambda _: TRUST["astar"])
    assert reason() == ""


@pytest.mark.parametrize(
    ("destination", "asset", "words"),
    [
        ("own3367", "DOT", "can't hold any asset"),
        ("own2056", "DOT", "takes the relay chain's asset for its own"),
        ("own2031", 1984, "is being given up"),
        ("neuroweb", 1984, "it would be trapped"),
    ],
)
def test_no_check_opens_what_would_be_lost(destination: str, asset: object, words: str) -> None:
    wanted = transfer("assetHub", destination, asset, DECLARED)

    with raises(InvalidRequest, says(words)):
        find_route(wanted, Assets(DECLARED), fee_settled=True)

    assert routes.candidate_routes(wanted, Assets(DECLARED)) == ()


def test_what_a_chain_without_a_genesis_accepts_is_unknown_until_it_has_one() -> None:
    with raises(InvalidRequest, says("not all that JAMTON accepts", "genesis in [chains.jamton]")):
        find_route(transfer("assetHub", "jamton", "DOT"), ASSETS, fee_settled=True)
    known = Registry({"jamton": {"genesis": "0x" + "22" * 32}})

    (route,) = routes.candidate_routes(transfer("assetHub", "jamton", "DOT", known), Assets(known))

    assert route.way == "LocalReserve"


def test_the_reserve_is_the_asset_hub_though_the_relay_chain_is_refused() -> None:
    wanted = transfer("polkadot", "bifrost", "DOT")

    (route,) = routes.candidate_routes(wanted, ASSETS)

    assert route.way == "Teleport, assetHub, LocalReserve"


#: Each fact turned around: which chain's, how, and a transfer that it lets through.
FLIPPED: list[tuple[str, dict[str, Any], tuple[str, str, object]]] = [
    ("polkadot", {"teleports": ()}, ("polkadot", "assetHub", "DOT")),
    ("polkadot", {"sends_teleports": False}, ("polkadot", "assetHub", "DOT")),
    ("polkadot", {"sends_teleports": False}, ("polkadot", "hydraDx", "DOT")),
    ("polkadot", {"teleports": ()}, ("hydraDx", "polkadot", 5)),
    ("assetHub", {"teleports": ()}, ("polkadot", "assetHub", "DOT")),
    ("assetHub", {"sends_teleports": False}, ("assetHub", "polkadot", "DOT")),
    ("hydraDx", {"reserves": ()}, ("assetHub", "hydraDx", "DOT")),
    ("hydraDx", {"reserves": TRUST["hydraDx"].reserves[1:]}, ("assetHub", "hydraDx", "DOT")),
    ("hydraDx", {"reserves": TRUST["hydraDx"].reserves[1:]}, ("hydraDx", "assetHub", 5)),
    (
        "hydraDx",
        {"reserves": TRUST["hydraDx"].reserves[::2]},
        ("assetHub", "hydraDx", "2/GlobalConsensus(Ethereum:1)"),
    ),
    ("hydraDx", {"reserves": TRUST["hydraDx"].reserves[::2]}, ("hydraDx", "assetHub", 34)),
    (
        "assetHub",
        {"foreign_reserves": ()},
        ("assetHub", "hydraDx", "2/GlobalConsensus(Ethereum:1)"),
    ),
    ("assetHub", {"foreign_reserves": ()}, ("hydraDx", "assetHub", 34)),
    ("hydraDx", {"reserves": TRUST["hydraDx"].reserves[:2]}, ("assetHub", "hydraDx", 1984)),
    ("hydraDx", {"reserves": TRUST["hydraDx"].reserves[:2]}, ("hydraDx", "assetHub", 10)),
]


@pytest.mark.parametrize(("chain", "change", "wanted"), FLIPPED)
def test_without_a_fact_its_transfers_are_refused(
    monkeypatch: pytest.MonkeyPatch,
    chain: str,
    change: dict[str, Any],
    wanted: tuple[str, str, object],
) -> None:
    find_route(transfer(*wanted), ASSETS, fee_settled=False)
    monkeypatch.setattr(trust, "TRUST", {**TRUST, chain: TRUST[chain]._replace(**change)})

    with pytest.raises(InvalidRequest):
        find_route(transfer(*wanted), ASSETS, fee_settled=False)


@pytest.mark.parametrize("ends", [("polkadot", "hydraDx", "DOT"), ("hydraDx", "polkadot", 5)])
def test_a_reserve_that_a_runtime_takes_is_not_used_unless_it_backs_the_asset(
    monkeypatch: pytest.MonkeyPatch, ends: tuple[str, str, object]
) -> None:
    """Hydration's runtime takes DOT from the relay chain too, where its backing is no longer."""
    facts = TRUST["hydraDx"]
    wide = facts._replace(reserves=(Accepted(asset="1/Here", sender=Sender.RELAY), *facts.reserves))
    monkeypatch.setattr(trust, "TRUST", {**TRUST, "hydraDx": wide})

    route = find_route(transfer(*ends), ASSETS, fee_settled=False)

    assert route.via == REGISTRY.find("assetHub")


def test_the_relay_chain_is_no_reserve_of_its_own_asset(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = TRUST["hydraDx"]._replace(reserves=(Accepted(asset="1/*", sender=Sender.OWNER),))
    monkeypatch.setattr(trust, "TRUST", {**TRUST, "hydraDx": wide})
    hydration, hub, relay = (REGISTRY.find(name) for name in ("hydraDx", "assetHub", "polkadot"))

    assert accepts_reserve(hydration, USDT, hub, REGISTRY)
    assert not accepts_reserve(hydration, DOT, relay, REGISTRY)


def test_a_fact_that_storage_decides_opens_nothing_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    hub, hydration = TRUST["assetHub"], TRUST["hydraDx"]
    taken = tuple(row._replace(decided_by="") for row in hub.teleports)
    chain, exchange = REGISTRY.find("assetHub"), REGISTRY.find("hydraDx")
    sending = hydration._replace(sends_teleports=True, teleports=hydration.reserves)

    def accepts(facts: TrustFacts) -> bool:
        monkeypatch.setattr(trust, "TRUST", {**TRUST, "assetHub": facts, "hydraDx": sending})
        return trust._accepts(facts.teleports, chain, HDX, exchange, REGISTRY)

    assert not accepts(hub)
    assert accepts(hub._replace(teleports=taken))


ROWS = [row for chain in CHAINS for row in routes_from(chain.name).values()]
BY_CHECK = ". With `tx check`, a check for its sender by a dry run of every hop may prove it."
UNPROVEN = f"no such transfer has been proven to arrive{BY_CHECK}"


def of_row(row: AssetRoute) -> Transfer:
    source = REGISTRY.find(row.source)
    asset = ASSETS.at(source, row.asset)
    assert asset is not None, f"{row.name}: {row.source} lists no such asset"
    return transfer(row.source, row.destination, asset.id)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_row_names_the_way_that_the_facts_allow(row: AssetRoute) -> None:
    wanted = of_row(row)

    route = resolve(wanted, REGISTRY)

    assert route is not None
    assert route.way == row.way
    assert ASSETS.counterpart(wanted.asset, wanted.destination) is not None
    assert row.opens in (("always", "state") if is_bridged(wanted) else ("always", "check"))
    assert row.proof in PROOFS
    assert row.sources and set(row.sources) <= set(sources())
    assert row.read >= "2026-11-23"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_opens_its_transfers_always_or_by_a_check(row: AssetRoute) -> None:
    wanted = of_row(row)
    if row.opens in ("always", "state"):
        assert find_route(wanted, ASSETS, fee_settled=True).row == row
    else:
        with pytest.raises(InvalidRequest) as refused:
            find_route(wanted, ASSETS, fee_settled=True)

        assert (UNPROVEN if row.proof == "none" else BY_CHECK) in str(refused.value)
        assert routes.candidate_routes(wanted, ASSETS) == (resolve(wanted, REGISTRY),)


def test_a_row_opens_always_only_with_a_proof_and_enough_sources() -> None:
    for row in ROWS:
        if row.opens == "always":
            assert row.proof in ("arrival", "alike", "bytes"), row
            # The relay chain's asset can't be mistaken for another one.
            assert len(row.sources) > (identity_of(of_row(row)) != ""), row


def without(
    monkeypatch: pytest.MonkeyPatch, row: AssetRoute, instead: AssetRoute | None = None
) -> None:
    kept = dict(routes_from(row.source))
    if instead is None:
        del kept[row.destination, row.asset]
    else:
        kept[row.destination, row.asset] = instead
    monkeypatch.setattr(ways, "routes_from", lambda source: kept)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_without_its_row_a_transfer_is_refused(
    monkeypatch: pytest.MonkeyPatch, row: AssetRoute
) -> None:
    without(monkeypatch, row)

    with pytest.raises(InvalidRequest) as refused:
        find_route(of_row(row), ASSETS, fee_settled=True)

    # No dry run proves what crosses a bridge.
    bridged = {row.source, row.destination} == {"assetHub", "assetHub_kusama"}
    assert ("isn't known to be registered on both" if bridged else UNPROVEN) in str(refused.value)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_that_names_another_way_opens_nothing(
    monkeypatch: pytest.MonkeyPatch, row: AssetRoute
) -> None:
    other = "LocalReserve" if row.way == "Teleport" else "Teleport"
    without(monkeypatch, row, replace(row, way=other))
    wanted = of_row(row)

    with pytest.raises(InvalidRequest) as refused:
        find_route(wanted, ASSETS, fee_settled=True)

    assert str(refused.value).endswith(
        f"its route is {other}, but what the runtimes accept is {row.way}"
    )
    assert routes.candidate_routes(wanted, ASSETS) == ()


def test_what_the_facts_allow_is_still_not_proven() -> None:
    """Hydration takes Asset Hub's pool tokens from it, as anything that is issued there; nobody
    sent one yet."""
    hub = {
        "id": "pool",
        "symbol": "LP",
        "decimals": 6,
        "kind": "foreign",
        "location": "0/PalletInstance(55)/GeneralIndex(1)",
    }
    registry = Registry({"assetHub": {"assets": [hub]}})
    assets = Assets(registry)
    wanted = transfer("assetHub", "hydraDx", "LP", registry)

    with pytest.raises(InvalidRequest) as refused:
        find_route(wanted, assets, fee_settled=False)

    assert "Hydration is not known to list it, and would trap it if it doesn't" in str(
        refused.value
    )
    assert routes.candidate_routes(wanted, assets) == (Route(first="LocalReserve"),)


class TestOverTheAssetHubBetweenTwoParachains:
    REGISTRY = Registry(
        {
            "other": {
                "role": "dex",
                "relay": "polkadot",
                "para_id": 2099,
                "spec_name": "hydradx",
                "symbol": "OTH",
                "decimals": 12,
                "assets": [{"id": 5, "symbol": "DOT", "decimals": 10, "location": "1/Here"}],
            }
        }
    )

    def test_it_is_refused_without_proof(self) -> None:
        with pytest.raises(InvalidRequest) as refused:
            find_route(
                transfer("hydraDx", "other", 5, self.REGISTRY),
                Assets(self.REGISTRY),
                fee_settled=False,
            )

        assert UNPROVEN in str(refused.value)

    def test_it_names_the_remote_reserve(self, monkeypatch: pytest.MonkeyPatch) -> None:
        row = AssetRoute(
            source="hydration",
            destination="hydration",
            asset="1/Here",
            way="DestinationReserve, asset_hub, LocalReserve",
            proof="this test",
        )
        monkeypatch.setattr(ways, "ROWS_BY_KIND", (*ROWS_BY_KIND, row))
        wanted = replace(transfer("hydraDx", "other", 5, self.REGISTRY), xcm_version=4)
        assets = Assets(self.REGISTRY)

        route = find_route(wanted, assets, fee_settled=False)
        draft = build_transfer(wanted, bundled("hydraDx"), assets=assets)

        hub = self.REGISTRY.find("assetHub")
        assert route == Route(
            first="DestinationReserve", via=hub, onward="LocalReserve", row=row, fees_as=row.name
        )
        assert not route.needs_last_hop_fee
        remote = {
            "RemoteReserve": {"V4": {"parents": 1, "interior": {"X1": [{"Parachain": 1000}]}}}
        }
        arguments = draft.call.args
        assert draft.call.method == "transfer_assets_using_type_and_then"
        assert arguments["dest"] == {
            "V4": {"parents": 1, "interior": {"X1": [{"Parachain": 2099}]}}
        }
        assert arguments["assets_transfer_type"] == arguments["fees_transfer_type"] == remote
        (deposit,) = arguments["custom_xcm_on_dest"]["V4"]
        assert list(deposit) == ["DepositAsset"]
        table = bundled("hydraDx")
        assert table.decode_call(table.encode_call(draft.call)) == draft.call


def test_every_transfer_between_built_in_chains_is_built_or_refused_as_before() -> None:
    before = json.loads(PATH.read_text())

    rows = transfer_rows()

    assert {ends: sorted(assets) for ends, assets in rows.items()} == {
        ends: sorted(assets) for ends, assets in before.items()
    }
    assert rows == before


def test_an_asset_that_pays_no_fees_is_sent_once_something_else_pays() -> None:
    wanted = transfer("hydraDx", "assetHub", 1000085)

    route = find_route(wanted, ASSETS, fee_settled=True)

    assert route.first == "DestinationReserve"
    with raises(InvalidRequest, says("WUD", "fees", "Polkadot Asset Hub")):
        find_route(wanted, ASSETS, fee_settled=False)


def test_only_a_chain_that_takes_fees_by_pools_refuses_an_asset_without_one() -> None:
    """Hydration prices assets itself: that Asset Hub has no pool for one says nothing of it
    there."""
    usdt = {"id": 1984, "symbol": "USDT", "decimals": 6, "pays_fees": False}
    registry = Registry({"assetHub": {"assets": [usdt]}})
    assets = Assets(registry)

    route = find_route(transfer("assetHub", "hydraDx", 1984, registry), assets, fee_settled=False)

    assert route.first == "LocalReserve"
