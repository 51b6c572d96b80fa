"""The registry: the built-in chains, names and aliases, chains of config.toml."""

from typing import Any

import pytest

from scenarioctl.chains.registry import CHAINS, ROLES, Chain, Registry
from scenarioctl.errors import InvalidRequest, NotFound

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
    ],
)
def test_a_chain_is_found_as_people_type_it(typed: str, literal: str) -> None:
    assert Registry().find(typed).name == literal


@pytest.mark.parametrize("typed", ["polkadoot", "", " polkadot", None, 5, True, ["polkadot"], "\u212ausama"])
def test_an_unknown_chain_is_named_beside_the_known_ones(typed: object) -> None:
    with pytest.raises(InvalidRequest) as body:
        Registry().find(typed, field="source_chain")
    with pytest.raises(NotFound) as path:
        Registry().find_in_path(typed)

    assert str(body.value) == f"source_chain {typed!r} is not a chain, expected one of: {NAMES}"
    assert str(path.value) == f"chain {typed!r} is not a chain, expected one of: {NAMES}"


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


def test_the_three_chains_are_these() -> None:
    found = [
        (
            chain.name,
            chain.role,
            chain.relay,
            chain.para_id,
            chain.genesis[:10],
            chain.ss58_prefix,
            chain.symbol,
            chain.decimals,
        )
        for chain in CHAINS[:3]
    ]

    assert found == [
        ("polkadot", "relay", "polkadot", None, "0x91b171bb", 0, "DOT", 10),
        ("assetHub", "asset_hub", "polkadot", 1000, "0x68d56f15", 0, "DOT", 10),
        ("hydraDx", "dex", "polkadot", 2034, "0xafdc188f", 0, "HDX", 12),
    ]


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
        ("x", 5, "chains.x 5 is not a table, expected [chains.x] with role, symbol, …"),
        (
            "x",
            {"colour": "red"},
            "chains.x has the unknown key 'colour', expected one of: title, role, relay, para_id, genesis, "
            "ss58_prefix, account_bytes, symbol, decimals, endpoints, aliases, testnet, assets",
        ),
        ("x", {}, "chains.x.role is missing, expected role, symbol and decimals"),
        (
            "x",
            {"role": "relay", "symbol": "A"},
            "chains.x.decimals is missing, expected role, symbol and decimals",
        ),
        (
            "x",
            NEW | {"role": "boss"},
            "chains.x.role 'boss' is not a role, expected one of: relay, asset_hub, dex, contracts, parachain",
        ),
        ("x", NEW | {"symbol": ""}, "chains.x.symbol '' is empty, expected one like DOT"),
        ("x", NEW | {"decimals": "12"}, "chains.x.decimals '12' is not a whole number"),
        ("x", NEW | {"decimals": True}, "chains.x.decimals True is not a whole number"),
        ("x", NEW | {"decimals": 39}, "chains.x.decimals 39 is too large, expected at most 38"),
        (
            "x",
            NEW | {"ss58_prefix": 16384},
            "chains.x.ss58_prefix 16384 is too large, expected at most 16383",
        ),
        (
            "x",
            NEW | {"account_bytes": 33},
            "chains.x.account_bytes 33 is not the length of an account, expected one of: 32, 20",
        ),
        ("x", NEW | {"para_id": -1}, "chains.x.para_id -1 is not a whole number"),
        (
            "x",
            NEW | {"para_id": 2**32},
            "chains.x.para_id 4294967296 is too large, expected at most 4294967295",
        ),
        ("x", NEW | {"testnet": "no"}, "chains.x.testnet 'no' is not true or false"),
        ("x", NEW | {"endpoints": "wss://a"}, "chains.x.endpoints 'wss://a' is not a list of texts"),
        (
            "x",
            NEW | {"endpoints": ["http://a"]},
            "chains.x.endpoints 'http://a' is not an endpoint, expected one like wss://rpc.example.org",
        ),
        ("x", NEW | {"assets": ["DOT"]}, "chains.x.assets ['DOT'] is not a list of tables"),
        (
            "x",
            NEW | {"genesis": "0x12"},
            "chains.x.genesis '0x12' is not a block hash, expected 0x and 64 hex digits",
        ),
        (
            "x",
            NEW | {"relay": "moon"},
            "chains.x.relay 'moon' is not a relay chain, expected one of: polkadot, kusama, paseo",
        ),
        (
            "x",
            NEW | {"relay": "assetHub"},
            "chains.x.relay 'assetHub' is not a relay chain, expected one of: polkadot, kusama, paseo",
        ),
        (
            "x",
            NEW | {"role": "relay", "relay": "kusama"},
            "chains.x.relay 'kusama' is another chain, but x is a relay: expected 'x', or none",
        ),
        (
            "x",
            NEW | {"role": "dex", "relay": "kusama"},
            "chains.x.para_id is missing, transfers of a chain with role dex cannot be addressed without it",
        ),
        (
            "x",
            NEW | {"role": "asset_hub", "para_id": 1000},
            "chains.x.relay is missing, transfers of a chain with role asset_hub cannot be addressed without it",
        ),
        (
            "x",
            NEW | {"aliases": ["Polkadot"]},
            "chains.x: the name 'Polkadot' belongs to polkadot already, expected another one",
        ),
        (
            "KUSAMA",
            NEW,
            "chains.KUSAMA: the name 'KUSAMA' belongs to kusama already, expected another one",
        ),
        ("a b", NEW, "chains.'a b' is not a name for a chain, expected letters, digits, - and _"),
        (
            "polkadot",
            {"genesis": "0x" + "00" * 32},
            "chains.polkadot.genesis cannot be changed, polkadot is built in: expected endpoints or assets, or a new name",
        ),
    ],
)
def test_a_table_that_cannot_be_used_is_named(name: str, table: Any, sentence: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        Registry({name: table})

    assert str(refused.value) == sentence
