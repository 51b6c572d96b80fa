"""The registry: the built-in chains, names and aliases, chains of config.toml."""

from typing import Any

import pytest

from scenarioctl.chains.registry import (
    CHAINS,
    ROLES,
    Chain,
    Registry,
    closed_chains,
    closed_parachain,
    find_closed,
)
from scenarioctl.errors import InvalidRequest, NotFound
from scenarioctl.runtime.table import BUNDLED, load_bundled
from tests.messages import Says, raises, says
from tools.chain_registries import is_dead

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


@pytest.mark.parametrize(
    "typed", ["polkadoot", "", "mars", None, 5, True, ["polkadot"], "\u212ausama"]
)
def test_an_unknown_chain_is_named_beside_known_ones(typed: object) -> None:
    with pytest.raises(InvalidRequest) as body:
        Registry().find(typed, field="source_chain")
    with pytest.raises(NotFound) as path:
        Registry().find_in_path(typed)

    assert str(body.value) == says("source_chain", typed)
    assert str(path.value) == says("chain", typed)


@pytest.mark.parametrize(
    "typed", ["moonbeam", "Moonriver", "interlay", "passet-hub", "POP", "KILT Spiritnet"]
)
def test_a_chain_that_has_closed_says_so(typed: str) -> None:
    with pytest.raises(InvalidRequest) as body:
        Registry().find(typed, field="dest_chain")
    with pytest.raises(NotFound) as path:
        Registry().find_in_path(typed)

    assert str(body.value) == says("dest_chain", typed)
    assert str(path.value) == says("chain", typed)


def test_a_table_that_agrees_with_a_built_in_chain_may_stay() -> None:
    same = {
        "role": "parachain",
        "relay": "polkadot",
        "para_id": 2006,
        "symbol": "ASTR",
        "decimals": 18,
    }

    assert Registry({"astar": {**same, "endpoints": []}}).find("astar").endpoints == ()
    with raises(InvalidRequest, says("chains.astar.decimals")):
        Registry({"astar": {**same, "decimals": 12}})


def test_a_genesis_that_no_list_has_may_be_set() -> None:
    genesis = "0x" + "aB" * 32

    assert Registry({"jamton": {"genesis": genesis}}).find("jamton").genesis == genesis.lower()
    with raises(InvalidRequest, says("chains.jamton.genesis")):
        Registry({"jamton": {"genesis": "0x12"}})
    with raises(InvalidRequest, says("chains.astar.genesis")):
        Registry({"astar": {"genesis": genesis}})


def test_two_names_in_config_toml_for_one_parachain_are_refused() -> None:
    one = NEW | {"role": "parachain", "relay": "polkadot", "para_id": 2222}

    with raises(InvalidRequest, says("chains.two.para_id", "chains.one", "2222")):
        Registry({"one": one, "two": one})
    assert Registry({"one": one, "two": one | {"relay": "kusama"}}).find("two").para_id == 2222
    assert Registry({"one": one, "two": one | {"para_id": 2223}}).find("two").para_id == 2223


def test_a_closed_chain_is_known_by_its_para_id() -> None:
    places = [chain.place for chain in closed_chains().values() if chain.place]

    assert len(set(places)) == len(places)
    assert not set(places) & {(chain.relay, chain.para_id) for chain in CHAINS}
    assert str(closed_parachain("polkadot", 2004)) == "Moonbeam, which closed in July 2026"
    assert str(closed_parachain("kusama", 2004)).startswith("Khala")
    assert closed_parachain("polkadot", 2034) is None


def test_no_built_in_chain_has_closed() -> None:
    for chain in CHAINS:
        assert not any(find_closed(name) for name in (chain.name, chain.title, *chain.aliases))
    assert all(chain.source and chain.read for chain in closed_chains().values())


def test_ethereum_is_no_chain_here_and_its_bridge_is_named() -> None:
    with raises(InvalidRequest, says("Ethereum", "app.snowbridge.network")):
        Registry().find("Ethereum")


def test_a_closed_chain_may_be_declared_as_ones_own() -> None:
    assert Registry({"pop": NEW}).find("pop").symbol == "ABC"


def test_a_spelling_that_fits_two_chains_finds_neither() -> None:
    registry = Registry({"my_chain": NEW, "my-chain": NEW, "twin": NEW | {"title": "Polkadot"}})

    assert registry.find("MY_CHAIN").name == "my_chain"
    assert registry.find("my-chain").name == "my-chain"
    assert registry.find("Polkadot").name == "polkadot"
    with raises(InvalidRequest, says("my chain")):
        registry.find("my chain")


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
            assert not is_dead(endpoint)
    known = [chain.genesis for chain in CHAINS if chain.genesis]
    assert len(set(known)) == len(known)


@pytest.mark.parametrize("name", BUNDLED)
def test_addresses_have_the_prefix_that_the_runtime_has(name: str) -> None:
    table = load_bundled(name)
    assert table is not None

    assert Registry().find(name).ss58_prefix == table.constant("System", "SS58Prefix")


#: Written here a second time: with another genesis, prefix or para id a payload is for another
#: chain.
IDENTITIES = (
    ("polkadot", "relay", "polkadot", None,
        "0x91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3", 0, "DOT", 10),
    ("assetHub", "asset_hub", "polkadot", 1000,
        "0x68d56f15f85d3136970ec16946040bc1752654e906147f7e43e9d539d7c3de2f", 0, "DOT", 10),
    ("hydraDx", "dex", "polkadot", 2034,
        "0xafdc188f45c71dacbaa0b62e16a91f726c7b8699a9748cdf715459de6b7f366d", 0, "HDX", 12),
    ("kusama", "relay", "kusama", None,
        "0xb0a8d493285c2df73290dfb7e61f870f17b41801197a149ca93654499ea3dafe", 2, "KSM", 12),
    ("assetHub_kusama", "asset_hub", "kusama", 1000,
        "0x48239ef607d7928874027a43a67689209727dfb3d3dc5e5b03a39bdc2eda771a", 2, "KSM", 12),
    ("paseo", "relay", "paseo", None,
        "0x374057be67b355151f271ff70c3db98308c62c8adc48dc6724b6a009a1a014fd", 42, "PAS", 10),
    ("assetHub_paseo", "asset_hub", "paseo", 1000,
        "0xd6eec26135305a8ad257a20d003357284c8aa03d0bdb2b357ab0a22371e11ef2", 0, "PAS", 10),
    ("people", "system", "polkadot", 1004,
        "0x67fa177a097bfa18f77ea95ab56e9bcdfeb0e5b8a40e46298bb93e16b6fc5008", 0, "DOT", 10),
    ("bridgeHub", "system", "polkadot", 1002,
        "0xdcf691b5a3fbe24adc99ddc959c0561b973e329b1aef4c4b22e7bb2ddecb4464", 0, "DOT", 10),
    ("coretime", "system", "polkadot", 1005,
        "0xefb56e30d9b4a24099f88820987d0f45fb645992416535d87650d98e00f46fc4", 0, "DOT", 10),
    ("collectives", "system", "polkadot", 1001,
        "0x46ee89aa2eedd13e988962630ec9fb7565964cf5023bb351f2b6b25c1b68b0b2", 0, "DOT", 10),
    ("people_kusama", "system", "kusama", 1004,
        "0xc1af4cb4eb3918e5db15086c0cc5ec17fb334f728b7c65dd44bfe1e174ff8b3f", 2, "KSM", 12),
    ("bridgeHub_kusama", "system", "kusama", 1002,
        "0x00dcb981df86429de8bbacf9803401f09485366c44efbf53af9ecfab03adc7e5", 2, "KSM", 12),
    ("coretime_kusama", "system", "kusama", 1005,
        "0x638cd2b9af4b3bb54b8c1f0d22711fc89924ca93300f0caf25a580432b29d050", 2, "KSM", 12),
    ("encointer", "system", "kusama", 1001,
        "0x7dd99936c1e9e6d1ce7d90eb6f33bea8393b4bf87677d675aa63c9cb3e8c5b5b", 2, "KSM", 12),
    ("bifrost", "parachain", "polkadot", 2030,
        "0x262e1b2ad728475fd6fe88e62d34c200abe6fd693931ddad144059b1eb884e5b", 0, "BNC", 12),
    ("bifrost_kusama", "parachain", "kusama", 2001,
        "0x9f28c6a68e0fc9646eff64935684f6eeeece527e37bbe1f213d22caa1d9d6bed", 0, "BNC", 12),
    ("astar", "parachain", "polkadot", 2006,
        "0x9eb76c5184c4ab8679d2d5d819fdf90b9c001403e9e17da2e14b6d8aec4029c6", 5, "ASTR", 18),
    ("shiden", "parachain", "kusama", 2007,
        "0xf1cf9022c7ebb34b162d5b5e34e705a5a740b2d0ecc1009fb89023e62a488108", 5, "SDN", 18),
    ("mythos", "parachain", "polkadot", 3369,
        "0xf6ee56e9c5277df5b4ce6ae9983ee88f3cbed27d31beeb98f9f84f997a1ab0b9", 29972, "MYTH", 18),
    ("unique", "parachain", "polkadot", 2037,
        "0x84322d9cddbf35088f1e54e9a85c967a41a56a4f43445768125e61af166c7d31", 7391, "UNQ", 18),
    ("neuroweb", "parachain", "polkadot", 2043,
        "0xe7e0962324a3b86c83404dbea483f25fb5dab4c224791c81b756cfc948006174", 101, "NEURO", 12),
    ("energyWebX", "parachain", "polkadot", 3345,
        "0x5a51e04b88a4784d205091aa7bada002f3e5da3045e5b05655ee4db2589c33b5", 42, "EWT", 18),
    ("pendulum", "parachain", "polkadot", 2094,
        "0x5d3c298622d5634ed019bf61ea4b71655030015bde9beb0d6a24743714462c86", 0, "PEN", 12),
    ("basilisk", "parachain", "kusama", 2090,
        "0xa85cfb9b9fd4d622a5b28289a02347af987d8f73fa3108450e2b4a11c1ce5755", 10041, "BSX", 12),
    ("acala", "parachain", "polkadot", 2000,
        "0xfc41b9bd8ef8fe53d58c7ea67c794c7ec9a73daf05e6d54b14ff6342c99ba64c", 10, "ACA", 12),
    ("karura", "parachain", "kusama", 2000,
        "0xbaf5aabe40646d11f0ee8abbdc64f4a4b7674925cba08e4a05ff9ebed6e2126b", 8, "KAR", 12),
    ("robonomics", "parachain", "polkadot", 3388,
        "0x29f4371dcc41045f5041489dfcd51389bf8ccd2161332e0de1ca803bcc3ee872", 32, "XRT", 9),
    ("peaq", "parachain", "polkadot", 3338,
        "0xd2a5d385932d1f650dae03ef8e2748983779ee342c614f80854d32b8cd8fa48c", 42, "PEAQ", 18),
    ("darwinia", "parachain", "polkadot", 2046,
        "0xf0b8924b12e8108550d28870bc03f7b45a947e1b2b9abf81bfb0b89ecb60570e", 18, "RING", 18),
    ("heima", "parachain", "polkadot", 2013,
        "0x2fc8bb6ed7c0051bdcf4866c322ed32b6276572713607e3297ccf411b8f14aa9", 31, "HEI", 18),
    ("jamton", "parachain", "polkadot", 3397, "", 5589, "DOTON", 18),
    ("xode", "parachain", "polkadot", 3417, "", 280, "XON", 12),
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
                "aliases": ["Bsx"],
                "testnet": False,
            }
        }
    )

    assert registry.find("bsx") == Chain(
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
        aliases=("Bsx",),
        testnet=False,
        consensus="Kusama",
    )
    assert len(registry.all()) == len(CHAINS) + 1


def test_the_endpoints_of_a_built_in_chain_can_be_changed() -> None:
    chain = Registry({"polkadot": {"endpoints": ["ws://localhost:9944"]}}).find("polkadot")

    assert chain.endpoints == ("ws://localhost:9944",)
    assert chain.genesis == CHAINS[0].genesis


def test_the_explorer_of_a_chain_can_be_changed_and_turned_off() -> None:
    other = Registry({"polkadot": {"explorer": "https://x.org:8443/tx?id={hash}"}}).find("polkadot")
    none = Registry({"polkadot": {"explorer": ""}}).find("polkadot")

    assert (
        Registry().find("polkadot").explorer_link("0xab")
        == "https://polkadot.subscan.io/extrinsic/0xab"
    )
    assert other.explorer_link("0xab") == "https://x.org:8443/tx?id=0xab"
    assert none.explorer_link("0xab") is None


@pytest.mark.parametrize(
    "template",
    [
        *("http://x.org/{hash}", "javascript:alert(1)//{hash}", "https://x.org/"),
        *("https://x.org/{hash}/{hash}", "https://x.org/{block}/{hash}", "https://{hash}.x.org/"),
        *("https://user@x.org/{hash}", "https://x.org/a b/{hash}"),
    ],
)
def test_only_an_https_link_with_one_hash_is_an_explorer(template: str) -> None:
    with raises(InvalidRequest, says("chains.polkadot.explorer", template)):
        Registry({"polkadot": {"explorer": template}})


@pytest.mark.parametrize(
    ("name", "table", "sentence"),
    [
        ("x", 5, says("chains.x", "5")),
        ("x", {"colour": "red"}, says("chains.x", "colour")),
        ("x", NEW | {"role": "boss"}, says("chains.x.role", "boss")),
        ("x", NEW | {"decimals": 39}, says("chains.x.decimals", "39")),
        ("x", NEW | {"ss58_prefix": 16384}, says("chains.x.ss58_prefix", "16384")),
        ("x", NEW | {"account_bytes": 33}, says("chains.x.account_bytes", "33")),
        ("x", NEW | {"para_id": 2**32}, says("chains.x.para_id", "4294967296")),
        (
            "x",
            NEW | {"role": "relay", "consensus": "Paseo"},
            says("chains.x.consensus", "Paseo", "Kusama"),
        ),
        (
            "x",
            NEW | {"relay": "kusama", "consensus": "Kusama"},
            says("chains.x.consensus", "relay chain"),
        ),
        ("x", NEW | {"endpoints": ["http://a"]}, says("chains.x.endpoints", "http://a")),
        ("x", NEW | {"relay": "moon"}, says("chains.x.relay", "moon")),
        ("x", NEW | {"relay": "assetHub"}, says("chains.x.relay", "assetHub")),
        ("x", NEW | {"role": "relay", "relay": "kusama"}, says("chains.x.relay", "kusama")),
        # Wrong values are found before the chain is complete.
        ("x", {"role": "boss"}, says("chains.x.role", "boss")),
        ("x", {"role": "system", "para_id": 2000}, says("chains.x.para_id", "2000")),
        (
            "x",
            NEW | {"role": "system", "relay": "polkadot", "para_id": 2000},
            says("chains.x.para_id", "2000", "system"),
        ),
        ("x", NEW | {"aliases": ["Polkadot"]}, says("chains.x", "Polkadot")),
        ("KUSAMA", NEW, says("chains.KUSAMA", "belongs")),
        ("a b", NEW, says("chain", "a b")),
        ("x", {}, says("chains.x", "lacks role, symbol, decimals")),
        ("x", NEW | {"role": "dex", "relay": "kusama"}, says("chains.x", "para_id")),
        ("x", NEW | {"role": "asset_hub", "para_id": 1000}, says("chains.x", "relay")),
    ],
)
def test_a_table_that_cannot_be_used_is_named(name: str, table: Any, sentence: Says) -> None:
    with raises(InvalidRequest, sentence):
        Registry({name: table})
