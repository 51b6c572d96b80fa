"""One asset of one chain by two names: it is never taken for two assets."""

from collections import Counter
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from scenarioctl.chains.assets import Assets
from scenarioctl.chains.registry import Registry
from scenarioctl.errors import InvalidRequest
from scenarioctl.transactions.transfer.plan import Plan, build_call
from scenarioctl.transactions.transfer.request import Transfer, check_request
from scenarioctl.transactions.transfer.ways import Route
from tests.messages import says
from tests.runtimes import BOB, RIG, bundled

REGISTRY = Registry()
ASSETS = Assets(REGISTRY)
USDT = "0/PalletInstance(50)/GeneralIndex(1984)"


def wanted(asset: object, pays: object) -> Transfer:
    hub = REGISTRY.find("assetHub")
    return Transfer(
        source=hub,
        destination=REGISTRY.find("hydraDx"),
        asset=ASSETS.find(hub, asset),
        amount=10**16,
        beneficiary=BOB,
        remote_fee_asset=ASSETS.find(hub, pays),
    )


# The asset that pays for another one


@pytest.mark.parametrize("place", [USDT, "1/Parachain(1000)/PalletInstance(50)/GeneralIndex(1984)"])
def test_an_asset_does_not_pay_for_itself_under_another_id(place: str) -> None:
    asked = wanted(1984, 1337)
    again = asked.asset._replace(id="1", symbol="FAKE", name="", mark="", location=place)

    with pytest.raises(InvalidRequest) as refused:
        check_request(replace(asked, remote_fee_asset=again))

    assert str(refused.value) == says("remote_fee_asset 1 (FAKE)", "is sent")


def test_a_teleport_takes_nothing_along() -> None:
    """No such transfer passes the gate.  If one did, nothing may be left out of its call."""
    plan = Plan(
        transfer=wanted("DOT", 1984),
        route=Route(first="Teleport"),
        table=bundled("assetHub"),
        version=5,
        beside=(ASSETS.find(REGISTRY.find("assetHub"), 1984), 1),
    )

    with pytest.raises(RuntimeError):
        build_call(plan)


# The ids of config.toml


def load(chain: str, *tables: dict[str, Any], **others: dict[str, Any]) -> Assets:
    """Return what is known with *tables* as `[[chains.CHAIN.assets]]`, read; *others* are further
    chains."""
    known = {**RIG, **others}
    known[chain] = {
        **known.get(chain, {}),
        "assets": [{"symbol": "NAME", "decimals": 6, **each} for each in tables],
    }
    assets = Assets(Registry(known))
    assets.all(assets.registry.find(chain))
    return assets


def refusal(chain: str, *tables: dict[str, Any], **others: dict[str, Any]) -> str:
    with pytest.raises(InvalidRequest) as refused:
        load(chain, *tables, **others)
    return str(refused.value)


@pytest.mark.parametrize(
    ("chain", "tables", "words"),
    [
        (
            "hydraDx",
            [
                {"id": 900, "location": "1/Parachain(4999)"},
                {"id": 901, "location": "1/Parachain(4999)"},
            ],
            ("location 1/Parachain(4999)", "id 901", "id 900"),
        ),
        # Its own, seen from within and from without.
        (
            "rigdex",
            [
                {"id": 8, "location": "0/GeneralIndex(9)"},
                {"id": 9, "location": "1/Parachain(2034)/GeneralIndex(9)"},
            ],
            ("location", "id 9", "id 8"),
        ),
        # What a contract holds goes by its number abroad.
        (
            "rigdex",
            [
                {"id": 77, "kind": "erc20", "location": "0/AccountKey20(0x" + "1a" * 20 + ")"},
                {"id": 8, "location": "0/GeneralIndex(77)"},
            ],
            ("location", "id 8", "id 77"),
        ),
        ("rigdex", [{"id": 8}, {"id": 8, "decimals": 10}], ("id 8", "twice")),
        ("hydraDx", [{"id": "010", "decimals": 18}], ("decimals 18", "USDT 10", 6)),
    ],
)
def test_two_ids_of_one_asset_are_refused(
    chain: str, tables: list[dict[str, Any]], words: tuple[object, ...]
) -> None:
    assert refusal(chain, *tables) == says(f"chains.{chain}.assets", *words)


@pytest.mark.parametrize(
    ("chain", "table", "words"),
    [
        (
            "righub",
            {"id": 1, "location": USDT},
            (USDT, "id 1", "expected 0/PalletInstance(50)/GeneralIndex(1)"),
        ),
        (
            "righub",
            {"id": "1/Parachain(4999)", "kind": "foreign", "location": "1/Parachain(4998)"},
            ("1/Parachain(4998)", "expected 1/Parachain(4999)"),
        ),
        (
            "righub",
            {"id": "x", "kind": "foreign", "location": USDT},
            (USDT, "'x'", "expected id 1984"),
        ),
        (
            "people",
            {"id": "DOT", "decimals": 10, "location": "0/Here"},
            ("0/Here", "DOT", "expected 1/Here"),
        ),
    ],
)
def test_an_id_with_the_location_of_another_asset_is_refused(
    chain: str, table: dict[str, Any], words: tuple[object, ...]
) -> None:
    assert refusal(chain, table) == says(f"chains.{chain}.assets", *words)


def test_a_foreign_asset_lives_where_its_id_says() -> None:
    """In one form, whichever is written: the chain itself knows no other."""
    assets = load(
        "rigdex",
        {"id": "1/Parachain(4999)", "kind": "foreign"},
        {"id": 8, "location": "1/Parachain(2034)/GeneralIndex(8)"},
    )
    dex = assets.registry.find("rigdex")

    assert assets.find(dex, "1/Parachain(4999)").location == "1/Parachain(4999)"
    assert assets.find(dex, 8).location == "0/GeneralIndex(8)"
    assert assets.find(dex, "0/GeneralIndex(8)") == assets.find(dex, 8)


def test_the_native_asset_lives_where_config_toml_says() -> None:
    """Its symbol is that of the relay chain's asset: without a location it would be taken for
    that."""
    own = {
        "role": "parachain",
        "relay": "polkadot",
        "para_id": 2222,
        "symbol": "DOT",
        "decimals": 10,
    }
    native = {"id": "DOT", "decimals": 10, "location": "0/Here"}

    assets = load("own", native, {"id": 5, "decimals": 10, "location": "1/Here"}, own=own)

    assert assets.native(assets.registry.find("own")).location == "0/Here"
    assert refusal("own", {"id": 5, "decimals": 10, "location": "1/Here"}, own=own) == says(
        "id 5", "id DOT"
    )


# Its decimals, which are the same everywhere: messages carry raw amounts

OWN: dict[str, Any] = {
    "role": "parachain",
    "relay": "polkadot",
    "para_id": 2222,
    "symbol": "OWN",
    "decimals": 12,
    "assets": [{"id": "OWN", "symbol": "OWN", "decimals": 12, "location": "0/Here"}],
}
USDT_ABROAD = "1/Parachain(1000)/PalletInstance(50)/GeneralIndex(1984)"


@pytest.mark.parametrize(
    ("chain", "table", "words"),
    [
        (
            "astar",
            {"id": 5, "decimals": 18, "location": USDT_ABROAD},
            (18, "id 5", "1984", "assetHub", 6),
        ),
        (
            "own",
            {"id": 7, "decimals": 10, "location": "1/Parachain(2034)/GeneralIndex(0)"},
            (10, "id 7", "HDX", "hydraDx", 12),
        ),
        (
            "assetHub",
            {"id": "1/Parachain(2222)", "kind": "foreign", "decimals": 18},
            ("1/Parachain(2222)", 18, "OWN", 12),
        ),
        # Of other networks.
        (
            "bifrost",
            {"id": 5, "decimals": 8, "location": "2/GlobalConsensus(Ethereum:1)"},
            (8, "id 5", "ETH", "assetHub", 18),
        ),
    ],
)
def test_other_decimals_than_on_the_chain_that_backs_it_are_refused(
    chain: str, table: dict[str, Any], words: tuple[object, ...]
) -> None:
    assert refusal(chain, table, **({"own": OWN} if chain != "astar" else {})) == says(
        "assets.decimals", *words
    )


@pytest.mark.parametrize(
    "table",
    [
        {"id": 5, "symbol": "xcUSDT", "decimals": 6, "location": USDT_ABROAD},
        # Its decimals there aren't known.
        {
            "id": 5,
            "decimals": 18,
            "location": "1/Parachain(1000)/PalletInstance(50)/GeneralIndex(87654321)",
        },
        {"id": 5, "symbol": "USDT", "decimals": 18},
    ],
)
def test_what_contradicts_nothing_is_taken(table: dict[str, Any]) -> None:
    assets = load("astar", table)

    assert assets.find(assets.registry.find("astar"), 5).decimals == table["decimals"]


def test_what_is_built_in_agrees() -> None:
    for chain in REGISTRY.all():
        counted = Counter(asset.location for asset in ASSETS.all(chain) if asset.location)
        assert {place for place, times in counted.items() if times > 1} == set()
    compared = 0
    for here, there in permutations(REGISTRY.all(), 2):
        for asset in ASSETS.all(here):
            other = ASSETS.counterpart(asset, there)
            if other is not None and None not in (asset.decimals, other.decimals):
                compared += 1
                assert asset.decimals == other.decimals, (asset, other)
    assert compared > 300
