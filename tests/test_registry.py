"""The registry: the built-in chains, names and aliases, chains of config.toml."""

from typing import Any

import pytest

from scenarioctl.chains.registry import CHAINS, ROLES, Chain, Registry
from scenarioctl.errors import InvalidRequest, NotFound
from tests.messages import Says, says

NAMES = "polkadot, assetHub, hydraDx, kusama, assetHub_kusama, paseo, assetHub_paseo, pop, passetHub"
NEW: dict[str, Any] = {"role": "parachain", "symbol": "ABC", "decimals": 12}


@pytest.mark.parametrize(
    ("typed", "literal"),
    [
        ("polkadot", "polkadot"),
        ("POLKADOT", "polkadot"),
        ("assetHub", "assetHub"),
        ("assethub", "assetHub"),
        ("asset-hub", "assetHub"),
        ("Asset-Hub", "assetHub"),
        ("hydraDx", "hydraDx"),
        ("hydradx", "hydraDx"),
        ("Hydration", "hydraDx"),
        ("kusama_assethub", "assetHub_kusama"),
        ("assethub_KUSAMA", "assetHub_kusama"),
        ("paseo", "paseo"),
        ("assethub_paseo", "assetHub_paseo"),
        ("pop", "pop"),
        ("passethub", "passetHub"),
        ("Asset Hub", "assetHub"),
        (" asset hub polkadot", "assetHub"),
        ("Polkadot Asset Hub", "assetHub"),
        ("statemint", "assetHub"),
        ("Statemine", "assetHub_kusama"),
        ("kusama asset hub", "assetHub_kusama"),
        ("HYDRA_DX", "hydraDx"),
    ],
)
def test_a_chain_is_found_as_people_type_it(typed: str, literal: str) -> None:
    assert Registry().find(typed).name == literal


@pytest.mark.parametrize("typed", ["polkadoot", "", "moonbeam", None, 5, True, ["polkadot"], "\u212ausama"])
def test_an_unknown_chain_is_named_beside_the_known_ones(typed: object) -> None:
    with pytest.raises(InvalidRequest) as body:
        Registry().find(typed, field="source_chain")
    with pytest.raises(NotFound) as path:
        Registry().find_in_path(typed)

    assert str(body.value) == says("source_chain", typed)
    assert str(path.value) == says("chain", typed)


def test_a_spelling_that_fits_two_chains_finds_neither() -> None:
    registry = Registry({"my_chain": NEW, "my-chain": NEW, "twin": NEW | {"title": "Polkadot"}})

    assert registry.find("MY_CHAIN").name == "my_chain"
    assert registry.find("my-chain").name == "my-chain"
    assert registry.find("Polkadot").name == "polkadot"
    with pytest.raises(InvalidRequest) as refused:
        registry.find("my chain")
    assert str(refused.value) == says("my chain")


def test_a_title_of_two_chains_finds_neither() -> None:
    registry = Registry({"one": NEW | {"title": "Test Net"}, "two": NEW | {"title": "TestNet"}})

    with pytest.raises(InvalidRequest) as refused:
        registry.find("testnet")

    assert str(refused.value) == says("testnet", "one")


def test_a_chain_in_a_path_is_found_too() -> None:
    assert Registry().find_in_path("hydration").name == "hydraDx"


def test_every_built_in_chain_is_well_formed() -> None:
    relays = {chain.name for chain in CHAINS if chain.role == "relay"}

    for chain in CHAINS:
        assert chain.role in ROLES
        assert chain.relay in relays
        assert (chain.role == "relay") == (chain.para_id is None) == (chain.relay == chain.name)
        assert chain.genesis == "" or len(bytes.fromhex(chain.genesis.removeprefix("0x"))) == 32
        assert chain.endpoints
        for endpoint in chain.endpoints:
            assert endpoint.startswith("wss://")
            assert not any(gone in endpoint for gone in ("ibp.network", "dotters.network", "radiumblock"))
    assert len({chain.genesis for chain in CHAINS}) == len(CHAINS)


#: Written here a second time: with another genesis, prefix or para id a payload is for another chain.
IDENTITIES = (
    ("polkadot", "relay", "polkadot", None, "0x91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3", 0, "DOT", 10),
    ("assetHub", "asset_hub", "polkadot", 1000, "0x68d56f15f85d3136970ec16946040bc1752654e906147f7e43e9d539d7c3de2f", 0, "DOT", 10),
    ("hydraDx", "dex", "polkadot", 2034, "0xafdc188f45c71dacbaa0b62e16a91f726c7b8699a9748cdf715459de6b7f366d", 0, "HDX", 12),
    ("kusama", "relay", "kusama", None, "0xb0a8d493285c2df73290dfb7e61f870f17b41801197a149ca93654499ea3dafe", 2, "KSM", 12),
    ("assetHub_kusama", "asset_hub", "kusama", 1000, "0x48239ef607d7928874027a43a67689209727dfb3d3dc5e5b03a39bdc2eda771a", 2, "KSM", 12),
    ("paseo", "relay", "paseo", None, "0x374057be67b355151f271ff70c3db98308c62c8adc48dc6724b6a009a1a014fd", 42, "PAS", 10),
    ("assetHub_paseo", "asset_hub", "paseo", 1000, "0xd6eec26135305a8ad257a20d003357284c8aa03d0bdb2b357ab0a22371e11ef2", 42, "PAS", 10),
    ("pop", "contracts", "paseo", 4001, "", 42, "PAS", 10),
    ("passetHub", "contracts", "paseo", 1111, "0xfd974cf9eaf028f5e44b9fdd1949ab039c6cf9cc54449b0b60d71b042e79aeb6", 42, "PAS", 10),
)  # fmt: skip


def test_the_built_in_chains_are_these() -> None:
    found = tuple(
        (
            chain.name,
            chain.role,
            chain.relay,
            chain.para_id,
            chain.genesis,
            chain.ss58_prefix,
            chain.symbol,
            chain.decimals,
        )
        for chain in CHAINS
    )

    assert found == IDENTITIES


def test_a_chain_of_ones_own_has_the_generic_prefix_unless_it_names_one() -> None:
    assert Registry({"abc": NEW}).find("abc").ss58_prefix == 42


def test_relatives_are_found_under_the_same_relay_chain() -> None:
    registry = Registry({"lone": {"role": "relay", "symbol": "ABC", "decimals": 12}})
    exchange = registry.find("hydraDx")

    relay, hub = registry.relay_of(exchange), registry.asset_hub(exchange)
    found = [registry.parachain(exchange, number) for number in (1000, 2034)]
    missing = [
        registry.parachain(exchange, 2035),
        registry.parachain(registry.find("kusama"), 2034),
        registry.asset_hub(registry.find("lone")),
    ]

    assert relay is not None and relay.name == "polkadot"
    assert hub is not None and hub.name == "assetHub"
    assert found == [hub, exchange]
    assert missing == [None, None, None]


def test_a_chain_of_config_toml_is_like_a_built_in_one() -> None:
    registry = Registry(
        {
            "rig": {
                "title": "My rig",
                "role": "dex",
                "relay": "kusama",
                "para_id": 2090,
                "genesis": "0x" + "45" * 32,
                "ss58_prefix": 10041,
                "symbol": "BSX",
                "decimals": 12,
                "endpoints": ["ws://127.0.0.1:9946"],
                "aliases": ["Basilisk"],
                "testnet": False,
            }
        }
    )

    assert registry.find("basilisk") == Chain(
        name="rig",
        title="My rig",
        role="dex",
        relay="kusama",
        para_id=2090,
        genesis="0x" + "45" * 32,
        ss58_prefix=10041,
        symbol="BSX",
        decimals=12,
        endpoints=("ws://127.0.0.1:9946",),
        aliases=("Basilisk",),
        testnet=False,
    )
    assert len(registry.all()) == len(CHAINS) + 1


def test_a_relay_of_config_toml_is_its_own_relay() -> None:
    chain = Registry({"mine": NEW | {"role": "relay"}}).find("mine")

    assert (chain.relay, chain.title, chain.ss58_prefix, chain.testnet) == ("mine", "mine", 42, True)


def test_the_endpoints_of_a_built_in_chain_can_be_changed() -> None:
    chain = Registry({"polkadot": {"endpoints": ["ws://localhost:9944"]}}).find("polkadot")

    assert chain.endpoints == ("ws://localhost:9944",)
    assert chain.genesis == CHAINS[0].genesis


@pytest.mark.parametrize(
    ("name", "table", "sentence"),
    [
        ("x", 5, says("chains.x", "5")),
        (
            "x",
            {"colour": "red"},
            says("chains.x", "colour"),
        ),
        ("x", {}, says("chains.x.role", "missing")),
        (
            "x",
            {"role": "relay", "symbol": "A"},
            says("chains.x.decimals", "missing"),
        ),
        (
            "x",
            NEW | {"role": "boss"},
            says("chains.x.role", "boss"),
        ),
        ("x", NEW | {"symbol": ""}, says("chains.x.symbol", "empty")),
        ("x", NEW | {"decimals": "12"}, says("chains.x.decimals", "12")),
        ("x", NEW | {"decimals": True}, says("chains.x.decimals", "number")),
        ("x", NEW | {"decimals": 39}, says("chains.x.decimals", "39")),
        (
            "x",
            NEW | {"ss58_prefix": 16384},
            says("chains.x.ss58_prefix", "16384"),
        ),
        (
            "x",
            NEW | {"account_bytes": 33},
            says("chains.x.account_bytes", "33"),
        ),
        ("x", NEW | {"para_id": -1}, says("chains.x.para_id", "-1")),
        (
            "x",
            NEW | {"para_id": 2**32},
            says("chains.x.para_id", "4294967296"),
        ),
        ("x", NEW | {"testnet": "no"}, says("chains.x.testnet", "no")),
        ("x", NEW | {"endpoints": "wss://a"}, says("chains.x.endpoints", "wss://a")),
        (
            "x",
            NEW | {"endpoints": ["http://a"]},
            says("chains.x.endpoints", "http://a"),
        ),
        ("x", NEW | {"assets": ["DOT"]}, says("chains.x.assets", "DOT")),
        (
            "x",
            NEW | {"genesis": "0x12"},
            says("chains.x.genesis", "0x12"),
        ),
        (
            "x",
            NEW | {"relay": "moon"},
            says("chains.x.relay", "moon"),
        ),
        (
            "x",
            NEW | {"relay": "assetHub"},
            says("chains.x.relay", "assetHub"),
        ),
        (
            "x",
            NEW | {"role": "relay", "relay": "kusama"},
            says("chains.x.relay", "kusama"),
        ),
        (
            "x",
            NEW | {"role": "dex", "relay": "kusama"},
            says("chains.x.para_id", "missing"),
        ),
        (
            "x",
            NEW | {"role": "asset_hub", "para_id": 1000},
            says("chains.x.relay", "asset_hub"),
        ),
        (
            "x",
            NEW | {"aliases": ["Polkadot"]},
            says("chains.x", "Polkadot"),
        ),
        (
            "KUSAMA",
            NEW,
            says("chains.KUSAMA", "belongs"),
        ),
        ("a b", NEW, says("chain", "a b")),
        (
            "polkadot",
            {"genesis": "0x" + "00" * 32},
            says("chains.polkadot.genesis", "polkadot"),
        ),
    ],
)
def test_a_table_that_cannot_be_used_is_named(name: str, table: Any, sentence: Says) -> None:
    with pytest.raises(InvalidRequest) as refused:
        Registry({name: table})

    assert str(refused.value) == sentence
