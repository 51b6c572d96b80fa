"""`tools/refresh_registry.py`: what differs from other people's registries, and what somebody has
to act on."""

from dataclasses import replace

import pytest

from scenarioctl.chains.registry import CHAINS, Chain, Registry
from scenarioctl.transactions.transfer.ways import FILE
from tools import curate_assets
from tools.chain_registries import (
    ListedChain,
    Place,
    is_dead,
)
from tools.freshness import (
    Difference,
    Registries,
    compare_assets,
    compare_chains,
    compare_closures,
    compare_routes,
    compare_versions,
)
from tools.refresh_registry import read_assets, read_routes, ways_closed

ASTAR = Registry().find("astar")
PLACE: Place = ("polkadot", 2006)
#: A registry that agrees with ours.
AGREES = ListedChain(
    endpoints=frozenset(ASTAR.endpoints),
    genesis=ASTAR.genesis,
    ss58_prefix=5,
    symbol="ASTR",
    decimals=18,
)


def compare(
    chain: Chain, first: ListedChain | None, second: ListedChain | None
) -> list[Difference]:
    registries: Registries = {
        name: {} if record is None else {PLACE: record}
        for name, record in (("polkadot.js", first), ("SubWallet", second))
    }
    return list(compare_chains([chain], registries))


def failures(differences: list[Difference]) -> list[str]:
    return [each.failure for each in differences if each.failure]


class TestChains:
    def test_nothing_differs(self) -> None:
        assert compare(ASTAR, AGREES, AGREES) == []

    def test_one_registry_is_no_proof_of_an_end(self) -> None:
        found = compare(ASTAR, AGREES, None)
        assert [(each.kind, each.listed) for each in found] == [("chain", "not in SubWallet")]
        assert failures(found) == []

    def test_two_are(self) -> None:
        assert failures(compare(ASTAR, None, None)) == [
            "astar is listed neither by polkadot.js nor by SubWallet: has it closed?"
        ]

    @pytest.mark.parametrize(("key", "value"), [("genesis", "0x00"), ("decimals", 12)])
    def test_another_genesis_and_other_decimals_are_failures(self, key: str, value: object) -> None:
        theirs = replace(AGREES, **{key: value})  # type: ignore[arg-type]
        assert failures(compare(ASTAR, AGREES, theirs)) == [
            f"astar has the {key} {value} in SubWallet, and {getattr(ASTAR, key)} here"
        ]

    def test_what_was_looked_into_is_settled(self) -> None:
        hydration = Registry().find("hydraDx")
        theirs = ListedChain(endpoints=frozenset(hydration.endpoints), ss58_prefix=63)
        assert list(compare_chains([hydration], {"SubWallet": {("polkadot", 2034): theirs}})) == []

    def test_an_endpoint_on_a_dead_host_is_a_failure(self) -> None:
        dead = "wss://astar.ibp.network"
        found = compare(ASTAR._replace(endpoints=(*ASTAR.endpoints, dead)), AGREES, AGREES)
        assert failures(found) == [f"astar has the endpoint {dead}, whose host is dead: remove it"]

    def test_none_of_ours_is_on_a_dead_host(self) -> None:
        assert not any(is_dead(endpoint) for chain in CHAINS for endpoint in chain.endpoints)


class TestOtherFacts:
    def test_a_newer_runtime_is_a_failure_and_an_older_one_is_not(self) -> None:
        newer = list(compare_versions({"polkadot": 2000000}, {"polkadot": 2001000}))
        assert failures(newer) == [
            "the table of polkadot is of 2000000, and its package has 2001000: bundle that"
        ]
        older = list(compare_versions({"polkadot": 2000000}, {"polkadot": 1006000}))
        assert len(older) == 1
        assert failures(older) == []
        assert list(compare_versions({"polkadot": 2000000}, {"polkadot": 2000000})) == []

    def test_a_route_whose_source_is_gone_is_a_failure(self) -> None:
        route = ("assetHub", "hydraDx", "1/Here")
        two, one = (
            (frozenset({"paraspell", "parity"}), "Teleport"),
            (frozenset({"parity"}), "Teleport"),
        )
        assert failures(list(compare_routes({route: two}, {route: one}))) == [
            (
                "the route of 1/Here from assetHub to hydraDx rests on paraspell, which lists "
                "it no more"
            )
        ]
        assert failures(list(compare_routes({route: two}, {}))) == [
            (
                "the route of 1/Here from assetHub to hydraDx rests on paraspell and parity, "
                "which lists it no more"
            )
        ]
        assert failures(list(compare_routes({route: one}, {route: two}))) == []
        assert list(compare_routes({route: one}, {route: one})) == []
        assert [each.change for each in compare_routes({route: two}, {})] == ["closed"]
        assert [each.change for each in compare_routes({}, {route: two})] == ["opened"]

    def test_a_route_that_the_trust_facts_want_to_go_another_way_is_a_failure(self) -> None:
        route = ("assetHub", "hydraDx", "1/Here")
        sources = frozenset({"parity"})
        found = list(
            compare_routes({route: (sources, "Teleport")}, {route: (sources, "LocalReserve")})
        )
        assert failures(found) == [
            "the route of 1/Here from assetHub to hydraDx contradicts the trust facts: "
            "they have its reserve where it goes"
            " LocalReserve, and it goes Teleport"
        ]
        assert [each.change for each in found] == ["moved"]

    def test_a_way_that_the_trust_facts_close_and_a_package_lists_anew_is_a_failure(self) -> None:
        """MYTH is on Hydration and on the Asset Hub by these rows, and neither takes it from the
        other."""
        myth = {
            "assetHub": {"1/Parachain(3369)", "1/Here"},
            "hydraDx": {"1/Parachain(3369)", "1/Here"},
        }
        before = ways_closed({"paraspell": {**myth, "hydraDx": {"1/Here"}}, "parity": myth})
        now = ways_closed({"paraspell": myth, "parity": myth})
        found = list(compare_closures(before, now))

        reason = "accepts it neither as a teleport nor from its reserve"
        assert failures(found) == [
            "paraspell now has 1/Parachain(3369) of assetHub on hydraDx too, and the trust "
            "facts close that way: "
            f"Hydration {reason}",
            "paraspell now has 1/Parachain(3369) of hydraDx on assetHub too, and the trust "
            "facts close that way: "
            f"Polkadot Asset Hub {reason}",
        ]
        assert {each.change for each in found} == {"opened"}
        # DOT has a way, so that nothing contradicts it.
        assert {asset for _, _, asset in now} == {"1/Parachain(3369)"}
        assert list(compare_closures(now, now)) == list(compare_closures(now, {})) == []

    def test_an_asset_with_other_decimals_is_a_failure(self) -> None:
        usdt = ("assetHub", "1984")
        changed = list(compare_assets({usdt: ("USDT", 6, None)}, {usdt: ("USDT", 18, None)}))
        assert failures(changed) == [
            "asset 1984 of assetHub has other decimals, or another location, than before"
        ]
        assert (
            failures(list(compare_assets({usdt: ("USDT", 6, None)}, {usdt: ("USDt", 6, None)})))
            == []
        )
        assert failures(list(compare_assets({usdt: ("USDT", 6, None)}, {}))) == []

    def test_what_is_bundled_is_read(self) -> None:
        assets = read_assets(curate_assets.TARGET.read_text(encoding="utf-8"))
        assert assets["assetHub", "1984"][:2] == ("USDt", 6)
        routes = read_routes(FILE.read_text(encoding="utf-8"))
        assert "paraspell" in routes["assetHub", "hydraDx", "1/Here"][0]
