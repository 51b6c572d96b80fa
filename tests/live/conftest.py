"""Chains that the environment names: SCENARIOCTL_LIVE_RELAY, _ASSET_HUB, _DEX, _CONTRACTS, _OMNIPOOL.

The genesis hash is whatever the endpoint reports first: a rig has one of its own.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.chains.connection import Connection
from scenarioctl.chains.registry import Registry
from scenarioctl.cli.base import finish
from scenarioctl.config import load_settings

#: Variable -> the chain's name in the tests, and what the configuration says of it.
CHAINS: dict[str, tuple[str, dict[str, Any]]] = {
    "SCENARIOCTL_LIVE_RELAY": ("liveRelay", {"role": "relay"}),
    "SCENARIOCTL_LIVE_ASSET_HUB": ("liveHub", {"role": "asset_hub", "relay": "liveRelay", "para_id": 1000}),
    "SCENARIOCTL_LIVE_DEX": (
        "liveDex",
        {
            "role": "dex",
            "relay": "liveRelay",
            "para_id": 2034,
            "ss58_prefix": 0,
            "symbol": "HDX",
            "decimals": 12,
        },
    ),
    "SCENARIOCTL_LIVE_CONTRACTS": ("liveContracts", {"role": "contracts"}),
    "SCENARIOCTL_LIVE_OMNIPOOL": (
        "liveOmnipool",
        {
            "role": "dex",
            "relay": "polkadot",
            "para_id": 2034,
            "ss58_prefix": 0,
            "symbol": "HDX",
            "decimals": 12,
        },
    ),
}
#: Assets that the tests send; the rig's ids are those of the real chains.
ASSETS: dict[str, list[dict[str, Any]]] = {
    "liveHub": [
        {"id": "1984", "symbol": "USDT", "decimals": 6},
        {"id": "1337", "symbol": "USDC", "decimals": 6},
    ],
    "liveDex": [
        {"id": "5", "symbol": "DOT", "decimals": 10, "location": "1/Here"},
        {
            "id": "10",
            "symbol": "USDT",
            "decimals": 6,
            "location": "1/Parachain(1000)/PalletInstance(50)/GeneralIndex(1984)",
        },
    ],
    "liveOmnipool": [
        {"id": "5", "symbol": "DOT", "decimals": 10},
        {"id": "10", "symbol": "USDT", "decimals": 6},
    ],
}


@dataclass(frozen=True, kw_only=True)
class Live:
    """A chain under test."""

    name: str
    endpoint: str


def describe(variable: str) -> dict[str, Any]:
    """Return the configuration of the chain behind *variable*, completed by what its node reports."""
    name, given = CHAINS[variable]
    endpoint = os.environ[variable]
    # Whatever the genesis: it is read here, and pinned from then on.
    plain = {"role": "parachain", "symbol": "UNIT", "decimals": 12, "endpoints": [endpoint]}
    connection = Connection(Registry({"probe": plain}).find("probe"), endpoint)
    try:
        genesis, properties = connection.call_many([("chain_getBlockHash", (0,)), ("system_properties", ())])
    finally:
        connection.close()

    def first(key: str, otherwise: Any) -> Any:
        value = (properties or {}).get(key)
        return (value[0] if isinstance(value, list) and value else value) or otherwise

    table = {
        "genesis": genesis,
        "ss58_prefix": first("ss58Format", 42),
        "symbol": first("tokenSymbol", "UNIT"),
        "decimals": first("tokenDecimals", 12),
        **given,
        "endpoints": [endpoint],
    }
    if name in ASSETS:
        table["assets"] = ASSETS[name]
    return table


def _live(variable: str) -> Live:
    if not os.environ.get(variable):
        pytest.skip(f"{variable} names no endpoint")
    return Live(name=CHAINS[variable][0], endpoint=os.environ[variable])


@pytest.fixture(scope="session")
def relay() -> Live:
    return _live("SCENARIOCTL_LIVE_RELAY")


@pytest.fixture(scope="session")
def asset_hub() -> Live:
    return _live("SCENARIOCTL_LIVE_ASSET_HUB")


@pytest.fixture(scope="session")
def dex() -> Live:
    return _live("SCENARIOCTL_LIVE_DEX")


@pytest.fixture(scope="session")
def contracts() -> Live:
    return _live("SCENARIOCTL_LIVE_CONTRACTS")


@pytest.fixture(scope="session")
def omnipool() -> Live:
    return _live("SCENARIOCTL_LIVE_OMNIPOOL")


@pytest.fixture(scope="session")
def live_config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a config.toml with every chain that the environment names."""
    import tomli_w

    chains = {CHAINS[variable][0]: describe(variable) for variable in CHAINS if os.environ.get(variable)}
    folder = tmp_path_factory.mktemp("live")
    document = {"store": str(folder / "scenarios.db"), "cache": str(folder / "cache"), "chains": chains}
    path = folder / "config.toml"
    path.write_text(tomli_w.dumps(document))
    return path


@pytest.fixture
def live_app(live_config: Path) -> Iterator[Application]:
    app = Application(load_settings({"config": str(live_config)}, {}))
    yield app
    finish(app.close())
