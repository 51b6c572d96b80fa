"""Assets: by id, by symbol, look-alikes, the same asset seen from elsewhere, assets of
config.toml."""

from typing import Any

import pytest

from scenarioctl.chains.assets import Asset, Assets
from scenarioctl.chains.locations import absolute, read_location, write_location
from scenarioctl.chains.registry import Registry
from scenarioctl.errors import InvalidRequest
from tests.messages import Says, raises, says
from tests.runtimes import ASSETS, REGISTRY, bundled

HUB, DEX, RELAY = REGISTRY.find("assetHub"), REGISTRY.find("hydraDx"), REGISTRY.find("polkadot")


@pytest.mark.parametrize(
    ("chain", "typed", "found"),
    [
        ("polkadot", 0, "0"),
        ("polkadot", "dot", "0"),
        ("polkadot", "native", "0"),
        ("assetHub", "DOT", "DOT"),
        ("assetHub", "01984", "1984"),
        ("assetHub", 1000, "1000"),
        ("assetHub", "0/PalletInstance(50)/GeneralIndex(1984)", "1984"),
        ("assetHub", "1/Parachain(1000)/PalletInstance(50)/GeneralIndex(1984)", "1984"),
        ("assetHub", "0/PalletInstance(50)/GeneralIndex(4294967295)", "4294967295"),
        ("assetHub", "1/Here", "DOT"),
        ("polkadot", "0/Here", "0"),
        ("hydraDx", "0/GeneralIndex(0)", "0"),
        ("assetHub", "1/Parachain(2034)/GeneralIndex(0)", "1/Parachain(2034)/GeneralIndex(0)"),
        ("hydraDx", 0, "0"),
        ("kusama", "KSM", "0"),
        ("assetHub", 0, "DOT"),
        ("rigcontracts", "KSM", "KSM"),
        ("rigdex", "HDX", "0"),
    ],
)
def test_an_asset_is_found_by_id_symbol_or_native(chain: str, typed: object, found: str) -> None:
    assert ASSETS.find(REGISTRY.find(chain), typed).id == found


def test_the_native_deposits_are_those_of_the_runtimes() -> None:
    for chain in ("polkadot", "assetHub", "hydraDx", "kusama", "assetHub_kusama"):
        deposit = bundled(chain).constant("Balances", "ExistentialDeposit")

        assert ASSETS.native(REGISTRY.find(chain)).existential_deposit == deposit, chain


def test_an_asset_that_the_table_does_not_know_has_no_decimals() -> None:
    asset = ASSETS.find(HUB, 87654321)

    assert asset == Asset(
        chain="assetHub",
        id="87654321",
        symbol="",
        decimals=None,
        kind="assets",
        location="0/PalletInstance(50)/GeneralIndex(87654321)",
        reserve="assetHub",
    )
    assert asset.label == "87654321"


@pytest.mark.parametrize(
    ("chain", "typed", "sentence"),
    [
        ("assetHub", "doge", says("assetid", "doge", "Polkadot Asset Hub", "35", "66")),
        ("hydraDx", 102, says("assetid", "102", "Hydration", "5")),
        ("polkadot", 1, says("assetid", "1", "DOT")),
        ("assetHub", 2**32, says("assetid", "4294967296", "Polkadot Asset Hub")),
        ("assetHub", -1, says("assetid", "-1", "Polkadot Asset Hub")),
        ("assetHub", "1984.0", says("assetid", "1984.0", "Polkadot Asset Hub")),
        ("assetHub", 1.5, says("assetid", "1.5")),
        ("assetHub", None, says("assetid")),
        ("polkadot", "1/Here", says("assetid", "1/Here", "Polkadot")),
        ("hydraDx", "1/Parachain(4999)", says("assetid", "1/Parachain(4999)", "Hydration")),
        (
            "assetHub",
            "0/PalletInstance(50)/GeneralIndex(4294967296)",
            says("assetid", "Polkadot Asset Hub"),
        ),
    ],
)
def test_what_is_no_asset_or_more_than_one_is_refused(
    chain: str, typed: object, sentence: Says
) -> None:
    with raises(InvalidRequest, sentence):
        ASSETS.find(REGISTRY.find(chain), typed)


def test_eight_assets_of_the_asset_hub_look_like_dot_and_the_symbol_means_the_native_one() -> None:
    look_alikes = [asset for asset in ASSETS.all(HUB) if asset.symbol.lower() == "dot"]

    assert len(look_alikes) == 8
    assert ASSETS.find(HUB, "DOT").kind == "native"


@pytest.mark.parametrize(
    ("asset_id", "symbol", "diagram", "sentence"),
    [
        (1000, "DOT", False, says("1000", "Polkadot Asset Hub", "BRZ", "DOT")),
        (1984, "DOT", True, says("1984", "Polkadot Asset Hub", "USDt", "DOT")),
    ],
)
def test_a_symbol_that_contradicts_the_id_is_refused(
    asset_id: int, symbol: str, diagram: bool, sentence: Says
) -> None:
    with raises(InvalidRequest, sentence):
        ASSETS.find(HUB, asset_id, symbol=symbol, diagram=diagram, field="asset")


def test_a_symbol_beside_the_id_that_agrees_or_cannot_be_judged_is_let_through() -> None:
    assert ASSETS.find(HUB, 1984, symbol="USDT").id == "1984"
    assert ASSETS.find(HUB, 87654321, symbol="WHAT").id == "87654321"
    assert ASSETS.find(HUB, 1984, symbol=None).id == "1984"


@pytest.mark.parametrize(
    ("source", "asset", "destination", "found"),
    [
        ("polkadot", 0, "hydraDx", "5"),
        ("assetHub", 1984, "hydraDx", "10"),
        ("assetHub", 87654321, "hydraDx", None),
        ("hydraDx", 10, "assetHub", "1984"),
        ("hydraDx", 10, "polkadot", None),
        ("hydraDx", 0, "assetHub", "1/Parachain(2034)/GeneralIndex(0)"),
        ("hydraDx", 222, "assetHub", "1/Parachain(2034)/GeneralIndex(222)"),
        ("kusama", 0, "assetHub", "2/GlobalConsensus(Kusama)"),
        ("kusama", 0, "assetHub_paseo", None),
        ("rigdex", 10, "righub", "1984"),
        ("rigdex", 7, "righub", None),
    ],
)
def test_an_asset_is_known_again_from_another_chain(
    source: str, asset: object, destination: str, found: str | None
) -> None:
    counterpart = ASSETS.counterpart(
        ASSETS.find(REGISTRY.find(source), asset), REGISTRY.find(destination)
    )

    assert (counterpart.id if counterpart else None) == found
    if counterpart and source != destination:
        assert ASSETS.same_asset(ASSETS.find(REGISTRY.find(source), asset), counterpart)


def test_look_alikes_are_not_the_same_asset() -> None:
    usdt = ASSETS.find(DEX, 10)

    assert not ASSETS.same_asset(usdt, ASSETS.find(HUB, 50000470))
    assert not ASSETS.same_asset(usdt, ASSETS.find(DEX, 23))
    assert not ASSETS.same_asset(ASSETS.find(HUB, 100), ASSETS.find(DEX, 7))
    assert not ASSETS.same_asset(ASSETS.find(RELAY, 0), ASSETS.find(REGISTRY.find("kusama"), 0))
    assert ASSETS.same_asset(usdt, ASSETS.find(DEX, "10"))


def test_every_listed_asset_is_found_by_its_location() -> None:
    for chain in REGISTRY.all():
        for asset in ASSETS.all(chain):
            if asset.location and (chain.role == "relay" or chain.para_id is not None):
                assert ASSETS.find(chain, asset.location) is asset


def test_every_listed_asset_is_found_by_its_id() -> None:
    for chain in REGISTRY.all():
        for asset in ASSETS.all(chain):
            assert ASSETS.find(chain, asset.id) is asset


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("0/Here", {"parents": 0, "interior": "Here"}),
        ("1/Parachain(1000)", {"parents": 1, "interior": {"X1": [{"Parachain": 1000}]}}),
        (
            "2/GlobalConsensus(Ethereum:1)/AccountKey20(0x" + "1a" * 20 + ")",
            {
                "parents": 2,
                "interior": {
                    "X2": [
                        {"GlobalConsensus": {"Ethereum": {"chain_id": 1}}},
                        {"AccountKey20": {"network": None, "key": b"\x1a" * 20}},
                    ]
                },
            },
        ),
        (
            "1/Parachain(2030)/GeneralKey(0x0001)",
            {
                "parents": 1,
                "interior": {
                    "X2": [
                        {"Parachain": 2030},
                        {"GeneralKey": {"length": 2, "data": b"\0\1" + bytes(30)}},
                    ]
                },
            },
        ),
    ],
)
def test_a_location_is_read_from_text(text: str, location: dict[str, Any]) -> None:
    assert read_location(text) == location
    assert write_location(location) == text


def test_locations_of_xcm_3_are_written_alike() -> None:
    bare = {"Concrete": {"parents": 1, "interior": {"X1": {"Parachain": 1000}}}}

    assert write_location(bare) == "1/Parachain(1000)"
    assert write_location({"parents": 0, "interior": {"X1": [{"OnlyChild": None}]}}) == ""
    assert write_location("Here") == ""


@pytest.mark.parametrize(
    ("text", "para_id", "name"),
    [
        ("0/Here", None, ""),
        ("1/Here", 1000, ""),
        ("0/GeneralIndex(0)", 2034, "Parachain(2034)/GeneralIndex(0)"),
        ("1/Parachain(2034)/GeneralIndex(0)", 1000, "Parachain(2034)/GeneralIndex(0)"),
        ("2/GlobalConsensus(Kusama)", 1000, "../GlobalConsensus(Kusama)"),
        ("1/GlobalConsensus(Kusama)", None, "../GlobalConsensus(Kusama)"),
    ],
)
def test_a_location_has_one_name_under_the_relay(text: str, para_id: int | None, name: str) -> None:
    assert absolute(text, para_id) == name


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", says("location")),
        ("3/Here", says("location", "3/Here")),
        ("1/Moon(5)", says("location", "1/Moon(5)")),
        ("1/Parachain(4294967296)", says("location", "1/Parachain(4294967296)")),
        ("1" + "/Parachain(1)" * 9, says("location", "/Parachain(1)" * 9, "9", "XCM", "8")),
    ],
)
def test_a_wrong_location_is_refused(text: str, sentence: Says) -> None:
    with raises(InvalidRequest, sentence):
        read_location(text)


def rig(**asset: object) -> Assets:
    table = {"role": "dex", "relay": "kusama", "para_id": 2090, "symbol": "BSX", "decimals": 12}
    registry = Registry({"rig": table | {"assets": [asset]}})
    assets = Assets(registry)
    assets.all(registry.find("rig"))
    return assets


def test_assets_of_config_toml_are_known() -> None:
    registry = Registry(
        {
            "hydraDx": {
                "assets": [
                    {
                        "id": 102,
                        "symbol": "2-Pool",
                        "decimals": 18,
                        "name": "Stable shares",
                        "existential_deposit": "1000",
                        "kind": "tokens",
                        "location": "0/GeneralIndex(102)",
                    }
                ]
            },
            "assetHub": {
                "assets": [{"id": 87654321, "symbol": "MINE", "decimals": 3, "pays_fees": True}]
            },
        }
    )
    assets = Assets(registry)

    assert assets.find(registry.find("hydraDx"), "2-pool") == Asset(
        chain="hydraDx",
        id="102",
        symbol="2-Pool",
        name="Stable shares",
        decimals=18,
        existential_deposit=1000,
        kind="tokens",
        location="0/GeneralIndex(102)",
        reserve="hydraDx",
    )
    mine = assets.find(registry.find("assetHub"), "MINE")
    assert (mine.id, mine.location, mine.pays_fees) == (
        "87654321",
        "0/PalletInstance(50)/GeneralIndex(87654321)",
        True,
    )


@pytest.mark.parametrize(
    ("asset", "sentence"),
    [
        ({"colour": 1}, says("chains.rig.assets", "colour")),
        ({"id": 1, "symbol": "A"}, says("chains.rig.assets.decimals", "missing")),
        ({"id": True, "symbol": "A", "decimals": 1}, says("chains.rig.assets.id", "number")),
        (
            {"id": 2**32, "symbol": "A", "decimals": 1},
            says("chains.rig.assets.id", 2**32, "0", "4294967295"),
        ),
        ({"id": 1, "symbol": 5, "decimals": 1}, says("chains.rig.assets.symbol", "5")),
        ({"id": 1, "symbol": "A", "decimals": "1"}, says("chains.rig.assets.decimals", "1")),
        (
            {"id": 0, "symbol": "BSX", "decimals": 10},
            says("chains.rig.assets.decimals", "10", "chains.rig.decimals", "12"),
        ),
        (
            {"id": 1, "symbol": "A", "decimals": 1, "kind": "native"},
            says("chains.rig.assets.kind", "native", "1"),
        ),
        (
            {"id": 1, "symbol": "A", "decimals": 1, "location": "nowhere"},
            says("chains.rig.assets.location", "nowhere"),
        ),
    ],
)
def test_an_asset_of_config_toml_that_cannot_be_used_is_named(
    asset: dict[str, Any], sentence: Says
) -> None:
    with raises(InvalidRequest, sentence):
        rig(**asset)


#: Chain -> symbol -> the one asset that it means, as far as anybody is likely to send it.
CANONICAL = {
    "polkadot": {"DOT": "0"},
    "assetHub": {
        "DOT": "DOT",
        "USDt": "1984",
        "USDC": "1337",
        "KSM": "2/GlobalConsensus(Kusama)",
        "ETH": "2/GlobalConsensus(Ethereum:1)",
        "WETH": (
            "2/GlobalConsensus(Ethereum:1)/AccountKey20(0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2)"
        ),
        "WBTC": (
            "2/GlobalConsensus(Ethereum:1)/AccountKey20(0x2260fac5e5542a773aa44fbcfedf7c193bc2c599)"
        ),
        "tBTC": (
            "2/GlobalConsensus(Ethereum:1)/AccountKey20(0x18084fba666a33d37592fa2633fd49a74dd93a88)"
        ),
        "HDX": "1/Parachain(2034)/GeneralIndex(0)",
        "MYTH": "1/Parachain(3369)",
    },
    "hydraDx": {
        "HDX": "0",
        "LRNA": "1",
        "DOT": "5",
        "USDT": "10",
        "USDC": "22",
        "ETH": "34",
        "HOLLAR": "222",
        "KSM": "1000771",
        "tBTC": "1000765",
    },
    "kusama": {"KSM": "0"},
    "assetHub_kusama": {
        "KSM": "KSM",
        "USDt": "1984",
        "USDC": "2/GlobalConsensus(Polkadot)/Parachain(1000)/PalletInstance(50)/GeneralIndex(1337)",
        "DOT": "2/GlobalConsensus(Polkadot)",
    },
    "assetHub_paseo": {"PAS": "PAS", "USDt": "1984", "USDC": "1337"},
}


@pytest.mark.parametrize("chain", CANONICAL)
def test_which_asset_a_symbol_means(chain: str) -> None:
    for symbol, number in CANONICAL[chain].items():
        asset = ASSETS.find(REGISTRY.find(chain), number)

        assert (asset.symbol, asset.mark, asset.display_name) == (symbol, "", symbol)
        assert ASSETS.find(REGISTRY.find(chain), symbol.swapcase()) == asset


@pytest.mark.parametrize("chain", [chain.name for chain in REGISTRY.all()])
def test_at_most_one_asset_of_a_chain_goes_by_a_symbol_alone(chain: str) -> None:
    listed = ASSETS.all(REGISTRY.find(chain))
    plain = [asset for asset in listed if not asset.mark]
    # These are offered by a shell, too.
    assert [ASSETS.find(REGISTRY.find(chain), asset.symbol) for asset in plain] == plain

    assert len({asset.symbol.casefold() for asset in plain}) == len(plain)
    assert len({asset.display_name.casefold() for asset in listed}) == len(listed)
    assert plain[0].kind == "native"
    for asset in listed:
        assert asset.amount(12345).endswith(
            asset.display_name if asset.decimals is not None else asset.label
        )
        assert asset.mark in asset.label


@pytest.mark.parametrize(
    ("chain", "number", "name", "label"),
    [
        ("assetHub", 50000534, says("DOT", "50000534"), says("50000534", "DOT")),
        ("assetHub", 50000470, says("USDt", "50000470", "1984"), says("50000470", "USDt", "1984")),
        ("assetHub", 23, says("PINK", "23"), says("23", "PINK")),
        ("hydraDx", 23, says("USDT", "23", "10"), says("23", "USDT", "10")),
    ],
)
def test_a_look_alike_is_named_with_its_id_and_a_mark(
    chain: str, number: int, name: Any, label: Any
) -> None:
    asset = ASSETS.find(REGISTRY.find(chain), number)

    assert (asset.display_name, asset.label) == (name, label)


def test_an_asset_of_the_configuration_is_meant_unless_another_has_its_symbol() -> None:
    def written(number: int, symbol: str) -> dict[str, Any]:
        return {"id": number, "symbol": symbol, "decimals": 6}

    assets = Assets(
        Registry(
            {
                "hydraDx": {
                    "assets": [written(10, "TETHER"), written(900, "NEW"), written(901, "dot")]
                },
                "mine": {
                    "role": "dex",
                    "relay": "polkadot",
                    "para_id": 4000,
                    "symbol": "MY",
                    "decimals": 10,
                    "assets": [
                        written(1, "ONE"),
                        written(2, "TWIN"),
                        written(3, "twin"),
                        written(4, "my"),
                    ],
                },
            }
        )
    )
    registry = assets.registry

    def names(chain: str, *numbers: int | str) -> list[str]:
        return [assets.find(registry.find(chain), number).display_name for number in numbers]

    assert names("hydraDx", 10, 900, 901, 23) == [
        "TETHER",
        "NEW",
        says("901", "DOT", "5"),
        says("USDT", "23"),
    ]
    assert names("mine", 1, 2, 3, 4) == [
        "ONE",
        says("TWIN", "2"),
        says("3", "verified"),
        says("4", "MY"),
    ]
    assert names("mine", "One", "my") == ["ONE", "MY"]
    with raises(InvalidRequest, says("assetid", "twin", "mine", "2", "3")):
        names("mine", "twin")
